"""RewardDesign: contexts and pairs of a batch chosen together, against a greedy design by determinants; coverage; and that it pays."""

import json
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import duelist as dl
from duelist.core.errors import InvalidInput
from duelist.reference import REFERENCES
from tests.helpers.policies.reference_play import twins

DIM = 4


def contexts(n, candidates=5, dim=DIM, seed=1):
    rng = np.random.default_rng([seed, n, candidates])
    return rng.normal(size=(n, candidates, dim)) * rng.choice([0.3, 1.0, 2.0], size=(n, 1, 1))


def taught(rounds=60, seed=0, **settings):
    """The policy and its reference, which have learned the same."""
    policy, reference = twins("RewardDesign", seed, **{"coverage": 0.0, **settings})
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=DIM)
    for _ in range(rounds):
        arms = rng.normal(size=(6, DIM))
        duel = policy.ask(arms)
        same = reference.commit(arms, reference.decide(arms), (duel.first, duel.second))
        won = float((arms[duel.first] - arms[duel.second]) @ theta + rng.logistic() > 0)
        policy.tell(duel, won)
        reference.tell(same, won)
    return policy, reference


def chosen(batch):
    return [(context, (duel.first, duel.second)) for context, duel in batch]


# -- which pairs -------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
@pytest.mark.parametrize(("n", "candidates", "k"), [(30, 5, 12), (6, 3, 6), (40, 2, 25), (1, 9, 1)])
def test_each_pair_adds_most_to_those_before_it(n, candidates, k, link, estimator):
    """The reference inverts H anew for each of the k pairs and tries every pair that is left."""
    policy, reference = taught(link=link, estimator=estimator)
    arms = contexts(n, candidates)
    batch = policy.ask_batch(arms, k=k)
    for context, (i, j) in zip(batch.contexts, [pair for _, pair in chosen(batch)], strict=True):
        assert 0 <= i < j < candidates, context
    taken = reference.design(arms, chosen(batch))
    # The two estimates are equal to 1e-7 standard errors.
    np.testing.assert_allclose(batch.information, [each.information for each in taken], rtol=1e-6)
    np.testing.assert_allclose([each.value for each in taken], [each.best for each in taken], rtol=1e-6)


def test_the_information_is_the_growth_of_log_det():
    policy, _ = taught()
    before = policy.curvature_
    arms = contexts(20)
    batch = policy.ask_batch(arms, k=8)
    after, theta = before.copy(), policy.theta_
    for context, (i, j) in chosen(batch):
        z = arms[context, i] - arms[context, j]
        p = special.expit(z @ theta)
        after += p * (1.0 - p) * np.outer(z, z)
    assert batch.information.sum() == pytest.approx(
        np.linalg.slogdet(after)[1] - np.linalg.slogdet(before)[1], abs=1e-9
    )


def test_duels_that_are_out_count():
    """What the second batch adds is counted from H with the first in it, though nobody has answered yet."""
    policy, reference = taught()
    arms = contexts(10)
    first, again = (policy.ask_batch(arms, k=4) for _ in range(2))
    z = np.array([arms[context, i] - arms[context, j] for context, (i, j) in chosen(first)])
    p = special.expit(z @ reference.theta_)
    expected = policy.curvature_ + (z.T * (p * (1.0 - p))) @ z
    context, (i, j) = chosen(again)[0]
    best = arms[context, i] - arms[context, j]
    slope = special.expit(best @ reference.theta_) * special.expit(-best @ reference.theta_)
    information = np.log1p(slope * best @ np.linalg.solve(expected, best))
    assert again.information[0] == pytest.approx(information, rel=1e-6)


