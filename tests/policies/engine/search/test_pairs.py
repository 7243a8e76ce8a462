"""Every search over pairs against brute force, on friendly and unfriendly arms."""

import native_testing as parts
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duelist.core.seeds import seed_words
from duelist.native import MANY_ARMS
from tests.helpers.policies import brute_force
from tests.helpers.policies.brute_force import NO_PAIRS, squares, thresholds


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


def best_pair(u, v, radius):
    return parts.best_pair(u, v, radius, False, NO_PAIRS)


def widest_pair(v):
    return parts.widest_pair(v, False, NO_PAIRS)


def best_wide_pair(u, v, threshold):
    return parts.best_wide_pair(u, v, threshold, False, NO_PAIRS)[:2]


def all_within(v, threshold):
    return not parts.any_wider(v, threshold, NO_PAIRS)


@every_kind
def test_squared_widths_from_one_arm_to_all_later_ones(kind):
    _, v, square = setting(kind)
    n = v.shape[1]
    for i in range(n):
        for start in (0, i, n - 1, n):
            np.testing.assert_array_equal(parts.squared_widths(v, i, start), square[i, start:])


@every_kind
@every_utility
@pytest.mark.parametrize("radius", RADII)
def test_best_pair_is_the_brute_force_one(kind, mode, radius):
    u, v, square = setting(kind, mode)
    assert best_pair(u, v, radius) == brute_force.best(u, square, radius)


@every_kind
def test_widest_pair_is_the_brute_force_one(kind):
    _, v, square = setting(kind)
    assert widest_pair(v) == brute_force.widest(square)


@every_kind
def test_all_within_says_whether_the_widest_pair_is_wide(kind):
    _, v, square = setting(kind)
    root = np.sqrt(square.max())
    for threshold in [*thresholds(square), np.nextafter(root, 0), root, np.nextafter(root, np.inf)]:
        assert all_within(v, threshold) == (square.max() <= threshold * threshold)


@every_kind
@every_utility
def test_best_wide_pair_is_the_brute_force_one(kind, mode):
    u, v, square = setting(kind, mode)
    for threshold in thresholds(square):
        assert best_wide_pair(u, v, threshold) == brute_force.best_wide(u, square, threshold)


# u, arms on a line, threshold: which pair wins, and which of the three rules says so.
@pytest.mark.parametrize(
    ("u", "at", "threshold", "expected"),
    [
        ([0.0, 3.0, 1.0, 2.0], [0.0, 9.0, 1.0, 8.5], 0.4, (1, 3)),  # the largest sum
        ([0.0, 3.0, 1.0, 2.0], [0.0, 9.0, 1.0, 8.5], 0.5, (1, 2)),  # the largest sum is not wide: "wider" is strict
        ([1.0, 2.0, 1.0, 2.0], [0.0, 4.0, 9.0, 5.0], 1.5, (0, 3)),  # sums of 3: (0, 1) 4, (0, 3) 5, (1, 2) 5, (2, 3) 4
        ([1.0, 2.0, 1.0, 2.0], [0.0, 4.0, 10.0, 5.0], 1.5, (1, 2)),  # the widest of them alone
        ([2.0, 1.0, 2.0, 1.0], [4.0, 0.0, 5.0, 10.0], 1.5, (0, 3)),
        ([0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], 0.5, (0, 1)),  # all equal: the first in row order
        ([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], 0.5, (0, 2)),
        ([0.0, 1.0, 1.0, 0.0], [0.0, 2.0, 2.0, 0.0], 1.0, (0, 1)),  # the first of four, met from the best arms down
        ([1.0, 0.0, 0.0, 1.0], [0.0, 2.0, 2.0, 0.0], 1.0, (0, 1)),
        ([5.0, 5.0], [1.0, 1.0], 0.0, (-1, -1)),
        ([5.0], [1.0], 0.0, (-1, -1)),
    ],
)
def test_best_wide_pair_breaks_ties_by_width_and_then_by_order(u, at, threshold, expected):
    u, v = np.array(u), np.array([at])
    assert best_wide_pair(u, v, threshold) == expected == brute_force.best_wide(u, squares(v), threshold)


@every_kind
def test_a_random_wide_pair_is_the_one_that_the_generator_numbers_in_row_order(kind):
    _, v, square = setting(kind)
    for threshold in thresholds(square):
        wide = brute_force.wide(square, threshold)
        for seed in range(8):
            drawn = parts.draw(seed_words(seed), "below", 1, max(len(wide), 1))[0][0]
            expected = wide[int(drawn)] if wide else (-1, -1)
            assert parts.random_wide_pair(v, threshold, seed_words(seed), NO_PAIRS)[:2] == expected


@every_kind
@every_utility
@pytest.mark.parametrize("bonus", RADII)
def test_challenger_is_the_brute_force_one(kind, mode, bonus):
    u, v, square = setting(kind, mode)
    for champion in range(len(u)):
        expected = brute_force.challenger(u, square, champion, bonus)
        assert parts.challenger(u, v, champion, bonus, False, NO_PAIRS) == expected


