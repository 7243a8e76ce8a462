"""Checks of a study's settings when it is created and when they are changed."""

from __future__ import annotations

import math
from dataclasses import asdict, fields, replace
from inspect import signature
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.policies import (
    BUILTIN_POLICIES,
    Policy,
    is_registered,
    parse_policy,
    plugin_policies,
    policy_class,
    policy_name,
    register_policy,
    registered_policy,
)
from duelist.policies.goals import find_goal
from duelist.study.languages import checked_language, checked_wordings
from duelist.study.records import Outcome, StudySettings
from duelist.study.replay import check_accepts_arm_table, new_policy
from duelist.study.validation import checked_json, checked_text

NAMES: Final = [field.name for field in fields(StudySettings) if field.name not in ("policy", "gold")]
"""Settings of `create_study`; gold pairs name arms, so they are added later."""
OFFERED: Final = (Outcome.TIE, Outcome.BOTH_BAD, Outcome.SKIP)
SHOWN_AS: Final = ("text", "markdown", "code")
FIXED: Final = ("policy", "policy_settings", "seed", "arm_effects", "top")
"""Settings that the first state of the policy depends on, so they cannot be changed."""


def policy_names() -> list[str]:
    """Return the names of installed policies: built-in ones and those of packages' entry points (`module:Class` names others)."""
    return [*BUILTIN_POLICIES, *plugin_policies()]


