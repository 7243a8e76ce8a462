"""Votes that err together: the covariance against its twin, and coverage of intervals with raters of different tastes."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import nnls

from duelist.model.answers import PAIR, PAIR_WITH_TIES, draw_outcomes, information
from duelist.model.clusters import _least_squares, with_clusters
from duelist.model.utility import Utility, arm_effects, feature_block
from duelist.model.vote_fit import fit
from duelist.model.votes import Votes, vote_rows
from duelist.reference.clusters import taste

PARAMETERS = {PAIR: np.zeros(0), PAIR_WITH_TIES: np.array([0.3])}


def drawn(rng, n, raters, votes_each, deviation, answer=PAIR):
    """Votes of raters whose utilities differ from the crowd's by independent tastes; and these utilities."""
    utilities = rng.normal(size=n)
    own = utilities + deviation * rng.normal(size=(raters, n))
    rater = np.repeat(np.arange(raters), votes_each)
    first = rng.integers(n, size=len(rater))
    items = np.stack([first, (first + rng.integers(1, n, size=len(rater))) % n], axis=1)
    shown = np.take_along_axis(own[rater], items, axis=1)
    outcomes = draw_outcomes(answer, shown, PARAMETERS[answer], rng)
    return utilities, Votes(n, *vote_rows(items, outcomes, answer), None, {"rater": rater})


def crowd(utilities, deviation, answer):
    """Utilities of the crowd: those of the model closest to what all raters answer together."""
    n = len(utilities)
    first, second = np.triu_indices(n, 1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(21)
    gap = (utilities[first] - utilities[second])[:, None] + np.sqrt(2.0) * deviation * nodes
    shares = sum(
        weight * answer.probabilities(np.stack([each / 2, -each / 2], axis=1), np.zeros(len(each)), PARAMETERS[answer])
        for each, weight in zip(gap.T, weights / weights.sum(), strict=True)
    )
    return fit(Votes(n, np.stack([first, second], axis=1), 1e4 * shares), Utility((arm_effects(n),)), answer).mean


@pytest.mark.parametrize("answer", [PAIR, PAIR_WITH_TIES])
@pytest.mark.parametrize("features", [False, True])
def test_the_covariance_is_that_of_its_twin(answer, features):
    rng = np.random.default_rng(1)
    _, votes = drawn(rng, 6, 5, 12, 1.5, answer)
    block = feature_block(rng.normal(size=(6, 2)), 6) if features else arm_effects(6)
    plain = fit(votes, Utility((block,)), answer)
    found = with_clusters(plain, votes)
    shown, parameters = plain.mean[votes.items] + plain.fitted.origin, plain.fitted.parameters
    every, outcome = np.arange(len(votes.items)), votes.counts.argmax(axis=1)
    scores, known = np.zeros((len(every), 6)), np.zeros((len(every), 6, 6))
    of_vote = answer.scores(shown, np.zeros(len(every)), parameters)[every, outcome]
    for v, items in enumerate(votes.items):
        scores[v, items] = of_vote[v]
        known[v][np.ix_(items, items)] = information(answer, shown, parameters)[v]
    s, covariance = taste(plain.rows(np.arange(6)), scores, known, votes.clusters["rater"].tolist())
    assert found.taste["rater"] == pytest.approx(s, abs=1e-10)
    assert s > 0.1
    np.testing.assert_allclose(found.rows(np.arange(6)), covariance, atol=1e-10)


@pytest.mark.parametrize(
    ("raters", "votes_each", "deviation", "answer"),
    [(30, 100, 1.0, PAIR), (30, 100, 0.5, PAIR_WITH_TIES), (30, 20, 0.5, PAIR), (30, 20, 0.0, PAIR)],
)
def test_intervals_hold_as_often_as_they_say(raters, votes_each, deviation, answer):
    """60 logs of 10 items: 95 % within four standard errors of the mean over logs; docs/evidence/intervals.md has 1,000 of each."""
    held = {"clusters": [], "independent": []}
    for seed in range(60):
        utilities, votes = drawn(np.random.default_rng(seed), 10, raters, votes_each, deviation, answer)
        truth = crowd(utilities, deviation, answer)
        plain = fit(votes, Utility((arm_effects(10),)), answer)
        for name, found in (("independent", plain), ("clusters", with_clusters(plain, votes))):
            held[name].append(np.mean(np.abs(found.mean - truth) <= 1.96 * np.sqrt(found.variance)))
    error = 4 * np.std(held["clusters"]) / np.sqrt(60)
    assert abs(np.mean(held["clusters"]) - 0.95) < error + 0.01
    if deviation == 1.0:
        assert np.mean(held["independent"]) < 0.8


def test_raters_alike_have_no_tastes():
    _, votes = drawn(np.random.default_rng(2), 8, 40, 50, 0.0)
    plain = fit(votes, Utility((arm_effects(8),)))
    found = with_clusters(plain, votes)
    assert found.taste["rater"] < 0.05
    assert (found.variance < 1.1 * plain.variance).all()


def test_two_names_of_the_same_clusters_count_once():
    _, votes = drawn(np.random.default_rng(3), 6, 20, 30, 1.0)
    rater = votes.clusters["rater"]
    plain = fit(votes, Utility((arm_effects(6),)))
    once = with_clusters(plain, votes)
    twice = with_clusters(plain, Votes(6, votes.items, votes.counts, None, {"rater": rater, "session": rater}))
    assert sum(twice.taste.values()) == pytest.approx(once.taste["rater"], rel=0.1)
    np.testing.assert_allclose(twice.variance, once.variance, rtol=0.1)


def test_one_cluster_and_unknown_ones_change_nothing():
    _, votes = drawn(np.random.default_rng(4), 6, 1, 60, 1.0)
    plain = fit(votes, Utility((arm_effects(6),)))
    for rater in (np.zeros(60, np.int64), np.full(60, -1)):
        found = with_clusters(plain, Votes(6, votes.items, votes.counts, None, {"rater": rater}))
        np.testing.assert_array_equal(found.covariance, plain.covariance)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_variances_of_tastes_are_the_least_squares_without_negative_ones(size):
    """As SciPy's `nnls` finds them, which the package does not import because that is slow."""
    rng = np.random.default_rng(size)
    for _ in range(50):
        root = rng.normal(size=(size, size))
        system, right = root @ root.T + 0.1 * np.eye(size), rng.normal(size=size)
        np.testing.assert_allclose(_least_squares(system, right), nnls(system, right)[0], rtol=1e-8, atol=1e-10)


def test_intervals_do_not_import_optimizers():
    code = (
        "import sys, numpy as np, duelist.study.analysis as a; from duelist.study import Outcome, Vote;"
        "from datetime import UTC, datetime; now = datetime(2026, 1, 1, tzinfo=UTC);"
        "a.leaderboard([Vote(k, k, Outcome.FIRST, str(k % 3), now, 'xyz'[k % 3], 'yzx'[k % 3]) for k in range(9)], 'xyz');"
        "sys.exit('scipy.optimize' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