@every_kind
@every_utility
@pytest.mark.parametrize("radius", RADII)
def test_undominated_arms_are_the_brute_force_ones(kind, mode, radius):
    u, v, square = setting(kind, mode)
    np.testing.assert_array_equal(parts.undominated(u, v, radius), brute_force.undominated(u, square, radius))


def test_without_a_radius_only_the_best_arms_are_undominated():
    assert parts.undominated(np.array([1.0, 3.0, 2.0, 3.0]), np.arange(4.0)[None], 0.0) == [1, 3]


@pytest.mark.parametrize(
    "values",
    [
        [3.0], [1.0, 3.0, 3.0, 2.0], [-1.0, -2.0], [0.0, 0.0], [-np.inf, -1.0], [-np.inf] * 20, [1.0] * 16,
        [*range(33), 32, 31], [0.0] * 24 + [1.0], [0.0, 5.0] * 9,
    ],
)  # fmt: skip
def test_argmax_is_numpys(values):
    assert parts.argmax(np.array(values)) == np.argmax(values)


# Small integers make ties and equal arms common, where searches go wrong first.
@settings(deadline=None, derandomize=True, max_examples=200)
@given(data=st.data(), n=st.integers(1, 7), dim=st.integers(1, 3), radius=st.sampled_from(RADII))
def test_all_searches_agree_with_brute_force_where_ties_abound(data, n, dim, radius):
    entries = st.lists(st.integers(-2, 2), min_size=n, max_size=n)
    u = np.array(data.draw(entries), dtype=float)
    v = np.array([data.draw(entries) for _ in range(dim)], dtype=float)
    square = squares(v)
    assert best_pair(u, v, radius) == brute_force.best(u, square, radius)
    assert widest_pair(v)[2] == square.max()
    np.testing.assert_array_equal(parts.undominated(u, v, radius), brute_force.undominated(u, square, radius))
    assert best_wide_pair(u, v, 2.0) == brute_force.best_wide(u, square, 2.0)


# -- arms enough to prune ----------------------------------------------------------------------------

SIZES = (7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64)


