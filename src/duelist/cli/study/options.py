"""Arguments and options that several commands of `duelist study` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from duelist.study import StudyProtocol

Name = Annotated[str, typer.Argument(help="Name of the study.", show_default=False)]
StorageUrl = Annotated[
    str, typer.Option("--storage", "-s", envvar="DUELIST_STORAGE", help="sqlite:///FILE or postgresql+psycopg://...")
]
Context = Annotated[str | None, typer.Option("--context", "-c", help="Only items of this context.")]

Category = Annotated[
    str | None, typer.Option("--category", help="Only prompts of this category, in a study of systems.")
]
By = Annotated[
    str | None,
    typer.Option("--by", help="In a study of systems: system (the default) or item, one row per system and prompt."),
]


def load_study(name: str, storage: str) -> StudyProtocol:
    """Load a study; the database library is imported only now."""
    from duelist import study

    return study.load_study(name, storage=storage)
