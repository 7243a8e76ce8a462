"""Apply plans: `Study.apply`, the one way from a file into a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.study.formats import Comparison
from duelist.study.imports.items.column_mapping import FileColumn
from duelist.study.imports.items.generated_ids import are_numbers, generate_ids, generated_id_notes, is_blank
from duelist.study.imports.items.outliers import labelled_features, outlier_notes
from duelist.study.imports.items.plan import ItemPlan
from duelist.study.imports.notes import Note
from duelist.study.imports.votes.deduplication import FileScan, LogIndex, add_all, add_new
from duelist.study.imports.votes.plan import (
    FileItems,
    ItemIds,
    VoteImportReport,
    VotePlan,
    plan_votes,
    scan_file,
    select_new,
)
from duelist.study.imports.votes.staging import ImportStaging, PackedVotes, pack_votes
from duelist.study.items.catalog import ArmCatalog
from duelist.study.items.editing import StudyItems
from duelist.study.items.features import Recipe, Vectors, identity_recipe
from duelist.study.items.media import StudyMedia
from duelist.study.items.media_kind import media_kind
from duelist.study.items.systems import NewArm
from duelist.study.records import ChosenBy, StudySettings, Vote, current_votes
from duelist.study.replay import new_policy
from duelist.study.validation import checked_contexts, checked_ids, checked_payloads, checked_vectors

_NOTES_ON_NEW_STUDIES = ("markdown", "outliers")
"""Notes of a plan that apply to new studies only, since they are about all items."""


@dataclass(frozen=True, slots=True)
class ItemImportReport:
    """What an import of items did."""

    added: int
    """Items that are new in the study."""
    existing: int
    """Items that the study had already."""
    columns: tuple[FileColumn, ...] = ()
    """The columns of the file as they were used."""
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        added = f"{self.added} {'item' if self.added == 1 else 'items'} added"
        return f"{added}; {self.existing} already in the study" if self.existing else added


class StudyImport(ImportStaging, StudyItems, StudyMedia):
    """The part of `Study` that imports files."""

    @overload
    def apply(self, plan: ItemPlan) -> ItemImportReport: ...

    @overload
    def apply(self, plan: VotePlan) -> VoteImportReport: ...

    def apply(self, plan: ItemPlan | VotePlan) -> ItemImportReport | VoteImportReport:
        """Import what a plan describes, all or nothing, in one transaction.

        Applying a plan again adds nothing: items and votes that are already in
        the study are recognized.

        Parameters
        ----------
        plan
            What `plan_items` or `plan_votes` of `duelist.study.imports`
            returned.
        """
        if isinstance(plan, VotePlan):
            return self._apply_votes(plan)
        payloads = self._store_media(plan)  # known by their content, so that storing them again changes nothing
        while True:
            report = self._apply_items(plan, payloads)
            if report is not None:
                return report

    # -- items ---------------------------------------------------------------------------

    def _store_media(self, plan: ItemPlan) -> list[Any]:
        """Store the media files of a plan and return the payloads that refer to them."""
        payloads = [item.payload for item in plan.items]
        for k, item in enumerate(plan.items):
            if item.media is not None:
                path = Path(item.media)
                (key,) = self.add_media([(path.name, "", path.read_bytes())])
                payloads[k] = {**payloads[k], media_kind(path.name) or "image": key}
        return payloads

    def _apply_items(self, plan: ItemPlan, payloads: list[Any]) -> ItemImportReport | None:
        """Add the items of a plan.

        None if the study got a recipe for features meanwhile, so that they have to be made again.
        """
        with self._reading():
            recipe = self._read_cache.settings.feature_recipe
        made = None if recipe is None else plan.make_features(recipe)  # texts take long: not within the transaction
        n = len(plan.items)
        contexts = checked_contexts([item.context for item in plan.items], n)
        systems, categories = [item.system for item in plan.items], [item.category for item in plan.items]
        described = list(zip(checked_payloads(payloads, n), contexts, systems, categories, strict=True))
        with self._changing() as tx:
            arms, settings = self._write_cache.arms, self._write_cache.settings
            if settings.feature_recipe != recipe:
                return None
            if plan.id_is_guessed and plan.has_ids and are_numbers(arms.ids()):
                plan = plan.without_guessed_id()
            features = made if recipe is not None else _raw_features(plan, arms, settings, tx.counters.dim)
            existing, id_notes = arms.ids(), list[Note]()
            if plan.has_ids:
                ids = checked_ids([item.id for item in plan.items])
                added = self._add_arms(
                    tx, [NewArm(name, *each) for name, each in zip(ids, described, strict=True)], features
                )
            else:
                ids, id_notes = _generate_ids(arms, [each[:2] for each in described], features, recipe, tx.counters.dim)
                fresh = [k for k, name in enumerate(ids) if name not in existing]
                new_features = None if features is None else features[fresh]
                added = self._add_arms(tx, [NewArm(ids[k], *described[k]) for k in fresh], new_features) if fresh else 0
            if plan.prompts:
                self._set_contexts(plan.prompts, tx)
            if recipe is None and features is not None and plan.feature_kind == "columns":
                recipe = identity_recipe(plan.feature_columns)  # by which the columns of later files are found
                row = tx.study()
                tx.put_study(row.name, replace(row.settings, feature_recipe=recipe), row.state)
                tx.counters.revision += 1
        used = (recipe or {}).get("columns") or ()
        unused = [name for name in plan.feature_columns if name not in used]
        plan = plan.without_features(unused)
        notes = [note for note in plan.notes if note.code not in _NOTES_ON_NEW_STUDIES] + id_notes
        notes += [Note("unused_columns", {"columns": unused})] if unused else []
        return ItemImportReport(added, len(ids) - added, plan.columns, (*notes, *self._outlier_notes(existing)))

    def _outlier_notes(self, existing: frozenset[str]) -> list[Note]:
        """Return notes on new outliers among all items of the study."""
        with self._reading():
            arms, settings = self._read_cache.arms, self._read_cache.settings
            numbers = np.arange(len(arms))
            features = labelled_features(settings.feature_recipe, arms.matrix(numbers))
            return outlier_notes(features, [arms.id_of(k) for k in numbers.tolist()], existing)

    # -- votes ---------------------------------------------------------------------------

    def import_votes(
        self,
        /,
        path: str | Path,
        format: str | None = None,  # noqa: A002
        *,
        skip_duplicates: bool = True,
        **options: Any,
    ) -> VoteImportReport:
        """Import the votes of a file, all or none; short for `apply(plan_votes(...))`.

        The policy learns from them as from any others. Their items must be in
        the study, unless it has none yet: then those of the file are added,
        without features, or, for a policy that needs features, with one feature
        each (up to 2,000 items). An answer that a study of systems lacks, of a
        system to a prompt that it knows, is added without content, and retired.
        Prompts, payloads and other columns are stored and exported again; an
        unknown time stays unknown.

        A vote is a duplicate if the log has one with the same items, outcome,
        rater, context, criterion and time. Votes without a time are recognized
        by their order, see docs/guides/formats.md.

        Parameters
        ----------
        path
            The file.
        format
            One of `duelist.study.formats.FORMATS`; default: detected from the
            file.
        skip_duplicates
            Whether to skip votes that the log has already.
        options
            Options of the format, see docs/guides/formats.md.
        """
        return self._apply_votes(plan_votes(path, format, skip_duplicates=skip_duplicates, **options))

    def add_votes(self, votes: Iterable[Vote]) -> int:
        """Add votes from another study, all or none, and return how many.

        Their arms must be in the study. Each gets a separate duel, chosen by
        import, and keeps its rater, source and time. Votes that were revised or
        undone are skipped. Calling this again adds the votes again;
        `import_votes` skips duplicates.
        """
        current = [Comparison.from_vote(vote) for vote in current_votes(list(votes))]
        with self._reading():
            ids = self._read_cache.arms.ids()
        new = pack_votes(current, ids)
        while not self._accept(new, {}):
            pass
        return new.votes

    def _apply_votes(self, plan: VotePlan) -> VoteImportReport:
        with self._reading() as tx:
            arms = self._read_cache.arms
            adopts_items = not len(arms)
            prompts = (
                tx.contexts(sorted({row.context for row in arms.rows() if row.context})) if arms.has_systems else {}
            )
            known = None if adopts_items else ItemIds(arms.rows(), prompts)
        items = FileItems() if adopts_items else None
        scan = scan_file(plan.comparisons(known), items)
        self._finish_imports()
        while True:
            log = LogIndex()
            with self._reading() as tx:
                ids = self._read_cache.arms.ids()
                answers = {} if known is None else {k: arm for k, arm in known.missing.items() if k not in ids}
                if plan.skip_duplicates:
                    log.update(tx, self._read_cache.arms)
            update = add_new(scan, log) if plan.skip_duplicates else add_all(scan)
            lost: Counter[str] = Counter()
            not_counted: Counter[str] = Counter()
            rows = self._count_losses(select_new(plan, known, scan, update), lost, not_counted)
            new = pack_votes(rows if update.new else (), ids | set(answers) or None)
            revisions = {row: scan.revisions[root] for root, row in update.revised.items()}
            adopted = items if scan.votes and not ids else None
            seen = (log, scan) if plan.skip_duplicates else None
            if self._accept(new, revisions, adopted, seen, list(answers.values())):
                counts = dict(update.skipped), dict(lost), dict(not_counted)
                return VoteImportReport(new.votes, update.duplicates, len(revisions), *counts, len(answers))

    def _accept(
        self,
        new: PackedVotes,
        revisions: Mapping[int, Comparison],
        items: FileItems | None = None,
        seen: tuple[LogIndex, FileScan] | None = None,
        answers: Sequence[NewArm] = (),
    ) -> bool:
        """Stage an import; add `items` of the file, and retired `answers` of systems.

        False if the study has changed meanwhile, so that the new votes have to be found again.
        """
        with self._changing() as tx:
            cache = self._write_cache
            if tx.next_staged() is not None:
                is_accepted = False  # another import was first
            elif (items is not None and len(cache.arms)) or (
                seen is not None and not seen[0].is_current(tx, cache.arms, seen[1])
            ):
                return False
            else:
                if items is not None:
                    needs_features = not new_policy(cache.settings).accepts_arm_table
                    features = items.indicator_features() if needs_features else None
                    self._add_arms(tx, items.describe(), features)
                    cache.arms.refresh(tx)
                if answers:
                    self._add_arms(tx, answers, None)
                    cache.arms.refresh(tx)
                    self._retire(tx, cache.arms.numbers([answer.id for answer in answers]))
                    cache.arms.refresh(tx)
                self._stage(tx, new, revisions)
                is_accepted = True
        self._finish_imports()
        return is_accepted

    def _count_losses(
        self, votes: Iterable[Comparison], lost: Counter[str], not_counted: Counter[str]
    ) -> Iterator[Comparison]:
        """Yield the votes, counting lost fields and votes that are not counted."""
        criteria = {None, *self._read_cache.settings.criteria}
        for vote in votes:
            if vote.chosen_by is not ChosenBy.IMPORT:
                lost["chosen_by"] += 1
            rater = self._read_cache.raters.get(vote.rater) if vote.rater is not None else None
            if rater is not None and rater.excluded:
                not_counted["excluded rater"] += 1
            elif vote.criterion not in criteria:
                not_counted[f"criterion {vote.criterion!r}"] += 1
            yield vote


def _raw_features(plan: ItemPlan, arms: ArmCatalog, settings: StudySettings, dim: int | None) -> Floats | None:
    """Return the numbers of the file for a study without a recipe.

    None if the items of the study have no features, or only indicators.
    """
    numbers = plan.raw_features()
    count = 0 if numbers is None else numbers.shape[1]
    if not len(arms):
        return numbers
    has_indicators = arms.has_indicators() and (count != dim or not new_policy(settings).accepts_arm_table)
    if dim == 0 or has_indicators:
        return None
    if count == dim:
        return numbers
    problems = "".join(f"; {problem}" for problem in plan.problems)
    names = f" ({', '.join(plan.feature_columns)})" if plan.feature_kind == "columns" else ""
    raise InvalidInput(
        f"The items of this study have {dim} features, and those of the file have {count}{names}{problems}.",
        "Give each item the same features as those of the study.",
    )


def _generate_ids(
    arms: ArmCatalog,
    described: list[tuple[Any, str | None]],
    features: Vectors | None,
    recipe: Recipe | None,
    dim: int | None,
) -> tuple[list[str], list[Note]]:
    """Return ids for items without, and notes on them.

    Features made from texts are ignored, since the texts identify the items.
    """
    if features is not None:
        features = checked_vectors(features, len(described), dim)  # what cannot be stored cannot be compared either
    kind = None if recipe is None else recipe["kind"]
    telling = np.asarray(features, np.float64) if features is not None and kind in (None, "columns", "given") else None
    ids = generate_ids(arms, described, telling)
    recognizable = telling is not None or not all(is_blank(payload) for payload, _ in described)
    return ids, generated_id_notes(ids, arms.ids(), recognizable)
