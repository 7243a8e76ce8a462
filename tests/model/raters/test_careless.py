"""Who is careless: the probability against one by simulation, the test whether raters differ, and who is flagged."""

import numpy as np
import pytest
from scipy.special import betaln, expit, logit, logsumexp

import duelist as dl
from duelist.model.answers import PAIR, PAIR_WITH_TIES, draw_outcomes
from duelist.model.clusters import with_clusters
from duelist.model.raters.difference import LEVEL, difference_p_value
from duelist.model.raters.effects import ATTENTION, LAPSES
from duelist.model.raters.fit import fit_raters
from duelist.model.utility import Utility, arm_effects
from duelist.model.vote_fit import fit
from duelist.model.votes import Votes, vote_rows

RANDOM, FIRST = 0.0, 100.0


def drawn(rng, utilities, votes, reliability, side=None, nu=None, items=None, tastes=0.0):
    """Votes of raters in turn on random pairs, or on given ones."""
    n, n_raters = len(utilities), len(reliability)
    if items is None:
        first = rng.integers(n, size=votes)
        items = np.stack([first, (first + rng.integers(1, n, size=votes)) % n], axis=1)
    rater = np.arange(votes) % n_raters
    own = tastes * rng.normal(size=(n_raters, n))
    shown = np.array(reliability)[rater][:, None] * (utilities[items] + own[rater[:, None], items])
    shift = np.zeros(votes) if side is None else np.array(side)[rater]
    answer = PAIR if nu is None else PAIR_WITH_TIES
    outcomes = draw_outcomes(answer, shown, np.array([] if nu is None else [nu]), rng, shift)
    return as_votes(n, items, outcomes, rater, answer), answer


def as_votes(n, items, outcomes, rater, answer=PAIR):
    sides = np.where(items[:, 0] > items[:, 1], -1.0, 1.0)
    return Votes(n, *vote_rows(items, outcomes, answer), None, {"rater": rater}, sides)


def alike(votes, answer=PAIR):
    return fit(votes, Utility((arm_effects(votes.n_items),)), answer)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("reliability", [0.0, 0.6])
def test_the_probability_of_being_careless_is_that_of_a_simulation(outside, reliability):
    """The votes of the last rater are predicted by draws of utilities from the fit of the others, and of own parameters from
    their prior. Laplace's approximation may err by half a unit of log odds.
    """
    rng = np.random.default_rng(3)
    votes, _ = drawn(rng, np.linspace(-1.5, 1.5, 6), 240, (1.0, 1.0, 1.0, reliability))
    found = fit_raters(votes, alike(votes), outside=np.array([3] if outside else []))
    effects, mine = found.raters, votes.clusters["rater"] == 3
    others = fit_raters(
        Votes(
            6,
            votes.items[~mine],
            votes.counts[~mine],
            None,
            {"rater": votes.clusters["rater"][~mine]},
            votes.sides[~mine],
        ),
        alike(votes),
    )
    draws = 40_000
    utility = others.sampler(np.arange(6))(rng, draws)
    spread = effects.spread
    a, side = (np.sqrt(v) * rng.standard_normal(draws) for v in (spread.reliability, spread.side))
    lapse = rng.beta(LAPSES, ATTENTION, draws)
    total = np.zeros(draws)
    for (low, high), sign, first in zip(votes.items[mine], votes.sides[mine], votes.counts[mine, 0] > 0, strict=True):
        chance = expit(np.exp(a) * (utility[:, low] - utility[:, high]) + sign * side)
        total += np.log((1.0 - lapse) * (chance if first else 1.0 - chance) + lapse / 2.0)
    attentive = logsumexp(total) - np.log(draws)
    n = int(mine.sum())
    left = int(((votes.counts[mine, 0] > 0) == (votes.sides[mine] > 0)).sum())
    gap = found.mean[votes.items[mine, 0]] - found.mean[votes.items[mine, 1]]
    against = np.log(expit(np.where(votes.counts[mine, 0] > 0, -gap, gap))).sum()
    one_sided = betaln(left + 0.5, n - left + 0.5) - betaln(0.5, 0.5)
    careless = logsumexp([-n * np.log(2.0), one_sided, against]) - np.log(3.0)
    expected = logit(1.0 - spread.careless) + attentive - careless
    assert logit(effects.attentive[3]) == pytest.approx(expected, abs=0.5)


