"""One algorithm, one file; the registry that tests, tools and users iterate over."""

from __future__ import annotations

from duelist.engine import NativePolicy
from duelist.policies.registry import (
    ENTRY_POINTS,
    POLICIES,
    RCDB,
    VACDB,
    BestArmPair,
    CoLSTIM,
    GreedyChallenger,
    GreedyUniform,
    LocalPairUCB,
    MaxInP,
    MaxPairUCB,
    StaD,
    SupCoLSTIM,
    ThompsonPair,
    UniformPair,
    builtin_policy,
    make_policy,
    other_policies,
    policy_class,
    policy_name,
    restore_policy,
)
from duelist.policy import Choice, Policy

CompiledPolicy = NativePolicy

__all__ = [
    "ENTRY_POINTS",
    "POLICIES",
    "RCDB",
    "VACDB",
    "BestArmPair",
    "Choice",
    "CompiledPolicy",
    "CoLSTIM",
    "GreedyChallenger",
    "GreedyUniform",
    "LocalPairUCB",
    "MaxInP",
    "MaxPairUCB",
    "NativePolicy",
    "Policy",
    "StaD",
    "SupCoLSTIM",
    "ThompsonPair",
    "UniformPair",
    "builtin_policy",
    "make_policy",
    "other_policies",
    "policy_class",
    "policy_name",
    "restore_policy",
]
