"""Generate ids for items of files without ids.

Known items are recognized by their content; new ones get the next numbers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import Any

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.study.imports.notes import Note
from duelist.study.items.catalog import ArmCatalog

Content = tuple[Any, str | None]
"""The payload and the context of an item."""
_Index = dict[Any, list[str]]
"""Ids by content, each list to be used from its end."""


def are_numbers(ids: AbstractSet[str]) -> bool:
    """Return whether all ids are numbers, as those of files without ids are."""
    return bool(ids) and all(name.isdecimal() for name in ids)


def generate_ids(arms: ArmCatalog, items: Sequence[Content], features: Floats | None) -> list[str]:
    """Return the id of each item: that of the same item in the study, or a new one.

    The same item has a number as its id, and the same payload, context and features (of any version). Equal rows of a
    file are different items, so no id is used twice. Items without any content are new. An item whose content is known
    with other features is an error: it may be the known item, corrected, or another one.
    """
    numbered = np.array([k for k in range(len(arms)) if arms.id_of(k).isdecimal()], np.int64)
    vectors = np.zeros((len(items), 0)) if features is None else np.asarray(features, np.float64)
    has_features = vectors.shape[1] > 0
    taken: set[str] = set()
    index = _index(arms, numbered, has_features)
    found = [_take(index, item, vector, taken) for item, vector in zip(items, vectors, strict=True)]
    new = [item for item, name in zip(items, found, strict=True) if name is None]
    if has_features and new:
        _check_not_known(_index(arms, numbered, False), new, taken)
    following = map(str, count(1 + max((int(arms.id_of(k)) for k in numbered.tolist()), default=0)))
    return [next(following) if name is None else name for name in found]


def generated_id_notes(ids: Sequence[str], known: AbstractSet[str], recognizable: bool) -> list[Note]:
    """Return notes on generated ids, unless they are the numbers of the rows."""
    new = [int(name) for name in ids if name not in known]
    if not new:
        return [Note("all_items_exist")]
    if len(new) < len(ids):
        return [Note("some_items_exist", {"count": len(ids) - len(new), "first": min(new)})]
    if min(new) == 1:
        return []
    return [Note("numbering_continues" if recognizable else "unidentifiable_items", {"first": min(new)})]


def is_blank(payload: Any) -> bool:
    """Return whether a payload has nothing by which to recognize an item."""
    return payload is None or payload == ""


def _index(arms: ArmCatalog, numbers: Ints, by_features: bool) -> _Index:
    """Return ids by content.

    Arms with these features are used before arms that had them in an older version.
    """
    rows = arms.rows_of(numbers) if by_features else arms.newest_rows(numbers)
    vectors = arms.vectors(rows) if by_features else np.zeros((len(rows), 0))
    index: _Index = {}
    for row, vector in zip(rows.tolist(), vectors, strict=True):
        arm = arms.arm_at(row)
        index.setdefault(_key((arm.payload, arm.context), vector), []).append(arm.id)
    for ids in index.values():
        ids.reverse()
    return index


def _take(index: _Index, item: Content, vector: Floats, taken: set[str]) -> str | None:
    """Return the id of a known item and mark it as taken."""
    if is_blank(item[0]) and not len(vector):
        return None
    name = _first_free(index, _key(item, vector), taken)
    if name is not None:
        taken.add(name)
    return name


def _first_free(index: _Index, key: Any, taken: AbstractSet[str]) -> str | None:
    ids = index.get(key, [])
    while ids and ids[-1] in taken:
        ids.pop()
    return ids[-1] if ids else None


def _check_not_known(index: _Index, new: Sequence[Content], taken: AbstractSet[str]) -> None:
    """Reject new items with the content of a known item that is not in the file.

    A corrected price does not make a new item.
    """
    for item in new:
        name = None if is_blank(item[0]) else _first_free(index, _key(item, np.zeros(0)), taken)
        if name is not None:
            raise InvalidInput(
                f"Item {name!r} is already in this study, with the same content and other features.",
                "Name the items in a column named id if this is another one, or change its features with "
                "`update_features`.",
                code="invalid_input.same_content",
                arm=name,
            )


def _key(item: Content, vector: Floats) -> tuple[str, str | None, bytes]:
    return json.dumps(item[0], sort_keys=True), item[1], (vector + 0.0).tobytes()
