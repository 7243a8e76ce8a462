"""Files of comparisons: what other tools write and read, and a format of our own that loses nothing.

    from duelist.study.formats import read, write

    for comparison in read("arena", "battles.json"):
        ...
    print(write("trl", comparisons, "preferences.jsonl"))

Everything is read and written one row at a time. docs/formats.md says what each format can hold.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from duelist.core.errors import InvalidInput
from duelist.study.formats import arena, evalica, jsonl, label_studio, left_right, openai, trl, trl_unpaired
from duelist.study.formats.comparison import Comparison, Written, arm_id, context_id
from duelist.study.formats.csv_tables import is_table, read_rows
from duelist.study.formats.json_records import suffix_of

__all__ = [
    "FORMATS",
    "Comparison",
    "Format",
    "Written",
    "arm_id",
    "context_id",
    "format_by_name",
    "format_of",
    "get_format",
    "read",
    "write",
]


class Format(NamedTuple):
    """A format by name; `read` is None where a file cannot be turned back into comparisons."""

    name: str
    read: Callable[..., Iterator[Comparison]] | None
    write: Callable[..., Written]
    summary: str


FORMATS: Final = {
    each.name: each
    for each in (
        Format("arena", arena.read, arena.write, "battles: model_a, model_b, winner"),
        Format("trl", trl.read, trl.write, "TRL preferences: prompt, chosen, rejected"),
        Format("trl-unpaired", None, trl_unpaired.write, "TRL labels: prompt, completion, label"),
        Format("openai", openai.read, openai.write, "OpenAI: input, preferred_output, non_preferred_output"),
        Format("csv", left_right.read, left_right.write, "CSV: left, right, winner"),
        Format("evalica", left_right.read, evalica.write, "CSV for evalica's command line: left, right, winner"),
        Format("label-studio", label_studio.read, label_studio.write, "Label Studio pairwise results"),
        Format("jsonl", jsonl.read, jsonl.write, "duelist's own: every field, nothing lost"),
    )
}


def get_format(name: str) -> Format:
    """The format of that name."""
    if name not in FORMATS:
        raise InvalidInput(f"format is {name!r}.", f"Choose one of {', '.join(FORMATS)}.", field="format")
    return FORMATS[name]


_BY_FIELD: Final = {
    "format": "jsonl",
    "model_a": "arena",
    "chosen": "trl",
    "preferred_output": "openai",
    "annotations": "label-studio",
}
"""A field that only files of one format have."""


def format_of(path: str | Path) -> str:
    """The name of the format that a file is of, by the fields of its first record."""
    file = Path(path)
    first = next(read_rows(file), None)
    found = next((name for field, name in _BY_FIELD.items() if first is not None and field in first.fields), None)
    if found is None and is_table(file):
        return "csv"
    if found is None:
        fields = "nothing" if first is None else ", ".join(first.fields)
        raise InvalidInput(
            f"{file} is of no format that is known: it begins with {fields}.", f"Name one of {', '.join(FORMATS)}."
        )
    return found


def format_by_name(path: str | Path) -> str:
    """The name of the format to write into a file of that name: csv for a table, our own for .jsonl and names without an end."""
    suffix = suffix_of(Path(path))
    if is_table(Path(path)):
        return "csv"
    if suffix not in ("", ".jsonl"):
        raise InvalidInput(f"{path} does not say which format is meant.", f"Name one of {', '.join(FORMATS)}.")
    return "jsonl"


def read(name: str, path: str | Path, **options: Any) -> Iterator[Comparison]:
    """The comparisons of a file, one at a time; options are those of the format's own `read`."""
    chosen = get_format(name)
    if chosen.read is None:
        readable = ", ".join(each.name for each in FORMATS.values() if each.read is not None)
        raise InvalidInput(
            f"{name} does not say what was compared with what and cannot be read.", f"Choose one of {readable}."
        )
    return chosen.read(Path(path), **_checked_options(chosen.read, name, options))


def write(name: str, comparisons: Iterable[Comparison], path: str | Path, **options: Any) -> Written:
    """Write comparisons into a file, all or nothing; options are those of the format's own `write`."""
    chosen = get_format(name).write
    return chosen(comparisons, Path(path), **_checked_options(chosen, name, options))


def _checked_options(function: Callable[..., Any], name: str, options: dict[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    taken = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    unknown = next((option for option in options if option not in taken), None)
    if unknown is not None:
        raise InvalidInput(
            f"{name} has no option {unknown!r} here.", f"It takes {', '.join(taken) or 'none'}.", field=name
        )
    return options
