"""`duelist study` for files: import and export votes, save, restore and copy studies, back up a storage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from duelist.cli.console import report_errors, say, say_table
from duelist.cli.defaults import FORMATS, STORAGE
from duelist.cli.study.options import Columns, Name, StorageUrl, load_study, parse_pairs
from duelist.cli.study.previews import show_votes
from duelist.core.tables import format_count

Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", help="Option of the format as KEY=VALUE, such as left=answer1; may be repeated."),
]
OutputFile = Annotated[Path, typer.Argument(help="Output file.", show_default=False)]


def import_(
    name: Name,
    file: Annotated[Path, typer.Argument(help="File to read.", show_default=False)],
    form: Annotated[
        str | None, typer.Option("--format", "-f", help=f"Format: {FORMATS}; default: by the content.")
    ] = None,
    keep_duplicates: Annotated[
        bool, typer.Option("--keep-duplicates", help="Also import votes that the log already has.")
    ] = False,
    column: Columns = None,
    option: Options = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show the votes of the file, and import nothing.")] = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """Import votes from a file, all or none. The policy learns from them; duplicates are skipped."""
    from duelist.study import plan_votes

    with report_errors():
        options = _format_options(option) | ({"columns": parse_pairs("--column", column)} if column else {})
        plan = plan_votes(file, form, skip_duplicates=not keep_duplicates, **options)
        if preview:
            show_votes(plan)
            return
        say(f"{file}, as {plan.format}: {load_study(name, storage).apply(plan)}")


def export(
    name: Name,
    file: OutputFile,
    form: Annotated[
        str | None,
        typer.Option("--format", "-f", help=f"Format: {FORMATS}; default: by the file name."),
    ] = None,
    option: Options = None,
    storage: StorageUrl = STORAGE,
) -> None:
    """Export the votes for other tools, and report what the format cannot hold."""
    with report_errors():
        say(f"{file}: {load_study(name, storage).export(file, form, **_format_options(option))}")


def formats() -> None:
    """List the file formats for votes."""
    from duelist.study import formats as known

    rows = [(each.name, each.summary, "yes" if each.read is not None else "no") for each in known.FORMATS.values()]
    say_table(("format", "description", "import"), rows)


def save(name: Name, file: OutputFile, storage: StorageUrl = STORAGE) -> None:
    """Save a whole study to a file, which `restore` reads."""
    with report_errors():
        study = load_study(name, storage)
        say(f"{study.save(file)}: study {name!r}, {format_count(len(study), 'vote')}")


def restore(
    file: Annotated[Path, typer.Argument(help="A file written by `save`.", show_default=False)],
    name: Annotated[str | None, typer.Option("--name", help="New name of the study.")] = None,
    storage: StorageUrl = STORAGE,
) -> None:
    """Restore a study from a file that `save` wrote."""
    from duelist.study import restore_study

    with report_errors():
        study = restore_study(file, storage, name)
        say(
            f"study {study.name!r} with {format_count(len(study.arms()), 'item')} and {format_count(len(study), 'vote')}"
        )


def copy(
    name: Name,
    to_storage: Annotated[
        str | None, typer.Option("--to-storage", help="Storage of the copy; default: the same.")
    ] = None,
    to_name: Annotated[str | None, typer.Option("--to-name", help="Name of the copy; default: the same.")] = None,
    storage: StorageUrl = STORAGE,
) -> None:
    """Copy a study to another storage or name."""
    from duelist.study import copy_study

    with report_errors():
        study = copy_study(name, storage, to_storage, to_name)
        say(f"study {study.name!r} with {format_count(len(study), 'vote')} is a copy of {name!r}")


def backup(
    file: Annotated[Path, typer.Argument(help="Output file, a SQLite database.", show_default=False)],
    storage: StorageUrl = STORAGE,
) -> None:
    """Back up all studies of a storage into one SQLite file; raters can continue meanwhile."""
    from duelist.study import backup_storage, list_studies

    with report_errors():
        path = backup_storage(storage, file)
        say(f"{path}: {len(list_studies(f'sqlite:///{path}', include_archived=True))} studies")


def _format_options(options: list[str] | None) -> dict[str, Any]:
    """Parse KEY=VALUE options of a format; true and false become booleans."""
    words: dict[str, Any] = {"true": True, "false": False}
    return {key: words.get(value, value) for key, value in parse_pairs("--option", options).items()}