def described_policy(policy: str | Policy, policy_settings: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings of a policy, given by name or as an instance.

    >>> from duelist.policies import LocalPairUCB
    >>> described_policy(LocalPairUCB(scale=0.7), None)
    ('LocalPairUCB', {'scale': 0.7})
    """
    given = {} if policy_settings is None else policy_settings
    if not isinstance(given, dict):
        raise InvalidInput(
            f"policy_settings is {given!r}.", "Give a mapping of names to values.", field="policy_settings"
        )
    if isinstance(policy, str):
        cls, written = parse_policy(policy)
        return policy_name(cls), {**written, **given}
    if not isinstance(policy, Policy):
        raise InvalidInput(f"policy is {policy!r}.", "Give a policy or its name.", field="policy")
    if given:
        raise InvalidInput(
            f"policy_settings are {given!r}, and {policy!r} includes settings.",
            "Give only one of the two.",
            field="policy_settings",
        )
    default = {name: each.default for name, each in signature(type(policy)).parameters.items()}
    changed = {name: value for name, value in policy.params.items() if name not in default or value != default[name]}
    changed.pop("random_state", None)  # all randomness of a study comes from its seed
    return policy_name(register_policy(type(policy))), changed


def register_policy_argument(policy: str | type[Policy]) -> str:
    """Register a policy that the caller gives as a class or by name, and return its name."""
    if isinstance(policy, str):
        return policy_name(policy_class(policy))
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise InvalidInput(f"policy is {policy!r}.", "Give a subclass of duelist.Policy, or its name.", field="policy")
    return policy_name(register_policy(policy))


def with_top(given: dict[str, Any], top: Any) -> dict[str, Any]:
    """Return settings with the policy's setting `top`, the number of places that matter."""
    cls = registered_policy(given["policy"])
    if "top" not in signature(cls).parameters:
        raise InvalidInput(
            f"top is {top!r}, but {policy_name(cls)} does not rank places.",
            "Choose the goal 'rank' or the policy RankingPair.",
            field="top",
        )
    policy_settings = dict(given.get("policy_settings") or {})
    if policy_settings.get("top", top) != top:
        raise InvalidInput(
            f"top is {top!r}, and the policy has top={policy_settings['top']!r}.", "Give one of them.", field="top"
        )
    return {**given, "policy_settings": {**policy_settings, "top": top}}


def checked_settings(given: dict[str, Any]) -> StudySettings:
    """Return valid settings of a study; raise InvalidInput for the first that is not."""
    settings = _checked_values(given)
    policy = new_policy(settings)  # raises InvalidInput for settings of the policy
    if settings.arm_effects:
        check_accepts_arm_table(policy, "The setting arm_effects is on")
    return replace(settings, policy=policy_name(type(policy)))


def archived_settings(given: dict[str, Any]) -> StudySettings:
    """Return the settings of an archive, whose policy need not be registered, since restoring does not use it."""
    settings = _checked_values({name: value for name, value in given.items() if name != "gold"})
    if is_registered(settings.policy):
        new_policy(settings)
    return replace(settings, gold=tuple(given.get("gold", ())))


def _checked_values(given: dict[str, Any]) -> StudySettings:
    """Return settings with valid values; the policy is not looked up."""
    unknown = sorted(set(given) - {"policy", "gold", *NAMES})
    if unknown:
        raise InvalidInput(
            f"A study has no setting {unknown[0]!r}.",
            f"It takes {', '.join((*NAMES, 'top'))} (those of the policy go into policy_settings).",
        )
    for name in ("criteria", "gold", "answers"):
        if not isinstance(given.get(name, ()), (list, tuple)):
            what = "the text " if isinstance(given[name], str) else ""
            raise InvalidInput(f"{name} is {what}{given[name]!r}.", "Give a list.", field=name)
    _check_answers(given.get("answers", ()))
    checked_text("policy", given["policy"])
    settings = StudySettings(**given)
    if not isinstance(settings.policy_settings, dict):
        raise InvalidInput(
            f"policy_settings is {settings.policy_settings!r}.",
            "Give a mapping of names to values.",
            field="policy_settings",
        )
    _check_number("seed", settings.seed, 0, 2**63 - 1, whole=True)
    _check_number("lease_seconds", settings.lease_seconds, 1e-3, 1e9)
    _check_number("raters_per_duel", settings.raters_per_duel, 1, 1e9, whole=True)
    for name in ("random_share", "gold_share"):
        _check_number(name, getattr(settings, name), 0, 1)
    _check_repeats(settings.repeat_pairs)
    for name in ("max_votes", "max_votes_per_pair", "max_votes_per_rater"):
        if getattr(settings, name) is not None:
            _check_number(name, getattr(settings, name), 1, 2**53, whole=True)
    if settings.goal is not None:
        find_goal(settings.goal)
    _check_criteria(settings.criteria)
    _check_page(settings)
    checked_json("policy_settings", settings.policy_settings, field="policy_settings")
    if not isinstance(settings.arm_effects, bool):
        raise InvalidInput(f"arm_effects is {settings.arm_effects!r}.", "Give true or false.", field="arm_effects")
    return settings


def changed_settings(settings: StudySettings, changes: dict[str, Any], has_votes: bool) -> StudySettings:
    """Return the settings with some of them changed; raise InvalidInput for those that are fixed."""
    for name in FIXED:
        if name in changes:
            raise InvalidInput(
                f"{name} is fixed when a study is created.",
                f"Copy its votes into a new study with another {name}.",
                field=name,
            )
    changed = checked_settings({**asdict(settings), **changes})
    if has_votes and settings.criteria and changed.main_criterion != settings.main_criterion:
        raise InvalidInput(
            f"The policy of this study learns from {settings.main_criterion!r}, its first criterion, and "
            "there are votes on it.",
            "Keep it first.",
        )
    return changed


def _check_criteria(criteria: tuple[Any, ...]) -> None:
    for criterion in criteria:
        checked_text("criterion", criterion)
    if len(set(criteria)) != len(criteria):
        raise InvalidInput(f"criteria are {list(criteria)!r}.", "Name each once.", field="criteria")


def _check_answers(answers: Any) -> None:
    """Check the outcomes that raters are offered besides the two sides."""
    wrong = next((answer for answer in answers if answer not in OFFERED), None)
    if wrong is not None or len(set(answers)) != len(answers):
        raise InvalidInput(
            f"answers are {list(answers)!r}.", f"Choose among {', '.join(OFFERED)}, each once.", field="answers"
        )


def _check_page(settings: StudySettings) -> None:
    """Check what raters see around a pair."""
    for name in ("question", "guidelines"):
        if getattr(settings, name) is not None:
            checked_text(name, getattr(settings, name))
    for name in ("ask_reason", "open_registration"):
        if not isinstance(getattr(settings, name), bool):
            raise InvalidInput(f"{name} is {getattr(settings, name)!r}.", "Give true or false.", field=name)
    if settings.show_as not in SHOWN_AS:
        raise InvalidInput(
            f"show_as is {settings.show_as!r}.", f"Choose one of {', '.join(SHOWN_AS)}.", field="show_as"
        )
    checked_language(settings.language)
    checked_wordings(settings.wordings)
    if settings.feature_recipe is not None and not isinstance(settings.feature_recipe, dict):
        raise InvalidInput(
            f"feature_recipe is {settings.feature_recipe!r}.",
            "Give what make_features returned, or leave it out.",
            field="feature_recipe",
        )


def _check_repeats(value: Any) -> None:
    if value == "never":
        return
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**9
    share = isinstance(value, float) and 0.0 < value < 1.0
    if not whole and not share:
        raise InvalidInput(
            f"repeat_pairs is {value!r}.",
            'Give "never", a whole number of duels after which a rater may see a pair again, or a share '
            "between 0 and 1 of duels that are repeated at random.",
            field="repeat_pairs",
        )


def _check_number(name: str, value: Any, least: float, most: float, whole: bool = False) -> None:
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or math.isnan(value) or not least <= value <= most:
        what = "a whole number" if whole else "a number"
        raise InvalidInput(f"{name} is {value!r}.", f"Give {what} from {least:g} to {most:g}.", field=name)
