"""Raters: agreement beyond chance against published examples and other computations, and who stands out."""

from dataclasses import replace
from datetime import timedelta
from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from duelist.core.errors import InvalidInput
from duelist.study.analysis import (
    cohen_kappa,
    fit_votes,
    fleiss_kappa,
    krippendorff_alpha,
    leaderboard,
    rater_statistics,
)
from duelist.study.analysis.fit import votes as _log
from duelist.study.analysis.fit.cross_validation import FOLDS, _dealt
from duelist.study.analysis.fit.flagged_raters import REASONS
from duelist.study.records import DuelKind, Outcome
from tests.helpers.model_votes import NOW, davidson_votes, made_votes, names, vote

# -- published examples ------------------------------------------------------------------


def test_fleiss_kappa_of_the_example_in_wikipedia():
    """14 raters, 10 subjects, 5 categories: kappa = 0.210 (https://en.wikipedia.org/wiki/Fleiss'_kappa)."""
    counts = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    assert fleiss_kappa(counts) == pytest.approx(0.210, abs=0.0005)
    with pytest.raises(InvalidInput, match="use krippendorff_alpha"):
        fleiss_kappa([[2, 0], [1, 2]])


def test_alpha_of_the_examples_of_krippendorff():
    """Computing Krippendorff's Alpha-Reliability (2011): A, two observers and binary data; C, four observers with gaps."""
    one, other = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha(_counts([one, other], 2)) == pytest.approx(0.095, abs=0.0005)
    gaps = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    assert krippendorff_alpha(_counts(gaps, 6)) == pytest.approx(0.743, abs=0.0005)


def _counts(raters, categories):
    return [[sum(answer == c for answer in unit) for c in range(categories)] for unit in zip(*raters, strict=True)]


def test_cohen_kappa_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(5):
        one = rng.integers(4, size=60)
        other = np.where(rng.random(60) < 0.5, one, rng.integers(4, size=60))
        table = [[int(((one == a) & (other == b)).sum()) for b in range(4)] for a in range(4)]
        assert cohen_kappa(table) == pytest.approx(cohen_kappa_score(one, other), abs=1e-12)
    assert np.isnan(cohen_kappa(np.zeros((2, 2))))
    assert np.isnan(cohen_kappa([[9, 0], [0, 0]]))
    with pytest.raises(InvalidInput, match=r"table has shape \(2, 3\)"):
        cohen_kappa(np.zeros((2, 3)))


def test_alpha_by_all_pairs_of_answers():
    """1 - observed / expected disagreement, over every pair of answers one by one."""
    rng = np.random.default_rng(1)
    units = [rng.integers(3, size=int(n)).tolist() for n in rng.integers(1, 6, size=40)]
    counted = [unit for unit in units if len(unit) > 1]
    everything = [answer for unit in counted for answer in unit]
    observed = sum(2 * (a != b) / (len(unit) - 1) for unit in counted for a, b in combinations(unit, 2)) / len(
        everything
    )
    expected = np.mean([a != b for a, b in combinations(everything, 2)])
    found = krippendorff_alpha([[unit.count(c) for c in range(3)] for unit in units])
    assert found == pytest.approx(1 - observed / expected, abs=1e-11)


# -- of votes ----------------------------------------------------------------------------


def both_ways(votes):
    """Each vote and its mirror image, as (unit, rater, answer): what the arms of a pair are called is arbitrary."""
    for v in votes:
        low, high = sorted([v.first, v.second])
        won = {"first": v.first, "second": v.second}.get(v.outcome, str(v.outcome))
        yield (low, high, v.context, 0), v.rater, {low: "one", high: "other"}.get(won, won)
        yield (low, high, v.context, 1), v.rater, {low: "other", high: "one"}.get(won, won)


