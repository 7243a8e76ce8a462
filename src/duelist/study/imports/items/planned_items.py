"""Turn the rows of a file into planned items: their ids, contexts and payloads."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.formats import context_id
from duelist.study.formats.files import Row
from duelist.study.formats.files.row import shorten
from duelist.study.imports.items.column_mapping import FileColumn
from duelist.study.imports.items.media import MediaFiles
from duelist.study.imports.notes import Note
from duelist.study.items.media_kind import media_kind

_MARKDOWN: Final = re.compile(
    r"^(```|~~~|#{1,6} \S|\|?[ \t]*:?-{3,}:?[ \t]*\|)|\*\*\S[^*\n]*\*\*"
    r"|^[ \t]*[-*] \S.*\n(?:[ \t]*\n)?[ \t]*[-*] \S",
    re.MULTILINE,
)
"""Fences, headings, tables, bold words and lists: what people hardly write except in Markdown."""
_MARKDOWN_ONE_IN: Final = 5
"""Texts are Markdown if at least one in five has some."""
_SAMPLE: Final = 4096
"""Characters of a text that are searched for Markdown."""
_LONGEST_PATH: Final = 1000


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """An item of a plan.

    Features are made from `text`; `media` is the path of a file to store with the study.
    """

    id: str
    payload: Any
    context: str | None = None
    text: str = ""
    media: str | None = None
    system: str | None = None
    category: str | None = None


def plan_item(row: Row, name: str, context: str | None, mapping: Mapping[str, str], media: MediaFiles) -> PlannedItem:
    """Return the item of a row.

    Its payload is a media file if it names one of those that came with the table.
    """
    payload = row.fields.get(mapping["payload"]) if "payload" in mapping else None
    system, category = (
        to_id(row.fields.get(mapping[target])) if target in mapping else None for target in ("system", "category")
    )
    file = media.find(row, payload) if isinstance(payload, str) and len(payload) < _LONGEST_PATH else None
    if file is not None:
        return PlannedItem(
            name, {media_kind(file.name) or "image": file.name}, context, "", str(file), system, category
        )
    if isinstance(payload, str) and "\n" not in payload:
        payload = payload.strip()
    text = "" if payload is None else _to_text(row, mapping["payload"], payload)
    beside = _picture_beside(row, mapping, media) if isinstance(payload, str) else None
    if beside is not None:
        _, picture = beside
        shown = {media_kind(picture.name) or "image": picture.name, **({"text": payload} if payload else {})}
        return PlannedItem(name, shown, context, text or name, str(picture), system, category)
    return PlannedItem(name, payload, context, text or name, None, system, category)


def _picture_beside(row: Row, mapping: Mapping[str, str], media: MediaFiles) -> tuple[str, Path] | None:
    """Return the other column of the row that names a media file, as in a table of pictures with captions, and the file."""
    for name, value in row.fields.items():
        if name in mapping.values() or not isinstance(value, str) or len(value) >= _LONGEST_PATH:
            continue
        file = media.find(row, value) if media_kind(value) else None
        if file is not None:
            return name, file
    return None


def with_media_columns(
    columns: Sequence[FileColumn], rows: Sequence[Row], mapping: Mapping[str, str], media: MediaFiles
) -> tuple[FileColumn, ...]:
    """Return the columns, with the role of those whose media files are shown beside the payload."""
    beside = (_picture_beside(row, mapping, media) for row in rows) if media.paths and "payload" in mapping else ()
    names = {found[0] for found in beside if found is not None}
    return tuple(replace(each, role="media") if each.name in names else each for each in columns)


def content_notes(items: Sequence[PlannedItem]) -> list[Note]:
    """Return notes on items without content, and on items with the same content as another."""
    shown = [json.dumps([item.payload, item.context, item.system], sort_keys=True) for item in items]
    blank = [item.id for item in items if isinstance(item.payload, str) and not item.payload]
    first: dict[str, str] = {}
    again = [
        (first[key], item.id)
        for item, key in zip(items, shown, strict=True)
        if item.payload not in (None, "") and first.setdefault(key, item.id) != item.id
    ]
    notes = [Note("blank_items", {"count": len(blank), "ids": blank[:3]})] if blank else []
    return [*notes, *([Note("same_content", {"count": len(again), "pair": list(again[0])})] if again else [])]


def find_contexts(rows: Sequence[Row], mapping: Mapping[str, str]) -> tuple[list[str | None], dict[str, Any]]:
    """Return the context of each item, and the prompt of each context.

    Without a context column, prompts that several items share are their contexts.
    """
    prompts = [row.fields.get(mapping["prompt"]) if "prompt" in mapping else None for row in rows]
    if "context" in mapping:
        contexts = [to_id(row.fields.get(mapping["context"])) for row in rows]
    else:
        uses = Counter(str(prompt) for prompt in prompts if prompt not in (None, ""))
        if not any(times > 1 for times in uses.values()):
            return [None] * len(rows), {}
        contexts = [None if prompt in (None, "") else context_id(prompt) for prompt in prompts]
    prompt_of: dict[str, Any] = {}
    for row, context, prompt in zip(rows, contexts, prompts, strict=True):
        if context is None or prompt in (None, ""):
            continue
        _to_text(row, mapping["prompt"], prompt)
        if prompt_of.setdefault(context, prompt) != prompt:
            raise InvalidInput(
                f"{row.where}: context {context!r} has another prompt in an earlier row.",
                "Give each context one prompt.",
            )
    return contexts, prompt_of


def looks_like_markdown(items: Sequence[PlannedItem]) -> bool:
    """Return whether at least a fifth of the texts has Markdown in it."""
    texts = [item.payload[:_SAMPLE] for item in items if isinstance(item.payload, str)]
    count = sum(_MARKDOWN.search(text) is not None for text in texts)
    return bool(texts) and count * _MARKDOWN_ONE_IN >= len(texts)


def find_ids(
    rows: Sequence[Row], mapping: Mapping[str, str], contexts: Sequence[str | None]
) -> tuple[list[str], list[Note]]:
    """Return the id of each item, made unique by its context or its line."""
    if "id" not in mapping and "system" in mapping:
        ids = [f"{to_id(row.fields[mapping['system']])} / {name}" for row, name in zip(rows, contexts, strict=True)]
        return _make_unique(ids, Counter(ids)), []
    if "id" not in mapping:
        return [str(k) for k in range(1, len(rows) + 1)], [Note("generated_ids")]
    notes = []
    ids = [to_id(row.fields.get(mapping["id"])) or str(k) for k, row in enumerate(rows, start=1)]
    if len(set(ids)) < len(ids) and any(contexts):
        notes.append(Note("ids_with_context", {"column": mapping["id"]}))
        ids = [
            f"{name} / {context}" if context is not None else name for name, context in zip(ids, contexts, strict=True)
        ]
    counts = Counter(ids)
    if len(counts) < len(ids):
        repeated = next(name for name, times in counts.items() if times > 1)
        notes.append(Note("duplicate_ids", {"id": repeated, "count": counts[repeated]}))
        ids = _make_unique(ids, counts)
    return ids, notes


def _make_unique(ids: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """Add the number of the row to ids that occur more than once.

    If the result is taken, a later number is used.
    """
    taken = set(ids)
    unique = []
    for k, name in enumerate(ids, start=1):
        if counts[name] > 1:
            unique.append(next(free for n in count(k) if (free := f"{name} ({n})") not in taken))
            taken.add(unique[-1])
        else:
            unique.append(name)
    return unique


def to_id(value: Any) -> str | None:
    """Return the text of a cell that names something; None if it is empty."""
    return None if value in (None, "") else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _to_text(row: Row, name: str, value: Any) -> str:
    """Return a text as it is, and anything else as JSON."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InvalidInput(
            f"{row.where}: {name!r} is {shorten(value)}, which JSON cannot hold ({error}).",
            "Give a finite number, or null.",
        ) from error
