"""What would change without the votes of flagged raters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from duelist.study.analysis.fit.flagged_raters import describe_flagged
from duelist.study.analysis.fit.study_fit import StudyFit
from duelist.study.analysis.goal_stopping import CanStop
from duelist.study.analysis.leaderboard import Leaderboard
from duelist.study.analysis.progress import Progress
from duelist.study.analysis.stopping import StudyRecommendation

Result = TypeVar("Result", CanStop, Leaderboard, Progress, StudyRecommendation)


def with_flagged(
    fit: StudyFit, without: Callable[[frozenset[str]], StudyFit], analyse: Callable[[StudyFit], Result]
) -> Result:
    """Return the result of an analysis, with the raters who are flagged and what changes without their votes.

    `without` fits the votes without those of some more raters.
    """
    found = analyse(fit)
    if not fit.flagged:
        return found
    other = analyse(without(frozenset(each.rater for each in fit.flagged)))
    note = f"{describe_flagged(fit.flagged)}: without their votes {_difference(found, other)}"
    return replace(found, flagged=fit.flagged, flagged_note=note)


def _difference(found: Result, other: Result) -> str:
    """Say what differs: the leader, and the decision."""
    (leader, done), (leads, is_done) = _leader_and_decision(found), _leader_and_decision(other)
    said = []
    if leader != leads:
        said.append(f"{leads} would lead instead of {leader}")
    if done != is_done:
        said.append("the study could stop" if is_done else "the study could not stop yet")
    if said:
        return ", and ".join(said)
    return f"{leader} still leads{'' if done is None else ', and the decision is the same'}"


def _leader_and_decision(found: Result) -> tuple[str | None, bool | None]:
    if isinstance(found, Leaderboard):
        return found.standings[0].arm if found.standings else None, None
    if isinstance(found, StudyRecommendation):
        return found.best, found.decided
    return found.leader, found.done
