"""The evaluation of the goal *best*, and the peers that it compares: against the library's own estimates and stopping decisions."""

import numpy as np
import pytest
from benchmarks.quality.goals import peers
from benchmarks.quality.goals.evaluation import CHECKPOINTS, Evaluator, play
from benchmarks.quality.goals.problems import GoalWorld, evaluation_problems, seeds

import duelist as dl
from duelist.model.fit import fit_mle


def linear_world(seed, n=8, dim=3, scale=2.0):
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(n, dim)) * [1.0, 50.0, 0.01]
    utilities = arms @ (scale * rng.normal(size=dim) / arms.std(axis=0))
    return GoalWorld(utilities, 1.0 / (1.0 + np.exp(utilities - utilities[:, None]))[None], arms)


def random_votes(world, count, seed):
    rng = np.random.default_rng(seed)
    for number in range(count):
        first, second = rng.choice(world.n, 2, replace=False)
        yield int(first), int(second), world.vote(first, second, number, rng)


@pytest.mark.parametrize("count", [20, 100, 400, 1500])
def test_the_judge_says_what_recommend_says(count):
    """Of a policy with the same ridge, that was told the same votes."""
    decided = 0
    for seed in range(4):
        world = linear_world(seed)
        evaluator, policy = Evaluator(world), dl.ThompsonPair(random_state=0)
        policy.initialize(world.features)
        for first, second, outcome in random_votes(world, count, seed):
            evaluator.count(first, second, outcome)
            policy.learn(world.features[[first, second]], outcome)
        found = policy.recommend(world.features)
        assert evaluator.look() == (found.best, found.decided)
        decided += found.decided
    assert count < 1500 or decided > 0


def test_without_features_every_arm_has_a_term_of_variance_one():
    world = evaluation_problems(("made",))["no features"].world(0, 0)
    evaluator, rows, outcomes = Evaluator(world), [], []
    for first, second, outcome in random_votes(world, 300, 5):
        evaluator.count(first, second, outcome)
        rows.append(np.eye(world.n)[first] - np.eye(world.n)[second])
        outcomes.append(outcome)
    assert evaluator.look()[0] == int(np.argmax(fit_mle(np.array(rows), np.array(outcomes), ridge=1.0).theta))


def test_a_run_is_the_same_again_and_names_an_arm_at_every_checkpoint():
    world = linear_world(1)
    found = []
    for _ in range(2):
        seed, luck = seeds(3, 0)
        found.append(play(dl.UniformPair(random_state=seed), world.features, world, luck))
    assert found[0].regret.tolist() == found[1].regret.tolist()
    assert len(found[0].regret) == len(CHECKPOINTS)
    assert ((found[0].regret == 0.0) == (found[0].right == 1.0)).all()
    assert found[0].decided in (None, True, False)


# -- peers -------------------------------------------------------------------------------


@pytest.mark.parametrize("peer", [peers.TopTwoThompson, peers.LeastLead, peers.OptimisticRival])
def test_a_peer_keeps_the_laplace_posterior_of_its_votes(peer):
    world, policy = linear_world(2), peer(0)
    centred = world.features - world.features.mean(axis=0)
    rng, rows, outcomes = np.random.default_rng(6), [], []
    for number in range(120):
        duel = policy.ask(world.features)
        assert duel.first != duel.second
        outcome = world.vote(duel.first, duel.second, number, rng)
        policy.tell(duel, outcome)
        rows.append(centred[duel.first] - centred[duel.second])
        outcomes.append(outcome)
    ridge = centred.var(axis=0)  # three features: no more than once the variance
    fit = fit_mle(np.array(rows), np.array(outcomes), ridge=ridge)
    np.testing.assert_allclose(policy.u, centred @ fit.theta, atol=1e-4)
    chance = 1.0 / (1.0 + np.exp(-np.array(rows) @ fit.theta))
    curvature = np.diag(ridge) + (np.array(rows) * (chance * (1.0 - chance))[:, None]).T @ np.array(rows)
    np.testing.assert_allclose(policy.curvature, curvature, rtol=1e-3)


def test_top_two_thompson_names_arms_as_often_as_they_are_best_in_draws():
    """Leaders by the posterior's chance of being best; challengers by the same, given that they are not the leader."""
    world, policy = linear_world(3, n=4), peers.TopTwoThompson(0)
    policy.ask(world.features)
    for first, second, outcome in random_votes(world, 40, 7):
        policy.tell(dl.Duel(first, second, 0), outcome)
    rng, count = np.random.default_rng(8), 3000
    theta = rng.multivariate_normal(policy.theta, np.linalg.inv(policy.curvature), size=200_000)
    best = np.bincount(np.argmax(theta @ policy.arms.T, axis=1), minlength=4) / 200_000
    pairs = np.array([policy.pair() for _ in range(count)])
    for arm in range(4):
        second = sum(best[other] * best[arm] / (1.0 - best[other]) for other in range(4) if other != arm)
        for chance, named in ((best[arm], pairs[:, 0]), (second, pairs[:, 1])):
            assert abs((named == arm).mean() - chance) < 6.0 * np.sqrt(chance * (1.0 - chance) / count) + 0.01


def test_rivals_are_those_that_the_peers_are_named_for():
    gaps, squares = np.array([np.inf, 0.1, 1.0, 2.0]), np.array([1.0, 0.01, 0.04, 1.0])
    assert peers.LeastLead(0).rival(gaps, squares) == 1  # 1, 5 and 2 standard deviations
    assert peers.OptimisticRival(0).rival(gaps, squares) == 3  # at best better by 0.2, -0.4 and 1
