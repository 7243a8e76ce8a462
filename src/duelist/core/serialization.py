"""Conversion of dataclasses and named tuples to JSON values and back, as a server sends them and its clients read them.

Dataclasses and named tuples are objects with their fields, arrays are lists, times are ISO 8601, and numbers that are not finite are null.

    to_plain(study.leaderboard())                  # {"standings": [...], ...}
    from_plain(Leaderboard, to_plain(board))       # the board
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from duelist.core.errors import InvalidInput

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Return a value in the types of JSON."""
    if value is None or isinstance(value, (bool, int)):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, str):
        return str(value.value) if isinstance(value, Enum) else value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, datetime):
        return value.isoformat()
    if dataclasses.is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: to_plain(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(part) for part in value]
    raise InvalidInput(
        f"{value!r} cannot be converted to JSON.", "Give records, results of analyses, texts or numbers."
    )


def from_plain(kind: type[T], value: Any) -> T:
    """Return the value of that type; unknown fields are ignored, so that a newer server may send more."""
    return cast("T", _read(kind, value))


def _read(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_union(kind, value)
    if origin is tuple:
        parts = get_args(kind)
        if len(parts) == 2 and parts[1] is ...:
            return tuple(_read(parts[0], part) for part in value)
        return tuple(_read(part, each) for part, each in zip(parts, value, strict=True))
    if origin in (list, set):
        return origin(_read(get_args(kind)[0], part) for part in value)
    if origin is np.ndarray:
        return np.array(value, get_args(get_args(kind)[1])[0])
    if origin is not None:
        return value
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    if kind is float:
        return math.nan if value is None else float(value)
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        return _read_record(kind, value)
    return value


def _read_union(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    (first, *_) = (part for part in get_args(kind) if part is not type(None))
    return _read(first, value)


def _read_record(kind: Any, value: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(**{name: _read(hints[name], part) for name, part in value.items() if name in hints})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else kind._fields
    found = get_type_hints(kind)
    return {name: found[name] for name in names}
