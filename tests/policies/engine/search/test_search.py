"""The pruned searches over very many arms against brute force in NumPy, bit for bit."""

import math

import native_testing as parts
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duelist.core.seeds import seed_words
from tests.helpers.policies import brute_force
from tests.helpers.policies.brute_force import squares, thresholds

RADII = (0.0, 1e-6, 0.3, 2.0, 1e8)


def arms_of(shape, n=300, dim=6):
    """Arms, one a row."""
    rng = np.random.default_rng(sum(map(ord, shape)))
    x = rng.normal(size=(n, dim))
    return {
        "random": lambda: x,
        "one feature": lambda: x[:, :1],
        "many features": lambda: rng.normal(size=(n, 70)),
        "duplicates": lambda: np.repeat(x[: n // 20], 20, axis=0),
        "all equal": lambda: np.tile(x[0] / 3.0, (n, 1)),
        "one outlier": lambda: np.vstack([1e-3 * x[1:], [[1e3, -1e3, 1e3, 0.0, 1.0, 2.0]]]),
        "sphere": lambda: x / np.linalg.norm(x, axis=1, keepdims=True),
        "clustered": lambda: np.repeat(x[:4], n // 4, axis=0) + 1e-9 * rng.normal(size=(n, dim)),
        "rank deficient": lambda: x[:, :2] @ rng.normal(size=(2, dim)),
        "collinear": lambda: np.arange(n)[:, None] * x[0],
        "tiny features": lambda: 1e-6 * x,
        "huge features": lambda: 1e6 * x,
        "far from zero": lambda: 1e6 + x,
        "hypercube": lambda: np.array(np.meshgrid(*[[-1.0, 1.0]] * 8)).reshape(8, -1).T,
        "grid": lambda: np.array(np.meshgrid(*[np.arange(7.0)] * 3)).reshape(3, -1).T,
        "small integers": lambda: rng.integers(-2, 3, size=(n, 4)).astype(float),
    }[shape]()


SHAPES = (
    "random",
    "one feature",
    "many features",
    "duplicates",
    "all equal",
    "one outlier",
    "sphere",
    "clustered",
    "rank deficient",
    "collinear",
    "tiny features",
    "huge features",
    "far from zero",
    "hypercube",
    "grid",
    "small integers",
)
UTILITIES = {
    "linear": lambda x, rng: x @ rng.normal(size=x.shape[1]),
    "flat": lambda x, rng: np.zeros(len(x)),
    "unrelated": lambda x, rng: rng.normal(size=len(x)),
    "whole numbers": lambda x, rng: rng.integers(0, 3, size=len(x)).astype(float),
    "large offset": lambda x, rng: 1e6 + 1e-3 * rng.normal(size=len(x)),
}
every_shape = pytest.mark.parametrize("shape", SHAPES)
every_utility = pytest.mark.parametrize("mode", UTILITIES)


def setting(shape, mode="linear", **size):
    x = arms_of(shape, **size)
    return UTILITIES[mode](x, np.random.default_rng(9)), np.ascontiguousarray(x.T)


@every_shape
@every_utility
def test_best_pair_is_the_brute_force_one(shape, mode):
    u, v = setting(shape, mode)
    square = squares(v)
    for radius in RADII:
        assert parts.search_best(u, v, radius)[:3] == brute_force.best(u, square, radius)


def searched_widest(v, slack=1.0):
    """All widths zero is told as nobody; the widest pair is then an arm against itself."""
    first, second, value, _ = parts.search_widest(v, slack)
    return (0, 0, 0.0) if first < 0 else (first, second, value)


@every_shape
def test_widest_pair_is_the_brute_force_one(shape):
    _, v = setting(shape)
    assert searched_widest(v) == brute_force.widest(squares(v))


@every_shape
@every_utility
def test_best_wide_pair_is_the_brute_force_one(shape, mode):
    u, v = setting(shape, mode)
    square = squares(v)
    for threshold in thresholds(square):
        assert parts.search_best_wide(u, v, threshold)[:2] == brute_force.best_wide(u, square, threshold)


def test_best_wide_pair_among_more_equal_utilities_than_are_met_first():
    _, v = setting("random", n=1500)
    square = squares(v)
    for seed in range(5):
        u = np.random.default_rng(seed).integers(0, 4, size=1500).astype(float)
        for threshold in (1.0, 5.0, 8.0):
            assert parts.search_best_wide(u, v, threshold)[:2] == brute_force.best_wide(u, square, threshold)


@every_shape
def test_the_diameter_test_is_the_comparison_with_the_widest(shape):
    _, v = setting(shape)
    square = squares(v)
    widest = math.sqrt(square.max())
    for threshold in (*thresholds(square), widest, np.nextafter(widest, 0.0), np.nextafter(widest, np.inf), -1.0):
        i, j, value, _ = parts.search_wider(v, threshold)
        assert (i >= 0) == (square.max() > threshold * threshold)
        if i >= 0:
            assert i < j
            assert value == square[i, j] > threshold * threshold


def chained_draws(v, threshold, n, seed=3):
    """Pairs drawn one after the other, each with a generator of its own."""
    for k in range(n):
        yield parts.search_random_wide(v, threshold, seed_words([seed, k]))


def test_a_random_wide_pair_is_wide_and_uniform():
    _, v = setting("random", n=40)
    square = squares(v)
    # 64 draws find a pair of the first threshold at once; the last leaves three pairs for the exact pass.
    for threshold in (np.sqrt(np.median(square)), np.sqrt(np.sort(square[np.triu_indices(40, 1)])[-4])):
        wide = brute_force.wide(square, threshold)
        draws = 20 * len(wide) + 3000
        seen = dict.fromkeys(wide, 0)
        for first, second, value, _ in chained_draws(v, threshold, draws):
            seen[first, second] += 1
            assert value == square[first, second]
        counts = np.array(list(seen.values()))
        mean = draws / len(wide)
        # Chi-square with len(wide) - 1 degrees of freedom: mean plus six standard deviations.
        freedom = len(wide) - 1
        assert ((counts - mean) ** 2 / mean).sum() < freedom + 6 * np.sqrt(2 * freedom)


def test_the_exact_pass_draws_uniformly_where_drawing_at_random_fails():
    rng = np.random.default_rng(0)
    v = np.ascontiguousarray((1e-3 * rng.normal(size=(500, 3))).T)
    v[:, :3] = np.eye(3)  # the pairs of three arms, and no others, are wider than 1.2
    seen = {(0, 1): 0, (0, 2): 0, (1, 2): 0}
    for first, second, _, examined in chained_draws(v, 1.2, 600):
        seen[first, second] += 1
        assert examined < 500
    assert min(seen.values()) > 200 - 6 * np.sqrt(600 * 2 / 9)
    assert parts.search_random_wide(v, 9.0, seed_words(5))[:2] == (-1, -1)


@every_shape
@every_utility
def test_undominated_arms_are_the_brute_force_ones(shape, mode):
    u, v = setting(shape, mode)
    square = squares(v)
    for radius in RADII:
        kept, _ = parts.search_undominated(u, v, radius)
        np.testing.assert_array_equal(kept, brute_force.undominated(u, square, radius))


def test_arms_that_tie_with_a_cone_are_all_met():
    # Along one line with slope equal to the radius, rounding alone decides who rules out whom.
    for dim in (1, 2, 5):
        v = np.ascontiguousarray((np.linspace(0, 1, 700)[:, None] * np.ones(dim) / 3.0).T)
        u = 0.7 * np.sqrt((v**2).sum(axis=0))
        np.testing.assert_array_equal(parts.undominated(u, v, 0.7), brute_force.undominated(u, squares(v), 0.7))


@pytest.mark.parametrize("n", [1, 2, 3, 15, 16, 17, 47, 48, 49, 63, 64, 65, 111, 112, 113, 511, 512, 513, 2048, 2049])
def test_block_boundaries(n):
    for shape, dim in (("random", 2), ("small integers", 4), ("random", 61)):
        u, v = setting(shape, n=n, dim=dim)
        square = squares(v)
        assert parts.search_best(u, v, 0.5)[:3] == brute_force.best(u, square, 0.5)
        assert searched_widest(v) == brute_force.widest(square)
        assert parts.search_best_wide(u, v, 1.5)[:2] == brute_force.best_wide(u, square, 1.5)
        np.testing.assert_array_equal(parts.search_undominated(u, v, 0.5)[0], brute_force.undominated(u, square, 0.5))


@pytest.mark.parametrize("dim", [2, 5, 16, 40])
def test_thousands_of_arms(dim):
    n = 2000
    rng = np.random.default_rng(dim)
    v = rng.normal(size=(dim, n)) * np.geomspace(1.0, 0.2, dim)[:, None]
    u = rng.normal(size=dim) @ v
    square = squares(v)
    for radius in (0.05, 1.0, 20.0):
        first, second, value, examined = parts.search_best(u, v, radius)
        assert (first, second, value) == brute_force.best(u, square, radius)
        assert examined < 0.35 * n * (n - 1) / 2  # pruned, not tried one by one
    assert searched_widest(v) == brute_force.widest(square)
    kept, examined = parts.search_undominated(u, v, 0.5)
    np.testing.assert_array_equal(kept, brute_force.undominated(u, square, 0.5))
    assert examined < n * (n - 1) / 2


def test_ties_without_end():
    """16,384 corners of a cube: half as many pairs are widest, and the first of them is asked for."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 14)).reshape(14, -1)
    assert parts.search_widest(corners)[:3] == (0, 2**14 - 1, 56.0)
    assert parts.search_best(np.zeros(2**14), corners, 3.0)[:3] == (0, 2**14 - 1, 3.0 * math.sqrt(56.0))


def test_equal_arms_in_great_number_are_no_pairs_to_try():
    v = np.tile(np.array([[1 / 3], [0.1], [7.7]]), (1, 200_000))
    assert parts.search_best(np.ones(200_000), v, 2.0) == (0, 0, 2.0, 0)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-155, 1e-30, 1e30, 1e150, 1e160, 1e200])
def test_extreme_scales(scale):
    """Squares that underflow pass the filter; squares that overflow are left to brute force."""
    u, v = setting("random", "unrelated", n=80)
    v = scale * v
    with np.errstate(over="ignore"):
        square = squares(v)
    for own in (u, u * scale):
        for radius in (1.0, 1e-100):
            assert parts.search_best(own, v, radius)[:3] == brute_force.best(own, square, radius)
        np.testing.assert_array_equal(
            parts.search_undominated(own, v, 1.0)[0], brute_force.undominated(own, square, 1.0)
        )
        with np.errstate(over="ignore"):
            for threshold in (0.0, scale, 3.0 * scale):
                limit = float(np.float64(threshold) * threshold)
                expected = brute_force.best_wide(own, square, np.float64(threshold))
                assert parts.search_best_wide(own, v, threshold)[:2] == expected
                assert (parts.search_wider(v, threshold)[0] >= 0) == (square.max() > limit)
    assert searched_widest(v) == brute_force.widest(square)


def test_too_little_allowance_for_rounding_is_noticed():
    """The filter is a filter: with its allowance taken away, or turned round, the right pair gets lost."""
    lost = {0.0: 0, -1.0: 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        v = rng.normal(size=(10, 1000))
        v /= np.linalg.norm(v, axis=0)
        v = np.hstack([v, -v])  # a thousand pairs of nearly the same width
        expected = brute_force.widest(squares(v))
        assert searched_widest(v) == expected
        for slack in lost:
            lost[slack] += searched_widest(v, slack) != expected
    assert lost[0.0] > 0
    assert lost[-1.0] > 10


entries = st.one_of(st.integers(-2, 2).map(float), st.floats(-3, 3, width=32), st.sampled_from([1e-9, 1 / 3, 0.1]))


@settings(deadline=None, derandomize=True, max_examples=150)
@given(data=st.data(), n=st.integers(1, 20), dim=st.integers(1, 3), radius=st.sampled_from(RADII))
def test_all_searches_agree_with_brute_force(data, n, dim, radius):
    numbers = st.lists(entries, min_size=n, max_size=n)
    u = np.array(data.draw(numbers))
    v = np.array([data.draw(numbers) for _ in range(dim)])
    square = squares(v)
    threshold = data.draw(st.sampled_from([0.0, 1.0, 2.0, math.sqrt(2.0), 4.0]))
    assert parts.search_best(u, v, radius)[:3] == brute_force.best(u, square, radius)
    assert searched_widest(v) == brute_force.widest(square)
    assert parts.search_best_wide(u, v, threshold)[:2] == brute_force.best_wide(u, square, threshold)
    np.testing.assert_array_equal(parts.search_undominated(u, v, radius)[0], brute_force.undominated(u, square, radius))
