"""Errors: what is wrong, how to fix it, and a code by which an interface can say it in its own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Self


class DuelistError(Exception):
    """Base class of all errors of duelist.

    `message` says what is wrong and `hint` how to fix it; `str(error)` is both. `code` names the class, as in `"limit_reached"`, and may be
    finer, as in `"limit_reached.per_rater"`. `field` is the argument or setting that was wrong. `details` are the values that other
    interfaces need to write a hint of their own.

    >>> error = LimitReached("Rater 'ana' has reached the limit of 3 votes.", "Raise it.", code="limit_reached.per_rater", rater="ana")
    >>> str(error)
    "Rater 'ana' has reached the limit of 3 votes. Raise it."
    >>> error.code, error.details
    ('limit_reached.per_rater', {'rater': 'ana'})
    """

    code: str = "error"

    def __init__(
        self, message: str, hint: str = "", *, code: str | None = None, field: str | None = None, **details: object
    ) -> None:
        super().__init__(message, hint)  # the arguments that pickle and copy call again; the rest is in __dict__
        self.message = message
        self.hint = hint
        self.field = field
        self.details = details
        if code is not None:
            self.code = code

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return f"{self.message} {self.hint}" if self.hint else self.message

    def hint_from(self, templates: Mapping[str, str], quote: Callable[[str], str] = str) -> str:
        """Return the hint that an interface has for this code, filled from the quoted details; else this error's own hint.

        >>> error = StudyNotOpen("Study 'a' is paused.", "Open it again with `open`.", study="a")
        >>> error.hint_from({"study_not_open": "Run `duelist study open {study}`."})
        'Run `duelist study open a`.'
        """
        try:
            return templates[self.code].format_map({name: quote(str(value)) for name, value in self.details.items()})
        except KeyError:  # no template, or one that needs details that a server does not send
            return self.hint

    def replace(self, message: str | None = None, hint: str | None = None) -> Self:
        """Return this error with another message, or another hint."""
        return type(self)(
            self.message if message is None else message,
            self.hint if hint is None else hint,
            code=self.code,
            field=self.field,
            **self.details,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the parts of this error, for another process; `from_dict` makes the error again."""
        details = {
            name: value if isinstance(value, int | float) else str(value) for name, value in self.details.items()
        }
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "field": self.field,
            "details": details,
        }

    @staticmethod
    def from_dict(parts: Mapping[str, Any]) -> DuelistError:
        """Return the error that `to_dict` described; `details` may be missing."""
        kind = error_class(parts["code"]) or DuelistError
        return kind(
            parts["message"], parts["hint"], code=parts["code"], field=parts["field"], **parts.get("details", {})
        )


class InvalidInput(DuelistError, ValueError):
    """Arms, outcomes, weights or settings that are not valid."""

    code = "invalid_input"


class UnknownDuel(DuelistError, KeyError):
    """A duel that was never asked, or whose outcome was told or forgotten already."""

    code = "unknown_duel"


class InvalidSnapshot(DuelistError, ValueError):
    """A snapshot that is damaged, of another policy, or of a version this release cannot read."""

    code = "invalid_snapshot"


class MissingExtra(DuelistError, ImportError):
    """An optional dependency is not installed."""

    code = "missing_extra"


class UnknownStudy(DuelistError, KeyError):
    """A study that the storage does not hold."""

    code = "unknown_study"


class StudyExists(DuelistError, ValueError):
    """A study of that name exists already, or has other settings."""

    code = "study_exists"


class UnknownArm(DuelistError, KeyError):
    """An arm or a context that the study does not hold."""

    code = "unknown_arm"


class NothingToAsk(DuelistError):
    """No pair can be asked now: there are too few arms, or every pair is pending."""

    code = "nothing_to_ask"


class StudyNotOpen(NothingToAsk):
    """The study is paused, ended or archived; `open` opens it again."""

    code = "study_not_open"


class LimitReached(NothingToAsk):
    """The study has as many votes as its owner wants: in total, on every pair, or by this rater; `limit` sets how many."""

    code = "limit_reached"


class RaterBlocked(NothingToAsk):
    """The study's owner has blocked this rater; `unblock` unblocks them."""

    code = "rater_blocked"


class UnknownRater(DuelistError, KeyError):
    """A rater who is not in the study."""

    code = "unknown_rater"


class NotAllowed(DuelistError):
    """The study server rejected the token."""

    code = "not_allowed"


class UnknownToken(DuelistError, KeyError):
    """A token that does not exist."""

    code = "unknown_token"


class InvalidArchive(DuelistError, ValueError):
    """An archive of a study that is damaged, incomplete, or of a version this release cannot read. Nothing was written."""

    code = "invalid_archive"


class NoPairsLeft(NothingToAsk):
    """A rater has voted on every pair; other raters may have pairs left."""

    code = "no_pairs_left"


class VoteConflict(DuelistError, ValueError):
    """A vote that contradicts an earlier one, or whose duel another rater was asked. Nothing was written."""

    code = "vote_conflict"


class StorageError(DuelistError):
    """The storage failed; earlier votes are safe, and nothing of this call was written."""

    code = "storage_error"


class StorageLocked(StorageError):
    """Another process has been writing for longer than the time-out."""

    code = "storage_locked"


class StorageFull(StorageError):
    """The disk is full."""

    code = "storage_full"


class StorageReadOnly(StorageError):
    """The storage can be read but not written."""

    code = "storage_read_only"


class StorageCorrupted(StorageError):
    """The file is not a database, or is damaged."""

    code = "storage_corrupted"


class StorageTooOld(StorageError):
    """The storage has an older schema than this release; `duelist storage upgrade` upgrades it."""

    code = "storage_too_old"


class StorageTooNew(StorageError):
    """The storage was written by a newer release."""

    code = "storage_too_new"


class ConnectionLost(StorageError):
    """The database cannot be reached. The call may have been written or not: repeat it, it is idempotent."""

    code = "connection_lost"


class StorageWarning(UserWarning):
    """A storage that works, but not as safely as it could."""


class DisconnectedArms(UserWarning):
    """No chain of votes connects all arms: only the prior compares some of them."""


class EngineLost(DuelistError):
    """The engine that runs the cells of an experiment cannot be reached, or stopped. Finished cells are kept."""

    code = "engine_lost"


class InvalidResults(DuelistError, ValueError):
    """A results folder of another version, of other code, or of another program. Nothing in it was changed."""

    code = "invalid_results"


_CLASSES: Final = {
    kind.code: kind for kind in list(vars().values()) if isinstance(kind, type) and issubclass(kind, DuelistError)
}


def error_class(code: str) -> type[DuelistError] | None:
    """Return the class that a code belongs to, None for a code that is not one of ours.

    >>> error_class("limit_reached.per_rater").__name__
    'LimitReached'
    """
    return _CLASSES.get(code.partition(".")[0])
