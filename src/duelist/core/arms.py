"""`ArmTable`: arms with ids, with or without features."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats, Ints, check_arms, is_integer
from duelist.core.errors import InvalidInput

MAX_ARMS: Final = 2**24


class ArmTable:
    """Arms with ids, each with an arm effect: utility x . theta + u, or u alone without features.

    Arm effects are normal with mean 0 before the first vote, so they explain
    only what features do not. A policy that is once given an `ArmTable` must be
    given one in every round. Arms may come and go; a new arm starts from what
    its features predict, and estimates of the others stay.

    Parameters
    ----------
    ids
        The id of each arm, whole numbers from 0, the same in every round. A
        single whole number n stands for the ids 0 to n - 1.
    features
        (n_arms, dim), or None.

    >>> import duelist as dl
    >>> policy = dl.LocalPairUCB(estimator="online", random_state=0)
    >>> for _ in range(100):
    ...     duel = policy.ask(dl.ArmTable(5))
    ...     policy.tell(duel, float(duel.first < duel.second))
    >>> policy.recommend(dl.ArmTable(5)).best
    0
    >>> later = dl.ArmTable([0, 1, 7])  # arm 7 is new
    >>> sorted(policy.ask(later, exclude=[(0, 1)]))[1]  # its position in this table
    2
    """

    __slots__ = ("features", "ids")

    def __init__(self, ids: ArrayLike | int, features: ArrayLike | None = None) -> None:
        self.ids: Ints = _checked_ids(ids)
        self.features: Floats = np.empty((len(self.ids), 0)) if features is None else check_arms(features)
        if len(self.features) != len(self.ids):
            raise InvalidInput(
                f"features have shape {self.features.shape}, and there are {len(self.ids)} arms.",
                "Give one row of features per arm.",
            )

    @classmethod
    def from_checked(cls, ids: Ints, features: Floats) -> ArmTable:
        """Return a table of arrays that are known to be valid, without checking them again."""
        table = cls.__new__(cls)
        table.ids, table.features = ids, features
        return table

    @property
    def dim(self) -> int:
        """Number of features per arm; 0 without features."""
        return int(self.features.shape[1])

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, positions: Any) -> ArmTable:
        """Return the table of the arms at these positions."""
        index = np.atleast_1d(np.asarray(positions, np.int64))
        return ArmTable.from_checked(self.ids[index], np.ascontiguousarray(self.features[index]))

    def __repr__(self) -> str:
        ids = ", ".join(map(str, self.ids[:4])) + (", ..." if len(self) > 4 else "")
        return f"ArmTable([{ids}], {len(self)} arms, {self.dim or 'no'} features)"


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
        invalid = given[(given < 0) | (given >= MAX_ARMS)][0]
        raise InvalidInput(f"ids has {invalid}.", f"Give ids from 0 to {MAX_ARMS - 1}.")
    if len(np.unique(given)) < len(given):
        values, counts = np.unique(given, return_counts=True)
        raise InvalidInput(f"ids has {values[counts > 1][0]} twice.", "Give each id once.")
    return np.ascontiguousarray(given, np.int64)
