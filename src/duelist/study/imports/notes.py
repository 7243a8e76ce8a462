"""Notes: what the owner of a file should know about how it was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Note:
    """Something the owner of a file should know; `str(note)` is the sentence.

    >>> print(Note("duplicate_ids", {"id": "b", "count": 2}))
    The id 'b' occurs 2 times; the line number is added to such ids.
    """

    code: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return _SENTENCES[self.code](self.details)

    def to_dict(self) -> dict[str, Any]:
        """Return the note for JSON: its code, its details and its sentence."""
        return {"code": self.code, "details": dict(self.details), "message": str(self)}


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first names of a list, and how many more there are.

    >>> listed(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _missing_answers(count: int) -> str:
    return f"; {count} answer{'s are' if count > 1 else ' is'} missing" if count else ""


def _some_items_exist(details: Mapping[str, Any]) -> str:
    are = "1 of them is" if details["count"] == 1 else f"{details['count']} of them are"
    return f"{are} already in the study, with the same content; the others are numbered from {details['first']}."


_SENTENCES: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {
    # about the file
    "no_header": lambda d: "The first line is all numbers, so it is read as an item: the file has no column names.",
    "single_column": lambda d: f"The first line, {d['column']!r}, is read as the name of the only column.",
    "uncertain_header": lambda d: (
        f"The first line ({', '.join(d['columns'])}) is read as column names. "
        "If it is an item, put a line of column names above it."
    ),
    "one_item_per_line": lambda d: "Every line is read as an item.",
    "unread_sheets": lambda d: (
        f"Only the first sheet, {d['sheet']!r}, is read. Not read: {listed([repr(name) for name in d['others']])}. "
        "If they hold items too, save each as a separate file."
    ),
    "uncomputed_formulas": lambda d: (
        "The file has formulas without stored values "
        f"(in {listed([f'column {name}' for name in d['columns']])}, the first in {d['cell']}), "
        "so these cells are read as empty. Open the file in Excel or LibreOffice, save it, and import it again."
    ),
    "systems": lambda d: (
        f"Read as {d['answers']} answers of {len(d['systems'])} systems ({listed(d['systems'], 6)}) to {d['prompts']} "
        f"prompts{_missing_answers(d['missing'])}."
    ),
    "duplicate_answers": lambda d: (
        f"System {d['system']!r} has {d['count']} answers to the prompt {d['prompt']!r}"
        + (f", and {d['others']} more answers are repeated" if d["others"] else "")
        + ". The first of each is used."
    ),
    "unused_texts": lambda d: (
        f"The columns {listed(d['columns'], 6)} hold texts that are not used. If they are answers of systems to prompts, "
        "name them as such."
    ),
    "sparse_answers": lambda d: (
        f"The columns {listed(d['columns'], 6)} hold texts for few prompts, so they are not read as answers. If they are, name all "
        "columns of answers."
    ),
    "ignored_files": lambda d: f"Ignored, because they are neither media nor a table: {listed(d['files'])}.",
    # about columns
    "unusable_column": lambda d: (
        f"{d['problem']}. A feature needs a number for every item, so this column is ignored; {d['remedy']} to use it."
    ),
    "percent_column": lambda d: f"The column {d['column']!r} is in percent: {d['cell']} is read as {d['value']}.",
    "boolean_column": lambda d: f"The column {d['column']!r} says {d['one']} or {d['zero']}, read as 1 and 0.",
    "unused_columns": lambda d: f"Not among the features of this study, and ignored: {', '.join(d['columns'])}.",
    "markdown": lambda d: "The texts look like Markdown. A new study shows them formatted.",
    "many_items": lambda d: (
        f"{d['count']} items that are learned one by one need very many votes. "
        "Features made from texts or numbers need fewer."
    ),
    "outliers": lambda d: (
        f"{d['description']}. Beside it all other items seem nearly equal. Correct it if it is wrong; "
        "if it is right, exclude the item, or rescale the column, for example by its logarithm."
    ),
    "blank_items": lambda d: (
        f"{'1 item shows' if d['count'] == 1 else str(d['count']) + ' items show'} nothing ({listed(d['ids'])}). "
        "Remove empty rows from the file."
    ),
    "same_content": lambda d: (
        f"{'1 item shows' if d['count'] == 1 else str(d['count']) + ' items show'} the same as an earlier one, such as "
        f"{d['pair'][1]} and {d['pair'][0]}. Remove repeated rows, or raters compare equal items."
    ),
    # about ids
    "generated_ids": lambda d: "No column names the items, so they are numbered.",
    "ids_with_context": lambda d: (
        f"The column {d['column']!r} names several items alike, so the context is added to their ids."
    ),
    "duplicate_ids": lambda d: f"The id {d['id']!r} occurs {d['count']} times; the line number is added to such ids.",
    "column_not_id": lambda d: (
        "The items of this study are numbered, and so are these. "
        f"To use {d['column']!r} as their id, name it as the id column."
    ),
    "all_items_exist": lambda d: "All of them are already in the study, with the same content.",
    "some_items_exist": _some_items_exist,
    "numbering_continues": lambda d: f"The study has numbered items already; these are numbered from {d['first']}.",
    "unidentifiable_items": lambda d: (
        f"These items have no content by which to recognize those of the study; they are numbered from {d['first']}."
    ),
}
