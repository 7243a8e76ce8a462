"""Options of an import of items."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from duelist.core.errors import InvalidInput
from duelist.study.formats.files.row import shorten


@dataclass(frozen=True, slots=True)
class ItemOptions:
    """What not to guess about a file of items.

    `columns` maps "id", "payload", "context", "prompt", "system" and "category" to columns of the file, or to None if
    there is no such column. `features` has the `kind` of features, and may have the `columns` and the `size`; a text is
    the kind alone. `systems` are the columns of a file that has one per system.
    """

    columns: Mapping[str, str | None] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=dict)
    encoding: str | None = None
    systems: tuple[str, ...] | None = None

    @classmethod
    def checked(
        cls, columns: Any = None, features: Any = None, encoding: Any = None, systems: Any = None
    ) -> ItemOptions:
        """Return the options, or raise InvalidInput.

        Names of columns are checked against the file later.
        """
        wanted = {"kind": features} if isinstance(features, str) else features
        for name, value in (("columns", columns), ("features", wanted)):
            if value is not None and not isinstance(value, Mapping):
                raise InvalidInput(f"{name} is {shorten(value)}.", "Give a mapping.", field=name)
            _check_json(name, value)
        if encoding is not None and not isinstance(encoding, str):
            raise InvalidInput(f"encoding is {shorten(encoding)}.", "Give a text, or leave it out.", field="encoding")
        names = (wanted or {}).get("columns")
        if names is not None and not (
            isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
        ):
            raise InvalidInput(
                f"features.columns is {shorten(names)}.", "Give a list of column names.", field="features.columns"
            )
        if systems is not None and not (
            isinstance(systems, (list, tuple)) and all(isinstance(name, str) for name in systems)
        ):
            raise InvalidInput(f"systems is {shorten(systems)}.", "Give a list of column names.", field="systems")
        return cls(dict(columns or {}), dict(wanted or {}), encoding, None if systems is None else tuple(systems))


def _check_json(name: str, value: Any) -> None:
    try:
        json.dumps(value, allow_nan=False, default=repr)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{name} is {shorten(value)}, which JSON cannot hold ({error}).",
            "Use texts and finite numbers.",
            field=name,
        ) from error
