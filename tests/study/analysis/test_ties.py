"""Ties: logs simulated from Davidson's model, and what is read out of them."""

import numpy as np
import pytest

from duelist.model.answers import PAIR_WITH_TIES
from duelist.model.posterior import Coefficients, Posterior, outcome_chances
from duelist.study.analysis import as_vote_table, fit_votes, leaderboard, progress, win_chances
from tests.helpers.model_votes import davidson_votes, names, vote

UTILITIES = np.array([1.2, 0.8, 0.3, 0.0, -0.4, -0.7, -1.2])
CENTRED = UTILITIES - UTILITIES.mean()


@pytest.mark.parametrize(("nu", "share"), [(0.0, 0.0), (0.5, 0.17), (1.5, 0.38)])
def test_utilities_are_unbiased_and_intervals_hold(nu, share):
    """100 logs of 2,000 votes with 0, 17 and 38 % ties.

    The mean of the estimates has a standard error of their deviation over 10 (100 logs), so that the slope of the means on the
    truth has about half / 1.96 / 10 / |truth|; four of it and the shrinkage of the ridge, 1 over the information of some 120, must
    cover the difference to 1. Coverage: as in the test below, four standard errors of the mean over logs.
    """
    runs, slopes, held, tied = 100, [], [], []
    for seed in range(runs):
        votes = davidson_votes(np.random.default_rng(seed), UTILITIES, 2000, nu)
        posterior = fit_votes(votes, names(7)).posterior
        slopes.append(posterior.mean @ CENTRED / (CENTRED @ CENTRED))
        held.append(np.mean(np.abs(posterior.mean - CENTRED) <= 1.959964 * np.sqrt(posterior.variance)))
        tied.append(np.mean([v.outcome == "tie" for v in votes]))
    assert np.mean(tied) == pytest.approx(share, abs=0.02)
    assert abs(np.mean(slopes) - 1.0) < 4 * np.std(slopes) / np.sqrt(runs) + 0.015
    assert abs(np.mean(held) - 0.95) < 4 * np.std(held) / np.sqrt(runs) + 0.005


@pytest.mark.parametrize("nu", [0.5, 1.5])
def test_half_wins_would_shrink_utilities(nu):
    """What a tie counted as half a win each gave: the same votes, each tie as one win each way at half the weight."""
    votes = davidson_votes(np.random.default_rng(0), UTILITIES, 20_000, nu)
    halves = [
        vote(k, v.first, v.second, side) for k, (v, side) in enumerate((v, side) for v in votes for side in _sides(v))
    ]
    shrunk, right = (fit_votes(given, names(7)).posterior.mean for given in (halves, votes))
    slope = CENTRED @ CENTRED
    assert shrunk @ CENTRED / slope < 0.85
    assert abs(right @ CENTRED / slope - 1.0) < 0.05


def _sides(v):
    """A vote of weight two: twice the winner, or once each."""
    return ("first", "second") if v.outcome == "tie" else (v.outcome, v.outcome)


@pytest.mark.parametrize(("nu", "votes"), [(0.0, 60), (0.6, 60), (1.75, 60), (0.6, 600), (1.75, 600)])
def test_intervals_hold_as_often_as_they_say_with_ties(nu, votes):
    """Utilities from the prior, votes from the model: each 95% interval holds with chance 0.95 but for Laplace's error.

    Runs are independent and the intervals of one are not: the standard error is that of the mean over runs of the share
    that held in each. Four of it, and 0.02 for Laplace, must cover the difference; 1,000 logs of each kind are in
    docs/evidence/intervals.md.
    """
    runs, n, held = 120, 6, []
    for seed in range(runs):
        rng = np.random.default_rng((7, seed))
        utilities = rng.normal(size=n)
        posterior = fit_votes(davidson_votes(rng, utilities, votes, nu), names(n)).posterior
        truth = utilities - utilities.mean()
        held.append(np.mean(np.abs(posterior.mean - truth) <= 1.959964 * np.sqrt(posterior.variance)))
    assert abs(np.mean(held) - 0.95) < 4 * np.std(held) / np.sqrt(runs) + 0.02


def test_the_share_of_ties_is_found():
    """Of equal arms nu / (2 + nu) are tied: 0.3 for nu = 6/7. 20,000 votes find it to 4 sqrt(.21 / 20,000) = 0.013."""
    votes = davidson_votes(np.random.default_rng(1), np.zeros(4), 20_000, 6 / 7)
    assert abs(leaderboard(votes, names(4)).tie_share - 0.3) < 0.013


