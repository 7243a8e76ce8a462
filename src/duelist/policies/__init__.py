"""One algorithm, one file; the registry that tests, tools and users iterate over."""

from __future__ import annotations

from typing import Any, Final

from duelist.errors import InvalidInput, InvalidSnapshot
from duelist.policies._base import CompiledPolicy, Policy
from duelist.policies.best_arm_pair import BestArmPair
from duelist.policies.colstim import CoLSTIM
from duelist.policies.greedy_challenger import GreedyChallenger
from duelist.policies.greedy_uniform import GreedyUniform
from duelist.policies.local_pair_ucb import LocalPairUCB
from duelist.policies.max_in_p import MaxInP
from duelist.policies.max_pair_ucb import MaxPairUCB
from duelist.policies.rcdb import RCDB
from duelist.policies.stad import StaD
from duelist.policies.sup_colstim import SupCoLSTIM
from duelist.policies.thompson_pair import ThompsonPair
from duelist.policies.uniform_pair import UniformPair
from duelist.policies.vacdb import VACDB

__all__ = [
    "POLICIES",
    "RCDB",
    "VACDB",
    "BestArmPair",
    "CoLSTIM",
    "CompiledPolicy",
    "GreedyChallenger",
    "GreedyUniform",
    "LocalPairUCB",
    "MaxInP",
    "MaxPairUCB",
    "Policy",
    "StaD",
    "SupCoLSTIM",
    "ThompsonPair",
    "UniformPair",
    "make_policy",
    "restore_policy",
]

POLICIES: Final[dict[str, type[CompiledPolicy]]] = {
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
        UniformPair,
        GreedyUniform,
        GreedyChallenger,
    )
}


def make_policy(name: str, *, horizon: int | None = None, **settings: Any) -> CompiledPolicy:
    """The policy of that name, with the horizon if it takes one; case, dashes and underscores do not matter.

    >>> make_policy("vacdb", horizon=100)
    VACDB(horizon=100)
    >>> make_policy("UniformPair", horizon=100)
    UniformPair()
    """
    cls = {known.lower(): cls for known, cls in POLICIES.items()}.get(name.replace("-", "").replace("_", "").lower())
    if cls is None:
        raise InvalidInput(f"policy is {name!r}; choose one of {', '.join(POLICIES)}")
    known = cls.setting_names()
    if "horizon" in known:
        settings["horizon"] = horizon
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise InvalidInput(f"{cls.__name__} has no setting {unknown[0]!r}; it takes {', '.join(known)}")
    return cls(**settings)


def restore_policy(snapshot: dict[str, Any]) -> CompiledPolicy:
    """The policy of a snapshot, whichever of the registered policies it is of."""
    name = snapshot.get("policy") if isinstance(snapshot, dict) else None
    if not isinstance(name, str) or name not in POLICIES:
        raise InvalidSnapshot(f"snapshot is of policy {name!r}; known are {', '.join(POLICIES)}")
    return POLICIES[name].restore(snapshot)
