"""Policies on arms that are known by who they are: the contract, on all that take them; what it costs; and what is refused."""

import json

import numpy as np
import pytest

import duelist as dl
from duelist import native
from duelist.model.ridge_selection import effect_variances
from duelist.policies import POLICIES
from duelist.policies.engine import arm_effects
from duelist.testing import ArmTableContract
from duelist.testing.arm_table import play_table

SEARCHED = {"BestArmPair", "DesignPair", "LocalPairUCB", "RankingPair", "RewardDesign", "UniformPair"}
"""Policies with a search of their own for many arms with effects."""
BY_INDICATORS = {
    "APO",
    "CoLSTIM",
    "DRTS",
    "DeltaUCB",
    "GreedyChallenger",
    "GreedyUniform",
    "InfoMax",
    "MaxInP",
    "MaxMinLCB",
    "MaxPairUCB",
    "ThompsonPair",
}
"""Policies that decide as if every arm had an indicator feature."""
TAKERS = SEARCHED | BY_INDICATORS


class TestBestArmPair(ArmTableContract):
    def make(self, random_state):
        return dl.BestArmPair(estimator="online", random_state=random_state)


class TestRankingPair(ArmTableContract):
    def make(self, random_state):
        return dl.RankingPair(estimator="online", random_state=random_state)


class TestRankingPairOfTheFirst(ArmTableContract):
    def make(self, random_state):
        return dl.RankingPair(estimator="online", top=2, link="probit", ridge=0.5, random_state=random_state)


class TestDesignPair(ArmTableContract):
    @pytest.fixture(autouse=True, params=["D", "A"])
    def _every_criterion(self, request):
        self.criterion = request.param

    def make(self, random_state):
        return dl.DesignPair(criterion=self.criterion, estimator="online", random_state=random_state)


class TestLocalPairUCB(ArmTableContract):
    def make(self, random_state):
        return dl.LocalPairUCB(estimator="online", random_state=random_state)


class TestLocalPairUCBWithANumber(ArmTableContract):
    def make(self, random_state):
        return dl.LocalPairUCB(estimator="online", radius=1.0, link="probit", ridge=0.5, random_state=random_state)


class TestMaxPairUCB(ArmTableContract):
    def make(self, random_state):
        return dl.MaxPairUCB(estimator="online", random_state=random_state)


class TestThompsonPair(ArmTableContract):
    def make(self, random_state):
        return dl.ThompsonPair(estimator="online", random_state=random_state)


class TestInfoMax(ArmTableContract):
    """Its rule does not react to pending duels, so these are excluded."""

    def make(self, random_state):
        return dl.InfoMax(estimator="online", random_state=random_state)


class TestRewardDesign(ArmTableContract):
    def make(self, random_state):
        return dl.RewardDesign(estimator="online", random_state=random_state)


class TestUniformPair(ArmTableContract):
    def make(self, random_state):
        return dl.UniformPair(estimator="online", link="exponential", random_state=random_state)


def test_which_policies_take_them():
    assert {name for name, cls in POLICIES.items() if cls(estimator="online").accepts_arm_table} == TAKERS
    assert not any(cls().accepts_arm_table for cls in POLICIES.values())
    assert not dl.LocalPairUCB(estimator="online", radius="theory").accepts_arm_table


@pytest.mark.parametrize("name", sorted(set(POLICIES) - TAKERS))
def test_a_policy_that_wants_features_says_so(name):
    policy = POLICIES[name](estimator="online")
    with pytest.raises(dl.InvalidInput, match=f"{name}, with these settings, cannot learn arm effects.*use APO"):
        policy.ask(dl.ArmTable(4))
    policy.ask(np.eye(4))  # and can still be asked with them


def test_all_that_take_them_are_named():
    with pytest.raises(dl.InvalidInput) as refused:
        dl.VACDB(estimator="online").ask(dl.ArmTable(4))
    _, _, named = str(refused.value).partition("use ")
    assert {name for name in POLICIES if name in named} == TAKERS


@pytest.mark.parametrize("name", ["DRTS", "DeltaUCB", "GreedyUniform", "InfoMax", "ThompsonPair"])
def test_without_features_an_arm_effect_is_an_indicator_feature(name):
    """A rule in the norm of the curvature decides alike, whether the indicators are features or arm effects."""
    by_features, by_effects = (
        POLICIES[name](estimator="online", ridge=0.7, horizon=200, random_state=4) for _ in range(2)
    )
    rng, arms, table = np.random.default_rng(4), np.eye(7), dl.ArmTable(7)
    for _ in range(120):
        expected, found = by_features.ask(arms), by_effects.ask(table)
        assert {found.first, found.second} == {expected.first, expected.second}
        won = float(rng.random() < 1.0 / (1.0 + np.exp(0.5 * (expected.first - expected.second))))
        by_features.tell(expected, won)
        by_effects.tell(found, won if found.first == expected.first else 1.0 - won)
    np.testing.assert_allclose(by_effects.posterior(table).utilities, by_features.theta_, atol=1e-8)


