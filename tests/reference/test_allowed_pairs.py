"""`distinct` and `exclude` in the references, against brute force over all pairs of small tables.

Each rule is written again in plain loops over the estimate (theta, Sigma or H) of its layers.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.reference import REFERENCES
from duelist.reference.links import link_mean
from tests.helpers.policies.cited_rules import delta_ucb, design, info_max, max_min, reverse_thompson, widest
from tests.helpers.policies.tables import NEAR, Table, best, champions

NORMAL = NormalDist()
ALWAYS_DIFFERENT = (
    "UniformPair", "GreedyUniform", "BestArmPair", "DRTS", "DeltaUCB", "InfoMax", "DesignPair", "RankingPair", "RewardDesign",
)  # fmt: skip
"""Rules without self-duels, unless there is a single arm."""


# -- the rules ---------------------------------------------------------------------------


def max_pair(table: Table) -> list[tuple[int, int]]:
    beta = table.policy.beta()
    return best(table.pairs(), lambda i, j: table.u(i) + table.u(j) + beta * table.width(i, j))


def local_pair(table: Table) -> list[tuple[int, int]]:
    h, horizon = table.policy.layer(1).curvature, table.policy.horizon

    def worth(i: int, j: int) -> float:
        w, p = table.width(i, j, h), float(link_mean("logistic", table.u(i) - table.u(j)))
        slope = p * (1.0 - p)
        rounds = math.log1p(horizon * slope * w * w)
        return (
            table.u(i)
            + table.u(j)
            + w * math.sqrt(2.0 * 1.4 * (4.0 * slope) ** 0.2 * max(rounds - math.log1p(rounds), 0.0))
        )

    return best(table.pairs(), worth)


def max_in_p(table: Table) -> list[tuple[int, int]]:
    beta, everyone = table.policy.beta(), range(table.n)
    promising = {i for i in everyone if all(table.u(i) - table.u(j) + beta * table.width(i, j) >= 0 for j in everyone)}
    for least in (2, 1, 0):  # the arms of a pair that must be promising; a self-duel counts twice
        pairs = [(i, j) for i, j in table.pairs() if (i in promising) + (j in promising) >= least]
        if pairs:
            return best(pairs, table.width)
    raise AssertionError("no pair")


def greedy_challenger(table: Table) -> list[tuple[int, int]]:
    beta, everyone = table.policy.beta(), range(table.n)
    return champions(table, table.u, lambda i, j: table.u(j) + 2.0 * beta * table.width(i, j), everyone, everyone)


def perturbed(table: Table, arms: Sequence[int], matrix: Any, layer: int) -> dict[int, float]:
    """CoLSTIM's perturbed utilities, from the next random numbers."""
    d, horizon, t = table.arms.shape[1], table.policy.horizon, table.policy.rounds_ + 1
    chance = min(1.0, math.sqrt(d * math.log(d * horizon) / t))
    clip = math.sqrt(d * math.log(horizon))
    separate = table.draws.uniform() < chance
    shared = None if separate else table.draws.gumbel()
    noise = {i: table.draws.gumbel() if separate else shared for i in arms}
    return {i: table.u(i, layer) + max(-clip, min(clip, noise[i])) * table.norm(i, arms, matrix) for i in arms}


def colstim(table: Table) -> list[tuple[int, int]]:
    beta, everyone = table.policy.beta(), range(table.n)
    first = perturbed(table, everyone, table.policy.layer(1).precision, 1)
    return champions(table, lambda i: first[i], lambda i, j: table.u(j) + beta * table.width(i, j), everyone, everyone)


def thompson(table: Table) -> list[tuple[int, int]]:
    known, everyone = table.policy.layer(1), range(table.n)
    root = np.linalg.inv(np.linalg.cholesky(known.curvature).T)  # H = R'R

    def drawn() -> Any:
        return table.arms @ (known.theta + root @ [table.draws.normal() for _ in range(known.dim)])

    first, second = drawn(), drawn()
    found = champions(table, lambda i: first[i], lambda i, j: second[j], everyone, everyone)
    if table.policy.allow_self_duel:
        return found
    i = found[0][0]
    strangers = [(i, j) for j in everyone if table.legal(i, j) and (table.arms[i] != table.arms[j]).any()]
    if strangers:
        return best(strangers, lambda _, j: second[j])
    round_the_table = [(i + k) % table.n for k in range(1, table.n)]
    return [*[(i, j) for j in round_the_table if table.legal(i, j)], (i, i)][:1]


