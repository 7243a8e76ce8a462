"""What comes around the pairs: consent, questionnaire, practice, quotas, and automatic exclusion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from duelist.core.errors import InvalidInput, ParticipationEnded, StepMissing
from duelist.study import (
    Consent,
    ExclusionRules,
    Flow,
    Outcome,
    Question,
    Study,
    create_study,
    load_study,
    restore_study,
)
from duelist.study.storage.rows import RaterRow
from duelist.study.storage.sql.transaction import SqlTransaction

QUESTIONS: list[dict[str, Any]] = [
    {"name": "age", "text": "How old are you?", "kind": "number", "required": False},
    {"name": "home", "text": "Where?", "kind": "choice", "options": ["north", "south", "sea"], "accept": ["north", "south"],
     "quotas": {"south": 1}},
]  # fmt: skip
FLOW: dict[str, Any] = {
    "consent": {"text": "Agree?"},
    "questions": QUESTIONS,
    "practice": [{"first": "a", "second": "b"}],
}


def made(**settings: Any) -> Study:
    study = create_study("flow", storage="memory", **settings)
    study.add_arms([f"item {k}" for k in range(8)])
    return study


def version(study: Study) -> str:
    assert study.settings.flow.consent is not None
    return study.settings.flow.consent.recorded_version


def test_the_steps_come_in_their_order() -> None:
    study = made(flow=FLOW)
    assert study.next_step("ana") == "consent"
    with pytest.raises(StepMissing):
        study.check_steps("ana")
    study.consent("ana", version(study))
    assert study.next_step("ana") == "questions"
    study.answer("ana", {"age": 31, "home": "north"})
    assert study.next_step("ana") == "practice"
    study.finish_practice("ana")
    study.check_steps("ana")
    rater = study.rater("ana")
    assert rater.attributes == {"age": 31, "home": "north"}
    assert rater.consent_version == version(study)
    assert rater.consented_at is not None


def test_nothing_is_recorded_of_people_who_have_not_consented() -> None:
    """A program could answer the questionnaire, and finish practice, before it had agreed."""
    study = made(flow=FLOW)
    with pytest.raises(StepMissing, match="consent"):
        study.answer("ana", {"age": 31, "home": "north"})
    with pytest.raises(StepMissing, match="consent"):
        study.finish_practice("ana")
    assert study.rater("ana").attributes == {}
    study.consent("ana", version(study))
    with pytest.raises(StepMissing, match="questions"):
        study.finish_practice("ana")
    study.answer("ana", {"age": 31, "home": "north"})
    study.finish_practice("ana")
    study.check_steps("ana")


def test_a_new_version_of_the_form_asks_again() -> None:
    study = made(flow={"consent": Consent("Agree?")})
    old = version(study)
    study.consent("ana", old)
    assert study.next_step("ana") is None
    study.change(flow={"consent": {"text": "Agree to more?"}})
    assert study.next_step("ana") == "consent"
    with pytest.raises(InvalidInput, match="consent form"):
        study.consent("ana", old)


def test_a_repeated_consent_keeps_the_time_of_the_first() -> None:
    made_first = made(flow={"consent": {"text": "Agree?"}})
    seconds = iter(range(10**9, 10**9 + 100, 10))
    study = Study(made_first._storage, made_first._storage.list_studies()[0], lambda: float(next(seconds)))
    study.consent("ana", version(study))
    first = study.rater("ana").consented_at
    study.consent("ana", version(study))
    assert study.rater("ana").consented_at == first
    study.consent("ana", version(study), agrees=False)  # withdrawn
    assert study.departure("ana") is not None


def test_without_agreement_or_with_an_ineligible_answer_participation_ends() -> None:
    study = made(flow=FLOW, recruiting={"screened_out": {"code": "OUT"}, "full": {"code": "FULL"}})
    study.consent("ana", version(study), agrees=False)
    study.consent("ben", version(study))
    study.answer("ben", {"home": "sea"})
    for rater in ("ana", "ben"):
        ended = study.departure(rater)
        assert ended is not None
        assert (ended.kind, ended.code) == ("screened_out", "OUT")
        with pytest.raises(ParticipationEnded):
            study.ask(rater)
        with pytest.raises(ParticipationEnded):
            study.answer(rater, {"home": "north"})


def test_a_quota_closes_when_enough_have_chosen_the_option() -> None:
    study = made(flow=FLOW)
    for rater in ("ana", "ben"):
        study.consent(rater, version(study))
        study.answer(rater, {"home": "south"})
    assert study.departure("ana") is None
    ended = study.departure("ben")
    assert ended is not None
    assert ended.kind == "full"
    with pytest.raises(ParticipationEnded):
        study.ask("ben")
    study.block("ana")  # frees the place
    study.consent("cy", version(study))
    study.answer("cy", {"home": "south"})
    assert study.departure("cy") is None


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"home": "moon"},
        {"home": 3},
        {"home": "north", "age": "old"},
        {"home": "north", "age": float("nan")},
        {"house": "x"},
    ],
)
def test_wrong_answers_change_nothing(answers: dict[str, Any]) -> None:
    study = made(flow={"questions": QUESTIONS})
    with pytest.raises(InvalidInput) as caught:
        study.answer("ana", answers)
    assert str(caught.value.field).startswith("answers")
    assert study.rater("ana").attributes == {}


def vote(study: Study, rater: str, outcomes: list[str], seconds: float = 9.0) -> None:
    for outcome in outcomes:
        study.tell(study.ask(rater), outcome, rater, response_seconds=seconds)


@pytest.mark.parametrize(
    ("rules", "outcomes", "seconds", "rule"),
    [
        ({"one_side": 0.9, "after": 5}, ["first"] * 5, 9.0, "side"),
        ({"one_side": 0.9, "after": 5}, ["first", "second"] * 5, 9.0, None),
        ({"min_seconds": 1.0, "after": 5}, ["first", "second", "first", "second", "first"], 0.5, "fast"),
        ({"min_seconds": 1.0, "after": 5}, ["first", "second", "first", "second", "first"], 1.5, None),
        ({"min_seconds": 1.0, "after": 10}, ["first", "second", "first", "second", "first"], 0.5, None),
    ],
)
def test_rules_exclude_raters(rules: dict[str, Any], outcomes: list[str], seconds: float, rule: str | None) -> None:
    study = made(flow={"exclusion": rules})
    vote(study, "ana", outcomes, seconds)
    rater = study.rater("ana")
    assert (rater.excluded_by, rater.blocked, rater.excluded) == (rule, rule is not None, rule is not None)


def test_a_rule_and_its_exclusion_are_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies in between would leave a rater blocked without the rule, and reinstating them would not last."""
    study = made(flow={"exclusion": {"one_side": 0.9, "after": 5}})
    vote(study, "ana", ["first"] * 4)
    writes: list[RaterRow] = []
    put = SqlTransaction.put_rater

    def put_rater(tx: SqlTransaction, row: RaterRow) -> None:
        writes.append(row)
        put(tx, row)

    monkeypatch.setattr(SqlTransaction, "put_rater", put_rater)
    vote(study, "ana", ["first"])
    assert [(row.blocked, row.excluded, (row.participation or {}).get("excluded_by")) for row in writes] == [
        (True, True, "side")
    ]


