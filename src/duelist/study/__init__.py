"""Live, durable studies: ask raters for votes, record the votes, and analyse them."""

from duelist.policies.goals import GOALS, Goal
from duelist.study.administration.raters import Erasure
from duelist.study.asking.explain import Explanation
from duelist.study.asking.live import HttpSystem, ask_live
from duelist.study.asynchronous import AsyncStudy
from duelist.study.formats import ExportReport
from duelist.study.imports import ItemPlan, VotePlan, plan_items, plan_votes
from duelist.study.imports.apply import ItemImportReport
from duelist.study.imports.votes.plan import VoteImportReport
from duelist.study.log import LogPage, Queue, RaterProgress, StudyRevision
from duelist.study.participation.entry import Admission, Departure
from duelist.study.participation.flow import (
    Appearance,
    Consent,
    ExamplePair,
    ExclusionRules,
    Flow,
    Question,
)
from duelist.study.participation.recruiting import SERVICES, Ending, Recruiting, recruiting_for
from duelist.study.planning.plan import StudyPlan, plan_study
from duelist.study.protocol import StudyProtocol
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
    counted_votes,
    current_votes,
)
from duelist.study.remote.remote_study import RemoteStudy
from duelist.study.settings import policy_names
from duelist.study.storage import Storage, open_storage, upgrade_storage
from duelist.study.studies import (
    StudySummary,
    backup_storage,
    copy_study,
    create_study,
    delete_study,
    list_studies,
    load_study,
    load_study_by_id,
    restore_study,
)
from duelist.study.study import Study

__all__ = [
    "GOALS",
    "SERVICES",
    "Admission",
    "Appearance",
    "Arm",
    "AsyncStudy",
    "ChosenBy",
    "Consent",
    "Departure",
    "DuelKind",
    "Ending",
    "Erasure",
    "ExamplePair",
    "ExclusionRules",
    "Explanation",
    "ExportReport",
    "Flow",
    "Goal",
    "GoldPair",
    "HttpSystem",
    "ItemImportReport",
    "ItemPlan",
    "LogPage",
    "Outcome",
    "Question",
    "Queue",
    "Rater",
    "RaterProgress",
    "Recruiting",
    "RemoteStudy",
    "Source",
    "Storage",
    "Study",
    "StudyDuel",
    "StudyPlan",
    "StudyProtocol",
    "StudyRevision",
    "StudySettings",
    "StudyState",
    "StudySummary",
    "Vote",
    "VoteImportReport",
    "VotePlan",
    "ask_live",
    "backup_storage",
    "copy_study",
    "counted_votes",
    "create_study",
    "current_votes",
    "delete_study",
    "list_studies",
    "load_study",
    "load_study_by_id",
    "open_storage",
    "plan_items",
    "plan_study",
    "plan_votes",
    "policy_names",
    "recruiting_for",
    "restore_study",
    "upgrade_storage",
]
