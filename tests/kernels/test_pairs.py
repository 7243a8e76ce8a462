"""Every search over pairs against brute force, on friendly and unfriendly arms.

The brute force adds squared gaps feature by feature in the order of the kernels, so that both
see the same rounded widths and may be compared exactly.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duelist.kernels import pairs


def sphere(rng, n, dim):
    x = rng.normal(size=(n, dim))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def arms_of(kind):
    """Arms, one a row: (n_arms, dim)."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    if kind == "random":
        return rng.normal(size=(40, 3))
    if kind == "one arm":
        return rng.normal(size=(1, 3))
    if kind == "two arms":
        return rng.normal(size=(2, 3))
    if kind == "one feature":
        return rng.normal(size=(30, 1))
    if kind == "duplicates":
        return np.repeat(rng.normal(size=(6, 4)), 5, axis=0)
    if kind == "all equal":
        return np.tile(rng.normal(size=4), (12, 1))
    if kind == "one outlier":
        return np.vstack([1e-3 * rng.normal(size=(25, 3)), [[1e3, -1e3, 1e3]]])
    if kind == "sphere":
        return sphere(rng, 40, 8)
    if kind == "clustered":
        return np.repeat(sphere(rng, 4, 5), 8, axis=0) + 1e-9 * rng.normal(size=(32, 5))
    if kind == "rank deficient":
        return rng.normal(size=(30, 1)) @ rng.normal(size=(1, 6))
    return np.array(np.meshgrid(*[[-1.0, 1.0]] * 5)).reshape(5, -1).T  # hypercube: ties everywhere


KINDS = (
    "random",
    "one arm",
    "two arms",
    "one feature",
    "duplicates",
    "all equal",
    "one outlier",
    "sphere",
    "clustered",
    "rank deficient",
    "hypercube",
)
RADII = (0.0, 1e-6, 0.3, 1.0, 1e8)
every_kind = pytest.mark.parametrize("kind", KINDS)


def utilities_of(arms, mode):
    rng = np.random.default_rng(9)
    if mode == "linear":
        return arms @ rng.normal(size=arms.shape[1])
    return np.zeros(len(arms)) if mode == "flat" else rng.normal(size=len(arms))


every_utility = pytest.mark.parametrize("mode", ["linear", "flat", "unrelated"])


def setting(kind, mode="linear"):
    arms = arms_of(kind)
    v = np.ascontiguousarray(arms.T)
    return utilities_of(arms, mode), v, squares(v)


def squares(v):
    total = np.zeros((v.shape[1], v.shape[1]))
    for row in v:
        total += (row[:, None] - row[None, :]) ** 2
    return total


def row_order(n):
    return [(i, j) for i in range(n) for j in range(i + 1, n)]


