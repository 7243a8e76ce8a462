"""`duelist study create NAME FILE`: a study from a file of arms, or from images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from duelist.cli.console import out, say
from duelist.errors import InvalidInput, StudyExists

if TYPE_CHECKING:
    from duelist.study.draft import Draft

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
    from duelist.study.draft import read_draft
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


def _gathered(files: list[Path]) -> list[Path]:
    """The files that are named, and those in folders that are named."""
    found: list[Path] = []
    for path in files:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
            if not inside:
                raise InvalidInput(f"the folder {path} has no files; give one with images, or a file of arms")
            found += inside
        else:
            found.append(path)
    return found


def _show(draft: Draft) -> None:
    """What a file is understood as: its columns, some of its arms, what one should know."""
    if draft.columns:
        table = Table("column", "taken as", "for instance")
        for column in draft.columns:
            table.add_row(escape(column.name), column.role, escape(" | ".join(column.examples)))
        out.print(table)
    for arm in draft.arms[:_SHOWN]:
        where = f" in {arm.context}" if arm.context else ""
        say(f"  {arm.id}{where}: {str(arm.payload)[:100]}")
    if len(draft.arms) > _SHOWN:
        say(f"  ... and {len(draft.arms) - _SHOWN} more")
    for note in draft.notes:
        say(note)
