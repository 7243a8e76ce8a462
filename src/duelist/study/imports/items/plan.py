"""Plan an import of items: read files into an `ItemPlan`.

plan = plan_items("answers.csv") print(plan.preview())                                    # writes nothing study =
create_study("answers", items=plan)              # or: study.apply(plan)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.core.serialization import from_plain, to_plain
from duelist.study.imports.items.answers import (
    ANSWER,
    SYSTEM,
    AnswerSheet,
    answered_prompts,
    holds_answers,
    read_answers,
    sparse_columns,
)
from duelist.study.imports.items.column_mapping import (
    TARGETS,
    FileColumn,
    examples_of,
    is_recognized_by_name,
    map_columns,
)
from duelist.study.imports.items.media import MediaFiles
from duelist.study.imports.items.numbers.columns import ColumnProblem, parse_feature_lists, parse_number_columns
from duelist.study.imports.items.options import ItemOptions
from duelist.study.imports.items.outliers import outlier_notes
from duelist.study.imports.items.planned_items import (
    PlannedItem,
    content_notes,
    find_contexts,
    find_ids,
    looks_like_markdown,
    plan_item,
    with_media_columns,
)
from duelist.study.imports.items.sheet import Sheet, read_sheet
from duelist.study.imports.notes import Note
from duelist.study.items.features import FEATURE_KINDS, Recipe, Vectors, apply_recipe, fit_recipe
from duelist.study.items.media_kind import media_kind

PREVIEWED: Final = 20
MANY_ITEMS: Final = 200
"""Above this number, items should have features rather than be learned one by one."""
_TABLES: Final = (".csv", ".tsv", ".xlsx", ".json", ".jsonl", ".ndjson", ".gz")
"""Files that may be a table of the media files beside them."""
_SYSTEM_FILES: Final = ("thumbs.db", "desktop.ini", "ds_store", "icon\r")


@dataclass(frozen=True)
class ItemPlan:
    """Items read from files, with every choice that was given or guessed."""

    kind: str
    """"table" or "media"."""
    items: tuple[PlannedItem, ...]
    options: ItemOptions
    """The options that were given, completed by those that were guessed."""
    prompts: dict[str, Any] = field(default_factory=dict)
    """What each context is."""
    columns: tuple[FileColumn, ...] = ()
    numbers: dict[str, list[float]] = field(default_factory=dict)
    """The columns that can be features."""
    problems: tuple[ColumnProblem, ...] = ()
    """The columns of numbers that cannot be features."""
    features: list[list[float]] | None = None
    """Lists of features, if the file has them."""
    encoding: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings for a study that is created with these items."""
    id_is_guessed: bool = False
    """Whether the id column was chosen only because its cells are unique."""
    notes: tuple[Note, ...] = ()

    # -- preview and JSON ----------------------------------------------------------------

    def preview(self) -> dict[str, Any]:
        """Return what the plan would import, as plain data."""
        return {
            "kind": self.kind,
            "rows": len(self.items),
            "encoding": self.encoding,
            "columns": to_plain(self.columns),
            "items": [
                {"id": item.id, "payload": item.payload, "context": item.context, "system": item.system}
                for item in self.items[:PREVIEWED]
            ],
            "systems": self.systems,
            "contexts": len({item.context for item in self.items} - {None}),
            "features": self._feature_choices(),
            "options": to_plain(self.options),
            "settings": dict(self.settings),
            "notes": [note.to_dict() for note in self.notes],
        }

    def _feature_choices(self) -> list[dict[str, Any]]:
        has_texts = any(item.text.strip() for item in self.items)
        is_possible = {"none": True, "columns": bool(self.numbers)}
        choices = [
            {
                "kind": each.kind,
                "advice": each.advice,
                "available": each.is_installed and is_possible.get(each.kind, has_texts),
                "missing": each.missing,
                "chosen": each.kind == self.feature_kind,
            }
            for each in FEATURE_KINDS
        ]
        if self.features is not None:
            advice = "The file has features: a list of numbers for each item."
            is_chosen = self.feature_kind == "given"
            choices.insert(
                0, {"kind": "given", "advice": advice, "available": True, "missing": None, "chosen": is_chosen}
            )
        return choices

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for JSON.

        `from_dict` returns the same plan, as long as its media files are in place.
        """
        described: dict[str, Any] = to_plain(self)
        return described

    @staticmethod
    def from_dict(described: Mapping[str, Any]) -> ItemPlan:
        """Return the plan that `to_dict` described."""
        return from_plain(ItemPlan, described)

    # -- ids -----------------------------------------------------------------------------

    @property
    def systems(self) -> list[str]:
        """The systems whose answers these are; none if the items have no systems."""
        return list(dict.fromkeys(item.system for item in self.items if item.system is not None))

    @property
    def has_ids(self) -> bool:
        """Whether the files name the items."""
        return bool(self.systems) or self.kind != "table" or self.options.columns.get("id") is not None

    def without_guessed_id(self) -> ItemPlan:
        """Return the plan with numbered items, ignoring the guessed id column."""
        column = self.options.columns["id"]
        return replace(
            self,
            items=tuple(replace(item, id=str(k)) for k, item in enumerate(self.items, start=1)),
            columns=tuple(replace(each, role="other") if each.name == column else each for each in self.columns),
            options=replace(self.options, columns={**self.options.columns, "id": None}),
            notes=(*self.notes, Note("column_not_id", {"column": column})),
            id_is_guessed=False,
        )

    def without_features(self, columns: Sequence[str]) -> ItemPlan:
        """Return the plan with these columns not used as features."""
        return replace(
            self,
            columns=tuple(replace(each, role="other") if each.name in columns else each for each in self.columns),
            notes=tuple(note for note in self.notes if note.details.get("column") not in columns),
        )

    # -- features ------------------------------------------------------------------------

    @property
    def feature_kind(self) -> str:
        """The kind of features that was chosen."""
        return str(self.options.features["kind"])

    @property
    def feature_columns(self) -> list[str]:
        """The columns that were chosen as features."""
        return list(self.options.features.get("columns") or ())

    def fit_features(self) -> Recipe:
        """Return how features of the chosen kind are made, fitted to these items."""
        if self.feature_kind == "given":
            return {"kind": "given"}
        wanted = {name: self.options.features.get(name) for name in ("columns", "size")}
        given = {name: value for name, value in wanted.items() if value is not None}
        return fit_recipe(self.feature_kind, self._texts(), self._matrix(self.feature_columns), **given)

    def make_features(self, recipe: Recipe) -> Vectors | None:
        """Return features of these items, made as the recipe says."""
        if recipe["kind"] != "given":
            return apply_recipe(recipe, self._texts(), self._matrix(recipe.get("columns") or ()))
        if self.features is None:
            raise InvalidInput(
                "The items of this study have features, and the file has none.",
                "Add a list named features to each item.",
            )
        return np.array(self.features, np.float64)

    def raw_features(self) -> Floats | None:
        """Return the chosen columns, or the lists of features, as they are."""
        if self.feature_kind == "columns":
            return self._matrix(self.feature_columns)
        return None if self.features is None else np.array(self.features, np.float64)

    def _texts(self) -> list[str]:
        return [item.text for item in self.items]

    def _matrix(self, columns: Sequence[str]) -> Floats | None:
        if not columns:
            return None
        missing = next((name for name in columns if name not in self.numbers), None)
        if missing is None:
            return np.column_stack([self.numbers[name] for name in columns])
        problem = next((each for each in self.problems if each.column == missing), None)
        if problem is not None:
            raise InvalidInput(
                f"{problem}.", f"A feature needs a number for every item: {problem.remedy}, or choose other columns."
            )
        raise InvalidInput(
            f"Features are made of the column {missing!r}, and the file has no numbers there.",
            f"Its columns of numbers are: {', '.join(self.numbers) or 'none'}.",
        )


# -- reading -----------------------------------------------------------------------------


def plan_items(
    paths: str | Path | Sequence[str | Path],
    columns: Mapping[str, str | None] | None = None,
    features: str | Mapping[str, Any] | None = None,
    encoding: str | None = None,
    systems: Sequence[str] | None = None,
) -> ItemPlan:
    """Read files of items and plan their import.

    Parameters
    ----------
    paths
        A table (.csv, .tsv, .xlsx), JSON or text file; media files; or a table and the media files that it names.
    columns
        Maps "id", "payload", "context", "prompt", "system" and "category" to columns of the file; those not given are
        recognized.
    features
        The kind of features (see `FEATURE_KINDS`), or a mapping with the `kind`, the `columns` and the `size`; default:
        what suits the file.
    encoding
        The encoding of a text file; default: detected.
    systems
        The columns of a file with one column of answers per system; [] if the file holds plain items. Default:
        recognized. A file with a row per answer names its column of systems in `columns`.
    """
    options = ItemOptions.checked(columns, features, encoding, systems)
    files = [Path(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
    media, tables, notes = _sort_files(files)
    if len(tables) > 1:
        raise InvalidInput(
            f"There are {len(tables)} tables, {tables[0].name} and {tables[1].name}.", "Import one at a time."
        )
    plan = _plan_table(tables[0], media, options) if tables else _plan_media(media, options)
    return replace(plan, notes=(*notes, *plan.notes))


def _sort_files(files: Sequence[Path]) -> tuple[MediaFiles, list[Path], list[Note]]:
    """Return media files and tables, and a note on the other files of a folder."""
    meant = [path for path in files if not _is_system_file(path.name)] or list(files)
    media = MediaFiles(path for path in meant if media_kind(path.name))
    others = [path for path in meant if not media_kind(path.name)]
    tables = [path for path in others if not media.paths or path.suffix.lower() in _TABLES]
    ignored = [path.name for path in others if path not in tables]
    return media, tables, [Note("ignored_files", {"files": ignored})] if ignored else []


def _is_system_file(name: str) -> bool:
    """Return whether an operating system or a spreadsheet created this file."""
    return name.lower() in _SYSTEM_FILES or name.startswith((".", "~$"))


def _plan_media(media: MediaFiles, options: ItemOptions) -> ItemPlan:
    if not media.paths:
        raise InvalidInput("There are no files to import.", "Give a table of items, or media files.")
    items = tuple(
        PlannedItem(name, {media_kind(name) or "image": name}, media=str(path))
        for name, path in sorted(media.with_unique_names().items())
    )
    chosen = replace(options, features={"kind": "none", **options.features})
    return ItemPlan("media", items, chosen, notes=tuple(_many_items_note(len(items), "none")))


def _plan_table(path: Path, media: MediaFiles, options: ItemOptions) -> ItemPlan:
    sheet = read_sheet(path, options.encoding)
    if not sheet.rows:
        raise InvalidInput(f"{path.name} has no items.", "Give one per line.")
    answers = read_answers(sheet, options)
    return (
        _plan_items(path, sheet, media, options) if answers is None else _plan_answers(sheet, answers, media, options)
    )


def _plan_answers(original: Sheet, answers: AnswerSheet, media: MediaFiles, options: ItemOptions) -> ItemPlan:
    """Plan the import of a file of systems' answers to prompts."""
    if options.features.get("kind", "none") != "none":
        raise InvalidInput(
            f"features is {options.features['kind']!r}, and a study of systems learns a utility per system instead.",
            "Leave the features out, or set systems to an empty list to compare single items.",
            field="features",
        )
    rows, contexts, prompts, notes = answered_prompts(answers)
    used = {target: name for target, name in answers.columns.items() if name is not None}
    _, mapping = map_columns(answers.sheet, answers.columns, (), {})
    ids, id_notes = find_ids(rows, mapping, contexts)
    items = tuple(
        plan_item(row, name, context, mapping, media) for row, name, context in zip(rows, ids, contexts, strict=True)
    )
    is_markdown = looks_like_markdown(items)
    sparse = [] if options.systems else sparse_columns(answers, original)
    role = {name: target for target, name in used.items()} | dict.fromkeys(answers.unfolded, "answer")
    given = {target: None if name in (SYSTEM, ANSWER) else name for target, name in answers.columns.items()}
    if answers.unfolded:
        del given["system"], given["payload"]
    return ItemPlan(
        "table",
        items,
        ItemOptions(given, {"kind": "none"}, options.encoding, answers.wide),
        prompts,
        tuple(
            FileColumn(name, role.get(name, "other"), False, examples_of(original, name)) for name in original.columns
        ),
        encoding=original.encoding,
        settings={"show_as": "markdown"} if is_markdown else {},
        notes=(
            *original.notes,
            *notes,
            *([Note("sparse_answers", {"columns": sparse})] if sparse else ()),
            *id_notes,
            *([Note("markdown")] if is_markdown else ()),
        ),
    )


