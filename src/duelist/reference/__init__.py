"""Every policy once more, in plain NumPy: the definition that the fast ones are held to.

What it is for. To be read: one file a policy, as short as the papers' pseudo-code, with the paper's line numbers beside the
lines of `vacdb.py`. To be compared with: the tests play each fast policy against the one of the same name here, duel for duel.
To be played: each is a `Policy` with the settings of the fast one, for `simulate` or live, only far slower.

How to read it. Start with a policy's `choose(arms, allowed)`, which returns the decision of a round. `estimation` has what is
known after some votes (the estimate, its precision, widths), `choosing` has the best of the allowed pairs and the random numbers,
`policy` has ask and tell; `arm_effects` has the policies that take `ArmTable` once more for those, `counting` those that count wins. Names
that end in _ are learned from the arms or the votes.

How it is kept equal. It shares no numerical code with the engine: links, solver, radii and search are written again here, for
clarity alone. Both draw the same random numbers in the same order. Where two pairs tie up to rounding either may be
played; `Choice.shortfall` says whether they do. Two things the engine does on its own account: from 256 arms on LocalPairUCB,
BestArmPair, RankingPair and RewardDesign search among good pairs, not all; above 128 dimensions a vote keeps its slope in the curvature.

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
from duelist.reference.pair_choice import Allowed, Choice
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
    "Allowed",
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