@pytest.mark.parametrize("dim", [0, 2])
@pytest.mark.parametrize("name", ["APO", "MaxPairUCB"])
def test_a_radius_is_that_of_as_many_features_as_arms(name, dim):
    """A rule in the norm of the precision has widths by L_mu times the covariance."""
    rng, n = np.random.default_rng(dim), 6
    table = dl.ArmTable(rng.permutation(30)[:n], rng.normal(size=(n, dim)) if dim else None)
    policy = POLICIES[name](estimator="online", ridge=0.7, horizon=200, random_state=0)
    scale = getattr(policy, "scale", 1.0) * getattr(policy, "practical_multiplier", 1.0)
    beta = np.inf if name == "APO" else scale * np.sqrt(n * np.log(200.0))
    for round_number in range(60):
        posterior, pairs = policy.posterior(table, range(n)) if round_number else None, {}
        duel = policy.ask(table)
        if posterior is not None:
            covariance, u = posterior.covariances, posterior.utilities
            for i in range(n):
                for j in range(i):
                    width = np.sqrt(0.25 * (covariance[i, i] + covariance[j, j] - 2.0 * covariance[i, j]))
                    pairs[frozenset((i, j))] = width if beta == np.inf else u[i] + u[j] + beta * width
            asked = pairs[frozenset((duel.first, duel.second))]
            assert asked == pytest.approx(max(pairs.values()), rel=1e-8, abs=1e-8)
        policy.tell(duel, float(rng.random() < 0.5))


def test_of_very_many_arms_the_most_promising_are_decided_about():
    table, policy = dl.ArmTable(400), dl.MaxPairUCB(estimator="online", random_state=0)
    seen = set()
    for _ in range(300):
        duel = policy.ask(table)
        seen |= {duel.first, duel.second}
        policy.tell(duel, float(duel.first < duel.second))
    assert len(seen) > 256  # those that lose make room for others
    allowed = (398, 399)
    others = [(i, j) for i in range(400) for j in range(i) if (j, i) != allowed]
    duel = policy.ask(table, exclude=others)
    assert {duel.first, duel.second} == set(allowed)


def test_the_exact_estimator_is_refused():
    with pytest.raises(dl.InvalidInput, match=r'Use BestArmPair\(estimator="online"\)'):
        dl.BestArmPair().ask(dl.ArmTable(4))


def test_a_policy_that_has_seen_features_keeps_to_them():
    policy = dl.LocalPairUCB(estimator="online")
    policy.ask(np.eye(3))
    with pytest.raises(dl.InvalidInput, match="without arm effects"):
        policy.ask(dl.ArmTable(3))


@pytest.mark.parametrize(
    ("ids", "features", "match"),
    [
        (0, None, "ids is 0"),
        ([], None, "a whole number from 0 for each arm"),
        ([0.5, 1.0], None, "a whole number from 0 for each arm"),
        (["a", "b"], None, "a whole number from 0 for each arm"),
        ([0, -1], None, "ids has -1"),
        ([0, 2**24], None, f"ids has {2**24}"),
        ([3, 4, 3], None, "ids has 3 twice"),
        ([0, 1], [[1.0], [2.0], [3.0]], "one row of features per arm"),
        (2, [[1.0], [np.nan]], r"arms\[1, 0\] is nan"),
    ],
)
def test_tables_that_make_no_sense(ids, features, match):
    with pytest.raises(dl.InvalidInput, match=match):
        dl.ArmTable(ids, features)


def test_features_that_are_all_alike_tiny_or_too_many():
    """A constant column, one as small as numbers get, and a single arm say nothing of units; 8,193 features are refused."""
    features = np.array([[0.1, 1e-170, 3.0], [0.1, 2e-170, 5.0], [0.1, 3e-170, 4.0]])
    policy = dl.LocalPairUCB(estimator="online")
    policy.initialize(dl.ArmTable(3, features))
    known = policy._effects.state.arrays()[0]
    assert known["effect_variance"] == known["feature_variance"] == 1.0
    np.testing.assert_allclose(known["theta_variance"], [0.0, 0.0, 1.0 / features[:, 2].var()])
    for table in (dl.ArmTable(3, features), dl.ArmTable(1, features[:1])):
        policy = dl.LocalPairUCB(estimator="online")
        policy.tell(policy.ask(table), 1.0)
        assert np.isfinite(policy.posterior(table).utilities).all()
    with pytest.raises(dl.InvalidInput, match=r"arms have 8193 features\. With arm effects"):
        dl.LocalPairUCB(estimator="online").ask(dl.ArmTable(2, np.ones((2, 8193))))


