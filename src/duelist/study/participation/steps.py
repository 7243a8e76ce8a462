"""The steps before the first pair: consent, questionnaire and practice, as raters take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from duelist.core.errors import InvalidInput, ParticipationEnded, StepMissing
from duelist.study.base import StudyBase
from duelist.study.cache import StudyCache
from duelist.study.participation.places import is_over_quota, put_participation
from duelist.study.participation.state import Participation
from duelist.study.storage import RaterRow, Transaction
from duelist.study.validation import checked_rater

Step = Literal["consent", "questions", "practice"]
"""What a rater does before the first pair."""


class StudySteps(StudyBase):
    """The part of `Study` that records consent, answers to the questionnaire, and finished practice."""

    def next_step(self, rater: str) -> Step | None:
        """Return the step that a rater has to take before the first pair: consent, questions, practice; None if there is none left."""
        with self._reading():
            cache = self._read_cache
            return _next_step(cache, Participation.of(cache.raters.get(checked_rater(rater))))

    def consent(self, rater: str, version: str, agrees: bool = True) -> None:
        """Record that a rater agrees to this version of the consent form, with the time; without agreement they are screened out."""

        def record(tx: Transaction) -> None:
            cache, row, state, now = self._participant(tx, rater)
            form = cache.settings.flow.consent
            wanted = None if form is None else form.recorded_version
            if version != wanted:
                raise InvalidInput(
                    f"version is {str(version)[:100]!r}, and the consent form has {wanted!r}.",
                    "Read the form again.",
                    field="version",
                )
            agreed = state  # a repeated request keeps the time of the first
            if state.consent_version != version:
                agreed = replace(state, consented_at=now, consent_version=version)
            put_participation(tx, cache, row, agreed if agrees else replace(state, ending="screened_out"))

        self._write(record)

    def answer(self, rater: str, answers: Mapping[str, Any]) -> None:
        """Record a rater's answers to the questionnaire as their attributes.

        A rater whose answer is not eligible is screened out; one whose option
        has reached its quota finds the study full.
        """

        def record(tx: Transaction) -> None:
            cache, row, state, now = self._participant(tx, rater)
            _check_taken(cache, row, state, "consent")  # nothing about people is stored without it
            questions = cache.settings.flow.questions
            stray = next((name for name in answers if name not in {each.name for each in questions}), None)
            if stray is not None:
                raise InvalidInput(
                    f"There is no question {str(stray)[:100]!r}.", "Answer those that are asked.", field="answers"
                )
            given = {question.name: question.checked(answers.get(question.name)) for question in questions}
            ending = state.ending
            if any(question.accept and given[question.name] not in question.accept for question in questions):
                ending = "screened_out"
            elif any(is_over_quota(cache, question, given[question.name], row.name) for question in questions):
                ending = "full"
            kept = {**row.attributes, **{name: value for name, value in given.items() if value is not None}}
            row = row._replace(attributes=kept)
            put_participation(tx, cache, row, replace(state, answered_at=now, ending=ending))

        self._write(record)

    def finish_practice(self, rater: str) -> None:
        """Record that a rater has finished the practice pairs."""

        def record(tx: Transaction) -> None:
            cache, row, state, now = self._participant(tx, rater)
            _check_taken(cache, row, state, "consent", "questions")
            put_participation(tx, cache, row, replace(state, practised_at=now))

        self._write(record)

    def check_steps(self, rater: str) -> None:
        """Raise StepMissing if a rater has to take a step before the first pair."""
        step = self.next_step(rater)
        if step is not None:
            raise _missing(rater, step)

    def _participant(self, tx: Transaction, rater: str) -> tuple[StudyCache, RaterRow, Participation, int]:
        rater, cache, now = checked_rater(rater), self._write_cache, self._now(tx)
        cache.check_may_change()
        row = cache.raters.get(rater) or RaterRow(rater, {}, False, False, False, None, now)
        state = Participation.of(row)
        if row.blocked or state.ending is not None:
            raise ParticipationEnded(f"The participation of {rater!r} has ended.", "Ask another rater.")
        return cache, row, state, now


def _next_step(cache: StudyCache, state: Participation) -> Step | None:
    flow = cache.settings.flow
    if flow.consent is not None and state.consent_version != flow.consent.recorded_version:
        return "consent"
    if flow.questions and state.answered_at is None:
        return "questions"
    return "practice" if flow.practice and state.practised_at is None else None


def _check_taken(cache: StudyCache, row: RaterRow, state: Participation, *steps: Step) -> None:
    """Raise StepMissing if one of these steps comes next."""
    step = _next_step(cache, state)
    if step in steps:
        raise _missing(row.name, step)


def _missing(rater: str, step: Step) -> StepMissing:
    return StepMissing(f"{rater!r} has not taken the step {step!r}.", "Take it first.", step=step)
