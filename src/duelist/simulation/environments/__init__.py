"""Environments: one per file, and the registry of their names."""

from __future__ import annotations

from typing import Final

from duelist.simulation.environments import winners
from duelist.simulation.environments.base import Environment, Rounds, Truth, World, Worlds
from duelist.simulation.environments.custom_votes import CustomVotes
from duelist.simulation.environments.delayed_votes import DelayedVotes
from duelist.simulation.environments.fixed_arms import FixedArms
from duelist.simulation.environments.flipped_votes import FlippedVotes
from duelist.simulation.environments.hypercube import Hypercube
from duelist.simulation.environments.late_arms import LateArms
from duelist.simulation.environments.noiseless import Noiseless
from duelist.simulation.environments.preference_matrix import PreferenceMatrix
from duelist.simulation.environments.random_arms import RandomArms
from duelist.simulation.environments.raw_features import RawFeatures

__all__ = [
    "ENVIRONMENTS",
    "CustomVotes",
    "DelayedVotes",
    "Environment",
    "FixedArms",
    "FlippedVotes",
    "Hypercube",
    "LateArms",
    "Noiseless",
    "PreferenceMatrix",
    "RandomArms",
    "RawFeatures",
    "Rounds",
    "Truth",
    "World",
    "Worlds",
    "winners",
]

ENVIRONMENTS: Final[dict[str, type[Environment]]] = {
    cls.__name__: cls
    for cls in (
        Hypercube,
        FixedArms,
        RandomArms,
        RawFeatures,
        Noiseless,
        FlippedVotes,
        DelayedVotes,
        LateArms,
        PreferenceMatrix,
    )
}
