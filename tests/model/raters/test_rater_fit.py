"""The joint fit of utilities and raters against its twin, which SciPy solves vote by vote."""

import numpy as np
import pytest

from duelist.core.errors import InvalidInput
from duelist.model.answers import PAIR, PAIR_WITH_LEVEL, PAIR_WITH_TIES, draw_outcomes
from duelist.model.raters.effects import RaterEffects, RaterSpread, even_outcomes
from duelist.model.raters.fit import fit_raters, minimum
from duelist.model.raters.loss import RaterLoss
from duelist.model.utility import Utility, arm_effects, feature_block
from duelist.model.vote_fit import fit
from duelist.model.votes import Votes, vote_rows
from duelist.reference import rater_fit

ANSWERS = {"pair": PAIR, "ties": PAIR_WITH_TIES}
SPREAD = RaterSpread(reliability=0.3, side=0.2, ties=0.5, careless=0.1)
WEIGHTS = np.array([1.0, 0.9, 0.2, 0.6])


def drawn(name, n=7, per_rater=40, seed=0, reliability=(1.0, 1.5, 0.0, 0.5), side=(0.0, 0.3, 0.0, -0.5)):
    """Votes as shown, of raters who differ: items, outcomes, raters."""
    rng = np.random.default_rng(seed)
    utilities = 1.5 * rng.normal(size=n)
    rater = np.repeat(np.arange(len(reliability)), per_rater)
    first = rng.integers(n, size=len(rater))
    items = np.stack([first, (first + rng.integers(1, n, size=len(rater))) % n], axis=1)
    shown = utilities[items] * np.array(reliability)[rater][:, None]
    parameters = np.array([0.2] if name == "ties" else [])
    return items, draw_outcomes(ANSWERS[name], shown, parameters, rng, np.array(side)[rater]), rater


def as_votes(n, items, outcomes, rater, answer):
    sides = np.where(items[:, 0] > items[:, 1], -1.0, 1.0)
    return Votes(n, *vote_rows(items, outcomes, answer), None, {"rater": rater}, sides)


def start_of(model, width):
    own = np.zeros((model.n_kinds, model.n_raters))
    own[2] = np.log(rater_fit.LAPSES / rater_fit.ATTENTION)
    return np.zeros(width), np.append(np.zeros(model.n_common), own.ravel())


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("blocks", ["arms", "features and arms"])
def test_the_fit_is_that_of_its_twin(name, blocks):
    n, answer = 7, ANSWERS[name]
    items, outcomes, rater = drawn(name)
    votes = as_votes(n, items, outcomes, rater, answer)
    x = np.random.default_rng(1).normal(size=(n, 2))
    utility = Utility((arm_effects(n, 0.7),))
    if blocks != "arms":
        utility = Utility((feature_block(x, n, 0.4), arm_effects(n, 2.0)))
    shares = even_outcomes(votes.counts)
    model = RaterLoss(votes, utility, answer, 1.0, RaterEffects.alike(np.arange(4), shares, SPREAD, WEIGHTS))
    beta, extra, now = minimum(model, *start_of(model, utility.width), 1e-18, 100)
    given = rater_fit.Given(utility.precisions, WEIGHTS, SPREAD[:3], shares)
    shown = rater_fit.RaterVotes(*items.T, outcomes, rater)
    design = utility.values(np.eye(utility.width))
    twin = rater_fit.fit(design, shown, given)
    found = np.append(beta, extra)
    np.testing.assert_allclose(found, twin, atol=1e-7)
    np.testing.assert_allclose(now.loss, rater_fit.loss(twin, design, shown, given), rtol=1e-12)
    width = utility.width
    whole = np.block([[now.curvature.dense(), now.cross], [now.cross.T, now.extra_twice]])
    curvature = rater_fit.curvature(found, design, shown, given)
    np.testing.assert_allclose(whole, curvature, atol=1e-5)
    assert len(found) == width + model.n_extra


@pytest.mark.parametrize("name", ANSWERS)
def test_derivatives_are_those_of_the_loss_anywhere(name):
    """At random parameters, with covariates and votes of unknown raters, by central differences."""
    answer, n = ANSWERS[name], 7
    items, outcomes, rater = drawn(name)
    rng = np.random.default_rng(2)
    rater = np.where(rng.random(len(rater)) < 0.1, -1, rater)
    votes = as_votes(n, items, outcomes, rater, answer)
    votes = Votes(n, votes.items, votes.counts, rng.normal(size=(len(items), 2)), votes.clusters, votes.sides)
    utility = Utility((arm_effects(n, 0.7),))
    model = RaterLoss(
        votes, utility, answer, 0.5, RaterEffects.alike(np.arange(4), even_outcomes(votes.counts), SPREAD, WEIGHTS)
    )
    z = 0.3 * rng.normal(size=n + model.n_extra)
    z[n + model.n_common + 8 : n + model.n_common + 12] -= 2.0
    now = model.derivatives(z[:n], z[n:])

    def gradient(at):
        there = model.derivatives(at[:n], at[n:])
        return np.append(there.by_beta, there.by_extra)

    steps = 1e-5 * np.eye(len(z))
    slope = [(model.loss(*np.split(z + e, [n])) - model.loss(*np.split(z - e, [n]))) / 2e-5 for e in steps]
    np.testing.assert_allclose(gradient(z), slope, atol=1e-5)
    twice = np.array([(gradient(z + e) - gradient(z - e)) / 2e-5 for e in steps])
    whole = np.block([[now.curvature.dense(), now.cross], [now.cross.T, now.extra_twice]])
    np.testing.assert_allclose(whole, twice, atol=1e-5)
    convex = model.derivatives(z[:n], z[n:], exact=False)
    bound = np.block([[convex.curvature.dense(), convex.cross], [convex.cross.T, convex.extra_twice]])
    assert np.linalg.eigvalsh(bound).min() > 0.0


