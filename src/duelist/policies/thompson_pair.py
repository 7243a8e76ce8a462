"""ThompsonPair: two draws from the posterior, and the best arm of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled
from duelist.errors import InvalidInput
from duelist.kernels.all_pairs import argmax
from duelist.kernels.random import normal, uniform
from duelist.kernels.scratch import Scratch
from duelist.links import get_link
from duelist.policies._checks import check_positive, is_number
from duelist.policies._curvature import look_locally
from duelist.policies._local import LocalCurvature
from duelist.policies._rule import Decision, estimate_first, outdated, rule
from duelist.policies._state import Floats, State


class ThompsonPairConfig(NamedTuple):
    """Settings of the ThompsonPair rule."""

    link: int
    online: bool
    spread: float
    feel_good: float
    allow_self_duel: bool


@compiled
def draw_utilities(
    words: NDArray[np.uint64], u: Floats, v: Floats, spread: float, noise: Floats, drawn: Floats
) -> None:
    """drawn_a = x_a . theta~ with theta~ = theta_hat + spread R^-1 eps, R'R = H: x . R^-1 eps = (R'^-1 x) . eps."""
    for k in range(noise.size):
        noise[k] = spread * normal(words)
    for a in range(u.size):
        drawn[a] = u[a]
    for k in range(noise.size):
        row = v[k]
        for a in range(u.size):
            drawn[a] += noise[k] * row[a]


@compiled
def draw_feeling_good(config: ThompsonPairConfig, state: State, u: Floats, v: Floats, scratch: Scratch) -> None:
    """Utilities of one draw, into scratch.line; draws that promise a better best arm are likelier.

    A draw is kept with chance exp(-feel_good (C - max_a drawn_a)), where C is the largest promise of eight draws: the
    feel-good factor exp(feel_good max_a x_a . theta) of this round, by rejection.
    """
    n = u.size
    drawn, best = scratch.line[:n], scratch.near_u[:n]
    draw_utilities(state.words, u, v, config.spread, scratch.step, drawn)
    if config.feel_good == 0.0:
        return
    promise = drawn[argmax(drawn)]
    for a in range(n):
        best[a] = drawn[a]
    for _ in range(7):
        draw_utilities(state.words, u, v, config.spread, scratch.step, drawn)
        other = drawn[argmax(drawn)]
        # One of two draws by their weights, and so on: each of the eight is left with chance by its weight.
        total = max(promise, other) + math.log1p(math.exp(-config.feel_good * abs(promise - other))) / config.feel_good
        if math.log(1.0 - uniform(state.words)) < config.feel_good * (other - total):
            for a in range(n):
                best[a] = drawn[a]
        promise = total
    for a in range(n):
        drawn[a] = best[a]


@rule(ThompsonPairConfig)
def decide_thompson_pair(config: ThompsonPairConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """The best arm of one draw against the best arm of another."""
    if outdated(state, 0):
        return estimate_first(0)
    u, v = look_locally(config, state, scratch, arms)
    drawn = scratch.line[: u.size]
    draw_feeling_good(config, state, u, v, scratch)
    first = argmax(drawn)
    draw_feeling_good(config, state, u, v, scratch)
    if not config.allow_self_duel:
        drop_equals(arms, first, drawn)
    second = argmax(drawn)
    if drawn[second] == -math.inf:  # all arms are equal
        second = (first + 1) % u.size
    return first, second, 0, 1.0


@compiled
def drop_equals(arms: Floats, first: int, drawn: Floats) -> None:
    """Take the first arm, and arms with the same features, out of the running."""
    for a in range(drawn.size):
        same = True
        for k in range(arms.shape[1]):
            if arms[a, k] != arms[first, k]:
                same = False
                break
        if same:
            drawn[a] = -math.inf


@dataclass(kw_only=True, eq=False, repr=False)
class ThompsonPair(LocalCurvature):
    """Two draws from the Laplace posterior (double Thompson sampling for contextual duels).

    Draws theta_1, theta_2 independently from N(theta_hat, scale^2 H^-1) with
    H = ridge I + sum mu'(z_s . theta_hat) z_s z_s', exactly, through the factor of H, and plays

        x_t = argmax_x x . theta_1,    y_t = argmax_y y . theta_2.

    With `feel_good` > 0 the draws are those of FGTS.CDB (Li, Zhao, Gu 2024): the posterior is multiplied by
    exp(feel_good max_a x_a . theta), which favours parameters that promise more.

    Parameters
    ----------
    scale
        Multiplies the standard deviation of the draws.
    feel_good
        Weight of the feel-good term; 0: none.
    allow_self_duel
        False: the second arm is the best of its draw among arms whose features differ from the first's. A single
        arm, or equal arms, still have nobody else to meet.

    Deviations
    ----------
    - FGTS.CDB sums the feel-good term over all past rounds and draws by Langevin dynamics; here it is that of the
      present round, and one of eight Laplace draws is taken with chance proportional to its factor.

    Cost a round: O(K d) a draw, O(n d^2) for the curvature with n distinct differences, and a solve.

    >>> import numpy as np
    >>> policy = ThompsonPair(random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """

    scale: float = 1.0
    feel_good: float = 0.0
    allow_self_duel: bool = True

    uses_randomness: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("scale", self.scale)
        if not is_number(self.feel_good) or not 0.0 <= self.feel_good < np.inf:
            raise InvalidInput(f"feel_good is {self.feel_good!r}; give a finite number of at least 0")
        if not isinstance(self.allow_self_duel, (bool, np.bool_)):
            raise InvalidInput(f"allow_self_duel is {self.allow_self_duel!r}; give True or False")

    def make_config(self) -> Any:
        """The settings of the rule as numbers."""
        code = get_link(self.link).code
        return ThompsonPairConfig(
            code, self.online_, float(self.scale), float(self.feel_good), bool(self.allow_self_duel)
        )