@pytest.mark.parametrize("name", sorted(TAKERS))
def test_a_self_duel_where_it_is_allowed_teaches_nothing(name):
    policy, table = POLICIES[name](estimator="online", ridge=1.0, random_state=0, horizon=40), dl.ArmTable(3)
    play_table(policy, table, 60)
    before = policy.snapshot()["arm_effects"]
    met_itself = 0
    for _ in range(20):
        duel = policy.ask(table, distinct=False)
        if duel.first == duel.second:
            met_itself += 1
            policy.tell(duel, 1.0)
            assert policy.snapshot()["arm_effects"] == before
    if name in SEARCHED:
        assert met_itself == (20 if name == "LocalPairUCB" else 0)


def test_memory_and_snapshots_do_not_grow_with_the_votes():
    """10,000 arms: for each model at most the block's covariances, and two numbers for each arm that was voted on."""
    policy, table = dl.UniformPair(estimator="online", random_state=0), dl.ArmTable(10_000)
    sizes = []
    for _ in range(2):
        for _ in range(3000):
            policy.tell(policy.ask(table), 1.0)
        sizes.append(len(json.dumps(policy.snapshot())))
    block = arm_effects.BLOCK
    models = len(effect_variances(0))
    most = models * ((block * (block + 1) / 2 + 2 * 10_000 + 4 * block) * 8 * 4 / 3 + 4000)
    assert sizes[0] <= most
    assert sizes[1] <= most


def test_a_late_arm_is_compared_by_its_features_at_once():
    """Nobody has voted on it, but the arms that are like it were liked."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 2))
    policy, table = dl.LocalPairUCB(estimator="online", ridge=1.0, random_state=0), dl.ArmTable(40, features)
    for _ in range(300):
        duel = policy.ask(table)
        gap = 2.0 * (features[duel.first, 0] - features[duel.second, 0])
        policy.tell(duel, float(rng.random() < 1 / (1 + np.exp(-gap))))
    late = policy.posterior(dl.ArmTable([100, 101], [[1.5, 0.0], [-1.5, 0.0]]))
    assert late.utilities[0] - late.utilities[1] > 2.0
    assert late.variances.max() > 1.0  # each still has an arm effect, of variance 1
    assert late.variances.min() == 1.0


def test_the_same_bits_with_every_width_of_vectors():
    table = dl.ArmTable(70, np.random.default_rng(1).normal(size=(70, 11)))
    seen = []
    try:
        for width in native.vector_extensions():
            native.use_vector_extension(width)
            policy = dl.LocalPairUCB(estimator="online", random_state=0)
            seen.append((play_table(policy, table, 40), json.dumps(policy.snapshot())))
    finally:
        native.use_vector_extension(native.vector_extensions()[0])
    assert len(seen) > 1
    assert all(each == seen[0] for each in seen)


def test_terms_of_their_own_cannot_be_left_out():
    policy, arms = dl.BestArmPair(estimator="online", random_state=0), dl.ArmTable([1, 2, 3])
    for _ in range(4):
        policy.tell(policy.ask(arms), 1.0)
    assert policy.recommend(arms, effects=True).candidates == policy.recommend(arms).candidates
    with pytest.raises(dl.InvalidInput, match="effects is False, but an ArmTable"):
        policy.recommend(arms, effects=False)


# -- features as people have them --------------------------------------------------------


def utilities_and_features(seed, kind):
    """Six arms whose utilities two features explain, beside one more column as people have it."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(6, 2))
    more = {
        "none": np.zeros((6, 0)),
        "constant": np.full((6, 1), 0.1),
        "constant up to rounding": np.array([0.3, 0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2, 0.3])[:, None],
        "a time stamp": 1_700_000_000.0 + rng.integers(0, 15, (6, 1)),
        "a number of 13 digits": 4_006_381_330_000.0 + rng.integers(0, 9999, (6, 1)),
    }[kind]
    return z @ [0.7, 0.7], np.hstack([z, more])


