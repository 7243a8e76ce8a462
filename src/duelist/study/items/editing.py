"""The arms of a study: added and never changed, but for new versions of their features; retired, taken back and looked at."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.study.cache import Side
from duelist.study.formats.files.row import shorten
from duelist.study.items.catalog import chunked, own_features
from duelist.study.records import Arm, StudySettings
from duelist.study.replay import check_accepts_arm_table, new_policy
from duelist.study.storage import ArmRow, ContextRow, Transaction
from duelist.study.storage.vectors import Vectors
from duelist.study.validation import checked_contexts, checked_ids, checked_payloads, checked_text, checked_vectors

Described = tuple[str, Any, str | None]
"""Id, payload and context of an arm."""


class Keeping(ABC):
    """The half of `Study` that keeps arms."""

    _writer: Side
    _reader: Side
    settings: StudySettings

    @abstractmethod
    def _changing(self) -> AbstractContextManager[Transaction]:
        """One transaction that writes, refused where the study was put away."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Transaction]:
        """One transaction that reads."""

    def add_arms(
        self,
        ids: Sequence[str],
        features: ArrayLike | None = None,
        payloads: Sequence[Any] | None = None,
        contexts: Sequence[str | None] | str | None = None,
        context_payloads: Mapping[str, Any] | None = None,
    ) -> int:
        """Add arms: all of them, or, after an error, none; how many are new.

        If in doubt whether they arrived, add them again: those that are there with the same features, payload and context
        are left as they are. Different ones are refused.

        Parameters
        ----------
        ids
            A name for each.
        features
            (n_arms, dim), kept as they are given, in double precision; or None, for all arms of the study: then each is known by its
            votes alone (where the policy cannot do that, each has a feature of its own, which grow as arms are added). With the study's
            setting `arm_effects` both count, what features say and what they do not. More arms may join at any time.
        payloads
            What a rater is shown: text, the path of an image, or anything JSON can hold.
        contexts
            The group each belongs to (a prompt, for its answers), or one for all. Duels are asked within a group.
        context_payloads
            What contexts are, by name: the text of the prompt, messages, or anything JSON can hold. It is shown with a duel
            and exported as its prompt; `set_context` changes it.
        """
        ids = checked_ids(ids)
        described = list(
            zip(ids, checked_payloads(payloads, len(ids)), checked_contexts(contexts, len(ids)), strict=True)
        )
        with self._changing() as tx:
            added = self._add_arms(tx, described, features)
            if context_payloads:
                self._set_contexts(context_payloads, tx)
            return added

    def _add_arms(self, tx: Transaction, described: Sequence[Described], features: ArrayLike | None) -> int:
        """Add the arms that are not in the study yet, and return how many."""
        vectors = self._vectors(tx, [arm[0] for arm in described], features)
        new = [k for k, arm in enumerate(described) if not self._writer.known.arms.has(*arm, vectors[k])]
        if new:
            self._put_arms(tx, [described[k] for k in new], vectors[new])
        return len(new)

    def _vectors(self, tx: Transaction, ids: Sequence[str], features: ArrayLike | None) -> Vectors:
        """Features of arms as rows; without any, none, or one of its own for each where the policy knows arms by features alone."""
        known = self._writer.known
        free = tx.counters.dim == 0 or (not len(known.arms) and new_policy(self.settings).accepts_arm_table)
        if features is not None or free:
            vectors = checked_vectors(features, len(ids), tx.counters.dim)
            if not vectors.shape[1]:
                check_accepts_arm_table(
                    new_policy(self.settings), "These arms have no features", "Give features. Otherwise: "
                )
            return vectors
        vectors = own_features(known.arms, ids)
        known.fold.grow(tx, known.arms, vectors.shape[1])
        return vectors

    def _put_arms(self, tx: Transaction, described: list[Described], vectors: Vectors) -> None:
        counters = tx.counters
        first, counters.n_arms = counters.n_arms, counters.n_arms + len(described)
        counters.arms_revision += 1
        counters.dim = vectors.shape[1]
        rows = [ArmRow(first + k, *arm, False, counters.arms_revision) for k, arm in enumerate(described)]
        tx.add_arms(rows)
        self._add_rows(tx, np.arange(first, first + len(rows)), vectors)

    def update_features(self, ids: Sequence[str], features: ArrayLike) -> None:
        """A new version of the features of arms. Duels asked before are learned with the features they were asked with."""
        ids = checked_ids(ids)
        with self._changing() as tx:
            numbers = self._writer.known.arms.numbers(ids)
            vectors = checked_vectors(features, len(ids), tx.counters.dim)
            tx.counters.arms_revision += 1
            tx.touch_arms(numbers.tolist(), tx.counters.arms_revision)
            self._add_rows(tx, numbers, vectors)

    def _add_rows(self, tx: Transaction, numbers: Ints, vectors: Vectors) -> None:
        for chunk in chunked(tx.counters.n_rows, numbers, vectors):
            tx.add_features(chunk)
        tx.counters.n_rows += len(numbers)

    def retire(self, ids: Sequence[str]) -> None:
        """Take arms out of the game: they are asked no more, votes on duels that are out still count."""
        self._set_retired(ids, True)

    def activate(self, ids: Sequence[str]) -> None:
        """Take retired arms back in."""
        self._set_retired(ids, False)

    def _set_retired(self, ids: Sequence[str], retired: bool) -> None:
        ids = checked_ids(ids)
        with self._changing() as tx:
            numbers = self._writer.known.arms.numbers(ids)
            tx.counters.arms_revision += 1
            tx.set_retired(numbers.tolist(), retired, tx.counters.arms_revision)

    def arms(self, context: str | None = None) -> list[Arm]:
        """All arms in the order they were added, retired ones too; or those of a context."""
        with self._reading():
            arms = self._reader.known.arms
            everything = (arms.arm(number) for number in range(len(arms)))
            return [arm for arm in everything if context is None or arm.context == context]

    def contexts(self) -> list[str]:
        """The contexts that have arms in the game, in the order they were added."""
        with self._reading():
            return [context for context in self._reader.known.arms.groups() if context is not None]

    def features(self, ids: Sequence[str] | None = None, version: int | None = None) -> Floats:
        """Features of arms (n_arms, dim) as they were given, all of them by default; of an older version if one is given."""
        with self._reading() as tx:
            arms = self._reader.known.arms
            numbers = np.arange(len(arms)) if ids is None else arms.numbers(checked_ids(ids))
            if version is None:
                return arms.vectors(arms.newest_rows(numbers)).reshape(len(numbers), tx.counters.dim or 0)
            rows = arms.rows_of_version(numbers, version)
            if (rows < 0).any():
                short = arms.arm(int(numbers[np.argmin(rows)]))
                raise InvalidInput(
                    f"version is {version!r}, but arm {short.id!r} has versions 1 to {short.version}.",
                    "Choose one of these.",
                    field="version",
                )
            return arms.vectors(rows)

    # -- contexts ------------------------------------------------------------------------

    def set_context(self, name: str, payload: Any) -> None:
        """Set the payload of a context: the text of a prompt, messages, or anything JSON can hold.

        It is shown and exported with the items of the context.
        """
        with self._changing() as tx:
            self._set_contexts({name: payload}, tx, change=True)

    def context_payload(self, name: str) -> Any:
        """Return the payload of a context, None if it has none."""
        with self._reading() as tx:
            return tx.contexts([checked_text("context", name)]).get(name)

    def _set_contexts(self, payloads: Mapping[str, Any], tx: Transaction, change: bool = False) -> None:
        """Store the payloads of contexts; without `change` a stored one must be the same, since items were compared under it."""
        names = [checked_text("context", name) for name in payloads]
        plain = json.loads(json.dumps(checked_payloads(list(payloads.values()), len(names))))
        given = dict(zip(names, plain, strict=True))
        stored = tx.contexts(names)
        other = next((name for name, old in stored.items() if old is not None and old != given[name]), None)
        if other is not None and not change:
            raise InvalidInput(
                f"The prompt of context {other!r} is {shorten(stored[other])}, and here it is {shorten(given[other])}.",
                "Give the stored prompt, name another context, or change the stored prompt first.",
            )
        changed = {name: payload for name, payload in given.items() if name not in stored or stored[name] != payload}
        if changed:
            tx.counters.arms_revision += 1
            tx.put_contexts([ContextRow(name, payload, tx.counters.arms_revision) for name, payload in changed.items()])
