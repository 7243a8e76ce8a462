"""Plans of studies: what they expect, from pilots too, and what they reject."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import duelist as dl
from duelist.core.errors import InvalidInput
from duelist.policies.goals import policy_for
from duelist.study.analysis.fit.study_fit import StudyFit, fit_votes
from duelist.study.analysis.fit.votes import VoteTable
from duelist.study.planning.plan import effect_of, plan_study, spread_for
from duelist.study.planning.simulated_study import Design, simulate_study


def test_the_effect_is_the_share_of_votes_of_the_better_of_two_items() -> None:
    """Compared with draws: the mean over 200,000 pairs is within 5 standard errors of at most 0.5 / sqrt(200,000)."""
    rng = np.random.default_rng(0)
    for effect in (0.55, 0.7, 0.9):
        u = spread_for(effect) * rng.normal(size=(200_000, 2))
        observed = expit(np.abs(u[:, 0] - u[:, 1])).mean()
        assert observed == pytest.approx(effect, abs=5 * 0.5 / np.sqrt(200_000))
    assert effect_of(0.0) == pytest.approx(0.5)


def test_clear_items_and_many_votes_give_the_right_decision() -> None:
    found = plan_study(4, raters=200, votes_per_rater=6, effect=0.9, runs=10, tolerance=0.3, unit="chance")
    assert found.chance_decided == 1.0
    assert found.votes_needed is not None
    assert found.votes_needed <= found.budget == 1200
    assert found.advice == ""


def test_too_few_votes_give_no_decision_and_advice() -> None:
    found = plan_study(30, raters=2, votes_per_rater=10, effect=0.6, runs=5)
    assert found.chance_decided == 0.0
    assert found.votes_needed is None
    assert found.votes == (20, 20, 20)
    assert "plan more raters" in found.advice
    assert found.advice in str(found)


def test_a_rater_answers_a_pair_once_unless_repeats_are_allowed() -> None:
    assert plan_study(3, raters=5, votes_per_rater=50, runs=1).budget == 5 * 3
    assert plan_study(3, raters=5, votes_per_rater=50, runs=1, repeat_pairs=True).budget == 5 * 50


def test_simulated_raters_see_no_pair_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    tables: list[VoteTable] = []

    def recorded(table: VoteTable, ids: list[str], **options: Any) -> StudyFit:
        tables.append(table)
        return fit_votes(table, ids, **options)

    monkeypatch.setattr("duelist.study.planning.simulated_study.fit_votes", recorded)
    design = Design(5, "best", 4, 8, None, 0.0, "utility", 0.05, False)
    rng = np.random.default_rng(0)
    end = simulate_study(design, policy_for("best", features=False, random_state=0), np.zeros(5), rng)
    last = tables[-1]
    pairs = {(r, min(a, b), max(a, b)) for r, a, b in zip(last.rater, last.first, last.second, strict=True)}
    assert len(pairs) == len(last) == end.votes
    assert np.bincount(last.rater).max() <= 8


def test_the_same_seed_gives_the_same_plan_and_money_is_counted() -> None:
    one, other = (plan_study(6, raters=4, votes_per_rater=15, runs=3, seed=5, pay_per_rater=2.5) for _ in range(2))
    assert one == other
    assert one.most_cost == 10.0
    assert one.costs[2] <= one.most_cost
    assert one != plan_study(6, raters=4, votes_per_rater=15, runs=3, seed=6, pay_per_rater=2.5)
    assert plan_study(6, raters=4, votes_per_rater=15, runs=1, pay_per_vote=0.1).most_cost == pytest.approx(6.0)


@pytest.mark.parametrize("goal", ["best", "rank", "learn", "serve"])
def test_every_goal_can_be_planned(goal: str) -> None:
    found = plan_study(5, goal, raters=3, votes_per_rater=10, runs=2)
    assert found.goal == goal
    assert 0.0 <= found.agreement <= 1.0
    assert found.to_dict()["curve"][-1]["votes"] == 30
    assert found.to_pandas().shape == (2, 5)


def test_an_order_is_right_if_each_place_is() -> None:
    """With many votes on clear items, the order of the first two of four is right whenever it is decided."""
    found = plan_study(4, "rank", top=2, raters=100, votes_per_rater=6, effect=0.95, runs=5)
    assert all(end.right for end in found.ends if end.decided)
    assert found.chance_wrong == 0.0


def test_a_pilot_gives_the_effect() -> None:
    """Votes that always prefer the earlier item have a larger effect than votes that prefer none."""

    def pilot(name: str, *, is_clear: bool) -> dl.Study:
        study = dl.create_study(name, storage="memory", goal="best")
        study.add_arms([f"item {k}" for k in range(5)])
        for repetition, (one, other) in itertools.product(range(4), itertools.combinations(range(5), 2)):
            duel = study.ask(f"rater {repetition}", [f"item {one}", f"item {other}"])
            first_wins = duel.first.id < duel.second.id if is_clear else repetition % 2 == 0
            study.tell(duel, "first" if first_wins else "second", rater=f"rater {repetition}")
        return study

    clear, unclear = (pilot(f"pilot {word}", is_clear=word) for word in (True, False))
    found, other = (plan_study(pilot=each, raters=5, votes_per_rater=10, runs=2) for each in (clear, unclear))
    assert found.items == 5
    assert found.effect > other.effect
    assert plan_study(9, pilot=clear, raters=2, votes_per_rater=5, runs=1).items == 9
    with pytest.raises(InvalidInput, match="Both effect and pilot"):
        plan_study(5, pilot=clear, effect=0.7)
    empty = dl.create_study("pilot without votes", storage="memory")
    with pytest.raises(InvalidInput, match="no votes"):
        plan_study(pilot=empty)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"items": None}, "items"),
        ({"items": 1}, "items"),
        ({"items": 501}, "items"),
        ({"raters": 0}, "raters"),
        ({"raters": 10_000, "votes_per_rater": 50}, "raters"),
        ({"effect": 0.5}, "effect"),
        ({"effect": 1.0}, "effect"),
        ({"pay_per_rater": -1}, "pay_per_rater"),
        ({"pay_per_vote": float("nan")}, "pay_per_vote"),
        ({"top": 3}, "top"),
        ({"runs": 2001}, "runs"),
        ({"items": 200, "goal": "rank", "raters": 500, "max_seconds": 30}, "raters"),
    ],
)
def test_what_cannot_be_planned(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        plan_study(**{"items": 10, **wrong})
    assert caught.value.field == field


def test_the_plot_shows_the_share_decided(tmp_path: Path) -> None:
    found = plan_study(4, raters=10, votes_per_rater=6, runs=3, pay_per_rater=1.0)
    figure = found.plot(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 5_000
    (axes,) = figure.axes
    assert axes.get_xlabel() == "votes"
    assert np.asarray(axes.lines[0].get_ydata())[-1] == pytest.approx(found.chance_decided)
