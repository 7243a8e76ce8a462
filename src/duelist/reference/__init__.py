"""Every policy in plain NumPy: the definition against which the fast engine is tested.

Read them: one file per policy, as short as the pseudo-code of its paper, with the paper's line numbers in `vacdb.py`.
Compare with them: the tests play each fast policy against its reference, duel for duel. Play them: each is a `Policy`
with the hyperparameters of the fast one, only much slower.

Start with a policy's `choose(arms, allowed)`, which returns the `Choice` of a round. `links`, `feature_scale` and `fit`
have the estimates, their precision and widths; `pair_choice` the best allowed pair and random numbers; `base` ask and
tell. `arm_effects` and `arm_table_policies` are the same for policies that take an `ArmTable`, `counting` for those that
count wins. Attributes that end in _ are learned.

References share no numerical code with the engine, but draw the same random numbers in the same order. Of two pairs that
tie up to rounding either may be played; `Choice.shortfall` measures how near a tie is. The engine approximates in two
cases: from 256 arms on, LocalPairUCB, BestArmPair, RankingPair and RewardDesign do not search all pairs, and above 128
dimensions a vote keeps its slope in the curvature.

>>> import numpy as np, duelist as dl
>>> policy, arms = dl.reference.VACDB(horizon=1000, random_state=0), np.eye(4)
>>> for _ in range(3):
...     policy.tell(policy.ask(arms), 1)
>>> policy.layers_[1].count
3.0
"""

from __future__ import annotations

from typing import Final

from duelist.reference import counting
from duelist.reference.apo import APO
from duelist.reference.base import Reference
from duelist.reference.best_arm_pair import BestArmPair
from duelist.reference.colstim import CoLSTIM
from duelist.reference.delta_ucb import DeltaUCB
from duelist.reference.design_pair import DesignPair
from duelist.reference.drts import DRTS
from duelist.reference.greedy_challenger import GreedyChallenger
from duelist.reference.greedy_uniform import GreedyUniform
from duelist.reference.info_max import InfoMax
from duelist.reference.local_pair_ucb import LocalPairUCB
from duelist.reference.max_in_p import MaxInP
from duelist.reference.max_min_lcb import MaxMinLCB
from duelist.reference.max_pair_ucb import MaxPairUCB
from duelist.reference.pair_choice import AllowedPairs, Choice
from duelist.reference.ranking_pair import RankingPair
from duelist.reference.rcdb import RCDB
from duelist.reference.reward_design import RewardDesign
from duelist.reference.stad import StaD
from duelist.reference.sup_colstim import SupCoLSTIM
from duelist.reference.thompson_pair import ThompsonPair
from duelist.reference.uniform_pair import UniformPair
from duelist.reference.vacdb import VACDB

__all__ = [
    "APO",
    "DRTS",
    "RCDB",
    "REFERENCES",
    "VACDB",
    "AllowedPairs",
    "BestArmPair",
    "Choice",
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
    "Reference",
    "RewardDesign",
    "StaD",
    "SupCoLSTIM",
    "ThompsonPair",
    "UniformPair",
    "counting",
]

REFERENCES: Final[dict[str, type[Reference]]] = {
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