def test_answers_of_other_kinds_are_an_error():
    items, outcomes, rater = drawn("pair")
    items = np.column_stack([items, np.full(len(items), 6)])
    votes = Votes(7, items, np.eye(5)[outcomes], None, {"rater": rater})
    posterior = fit(votes, Utility((arm_effects(7),)), PAIR_WITH_LEVEL)
    with pytest.raises(InvalidInput, match="Raters can differ only in votes for one of two items"):
        fit_raters(votes, posterior)


@pytest.mark.parametrize("seed", range(5))
def test_raters_who_all_answer_at_random_have_likely_lapses(seed):
    """Their votes hardly count, so the loss does not show a step too far."""
    rng = np.random.default_rng(seed)
    n, rater = 60, np.repeat(np.arange(12), 30)
    first = rng.integers(n, size=len(rater))
    items = np.stack([first, (first + rng.integers(1, n, size=len(rater))) % n], axis=1)
    votes = as_votes(n, items, rng.integers(2, size=len(rater)), rater, PAIR)
    raters = fit_raters(votes, fit(votes, Utility((arm_effects(n),)), PAIR)).raters
    assert np.all((raters.lapse > 1e-3) & (raters.lapse < 0.5))


def test_terms_of_the_last_place_are_not_those_of_another():
    items, outcomes, rater = drawn("ties")
    votes, utility = as_votes(7, items, outcomes, rater, PAIR_WITH_TIES), Utility((arm_effects(7, 0.7),))

    def model(shares):
        return RaterLoss(votes, utility, PAIR_WITH_TIES, 1.0, RaterEffects.alike(np.arange(4), shares, SPREAD, WEIGHTS))

    even, other = even_outcomes(votes.counts), np.array([0.2, 0.3, 0.5])
    used = model(even)
    beta, extra = start_of(used, utility.width)
    for shares, moved in ((even, 0.0), (even, 0.1), (other, 0.1), (even, 0.0)):
        used.update(RaterEffects.alike(np.arange(4), shares, SPREAD, WEIGHTS))
        for exact in (True, False):
            again, fresh = (each.derivatives(beta + moved, extra, exact) for each in (used, model(shares)))
            assert again.loss == fresh.loss
            np.testing.assert_array_equal(again.by_extra, fresh.by_extra)
            np.testing.assert_array_equal(again.extra_twice, fresh.extra_twice)
        assert used.loss(beta + moved, extra) == fresh.loss


@pytest.mark.parametrize("seed", range(1, 6))
def test_few_votes_per_rater_do_not_go_round_in_circles(seed, monkeypatch):
    """Whole updates of such weights went back and forth for ever, so chances depended on the number of rounds."""
    rng = np.random.default_rng(seed)
    n, rater = 60, rng.integers(50, size=170)
    first = rng.integers(n, size=170)
    items = np.stack([first, (first + rng.integers(1, n, size=170)) % n], axis=1)
    utilities = 6.0 * rng.normal(size=n)
    gaps = (utilities[items[:, 0]] - utilities[items[:, 1]]) * rng.choice([8.0, 1.0, 0.0, -1.0], size=50)[rater]
    votes = as_votes(n, items, draw_outcomes(PAIR, np.stack([gaps, 0.0 * gaps], axis=1), np.zeros(0), rng), rater, PAIR)
    start, chances = fit(votes, Utility((arm_effects(n),)), PAIR), []
    for rounds in (60, 61):
        monkeypatch.setattr("duelist.model.raters.fit._ROUNDS", rounds)
        chances.append(fit_raters(votes, start).raters.attentive)
    np.testing.assert_allclose(chances[0], chances[1], atol=0.02)


def test_the_curvature_of_raters_who_hardly_matter_is_convex():
    """Theirs is often concave, which would end every exact step of the fit."""
    n, (items, outcomes, rater) = 7, drawn("pair")
    votes, weights = as_votes(n, items, outcomes, rater, PAIR), np.array([1.0, 0.9, 1e-6, 0.6])
    effects = RaterEffects.alike(np.arange(4), even_outcomes(votes.counts), SPREAD, weights)
    model = RaterLoss(votes, Utility((arm_effects(n, 0.7),)), PAIR, 1.0, effects)
    at = start_of(model, n)
    exact, convex = (model.derivatives(*at, is_exact).extra_twice for is_exact in (True, False))
    for k in range(4):
        own = model.n_common + k + 4 * np.arange(model.n_kinds)
        assert np.array_equal(exact[np.ix_(own, own)], convex[np.ix_(own, own)]) == (k == 2)
