"""Plan an import of votes: name a file and its format in a `VotePlan`.

    plan = plan_votes("battles.json")
    print(plan.preview())                                    # writes nothing
    print(study.apply(plan))

The plan does not hold the votes. Applying it reads the file twice, once for the identities of its votes and once for
those that are new, so that memory does not grow with its texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from duelist.core.errors import InvalidInput, UnknownArm
from duelist.core.serialization import from_plain, to_plain
from duelist.study.formats import Comparison, context_id, detect_format, get_format, read
from duelist.study.imports.votes.deduplication import FileScan, LogUpdate, row_fingerprint
from duelist.study.items.catalog import MAX_INDICATORS
from duelist.study.items.systems import NewArm
from duelist.study.storage import ArmRow
from duelist.study.storage.encoding import Vectors
from duelist.study.validation import checked_text

PREVIEWED: Final = 20
_TEXTS: Final = ("prompt", "payload_first", "payload_second", "extra")


class ItemIds:
    """The ids of items, by their texts; those of systems' answers, by system and prompt.

    A vote may be on an answer that the study lacks, such as an empty one, if the study knows the system and the prompt.
    It names the prompt by its name in the study, or by its text. `prompts` are the prompts by name.
    """

    def __init__(self, arms: Iterable[ArmRow], prompts: Mapping[str, Any] = MappingProxyType({})) -> None:
        self._ids: dict[tuple[str, str | None], str] = {}
        self._arms: set[str] = set()
        self._by_text: dict[str, set[str]] = {}
        self._categories: dict[str | None, str | None] = {}
        self.missing: dict[str, NewArm] = {}
        """The answers that votes name and the study lacks, by id."""
        for arm in arms:
            self._arms.add(arm.id)
            if isinstance(arm.payload, str):
                self._by_text.setdefault(arm.payload.strip(), set()).add(arm.id)
            if arm.system is not None:
                self._ids[arm.system, arm.context] = arm.id
                self._categories[arm.context] = arm.category
        self._systems = {system for system, _ in self._ids}
        texts: dict[str, list[str]] = {}
        for name, prompt in prompts.items():
            texts.setdefault(context_id(prompt), []).append(name)
        self._by_prompt = {text: names[0] for text, names in texts.items() if len(names) == 1}

    def resolve(self, vote: Comparison) -> Comparison:
        """Return the vote with the ids of the two items; sides that are ids already stay."""
        context = self._find_prompt(vote.context) if self._systems else vote.context
        first, second = (self._resolve(name, context) for name in (vote.first, vote.second))
        is_named_by_ids = (first, second, context) == (vote.first, vote.second, vote.context)
        return vote if is_named_by_ids else replace(vote, first=first, second=second, context=context)

    def _find_prompt(self, context: str | None) -> str | None:
        """Return the study's name of a prompt that a vote names by its text."""
        if context is None or context in self._categories:
            return context
        digest = context_id(context)
        found = self._by_prompt.get(context) or self._by_prompt.get(digest)
        return found or (digest if digest in self._categories else context)

    def _resolve(self, name: str, context: str | None) -> str:
        found = self._ids.get((name, context))
        if found is None and name in self._systems and name not in self._arms:
            return self._missing_answer(name, context)
        if found is None and name not in self._arms:
            return self._find_by_text(name)
        return name if found is None else found

    def _missing_answer(self, system: str, context: str | None) -> str:
        """Return the id of an answer that the study lacks, if it knows the prompt."""
        if context not in self._categories:
            said = "A vote names no prompt" if context is None else f"No prompt of this study is named {context!r}"
            raise UnknownArm(
                f"{said}.",
                "Name the prompt of each vote as its context, by the name that this study has for it, or by its text.",
                code="unknown_arm.answer",
                field="context",
            )
        arm = NewArm(f"{system} / {context}", None, context, system, self._categories[context])
        if arm.id not in self._arms:
            self.missing.setdefault(arm.id, arm)
        return arm.id

    def _find_by_text(self, text: str) -> str:
        ids = self._by_text.get(text.strip(), set())
        if len(ids) > 1:
            raise UnknownArm(
                f"Several items have the text {text[:80]!r}: {', '.join(sorted(ids)[:5])}.",
                "Name the item by its id.",
                code="unknown_arm.same_text",
            )
        return next(iter(ids), text)


@dataclass(frozen=True)
class VotePlan:
    """A file of votes to be appended to the log of a study."""

    path: str
    format: str
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the format, such as `columns`."""
    skip_duplicates: bool = True
    """Whether votes that the log has already are skipped."""

    def comparisons(self, ids: ItemIds | None = None) -> Iterator[Comparison]:
        """Read the votes of the file, naming contexts by their prompts if necessary.

        With `ids` a vote may name items by their texts, and systems' answers by two systems and a prompt.
        """
        for one in read(self.path, self.format, **self.options):
            is_unnamed = one.context is None and one.prompt is not None
            named = replace(one, context=context_id(one.prompt)) if is_unnamed else one
            yield named if ids is None else ids.resolve(named)

    def preview(self) -> dict[str, Any]:
        """Return what the file holds, as plain data."""
        scan, items = FileScan(), set[str]()
        for row in self.comparisons():
            scan.add(row)
            items.update((row.first, row.second))
        return {
            "format": self.format,
            "rows": len(scan.rows),
            "votes": len(scan.votes),
            "items": len(items),
            "examples": to_plain(list(islice(self.comparisons(), PREVIEWED))),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for JSON; `from_dict` returns the same plan."""
        described: dict[str, Any] = to_plain(self)
        return described

    @staticmethod
    def from_dict(described: Mapping[str, Any]) -> VotePlan:
        """Return the plan that `to_dict` described."""
        return from_plain(VotePlan, described)