def duels_and_verdicts(name, utilities, features):
    """Sixty rounds, with the same luck each time."""
    policy, table, found = POLICIES[name](estimator="online", random_state=0, horizon=60), dl.ArmTable(6, features), []
    for luck in np.random.default_rng(3).random(60):
        duel = policy.ask(table)
        policy.tell(duel, float(luck < 1.0 / (1.0 + np.exp(utilities[duel.second] - utilities[duel.first]))))
        found.append((duel.first, duel.second, policy.decided_arm(table)))
    return found


@pytest.mark.parametrize("kind", ["constant", "constant up to rounding"])
@pytest.mark.parametrize("name", sorted(TAKERS))
def test_a_constant_column_changes_nothing(name, kind):
    without, beside = (duels_and_verdicts(name, *utilities_and_features(3, each)) for each in ("none", kind))
    assert without == beside


@pytest.mark.parametrize("kind", ["a time stamp", "a number of 13 digits"])
@pytest.mark.parametrize("name", sorted(TAKERS))
def test_features_far_from_zero_are_those_near_it(name, kind):
    """Differences are exact here, and so is what is learned from them: duels and verdicts are the same."""
    utilities, features = utilities_and_features(1, kind)
    near = features - [0.0, 0.0, features[0, 2]]
    assert duels_and_verdicts(name, utilities, features) == duels_and_verdicts(name, utilities, near)


@pytest.mark.parametrize("unit", [1000.0, 0.01])
def test_a_feature_that_comes_late_is_learned_in_every_unit_of_the_others(unit):
    """The first four arms all have flag 0. Its worth, 2, was found to be 0 where another column came in thousands."""
    worth = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        km, flag = rng.normal(90, 30, 30), rng.integers(0, 2, 30).astype(float)
        flag[:4] = 0.0
        features, utilities = np.column_stack([km * unit, flag]), -0.5 * (km - 90) / 30 + 2.0 * flag
        policy = dl.LocalPairUCB(horizon=500, random_state=seed, estimator="online")
        for t in range(305):
            n = 4 if t < 5 else 30
            duel = policy.ask(dl.ArmTable(n, features[:n]))
            policy.tell(
                duel, float(rng.random() < 1.0 / (1.0 + np.exp(utilities[duel.second] - utilities[duel.first])))
            )
        late = policy.posterior(dl.ArmTable([100, 101], [[90 * unit, 0.0], [90 * unit, 1.0]])).utilities
        worth.append(late[1] - late[0])
    assert 1.0 < np.mean(worth) < 3.0


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6, 1e3])
def test_first_arms_of_another_kind_do_not_stop_a_verdict(spread):
    """After first arms nearly alike `recommend` ended in an error of linear algebra, and regret was four times as large."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        features = np.column_stack([rng.lognormal(9.5, 0.6, 8).round(), 1.7e9 + rng.integers(0, 3_000_000, 8)])
        utilities = -2.0 * (features[:, 0] - features[:, 0].mean()) / features[:, 0].std()
        policy, table = dl.BestArmPair(random_state=seed, estimator="online"), dl.ArmTable(8, features)
        first = features[0] + spread * (features - features[0])
        policy.tell(policy.ask(dl.ArmTable(8, first)), 1.0)
        for _ in range(100):
            duel = policy.ask(table)
            policy.tell(
                duel, float(rng.random() < 1.0 / (1.0 + np.exp(utilities[duel.second] - utilities[duel.first])))
            )
            assert np.isfinite(policy.recommend(table).probability)
        copy = dl.BestArmPair.restore(json.loads(json.dumps(policy.snapshot())))
        assert copy.snapshot() == policy.snapshot()
        assert utilities[policy.recommend(table).best] > np.sort(utilities)[-3]


@pytest.mark.parametrize("votes", [0, 1, 11, 12, 20])
def test_snapshots_have_what_sizes_are_made_of(votes):
    """In the middle of the first votes a restored copy goes on to the bit, also where they are learned once more."""
    rng = np.random.default_rng(4)
    features = rng.normal(size=(8, 3))
    policy = dl.LocalPairUCB(random_state=0, estimator="online")
    for t in range(votes):
        table = dl.ArmTable(8, features * (100.0 if t < 2 else 1.0))
        policy.tell(policy.ask(table), float(rng.random() < 0.5))
    policy.initialize(dl.ArmTable(8, features))
    copy = dl.LocalPairUCB.restore(json.loads(json.dumps(policy.snapshot())))
    table = dl.ArmTable(8, features)
    for _ in range(20):
        duel, same = policy.ask(table), copy.ask(table)
        assert duel == same
        for each in (policy, copy):
            each.tell(duel, 1.0)
    assert copy.snapshot() == policy.snapshot()


def test_a_placeholder_on_the_first_table_alone_leaves_numbers():
    """With votes of little weight the first ones are not kept, and the prior of a feature changes by 1e18: nothing was left but NaN."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(6, 3))
    first = features.copy()
    first[5, 0] = 1e9
    policy, table = dl.LocalPairUCB(estimator="online", random_state=0), dl.ArmTable(5, features[:5])
    policy.initialize(dl.ArmTable(6, first))
    for _ in range(100):
        duel = policy.ask(table)
        policy.tell(duel, float(duel.first < duel.second), 0.05)
    assert np.isfinite(policy.posterior(table).variances).all()
    assert policy.recommend(table).best == 0


