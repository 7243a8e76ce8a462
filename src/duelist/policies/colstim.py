"""CoLSTIM: imitate the feedback to choose the first arm, challenge it with the second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from duelist import radius as radii
from duelist.errors import InvalidInput
from duelist.kernels.random import below
from duelist.kernels.scratch import Scratch
from duelist.policies._checks import check_positive
from duelist.policies._perturbation import coin_chance, perturbed_pair
from duelist.policies._radius_policy import RadiusPolicy, flat_radius
from duelist.policies._rule import Decision, estimate_first, look_at_all, outdated, rule
from duelist.policies._state import Floats, State


class CoLSTIMConfig(NamedTuple):
    """Settings of the CoLSTIM rule; a clip of 0 stands for sqrt(d log T), a warm-up of -1 for d K."""

    link: int
    online: bool
    horizon: int
    kind: int
    factor: float
    delta: float
    clip: float
    warmup: int


@rule(CoLSTIMConfig)
def decide_colstim(config: CoLSTIMConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """Uniform pairs during the warm-up, then the randomised pair."""
    n, dim = arms.shape
    t = state.rounds[0]
    warmup = config.warmup if config.warmup >= 0 else dim * n
    if t <= warmup and n > 1:
        i = below(state.words, n)
        j = below(state.words, n - 1)
        return i, j + 1 if j >= i else j, 0, 1.0
    if outdated(state, 0):
        return estimate_first(0)
    u, v = look_at_all(state, scratch, arms)
    horizon = radii.effective_horizon(config.horizon, t)
    clip = config.clip if config.clip > 0.0 else radii.practical(dim, horizon)
    bonus = flat_radius(config, state, dim)
    i, j = perturbed_pair(config.link, state.words, u, v, coin_chance(dim, horizon, t), clip, bonus, scratch)
    return i, j, 0, 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class CoLSTIM(RadiusPolicy):
    """Contextual linear stochastic transitivity imitation (Bengs, Saha, Huellermeier, ICML 2022).

    Flips B ~ Bernoulli(p_t), p_t = min(1, sqrt(d log(dT) / t)); draws eps_i ~ G for every arm if B = 1,
    one eps for all if B = 0, clipped to [-C, C]; then plays

        i = argmax_i x_i . theta_hat + eps_i |x_i|_{Sigma^-1},
        j = argmax_j x_j . theta_hat + c |x_j - x_i|_{Sigma^-1}.

    G is the Gumbel distribution for the logistic link and the normal for probit; for the
    exponential link, whose noise the paper leaves open, Gumbel is used.

    Parameters
    ----------
    radius, scale
        c. "practical" is the published c = sqrt(d log T).
    clip
        C; None: sqrt(d log T), as published.
    warmup
        Uniform rounds at the start; None: d K with K the arms of the round, as published. The default 0 follows the
        experiments of Di et al. 2024, where the ridge stands in for it.

    Deviations: the ridge; the coin of the authors' code of Di et al. has the branches the other way
    round, this follows the original paper.

    Cost a round: O(K d^2) for the decision, O(n d^2) a Newton step with n distinct differences.

    >>> import numpy as np
    >>> policy = CoLSTIM(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    clip: float | None = None
    warmup: int | None = 0

    uses_randomness: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.clip is not None:
            check_positive("clip", self.clip)
        whole = isinstance(self.warmup, (int, np.integer)) and not isinstance(self.warmup, bool)
        if self.warmup is not None and not (whole and self.warmup >= 0):
            raise InvalidInput(f"warmup is {self.warmup!r}; give a number of rounds, or None for d K of them")

    def make_config(self) -> CoLSTIMConfig:
        """The settings of the rule as numbers."""
        warmup = -1 if self.warmup is None else int(self.warmup)
        return CoLSTIMConfig(*self.radius_config(), clip=float(self.clip or 0.0), warmup=warmup)