@pytest.mark.parametrize("nu", [None, 0.3])
@pytest.mark.parametrize("tastes", [0.0, 0.5])
def test_raters_who_are_alike_rarely_differ(nu, tastes):
    """At level 0.05, in at most 0.05 and four standard errors of 60 logs: 0.16. Own tastes are no difference of reliability."""
    below = 0
    for seed in range(60):
        rng = np.random.default_rng((seed, 1))
        votes, answer = drawn(rng, rng.normal(size=8), 400, [1.0] * 8, nu=nu, tastes=tastes)
        below += difference_p_value(with_clusters(alike(votes, answer), votes), votes) < 0.05
    assert below / 60 <= 0.05 + 4.0 * np.sqrt(0.05 * 0.95 / 60)


@pytest.mark.parametrize("goal", [None, "best", "rank"])
def test_careless_raters_are_found_and_honest_ones_are_not_flagged(goal):
    """12 raters of whom two answer at random, one always says first, and two have a reliability of 0.4; 4,000 votes on 30 arms.

    Pairs are random, or those of the policy of the goal; the probability of a wrong flag is at most 5 % each.
    """
    reliability = [RANDOM] * 3 + [0.4] * 2 + [1.0] * 7
    side = [0.0, 0.0, FIRST] + [0.0] * 9
    rng = np.random.default_rng(11)
    utilities = rng.normal(size=30)
    if goal is None:
        votes, _ = drawn(rng, utilities, 4000, reliability, side)
    else:
        policy = {"best": dl.BestArmPair, "rank": dl.RankingPair}[goal](random_state=0, estimator="online")
        arms, items, outcomes = dl.ArmTable(30), [], []
        for t in range(4000):
            duel = policy.ask(arms)
            shown = tuple(duel) if rng.random() < 0.5 else tuple(duel)[::-1]
            gap = reliability[t % 12] * (utilities[shown[0]] - utilities[shown[1]]) + side[t % 12]
            first = rng.random() < expit(gap)
            policy.tell(duel, float(first == (shown[0] == duel.first)))
            items.append(shown)
            outcomes.append(int(not first))
        votes = as_votes(30, np.array(items), np.array(outcomes), np.arange(4000) % 12)
    plain = alike(votes)
    assert difference_p_value(with_clusters(plain, votes), votes) < LEVEL
    found = fit_raters(votes, plain)
    effects = found.raters
    assert set(effects.careless) <= {0, 1, 2}
    assert 2 in effects.careless
    assert effects.reliability[:2].max() < effects.reliability[5:].min()
    assert np.argmax(effects.kinds[2]) == 1
    assert (effects.attentive[5:] > 0.9).all()
    assert effects.reliability[3:5].mean() < effects.reliability[5:].min()

    def error(posterior):
        return np.abs(posterior.mean - (utilities - utilities.mean())).mean()

    assert error(found) < error(plain)


def test_votes_of_unknown_raters_are_those_of_the_crowd():
    rng = np.random.default_rng(5)
    votes, _ = drawn(rng, rng.normal(size=6), 300, [1.0, 1.0, 0.0])
    some = Votes(
        6,
        votes.items,
        votes.counts,
        None,
        {"rater": np.where(rng.random(300) < 0.3, -1, votes.clusters["rater"])},
        votes.sides,
    )
    found = fit_raters(some, alike(some))
    assert found.raters.ids.tolist() == [0, 1, 2]
    assert found.raters.positions(np.array([-1, 2, 7])).tolist() == [3, 2, 3]
    nobody = Votes(6, votes.items, votes.counts, None, {"rater": np.full(300, -1)}, votes.sides)
    assert difference_p_value(alike(nobody), nobody) == 1.0


def test_the_fit_does_not_depend_on_where_it_starts():
    rng = np.random.default_rng(6)
    votes, _ = drawn(rng, rng.normal(size=8), 800, [0.0, 1.0, 1.0, 1.0, 0.5])
    one = fit_raters(votes, alike(votes))
    again = fit_raters(votes, fit(votes, Utility((arm_effects(8),)), PAIR, start=one))
    np.testing.assert_allclose(one.mean, again.mean, atol=1e-9)
    np.testing.assert_allclose(one.raters.attentive, again.raters.attentive, atol=1e-9)
