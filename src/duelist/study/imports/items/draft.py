"""A draft: a file understood as arms, to be looked at, and then made into a study or added to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.errors import DuelistError, InvalidInput
from duelist.study.formats.csv_tables import is_table
from duelist.study.imports.items.column_roles import Column, columns_of, is_named
from duelist.study.imports.items.numbering import Shown, about_numbers, are_numbered, ids_by_content, says_nothing
from duelist.study.imports.items.numbers import Numbers, given_features, numbers_in
from duelist.study.imports.items.outliers import far_off_in, far_off_notes
from duelist.study.imports.items.plan import checked_plan
from duelist.study.imports.items.reader import read_sheet
from duelist.study.imports.items.rows import (
    DraftArm,
    Media,
    arm_of,
    contexts_of,
    ids_of,
    look_like_markdown,
    media_kind,
)
from duelist.study.items.catalog import KnownArms
from duelist.study.items.features import KINDS_OF_FEATURES, Recipe, applied, fitted, unchanged
from duelist.study.opening import create_study, delete_study, supports_arm_effects
from duelist.study.replay import new_policy
from duelist.study.storage import Storage
from duelist.study.study import Study

SHOWN: Final = 20
MANY: Final = 200
"""More arms than this are better told apart by something than each learned by itself."""
_TABLES: Final = (".csv", ".tsv", ".xlsx", ".json", ".jsonl", ".ndjson", ".gz")
"""Kinds of files that may say what the images, sounds or films beside them are."""
_OF_THE_SYSTEM: Final = ("thumbs.db", "desktop.ini", "ds_store", "icon\r")


@dataclass(frozen=True)
class Draft:
    """What files were understood as. `plan` has every choice that was made, guessed or said."""

    kind: str
    arms: list[DraftArm]
    prompts: dict[str, Any]
    columns: list[Column]
    numbers: dict[str, list[float]]
    given: NDArray[np.float64] | None
    plan: dict[str, Any]
    encoding: str | None = None
    notes: list[str] = field(default_factory=list)
    with_holes: dict[str, Numbers] = field(default_factory=dict)
    id_by_chance: bool = False
    """Whether a column names the arms for no other reason than that no two of its cells are the same."""

    def preview(self) -> dict[str, Any]:
        """What there is to see before anything is made; plain data."""
        return {
            "kind": self.kind,
            "rows": len(self.arms),
            "encoding": self.encoding,
            "columns": [
                {"name": c.name, "role": c.role, "numeric": c.numeric, "examples": c.examples} for c in self.columns
            ],
            "arms": [{"id": arm.id, "payload": arm.payload, "context": arm.context} for arm in self.arms[:SHOWN]],
            "contexts": len({arm.context for arm in self.arms} - {None}),
            "features": self._choices(),
            "plan": self.plan,
            "notes": self.notes,
        }

    def _choices(self) -> list[dict[str, Any]]:
        usable = {"own": True, "columns": bool(self.numbers), "given": self.given is not None}
        texts = any(arm.text.strip() for arm in self.arms)
        choices = [
            {
                "kind": each.kind,
                "advice": each.when,
                "available": each.available and usable.get(each.kind, texts),
                "missing": each.missing,
                "chosen": each.kind == self.plan["features"]["kind"],
            }
            for each in KINDS_OF_FEATURES
        ]
        if self.given is not None:
            advice = "The file has features: a list of numbers for each arm."
            chosen = self.plan["features"]["kind"] == "given"
            choices.insert(0, {"kind": "given", "advice": advice, "available": True, "missing": None, "chosen": chosen})
        return choices

    # -- making --------------------------------------------------------------------------

    def create(self, name: str | None = None, storage: str | Storage | None = None) -> Study:
        """The study with its arms: all of it, or, after an error, nothing."""
        chosen = name or self.plan.get("name")
        if not chosen:
            raise InvalidInput("name is missing.", "Give the study one.", field="name")
        recipe = self._recipe()
        settings = {**self._settings(recipe["kind"]), "feature_recipe": recipe}
        study = create_study(chosen, storage, self.plan.get("policy"), False, self.plan.get("goal"), **settings)
        try:
            self.add_rows(study, self._vectors(recipe))
        except BaseException:
            delete_study(study.name, study._storage)
            raise
        return study

    def _settings(self, kind: str) -> dict[str, Any]:
        """The settings of the study: what columns of numbers do not explain is left to terms of the arms' own, if not told otherwise."""
        settings = dict(self.plan.get("settings") or {})
        if kind == "columns" and "arm_effects" not in settings and self.plan.get("goal") != "learn":
            settings["arm_effects"] = supports_arm_effects(self.plan.get("policy"), self.plan.get("goal"), settings)
        return settings

    def add_to(self, study: Study) -> int:
        """Add the arms to a study that is there, with features made as those of its first arms were; how many are new."""
        vectors = self.vectors_for(study)
        there = {arm.id for arm in study.arms()}
        self.forget_who_is_far_off()
        added = self.add_rows(study, vectors)
        self.keep_columns(study, vectors)
        self.notes.extend(far_off_in(study, there))
        self._take_back(set(self.unused_in(study)))
        return added

    def unused_in(self, study: Study) -> list[str]:
        """The columns that would be features, and are none of this study's."""
        known = (study.settings.feature_recipe or {}).get("columns") or ()
        return [name for name in self.plan["features"].get("columns") or () if name not in known]

    def _take_back(self, unused: set[str]) -> None:
        """Say of columns that the study has no place for neither that they are features, nor what they are read as."""
        self.columns[:] = [replace(c, role="other") if c.name in unused else c for c in self.columns]
        said = tuple(f"The column {name!r} " for name in unused)
        self.notes[:] = [note for note in self.notes if not note.startswith(said)]

    def forget_who_is_far_off(self) -> None:
        """Among those of the file, by their rows: what counts are all arms of the study, by the ids that they have there."""
        columns = _feature_columns(self.plan["features"], self.numbers, self.given) if self.kind == "table" else {}
        alone = far_off_notes(columns, [arm.id for arm in self.arms])
        self.notes[:] = [note for note in self.notes if note not in alone]

    def _number_as_in(self, study: Study) -> None:
        """Where arms are numbered, a column does not name them because no two of its cells happen to be the same in this file."""
        if self.id_by_chance and self._names_arms and are_numbered({arm.id for arm in study.arms()}):
            name, self.plan["columns"]["id"] = self.plan["columns"]["id"], None
            self.arms[:] = [replace(arm, id=str(k)) for k, arm in enumerate(self.arms, start=1)]
            self.columns[:] = [replace(each, role="other") if each.name == name else each for each in self.columns]
            self.notes.append(
                f"The arms of this study are numbered, and so are these: {name!r} names them only where you say so."
            )

    @property
    def _names_arms(self) -> bool:
        """Whether the files say what arms are called."""
        return self.kind != "table" or self.plan["columns"].get("id") is not None

    def ids_in(self, study: Study, vectors: Any) -> list[str]:
        """The ids of the arms in a study: the file's own; where it has none, those of the same arms there, and the next numbers."""
        self._number_as_in(study)
        if self._names_arms:
            return [arm.id for arm in self.arms]
        with study._reading():
            there = study._reader.known.arms
            shown = [(arm.payload, arm.context) for arm in self.arms]
            return self._numbered(there, study, shown, vectors, set())

    def _numbered(
        self, there: KnownArms, study: Study, arms: Sequence[Shown], vectors: Any, taken: set[str]
    ) -> list[str]:
        """Ids for arms without; features tell them apart unless they are made of what arms show."""
        kind = (study.settings.feature_recipe or {}).get("kind")
        features = vectors if kind in (None, "columns", "given") else None
        known = there.ids()
        ids = ids_by_content(there, arms, features, taken)
        tellable = features is not None or not all(says_nothing(payload) for payload, _ in arms)
        self.notes.extend(about_numbers(ids, known, tellable))
        return ids

    def vectors_for(self, study: Study) -> Any:
        """Features of the arms as a study has them: made as those of its first arms were, else the file's own numbers; or None."""
        recipe = study.settings.feature_recipe
        return self._as_they_are(study) if recipe is None else self._vectors(recipe)

    def keep_columns(self, study: Study, vectors: Any) -> None:
        """Keep with a study whose arms were given these `vectors` the names of their columns: those of later files are found by them."""
        wanted = self.plan["features"]
        if study.settings.feature_recipe is None and vectors is not None and wanted["kind"] == "columns":
            study.change(feature_recipe=unchanged(wanted["columns"]))

    def _recipe(self) -> Recipe:
        wanted = self.plan["features"]
        if wanted["kind"] == "given":
            return {"kind": "given"}
        chosen = {name: value for name, value in wanted.items() if name in ("columns", "size") and value is not None}
        return fitted(wanted["kind"], self._texts(), self._matrix(wanted.get("columns") or ()), **chosen)

    def _vectors(self, recipe: Recipe) -> Any:
        if recipe["kind"] != "given":
            return applied(recipe, self._texts(), self._matrix(recipe.get("columns") or ()))
        if self.given is None:
            raise InvalidInput(
                "The arms of this study have features, and the file has none.", "Add a list named features to each arm."
            )
        return self.given

    def _as_they_are(self, study: Study) -> NDArray[np.float64] | None:
        """The file's numbers, as many as the arms of the study have: none, where those are known by who they are."""
        there = study.features()
        wanted = self.plan["features"]
        found = self._matrix(wanted["columns"]) if wanted["kind"] == "columns" else self.given
        (count, dim), has = there.shape, 0 if found is None else found.shape[1]
        if not count:
            return found
        if dim == 0 or (_each_its_own(there) and (has != dim or not new_policy(study.settings).accepts_arm_table)):
            return None
        if has == dim:
            return found
        holes = "".join(f"; {numbers.describe(name)}" for name, numbers in self.with_holes.items())
        named = f" ({', '.join(wanted['columns'])})" if wanted["kind"] == "columns" else ""
        raise InvalidInput(
            f"The arms of this study have {dim} features, and those of the file have {has}{named}{holes}.",
            "Give each arm the same features as those that are there.",
        )

    def add_rows(self, study: Study, vectors: Any, rows: slice = slice(None), taken: set[str] | None = None) -> int:
        """Add the arms, or those of some rows, with `vectors` for features (of all rows, as `vectors_for` gives them); how many are new.

        Ids that the file does not have are given in the step that adds the arms: of two files at once, neither gets those of the other.
        Whoever adds a file in parts gives them all one set, `taken`: it has the ids of the parts before.
        """
        self._number_as_in(study)
        given = set() if taken is None else taken
        arms, features = self.arms[rows], None if vectors is None else vectors[rows]
        payloads, contexts = self._kept(study, arms), [arm.context for arm in arms]
        if self._names_arms:
            return study.add_arms([arm.id for arm in arms], features, payloads, contexts, self.prompts or None)
        shown = list(zip(payloads, contexts, strict=True))

        def named(there: KnownArms) -> list[str]:
            return self._numbered(there, study, shown, features, given)

        return study._add_unnamed(named, features, payloads, contexts, self.prompts or None)

    @staticmethod
    def _kept(study: Study, arms: Sequence[DraftArm]) -> list[Any]:
        """What arms show; the files among them are kept with the study."""
        payloads = [arm.payload for arm in arms]
        for k, path in ((k, arm.media) for k, arm in enumerate(arms) if arm.media is not None):
            (key,) = study.add_media([(path.name, "", path.read_bytes())])
            payloads[k] = {**payloads[k], media_kind(path.name) or "image": key}
        return payloads

    def _texts(self) -> list[str]:
        return [arm.text for arm in self.arms]

    def _matrix(self, columns: Sequence[str]) -> NDArray[np.float64] | None:
        if not columns:
            return None
        missing = next((name for name in columns if name not in self.numbers), None)
        if missing is not None:
            if missing in self.with_holes:
                found = self.with_holes[missing]
                raise InvalidInput(
                    f"{found.describe(missing)}.",
                    f"A feature needs a number for each arm: {found.way_out}, or choose other columns.",
                )
            there = ", ".join(self.numbers) or "none"
            raise InvalidInput(
                f"features are made of the column {missing!r}, and the file has no numbers there.",
                f"Its columns of numbers are: {there}.",
            )
        return np.column_stack([self.numbers[name] for name in columns])


