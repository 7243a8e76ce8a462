"""LocalPairUCB: the best pair, with widths in the curvature at the estimate and bonuses that know when to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from duelist import radius as radii
from duelist.compiled import compiled
from duelist.errors import InvalidInput
from duelist.kernels.local_pairs import best_local_pair
from duelist.kernels.pairs import best_pair
from duelist.kernels.scratch import Scratch, last_decision, recall, remember
from duelist.policies._curvature import look_locally
from duelist.policies._local import LocalCurvature
from duelist.policies._radius_policy import RadiusConfig, RadiusPolicy
from duelist.policies._rule import Decision, estimate_first, outdated, rule
from duelist.policies._state import Floats, Memory, State


class LocalPairUCBConfig(RadiusConfig):
    """Settings of the LocalPairUCB rule."""


@compiled
def log_loss_radius(config: LocalPairUCBConfig, state: State, dim: int) -> float:
    """The published radius of this round: see `radius.log_loss`."""
    reach = math.sqrt(state.units[0])
    return radii.log_loss(dim, state.rounds[0], state.bound[0], reach, state.ridge[0], config.delta)


@rule(LocalPairUCBConfig)
def decide_local_pair_ucb(config: LocalPairUCBConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """argmax over pairs of (x + y) . theta + bonus(x, y)."""
    horizon = radii.effective_horizon(config.horizon, state.rounds[0])
    radius = config.factor
    if config.kind == radii.THEORY:
        radius *= log_loss_radius(config, state, arms.shape[1])
    key = horizon if config.kind == radii.SHAPE else radius
    if recall(scratch, arms, key):
        return last_decision(scratch)
    if outdated(state, 0):
        return estimate_first(0)
    u, v = look_locally(config, state, scratch, arms)
    if config.kind == radii.SHAPE:
        i, j = best_local_pair(u, v, config.link, 2.0 * config.factor, horizon, scratch)
    else:
        i, j, _ = best_pair(u, v, radius, scratch)
    return remember(scratch, i, j, 0, 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class LocalPairUCB(LocalCurvature, RadiusPolicy):
    """Maximum pair upper confidence bound in the local curvature.

    With H_t = ridge I + sum mu'(z_s . theta_hat) z_s z_s', W = |x - y|_{H_t^-1} and D = (x - y) . theta_hat, plays

        argmax_{x, y in A_t}  (x + y) . theta_hat + W sqrt(2 c (mu'(D) / mu'(0))^(1/5) (L - log(1 + L))),

        L = log(1 + T mu'(D) W^2),    c = 1.4 scale.

    The rule is that of MaxPairUCB (Di et al. 2024, sections 4.4 and 6). The widths are weighted by variance through the
    slope, the idea of VACDB without its layers. 1 / (mu' W^2) comparisons would teach what is known about the
    pair, and L is the logarithm of the rounds there are for each of them. The bonus has the shape of the boundary that is
    optimal for one comparison with an end in sight (Anscombe 1963; Lai 1987: 2 log x - log log x - constant): a pair about
    which little is known keeps a large one, so an early streak of luck rarely locks the policy in on a wrong arm; a pair
    compared as often as the horizon can repay costs nothing more. The power of the slope: where outcomes are nearly certain, a
    few votes say more than the curvature at the estimate admits. `docs/bonus.md` compares bonuses.

    Parameters
    ----------
    horizon
        T. None: the next power of two above t, so the bonus of a pair that is not asked grows with time.
    radius
        "practical": the bonus above. "theory": beta_t W with the radius of the log-loss confidence set,
        `radius.log_loss` with S = `theta_bound`, which holds in all rounds at once with probability 1 - delta and
        needs no kappa. A number: that number times W.
    scale
        Multiplies c, or the radius. 1.5: fewer unlucky runs, for more regret on average (`docs/frontier.md`).

    Deviations
    ----------
    - The log-loss set is proved for the estimate constrained to |theta| <= S; here the estimate has a ridge,
      whose bias sqrt(ridge) S is added.
    - From 256 arms on, the best of some good pairs is played, found by searches that prune: all pairs of the leading arm,
      and the winners for several single radii (`kernels.local_pairs`).
    - With the one-pass estimator, and above 128 dimensions, a comparison keeps the slope it had when it was made.
    - An arm may meet itself, as the argmax allows, and then nothing is learned.

    Cost a round: O(K^2 d) for the pairs at worst, O(n d^2) for the curvature with n distinct differences, and a solve.

    >>> import numpy as np
    >>> policy = LocalPairUCB(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    >>> policy.curvature_.shape
    (3, 3)
    """

    practical_multiplier: ClassVar[float] = 1.4
    config_class: ClassVar[type[RadiusConfig]] = LocalPairUCBConfig

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius == "experiment":
            raise InvalidInput(
                "radius 'experiment' belongs to the comparators; LocalPairUCB takes 'practical', 'theory', or a number"
            )

    def make_memory(self, words: NDArray[np.uint64], arms: Floats) -> Memory:
        """One estimator a run; for the published radius, also the largest difference that its first arms allow."""
        memory = super().make_memory(words, arms)
        reach = np.linalg.norm(arms - arms.mean(axis=1, keepdims=True), axis=2).max(axis=1)
        for run in range(len(memory.core)):
            memory.state(run).units[0] = (2.0 * reach[run]) ** 2
        return memory
