"""Where studies are kept: a file, a server, or memory."""

from __future__ import annotations

from duelist.study.storage.base import (
    ArmRow,
    ContextRow,
    Counters,
    DetailRow,
    DuelColumns,
    DuelRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    Lesson,
    RaterRow,
    SeenRow,
    Staged,
    StagedRow,
    Storage,
    StudyRow,
    Transaction,
    VoteColumns,
    VoteRow,
)
from duelist.study.storage.tokens import MediaRow, TokenRow
from duelist.study.storage.urls import open_storage, upgrade_storage, without_password

__all__ = [
    "ArmRow",
    "ContextRow",
    "Counters",
    "DetailRow",
    "DuelColumns",
    "DuelRow",
    "FeatureChunk",
    "LeaseRow",
    "LeaseState",
    "Lesson",
    "MediaRow",
    "RaterRow",
    "SeenRow",
    "Staged",
    "StagedRow",
    "Storage",
    "StudyRow",
    "TokenRow",
    "Transaction",
    "VoteColumns",
    "VoteRow",
    "open_storage",
    "upgrade_storage",
    "without_password",
]