def test_a_context_comes_again_only_where_it_is_worth_two():
    """Orthogonal pairs: in the first context two of size a, in the others one of size 1."""

    def asked(size):
        arms = np.zeros((3, 4, 4))
        arms[0, 0, 0], arms[0, 1, 0], arms[0, 2, 1], arms[0, 3, 1] = size, -size, size, -size
        arms[1, 0, 2], arms[2, 0, 3] = 1.0, 1.0
        policy = dl.RewardDesign(ridge=1.0, coverage=0.0)
        return policy.ask_batch(arms, k=3)

    # log(1 + (2 a)^2 / 4) once more, halved, against log(1 + 1 / 4).
    worth = np.log1p(0.25)
    for size, contexts_asked in ((0.7, [0, 1, 2]), (0.8, [0, 0, 1])):
        assert (0.5 * np.log1p(size**2) > worth) == (contexts_asked == [0, 0, 1])
        batch = asked(size)
        assert batch.contexts.tolist() == contexts_asked
    assert chosen(batch)[0][1] == (0, 1)
    assert chosen(batch)[1][1] == (2, 3)


def test_no_pair_comes_twice():
    """One context is far wider than all others: its pairs come one after the other."""
    arms = contexts(12, 3)
    arms[4] *= 1e4
    batch = dl.RewardDesign(coverage=0.0).ask_batch(arms, k=12)
    assert len(set(chosen(batch))) == 12
    assert sum(batch.contexts == 4) == 3


def test_units_are_those_of_all_contexts():
    """Means of contexts do not count; with two candidates each, one context could be ten times off."""
    rng = np.random.default_rng(5)
    size = np.array([1.0, 30.0, 0.01, 5.0])
    arms = (rng.normal(size=(400, 2, DIM)) + 50.0 * rng.normal(size=(400, 1, DIM))) * size
    policy = dl.RewardDesign(random_state=0)
    policy.ask_batch(arms, k=1)
    expected = DIM * size**2  # dim times the squared size, within six sigma of a variance of 400
    np.testing.assert_allclose(np.diag(policy.curvature_) / expected, 1.0, atol=6.0 * np.sqrt(2.0 / 400))


@pytest.mark.parametrize("coverage", [0.0, 0.4])
def test_threads_and_machines_change_nothing(coverage):
    policy = taught(coverage=coverage)[0]
    arms = contexts(150, 7)
    batches = [
        dl.RewardDesign.restore(json.loads(json.dumps(policy.snapshot()))).ask_batch(arms, k=60, threads=threads)
        for threads in (1, 2, 3, 40)
    ]
    for batch in batches[1:]:
        assert batch.duels == batches[0].duels
        np.testing.assert_array_equal(batch.contexts, batches[0].contexts)
        np.testing.assert_array_equal(batch.information, batches[0].information)


def test_very_many_candidates_are_decided_context_by_context():
    policy = dl.RewardDesign(coverage=0.0, random_state=0)
    arms = contexts(4, 300)
    batch = policy.ask_batch(arms, k=2)
    for context, pair in chosen(batch):
        alone = dl.RewardDesign(coverage=0.0, random_state=0)
        alone.initialize(alone.initial_arms(arms))
        assert tuple(alone.ask(arms[context])) == pair


def test_of_very_many_arms_the_outermost_meet():
    """The best pair of all is among those of the arms farthest out here: one direction is far longer than the others."""
    rng = np.random.default_rng(3)
    arms = rng.normal(size=(400, DIM)) * [5.0, 1.0, 1.0, 1.0]
    policy, reference = twins("RewardDesign", 0, coverage=0.0, ridge=1.0)
    choice, duel = reference.decide(arms), policy.ask(arms)
    assert choice.shortfall(duel.first, duel.second) <= 1e-9


# -- coverage ----------------------------------------------------------------------------


