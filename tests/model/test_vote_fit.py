"""The fit of votes against its twin, which SciPy solves vote by vote, and against what the votes were drawn from."""

import numpy as np
import pytest

from duelist.core.errors import InvalidInput
from duelist.model import loss as loss_module
from duelist.model import vote_fit as fit_module
from duelist.model.answers import (
    PAIR,
    PAIR_WITH_LEVEL,
    PAIR_WITH_TIES,
    LinkedPair,
    draw_outcomes,
    information,
)
from duelist.model.fit import fit_mle
from duelist.model.rater import RaterModel
from duelist.model.utility import Utility, arm_effects, effects, feature_block
from duelist.model.vote_fit import fit
from duelist.model.votes import Votes, vote_rows
from duelist.reference.vote_fit import fit as reference_fit

ANSWERS = {"pair": PAIR, "ties": PAIR_WITH_TIES, "level": PAIR_WITH_LEVEL}
PARAMETERS = {"pair": [], "ties": [0.2], "level": [0.2, -0.8]}


def drawn(name, n=9, votes=150, seed=0):
    """Votes on random pairs: items and outcomes, each as shown; with "level" the last item is the acceptable level."""
    rng = np.random.default_rng(seed)
    utilities = rng.normal(size=n)
    compared = n - 1 if name == "level" else n
    first = rng.integers(compared, size=votes)
    items = np.stack([first, (first + rng.integers(1, compared, size=votes)) % compared], axis=1)
    if name == "level":
        items = np.column_stack([items, np.full(votes, n - 1)])
    return items, draw_outcomes(ANSWERS[name], utilities[items], np.array(PARAMETERS[name]), rng)


