"""Policies by name: built-in ones, those of other packages, and any class that can be imported.

    VACDB                                 its defaults
    VACDB:explore=widest,scale=2          with settings
    my_package.policies:EpsilonGreedy     a class of your own
    my_package.policies:EpsilonGreedy:epsilon=0.2

Case, dashes and underscores in names are ignored. A package registers its policies as entry points:

    [project.entry-points."duelist.policies"]
    EpsilonGreedy = "my_package.policies:EpsilonGreedy"

A class that the caller names or passes is imported, and registered for this process. A name in data (a stored study, an
archive, a snapshot, a request) is only looked up among the registered classes: data never causes an import. The
environment variable DUELIST_POLICIES registers classes for commands and servers:

    DUELIST_POLICIES=my_package.policies:EpsilonGreedy,other_module:Other
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from duelist.core.class_registry import ClassRegistry
from duelist.core.errors import InvalidInput, InvalidSnapshot
from duelist.core.settings import choose_from, parse_settings
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

P = TypeVar("P", bound=Policy)

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


_REGISTRY: Final = ClassRegistry(Policy, BUILTIN_POLICIES, ENTRY_POINT_GROUP, "policy", "DUELIST_POLICIES")


def plugin_policies() -> dict[str, EntryPoint]:
    """Return the policies of other packages by name, except names of built-in ones."""
    return _REGISTRY.plugins()


def registered_policy(name: str) -> type[Policy]:
    """Return the registered class with that name: built in, from an installed package, or registered in this process.

    Use it for names from data: it imports only classes that packages and DUELIST_POLICIES register.

    >>> registered_policy("max-in-p").__name__
    'MaxInP'
    """
    return _REGISTRY.registered(name)


def policy_class(name: str) -> type[Policy]:
    """Return the class that the caller names: registered, or `module:Class`, which is imported and registered.

    >>> policy_class("max-in-p").__name__
    'MaxInP'
    """
    return _REGISTRY.find(name)


def register_policy(cls: type[P]) -> type[P]:
    """Register a class for this process, so that studies and snapshots may name it; also usable as a decorator."""
    _REGISTRY.register(cls)
    return cls


def is_registered(name: str) -> bool:
    """Return whether `registered_policy` finds a class with that name."""
    return _REGISTRY.find_registered(name) is not None


def policy_name(cls: type[Policy]) -> str:
    """Return the name by which `policy_class` finds a class.

    >>> policy_name(VACDB)
    'VACDB'
    """
    return _REGISTRY.name_of(cls)


def parse_policy(spec: str, find: Callable[[str], type[Policy]] = policy_class) -> tuple[type[Policy], dict[str, Any]]:
    """Return class and settings of a policy written as one string; pass `registered_policy` for a string from data.

    >>> parse_policy("max-in-p:scale=0.5")[1]
    {'scale': 0.5}
    """
    name, text = _REGISTRY.split(spec)
    cls = find(name)
    settings = parse_settings(spec, text)
    check_settings(cls, settings)
    return cls, settings


def check_settings(cls: type[Policy], settings: Mapping[str, Any]) -> None:
    """Check that a policy has all these settings."""
    known = list(inspect.signature(cls).parameters)
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise InvalidInput(f"{cls.__name__} has no setting {unknown[0]!r}.", choose_from(unknown[0], known, "It takes"))


def make_policy(policy: str | Policy, *, horizon: int | None = None, **settings: Any) -> Policy:
    """Return the policy with that name and these settings. A policy without a horizon gets `horizon`.

    >>> make_policy("vacdb", horizon=100)
    VACDB(horizon=100, radius='practical')
    >>> make_policy(VACDB(scale=0.5), horizon=100)
    VACDB(horizon=100, radius='practical', scale=0.5)
    >>> make_policy("MaxInP:scale=0.5")
    MaxInP(scale=0.5)
    """
    if isinstance(policy, Policy):
        if settings:
            raise InvalidInput(f"{policy!r} has its settings already.", f"Remove {sorted(settings)[0]!r}.")
        return policy if horizon is None else fill_horizon(policy, horizon)
    if not isinstance(policy, str):
        raise InvalidInput(f"policy is {policy!r}.", "Give a policy, or the name of one.", field="policy")
    cls, own = parse_policy(policy)
    settings = {**own, **settings}
    if horizon is not None and "horizon" in inspect.signature(cls).parameters:
        settings.setdefault("horizon", horizon)
    check_settings(cls, settings)
    return cls(**settings)


def fill_horizon(policy: Policy, horizon: int) -> Policy:
    """Return a fresh policy with that horizon if `policy` takes one and has none, and otherwise `policy` itself.

    >>> fill_horizon(VACDB(), 100), fill_horizon(VACDB(horizon=50), 100)
    (VACDB(horizon=100, radius='practical'), VACDB(horizon=50, radius='practical'))
    """
    params = policy.params
    if "horizon" not in params or params["horizon"] is not None:
        return policy
    return policy.replace(horizon=horizon)


def builtin_policy(name: str, *, horizon: int | None = None, **settings: Any) -> NativePolicy:
    """Return one of `POLICIES`, as `make_policy`."""
    policy = make_policy(name, horizon=horizon, **settings)
    if not isinstance(policy, NativePolicy):
        raise InvalidInput(f"policy is {name!r}.", f"Choose one of {', '.join(POLICIES)}.", field="policy")
    return policy


def restore_policy(snapshot: Mapping[str, Any]) -> Policy:
    """Return the policy of a snapshot of any registered policy; for another class, call its `restore`."""
    name = snapshot.get("policy") if isinstance(snapshot, dict) else None
    if not isinstance(name, str):
        raise InvalidSnapshot(
            f"snapshot is of policy {name!r}.", f"Known are {', '.join(BUILTIN_POLICIES)}.", field="snapshot"
        )
    try:
        cls = registered_policy(name)
    except InvalidInput as error:
        raise InvalidSnapshot(
            f"snapshot is of policy {name!r}, which is not registered.",
            "Call `restore` of its class, or register the class with `register_policy`.",
            field="snapshot",
        ) from error
    return cls.restore(dict(snapshot))
