"""Win matrix, calibration, raters, regret and figures, each against a computation of its own."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from duelist.core.errors import InvalidInput
from duelist.study.analysis import (
    calibration,
    draw_calibration,
    draw_leaderboard,
    draw_win_matrix,
    estimated_regret,
    leaderboard,
    rater_statistics,
    regret,
    win_matrix,
)
from duelist.study.analysis.fit.flagged_raters import REASONS
from duelist.study.analysis.fit.utilities import fit_utilities
from duelist.study.analysis.fit.votes import as_vote_table, counted
from duelist.study.analysis.intervals import binomial_interval
from duelist.study.records import ChosenBy
from tests.helpers.model_votes import made_votes, names, vote

RANDOM, ONE_SIDED, REVERSED = REASONS


def test_binomial_intervals_are_those_of_scipy():
    for k, n, level in [(0, 7, 0.95), (3, 7, 0.9), (7, 7, 0.5), (40, 100, 0.99), (0, 0, 0.95)]:
        exact = binomtest(k, n).proportion_ci(level, method="exact") if n else (0.0, 1.0)
        assert binomial_interval(k, n, level) == pytest.approx(tuple(exact), abs=1e-9)


# -- win matrix --------------------------------------------------------------------------


def test_the_win_matrix_counts_what_was_said_and_looks_at_no_other_arm():
    votes = [
        vote(1, "a", "b", "first"),
        vote(2, "b", "a", "first"),
        vote(3, "b", "a", "tie"),
        vote(4, "a", "c", "both_bad"),
        vote(5, "a", "b", "skip"),
        vote(6, "a", "z", "first"),
    ]
    found = win_matrix(votes, ["a", "b", "c"])
    assert found.wins.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert found.ties.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert found.both_bad.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert found.votes.tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 0]]
    assert found.shares[0, 1] == 0.5
    assert np.isnan(found.shares[0, 2])
    assert str(found).splitlines()[1].split() == ["a", "-", "0.50", "(3)", "-"]
    assert str(found).splitlines()[-1] == "1 votes for 'both bad' are not shown"


# -- calibration -------------------------------------------------------------------------


def test_votes_from_the_model_are_calibrated_and_others_are_not():
    """Each exact 99.9% interval of ten misses with chance 0.001, but for what the fit itself errs. A fit held near zero
    by its ridge predicts about a half for everything, and is found out."""
    rng = np.random.default_rng(0)
    votes = made_votes(rng, rng.normal(size=12), 4000)
    found = calibration(votes, names(12), level=0.999)
    assert sum(each.votes for each in found.bins) == found.votes == 4000
    assert all(each.low <= each.predicted <= each.high for each in found.bins)
    assert all(each.start <= each.predicted <= each.stop for each in found.bins)
    assert found.log_loss < np.log(2)
    shy = calibration(votes, names(12), level=0.999, ridge=1e4)
    assert not all(each.low <= each.predicted <= each.high for each in shy.bins)
    assert shy.error > found.error


def test_a_vote_is_not_predicted_from_itself():
    """Coin flips on pairs that meet once: a fit that had seen them would predict better than a coin."""
    rng = np.random.default_rng(1)
    pairs = [(i, j) for i, j in product(range(20), repeat=2) if i < j]
    votes = [
        vote(k + 1, f"a{i}", f"a{j}", "first" if rng.random() < 0.5 else "second") for k, (i, j) in enumerate(pairs)
    ]
    assert calibration(votes, names(20), ridge=0.1).log_loss > np.log(2)


def test_calibration_by_hand():
    """No votes to learn from in the other fold: everything is predicted at a half."""
    votes = [vote(1, "a0", "a1", "first"), vote(2, "a2", "a3", "tie")]
    (only,) = calibration(votes, names(4), folds=2).bins
    assert only.predicted == pytest.approx(0.5, abs=1e-12)
    assert (only.observed, only.votes) == (0.75, 2)
    with pytest.raises(InvalidInput, match=r"folds is 1\. Give a whole number of at least 2"):
        calibration(votes, names(4), folds=1)
    assert calibration([], names(2)).bins == ()


# -- raters ------------------------------------------------------------------------------


def test_statistics_by_hand():
    votes = [
        vote(1, "a", "b", "first", "ana", response_seconds=1.0),
        vote(2, "b", "a", "second", "ana", response_seconds=5.0),
        vote(3, "a", "b", "tie", "ana", response_seconds=2.0),
        vote(4, "a", "b", "skip", "ana"),
        vote(5, "a", "b", "first", "bob"),
        vote(6, "a", "b", "second", "bob"),
        vote(7, "a", "b", "second", "bob", context="other"),
        vote(8, "a", "b", "second", None),
    ]
    ana, bob = rater_statistics(votes, ["a", "b"]).rows
    assert (ana.rater, ana.votes, ana.ties, ana.skips, ana.median_seconds) == ("ana", 4, 1, 1, 2.0)
    assert ana.first_share == 0.5
    assert (ana.first_low, ana.first_high) == pytest.approx(binomial_interval(1, 2, 0.95))
    assert ana.agreement_others == pytest.approx(1 / 3)  # others on a, b without context: one for a, two for b
    assert bob.agreement_others == pytest.approx((2 / 3 + 1 / 3) / 2)  # ana twice for a; somebody once for b
    assert bob.median_seconds is None
    assert bob.votes == 3
    assert bob.first_share == pytest.approx(1 / 3)
    assert not ana.flagged


def test_agreement_with_the_fit_leaves_the_rater_out():
    """Ana alone says a0; the others all say a1: with her own excluded the fit favours a1, and she never agrees."""
    votes = [vote(k, "a0", "a1", "first", "ana") for k in range(1, 101)]
    votes += [vote(100 + k, "a0", "a1", "second", f"r{k % 9}") for k in range(1, 91)]
    by_name = {row.rater: row for row in rater_statistics(votes, names(2)).rows}
    assert by_name["ana"].agreement_model == 0.0


def test_contrarians_and_people_who_click_on_one_side_are_found():
    rng = np.random.default_rng(2)
    votes = made_votes(rng, 1.5 * rng.normal(size=8), 1500, raters=10)
    other = {"first": "second", "second": "first"}
    odd = [
        vote(v.sequence, v.first, v.second, other[v.outcome] if v.rater == "r3" else "first" if v.rater == "r7" else v.outcome, v.rater)
        for v in votes
    ]  # fmt: skip
    found = {row.rater: row for row in rater_statistics(odd, names(8)).rows}
    assert REVERSED in found["r3"].reasons
    assert ONE_SIDED in found["r7"].reasons
    assert found["r7"].first_share == 1.0
    assert {rater for rater, row in found.items() if row.flagged} == {"r3", "r7"}
    assert found["r0"].agreement_model > found["r3"].agreement_model
    assert "prefers a side" in str(rater_statistics(odd, names(8)))


def test_ties_do_not_make_anybody_an_outlier():
    """Two votes in three become ties at random: decided votes follow the same chances as before."""
    rng = np.random.default_rng(3)
    votes = made_votes(rng, 2.0 * rng.normal(size=6), 1500, raters=6)
    tied = [vote(v.sequence, v.first, v.second, v.outcome if rng.random() < 1 / 3 else "tie", v.rater) for v in votes]
    rows = rater_statistics(tied, names(6)).rows
    assert not any(row.flagged for row in rows)
    decided = [row.votes - row.ties for row in rows]
    error = np.sqrt(0.25 / sum(decided))
    agreed, expected = (
        np.average([getattr(r, n) for r in rows], weights=decided) for n in ("agreement_model", "expected_model")
    )
    assert abs(agreed - expected) < 4 * error + 0.02  # 0.02: what the fit itself errs


# -- regret ------------------------------------------------------------------------------


def test_estimated_regret_is_the_true_one_within_its_interval():
    """The policy asks the two best of five arms; 99.9% intervals of a correct model miss with chance 0.001 each."""
    rng = np.random.default_rng(4)
    utilities = np.array([1.0, 0.6, 0.0, -0.5, -1.1])
    random = made_votes(rng, utilities, 4000, chosen_by=ChosenBy.RANDOM)
    policy = [vote(5000 + k, "a0", "a1", "first", chosen_by=ChosenBy.POLICY) for k in range(50)]
    found = estimated_regret(random + policy, names(5), level=0.999)
    gap = utilities.max() - utilities
    true_policy = (gap[0] + gap[1]) / 2
    true_random = np.mean([gap[int(v.first[1:])] + gap[int(v.second[1:])] for v in random]) / 2
    assert found.policy.low < true_policy < found.policy.high
    assert found.random.low < true_random < found.random.high
    assert found.saved.low < true_random - true_policy < found.saved.high
    assert found.policy.high - found.policy.low < 0.5
    assert (found.policy_duels, found.random_duels) == (50, 4000)
    assert "inverse of its chance" in str(found)


def test_what_the_policy_learned_from_does_not_judge_it():
    """Votes on the policy's own duels change nothing: all of them for the worse arm would otherwise turn the order."""
    rng = np.random.default_rng(5)
    random = made_votes(rng, np.array([1.0, 0.0, -1.0]), 500, chosen_by=ChosenBy.RANDOM)
    good, bad = (
        [vote(1000 + k, "a0", "a1", o, chosen_by=ChosenBy.POLICY) for k in range(300)] for o in ("first", "second")
    )
    assert estimated_regret(random + good, names(3)) == estimated_regret(random + bad, names(3))


