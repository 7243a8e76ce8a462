"""Arms out of the rows of a file: their ids, the contexts they are in, what they show, and the files that they are."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.study.formats import context_id
from duelist.study.formats.json_records import Row, shown

MEDIA_TYPES: Final = {
    "image": (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg"),
    "audio": (".mp3", ".wav", ".ogg", ".oga", ".opus", ".m4a", ".flac"),
    "video": (".mp4", ".m4v", ".webm", ".ogv", ".mov"),
}
_MARKDOWN: Final = re.compile(
    r"^(```|~~~|#{1,6} \S|\|?[ \t]*:?-{3,}:?[ \t]*\|)|\*\*\S[^*\n]*\*\*"
    r"|^[ \t]*[-*] \S.*\n(?:[ \t]*\n)?[ \t]*[-*] \S",
    re.MULTILINE,
)
"""Fences, headings, tables, bold words, lists: what people write in Markdown, and hardly otherwise."""
_LOOKED_AT: Final = 4096
"""Characters of a text within which one sees that it is Markdown."""
_LONGEST_PATH: Final = 1000


@dataclass(frozen=True, slots=True)
class DraftArm:
    """An arm of a draft; `media` is the file that it is, to be kept with the study."""

    id: str
    payload: Any
    context: str | None
    text: str
    media: Path | None = None


def media_kind(name: str) -> str | None:
    """Image, audio or video, by the end of a name; None for anything else."""
    suffix = Path(name).suffix.lower()
    return next((kind for kind, endings in MEDIA_TYPES.items() if suffix in endings), None)


class Media:
    """Files that are shown: images, sounds, films."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = list(dict.fromkeys(paths))
        self._of_name: dict[str, list[Path]] = {}
        for path in self.paths:
            self._of_name.setdefault(path.name, []).append(path)

    def named(self) -> dict[str, Path]:
        """Each file under a name of its own; those of several folders may be called alike, and are not one."""
        named: dict[str, Path] = {}
        for path in self.paths:
            names = [path.name, *(f"{path.stem} ({k}){path.suffix}" for k in range(2, len(named) + 3))]
            named[next(name for name in names if name not in named)] = path
        return named

    def find(self, row: Row, said: str) -> Path | None:
        """The file that a cell names: of those called so, the one whose folders are those of the cell the furthest up."""
        parts = _parts(said)
        called = self._of_name.get(parts[-1], []) if parts else []
        if len(called) < 2:
            return called[0] if called else None
        common = [_common_tail(parts, path.parts) for path in called]
        best = [path for path, length in zip(called, common, strict=True) if length == max(common)]
        if len(best) > 1:
            raise InvalidInput(
                f"{row.where}: {said!r} may be any of {len(best)} files of that name.",
                "Name its folder too, or give files names of their own.",
            )
        return best[0]


def _parts(path: str) -> list[str]:
    """The parts of a path, of whatever system."""
    return [part for part in re.split(r"[/\\]", path) if part not in ("", ".")]


def _common_tail(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def contexts_of(rows: Sequence[Row], roles: Mapping[str, str]) -> tuple[list[str | None], dict[str, Any]]:
    """The group of each arm, and what the groups are; prompts make groups where several arms share one."""
    prompts = [row.fields.get(roles["prompt"]) if "prompt" in roles else None for row in rows]
    named = [_name(row.fields.get(roles["context"])) if "context" in roles else None for row in rows]
    if "context" not in roles:
        said = Counter(str(prompt) for prompt in prompts if prompt not in (None, ""))
        if not any(times > 1 for times in said.values()):
            return [None] * len(rows), {}
        named = [None if prompt in (None, "") else context_id(prompt) for prompt in prompts]
    texts: dict[str, Any] = {}
    for row, context, prompt in zip(rows, named, prompts, strict=True):
        if context is None or prompt in (None, ""):
            continue
        _as_json(row, roles["prompt"], prompt)
        if texts.setdefault(context, prompt) != prompt:
            raise InvalidInput(
                f"{row.where}: context {context!r} has another prompt further up.", "Give a context one prompt."
            )
    return named, texts


def look_like_markdown(arms: Sequence[DraftArm]) -> bool:
    """Whether a fifth of the texts has what is written in Markdown only."""
    texts = [arm.payload[:_LOOKED_AT] for arm in arms if isinstance(arm.payload, str)]
    return bool(texts) and 5 * sum(_MARKDOWN.search(text) is not None for text in texts) >= len(texts)


def ids_of(
    rows: Sequence[Row], roles: Mapping[str, str], contexts: Sequence[str | None], notes: list[str]
) -> list[str]:
    """The id of each arm: that of the file, told apart by its context or its line where it is not the only one."""
    if "id" not in roles:
        notes.append("No column names the arms; they are numbered.")
        return [str(k) for k in range(1, len(rows) + 1)]
    ids = [_name(row.fields.get(roles["id"])) or str(k) for k, row in enumerate(rows, start=1)]
    if len(set(ids)) < len(ids) and any(contexts):
        notes.append(f"The column {roles['id']!r} names several arms alike; the context is added to their ids.")
        ids = [
            f"{name} / {context}" if context is not None else name for name, context in zip(ids, contexts, strict=True)
        ]
    counts = Counter(ids)
    if len(counts) < len(ids):
        twice = next(name for name, times in counts.items() if times > 1)
        notes.append(f"{twice!r} is there {counts[twice]} times; such arms are told apart by their line.")
        ids = _told_apart(ids, counts)
    return ids


def _told_apart(ids: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """Ids with the number of their row where several arms have them; with a later one where that is another's id."""
    taken = set(ids)
    found = []
    for k, name in enumerate(ids, start=1):
        made = name
        if counts[name] > 1:
            made = next(free for n in count(k) if (free := f"{name} ({n})") not in taken)
            taken.add(made)
        found.append(made)
    return found


def _name(value: Any) -> str | None:
    return None if value in (None, "") else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def arm_of(row: Row, name: str, context: str | None, roles: Mapping[str, str], media: Media) -> DraftArm:
    """The arm of a row: a file where its payload names one of those that came with the table."""
    payload = row.fields.get(roles["payload"]) if "payload" in roles else None
    file = media.find(row, payload) if isinstance(payload, str) and len(payload) < _LONGEST_PATH else None
    if file is not None:
        return DraftArm(name, {media_kind(file.name) or "image": file.name}, context, "", file)
    text = "" if payload is None else _as_json(row, roles["payload"], payload)
    return DraftArm(name, payload, context, text or name)


def _as_json(row: Row, name: str, value: Any) -> str:
    """A text as it is, anything else as JSON."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InvalidInput(
            f"{row.where}: {name!r} is {shown(value)}, which JSON cannot hold ({error}).",
            "Give a finite number, or null.",
        ) from error
