"""Rows for the storage contract: minimal ones, and one of every kind."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from duelist.study.records import ChosenBy, Outcome, Source, StudySettings
from duelist.study.storage import (
    ArmRow,
    ContextRow,
    DetailRow,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    RaterRow,
    StagedRow,
    Transaction,
    VoteRow,
)

SETTINGS: Final = StudySettings(
    policy="VACDB",
    policy_settings={"horizon": 100, "explore": "widest"},
    seed=2**62 + 1,
    lease_seconds=0.5,
    raters_per_duel=3,
    random_share=0.1,
)
NOW: Final = 1_700_000_000_123_456


def arm_row(number: int, revision: int = 1, **changes: Any) -> ArmRow:
    """A minimal arm."""
    return ArmRow(number, f"arm {number}", None, None, False, revision)._replace(**changes)


def duel_row(number: int, **changes: Any) -> DuelRow:
    """A minimal duel of the first two feature rows."""
    return DuelRow(number, 0, 1, None, ChosenBy.POLICY, None, False, 0, 1.0, NOW, 0)._replace(**changes)


def vote_row(sequence: int, **changes: Any) -> VoteRow:
    """A minimal first vote on the duel with the same number."""
    row = VoteRow(sequence, sequence, "ana", Outcome.FIRST, NOW, Source.HUMAN, 1.5, False, None, sequence)
    return row._replace(**changes)


def rater_row(name: str, **changes: Any) -> RaterRow:
    """A rater without attributes."""
    return RaterRow(name, {}, False, False, False, None, NOW, None)._replace(**changes)


def write_everything(tx: Transaction) -> None:
    """Write rows of every kind."""
    tx.add_arms([arm_row(0), arm_row(1)])
    tx.add_features(FeatureChunk(0, np.arange(2), np.eye(2, dtype=np.float32)))
    tx.add_duels([duel_row(1, free=1)])
    tx.put_lease(LeaseRow(1, "ana", LeaseState.OPEN, NOW, NOW + 1))
    tx.add_votes([vote_row(1)])
    tx.put_snapshot(0, b"zero")
    tx.put_rater(rater_row("ana"))
    tx.put_contexts([ContextRow("c", "täxt", 1)])
    tx.add_details([DetailRow(1, {"prompt": "whät"}), DetailRow(3, None)])
    tx.add_staged([StagedRow(1, 7, b"\x00votes")])
    tx.counters.n_arms, tx.counters.n_duels, tx.counters.n_votes, tx.counters.dim = 2, 1, 1, 2


def read_everything(tx: Transaction) -> list[Any]:
    """Read all rows, without the counters."""
    features = [(c.first_row, c.arms.tolist(), c.vectors.tolist()) for c in tx.features_since(0)]
    rows: list[Any] = [tx.arms_since(0), features, tx.duels_since(0), tx.open_leases(), tx.votes_since(0)]
    rest: list[Any] = [
        tx.snapshot_sequences(),
        tx.raters(),
        tx.contexts_since(0),
        tx.details_between(1 - 1, 9),
        tx.staged(),
    ]
    return rows + rest