def test_weights_are_inverse_chances():
    """A pair asked with twice the chance, and voted on twice as often, weighs as much as the other: 4.5 each of 9 votes,
    against 3 each of 6, so that the fit is the same with 3/2 of the ridge."""

    def random(copies, chance):
        outcomes = ["first", "first", "second"]
        often = [
            vote(k, "a0", "a1", o, chosen_by=ChosenBy.RANDOM, propensity=chance)
            for k, o in enumerate(outcomes * copies)
        ]
        return often + [
            vote(99 + k, "a1", "a2", o, chosen_by=ChosenBy.RANDOM, propensity=0.2) for k, o in enumerate(outcomes)
        ]

    def utilities(votes, ridge):
        log = as_vote_table(votes, names(3))
        return fit_utilities(counted(log, regret._weights(log.propensity)), ridge=ridge).mean

    assert np.allclose(utilities(random(2, 0.4), 1.5), utilities(random(1, 0.2), 1.0), atol=1e-12)
    assert not np.allclose(utilities(random(2, None), 1.5), utilities(random(1, 0.2), 1.0), atol=1e-3)
    policy = [vote(900, "a0", "a1", "first", chosen_by=ChosenBy.POLICY)]
    even, odd = (estimated_regret(random(2, chance) + policy, names(3)) for chance in (0.2, 0.4))
    assert abs(even.policy.value - odd.policy.value) > 1e-3
    with pytest.raises(InvalidInput, match=r"has the chance 0.0. Give a probability"):
        estimated_regret(random(1, 0.0) + policy, names(3))


