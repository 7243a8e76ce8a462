"""LocalPairUCB against its docstring: the curvature, the pair, and the radius with its promise."""

import math

import native_testing as parts
import numpy as np
import pytest
from scipy import stats

import duelist as dl
from duelist.reference.fit import Vote, curvature, effective_horizon, estimate, squared_widths
from duelist.reference.links import link_mean, link_slope
from duelist.reference.local_pair_ucb import log_loss_radius as reference_log_loss_radius
from tests.helpers.policies.feature_scale import default_ridge

LINKS = ("logistic", "probit", "exponential")
DIM = 3
C = 1.4


class World:
    """Arms, the same or new ones in every round, and outcomes that may be ties, with weights."""

    def __init__(self, seed, link="logistic", fixed=False, kind="random", n_arms=(1, 7)):
        self.rng, self.link, self.kind, self.n_arms = np.random.default_rng([seed, 14]), link, kind, n_arms
        self.theta = 1.5 * self.rng.normal(size=DIM)
        self.fixed = self.new_arms(n_arms[1]) if fixed else None

    def new_arms(self, n):
        arms = self.rng.normal(size=(n, DIM))
        if self.kind == "duplicates":
            arms = np.repeat(arms, 2, axis=0)
        if self.kind == "equal":
            arms[:] = arms[0]
        if self.kind == "flat":
            arms = arms[:, :1] * self.rng.normal(size=DIM)
        return arms

    def arms(self):
        return self.fixed if self.fixed is not None else self.new_arms(int(self.rng.integers(*self.n_arms) + 1))

    def vote(self, z):
        if self.rng.random() < 0.2:
            return 0.5
        return float(self.rng.random() < link_mean(self.link, z @ self.theta))

    def weight(self):
        return float(self.rng.choice([0.5, 1.0, 1.0, 3.0]))


def log_loss_radius(dim, t, theta_bound, reach, ridge, delta):
    """The radius of the log-loss confidence set, from the docstring of its reference."""
    s = theta_bound * reach
    b = math.log(1.0 / delta) + dim * math.log(max(math.e, 2.0 * math.e * s * (1.0 + s / 2.0) * (t - 1) / dim))
    return math.sqrt(2.0 * (1.0 + s) * (1.0 + b)) + math.sqrt(ridge) * theta_bound


def reach_of(arms):
    return 2.0 * max(np.linalg.norm(x - arms.mean(axis=0)) for x in arms)


def ridge_of(policy, first_arms, rows=()):
    return default_ridge(policy, first_arms, [(row.z, row.total_weight) for row in rows])


def worth(policy, arms, theta, h, t, first_arms):
    """The stated worth of every pair in round t."""
    squares, u = squared_widths(arms, h), arms @ theta
    if policy.radius == "practical":
        c, horizon = C * policy.scale, effective_horizon(policy.horizon, t)
        slopes = link_slope(policy.link, u[:, None] - u[None])
        rounds = np.log1p(horizon * slopes * squares)
        certainty = (slopes / link_slope(policy.link, 0.0)) ** 0.2
        bonus = np.sqrt(2.0 * c * squares * certainty * np.maximum(rounds - np.log1p(rounds), 0.0))
    elif policy.radius == "theory":
        ridge = ridge_of(policy, first_arms)[0]
        reach = reach_of(first_arms)
        bonus = log_loss_radius(DIM, t, policy.theta_bound, reach, ridge, policy.delta) * np.sqrt(squares)
        bonus = policy.scale * bonus
    else:
        bonus = policy.scale * policy.radius * np.sqrt(squares)
    return u[:, None] + u[None] + bonus


