"""Policies by name: built-in ones, those of other packages, and any class that can be imported.

    VACDB                                 its defaults
    VACDB:explore=widest,scale=2          with settings
    my_package.policies:EpsilonGreedy     a class of your own
    my_package.policies:EpsilonGreedy:epsilon=0.2

Case, dashes and underscores in names are ignored. A package registers its policies as entry points:

    [project.entry-points."duelist.policies"]
    EpsilonGreedy = "my_package.policies:EpsilonGreedy"
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from duelist.core.errors import InvalidInput, InvalidSnapshot
from duelist.core.settings import normalize_name, parse_settings
from duelist.policies.base import Policy
from duelist.policies.counting import COUNTING_POLICIES
from duelist.policies.engine import NativePolicy
from duelist.policies.linear import (
    APO,
    DRTS,
    FGTS,
    RCDB,
    VACDB,
    BestArmPair,
    CoLSTIM,
    DeltaUCB,
    DesignPair,
    GreedyChallenger,
    GreedyUniform,
    InfoMax,
    LocalPairUCB,
    MaxInP,
    MaxMinLCB,
    MaxPairUCB,
    RankingPair,
    RewardDesign,
    StaD,
    SupCoLSTIM,
    ThompsonPair,
    UniformPair,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP: Final = "duelist.policies"
"""The group of entry points of policies in other packages."""

POLICIES: Final[dict[str, type[NativePolicy]]] = {
    cls.__name__: cls
    for cls in (
        LocalPairUCB,
        ThompsonPair,
        VACDB,
        MaxInP,
        MaxPairUCB,
        CoLSTIM,
        StaD,
        SupCoLSTIM,
        RCDB,
        BestArmPair,
        RankingPair,
        RewardDesign,
        UniformPair,
        GreedyUniform,
        GreedyChallenger,
        MaxMinLCB,
        DRTS,
        DeltaUCB,
        InfoMax,
        DesignPair,
        APO,
    )
}
"""The built-in policies whose arms have features and whose rule is in the engine."""

BUILTIN_POLICIES: Final[dict[str, type[Policy]]] = {**POLICIES, "FGTS": FGTS, **COUNTING_POLICIES}
"""All built-in policies: also those in plain Python, and those that count wins."""


def plugin_policies() -> dict[str, EntryPoint]:
    """Return the policies of other packages by name, except names of built-in ones."""
    from importlib.metadata import entry_points  # slow, and not needed for built-in policies

    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP) if point.name not in BUILTIN_POLICIES}


def policy_class(name: str) -> type[Policy]:
    """Return the class with that name: built in, of another package, or `module:Class`.

    >>> policy_class("max-in-p").__name__
    'MaxInP'
    """
    builtin = {normalize_name(key): cls for key, cls in BUILTIN_POLICIES.items()}.get(normalize_name(name))
    if builtin is not None:
        return builtin
    plugin = {normalize_name(key): point for key, point in plugin_policies().items()}.get(normalize_name(name))
    if plugin is not None:
        return _check_class(name, _load_entry_point(plugin))
    if ":" in name:
        return _check_class(name, _import_class(name))
    known = ", ".join([*BUILTIN_POLICIES, *plugin_policies()])
    raise InvalidInput(
        f"policy is {name!r}.", f"Choose one of {known}, or name a class as module:Class.", field="policy"
    )


def policy_name(cls: type[Policy]) -> str:
    """Return the name by which `policy_class` finds a class.

    >>> policy_name(VACDB)
    'VACDB'
    """
    if BUILTIN_POLICIES.get(cls.__name__) is cls:
        return cls.__name__
    for known, point in plugin_policies().items():
        if point.value == f"{cls.__module__}:{cls.__qualname__}":
            return known
    if "<locals>" in cls.__qualname__ or cls.__module__ == "__main__":
        raise InvalidInput(
            f"{cls.__name__} cannot be found again by name: it is defined in "
            f"{'a function' if '<locals>' in cls.__qualname__ else 'the program itself'}.",
            "Put it at the top of a module of its own.",
        )
    return f"{cls.__module__}:{cls.__qualname__}"


def parse_policy(spec: str) -> tuple[type[Policy], dict[str, Any]]:
    """Return class and settings of a policy written as one string.

    >>> parse_policy("max-in-p:scale=0.5")[1]
    {'scale': 0.5}
    """
    name, text = _split(spec)
    cls = policy_class(name)
    settings = parse_settings(spec, text)
    check_settings(cls, settings)
    return cls, settings


def check_settings(cls: type[Policy], settings: Mapping[str, Any]) -> None:
    """Check that a policy has all these settings."""
    known = list(inspect.signature(cls).parameters)
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise InvalidInput(f"{cls.__name__} has no setting {unknown[0]!r}.", f"It takes {', '.join(known)}.")


def make_policy(policy: str | Policy, *, horizon: int | None = None, **settings: Any) -> Policy:
    """Return the policy with that name and these settings, and the horizon, if it takes one.

    >>> make_policy("vacdb", horizon=100)
    VACDB(horizon=100)
    >>> make_policy("MaxInP:scale=0.5")
    MaxInP(scale=0.5)
    """
    if isinstance(policy, Policy):
        if settings:
            raise InvalidInput(f"{policy!r} has its settings already.", f"Leave out {sorted(settings)[0]!r}.")
        return policy
    if not isinstance(policy, str):
        raise InvalidInput(f"policy is {policy!r}.", "Give a policy, or the name of one.", field="policy")
    cls, own = parse_policy(policy)
    settings = {**own, **settings}
    if horizon is not None and "horizon" in inspect.signature(cls).parameters:
        settings.setdefault("horizon", horizon)
    check_settings(cls, settings)
    return cls(**settings)


def builtin_policy(name: str, *, horizon: int | None = None, **settings: Any) -> NativePolicy:
    """Return one of `POLICIES`, as `make_policy`."""
    policy = make_policy(name, horizon=horizon, **settings)
    if not isinstance(policy, NativePolicy):
        raise InvalidInput(f"policy is {name!r}.", f"Choose one of {', '.join(POLICIES)}.", field="policy")
    return policy


def restore_policy(snapshot: Mapping[str, Any]) -> Policy:
    """Return the policy of any snapshot."""
    name = snapshot.get("policy") if isinstance(snapshot, dict) else None
    if not isinstance(name, str):
        raise InvalidSnapshot(
            f"snapshot is of policy {name!r}.", f"Known are {', '.join(BUILTIN_POLICIES)}.", field="snapshot"
        )
    try:
        cls = policy_class(name)
    except InvalidInput as error:
        raise InvalidSnapshot(
            f"snapshot is of policy {name!r}, which is not installed.", error.hint, field="snapshot"
        ) from error
    return cls.restore(dict(snapshot))


def _split(spec: str) -> tuple[str, str]:
    """Return name and settings of a policy string; the name of an imported class contains a colon."""
    name, _, rest = spec.partition(":")
    own, _, text = rest.partition(":")
    known = normalize_name(name) in map(normalize_name, [*BUILTIN_POLICIES, *plugin_policies()])
    if rest and "=" not in own and not known:
        return f"{name}:{own}", text
    return name, rest


def _import_class(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module exists; one of its imports does not
        raise InvalidInput(
            f"policy is {name!r}, but there is no module {error.name!r}.",
            "Install it, or put its folder on the path.",
            field="policy",
        ) from None
    except (AttributeError, ValueError) as error:
        raise InvalidInput(f"policy is {name!r}, but {error}.", "Write module:Class.", field="policy") from None
    return found


def _load_entry_point(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"Policy {point.name!r} is brought by {point.value!r}, which cannot be loaded: {error}.",
            "Reinstall the package that brings it.",
        ) from error


def _check_class(name: str, found: Any) -> type[Policy]:
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise InvalidInput(
            f"policy is {name!r}, which is {found!r}.", "Give a subclass of duelist.Policy.", field="policy"
        )
    return found
