"""Conditions on raters' attributes, such as "age >= 30", which select the raters whose votes an analysis uses."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from duelist.core.errors import InvalidInput

Attributes = Mapping[str, Mapping[str, Any]]
"""Attributes and URL parameters by rater."""
_CONDITION: Final = re.compile(r"\s*(.+?)\s*(>=|<=|!=|=|>|<)\s*(.*?)\s*", re.DOTALL)
_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def matching_raters(conditions: Sequence[str], raters: Attributes) -> frozenset[str]:
    """Return the raters who fulfil all conditions; one without the attribute does not.

    >>> raters = {"ana": {"age": 31, "home": "north"}, "ben": {"age": 28}}
    >>> sorted(matching_raters(["age >= 30"], raters)), sorted(matching_raters(["home = north"], raters))
    (['ana'], ['ana'])
    """
    matching = set(raters)
    for condition in conditions:
        found = _CONDITION.fullmatch(condition) if isinstance(condition, str) else None
        if found is None:
            raise InvalidInput(
                f"where is {str(condition)[:100]!r}.",
                'Give a condition such as "age >= 30" or "home = north".',
                field="where",
            )
        name, sign, value = found.groups()
        known = {rater: own[name] for rater, own in raters.items() if name in own}
        if not known:
            names = sorted({each for own in raters.values() for each in own})
            there = f"There are: {', '.join(names[:20])}." if names else "No rater has any."
            raise InvalidInput(f"where names {name[:100]!r}, an attribute that no rater has.", there, field="where")
        matching &= {rater for rater, own in known.items() if _holds(own, sign, value)}
    return frozenset(matching)


def _holds(own: Any, sign: str, value: str) -> bool:
    left, right = _number(own), _number(value)
    if sign in _COMPARE:
        if right is None:
            raise InvalidInput(f"where compares with {value[:100]!r}.", f"Give a number after {sign}.", field="where")
        return left is not None and _COMPARE[sign](left, right)
    is_equal = left == right if left is not None and right is not None else str(own) == value
    return is_equal if sign == "=" else not is_equal


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