def test_the_best_of_a_group_and_a_duel_of_several_votes():
    rng = np.random.default_rng(6)
    random = made_votes(rng, np.array([3.0, 2.0, 0.0, -1.0]), 3000, chosen_by=ChosenBy.RANDOM)
    policy = [vote(5000 + k, "a2", "a3", "first", chosen_by=ChosenBy.POLICY, duel_id=9999) for k in range(5)]
    everyone = estimated_regret(random + policy, names(4))
    grouped = estimated_regret(random + policy, names(4), groups=["p", "p", "q", "q"])
    assert everyone.policy_duels == grouped.policy_duels == 1
    assert abs(everyone.policy.value - 3.5) < 0.5  # 3 - (0 - 1)/2; the interval is about 0.3 either way
    assert abs(grouped.policy.value - 0.5) < 0.2
    with pytest.raises(InvalidInput, match="groups has 1 entries, but there are 4 arms"):
        estimated_regret(random + policy, names(4), groups=["p"])


@pytest.mark.parametrize(("kept", "missing"), [(ChosenBy.RANDOM, "by the policy"), (ChosenBy.POLICY, "at random")])
def test_regret_needs_both_kinds_of_duels(kept, missing):
    with pytest.raises(InvalidInput, match=f"No vote is on a duel chosen {missing}"):
        estimated_regret([vote(1, "a0", "a1", "first", chosen_by=kept)], names(2))


# -- figures -----------------------------------------------------------------------------


def test_figures_show_what_was_read(tmp_path):
    rng = np.random.default_rng(7)
    votes = made_votes(rng, rng.normal(size=6), 300)
    board, found, matrix = leaderboard(votes, names(6)), calibration(votes, names(6)), win_matrix(votes, names(6))
    drawn = draw_leaderboard(board, top=4)
    axes, ranks = drawn.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [each.arm for each in board.standings[:4]]
    assert ranks.get_yticklabels()[0].get_text().startswith("1")
    assert axes.get_title("left") == "best 4 of 6, 300 votes"
    above: Any
    below: Any
    above, below = draw_calibration(found).axes
    assert above.containers[0].lines[0].get_ydata().tolist() == [each.observed for each in found.bins]
    assert [bar.get_height() for bar in below.patches] == [each.votes for each in found.bins]
    pairs = draw_win_matrix(matrix)
    assert np.allclose(
        np.ma.filled(pairs.axes[0].images[0].get_array(), -1), np.where(np.isnan(matrix.shares), -1, matrix.shares)
    )
    assert len(pairs.axes[0].texts) == (matrix.votes > 0).sum()
    for k, figure in enumerate((drawn, draw_calibration(found), pairs, draw_leaderboard(leaderboard([], [])), draw_calibration(
            calibration([], names(2))))):  # fmt: skip
        figure.savefig(tmp_path / f"{k}.png", dpi=40)


def test_held_out_votes_are_predicted_for_their_raters():
    """Of eight raters two vote for the worse item: as soon as a test says so, calibration knows them."""
    rng = np.random.default_rng(3)
    utilities, votes = np.linspace(1.5, -1.5, 6), []
    for k in range(1200):
        one, other = rng.permutation(6)[:2]
        sign = -1.0 if k % 8 < 2 else 1.0
        wins = rng.random() < 1.0 / (1.0 + np.exp(-sign * (utilities[one] - utilities[other])))
        votes.append(vote(k, f"a{one}", f"a{other}", "first" if wins else "second", rater=f"r{k % 8}"))
    known = calibration(votes, names(6))
    nobody = calibration([replace(each, rater=None) for each in votes], names(6))
    assert known.log_loss < nobody.log_loss - 0.05