def plan_votes(
    path: str | Path,
    format: str | None = None,  # noqa: A002
    *,
    skip_duplicates: bool = True,
    **options: Any,
) -> VotePlan:
    """Plan the import of a file of votes.

    Parameters
    ----------
    path
        The file.
    format
        One of `duelist.study.formats.FORMATS`; default: detected from the file.
    skip_duplicates
        Whether to skip votes that the log has already.
    options
        Options of the format, see docs/guides/formats.md.
    """
    name = detect_format(path) if format is None else get_format(format).name
    return VotePlan(str(path), name, options, skip_duplicates)


@dataclass(frozen=True, slots=True)
class VoteImportReport:
    """What an import of votes did."""

    added: int
    """Votes that are new in the log."""
    duplicates: int
    """Votes that the log has already."""
    revised: int = 0
    """Votes of the log that the file revises or undoes."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Rows that are not counted as votes: `revised` by a later row, or `undone`."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """Fields that a log cannot hold, and how many of the votes had a value there."""
    not_counted: Mapping[str, int] = field(default_factory=dict)
    """Votes that the study keeps but does not learn from: of an `excluded rater`, or on another criterion."""
    answers: int = 0
    """Answers of systems that votes are on and the study lacked: they are added without content, and retired."""

    def __str__(self) -> str:
        parts = [f"{self.added} {'vote' if self.added == 1 else 'votes'} added"]
        if self.duplicates:
            parts.append(f"{self.duplicates} {'duplicate' if self.duplicates == 1 else 'duplicates'} skipped")
        if self.revised:
            parts.append(f"{self.revised} {'vote' if self.revised == 1 else 'votes'} of the log revised")
        parts += [f"{count} skipped ({reason})" for reason, count in self.skipped.items()]
        if self.lost:
            parts.append("without " + ", ".join(f"{name} ({count})" for name, count in self.lost.items()))
        parts += [f"{count} not counted ({reason})" for reason, count in self.not_counted.items()]
        if self.answers:
            answers = "answer was" if self.answers == 1 else "answers were"
            parts.append(f"{self.answers} missing {answers} added without content, retired")
        return "; ".join(parts)


@dataclass
class FileItems:
    """The items that a file compares, for a study that has none."""

    payloads: dict[str, Any] = field(default_factory=dict)
    varied: set[str] = field(default_factory=set)
    """Items with different payloads, such as a model with its answers."""
    contexts: dict[str, str | None] = field(default_factory=dict)
    have_one_context: bool = True
    """Whether each item occurs in one context only."""

    def add(self, row: Comparison) -> None:
        """Add the items of the next row."""
        for item, payload in ((row.first, row.payload_first), (row.second, row.payload_second)):
            if item not in self.contexts:
                self.contexts[checked_text("item", item)] = row.context
            elif self.contexts[item] != row.context:
                self.have_one_context = False
            if payload is None or item in self.varied:
                continue
            if self.payloads.setdefault(item, payload) != payload:
                self.varied.add(item)
                del self.payloads[item]

    def describe(self) -> list[NewArm]:
        """Return id, payload and context of each item.

        An item that occurs in one context (an answer to a prompt) belongs to it; one that occurs in several (a model)
        to none.
        """
        return [
            NewArm(item, self.payloads.get(item), context if self.have_one_context else None)
            for item, context in self.contexts.items()
        ]

    def indicator_features(self) -> Vectors:
        """Return one feature per item, for a policy that needs features."""
        count = len(self.contexts)
        if count > MAX_INDICATORS:
            raise InvalidInput(
                f"The file compares {count} items, too many for the policy of this study, which needs one feature per "
                "item.",
                "Add the items with features first, or choose a policy that does not need features.",
            )
        return np.eye(count, dtype=np.float32)


def select_new(plan: VotePlan, ids: ItemIds | None, scan: FileScan, update: LogUpdate) -> Iterator[Comparison]:
    """Yield the new votes of a file, reading it again if it was too large to keep.

    They have their last outcome, in the order in which they were first given.
    """
    rows = _read_again(plan.comparisons(ids), scan) if scan.kept is None else scan.kept
    for place, row in enumerate(rows):
        if place in update.new:
            last = scan.revisions.get(place)
            yield row if last is None else replace(last, **{name: getattr(row, name) for name in _TEXTS})


def _read_again(comparisons: Iterable[Comparison], scan: FileScan) -> Iterator[Comparison]:
    """Yield the rows of a file that was read before; raise if it has changed."""
    fingerprints = [row.fingerprint for row in scan.rows]
    count = 0
    for place, row in enumerate(comparisons):
        count += 1
        if fingerprints[place : place + 1] != [row_fingerprint(row)]:
            raise _file_changed()
        yield row
    if count != len(fingerprints):
        raise _file_changed()


def _file_changed() -> InvalidInput:
    return InvalidInput("The file changed while it was read.", "Import it again when it is complete.")


def scan_file(rows: Iterable[Comparison], items: FileItems | None) -> FileScan:
    """Return the identities of the votes of a file, and add its items to `items`."""
    scan = FileScan()
    for row in rows:
        scan.add(row)
        if items is not None:
            items.add(row)
    return scan
