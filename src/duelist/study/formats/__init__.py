"""File formats for votes: those of other tools, and duelist's own.

    from duelist.study.formats import read, write

    for comparison in read("battles.json"):
        ...
    print(write(comparisons, "preferences.jsonl", "trl"))

Files are read and written one row at a time. docs/guides/formats.md lists what each format can hold.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from duelist.core.errors import InvalidInput
from duelist.study.formats import arena, evalica, jsonl, label_studio, left_right, openai, trl, trl_unpaired
from duelist.study.formats.comparison import Comparison, ExportReport, arm_id, context_id
from duelist.study.formats.files import is_table, read_rows, suffix_of

__all__ = [
    "FORMATS",
    "Comparison",
    "ExportReport",
    "Format",
    "arm_id",
    "check_export_options",
    "check_suffix",
    "context_id",
    "default_format",
    "detect_format",
    "get_format",
    "read",
    "write",
]


_LINES: Final = (".jsonl", ".ndjson")
_TEXT_TABLES: Final = (".csv", ".tsv", ".tab")
_PARQUET: Final = ".parquet"


class Format(NamedTuple):
    """A file format.

    `read` is None if its files cannot be turned back into comparisons.
    """

    name: str
    read: Callable[..., Iterator[Comparison]] | None
    write: Callable[..., ExportReport]
    summary: str
    suffixes: tuple[str, ...]
    """The endings of the files that it can write; .gz may follow those of text files."""


FORMATS: Final = {
    each.name: each
    for each in (
        Format(
            "arena",
            arena.read,
            arena.write,
            "battles: model_a, model_b, winner",
            (".json", *_LINES, *_TEXT_TABLES, _PARQUET),
        ),
        Format("trl", trl.read, trl.write, "TRL preferences: prompt, chosen, rejected", (*_LINES, ".json", _PARQUET)),
        Format(
            "trl-unpaired",
            None,
            trl_unpaired.write,
            "TRL labels: prompt, completion, label",
            (*_LINES, ".json", _PARQUET),
        ),
        Format("openai", openai.read, openai.write, "OpenAI: input, preferred_output, non_preferred_output", _LINES),
        Format("csv", left_right.read, left_right.write, "CSV: left, right, winner", (*_TEXT_TABLES, _PARQUET)),
        Format(
            "evalica",
            left_right.read,
            evalica.write,
            "CSV for evalica's command line: left, right, winner",
            _TEXT_TABLES,
        ),
        Format("label-studio", label_studio.read, label_studio.write, "Label Studio pairwise results", (".json",)),
        Format("jsonl", jsonl.read, jsonl.write, "duelist's own: every field, nothing lost", _LINES),
    )
}
_TELLING_FIELDS: Final = {
    "format": "jsonl",
    "model_a": "arena",
    "chosen": "trl",
    "preferred_output": "openai",
    "annotations": "label-studio",
}
"""Fields that only files of one format have."""


def get_format(name: str) -> Format:
    """Return the format of that name."""
    if name not in FORMATS:
        raise InvalidInput(f"format is {name!r}.", f"Choose one of {', '.join(FORMATS)}.", field="format")
    return FORMATS[name]


def detect_format(path: str | Path) -> str:
    """Return the name of the format of a file, judging by the fields of its first row."""
    file = Path(path)
    first = next(read_rows(file), None)
    names = () if first is None else tuple(first.fields)
    found = next((name for field, name in _TELLING_FIELDS.items() if field in names), None)
    if found is not None:
        return found
    if is_table(file):
        return "csv"
    raise InvalidInput(
        f"The format of {file.name} is not known: its first row has {', '.join(names) or 'no fields'}.",
        f"Name one of {', '.join(FORMATS)}.",
        field="format",
    )


def default_format(path: str | Path) -> str:
    """Return the name of the format to write, by the name of the file.

    The names of tables give csv, and so does .parquet; .jsonl, .ndjson, or no suffix, gives jsonl.
    """
    file = Path(path)
    if is_table(file) or suffix_of(file) == _PARQUET:
        return "csv"
    if suffix_of(file) in ("", *_LINES):
        return "jsonl"
    raise InvalidInput(
        f"The name {file.name} does not determine a format.", f"Name one of {', '.join(FORMATS)}.", field="format"
    )


def read(path: str | Path, format: str | None = None, **options: Any) -> Iterator[Comparison]:  # noqa: A002
    """Read the comparisons of a file, one at a time.

    The format is detected unless it is given. `options` are those of the format's own `read`.
    """
    name = detect_format(path) if format is None else format
    reader = get_format(name).read
    if reader is None:
        readable = ", ".join(each.name for each in FORMATS.values() if each.read is not None)
        raise InvalidInput(
            f"Files of the format {name} do not say which items were compared, so they cannot be read.",
            f"Choose one of {readable}.",
            field="format",
        )
    return reader(Path(path), **_checked_options(reader, name, options))


def write(
    comparisons: Iterable[Comparison],
    path: str | Path,
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> ExportReport:
    """Write comparisons into a file, all or nothing.

    The name of the file decides the format unless it is given. `options` are those of the format's own `write`.
    """
    name = default_format(path) if format is None else format
    check_suffix(name, path)
    writer = get_format(name).write
    return writer(comparisons, Path(path), **_checked_options(writer, name, options))


def check_suffix(format: str, path: str | Path) -> None:  # noqa: A002
    """Raise `InvalidInput` if files of the format do not end like this one; a name may also have no suffix."""
    file, suffixes = Path(path), get_format(format).suffixes
    compressed = file.suffix.lower() == ".gz" and suffix_of(file) == _PARQUET
    if suffix_of(file) in ("", *suffixes) and not compressed:
        return
    raise InvalidInput(
        f"{file.name} cannot be written in the format {format}.",
        f"Files of {format} end in {', '.join(suffixes)}; .gz may follow those of text.",
        code="invalid_input.suffix",
        field="path",
    )


def check_export_options(format: str, options: dict[str, Any]) -> None:  # noqa: A002
    """Raise `InvalidInput` if the format does not exist or has no such option for an export."""
    _checked_options(get_format(format).write, format, options)


def _checked_options(function: Callable[..., Any], name: str, options: dict[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    unknown = next((option for option in options if option not in names), None)
    if unknown is not None:
        raise InvalidInput(
            f"{name} has no option {unknown[:200]!r} here.", f"It takes {', '.join(names) or 'none'}.", field=unknown
        )
    return options
