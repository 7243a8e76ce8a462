"""The best pair with a bonus that shrinks, against the worth of every pair in plain NumPy."""

import native_testing as parts
import numpy as np
import pytest

from duelist.native import MANY_ARMS
from duelist.reference.links import link_slope

LINKS = ("logistic", "probit", "exponential")
NO_PAIRS = np.empty((0, 2), np.int64)
HORIZONS = (1.0, 50.0, 4000.0, 1e12)
STRETCHES = (0.01, 1.2, 40.0)
KINDS = (
    "random",
    "one arm",
    "two arms",
    "one feature",
    "duplicates",
    "all equal",
    "outlier",
    "clustered",
    "rank deficient",
    "hypercube",
    "two hundred",
)


def columns_of(kind, rng):
    """Whitened arms as columns, (dim, n_arms)."""
    if kind == "hypercube":
        return np.array(np.meshgrid(*[[-1.0, 1.0]] * 5)).reshape(5, -1) * 0.3
    sizes = {"one arm": (3, 1), "two arms": (3, 2), "one feature": (1, 25), "two hundred": (6, 200), "outlier": (3, 26)}
    v = rng.normal(size=sizes.get(kind, (4, 24)))
    if kind == "duplicates":
        v = np.repeat(v[:, :6], 4, axis=1)
    if kind == "all equal":
        v = np.repeat(v[:, :1], 12, axis=1)
    if kind == "outlier":
        v *= 1e-3
        v[:, 20] = 1e3
    if kind == "clustered":
        v = np.repeat(v[:, :4], 6, axis=1) + 1e-9 * v
    if kind == "rank deficient":
        v = v[:, :1] @ rng.normal(size=(1, 24))
    return np.ascontiguousarray(v)


def utilities_of(mode, v, rng):
    if mode == "flat":
        return np.zeros(v.shape[1])
    if mode == "linear":
        return rng.normal(size=v.shape[0]) @ v
    return 3.0 * rng.normal(size=v.shape[1])


def squares_of(v):
    return sum((row[:, None] - row[None]) ** 2 for row in v)


def worth(u, v, link, stretch, horizon):
    """The worth of every pair, as the module states it."""
    squares = squares_of(v)
    return u[:, None] + u[None] + np.sqrt(squares) * radius(squares, u[:, None] - u[None], link, stretch, horizon)


def radius(squares, gaps, link, stretch, horizon):
    """The bonus for a unit of width."""
    slopes = link_slope(link, gaps)
    rounds = np.log1p(horizon * slopes * squares)
    return np.sqrt(stretch * (slopes / link_slope(link, 0.0)) ** 0.2 * np.maximum(rounds - np.log1p(rounds), 0.0))


def found(u, v, link, stretch, horizon):
    i, j, value = parts.best_local_pair(u, v, link, stretch, horizon, False, NO_PAIRS)
    assert value == pytest.approx(worth(u, v, link, stretch, horizon)[i, j], rel=1e-9)
    return i, j


def near(value):
    return 1e-9 * (1.0 + abs(value))


