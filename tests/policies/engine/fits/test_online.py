"""The one-pass estimator, in every policy: what holds exactly, and how near the exact estimate it stays."""

import json
from itertools import pairwise

import numpy as np
import pytest

import duelist as dl
from duelist.core.duel import Duel
from duelist.core.errors import InvalidInput
from duelist.policies import POLICIES, Policy
from duelist.simulation.environments import FixedArms, RandomArms
from duelist.simulation.simulate import policy_seed, simulate
from tests.helpers.policy_state import hand_out, known, pending

LINKS = ("logistic", "probit", "exponential")
WITH_RADIUS = [name for name, cls in POLICIES.items() if "radius" in cls.setting_names()]
DIM = 3


def online(name, link="logistic", seed=0, **settings):
    return POLICIES[name](link=link, estimator="online", random_state=seed, **settings)


class World:
    """New Gaussian arms in every round, and outcomes drawn from a link; the same for the same seed."""

    def __init__(self, seed=0, link="logistic", dim=DIM, strength=2.0):
        self.rng, self.dim, self.law = np.random.default_rng([seed, 77]), dim, dl.get_link(link)
        self.theta = self.rng.normal(size=dim)
        self.theta *= strength / np.linalg.norm(self.theta)

    def arms(self, n=None):
        return self.rng.normal(size=(n or int(self.rng.integers(1, 7)), self.dim))

    def outcome(self, arms, duel):
        chance = float(self.law.mean((arms[duel.first] - arms[duel.second]) @ self.theta))
        return float(self.rng.random() < chance)


def play(policy, world, rounds):
    duels = []
    for _ in range(rounds):
        arms = world.arms()
        duel = policy.ask(arms, distinct=False)
        policy.tell(duel, world.outcome(arms, duel))
        duels.append((duel.first, duel.second))
    return duels


def bits(policy):
    """All that it knows."""
    return {name: array.tobytes() for name, array in vars(known(policy)).items()}


# -- every policy, every link ------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", POLICIES)
def test_it_runs_without_growing_and_a_restored_copy_goes_on_bit_for_bit(name, link):
    policy, same = online(name, link), online(name, link)
    world = World(1, link)
    policy.ask(World(1, link).arms(), distinct=False)  # a duel that is never told
    same.ask(World(1, link).arms(), distinct=False)
    first = play(policy, world, 250)
    restored = type(policy).restore(json.loads(json.dumps(policy.snapshot())))
    assert restored.estimator == "online"
    state = world.rng.bit_generator.state
    second = play(policy, world, 250)
    world.rng.bit_generator.state = state
    assert play(restored, world, 250) == second
    assert bits(restored) == bits(policy)
    assert play(same, World(1, link), 500) == first + second
    assert bits(same) == bits(policy)
    assert known(policy).n_rows.sum() == 0  # nothing is kept
    for name in ("theta", "factor", "curvature"):
        assert np.isfinite(getattr(known(policy), name)).all()
    assert np.isfinite(policy.theta_).all()
    assert policy.rounds_ == 501
    assert policy.pending_ == [0]


@pytest.mark.parametrize("name", POLICIES)
def test_it_says_so_in_its_settings(name):
    policy = online(name)
    assert policy.online_
    assert "estimator='online'" in repr(policy)
    assert not POLICIES[name]().online_


@pytest.mark.parametrize("name", POLICIES)
def test_a_wrong_estimator_is_refused(name):
    with pytest.raises(InvalidInput, match=r"estimator is 'onlin'\. Choose one of exact, online"):
        POLICIES[name](estimator="onlin")


@pytest.mark.parametrize("ridge", [None, 0.7])
@pytest.mark.parametrize("name", POLICIES)
def test_the_precision_is_exact(name, ridge):
    policy, exact = online(name, ridge=ridge), POLICIES[name](ridge=ridge, random_state=0)
    world = World(2)
    for _ in range(60):
        arms = world.arms()
        duel = policy.ask(arms, distinct=False)
        exact.ask(arms, distinct=False)
        # The same duel for both, so that only the estimator differs.
        hand_out(exact, duel.id, pending(policy)[duel.id])
        outcome = world.outcome(arms, duel)
        policy.tell(duel, outcome)
        exact.tell(duel, outcome)
    for layer in range(len(known(exact).theta)):
        if ridge is None:  # other sizes go into a sum over rows here, into the sum itself there: a few roundings apart
            np.testing.assert_allclose(
                policy.layer_precision(layer), exact.layer_precision(layer), rtol=1e-13, atol=1e-14
            )
        else:
            np.testing.assert_array_equal(policy.layer_precision(layer), exact.layer_precision(layer))
    np.testing.assert_array_equal(known(policy).scale, known(exact).scale)
    np.testing.assert_array_equal(known(policy).learned, known(exact).learned)


