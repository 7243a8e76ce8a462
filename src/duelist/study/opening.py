"""Making, finding and deleting studies."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Final

from duelist.errors import InvalidInput, StudyExists, UnknownStudy
from duelist.study._checks import checked_text
from duelist.study._fold import new_policy
from duelist.study.records import StudySettings
from duelist.study.storage import Storage, StudyRow, open_storage
from duelist.study.study import Study

DEFAULT_STORAGE: Final = "sqlite:///duelist.db"
DEFAULT_POLICY: Final = "LocalPairUCB"
"""The least regret of all policies without tuning, see docs/frontier.md."""
_SETTINGS: Final = [field.name for field in fields(StudySettings) if field.name != "policy"]


@dataclass(frozen=True, slots=True)
class StudySummary:
    """A study as `list_studies` shows it."""

    name: str
    settings: StudySettings
    created_at: datetime
    arms: int
    duels: int
    votes: int


def create_study(
    name: str,
    storage: str | Storage | None = DEFAULT_STORAGE,
    policy: str | None = None,
    load_if_exists: bool = False,
    **settings: Any,
) -> Study:
    """A new study.

    Parameters
    ----------
    name
        Its name in this storage.
    storage
        "sqlite:///file.db", "postgresql+psycopg://user@host/database", "memory" (or None), or a storage.
    policy
        The name of a policy; default: LocalPairUCB.
    load_if_exists
        Return the study of that name if there is one; settings that are given must be the ones it has.
    settings
        seed: everything random in the study comes from it; default 0.
        policy_settings: settings of the policy, a dict. A study estimates with estimator="online" unless told otherwise,
        so that a vote costs the same however many there are.
        lease_seconds: how long a rater has for a duel; default 600.
        raters_per_duel: how many raters each duel is asked of; default 1.
        random_share: the share of duels drawn uniformly at random, for evaluation off-line; default 0.

    >>> study = create_study("colours", storage="memory")
    >>> study.add_arms(["red", "green", "blue"], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    3
    >>> duel = study.ask(rater="ana")
    >>> vote = study.tell(duel.id, "first", rater="ana")
    >>> vote.first == duel.first.id
    True
    """
    checked_text("name", name)
    given = dict(settings) if policy is None else {"policy": policy, **settings}
    checked = _checked_settings({"policy": DEFAULT_POLICY, **given})
    opened = open_storage(storage)
    created = opened.create_study(name, checked, round(time.time() * 1e6)) is not None
    row = _found(opened, name)
    if not created:
        if not load_if_exists:
            raise StudyExists(f"there is a study {name!r} already; `load_study`, load_if_exists=True, or another name")
        _check_same(row, checked, list(given))
    return Study(opened, row)


def load_study(name: str, storage: str | Storage = DEFAULT_STORAGE) -> Study:
    """The study of that name."""
    opened = open_storage(storage, create=False)
    return Study(opened, _found(opened, name))


def list_studies(storage: str | Storage = DEFAULT_STORAGE) -> list[StudySummary]:
    """Every study in a storage, oldest first."""
    return [_summary(row) for row in open_storage(storage, create=False).list_studies()]


def delete_study(name: str, storage: str | Storage = DEFAULT_STORAGE) -> None:
    """Delete a study with all its arms and votes; there is no way back."""
    opened = open_storage(storage, create=False)
    opened.delete_study(_found(opened, name).id)


def _found(storage: Storage, name: str) -> StudyRow:
    row = storage.find_study(name)
    if row is None:
        there = ", ".join(repr(study.name) for study in storage.list_studies()[:10]) or "none"
        raise UnknownStudy(f"there is no study {name!r} in this storage; there are: {there}")
    return row


def _summary(row: StudyRow) -> StudySummary:
    created = datetime.fromtimestamp(row.created_at / 1e6, UTC)
    counters = row.counters
    return StudySummary(row.name, row.settings, created, counters.n_arms, counters.n_duels, counters.n_votes)


def _check_same(row: StudyRow, wanted: StudySettings, given: list[str]) -> None:
    """Refuse settings that were given and are not the study's own."""
    has, wants = asdict(row.settings), asdict(wanted)
    for name in given:
        if has[name] != wants[name]:
            raise StudyExists(
                f"study {row.name!r} has {name}={has[name]!r}, not {wants[name]!r}; settings are fixed when a study is created: "
                "leave it out, or choose another name"
            )


def _checked_settings(given: dict[str, Any]) -> StudySettings:
    unknown = sorted(set(given) - {"policy", *_SETTINGS})
    if unknown:
        raise InvalidInput(
            f"a study has no setting {unknown[0]!r}; it takes {', '.join(_SETTINGS)} (those of the policy go into policy_settings)"
        )
    settings = StudySettings(**given)
    if not isinstance(settings.policy, str):
        raise InvalidInput(f"policy is {settings.policy!r}; give its name, and its settings as policy_settings")
    if not isinstance(settings.policy_settings, dict):
        raise InvalidInput(f"policy_settings is {settings.policy_settings!r}; give a dict")
    _check_number("seed", settings.seed, 0, 2**63 - 1, whole=True)
    _check_number("lease_seconds", settings.lease_seconds, 1e-3, 1e9)
    _check_number("raters_per_duel", settings.raters_per_duel, 1, 1e9, whole=True)
    _check_number("random_share", settings.random_share, 0, 1)
    try:
        json.dumps(settings.policy_settings, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"policy_settings are not JSON ({error}); give numbers, texts and lists") from None
    policy = new_policy(settings)  # refuses what the policy does not take
    return replace(settings, policy=type(policy).__name__)


def _check_number(name: str, value: Any, least: float, most: float, whole: bool = False) -> None:
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or math.isnan(value) or not least <= value <= most:
        what = "a whole number" if whole else "a number"
        raise InvalidInput(f"{name} is {value!r}; give {what} from {least:g} to {most:g}")
