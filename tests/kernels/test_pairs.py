"""Every search over pairs against brute force, on friendly and unfriendly arms.

The brute force adds squared gaps feature by feature in the order of the kernels, so that both
see the same rounded widths and may be compared exactly.
"""

import numpy as np
import pytest
from duelist.kernels import all_pairs, pairs
from duelist.kernels.random import below, seed_words
from duelist.kernels.scratch import Room, cut, scratch_block
from hypothesis import given, settings
from hypothesis import strategies as st


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


def room_for(v):
    """A scratch with more room than v needs, full of rubbish."""
    dim, n = v.shape
    room = Room(n + 3, dim + 1, 16)
    scratch = cut(scratch_block(room), room)
    for name in ("u", "v", "reach", "line", "near", "near_u"):
        getattr(scratch, name)[:] = np.nan
    scratch.kept[:] = scratch.remaining[:] = -(10**6)
    return scratch


def best_pair(u, v, radius):
    return pairs.best_pair(u, v, radius, room_for(v))


def widest_pair(v):
    scratch = room_for(v)
    return pairs.widest_pair(v, scratch.near, scratch)


def best_wide_pair(u, v, threshold):
    return pairs.best_wide_pair(u, v, threshold, room_for(v))


def undominated(u, v, radius, kept):
    return pairs.undominated(u, v, radius, kept, room_for(v))


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
            assert all_pairs.squared_widths(v, i, start, out) == n - start
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
    assert best_pair(u, v, radius) == brute_best_pair(u, square, radius)


def brute_widest_pair(square):
    ties = [pair for pair in row_order(len(square)) if square[pair] == square.max() > 0]
    return *(ties[0] if ties else (0, 0)), square.max()


@every_kind
def test_widest_pair_is_the_brute_force_one(kind):
    _, v, square = setting(kind)
    assert widest_pair(v) == brute_widest_pair(square)


@every_kind
def test_all_within_says_whether_the_widest_pair_is_wide(kind):
    _, v, square = setting(kind)
    root = np.sqrt(square.max())
    for threshold in [*thresholds(square), np.nextafter(root, 0), root, np.nextafter(root, np.inf)]:
        assert pairs.all_within(v, threshold, room_for(v)) == (square.max() <= threshold * threshold)


def brute_best_wide_pair(u, square, threshold):
    """The largest sum; of equal sums the wider pair; of equally wide ones the first in row order; (-1, -1) for none."""
    wide = [pair for pair in row_order(len(u)) if square[pair] > threshold * threshold]
    # `max` keeps the first of equals, as the kernel does.
    return max(wide, key=lambda pair: (u[pair[0]] + u[pair[1]], square[pair]), default=(-1, -1))


@every_kind
@every_utility
def test_best_wide_pair_is_the_brute_force_one(kind, mode):
    u, v, square = setting(kind, mode)
    for threshold in thresholds(square):
        assert best_wide_pair(u, v, threshold) == brute_best_wide_pair(u, square, threshold)


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
    assert best_wide_pair(u, v, threshold) == expected == brute_best_wide_pair(u, squares(v), threshold)


@every_kind
def test_wide_pairs_are_counted_and_numbered_in_row_order(kind):
    _, v, square = setting(kind)
    for threshold in thresholds(square):
        wide = [pair for pair in row_order(len(square)) if square[pair] > threshold * threshold]
        assert all_pairs.count_wide_pairs(v, threshold) == len(wide)
        assert [all_pairs.wide_pair_at(v, threshold, k) for k in range(len(wide))] == wide
        assert all_pairs.wide_pair_at(v, threshold, len(wide)) == (0, 0)


@every_kind
def test_a_random_wide_pair_is_the_one_that_the_generator_numbers(kind):
    _, v, square = setting(kind)
    for threshold in thresholds(square):
        wide = [pair for pair in row_order(len(square)) if square[pair] > threshold * threshold]
        words, control = seed_words(3), seed_words(3)
        for _ in range(5):
            expected = wide[below(control, len(wide))] if wide else (-1, -1)
            assert pairs.random_wide_pair(v, threshold, words, room_for(v)) == expected
        np.testing.assert_array_equal(words, control)  # nothing is drawn where nothing is wide


