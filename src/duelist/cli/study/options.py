"""Arguments and options that several commands of `duelist study` share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.study import Arm, StudyProtocol

Name = Annotated[str, typer.Argument(help="Name of the study.", show_default=False)]
StorageUrl = Annotated[
    str, typer.Option("--storage", "-s", envvar="DUELIST_STORAGE", help="sqlite:///FILE or postgresql+psycopg://...")
]
Context = Annotated[str | None, typer.Option("--context", "-c", help="Only items of this context.")]
Pair = Annotated[int, typer.Argument(help="Number of the pair.", show_default=False)]
Rater = Annotated[str, typer.Option("--rater", "-r", help="Name of the rater.", show_default=False)]
Criterion = Annotated[str | None, typer.Option(help="Criterion of the vote.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="FIELD=COLUMN, if a column of the file has another name; may be repeated."),
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the file, if detection fails.")]
Systems = Annotated[
    list[str] | None,
    typer.Option("--system", help="A column with the answers of one system to the prompts; may be repeated."),
]
Category = Annotated[
    str | None, typer.Option("--category", help="Only prompts of this category, in a study of systems.")
]
By = Annotated[
    str | None,
    typer.Option("--by", help="In a study of systems: system (the default) or item, one row per system and prompt."),
]

Covariate = Annotated[
    list[str] | None,
    typer.Option(
        "--covariate", help="Adjust utilities for side, length, markdown, or a column of numbers; may be repeated."
    ),
]


def load_study(name: str, storage: str) -> StudyProtocol:
    """Load a study; the database library is imported only now."""
    from duelist import study

    return study.load_study(name, storage=storage)


def parse_pairs(what: str, given: list[str] | None) -> dict[str, str]:
    """Parse repeated KEY=VALUE arguments; `what` names them in errors."""
    pairs: dict[str, str] = {}
    for each in given or ():
        key, equals, value = each.partition("=")
        if not (key and equals):
            raise InvalidInput(f"{what} is {each!r}.", "Give KEY=VALUE.", field=what)
        pairs[key] = value
    return pairs


def parse_json_pairs(what: str, given: list[str] | None) -> dict[str, Any]:
    """Parse repeated KEY=VALUE arguments, whose values are JSON, or else texts."""
    return {key: _json_or_text(value) for key, value in parse_pairs(what, given).items()}


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def labels_of(arms: Iterable[Arm]) -> dict[str, str]:
    """Return the label of each item, by id."""
    from duelist.study.items.labels import label_of

    return {arm.id: label_of(arm) for arm in arms}
