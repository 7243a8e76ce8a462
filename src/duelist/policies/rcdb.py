"""RCDB: votes count for less the less was known about them, so that a few bad ones do little harm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from numpy.typing import ArrayLike

from duelist import radius as radii
from duelist.compiled import compiled
from duelist.kernels.linalg import width_of
from duelist.kernels.pairs import best_pair
from duelist.kernels.scratch import Scratch, last_decision, recall, remember
from duelist.policies._checks import check_positive
from duelist.policies._ledger import difference_for
from duelist.policies._radius_policy import RadiusPolicy, flat_radius
from duelist.policies._rule import Decision, estimate_first, look_at_all, outdated, rule
from duelist.policies._state import Floats, State


class RCDBConfig(NamedTuple):
    """Settings of the RCDB rule; a trust of 0 stands for sqrt(d) / `corruption`, a corruption of 0 for sqrt(T)."""

    link: int
    online: bool
    horizon: int
    kind: int
    factor: float
    delta: float
    trust: float
    corruption: float


@compiled
def trusted_width(config: RCDBConfig, state: State, dim: int) -> float:
    """The width up to which a vote of this round counts in full."""
    if config.trust > 0.0:
        return config.trust
    horizon = radii.effective_horizon(config.horizon, state.rounds[0])
    return math.sqrt(dim) / (config.corruption if config.corruption > 0.0 else math.sqrt(horizon))


@rule(RCDBConfig)
def decide_rcdb(config: RCDBConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """MaxPairUCB's pair, with weight min(1, trust / width)."""
    dim = arms.shape[1]
    radius = flat_radius(config, state, dim)
    trust = trusted_width(config, state, dim)
    # Where the radius is a constant, only the trust tells that a guessed horizon has moved on.
    if recall(scratch, arms, trust if config.kind == radii.CONSTANT else radius):
        return last_decision(scratch)
    if outdated(state, 0):
        return estimate_first(0)
    u, v = look_at_all(state, scratch, arms)
    i, j, _ = best_pair(u, v, radius, scratch)
    square = 0.0
    for k in range(dim):
        square += (v[k, i] - v[k, j]) ** 2
    weight = 1.0 if square <= trust * trust else trust / math.sqrt(square)
    return remember(scratch, i, j, 0, weight)


@dataclass(kw_only=True, eq=False, repr=False)
class RCDB(RadiusPolicy):
    """Robust contextual dueling bandit (Di, He, Gu 2024, "... from Adversarial Feedback", Algorithm 1).

    Plays the pair of MaxPairUCB,

        argmax_{x, y in A_t} (x + y) . theta_hat + beta |x - y|_{Sigma_t^-1},

    and learns its outcome with the weight w_t = min(1, trust / |x - y|_{Sigma_t^-1}), which multiplies its loss in the
    estimate and its share of Sigma_t = ridge I + sum w_s z_s z_s'. An outcome about a pair of which little is known
    could move the estimate far; its weight keeps any single vote, honest or not, from doing so.

    Parameters
    ----------
    trust
        The width up to which a vote counts in full (alpha in the paper). None: sqrt(d) / corruption, as published.
    corruption
        The number C of adversarial votes to withstand. None: sqrt(T), as published for an unknown C.

    Deviations: the radius is a free scale times sqrt(d log T), as for the comparators; the precision and the
    estimate share one ridge.

    Cost a round: that of MaxPairUCB.

    >>> import numpy as np
    >>> policy = RCDB(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    trust: float | None = None
    corruption: float | None = None

    config_class: ClassVar[type[Any]] = RCDBConfig

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("trust", "corruption"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))

    def place(self, difference: ArrayLike) -> tuple[int, float]:
        """The one estimator, with the weight that the rule would give this difference now."""
        z, state = difference_for(self, difference), self._fitted()
        trust, width = trusted_width(self._config, state, z.size), width_of(state.factor[0], z)
        return 0, 1.0 if width <= trust else trust / width

    def make_config(self) -> RCDBConfig:
        """The settings of the rule as numbers."""
        return RCDBConfig(*self.radius_config(), float(self.trust or 0.0), float(self.corruption or 0.0))