def uniform(table: Table) -> list[tuple[int, int]]:
    n = table.n
    if n == 1:
        return [(0, 0)]
    for _ in range(64):
        i = int(table.draws.uniform() * n)
        j = int(table.draws.uniform() * (n - 1))
        j += j >= i
        if table.legal(i, j):
            return [(i, j)]
    pairs = table.pairs(different=True)
    return [pairs[int(table.draws.uniform() * len(pairs))]]


def greedy_uniform(table: Table) -> list[tuple[int, int]]:
    if table.n == 1:
        return [(0, 0)]
    partners = {i: [j for j in range(table.n) if j != i and table.legal(i, j)] for i in range(table.n)}
    luck, top = table.draws.uniform(), max(table.u(i) for i, listed in partners.items() if listed)
    return [(i, p[int(luck * len(p))]) for i, p in partners.items() if p and table.u(i) >= top - NEAR]


def best_arm(table: Table) -> list[tuple[int, int]]:
    if table.n == 1:
        return [(0, 0)]
    h, pairs, u = table.policy.layer(1).curvature, table.pairs(different=True), [table.u(i) for i in range(table.n)]
    leader = u.index(max(u))
    rivals = [j for j in range(table.n) if (table.arms[j] != table.arms[leader]).any()]
    if not rivals:
        return pairs[:1]
    if max(u) == min(u):
        return best(pairs, lambda i, j: table.width(i, j, h))

    def cost(j: int) -> float:
        width = table.width(leader, j, h)
        return float(((u[leader] - u[j]) / width) ** 2 - 3.0 * math.log(width**2))

    rival = min(rivals, key=cost)

    def lesson(i: int, j: int) -> float:
        p = float(link_mean("logistic", u[i] - u[j]))
        along = (table.arms[leader] - table.arms[rival]) @ np.linalg.inv(h) @ (table.arms[i] - table.arms[j])
        return float(p * (1.0 - p) * along**2 / (1.0 + p * (1.0 - p) * table.width(i, j, h) ** 2))

    return best(pairs, lesson)


def ranking(table: Table) -> list[tuple[int, int]]:
    """The sum over all pairs, each before and after one more vote on (p, q)."""
    curvature, top = table.policy.layer(1).curvature, table.policy.top
    falling = sorted((table.u(i) for i in range(table.n)), reverse=True)

    def doubt(i: int, j: int) -> float:
        width = table.width(i, j, curvature)
        chance = NORMAL.cdf(-abs(table.u(i) - table.u(j)) / width)
        if top is not None and top < table.n - 1:
            above = max(table.u(i), table.u(j)) - (falling[top - 1] + falling[top]) / 2.0
            chance *= NORMAL.cdf(math.sqrt(2.0) * above / width)
        return chance

    open_pairs = [(i, j) for i in range(table.n) for j in range(i) if table.width(i, j, curvature) > 0.0]

    def order_information(p: int, q: int) -> float:
        z, chance = table.arms[p] - table.arms[q], float(link_mean("logistic", table.u(p) - table.u(q)))
        after = curvature + chance * (1.0 - chance) * np.outer(z, z)
        return sum(
            doubt(i, j) * (1.0 - (table.width(i, j, after) / table.width(i, j, curvature)) ** 2) for i, j in open_pairs
        )

    return [(0, 0)] if table.n == 1 else best(table.pairs(different=True), order_information)


def reward_design(table: Table) -> list[tuple[int, int]]:
    h, by_chance = table.policy.layer(1).curvature, table.draws.uniform() < table.policy.coverage
    if by_chance or table.n == 1:
        return uniform(table)

    def information(i: int, j: int) -> float:
        p = float(link_mean("logistic", table.u(i) - table.u(j)))
        return math.log(1.0 + p * (1.0 - p) * table.width(i, j, h) ** 2)

    return best(table.pairs(different=True), information)


