"""Leaderboards: the fit against another program, intervals and chances against simulation and other computations."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, ndtr, softmax
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression

from duelist.core.errors import InvalidInput
from duelist.model import loss as loss_module
from duelist.model import vote_fit as fit_module
from duelist.model.posterior import Posterior
from duelist.research.datasets import load_llmfao
from duelist.study.analysis import leaderboard, progress
from duelist.study.analysis.fit.utilities import fit_utilities
from duelist.study.analysis.fit.votes import as_vote_table, counted
from duelist.study.analysis.leaderboard import DRAWS, chances_of_best
from duelist.study.records import Outcome
from tests.helpers.model_votes import NOW, made_votes, names, vote


@pytest.fixture(scope="module")
def llmfao(data_folder):
    votes = [c.to_vote(k + 1, k + 1, NOW) for k, c in enumerate(load_llmfao(data_folder))]
    return votes, list(dict.fromkeys(arm for v in votes for arm in (v.first, v.second)))


def conditional_logit(votes, arms, features, ridge):
    """Davidson's model as a choice among three answers, each with features of its own: +z/2, -z/2, and a one for a tie.

    A textbook's softmax, vote by vote, solved by SciPy; and half a tie and half a win between two equal arms, the prior.
    """
    position = {arm: k for k, arm in enumerate(arms)}
    z = np.array([features[position[v.first]] - features[position[v.second]] for v in votes])
    z = np.concatenate([z, np.zeros((2, z.shape[1]))])
    chosen = np.array([["first", "second", "tie"].index(v.outcome) for v in votes] + [2, 0])
    weight = np.array([1.0] * len(votes) + [0.5, 0.5])
    alternatives = np.zeros((len(z), 3, z.shape[1] + 1))
    alternatives[:, 0, :-1], alternatives[:, 1, :-1], alternatives[:, 2, -1] = z / 2, -z / 2, 1.0
    penalty = np.append(np.full(z.shape[1], ridge), 0.0)
    every = np.arange(len(z))

    def loss(parameters):
        scores = alternatives @ parameters
        return weight @ (logsumexp(scores, axis=1) - scores[every, chosen]) + 0.5 * penalty @ parameters**2

    def gradient(parameters):
        chances = softmax(alternatives @ parameters, axis=1)
        expected = np.einsum("vk,vkp->vp", chances, alternatives)
        return weight @ (expected - alternatives[every, chosen]) + penalty * parameters

    def curvature(parameters):
        chances = softmax(alternatives @ parameters, axis=1)
        expected = np.einsum("vk,vkp->vp", chances, alternatives)
        squares = np.einsum("v,vk,vkp,vkq->pq", weight, chances, alternatives, alternatives, optimize=True)
        return squares - np.einsum("v,vp,vq->pq", weight, expected, expected, optimize=True) + np.diag(penalty)

    start = np.zeros(z.shape[1] + 1)
    found = minimize(loss, start, jac=gradient, hess=curvature, method="trust-exact", options={"gtol": 1e-9}).x
    centred = features - features.mean(axis=0)
    covariance = np.linalg.inv(curvature(found))[:-1, :-1]
    return centred @ found[:-1], centred @ covariance @ centred.T, found[-1]


def logistic_regression(votes, arms, features, ridge):
    """Without ties: utilities and covariance from scikit-learn, C = 1/ridge, no intercept."""
    position = {arm: k for k, arm in enumerate(arms)}
    z = np.array([features[position[v.first]] - features[position[v.second]] for v in votes])
    label = np.array([v.outcome == "first" for v in votes])
    model = LogisticRegression(C=1.0 / ridge, fit_intercept=False, solver="newton-cholesky", tol=1e-12)
    theta = model.fit(z, label).coef_[0]
    chance = 1.0 / (1.0 + np.exp(-z @ theta))
    curvature = (z * (chance * (1.0 - chance))[:, None]).T @ z + ridge * np.eye(z.shape[1])
    centred = features - features.mean(axis=0)
    return centred @ theta, centred @ np.linalg.inv(curvature) @ centred.T, None


@pytest.mark.parametrize("ridge", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("dim", [None, 3])
@pytest.mark.parametrize("reference", [conditional_logit, logistic_regression])
def test_utilities_and_intervals_are_those_of_another_program(llmfao, ridge, dim, reference):
    votes, arms = llmfao[0][::4], llmfao[1]
    if reference is logistic_regression:
        votes = [v for v in votes if v.outcome != "tie"]
    x = np.eye(len(arms)) if dim is None else np.random.default_rng(1).normal(size=(len(arms), dim))
    standard = (
        x if dim is None else (x - x.mean(axis=0)) / x.std(axis=0) * np.sqrt((1 - 1 / len(x)) / dim)
    )  # a ridge in the units of no feature
    utility, covariance, tie = reference(votes, arms, standard, ridge)
    board = leaderboard(votes, arms, None if dim is None else x, ridge=ridge, level=0.9, clusters=False)
    by_arm = {each.arm: each for each in board.standings}
    found = np.array([by_arm[arm].utility for arm in arms])
    assert np.abs(found - utility).max() < 1e-7  # the other program's tolerance on the gradient, over the curvature
    half = np.array([by_arm[arm].high - by_arm[arm].utility for arm in arms])
    assert np.allclose(half, 1.6448536269514722 * np.sqrt(np.diagonal(covariance)), rtol=1e-6)
    assert np.allclose(half, [by_arm[arm].utility - by_arm[arm].low for arm in arms])
    assert found.sum() == pytest.approx(0.0, abs=1e-9)
    assert [each.utility for each in board.standings] == sorted(found, reverse=True)
    assert board.tie_share == (None if tie is None else pytest.approx(np.exp(tie) / (2 + np.exp(tie)), abs=1e-8))


def test_votes_wins_and_ties_are_counted(llmfao):
    votes, arms = llmfao
    board = leaderboard(votes, arms)
    for each in board.standings[::10]:
        mine = [v for v in votes if each.arm in (v.first, v.second)]
        won = sum(v.outcome == ("first" if v.first == each.arm else "second") for v in mine)
        assert (each.votes, each.wins, each.ties) == (len(mine), won, sum(v.outcome == "tie" for v in mine))
    assert board.votes == len(votes)


def test_rank_ranges_come_from_the_covariance_of_differences(llmfao):
    votes, arms = llmfao[0][::4], llmfao[1]
    utility, covariance, _ = conditional_logit(votes, arms, np.eye(len(arms)), 1.0)
    by_arm = {each.arm: each for each in leaderboard(votes, arms, level=0.95, clusters=False).standings}
    for i, arm in enumerate(arms):
        better = worse = 0
        for j in range(len(arms)):
            allowed = 1.959963984540054 * np.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
            better += utility[j] - utility[i] > allowed
            worse += utility[i] - utility[j] > allowed
        assert (by_arm[arm].best_rank, by_arm[arm].worst_rank) == (1 + better, len(arms) - worse)


def test_ranges_by_bars_that_overlap_would_be_others(llmfao):
    """Two bars overlap long before a difference is within its own interval; the ranges must be the narrower ones."""
    rows = leaderboard(*llmfao).standings
    by_bars = [1 + sum(other.low > each.high for other in rows) for each in rows]
    by_differences = [each.best_rank for each in rows]
    assert all(a >= b for a, b in zip(by_differences, by_bars, strict=True))
    assert sum(by_differences) > sum(by_bars)


# -- calibration of the intervals --------------------------------------------------------------


def test_intervals_hold_as_often_as_they_say():
    """Utilities from the prior, votes from the model: each 90% interval holds with chance 0.9 but for Laplace's error.

    Runs are independent and the intervals of one are not: the standard error is that of the mean over runs of the share
    that held in each. Four of it, and 0.02 for Laplace, must cover the difference.
    """
    runs, n, held = 200, 8, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        utilities = rng.normal(size=n)
        board = leaderboard(made_votes(rng, utilities, 120), names(n), level=0.9)
        centred = dict(zip(names(n), utilities - utilities.mean(), strict=True))
        held.append(np.mean([each.low <= centred[each.arm] <= each.high for each in board.standings]))
    assert abs(np.mean(held) - 0.9) < 4 * np.std(held) / np.sqrt(runs) + 0.02


def test_the_chance_of_being_best_is_how_often_the_leader_is():
    """Under the prior a posterior chance is calibrated: (is best - chance) has mean 0 and variance chance (1 - chance).

    Four standard errors of the mean over runs, and 0.02 for Laplace, must cover it.
    """
    runs, n = 200, 6
    surprise, spread = [], []
    for seed in range(runs):
        rng = np.random.default_rng(1000 + seed)
        utilities = rng.normal(size=n)
        leader = leaderboard(made_votes(rng, utilities, 100), names(n)).standings[0]
        surprise.append((leader.arm == f"a{np.argmax(utilities)}") - leader.chance_best)
        spread.append(leader.chance_best * (1 - leader.chance_best))
    assert abs(np.mean(surprise)) < 4 * np.sqrt(np.mean(spread) / runs) + 0.02


# -- the chance of being best --------------------------------------------------------------------


def test_of_two_arms_the_chance_is_exact():
    votes = [vote(k, "a0", "a1", "first" if k % 3 else "second") for k in range(1, 20)]
    first, second = leaderboard(votes, names(2)).standings
    posterior = fit_utilities(counted(as_vote_table(votes, names(2))))
    c = posterior.rows(np.arange(2))
    gap = (first.utility - second.utility) / np.sqrt(c[0, 0] + c[1, 1] - 2 * c[0, 1])
    assert first.chance_best == pytest.approx(ndtr(gap), abs=1e-12)
    assert first.chance_best + second.chance_best == 1.0


def test_of_three_arms_the_draws_agree_with_the_integral():
    """P(arm is best) is the chance that two correlated differences are positive; draws err by sqrt(p (1 - p) / draws)."""
    mean = np.array([0.3, 0.1, 0.0])
    root = np.array([[0.5, 0.0, 0.0], [0.3, 0.4, 0.0], [-0.2, 0.1, 0.6]])
    chance = chances_of_best(Posterior(mean, covariance=root @ root.T))
    assert chance.sum() == pytest.approx(1.0)
    for k in range(3):
        others = [j for j in range(3) if j != k]
        turn = np.eye(3)[others] - np.eye(3)[k]
        exact = multivariate_normal(turn @ mean, turn @ root @ root.T @ turn.T).cdf(np.zeros(2))
        assert abs(chance[k] - exact) < 5 * np.sqrt(exact * (1 - exact) / DRAWS)


def test_a_factor_of_the_covariance_says_the_same():
    rng = np.random.default_rng(0)
    factor, mean = rng.normal(size=(7, 3)), rng.normal(size=7)
    whole, part = Posterior(mean, covariance=factor @ factor.T), Posterior(mean, factor=factor)
    i, j = np.array([0, 3, 6]), np.array([1, 3, 2])
    assert np.allclose(whole.variance, part.variance)
    assert np.allclose(whole.rows(i), part.rows(i))
    assert np.allclose(whole.difference_variance(i, j), part.difference_variance(i, j))
    assert np.allclose(whole.chances(i, j), part.chances(i, j))
    assert np.allclose(whole.decided_chances(i, j), part.decided_chances(i, j))


# -- very many arms --------------------------------------------------------------------------


def test_the_way_for_very_many_arms_finds_the_same(monkeypatch):
    """Same utilities to the solver's precision; a variance from 256 draws has relative deviation sqrt(2/256) = 0.088."""
    rng = np.random.default_rng(3)
    votes = made_votes(rng, rng.normal(size=40), 600)
    dense = fit_utilities(counted(as_vote_table(votes, names(45))))
    monkeypatch.setattr(loss_module, "DENSE_STEPS", 10)
    between = fit_utilities(counted(as_vote_table(votes, names(45))))
    assert np.abs(between.mean - dense.mean).max() < 1e-8
    assert np.allclose(between.covariance, dense.covariance, atol=1e-8)
    monkeypatch.setattr(fit_module, "DENSE", 10)
    sparse = fit_utilities(counted(as_vote_table(votes, names(45))))
    assert sparse.covariance is None
    assert np.abs(sparse.mean - dense.mean).max() < 1e-8
    assert np.abs(sparse.variance / dense.variance - 1.0).max() < 5 * np.sqrt(2 / 256)
    i, j = np.triu_indices(45, 1)
    ratio = sparse.difference_variance(i, j) / dense.difference_variance(i, j)
    assert np.abs(ratio - 1.0).max() < 6 * np.sqrt(2 / 256)


