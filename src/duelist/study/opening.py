"""Making, finding and deleting studies."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from duelist.core.errors import StudyExists, UnknownStudy
from duelist.policies import Policy
from duelist.policies.goals import find_goal
from duelist.study.imports.items.plan import ItemPlan
from duelist.study.records import StudySettings, StudyState
from duelist.study.remote.remote_study import connect, is_address
from duelist.study.replay import new_policy
from duelist.study.settings import checked_settings, described_policy, with_top
from duelist.study.storage import Storage, StudyRow, open_storage
from duelist.study.study import Study
from duelist.study.validation import checked_text

DEFAULT_STORAGE: Final = "sqlite:///duelist.db"
DEFAULT_POLICY: Final = "LocalPairUCB"
"""The least regret of all policies without tuning, see docs/frontier.md."""


@dataclass(frozen=True, slots=True)
class StudySummary:
    """A study as `list_studies` shows it."""

    name: str
    settings: StudySettings
    created_at: datetime
    arms: int
    duels: int
    votes: int
    state: StudyState = StudyState.OPEN
    id: int = 0


def create_study(
    name: str,
    storage: str | Storage | None = DEFAULT_STORAGE,
    policy: str | Policy | None = None,
    load_if_exists: bool = False,
    goal: str | None = None,
    items: ItemPlan | None = None,
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
        The name of a policy, or the policy itself, as `LocalPairUCB(scale=0.7)`; default: what suits the goal.
    load_if_exists
        Return the study of that name if there is one; settings that are given must be the ones it has.
    goal
        What the study is for: "best", "rank", "learn" or "serve"; `duelist.study.GOALS` says when to choose which. It
        chooses the policy, unless one is given, and what `can_stop` waits for.
    items
        The first items, as `duelist.study.imports.plan_items` read them from files. The study is created with all of them, or not at
        all. The plan suggests settings, such as how texts are shown; those given here take precedence.
    settings
        seed: everything random in the study comes from it; default 0.
        policy_settings: settings of the policy, a dict. A study estimates with estimator="online" unless told otherwise,
        so that a vote costs the same however many there are.
        lease_seconds: how long a rater has for a duel; default 600.
        raters_per_duel: how many raters each duel is asked of; default 1.
        random_share: the share of duels drawn uniformly at random, for evaluation off-line; default 0.
        criteria: names of the criteria that raters judge every pair by; the policy learns from the first.
        arm_effects: whether arms with features also have an arm effect, for what features do not explain. Default: True for the
        goals "best" and "rank", which are about these arms, with a policy that can; else False. Arms without features always have one.
        max_votes, max_votes_per_pair, max_votes_per_rater: limits, none by default; `Study.limit` changes them.
        gold_share: the share of duels that are gold pairs, for a rater who has not seen them all; default 0.1.
        question, guidelines: what raters read above a pair, and before they begin (Markdown); for the study server's pages, like
        answers: which of "tie", "both_bad" and "skip" are offered, all by default;
        ask_reason: whether raters may say why; default False;
        show_as: how payloads that are texts are shown, "text" (default), "markdown" or "code";
        open_registration: whether anybody who has the address may rate; default False.
        top: for "rank", how many places matter, to the policy that asks and to `can_stop`; all of them by default. (It is kept as the
        setting `top` of the policy.)
        feature_recipe: how features were made from a file; set by `items`.
        repeat_pairs: whether a rater may see a pair again. "never" (default); a whole number, after so many duels of theirs; or a
        share between 0 and 1 of their duels, drawn at random from what they answered before, to see whether they answer
        alike (such duels are of kind "repeat" and teach nothing about the arms).

    >>> study = create_study("colours", storage="memory")
    >>> study.add_arms(["red", "green", "blue"])
    3
    >>> duel = study.ask(rater="ana")
    >>> vote = study.tell(duel.id, "first", rater="ana")
    >>> vote.first == duel.first.id
    True
    """
    checked_text("name", name)
    suggested = {} if items is None else {**items.settings, "feature_recipe": items.fit_features()}
    given = _with_policy(policy, goal, {**suggested, **settings})
    checked = _with_arm_effects(checked_settings(given), given, items)
    chosen = [
        name for name in given if (name != "policy" or policy is not None) and name not in {*suggested} - {*settings}
    ]
    opened = open_storage(storage)
    created = opened.create_study(name, checked, round(time.time() * 1e6)) is not None
    row = _found(opened, name)
    if not created:
        if not load_if_exists:
            raise StudyExists(
                f"There is a study {name!r} already.",
                "Load it with `load_study`, pass load_if_exists=True, or choose another name.",
                code="study_exists.name",
                field="name",
                study=name,
            )
        _check_same(row, checked, chosen)
    study = Study(opened, row)
    if created and items is not None:
        try:
            study.apply(items)
        except BaseException:
            opened.delete_study(row.id)
            raise
    return study