def vacdb(table: Table) -> list[tuple[int, int]]:
    policy, remaining, ell = table.policy, set(range(table.n)), 1
    while True:
        layer = policy.layer(ell)
        wide = {
            (i, j): table.width(i, j, layer.precision) for i, j in table.pairs(different=True) if {i, j} <= remaining
        }
        if all(w <= policy.alpha for w in wide.values()):
            beta = policy.radii_[ell]
            for least in (2, 1, 0):
                pairs = [(i, j) for i, j in table.pairs() if (i in remaining) + (j in remaining) >= least]
                if pairs:
                    return best(
                        pairs,
                        lambda i, j, ell=ell, b=beta, m=layer.precision: (  # type: ignore[misc]
                            table.u(i, ell) + table.u(j, ell) + b * table.width(i, j, m)
                        ),
                    )
        if all(w <= 2.0**-ell for w in wide.values()):
            floor = max(table.u(i, ell) for i in remaining) - 2.0**-ell * policy.radii_[ell]
            remaining = {i for i in remaining if table.u(i, ell) >= floor}
            ell += 1
            continue
        wide = {pair: w for pair, w in wide.items() if w > 2.0**-ell}
        if policy.explore == "random":
            return [list(wide)[int(table.draws.uniform() * len(wide))]]
        if policy.explore == "widest":
            return best(list(wide), lambda i, j, wide=wide: wide[i, j])  # type: ignore[misc]
        return best(list(wide), lambda i, j, ell=ell: table.u(i, ell) + table.u(j, ell))  # type: ignore[misc]


def stagewise(table: Table) -> list[tuple[int, int]]:
    policy, remaining, s = table.policy, list(range(table.n)), 1
    everyone = list(range(table.n))
    while True:
        sigma, eta = policy.layer(s).precision, policy.eta(table.n, s)
        p = {
            (i, j): eta * table.width(i, j, sigma)
            for i, j in table.pairs(different=True)
            if i in remaining and j in remaining
        }
        if all(value <= 1.0 / math.sqrt(policy.horizon) for value in p.values()):
            break
        if any(value > 2.0**-s for value in p.values()):
            return best(list(p), lambda i, j, p=p: p[i, j])  # type: ignore[misc]
        top = max(table.u(i, s) for i in remaining)
        remaining = [i for i in remaining if table.u(i, s) + 2.0**-s >= top]
        s += 1
    for firsts, seconds in ((remaining, remaining), (remaining, everyone), (everyone, everyone)):
        if any(table.legal(i, j) for i in firsts for j in seconds):
            break
    plain = type(policy).__name__ == "StaD"
    first = {i: table.u(i, s) for i in firsts} if plain else perturbed(table, firsts, sigma, s)
    second = lambda i, j: table.u(j, s) + eta * table.width(i, j, sigma)  # noqa: E731
    return champions(table, lambda i: first[i], second, firsts, seconds)


CASES: list[tuple[str, dict[str, Any], Callable[[Table], list[tuple[int, int]]]]] = [
    ("MaxPairUCB", {"radius": 0.7}, max_pair),
    ("RCDB", {"radius": 0.7}, max_pair),
    ("LocalPairUCB", {"horizon": 100}, local_pair),
    ("MaxInP", {"radius": 0.5}, max_in_p),
    ("GreedyChallenger", {"radius": 0.3}, greedy_challenger),
    ("CoLSTIM", {"horizon": 100}, colstim),
    ("CoLSTIM", {"horizon": 100, "warmup": 1000}, uniform),
    ("ThompsonPair", {}, thompson),
    ("ThompsonPair", {"allow_self_duel": False}, thompson),
    ("UniformPair", {}, uniform),
    ("GreedyUniform", {}, greedy_uniform),
    ("BestArmPair", {}, best_arm),
    ("RankingPair", {}, ranking),
    ("RankingPair", {"top": 2}, ranking),
    ("RewardDesign", {}, reward_design),
    ("RewardDesign", {"coverage": 0.0}, reward_design),
    ("MaxMinLCB", {"radius": 0.5}, max_min),
    ("MaxMinLCB", {"horizon": 100}, max_min),
    ("DRTS", {"scale": 2.0}, reverse_thompson),
    ("DeltaUCB", {}, delta_ucb),
    ("InfoMax", {"scale": 2.0}, info_max),
    ("DesignPair", {}, design),
    ("DesignPair", {"criterion": "A"}, design),
    ("APO", {}, widest),
    ("VACDB", {"alpha": 0.4, "scale": 3.0}, vacdb),
    ("VACDB", {"alpha": 0.4, "scale": 0.1, "explore": "widest"}, vacdb),
    ("VACDB", {"alpha": 0.4, "scale": 0.1, "explore": "random"}, vacdb),
    ("StaD", {"horizon": 16, "scale": 0.3}, stagewise),
    ("SupCoLSTIM", {"horizon": 16, "scale": 0.3}, stagewise),
]


