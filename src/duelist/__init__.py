"""duelist: which two should I show next? Contextual dueling bandits."""

from duelist import environments, policies
from duelist.domain import FIRST_WON, SECOND_WON, TIE, Duel
from duelist.errors import DuelistError, InvalidInput, InvalidSnapshot, UnknownDuel
from duelist.estimation import Fit, fit_mle
from duelist.links import Link, get_link
from duelist.policies import (
    RCDB,
    VACDB,
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
    "environments",
    "fit_mle",
    "get_link",
    "make_policy",
    "policies",
    "restore_policy",
    "simulate",
    "widest_pair",
]
