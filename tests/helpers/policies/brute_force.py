"""Every search over pairs once more, by trying all pairs in NumPy.

Squared gaps are added feature by feature in the order of the engine, so that both see the same rounded widths and may be compared
exactly. `allowed` is a matrix of the pairs i < j that may be asked; None: all of them.
"""

import numpy as np

NO_PAIRS = np.empty((0, 2), np.int64)


def squares(v):
    """|v_i - v_j|^2 of all pairs of columns."""
    total = np.zeros((v.shape[1], v.shape[1]))
    for row in v:
        total += (row[:, None] - row[None, :]) ** 2
    return total


def allowed_pairs(n, exclude=NO_PAIRS):
    """The pairs i < j that are not excluded."""
    allowed = np.triu(np.ones((n, n), bool), 1)
    out = np.sort(np.reshape(exclude, (-1, 2)), axis=1)
    allowed[out[:, 0], out[:, 1]] = False
    return allowed


def first_largest(values, allowed=None):
    """The first largest allowed entry in row order, or (-1, -1, -inf)."""
    masked = np.where(allowed_pairs(len(values)) if allowed is None else allowed, values, -np.inf)
    i, j = np.unravel_index(np.argmax(masked), masked.shape)
    return (int(i), int(j), float(masked[i, j])) if masked[i, j] > -np.inf else (-1, -1, -np.inf)


def best(u, square, radius, distinct=False, allowed=None):
    """The best single arm against itself, where that may be, unless a pair beats it; of equal pairs the first."""
    pair = first_largest((u[:, None] + u[None]) + radius * np.sqrt(square), allowed)
    top = int(np.argmax(u))
    own = (-1, -1, -np.inf) if distinct else (top, top, float(u[top] + u[top]))
    return pair if pair[2] > own[2] else own


def widest(square, distinct=False, allowed=None):
    """The first widest pair; where nothing has a width, an arm against itself, or the first allowed pair."""
    pair = first_largest(square, allowed)
    return pair if pair[2] > 0.0 or (distinct and pair[0] >= 0) else (-1 if distinct else 0,) * 2 + (0.0,)


def wide(square, threshold, allowed=None):
    """Pairs wider than the threshold, in row order."""
    return [(i, j) for i, j in np.argwhere(are_wide(square, threshold, allowed)).tolist()]


def are_wide(square, threshold, allowed=None):
    """Which pairs i < j are wider than the threshold."""
    free = allowed_pairs(len(square)) if allowed is None else allowed
    return free & (square > threshold * threshold)


def best_wide(u, square, threshold, allowed=None):
    """The largest sum of a wide pair; of equal sums the wider pair; of equally wide ones the first; (-1, -1) for none."""
    sums = np.where(are_wide(square, threshold, allowed), u[:, None] + u[None], -np.inf)
    if sums.max() == -np.inf:
        return -1, -1
    return first_largest(np.where(sums == sums.max(), square, -np.inf))[:2]


def challenger(u, square, champion, bonus, distinct=False, allowed=None):
    """The best partner; of equal ones the champion itself where it may be, else the first."""
    values = u + bonus * np.sqrt(square[champion])
    if allowed is not None:
        values = np.where((allowed | allowed.T)[champion], values, -np.inf)
    values[champion] = -np.inf if distinct else u[champion]
    if values.max() == -np.inf:
        return -1
    return champion if not distinct and values[champion] >= values.max() else int(np.argmax(values))


def undominated(u, square, radius):
    return np.flatnonzero((u[:, None] - u[None, :] + radius * np.sqrt(square) >= 0).all(axis=1))


def thresholds(square):
    """None wide, some wide, all but equal arms wide, thresholds that are widths themselves, and a few wide."""
    widths = np.unique(np.sqrt(square))
    return [
        0.0, widths[len(widths) // 2], widths[-1], widths[max(len(widths) - 9, 0)], np.median(np.sqrt(square)),
        2 * widths[-1] + 1,
    ]  # fmt: skip
