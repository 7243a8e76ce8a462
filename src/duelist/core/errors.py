"""Errors with a message, a hint, and a code from which each interface writes its own hint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Self


class DuelistError(Exception):
    """Base class of all errors of duelist.

    `message` states the problem and `hint` how to fix it; `str(error)` is both.
    `code` identifies the class, as in `"limit_reached"`, and may be more
    specific, as in `"limit_reached.per_rater"`. `field` is the invalid argument
    or setting. `details` are values for the hints of other interfaces.

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
        """Return the hint in `templates` for this code, or else this error's own hint.

        The details of the error fill the placeholders of a template, quoted.

        >>> error = StudyNotOpen("Study 'a' is paused.", "Open it again with `open`.", study="a")
        >>> error.hint_from({"study_not_open": "Run `duelist study open {study}`."})
        'Run `duelist study open a`.'
        """
        try:
            return templates[self.code].format_map({name: quote(str(value)) for name, value in self.details.items()})
        except KeyError:  # no template, or one that needs details that a server does not send
            return self.hint

    def replace(self, message: str | None = None, hint: str | None = None) -> Self:
        """Return a copy of this error with another message or hint."""
        return type(self)(
            self.message if message is None else message,
            self.hint if hint is None else hint,
            code=self.code,
            field=self.field,
            **self.details,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the parts of this error as plain data; `from_dict` restores it."""
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
        """Return the error described by `to_dict`; `details` may be missing."""
        kind = error_class(parts["code"]) or DuelistError
        return kind(
            parts["message"], parts["hint"], code=parts["code"], field=parts["field"], **parts.get("details", {})
        )


class InvalidInput(DuelistError, ValueError):
    """Invalid arms, outcomes, weights or settings."""

    code = "invalid_input"


class UnknownDuel(DuelistError, KeyError):
    """The duel was never asked, or its outcome was told or forgotten before."""

    code = "unknown_duel"


class InvalidSnapshot(DuelistError, ValueError):
    """The snapshot is damaged, of another policy, or of another version."""

    code = "invalid_snapshot"


class MissingExtra(DuelistError, ImportError):
    """An optional dependency is not installed."""

    code = "missing_extra"


class UnknownStudy(DuelistError, KeyError):
    """No study with this name or id in the storage."""

    code = "unknown_study"


class StudyExists(DuelistError, ValueError):
    """A study with this name exists, or exists with other settings."""

    code = "study_exists"


class UnknownArm(DuelistError, KeyError):
    """No such arm or context in the study."""

    code = "unknown_arm"


class NothingToAsk(DuelistError):
    """No pair can be asked now: too few arms, or every pair is pending."""

    code = "nothing_to_ask"


class StudyNotOpen(NothingToAsk):
    """The study is paused, ended or archived; `open` opens it again."""

    code = "study_not_open"


class LimitReached(NothingToAsk):
    """The study has reached a limit on votes: in total, per pair, or per rater."""

    code = "limit_reached"


class RaterBlocked(NothingToAsk):
    """An owner has blocked this rater; `unblock` unblocks them."""

    code = "rater_blocked"


class StepMissing(NothingToAsk):
    """A rater has to consent, answer the questionnaire or practise before the first pair."""

    code = "step_missing"


class StudyFull(NothingToAsk):
    """All places of a study that is open to anyone are taken."""

    code = "study_full"


class ParticipationEnded(NothingToAsk):
    """The rater was not eligible, or others took their place while they were idle."""

    code = "participation_ended"


class RaterExists(DuelistError, ValueError):
    """Another rater has this name."""

    code = "name_taken"


class UnknownRater(DuelistError, KeyError):
    """No such rater in the study."""

    code = "unknown_rater"


class NotAllowed(DuelistError):
    """The server rejected the token."""

    code = "not_allowed"


class UnknownToken(DuelistError, KeyError):
    """No such token."""

    code = "unknown_token"


class InvalidArchive(DuelistError, ValueError):
    """The study archive is damaged, incomplete, or of another version. The storage is unchanged."""

    code = "invalid_archive"


class NoPairsLeft(NothingToAsk):
    """The rater has voted on every pair; others may have pairs left."""

    code = "no_pairs_left"


class VoteConflict(DuelistError, ValueError):
    """The vote contradicts an earlier one, or the duel was asked of another rater. It was not recorded."""

    code = "vote_conflict"


class StorageError(DuelistError):
    """The storage failed. Earlier votes are safe; this call had no effect."""

    code = "storage_error"


class StorageLocked(StorageError):
    """Another process was writing for longer than the time-out."""

    code = "storage_locked"


class StorageFull(StorageError):
    """The disk is full."""

    code = "storage_full"


class StorageReadOnly(StorageError):
    """The storage can be read but not written."""

    code = "storage_read_only"


class StorageCorrupted(StorageError):
    """The file is damaged or not a database."""

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


class SystemFailed(DuelistError):
    """A system did not answer a prompt."""

    code = "system_failed"


class NotOnRemoteStudy(DuelistError):
    """A method that a study on a server does not have; load the study from its storage instead."""

    code = "not_on_remote_study"


class StorageWarning(UserWarning):
    """The storage works, but less safely than it could."""


class DisconnectedArms(UserWarning):
    """The votes do not connect all arms; only the prior compares those of different groups."""


class EngineLost(DuelistError):
    """The engine that runs an experiment's cells stopped or is unreachable. Finished cells are kept."""

    code = "engine_lost"


class InvalidResults(DuelistError, ValueError):
    """The results folder is of another version, other code, or another program. It is unchanged."""

    code = "invalid_results"


_CLASSES: Final = {
    kind.code: kind for kind in list(vars().values()) if isinstance(kind, type) and issubclass(kind, DuelistError)
}


def error_class(code: str) -> type[DuelistError] | None:
    """Return the class for a code, None if the code is unknown.

    >>> error_class("limit_reached.per_rater").__name__
    'LimitReached'
    """
    return _CLASSES.get(code.partition(".")[0])
