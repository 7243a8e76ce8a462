"""The algorithms the field cites, for arms without features: each counts who won how often against whom.

Settings and docstrings are here, the rules in `native/counting/`, and each once more in plain NumPy in `duelist.reference.classic`.

>>> policy = RUCB(random_state=0)
>>> duel = policy.ask(6)  # six arms; or `FreeArms`, or a table whose rows are counted
>>> policy.tell(duel, 1)
>>> float(policy.wins_.sum())
1.0
"""

from __future__ import annotations

from typing import Final

from duelist.classic.beat_the_mean import BeatTheMean
from duelist.classic.borda_elimination import BordaElimination
from duelist.classic.ccb import CCB
from duelist.classic.counting_policy import CountingPolicy
from duelist.classic.dts import DTS, DTSPlus
from duelist.classic.interleaved_filter import InterleavedFilter
from duelist.classic.merge import MergeDTS, MergeRUCB
from duelist.classic.rmed import RMED1, RMED2, RMED2FH
from duelist.classic.rucb import RUCB
from duelist.classic.winner_stays import WSS, WSW

__all__ = [
    "CCB",
    "CLASSIC",
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

CLASSIC: Final[dict[str, type[CountingPolicy]]] = {
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
"""The policies that count wins, by name."""
