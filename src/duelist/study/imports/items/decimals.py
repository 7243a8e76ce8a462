"""Which sign of a column of numbers is the decimal one, where a table may have either: decided once for a column, or not at all."""

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
"""Numbers as they are written where this is the decimal sign, and the other may stand between thousands."""


class Signs(NamedTuple):
    """What the cells of a column say of their signs: which ones must be decimal, and whether some may or may not be."""

    sure: frozenset[str]
    open: frozenset[str]
    numbers: int

    def decimal(self, comma_elsewhere: bool) -> str | None:
        """The decimal sign; None where the column does not say it, or says both."""
        if len(self.sure) == 1:
            return next(iter(self.sure))
        if self.sure or "," in self.open or (self.open and comma_elsewhere):
            return None
        return "."


def signs_of(texts: Iterable[str]) -> Signs:
    """The signs of a column. 12,5 and 1.234,5 have a decimal comma; 1,234 may have one, or be a thousand and more."""
    read = [(text, [sign for sign, form in _NUMBERS.items() if form.fullmatch(text)]) for text in texts]
    sure = {ways[0] for text, ways in read if len(ways) == 1 and _has_sign(text)}
    either = {sign for text, ways in read if len(ways) == 2 for sign in _OTHER if sign in text}
    return Signs(frozenset(sure), frozenset(either), sum(bool(ways) for _, ways in read))


def _has_sign(text: str) -> bool:
    return "," in text or "." in text


def decimal_number(text: str, sign: str) -> float | None:
    """The number that a text is where this is the decimal sign; None of anything else."""
    if not _NUMBERS[sign].fullmatch(text):
        return None
    number = float(text.replace(_OTHER[sign], "").replace(sign, "."))
    return number if math.isfinite(number) else None
