"""What a study records of a rater's participation, as storages hold it: plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from duelist.study.participation.recruiting import ENDINGS, checked_parameters
from duelist.study.storage.rows import RaterRow

RULES: Final = ("gold", "fast", "side")
_LARGEST: Final = 2**53


@dataclass(frozen=True, slots=True)
class Participation:
    """How a rater takes part: since when, with which URL parameters, and how it ended. Times are microseconds since 1970."""

    parameters: dict[str, str] = field(default_factory=dict)
    entered_at: int | None = None
    """When they entered by the open address, and so took a place; None for raters with a personal link."""
    ending: str | None = None
    consented_at: int | None = None
    consent_version: str | None = None
    """The version of the consent form that they agreed to."""
    answered_at: int | None = None
    """When they answered the questionnaire."""
    practised_at: int | None = None
    excluded_by: str | None = None
    """The rule that excluded them automatically: gold, fast or side."""
    is_exempt: bool = False
    """Whether the owner has reinstated them, so that no rule excludes them again."""

    @classmethod
    def of(cls, row: RaterRow | None) -> Participation:
        """Return how the rater of a row takes part."""
        return cls() if row is None else cls.from_json(row.participation)

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
        if found.excluded_by not in (None, *RULES) or not isinstance(found.is_exempt, bool):
            raise ValueError(f"excluded_by is {found.excluded_by!r}, and is_exempt {found.is_exempt!r}")
        if found.consent_version is not None and not isinstance(found.consent_version, str):
            raise ValueError(f"consent_version is {found.consent_version!r}")
        for each in (found.entered_at, found.consented_at, found.answered_at, found.practised_at):
            if each is not None and (type(each) is not int or not 0 <= each <= _LARGEST):
                raise ValueError(f"a time is {each!r}")
        return found

    def to_json(self) -> dict[str, Any] | None:
        """Return the fields that differ from an empty record, or None if none does."""
        nothing = Participation()
        names = [each.name for each in fields(self) if getattr(self, each.name) != getattr(nothing, each.name)]
        return {name: asdict(self)[name] for name in names} or None
