"""Replay of the log: the state of the policy is a function of the current votes, learned in order from a first snapshot.

Asking does not change that state. Whatever is cached, in memory or as a snapshot in the storage, is a shortcut to it, bit for bit: a
process may drop it at any time and compute it again from the log.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import json
import warnings
import zlib
from typing import Any, Final

import numpy as np

from duelist.core.errors import InvalidInput, InvalidSnapshot, NothingToAsk, StorageCorrupted, StorageWarning
from duelist.policies import BUILTIN_POLICIES, Policy, registered_policy
from duelist.policies.base import same_settings
from duelist.policies.counting import CountingPolicy
from duelist.policies.registry import check_settings
from duelist.study.errors import horizon_missing, too_few_arms
from duelist.study.items.catalog import ArmCatalog, PolicyArms
from duelist.study.records import WIN_SHARES, Outcome, StudySettings
from duelist.study.storage import TrainingVote, Transaction

SNAPSHOT_EVERY: Final = 256
"""Rows of the log between stored snapshots."""
_LOOKED_UP: Final = 256
"""Votes whose arms are looked up together."""
NEWEST_SNAPSHOTS: Final = 4
"""Newest snapshots that are always stored; older ones are thinned out, see `redundant_snapshots`."""


def new_policy(settings: StudySettings) -> Policy:
    """Return the policy of a study before it has seen any arms."""
    cls = registered_policy(settings.policy)
    check_settings(cls, settings.policy_settings)
    if getattr(cls, "needs_horizon", False) and settings.policy_settings.get("horizon") is None:
        raise horizon_missing(cls.__name__)
    accepted = inspect.signature(cls).parameters
    defaults = {"estimator": "online", "random_state": settings.seed}
    policy = cls(**{name: value for name, value in defaults.items() if name in accepted} | settings.policy_settings)
    if type(policy).initialize is not Policy.initialize and not policy.is_restorable:
        raise InvalidInput(
            f"{cls.__name__} has an `initialize` but no `snapshot` and `restore`, so a study could not be loaded again.",
            "Add both methods.",
        )
    return policy


def counts_wins(settings: StudySettings) -> bool:
    """Whether the policy of a study identifies arms by id alone and ignores features."""
    return issubclass(BUILTIN_POLICIES.get(settings.policy, Policy), CountingPolicy)


def check_accepts_arm_table(policy: Policy, what: str, first_hint: str = "") -> None:
    """Raise InvalidInput if a policy needs features, but `what` means that arms are identified by their ids."""
    if not policy.accepts_arm_table:
        raise InvalidInput(
            f"{what}, and {type(policy).__name__}, as this study has it, knows arms by their features alone.",
            f"{first_hint}Create the study with another policy, for example BestArmPair, LocalPairUCB or RankingPair, "
            'without the settings estimator "exact" and radius "theory".',
        )


class Replay:
    """A policy and the row of the log up to which it has learned."""

    def __init__(self, settings: StudySettings) -> None:
        self._settings = settings
        self._policy: Policy | None = None
        self._sequence = 0
        self._counting_revision: int | None = None
        self._excluded: frozenset[str] = frozenset()

    def clear(self) -> None:
        """Drop the policy; the next `refresh` computes it again."""
        self._policy = None
        self._counting_revision = None  # perhaps of a transaction that was rolled back

    def begin(self, tx: Transaction, arms: ArmCatalog) -> None:
        """Create and store the first snapshot, if there is none, with the dimension and the feature scale of today's arms."""
        if self._policy is not None or tx.snapshot_before(1) is not None:
            return
        groups = [numbers for numbers in arms.active_by_context().values() if len(numbers)]
        if not groups:
            raise too_few_arms("This study has no active arms.")
        policy = new_policy(self._settings)
        policy.initialize(arms.first_table(np.sort(np.concatenate(groups))))
        tx.put_snapshot(0, _packed(policy))

    def widen(self, tx: Transaction, arms: ArmCatalog, dim: int) -> None:
        """Start again with more features and replay the whole log.

        Features are only added at the end and are zero for older arms, so votes mean what they meant.
        """
        if dim <= arms.dim or tx.snapshot_before(1) is None:
            return
        policy = new_policy(self._settings)
        old = arms.matrix(np.arange(len(arms)))
        policy.initialize(np.pad(old, ((0, 0), (0, dim - old.shape[1]))))
        tx.drop_snapshots(tx.snapshot_sequences())
        tx.put_snapshot(0, _packed(policy))
        tx.counters.counting_revision += 1  # other processes drop the narrower policy
        self.clear()

    def refresh(self, tx: Transaction, arms: ArmCatalog) -> Policy:
        """Return the policy after the whole log, as this transaction sees it."""
        if tx.counters.counting_revision != self._counting_revision:
            # Other raters are excluded than before; that change dropped the snapshots that included them.
            self._policy = None
            self._excluded = frozenset(rater.name for rater in tx.raters() if rater.excluded)
            self._counting_revision = tx.counters.counting_revision
        if self._policy is None:
            self._load(tx)
        if self._policy is not None and tx.counters.n_votes == self._sequence:
            return self._policy
        votes = tx.training_votes_since(self._sequence)
        if any(vote.root <= self._sequence for vote in votes):
            # A vote that was learned has been revised; that change dropped the snapshots that had learned it.
            self._load(tx)
            votes = tx.training_votes_since(self._sequence)
        policy = self._loaded()
        learn_all(policy, [vote for vote in votes if self._is_main(vote.criterion)], arms)
        self._sequence = tx.counters.n_votes
        return policy

    def snapshot_excluding(
        self, tx: Transaction, arms: ArmCatalog, excluded: frozenset[str], first: int
    ) -> bytes | None:
        """Return the snapshot after the whole log if these raters were excluded, which concerns votes from row `first` on."""
        found, new = tx.snapshot_before(first), new_policy(self._settings)
        try:
            policy = None if found is None else restored_policy(found[1], new)
        except (zlib.error, ValueError):  # damaged: `refresh` will replay from an older one
            policy = None
        if found is None or policy is None or not policy.is_restorable:
            return None
        votes = [
            vote for vote in tx.training_votes_since(found[0], include_excluded=True) if vote.rater not in excluded
        ]
        learn_all(policy, [vote for vote in votes if self._is_main(vote.criterion)], arms)
        return _packed(policy)

    def learns(self, rater: str | None, criterion: str | None) -> bool:
        """Whether the policy learns a rater's votes on a criterion; call `refresh` before."""
        return rater not in self._excluded and self._is_main(criterion)

    def _is_main(self, criterion: str | None) -> bool:
        return criterion in (None, self._settings.main_criterion)

    def mark_learned(self, sequence: int) -> None:
        """Record that the policy has learned the log up to that row, which this transaction has written."""
        self._sequence = sequence

    def store_snapshot(self, tx: Transaction, arms: ArmCatalog, before: int, force: bool = False) -> None:
        """Store a snapshot if the log has passed a multiple of `SNAPSHOT_EVERY` since row `before`; drop redundant ones.

        Use `force` if other snapshots were dropped because a vote that they had learned was revised.
        """
        if not force and tx.counters.n_votes // SNAPSHOT_EVERY == before // SNAPSHOT_EVERY:
            return
        policy = self.refresh(tx, arms)
        if policy.is_restorable:
            tx.put_snapshot(tx.counters.n_votes, _packed(policy))
            tx.drop_snapshots(redundant_snapshots(tx.snapshot_sequences()))

    def _load(self, tx: Transaction) -> None:
        """Restore the newest readable snapshot; a damaged one means a longer replay, unless it is the first."""
        before = tx.counters.n_votes + 1
        new = new_policy(self._settings)
        while (found := tx.snapshot_before(before)) is not None:
            before, body = found
            try:
                self._policy, self._sequence = restored_policy(body, new), before
            except (zlib.error, ValueError) as error:
                if before == 0:
                    raise StorageCorrupted(
                        f"The first snapshot of this study cannot be read ({error}).",
                        "Its votes can: export them and import them into a new study, or continue with a copy from a backup.",
                    ) from error
                warnings.warn(
                    f"the snapshot after row {before} of the log cannot be read ({error}) and is computed again from the log",
                    StorageWarning,
                    stacklevel=2,
                )
            else:
                return

    def _loaded(self) -> Policy:
        if self._policy is None:
            raise NothingToAsk(
                "This study has no policy yet: no duel was asked.", "Ask for a duel first, or import votes."
            )
        return self._policy


