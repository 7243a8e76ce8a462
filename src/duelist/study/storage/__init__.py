"""Where studies are stored: an SQLite file, PostgreSQL, or memory."""

from __future__ import annotations

from duelist.study.storage.base import Storage, Transaction
from duelist.study.storage.rows import (
    ActionRow,
    ArmRow,
    ContextRow,
    Counters,
    DetailRow,
    DuelColumns,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    MediaRow,
    PendingImport,
    RaterRow,
    RaterVote,
    SessionRow,
    StagedRow,
    StudyRow,
    TokenRow,
    TrainingVote,
    VoteColumns,
    VoteRow,
)
from duelist.study.storage.urls import open_storage, upgrade_storage, without_password

__all__ = [
    "ActionRow",
    "ArmRow",
    "ContextRow",
    "Counters",
    "DetailRow",
    "DuelColumns",
    "DuelRow",
    "FeatureChunk",
    "LeaseRow",
    "LeaseState",
    "MediaRow",
    "PendingImport",
    "RaterRow",
    "RaterVote",
    "SessionRow",
    "StagedRow",
    "Storage",
    "StudyRow",
    "TokenRow",
    "TrainingVote",
    "Transaction",
    "VoteColumns",
    "VoteRow",
    "open_storage",
    "upgrade_storage",
    "without_password",
]