# -- edges -------------------------------------------------------------------------------------


def test_separable_votes_and_no_votes_at_all():
    votes = [vote(k, "a0", "a1", "first") for k in range(1, 2001)]
    board = leaderboard(votes, names(3))
    assert [each.arm for each in board.standings] == ["a0", "a2", "a1"]
    assert 2.0 < board.standings[0].utility < 10.0
    blank = leaderboard([], names(3))
    assert [(each.utility, each.best_rank, each.worst_rank, each.votes) for each in blank.standings] == [
        (0.0, 1, 3, 0)
    ] * 3
    assert sum(each.chance_best for each in blank.standings) == pytest.approx(1.0)
    assert all(abs(each.chance_best - 1 / 3) < 5 * np.sqrt(2 / 9 / DRAWS) for each in blank.standings)
    assert leaderboard([], []).standings == ()
    with_features = leaderboard([], names(3), np.eye(3))
    assert [each.high for each in with_features.standings] == pytest.approx([each.high for each in blank.standings])


def test_skips_votes_undone_and_an_arm_against_itself_teach_nothing():
    votes = [vote(1, "a0", "a1", "first"), vote(2, "a0", "a1", "both_bad")]
    idle = [vote(3, "a0", "a1", "skip"), vote(4, "a1", "a0", None), vote(5, "a0", "a0", "first")]
    assert leaderboard(votes + idle, names(2)) == leaderboard(votes, names(2))
    assert leaderboard(votes, names(2)).votes == 1
    first = leaderboard(votes, names(2)).standings[0]
    assert (first.votes, first.wins, first.ties, first.both_bad) == (2, 1, 0, 1)