def _each_its_own(features: NDArray[np.float64]) -> bool:
    """Whether every arm has a feature that no other has, as a study makes them for policies that know arms by features alone."""
    count, dim = features.shape
    return count <= dim and np.array_equal(features, np.eye(count, dim))


def read_draft(paths: Sequence[str | Path], plan: Mapping[str, Any] | None = None) -> Draft:
    """Understand files as arms: one table, or JSON; any number of images, sounds or films; or a table and the files it names."""
    given = checked_plan(plan)
    files = [Path(path) for path in paths]
    media, tables, notes = _sorted_out(files)
    if len(tables) > 1:
        raise InvalidInput(
            f"There are {len(tables)} tables, {tables[0].name} and {tables[1].name}.", "Give one at a time."
        )
    try:
        draft = _of_table(tables[0], media, given) if tables else _of_media(media, given)
        return replace(draft, notes=[*notes, *draft.notes])
    except DuelistError as error:
        # A file that came over the net lies in a folder that nobody outside has heard of.
        message, hint = error.message, error.hint
        for path in files:
            message, hint = (text.replace(str(path), path.name) for text in (message, hint))
        raise error.replace(message, hint) from error


def _sorted_out(files: Sequence[Path]) -> tuple[Media, list[Path], list[str]]:
    """Media, tables, and what is to be said of the rest: folders hold more than what was meant."""
    meant = [path for path in files if not _is_of_the_system(path.name)] or list(files)
    media = Media(path for path in meant if media_kind(path.name))
    others = [path for path in meant if not media_kind(path.name)]
    tables = [path for path in others if not media.paths or path.suffix.lower() in _TABLES]
    left_out = [path.name for path in others if path not in tables]
    if not left_out:
        return media, tables, []
    named = ", ".join(left_out[:3]) + (f" and {len(left_out) - 3} more" if len(left_out) > 3 else "")
    return media, tables, [f"Left out, since neither media nor a table of them: {named}."]