def load_study(name: str, storage: str | Storage = DEFAULT_STORAGE, token: str | None = None) -> Study:
    """The study of that name.

    On a server (`duelist serve`) it is `load_study("captions", storage="https://...", token=...)`, or
    `load_study("https://.../study/ID", token=...)`, and the result is used like a `Study` (`duelist.study.remote`). The token
    may be in the environment, as DUELIST_TOKEN.
    """
    if is_address(name) or is_address(storage):
        secret = token or os.environ.get("DUELIST_TOKEN")
        found = connect(name, None, secret) if is_address(name) else connect(str(storage), name, secret)
        return cast("Study", found)  # not one, but used like one
    opened = open_storage(storage, create=False)
    return Study(opened, _found(opened, name))


def load_study_by_id(study_id: int, storage: str | Storage) -> Study:
    """The study of that number, which stays the same when the study is renamed."""
    opened = open_storage(storage, create=False)
    row = next((row for row in opened.list_studies() if row.id == study_id), None)
    if row is None:
        raise UnknownStudy(
            f"There is no study with the id {study_id} in this storage.",
            "`list_studies` lists the studies.",
            code="unknown_study.id",
        )
    return Study(opened, row)


def list_studies(storage: str | Storage = DEFAULT_STORAGE, include_archived: bool = False) -> list[StudySummary]:
    """Every study in a storage, oldest first; those that were put away only if asked for."""
    rows = open_storage(storage, create=False).list_studies()
    return [_summary(row) for row in rows if include_archived or row.state is not StudyState.ARCHIVED]


def delete_study(name: str, storage: str | Storage = DEFAULT_STORAGE) -> None:
    """Delete a study with all its arms and votes; there is no way back."""
    opened = open_storage(storage, create=False)
    opened.delete_study(_found(opened, name).id)


def _found(storage: Storage, name: str) -> StudyRow:
    row = storage.find_study(name)
    if row is None:
        there = ", ".join(repr(study.name) for study in storage.list_studies()[:10]) or "none"
        raise UnknownStudy(f"There is no study {name!r} in this storage.", f"There are: {there}.")
    return row


def _summary(row: StudyRow) -> StudySummary:
    created = datetime.fromtimestamp(row.created_at / 1e6, UTC)
    counters = row.counters
    return StudySummary(
        row.name, row.settings, created, counters.n_arms, counters.n_duels, counters.n_votes, row.state, row.id
    )


def _with_arm_effects(settings: StudySettings, given: dict[str, Any], items: ItemPlan | None) -> StudySettings:
    """Return the settings with arm effects, unless given, where the goal is about these arms or columns of a file describe them."""
    is_about_arms = settings.goal is not None and find_goal(settings.goal).arm_effects
    has_columns = items is not None and items.feature_kind == "columns" and settings.goal != "learn"
    if "arm_effects" in given or not (is_about_arms or has_columns):
        return settings
    return replace(settings, arm_effects=new_policy(settings).accepts_arm_table)


def _with_policy(policy: str | Policy | None, goal: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with the policy that is given, or that suits the goal."""
    given = dict(settings)
    if goal is not None:
        given["goal"] = find_goal(goal).name
    top = given.pop("top", None)
    if policy is None:
        found = {"policy": DEFAULT_POLICY if goal is None else find_goal(goal).policy, **given}
    else:
        name, policy_settings = described_policy(policy, given.pop("policy_settings", None))
        found = {"policy": name, **({"policy_settings": policy_settings} if policy_settings else {}), **given}
    return found if top is None else with_top(found, top)


def _check_same(row: StudyRow, wanted: StudySettings, given: list[str]) -> None:
    """Refuse settings that were given and are not the study's own."""
    has, wants = asdict(row.settings), asdict(wanted)
    for name in given:
        if has[name] != wants[name]:
            raise StudyExists(
                f"Study {row.name!r} has {name}={has[name]!r}, not {wants[name]!r}.",
                "Leave it out, change it with `load_study(...).change(...)` where it can be changed, or choose another name.",
                code="study_exists.settings",
                field=name,
                study=row.name,
            )
