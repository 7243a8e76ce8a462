"""The arms of a study as one process knows them; brought up to date from the storage by what has changed since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arms import ArmTable
from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.study.errors import damaged, unknown_arm
from duelist.study.records import Arm
from duelist.study.storage import ArmRow, FeatureChunk, Transaction
from duelist.study.storage.vectors import Vectors

Shown = Vectors | ArmTable
"""Arms as a policy is shown them: by their features, or by who they are."""
_IN_BETWEEN: Final = -1
"""The revision of arms that are being taken in; if that is interrupted, they are of none."""
_MOST_PROMPTS: Final = 256
MOST_OWN: Final = 2000
"""Arms that may have a feature each: what a policy computes grows with the square of it."""


class KnownArms:
    """Arms by number, with every version of their features.

    A row of features is never changed or moved: an arm points at its newest row, a duel at the two rows it showed. Arms without
    features have empty rows. With `arm_effects` policies know arms by who they are, features or not.
    """

    def __init__(self, arm_effects: bool = False) -> None:
        self.arm_effects = arm_effects
        self.revision = 0
        self.n_rows = 0
        self._rows: list[ArmRow] = []
        self._number: dict[str, int] = {}
        self._features: Vectors = np.empty((0, 0), np.float32)
        self._owner = np.empty(0, np.int64)
        self._version = np.empty(0, np.int64)
        self._newest = np.empty(0, np.int64)
        self._groups: dict[str | None, Ints] | None = None
        self._askable: dict[str | None, int] | None = None
        self._group_of: Ints | None = None
        self._ready: tuple[str | None, Shown] | None = None
        self._prompts: dict[str, Any] = {}

    def forget(self) -> None:
        """Drop everything; the next `follow` finds it again."""
        self.__init__(self.arm_effects)  # type: ignore[misc]

    def follow(self, tx: Transaction) -> None:
        """Take in what has changed in the storage."""
        if tx.counters.arms_revision == self.revision:
            return
        self._groups = self._askable = self._ready = self._group_of = None
        self._prompts = {}
        since, self.revision = self.revision, _IN_BETWEEN
        for row in tx.arms_since(since):
            if not 0 <= row.number <= len(self._rows):
                raise damaged(f"arm {row.number} comes after {len(self._rows)} arms")
            if row.number == len(self._rows):
                self._rows.append(row)
                self._number[row.id] = row.number
            else:
                self._rows[row.number] = row
        for chunk in tx.features_since(self.n_rows):
            self._take(chunk)
        counted = tx.counters.n_arms, tx.counters.n_rows
        if (len(self._rows), self.n_rows) != counted:
            raise damaged(f"{len(self._rows)} arms in {self.n_rows} rows, and {counted} are counted")
        self.revision = tx.counters.arms_revision

    def _take(self, chunk: FeatureChunk) -> None:
        count, dim = chunk.vectors.shape
        if chunk.first_row != self.n_rows or (
            count and not 0 <= chunk.arms.min() <= chunk.arms.max() < len(self._rows)
        ):
            raise damaged(f"features from row {chunk.first_row} are of arms that are not there")
        needed, wide = self.n_rows + count, max(dim, self.dim)
        precision = np.promote_types(self._features.dtype, chunk.vectors.dtype)
        if needed > len(self._features) or wide > self.dim or precision != self._features.dtype:
            room = np.zeros((max(needed, 2 * self.n_rows), wide), precision)
            room[: self.n_rows, : self.dim] = self._features[: self.n_rows]
            self._features = room
        rows = np.arange(self.n_rows, needed)
        self._features[rows, :dim] = (
            chunk.vectors
        )  # features of arms that have one each were fewer when these were added
        self._features[rows, dim:] = 0.0
        newest = np.full(len(self._rows), -1)
        newest[: len(self._newest)] = self._newest
        earlier = newest[chunk.arms]
        versions = np.where(earlier < 0, 0, self._version[earlier] if self.n_rows else 0) + 1
        newest[chunk.arms] = rows
        self._owner = np.concatenate([self._owner, chunk.arms])
        self._version = np.concatenate([self._version, versions])
        self._newest = newest
        self.n_rows = needed

    # -- by id ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, arm: str) -> bool:
        return arm in self._number

    def has(self, arm: str, payload: Any, context: str | None, vector: Vectors) -> bool:
        """Whether this very arm is there; InvalidInput if another one of that id is."""
        number = self._number.get(arm)
        if number is None:
            return False
        there = self._rows[number]
        for what, same in (
            ("features", self._is_row(int(self._newest[number]), vector)),
            ("payload", there.payload == json.loads(json.dumps(payload))),
            ("context", there.context == context),
        ):
            if not same:
                other = f"other {what}" if what == "features" else f"another {what}"
                message = f"Arm {arm!r} is in this study already, with {other}."
                if what == "features":
                    hint = "Give this one another id, or change the stored features with `update_features`."
                    raise InvalidInput(message, hint, code="invalid_input.other_features", field=what, arm=arm)
                raise InvalidInput(message, f"Give this one another id, or the stored {what}.", field=what)
        return True

    def _is_row(self, row: int, vector: Vectors) -> bool:
        """Whether a vector is this row."""
        kept = self._features[row]
        both = min(len(kept), len(vector))  # of features that grow, those that one of them does not have yet are 0
        return np.array_equal(kept[:both], vector[:both]) and not (kept[both:].any() or vector[both:].any())

    def have_own_features(self) -> bool:
        """Whether the feature of each arm is one of its own: the one of its number."""
        newest = self._features[self._newest]
        own = np.arange(len(self._rows))
        return len(own) <= self.dim and bool((newest[own, own] == 1.0).all()) and np.count_nonzero(newest) == len(own)

    def numbers(self, ids: Sequence[str]) -> Ints:
        """The numbers of arms; UnknownArm names the first that is not there."""
        try:
            return np.fromiter((self._number[arm] for arm in ids), np.int64, len(ids))
        except (KeyError, TypeError) as error:
            raise unknown_arm(error.args[0]) from None

    def number_of(self, arm: str) -> int:
        """The number of an arm that is there."""
        return self._number[arm]

    def ids(self) -> frozenset[str]:
        """The ids of all arms."""
        return frozenset(self._number)

    def id_of(self, number: int) -> str:
        """The id of an arm."""
        return self._rows[number].id

    def payload(self, number: int) -> Any:
        """What an arm is."""
        return self._rows[number].payload

    def prompt(self, tx: Transaction, context: str | None) -> Any:
        """What a context is, as `tx` sees it; the last few are remembered until something changes."""
        if context is None:
            return None
        if context not in self._prompts:
            if len(self._prompts) >= _MOST_PROMPTS:
                self._prompts.clear()
            self._prompts[context] = tx.contexts([context]).get(context)
        return self._prompts[context]

    def arm(self, number: int) -> Arm:
        """An arm with its newest version."""
        return self.shown(int(self._newest[number]))

    def shown(self, row: int) -> Arm:
        """The arm that a row of features belongs to, with the version that row is of."""
        arm = self._rows[self.owner(row)]
        return Arm(arm.number, arm.id, arm.payload, arm.context, int(self._version[row]), arm.retired)

    def rows_of_version(self, numbers: Ints, version: int) -> Ints:
        """The rows of that version of arms, -1 where an arm has none."""
        found = np.full(len(self._rows), -1)
        rows = np.flatnonzero(self._version == version)
        found[self._owner[rows]] = rows
        return found[numbers]

    def owner(self, row: int) -> int:
        """The number of the arm that a row belongs to."""
        if not 0 <= row < self.n_rows:
            raise damaged(f"a duel is of row {row}, and features have {self.n_rows}")
        return int(self._owner[row])

    def owners(self, rows: Ints) -> Ints:
        """The numbers of the arms that rows belong to."""
        if rows.size and not 0 <= rows.min() <= rows.max() < self.n_rows:
            self.owner(int(rows.max() if rows.min() >= 0 else rows.min()))
        return self._owner[rows]

    def is_retired(self, number: int) -> bool:
        """Whether an arm is out of the game."""
        return self._rows[number].retired

    # -- candidates ----------------------------------------------------------------------

    def groups(self) -> dict[str | None, Ints]:
        """The arms in the game, by context; None for those without one."""
        if self._groups is None:
            found: dict[str | None, list[int]] = {}
            for row in self._rows:
                if not row.retired:
                    found.setdefault(row.context, []).append(row.number)
            self._groups = {context: np.array(numbers, np.int64) for context, numbers in found.items()}
        return self._groups

    def askable(self) -> dict[str | None, int]:
        """The contexts with two arms in the game or more, and how many pairs each has."""
        if self._askable is None:
            sizes = {context: len(numbers) for context, numbers in self.groups().items()}
            self._askable = {context: n * (n - 1) // 2 for context, n in sizes.items() if n > 1}
        return self._askable

    def group_of(self) -> Ints:
        """Of each arm, which of the `askable` contexts it can be asked in; -1 for none."""
        if self._group_of is None:
            self._group_of = np.full(len(self._rows), -1, np.int64)
            for place, context in enumerate(self.askable()):
                self._group_of[self.groups()[context]] = place
        return self._group_of

    def knows_context(self, context: str) -> bool:
        """Whether any arm, retired or not, is in that context."""
        return context in self.groups() or any(row.context == context for row in self._rows)

    def common_context(self, rows: Sequence[int]) -> str | None:
        """The context of the arms of these rows, if it is one and the same."""
        contexts = {self._rows[self.owner(row)].context for row in rows}
        return contexts.pop() if len(contexts) == 1 else None

    def newest_rows(self, numbers: Ints) -> Ints:
        """The rows of the newest features of arms."""
        return self._newest[numbers]

    def rows_of(self, numbers: Ints) -> Ints:
        """The rows of all versions of arms: the newest of each, then those from before."""
        newest, rows = self._newest[numbers], np.flatnonzero(np.isin(self._owner, numbers))
        return np.concatenate([newest, np.setdiff1d(rows, newest)])

    def vectors(self, rows: Ints) -> Floats:
        """Features by row, in double precision."""
        return self._features[rows].astype(np.float64, copy=False)

    @property
    def dim(self) -> int:
        """How many features an arm has."""
        return int(self._features.shape[1])

    @property
    def by_who_they_are(self) -> bool:
        """Whether policies are shown who the arms are, and not their features alone."""
        return self.arm_effects or self.dim == 0

    def matrix(self, numbers: Ints) -> Floats:
        """The newest features of arms in double precision, as policies want them."""
        return self.vectors(self._newest[numbers])

    def table(self, numbers: Ints, as_kept: bool = False) -> Shown:
        """Arms as a policy is shown them; or with their features in the precision that they are kept in."""
        if self.by_who_they_are:
            return ArmTable.from_checked(numbers, self.matrix(numbers))
        return self._features[self._newest[numbers]] if as_kept else self.matrix(numbers)

    def group_table(self, context: str | None, as_kept: bool = False) -> Shown:
        """A whole group, kept until the arms change: it is what is asked for most."""
        if self._ready is None or self._ready[0] != context:
            self._ready = context, self.table(self.groups()[context], as_kept)
        return self._ready[1]

    def seen(self, first_row: int, second_row: int) -> Shown:
        """The two arms of a duel as it showed them, in double precision."""
        rows = np.array([first_row, second_row])
        vectors = self.vectors(rows)
        return ArmTable.from_checked(self.owners(rows), vectors) if self.by_who_they_are else vectors

    def compared(self, first_row: int, second_row: int) -> Floats | ArmTable:
        """Features of the first minus features of the second, in double precision; or who the two are."""
        return self.all_compared(np.array([[first_row, second_row]]))[0]

    def all_compared(self, shown: Ints) -> list[Floats | ArmTable]:
        """The same of many duels, by the rows that they show (duels, 2)."""
        owners = self.owners(shown)  # are they there?
        vectors = self.vectors(shown)
        if self.by_who_they_are:
            return [ArmTable.from_checked(*pair) for pair in zip(owners, vectors, strict=True)]
        return list(vectors[:, 0] - vectors[:, 1])


def own_features(arms: KnownArms, ids: Sequence[str]) -> NDArray[np.float32]:
    """A feature of its own for each of these arms, there already or not; wider than the arms there are, when they no longer fit."""
    if len(arms) and not arms.have_own_features():
        raise InvalidInput(
            f"features are missing, and the arms of this study have {arms.dim} each.",
            "Give these arms features of the same kind.",
        )
    new = iter(range(len(arms), len(arms) + len(ids)))
    numbers = [arms.number_of(arm) if arm in arms else next(new) for arm in ids]
    needed = max(len(arms), 1 + max(numbers))
    if needed > MOST_OWN:
        raise InvalidInput(
            f"{needed} arms are too many for a feature each (at most {MOST_OWN}).",
            "Give features, or have them made from texts.",
        )
    dim = arms.dim if needed <= arms.dim else max(8, needed, 3 * arms.dim // 2)
    vectors = np.zeros((len(ids), dim), np.float32)
    vectors[np.arange(len(ids)), numbers] = 1.0
    return vectors


def chunked(first_row: int, arms: Ints, vectors: Vectors, most: int = 1 << 24) -> list[FeatureChunk]:
    """Rows of features in chunks of at most `most` bytes (16 MiB), which every database takes in one value."""
    size = max(1, most // max(1, vectors.shape[1] * vectors.itemsize))
    return [
        FeatureChunk(first_row + start, arms[start : start + size], vectors[start : start + size])
        for start in range(0, len(arms), size)
    ]