def blocks(n, seed=1):
    """Features, systems, and categories of systems."""
    rng = np.random.default_rng(seed)
    system, category = np.arange(n) % 3, np.arange(n) // 5
    return {
        "arms": (arm_effects(n, 0.7),),
        "features": (feature_block(rng.normal(size=(n, 2)) * [1.0, 50.0], n, 0.4),),
        "mixed": (
            feature_block(rng.normal(size=(n, 2)), n, 0.4, variance=2.0),
            effects(system, name="systems", precision=0.5),
            effects(3 * category + system, name="systems by category", precision=2.0),
            arm_effects(n, 3.0),
        ),
    }


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("utility", ["arms", "features", "mixed"])
@pytest.mark.parametrize("dense", [True, False], ids=["direct", "conjugate gradients"])
def test_the_fit_is_that_of_its_twin(name, utility, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(loss_module, "DENSE_STEPS", 1)
    items, outcomes = drawn(name)
    model = Utility(blocks(9)[utility])
    found = fit(Votes(9, *vote_rows(items, outcomes, ANSWERS[name])), model, ANSWERS[name])
    design = model.values(np.eye(model.width))
    twin = reference_fit(name, design, model.precisions, items[:, 0], items[:, 1], outcomes)
    width = model.width
    centred = design - design.mean(axis=0)
    np.testing.assert_allclose(found.fitted.beta, twin.parameters[:width], atol=1e-8)
    np.testing.assert_allclose(found.fitted.parameters, twin.parameters[width:], atol=1e-8)
    np.testing.assert_allclose(found.mean, centred @ twin.parameters[:width], atol=1e-8)
    covariance = centred @ twin.covariance[:width, :width] @ centred.T
    np.testing.assert_allclose(found.rows(np.arange(9)), covariance, atol=1e-8)
    np.testing.assert_allclose(found.fitted.extra_covariance, twin.covariance[width:, width:], atol=1e-8)
    i, j = np.triu_indices(9, 1)
    prior = np.square(design[i] - design[j]) @ (1.0 / model.precisions)
    np.testing.assert_allclose(found.prior_variance(i, j), prior, atol=1e-12)


@pytest.mark.parametrize("utility", ["arms", "features", "mixed"])
def test_without_votes_the_posterior_is_the_prior(utility, monkeypatch):
    """With 3,000 items and 384 features, the dense inverse took seconds before the first vote."""
    n, model = 25, Utility(blocks(25)[utility])
    votes = Votes(n, np.zeros((0, 2), np.int64), np.zeros((0, 2)))
    monkeypatch.setattr(fit_module, "DENSE_STEPS", 5)  # as with more than 300 items
    found = fit(votes, model)
    design = model.values(np.eye(model.width))
    i, j = np.triu_indices(n, 1)
    expected = np.square(design[i] - design[j]) @ (1.0 / model.precisions)
    np.testing.assert_allclose(found.difference_variance(i, j), expected, atol=1e-12)
    np.testing.assert_array_equal(found.mean, np.zeros(n))
    if model.has_arm_effects:
        assert found.covariance is None  # n x n


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("utility", ["arms", "features", "mixed"])
def test_items_that_no_vote_shows_are_those_of_the_twin(name, utility, monkeypatch):
    monkeypatch.setattr(fit_module, "DENSE_STEPS", 5)  # as with more than 300 items
    n, rng = 25, np.random.default_rng(5)
    items, outcomes = drawn(name)
    place = rng.choice(n, 9, replace=False)
    items = place[items]
    model = Utility(blocks(n)[utility])
    found = fit(Votes(n, *vote_rows(items, outcomes, ANSWERS[name])), model, ANSWERS[name])
    design = model.values(np.eye(model.width))
    twin = reference_fit(name, design, model.precisions, items[:, 0], items[:, 1], outcomes, level=place[-1])
    beta, covariance = twin.parameters[: model.width], twin.covariance[: model.width, : model.width]
    np.testing.assert_allclose(found.fitted.beta, beta, atol=1e-8)
    squares = [float((beta[part] ** 2 + np.diagonal(covariance)[part]).sum()) for part in model.slices]
    np.testing.assert_allclose(found.fitted.squares, squares, atol=1e-7)
    some = np.sort(rng.choice(n, 12, replace=False))
    every = np.arange(n)
    for posterior, chosen in ((found, every), (found.among(some), some)):
        centred = design[chosen] - design[chosen].mean(axis=0)
        np.testing.assert_allclose(posterior.mean, centred @ beta, atol=1e-8)
        expected = centred @ covariance @ centred.T
        np.testing.assert_allclose(posterior.rows(np.arange(len(chosen))), expected, atol=1e-8)
        np.testing.assert_allclose(posterior.variance, np.diagonal(expected), atol=1e-8)
    i, j = (each.ravel() for each in np.indices((n, n)))
    apart = np.einsum("ip,pq,iq->i", design[i] - design[j], covariance, design[i] - design[j])
    np.testing.assert_allclose(found.difference_variance(i, j), apart, atol=1e-8)
    spread = np.cov(found.sampler(every)(rng, 100_000).T)
    # The variance of so many draws has a relative standard error of sqrt(2 / 100,000) = 0.45%.
    np.testing.assert_allclose(spread[i, i] + spread[j, j] - 2.0 * spread[i, j], apart, rtol=0.025, atol=1e-6)
    weights = np.eye(n)[:2] / 2 + np.eye(n)[3:5] / 2
    pair = weights - weights.mean(axis=0)
    combined = pair @ design @ covariance @ design.T @ pair.T
    np.testing.assert_allclose(found.combined(weights).rows(np.arange(2)), combined, atol=1e-8)


@pytest.mark.parametrize("name", ANSWERS)
def test_side_and_covariates_are_those_of_the_twin(name):
    items, outcomes = drawn(name)
    length = np.random.default_rng(3).normal(size=(len(items), 2))
    counts = np.eye(len(ANSWERS[name].outcomes))[outcomes]
    model = Utility(blocks(9)["arms"])
    found = fit(Votes(9, items, counts, length), model, ANSWERS[name], RaterModel(side=True), covariate_precision=0.3)
    design, x = np.eye(9), np.column_stack([np.ones(len(items)), length])
    twin = reference_fit(name, design, model.precisions, items[:, 0], items[:, 1], outcomes, x, 0.3)
    np.testing.assert_allclose(found.fitted.beta, twin.parameters[:9], atol=1e-8)
    np.testing.assert_allclose(found.fitted.covariates, twin.parameters[9:12], atol=1e-8)
    np.testing.assert_allclose(found.fitted.extra_covariance, twin.covariance[9:, 9:], atol=1e-8)


def test_a_side_and_a_style_are_found():
    """20,000 votes: standard errors of the coefficients are below 0.03."""
    rng = np.random.default_rng(5)
    utilities, n = rng.normal(size=12), 20_000
    items = np.stack([rng.permutation(12)[:2] for _ in range(n)])
    style = rng.normal(size=(n, 1))
    outcomes = draw_outcomes(PAIR, utilities[items], np.zeros(0), rng, 0.4 + 0.8 * style[:, 0])
    found = fit(Votes(12, items, np.eye(2)[outcomes], style), Utility((arm_effects(12),)), PAIR, RaterModel(side=True))
    assert np.abs(found.fitted.covariates - [0.4, 0.8]).max() < 0.12
    assert np.abs(found.mean - (utilities - utilities.mean())).max() < 0.15


@pytest.mark.parametrize("outcomes", [("first", "second", "both bad"), PAIR_WITH_LEVEL.outcomes])
def test_the_acceptable_level_is_found(outcomes):
    """Both bad and both good are relative to a level of 0.7 above the mean item; 20,000 votes."""
    rng = np.random.default_rng(6)
    answer = PAIR_WITH_LEVEL.only(outcomes)
    utilities = rng.normal(size=8)
    utilities = np.append(utilities - utilities.mean(), 0.7)
    items = np.stack([np.append(rng.permutation(8)[:2], 8) for _ in range(20_000)])
    parameters = np.array([-0.3, -0.5])[: len(answer.parameters)]
    votes = draw_outcomes(answer, utilities[items], parameters, rng)
    found = fit(Votes(9, *vote_rows(items, votes, answer)), Utility((arm_effects(8),)).with_level(), answer)
    assert np.abs(found.mean - found.mean[:8].mean() - utilities).max() < 0.12


@pytest.mark.parametrize("utility", ["arms", "features", "mixed"])
def test_a_level_has_the_prior_of_one_more_item(utility):
    model = Utility(blocks(9)[utility])
    design = model.with_level().values(np.eye(model.with_level().width))
    np.testing.assert_array_equal(design[:9, : model.width], model.values(np.eye(model.width)))
    np.testing.assert_array_equal(design[9], np.eye(len(design[9]))[-1])
    assert not design[:9, model.width :].any()
    assert model.with_level().precisions[-1] == np.mean(model.blocks[-1].precisions)


@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
def test_a_linked_pair_is_the_estimator_of_the_policies(link):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(10, 3))
    items, outcomes = drawn("pair", 10)
    block = feature_block(x, 10, 0.8)
    found = fit(Votes(10, *vote_rows(items, outcomes, PAIR)), Utility((block,)), LinkedPair(link))
    design = np.asarray(block.design)
    z = design[items[:, 0]] - design[items[:, 1]]
    np.testing.assert_allclose(found.fitted.beta, fit_mle(z, outcomes == 0, ridge=0.8, link=link).theta, atol=1e-8)


