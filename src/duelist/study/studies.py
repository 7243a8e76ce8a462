"""Create, load, list, copy, restore and delete studies."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from duelist.core.errors import InvalidInput, StudyExists, UnknownStudy
from duelist.core.files import sync_folder
from duelist.policies import Policy
from duelist.policies.goals import find_goal
from duelist.study.administration.archive import restore_archive
from duelist.study.imports.items.plan import ItemPlan
from duelist.study.protocol import StudyProtocol
from duelist.study.records import StudySettings, StudyState
from duelist.study.remote.connect import connect, is_address
from duelist.study.replay import new_policy
from duelist.study.settings import checked_settings, described_policy, register_policy_argument, with_top
from duelist.study.storage import Storage, StudyRow, open_storage
from duelist.study.storage.encoding import from_microseconds
from duelist.study.study import Study
from duelist.study.validation import checked_text

DEFAULT_STORAGE: Final = "sqlite:///duelist.db"
DEFAULT_POLICY: Final = "LocalPairUCB"
"""The policy with the lowest regret without tuning, see docs/evidence/frontier.md."""


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


# -- create, load, list, delete ----------------------------------------------------------


def create_study(
    name: str,
    storage: str | Storage | None = DEFAULT_STORAGE,
    policy: str | Policy | None = None,
    load_if_exists: bool = False,
    goal: str | None = None,
    items: ItemPlan | None = None,
    **settings: Any,
) -> Study:
    """Create a study.

    Parameters
    ----------
    name
        Its name in this storage.
    storage
        "sqlite:///file.db", "postgresql+psycopg://user@host/database", "memory"
        (or None), or a storage.
    policy
        The name of a policy, or a policy such as `LocalPairUCB(scale=0.7)`;
        default: one that suits the goal.
    load_if_exists
        Load the study if it exists; the given settings must then be its own.
    goal
        What the study is for: "best", "rank", "learn" or "serve"; see
        `duelist.study.GOALS`. It selects the policy, unless one is given, and
        the rule of `can_stop`.
    items
        The first items, as `duelist.study.imports.plan_items` read them from
        files. The study is created with all of them, or not at all. The plan
        suggests settings, such as how texts are shown; those given here take
        precedence.
    settings
        seed: the source of all randomness in the study; default 0.
        policy_settings: a dict of the policy's settings. In a study the default estimator is "online", so that the cost of a vote does
        not grow with their number.
        lease_seconds: how long a duel is reserved for a rater; default 600.
        raters_per_duel: how many raters vote on each duel; default 1.
        random_share: the share of duels drawn uniformly at random, for off-policy evaluation; default 0.
        criteria: names of criteria that raters vote on for every pair; the policy learns from the first.
        arm_effects: whether arms with features also have an effect each, for what features do not explain. Default: True for the goals
        "best", "rank" and "serve", which are about these arms, if the policy supports it; else False. Arms without features always
        have one.
        max_votes, max_votes_per_pair, max_votes_per_rater: limits, none by default; `Study.limit` changes them.
        gold_share: the share of duels that are gold pairs, until a rater has seen all of them; default 0.1.
        question, guidelines: what raters read above a pair, and before they start (Markdown), on the study server's pages; and for the
        same pages,
        answers: which of "tie", "both_bad" and "skip" raters are offered, all by default;
        ask_reason: whether raters are asked for a reason; default False;
        show_as: how text payloads are shown, "text" (default), "markdown" or "code";
        open_registration: whether anyone with the address may register as a rater; default False;
        language: the language of the page, such as "de"; default None, which is each browser's own;
        wordings: texts that replace sentences of the page, by language and key: {"en": {"outcome.tie": "Equal"}}.
        top: for the goal "rank", how many places matter, to the policy and to `can_stop`; default: all. It is stored in the settings of
        the policy.
        feature_recipe: how features were made from a file; set by `items`.
        recruiting: how participants come from a recruiting service and return to it, see `duelist.study.Recruiting`; for the pages, too.
        flow: what raters see around the pairs (consent, questionnaire, practice, ...), see `duelist.study.Flow`; for the pages, too.
        repeat_pairs: whether a rater may see a pair again: "never" (default); a whole number, after that many of their duels; or a share
        between 0 and 1 of their duels, drawn at random from their earlier ones to check whether they vote the same (duels of kind
        "repeat", which teach nothing about the arms).

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
    row = _find(opened, name)
    if not created:
        if not load_if_exists:
            raise StudyExists(
                f"There is a study {name!r} already.",
                "Load it with `load_study`, pass load_if_exists=True, or choose another name.",
                code="study_exists.name",
                field="name",
                study=name,
            )
        _check_same_settings(row, checked, chosen)
    study = Study(opened, row)
    if created and items is not None:
        try:
            study.apply(items)
        except BaseException:
            opened.delete_study(row.id)
            raise
    return study


