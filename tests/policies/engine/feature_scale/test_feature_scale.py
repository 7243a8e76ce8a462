"""The size of each feature: from the first arms, then from what is told; units do not matter, and neither do first arms."""

import json

import numpy as np
import pytest

import duelist as dl
from duelist.policies import POLICIES
from duelist.simulation.environments import FixedArms
from tests.helpers.policies.feature_scale import default_ridge, squared_sizes
from tests.helpers.policies.reference_play import Game, assert_same_estimates, same_duel, twins
from tests.helpers.policies.scaled_arms import DIM, ESTIMATORS, EVERY, THETA, draw_arms, make, vote
from tests.helpers.policies.worlds import World
from tests.helpers.policy_state import known, pending


def play(policy, shown, factors=1.0, seed=0):
    """Duels, and what was learned as (difference, weight); arms are shown in other units, votes are the same."""
    rng, duels, told = np.random.default_rng([seed, 72]), [], []
    for arms in shown:
        duel = policy.ask(arms * factors, distinct=False)
        out = pending(policy)[duel.id]
        policy.tell(duel, vote(arms, duel, rng.random()))
        duels.append(tuple(duel))
        if out.share > 0.0:
            told.append((out.difference, 1.0))
    return duels, told


# -- units -------------------------------------------------------------------------------


@EVERY
def test_units_that_are_powers_of_two_change_no_bit(name, estimator):
    shown, factors = draw_arms(60), 2.0 ** np.array([-13.0, 0.0, 13.0])
    plain, scaled = make(name, estimator), make(name, estimator)
    assert play(plain, shown)[0] == play(scaled, shown, factors)[0]
    np.testing.assert_array_equal(scaled.theta_ * factors, plain.theta_)
    np.testing.assert_array_equal(known(scaled).scale, factors**2 * known(plain).scale)


@EVERY
def test_other_units_give_the_same_duels(name, estimator):
    shown, factors = draw_arms(60, seed=1), np.array([1e-4, 3.0, 1e4])
    plain, scaled = make(name, estimator), make(name, estimator)
    assert play(plain, shown)[0] == play(scaled, shown, factors)[0]
    np.testing.assert_allclose(scaled.theta_ * factors, plain.theta_, rtol=1e-6, atol=1e-8)


@EVERY
def test_units_do_not_matter_in_simulations(name, estimator):
    arms, factors = draw_arms(1, 12)[0], 2.0 ** np.array([-13.0, 0.0, 13.0])
    plain, scaled = (
        dl.simulate(make(name, estimator), FixedArms(arms * f, theta=THETA / f), 100, runs=2, seed=3).duels(name)
        for f in (np.ones(DIM), factors)
    )
    np.testing.assert_array_equal(plain, scaled)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_common_ridge_would_notice_the_units(estimator):
    """So the tests above can fail."""
    shown, factors = draw_arms(60, seed=1), np.array([1e-4, 3.0, 1e4])
    duels = [play(make("LocalPairUCB", estimator, ridge=1.0), shown, f)[0] for f in (1.0, factors)]
    assert duels[0] != duels[1]


@pytest.mark.parametrize("name", POLICIES)
def test_the_announcement_does_not_depend_on_units(name):
    arms, factors = draw_arms(1, 6)[0], 2.0 ** np.array([-13.0, 0.0, 13.0])
    plain, scaled = make(name), make(name)
    play(plain, [arms] * 60)
    play(scaled, [arms] * 60, factors)
    one, other = plain.recommend(arms), scaled.recommend(arms * factors)
    assert one.best == other.best
    assert one.probability == pytest.approx(other.probability, rel=1e-9)


# -- first arms --------------------------------------------------------------------------

FIRST = {"alike": 0.03, "huge": 100.0, "alone": None}


def odd_first(kind, arms):
    return arms[:1] if FIRST[kind] is None else FIRST[kind] * arms


@EVERY
@pytest.mark.parametrize("kind", FIRST)
def test_sizes_are_those_of_the_rule(kind, name, estimator):
    shown = draw_arms(70, seed=2)
    first = odd_first(kind, shown[0])
    policy = make(name, estimator)
    _, told = play(policy, [first, *shown[1:]])
    np.testing.assert_allclose(known(policy).scale, squared_sizes(first, told, shown[1:2]), rtol=1e-12)
    if name != "VACDB":  # which has a prior of its own, and layers with parts of it
        np.testing.assert_allclose(policy.pooled_ridge_, default_ridge(policy, first, told, shown[1:2]), rtol=1e-12)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("kind", FIRST)