def next_numbers(policy: Any) -> list[float]:
    draws = copy.deepcopy(policy.draws)
    return [draws.uniform() for _ in range(3)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "settings", "brute_force"), CASES)
def test_the_pair_is_the_best_allowed_one(
    name: str, settings: dict[str, Any], brute_force: Callable[[Table], list[tuple[int, int]]], seed: int
) -> None:
    rng = np.random.default_rng([seed, 15])
    policy, truth = REFERENCES[name](random_state=seed, **settings), rng.normal(size=2)
    policy.tell(policy.ask(rng.normal(size=(4, 2))), 1)
    refused = constrained = 0
    never_itself = name in ALWAYS_DIFFERENT or settings.get("warmup")
    for _ in range(70):
        arms = rng.normal(size=(int(rng.integers(1, 6)), 2)) * rng.choice([0.05, 0.5, 1.0])
        if rng.random() < 0.2:
            arms = np.repeat(arms, 2, axis=0)[:5]
        chance, n = rng.choice([0.0, 0.3, 0.6, 0.9]), len(arms)
        exclude = [(j, i) for i in range(n) for j in range(n) if i < j and rng.random() < chance]
        table = Table(
            policy._adapted_to(arms),
            arms,
            bool(rng.random() < 0.5),
            {frozenset(p) for p in exclude},
            copy.deepcopy(policy.draws),
        )
        asked = {"distinct": table.distinct, "exclude": exclude}
        if not table.pairs(different=bool(never_itself and n > 1)):
            before = policy.rounds_, next_numbers(policy)
            with pytest.raises(dl.InvalidInput, match="No pair is left to ask"):
                policy.ask(arms, **asked)
            assert (policy.rounds_, next_numbers(policy)) == before
            refused += 1
            continue
        expected = brute_force(table)
        duel = policy.ask(arms, **asked)
        assert table.legal(*duel)
        assert tuple(duel) in expected
        assert next_numbers(policy) == [table.draws.uniform() for _ in range(3)] or not uses_luck(name, settings)
        constrained += bool(exclude)
        policy.tell(duel, float(rng.random() < link_mean("logistic", (arms[duel.first] - arms[duel.second]) @ truth)))
    assert refused > 0
    assert constrained > 20


def uses_luck(name: str, settings: dict[str, Any]) -> bool:
    drawing = ("UniformPair", "GreedyUniform", "CoLSTIM", "SupCoLSTIM", "ThompsonPair", "DRTS", "RewardDesign")
    return name in drawing or "random" in str(settings)


# -- ties and edge cases -----------------------------------------------------------------

PAIR_RULES = ("MaxPairUCB", "RCDB", "LocalPairUCB", "MaxInP", "VACDB", "APO")
CHAMPION_RULES = ("GreedyChallenger", "StaD", "ThompsonPair", "MaxMinLCB")


@pytest.mark.parametrize("name", [*PAIR_RULES, *CHAMPION_RULES])
def test_of_equal_arms_the_first_one_meets_itself_or_the_next(name: str) -> None:
    equal = np.ones((4, 2))
    assert tuple(REFERENCES[name](random_state=0).ask(equal, distinct=False)) == (0, 0)
    assert tuple(REFERENCES[name](random_state=0).ask(equal)) == (0, 1)
    assert tuple(REFERENCES[name](random_state=0).ask(equal, exclude=[(1, 0)])) == (0, 2)
    out = [(0, 1), (0, 2), (3, 0)]
    assert tuple(REFERENCES[name](random_state=0).ask(equal, exclude=out)) == (1, 2)
    assert tuple(REFERENCES[name](random_state=0).ask(equal, distinct=False, exclude=out)) == (0, 0)


