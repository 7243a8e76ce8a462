"""What a study records of a rater's participation, as storages hold it: plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from duelist.study.participation.recruiting import ENDINGS, checked_parameters

_LARGEST: Final = 2**53


@dataclass(frozen=True, slots=True)
class Participation:
    """How a rater takes part: since when, with which URL parameters, and how it ended. Times are microseconds since 1970."""

    parameters: dict[str, str] = field(default_factory=dict)
    entered_at: int | None = None
    """When they entered by the open address, and so took a place; None for raters with a personal link."""
    ending: str | None = None

    @classmethod
    def from_json(cls, given: Mapping[str, Any] | None) -> Participation:
        """Return what a storage or an archive holds; raise ValueError or TypeError for what cannot be.

        >>> Participation.from_json({"ending": "completed"}).ending
        'completed'
        """
        found = cls(**(given or {}))
        checked_parameters(found.parameters)
        if found.ending not in (None, *ENDINGS):
            raise ValueError(f"ending is {found.ending!r}")
        for each in (found.entered_at,):
            if each is not None and (type(each) is not int or not 0 <= each <= _LARGEST):
                raise ValueError(f"a time is {each!r}")
        return found

    def to_json(self) -> dict[str, Any] | None:
        """Return what differs from a rater of whom nothing is recorded, or None."""
        nothing = Participation()
        names = [each.name for each in fields(self) if getattr(self, each.name) != getattr(nothing, each.name)]
        return {name: asdict(self)[name] for name in names} or None