def load_study(
    name: str,
    storage: str | Storage = DEFAULT_STORAGE,
    token: str | None = None,
    policy: str | type[Policy] | None = None,
) -> StudyProtocol:
    """Load a study from a storage or from a server.

    On a server (`duelist serve`), use `load_study("captions",
    storage="https://...", token=...)` or `load_study("https://.../study/ID",
    token=...)`. The default token is the environment variable DUELIST_TOKEN.

    `policy` is the class of the study's policy, or "module:Class", if it is
    your own: a study never imports a module that is named in its storage.
    Built-in policies and those of installed packages need no `policy`.
    """
    given = None if policy is None else register_policy_argument(policy)
    if is_address(name) or is_address(storage):
        if given is not None:
            raise InvalidInput("A study on a server has its policy there.", "Leave policy out.", field="policy")
        secret = token or os.environ.get("DUELIST_TOKEN")
        return connect(name, None, secret) if is_address(name) else connect(str(storage), name, secret)
    study = _open_study(name, storage)
    if given is not None and study.settings.policy != given:
        raise InvalidInput(
            f"policy is {given!r}, but study {name!r} has {study.settings.policy!r}.", "Leave it out.", field="policy"
        )
    return study


def _open_study(name: str, storage: str | Storage = DEFAULT_STORAGE) -> Study:
    """Load a study from a storage; unlike `load_study`, never from a server."""
    opened = open_storage(storage, create=False)
    return Study(opened, _find(opened, name))


def load_study_by_id(study_id: int, storage: str | Storage, clock: Callable[[], float] | None = None) -> Study:
    """Load the study of that id, which stays the same when the study is renamed; `clock` is for tests, see `Study`."""
    opened = open_storage(storage, create=False)
    row = next((row for row in opened.list_studies() if row.id == study_id), None)
    if row is None:
        raise UnknownStudy(
            f"There is no study with the id {study_id} in this storage.",
            "`list_studies` lists the studies.",
            code="unknown_study.id",
        )
    return Study(opened, row, clock)


def list_studies(storage: str | Storage = DEFAULT_STORAGE, include_archived: bool = False) -> list[StudySummary]:
    """List the studies in a storage, oldest first."""
    rows = open_storage(storage, create=False).list_studies()
    return [_summary(row) for row in rows if include_archived or row.state is not StudyState.ARCHIVED]


def delete_study(name: str, storage: str | Storage = DEFAULT_STORAGE) -> None:
    """Delete a study with all its arms and votes permanently."""
    opened = open_storage(storage, create=False)
    opened.delete_study(_find(opened, name).id)


# -- restore, copy, back up --------------------------------------------------------------


def restore_study(
    path: str | Path,
    storage: str | Storage | None = DEFAULT_STORAGE,
    name: str | None = None,
    policy: str | type[Policy] | None = None,
) -> Study:
    """Restore an archived study into a storage, all or nothing.

    The restored study continues as the archived one would: same log, same
    leaderboard, same next duels.

    Parameters
    ----------
    path
        A file that `Study.save` wrote.
    storage
        Where to, as for `create_study`.
    name
        A new name; default: the archived one. StudyExists is raised if it is
        taken.
    policy
        The class of the study's policy, or "module:Class", if it is your own;
        see `load_study`.
    """
    if name is not None:
        checked_text("name", name)
    if policy is not None:
        register_policy_argument(policy)
    opened = open_storage(storage)
    return _open_study(restore_archive(Path(path), opened, name), opened)