@pytest.mark.parametrize(
    ("name", "settings", "draws"), [("CoLSTIM", {"ridge": 1.0}, True), ("CoLSTIM", {}, False), ("SupCoLSTIM", {}, True)]
)
def test_a_champion_of_equal_arms_meets_itself(name: str, settings: dict[str, Any], draws: bool) -> None:
    """As published, the draw decides which; rules that use distances alone take the first arm."""
    duels = [REFERENCES[name](random_state=s, **settings).ask(np.ones((4, 2)), distinct=False) for s in range(20)]
    assert all(duel.is_self_duel for duel in duels)
    assert (len({duel.first for duel in duels}) > 1) == draws


@pytest.mark.parametrize("name", ["BestArmPair", "DeltaUCB", "InfoMax", "DesignPair"])
def test_of_equal_arms_the_first_allowed_pair_is_asked(name: str) -> None:
    for distinct in (True, False):
        policy = REFERENCES[name](random_state=0)
        assert tuple(policy.ask(np.ones((3, 2)), distinct=distinct)) == (0, 1)
        assert tuple(policy.ask(np.ones((3, 2)), distinct=distinct, exclude=[(0, 1), (0, 2)])) == (1, 2)


def test_tie_break_keys_decide_among_equal_arms() -> None:
    for distinct in (True, False):
        policy = REFERENCES["RankingPair"](random_state=0)
        assert tuple(policy.ask(np.ones((3, 2)), distinct=distinct)) in {(0, 1), (0, 2), (1, 2)}
        assert tuple(policy.ask(np.ones((3, 2)), distinct=distinct, exclude=[(0, 1), (0, 2)])) == (1, 2)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_single_arm_meets_itself(name: str) -> None:
    for distinct in (True, False):
        assert tuple(REFERENCES[name](random_state=0).ask(np.ones((1, 2)), distinct=distinct)) == (0, 0)
        assert tuple(REFERENCES[name](random_state=0).ask(np.ones((1, 2)), distinct=distinct, exclude=[(0, 0)])) == (
            0,
            0,
        )


@pytest.mark.parametrize("name", REFERENCES)
def test_an_error_is_raised_when_all_pairs_are_excluded(name: str) -> None:
    policy = REFERENCES[name](random_state=0)
    with pytest.raises(dl.InvalidInput, match="No pair is left to ask: 3 arms, 3 pairs excluded"):
        policy.ask(np.eye(3), exclude=[(0, 1), (1, 2), (2, 0)])
    assert policy.rounds_ == 0
    policy.tell(policy.ask(np.ones((2, 5))), 1)  # not even the number of features is set


@pytest.mark.parametrize("name", REFERENCES)
def test_every_pair_can_be_asked_until_none_is_left(name: str) -> None:
    policy, arms = REFERENCES[name](random_state=0, horizon=64), np.random.default_rng(0).normal(size=(5, 3))
    out: set[frozenset[int]] = set()
    for _ in range(10):
        duel = policy.ask(arms, exclude=out)
        assert not duel.is_self_duel
        assert frozenset(duel) not in out
        out.add(frozenset(duel))
    with pytest.raises(dl.InvalidInput, match="No pair is left"):
        policy.ask(arms, exclude=out)


def test_uniform_pair_gives_up_drawing_after_64_times() -> None:
    # One pair of 600 arms is allowed: 64 draws find it for one in 2,800 seeds.
    n = 600
    exclude = [(i, j) for i in range(n) for j in range(i) if (j, i) != (3, 7)]
    policy = REFERENCES["UniformPair"](random_state=0)
    assert tuple(policy.ask(np.zeros((n, 1)), exclude=exclude)) == (3, 7)
    same = REFERENCES["UniformPair"](random_state=0).draws
    used = [same.uniform() for _ in range(129)]  # two numbers per draw, and one for the list
    assert next_numbers(policy)[0] == same.uniform()
    assert len(used) == 129