@pytest.mark.parametrize("answer", [*ANSWERS.values(), LinkedPair()])
def test_information_is_the_mean_curvature(answer):
    """The expected square of the first derivative is the second derivative, if the loss is a likelihood."""
    rng = np.random.default_rng(8)
    utilities, parameters = rng.normal(size=(5, answer.shown)), rng.normal(size=len(answer.parameters))
    found = information(answer, utilities, parameters)
    chances = answer.probabilities(utilities, np.zeros(5), parameters)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    expected = answer.terms(utilities, np.zeros(5), parameters, chances).curvature[: answer.shown, : answer.shown]
    np.testing.assert_allclose(found, np.moveaxis(expected, 2, 0), atol=1e-12)


def test_precisions_are_estimated_by_block():
    """Features explain most: their coefficients have variance 4, arms beside them 0.25; 40 arms, 20,000 votes."""
    rng = np.random.default_rng(9)
    n = 40
    x = rng.normal(size=(n, 8))
    block = feature_block(x, n, None)
    utilities = 2.0 * block.design @ rng.normal(size=8) + 0.5 * rng.normal(size=n)
    items = np.stack([rng.permutation(n)[:2] for _ in range(20_000)])
    outcomes = draw_outcomes(PAIR, utilities[items], np.zeros(0), rng)
    found = fit(Votes(n, *vote_rows(items, outcomes, PAIR)), Utility((block, arm_effects(n, None))))
    assert 1.0 < 1.0 / found.precisions["features"] < 10.0
    assert 0.15 < 1.0 / found.precisions["arm effects"] < 0.5


