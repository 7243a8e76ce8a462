"""Fonts for names in figures: any id, in any script, without a warning."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

_MISSING: Final = "\u25a1"
"""Replaces a character that no installed font has."""


class Lettering:
    """Fonts for some texts: matplotlib's own, and installed ones for characters that it lacks."""

    def __init__(self, texts: Iterable[str]) -> None:
        wanted = {ord(c) for text in texts for c in text} - _characters(_own_font())
        self.families = [_OWN]
        for family, characters in _others() if wanted else ():
            if wanted & characters:
                self.families.append(family)
                wanted -= characters
            if not wanted:
                break
        self._missing = {code: _MISSING for code in wanted if not unicodedata.combining(chr(code))} | {
            code: None for code in wanted if unicodedata.combining(chr(code))
        }

    def __call__(self, text: str) -> str:
        """Return the text as it can be drawn."""
        return text.translate(self._missing)

    @property
    def style(self) -> dict[str, Any]:
        """Apply these fonts to text that holds a name, and keep dollar signs literal."""
        return {"fontfamily": self.families, "parse_math": False}


_OWN: Final = "DejaVu Sans"
_NO_HELP: Final = ("DejaVu", "Last Resort")
"""Families that add no characters, or draw a box for everything."""


@lru_cache(maxsize=1)
def _own_font() -> str:
    from matplotlib.font_manager import findfont

    return str(findfont(_OWN))


@lru_cache(maxsize=256)
def _characters(path: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):  # a font that matplotlib lists and cannot open
        return frozenset()


@lru_cache(maxsize=1)
def _others() -> Sequence[tuple[str, frozenset[int]]]:
    """Return the other installed font families with the characters they can draw, largest first."""
    from matplotlib.font_manager import fontManager

    found: dict[str, frozenset[int]] = {}
    for font in sorted(fontManager.ttflist, key=_plainness):
        if not font.name.startswith(_NO_HELP) and font.name not in found:
            found[font.name] = _characters(font.fname)
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


def _plainness(font: Any) -> tuple[bool, int, str]:
    """Sort upright before slanted, regular before bold."""
    weight = font.weight if isinstance(font.weight, int) else 400
    return font.style != "normal", abs(weight - 400), str(font.fname)