@every_kind
@every_utility
@pytest.mark.parametrize("bonus", RADII)
def test_challenger_is_the_brute_force_one(kind, mode, bonus):
    u, v, square = setting(kind, mode)
    for champion in range(len(u)):
        value = u + bonus * np.sqrt(square[champion])
        expected = champion if value[champion] >= value.max() else int(np.argmax(value))
        assert pairs.challenger(u, v, champion, bonus, np.full(len(u) + 3, np.nan)) == expected


def brute_undominated(u, square, radius):
    return np.flatnonzero((u[:, None] - u[None, :] + radius * np.sqrt(square) >= 0).all(axis=1))


@every_kind
@every_utility
@pytest.mark.parametrize("radius", RADII)
def test_undominated_arms_are_the_brute_force_ones(kind, mode, radius):
    u, v, square = setting(kind, mode)
    kept = np.full(len(u), -1)
    count = undominated(u, v, radius, kept)
    np.testing.assert_array_equal(kept[:count], brute_undominated(u, square, radius))
    assert (kept[count:] == -1).all()


def test_without_a_radius_only_the_best_arms_are_undominated():
    u, kept = np.array([1.0, 3.0, 2.0, 3.0]), np.empty(4, np.int64)
    v = np.arange(4.0)[None]
    assert undominated(u, v, 0.0, kept) == 2
    np.testing.assert_array_equal(kept[:2], [1, 3])


@pytest.mark.parametrize("values", [[3.0], [1.0, 3.0, 3.0, 2.0], [-1.0, -2.0], [0.0, 0.0], [-np.inf, -1.0]])
def test_argmax_is_numpys(values):
    assert all_pairs.argmax(np.array(values)) == np.argmax(values)


# Small integers make ties and equal arms common, where searches go wrong first.
@settings(deadline=None, derandomize=True, max_examples=200)
@given(data=st.data(), n=st.integers(1, 7), dim=st.integers(1, 3), radius=st.sampled_from(RADII))
def test_all_searches_agree_with_brute_force_where_ties_abound(data, n, dim, radius):
    entries = st.lists(st.integers(-2, 2), min_size=n, max_size=n)
    u = np.array(data.draw(entries), dtype=float)
    v = np.array([data.draw(entries) for _ in range(dim)], dtype=float)
    square, kept = squares(v), np.empty(n, np.int64)
    assert best_pair(u, v, radius) == brute_best_pair(u, square, radius)
    assert widest_pair(v)[2] == square.max()
    count = undominated(u, v, radius, kept)
    np.testing.assert_array_equal(kept[:count], brute_undominated(u, square, radius))
    wide = [pair for pair in row_order(n) if square[pair] > 4.0]
    assert all_pairs.count_wide_pairs(v, 2.0) == len(wide)
    assert best_wide_pair(u, v, 2.0) == brute_best_wide_pair(u, square, 2.0)


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
            found = best_pair(u, v, radius)
            assert found == brute_best_pair(u, square, radius)
            assert found == all_pairs.best_pair(u, v, radius)


@every_shape
@every_size
def test_pruned_widest_pair_is_the_brute_force_one(shape, n):
    v, square, _ = crowds(shape, n)
    for order in (np.arange(n), np.arange(n)[::-1], np.random.default_rng(n).permutation(n)):
        turned = np.ascontiguousarray(v[:, order])
        assert widest_pair(turned) == brute_widest_pair(square[np.ix_(order, order)])
        for threshold in thresholds(square):
            assert pairs.all_within(turned, threshold, room_for(v)) == (square.max() <= threshold * threshold)


@every_shape
@every_size
def test_best_wide_pair_that_stops_early_is_the_brute_force_one(shape, n):
    v, square, sorts = crowds(shape, n)
    for u in sorts:
        for threshold in thresholds(square):
            assert best_wide_pair(u, v, threshold) == brute_best_wide_pair(u, square, threshold)


@every_shape
@every_size
def test_undominated_arms_met_by_few_are_the_brute_force_ones(shape, n):
    v, square, sorts = crowds(shape, n)
    for u in sorts:
        for radius in (0.0, 1e-300, 1e-12, 0.03, 0.3, 1.0, 1e8):
            kept = np.full(n, -1)
            count = undominated(u, v, radius, kept)
            np.testing.assert_array_equal(kept[:count], brute_undominated(u, square, radius))
            assert (kept[count:] == -1).all()


