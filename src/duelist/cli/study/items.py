"""`duelist study` for items: add, retire and activate them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duelist.cli.console import report_errors, say
from duelist.cli.defaults import STORAGE
from duelist.cli.study.options import Columns, Encoding, Name, StorageUrl, Systems, load_study, parse_pairs
from duelist.cli.study.previews import show_columns, show_items, show_notes
from duelist.core.tables import format_count

if TYPE_CHECKING:
    from duelist.study import StudyProtocol

ItemIds = Annotated[list[str], typer.Argument(help="Item ids.", show_default=False)]


def add_items(
    name: Name,
    file: Annotated[
        Path,
        typer.Argument(
            help="A table (.csv, .tsv, .xlsx), or JSON lines with id and optionally features, payload, context, prompt.",
            show_default=False,
        ),
    ],
    column: Columns = None,
    encoding: Encoding = None,
    system: Systems = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show the items of the file, and add nothing.")] = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """Add items from a file, all or none; its columns are recognized as in `create`."""
    from duelist.study import plan_items

    with report_errors():
        study = load_study(name, storage)
        plan = plan_items(file, parse_pairs("--column", column), encoding=encoding, systems=system or None)
        if preview:
            show_items(plan)
            say("Nothing was added. Repeat without --preview to add the items.")
            return
        report = study.apply(plan)
        show_columns(report.columns)
        show_notes(report.notes)
        if plan.systems:
            say(f"{name}, {len(study.systems())} systems on {len(study.contexts())} prompts: {report}")
            return
        dim = study.features().shape[1]
        features = format_count(dim, "feature") if dim else "no features"
        say(f"{name}, with {features} per item: {report}")


def retire(name: Name, items: ItemIds, storage: StorageUrl = STORAGE) -> None:
    """Retire items: they are not shown any more; votes on pending pairs still count."""
    with report_errors():
        study = load_study(name, storage)
        study.retire(items)
        _say_retired(study)


def activate(name: Name, items: ItemIds, storage: StorageUrl = STORAGE) -> None:
    """Activate retired items again."""
    with report_errors():
        study = load_study(name, storage)
        study.activate(items)
        _say_retired(study)


def _say_retired(study: StudyProtocol) -> None:
    every = study.arms()
    say(f"{sum(item.retired for item in every)} of {len(every)} items of {study.name!r} are retired")
