"""Arms that stand far off in a feature: they are named, and neither misjudged nor let to spoil the verdict on others."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

import duelist as dl
from duelist.model.outliers import find_outliers
from tests.helpers.votes import told


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_an_arm_far_from_all_others_is_named_and_the_others_are_not_misjudged(estimator):
    """A placeholder price is the unit of prices: their effect was shrunk away, and that of ratings had the wrong sign."""
    covered, runs = 0, 40
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        a = rng.normal(size=6)
        arms = np.column_stack([500 + 100 * a, 3 + a + 0.3 * rng.normal(size=6), rng.integers(0, 2, 6)])
        arms = np.vstack([arms, [99999.0, 3.0, 0.0]])
        utilities = arms @ [-0.02, 1.5, 0.6]
        policy = told(dl.UniformPair(random_state=seed, estimator=estimator), arms, utilities, 600, seed)
        found = policy.recommend(arms, effects=False)
        assert "feature 0 has an outlier: 99999 in arm 6; outliers are ignored here" in found.advice
        leads = utilities[found.best] - np.delete(utilities, found.best)
        covered += bool((found.interval[0] <= leads).any() and (leads <= found.interval[1]).any())
    assert covered >= stats.binom.ppf(1e-6, runs, 0.95)


@pytest.mark.parametrize("n_arms", [3, 4, 5, 8])
@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_a_number_that_stands_for_none_misleads_nobody(estimator, n_arms):
    """Votes on that arm told that its feature has no effect, which spoiled the others: more than half of announcements were wrong."""
    announced = wrong = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        arms = rng.standard_normal((n_arms, 2))
        utilities = arms @ [-2.0, 0.7]
        arms[-1, 0], utilities[-1] = 99999.0, utilities[:-1].min() - 1.0
        policy = dl.BestArmPair(random_state=seed, estimator=estimator)
        for look in range(40):
            best = told(policy, arms, utilities, 8, seed=[seed, look]).decided_arm(arms, 0.1)
            if best is not None:
                announced, wrong = announced + 1, wrong + int(best != np.argmax(utilities))
                break
    assert n_arms <= 4 or announced > 0
    assert wrong <= stats.binom.ppf(1.0 - 1e-6, announced, 0.1)


@pytest.mark.parametrize(
    ("values", "far"),
    [
        ([0.1, -0.4, 0.9, 1e5], [3]),
        ([0.1, -0.4, 1e5], [2]),
        ([0.1, -0.4, 0.9, 1e5, 1e5], [3, 4]),
        ([0.1, -0.4, 0.9, 0.5, -0.2, -9.2e18], [5]),  # the least whole number that a database has
        ([1, 2, 3, 4, 1e38], [4]),
        ([0.1, -0.4, 0.9, 0.5, -0.2, 3.0], []),
        ([352, 207, 223, 206, 215, 289], []),  # prices, as they are
        ([120, 135, 110, 128, 131, -1], []),
        ([120, 135, 110, 128, 131, 9999], [5]),
        ([2003, 2004, 2005, 1999], []),
        ([0.0, 0.0, 0.0, 1.0], []),
        ([0.0, 1.0], []),
        ([5.0], []),
    ],
)
def test_who_stands_far_off(values, far):
    assert np.flatnonzero(find_outliers(np.array(values, np.float64))).tolist() == far


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_two_or_three_arms_are_judged_though_they_lie_close_in_a_feature(estimator):
    """That two arms of many are near each other in a feature does not make the others a kind of their own."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((10, 4))
    arms[1, 0] = arms[0, 0] + 0.05
    policy = told(dl.UniformPair(random_state=0, estimator=estimator), arms, arms @ [0.0, 3.0, 0.0, 0.0], 2000)
    assert policy.recommend(arms[:2]).decided
    assert "other arms, far from these" not in policy.recommend(arms[:3]).advice


def far_off(seed=0, votes=200, estimator="online", **settings):
    """Six ordinary arms and one whose price stands for none, with votes on all."""
    rng = np.random.default_rng(seed)
    arms = np.vstack([rng.normal(size=(6, 2)), [1e4, 0.0]])
    return told(
        dl.UniformPair(random_state=seed, estimator=estimator, **settings), arms, arms @ [0.5, 1.0], votes
    ), arms


