"""Numbers as people write them, without what stands around their digits: signs of currencies and percent, spaces between thousands."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

PERCENT: Final = "%"
FLAGS: Final = (("true", "false"), ("yes", "no"))
"""Words that stand for 1 and 0."""
_MINUS: Final = "\u2212"
_GROUPS: Final = re.compile(r"[1-9]\d{0,2}([ \u00a0\u2009\u202f'\u2019])\d{3}(?:\1\d{3})*(?!\d)")
"""Groups of three digits with an ordinary, a no-break or a thin space between them, or an apostrophe."""
_AROUND: Final = "()[]<>=~*+- \u2212\u2013\u2248\u2264\u2265\u00b0\u2030"
"""What may stand around a number and change what it means, dashes and signs for about, at most and per mille too: it is not passed over."""


class Written(NamedTuple):
    """The text of a cell as plain as it can be, and the sign of a currency or of percent that it had."""

    text: str
    unit: str = ""


def written(cell: str) -> Written:
    """A cell without its unit and without spaces between thousands, if that leaves digits; else as it is.

    >>> written("−1 234,50 €")
    Written(text='-1234,50', unit='€')
    >>> written("(3)")
    Written(text='(3)', unit='')
    """
    sign, text = _split_sign(cell.strip().replace(_MINUS, "-"))
    unit, inner = "", ""
    if _is_unit(text[:1]):
        unit, (inner, text) = text[0], _split_sign(text[1:].lstrip())
    elif _is_unit(text[-1:]):
        unit, text = text[-1], text[:-1].rstrip()
    if (sign and inner) or not (text[:1].isdecimal() or text[:1] in (",", ".")):
        return Written(cell.strip())
    return Written((sign or inner) + _GROUPS.sub(_joined, text, count=1), unit)


def core(cell: str) -> Written:
    """What is left of a cell without all that may stand around a number."""
    return written(cell.strip().strip(_AROUND))


def _split_sign(text: str) -> tuple[str, str]:
    return (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)


def _is_unit(character: str) -> bool:
    return character == PERCENT or (character != "" and unicodedata.category(character) == "Sc")


def _joined(groups: re.Match[str]) -> str:
    return groups[0].replace(groups[1], "")
