"""BestArmPair: the comparison that tells most about the leader and the arm that comes closest to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from duelist.compiled import compiled, compiled_apart, plain_int
from duelist.kernels.all_pairs import argmax, squared_widths
from duelist.kernels.many import MANY_ARMS
from duelist.kernels.pairs import widest_pair
from duelist.kernels.scratch import Scratch, last_decision, recall, remember
from duelist.links import get_link, slope
from duelist.policies._curvature import look_locally
from duelist.policies._local import LocalCurvature
from duelist.policies._rule import Decision, estimate_first, outdated, rule
from duelist.policies._state import Floats, Ints, State

_ENDS: Final = 64


class BestArmPairConfig(NamedTuple):
    """Settings of the BestArmPair rule."""

    link: int
    online: bool


@compiled
def nobody_leads(u: Floats) -> bool:
    """Whether all utilities are equal, as they are before the first vote."""
    lowest = u[0]
    for a in range(u.size):
        lowest = min(lowest, u[a])
    return lowest == u[argmax(u)]


@compiled
def closest_rival(u: Floats, v: Floats, leader: int, line: Floats) -> int:
    """The arm whose gap to the leader is the fewest standard deviations; -1: no arm differs from it."""
    squared_widths(v, leader, plain_int(0), line)
    rival, least = -1, math.inf
    for j in range(u.size):
        if line[j] > 0.0:
            distance = (u[leader] - u[j]) / math.sqrt(line[j])
            if distance < least:
                rival, least = j, distance
    return rival


@compiled
def project(v: Floats, leader: int, rival: int, out: Floats) -> None:
    """out_a = (x_leader - x_rival)' H^-1 x_a."""
    for a in range(out.size):
        out[a] = 0.0
    for k in range(v.shape[0]):
        row = v[k]
        part = row[leader] - row[rival]
        for a in range(out.size):
            out[a] += part * row[a]


@compiled
def lesson(link: int, gap: float, along: float, square: float) -> float:
    """By how much one more outcome of a pair shrinks the squared width of the leader and its rival."""
    chance = slope(link, gap)
    return chance * along * along / (1.0 + chance * square)


@compiled
def most_telling_pair(link: int, u: Floats, v: Floats, along: Floats, line: Floats) -> tuple[int, int]:
    """argmax over i < j of `lesson`; equal ones: the first."""
    first, second, best = plain_int(0), plain_int(0), -1.0
    for i in range(u.size - 1):
        for k in range(squared_widths(v, i, i + 1, line)):
            j = i + 1 + k
            value = lesson(link, u[i] - u[j], along[i] - along[j], line[k])
            if value > best:
                first, second, best = i, j, value
    return first, second


@compiled_apart
def most_telling_of_the_ends(link: int, u: Floats, v: Floats, along: Floats) -> tuple[int, int]:
    """`most_telling_pair` between the arms that lie farthest along, on either side."""
    order: Ints = np.argsort(along)
    first, second, best = order[0], order[-1], -1.0
    for i in order[:_ENDS]:
        for j in order[order.size - _ENDS :]:
            square = 0.0
            for k in range(v.shape[0]):
                square += (v[k, i] - v[k, j]) ** 2
            value = lesson(link, u[i] - u[j], along[i] - along[j], square)
            if value > best:
                first, second, best = i, j, value
    return min(first, second), max(first, second)


@rule(BestArmPairConfig)
def decide_best_arm_pair(config: BestArmPairConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """The pair whose outcome narrows most the width between the leader and its closest rival."""
    if recall(scratch, arms, 0.0):
        return last_decision(scratch)
    if outdated(state, 0):
        return estimate_first(0)
    u, v = look_locally(config, state, scratch, arms)
    n = u.size
    leader = argmax(u)
    rival = closest_rival(u, v, leader, scratch.line)
    if rival < 0:  # one arm, or equal ones
        return remember(scratch, 0, min(1, n - 1), 0, 1.0)
    if nobody_leads(u):
        i, j, _ = widest_pair(v, scratch.near, scratch)
        return remember(scratch, i, j, 0, 1.0)
    along = scratch.near_u[:n]
    project(v, leader, rival, along)
    if n >= MANY_ARMS:
        i, j = most_telling_of_the_ends(config.link, u, v, along)
    else:
        i, j = most_telling_pair(config.link, u, v, along, scratch.line)
    return remember(scratch, i, j, 0, 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class BestArmPair(LocalCurvature):
    """Best-arm identification: asks what decides, whatever it costs in regret.

    With H_t = ridge I + sum mu'(z_s . theta_hat) z_s z_s', the leader x = argmax x . theta_hat and its closest rival
    y = argmin_y (x - y) . theta_hat / |x - y|_{H_t^-1}, plays the pair with difference z = p - q that maximises

        mu'(z . theta_hat) ((x - y)' H_t^-1 z)^2 / (1 + mu'(z . theta_hat) |z|^2_{H_t^-1}),

    which is by how much its outcome shrinks |x - y|^2_{H_t^-1}: the two need not meet to be told apart. Ask
    `recommend` after any vote whether all rivals are ruled out, and stop then.

    The rule is the greedy one of LinGapE (Xu, Honda, Sugiyama 2018), with the slope of the link as in
    GLGapE (Kazerouni, Wein 2021), for comparisons. It is for finding the best arm with few votes, not for small regret: it
    shows bad arms whenever they teach more.

    Deviations
    ----------
    - The rival is the arm with the least lead in standard deviations, which needs no error rate; LinGapE takes the one with
      the largest upper confidence bound on its gap.
    - Before the first vote, and whenever the estimate is zero, the widest pair.
    - From 256 arms on, pairs of the 64 arms that lie farthest along (x - y)' H_t^-1 on one side with the 64 on the other.
    - With the one-pass estimator, and above 128 dimensions, a comparison keeps the slope it had when it was made.

    Cost a round: O(K^2 d) for the pairs, O(K d + K log K) from 256 arms on; O(n d^2) for the curvature with n distinct
    differences, and a solve.

    >>> import numpy as np
    >>> policy = BestArmPair(random_state=0)
    >>> for _ in range(40):
    ...     policy.tell(duel := policy.ask(np.eye(3)), float(duel.first < duel.second))
    >>> policy.recommend(np.eye(3)).best
    0
    """

    def make_config(self) -> Any:
        """The settings of the rule as numbers."""
        return BestArmPairConfig(get_link(self.link).code, self.online_)