def crowd(shape, n):
    """Arms, one a row, where bounds are tight, loose, or attained exactly."""
    rng = np.random.default_rng([n, *map(ord, shape)])
    if shape == "random":
        return rng.normal(size=(n, 3))
    if shape == "many features":
        return rng.normal(size=(n, 20))
    if shape == "line":  # the triangle inequality holds with equality
        return rng.normal(size=(n, 1)) @ rng.normal(size=(1, 3))
    if shape == "even line":  # ... without rounding, and with ties
        return rng.permutation(n)[:, None] * np.array([[3.0, 4.0]])
    if shape == "hypercube":
        return rng.choice([-1.0, 1.0], size=(n, 6))
    if shape == "circle":
        angle = 2 * np.pi * rng.permutation(n) / n
        return np.column_stack([np.cos(angle), np.sin(angle)])
    if shape == "twins":  # every arm has a double, or nearly
        arms = np.repeat(rng.normal(size=((n + 1) // 2, 4)), 2, axis=0)[:n]
        arms[1::4] = np.nextafter(arms[1::4], np.inf)
        return arms
    if shape == "one outlier":
        return np.vstack([1e-3 * rng.normal(size=(n - 1, 3)), [[1e3, -1e3, 1e3]]])[rng.permutation(n)]
    return 1e6 + rng.normal(size=(n, 3))  # far from zero


SHAPES = (
    "random",
    "many features",
    "line",
    "even line",
    "hypercube",
    "circle",
    "twins",
    "one outlier",
    "far from zero",
)
every_shape = pytest.mark.parametrize("shape", SHAPES)
every_size = pytest.mark.parametrize("n", SIZES)


def crowds(shape, n):
    """The arms with utilities of every sort: linear (also large, also rounded into ties), flat and unrelated."""
    arms = crowd(shape, n)
    v = np.ascontiguousarray(arms.T)
    linear = utilities_of(arms, "linear")
    sorts = (linear, -linear, 1e9 + linear, np.round(linear), np.zeros(n), utilities_of(arms, "unrelated"))
    return v, squares(v), sorts


@every_shape
@every_size
def test_pruned_best_pair_is_the_brute_force_one(shape, n):
    v, square, sorts = crowds(shape, n)
    for u in sorts:
        for radius in (0.0, 1e-300, 1e-12, 0.3, 1.0, 30.0, 1e8, 1e200):
            assert best_pair(u, v, radius) == brute_force.best(u, square, radius)


@every_shape
@every_size
def test_pruned_widest_pair_is_the_brute_force_one(shape, n):
    v, square, _ = crowds(shape, n)
    for order in (np.arange(n), np.arange(n)[::-1], np.random.default_rng(n).permutation(n)):
        turned = np.ascontiguousarray(v[:, order])
        assert widest_pair(turned) == brute_force.widest(square[np.ix_(order, order)])
        for threshold in thresholds(square):
            assert all_within(turned, threshold) == (square.max() <= threshold * threshold)


@every_shape
@every_size
def test_best_wide_pair_that_stops_early_is_the_brute_force_one(shape, n):
    v, square, sorts = crowds(shape, n)
    for u in sorts:
        for threshold in thresholds(square):
            assert best_wide_pair(u, v, threshold) == brute_force.best_wide(u, square, threshold)


@every_shape
@every_size
def test_undominated_arms_met_by_few_are_the_brute_force_ones(shape, n):
    v, square, sorts = crowds(shape, n)
    for u in sorts:
        for radius in (0.0, 1e-300, 1e-12, 0.03, 0.3, 1.0, 1e8):
            np.testing.assert_array_equal(parts.undominated(u, v, radius), brute_force.undominated(u, square, radius))


@every_shape
def test_undominated_arms_at_the_very_radius_that_rules_them_out(shape):
    # Radii at which one arm is just kept by another: the bound for all the rest must not round it away.
    v, square, sorts = crowds(shape, 24)
    for u in sorts[:2]:
        i, j = np.nonzero((u[:, None] > u[None, :]) & (square > 0))
        for radius in ((u[i] - u[j]) / np.sqrt(square[i, j]))[::7]:
            for near in (np.nextafter(radius, 0), radius, np.nextafter(radius, np.inf)):
                np.testing.assert_array_equal(parts.undominated(u, v, near), brute_force.undominated(u, square, near))


def test_pruning_leaves_few_arms_and_never_one_of_the_best_pair():
    rng = np.random.default_rng(11)
    left = []
    for n in SIZES:
        u, v = rng.normal(size=n), rng.normal(size=(3, n))
        kept = parts.best_pair_candidates(u, v, 0.3)
        first, second, _ = brute_force.best(u, squares(v), 0.3)
        assert {first, second} <= set(kept)
        left.append(len(kept) / n)
    assert max(left) < 1.0
    assert np.mean(left) < 0.5


@settings(deadline=None, derandomize=True, max_examples=300)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(7, 64),
    dim=st.integers(1, 5),
    span=st.integers(1, 4),
    radius=st.sampled_from((*RADII, 0.25, 0.5, 2.0)),
)
def test_pruned_searches_agree_with_brute_force_where_ties_abound(seed, n, dim, span, radius):
    rng = np.random.default_rng(seed)
    u = rng.integers(-span, span + 1, size=n).astype(float)
    v = rng.integers(-span, span + 1, size=(dim, n)).astype(float)
    square = squares(v)
    assert best_pair(u, v, radius) == brute_force.best(u, square, radius)
    assert widest_pair(v) == brute_force.widest(square)
    np.testing.assert_array_equal(parts.undominated(u, v, radius), brute_force.undominated(u, square, radius))
    for threshold in (0.0, 2.0, float(np.sqrt(square.max()))):
        assert best_wide_pair(u, v, threshold) == brute_force.best_wide(u, square, threshold)
        assert all_within(v, threshold) == (square.max() <= threshold * threshold)


# -- arms so many that another search takes over -----------------------------------------------------


every_many = pytest.mark.parametrize("n", [MANY_ARMS - 1, MANY_ARMS, MANY_ARMS + 1, 2 * MANY_ARMS])


@every_shape
@every_many
def test_nothing_changes_where_the_search_for_many_arms_takes_over(shape, n):
    v, square, sorts = crowds(shape, n)
    assert widest_pair(v) == brute_force.widest(square)
    for u in (sorts[0], sorts[3], sorts[4]):
        for radius in (0.0, 0.3, 1e8):
            assert best_pair(u, v, radius) == brute_force.best(u, square, radius)
            np.testing.assert_array_equal(parts.undominated(u, v, radius), brute_force.undominated(u, square, radius))
        for threshold in thresholds(square):
            assert best_wide_pair(u, v, threshold) == brute_force.best_wide(u, square, threshold)
            first, second, _ = parts.random_wide_pair(v, threshold, seed_words(n), NO_PAIRS)
            some = (square > threshold * threshold).any()
            assert square[first, second] > threshold * threshold if some else (first, second) == (-1, -1)


# "Wide" means one thing to all searches: the squared width is larger than the squared threshold.
@every_shape
@every_many
def test_all_within_agrees_with_the_wide_pairs_however_many_arms_there_are(shape, n):
    v, square, _ = crowds(shape, n)
    root = np.sqrt(square.max())
    for threshold in [*thresholds(square), np.nextafter(root, 0), root, np.nextafter(root, np.inf)]:
        within = all_within(v, threshold)
        assert within == (square.max() <= threshold * threshold)
        assert within == (best_wide_pair(np.zeros(n), v, threshold) == (-1, -1))