@pytest.mark.parametrize(("coverage", "k"), [(0.25, 20), (0.3, 15), (0.5, 1), (1.0, 10), (0.0, 10)])
def test_the_share_by_chance(coverage, k):
    """Chance takes any pair of any context; the rest comes from the one wide context and its neighbours."""
    arms = contexts(200, 4, seed=7) * 1e-3
    arms[:40] *= 1e6  # what is not by chance is among these: they add some thirty times as much
    seen, runs = [], 400
    for seed in range(runs):
        batch = dl.RewardDesign(coverage=coverage, random_state=seed, ridge=1.0).ask_batch(arms, k=k)
        seen.append(int((batch.contexts >= 40).sum()))
    wanted, inside = coverage * k, 160 / 200
    mean, spread = np.mean(seen), np.sqrt(wanted * inside * (1.0 - inside) + 0.25)
    assert abs(mean - wanted * inside) <= 6.0 * spread / np.sqrt(runs)
    assert max(seen) <= int(np.ceil(wanted))


def test_chance_is_fair_to_contexts_and_pairs():
    arms = contexts(6, 3)
    counts = np.zeros((6, 3, 3))
    for seed in range(3000):
        for context, (i, j) in chosen(dl.RewardDesign(coverage=1.0, random_state=seed).ask_batch(arms, k=2)):
            counts[context, i, j] += 1
    open_pairs = counts[:, ~np.eye(3, dtype=bool)]
    assert counts.sum() == open_pairs.sum() == 6000
    assert stats.chisquare(open_pairs.ravel()).pvalue > 1e-9
    contexts_seen = [dl.RewardDesign(coverage=1.0, random_state=s).ask_batch(arms, k=6).contexts for s in range(20)]
    assert all(sorted(each) == list(range(6)) for each in contexts_seen)


def test_one_duel_is_by_chance_as_often():
    arms = np.diag([10.0, 10.0, 0.1, 0.1])  # the first two are by far the most informative pair
    runs, coverage = 2000, 0.3
    by_chance = 0
    for seed in range(runs):
        duel = dl.RewardDesign(coverage=coverage, ridge=1.0, random_state=seed).ask(arms)
        by_chance += {duel.first, duel.second} != {0, 1}
    expected = coverage * 5.0 / 6.0
    assert abs(by_chance / runs - expected) < 6.0 * np.sqrt(expected * (1 - expected) / runs)


@pytest.mark.parametrize("coverage", [-0.1, 1.01, np.nan, "half", None, True])
def test_a_share_is_a_share(coverage):
    with pytest.raises(InvalidInput, match=r"coverage is .*. Give a share from 0 to 1"):
        dl.RewardDesign(coverage=coverage)


def test_the_reference_has_the_same_settings():
    reference: Any = REFERENCES["RewardDesign"]()
    assert reference.coverage == dl.RewardDesign().coverage


# -- does it pay -------------------------------------------------------------------------


def held_out(policy, seed, votes=256, dim=16):
    """Excess log-loss of the scorer on pairs drawn at random from contexts of a world in which the linear model is right."""
    rng = np.random.default_rng(seed)
    theta = 2.0 * rng.normal(size=dim) / np.sqrt(dim)
    pool, test = rng.normal(size=(600, 6, dim)), rng.normal(size=(4000, 2, dim))
    left = np.arange(len(pool))
    for _ in range(votes // 32):
        batch = policy.ask_batch(pool[left], k=32)
        for context, duel in batch:
            arms = pool[left[context]]
            policy.tell(duel, float(rng.random() < special.expit((arms[duel.first] - arms[duel.second]) @ theta)))
        left = np.delete(left, batch.contexts)
    p = special.expit((test[:, 0] - test[:, 1]) @ theta)
    q = policy.scorer().prefer(test[:, 0], test[:, 1])
    return float(np.mean(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))))


def test_it_learns_more_from_as_many_votes_than_chance_does():
    """Six sigma of the paired difference over twelve worlds is not asked for: the effect is about twice the loss of chance."""
    design = np.array([held_out(dl.RewardDesign(random_state=seed), seed) for seed in range(12)])
    chance = np.array([held_out(dl.RewardDesign(random_state=seed, coverage=1.0), seed) for seed in range(12)])
    gain = np.log(chance / design)
    assert gain.mean() > 3.0 * gain.std(ddof=1) / np.sqrt(len(gain))