def test_top_gives_the_same_rows_fewer(llmfao):
    assert leaderboard(*llmfao, top=7).standings == leaderboard(*llmfao).standings[:7]


def test_progress_says_who_leads_and_who_may_still_win():
    rng = np.random.default_rng(5)
    utilities = np.array([2.0, 0.0, 0.0, -1.0, -1.0])
    early, late = made_votes(rng, utilities, 10), made_votes(rng, utilities, 3000)
    first, last = (progress(votes, names(5)) for votes in (early, late))
    assert not first.done
    assert first.not_ruled_out > 1
    assert (last.leader, last.done, last.not_ruled_out, last.arms, last.votes) == ("a0", True, 1, 5, 3000)
    assert str(last) == "a0 leads and is best with probability 100%; 1 of 5 arms not ruled out after 3000 votes (done)"
    board = leaderboard(early, names(5))
    assert (first.leader, first.chance_best) == (board.standings[0].arm, board.standings[0].chance_best)
    assert first.not_ruled_out >= sum(each.best_rank == 1 for each in board.standings)


def test_a_table_in_words():
    votes = [vote(1, "a0", "a1", "first"), vote(2, "a0", "a1", Outcome.TIE)]
    head, best, _ = str(leaderboard(votes, names(2))).splitlines()
    assert head.split() == ["arm", "utility", "95%", "interval", "rank", "best", "votes", "wins", "ties"]
    assert best.split()[0] == "a0"
    assert best.split()[-3:] == ["2", "1", "1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arms": ["a0"]}, "names the arm 'a1', which is not among the 1 arms"),
        ({"arms": ["a0", "a1", "a0"]}, "arms has 'a0' twice"),
        ({"level": 1.0}, "level is 1.0. Give a number between 0 and 1"),
        ({"ridge": 0.0}, "ridge is 0.0. Give a positive"),
        ({"features": np.ones((3, 2))}, r"features have shape \(3, 2\), but there are 2 arms"),
        ({"top": 0}, "top is 0. Give a whole number"),
    ],
)
def test_what_makes_no_sense_is_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        leaderboard([vote(1, "a0", "a1", "first")], **({"arms": names(2)} | arguments))