def copy_study(
    name: str,
    storage: str | Storage,
    to_storage: str | Storage | None = None,
    to_name: str | None = None,
) -> Study:
    """Copy a study, as it is now, to another storage or name; return the copy.

    Raters may continue with the original meanwhile; the two are independent
    afterwards.
    """
    if to_storage is None and to_name is None:
        raise InvalidInput(
            "A copy needs another storage or another name.",
            "Pass to_storage=... or to_name=....",
            code="invalid_input.copy_target",
        )
    source = open_storage(storage, create=False)
    study = _open_study(name, source)
    with tempfile.TemporaryDirectory(prefix="duelist-copy-") as folder:
        path = study.save(Path(folder) / "study.duelist")
        return restore_study(path, source if to_storage is None else to_storage, to_name)


def backup_storage(storage: str | Storage, path: str | Path) -> Path:
    """Back up a storage, even one in use, into one SQLite storage (`sqlite:///PATH`), all or nothing.

    The backup has the state of one moment: of the whole storage with SQLite, of
    each study with PostgreSQL.
    """
    target = Path(path)
    if target.exists():
        raise StudyExists(f"There is a file {str(target)!r} already.", "Give another name, or remove it first.")
    opened = open_storage(storage, create=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        scratch = Path(folder) / "backup.db"
        if not opened.copy_to_file(scratch):
            _copy_all(opened, scratch)
        scratch.rename(target)
        sync_folder(target.parent)
    return target


def _copy_all(source: Storage, path: Path) -> None:
    target = open_storage(f"sqlite:///{path}")
    try:
        for row in source.list_studies():
            copy_study(row.name, source, target)
    finally:
        target.close()


# -- helpers -----------------------------------------------------------------------------


def _find(storage: Storage, name: str) -> StudyRow:
    row = storage.find_study(name)
    if row is None:
        names = ", ".join(repr(study.name) for study in storage.list_studies()[:10]) or "none"
        raise UnknownStudy(f"There is no study {name!r} in this storage.", f"There are: {names}.")
    return row


def _summary(row: StudyRow) -> StudySummary:
    counters = row.counters
    return StudySummary(
        name=row.name,
        settings=row.settings,
        created_at=from_microseconds(row.created_at),
        arms=counters.n_arms,
        duels=counters.n_duels,
        votes=counters.n_votes,
        state=row.state,
        id=row.id,
    )


def _with_arm_effects(settings: StudySettings, given: dict[str, Any], items: ItemPlan | None) -> StudySettings:
    """Return the settings with arm effects, unless given, if the goal is about these arms or columns of a file describe them."""
    is_about_arms = settings.goal is not None and find_goal(settings.goal).arm_effects
    has_columns = items is not None and items.feature_kind == "columns" and settings.goal != "learn"
    if "arm_effects" in given or not (is_about_arms or has_columns):
        return settings
    return replace(settings, arm_effects=new_policy(settings).accepts_arm_table)


def _with_policy(policy: str | Policy | None, goal: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the given policy, or with the goal's."""
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


def _check_same_settings(row: StudyRow, wanted: StudySettings, given: list[str]) -> None:
    """Raise StudyExists if a given setting is not the study's own."""
    current, new = asdict(row.settings), asdict(wanted)
    for name in given:
        if current[name] != new[name]:
            raise StudyExists(
                f"Study {row.name!r} has {name}={current[name]!r}, not {new[name]!r}.",
                "Leave it out, change it with `load_study(...).change(...)` where it can be changed, or choose another name.",
                code="study_exists.settings",
                field=name,
                study=row.name,
            )
