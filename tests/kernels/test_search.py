"""The pruned searches against the brute force of `all_pairs` and against another one in NumPy, bit for bit.

Best, widest and undominated run with a float32 and a float64 filter. `sweep_all` leaves out the climb and the dropping of arms,
so that the blocks alone must find the pair, from a hopeless incumbent upwards.
"""

import math

import numpy as np
import pytest
from duelist.kernels import all_pairs, dominance, fields, filters, linalg, order, search
from duelist.kernels.random import seed_words
from duelist.kernels.whitening import utilities_all, whiten_all
from hypothesis import given, settings
from hypothesis import strategies as st

FILTERS = {"float32": (np.float32, np.int32), "float64": (np.float64, np.int64)}
every_filter = pytest.mark.parametrize("kind", FILTERS)
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


def squares(v):
    total = np.zeros((v.shape[1], v.shape[1]))
    for row in v:
        total += (row[:, None] - row[None, :]) ** 2
    return total


def first_largest(values):
    """The first largest entry above the diagonal, in row order."""
    n = len(values)
    masked = np.where(np.triu(np.ones((n, n), bool), 1), values, -np.inf)
    i, j = np.unravel_index(np.argmax(masked), masked.shape)
    return int(i), int(j), float(masked[i, j])


def numpy_best(u, v, radius):
    top = int(np.argmax(u))
    own = (top, top, float(u[top] + u[top]))
    if len(u) == 1:
        return own
    pair = first_largest(u[:, None] + u[None] + radius * np.sqrt(squares(v)))
    return pair if pair[2] > own[2] else own


def sweep_all(u, v, radius, kind, goal=filters.BEST, slack=1.0):
    """The blocks alone: all arms, an incumbent that is only the best single arm."""
    centre = fields.sample_mean(v)
    used = u if goal == filters.BEST else np.zeros_like(u)
    key, far = fields.upper_bounds(used, v, radius, centre, np.arange(u.size))
    aim = filters.Aim(goal, radius, 0.0, fields.rounding_noise(len(v), order.largest_size(used), radius, far))
    top = int(np.argmax(u)) if goal == filters.BEST else 0
    found = filters.nothing_found(top, 2 * u[top] if goal == filters.BEST else 0.0)
    field = fields.field_of(u, v, key, np.arange(u.size), order.descending(key))
    search.sweep(field, aim, found, centre, far, np.zeros(4, np.uint64), *FILTERS[kind], slack)
    return int(found.pair[0]), int(found.pair[1]), float(found.value[0])


@every_filter
@every_shape
@every_utility
def test_best_pair_is_the_brute_force_one(shape, mode, kind):
    u, v = setting(shape, mode)
    for radius in RADII:
        expected = all_pairs.best_pair(u, v, radius)
        assert expected == numpy_best(u, v, radius)
        assert search.search_best(u, v, radius, *FILTERS[kind], 1.0)[:3] == expected
        assert sweep_all(u, v, radius, kind) == expected
        if kind == "float32":
            assert search.best_pair(u, v, radius) == expected


@every_filter
@every_shape
def test_widest_pair_is_the_brute_force_one(shape, kind):
    u, v = setting(shape)
    expected = all_pairs.widest_pair(v)
    pair = first_largest(squares(v))
    assert expected == (pair if pair[2] > 0 else (0, 0, 0.0))
    assert search.search_widest(v, *FILTERS[kind], 1.0)[:3] == expected
    assert sweep_all(u, v, 1.0, kind, filters.WIDEST) == expected
    if kind == "float32":
        assert search.widest_pair(v) == expected


