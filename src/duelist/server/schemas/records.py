"""Schemas made from the records of a study, so that a record has one form in Python and over HTTP."""

from __future__ import annotations

from dataclasses import fields
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model


def schema_of(record: type, name: str, only: tuple[str, ...] = (), **more: Any) -> type[BaseModel]:
    """Return a schema with the fields of a record.

    Parameters
    ----------
    record
        A dataclass.
    name
        The name of the schema.
    only
        The fields to keep; all by default.
    **more
        Types of further fields, and of fields whose JSON differs from the record.
    """
    types = get_type_hints(record)
    names = only or tuple(field.name for field in fields(record))
    found = {field: _json_type(types[field]) for field in names} | more
    summary = (record.__doc__ or name).partition("\n")[0]
    return create_model(name, __doc__=summary, **{field: (kind, ...) for field, kind in found.items()})  # type: ignore[call-overload]


def _json_type(kind: Any) -> Any:
    """Return the type of a field in JSON: numbers that are not finite are null, tuples of fixed length are lists."""
    if kind is float:
        return float | None
    parts = get_args(kind)
    if get_origin(kind) is UnionType:
        return reduce(or_, (part if part is float else _json_type(part) for part in parts))
    if get_origin(kind) is tuple and Ellipsis not in parts:
        return Annotated[list[reduce(or_, parts)], Field(min_length=len(parts), max_length=len(parts))]  # type: ignore[misc]
    return kind
