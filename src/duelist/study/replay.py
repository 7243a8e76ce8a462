"""The state of a policy, which is a function of the log: the votes that stand, learned in order, from a first snapshot.

Asking changes nothing of it. Whatever is kept, here in memory or as a snapshot in the storage, is a shortcut to the
same bits: a process may forget it at any moment and find it again from the log.
"""

from __future__ import annotations

import inspect
import itertools
import json
import warnings
import zlib
from typing import Final

import numpy as np

from duelist.core.errors import InvalidInput, NothingToAsk, StorageCorrupted, StorageWarning
from duelist.policies import BUILTIN_POLICIES, Policy, policy_class, restore_policy
from duelist.policies.counting import CountingPolicy
from duelist.policies.registry import check_settings
from duelist.study.errors import horizon_missing, too_few_arms
from duelist.study.items.catalog import KnownArms
from duelist.study.records import WINS, StudySettings
from duelist.study.storage import Lesson, Transaction

SNAPSHOT_EVERY: Final = 256
"""A snapshot is stored whenever the log has grown by this many rows."""
SNAPSHOTS_KEPT: Final = 4
"""The newest ones; of those before them ever fewer the older they are, see `superfluous`."""


def new_policy(settings: StudySettings) -> Policy:
    """The policy of a study before it has seen anything."""
    cls = policy_class(settings.policy)
    check_settings(cls, settings.policy_settings)
    if getattr(cls, "needs_horizon", False) and settings.policy_settings.get("horizon") is None:
        raise horizon_missing(cls.__name__)
    taken = inspect.signature(cls).parameters
    usual = {"estimator": "online", "random_state": settings.seed}
    policy = cls(**{name: value for name, value in usual.items() if name in taken} | settings.policy_settings)
    if type(policy).initialize is not Policy.initialize and not policy.is_restorable:
        raise InvalidInput(
            f"{cls.__name__} has a `initialize` but no `snapshot` and `restore`, so a study could not open again as it was.",
            "Add both methods.",
        )
    return policy


def counts_wins(settings: StudySettings) -> bool:
    """Whether the policy of a study knows arms by who they are alone, so that features are nothing to it."""
    return issubclass(BUILTIN_POLICIES.get(settings.policy, Policy), CountingPolicy)


def check_accepts_arm_table(policy: Policy, what: str, first_hint: str = "") -> None:
    """InvalidInput where a policy cannot know arms by who they are, but `what` says that it has to."""
    if not policy.accepts_arm_table:
        raise InvalidInput(
            f"{what}, and {type(policy).__name__}, as this study has it, knows arms by their features alone.",
            f"{first_hint}Create the study with BestArmPair, DesignPair, LocalPairUCB, RankingPair, RewardDesign or "
            'UniformPair, without the settings estimator "exact" and radius "theory".',
        )


