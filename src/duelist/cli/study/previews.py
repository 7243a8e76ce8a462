"""Previews of files in the shell: what an import would add, and how it uses the columns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duelist.cli.console import say, say_table
from duelist.core.errors import InvalidInput
from duelist.core.tables import format_count

if TYPE_CHECKING:
    from duelist.study import ItemPlan, VotePlan
    from duelist.study.imports import Note
    from duelist.study.imports.items.column_mapping import FileColumn

_SHOWN = 5
_TEXT, _EXAMPLE = 100, 30
"""Characters of an item, and of a cell, that are shown."""


def show_items(plan: ItemPlan) -> None:
    """Show what a plan would import: its columns, its first items, its notes."""
    show_columns(plan.columns)
    for item in plan.items[:_SHOWN]:
        where = f" in {item.context}" if item.context and item.system is None else ""
        say(f"  {item.id}{where}: {_shown(item.payload)}")
    if len(plan.items) > _SHOWN:
        say(f"  ... and {len(plan.items) - _SHOWN} more")
    show_notes(plan.notes)


def show_votes(plan: VotePlan) -> None:
    """Show the format of a plan, how many votes it has, and the first of them."""
    found: dict[str, Any] = plan.preview()
    say(
        f"{plan.path}, as {plan.format}: {format_count(found['votes'], 'vote')} on {format_count(found['items'], 'item')}"
    )
    for vote in found["examples"][:_SHOWN]:
        rater = f", by {vote['rater']}" if vote["rater"] else ""
        say(f"  {vote['first']} against {vote['second']}: {vote['outcome']}{rater}")


def expand_folders(files: list[Path]) -> list[Path]:
    """Return the files, with folders replaced by the files in them."""
    found: list[Path] = []
    for path in files:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
            if not inside:
                raise InvalidInput(
                    f"The folder {path} has no files.", "Give one with media files, or a table of items."
                )
            found += inside
        else:
            found.append(path)
    return found


def show_columns(columns: Iterable[FileColumn]) -> None:
    """Show how the columns of a file are used."""
    rows = [
        (column.name, column.role, " | ".join(_one_line(each, _EXAMPLE) for each in column.examples))
        for column in columns
    ]
    if rows:
        say_table(("column", "used as", "examples"), rows)


def _shown(payload: Any) -> str:
    """Return what raters see of an item, on one line: the name of its picture and the beginning of its text."""
    if not isinstance(payload, dict):
        return _one_line(str(payload), _TEXT)
    from duelist.study.items.labels import beginning, picture_of

    parts = [each for each in (picture_of(payload), beginning(payload)) if each]
    return ": ".join(parts) or _one_line(str(payload), _TEXT)


def _one_line(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def show_notes(notes: Iterable[Note]) -> None:
    """Show notes on how a file was read."""
    for note in notes:
        say(str(note))
