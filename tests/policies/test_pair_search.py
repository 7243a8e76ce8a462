"""The public pair searches: widths in the inverse precision, invariances, refusals."""

import native_testing as parts
import numpy as np
import pytest

import duelist as dl
from duelist import native
from duelist.native import MANY_ARMS
from tests.helpers.policies import brute_force


def setting(seed, n=25, dim=4):
    """Arms, theta, and a precision whose condition number is about 100."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(dim, dim))
    return rng.normal(size=(n, dim)), rng.normal(size=dim), root @ root.T + 0.1 * np.eye(dim)


def all_widths(arms, precision):
    gaps = arms[:, None] - arms[None]
    return np.sqrt(np.einsum("ijk,kl,ijl->ij", gaps, np.linalg.inv(precision), gaps))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("radius", [0, 0.5, 3.0, 1e6])
def test_best_pair_maximises_over_all_pairs(seed, radius):
    arms, theta, precision = setting(seed)
    values = (arms @ theta)[:, None] + (arms @ theta)[None] + radius * all_widths(arms, precision)
    pair = dl.best_pair(arms, theta, precision, radius)
    # Continuous features have no ties, so the pair itself is determined.
    assert {pair.first, pair.second} == set(np.unravel_index(np.argmax(values), values.shape))
    assert pair.value == pytest.approx(values.max(), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_widest_pair_maximises_the_width(seed):
    arms, _, precision = setting(seed)
    widths = all_widths(arms, precision)
    pair = dl.widest_pair(arms, precision)
    assert {pair.first, pair.second} == set(np.unravel_index(np.argmax(widths), widths.shape))
    assert pair.value == pytest.approx(widths.max(), rel=1e-12)


def test_without_a_radius_the_best_arm_meets_itself():
    arms, theta, precision = setting(6)
    best = int(np.argmax(arms @ theta))
    assert dl.best_pair(arms, theta, precision, 0)[:2] == (best, best)


def test_a_huge_radius_finds_the_widest_pair():
    arms, theta, precision = setting(7)
    assert dl.best_pair(arms, theta, precision, 1e9)[:2] == dl.widest_pair(arms, precision)[:2]


def test_one_arm_meets_itself():
    assert dl.best_pair([[2.0, 1.0]], [1.0, 1.0], np.eye(2), 1.0) == (0, 0, 6.0)
    assert dl.widest_pair([[2.0, 1.0]], np.eye(2)) == (0, 0, 0.0)


def test_relabelling_the_arms_relabels_the_pair():
    arms, theta, precision = setting(8)
    order = np.random.default_rng(0).permutation(len(arms))
    for before, after in (
        (dl.best_pair(arms, theta, precision, 2.0), dl.best_pair(arms[order], theta, precision, 2.0)),
        (dl.widest_pair(arms, precision), dl.widest_pair(arms[order], precision)),
    ):
        assert {order[after.first], order[after.second]} == {before.first, before.second}
        assert after.value == pytest.approx(before.value, rel=1e-12)


def test_moving_all_arms_moves_no_pair():
    arms, theta, precision = setting(9)
    shift = np.array([3.0, -1.0, 2.0, 5.0])
    before, after = (dl.best_pair(a, theta, precision, 2.0) for a in (arms, arms + shift))
    assert before[:2] == after[:2]
    assert after.value == pytest.approx(before.value + 2 * shift @ theta, rel=1e-11)


def test_moving_all_arms_far_away_changes_no_width():
    # Whole numbers, so that the moved arms have exactly the same differences.
    arms, (_, _, precision) = np.random.default_rng(0).integers(-5, 6, size=(25, 4)), setting(9)
    near, far = (dl.widest_pair(arms + shift, precision) for shift in (0, 2**20))
    assert near[:2] == far[:2]
    # Whitening features of size 2^20 keeps about 1e-16 * 2^20 = 1e-10 of a width of order 1.
    assert far.value == pytest.approx(near.value, rel=1e-9)


def test_scaling_the_precision_scales_the_widths():
    arms, _, precision = setting(10)
    wide, narrow = (dl.widest_pair(arms, c * precision) for c in (1e-12, 1.0))
    assert wide[:2] == narrow[:2]
    assert wide.value == pytest.approx(1e6 * narrow.value, rel=1e-10)


@pytest.mark.parametrize("n", [MANY_ARMS - 1, MANY_ARMS, MANY_ARMS + 1, 3000])
@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_many_arms_give_the_pair_that_trying_all_pairs_gives(n, number):
    arms, theta, precision = setting(12, n)
    arms = arms.astype(number)
    u, v = parts.utilities_and_columns(arms.astype(float), theta, native.cholesky_factor(precision), None)
    square = brute_force.squares(v)
    for radius in (0.0, 0.5, 3.0):
        assert dl.best_pair(arms, theta, precision, radius) == brute_force.best(u, square, radius)
    first, second, largest = brute_force.widest(square)
    assert dl.widest_pair(arms, precision) == (first, second, np.sqrt(largest))


def test_arms_may_lie_in_memory_in_any_way():
    arms, theta, precision = setting(13, 400)
    expected = dl.best_pair(arms, theta, precision, 2.0)
    locked = arms.copy()
    locked.setflags(write=False)
    for same in (np.asfortranarray(arms), np.repeat(arms, 2, axis=0)[::2], arms.tolist(), arms.astype(">f8"), locked):
        assert dl.best_pair(same, theta, precision, 2.0) == expected


def test_arguments_are_left_alone():
    arms, theta, precision = setting(11)
    kept = arms.copy(), theta.copy(), precision.copy()
    dl.best_pair(arms, theta, precision, 1.0)
    dl.widest_pair(arms, precision)
    for array, copy in zip((arms, theta, precision), kept, strict=True):
        np.testing.assert_array_equal(array, copy)


GOOD = {"arms": [[0.0, 1.0], [1.0, 0.0]], "precision": [[2.0, 0.0], [0.0, 1.0]]}
BAD_ARMS_OR_PRECISION = [
    ({"arms": [1.0, 2.0]}, r"arms.*\(2,\)"),
    ({"arms": np.empty((0, 2))}, r"arms.*\(0, 2\)"),
    ({"arms": np.empty((2, 0))}, r"arms.*\(2, 0\)"),
    ({"arms": [[0.0, np.nan], [1.0, 0.0]]}, "arms.*non-finite|arms.*nan"),
    ({"arms": [[0.0, np.inf], [1.0, 0.0]]}, "arms.*non-finite|arms.*inf"),
    ({"arms": [[0.0, 1.0], [1.0]]}, "arms"),
    ({"arms": [["a", "b"], ["c", "d"]]}, "arms"),
    ({"precision": np.eye(3)}, r"precision.*\(3, 3\).*\(2, 2\)"),
    ({"precision": [1.0, 1.0]}, r"precision.*\(2,\)"),
    ({"precision": [[1.0, 0.5], [0.0, 1.0]]}, "precision.*symmetric"),
    ({"precision": [[1e-9, 5e-10], [0.0, 1e-9]]}, "precision.*symmetric"),  # of the size of a deep layer's
    ({"precision": [[1.0, 2.0], [2.0, 1.0]]}, "precision is not positive definite"),
    ({"precision": np.zeros((2, 2))}, "precision is not positive definite"),
    ({"precision": [[np.nan, 0.0], [0.0, 1.0]]}, "precision"),
    ({"precision": [[np.inf, 0.0], [0.0, 1.0]]}, "precision"),
    ({"precision": [["a", "b"], ["c", "d"]]}, "precision"),
]


@pytest.mark.parametrize(("bad", "named"), BAD_ARMS_OR_PRECISION)
def test_widest_pair_refuses_bad_input_and_names_it(bad, named):
    with pytest.raises(dl.InvalidInput, match=named):
        dl.widest_pair(**(GOOD | bad))


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        *BAD_ARMS_OR_PRECISION,
        ({"theta": [1.0]}, r"theta.*\(1,\).*2"),
        ({"theta": [1.0, np.nan]}, "theta.*non-finite|theta.*nan"),
        ({"theta": "up"}, "theta"),
        ({"radius": -1.0}, "radius is -1.0"),
        ({"radius": np.nan}, "radius is nan"),
        ({"radius": np.inf}, "radius is inf"),
        ({"radius": None}, "radius is None"),
    ],
)
def test_best_pair_refuses_bad_input_and_names_it(bad, named):
    with pytest.raises(dl.InvalidInput, match=named):
        dl.best_pair(**(GOOD | {"theta": [1.0, 0.0], "radius": 1.0} | bad))