def thresholds(v):
    """None wide, some wide, all but equal arms wide, thresholds that are widths themselves, and a few wide."""
    widths = np.unique(np.sqrt(squares(v)))
    return [0.0, widths[len(widths) // 2], widths[-1], widths[max(len(widths) - 9, 0)], 2 * widths[-1] + 1]


@every_shape
@every_utility
def test_best_wide_pair_is_the_brute_force_one(shape, mode):
    u, v = setting(shape, mode)
    for threshold in thresholds(v):
        assert search.best_wide_pair(u, v, threshold) == all_pairs.best_wide_pair(u, v, threshold)


def test_best_wide_pair_among_more_equal_utilities_than_are_met_first():
    for seed in range(5):
        u = np.random.default_rng(seed).integers(0, 4, size=1500).astype(float)
        _, v = setting("random", n=1500)
        for threshold in (1.0, 5.0, 8.0):
            assert search.best_wide_pair(u, v, threshold) == all_pairs.best_wide_pair(u, v, threshold)


def test_best_wide_pair_is_numpys():
    u, v = setting("small integers", "whole numbers")
    square = squares(v)
    for threshold in (0.0, 2.0, 5.0):
        sums = np.where(square > threshold * threshold, u[:, None] + u[None], -np.inf)
        ties = np.where(sums == first_largest(sums)[2], square, -np.inf)
        assert search.best_wide_pair(u, v, threshold) == first_largest(ties)[:2]


@every_shape
def test_the_diameter_test_is_the_comparison_with_the_widest(shape):
    _, v = setting(shape)
    largest = all_pairs.widest_pair(v)[2]
    widest = math.sqrt(largest)
    for threshold in (*thresholds(v), widest, np.nextafter(widest, 0.0), np.nextafter(widest, np.inf), -1.0):
        i, j, square = search.wider_pair(v, threshold)
        wide = threshold < 0.0 or largest > threshold * threshold
        assert (i != j) == wide
        if i != j:
            assert i < j
            assert square == fields.squared_width(v, i, j)
            assert threshold < 0.0 or square > threshold * threshold
        assert search.all_within(v, threshold) != wide


def test_a_random_wide_pair_is_wide_and_uniform():
    _, v = setting("random", n=40)
    square = squares(v)
    # 64 draws find a pair of the first threshold at once; the last leaves three pairs for the exact pass.
    for threshold in (np.sqrt(np.median(square)), np.sqrt(np.sort(square[np.triu_indices(40, 1)])[-4])):
        wide = [(int(i), int(j)) for i, j in np.argwhere(np.triu(square > threshold**2, 1))]
        words, draws = seed_words(3), 20 * len(wide) + 3000
        seen = dict.fromkeys(wide, 0)
        for _ in range(draws):
            seen[search.random_wide_pair(v, threshold, words)] += 1
        counts = np.array(list(seen.values()))
        mean = draws / len(wide)
        # Chi-square with len(wide) - 1 degrees of freedom: mean plus six standard deviations.
        freedom = len(wide) - 1
        assert ((counts - mean) ** 2 / mean).sum() < freedom + 6 * np.sqrt(2 * freedom)


def test_the_exact_pass_draws_uniformly_where_drawing_at_random_fails():
    rng = np.random.default_rng(0)
    v = np.ascontiguousarray((1e-3 * rng.normal(size=(500, 3))).T)
    v[:, :3] = np.eye(3)  # the pairs of three arms, and no others, are wider than 1.2
    words, seen = seed_words(5), {(0, 1): 0, (0, 2): 0, (1, 2): 0}
    for _ in range(600):
        i, j, examined = search.search_random_wide(v, 1.2, words, np.float32, np.int32, 1.0)
        seen[i, j] += 1
        assert examined < 500
    assert min(seen.values()) > 200 - 6 * np.sqrt(600 * 2 / 9)
    assert search.random_wide_pair(v, 9.0, words) == (0, 0)


@every_filter
@every_shape
@every_utility
def test_undominated_arms_are_the_brute_force_ones(shape, mode, kind):
    u, v = setting(shape, mode)
    gaps, widths = u[:, None] - u[None], np.sqrt(squares(v))
    for radius in RADII:
        kept, expected = np.full(u.size, -1), np.full(u.size, -1)
        count, _ = dominance.search_undominated(u, v, radius, kept, np.inf, *FILTERS[kind], 1.0)
        assert count == all_pairs.undominated(u, v, radius, expected)
        np.testing.assert_array_equal(kept, expected)
        np.testing.assert_array_equal(kept[:count], np.flatnonzero((gaps + radius * widths >= 0).all(axis=1)))


def test_arms_that_tie_with_a_cone_are_all_met():
    # Along one line with slope equal to the radius, rounding alone decides who rules out whom.
    for dim in (1, 2, 5):
        v = np.ascontiguousarray((np.linspace(0, 1, 700)[:, None] * np.ones(dim) / 3.0).T)
        u = 0.7 * np.sqrt((v**2).sum(axis=0))
        kept, expected = np.empty(700, np.int64), np.empty(700, np.int64)
        count = all_pairs.undominated(u, v, 0.7, expected)
        assert dominance.undominated(u, v, 0.7, kept) == count
        np.testing.assert_array_equal(kept[:count], expected[:count])


def test_a_slope_within_the_radius_keeps_every_arm_unseen():
    rng = np.random.default_rng(1)
    v, w = rng.normal(size=(5, 400)), rng.normal(size=5)
    u, slope = w @ v, float(np.linalg.norm(w))
    kept = np.empty(400, np.int64)
    count, examined = dominance.search_undominated(u, v, 1.01 * slope, kept, slope, np.float32, np.int32, 1.0)
    assert (count, examined) == (400, 0)
    np.testing.assert_array_equal(kept, np.arange(400))
    assert all_pairs.undominated(u, v, 1.01 * slope, kept) == 400
    expected = np.empty(400, np.int64)
    assert dominance.undominated(u, v, 0.3 * slope, kept, slope) == all_pairs.undominated(u, v, 0.3 * slope, expected)


@pytest.mark.parametrize("n", [1, 2, 3, 15, 16, 17, 47, 48, 49, 63, 64, 65, 111, 112, 113, 511, 512, 513, 2048, 2049])
def test_block_boundaries(n):
    for shape, dim in (("random", 2), ("small integers", 4), ("random", 61)):
        u, v = setting(shape, n=n, dim=dim)
        assert search.best_pair(u, v, 0.5) == all_pairs.best_pair(u, v, 0.5) == sweep_all(u, v, 0.5, "float32")
        assert search.widest_pair(v) == all_pairs.widest_pair(v)
        assert search.best_wide_pair(u, v, 1.5) == all_pairs.best_wide_pair(u, v, 1.5)
        kept, expected = np.empty(n, np.int64), np.empty(n, np.int64)
        count = all_pairs.undominated(u, v, 0.5, expected)
        assert dominance.undominated(u, v, 0.5, kept) == count
        np.testing.assert_array_equal(kept[:count], expected[:count])


@every_filter
@pytest.mark.parametrize("dim", [2, 5, 16, 40])
def test_thousands_of_arms(dim, kind):
    rng = np.random.default_rng(dim)
    v = rng.normal(size=(dim, 5000)) * np.geomspace(1.0, 0.2, dim)[:, None]
    u = rng.normal(size=dim) @ v
    for radius in (0.05, 1.0, 20.0):
        first, second, value, examined = search.search_best(u, v, radius, *FILTERS[kind], 1.0)
        assert (first, second, value) == all_pairs.best_pair(u, v, radius)
        assert examined < 0.35 * 5000 * 4999 / 2  # pruned, not tried one by one
    assert search.search_widest(v, *FILTERS[kind], 1.0)[:3] == all_pairs.widest_pair(v)
    kept, expected = np.empty(5000, np.int64), np.empty(5000, np.int64)
    count, examined = dominance.search_undominated(u, v, 0.5, kept, np.inf, *FILTERS[kind], 1.0)
    assert count == all_pairs.undominated(u, v, 0.5, expected)
    np.testing.assert_array_equal(kept[:count], expected[:count])


def test_pairs_left_counts_what_a_sweep_would_meet():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 40):
        key = np.sort(rng.integers(0, 9, size=n).astype(float))[::-1].copy()
        sums = (key[:, None] + key[None])[np.triu_indices(n, 1)]
        for bound in (-1.0, 3.0, 8.0, 16.0, 99.0):
            assert search.pairs_left(key, bound) == (sums >= bound).sum()


def test_ties_without_end():
    """16,384 corners of a cube: half as many pairs are widest, and the first of them is asked for."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 14)).reshape(14, -1)
    assert search.widest_pair(corners) == (0, 2**14 - 1, 56.0)
    assert search.best_pair(np.zeros(2**14), corners, 3.0) == (0, 2**14 - 1, 3.0 * math.sqrt(56.0))


def test_equal_arms_in_great_number_are_no_pairs_to_try():
    v = np.tile(np.array([[1 / 3], [0.1], [7.7]]), (1, 200_000))
    first, second, value, examined = search.search_best(np.ones(200_000), v, 2.0, np.float32, np.int32, 1.0)
    assert (first, second, value) == (0, 0, 2.0)
    assert examined == 0


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-155, 1e-30, 1e30, 1e150, 1e160, 1e200])
def test_extreme_scales(scale):
    """Squares that underflow pass the filter; squares that overflow are left to brute force."""
    u, v = setting("random", "unrelated", n=80)
    for own in (u, u * scale):
        for radius in (1.0, 1e-100):
            assert search.best_pair(own, scale * v, radius) == all_pairs.best_pair(own, scale * v, radius)
        kept, expected = np.empty(80, np.int64), np.empty(80, np.int64)
        count = all_pairs.undominated(own, scale * v, 1.0, expected)
        assert dominance.undominated(own, scale * v, 1.0, kept) == count
        np.testing.assert_array_equal(kept[:count], expected[:count])
        for threshold in (0.0, scale, 3.0 * scale):
            assert search.best_wide_pair(own, scale * v, threshold) == all_pairs.best_wide_pair(
                own, scale * v, threshold
            )
            wide = all_pairs.widest_pair(scale * v)[2] > threshold * threshold
            assert search.all_within(scale * v, threshold) != wide
    assert search.widest_pair(scale * v) == all_pairs.widest_pair(scale * v)


def test_too_little_allowance_for_rounding_is_noticed():
    """The filter is a filter: with its allowance taken away, or turned round, the right pair gets lost."""
    lost = {0.0: 0, -1.0: 0}
    for slack in lost:
        for seed in range(20):
            rng = np.random.default_rng(seed)
            v = rng.normal(size=(10, 1000))
            v /= np.linalg.norm(v, axis=0)
            v = np.hstack([v, -v])  # a thousand pairs of nearly the same width
            expected = all_pairs.widest_pair(v)
            assert sweep_all(np.zeros(2000), v, 1.0, "float32", filters.WIDEST) == expected
            lost[slack] += sweep_all(np.zeros(2000), v, 1.0, "float32", filters.WIDEST, slack) != expected
    assert lost[0.0] > 0
    assert lost[-1.0] > 10


entries = st.one_of(st.integers(-2, 2).map(float), st.floats(-3, 3, width=32), st.sampled_from([1e-9, 1 / 3, 0.1]))


@settings(deadline=None, derandomize=True, max_examples=150)
@given(data=st.data(), n=st.integers(1, 20), dim=st.integers(1, 3), radius=st.sampled_from(RADII))
def test_all_searches_agree_with_brute_force(data, n, dim, radius):
    numbers = st.lists(entries, min_size=n, max_size=n)
    u = np.array(data.draw(numbers))
    v = np.array([data.draw(numbers) for _ in range(dim)])
    threshold = data.draw(st.sampled_from([0.0, 1.0, 2.0, math.sqrt(2.0), 4.0]))
    for kind, types in FILTERS.items():
        best = all_pairs.best_pair(u, v, radius)
        assert best == numpy_best(u, v, radius)
        assert search.search_best(u, v, radius, *types, 1.0)[:3] == best
        assert sweep_all(u, v, radius, kind) == best
        assert search.search_widest(v, *types, 1.0)[:3] == all_pairs.widest_pair(v)
        assert search.best_wide_pair(u, v, threshold) == all_pairs.best_wide_pair(u, v, threshold)
        kept, expected = np.full(n, -1), np.full(n, -1)
        count, _ = dominance.search_undominated(u, v, radius, kept, np.inf, *types, 1.0)
        assert count == all_pairs.undominated(u, v, radius, expected)
        np.testing.assert_array_equal(kept, expected)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 8, 17])
@pytest.mark.parametrize("n", [1, 255, 256, 257, 600])
def test_whitening_all_arms_gives_the_bits_of_whitening(n, dim):
    rng = np.random.default_rng(dim)
    arms, root = rng.normal(size=(n, dim)), rng.normal(size=(dim, dim))
    factor = np.linalg.cholesky(root @ root.T + 0.1 * np.eye(dim), upper=True)
    for given_arms in (arms, arms.astype(np.float32)):
        v, u = np.array(given_arms.T, dtype=float, order="C"), np.empty(n)
        linalg.utilities(root[0], v, u)
        few, room = v.copy(), np.empty((n, dim))
        linalg.whiten(factor, v)
        linalg.whiten_few(factor, few, room)
        assert whiten_all(factor, given_arms).tobytes() == v.tobytes() == few.tobytes()
        assert utilities_all(root[0], given_arms).tobytes() == u.tobytes()


def test_order():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 257):
        values = rng.integers(0, max(n // 2, 1), size=n).astype(float)
        np.testing.assert_array_equal(order.descending(values), np.argsort(-values, kind="stable"))
        for k in range(1, n + 1):
            assert order.kth_largest(values, k) == np.sort(values)[n - k]
            np.testing.assert_array_equal(order.largest(values, k), np.sort(np.argsort(-values, kind="stable")[:k]))
