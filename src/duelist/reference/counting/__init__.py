"""The policies that count wins, in plain NumPy: the definition against which the fast ones are tested.

Start with a policy's `choose(candidates)`, which returns the pair of a round, and `update`, which learns a vote. `base`
has ask and tell, confidence bounds and random numbers.

>>> policy = RUCB(random_state=0)
>>> policy.tell(policy.ask(6), 1)
>>> float(policy.wins.sum())
1.0
"""

from __future__ import annotations

from typing import Final

from duelist.reference.counting.base import CountingReference
from duelist.reference.counting.beat_the_mean import BeatTheMean
from duelist.reference.counting.borda_elimination import BordaElimination
from duelist.reference.counting.ccb import CCB
from duelist.reference.counting.dts import DTS, DTSPlus
from duelist.reference.counting.interleaved_filter import InterleavedFilter
from duelist.reference.counting.merge import MergeDTS, MergeRUCB
from duelist.reference.counting.rmed import RMED1, RMED2, RMED2FH
from duelist.reference.counting.rucb import RUCB
from duelist.reference.counting.winner_stays import WSS, WSW

__all__ = [
    "CCB",
    "COUNTING_REFERENCES",
    "DTS",
    "RMED1",
    "RMED2",
    "RMED2FH",
    "RUCB",
    "WSS",
    "WSW",
    "BeatTheMean",
    "BordaElimination",
    "CountingReference",
    "DTSPlus",
    "InterleavedFilter",
    "MergeDTS",
    "MergeRUCB",
]

COUNTING_REFERENCES: Final[dict[str, type[CountingReference]]] = {
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
