"""VACDB from coarser layers: weights, priors, the number of layers, and that nothing forgets where counting starts."""

import json
import math
from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.reference import VACDB as Reference
from duelist.reference.fit import mean_variance
from tests.helpers.policy_state import known, pending

DIM = 2
FIRST = [1, 0, -2]


def width(policy, layer, z):
    return math.sqrt(z @ np.linalg.solve(policy.layer_precision(layer), z))


def large_arms(rng, n_arms=6):
    """Differences far over 16, where the first arms made the unit 1."""
    return 20.0 * rng.normal(size=(n_arms, DIM))


def begun(first_layer, **settings):
    """A policy whose unit is 1."""
    policy = dl.VACDB(first_layer=first_layer, random_state=0, **settings)
    policy.initialize(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    return policy


@pytest.mark.parametrize("explore", ["value", "widest", "random"])
@pytest.mark.parametrize("first_layer", FIRST)
def test_every_explored_pair_weighs_two_to_the_minus_layer_over_its_width(first_layer, explore):
    rng = np.random.default_rng(0)
    policy, seen = begun(first_layer, alpha=0.1, explore=explore, radius=9.0, ridge=0.05), set()
    for t in range(150):
        arms = large_arms(rng) if t % 2 else rng.normal(size=(6, DIM))
        duel = policy.ask(arms, distinct=False)
        out = pending(policy)[duel.id]
        if out.share > 0.0:
            w = math.sqrt(out.share)
            assert w <= 1.0
            z = arms[duel.first] - arms[duel.second]
            expected = pytest.approx(2.0 ** -(out.layer + first_layer), rel=1e-9)
            assert w * width(policy, out.layer, z) == expected
            seen.add(out.layer + first_layer)
        policy.tell(duel, float(rng.random() < 0.7))
    assert min(seen) == first_layer
    assert len(seen) >= 2


@pytest.mark.parametrize("first_layer", [*FIRST, -8])
@pytest.mark.parametrize("alpha", [0.9, 0.5, 0.3, 2.0**-7])
def test_layers_go_from_the_first_to_the_one_that_is_finer_than_alpha(alpha, first_layer):
    policy = begun(first_layer, alpha=alpha)
    assert len(policy.layer_counts_) == math.ceil(-math.log2(alpha)) - first_layer + 1


@pytest.mark.parametrize("first_layer", FIRST)
def test_layers_of_a_known_horizon(first_layer):
    policy = begun(first_layer, horizon=500)
    assert len(policy.layer_counts_) == math.ceil(1.5 * math.log2(500)) - first_layer + 1


@pytest.mark.parametrize("first_layer", [*FIRST, -8])
@pytest.mark.parametrize("radius", ["practical", "theory", 0.3])
def test_ridge_and_prior_are_four_to_the_minus_layer(radius, first_layer):
    arms = np.random.default_rng(1).normal(size=(5, DIM)) * 3.0
    policy = dl.VACDB(first_layer=first_layer, horizon=100, radius=radius, ridge=0.7)
    policy.initialize(arms)
    unit = 1.0 if radius == "theory" else mean_variance(arms)
    for k, ridge in enumerate(known(policy).ridge):
        small = 4.0 ** -(k + first_layer)
        np.testing.assert_allclose(policy.layer_precision(k), small * unit * np.eye(DIM), rtol=1e-12, atol=0)
        assert ridge == pytest.approx(0.7 * small, rel=1e-12)


@pytest.mark.parametrize("first_layer", [0, -2])
def test_the_first_radius_of_a_layer_is_that_of_its_number(first_layer):
    policy = begun(first_layer, horizon=100, radius="theory", kappa=0.2)
    numbers = np.arange(first_layer, first_layer + len(policy.layer_counts_))
    np.testing.assert_allclose(policy.layer_radii_, 2.0**-numbers * (1.0 + 1.0 / 0.2), rtol=1e-12)


@pytest.mark.parametrize("first_layer", FIRST)
@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_deepening_keeps_what_layers_know(estimator, first_layer):
    rng = np.random.default_rng(2)
    policy, depths = begun(first_layer, estimator=estimator, ridge=0.7, radius=9.0), set()
    for t in range(140):
        before = len(policy.layer_counts_)
        before_asking = [
            (policy.layer_precision(k), policy.estimate(k), policy.layer_counts_[k]) for k in range(before)
        ]
        duel = policy.ask(large_arms(rng) if t % 3 == 0 else rng.normal(size=(6, DIM)))
        for k, (precision, theta, count) in enumerate(before_asking):
            np.testing.assert_array_equal(policy.layer_precision(k), precision)
            np.testing.assert_array_equal(policy.estimate(k), theta)
            assert policy.layer_counts_[k] == count
        ridges = known(policy).ridge
        np.testing.assert_allclose(ridges, 0.7 * 4.0 ** -(np.arange(len(ridges)) + first_layer), rtol=1e-12)
        for k in range(before, len(ridges)):
            fresh = 4.0 ** -(k + first_layer) * np.eye(DIM)
            np.testing.assert_allclose(policy.layer_precision(k), fresh, rtol=1e-12, atol=0)
        depths.add(len(ridges))
        policy.tell(duel, float(rng.random() < 0.6))
    assert len(depths) >= 4
    assert sum(count > 0 for count in policy.layer_counts_) >= 2


@pytest.mark.parametrize("first_layer", [0, np.int64(-2)])
def test_a_snapshot_remembers_where_counting_starts(first_layer):
    rng = np.random.default_rng(3)
    policy = begun(first_layer)
    shown = [large_arms(rng) if t % 3 == 0 else rng.normal(size=(6, DIM)) for t in range(80)]
    for t, arms in enumerate(shown):
        duel = policy.ask(arms, distinct=False)
        if t % 4:
            policy.tell(duel, float(t % 3 > 0))
    copy: Any = dl.restore_policy(json.loads(json.dumps(policy.snapshot(), allow_nan=False)))
    assert copy.first_layer == first_layer
    for t, arms in enumerate(shown):
        duel, other = policy.ask(arms, distinct=False), copy.ask(arms, distinct=False)
        assert duel == other
        policy.tell(duel, float(t % 2))
        copy.tell(other, float(t % 2))
    assert copy.snapshot() == policy.snapshot()


@pytest.mark.parametrize("first_layer", [0, -2])
def test_a_difference_is_placed_in_the_first_layer_where_it_is_wide(first_layer):
    policy = begun(first_layer, horizon=200)
    rng = np.random.default_rng(4)
    used = set()
    for _ in range(300):
        z = rng.normal(size=DIM) * 10.0 ** rng.uniform(-3.0, 2.0)
        at = [width(policy, k, z) for k in range(len(policy.layer_counts_))]
        wide = [k for k, w in enumerate(at) if w > 2.0 ** -(k + first_layer)]
        layer, share = policy.assign_layer(z)
        assert layer == (wide[0] if wide else -1)
        assert share == pytest.approx((2.0 ** -(layer + first_layer) / at[layer]) ** 2 if wide else 0.0, rel=1e-9)
        policy.learn(z, 1.0)
        used.add(layer)
    assert 0 in used
    assert len(used) >= 4


@pytest.mark.parametrize("first_layer", [0, -2])
def test_a_pair_is_placed_where_it_would_be_asked(first_layer):
    # With two arms there is one pair, and nobody is dropped before it is narrow.
    rng = np.random.default_rng(5)
    policy, learned = begun(first_layer, horizon=200, radius=100.0), 0
    for _ in range(120):
        arms = rng.normal(size=(2, DIM)) * 10.0 ** rng.uniform(-2.0, 2.0)
        choice = policy.suggest(arms)
        if choice.layer >= 0 and known(policy).scale_window[1] > 8.0:  # it explores, in the sizes that it knows
            layer, share = policy.assign_layer(arms[choice.first] - arms[choice.second])
            assert (choice.layer, choice.share) == (layer, pytest.approx(share, rel=1e-9))
            learned += 1
        policy.learn(arms[0] - arms[1], 1.0)
    assert learned > 20


def test_layer_zero_drops_arms_that_a_few_duels_show_to_be_bad():
    arms = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    reference, dropped = Reference(first_layer=0, radius=0.2, alpha=0.1, ridge=0.05), 0
    policy = dl.VACDB(first_layer=0, radius=0.2, alpha=0.1, ridge=0.05)
    for _ in range(40):
        duel = policy.ask(arms, distinct=False)
        played = (duel.first, duel.second)
        choice = reference.decide(arms, distinct=False)
        assert choice.shortfall(*played) <= 1e-9
        same = reference.commit(arms, choice, played)
        dropped += choice.layer == 1 and len(choice.remaining) < len(arms)
        won = float(arms[duel.first, 0] > arms[duel.second, 0])
        policy.tell(duel, won)
        reference.tell(same, won)
    assert dropped > 0
    assert policy.ask(arms, distinct=False).first == policy.ask(arms, distinct=False).second == 4


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_the_ridge_under_all_votes_does_not_depend_on_where_layers_start(estimator):
    arms = np.random.default_rng(3).standard_normal((6, 3))
    policies = [dl.VACDB(first_layer=first, estimator=estimator, random_state=0) for first in (1, 0, -8)]
    for policy in policies:
        policy.tell(policy.ask(arms, distinct=False), 1.0)
    for policy in policies:
        np.testing.assert_allclose(policy.pooled_ridge_, 0.05 / 4.0 * arms.var(axis=0), rtol=1e-12)
