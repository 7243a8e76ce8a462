"""The history and potential of `FGTS`: votes, the tables they were asked from, and feature scale."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats

Weights = tuple[float, float, float]
"""eta, ridge, and the weight of the feel-good term."""
ROUNDING: Final = 2.0**-40
"""Relative differences below this are rounding errors."""
ATYPICAL: Final = 8.0
"""A table whose arms are spread more than this many times the scale, in the median feature, is unlike the others."""
MAX_SCALED: Final = 1e50
"""Bound on scaled features, so that sums of squares stay finite."""
MAX_CURVATURE_WEIGHT: Final = 1e150
"""Bound on the weight of a vote in the curvature, for the same reason."""


def feature_scale(arms: Floats) -> Floats:
    """Return the standard deviation of each feature; exactly 0 if arms differ at most by rounding."""
    gaps = arms - arms[0]
    scale = 2.0 ** np.frexp(np.abs(gaps).max(axis=0))[1].astype(float).clip(-1000.0, 1000.0)  # squares of any size
    spread = np.sqrt((gaps / scale).var(axis=0)) * scale
    return np.where(spread > ROUNDING * np.abs(arms).max(axis=0), spread, 0.0)


def in_scale(features: Floats, scale: Floats) -> Floats:
    """Return features divided by their scale; features of scale 0 become 0."""
    with np.errstate(over="ignore"):
        parts = features / np.where(scale > 0.0, scale, 1.0)
    return np.clip(np.where(scale > 0.0, parts, 0.0), -MAX_SCALED, MAX_SCALED)


class RoundHistory:
    """Votes by difference, tables by their arms, and the opponents of both players, in order.

    Equal differences, and equal tables, are stored once. A table is stored relative to its first arm, so that adding a
    constant to all arms changes nothing.
    """

    def __init__(self, first: Floats) -> None:
        self.first = first
        """Feature scale among the first arms; 0 if they do not differ."""
        self.dim = len(first)
        self.differences = np.empty((0, self.dim))
        self.mass, self.wins = np.empty(0), np.empty(0)
        self.arms = np.empty((0, self.dim))
        """The arms of all tables, one table after the other."""
        self.starts = np.empty(0, np.int64)
        self.shown = np.empty(0)
        """How often each table was played, by weight."""
        self.spreads = np.empty((0, self.dim))
        """Standard deviation of each feature in each table."""
        self.opponents = np.zeros((0, 2, self.dim))
        """Sum of the opponents of either player over the rounds of each table."""
        self._rows: dict[bytes, int] = {}
        self._tables: dict[bytes, int] = {}

    def add(self, arms: Floats, first: int, second: int, outcome: float, weight: float) -> None:
        """Add one vote, with the table of arms it was asked from."""
        table = arms - arms[0] + 0.0  # never -0.0: equal tables have equal bits
        at = self._tables.setdefault(table.tobytes(), len(self.shown))
        if at == len(self.shown):
            self.starts = np.append(self.starts, len(self.arms))
            self.arms = np.vstack([self.arms, table])
            self.shown = np.append(self.shown, 0.0)
            self.spreads = np.vstack([self.spreads, feature_scale(arms)])
            self.opponents = np.vstack([self.opponents, np.zeros((1, 2, self.dim))])
        self.shown[at] += weight
        self.opponents[at] += weight * table[[second, first]]
        difference = arms[first] - arms[second] + 0.0
        if difference.any():  # a self-duel adds nothing about theta, but counts in the feel-good term
            self._add_row(difference, outcome, weight)

    def _add_row(self, difference: Floats, outcome: float, weight: float) -> None:
        at = self._rows.setdefault(difference.tobytes(), len(self.mass))
        if at == len(self.mass):
            self.differences = np.vstack([self.differences, difference])
            self.mass, self.wins = np.append(self.mass, 0.0), np.append(self.wins, 0.0)
        self.mass[at] += weight
        self.wins[at] += weight * outcome

    # -- feature scale -------------------------------------------------------------------

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of arms of each table."""
        return np.diff(np.append(self.starts, len(self.arms)))

    def scale(self, table: Floats | None = None) -> Floats:
        """Return the median spread of each feature over tables; 0 if no arms differ in it.

        The tables are those of all votes and one to be decided.

        Tables in which a feature does not vary do not count, nor do tables of two arms if larger ones vary: two
        compared arms may have been chosen for being similar. Without any table, it is the spread of the first arms.
        """
        spreads, weights, larger = self.spreads, self.shown, self.lengths() > 2
        if table is not None:
            spreads = np.vstack([spreads, feature_scale(table)])
            weights, larger = np.append(weights, 1.0), np.append(larger, len(table) > 2)
        found = self.first.copy()
        for k in range(self.dim):
            varies = spreads[:, k] > 0.0
            used = varies & larger if (varies & larger).any() else varies
            if used.any():
                found[k] = _weighted_median(spreads[used, k], weights[used])
        return found

    def table_weights(self, scale: Floats) -> Floats:
        """Return the weight of each table in the feel-good term.

        It is 1, or 1 over the table's median scaled spread if that is above `ATYPICAL`.

        A table with a hundredfold spread promises a hundredfold reward, whatever is better, and would outweigh the
        votes.
        """
        medians = _row_medians(in_scale(self.spreads, scale))
        return np.where(medians > ATYPICAL, 1.0 / medians, 1.0)

    def potential(self, scale: Floats, table_weights: Floats | None = None) -> Potential:
        """Return the potential in scaled features, with these weights of tables."""
        shown = self.shown if table_weights is None else table_weights * self.shown
        met = self.opponents if table_weights is None else table_weights[:, None, None] * self.opponents
        return Potential(
            in_scale(self.differences, scale),
            self.mass,
            self.wins,
            in_scale(self.arms, scale),
            self.starts,
            shown,
            in_scale(met.sum(axis=0), scale),
        )

    # -- snapshots -----------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays by name."""
        names = ("first", "differences", "mass", "wins", "arms", "starts", "shown", "spreads", "opponents")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def restore(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the history of these arrays, or raise ValueError."""
        history = cls(arrays["first"])
        d, n, m, tables = history.dim, len(arrays["mass"]), len(arrays["arms"]), len(arrays["shown"])
        shapes = {
            "first": (d,), "differences": (n, d), "mass": (n,), "wins": (n,),
            "arms": (m, d), "starts": (tables,), "shown": (tables,), "opponents": (tables, 2, d), "spreads": (tables, d),
        }  # fmt: skip
        for name, shape in shapes.items():
            array = arrays[name]
            kind = np.int64 if name == "starts" else np.float64
            if array.shape != shape or array.dtype != kind or not np.isfinite(array).all():
                raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}, or is not finite")
            setattr(history, name, array)
        bounds = [*history.starts.tolist(), m]
        if (
            (history.first < 0.0).any()
            or (history.mass <= 0.0).any()
            or (history.spreads < 0.0).any()
            or (tables and bounds[0])
            or sorted(set(bounds)) != bounds
        ):
            raise ValueError("sizes, weights or tables are damaged")
        history._rows = {row.tobytes(): k for k, row in enumerate(history.differences)}
        history._tables = {history.arms[a:b].tobytes(): k for k, (a, b) in enumerate(pairwise(bounds))}
        return history


def _row_medians(rows: Floats) -> Floats:
    """Return the median of the positive entries of each row, 1 without any; vectorised, since an ask waits for it."""
    count = (rows > 0.0).sum(axis=1)
    ordered = np.sort(np.where(rows > 0.0, rows, np.inf), axis=1)
    at, some = np.arange(len(rows)), count > 0
    low, high = ordered[at, np.maximum(count - 1, 0) // 2], ordered[at, np.minimum(count // 2, rows.shape[1] - 1)]
    return np.where(some, (low + high) / 2.0, 1.0)


def _weighted_median(values: Floats, weights: Floats) -> float:
    """Return the weighted median of positive values; between two, the geometric mean, which favours neither scale."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = 0.5 * below[-1]
    last = len(order) - 1  # weights that are all 0, or whose sum overflows, have no half
    low, high = (values[order[min(int(np.searchsorted(below, half, side)), last)]] for side in ("left", "right"))
    return float(low if low == high else np.sqrt(low) * np.sqrt(high))


@dataclass(frozen=True)
class Potential:
    """-log p^j of both players in scaled features; the arrays are those of `RoundHistory`."""

    differences: Floats
    mass: Floats
    wins: Floats
    arms: Floats
    starts: NDArray[np.int64]
    shown: Floats
    opponents: Floats

    def value(self, theta: Floats, weights: Weights, player: int) -> float:
        """Return eta sum (log(1 + e^v) - o v) + ridge/2 |theta|^2 - feel_good sum_i max_a (x_a - x_i) . theta."""
        return self.value_and_gradient(theta, weights, player)[0]

    def value_and_gradient(self, theta: Floats, weights: Weights, player: int) -> tuple[float, Floats]:
        """Return the potential and its gradient; tied best arms share the gradient."""
        eta, ridge, feel_good = weights
        v = self.differences @ theta
        value = eta * (self.mass @ np.logaddexp(0.0, v) - self.wins @ v) + 0.5 * ridge * theta @ theta
        residual = self.mass / (1.0 + np.exp(-np.clip(v, -700.0, 700.0))) - self.wins
        gradient = eta * (residual @ self.differences) + ridge * theta
        if feel_good == 0.0 or not self.shown.size:
            return float(value), gradient
        utility = self.arms @ theta
        best = np.maximum.reduceat(utility, self.starts)
        value -= feel_good * (self.shown @ best - self.opponents[player] @ theta)
        lengths = np.diff(np.append(self.starts, len(self.arms)))
        at_best = utility == np.repeat(best, lengths)
        share = self.shown / np.add.reduceat(at_best.astype(float), self.starts)
        gradient -= feel_good * ((at_best * np.repeat(share, lengths)) @ self.arms - self.opponents[player])
        return float(value), gradient

    def curvature(self, theta: Floats, weights: Weights) -> Floats:
        """Return the Hessian; the feel-good term has none."""
        eta, ridge, _ = weights
        v = np.clip(self.differences @ theta, -700.0, 700.0)
        slopes = 1.0 / (2.0 + np.exp(v) + np.exp(-v))
        return np.asarray(
            ridge * np.eye(len(theta))
            + (self.differences.T * np.minimum(eta * self.mass * slopes, MAX_CURVATURE_WEIGHT)) @ self.differences
        )
