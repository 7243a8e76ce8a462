"""Policies by name: the built-in ones, those that other packages bring, and any class that can be imported.

    VACDB                                 its defaults
    VACDB:explore=widest,scale=2          with settings
    my_package.policies:EpsilonGreedy     a class of your own
    my_package.policies:EpsilonGreedy:epsilon=0.2

Case, dashes and underscores in names do not matter. A package makes its policies known under a name by an entry point:

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
from duelist.policies.linear.apo import APO
from duelist.policies.linear.best_arm_pair import BestArmPair
from duelist.policies.linear.colstim import CoLSTIM
from duelist.policies.linear.delta_ucb import DeltaUCB
from duelist.policies.linear.design_pair import DesignPair
from duelist.policies.linear.drts import DRTS
from duelist.policies.linear.fgts import FGTS
from duelist.policies.linear.greedy_challenger import GreedyChallenger
from duelist.policies.linear.greedy_uniform import GreedyUniform
from duelist.policies.linear.info_max import InfoMax
from duelist.policies.linear.local_pair_ucb import LocalPairUCB
from duelist.policies.linear.max_in_p import MaxInP
from duelist.policies.linear.max_min_lcb import MaxMinLCB
from duelist.policies.linear.max_pair_ucb import MaxPairUCB
from duelist.policies.linear.ranking_pair import RankingPair
from duelist.policies.linear.rcdb import RCDB
from duelist.policies.linear.reward_design import RewardDesign
from duelist.policies.linear.stad import StaD
from duelist.policies.linear.sup_colstim import SupCoLSTIM
from duelist.policies.linear.thompson_pair import ThompsonPair
from duelist.policies.linear.uniform_pair import UniformPair
from duelist.policies.linear.vacdb import VACDB

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP: Final = "duelist.policies"
"""The group of entry points under which other packages make their policies known."""

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
"""The built-in policies of the engine that know arms by their features."""

BUILTIN_POLICIES: Final[dict[str, type[Policy]]] = {**POLICIES, "FGTS": FGTS, **COUNTING_POLICIES}
"""All built-in policies: those in plain Python, and those that count wins, too."""


def plugin_policies() -> dict[str, EntryPoint]:
    """Policies that other packages bring, by name; the built-in ones keep theirs."""
    from importlib.metadata import entry_points  # who asks a built-in policy does not wait for it

    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP) if point.name not in BUILTIN_POLICIES}


def policy_class(name: str) -> type[Policy]:
    """The class of that name: built in, brought by another package, or `module:Class`.

    >>> policy_class("max-in-p").__name__
    'MaxInP'
    """
    builtin = {normalize_name(known): cls for known, cls in BUILTIN_POLICIES.items()}.get(normalize_name(name))
    if builtin is not None:
        return builtin
    brought = {normalize_name(known): point for known, point in plugin_policies().items()}.get(normalize_name(name))
    if brought is not None:
        return _checked_class(name, _loaded(brought))
    if ":" in name:
        return _checked_class(name, _imported(name))
    known = ", ".join([*BUILTIN_POLICIES, *plugin_policies()])
    raise InvalidInput(
        f"policy is {name!r}.", f"Choose one of {known}, or name a class as module:Class.", field="policy"
    )


def policy_name(cls: type[Policy]) -> str:
    """The name under which `policy_class` finds a class again.

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
    """Class and settings of a policy that is written in one word.

    >>> parse_policy("max-in-p:scale=0.5")[1]
    {'scale': 0.5}
    """
    name, text = _split(spec)
    cls = policy_class(name)
    settings = parse_settings(spec, text)
    check_settings(cls, settings)
    return cls, settings


def check_settings(cls: type[Policy], settings: Mapping[str, Any]) -> None:
    """Refuse settings that a policy does not take."""
    known = list(inspect.signature(cls).parameters)
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise InvalidInput(f"{cls.__name__} has no setting {unknown[0]!r}.", f"It takes {', '.join(known)}.")


def make_policy(policy: str | Policy, *, horizon: int | None = None, **settings: Any) -> Policy:
    """The policy of that name and these settings; the horizon if it takes one and none is among the settings.

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
    """`make_policy` of one of `POLICIES`."""
    policy = make_policy(name, horizon=horizon, **settings)
    if not isinstance(policy, NativePolicy):
        raise InvalidInput(f"policy is {name!r}.", f"Choose one of {', '.join(POLICIES)}.", field="policy")
    return policy


def restore_policy(snapshot: Mapping[str, Any]) -> Policy:
    """The policy of a snapshot, whichever it is of."""
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
    """Name and settings of a spec; the name of a class of your own has a colon in it, that of a known one does not."""
    name, _, rest = spec.partition(":")
    own, _, text = rest.partition(":")
    known = normalize_name(name) in map(normalize_name, [*BUILTIN_POLICIES, *plugin_policies()])
    if rest and "=" not in own and not known:
        return f"{name}:{own}", text
    return name, rest


def _imported(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it imports is not
        raise InvalidInput(
            f"policy is {name!r}, but there is no module {error.name!r}.",
            "Install it, or put its folder on the path.",
            field="policy",
        ) from None
    except (AttributeError, ValueError) as error:
        raise InvalidInput(f"policy is {name!r}, but {error}.", "Write module:Class.", field="policy") from None
    return found


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"Policy {point.name!r} is brought by {point.value!r}, which cannot be loaded: {error}.",
            "Reinstall the package that brings it.",
        ) from error


def _checked_class(name: str, found: Any) -> type[Policy]:
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise InvalidInput(
            f"policy is {name!r}, which is {found!r}.", "Give a subclass of duelist.Policy.", field="policy"
        )
    return found