@pytest.mark.parametrize("mode", ["linear", "flat", "unrelated"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_pair_is_worth_more(kind, mode):
    rng = np.random.default_rng([KINDS.index(kind), len(mode)])
    kinds_of_pair = set()
    for _ in range(3):
        v = columns_of(kind, rng)
        u = utilities_of(mode, v, rng)
        for link in LINKS:
            for stretch in STRETCHES:
                for horizon in HORIZONS:
                    values = worth(u, v, link, stretch, horizon)
                    i, j = found(u, v, link, stretch, horizon)
                    assert i <= j
                    assert values[i, j] >= values.max() - near(values.max())
                    kinds_of_pair.add(i == j)
    if kind in ("random", "hypercube", "two hundred") and mode != "flat":
        assert kinds_of_pair == {True, False}  # the settings make some arms meet themselves and others not


@pytest.mark.parametrize("n", [2, 3, 17, 100])
def test_no_pair_is_worth_more_on_many_small_instances(n):
    rng = np.random.default_rng(n)
    noticed = 0
    for _ in range(200):
        dim = int(rng.integers(1, 6))
        v = rng.normal(size=(dim, n)) * 10.0 ** rng.uniform(-4, 2)
        u = rng.normal(size=n) * 10.0 ** rng.uniform(-4, 2)
        link = LINKS[int(rng.integers(3))]
        stretch, horizon = 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(0, 8)
        values = worth(u, v, link, stretch, horizon)
        i, j = found(u, v, link, stretch, horizon)
        assert values[i, j] >= values.max() - near(values.max())
        flat = u[:, None] + u[None] + worth(0.0 * u, v, link, stretch, horizon)  # as if the slope were that at zero
        noticed += values.flat[flat.argmax()] < values.max() - near(values.max())
    assert noticed > 0 or n == 2  # a search that forgot the slope would fail here


def test_equal_pairs_go_to_the_first():
    v = np.eye(4)
    assert found(np.zeros(4), v, "logistic", 1.0, 100.0) == (0, 1)
    v = np.zeros((2, 5))
    assert found(np.array([0.0, 2.0, 2.0, 1.0, 2.0]), v, "probit", 1.0, 100.0) == (1, 1)


def test_a_radius_is_the_bonus_for_a_unit_of_width():
    for link in LINKS:
        for square, gap, stretch, horizon in ((0.3, 0.0, 1.2, 4e3), (1e-3, 2.0, 0.5, 10.0), (0.0, -1.0, 1.0, 9.0)):
            expected = radius(square, gap, link, stretch, horizon)
            assert parts.local_bonus_radius(square, gap, link, stretch, horizon) == pytest.approx(expected, rel=1e-12)


def test_a_bonus_is_smaller_where_more_is_known_or_the_outcome_is_surer():
    assert (
        parts.local_bonus_radius(1.0, 0.0, "logistic", 1.0, 1e3)
        > parts.local_bonus_radius(0.1, 0.0, "logistic", 1.0, 1e3)
        > 0.0
    )
    assert (
        parts.local_bonus_radius(1.0, 0.0, "logistic", 1.0, 1e3)
        > parts.local_bonus_radius(1.0, 3.0, "logistic", 1.0, 1e3)
        > 0.0
    )
    assert (
        parts.local_bonus_radius(1.0, 0.0, "logistic", 1.0, 1e3)
        > parts.local_bonus_radius(1.0, 0.0, "logistic", 1.0, 1e2)
        > 0.0
    )


def test_nothing_left_to_learn_is_no_bonus_and_no_error():
    assert parts.local_bonus_radius(1e-300, 0.0, "logistic", 1.0, 1.0) == 0.0
    assert parts.local_bonus_radius(1.0, 1e6, "logistic", 1.0, 1e12) == 0.0  # the slope is zero there


# -- many arms: the best of some good pairs ----------------------------------------------


def winner_for_the_widest_radius(u, v, link, stretch, horizon):
    """The best pair for the radius of a pair twice as wide as the leading arm reaches."""
    squares, top = squares_of(v), int(u.argmax())
    widest = radius(4.0 * squares[top].max(), 0.0, link, stretch, horizon)
    values = u[:, None] + u[None] + widest * np.sqrt(squares)
    return np.unravel_index(values.argmax(), values.shape)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("strength", [0.0, 0.3, 3.0])
def test_many_arms_meet_in_a_pair_as_good_as_the_leader_s_and_the_widest(link, strength):
    rng = np.random.default_rng([LINKS.index(link), int(10 * strength)])
    others = 0
    for _ in range(25):
        v = rng.normal(size=(5, MANY_ARMS + int(rng.integers(40)))) * 10.0 ** rng.uniform(-2, 1)
        u = strength * rng.normal(size=5) @ v
        values = worth(u, v, link, 1.2, 4000.0)
        i, j = found(u, v, link, 1.2, 4000.0)
        a, b = winner_for_the_widest_radius(u, v, link, 1.2, 4000.0)
        least = max(values[int(u.argmax())].max(), values[a, b])
        assert values[i, j] >= least - near(least)
        others += i != j
    assert others > 0


def test_many_equal_arms_meet_themselves():
    v = np.ones((3, MANY_ARMS))
    i, j = found(np.zeros(MANY_ARMS), v, "logistic", 1.2, 4000.0)
    assert i == j
