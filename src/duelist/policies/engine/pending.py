"""Pending duels: look one up, or raise an error that explains its state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from duelist.core.arrays import is_integer
from duelist.core.duel import Duel
from duelist.core.errors import InvalidInput, UnknownDuel

_MAX_ID = 2**63


class AsksDuels(Protocol):
    """An object that keeps the duels it has asked."""

    @property
    def next_id(self) -> int:
        """The id of the next duel."""

    def pending_positions(self, number: int, /) -> tuple[int, int] | None:
        """Return the positions of a pending duel; None if no pending duel has this id."""


def pending_id(asker: AsksDuels, duel: Any) -> int:
    """Return the id of a pending duel, or raise UnknownDuel."""
    key = duel.id if isinstance(duel, Duel) else duel
    number = int(key) if is_integer(key) else -1
    asked = asker.pending_positions(number) if 0 <= number < _MAX_ID else None
    if asked is None:
        was_asked = 0 <= number < asker.next_id
        reason = "was told or forgotten before" if was_asked else "was never asked of this policy"
        raise UnknownDuel(f"Duel {key!r} {reason}.", "Tell each duel that `ask` returned once.")
    if isinstance(duel, Duel) and (duel.first, duel.second) != asked:
        raise UnknownDuel(
            f"Duel {key} was asked as {asked}, not ({duel.first}, {duel.second}).",
            "Tell the outcome in the order asked.",
        )
    return number


def check_all_pending(asker: AsksDuels, duels: Sequence[Any]) -> None:
    """Raise UnknownDuel unless all these duels are pending, each once."""
    seen: set[int] = set()
    for duel in duels:
        number = pending_id(asker, duel)
        if number in seen:
            raise UnknownDuel(f"Duel {number} is there twice.", "Tell each duel once.")
        seen.add(number)


def no_pairs_left(n_arms: int) -> InvalidInput:
    """Return the error that no pair may be asked."""
    return InvalidInput(
        f"No pair is left to ask among the {n_arms} arms.", "Exclude fewer pairs, or wait for an outcome."
    )