def test_features_that_become_a_billion_times_larger_leave_variances():
    """Seconds, then nanoseconds: rounding took more than all of a variance, and its own snapshot was refused."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(6, 2))
        policy = dl.BestArmPair(estimator="online", random_state=seed)
        for t in range(40):
            duel = policy.ask(dl.ArmTable(6, features if t < 14 else 1e9 * features))
            policy.tell(duel, float(rng.random() < 0.5 + 0.3 * np.sign(duel.second - duel.first)))
        assert (policy.posterior(dl.ArmTable(6, 1e9 * features)).variances >= 0.0).all()
        assert dl.BestArmPair.restore(policy.snapshot()).snapshot() == policy.snapshot()


@pytest.mark.parametrize("far", [1e7, 1e8, 1e9, 1e12])
def test_late_arms_far_from_the_others_are_not_ruled_out_without_a_vote(far):
    """Each has an arm effect, and whatever features say of both, one may be better than the other; widths between them were 0."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        features = rng.random((6, 2))
        utilities = features @ [2.0, 1.0]
        policy, table = dl.BestArmPair(estimator="online", random_state=seed), dl.ArmTable(6, features)
        for _ in range(60):
            duel = policy.ask(table)
            policy.tell(
                duel, float(rng.random() < 1.0 / (1.0 + np.exp(utilities[duel.second] - utilities[duel.first])))
            )
        late = dl.ArmTable(8, np.vstack([features, np.array([far, 0.0]) + rng.random((2, 2))]))
        assert len({6, 7} & set(policy.recommend(late).candidates)) in {0, 2}
        state = policy._effects.state
        squares = state.squared_widths(state.best, late.ids, late.features, 6)[[0, 1, 2, 3, 4, 5, 7]]
        assert (squares >= state.variances[state.best, 0]).all()


def test_a_pair_asked_very_often_is_known_better_than_either_term():
    """The difference of two utilities has less variance than that of their arm effects, which features could explain as well."""
    policy, table = dl.BestArmPair(estimator="online", ridge=1.0, random_state=0), dl.ArmTable(3, [[0.0], [1.0], [2.0]])
    policy.initialize(table)
    for k in range(2000):
        policy.learn(table[[0, 1]], float(k % 2))
    squares = policy._effects.state.squared_widths(0, table.ids, table.features, 0)
    assert squares[0] == 0.0
    assert squares[1] == pytest.approx(4.0 / 2000, rel=0.01)
    assert squares[2] > 1.0
    with pytest.raises(ValueError, match="invalid position"):
        policy._effects.state.squared_widths(0, table.ids, table.features, 3)


def test_the_heaviest_votes_come_back_with_a_snapshot_and_heavier_ones_are_refused():
    """With weights of 1e200 and large features sums were infinite, and the policy's own snapshot was refused."""
    rng = np.random.default_rng(0)
    policy, table = dl.LocalPairUCB(estimator="online", random_state=0), dl.ArmTable(6, 1e100 * rng.normal(size=(6, 2)))
    for _ in range(30):
        policy.tell(policy.ask(table), float(rng.random() < 0.5), 1e15)
    duel = policy.ask(table)
    before = policy.snapshot()
    with pytest.raises(dl.InvalidInput, match=r"weight is 1e\+200. Give at most 1e\+15"):
        policy.tell(duel, 1.0, 1e200)
    assert policy.snapshot() == before
    assert dl.LocalPairUCB.restore(json.loads(json.dumps(before))).snapshot() == before


def test_positions_that_are_not_on_the_table_are_refused():
    policy = dl.LocalPairUCB(estimator="online")
    policy.initialize(dl.ArmTable(3))
    with pytest.raises(dl.InvalidInput, match=r"chosen is \[5\]. Give positions in the table, from 0 to 2"):
        policy.posterior(dl.ArmTable(3), [5])
