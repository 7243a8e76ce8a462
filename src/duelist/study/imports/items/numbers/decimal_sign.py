"""Decide the decimal sign of a column of numbers.

It is decided once per column, and only where its cells leave no doubt.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_OTHER: Final = {",": ".", ".": ","}
_NUMBERS: Final = {
    sign: re.compile(
        rf"[+-]?(?:[1-9]\d{{0,2}}(?:\{other}\d{{3}})+(?:\{sign}\d*)?|(?:\d+(?:\{sign}\d*)?|\{sign}\d+)(?:e[+-]?\d+)?)",
        re.IGNORECASE,
    )
    for sign, other in _OTHER.items()
}
"""Numbers with this decimal sign, in which the other sign may separate thousands."""


class DecimalSigns(NamedTuple):
    """Required and possible decimal signs of a column, and its count of numbers."""

    certain: frozenset[str]
    possible: frozenset[str]
    numbers: int

    def choose(self, other_columns_use_comma: bool) -> str | None:
        """Return the decimal sign.

        None where the cells leave it open, or contradict each other.
        """
        if len(self.certain) == 1:
            return next(iter(self.certain))
        if self.certain or "," in self.possible or (self.possible and other_columns_use_comma):
            return None
        return "."


def find_decimal_signs(texts: Iterable[str]) -> DecimalSigns:
    """Return the decimal signs of a column.

    12,5 and 1.234,5 have a decimal comma; 1,234 may have one, or be over a thousand.
    """
    readings = [(text, [sign for sign, form in _NUMBERS.items() if form.fullmatch(text)]) for text in texts]
    certain = {signs[0] for text, signs in readings if len(signs) == 1 and ("," in text or "." in text)}
    possible = {sign for text, signs in readings if len(signs) == 2 for sign in _OTHER if sign in text}
    return DecimalSigns(frozenset(certain), frozenset(possible), sum(bool(signs) for _, signs in readings))


def parse_decimal(text: str, sign: str) -> float | None:
    """Return the number that a text is with this decimal sign; None for anything else."""
    if not _NUMBERS[sign].fullmatch(text):
        return None
    number = float(text.replace(_OTHER[sign], "").replace(sign, "."))
    return number if math.isfinite(number) else None
