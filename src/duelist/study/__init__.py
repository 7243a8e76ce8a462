"""Live studies: ask and tell that survive anything."""

from duelist.study._importing import Imported
from duelist.study.opening import StudySummary, create_study, delete_study, list_studies, load_study
from duelist.study.records import Arm, ChosenBy, Outcome, Source, StudyDuel, StudySettings, Vote, standing
from duelist.study.storage import Storage, open_storage, upgrade_storage
from duelist.study.study import Study

__all__ = [
    "Arm",
    "ChosenBy",
    "Imported",
    "Outcome",
    "Source",
    "Storage",
    "Study",
    "StudyDuel",
    "StudySettings",
    "StudySummary",
    "Vote",
    "create_study",
    "delete_study",
    "list_studies",
    "load_study",
    "open_storage",
    "standing",
    "upgrade_storage",
]
