"""Ids of arms whose file has none, in a study that has arms: those that are there are known again, others get the next numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import Any

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.study.items.catalog import KnownArms

Shown = tuple[Any, str | None]
"""The payload and the context of an arm."""
_Known = dict[Any, list[str]]
"""Ids by what arms are known by, the last of a list first."""


def are_numbered(ids: AbstractSet[str]) -> bool:
    """Whether all arms have numbers for names, as files without ids give them."""
    return bool(ids) and all(name.isdecimal() for name in ids)


def ids_by_content(there: KnownArms, arms: Sequence[Shown], vectors: Any, taken: set[str]) -> list[str]:
    """Ids of arms that are known by what they are alone: payload, context and features, of whatever version.

    Rows of a file that are equal are two arms: an id that is `taken` is not given again, and those that are given are taken. Arms with
    nothing in them to be known by are new. One that is there with other features is refused: nobody can say whether it is another.
    """
    numbered = [k for k in range(len(there)) if there.id_of(k).isdecimal()]
    free = np.array([k for k in numbered if there.id_of(k) not in taken], np.int64)
    given = np.zeros((len(arms), 0)) if vectors is None else np.asarray(vectors, np.float64)
    featured = given.shape[1] > 0
    known = _known(there, free, featured)
    found = [_found(known, shown, vector, taken) for shown, vector in zip(arms, given, strict=True)]
    new = [shown for shown, name in zip(arms, found, strict=True) if name is None]
    if featured and new:
        _refuse_other_features(_known(there, free, False), new, taken)
    following = map(str, count(1 + max((int(there.id_of(k)) for k in numbered), default=0)))
    ids = [next(following) if name is None else name for name in found]
    taken.update(ids)
    return ids


def about_numbers(ids: Sequence[str], there: AbstractSet[str], tellable: bool) -> list[str]:
    """What was done about arms without ids, in words; nothing where they have the numbers of their rows."""
    new = [int(name) for name in ids if name not in there]
    if not new:
        return ["All of them are in the study already: they are known by what is in them."]
    known = len(ids) - len(new)
    if known:
        are = "1 of them is" if known == 1 else f"{known} of them are"
        return [f"{are} in the study already, known by what is in them; the others are numbered from {min(new)}."]
    if min(new) == 1:
        return []
    if not tellable:
        return [f"Nothing in these arms says whether the study has them already; they are numbered from {min(new)}."]
    return [f"The study has numbered arms already; these are numbered from {min(new)}."]


def says_nothing(payload: Any) -> bool:
    """Whether there is nothing in a payload that an arm could be known by."""
    return payload is None or payload == ""


def _known(there: KnownArms, numbers: Ints, by_features: bool) -> _Known:
    """Arms by what they are known by: the newest features of each before those that it had once."""
    rows = there.rows_of(numbers) if by_features else there.newest_rows(numbers)
    vectors = there.vectors(rows) if by_features else np.zeros((len(rows), 0))
    known: _Known = {}
    for row, vector in zip(rows.tolist(), vectors, strict=True):
        arm = there.shown(row)
        known.setdefault(_key((arm.payload, arm.context), vector), []).append(arm.id)
    for ids in known.values():
        ids.reverse()
    return known


def _found(known: _Known, arm: Shown, vector: Floats, taken: set[str]) -> str | None:
    """The id of an arm that is there, which is taken then."""
    if says_nothing(arm[0]) and not len(vector):
        return None
    name = _first_free(known, _key(arm, vector), taken)
    if name is not None:
        taken.add(name)
    return name


def _first_free(known: _Known, key: Any, taken: AbstractSet[str]) -> str | None:
    ids = known.get(key, [])
    while ids and ids[-1] in taken:
        ids.pop()
    return ids[-1] if ids else None


def _refuse_other_features(known: _Known, new: Sequence[Shown], taken: AbstractSet[str]) -> None:
    """Refuse new arms that show what one shows that the file does not have: a corrected price makes no other arm."""
    for arm in new:
        name = None if says_nothing(arm[0]) else _first_free(known, _key(arm, np.zeros(0)), taken)
        if name is not None:
            raise InvalidInput(
                f"Arm {name!r} is in this study already, with the same content and other features.",
                "Name the arms in a column named id if this is another one, or change its features with `update_features`.",
                code="invalid_input.same_content",
                arm=name,
            )


def _key(arm: Shown, vector: Floats) -> tuple[str, str | None, bytes]:
    """What an arm is known by: payload, context and features."""
    return json.dumps(arm[0], sort_keys=True), arm[1], (vector + 0.0).tobytes()