def test_alpha_and_kappa_of_votes_one_by_one():
    rng = np.random.default_rng(2)
    votes = davidson_votes(rng, np.array([1.0, 0.5, -0.5, -1.0]), 160, 0.8, raters=5)
    votes = [replace(v, outcome=Outcome.BOTH_BAD) if rng.random() < 0.1 else v for v in votes]
    votes = [replace(v, context="c") if rng.random() < 0.2 else v for v in votes]
    found = rater_statistics(votes, names(4))
    rows = list(both_ways(votes))
    categories = ["one", "other", "tie", "both_bad"]
    last = {(unit, rater): answer for unit, rater, answer in rows}
    counts = {}
    for (unit, _), answer in last.items():
        counts.setdefault(unit, [0] * 4)[categories.index(answer)] += 1
    assert found.alpha == pytest.approx(krippendorff_alpha(list(counts.values())), abs=1e-12)
    for row in found.rows:
        table = np.zeros((4, 4))
        for unit, rater, answer in rows:
            others = [a for u, r, a in rows if u == unit and r != rater]
            if rater == row.rater and others:
                for other in others:
                    table[categories.index(answer), categories.index(other)] += 1 / len(others)
        assert row.kappa == pytest.approx(cohen_kappa(table), abs=1e-12)


def test_repeats_gold_and_pace_by_hand():
    votes = [
        vote(1, "a", "b", "first", "ana"),
        vote(2, "b", "a", "second", "ana"),  # the same arm again, from the other side
        vote(3, "a", "b", "tie", "ana"),  # changed her mind
        vote(4, "a", "b", "first", "ana", context="other"),  # another question
        vote(5, "a", "b", "first", "ana", kind=DuelKind.GOLD, expected=Outcome.SECOND),
        vote(6, "a", "b", "first", "ben", kind=DuelKind.GOLD, expected=Outcome.FIRST),
        vote(7, "a", "b", "both_bad", "ben"),
    ]
    seconds = [0, 10, 30, 600, 640, 0, 0]
    votes = [replace(v, voted_at=NOW + timedelta(seconds=s)) for v, s in zip(votes, seconds, strict=True)]
    votes.append(replace(vote(8, "a", "b", "first", "cat"), voted_at=None))
    ana, ben, cat = rater_statistics(votes, ["a", "b"]).rows
    assert (ana.repeats, ana.repeat_agreement) == (3, 1 / 3)  # 2 as 1; 3 not as 2; 5 not as 3
    assert (ana.gold, ana.gold_right, ben.gold, ben.gold_right, cat.gold_right) == (1, 0.0, 1, 1.0, None)
    assert ana.votes_per_hour == pytest.approx(3600 / 30)  # gaps of 10, 20, 570, 40 s: the median is 30
    assert (ben.votes_per_hour, cat.votes_per_hour) == (None, None)
    assert (ben.ties, ben.both_bad) == (0, 1)
    assert "gold" in str(rater_statistics(votes, ["a", "b"]))


@pytest.mark.parametrize("seed", range(5))
def test_a_rater_who_answers_at_random_is_found_and_leaving_them_out_restores_the_order(seed):
    """Five good raters and one who flips coins, who gives half of all votes; 12 arms, 6,000 votes.

    Where raters are taken for alike, the utilities shrink to less than 0.65 of what they are; without the coin, or if raters may
    differ, they are right again. 3,000 good votes on 12
    arms determine a utility to about 0.11, so that arms 0.5 apart stand in order but for 3.2 standard deviations of the difference,
    one pair in a thousand.
    """
    rng = np.random.default_rng((11, seed))
    utilities = np.linspace(2.75, -2.75, 12)
    good = davidson_votes(rng, utilities, 3000, 0.5, raters=5)
    coin = davidson_votes(rng, np.zeros(12), 3000, 0.5)
    votes = [*good, *(replace(v, rater="coin", sequence=3000 + k, duel_id=3000 + k) for k, v in enumerate(coin))]
    found = rater_statistics(votes, names(12))
    assert found.flagged == ("coin",)
    row = next(row for row in found.rows if row.rater == "coin")
    assert row.reasons == (REASONS[0],)
    assert row.votes == 3000
    assert row.agreement_model < 0.55 < 0.75 < row.expected_model
    assert all(each.kappa > row.kappa for each in found.rows if each.rater != "coin")
    centred = utilities - utilities.mean()

    def slope(given, **options):
        return fit_votes(given, names(12), **options).posterior.mean @ centred / (centred @ centred)

    without = [v for v in votes if v.rater not in found.flagged]
    assert slope(votes, rater_model=False) < 0.65
    assert abs(slope(votes) - 1.0) < 0.1
    assert abs(slope(without) - 1.0) < 0.1
    order = [s.arm for s in leaderboard(without, names(12)).standings]
    misplaced = sum(order[k] != f"a{k}" for k in range(12))
    assert misplaced <= 2  # one pair of neighbours at most