def redundant_snapshots(sequences: list[int]) -> list[int]:
    """Return snapshots to drop, so that a replay from any row costs at most twice the votes since that row.

    The first and the newest few stay. One between is dropped if its neighbours are close enough.

    >>> redundant_snapshots([0, 256, 512, 768, 1024, 1280, 1536])
    [256, 512]
    """
    newest = sequences[-1]
    dropped: list[int] = []
    before = sequences[0]
    for this, after in itertools.pairwise(sequences[1 : 1 - NEWEST_SNAPSHOTS]):
        if newest - before <= 2 * (newest - after):
            dropped.append(this)
        else:
            before = this
    return dropped


def current_training_votes(votes: list[TrainingVote]) -> list[TrainingVote]:
    """Return votes after revisions and undos, in the order first given, as `records.current_votes` does."""
    latest = {vote.root: vote for vote in votes}
    return [latest[root] for root in sorted(latest) if latest[root].outcome is not None]


def learn_all(policy: Policy, votes: list[TrainingVote], arms: ArmCatalog) -> None:
    """Let a policy learn the current ones of these votes, in the order first given."""
    current = current_training_votes(votes)
    for start in range(0, len(current), _LOOKED_UP):
        part = current[start : start + _LOOKED_UP]
        pairs = arms.pairs(np.array([(vote.first_row, vote.second_row) for vote in part]))
        for vote, pair in zip(part, pairs, strict=True):
            learn(policy, vote, pair)


def learn(policy: Policy, vote: TrainingVote, pair: PolicyArms) -> None:
    """Let a policy learn a vote on two arms; skips teach nothing."""
    if vote.outcome in WIN_SHARES:
        outcome: Any = "tie" if policy.learns_ties and vote.outcome == Outcome.TIE else WIN_SHARES[vote.outcome]
        policy.learn(pair, outcome, layer=vote.layer, share=vote.share)


def _packed(policy: Policy) -> bytes:
    """Return the compressed snapshot of a policy, or null for one without snapshots, which learns the log again."""
    snapshot = policy.snapshot() if policy.is_restorable else None
    return zlib.compress(json.dumps(snapshot).encode(), level=1)


def restored_policy(body: bytes, new: Policy) -> Policy:
    """Return the policy of a stored snapshot; raise ValueError or zlib.error unless it is one of `new`, the policy of the study."""
    snapshot = json.loads(zlib.decompress(body))
    if not new.is_restorable:
        if snapshot is not None:
            raise InvalidSnapshot(f"{type(new).__name__} takes no snapshot.", field="snapshot")
        return copy.deepcopy(new)
    policy = type(new).restore(snapshot)
    if type(policy) is not type(new) or not same_settings(policy, new):
        raise InvalidSnapshot(f"snapshot is of {policy!r}, but the study has {new!r}.", field="snapshot")
    return policy
