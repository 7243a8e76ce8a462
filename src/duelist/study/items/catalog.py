"""The arms of a study as a process caches them, refreshed by the changes in the storage."""

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
from duelist.study.items.labels import label_of
from duelist.study.items.systems import NewArm, SystemAnswers
from duelist.study.records import Arm
from duelist.study.storage import ArmRow, FeatureChunk, Transaction
from duelist.study.storage.encoding import Vectors

PolicyArms = Vectors | ArmTable
"""Arms as a policy receives them: features, or a table with their ids."""
_REFRESHING: Final = -1
"""The revision of a catalog during a refresh, in case it is interrupted."""
_MAX_PROMPTS: Final = 256
MAX_INDICATORS: Final = 2000
"""Arms that may have an indicator feature each: the policy's work grows with the square of their number."""


class ArmCatalog:
    """Arms by number, with every version of their features.

    A feature row never changes or moves: an arm refers to its newest row, a duel to the two rows that it showed. Arms without features
    have empty rows. With `arm_effects` policies receive the ids of arms beside their features. In a study of systems they receive the
    numbers of systems instead.
    """

    def __init__(self, arm_effects: bool = False) -> None:
        self.arm_effects = arm_effects
        self.revision = 0
        self.n_rows = 0
        self._rows: list[ArmRow] = []
        self._number: dict[str, int] = {}
        self._features: Vectors = np.empty((0, 0), np.float32)
        self._number_at = np.empty(0, np.int64)
        self._version = np.empty(0, np.int64)
        self._newest = np.empty(0, np.int64)
        self._active: dict[str | None, Ints] | None = None
        self._pair_counts: dict[str | None, int] | None = None
        self._context_index: Ints | None = None
        self._context_table: tuple[str | None, PolicyArms] | None = None
        self._prompts: dict[str, Any] = {}
        self._answers: SystemAnswers | None = None

    def clear(self) -> None:
        """Drop everything; the next `refresh` reads it again."""
        self.__init__(self.arm_effects)  # type: ignore[misc]

    def refresh(self, tx: Transaction) -> None:
        """Read the changes in the storage."""
        if tx.counters.arms_revision == self.revision:
            return
        self._active = self._pair_counts = self._context_table = self._context_index = self._answers = None
        self._prompts = {}
        since, self.revision = self.revision, _REFRESHING
        for row in tx.arms_since(since):
            if not 0 <= row.number <= len(self._rows):
                raise damaged(f"arm {row.number} comes after {len(self._rows)} arms")
            if row.number == len(self._rows):
                self._rows.append(row)
                self._number[row.id] = row.number
            else:
                self._rows[row.number] = row
        for chunk in tx.features_since(self.n_rows):
            self._add_features(chunk)
        expected = tx.counters.n_arms, tx.counters.n_rows
        if (len(self._rows), self.n_rows) != expected:
            raise damaged(f"there are {len(self._rows)} arms in {self.n_rows} rows, but {expected} are expected")
        self.revision = tx.counters.arms_revision

    def _add_features(self, chunk: FeatureChunk) -> None:
        count, dim = chunk.vectors.shape
        if chunk.first_row != self.n_rows or (
            count and not 0 <= chunk.arms.min() <= chunk.arms.max() < len(self._rows)
        ):
            raise damaged(f"features from row {chunk.first_row} are of arms that do not exist")
        n_rows, width = self.n_rows + count, max(dim, self.dim)
        precision = np.promote_types(self._features.dtype, chunk.vectors.dtype)
        if n_rows > len(self._features) or width > self.dim or precision != self._features.dtype:
            features = np.zeros((max(n_rows, 2 * self.n_rows), width), precision)
            features[: self.n_rows, : self.dim] = self._features[: self.n_rows]
            self._features = features
        rows = np.arange(self.n_rows, n_rows)
        self._features[rows, :dim] = chunk.vectors
        self._features[rows, dim:] = 0.0  # indicator features that were added later
        newest = np.full(len(self._rows), -1)
        newest[: len(self._newest)] = self._newest
        earlier = newest[chunk.arms]
        versions = np.where(earlier < 0, 0, self._version[earlier] if self.n_rows else 0) + 1
        newest[chunk.arms] = rows
        self._number_at = np.concatenate([self._number_at, chunk.arms])
        self._version = np.concatenate([self._version, versions])
        self._newest = newest
        self.n_rows = n_rows

    # -- by id ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, arm: str) -> bool:
        return arm in self._number

    def has(self, new: NewArm, vector: Vectors) -> bool:
        """Whether this arm exists; raise InvalidInput if an arm of that id differs."""
        arm, number = new.id, self._number.get(new.id)
        if number is None:
            return False
        existing = self._rows[number]
        for what, same in (
            ("features", self._is_row(int(self._newest[number]), vector)),
            ("payload", existing.payload == json.loads(json.dumps(new.payload))),
            ("context", existing.context == new.context),
            ("system", existing.system == new.system),
            ("category", existing.category == new.category),
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
        """Whether a vector equals a feature row; indicator features that one of them lacks are 0."""
        stored = self._features[row]
        both = min(len(stored), len(vector))
        return np.array_equal(stored[:both], vector[:both]) and not (stored[both:].any() or vector[both:].any())

    def has_indicators(self) -> bool:
        """Whether the features of each arm are an indicator of its number."""
        newest = self._features[self._newest]
        own = np.arange(len(self._rows))
        return len(own) <= self.dim and bool((newest[own, own] == 1.0).all()) and np.count_nonzero(newest) == len(own)

    def numbers(self, ids: Sequence[str]) -> Ints:
        """Return the numbers of arms; raise UnknownArm for the first that does not exist."""
        try:
            return np.fromiter((self._number[arm] for arm in ids), np.int64, len(ids))
        except (KeyError, TypeError) as error:
            raise unknown_arm(error.args[0]) from None

    def number_of(self, arm: str) -> int:
        """Return the number of an existing arm."""
        return self._number[arm]

    def ids(self) -> frozenset[str]:
        """Return the ids of all arms."""
        return frozenset(self._number)

    def id_of(self, number: int) -> str:
        """Return the id of an arm."""
        return self._rows[number].id

    def payload(self, number: int) -> Any:
        """Return the payload of an arm."""
        return self._rows[number].payload

    def prompt(self, tx: Transaction, context: str | None) -> Any:
        """Return the payload of a context as `tx` sees it; recent ones are cached until an arm or a context changes."""
        if context is None:
            return None
        if context not in self._prompts:
            if len(self._prompts) >= _MAX_PROMPTS:
                self._prompts.clear()
            self._prompts[context] = tx.contexts([context]).get(context)
        return self._prompts[context]

    def arm(self, number: int) -> Arm:
        """Return an arm in its newest version."""
        return self.arm_at(int(self._newest[number]))

    def arm_at(self, row: int) -> Arm:
        """Return the arm of a feature row, in the version of that row."""
        arm = self._rows[self.number_at(row)]
        return Arm(
            arm.number, arm.id, arm.payload, arm.context, int(self._version[row]), arm.retired, arm.system, arm.category
        )

    def rows_of_version(self, numbers: Ints, version: int) -> Ints:
        """Return the feature rows of that version of arms, -1 where an arm has none."""
        found = np.full(len(self._rows), -1)
        rows = np.flatnonzero(self._version == version)
        found[self._number_at[rows]] = rows
        return found[numbers]

    def number_at(self, row: int) -> int:
        """Return the number of the arm of a feature row."""
        if not 0 <= row < self.n_rows:
            raise damaged(f"a duel shows feature row {row}, but there are {self.n_rows}")
        return int(self._number_at[row])

    def numbers_at(self, rows: Ints) -> Ints:
        """Return the numbers of the arms of feature rows."""
        if rows.size and not 0 <= rows.min() <= rows.max() < self.n_rows:
            self.number_at(int(rows.max() if rows.min() >= 0 else rows.min()))
        return self._number_at[rows]

    def is_retired(self, number: int) -> bool:
        """Whether an arm is retired."""
        return self._rows[number].retired

    # -- systems -------------------------------------------------------------------------

    @property
    def has_systems(self) -> bool:
        """Whether this is a study of systems: its arms are systems' answers to prompts."""
        return bool(self._rows) and self._rows[0].system is not None

    @property
    def answers(self) -> SystemAnswers:
        """The answers by system and prompt, in a study of systems."""
        if self._answers is None:
            self._answers = SystemAnswers(self._rows)
        return self._answers

    def rows(self) -> list[ArmRow]:
        """Return all arms as the storage has them."""
        return self._rows

    def label(self, number: int) -> str:
        """Return the name of what policies estimate: the system of an arm, or its id."""
        row = self._rows[number]
        return row.id if row.system is None else row.system

    def name_for_people(self, number: int) -> str:
        """Return the system of an arm, or its id with the beginning of its text."""
        arm = self.arm(number)
        return label_of(arm) if arm.system is None else arm.system

    def policy_ids(self, numbers: Ints) -> Ints:
        """Return the ids by which policies know arms: their numbers, or those of their systems."""
        return self.answers.system_of[numbers] if self.has_systems else numbers

    # -- candidates ----------------------------------------------------------------------

    def active_by_context(self) -> dict[str | None, Ints]:
        """Return the numbers of active arms by context; None is the context of arms without one."""
        if self._active is None:
            found: dict[str | None, list[int]] = {}
            for row in self._rows:
                if not row.retired:
                    found.setdefault(row.context, []).append(row.number)
            self._active = {context: np.array(numbers, np.int64) for context, numbers in found.items()}
        return self._active

    def pairs_by_context(self) -> dict[str | None, int]:
        """Return the number of pairs of active arms by context, for contexts that have any."""
        if self._pair_counts is None:
            sizes = {context: len(numbers) for context, numbers in self.active_by_context().items()}
            self._pair_counts = {context: n * (n - 1) // 2 for context, n in sizes.items() if n > 1}
        return self._pair_counts

    def context_index(self) -> Ints:
        """Return the position of each arm's context in `pairs_by_context`, -1 for arms that cannot be asked."""
        if self._context_index is None:
            self._context_index = np.full(len(self._rows), -1, np.int64)
            for place, context in enumerate(self.pairs_by_context()):
                self._context_index[self.active_by_context()[context]] = place
        return self._context_index

    def has_context(self, context: str) -> bool:
        """Whether any arm, active or retired, has that context."""
        return context in self.active_by_context() or any(row.context == context for row in self._rows)

    def common_context(self, rows: Sequence[int]) -> str | None:
        """Return the context that the arms of these feature rows share, None if they share none."""
        contexts = {self._rows[self.number_at(row)].context for row in rows}
        return contexts.pop() if len(contexts) == 1 else None

    def newest_rows(self, numbers: Ints) -> Ints:
        """Return the newest feature rows of arms."""
        return self._newest[numbers]

    def rows_of(self, numbers: Ints) -> Ints:
        """Return the feature rows of all versions of arms: the newest of each, then older ones."""
        newest, rows = self._newest[numbers], np.flatnonzero(np.isin(self._number_at, numbers))
        return np.concatenate([newest, np.setdiff1d(rows, newest)])

    def vectors(self, rows: Ints) -> Floats:
        """Return feature rows in double precision."""
        return self._features[rows].astype(np.float64, copy=False)

    @property
    def dim(self) -> int:
        """The number of features."""
        return int(self._features.shape[1])

    @property
    def uses_arm_table(self) -> bool:
        """Whether policies receive the ids of arms, not features alone."""
        return self.arm_effects or self.dim == 0

    def matrix(self, numbers: Ints) -> Floats:
        """Return the newest features of arms in double precision."""
        return self.vectors(self._newest[numbers])

    def table(self, numbers: Ints, stored_precision: bool = False) -> PolicyArms:
        """Return arms as a policy receives them, in double precision or in the precision that they are stored in."""
        if self.uses_arm_table:
            return ArmTable.from_checked(self.policy_ids(numbers), self.matrix(numbers))
        return self._features[self._newest[numbers]] if stored_precision else self.matrix(numbers)

    def first_table(self, numbers: Ints) -> PolicyArms:
        """Return these arms as a policy is first shown them; in a study of systems, their systems."""
        if not self.has_systems:
            return self.table(numbers)
        return ArmTable(np.unique(self.policy_ids(numbers)))

    def context_table(self, context: str | None, stored_precision: bool = False) -> PolicyArms:
        """Return all active arms of a context as a policy receives them; the last one is cached until arms change."""
        if self._context_table is None or self._context_table[0] != context:
            self._context_table = context, self.table(self.active_by_context()[context], stored_precision)
        return self._context_table[1]

    def pair(self, first_row: int, second_row: int) -> PolicyArms:
        """Return the two arms of a duel as it showed them, in double precision."""
        return self.pairs(np.array([[first_row, second_row]]))[0]

    def pairs(self, rows: Ints) -> list[PolicyArms]:
        """Return the `pair` of many duels, by their feature rows (duels, 2)."""
        ids = self.policy_ids(self.numbers_at(rows))  # raises if a row does not exist
        vectors = self.vectors(rows)
        if self.uses_arm_table:
            return [ArmTable.from_checked(*pair) for pair in zip(ids, vectors, strict=True)]
        return list(vectors)

    def difference(self, first_row: int, second_row: int) -> Floats | ArmTable:
        """Return the features of the first arm minus those of the second; or the two arms as a table."""
        return self.differences(np.array([[first_row, second_row]]))[0]

    def differences(self, rows: Ints) -> list[Floats | ArmTable]:
        """Return the `difference` of many duels, by their feature rows (duels, 2)."""
        return [pair if isinstance(pair, ArmTable) else pair[0] - pair[1] for pair in self.pairs(rows)]


def indicator_features(arms: ArmCatalog, ids: Sequence[str]) -> NDArray[np.float32]:
    """Return an indicator feature for each of these arms, new or not; more columns than now, if the new arms need them."""
    if len(arms) and not arms.has_indicators():
        raise InvalidInput(
            f"features are missing, and the arms of this study have {arms.dim} each.",
            "Give these arms features of the same kind.",
        )
    new = iter(range(len(arms), len(arms) + len(ids)))
    numbers = [arms.number_of(arm) if arm in arms else next(new) for arm in ids]
    needed = max(len(arms), 1 + max(numbers))
    if needed > MAX_INDICATORS:
        raise InvalidInput(
            f"{needed} arms are too many for a feature each (at most {MAX_INDICATORS}).",
            "Give features, or have them made from texts.",
        )
    dim = arms.dim if needed <= arms.dim else max(8, needed, 3 * arms.dim // 2)
    vectors = np.zeros((len(ids), dim), np.float32)
    vectors[np.arange(len(ids)), numbers] = 1.0
    return vectors


def chunked(first_row: int, arms: Ints, vectors: Vectors, max_bytes: int = 1 << 24) -> list[FeatureChunk]:
    """Split feature rows into chunks of at most `max_bytes` bytes (16 MiB), which every database accepts as one value."""
    size = max(1, max_bytes // max(1, vectors.shape[1] * vectors.itemsize))
    return [
        FeatureChunk(first_row + start, arms[start : start + size], vectors[start : start + size])
        for start in range(0, len(arms), size)
    ]
