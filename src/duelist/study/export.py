"""Export the votes of a study in the formats of other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from duelist.study.formats import Comparison, ExportReport, default_format, write
from duelist.study.imports.votes.deduplication import ranges, read_log
from duelist.study.log import StudyLog
from duelist.study.participation.state import Participation
from duelist.study.records import DuelKind, Vote
from duelist.study.storage import DuelRow, RaterRow, Transaction, VoteRow
from duelist.study.storage.encoding import from_microseconds

_CHUNK = 1024
"""Votes whose texts are in memory at a time."""
_MAX_PARAMETER_COLUMNS: Final = 50
_OTHER_PARAMETERS: Final = "rater_other_parameters"


class StudyExport(StudyLog):
    """The part of `Study` that exports votes."""

    def export(
        self,
        /,
        path: str | Path,
        format: str | None = None,  # noqa: A002
        **options: Any,
    ) -> ExportReport:
        """Write the votes into a file, and report what its format could not hold.

        The format `jsonl` gets the whole log. Others get the votes as they are
        after revisions, without those of excluded raters and those on gold and
        repeated duels, which say nothing about items. A study of systems names
        systems as the two sides, and the prompt as the context.

        Parameters
        ----------
        path
            The file.
        format
            One of `duelist.study.formats.FORMATS`; default: by the name of the
            file.
        options
            Options of the format, see docs/guides/formats.md.
        """
        return export_votes(self, path, default_format(path) if format is None else format, True, options)


def export_votes(
    study: StudyExport, path: str | Path, name: str, is_personal: bool, options: Mapping[str, Any]
) -> ExportReport:
    """Write the votes into a file, with or without what is known of raters: attributes, URL parameters and consent."""
    with study._reading() as tx:
        votes = _LogComparisons(study, tx, name == "jsonl", is_personal)
        report = write(votes, path, name, **options)
    return replace(report, skipped=dict(votes.skipped) | dict(report.skipped))


class _LogComparisons(Iterable[Comparison]):
    """The log with its texts, one chunk of which is in memory at a time.

    It can be iterated repeatedly.
    """

    def __init__(self, study: StudyExport, tx: Transaction, is_whole: bool, is_personal: bool) -> None:
        self._study = study
        self._tx = tx
        self._is_whole = is_whole
        self._arms = study._read_cache.arms
        raters = tx.raters()
        self._excluded = {rater.name for rater in raters if rater.excluded}
        self._rater_columns = _columns_of_raters(raters) if is_personal else {}
        self._revisions: dict[int, VoteRow] | None = None
        self.skipped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Comparison]:
        self.skipped.clear()
        chunk: list[tuple[VoteRow, DuelRow]] = []
        for vote, duel in self._log() if self._is_whole else self._current_votes():
            chunk.append((vote, duel))
            if len(chunk) == _CHUNK:
                yield from self._with_texts(chunk)
                chunk = []
        yield from self._with_texts(chunk)

    def _log(self) -> Iterable[tuple[VoteRow, DuelRow]]:
        return read_log(self._tx, 0, self._tx.counters.n_votes)

    def _current_votes(self) -> Iterator[tuple[VoteRow, DuelRow]]:
        """Yield each vote as last revised, and count the rows that are skipped."""
        if self._revisions is None:
            self._revisions = {vote.root: vote for vote, _ in self._log() if vote.revises is not None}
        for vote, duel in self._log():
            if vote.revises is not None:
                self.skipped["revised"] += 1
                continue
            current = self._revisions.get(vote.sequence, vote)
            reason = self._reason_to_skip(current, duel)
            if reason is None:
                yield current, duel
            else:
                self.skipped[reason] += 1

    def _reason_to_skip(self, vote: VoteRow, duel: DuelRow) -> str | None:
        if vote.outcome is None:
            return "undone"
        if vote.rater in self._excluded:
            return "excluded rater"
        return None if duel.kind is DuelKind.NORMAL else f"{duel.kind} duel"

    def _named_by_system(self, vote: Vote, duel: DuelRow) -> Vote:
        """Return the vote with the names of systems in a study of systems; the prompt is its context."""
        first, second = (self._arms.number_at(row) for row in (duel.first_row, duel.second_row))
        names = self._arms.label(first), self._arms.label(second)
        if not self._arms.has_systems or names[0] == names[1]:
            return vote
        return replace(vote, first=names[0], second=names[1])

    def _with_texts(self, chunk: list[tuple[VoteRow, DuelRow]]) -> Iterator[Comparison]:
        details: dict[int, dict[str, Any]] = {}
        for low, high in ranges(duel.number for _, duel in chunk):
            details.update((row.duel, row.body) for row in self._tx.details_between(low - 1, high))
        prompts = self._tx.contexts(list({duel.context for _, duel in chunk if duel.context is not None}))
        for row, duel in chunk:
            own = details.get(duel.number, {})
            vote = self._named_by_system(self._study._vote_from(row, duel), duel)
            yield Comparison.from_vote(
                vote,
                prompt=own.get("prompt", None if vote.context is None else prompts.get(vote.context)),
                payload_first=own.get("first", self._arms.payload(self._arms.number_at(duel.first_row))),
                payload_second=own.get("second", self._arms.payload(self._arms.number_at(duel.second_row))),
                extra={**self._rater_columns.get(row.rater or "", {}), **own.get("extra", {})},
            )


def _columns_of_raters(raters: list[RaterRow]) -> dict[str, dict[str, Any]]:
    """Return what is known of each rater, as columns of their votes; the owner's note is not for others.

    An attribute that the owner has set counts more than a URL parameter of that name. Anybody can make up parameters: of their names the
    most frequent are columns, and the others share one.
    """
    parameters = {rater.name: Participation.from_json(rater.participation).parameters for rater in raters}
    counts = Counter(name for own in parameters.values() for name in own)
    frequent = {name for name, _ in counts.most_common(_MAX_PARAMETER_COLUMNS)}
    columns = {}
    for rater in raters:
        attributes = {name: value for name, value in rater.attributes.items() if name != "note"}
        rare = {name: value for name, value in parameters[rater.name].items() if name not in frequent}
        known = {name: value for name, value in parameters[rater.name].items() if name in frequent} | attributes
        columns[rater.name] = {f"rater_{name}": known[name] for name in sorted(known)}
        state = Participation.of(rater)
        if state.consented_at is not None:
            at = from_microseconds(state.consented_at).isoformat()
            columns[rater.name] |= {"rater_consented_at": at, "rater_consent_version": state.consent_version}
        if rare:
            columns[rater.name][_OTHER_PARAMETERS] = rare
    return columns