def _is_of_the_system(name: str) -> bool:
    """Whether a file is one that Windows, macOS or a spreadsheet puts into people's folders unasked."""
    return name.lower() in _OF_THE_SYSTEM or name.startswith((".", "~$"))


def _of_media(media: Media, plan: dict[str, Any]) -> Draft:
    if not media.paths:
        raise InvalidInput("There are no files.", "Give a table of arms, or images.")
    arms = [DraftArm(name, {}, None, "", path) for name, path in sorted(media.named().items())]
    shown = [DraftArm(arm.id, {media_kind(arm.id) or "image": arm.id}, None, "", arm.media) for arm in arms]
    chosen = {**plan, "features": {"kind": "own", **(plan.get("features") or {})}}
    return Draft("media", shown, {}, [], {}, None, chosen, notes=_advice(len(arms), "own"))


def _of_table(path: Path, media: Media, plan: dict[str, Any]) -> Draft:
    sheet = read_sheet(path, plan.get("encoding"))
    if not sheet.rows:
        raise InvalidInput(f"{path} has no arms.", "Give one a line.")
    rows = [row._replace(where=row.where.replace(str(path), path.name)) for row in sheet.rows]
    sheet = sheet._replace(rows=rows)
    wanted = dict(plan.get("features") or {})
    said = plan.get("columns") or {}
    read = numbers_in(rows, sheet.columns)
    chosen = tuple(wanted.get("columns") or ())
    columns, roles = columns_of(sheet, said, chosen, read)
    free = {name: found for name, found in read.items() if name in chosen or name not in roles.values()}
    numbers = {name: [value or 0.0 for value in found.values] for name, found in free.items() if found.whole}
    holes = {name: found for name, found in free.items() if not found.whole}
    given = given_features(rows)
    notes = [*sheet.notes, *(_about_holes(name, found) for name, found in holes.items())]
    contexts, prompts = contexts_of(rows, roles)
    ids = ids_of(rows, roles, contexts, notes)
    arms = [arm_of(row, name, context, roles, media) for row, name, context in zip(rows, ids, contexts, strict=True)]
    # JSON has a place for features, so numbers elsewhere in it are not taken for some.
    kind = wanted.get("kind") or _best_kind(arms, bool(numbers) and is_table(path), given is not None)
    settings = dict(plan.get("settings") or {})
    if "show_as" not in settings and look_like_markdown(arms):
        settings["show_as"] = "markdown"
        notes.append("The texts look like Markdown, and are shown as that.")
    if kind == "columns" and not wanted.get("columns"):
        wanted["columns"] = list(numbers)
        notes += [f"The column {name!r} {read[name].meaning}." for name in numbers if read[name].meaning]
    features = {**wanted, "kind": kind}
    columns = [
        Column(c.name, "feature", c.numeric, c.examples)
        if kind == "columns" and c.name in (wanted.get("columns") or ())
        else c
        for c in columns
    ]
    understood = {
        **plan,
        **({"settings": settings} if settings else {}),
        "columns": {role: roles.get(role) for role in ("id", "payload", "context", "prompt")},
        "features": features,
    }
    return Draft(
        "table",
        arms,
        prompts,
        columns,
        numbers,
        given,
        understood,
        sheet.encoding,
        notes + _advice(len(arms), kind) + far_off_notes(_feature_columns(features, numbers, given), ids),
        holes,
        id_by_chance="id" in roles and "id" not in said and not is_named("id", roles["id"]),
    )


def _about_holes(name: str, found: Numbers) -> str:
    return f"{found.describe(name)}. A feature needs a number for each arm, so this column is left out; {found.way_out} to have it."


def _feature_columns(
    features: Mapping[str, Any], numbers: Mapping[str, list[float]], given: NDArray[np.float64] | None
) -> dict[str, Any]:
    """The numbers that are features, by what they are called."""
    if features["kind"] == "columns":
        return {f"The column {name!r}": numbers[name] for name in features["columns"] if name in numbers}
    return {} if features["kind"] != "given" or given is None else {f"Feature {k}": x for k, x in enumerate(given.T)}


def _best_kind(arms: Sequence[DraftArm], numbers: bool, given: bool) -> str:
    if given:
        return "given"
    if numbers:
        return "columns"
    texts = any(arm.text.strip() and arm.text != arm.id for arm in arms)
    hashed = next(kind for kind in KINDS_OF_FEATURES if kind.kind == "hashed")
    return "hashed" if len(arms) > MANY and texts and hashed.available else "own"


def _advice(count: int, kind: str) -> list[str]:
    if kind == "own" and count > MANY:
        return [
            f"{count} arms, each learned by itself, need very many votes; features made from texts or numbers need fewer."
        ]
    return []