def thresholds(square):
    """None wide, some wide, all but equal arms wide, and thresholds that are widths themselves."""
    widths = np.unique(np.sqrt(square))
    return [0.0, widths[len(widths) // 2], widths[-1], np.median(np.sqrt(square)), 2 * widths[-1] + 1]


@every_kind
def test_squared_widths_from_one_arm_to_all_later_ones(kind):
    _, v, square = setting(kind)
    n = v.shape[1]
    for i in range(n):
        for start in (0, i, n - 1, n):
            out = np.full(n + 1, np.nan)
            assert pairs.squared_widths(v, i, start, out) == n - start
            np.testing.assert_array_equal(out[: n - start], square[i, start:])
            assert np.isnan(out[n - start :]).all()


def brute_best_pair(u, square, radius):
    """The best single arm against itself unless a pair beats it; of equal pairs the first."""
    top = int(np.argmax(u))
    choice, best = (top, top), u[top] + u[top]
    for i, j in row_order(len(u)):
        value = u[i] + u[j] + radius * np.sqrt(square[i, j])
        if value > best:
            choice, best = (i, j), value
    return *choice, best


@every_kind
@every_utility
@pytest.mark.parametrize("radius", RADII)
def test_best_pair_is_the_brute_force_one(kind, mode, radius):
    u, v, square = setting(kind, mode)
    assert pairs.best_pair(u, v, radius) == brute_best_pair(u, square, radius)


@every_kind
def test_widest_pair_is_the_brute_force_one(kind):
    _, v, square = setting(kind)
    first, second, best = pairs.widest_pair(v)
    assert best == square.max()
    ties = [pair for pair in row_order(len(square)) if square[pair] == square.max() > 0]
    assert (first, second) == (ties[0] if ties else (0, 0))


@every_kind
@every_utility
def test_best_wide_pair_is_the_brute_force_one(kind, mode):
    u, v, square = setting(kind, mode)
    for threshold in thresholds(square):
        wide = [pair for pair in row_order(len(u)) if square[pair] > threshold * threshold]
        # `max` keeps the first of equals, as the kernel does.
        expected = max(wide, key=lambda pair: (u[pair[0]] + u[pair[1]], square[pair]), default=(0, 0))
        assert pairs.best_wide_pair(u, v, threshold) == expected


@every_kind
def test_wide_pairs_are_counted_and_numbered_in_row_order(kind):
    _, v, square = setting(kind)
    for threshold in thresholds(square):
        wide = [pair for pair in row_order(len(square)) if square[pair] > threshold * threshold]
        assert pairs.count_wide_pairs(v, threshold) == len(wide)
        assert [pairs.wide_pair_at(v, threshold, k) for k in range(len(wide))] == wide
        assert pairs.wide_pair_at(v, threshold, len(wide)) == (0, 0)


@every_kind
@every_utility
@pytest.mark.parametrize("bonus", RADII)
def test_challenger_is_the_brute_force_one(kind, mode, bonus):
    u, v, square = setting(kind, mode)
    for champion in range(len(u)):
        value = u + bonus * np.sqrt(square[champion])
        expected = champion if value[champion] >= value.max() else int(np.argmax(value))
        assert pairs.challenger(u, v, champion, bonus) == expected


def brute_undominated(u, square, radius):
    return np.flatnonzero((u[:, None] - u[None, :] + radius * np.sqrt(square) >= 0).all(axis=1))


@every_kind
@every_utility
@pytest.mark.parametrize("radius", RADII)
def test_undominated_arms_are_the_brute_force_ones(kind, mode, radius):
    u, v, square = setting(kind, mode)
    kept = np.full(len(u), -1)
    count = pairs.undominated(u, v, radius, kept)
    np.testing.assert_array_equal(kept[:count], brute_undominated(u, square, radius))
    assert (kept[count:] == -1).all()


def test_without_a_radius_only_the_best_arms_are_undominated():
    u, kept = np.array([1.0, 3.0, 2.0, 3.0]), np.empty(4, np.int64)
    v = np.arange(4.0)[None]
    assert pairs.undominated(u, v, 0.0, kept) == 2
    np.testing.assert_array_equal(kept[:2], [1, 3])


@pytest.mark.parametrize("values", [[3.0], [1.0, 3.0, 3.0, 2.0], [-1.0, -2.0], [0.0, 0.0], [-np.inf, -1.0]])
def test_argmax_is_numpys(values):
    assert pairs.argmax(np.array(values)) == np.argmax(values)


# Small integers make ties and equal arms common, where searches go wrong first.
@settings(deadline=None, derandomize=True, max_examples=200)
@given(data=st.data(), n=st.integers(1, 7), dim=st.integers(1, 3), radius=st.sampled_from(RADII))
def test_all_searches_agree_with_brute_force_where_ties_abound(data, n, dim, radius):
    entries = st.lists(st.integers(-2, 2), min_size=n, max_size=n)
    u = np.array(data.draw(entries), dtype=float)
    v = np.array([data.draw(entries) for _ in range(dim)], dtype=float)
    square, kept = squares(v), np.empty(n, np.int64)
    assert pairs.best_pair(u, v, radius) == brute_best_pair(u, square, radius)
    assert pairs.widest_pair(v)[2] == square.max()
    count = pairs.undominated(u, v, radius, kept)
    np.testing.assert_array_equal(kept[:count], brute_undominated(u, square, radius))
    wide = [pair for pair in row_order(n) if square[pair] > 4.0]
    assert pairs.count_wide_pairs(v, 2.0) == len(wide)
    expected = max(wide, key=lambda pair: (u[pair[0]] + u[pair[1]], square[pair]), default=(0, 0))
    assert pairs.best_wide_pair(u, v, 2.0) == expected