def _plan_items(path: Path, sheet: Sheet, media: MediaFiles, options: ItemOptions) -> ItemPlan:
    parsed = parse_number_columns(sheet.rows, sheet.columns)
    chosen = tuple(options.features.get("columns") or ())
    columns, mapping = map_columns(sheet, options.columns, chosen, parsed)
    free = {name: column for name, column in parsed.items() if name in chosen or name not in mapping.values()}
    numbers = {name: column.values for name, column in free.items() if column.problem is None}
    problems = tuple(column.problem for column in free.values() if column.problem is not None)
    lists = parse_feature_lists(sheet.rows)
    contexts, prompts = find_contexts(sheet.rows, mapping)
    ids, id_notes = find_ids(sheet.rows, mapping, contexts)
    items = tuple(
        plan_item(row, name, context, mapping, media)
        for row, name, context in zip(sheet.rows, ids, contexts, strict=True)
    )
    kind = options.features.get("kind") or _suggest_kind(items, bool(numbers), lists is not None)
    features = {**options.features, "kind": kind}
    interpretations = []
    if kind == "columns" and not chosen:
        features["columns"] = list(numbers)
        interpretations = [note for name in numbers if (note := parsed[name].note) is not None]
    used = features.get("columns") or () if kind == "columns" else ()
    columns = list(with_media_columns(columns, sheet.rows, mapping, media))
    is_markdown = looks_like_markdown(items)
    return ItemPlan(
        "table",
        items,
        ItemOptions({target: mapping.get(target) for target in TARGETS}, features, options.encoding),
        prompts,
        tuple(replace(each, role="feature") if each.name in used else each for each in columns),
        numbers,
        problems,
        lists,
        sheet.encoding,
        {"show_as": "markdown"} if is_markdown else {},
        "id" in mapping and "id" not in options.columns and not is_recognized_by_name("id", mapping["id"]),
        (
            *sheet.notes,
            *_unused_texts_note(sheet, columns),
            *(_problem_note(problem) for problem in problems),
            *id_notes,
            *content_notes(items),
            *([Note("markdown")] if is_markdown else ()),
            *interpretations,
            *_many_items_note(len(items), kind),
            *outlier_notes(_features_by_label(features, numbers, lists), ids),
        ),
    )


