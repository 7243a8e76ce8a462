"""Files in and out of a study: imports, exports, and what contexts are."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from duelist.core.errors import InvalidInput
from duelist.study.formats import Comparison, Written, read, write
from duelist.study.formats.json_records import shown
from duelist.study.imports.deduplication import Logged, Scan, everything, log_between, stretches, unseen
from duelist.study.imports.staging import Packed, Staging, packed
from duelist.study.imports.votes import Described, FileArms, Imported, settled, wanted
from duelist.study.items.catalog import KnownArms
from duelist.study.items.editing import Keeping
from duelist.study.records import ChosenBy, DuelKind, Vote, current_votes
from duelist.study.replay import new_policy
from duelist.study.storage import ContextRow, DuelRow, Transaction, VoteRow
from duelist.study.storage.vectors import Vectors
from duelist.study.validation import checked_payloads, checked_text

_AT_ONCE = 1024
"""Votes whose texts are in memory at a time."""


class Filing(Staging, Keeping):
    """The half of `Study` that deals with files."""

    @abstractmethod
    def _vote_from(self, row: VoteRow, duel: DuelRow) -> Vote:
        """A row of the log as people see it, in a transaction that reads."""

    # -- contexts ------------------------------------------------------------------------

    def set_context(self, name: str, payload: Any) -> None:
        """What a context is: the text of a prompt, messages, or anything JSON can hold. It is shown and exported with its arms."""
        with self._changing() as tx:
            self._set_contexts({name: payload}, tx, change=True)

    def context_payload(self, name: str) -> Any:
        """What a context is, None where nobody has said so."""
        with self._reading() as tx:
            return tx.contexts([checked_text("context", name)]).get(name)

    def _set_contexts(self, payloads: Mapping[str, Any], tx: Transaction, change: bool = False) -> None:
        """Keep what contexts are; unless it is to `change`, one that is there stays: arms were compared under it."""
        names = [checked_text("context", name) for name in payloads]
        payloads = dict(
            zip(names, json.loads(json.dumps(checked_payloads(list(payloads.values()), len(names)))), strict=True)
        )
        there = tx.contexts(names)
        other = next((name for name, old in there.items() if old is not None and old != payloads[name]), None)
        if other is not None and not change:
            raise InvalidInput(
                f"The prompt of context {other!r} is {shown(there[other])}, and here it is {shown(payloads[other])}.",
                "Give the stored prompt, name another context, or change the stored prompt first.",
            )
        changed = {name: payload for name, payload in payloads.items() if name not in there or there[name] != payload}
        if changed:
            tx.counters.arms_revision += 1
            tx.put_contexts([ContextRow(name, payload, tx.counters.arms_revision) for name, payload in changed.items()])

    # -- in ------------------------------------------------------------------------------

    def add_votes(self, votes: Iterable[Vote]) -> int:
        """Take votes from elsewhere into the log, all or none; how many. Their arms must be in the study.

        Each becomes a duel that was chosen by import; it keeps its rater, source and time. Revised and undone
        votes are left out. The policy learns them like any others. Every call counts: `import_votes` leaves out what is in
        the log already.
        """
        given = [Comparison.of_vote(vote) for vote in current_votes(list(votes))]
        with self._reading():
            ids = self._reader.known.arms.ids()
        new = packed(given, ids)
        while not self._accept(new, {}):
            pass
        return new.votes

    def import_votes(self, name: str, path: str | Path, *, again: bool = False, **options: Any) -> Imported:
        """Take the votes of a file into the log, all or none. The policy learns them like any others.

        Arms must be in the study, unless it has none yet: then those of the file are added, without features. (A policy that wants
        features gets one for each, of at most 2,000 arms.) Prompts, answers and columns of the file's own are
        kept, and come out again with an export; a time that the file does not say stays unknown.

        A vote that is in the log already is not counted twice: one of the same sides, outcome, rater, context, criterion and
        time. Votes without a time are known again by their order: docs/formats.md says how.

        Parameters
        ----------
        name
            The format, one of `duelist.study.formats`.
        path
            The file.
        again
            Count every vote, whatever is in the log.
        options
            Those of the format, see docs/formats.md.
        """
        with self._reading():
            adopting = not len(self._reader.known.arms)
        scan, arms = Scan(), FileArms(free=new_policy(self._reader.known.settings).accepts_arm_table)
        for row in self._rows_of(name, path, options):
            scan.take(row)
            if adopting:
                arms.take(row)
        self._finish_imports()
        while True:
            log = Logged()
            with self._reading() as tx:
                ids = self._reader.known.arms.ids()
                if not again:
                    log.follow(tx, self._reader.known.arms)
            plan = everything(scan) if again else unseen(scan, log)
            dropped: Counter[str] = Counter()
            aside: Counter[str] = Counter()
            rows = self._counting(wanted(self._rows_of(name, path, options), scan, plan), dropped, aside)
            new = packed(rows if plan.new else (), ids or None)
            revisions = {row: scan.last[root] for root, row in plan.revised.items()}
            described = arms.described() if scan.chains and not ids else None
            if self._accept(new, revisions, described, None if again else _Unchanged(log, scan)):
                counts = dict(plan.left_out), dict(dropped), dict(aside)
                return Imported(new.votes, plan.known, len(revisions), *counts)

    def _accept(
        self,
        new: Packed,
        revisions: Mapping[int, Comparison],
        described: tuple[list[Described], Vectors] | None = None,
        unchanged: _Unchanged | None = None,
    ) -> bool:
        """Take an import in, unless the study has changed so that it must be planned anew; whether it was."""
        with self._changing() as tx:
            known = self._writer.known
            if tx.next_staged() is not None:
                staged = False  # somebody else was first
            elif (described is not None and len(known.arms)) or (
                unchanged is not None and not unchanged(tx, known.arms)
            ):
                return False
            else:
                if described is not None:
                    self._put_arms(tx, *described)
                    known.arms.follow(tx)
                self._stage(tx, new, revisions)
                staged = True
        self._finish_imports()
        return staged

    def _counting(
        self, votes: Iterable[Comparison], dropped: Counter[str], aside: Counter[str]
    ) -> Iterator[Comparison]:
        """The same votes; what a log cannot hold of them, and what teaches nothing as the study is, is counted."""
        asked = {None, *self._reader.known.settings.criteria}
        for vote in votes:
            if vote.chosen_by is not ChosenBy.IMPORT:
                dropped["chosen_by"] += 1
            said = self._reader.raters.get(vote.rater) if vote.rater is not None else None
            if said is not None and said.excluded:
                aside["rater left out"] += 1
            elif vote.criterion not in asked:
                aside[f"criterion {vote.criterion!r}"] += 1
            yield vote

    @staticmethod
    def _rows_of(name: str, path: str | Path, options: Mapping[str, Any]) -> Iterator[Comparison]:
        return settled(read(name, path, **options))

    # -- out -----------------------------------------------------------------------------

    def export(self, name: str, path: str | Path, **options: Any) -> Written:
        """Write the votes in a format of `duelist.study.formats`; what it could not hold is counted in the result.

        Our own format gets the whole log; others get the votes that stand, without those of raters who are left out and those
        on gold and repeated duels, which say nothing about arms.
        """
        with self._reading() as tx:
            log = _Log(self, tx, whole=name == "jsonl")
            written = write(name, log, path, **options)
        return replace(written, left_out=dict(log.left_out) | dict(written.left_out))


class _Unchanged:
    """Whether the log is still as it was when an import was planned, as far as that matters."""

    def __init__(self, log: Logged, scan: Scan) -> None:
        self._log = log
        self._marks = {row.mark for row in scan.rows}

    def __call__(self, tx: Transaction, arms: KnownArms) -> bool:
        before, batches = self._log.sequence, len(self._log.batches)
        revised = len(self._log.latest)
        self._log.follow(tx, arms)
        if self._log.sequence == before:
            return True
        news = self._log.marks
        met = any(news[mark][-1] > before for mark in self._marks if mark in news)
        return not met and len(self._log.batches) == batches and len(self._log.latest) == revised


class _Log(Iterable[Comparison]):
    """The log with its texts; it can be gone through more than once, and little of it is in memory."""

    def __init__(self, study: Filing, tx: Transaction, whole: bool) -> None:
        self._study = study
        self._tx = tx
        self._whole = whole
        self._arms = study._reader.known.arms
        self._uncounted = {rater.name for rater in tx.raters() if rater.excluded}
        self.left_out: Counter[str] = Counter()
        self._revised: dict[int, VoteRow] | None = None

    def __iter__(self) -> Iterator[Comparison]:
        self.left_out.clear()
        chunk: list[tuple[VoteRow, DuelRow]] = []
        for vote, duel in log_between(self._tx, 0, self._tx.counters.n_votes) if self._whole else self._standing():
            chunk.append((vote, duel))
            if len(chunk) == _AT_ONCE:
                yield from self._shown(chunk)
                chunk = []
        yield from self._shown(chunk)

    def _standing(self) -> Iterator[tuple[VoteRow, DuelRow]]:
        """Votes as they stand, in the order first given; what is not among them is counted."""
        if self._revised is None:
            rows = log_between(self._tx, 0, self._tx.counters.n_votes)
            self._revised = {vote.root: vote for vote, _ in rows if vote.revises is not None}
        latest = self._revised
        for vote, duel in log_between(self._tx, 0, self._tx.counters.n_votes):
            if vote.revises is not None:
                self.left_out["revised"] += 1
                continue
            stands = latest.get(vote.sequence, vote)
            reason = self._why_not(stands, duel)
            if reason is None:
                yield stands, duel
            else:
                self.left_out[reason] += 1

    def _why_not(self, vote: VoteRow, duel: DuelRow) -> str | None:
        if vote.outcome is None:
            return "undone"
        if vote.rater in self._uncounted:
            return "rater left out"
        return None if duel.kind is DuelKind.NORMAL else f"{duel.kind} duel"

    def _shown(self, chunk: list[tuple[VoteRow, DuelRow]]) -> Iterator[Comparison]:
        details: dict[int, dict[str, Any]] = {}
        for low, high in stretches(duel.number for _, duel in chunk):
            details.update((row.duel, row.body) for row in self._tx.details(low, high))
        prompts = self._tx.contexts(list({duel.context for _, duel in chunk if duel.context is not None}))
        for row, duel in chunk:
            own = details.get(duel.number, {})
            vote = self._study._vote_from(row, duel)
            yield Comparison.of_vote(
                vote,
                prompt=own.get("prompt", None if vote.context is None else prompts.get(vote.context)),
                payload_first=own.get("first", self._arms.payload(self._arms.owner(duel.first_row))),
                payload_second=own.get("second", self._arms.payload(self._arms.owner(duel.second_row))),
                extra=own.get("extra", {}),
            )
