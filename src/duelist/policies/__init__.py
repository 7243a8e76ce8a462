"""One algorithm, one file; the registry that tests, tools and users iterate over."""

from __future__ import annotations

from duelist.engine import NativePolicy
from duelist.policies.best_arm_pair import BestArmPair
from duelist.policies.colstim import CoLSTIM
from duelist.policies.greedy_challenger import GreedyChallenger
from duelist.policies.greedy_uniform import GreedyUniform
from duelist.policies.local_pair_ucb import LocalPairUCB
from duelist.policies.max_in_p import MaxInP
from duelist.policies.max_pair_ucb import MaxPairUCB
from duelist.policies.rcdb import RCDB
from duelist.policies.registry import (
    BUILT_IN,
    ENTRY_POINTS,
    POLICIES,
    builtin_policy,
    make_policy,
    other_policies,
    policy_class,
    policy_name,
    read_policy,
    restore_policy,
)
from duelist.policies.stad import StaD
from duelist.policies.sup_colstim import SupCoLSTIM
from duelist.policies.thompson_pair import ThompsonPair
from duelist.policies.uniform_pair import UniformPair
from duelist.policies.vacdb import VACDB
from duelist.policy import Choice, Policy

__all__ = [
    "BUILT_IN",
    "ENTRY_POINTS",
    "POLICIES",
    "RCDB",
    "VACDB",
    "BestArmPair",
    "Choice",
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
    "read_policy",
    "restore_policy",
]