def test_a_rule_does_not_exclude_those_whom_the_owner_reinstates_meanwhile() -> None:
    study = made(flow={"exclusion": {"one_side": 0.9, "after": 5}})
    vote(study, "ana", ["first"] * 5)

    study.reinstate("ana")
    study._block("ana", exclude_votes=True, rule="side")  # by a process that found the rule broken before
    assert not study.rater("ana").blocked


def test_failed_gold_pairs_exclude_and_reinstating_is_for_good() -> None:
    """The policy is then what it would be without the rule, and the rule does not apply again."""
    rules = {"failed_gold": 1}
    study, other = (made(flow=flow, gold_share=1.0) for flow in ({"exclusion": rules}, {}))
    for each in (study, other):
        each.add_gold("item 0", "item 1", "first")
        duel = each.ask("ana")
        each.tell(duel, "second" if duel.first.id == "item 0" else "first", "ana")
    assert study.rater("ana").excluded_by == "gold"
    ended = study.departure("ana")
    assert ended is not None
    assert ended.kind == "screened_out"
    study.reinstate("ana")
    for each in (study, other):
        vote(each, "ana", ["first"] * 6)
    assert not study.rater("ana").blocked
    assert study.policy().snapshot() == other.policy().snapshot()


def test_an_archive_restores_consent_answers_and_exclusions(tmp_path: Path) -> None:
    study = made(flow={**FLOW, "exclusion": {"one_side": 0.9, "after": 5}})
    study.consent("ana", version(study))
    study.answer("ana", {"home": "north"})
    vote(study, "ana", ["first"] * 5)
    restored = restore_study(study.save(tmp_path / "flow.duelist"), f"sqlite:///{tmp_path / 'again.db'}")
    again = load_study("flow", f"sqlite:///{tmp_path / 'again.db'}")
    for each in (restored, again):
        assert each.rater("ana") == study.rater("ana")
        assert each.settings.flow == study.settings.flow
    assert again.rater("ana").excluded_by == "side"


