"""The errors of duelist. Each message names the offending value and the way out."""

from __future__ import annotations


class DuelistError(Exception):
    """Anything duelist refuses to do; catch this to catch them all."""


class InvalidInput(DuelistError, ValueError):
    """Arms, outcomes, weights or settings that no policy could make sense of."""


class UnknownDuel(DuelistError, KeyError):
    """An outcome for a duel that was never asked, or was told or forgotten already."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class InvalidSnapshot(DuelistError, ValueError):
    """A snapshot that is damaged, of another policy, or of a version this release cannot read."""


class MissingExtra(DuelistError, ImportError):
    """A part of duelist whose own dependency is not installed."""


class UnknownStudy(DuelistError, KeyError):
    """A study that the storage does not hold."""

    def __str__(self) -> str:
        return str(self.args[0])


class StudyExists(DuelistError, ValueError):
    """A study of that name is there already, or with other settings."""


class UnknownArm(DuelistError, KeyError):
    """An arm or a context that the study does not hold."""

    def __str__(self) -> str:
        return str(self.args[0])


class NothingToAsk(DuelistError):
    """No pair can be asked now: too few arms, or every pair is out."""


class StudyNotOpen(NothingToAsk):
    """The study's owner has paused, ended or put it away; `open` opens it again."""


class LimitReached(NothingToAsk):
    """As many votes as the study's owner wants: in total, on every pair, or of this rater; `limit` sets how many."""


class RaterBlocked(NothingToAsk):
    """The study's owner does not want to ask this rater; `unblock` takes that back."""


class UnknownRater(DuelistError, KeyError):
    """A rater who never came to the study."""

    def __str__(self) -> str:
        return str(self.args[0])


class NotAllowed(DuelistError):
    """A study server wants another token than the one that was sent."""


class UnknownToken(DuelistError, KeyError):
    """A token that was never made."""

    def __str__(self) -> str:
        return str(self.args[0])


class InvalidArchive(DuelistError, ValueError):
    """An archive of a study that is damaged, not whole, or of a version this release cannot read. Nothing was written."""


class NothingLeft(NothingToAsk):
    """A rater has answered every pair there is for them; others may have some left."""


class VoteRefused(DuelistError, ValueError):
    """A vote that contradicts an earlier one, or that this rater was not asked for. Nothing was written."""


class StorageError(DuelistError):
    """The storage could not do it; what was acknowledged before is safe, and nothing of this call was written."""


class StorageLocked(StorageError):
    """Somebody else has been writing for longer than we wait."""


class StorageFull(StorageError):
    """No room to write."""


class StorageReadOnly(StorageError):
    """The storage can be read but not written."""


class StorageCorrupted(StorageError):
    """The file is not a database, or is damaged."""


class StorageTooOld(StorageError):
    """The storage has an older schema than this release; `duelist storage upgrade` brings it up to date."""


class StorageTooNew(StorageError):
    """The storage was written by a newer release."""


class ConnectionLost(StorageError):
    """The database cannot be reached. A call that was cut off may have been written or not: repeat it, it is idempotent."""


class StorageWarning(UserWarning):
    """A storage that works, but not as safely as it could."""


class NotConnected(UserWarning):
    """Arms are ranked that no chain of votes connects: nothing but the prior says which is better."""


class EngineLost(DuelistError):
    """Where cells of an experiment were to be played cannot be reached, or went away. Finished cells are kept."""


class InvalidResults(DuelistError, ValueError):
    """A results folder of another version, of other code, or somebody else's. Nothing in it was changed."""
