"""duelist: which two should I show next? Contextual dueling bandits."""

from importlib import import_module
from typing import Any

from duelist import environments, policies
from duelist.domain import FIRST_WON, SECOND_WON, TIE, Duel
from duelist.errors import DuelistError, InvalidInput, InvalidSnapshot, UnknownDuel
from duelist.estimation import Fit, fit_mle
from duelist.links import Link, get_link
from duelist.policies import (
    RCDB,
    VACDB,
    BestArmPair,
    CoLSTIM,
    GreedyChallenger,
    GreedyUniform,
    LocalPairUCB,
    MaxInP,
    MaxPairUCB,
    Policy,
    StaD,
    SupCoLSTIM,
    ThompsonPair,
    UniformPair,
    make_policy,
    restore_policy,
)
from duelist.runs import Runs
from duelist.selection import Pair, best_pair, widest_pair
from duelist.simulation import simulate

__version__ = "0.1.0"

__all__ = [
    "FIRST_WON",
    "RCDB",
    "SECOND_WON",
    "TIE",
    "VACDB",
    "BestArmPair",
    "CoLSTIM",
    "Duel",
    "DuelistError",
    "Fit",
    "GreedyChallenger",
    "GreedyUniform",
    "InvalidInput",
    "InvalidSnapshot",
    "Link",
    "LocalPairUCB",
    "MaxInP",
    "MaxPairUCB",
    "Pair",
    "Policy",
    "Runs",
    "StaD",
    "SupCoLSTIM",
    "ThompsonPair",
    "UniformPair",
    "UnknownDuel",
    "best_pair",
    "create_study",
    "delete_study",
    "environments",
    "fit_mle",
    "get_link",
    "list_studies",
    "load_study",
    "make_policy",
    "policies",
    "reference",
    "restore_policy",
    "simulate",
    "widest_pair",
]

_OF_STUDIES = ("create_study", "delete_study", "list_studies", "load_study")


def __getattr__(name: str) -> Any:
    """Studies bring a database library along, the references SciPy; who does not use them does not wait for them."""
    if name == "reference":
        return import_module("duelist.reference")
    if name in _OF_STUDIES:
        return getattr(import_module("duelist.study"), name)
    raise AttributeError(f"module 'duelist' has no attribute {name!r}")
