"""Arms that are known by who they are, with features or without."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats, Ints, check_arms, is_integer
from duelist.core.errors import InvalidInput

MAX_ARMS: Final = 2**24


class ArmTable:
    """Arms on the table, each with an arm effect in its utility: x . theta + u, or u alone where there are no features.

    The terms are normal with mean 0 before the first vote, so what features explain is not explained twice, and what they do not
    explain is not lost. A policy that is asked with such a table is asked with one in every round. Arms may come and go: one that was never
    seen before joins with what its features say of it, and nothing of what was learned has to be learned again.

    Parameters
    ----------
    ids
        Who is on the table: a whole number from 0 for each arm, the same in every round. A single whole number n stands for 0 to n - 1.
    features
        (n_arms, dim), or None.

    >>> import duelist as dl
    >>> policy = dl.LocalPairUCB(estimator="online", random_state=0)
    >>> for _ in range(100):
    ...     duel = policy.ask(dl.ArmTable(5))
    ...     policy.tell(duel, float(duel.first < duel.second))
    >>> policy.recommend(dl.ArmTable(5)).best
    0
    >>> late = dl.ArmTable([0, 1, 7])  # arm 7 is new
    >>> sorted(policy.ask(late, exclude=[(0, 1)]))[1]  # its position on this table
    2
    """

    __slots__ = ("features", "ids")

    def __init__(self, ids: ArrayLike | int, features: ArrayLike | None = None) -> None:
        self.ids: Ints = _checked_ids(ids)
        self.features: Floats = np.empty((len(self.ids), 0)) if features is None else check_arms(features)
        if len(self.features) != len(self.ids):
            raise InvalidInput(
                f"features have shape {self.features.shape}, and there are {len(self.ids)} arms.",
                "Give a row for each.",
            )

    @classmethod
    def from_checked(cls, ids: Ints, features: Floats) -> ArmTable:
        """The same of arrays that were looked at before."""
        made = cls.__new__(cls)
        made.ids, made.features = ids, features
        return made

    @property
    def dim(self) -> int:
        """How many features an arm has; 0: none."""
        return int(self.features.shape[1])

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, positions: Any) -> ArmTable:
        """The table of some of these arms."""
        where = np.atleast_1d(np.asarray(positions, np.int64))
        return ArmTable.from_checked(self.ids[where], np.ascontiguousarray(self.features[where]))

    def __repr__(self) -> str:
        some = ", ".join(map(str, self.ids[:4])) + (", ..." if len(self) > 4 else "")
        return f"ArmTable([{some}], {len(self)} arms, {self.dim or 'no'} features)"


def _checked_ids(ids: Any) -> Ints:
    if is_integer(ids):
        if not 1 <= ids <= MAX_ARMS:
            raise InvalidInput(f"ids is {ids}.", f"Give from 1 to {MAX_ARMS} arms.", field="ids")
        return np.arange(int(ids), dtype=np.int64)
    try:
        given = np.asarray(ids)
    except ValueError:
        given = np.empty(0)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise InvalidInput(
            f"ids is {ids!r}.",
            "Give a whole number from 0 for each arm, or how many arms there are.",
            field="ids",
        )
    if given.min() < 0 or given.max() >= MAX_ARMS:
        stray = given[(given < 0) | (given >= MAX_ARMS)][0]
        raise InvalidInput(f"ids has {stray}.", f"Number arms from 0 to {MAX_ARMS - 1}.")
    if len(np.unique(given)) < len(given):
        values, counts = np.unique(given, return_counts=True)
        raise InvalidInput(f"ids has {values[counts > 1][0]} twice.", "An arm is on the table once.")
    return np.ascontiguousarray(given, np.int64)
