"""docs/evidence/raw-features.md, whose sections are made one at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks import DOCS
from duelist.research.origin import made_by, this_part

PAGE: Final = DOCS / "raw-features.md"
SECTIONS: Final = (
    "best",
    "decisions",
    "regret",
    "units",
    "ridges",
    "tails",
    "own-tails",
    "first",
    "delays",
    "late",
    "held-out",
    "limits",
    "real",
)
"""As they stand on the page."""
_MARK: Final = "<!-- {} -->"


def sections_of(page: Path) -> dict[str, str]:
    """The sections that a page has."""
    text = page.read_text() if page.exists() else ""
    found = {}
    for each in SECTIONS:
        _, mark, rest = text.partition(_MARK.format(each) + "\n")
        if mark:
            found[each] = rest.partition("\n<!-- ")[0].strip()
    return found


def put(page: Path, name: str, section: str) -> None:
    """Replace one section of the page; the others stay."""
    sections = sections_of(page) | {name: f"{section.rstrip()}\n\n{made_by('make bench-raw-features', this_part())}"}
    lines = [
        "# On features as people have them",
        "",
        "Each part is made by itself.",
        "",
    ]
    for each in SECTIONS:
        if each in sections:
            lines += [_MARK.format(each), sections[each], ""]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(lines))