def test_odd_first_arms_are_put_right_within_a_few_stretches(kind, name):
    """4 + 8 + 16 outcomes: among Gaussian arms of variance 1 no stretch keeps a size that is wrong by more than 8."""
    shown = draw_arms(60, seed=3)
    policy = make(name)
    policy.initialize(odd_first(kind, shown[0]))
    for arms in shown:  # any two arms, by whomever they were asked
        policy.learn(arms[:2], vote(arms, dl.Duel(0, 1, 0), 0.5), layer=0)
    assert (known(policy).scale < 8.0).all()
    assert (known(policy).scale > 1.0 / 8.0).all()


def test_a_feature_in_which_the_first_arms_do_not_differ_waits_for_one_that_does():
    arms = np.array([[0.0, 0.0, 5.0], [0.0, 1.0, 5.0], [0.0, 3.0, 5.0]])
    policy = make("UniformPair")
    policy.initialize(arms)
    np.testing.assert_allclose(known(policy).scale, [1.0, arms[:, 1].var(), 1.0])
    policy.learn(np.array([0.0, 1.0, 0.0]), 1.0)
    np.testing.assert_allclose(known(policy).scale, [1.0, arms[:, 1].var(), 1.0])
    policy.learn(np.array([0.5, 1.0, 0.0]), 1.0)
    np.testing.assert_allclose(known(policy).scale, [0.125, arms[:, 1].var(), 1.0])
    policy.learn(np.array([0.0, 1.0, -200.0]), 1.0)
    np.testing.assert_allclose(known(policy).scale, [0.125, arms[:, 1].var(), 20000.0])


@EVERY
@pytest.mark.parametrize("value", [0.3, 1.0, 1e9 / 7.0])
def test_a_constant_feature_has_no_size_whatever_its_value(value, name, estimator):
    """The mean of ten times 0.3 is not 0.3: rounding must not be taken for a spread."""
    arms = draw_arms(1, 10)[0]
    arms[:, 1] = value
    policy, reference = twins(name, 0, estimator=estimator)
    policy.initialize(arms)
    reference.forget(reference.ask(arms))
    assert known(policy).scale[1] == reference.feature_scale_.variance[1] == 1.0
    policy.learn(np.array([0.0, 2.0, 0.0]), 1.0, layer=0)
    assert known(policy).scale[1] == 2.0


def test_a_rare_binary_feature_keeps_its_size_while_it_is_not_met():
    rng = np.random.default_rng(4)
    arms = np.column_stack([rng.normal(size=40), np.arange(40) == 7])
    policy = make("UniformPair")
    policy.initialize(arms)
    rare = 1 / 40 * (1 - 1 / 40)
    for t in range(124):  # five stretches, none of which meets it
        policy.learn(np.array([rng.normal(), 0.0]), float(t % 2))
    assert known(policy).scale[1] == pytest.approx(rare, rel=1e-12)
    policy.learn(np.array([0.0, 1.0]), 1.0)  # and one outcome in 128 is no reason either
    for t in range(127):
        policy.learn(np.array([rng.normal(), 0.0]), float(t % 2))
    assert known(policy).scale[1] == pytest.approx(rare, rel=1e-12)


def test_a_feature_that_nobody_asks_about_any_more_keeps_its_size():
    """Shrunk only where even the largest difference is small: what is known well is rarely asked."""
    arms = draw_arms(1, 40)[0]
    policy = make("UniformPair")
    policy.initialize(arms)
    before = known(policy).scale
    for t in range(60):
        policy.learn(np.array([1.0, 1.0, 1.0 if t % 4 == 0 else 0.0]), float(t % 2))
    np.testing.assert_array_equal(known(policy).scale, before)


def test_a_rare_flag_keeps_its_size_where_the_others_shrink():
    rng = np.random.default_rng(3)
    arms = np.column_stack([100.0 * rng.normal(size=(50, 2)), rng.random(50) < 0.1])
    policy = make("UniformPair")
    policy.initialize(arms)
    for t in range(4):
        policy.learn(np.array([*rng.normal(size=2), 0.0]), float(t % 2))
    assert (known(policy).scale[:2] < 100.0).all()
    assert known(policy).scale[2] == pytest.approx(arms[:, 2].var(), rel=1e-12)


