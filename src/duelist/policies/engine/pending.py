"""Pending duels: look one up, or raise an error that explains its state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats, check_difference, check_two_arms, is_integer
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


def shown_arms(given: Sequence[ArrayLike], dim: int) -> Floats:
    """Return the features of the two arms of each duel (duels, 2, dim), given as two rows or as their difference."""
    rows = _stack(given, (2, dim))
    if rows is not None:
        return rows
    differences = _stack(given, (dim,))
    if differences is None:
        return np.array([_two_arms(each, dim) for each in given])
    return np.stack([differences, np.zeros_like(differences)], axis=1)


def _stack(given: Sequence[ArrayLike], shape: tuple[int, ...]) -> Floats | None:
    """Return arrays of this shape as one array, or None if one of them is invalid."""
    try:
        rows = np.array(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return rows if rows.shape == (len(given), *shape) and np.isfinite(rows).all() else None


def _two_arms(given: ArrayLike, dim: int) -> Floats:
    """Return the features of two arms (2, dim) that are given, or a difference and zeros."""
    if np.ndim(given) != 2:
        difference = check_difference(given, dim)
        return np.stack([difference, np.zeros(dim)])
    return check_two_arms(given, dim)
