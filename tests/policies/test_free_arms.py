"""Policies on arms that are known by who they are: the contract, on all that take them; what it costs; and what is refused."""

import json

import numpy as np
import pytest

import duelist as dl
from duelist import native
from duelist.engine import own_terms
from duelist.policies import POLICIES
from duelist.testing import FreeArmsContract
from duelist.testing.free_arms import play_free

TAKERS = {"BestArmPair", "DesignPair", "LocalPairUCB", "RankingPair", "RewardDesign", "UniformPair"}
"""All policies that goals of studies choose by themselves, and optimal design, which arenas want."""


class TestBestArmPair(FreeArmsContract):
    def make(self, random_state):
        return dl.BestArmPair(estimator="online", random_state=random_state)


class TestRankingPair(FreeArmsContract):
    def make(self, random_state):
        return dl.RankingPair(estimator="online", random_state=random_state)


class TestRankingPairOfTheFirst(FreeArmsContract):
    def make(self, random_state):
        return dl.RankingPair(estimator="online", top=2, link="probit", ridge=0.5, random_state=random_state)


class TestDesignPair(FreeArmsContract):
    @pytest.fixture(autouse=True, params=["D", "A"])
    def _every_criterion(self, request):
        self.criterion = request.param

    def make(self, random_state):
        return dl.DesignPair(criterion=self.criterion, estimator="online", random_state=random_state)


class TestLocalPairUCB(FreeArmsContract):
    def make(self, random_state):
        return dl.LocalPairUCB(estimator="online", random_state=random_state)


class TestLocalPairUCBWithANumber(FreeArmsContract):
    def make(self, random_state):
        return dl.LocalPairUCB(estimator="online", radius=1.0, link="probit", ridge=0.5, random_state=random_state)


class TestRewardDesign(FreeArmsContract):
    def make(self, random_state):
        return dl.RewardDesign(estimator="online", random_state=random_state)


class TestUniformPair(FreeArmsContract):
    def make(self, random_state):
        return dl.UniformPair(estimator="online", link="exponential", random_state=random_state)


def test_which_policies_take_them():
    assert {name for name, cls in POLICIES.items() if cls(estimator="online").takes_free_arms} == TAKERS
    assert not any(cls().takes_free_arms for cls in POLICIES.values())
    assert not dl.LocalPairUCB(estimator="online", radius="theory").takes_free_arms


@pytest.mark.parametrize("name", sorted(set(POLICIES) - TAKERS))
def test_a_policy_that_wants_features_says_so(name):
    policy = POLICIES[name](estimator="online")
    with pytest.raises(dl.InvalidInput, match=f"{name} is for arms with features alone.*take BestArmPair"):
        policy.ask(dl.FreeArms(4))
    policy.ask(np.eye(4))  # and can still be asked with them


def test_the_exact_estimator_is_refused():
    with pytest.raises(dl.InvalidInput, match=r'take BestArmPair\(estimator="online"\)'):
        dl.BestArmPair().ask(dl.FreeArms(4))


def test_a_policy_that_has_seen_features_keeps_to_them():
    policy = dl.LocalPairUCB(estimator="online")
    policy.ask(np.eye(3))
    with pytest.raises(dl.InvalidInput, match="by their features"):
        policy.ask(dl.FreeArms(3))


@pytest.mark.parametrize(
    ("numbers", "features", "match"),
    [
        (0, None, "numbers is 0"),
        ([], None, "a whole number from 0 for each arm"),
        ([0.5, 1.0], None, "a whole number from 0 for each arm"),
        (["a", "b"], None, "a whole number from 0 for each arm"),
        ([0, -1], None, "numbers has -1"),
        ([0, 2**24], None, f"numbers has {2**24}"),
        ([3, 4, 3], None, "numbers has 3 twice"),
        ([0, 1], [[1.0], [2.0], [3.0]], "a row for each"),
        (2, [[1.0], [np.nan]], r"arms\[1, 0\] is nan"),
    ],
)
def test_tables_that_make_no_sense(numbers, features, match):
    with pytest.raises(dl.InvalidInput, match=match):
        dl.FreeArms(numbers, features)


