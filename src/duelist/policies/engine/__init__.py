"""The Python side of the native engine: one opaque state, one rule interface, one round.

The engine is C++ (`native/` in the sources), compiled into the module `duelist.native`. What crosses the border is small: a
`Rule` made of a policy's settings, a `State` made for the first arms, and a `Player`, which is a rule, a state and
the duels that are out. A live `ask` and `tell`, a batch of contexts and a simulated run play the same round with them.

Policies are built on `NativePolicy`; on `LocalCurvature`, where widths are those of the curvature at the estimate; and on
`RadiusPolicy`, where they have a confidence radius.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path

from duelist import native
from duelist.core.duel import Duel
from duelist.policies.engine.batch import Batch
from duelist.policies.engine.native_policy import LocalCurvature, NativePolicy
from duelist.policies.engine.prior import Prior
from duelist.policies.engine.radius_policy import LayeredPolicy, RadiusPolicy, mean_variance

__all__ = [
    "Batch",
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
    """Changes whenever the results of policies could: checksums of the engine, and of the settings that policies hand it."""
    package = Path(__file__).parents[2]
    files = [
        Path(str(native.__file__)),
        *sorted((package / "policies").rglob("*.py")),
    ]
    return tuple((file.name.partition(".")[0], zlib.crc32(file.read_bytes())) for file in files)