def test_erasing_deletes_consent_and_answers() -> None:
    study = made(flow=FLOW)
    study.consent("ana", version(study))
    study.answer("ana", {"home": "north"})
    vote(study, "ana", ["first"])
    study.erase_rater("ana")
    assert study.rater("erased 1").attributes == {}
    assert study.rater("erased 1").consented_at is None


@pytest.mark.parametrize(
    ("flow", "field"),
    [
        ("consent", "flow.flow"),
        ({"consents": {}}, "flow.flow"),
        ({"welcome": 3}, "flow.welcome"),
        ({"consent": {"text": ""}}, "flow.consent.text"),
        ({"consent": {}}, "flow.consent.text"),
        ({"questions": [{"name": "1", "text": "?"}]}, "flow.questions.0.name"),
        ({"questions": [{"name": "a", "text": "?", "kind": "date"}]}, "flow.questions.0.kind"),
        ({"questions": [{"name": "a", "text": "?", "kind": "choice"}]}, "flow.questions.0.options"),
        ({"questions": [{"name": "a", "text": "?"}, {"name": "a", "text": "?"}]}, "flow.questions"),
        ({"questions": [{**QUESTIONS[1], "accept": ["moon"]}]}, "flow.questions.0.accept"),
        ({"questions": [{**QUESTIONS[1], "quotas": {"moon": 1}}]}, "flow.questions.0.quotas"),
        ({"practice": [{"first": "a", "second": "b", "outcome": "skip"}]}, "flow.practice.0.outcome"),
        ({"practice": [{"first": "a"}]}, "flow.practice.0.second"),
        ({"break_every": 0}, "flow.break_every"),
        ({"reasons": [""]}, "flow.reasons.0"),
        ({"exclusion": {"one_side": 0.4}}, "flow.exclusion.one_side"),
        ({"appearance": {"color": "red"}}, "flow.appearance.color"),
        ({"appearance": {"logo": "https://example.org/a.png"}}, "flow.appearance.logo"),
        ({"appearance": {"logo": "data:image/svg+xml;base64,AAAA"}}, "flow.appearance.logo"),
    ],
)
def test_wrong_flows(flow: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        create_study("wrong", storage="memory", flow=flow)
    assert caught.value.field == field


def test_raters_do_not_learn_rules_and_quotas() -> None:
    flow = Flow(questions=(Question(**QUESTIONS[1]),), exclusion=ExclusionRules(failed_gold=1))
    shown = flow.for_raters()
    assert "exclusion" not in shown
    assert not {"accept", "quotas"} & set(shown["questions"][0])


def test_answers_filter_every_analysis_and_are_exported(tmp_path: Path) -> None:
    """Those in the north prefer early items, those in the south late ones; the votes that count are those of the rest."""
    study = made(
        flow={
            "consent": {"text": "Agree?", "version": "1"},
            "questions": [*QUESTIONS[:1], {**QUESTIONS[1], "quotas": {}}],
        }
    )
    homes = {"ana": "north", "ben": "south", "cy": "north"}
    for age, (rater, home) in enumerate(homes.items(), 29):
        study.consent(rater, "1")
        study.answer(rater, {"age": age, "home": home})
        for _ in range(12):
            duel = study.ask(rater)
            early = "first" if duel.first.id < duel.second.id else "second"
            study.tell(duel, early if home == "north" else Outcome(early).mirrored, rater)
    north, south = (study.leaderboard(where=f"home = {home}") for home in ("north", "south"))
    assert (north.votes, south.votes) == (24, 12)
    without = study.leaderboard(without=["ben"])
    assert [row.utility for row in north.standings] == [row.utility for row in without.standings]
    assert study.leaderboard(where=["home = north", "age >= 30"]).votes == 12
    assert study.leaderboard(where="home != north").votes == 12
    assert {row.rater for row in study.raters(where="age < 30").rows} == {"ana"}
    for name in ("progress", "recommend", "win_matrix", "history", "calibration", "goodness_of_fit", "win_chances"):
        getattr(study, name)(where="home = north")
    assert not study.can_stop(where="home = north").done
    for wrong in ("home", "house = north", "age >= old"):
        with pytest.raises(InvalidInput, match="where"):
            study.leaderboard(where=wrong)
    study.export(tmp_path / "votes.csv")
    head, row = (tmp_path / "votes.csv").read_text().splitlines()[:2]
    for column in ("rater_age", "rater_home", "rater_consented_at", "rater_consent_version"):
        assert column in head
    assert "north" in row