# -- how near ----------------------------------------------------------------------------


def errors_of(policy, exact, differences):
    """|theta_online - theta_exact| in standard errors of the exact estimate."""
    law, root = dl.get_link(exact.link), exact.theta_
    ridge = known(exact).ridge[0]
    curvature = ridge * np.eye(root.size) + (differences.T * law.slope(differences @ root)) @ differences
    gap = policy.theta_ - root
    return float(np.sqrt(gap @ curvature @ gap))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("strength", [0.5, 2.0])
def test_after_2000_uniform_duels_it_is_within_the_noise(link, strength):
    # |theta_exact - theta*|_H is about sqrt(dim): the noise that no estimator escapes. One pass adds second-order
    # terms of the first rounds, where the quadratic stands badly for the losses; the data since then divide them.
    dim, gaps = 4, []
    for seed in range(4):
        policy, exact = online("UniformPair", link, seed), dl.UniformPair(link=link, random_state=seed)
        world, differences = World(seed, link, dim, strength), []
        for _ in range(2000):
            arms = world.arms(4)
            duel = policy.ask(arms, distinct=False)
            assert exact.ask(arms, distinct=False) == duel
            outcome = world.outcome(arms, duel)
            policy.tell(duel, outcome)
            exact.tell(duel, outcome)
            differences.append(arms[duel.first] - arms[duel.second])
        gaps.append(errors_of(policy, exact, np.array(differences)))
    assert max(gaps) < np.sqrt(dim)


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("link", LINKS)
def test_a_surprise_in_a_wide_direction_is_not_ignored(link, estimator):
    # z = 3 and ridge 0.01 leave |z|_{H^-1} wide; the outcome with a large weight must turn the margin round.
    arms = np.array([[3.0], [0.0]])
    policy = dl.UniformPair(link=link, estimator=estimator, ridge=0.01, random_state=0)
    duel = policy.ask(arms, distinct=False)
    policy.tell(duel, float(duel.first == 1))
    assert policy.theta_[0] < 0.0
    duel = policy.ask(arms, distinct=False)
    policy.tell(duel, float(duel.first == 0), 20.0)
    assert policy.theta_[0] > 0.0


# -- tells -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_late_and_unordered_tells_are_taken_in_as_they_come(name):
    world, policy = World(3), online(name)
    waiting = []
    for _ in range(40):
        arms = world.arms(5)
        duel = policy.ask(arms, distinct=False)
        waiting.append((duel, world.outcome(arms, duel)))
    assert not policy.theta_.any()
    order = world.rng.permutation(len(waiting))
    for k in order[:-5]:
        policy.tell(*waiting[k])
    assert sorted(policy.pending_) == sorted(int(k) for k in order[-5:])
    assert np.isfinite(policy.theta_).all()
    # The order of the same tells is the only thing that may differ, and it matters little.
    again = online(name)
    world = World(3)
    for _ in range(40):
        arms = world.arms(5)
        world.outcome(arms, again.ask(arms, distinct=False))
    for k in sorted(order[:-5]):
        again.tell(*waiting[k])
    for layer in range(len(known(policy).theta)):
        np.testing.assert_allclose(policy.layer_precision(layer), again.layer_precision(layer), rtol=1e-9, atol=1e-12)
        curvature = known(policy).curvature[layer]
        gap = np.triu(curvature) @ (policy.estimate(layer) - again.estimate(layer))
        assert np.linalg.norm(gap) < 1.0


@pytest.mark.parametrize("link", LINKS)
def test_a_weight_of_two_is_nearly_two_tells(link):
    # Exactly so for precision and count. The estimate is not the same: told twice, the second tell meets the quadratic
    # that replaced the first loss. The difference is of second order: a small part of a standard error.
    once, twice = (dl.UniformPair(link=link, estimator="online", random_state=0, ridge=0.5) for _ in range(2))
    world = World(4, link)
    for _ in range(300):
        arms = world.arms(4)
        duel, first = once.ask(arms, distinct=False), twice.ask(arms, distinct=False)
        z = arms[duel.first] - arms[duel.second]
        outcome = world.outcome(arms, duel)
        once.tell(duel, outcome, 2.0)
        out = pending(twice)[first.id]
        twice.tell(first, outcome)
        hand_out(twice, first.id, out)
        twice.tell(first, outcome)
        # Never on different sides of the same outcome.
        assert np.sign(once.theta_ @ z) == np.sign(twice.theta_ @ z) or abs((once.theta_ - twice.theta_) @ z) < 0.5
    np.testing.assert_allclose(once.precision_, twice.precision_, rtol=1e-11)
    assert known(once).learned[0] == known(twice).learned[0] == 600.0
    gap = np.triu(known(once).curvature[0]) @ (once.theta_ - twice.theta_)
    assert 0.0 < np.linalg.norm(gap) < 0.5


