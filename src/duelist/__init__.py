"""duelist: contextual dueling bandits. Which two arms should people compare next?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duelist import policies, reference
    from duelist.core import errors
    from duelist.core.arms import ArmTable
    from duelist.core.duel import FIRST_WON, SECOND_WON, TIE, Duel
    from duelist.core.errors import DuelistError, InvalidInput, InvalidSnapshot, UnknownDuel
    from duelist.model.fit import Fit, fit_mle
    from duelist.model.links import Link, get_link
    from duelist.model.scorer import Scorer, load_scorer
    from duelist.model.stopping import Recommendation
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
        counting,
        make_policy,
        register_policy,
        restore_policy,
    )
    from duelist.policies.goals import policy_for
    from duelist.policies.pair_search import Pair, best_pair, widest_pair
    from duelist.research import datasets
    from duelist.simulation import environments
    from duelist.simulation.environments import Environment
    from duelist.simulation.runs import Runs
    from duelist.simulation.simulate import simulate
    from duelist.study import (
        AsyncStudy,
        HttpSystem,
        Outcome,
        Study,
        ask_live,
        backup_storage,
        copy_study,
        create_study,
        delete_study,
        list_studies,
        load_study,
        plan_study,
        restore_study,
    )

__version__ = "0.1.0"

_NAMES = {
    "core.arms": ("ArmTable",),
    "core.duel": ("FIRST_WON", "SECOND_WON", "TIE", "Duel"),
    "core.errors": ("DuelistError", "InvalidInput", "InvalidSnapshot", "UnknownDuel"),
    "model.fit": ("Fit", "fit_mle"),
    "model.links": ("Link", "get_link"),
    "model.scorer": ("Scorer", "load_scorer"),
    "model.stopping": ("Recommendation",),
    "policies": (
        "APO", "BestArmPair", "CoLSTIM", "DRTS", "DeltaUCB", "DesignPair", "FGTS", "GreedyChallenger", "GreedyUniform",
        "InfoMax", "LocalPairUCB", "MaxInP", "MaxMinLCB", "MaxPairUCB", "Policy", "RCDB", "RankingPair", "RewardDesign",
        "StaD", "SupCoLSTIM", "ThompsonPair", "UniformPair", "VACDB", "make_policy",
        "register_policy", "restore_policy",
    ),
    "policies.pair_search": ("Pair", "best_pair", "widest_pair"),
    "policies.goals": ("policy_for",),
    "simulation.environments": ("Environment",),
    "simulation.runs": ("Runs",),
    "simulation.simulate": ("simulate",),
    "study": (
        "AsyncStudy", "HttpSystem", "Outcome", "Study", "ask_live", "backup_storage", "copy_study", "create_study",
        "delete_study", "list_studies", "load_study", "plan_study", "restore_study",
    ),
}  # fmt: skip
"""The module that defines each public name."""

_MODULES = {
    "counting": "policies.counting",
    "datasets": "research.datasets",
    "environments": "simulation.environments",
    "errors": "core.errors",
    "policies": "policies",
    "reference": "reference",
}
"""Modules that are public under another name."""

_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "APO",
    "DRTS",
    "FGTS",
    "FIRST_WON",
    "RCDB",
    "SECOND_WON",
    "TIE",
    "VACDB",
    "ArmTable",
    "AsyncStudy",
    "BestArmPair",
    "CoLSTIM",
    "DeltaUCB",
    "DesignPair",
    "Duel",
    "DuelistError",
    "Environment",
    "Fit",
    "GreedyChallenger",
    "GreedyUniform",
    "HttpSystem",
    "InfoMax",
    "InvalidInput",
    "InvalidSnapshot",
    "Link",
    "LocalPairUCB",
    "MaxInP",
    "MaxMinLCB",
    "MaxPairUCB",
    "Outcome",
    "Pair",
    "Policy",
    "RankingPair",
    "Recommendation",
    "RewardDesign",
    "Runs",
    "Scorer",
    "StaD",
    "Study",
    "SupCoLSTIM",
    "ThompsonPair",
    "UniformPair",
    "UnknownDuel",
    "ask_live",
    "backup_storage",
    "best_pair",
    "copy_study",
    "counting",
    "create_study",
    "datasets",
    "delete_study",
    "environments",
    "errors",
    "fit_mle",
    "get_link",
    "list_studies",
    "load_scorer",
    "load_study",
    "make_policy",
    "plan_study",
    "policies",
    "policy_for",
    "reference",
    "register_policy",
    "restore_policy",
    "restore_study",
    "simulate",
    "widest_pair",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; lazy imports keep `import duelist` fast."""
    if name in _MODULES:
        value = import_module(f"duelist.{_MODULES[name]}")
    elif name in _MODULE_OF:
        value = getattr(import_module(f"duelist.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'duelist' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