class Fold:
    """A policy and the row of the log it has come to."""

    def __init__(self, settings: StudySettings) -> None:
        self._settings = settings
        self._policy: Policy | None = None
        self._sequence = 0
        self._counting_revision: int | None = None
        self._left_out: frozenset[str] = frozenset()

    def forget(self) -> None:
        """Drop what is in memory; the next `follow` finds it again."""
        self._policy = None
        self._counting_revision = None  # of a transaction that did not happen, perhaps

    def begin(self, tx: Transaction, arms: KnownArms) -> None:
        """Make and store the first snapshot, if there is none: the dimension and the units of the arms there are now."""
        if self._policy is not None or tx.snapshot_before(1) is not None:
            return
        groups = [numbers for numbers in arms.groups().values() if len(numbers)]
        if not groups:
            raise too_few_arms("This study has no active arms.")
        policy = new_policy(self._settings)
        policy.initialize(arms.table(np.sort(np.concatenate(groups))))
        tx.put_snapshot(0, _packed(policy))

    def grow(self, tx: Transaction, arms: KnownArms, dim: int) -> None:
        """Begin anew with wider features: the log is learned again, from a first snapshot with room for them.

        Features are only ever added at the end, and those of older arms are zero there: the votes say what they said.
        """
        if dim <= arms.dim or tx.snapshot_before(1) is None:
            return
        policy = new_policy(self._settings)
        old = arms.matrix(np.arange(len(arms)))
        policy.initialize(np.pad(old, ((0, 0), (0, dim - old.shape[1]))))
        tx.drop_snapshots(tx.snapshot_sequences())
        tx.put_snapshot(0, _packed(policy))
        tx.counters.counting_revision += 1  # whoever has the narrower policy in memory looks again
        self.forget()

    def follow(self, tx: Transaction, arms: KnownArms) -> Policy:
        """The policy after the whole log, as this transaction sees it."""
        if tx.counters.counting_revision != self._counting_revision:
            # Other raters are left out than before. Snapshots that knew it otherwise were dropped with that change.
            self._policy = None
            self._left_out = frozenset(rater.name for rater in tx.raters() if rater.excluded)
            self._counting_revision = tx.counters.counting_revision
        if self._policy is None:
            self._load(tx)
        if self._policy is not None and tx.counters.n_votes == self._sequence:
            return self._policy
        lessons = tx.lessons_since(self._sequence)
        if any(lesson.root <= self._sequence for lesson in lessons):
            # Something learned already was revised. Snapshots that knew it were dropped with the revision.
            self._load(tx)
            lessons = tx.lessons_since(self._sequence)
        policy = self._loaded()
        for lesson in standing_lessons([lesson for lesson in lessons if self._is_main(lesson.criterion)]):
            learn(policy, lesson, arms)
        self._sequence = tx.counters.n_votes
        return policy

    def without(self, tx: Transaction, arms: KnownArms, excluded: frozenset[str], first: int) -> bytes | None:
        """The state after the whole log, had these raters been left out, which concerns votes from row `first` on: as a snapshot."""
        found = tx.snapshot_before(first)
        try:
            policy = None if found is None else _restored(found[1])
        except (zlib.error, ValueError):  # damaged: whoever needs the state folds from an older one
            policy = None
        if found is None or policy is None or not policy.is_restorable:
            return None
        lessons = [x for x in tx.lessons_since(found[0], everyone=True) if x.rater not in excluded]
        for lesson in standing_lessons([lesson for lesson in lessons if self._is_main(lesson.criterion)]):
            learn(policy, lesson, arms)
        return _packed(policy)

    def counts(self, rater: str | None, criterion: str | None) -> bool:
        """Whether the policy learns a rater's votes on a criterion; known after `follow`."""
        return rater not in self._left_out and self._is_main(criterion)

    def _is_main(self, criterion: str | None) -> bool:
        return criterion in (None, self._settings.main_criterion)

    def learned_until(self, sequence: int) -> None:
        """Note that the policy has learned the log up to that row, which this transaction has just written."""
        self._sequence = sequence

    def keep(self, tx: Transaction, arms: KnownArms, before: int, anyway: bool = False) -> None:
        """Store a snapshot if the log has passed a multiple of `SNAPSHOT_EVERY` since row `before`; drop old ones.

        With `anyway`, store one in any case: others were dropped, because a vote they had learned was revised.
        """
        if not anyway and tx.counters.n_votes // SNAPSHOT_EVERY == before // SNAPSHOT_EVERY:
            return
        policy = self.follow(tx, arms)
        if policy.is_restorable:
            tx.put_snapshot(tx.counters.n_votes, _packed(policy))
            tx.drop_snapshots(superfluous(tx.snapshot_sequences()))

    def _load(self, tx: Transaction) -> None:
        """The newest snapshot; one that is damaged costs a longer fold, unless it is the first."""
        before = tx.counters.n_votes + 1
        while (found := tx.snapshot_before(before)) is not None:
            before, body = found
            try:
                self._policy, self._sequence = _restored(body), before
            except (zlib.error, ValueError) as error:
                if before == 0:
                    raise StorageCorrupted(
                        f"The snapshot that this study began with cannot be read ({error}).",
                        "Its votes can: export them, and import them into a new study, or go on with a copy from a "
                        "backup.",
                    ) from error
                warnings.warn(
                    f"the snapshot after row {before} of the log cannot be read ({error}) and is made again from the log",
                    StorageWarning,
                    stacklevel=2,
                )
            else:
                return

    def _loaded(self) -> Policy:
        if self._policy is None:
            raise NothingToAsk(
                "This study has never asked: there is no policy yet.", "Ask for a duel first, or import votes."
            )
        return self._policy


def superfluous(sequences: list[int]) -> list[int]:
    """Snapshots to drop, so that to fold the log again from any row costs at most twice the votes since that row.

    The first and the newest few stay. One between is dropped if its neighbours are near enough to do without it.

    >>> superfluous([0, 256, 512, 768, 1024, 1280, 1536])
    [256, 512]
    """
    newest = sequences[-1]
    dropped: list[int] = []
    before = sequences[0]
    for this, after in itertools.pairwise(sequences[1 : 1 - SNAPSHOTS_KEPT]):
        if newest - before <= 2 * (newest - after):
            dropped.append(this)
        else:
            before = this
    return dropped


def standing_lessons(lessons: list[Lesson]) -> list[Lesson]:
    """Those that count, as `records.current_votes`: a revision in the place of what it revises, an undone one left out."""
    latest = {lesson.root: lesson for lesson in lessons}
    return [latest[root] for root in sorted(latest) if latest[root].outcome is not None]


def learn(policy: Policy, lesson: Lesson, arms: KnownArms) -> None:
    """One vote into a policy; a skip teaches nothing."""
    if lesson.outcome in WINS:
        policy.learn(
            arms.seen(lesson.first_row, lesson.second_row), WINS[lesson.outcome], layer=lesson.layer, share=lesson.share
        )


def _packed(policy: Policy) -> bytes:
    return zlib.compress(json.dumps(policy.snapshot()).encode(), level=1)


def _restored(body: bytes) -> Policy:
    return restore_policy(json.loads(zlib.decompress(body)))
