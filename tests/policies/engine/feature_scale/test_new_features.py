"""Features in which nobody differs at first: in whatever units they are, the arm that brings one is asked about and judged alike."""

import numpy as np
import pytest
from scipy.special import expit

import duelist as dl

FIRST = np.column_stack([np.linspace(-1.0, 1.0, 5), np.zeros(5)])
UTILITIES = np.append(2.0 * FIRST[:, 0], 4.0)
POLICIES = ["LocalPairUCB", "MaxPairUCB", "BestArmPair", "ThompsonPair", "VACDB", "CoLSTIM", "RankingPair"]


def played(name, estimator, unit, votes=60, ask_late_from=30):
    """Duels of a policy that meets, after some votes, the best arm, which alone has the second feature."""
    rng, policy = np.random.default_rng(1), getattr(dl, name)(random_state=3, estimator=estimator)
    late, duels = np.vstack([FIRST, [-0.8, unit]]), []
    for vote in range(votes):
        duel = policy.ask(FIRST if vote < ask_late_from else late)
        policy.tell(duel, float(rng.random() < expit(UTILITIES[duel.first] - UTILITIES[duel.second])))
        duels.append((duel.first, duel.second))
    return policy, late, duels


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("name", POLICIES)
def test_units_of_a_feature_that_comes_late_do_not_matter(name, estimator):
    """Powers of two are exact: the same duels. A feature without a size had size 1, and small units were never asked about."""
    _, _, duels = played(name, estimator, 1.0)
    assert any(5 in duel for duel in duels)
    for unit in (2.0**-7, 2.0**-30, 2.0**20):
        assert played(name, estimator, unit)[2] == duels


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("unit", [1.0, 2.0**-14])
def test_nobody_is_ruled_out_for_a_feature_that_nobody_has_voted_on(estimator, unit):
    policy, late, _ = played("BestArmPair", estimator, unit, votes=200, ask_late_from=200)
    found = policy.recommend(late, 0.1)
    assert 5 in found.candidates
    assert (
        found.candidates
        == played("BestArmPair", estimator, 1.0, votes=200, ask_late_from=200)[0]
        .recommend(np.vstack([FIRST, [-0.8, 1.0]]), 0.1)
        .candidates
    )


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**-20, 1.0, 2.0**40])
def test_the_one_pass_estimate_does_not_depend_on_units_that_it_learns_late(unit):
    """A ridge of 1 less almost 1 was nothing: the estimate of that feature, and the widths of all, were lost."""
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(6, 2))
    pairs = [rng.choice(6, 2, replace=False) for _ in range(200)]
    won = [float(rng.random() < expit((arms[i] - arms[j]).sum() * 1.5)) for i, j in pairs]

    def learned(scale):
        policy = dl.BestArmPair(estimator="online", random_state=0)
        policy.initialize((arms * scale)[:1])
        for (i, j), outcome in zip(pairs, won, strict=True):
            policy.learn((arms * scale)[[i, j]], outcome)
        return policy.theta_ * scale

    np.testing.assert_array_equal(learned([1.0, unit]), learned([1.0, 1.0]))


def test_a_refused_question_changes_nothing():
    policy = dl.BestArmPair(random_state=0)
    policy.initialize(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]))
    before = policy.snapshot()
    with pytest.raises(dl.InvalidInput, match="No pair is left"):
        policy.ask(np.array([[1.0, 5.0], [2.0, 9.0]]), exclude=[(0, 1)])
    assert policy.snapshot() == before


def test_a_weight_too_large_to_learn_is_refused_by_tell():
    policy = dl.BestArmPair(random_state=0)
    duel = policy.ask(np.eye(3))
    with pytest.raises(dl.InvalidInput, match="weight is 1e"):
        policy.tell(duel, 1, 1e200)
    policy.tell(duel, 1, 1e15)


@pytest.mark.parametrize("name", ["BestArmPair", "RankingPair"])
@pytest.mark.parametrize("price", [1000.0, 5000.0, 99999.0])
def test_an_arm_that_joins_far_from_all_others_is_asked_about(name, price):
    """Its utility seemed to be in the hundreds, and every outcome certain: nobody asked about it, and it stayed open for ever."""
    arms = np.array([[120, 3.0, 0], [180, 4, 1], [140, 5, 0], [90, 2, 1], [price, 4, 0]])
    utilities, rng = np.array([0.0, 1.0, 2.0, -1.0, 0.5]), np.random.default_rng(0)
    policy, asked = getattr(dl, name)(estimator="online", random_state=0), 0
    for vote in range(400):
        duel = policy.ask(dl.ArmTable(4, arms[:4]) if vote < 50 else dl.ArmTable(5, arms))
        policy.tell(duel, float(rng.random() < expit(utilities[duel.first] - utilities[duel.second])))
        asked += 4 in (duel.first, duel.second)
    assert asked > 20
    assert 4 not in policy.recommend(dl.ArmTable(5, arms)).candidates


@pytest.mark.parametrize("name", ["MaxPairUCB", "LocalPairUCB", "BestArmPair"])
def test_votes_that_rounding_hides_beside_a_ridge_are_votes_when_it_shrinks(name):
    """Beside a first arm of 1e8 the precision of the votes on others is less than the ridge's rounding, and not nothing."""
    arms = np.array([[0.0], [0.5], [1.0], [1.5], [2.0]])
    policy = getattr(dl, name)(random_state=0)
    policy.initialize(np.vstack([arms, [[1e8]]]))
    told = 0.0
    for _ in range(12):
        pair = np.array([[0.0], [2.0]])
        policy.learn(pair, 1.0)
        told += 4.0
    ridge = float(policy.pooled_ridge_[0])
    assert ridge < 100.0
    assert policy.layer_precision(0)[0, 0] == pytest.approx(ridge + told, rel=1e-9)
