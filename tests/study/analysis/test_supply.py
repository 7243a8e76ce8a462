"""Few raters: a study says why it cannot be decided, forecasts nothing that its raters cannot give, and warns before it starts."""

from __future__ import annotations

import itertools

import pytest

from duelist.core.errors import NothingToAsk
from duelist.study import Study, create_study
from duelist.study.administration.tokens import create_token
from duelist.study.analysis.raters.supply import raters_to_plan

N_ARMS = 8


@pytest.fixture
def study() -> Study:
    made = create_study("few raters", "memory", goal="best")
    made.add_arms([str(k) for k in range(N_ARMS)])
    return made


def ask_until_nothing_is_left(study: Study, raters: list[str], most: int = 10**6) -> int:
    """Have raters prefer the larger id until nobody can be asked, and return the number of votes."""
    for count in range(most):
        for rater in raters:
            try:
                duel = study.ask(rater)
            except NothingToAsk:
                continue
            study.tell(duel, "first" if int(duel.first.id) > int(duel.second.id) else "second", rater=rater)
            break
        else:
            return count
        raters = [*raters[1:], raters[0]]
    return most


def test_exhausted_pairs_are_the_cause(study: Study) -> None:
    """Two raters give at most two votes per pair; afterwards no number of votes is forecast, and raters are asked for."""
    assert ask_until_nothing_is_left(study, ["ana", "ben"]) == N_ARMS * (N_ARMS - 1)
    found = study.can_stop()
    assert not found.done
    assert found.votes_expected is None
    assert "your 2 raters have answered every useful pair: invite about" in found.statement
    assert found.statement.endswith("or allow repeated pairs")
    assert found.raters_needed is not None
    assert found.raters_needed > 2
    for also in (study.recommend(), study.progress()):
        assert also.votes_expected is None
        assert "your 2 raters have answered every useful pair: invite about" in str(also)


@pytest.mark.filterwarnings("ignore::duelist.core.errors.DisconnectedArms")
def test_forecasts_stay_within_what_raters_can_give(study: Study) -> None:
    raters = ["ana", "ben", "cleo"]
    for _ in range(6):
        ask_until_nothing_is_left(study, raters, 10)
        found = study.can_stop()
        left = len(raters) * N_ARMS * (N_ARMS - 1) // 2 - len(study)
        assert found.done or found.votes_expected is None or found.votes_expected <= left
        assert study.recommend().votes_expected == study.progress().votes_expected == found.votes_expected


def test_repeated_pairs_lift_the_limit(study: Study) -> None:
    ask_until_nothing_is_left(study, ["ana", "ben"])
    study.change(repeat_pairs=1)
    assert "invite" not in study.can_stop().statement


def test_more_raters_can_decide(study: Study) -> None:
    """The number of raters that is asked for suffices, within a factor of two."""
    ask_until_nothing_is_left(study, ["ana", "ben"])
    needed = study.can_stop().raters_needed
    assert needed is not None
    ask_until_nothing_is_left(study, [f"rater {k}" for k in range(2 * needed)])
    assert study.can_stop().done


@pytest.mark.parametrize("goal", ["best", "serve", "rank"])
def test_a_warning_before_the_first_vote(goal: str) -> None:
    study = create_study("new", "memory", goal=goal)
    study.add_arms([str(k) for k in range(N_ARMS)])
    planned = raters_to_plan(N_ARMS, 0.05)
    assert f"few raters may not decide it: plan about {planned} raters" in study.can_stop().statement
    for rater in ("ana", "ben"):
        create_token(study._storage, "rater", study=study.id, rater=rater)
    assert "2 raters may not decide it" in study.can_stop().statement
    for k in range(planned):
        create_token(study._storage, "rater", study=study.id, rater=f"rater {k}")
    assert study.can_stop().statement == "there are no votes yet"


def test_the_plan_separates_a_clear_pair() -> None:
    """With two items, each rater votes once on the only pair: the planned number of such votes decides the study, fewer do not."""
    planned = raters_to_plan(2, 0.05)
    outcomes = itertools.cycle(["first", "first", "first", "second"])
    study = create_study("two items", "memory", goal="best", policy="UniformPair")
    study.add_arms(["good", "bad"])
    for k, outcome in zip(range(2 * planned), outcomes, strict=False):
        duel = study.ask(f"rater {k}")
        good_won = (outcome == "first") == (duel.first.id == "good")
        study.tell(duel, "first" if good_won else "second", rater=f"rater {k}")
        if k < planned // 2:
            assert not study.can_stop().done
    assert study.can_stop().done