def _unused_texts_note(sheet: Sheet, columns: Sequence[FileColumn]) -> list[Note]:
    """Return a note if several columns hold texts that might be answers of systems."""
    unused = [each.name for each in columns if each.role == "other" and holds_answers(sheet, each.name)]
    return [Note("unused_texts", {"columns": unused})] if len(unused) > 1 else []


def _problem_note(problem: ColumnProblem) -> Note:
    details = {"column": problem.column, "kind": problem.kind, "problem": str(problem), "remedy": problem.remedy}
    return Note("unusable_column", details)


def _features_by_label(
    features: Mapping[str, Any], numbers: Mapping[str, list[float]], lists: list[list[float]] | None
) -> dict[str, Any]:
    if features["kind"] == "columns":
        return {f"The column {name!r}": numbers[name] for name in features["columns"] if name in numbers}
    if features["kind"] != "given" or lists is None:
        return {}
    return {f"Feature {k}": column for k, column in enumerate(np.array(lists).T)}


def _suggest_kind(items: Sequence[PlannedItem], has_numbers: bool, has_lists: bool) -> str:
    if has_lists:
        return "given"
    if has_numbers:
        return "columns"
    has_texts = any(item.text.strip() and item.text != item.id for item in items)
    hashed = next(each for each in FEATURE_KINDS if each.kind == "hashed")
    return "hashed" if len(items) > MANY_ITEMS and has_texts and hashed.is_installed else "none"


def _many_items_note(count: int, kind: str) -> list[Note]:
    return [Note("many_items", {"count": count})] if kind == "none" and count > MANY_ITEMS else []
