"""UniformPair: two different arms, uniformly at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.kernels.random import below
from duelist.kernels.scratch import Scratch
from duelist.policies._base import CompiledConfig, CompiledPolicy
from duelist.policies._rule import Decision, rule
from duelist.policies._state import Floats, State


class UniformPairConfig(CompiledConfig):
    """Settings of the UniformPair rule."""


@rule(UniformPairConfig)
def decide_uniform_pair(config: UniformPairConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """An ordered pair of different arms, each with the same chance."""
    n = arms.shape[0]
    if n == 1:
        return 0, 0, 0, 1.0
    i = below(state.words, n)
    j = below(state.words, n - 1)
    return i, j + 1 if j >= i else j, 0, 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class UniformPair(CompiledPolicy):
    """Uniformly random pairs: the baseline that only explores.

    Plays (x, y) uniform over ordered pairs of different arms; a single arm meets itself. It
    learns like the others, so `theta_` is the estimate from unbiased duels.

    Cost a round: O(1); the estimate is solved only when read.

    >>> import numpy as np
    >>> i, j = UniformPair(random_state=0).ask(np.eye(4))
    >>> i != j
    True
    """

    config_class: ClassVar[type[CompiledConfig]] = UniformPairConfig
    uses_randomness: ClassVar[bool] = True
