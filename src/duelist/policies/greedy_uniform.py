"""GreedyUniform: the arm that looks best against a random one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.kernels.all_pairs import argmax
from duelist.kernels.linalg import as_columns, utilities
from duelist.kernels.random import below
from duelist.kernels.scratch import Scratch
from duelist.kernels.views import as_matrix
from duelist.policies._base import CompiledConfig, CompiledPolicy
from duelist.policies._rule import Decision, estimate_first, outdated, rule
from duelist.policies._state import Floats, State


class GreedyUniformConfig(CompiledConfig):
    """Settings of the GreedyUniform rule."""


@rule(GreedyUniformConfig)
def decide_greedy_uniform(config: GreedyUniformConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """First the arm with the largest utility, then any other arm."""
    n, dim = arms.shape
    if outdated(state, 0):
        return estimate_first(0)
    u = scratch.u[:n]
    v = as_matrix(scratch.v, dim, n)
    as_columns(arms, v)
    utilities(state.theta[0], v, u)
    i = argmax(u)
    if n == 1:
        return i, i, 0, 1.0
    j = below(state.words, n - 1)
    return i, j + 1 if j >= i else j, 0, 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyUniform(CompiledPolicy):
    """Greedy first arm, uniformly random second (a baseline of the authors' experiments).

    Plays x_t = argmax_x x . theta_hat and y_t uniform over the other arms. Its regret grows
    linearly, since every other arm shown is random; it is what "show the best, test at
    random" costs.

    Cost a round: O(K d) for the decision, O(n d^2) a Newton step with n distinct differences.

    >>> import numpy as np
    >>> policy = GreedyUniform(random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    config_class: ClassVar[type[CompiledConfig]] = GreedyUniformConfig
    uses_randomness: ClassVar[bool] = True
