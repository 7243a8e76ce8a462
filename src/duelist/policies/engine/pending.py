"""Duels that were asked and wait for an outcome: who may be told, and what to say where nobody can."""

from __future__ import annotations

from typing import Any, Protocol

from duelist.core.arrays import is_integer
from duelist.core.duel import Duel
from duelist.core.errors import InvalidInput, UnknownDuel

_NUMBERS = 2**63


class Asks(Protocol):
    """The part of a player of the engine that knows its duels."""

    @property
    def next_id(self) -> int:
        """The number of the next duel."""

    def pending_positions(self, id: int, /) -> tuple[int, int] | None:  # noqa: A002  (the name in the engine)
        """Return the positions of a pending duel, or None if there is none with this id."""


def pending_id(player: Asks, duel: Any) -> int:
    """The number of a pending duel, or an error that says what is wrong with it."""
    key = duel.id if isinstance(duel, Duel) else duel
    number = int(key) if is_integer(key) else -1
    asked = player.pending_positions(number) if 0 <= number < _NUMBERS else None
    if asked is None:
        known = 0 <= number < player.next_id
        why = "was told or forgotten already" if known else "was never asked of this policy"
        raise UnknownDuel(f"Duel {key!r} {why}.", "Tell each duel that `ask` returned once.")
    if isinstance(duel, Duel) and (duel.first, duel.second) != asked:
        raise UnknownDuel(
            f"Duel {key} was asked as {asked}, not ({duel.first}, {duel.second}).",
            "Tell the outcome in the order asked.",
        )
    return number


def no_pairs_left(n_arms: int) -> InvalidInput:
    """No pair may be asked."""
    return InvalidInput(f"No pair is left to ask among the {n_arms} arms.", "Exclude fewer, or wait for an outcome.")