def test_one_pass_announces_nothing_in_a_size_that_it_cannot_take_back():
    """Among the others alone, and where votes are not known by arm; the exact estimator can."""
    policy, arms = far_off()
    found = policy.recommend(arms[:6], tolerance=50.0)
    assert not found.decided
    assert policy.decided_arm(arms[:6], tolerance=50.0) is None
    assert "the scale of a feature comes from arms unlike these; estimator='online' has learned" in found.advice
    policy.learn(arms[0] - arms[1], 0.5)
    found = policy.recommend(arms, tolerance=50.0)
    assert not found.decided
    assert "99999" not in found.advice
    assert "10000 in arm 6" in found.advice
    assert far_off(estimator="exact")[0].recommend(arms[:6], tolerance=50.0).decided
    assert far_off(ridge=1.0)[0].recommend(arms[:6], tolerance=50.0).decided


def test_everybody_who_stands_far_off_is_named():
    rng = np.random.default_rng(0)
    arms = np.vstack([rng.normal(size=(12, 2)), [1e3, 0.0], [2e3, 1e6], [3e3, 0.0], [4e3, 0.0]])
    said = told(dl.UniformPair(random_state=0), arms, arms @ [1e-3, 1e-6], 50).recommend(arms).advice
    assert "feature 0 has outliers: 1000 in arm 12, 2000 in arm 13, 3000 in arm 14, 1 more" in said
    assert "feature 1 has an outlier: 1000000 in arm 13" in said


@pytest.mark.parametrize("n_arms", [5, 8, 20, 40])
def test_ordinary_arms_are_rarely_said_to_stand_off(n_arms):
    """Of few arms some may be alike by chance; a feature of 20 or more that are drawn alike is never named."""
    warned = {"by default": 0, "with a given ridge": 0}
    for seed, ridge in itertools.product(range(20), (None, 1.0)):
        rng, shape = np.random.default_rng(seed), (n_arms, 3)
        flags = (rng.random(shape) < 0.1).astype(float)
        for arms in (rng.standard_normal(shape), rng.random(shape), flags):
            policy = told(dl.UniformPair(random_state=0, ridge=ridge), arms, arms @ [1.0, 1.0, 0.5], 5)
            warned["with a given ridge" if ridge else "by default"] += "far from" in policy.recommend(arms).advice
    assert warned["by default"] <= (0 if n_arms >= 20 else stats.binom.ppf(1.0 - 1e-6, 20 * 3, 0.03))
    assert warned["with a given ridge"] == 0


def test_rounding_is_no_usual_distance():
    arms = np.array([[0.3], [0.1 + 0.2], [0.3], [0.1 + 0.2], [0.3], [0.3 + 1e-16], [0.1 + 0.2], [1.0]])
    policy = told(dl.UniformPair(random_state=0), arms, arms[:, 0], 40)
    assert "far from" not in policy.recommend(arms).advice


# -- the announcement alone --------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong", [{"delta": 7.0}, {"tolerance": -1.0}, {"unit": "miles"}, {"effects": "yes"}], ids=lambda w: next(iter(w))
)
def test_the_announcement_refuses_what_the_recommendation_refuses_before_the_first_arms(wrong):
    with pytest.raises(dl.InvalidInput, match=next(iter(wrong))):
        dl.BestArmPair().decided_arm(np.eye(3), **wrong)


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("effects", [None, False, True])
def test_the_announcement_alone_is_that_of_the_recommendation(estimator, effects):
    rng = np.random.default_rng(6)
    arms = rng.standard_normal((6, 2))
    policy, utilities, found = dl.BestArmPair(random_state=0, estimator=estimator), arms @ [3.0, 1.0], []
    assert policy.decided_arm(arms) is None
    for _ in range(40):
        told(policy, arms, utilities, 5, seed=int(rng.integers(1000)))
        for tolerance in (0.0, 0.5):
            verdict = policy.recommend(arms, 0.1, tolerance=tolerance, effects=effects)
            found.append(policy.decided_arm(arms, 0.1, tolerance=tolerance, effects=effects))
            assert found[-1] == (verdict.best if verdict.decided else None)
    assert {None, int(utilities.argmax())} == set(found) or effects


