"""Arms that are known by who they are, with features or without."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats, Ints, check_arms, is_whole
from duelist.core.errors import InvalidInput

MOST_ARMS: Final = 2**24


class FreeArms:
    """Arms on the table, each with a term of its own in its utility: x . theta + u, or u alone where there are no features.

    The terms are normal with mean 0 before the first vote, so what features explain is not explained twice, and what they do not
    explain is not lost. A policy that is asked with such a table is asked with one in every round. Arms may come and go: one that was never
    seen before joins with what its features say of it, and nothing of what was learned has to be learned again.

    Parameters
    ----------
    numbers
        Who is on the table: a whole number from 0 for each arm, the same in every round. A single whole number n stands for 0 to n - 1.
    features
        (n_arms, dim), or None.

    >>> import duelist as dl
    >>> policy = dl.LocalPairUCB(estimator="online", random_state=0)
    >>> for _ in range(100):
    ...     duel = policy.ask(dl.FreeArms(5))
    ...     policy.tell(duel, float(duel.first < duel.second))
    >>> policy.recommend(dl.FreeArms(5)).best
    0
    >>> late = dl.FreeArms([0, 1, 7])  # arm 7 is new
    >>> sorted(policy.ask(late, exclude=[(0, 1)]))[1]  # its position on this table
    2
    """

    __slots__ = ("features", "numbers")

    def __init__(self, numbers: ArrayLike | int, features: ArrayLike | None = None) -> None:
        self.numbers: Ints = _checked_numbers(numbers)
        self.features: Floats = np.empty((len(self.numbers), 0)) if features is None else check_arms(features)
        if len(self.features) != len(self.numbers):
            raise InvalidInput(
                f"features have shape {self.features.shape}, and there are {len(self.numbers)} arms.",
                "Give a row for each.",
            )

    @classmethod
    def trusted(cls, numbers: Ints, features: Floats) -> FreeArms:
        """The same of arrays that were looked at before."""
        made = cls.__new__(cls)
        made.numbers, made.features = numbers, features
        return made

    @property
    def dim(self) -> int:
        """How many features an arm has; 0: none."""
        return int(self.features.shape[1])

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, positions: Any) -> FreeArms:
        """The table of some of these arms."""
        where = np.atleast_1d(np.asarray(positions, np.int64))
        return FreeArms.trusted(self.numbers[where], np.ascontiguousarray(self.features[where]))

    def __repr__(self) -> str:
        some = ", ".join(map(str, self.numbers[:4])) + (", ..." if len(self) > 4 else "")
        return f"FreeArms([{some}], {len(self)} arms, {self.dim or 'no'} features)"


def _checked_numbers(numbers: Any) -> Ints:
    if is_whole(numbers):
        if not 1 <= numbers <= MOST_ARMS:
            raise InvalidInput(f"numbers is {numbers}.", f"Give from 1 to {MOST_ARMS} arms.", field="numbers")
        return np.arange(int(numbers), dtype=np.int64)
    try:
        given = np.asarray(numbers)
    except ValueError:
        given = np.empty(0)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise InvalidInput(
            f"numbers is {numbers!r}.",
            "Give a whole number from 0 for each arm, or how many arms there are.",
            field="numbers",
        )
    if given.min() < 0 or given.max() >= MOST_ARMS:
        stray = given[(given < 0) | (given >= MOST_ARMS)][0]
        raise InvalidInput(f"numbers has {stray}.", f"Number arms from 0 to {MOST_ARMS - 1}.")
    if len(np.unique(given)) < len(given):
        values, counts = np.unique(given, return_counts=True)
        raise InvalidInput(f"numbers has {values[counts > 1][0]} twice.", "An arm is on the table once.")
    return np.ascontiguousarray(given, np.int64)