def test_excluded_raters_have_a_row_and_affect_nobody():
    """Nine raters vote for the worse arm and outvote three honest ones; excluded, they are the ones who are flagged."""
    rng = np.random.default_rng(7)
    honest = made_votes(rng, 1.5 * rng.normal(size=8), 1200, raters=12)
    other = {"first": "second", "second": "first"}
    liars = [f"r{k}" for k in range(9)]
    votes = [replace(v, outcome=Outcome(other[v.outcome])) if v.rater in liars else v for v in honest]
    by_majority = {row.rater: row for row in rater_statistics(votes, names(8)).rows}
    by_honest = {row.rater: row for row in rater_statistics(votes, names(8), excluded=liars).rows}
    assert {name for name, row in by_majority.items() if row.flagged} == {"r9", "r10", "r11"}
    assert {name for name, row in by_honest.items() if row.flagged} == set(liars)
    assert [by_honest[name].excluded for name in liars] == [True] * 9
    assert all(row.reasons == (REASONS[2],) for row in by_honest.values() if row.flagged)


def test_a_rater_with_another_taste_is_not_flagged():
    """On two arms, a rater who always prefers the other one has a taste, or lies: no vote tells which."""
    sides = [("a0", "a1", "first", "second"), ("a1", "a0", "second", "first")]
    votes = [vote(k, *sides[k % 2][:3], "ana") for k in range(1, 41)]
    votes += [vote(40 + k, *sides[k % 2][:2], sides[k % 2][3], f"r{k % 9}") for k in range(1, 361)]
    found = {row.rater: row for row in rater_statistics(votes, names(2)).rows}
    assert found["ana"].agreement_model == 0.0
    assert not found["ana"].flagged
    alone = {row.rater: row for row in rater_statistics(votes, names(2), excluded=[f"r{k}" for k in range(9)]).rows}
    assert alone["ana"].expected_model is None  # nobody is left to compare with
    assert alone["ana"].agreement_others is None


# -- many votes --------------------------------------------------------------------------


def test_groups_stay_when_others_join():
    """Each ten raters who come are dealt into ten groups; who was there stays where they were."""
    groups = _dealt(64, seed=3)
    assert sorted(np.bincount(groups[:60])) == [6] * FOLDS
    assert all(sorted(groups[k : k + 10]) == list(range(10)) for k in range(0, 60, 10))
    assert groups[64] == FOLDS  # nobody we know
    for n in range(64):
        assert _dealt(n, seed=3)[:n].tolist() == groups[:n].tolist()
    assert groups.tolist() != _dealt(64, seed=4).tolist()


def test_numbers_too_large_for_a_table(monkeypatch):
    """Votes are told apart by sorting, then, with the same result."""
    votes = davidson_votes(np.random.default_rng(4), np.array([1.0, 0.0, -1.0]), 200, 0.5, raters=4)
    by_table = rater_statistics(votes, names(3))
    monkeypatch.setattr(_log, "_TABLE", 8)
    assert rater_statistics(votes, names(3)) == by_table


def test_a_judgement_goes_on_from_the_last_one():
    """With the fits of before it says what it says without them, though a rater has joined meanwhile; see `_judging._PRECISION`."""
    votes = davidson_votes(np.random.default_rng(5), np.linspace(1.0, -1.0, 6), 900, 0.3, raters=12)
    before = [v for v in votes if v.rater != votes[-1].rater]
    cross_fits = {}
    rater_statistics(before, names(6), cross_fits=cross_fits)
    later, anew = rater_statistics(votes, names(6), cross_fits=cross_fits), rater_statistics(votes, names(6))
    for one, other in zip(later.rows, anew.rows, strict=True):
        assert one.expected_model == pytest.approx(other.expected_model, abs=1e-6)
        assert replace(one, expected_model=0.0) == replace(other, expected_model=0.0)


def test_votes_that_balance_say_nothing_of_who_agrees():
    """What the others' fit says of them is one half and a rounding, which no statistic is made of."""
    said = [("r1", "a", "b"), ("r0", "b", "c"), ("r2", "c", "b"), ("r1", "b", "c"), ("r1", "b", "a")]
    votes = [vote(k, first, second, "second", rater) for k, (rater, first, second) in enumerate(said, 1)]
    (row,) = (row for row in rater_statistics(votes, ["a", "b", "c"]).rows if row.rater == "r1")
    assert row.agreement_model is None
