"""The adapter between policies and the native engine.

The engine (`native/` in the sources) is compiled into the module `duelist.native`. A policy makes a `SelectionRule`
from its settings and a `PolicyState` for its first arms. A `LivePolicy` holds rule, state and pending duels. Live
policies, batches of contexts and simulated runs play the same rounds.

Policies derive from `NativePolicy`; from `LocalCurvature` if widths use the curvature at the estimate; from
`RadiusPolicy` if they have a confidence radius; and from `LayeredPolicy` if they have layers, each with its own data.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path

from duelist import native
from duelist.core.duel import Duel
from duelist.policies.engine.arm_effects import DecidingModel
from duelist.policies.engine.batch import Batch
from duelist.policies.engine.native_policy import LocalCurvature, NativePolicy
from duelist.policies.engine.prior import Prior
from duelist.policies.engine.radius_policy import LayeredPolicy, RadiusPolicy, mean_variance

__all__ = [
    "Batch",
    "DecidingModel",
    "LayeredPolicy",
    "LocalCurvature",
    "NativePolicy",
    "Prior",
    "RadiusPolicy",
    "code_stamp",
    "mean_variance",
]

native.set_duel_class(Duel)


@cache
def code_stamp() -> tuple[tuple[str, int], ...]:
    """Return checksums of the engine and of the policies, which change whenever their results could."""
    package = Path(__file__).parents[2]
    files = [
        Path(str(native.__file__)),
        *sorted((package / "policies").rglob("*.py")),
    ]
    return tuple((file.name.partition(".")[0], zlib.crc32(file.read_bytes())) for file in files)
