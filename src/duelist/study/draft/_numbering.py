"""Ids of arms whose file has none, in a study that has arms: those that are there are known again, others get the next numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.study._arms import KnownArms

Shown = tuple[Any, str | None]
"""The payload and the context of an arm."""


def ids_by_content(there: KnownArms, arms: Sequence[Shown], vectors: Any) -> list[str]:
    """Ids of arms that are known by what they are alone: payload, context and features; rows of a file that are equal are two arms."""
    numbered = np.array([k for k in range(len(there)) if there.id_of(k).isdecimal()], np.int64)
    rows = there.newest_rows(numbered)
    kept = np.zeros((len(rows), 0)) if vectors is None else there.vectors(rows)
    found: dict[Any, list[str]] = {}
    for number, vector, rounded in zip(numbered.tolist(), kept, there.are_rounded(rows), strict=True):
        arm = there.arm(number)
        found.setdefault(_key((arm.payload, arm.context), vector, bool(rounded)), []).append(arm.id)
    following = map(str, count(1 + max((int(there.id_of(k)) for k in numbered.tolist()), default=0)))
    given = np.zeros((len(arms), 0)) if vectors is None else np.asarray(vectors, np.float64)
    ids = []
    for shown, vector in zip(arms, given, strict=True):
        same = found.get(_key(shown, vector, False)) or found.get(_key(shown, vector, True))
        ids.append(same.pop(0) if same else next(following))
    return ids


def about_numbers(ids: Sequence[str], there: AbstractSet[str]) -> list[str]:
    """What was done about arms without ids, in words; nothing where they have the numbers of their rows."""
    new = [int(name) for name in ids if name not in there]
    if not new:
        return ["All of them are in the study already: they are known by what is in them."]
    known = len(ids) - len(new)
    if known:
        are = "1 of them is" if known == 1 else f"{known} of them are"
        return [f"{are} in the study already, known by what is in them; the others are numbered from {min(new)}."]
    return [] if min(new) == 1 else [f"The study has numbered arms already; these are numbered from {min(new)}."]


def _key(arm: Shown, vector: NDArray[np.float64], rounded: bool) -> tuple[str, str | None, bytes, bool]:
    """What an arm is known by; features as they are, or as they were kept once."""
    numbers = vector.astype(np.float32).astype(np.float64) if rounded else vector
    return json.dumps(arm[0], sort_keys=True), arm[1], (numbers + 0.0).tobytes(), rounded