@pytest.mark.parametrize("link", LINKS)
def test_a_tie_draws_the_two_together(link):
    arms = np.array([[1.0, 0.0], [0.0, 1.0]])
    policy = dl.MaxPairUCB(link=link, estimator="online", ridge=1.0)
    z = arms[0] - arms[1]
    policy.tell(policy.ask(arms, distinct=False), 0.5)
    assert not policy.theta_.any()  # a tie of equals is no surprise
    policy.tell(policy.ask(arms, distinct=False), 1)
    margins = [abs(policy.theta_ @ z)]
    for _ in range(5):
        duel = policy.ask(arms, distinct=False)
        hand_out(policy, duel.id, pending(policy)[duel.id]._replace(arms=np.stack([z, np.zeros_like(z)])))
        policy.tell(duel, 0.5)
        margins.append(abs(policy.theta_ @ z))
    assert margins[0] > 0.1
    assert all(later < earlier for earlier, later in pairwise(margins))


@pytest.mark.parametrize("link", LINKS)
def test_swapping_the_arms_and_the_outcome_changes_nothing(link):
    left, right = (dl.UniformPair(link=link, estimator="online", random_state=0) for _ in range(2))
    world = World(5, link)
    for _ in range(50):
        arms = world.arms(4)
        duel = left.ask(arms, distinct=False)
        right.ask(arms, distinct=False)
        out = pending(right)[duel.id]
        hand_out(right, duel.id, out._replace(arms=out.arms[::-1]))
        outcome = world.outcome(arms, duel)
        left.tell(duel, outcome)
        right.tell(duel, 1.0 - outcome)
    np.testing.assert_array_equal(left.theta_, right.theta_)


@pytest.mark.parametrize("name", POLICIES)
def test_a_self_duel_teaches_nothing(name):
    policy = online(name)
    play(policy, World(6), 20)
    before = known(policy).theta.copy(), known(policy).curvature.copy()
    policy.tell(policy.ask(np.ones((1, DIM))), 1)
    np.testing.assert_array_equal(known(policy).theta, before[0])
    np.testing.assert_array_equal(known(policy).curvature, before[1])


# -- the bound ---------------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", WITH_RADIUS)
def test_the_published_radius_keeps_every_estimate_within_its_bound(name, link):
    policy = online(name, link, radius="theory", theta_bound=0.4, ridge=0.01, horizon=300)
    world, reached = World(7, link, strength=8.0), 0
    for _ in range(100):
        arms = 0.5 * world.arms(5)
        duel = policy.ask(arms, distinct=False)
        policy.tell(duel, world.outcome(arms, duel))
        sizes = np.linalg.norm(known(policy).theta, axis=1)
        assert sizes.max() <= 0.4 * (1.0 + 1e-12)
        reached += sizes.max() > 0.4 * (1.0 - 1e-9)
    assert reached > 5


@pytest.mark.parametrize("name", WITH_RADIUS)
def test_other_radii_have_no_bound(name):
    policy = online(name, theta_bound=0.01)
    play(policy, World(8, strength=8.0), 100)
    assert np.linalg.norm(known(policy).theta, axis=1).max() > 0.1


# -- simulation --------------------------------------------------------------------------


class Spy(Policy):
    """Writes down the arms that a simulation shows in each run."""

    def __init__(self):
        self.arms, self.copies = [], []

    def clone(self, random_state):
        self.copies.append(Spy())
        return self.copies[-1]

    def ask(self, arms):
        self.arms.append(np.array(arms))
        return Duel(0, 0)

    def tell(self, duel, outcome, weight=1.0):
        pass


WORLDS = {
    "fixed": FixedArms(np.random.default_rng(7).standard_normal((6, 2)), scale=2.0),
    "changing": RandomArms(dim=2, n_arms=(1, 6), kind="gaussian", scale=2.0),
}


@pytest.mark.parametrize("environment", WORLDS)
@pytest.mark.parametrize("name", POLICIES)
def test_a_simulation_plays_the_duels_of_live_policies(name, environment):
    spy, policy, seed, runs, horizon = Spy(), POLICIES[name](estimator="online"), 5, 4, 150
    played = simulate({"spy": spy, name: policy}, WORLDS[environment], horizon, runs, seed, tell_horizon=False)
    first, second = played.duels(name)
    outcomes = played.outcomes(name)
    for run in range(runs):
        live = policy.clone(policy_seed(seed, run))
        assert live.online_
        for t, arms in enumerate(spy.copies[run].arms):
            duel = live.ask(arms, distinct=False)
            assert (duel.first, duel.second) == (first[run, t], second[run, t]), f"run {run}, round {t + 1}"
            live.tell(duel, int(outcomes[run, t]))