def test_a_sketch_of_the_covariance_has_its_size(monkeypatch):
    """By 256 draws: standard deviations are right to 15 %, more than three of their standard errors (1/sqrt(512))."""
    items, outcomes = drawn("ties", votes=400)
    votes = Votes(9, *vote_rows(items, outcomes, PAIR_WITH_TIES))
    model = Utility(blocks(9)["mixed"])
    whole = fit(votes, model, PAIR_WITH_TIES)
    monkeypatch.setattr(loss_module, "DENSE_STEPS", 3)
    monkeypatch.setattr(fit_module, "DENSE", 3)
    np.testing.assert_allclose(np.sqrt(fit(votes, model, PAIR_WITH_TIES).variance / whole.variance), 1.0, atol=0.15)


def test_systems_are_compared_by_their_means_over_prompts():
    """4 systems on 6 prompts: the posterior of a mean over a system's items is that of the sum of the effects."""
    system, prompt = np.divmod(np.arange(24), 6)
    model = Utility((effects(system, name="systems"), arm_effects(24, 2.0)))
    rng = np.random.default_rng(10)
    first = rng.integers(24, size=300)
    items = np.stack([first, (first + 6 * rng.integers(1, 4, size=300)) % 24], axis=1)
    assert (prompt[items[:, 0]] == prompt[items[:, 1]]).all()
    outcomes = draw_outcomes(PAIR, (0.5 * system)[items], np.zeros(0), rng)
    found = fit(Votes(24, *vote_rows(items, outcomes, PAIR)), model)
    means = found.combined(np.eye(4)[system].T / 6)
    one, other = np.triu_indices(4, 1)
    weights = (np.eye(4)[one] - np.eye(4)[other])[:, system] / 6
    np.testing.assert_allclose(means.mean[one] - means.mean[other], weights @ found.mean)
    np.testing.assert_allclose(
        means.difference_variance(one, other), np.diagonal(weights @ found.covariance @ weights.T)
    )
    np.testing.assert_allclose(means.prior_variance(one, other), 2.0 + 2.0 / 12)
    assert np.argmax(means.mean) == 3


def test_order_and_start_change_nothing():
    items, outcomes = drawn("ties")
    votes = Votes(9, *vote_rows(items, outcomes, PAIR_WITH_TIES))
    model = Utility((arm_effects(9),))
    once = fit(votes, model, PAIR_WITH_TIES)
    again = fit(
        votes, model, PAIR_WITH_TIES, start=fit(Votes(9, votes.items[:50], votes.counts[:50]), model, PAIR_WITH_TIES)
    )
    np.testing.assert_allclose(again.mean, once.mean, atol=1e-12)
    backwards = fit(Votes(9, votes.items[::-1], votes.counts[::-1]), model, PAIR_WITH_TIES)
    np.testing.assert_allclose(backwards.mean, once.mean, atol=1e-12)


def test_blocks_describe_the_same_items():
    with pytest.raises(InvalidInput, match="describe"):
        Utility((arm_effects(3), arm_effects(4)))
