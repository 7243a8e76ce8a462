"""Import items and votes from files in the shell."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from duelist.cli.console import out, say
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.study import ItemPlan, VotePlan
    from duelist.study.imports import Note
    from duelist.study.imports.items.column_mapping import FileColumn

_SHOWN = 5


def plan_files(files: list[Path], columns: dict[str, str], features: str | None, encoding: str | None) -> ItemPlan:
    """Plan the import of files, and of those in folders."""
    from duelist.study import plan_items

    return plan_items(_expand_folders(files), columns, features, encoding)


def add_from_file(name: str, file: Path, columns: dict[str, str], encoding: str | None, storage: str) -> None:
    """Add the items of a file to a study, and show how its columns were used."""
    from duelist.study import load_study, plan_items

    study = load_study(name, storage=storage)
    report = study.apply(plan_items(file, columns, encoding=encoding))
    _show_columns(report.columns)
    _show_notes(report.notes)
    dim = study.features().shape[1]
    features = "1 feature" if dim == 1 else f"{dim or 'no'} features"
    say(f"{name}, with {features} per item: {report}")


def show_items(plan: ItemPlan) -> None:
    """Show what a plan would import: its columns, its first items, its notes."""
    _show_columns(plan.columns)
    for item in plan.items[:_SHOWN]:
        where = f" in {item.context}" if item.context else ""
        say(f"  {item.id}{where}: {str(item.payload)[:100]}")
    if len(plan.items) > _SHOWN:
        say(f"  ... and {len(plan.items) - _SHOWN} more")
    _show_notes(plan.notes)


def show_votes(plan: VotePlan) -> None:
    """Show the format of a plan, how many votes it has, and the first of them."""
    found: dict[str, Any] = plan.preview()
    say(f"{plan.path}, as {plan.format}: {found['votes']} votes on {found['items']} items")
    for vote in found["examples"][:_SHOWN]:
        rater = f", by {vote['rater']}" if vote["rater"] else ""
        say(f"  {vote['first']} against {vote['second']}: {vote['outcome']}{rater}")


def _expand_folders(files: list[Path]) -> list[Path]:
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


def _show_columns(columns: Iterable[FileColumn]) -> None:
    table = Table("column", "used as", "examples")
    for column in columns:
        table.add_row(escape(column.name), column.role, escape(" | ".join(column.examples)))
    if table.row_count:
        out.print(table)


def _show_notes(notes: Iterable[Note]) -> None:
    for note in notes:
        say(str(note))