def test_arm_tables_are_announced_too():
    policy, arms = dl.BestArmPair(random_state=0, estimator="online"), dl.ArmTable(4)
    assert policy.decided_arm(arms) is None
    rng = np.random.default_rng(0)
    while policy.decided_arm(arms) is None:
        duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < special.expit(2.0 * (duel.second - duel.first))))
    assert policy.decided_arm(arms) == 0


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_twins_that_stand_far_off_are_one_and_keep_nobody_waiting(estimator):
    """Votes on arms with the same row are counted for the first of them: the second had an arm effect that nobody ever told of."""
    arms = np.array([[100.0, 0], [200, 1], [300, 0], [400, 1], [250, 2], [350, 3], [99999, 0], [99999, 0]])
    for utility in (-3.0, 9.0):
        utilities = np.array([0.0, 1.0, 0.0, 1.0, 2.0, 5.0, utility, utility])
        policy = told(dl.UniformPair(random_state=0, estimator=estimator), arms, utilities, 800)
        found = policy.recommend(arms)
        assert found.decided
        assert (found.best, found.identical) == ((5, ()) if utility < 0.0 else (6, (7,)))


@pytest.mark.parametrize("learned", ["as pairs of which one arm is gone", "as differences"])
def test_an_arm_far_off_is_not_announced_from_votes_on_others(learned):
    """Its votes were left out and its number was not: 29 of 30 announcements named it, with a lead of a thousand."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        price = rng.normal(size=8) * 100 + 300
        arms, utilities = np.column_stack([price, rng.normal(size=8)]), (price - 300) / 100
        arms[5, 0], utilities[5] = 99999.0, -0.5
        policy = dl.UniformPair(random_state=seed)
        policy.initialize(arms)
        for _ in range(200):
            i, j = rng.choice(8, 2, replace=False)
            outcome = float(rng.random() < special.expit(utilities[i] - utilities[j]))
            policy.learn(arms[i] - arms[j] if learned == "as differences" else arms[[i, j]], outcome)
        others = np.delete(np.arange(8), 5)
        kept = [*others[np.argsort(utilities[others])[1:]], 5] if "gone" in learned else np.arange(8)
        found = policy.recommend(arms[kept])
        assert 5 in np.asarray(kept)[list(found.candidates)]
        assert not found.decided
        assert abs(found.interval[0]) < 100.0


@pytest.mark.parametrize("size", [1e6, 1e8, 1e10])
def test_first_arms_far_too_large_are_no_knowledge_of_the_others(size):
    """Every vote is a coin's: a curvature whose small part rounding had taken away was given a little more, which seemed precise."""
    announced = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        shape = int(rng.integers(2, 8)), int(rng.integers(1, 5))
        huge, arms = size * rng.normal(size=shape), rng.normal(size=shape)
        policy = dl.BestArmPair(random_state=seed)
        for vote in range(60):
            policy.tell(policy.ask(huge if vote < 3 + seed % 12 else arms), float(rng.random() < 0.5))
            if vote >= 14 and vote % 4 == 3 and policy.decided_arm(arms) is not None:
                announced += 1
                break
    assert announced <= stats.binom.ppf(1.0 - 1e-6, 40, 0.05)


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_a_placeholder_that_joins_late_is_not_announced_for_its_number(estimator):
    """It had no part in the size of prices, and was taken at its word: half of all announcements were wrong."""
    announced = wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arms = np.column_stack([rng.normal(size=8), rng.uniform(100, 500, 8)])
        utilities = arms @ [1.0, 0.005]
        arms[7, 1] = 99999.0
        policy = told(dl.BestArmPair(random_state=seed, estimator=estimator), arms[:7], utilities, 40, seed)
        assert "99999 in arm 7" in policy.recommend(arms).advice
        for look in range(10):
            best = told(policy, arms, utilities, 20, [seed, look]).decided_arm(arms, 0.1)
            if best is not None:
                announced, wrong = announced + 1, wrong + int(best != np.argmax(utilities))
                break
    assert wrong <= stats.binom.ppf(1.0 - 1e-6, announced, 0.1)


def test_a_placeholder_that_nobody_was_asked_about_stays_open():
    usual = np.array([[100.0], [180.0], [240.0], [310.0], [420.0], [500.0]])
    arms, policy = np.vstack([usual, [[99999.0]]]), dl.BestArmPair(random_state=0)
    policy.initialize(arms)
    found = told(policy, usual, usual[:, 0] / 100.0, 60).recommend(arms)
    assert not found.decided
    assert "99999 in arm 6" in found.advice
