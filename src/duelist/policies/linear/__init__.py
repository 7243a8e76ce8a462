"""Linear policies, for arms with features: one algorithm per file, its pair choice in `native/policies/`."""

from __future__ import annotations

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

__all__ = [
    "APO",
    "DRTS",
    "FGTS",
    "RCDB",
    "VACDB",
    "BestArmPair",
    "CoLSTIM",
    "DeltaUCB",
    "DesignPair",
    "GreedyChallenger",
    "GreedyUniform",
    "InfoMax",
    "LocalPairUCB",
    "MaxInP",
    "MaxMinLCB",
    "MaxPairUCB",
    "RankingPair",
    "RewardDesign",
    "StaD",
    "SupCoLSTIM",
    "ThompsonPair",
    "UniformPair",
]
