"""Flagged raters are named in every decision, with what changes without their votes."""

import numpy as np
import pytest
from scipy.special import expit

from duelist.core.errors import InvalidInput
from duelist.study import create_study
from duelist.study.analysis import rater_statistics
from duelist.study.analysis.fit.flagged_raters import REASONS, FlaggedRater, describe_flagged

RATERS = ("coin", "left", "weak", "ana", "ben", "cem", "dan", "eva")
VOTES = 1200


def voted(goal, careless=True):
    """A study whose eight raters answer what its policy asks: one at random, one always left, one with reliability 0.4."""
    rng = np.random.default_rng(1)
    utilities = 1.5 * rng.normal(size=8)
    study = create_study("careless", "memory", goal=goal, repeat_pairs=1)
    study.add_arms([f"a{k}" for k in range(8)])
    for t in range(VOTES):
        rater = RATERS[t % 8]
        asked = study.ask(rater=rater)
        gap = utilities[int(asked.first.id[1:])] - utilities[int(asked.second.id[1:])]
        chance = expit(gap * (0.4 if rater == "weak" else 1.0))
        if careless:
            chance = {"coin": 0.5, "left": 1.0}.get(rater, chance)
        study.tell(asked, "first" if rng.random() < chance else "second", rater=rater)
    return study, utilities


@pytest.fixture(scope="module", params=["rank", "best"])
def careless(request):
    return voted(request.param)


def test_every_decision_names_flagged_raters_and_what_changes_without_them(careless):
    study, _ = careless
    found = [study.can_stop(), study.recommend(), study.progress(), study.leaderboard()]
    names = {each.rater for each in found[0].flagged}
    assert "left" in names <= {"coin", "left"}
    assert next(each for each in found[0].flagged if each.rater == "left").reason == REASONS[1]
    for each in found:
        assert {flag.rater for flag in each.flagged} == names
        assert "left" in each.flagged_note
        assert "without their votes" in each.flagged_note
        assert each.flagged_note in str(each)
    assert {row.rater for row in study.raters().rows if row.flagged} == names
    alone = study.can_stop(without=names)
    assert not {flag.rater for flag in alone.flagged} & names
    same = alone.leader == found[0].leader and alone.done == found[0].done
    assert ("still leads, and the decision is the same" in found[0].flagged_note) == same


def test_the_owner_can_take_raters_for_alike(careless):
    study, utilities = careless
    plain, modelled = (study.leaderboard(rater_model=choice) for choice in (False, True))
    assert plain.flagged == ()
    assert plain.flagged_note == ""

    def error(board):
        by_arm = {row.arm: row.utility for row in board.standings}
        return np.abs([by_arm[f"a{k}"] for k in range(8)] - (utilities - utilities.mean())).mean()

    assert error(modelled) < error(plain)
    assert study.leaderboard() == modelled
    with pytest.raises(InvalidInput, match="rater_model is 'sometimes'"):
        study.leaderboard(rater_model="sometimes")


def test_a_weak_rater_is_not_flagged_and_alike_raters_change_nothing(careless):
    weak = next(row for row in careless[0].raters().rows if row.rater == "weak")
    assert not weak.flagged
    assert weak.reliability_low < weak.reliability < weak.reliability_high
    study, _ = voted("rank", careless=False)
    assert not study.raters().flagged
    assert study.can_stop().flagged == ()


def test_history_leaves_flagged_raters_out(careless):
    study, _ = careless
    flagged = [each.rater for each in study.can_stop().flagged]
    whole, without = study.history(points=3), study.history(points=3, without=flagged)
    assert whole.votes[-1] == VOTES
    assert whole.chance_best[-1] == pytest.approx(without.chance_best[-1], abs=1e-12)
    every = study.history(points=3, rater_model=False)
    assert not np.allclose(every.chance_best[-1], whole.chance_best[-1], atol=1e-6)


def test_votes_without_raters_have_none():
    assert rater_statistics([], ["a"]).rows == ()


def test_reasons_are_put_together():
    flags = [FlaggedRater(name, REASONS[k], 1.0) for name, k in (("a", 0), ("b", 1), ("c", 0))]
    assert describe_flagged(tuple(flags)) == "a and c answer at random, b prefers a side"
