"""The arms of a study: adding, retiring and activating them, and new versions of their features."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.core.tables import RecordList
from duelist.study.base import StudyBase
from duelist.study.formats.files.row import shorten
from duelist.study.items.catalog import chunked, indicator_features
from duelist.study.items.systems import NewArm, check_systems
from duelist.study.records import Arm
from duelist.study.replay import check_accepts_arm_table, new_policy
from duelist.study.storage import ArmRow, ContextRow, Transaction
from duelist.study.storage.encoding import Vectors
from duelist.study.validation import (
    checked_contexts,
    checked_ids,
    checked_names,
    checked_payloads,
    checked_text,
    checked_vectors,
)


class StudyItems(StudyBase):
    """The part of `Study` that manages arms."""

    def add_arms(
        self,
        ids: Sequence[str],
        features: ArrayLike | None = None,
        payloads: Sequence[Any] | None = None,
        contexts: Sequence[str | None] | str | None = None,
        context_payloads: Mapping[str, Any] | None = None,
        systems: Sequence[str | None] | None = None,
        categories: Sequence[str | None] | None = None,
    ) -> int:
        """Add arms, all or none, and return how many are new.

        Adding the same arms again changes nothing. InvalidInput is raised if an
        arm exists with other features, another payload or another context. Arms
        may be added at any time.

        Parameters
        ----------
        ids
            A distinct id for each arm.
        features
            An array (n_arms, dim), stored in the precision it needs; or None,
            for every arm of the study: then only votes tell arms apart (for
            policies that need features, each arm gets an indicator feature).
            With the setting `arm_effects` arms have both, features and an arm
            effect.
        payloads
            What raters are shown: text, the path of an image, or anything that
            JSON can hold.
        contexts
            The context of each arm (a prompt, if arms are answers), or one for
            all. Duels are asked within a context.
        context_payloads
            Payloads of contexts by name: the text of a prompt, messages, or
            anything that JSON can hold. They are shown with duels and exported
            as prompts; `set_context` changes them.
        systems
            The system of each arm, if the study compares systems on prompts: an
            arm is then the answer of a system to its context, and the policy,
            the leaderboard and stopping decisions are about systems. Answers
            may be missing.
        categories
            The category of each arm's prompt, if the study compares systems;
            `leaderboard(category=...)` ranks by it.
        """
        ids = checked_ids(ids)
        described = (
            checked_payloads(payloads, len(ids)),
            checked_contexts(contexts, len(ids)),
            checked_names("systems", systems, len(ids)),
            checked_names("categories", categories, len(ids)),
        )
        arms = [NewArm(*each) for each in zip(ids, *described, strict=True)]
        with self._changing() as tx:
            added = self._add_arms(tx, arms, features)
            if context_payloads:
                self._set_contexts(context_payloads, tx)
            return added

    def _add_arms(self, tx: Transaction, arms: Sequence[NewArm], features: ArrayLike | None) -> int:
        """Add the arms that are not in the study yet, and return how many."""
        catalog = self._write_cache.arms
        vectors = self._vectors(tx, arms, features)
        new = [k for k, arm in enumerate(arms) if not catalog.has(arm, vectors[k])]
        if new:
            if catalog.has_systems or any(arm.system is not None or arm.category is not None for arm in arms):
                check_systems([arms[k] for k in new], catalog.rows())
            self._put_arms(tx, [arms[k] for k in new], vectors[new])
        return len(new)

    def _vectors(self, tx: Transaction, arms: Sequence[NewArm], features: ArrayLike | None) -> Vectors:
        """Return the feature rows of arms: as given, or without features empty ones, or indicators if the policy needs features."""
        cache = self._write_cache
        has_systems = any(arm.system is not None for arm in arms)
        if has_systems and features is not None:
            raise InvalidInput(
                "features are given, and a study of systems learns a utility per system instead.",
                "Leave the features out.",
                field="features",
            )
        accepts_table = has_systems or new_policy(self.settings).accepts_arm_table
        if features is not None or tx.counters.dim == 0 or (not len(cache.arms) and accepts_table):
            vectors = checked_vectors(features, len(arms), tx.counters.dim)
            if not vectors.shape[1]:
                check_accepts_arm_table(
                    new_policy(self.settings), "These arms have no features", "Give features. Otherwise: "
                )
            return vectors
        vectors = indicator_features(cache.arms, [arm.id for arm in arms])
        cache.replay.widen(tx, cache.arms, vectors.shape[1])
        return vectors

    def _put_arms(self, tx: Transaction, arms: list[NewArm], vectors: Vectors) -> None:
        counters = tx.counters
        first, counters.n_arms = counters.n_arms, counters.n_arms + len(arms)
        counters.arms_revision += 1
        counters.dim = vectors.shape[1]
        rows = [
            ArmRow(first + k, **arm._asdict(), retired=False, revision=counters.arms_revision)
            for k, arm in enumerate(arms)
        ]
        tx.add_arms(rows)
        self._add_rows(tx, np.arange(first, first + len(rows)), vectors)

    def update_features(self, ids: Sequence[str], features: ArrayLike) -> None:
        """Set new features of arms; votes on earlier duels are learned with the features that those duels showed."""
        ids = checked_ids(ids)
        with self._changing() as tx:
            numbers = self._write_cache.arms.numbers(ids)
            vectors = checked_vectors(features, len(ids), tx.counters.dim)
            tx.counters.arms_revision += 1
            tx.touch_arms(numbers.tolist(), tx.counters.arms_revision)
            self._add_rows(tx, numbers, vectors)

    def _add_rows(self, tx: Transaction, numbers: Ints, vectors: Vectors) -> None:
        for chunk in chunked(tx.counters.n_rows, numbers, vectors):
            tx.add_features(chunk)
        tx.counters.n_rows += len(numbers)

    def retire(self, ids: Sequence[str]) -> None:
        """Retire arms: they are not asked any more, but votes on pending duels count."""
        self._set_retired(ids, True)

    def activate(self, ids: Sequence[str]) -> None:
        """Activate retired arms."""
        self._set_retired(ids, False)

    def _set_retired(self, ids: Sequence[str], retired: bool) -> None:
        ids = checked_ids(ids)
        with self._changing() as tx:
            self._retire(tx, self._write_cache.arms.numbers(ids), retired)

    def _retire(self, tx: Transaction, numbers: Ints, retired: bool = True) -> None:
        tx.counters.arms_revision += 1
        tx.set_retired(numbers.tolist(), retired, tx.counters.arms_revision)

    def arms(self, context: str | None = None) -> RecordList[Arm]:
        """Return all arms, or those of a context, retired ones included, in the order they were added."""
        with self._reading():
            arms = self._read_cache.arms
            every = (arms.arm(number) for number in range(len(arms)))
            return RecordList(Arm, (arm for arm in every if context is None or arm.context == context))

    def systems(self) -> list[str]:
        """Return the systems that this study compares, in the order they were added; none if its arms have no systems."""
        with self._reading():
            arms = self._read_cache.arms
            return list(arms.answers.systems) if arms.has_systems else []

    def contexts(self) -> list[str]:
        """Return the contexts with active arms, in the order they were added."""
        with self._reading():
            return [context for context in self._read_cache.arms.active_by_context() if context is not None]

    def features(self, ids: Sequence[str] | None = None, version: int | None = None) -> Floats:
        """Return the features (n_arms, dim) of arms, by default of all arms in their newest version."""
        with self._reading() as tx:
            arms = self._read_cache.arms
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
        """Set the payload of a context: a text, messages, or anything that JSON can hold."""
        with self._changing() as tx:
            self._set_contexts({name: payload}, tx, change=True)

    def context_payload(self, name: str) -> Any:
        """Return the payload of a context, None if it has none."""
        with self._reading() as tx:
            return tx.contexts([checked_text("context", name)]).get(name)

    def _set_contexts(self, payloads: Mapping[str, Any], tx: Transaction, change: bool = False) -> None:
        """Set payloads of contexts; without `change`, raise InvalidInput if a context has another one: it was shown to raters."""
        names = [checked_text("context", name) for name in payloads]
        values = json.loads(json.dumps(checked_payloads(list(payloads.values()), len(names))))
        new = dict(zip(names, values, strict=True))
        stored = tx.contexts(names)
        other = next((name for name, old in stored.items() if old is not None and old != new[name]), None)
        if other is not None and not change:
            raise InvalidInput(
                f"The prompt of context {other!r} is {shorten(stored[other])}, and here it is {shorten(new[other])}.",
                "Give the stored prompt, name another context, or change the stored prompt first.",
            )
        changed = {name: payload for name, payload in new.items() if name not in stored or stored[name] != payload}
        if changed:
            tx.counters.arms_revision += 1
            tx.put_contexts([ContextRow(name, payload, tx.counters.arms_revision) for name, payload in changed.items()])
