"""duelist: which two should I show next? Contextual dueling bandits."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duelist import classic, datasets, environments, policies, reference
    from duelist.classic import (
        CCB,
        DTS,
        RMED1,
        RMED2,
        RMED2FH,
        RUCB,
        WSS,
        WSW,
        BeatTheMean,
        BordaElimination,
        DTSPlus,
        InterleavedFilter,
        MergeDTS,
        MergeRUCB,
    )
    from duelist.domain import FIRST_WON, SECOND_WON, TIE, Duel
    from duelist.errors import DuelistError, InvalidInput, InvalidSnapshot, UnknownDuel
    from duelist.estimation import Fit, fit_mle
    from duelist.free_arms import FreeArms
    from duelist.jobs import policy_for
    from duelist.links import Link, get_link
    from duelist.policies import (
        APO,
        DRTS,
        FGTS,
        RCDB,
        VACDB,
        BestArmPair,
        CoLSTIM,
        DeltaUCB,
        DesignPair,
        GreedyChallenger,
        GreedyUniform,
        InfoMax,
        LocalPairUCB,
        MaxInP,
        MaxMinLCB,
        MaxPairUCB,
        Policy,
        RankingPair,
        RewardDesign,
        StaD,
        SupCoLSTIM,
        ThompsonPair,
        UniformPair,
        make_policy,
        restore_policy,
    )
    from duelist.runs import Runs
    from duelist.scorer import Scorer, load_scorer
    from duelist.selection import Pair, best_pair, widest_pair
    from duelist.simulation import simulate
    from duelist.study import (
        backup_storage,
        copy_study,
        create_study,
        delete_study,
        list_studies,
        load_study,
        restore_study,
    )

__version__ = "0.1.0"

_HOMES = {
    "classic": "",
    "datasets": "",
    "environments": "",
    "policies": "",
    "reference": "",
    **dict.fromkeys(("FIRST_WON", "SECOND_WON", "TIE", "Duel"), "domain"),
    **dict.fromkeys(("DuelistError", "InvalidInput", "InvalidSnapshot", "UnknownDuel"), "errors"),
    **dict.fromkeys(("Fit", "fit_mle"), "estimation"),
    "FreeArms": "free_arms",
    "policy_for": "jobs",
    **dict.fromkeys(("Link", "get_link"), "links"),
    **dict.fromkeys(
        (
            "RCDB", "VACDB", "BestArmPair", "CoLSTIM", "GreedyChallenger", "GreedyUniform", "LocalPairUCB", "MaxInP",
            "MaxPairUCB", "Policy", "RankingPair", "RewardDesign", "StaD", "SupCoLSTIM", "ThompsonPair", "UniformPair", "make_policy",
            "restore_policy",
        ),
        "policies",
    ),
    **dict.fromkeys(("APO", "DRTS", "FGTS", "DeltaUCB", "DesignPair", "InfoMax", "MaxMinLCB"), "policies"),
    **dict.fromkeys(
        (
            "CCB", "DTS", "RMED1", "RMED2", "RMED2FH", "RUCB", "WSS", "WSW", "BeatTheMean", "BordaElimination", "DTSPlus",
            "InterleavedFilter", "MergeDTS", "MergeRUCB",
        ),
        "classic",
    ),
    "Runs": "runs",
    **dict.fromkeys(("Scorer", "load_scorer"), "scorer"),
    **dict.fromkeys(("Pair", "best_pair", "widest_pair"), "selection"),
    "simulate": "simulation",
    **dict.fromkeys(
        (
            "backup_storage", "copy_study", "create_study", "delete_study", "list_studies", "load_study", "restore_study",
        ),
        "study",
    ),
}  # fmt: skip
"""Where each public name lives; "": it is a room itself."""

__all__ = [
    "APO",
    "CCB",
    "DRTS",
    "DTS",
    "FGTS",
    "FIRST_WON",
    "RCDB",
    "RMED1",
    "RMED2",
    "RMED2FH",
    "RUCB",
    "SECOND_WON",
    "TIE",
    "VACDB",
    "WSS",
    "WSW",
    "BeatTheMean",
    "BestArmPair",
    "BordaElimination",
    "CoLSTIM",
    "DTSPlus",
    "DeltaUCB",
    "DesignPair",
    "Duel",
    "DuelistError",
    "Fit",
    "FreeArms",
    "GreedyChallenger",
    "GreedyUniform",
    "InfoMax",
    "InterleavedFilter",
    "InvalidInput",
    "InvalidSnapshot",
    "Link",
    "LocalPairUCB",
    "MaxInP",
    "MaxMinLCB",
    "MaxPairUCB",
    "MergeDTS",
    "MergeRUCB",
    "Pair",
    "Policy",
    "RankingPair",
    "RewardDesign",
    "Runs",
    "Scorer",
    "StaD",
    "SupCoLSTIM",
    "ThompsonPair",
    "UniformPair",
    "UnknownDuel",
    "backup_storage",
    "best_pair",
    "classic",
    "copy_study",
    "create_study",
    "datasets",
    "delete_study",
    "environments",
    "fit_mle",
    "get_link",
    "list_studies",
    "load_scorer",
    "load_study",
    "make_policy",
    "policies",
    "policy_for",
    "reference",
    "restore_policy",
    "restore_study",
    "simulate",
    "widest_pair",
]


def __getattr__(name: str) -> Any:
    """Each name is loaded when it is first used: who only simulates does not wait for a database library."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'duelist' has no attribute {name!r}")
    found = import_module(f"duelist.{home or name}")
    value = getattr(found, name) if home else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