def test_one_feature_alone_shrinks_as_far_as_it_must_beside_rare_ones():
    """Features 0 and 1 differ once each, so that their means are small too; but they do not shrink."""
    arms = np.random.default_rng(4).normal(size=(50, DIM))
    policy = make("UniformPair")
    policy.initialize(arms)
    before = known(policy).scale
    for z in ([0.7, 0.0], [0.0, 0.7], [0.0, 0.0], [0.0, 0.0]):
        policy.learn(np.array([*z, 1e-3]), 1.0)
    np.testing.assert_allclose(known(policy).scale, [*before[:2], 5e-7], rtol=1e-9)


def test_one_feature_alone_shrinks_as_far_as_it_must():
    policy = make("UniformPair")
    policy.initialize(np.array([1.0, 1.0, 100.0]) * np.random.default_rng(9).normal(size=(50, DIM)))
    before = known(policy).scale
    for t in range(4):
        policy.learn(np.array([1.0, 1.0, 0.1]), float(t % 2))
    np.testing.assert_allclose(known(policy).scale, [*before[:2], 0.005], rtol=1e-12)


# -- what stays as it was ----------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", POLICIES)
def test_a_given_ridge_is_not_resized(name, estimator):
    policy, shown = make(name, estimator, ridge=0.3), draw_arms(40, seed=5)
    play(policy, [0.01 * shown[0], *shown[1:]])
    state = known(policy)
    np.testing.assert_array_equal(state.scale, np.ones(DIM))
    assert state.scale_window[2] == 0.0
    assert state.base_ridge == 0.3


@pytest.mark.parametrize("name", [name for name, cls in POLICIES.items() if "radius" in cls.setting_names()])
def test_the_published_radius_has_one_ridge_for_good(name):
    shown = draw_arms(40, seed=5)
    first = np.array([0.1, 1.0, 10.0]) * shown[0]
    policy = make(name, radius="theory", theta_bound=0.1, horizon=50)
    play(policy, [first, *shown[1:]])
    state = known(policy)
    np.testing.assert_array_equal(state.scale, np.ones(DIM))
    if name != "VACDB":
        assert state.base_ridge == pytest.approx(POLICIES[name].practical_ridge * first.var(axis=0).mean(), rel=1e-12)


# -- snapshots ---------------------------------------------------------------------------


@EVERY
def test_snapshots_within_a_stretch_go_on_to_the_bit(name, estimator):
    shown = draw_arms(24, seed=6)
    shown = [0.02 * shown[0], *shown[1:12], *(50.0 * arms for arms in shown[12:])]
    policy, copies = make(name, estimator), []
    rng = np.random.default_rng(7)
    for t, arms in enumerate(shown):
        copies = (
            [type(policy).restore(json.loads(json.dumps(p.snapshot()))) for p in (policy, *copies[:2])] if t else []
        )
        luck = rng.random()
        duel = policy.ask(arms, distinct=False)
        for copy in copies:
            assert copy.ask(arms, distinct=False) == duel
            copy.tell(duel, vote(arms, duel, luck))
        policy.tell(duel, vote(arms, duel, luck))
        for copy in copies:
            assert copy.snapshot() == policy.snapshot(), f"round {t + 1}"
    assert known(policy).scale_window[1] > 4.0


# -- the engine and the reference --------------------------------------------------------


@EVERY
@pytest.mark.parametrize("first", [0.03, 3000.0])
def test_the_reference_agrees_through_changes_of_size(first, name, estimator):
    policy, reference = twins(name, 4, estimator=estimator, horizon=10**6)
    world, game, sizes = World(4, False, dim=DIM, n_arms=(4, 6), strength=1.0), Game(), set()
    unlike = np.array([1.0, 20.0, 0.0])
    for t in range(64):
        arms = world.arms() * (first if t < 1 else unlike if t < 24 else np.array([5.0, 0.3, 20.0]))
        duel, same = same_duel(policy, reference, arms, game, distinct=True)
        outcome, weight = world.any_vote(arms, game.duels[-1])
        policy.tell(duel, outcome, weight)
        reference.tell(same, outcome, weight)
        np.testing.assert_allclose(known(policy).scale, reference.feature_scale_.variance, rtol=1e-12)
        sizes.add(tuple(reference.feature_scale_.variance))
    assert_same_estimates(policy, reference)
    assert len(sizes) >= 3