# -- the curvature -----------------------------------------------------------------------


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("ridge", [None, 0.3])
@pytest.mark.parametrize("link", LINKS)
def test_the_curvature_is_that_of_the_told_duels(link, ridge, fixed):
    world = World(1, link, fixed)
    policy = dl.LocalPairUCB(link=link, ridge=ridge, horizon=100)
    rows, waiting, first = [], [], None
    for _ in range(60):
        arms = world.arms()
        first = arms if first is None else first
        duel = policy.ask(arms, distinct=False)
        waiting.append((duel, arms[duel.first] - arms[duel.second]))
        for _ in range(int(world.rng.integers(0, 3))):  # late, out of order, some never
            if waiting:
                told, z = waiting.pop(int(world.rng.integers(len(waiting))))
                vote, weight = world.vote(z), world.weight()
                policy.tell(told, vote, weight)
                rows.append(Vote(z, vote, weight))
        lam = ridge_of(policy, first, rows)
        theta = estimate(link, lam, rows, DIM)
        np.testing.assert_allclose(policy.theta_, theta, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(policy.curvature_, curvature(link, lam, rows, theta), rtol=1e-7, atol=1e-8)
    assert len(rows) > 30
    assert waiting


@pytest.mark.parametrize("link", LINKS)
def test_the_one_pass_curvature_keeps_the_slope_of_its_round(link):
    world = World(2, link)
    policy = dl.LocalPairUCB(link=link, ridge=0.4, estimator="online")
    h = 0.4 * np.eye(DIM)
    for _ in range(60):
        arms = world.arms()
        duel = policy.ask(arms, distinct=False)
        z, weight = arms[duel.first] - arms[duel.second], world.weight()
        policy.tell(duel, world.vote(z), weight)
        h += weight * link_slope(link, z @ policy.theta_) * np.outer(z, z)
        np.testing.assert_allclose(policy.curvature_, h, rtol=1e-9, atol=1e-9)


# -- the pair ----------------------------------------------------------------------------

SETTINGS = {
    "practical": {"horizon": 200},
    "unknown horizon": {},
    "short": {"horizon": 1},
    "long": {"horizon": 10**12},
    "scaled": {"horizon": 200, "scale": 0.1},
    "theory": {"radius": "theory", "delta": 0.2, "theta_bound": 2.0},
    "theory scaled": {"radius": "theory", "scale": 0.05, "ridge": 0.2},
    "number": {"radius": 0.8, "scale": 0.5},
}


def play_against_brute_force(policy, world, rounds, late=False):
    rows, waiting, first, duels = [], [], None, []
    for t in range(1, rounds + 1):
        arms = world.arms()
        first = arms if first is None else first
        lam = ridge_of(policy, first, rows)
        if policy.online_ and t > 1:
            theta, h = policy.theta_, policy.curvature_
        else:
            theta = estimate(policy.link, lam, rows, DIM)
            h = curvature(policy.link, lam, rows, theta)
        for _, z in waiting:  # as if they were answered
            h = h + link_slope(policy.link, z @ theta) * np.outer(z, z)
        duel = policy.ask(arms, distinct=False)
        values = worth(policy, arms, theta, h, t, first)
        assert values[duel.first, duel.second] >= values.max() - 1e-9 * (1.0 + abs(values.max())), f"round {t}"
        duels.append((duel.first, duel.second))
        waiting.append((duel, arms[duel.first] - arms[duel.second]))
        while waiting and (not late or world.rng.random() < 0.5):
            told, z = waiting.pop(int(world.rng.integers(len(waiting))))
            vote, weight = world.vote(z), world.weight()
            policy.tell(told, vote, weight)
            rows.append(Vote(z, vote, weight))
    return duels


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_pair_is_worth_most(setting, link, fixed):
    policy = dl.LocalPairUCB(link=link, **SETTINGS[setting])
    duels = play_against_brute_force(policy, World(3, link, fixed), 50, late=not fixed)
    assert len(set(duels)) > 2


@pytest.mark.parametrize("kind", ["duplicates", "equal", "flat"])
@pytest.mark.parametrize("setting", ["practical", "theory", "number"])
def test_the_pair_is_worth_most_among_unfriendly_arms(setting, kind):
    play_against_brute_force(dl.LocalPairUCB(**SETTINGS[setting]), World(4, kind=kind), 40)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_pair_is_worth_most_with_the_one_pass_estimator(setting):
    policy = dl.LocalPairUCB(**SETTINGS[setting], estimator="online")
    play_against_brute_force(policy, World(5), 50)


def test_the_pair_is_worth_most_among_two_hundred_arms():
    play_against_brute_force(dl.LocalPairUCB(horizon=500), World(6, n_arms=(150, 200)), 12)


def test_a_pair_that_is_known_costs_nothing_more():
    # Two arms, one much better: once (mu' W^2) T is small the better one meets itself; longer horizons ask longer.
    arms = np.array([[0.0, 0.0], [1.0, 0.0]])
    asked = []
    for horizon in (30, 3000):
        policy = dl.LocalPairUCB(horizon=horizon, ridge=1.0)
        for t in range(400):
            duel = policy.ask(arms, distinct=False)
            if duel.is_self_duel:
                break
            policy.tell(duel, float(duel.first == 1) if t % 4 else 0.5)
        assert (duel.first, duel.second) == (1, 1)
        asked.append(t)
    assert 0 < asked[0] < asked[1] < 399


def test_the_experiments_radius_is_refused():
    with pytest.raises(dl.InvalidInput, match=r"Radius 'experiment' .*'practical', 'tight', 'theory', or a number"):
        dl.LocalPairUCB(radius="experiment")


# -- the published radius ----------------------------------------------------------------


@pytest.mark.parametrize("t", [1, 2, 50, 10**6])
@pytest.mark.parametrize("dim", [1, 5])
def test_the_radius_is_the_stated_formula(dim, t):
    for bound, reach, ridge, delta in ((1.0, 1.0, 1.0, 0.05), (2.0, 3.0, 0.1, 0.5), (0.1, 0.5, 4.0, 0.001)):
        expected = log_loss_radius(dim, t, bound, reach, ridge, delta)
        for radius in (parts.log_loss_radius, reference_log_loss_radius):
            assert radius(dim, t, bound, reach, ridge, delta) == pytest.approx(expected, rel=1e-12)


DELTA, RUNS, ROUNDS = 0.1, 150, 80
MOST_MISSES = int(stats.binom.isf(1e-9, RUNS, DELTA))
"""More misses than this in a billionth of the tests, if each run misses with chance DELTA."""


@pytest.fixture(scope="module")
def errors_in_units_of_the_radius():
    """The largest |theta_hat - theta*|_H / radius over the rounds of each run, with |theta*| at the bound."""
    ratios = np.zeros(RUNS)
    for run in range(RUNS):
        rng = np.random.default_rng([run, 5])
        theta = rng.normal(size=2)
        theta /= np.linalg.norm(theta)
        angles = 2.0 * np.pi * (np.arange(5) / 5 + rng.random())
        arms = np.column_stack([np.cos(angles), np.sin(angles)])
        policy = dl.LocalPairUCB(radius="theory", delta=DELTA, theta_bound=1.0, ridge=0.5)
        for t in range(1, ROUNDS + 1):
            duel = policy.ask(arms, distinct=False)
            error = policy.theta_ - theta
            radius = log_loss_radius(2, t, 1.0, reach_of(arms), 0.5, DELTA)
            ratios[run] = max(ratios[run], math.sqrt(error @ policy.curvature_ @ error) / radius)
            policy.tell(
                duel, float(rng.random() < link_mean("logistic", (arms[duel.first] - arms[duel.second]) @ theta))
            )
    return ratios


def test_the_radius_covers_the_truth_in_all_rounds_at_once(errors_in_units_of_the_radius):
    assert (errors_in_units_of_the_radius > 1.0).sum() <= MOST_MISSES


def test_a_radius_a_tenth_as_large_does_not(errors_in_units_of_the_radius):
    assert (errors_in_units_of_the_radius > 0.1).sum() > MOST_MISSES
