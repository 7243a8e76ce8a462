"""The comparison of jobs with their peers: rules of peers, runs, and what the pages call a loss."""

import numpy as np
import pytest
from benchmarks.quality.goals.problems import GoalWorld
from benchmarks.quality.jobs import page, peers, play, runs

import duelist as dl

RULES = (
    peers.LeaderThompson,
    peers.LeaderThompsonFixed,
    peers.MaxMinLCB,
    peers.TopTwoThompson,
    peers.LinGapE,
    peers.ExpectedBest,
)


def made_world(n=6, features=False):
    utilities = np.linspace(1.5, -1.5, n)
    chances = 1.0 / (1.0 + np.exp(utilities - utilities[:, None]))
    return GoalWorld(utilities, chances[None], np.column_stack([utilities, np.ones(n)]) if features else None)


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_a_peer_has_the_posterior_of_our_policies(rule, features):
    world = made_world(features=features)
    table = dl.ArmTable(world.n, world.features)
    ridge = None if rule.prior_variance is None else 1.0 / rule.prior_variance
    peer, ours = rule(table, 0), dl.UniformPair(estimator="online", ridge=ridge, random_state=0)
    ours.initialize(table)
    rng = np.random.default_rng(1)
    for t in range(40):
        first, second = peer.ask()
        assert 0 <= first < world.n
        assert 0 <= second < world.n
        outcome = world.vote(first, second, t, rng)
        peer.tell(first, second, outcome)
        if first != second:
            ours.learn(table[[first, second]], outcome)
    peer.ask()
    if len(peer.state.log_weights) == 1:  # the posterior of all models is that of the only one
        found = ours.posterior(table).utilities
        np.testing.assert_allclose(peer.u - peer.u[0], found - found[0], atol=1e-12)


@pytest.mark.parametrize("rule", [peers.TopTwoThompson, peers.LinGapE, peers.ExpectedBest])
def test_peers_for_the_best_arm_never_ask_an_arm_about_itself(rule):
    world = made_world()
    peer, rng = rule(dl.ArmTable(world.n), 3), np.random.default_rng(2)
    for t in range(60):
        first, second = peer.ask()
        assert first != second
        peer.tell(first, second, world.vote(first, second, t, rng))


def test_expected_best_of_two_is_that_of_a_simulation():
    peer = peers.ExpectedBest(dl.ArmTable(3), 0)
    peer.u, peer.covariance = np.array([0.3, 0.0, -0.2]), np.diag([0.01, 0.5, 1.5])
    peer.gap = peer.u[:, None] - peer.u
    peer.width = np.sqrt(np.add.outer(peer.covariance.diagonal(), peer.covariance.diagonal()))
    drawn = peer.u + np.random.default_rng(0).standard_normal((400_000, 3)) * np.sqrt(peer.covariance.diagonal())
    best = {pair: np.maximum(drawn[:, pair[0]], drawn[:, pair[1]]).mean() for pair in ((0, 1), (0, 2), (1, 2))}
    assert tuple(sorted(peer.pair())) == max(best, key=lambda pair: best[pair])


def test_regret_is_that_of_both_arms_shown():
    class Fixed:
        def ask(self):
            return 0, 2

        def tell(self, first, second, outcome):
            assert (first, second) == (0, 2)

    world = made_world(4)
    found = play.serve(Fixed(), world, np.random.default_rng(0), rounds=300)
    np.testing.assert_allclose(found.regret, np.array([100, 300]) * 0.5 * (world.utilities[0] - world.utilities[2]))


def test_our_policy_finds_an_arm_that_is_far_ahead():
    world = made_world(3)
    found = play.find_best(play.finding(play.BOTH)(world, 0), world, np.random.default_rng(0))
    assert found.decided is True
    assert found.votes < 1000
    assert found.regret.tolist()[1:] == [0.0, 0.0, 0.0]


def rows(values):
    return [{"regret": [value]} for value in values]


def test_a_loss_is_listed_only_beyond_its_interval():
    measure = page.regret_after(-1, 10)
    rng = np.random.default_rng(5)
    ours = rng.normal(100.0, 10.0, 40)
    results = {
        "set": {
            runs.OURS: rows(ours),
            "worse": rows(ours + 20.0),
            "alike": rows(rng.permutation(ours)),
            "better": rows(ours - 5.0),
        }
    }
    (line, end) = page.losses(results, (measure,))
    assert end == ""
    assert line.startswith("- set, summed regret, 10 duels: better, ")
    assert line.endswith("difference +5 [+5, +5].")
    assert next(page.losses({"set": {runs.OURS: rows(ours), "worse": rows(ours + 20.0)}}, (measure,))).startswith(
        "- None"
    )


def test_more_right_runs_are_better():
    measure = page.right_after(0)
    ours, other = measure.of([{"regret": [0.0]}] * 30), measure.of([{"regret": [0.3]}] * 30)
    assert page.compared(measure, ours, other)[1] == 1
    assert page.compared(measure, other, ours)[1] == -1


def test_one_form_is_compared_with_the_better_of_the_others():
    row = {
        runs.OURS: rows([110.0, 110.0]),
        runs.OUR_FORMS[play.FEATURES]: rows([100.0, 100.0]),
        runs.OUR_FORMS[play.EFFECTS]: rows([300.0, 300.0]),
    }
    lines = list(page.one_form({"set": row, "without": {runs.OURS: rows([1.0])}}, page.regret_after(-1, 10)))
    assert lines[2:] == ["| set | 110 | 100 | 300 | +10 % |", ""]
