"""The rules of published policies in plain loops, for `test_allowed_pairs.py`."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from duelist.reference.links import link_mean
from tests.helpers.policies.tables import Table, best, champions


def max_min(table: Table) -> list[tuple[int, int]]:
    reach, everyone = 0.25 * table.policy.beta(), range(table.n)

    def chance(i: int, j: int) -> float:
        return 1.0 / (1.0 + math.exp(table.u(j) - table.u(i)))

    def lower(i: int, j: int) -> float:
        return chance(i, j) - reach * table.width(i, j)

    plausible = [i for i in everyone if all(chance(i, j) + reach * table.width(i, j) >= 0.5 for j in everyone)]
    for leaders, followers in ((plausible, plausible), (plausible, everyone), (everyone, everyone)):
        partners: dict[int, list[int]] = {i: [j for j in followers if table.legal(i, j)] for i in leaders}
        found = champions(
            table,
            lambda i, met=partners: min(lower(i, j) for j in met[i]),  # type: ignore[misc]
            lambda i, j: -lower(i, j),
            leaders,
            followers,
        )
        if found:
            return found
    raise AssertionError("no pair")


def bounds(table: Table) -> tuple[list[float], list[float]]:
    """The utility of each arm, and the distance of its bounds."""
    h, centre = table.policy.layer(1).curvature, table.arms.mean(axis=0)
    off = [arm - centre for arm in table.arms]
    spread = [table.policy.scale * math.sqrt(max(float(x @ np.linalg.inv(h) @ x), 0.0)) for x in off]
    return [table.u(i) for i in range(table.n)], spread


def both_ways(table: Table) -> list[tuple[int, int]]:
    return [(i, j) for i, j in product(range(table.n), repeat=2) if i != j and table.legal(i, j)]


def delta_ucb(table: Table) -> list[tuple[int, int]]:
    if table.n == 1:
        return [(0, 0)]
    u, s = bounds(table)
    return best(both_ways(table), lambda i, j: (u[i] + s[i]) - (u[j] - s[j]))


def info_max(table: Table) -> list[tuple[int, int]]:
    if table.n == 1:
        return [(0, 0)]
    u, s = bounds(table)

    def gap(i: int, j: int) -> float:
        high, low = u[i] + s[i] - (u[j] - s[j]), u[i] - s[i] - (u[j] + s[j])
        return 1.0 / (1.0 + math.exp(-high)) - 1.0 / (1.0 + math.exp(-low))

    return best(table.pairs(different=True), gap)


def reverse_thompson(table: Table) -> list[tuple[int, int]]:
    if table.n == 1:
        return [(0, 0)]
    (u, s), pairs = bounds(table), both_ways(table)

    def drawn(sign: float) -> list[float]:
        return [sign * u[i] + s[i] * (2.0 * table.draws.uniform() - 1.0) for i in range(table.n)]

    scores = drawn(1.0)
    first = max({i for i, _ in pairs}, key=lambda i: (scores[i], -i))
    for _ in range(30):
        scores = drawn(-1.0)
        second = scores.index(max(scores))
        if (first, second) in pairs:
            return [(first, second)]
    partners = [j for i, j in pairs if i == first]
    return [(first, partners[int(table.draws.uniform() * len(partners))])]


def design(table: Table) -> list[tuple[int, int]]:
    """Rank pairs by det H, or by the sum of variances, after adding the pair to H."""
    if table.n == 1:
        return [(0, 0)]
    h, off = table.policy.layer(1).curvature, table.arms - table.arms.mean(axis=0)

    def worth(i: int, j: int) -> float:
        p, z = float(link_mean("logistic", table.u(i) - table.u(j))), table.arms[i] - table.arms[j]
        after = h + p * (1.0 - p) * np.outer(z, z)
        if table.policy.criterion == "D":
            return float(np.linalg.slogdet(after)[1])
        return -float(np.trace(off @ np.linalg.inv(after) @ off.T))

    return best(table.pairs(different=True), worth)


def widest(table: Table) -> list[tuple[int, int]]:
    return best(table.pairs(), table.width)
