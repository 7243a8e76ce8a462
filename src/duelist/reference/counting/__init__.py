"""The algorithms that count wins once more, in plain NumPy: what the fast ones are held to.

Start with a policy's `choose(table)`, which names the duel of a round, and its `hear`, which says how a vote moves what it knows;
`counting` has ask and tell, confidence bounds and random numbers.

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
    "CLASSIC_REFERENCES",
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

CLASSIC_REFERENCES: Final[dict[str, type[CountingReference]]] = {
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