def test_features_that_are_all_alike_tiny_or_too_many():
    """A constant column, one as small as numbers get, and a single arm say nothing of units; 8,193 features are refused."""
    features = np.array([[1.0, 1e-170, 3.0], [1.0, 2e-170, 5.0], [1.0, 3e-170, 4.0]])
    prior = own_terms.prior_of(dl.FreeArms(3, features), None)
    assert prior.own_variance == 1.0
    np.testing.assert_allclose(prior.theta_variance, 1.0 / (3.0 * features[:, 2].var()))
    for table in (dl.FreeArms(3, features), dl.FreeArms(1, features[:1])):
        policy = dl.LocalPairUCB(estimator="online")
        policy.tell(policy.ask(table), 1.0)
        assert np.isfinite(policy.look(table).utilities).all()
    with pytest.raises(dl.InvalidInput, match="arms have 8193 features; beside terms of their own"):
        dl.LocalPairUCB(estimator="online").ask(dl.FreeArms(2, np.ones((2, 8193))))


@pytest.mark.parametrize("name", sorted(TAKERS))
def test_a_self_duel_where_it_is_allowed_teaches_nothing(name):
    policy, table = POLICIES[name](estimator="online", random_state=0, horizon=40), dl.FreeArms(3)
    play_free(policy, table, 60)
    before = policy.snapshot()["own_terms"]
    met_itself = 0
    for _ in range(20):
        duel = policy.ask(table, distinct=False)
        if duel.first == duel.second:
            met_itself += 1
            policy.tell(duel, 1.0)
            assert policy.snapshot()["own_terms"]["covariance"] == before["covariance"]
            assert policy.snapshot()["own_terms"]["mean"] == before["mean"]
    assert met_itself == 20 if name == "LocalPairUCB" else met_itself == 0


def test_memory_and_snapshots_do_not_grow_with_the_votes():
    """10,000 arms: at most the block's covariances, and two numbers for each arm that was voted on."""
    policy, table = dl.UniformPair(estimator="online", random_state=0), dl.FreeArms(10_000)
    sizes = []
    for _ in range(2):
        for _ in range(3000):
            policy.tell(policy.ask(table), 1.0)
        sizes.append(len(json.dumps(policy.snapshot())))
    block = own_terms.BLOCK
    most = (block * (block + 1) / 2 + 2 * 10_000 + 4 * block) * 8 * 4 / 3 + 4000
    assert sizes[0] <= most
    assert sizes[1] <= most


def test_a_late_arm_is_compared_by_its_features_at_once():
    """Nobody has voted on it, but the arms that are like it were liked."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 2))
    policy, table = dl.LocalPairUCB(estimator="online", random_state=0), dl.FreeArms(40, features)
    for _ in range(300):
        duel = policy.ask(table)
        gap = 2.0 * (features[duel.first, 0] - features[duel.second, 0])
        policy.tell(duel, float(rng.random() < 1 / (1 + np.exp(-gap))))
    late = policy.look(dl.FreeArms([100, 101], [[1.5, 0.0], [-1.5, 0.0]]))
    assert late.utilities[0] - late.utilities[1] > 2.0
    assert (late.variances > 1.0).all()  # each still has a term of its own, of variance 1


def test_the_same_bits_with_every_width_of_vectors():
    table = dl.FreeArms(70, np.random.default_rng(1).normal(size=(70, 11)))
    parts, seen = native.parts, []
    try:
        for width in parts.runnable_vectors():
            parts.use_vectors(width)
            policy = dl.LocalPairUCB(estimator="online", random_state=0)
            seen.append((play_free(policy, table, 40), json.dumps(policy.snapshot())))
    finally:
        parts.use_vectors(parts.runnable_vectors()[0])
    assert len(seen) > 1
    assert all(each == seen[0] for each in seen)


def test_terms_of_their_own_cannot_be_left_out():
    policy, arms = dl.BestArmPair(estimator="online", random_state=0), dl.FreeArms([1, 2, 3])
    for _ in range(4):
        policy.tell(policy.ask(arms), 1.0)
    assert policy.recommend(arms, effects=True).candidates == policy.recommend(arms).candidates
    with pytest.raises(dl.InvalidInput, match="effects is False, but FreeArms"):
        policy.recommend(arms, effects=False)