@every_shape
def test_undominated_arms_at_the_very_radius_that_rules_them_out(shape):
    # Radii at which one arm is just kept by another: the bound for all the rest must not round it away.
    v, square, sorts = crowds(shape, 24)
    for u in sorts[:2]:
        i, j = np.nonzero((u[:, None] > u[None, :]) & (square > 0))
        for radius in ((u[i] - u[j]) / np.sqrt(square[i, j]))[::7]:
            for near in (np.nextafter(radius, 0), radius, np.nextafter(radius, np.inf)):
                kept = np.full(24, -1)
                count = undominated(u, v, near, kept)
                np.testing.assert_array_equal(kept[:count], brute_undominated(u, square, near))


def test_pruning_leaves_few_arms_and_never_one_of_the_best_pair():
    rng = np.random.default_rng(11)
    left = []
    for n in SIZES:
        u, v = rng.normal(size=n), rng.normal(size=(3, n))
        scratch, kept = room_for(v), np.full(n, -1)
        count = pairs._promising(u, v, 0.3, kept, scratch)
        first, second, _ = brute_best_pair(u, squares(v), 0.3)
        assert {first, second} <= set(kept[:count])
        left.append(count / n)
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
    square, kept = squares(v), np.empty(n, np.int64)
    assert best_pair(u, v, radius) == brute_best_pair(u, square, radius)
    assert widest_pair(v) == brute_widest_pair(square)
    count = undominated(u, v, radius, kept)
    np.testing.assert_array_equal(kept[:count], brute_undominated(u, square, radius))
    for threshold in (0.0, 2.0, float(np.sqrt(square.max()))):
        assert best_wide_pair(u, v, threshold) == brute_best_wide_pair(u, square, threshold)
        assert pairs.all_within(v, threshold, room_for(v)) == (square.max() <= threshold * threshold)


# -- arms so many that another search takes over -----------------------------------------------------


every_many = pytest.mark.parametrize(
    "n", [pairs.MANY_ARMS - 1, pairs.MANY_ARMS, pairs.MANY_ARMS + 1, 2 * pairs.MANY_ARMS]
)


@every_shape
@every_many
def test_nothing_changes_where_the_search_for_many_arms_takes_over(shape, n):
    v, square, sorts = crowds(shape, n)
    i, j = np.triu_indices(n, 1)  # row order
    widest = int(np.argmax(square[i, j]))
    assert widest_pair(v) == (i[widest], j[widest], square.max())
    for u in (sorts[0], sorts[3], sorts[4]):
        for radius in (0.0, 0.3, 1e8):
            value = u[i] + u[j] + radius * np.sqrt(square[i, j])
            best, top = int(np.argmax(value)), int(np.argmax(u))
            alone = u[top] + u[top] >= value[best]
            expected = (top, top, u[top] + u[top]) if alone else (i[best], j[best], value[best])
            assert best_pair(u, v, radius) == expected
            kept = np.full(n, -1)
            count = undominated(u, v, radius, kept)
            np.testing.assert_array_equal(kept[:count], brute_undominated(u, square, radius))
        for threshold in thresholds(square):
            wide = np.flatnonzero(square[i, j] > threshold * threshold)
            order = np.lexsort((wide, -square[i, j][wide], -(u[i] + u[j])[wide]))
            expected = (i[wide[order[0]]], j[wide[order[0]]]) if wide.size else (-1, -1)
            assert best_wide_pair(u, v, threshold) == expected
            first, second = pairs.random_wide_pair(v, threshold, seed_words(n), room_for(v))
            assert square[first, second] > threshold * threshold if wide.size else (first, second) == (-1, -1)


# "Wide" means one thing to all searches: the squared width is larger than the squared threshold.
@every_shape
@every_many
def test_all_within_agrees_with_the_wide_pairs_however_many_arms_there_are(shape, n):
    v, square, _ = crowds(shape, n)
    root = np.sqrt(square.max())
    for threshold in [*thresholds(square), np.nextafter(root, 0), root, np.nextafter(root, np.inf)]:
        within = pairs.all_within(v, threshold, room_for(v))
        assert within == (square.max() <= threshold * threshold)
        assert within == (best_wide_pair(np.zeros(n), v, threshold) == (-1, -1))
