"""Counting policies: the cited algorithms for arms without features, which count who won against whom.

Settings and docstrings are here, the rules in `native/counting/`, and each rule again in plain NumPy in
`duelist.reference.counting`.

>>> policy = RUCB(random_state=0)
>>> duel = policy.ask(6)  # six arms; or an `ArmTable`, or features whose rows are counted
>>> policy.tell(duel, 1)
>>> float(policy.wins_.sum())
1.0
"""

from __future__ import annotations

from typing import Final

from duelist.policies.counting.beat_the_mean import BeatTheMean
from duelist.policies.counting.borda_elimination import BordaElimination
from duelist.policies.counting.ccb import CCB
from duelist.policies.counting.counting_policy import CountingPolicy
from duelist.policies.counting.dts import DTS, DTSPlus
from duelist.policies.counting.interleaved_filter import InterleavedFilter
from duelist.policies.counting.merge import MergeDTS, MergeRUCB
from duelist.policies.counting.rmed import RMED1, RMED2, RMED2FH
from duelist.policies.counting.rucb import RUCB
from duelist.policies.counting.winner_stays import WSS, WSW

__all__ = [
    "CCB",
    "COUNTING_POLICIES",
    "DTS",
    "RMED1",
    "RMED2",
    "RMED2FH",
    "RUCB",
    "WSS",
    "WSW",
    "BeatTheMean",
    "BordaElimination",
    "CountingPolicy",
    "DTSPlus",
    "InterleavedFilter",
    "MergeDTS",
    "MergeRUCB",
]

COUNTING_POLICIES: Final[dict[str, type[CountingPolicy]]] = {
    cls.__name__: cls
    for cls in (
        RUCB,
        DTS,
        DTSPlus,
        RMED1,
        RMED2,
        RMED2FH,
        CCB,
        WSW,
        WSS,
        BeatTheMean,
        InterleavedFilter,
        MergeRUCB,
        MergeDTS,
        BordaElimination,
    )
}
"""The counting policies by name."""
