"""Media files that come with a table of items, or are the items themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from duelist.core.errors import InvalidInput
from duelist.study.formats.files import Row


class MediaFiles:
    """Media files, found by the paths that a table gives them."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = list(dict.fromkeys(paths))
        self._by_name: dict[str, list[Path]] = {}
        for path in self.paths:
            self._by_name.setdefault(path.name, []).append(path)

    def with_unique_names(self) -> dict[str, Path]:
        """Return the files by name, numbering those of several folders that share a name."""
        unique: dict[str, Path] = {}
        for path in self.paths:
            names = [path.name, *(f"{path.stem} ({k}){path.suffix}" for k in range(2, len(unique) + 3))]
            unique[next(name for name in names if name not in unique)] = path
        return unique

    def find(self, row: Row, reference: str) -> Path | None:
        """Return the file that a cell names.

        Of several with that name, it is the one with the most folders in common.
        """
        parts = _parts(reference)
        candidates = self._by_name.get(parts[-1], []) if parts else []
        if len(candidates) < 2:
            return candidates[0] if candidates else None
        lengths = [_common_suffix_length(parts, path.parts) for path in candidates]
        best = [path for path, length in zip(candidates, lengths, strict=True) if length == max(lengths)]
        if len(best) > 1:
            raise InvalidInput(
                f"{row.where}: {reference!r} may be any of {len(best)} files of that name.",
                "Name its folder too, or rename the files.",
            )
        return best[0]


def _parts(path: str) -> list[str]:
    """Return the parts of a path of any operating system."""
    return [part for part in re.split(r"[/\\]", path) if part not in ("", ".")]


def _common_suffix_length(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
