"""Strip currency symbols, percent signs and thousands spaces from numbers."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

PERCENT: Final = "%"
FLAGS: Final = (("true", "false"), ("yes", "no"))
"""Words that stand for 1 and 0."""
_MINUS: Final = "\u2212"
_GROUPS: Final = re.compile(r"[1-9]\d{0,2}([ \u00a0\u2009\u202f'\u2019])\d{3}(?:\1\d{3})*(?!\d)")
"""Groups of three digits separated by an ordinary, no-break or thin space, or by an apostrophe."""
_MODIFIERS: Final = "()[]<>=~*+- \u2212\u2013\u2248\u2264\u2265\u00b0\u2030"
"""Characters that may change the meaning of a number, such as dashes and signs for "about" and "at most"."""


class NumberText(NamedTuple):
    """The text of a cell without decoration, and its currency symbol or percent sign."""

    text: str
    unit: str = ""


def strip_number(cell: str) -> NumberText:
    """Return a cell without its unit and spaces between thousands.

    Cells that are not numbers are returned unchanged.

    >>> strip_number("−1 234,50 €")
    NumberText(text='-1234,50', unit='€')
    >>> strip_number("(3)")
    NumberText(text='(3)', unit='')
    """
    sign, text = _split_sign(cell.strip().replace(_MINUS, "-"))
    unit, inner_sign = "", ""
    if _is_unit(text[:1]):
        unit, (inner_sign, text) = text[0], _split_sign(text[1:].lstrip())
    elif _is_unit(text[-1:]):
        unit, text = text[-1], text[:-1].rstrip()
    if (sign and inner_sign) or not (text[:1].isdecimal() or text[:1] in (",", ".")):
        return NumberText(cell.strip())
    return NumberText((sign or inner_sign) + _GROUPS.sub(_join_groups, text, count=1), unit)


def strip_modifiers(cell: str) -> NumberText:
    """Return a cell without any characters that may modify a number."""
    return strip_number(cell.strip().strip(_MODIFIERS))


def _split_sign(text: str) -> tuple[str, str]:
    return (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)


def _is_unit(character: str) -> bool:
    return character == PERCENT or (character != "" and unicodedata.category(character) == "Sc")


def _join_groups(groups: re.Match[str]) -> str:
    return groups[0].replace(groups[1], "")
