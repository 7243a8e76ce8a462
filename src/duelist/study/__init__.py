"""Live studies: ask and tell that survive anything."""

from duelist.policies.goals import GOALS, Goal
from duelist.study.administration import Erased
from duelist.study.asking.explain import Why
from duelist.study.asynchronous import AsyncStudy
from duelist.study.copying import backup_storage, copy_study, restore_study
from duelist.study.imports.votes import Imported
from duelist.study.log_queries import Mine, Page, Queue, Stamp
from duelist.study.opening import (
    StudySummary,
    create_study,
    delete_study,
    list_studies,
    load_study,
    load_study_by_id,
)
from duelist.study.records import (
    Arm,
    ChosenBy,
    DuelKind,
    GoldPair,
    Outcome,
    Rater,
    Source,
    StudyDuel,
    StudySettings,
    StudyState,
    Vote,
    counted,
    standing,
)
from duelist.study.remote.remote_study import RemoteStudy
from duelist.study.settings import policy_names
from duelist.study.storage import Storage, open_storage, upgrade_storage
from duelist.study.study import Study

__all__ = [
    "GOALS",
    "Arm",
    "AsyncStudy",
    "ChosenBy",
    "DuelKind",
    "Erased",
    "Goal",
    "GoldPair",
    "Imported",
    "Mine",
    "Outcome",
    "Page",
    "Queue",
    "Rater",
    "RemoteStudy",
    "Source",
    "Stamp",
    "Storage",
    "Study",
    "StudyDuel",
    "StudySettings",
    "StudyState",
    "StudySummary",
    "Vote",
    "Why",
    "backup_storage",
    "copy_study",
    "counted",
    "create_study",
    "delete_study",
    "list_studies",
    "load_study",
    "load_study_by_id",
    "open_storage",
    "policy_names",
    "restore_study",
    "standing",
    "upgrade_storage",
]
