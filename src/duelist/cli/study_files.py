"""`duelist study create NAME FILE`: a study from a file of arms, or from images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from duelist.cli.console import out, say
from duelist.core.errors import InvalidInput, StudyExists

if TYPE_CHECKING:
    from duelist.study.imports.items import Draft

_SHOWN = 5


def create_from_files(
    name: str,
    files: list[Path],
    plan: dict[str, Any],
    features: str | None,
    columns: dict[str, str],
    storage: str,
    preview: bool,
    if_missing: bool,
) -> None:
    """Understand files, show what they are understood as, and make the study of them unless only a preview is wanted."""
    from duelist.study.imports.items import read_draft
    from duelist.study.storage import without_password

    given = {key: value for key, value in plan.items() if value is not None}
    chosen = {"columns": columns} if columns else {}
    chosen |= {"features": {"kind": features}} if features else {}
    draft = read_draft(_gathered(files), {**given, **chosen})
    _show(draft)
    if preview:
        say("nothing was made; leave --preview out to make the study")
        return
    try:
        study = draft.create(name, storage)
    except StudyExists:
        if not if_missing:
            raise
        say(f"study {name!r} is there already, and stays as it is")
        return
    made = draft.plan["features"]["kind"]
    say(
        f"study {name!r} with {len(draft.arms)} arms, features {made!r} and policy {study.settings.policy} in {without_password(storage)}; "
        "`duelist serve` shows it to raters"
    )


def add_from_file(name: str, file: Path, columns: dict[str, str], encoding: str | None, storage: str) -> None:
    """Understand a file as `create` does, say what its columns were taken as, and add its arms to a study."""
    from duelist.study import load_study
    from duelist.study.imports.items import read_draft

    plan = {"columns": columns, "encoding": encoding}
    draft = read_draft([file], {key: value for key, value in plan.items() if value})
    study = load_study(name, storage=storage)
    added = draft.add_to(study)
    _show_columns(draft)
    _say_notes(draft)
    there = f"; {len(draft.arms) - added} were there already" if added < len(draft.arms) else ""
    arms = "1 arm" if added == 1 else f"{added} arms"
    dim = study.features().shape[1]
    features = "1 feature" if dim == 1 else f"{dim or 'no'} features"
    unused = draft.unused_in(study)
    left_out = f"; not among the features of this study, and left out: {', '.join(unused)}" if unused else ""
    say(f"{arms} with {features} added to {name!r}{there}{left_out}")


def _gathered(files: list[Path]) -> list[Path]:
    """The files that are named, and those in folders that are named."""
    found: list[Path] = []
    for path in files:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
            if not inside:
                raise InvalidInput(f"The folder {path} has no files.", "Give one with images, or a file of arms.")
            found += inside
        else:
            found.append(path)
    return found


def _show(draft: Draft) -> None:
    """What a file is understood as: its columns, some of its arms, what one should know."""
    _show_columns(draft)
    for arm in draft.arms[:_SHOWN]:
        where = f" in {arm.context}" if arm.context else ""
        say(f"  {arm.id}{where}: {str(arm.payload)[:100]}")
    if len(draft.arms) > _SHOWN:
        say(f"  ... and {len(draft.arms) - _SHOWN} more")
    _say_notes(draft)


def _show_columns(draft: Draft) -> None:
    if draft.columns:
        table = Table("column", "taken as", "for instance")
        for column in draft.columns:
            table.add_row(escape(column.name), column.role, escape(" | ".join(column.examples)))
        out.print(table)


def _say_notes(draft: Draft) -> None:
    for note in draft.notes:
        say(note)
