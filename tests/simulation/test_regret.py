"""Regret of a duel: average, weak and strong, from the gaps of its arms."""

import numpy as np
import pytest

import duelist as dl
from duelist.simulation.regret import KINDS, regret


def gaps(seed=0, shape=(7, 11)):
    generator = np.random.default_rng(seed)
    return generator.exponential(size=shape), generator.exponential(size=shape)


def test_average_is_the_paper_s_definition():
    """Half of 2 x* . theta - (x + y) . theta, the paper's equation (eqn:regret)."""
    generator = np.random.default_rng(1)
    arms, theta = generator.standard_normal((6, 3)), generator.standard_normal(3)
    x, y = arms[generator.integers(6, size=50)], arms[generator.integers(6, size=50)]
    best = (arms @ theta).max()
    expected = 0.5 * (2.0 * best - (x + y) @ theta)
    np.testing.assert_allclose(regret(best - x @ theta, best - y @ theta), expected, atol=1e-12)


def test_weak_counts_the_better_arm_and_strong_the_worse():
    first, second = np.array([0.0, 2.0, 3.0, 1.0]), np.array([3.0, 0.5, 3.0, 0.0])
    np.testing.assert_array_equal(regret(first, second, "weak"), [0.0, 0.5, 3.0, 0.0])
    np.testing.assert_array_equal(regret(first, second, "strong"), [3.0, 2.0, 3.0, 1.0])
    np.testing.assert_array_equal(regret(first, second, "average"), [1.5, 1.25, 3.0, 0.5])


def test_weak_is_at_most_average_at_most_strong_and_they_add_up():
    weak, average, strong = (regret(*gaps(), kind) for kind in ("weak", "average", "strong"))
    assert (weak <= average).all()
    assert (average <= strong).all()
    np.testing.assert_allclose(weak + strong, 2.0 * average, rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_the_arms_does_not_matter(kind):
    first, second = gaps()
    np.testing.assert_array_equal(regret(first, second, kind), regret(second, first, kind))
    assert regret(first, second, kind).shape == first.shape


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_arm_against_itself_costs_nothing(kind):
    np.testing.assert_array_equal(regret(np.zeros(3), np.zeros(3), kind), np.zeros(3))


def test_unknown_kind_is_named():
    with pytest.raises(dl.InvalidInput, match=r"'total'.*average, weak, strong"):
        regret(*gaps(), "total")
