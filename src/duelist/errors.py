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
