"""One world, one file; the registry that tools iterate over."""

from __future__ import annotations

from typing import Final

from duelist.environments import winners
from duelist.environments._base import Environment, Rounds, Truth, World, Worlds
from duelist.environments.delayed_votes import DelayedVotes
from duelist.environments.fixed_arms import FixedArms
from duelist.environments.flipped_votes import FlippedVotes
from duelist.environments.hypercube import Hypercube
from duelist.environments.late_arms import LateArms
from duelist.environments.noiseless import Noiseless
from duelist.environments.preference_matrix import PreferenceMatrix
from duelist.environments.random_arms import RandomArms
from duelist.environments.raw_features import RawFeatures

__all__ = [
    "ENVIRONMENTS",
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