def test_chances_of_outcomes_are_those_that_are_drawn():
    """By Gauss and Hermite against 400,000 draws of the gap: errors of at most 5 sqrt(.25 / 400,000) = 0.004."""
    fitted = Coefficients(np.zeros(2), 0.0, np.zeros(0), np.log([0.8]))
    covariance = np.array([[0.5, -0.5], [-0.5, 0.5]])
    posterior = Posterior(np.array([0.4, -0.4]), covariance, answer=PAIR_WITH_TIES, fitted=fitted)
    gap = 0.8 + np.sqrt(2.0) * np.random.default_rng(0).normal(size=400_000)
    one, other = np.exp(gap / 2), np.exp(-gap / 2)
    win, tie = posterior.chances(np.array([0]), np.array([1]))
    assert abs(win[0] - np.mean(one / (one + other + 0.8))) < 0.004
    assert abs(tie[0] - np.mean(0.8 / (one + other + 0.8))) < 0.004
    assert abs(posterior.decided_chances(np.array([0]), np.array([1]))[0] - np.mean(one / (one + other))) < 0.02


def test_outcome_chances_do_not_overflow():
    for nu in (0.0, 1.0):
        for gap in (-2000.0, 2000.0):
            chances = outcome_chances(np.array([gap]), nu)
            assert [float(c[0]) for c in chances] == ([1.0, 0.0, 0.0] if gap > 0 else [0.0, 0.0, 1.0])


def test_win_chances_are_those_of_what_happens():
    """The 42 chances of a fit to 30,000 votes against the shares of another 30,000: errors of both are some sqrt(.25 / 1,400)."""
    seen, new = (davidson_votes(np.random.default_rng(seed), UTILITIES, 30_000, 1.0) for seed in (2, 3))
    found = win_chances(seen, names(7))
    for i, j in ((0, 1), (0, 6), (3, 4), (5, 2)):
        pair = [v for v in new if {v.first, v.second} == {f"a{i}", f"a{j}"}]
        won = np.mean([v.outcome == ("first" if v.first == f"a{i}" else "second") for v in pair])
        tied = np.mean([v.outcome == "tie" for v in pair])
        error = 6 * np.sqrt(0.25 / len(pair))
        assert abs(found.win[i, j] - won) < error
        assert abs(found.tie[i, j] - tied) < error
    assert np.allclose(found.win + found.win.T + found.tie, 1.0 - np.eye(7))


def test_both_bad_changes_nothing_but_its_own_count():
    """Two bad arms are called bad together again and again; that does not make them equal, nor better or worse."""
    votes = davidson_votes(np.random.default_rng(4), UTILITIES, 500, 0.5)
    bad = [vote(1000 + k, "a5", "a6", "both_bad") for k in range(300)]
    without, with_bad = leaderboard(votes, names(7)), leaderboard(votes + bad, names(7))
    assert [s.utility for s in with_bad.standings] == [s.utility for s in without.standings]
    assert {s.arm: s.both_bad for s in with_bad.standings} == {f"a{k}": 300 * (k > 4) for k in range(7)}
    assert with_bad.votes == without.votes == 500
    assert "both bad" in str(with_bad)
    assert "both bad" not in str(without)


def test_only_ties_and_a_single_tie():
    """All that is known is finite: half a tie between equals is the prior."""
    ties = [vote(k, "a0", "a1", "tie") for k in range(1, 51)]
    board = leaderboard(ties, names(2))
    assert board.standings[0].utility == pytest.approx(0.0, abs=1e-12)
    assert 0.9 < board.tie_share < 1.0
    single = leaderboard([vote(1, "a0", "a1", "tie")], names(2))
    assert 0.2 < single.tie_share < 1.0


def test_stopping_waits_for_the_truth_with_ties():
    """Two arms that are nearly equal, many ties: of 100 logs looked at after every 50 votes, the rule may name the wrong one in 5,
    and in more than binom.isf(1e-3, 100, 0.05) = 12 with probability under 0.1 %."""
    wrong = decided = 0
    for seed in range(100):
        votes = davidson_votes(np.random.default_rng((9, seed)), np.array([0.25, 0.0]), 1500, 1.5)
        log = as_vote_table(votes, names(2))
        for n in range(50, 1501, 50):
            found = progress(log.of(slice(0, n)), names(2))
            if found.done:
                decided += 1
                wrong += found.leader != "a0"
                break
    assert wrong <= 12
    assert decided > 20


def test_the_ridge_is_found():
    """Utilities of standard deviation 3, 40 arms, many votes: the variance is found to 4 sqrt(2/39) of it, and the prior's part."""
    rng = np.random.default_rng(5)
    utilities = 3.0 * rng.normal(size=40)
    votes = davidson_votes(rng, utilities, 20_000, 0.5)
    posterior = fit_votes(votes, names(40), ridge="auto").posterior
    assert abs(1 / posterior.ridge / np.var(utilities, ddof=1) - 1.0) < 0.25
    x = np.eye(40)[:, :] + 1e-9 * rng.normal(size=(40, 40))
    linear = fit_votes(votes, names(40), x, ridge="auto").posterior
    assert linear.ridge == pytest.approx(posterior.ridge, rel=0.05)  # the same but for the direction of the origin
