"""Policies with arm effects: the engine against the references, and both against explicit features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.policies import POLICIES
from duelist.policies.engine import arm_effects
from duelist.reference import REFERENCES
from duelist.reference.arm_table_policies import ARM_TABLE_REFERENCES, ArmTableReference
from duelist.reference.links import link_mean

NEAR_TIE = 1e-9
NAMES = sorted(ARM_TABLE_REFERENCES)
LINKS = ("logistic", "probit", "exponential")


class World:
    """Arms whose features explain part of their utilities; late and weighted votes, ties; some arms join late."""

    def __init__(self, seed: int, n: int, dim: int, link: str) -> None:
        self.rng = np.random.default_rng([seed, n, dim])
        self.numbers = self.rng.permutation(2 * n)[:n]
        self.features = self.rng.normal(size=(n, dim)) * 3.0 ** np.arange(dim)
        scaled = self.features / 3.0 ** np.arange(dim)
        self.utility = self.rng.normal(size=n) + scaled @ self.rng.normal(size=dim)
        self.link, self.n = link, n

    def table(self, t: int) -> dl.ArmTable:
        n = self.n if t >= 20 else max(self.n // 2, 2)
        return dl.ArmTable(self.numbers[:n], self.features[:n] if self.features.shape[1] else None)

    def vote(self, pair: tuple[int, int]) -> tuple[float, float]:
        chance = float(link_mean(self.link, self.utility[pair[0]] - self.utility[pair[1]]))
        outcome = 0.5 if self.rng.random() < 0.15 else float(self.rng.random() < chance)
        return outcome, float(self.rng.choice([0.5, 1.0, 1.0, 2.0]))

    def exclude(self, n: int) -> list[tuple[int, int]]:
        if self.rng.random() < 0.5:
            return []
        pairs = self.rng.integers(n, size=(3, 2)).tolist()
        return [(i, j) for i, j in pairs if i != j]


def play(
    policy: Any, reference: ArmTableReference, world: World, rounds: int, distinct: bool = True
) -> list[tuple[int, int]]:
    """Check that both choose the same pairs, up to rounding; some outcomes arrive late or never."""
    waiting: list[Any] = []
    played = []
    for t in range(rounds):
        table = world.table(t)
        allowed = {"distinct": distinct, "exclude": world.exclude(len(table)) if len(table) > 4 else []}
        duel = policy.ask(table, **allowed)
        pair = duel.first, duel.second
        choice = reference.decide(table, **allowed)
        assert pair == choice.pair or choice.shortfall(*pair) <= NEAR_TIE, (
            t,
            pair,
            choice.pair,
            choice.shortfall(*pair),
        )
        waiting.append((duel, reference.commit(table, choice, pair), *world.vote(pair)))
        played.append(pair)
        while len(waiting) > world.rng.integers(1, 5):
            mine, same, outcome, weight = waiting.pop(int(world.rng.integers(len(waiting))))
            policy.tell(mine, outcome, weight)
            reference.tell(same, outcome, weight)
    assert_same_knowledge(policy, reference, world.table(rounds))
    return played


def assert_same_knowledge(policy: Any, reference: ArmTableReference, table: dl.ArmTable) -> None:
    assert reference.effects_ is not None
    mine, same = (
        policy.posterior(table, range(len(table))),
        reference.effects_.posterior(table),
    )
    np.testing.assert_allclose(policy._effects.state.log_weights, reference.effects_.log_weights, atol=1e-8)
    np.testing.assert_allclose(mine.utilities, same.u, atol=1e-9)
    np.testing.assert_allclose(mine.variances, same.variance, atol=1e-10)
    np.testing.assert_allclose(mine.covariances, same.covariance, atol=1e-10)
    assert_same_squares(policy, reference, table, 1e-10)


def assert_same_squares(policy: Any, reference: ArmTableReference, table: dl.ArmTable, relative: float) -> None:
    assert reference.effects_ is not None
    state = policy._effects.state
    squares = [state.squared_widths(state.best, table.ids, table.features, arm) for arm in range(len(table))]
    width = reference.effects_.best.adapted_to(table.features).posterior(table).width
    np.testing.assert_allclose(squares, width**2, rtol=relative, atol=1e-10)


def twins(name: str, **settings: Any) -> tuple[Any, ArmTableReference]:
    shared = {"random_state": 3, **settings}
    return POLICIES[name](estimator="online", **shared), ARM_TABLE_REFERENCES[name](**shared)


@pytest.mark.parametrize("dim", [0, 3])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", NAMES)
def test_few_arms(name: str, link: str, dim: int) -> None:
    played = play(*twins(name, link=link, horizon=200), World(1, 9, dim, link), 70)
    assert len(set(played)) > 5


@pytest.mark.parametrize("dim", [0, 3])
@pytest.mark.parametrize("name", NAMES)
def test_more_arms_than_are_searched(name: str, dim: int) -> None:
    played = play(*twins(name, ridge=0.5), World(2, 100, dim, "logistic"), 40)
    assert len({k for pair in played for k in pair}) > 8


@pytest.mark.parametrize("dim", [0, 3])
@pytest.mark.parametrize("top", [None, 5])
def test_more_arms_than_are_ranked(dim: int, top: int | None) -> None:
    played = play(*twins("RankingPair", top=top), World(7, 140, dim, "logistic"), 45)
    assert len({k for pair in played for k in pair}) > (60 if top is None else 10)


@pytest.mark.parametrize("dim", [0, 3])
@pytest.mark.parametrize("link", LINKS)
def test_top_of_few_arms(link: str, dim: int) -> None:
    played = play(*twins("RankingPair", link=link, top=2), World(6, 9, dim, link), 70)
    assert len(set(played)) > 5


@pytest.mark.parametrize("dim", [0, 2])
@pytest.mark.parametrize("name", NAMES)
def test_more_arms_than_the_block_holds(name: str, dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a block of six arms, those that leave it keep mean and variance."""
    monkeypatch.setattr(arm_effects, "BLOCK", 6)
    policy, reference = twins(name)
    reference.block = 6
    play(policy, reference, World(3, 30, dim, "logistic"), 120)
    assert reference.effects_ is not None
    assert len(reference.effects_.best.index) > 12


@pytest.mark.parametrize("n", [9, 100])
@pytest.mark.parametrize("dim", [0, 3])
def test_a_optimal_design(dim: int, n: int) -> None:
    played = play(*twins("DesignPair", criterion="A", ridge=0.7), World(7, n, dim, "logistic"), 60)
    assert len(set(played)) > 5


def test_radius_as_a_number_and_self_duels() -> None:
    played = play(*twins("LocalPairUCB", radius=0.7, scale=0.5), World(4, 8, 2, "logistic"), 60, distinct=False)
    assert any(i == j for i, j in played)


@pytest.mark.parametrize("name", NAMES)
def test_a_single_allowed_pair_is_found(name: str) -> None:
    """Every rule finds the single allowed pair among a hundred arms."""
    policy, reference = twins(name)
    world = World(5, 100, 0, "logistic")
    table = world.table(50)
    for _ in range(12):
        duel = policy.ask(table)
        same = reference.commit(table, reference.decide(table), (duel.first, duel.second))
        policy.tell(duel, 1.0)
        reference.tell(same, 1.0)
    everything = [(i, j) for i in range(100) for j in range(i)]
    for left in [(99, 98), (50, 3), (1, 0)]:
        exclude = [pair for pair in everything if pair != left]
        duel = policy.ask(table, exclude=exclude)
        assert {duel.first, duel.second} == set(left) == set(reference.decide(table, exclude=exclude).pair)


@pytest.mark.parametrize("dim", [0, 2])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("LocalPairUCB", {}),
        ("RewardDesign", {"random_state": 0}),
        ("DesignPair", {}),
        ("DesignPair", {"criterion": "A"}),
    ],
)
def test_arm_effects_equal_one_feature_per_arm(name: str, settings: dict[str, Any], dim: int) -> None:
    """References without arm effects play the same with one indicator feature per arm."""
    n, ridge = 14, 0.8
    rng = np.random.default_rng(dim)
    features = rng.normal(size=(n, dim)) * [1.0, 40.0][:dim]
    scaled = features / np.sqrt(max(dim, 1) * features.var(axis=0))
    by_hand = np.concatenate([scaled, np.eye(n)], axis=1)
    policy = POLICIES[name](estimator="online", ridge=ridge, horizon=150, **settings)
    smaller = (
        {"scale": 1.0 / 1.4} if name == "LocalPairUCB" else {}
    )  # its constant is 1.4 without arm effects, and 1 with them
    reference = REFERENCES[name](estimator="online", ridge=ridge, horizon=150, **settings, **smaller)
    table = dl.ArmTable(n, features if dim else None)
    for _ in range(90):
        duel = policy.ask(table)
        choice = reference.decide(by_hand)
        pair = duel.first, duel.second
        assert pair == choice.pair or choice.shortfall(*pair) <= NEAR_TIE
        outcome = float(rng.random() < 1.0 / (1.0 + np.exp(pair[0] / 4.0 - pair[1] / 4.0)))
        policy.tell(duel, outcome)
        reference.tell(reference.commit(by_hand, choice, pair), outcome)
    known = reference.layer(1)
    np.testing.assert_allclose(policy.posterior(table).utilities, by_hand @ known.theta, atol=1e-8)
    middle = np.sort(scaled, axis=0)[(n - 1) // 2]  # variances are relative to an arm with the median of each feature
    off = by_hand - np.concatenate([middle, np.zeros(n)])
    covariance = off @ np.linalg.inv(known.curvature) @ off.T
    np.testing.assert_allclose(policy.posterior(table, range(n)).covariances, covariance, atol=1e-8)


def test_pending_duels_reduce_the_covariance() -> None:
    """Against rank-one updates of the inverse for two duels on different arms."""
    policy = dl.LocalPairUCB(estimator="online", radius=1.0)
    table = dl.ArmTable(4)
    policy.initialize(table)
    # Equal utilities and widths sqrt(2): the first pair. While it is pending its width is smaller, and another arm is next.
    assert policy.suggest(table)[:2] == (0, 1)
    assert policy.suggest(table, [(table[[0, 1]], 0, 1.0)])[:2] == (2, 3)
    # Pending 2.5 times as often as the second pair, which is therefore still wider.
    out = [(table[[0, 1]], 0, 2.5), (table[[2, 3]], 0, 1.0)]
    shrunk = {(0, 1): 2.0 / (1.0 + 0.25 * 2.5 * 2.0), (2, 3): 2.0 / (1.0 + 0.25 * 2.0)}
    half = {pair: 0.5 * (2.0 + square) / 2.0 for pair, square in shrunk.items()}  # variances of the arms
    across = half[0, 1] + half[2, 3]
    widest = max([*shrunk, (0, 2)], key=lambda pair: shrunk.get(pair, across))
    assert policy.suggest(table, out)[:2] == widest


@pytest.mark.parametrize("far", [1e6, 1e8, 1e10])
@pytest.mark.parametrize("name", ["LocalPairUCB", "RewardDesign"])
def test_late_arms_far_from_the_others(name: str, far: float) -> None:
    """Widths between far arms are as exact as those between near ones."""
    for seed in range(10):
        policy, reference = twins(name, random_state=seed)
        world = World(seed, 8, 3, "logistic")
        world.features[6:, 0] += far
        for t in range(21):  # the far arms join in the last round
            table = world.table(t) if t == 20 else dl.ArmTable(world.numbers[:6], world.features[:6])
            duel, choice = policy.ask(table), reference.decide(table)
            pair = duel.first, duel.second
            assert pair == choice.pair or choice.shortfall(*pair) <= 1e-15 * far, (t, choice.shortfall(*pair))
            outcome, weight = world.vote(pair)
            if t == 20:
                assert_same_squares(policy, reference, table, 1e-15 * far)
            policy.tell(duel, outcome, weight)
            reference.tell(reference.commit(table, choice, pair), outcome, weight)


# -- atypical first arms -------------------------------------------------------------------


def shown(kind: str, features: Any, t: int) -> Any:
    """The features of a round; the first ones are atypical."""
    middle = features.mean(axis=0)
    if kind == "huge":
        return middle + (100.0 if t < 2 else 1.0) * (features - middle)
    if kind == "nearly alike":
        return middle + (1e-3 if t < 2 else 1.0) * (features - middle)
    if kind == "the same":
        return np.where(t < 2, middle, features)
    if kind == "constant at first":
        return np.where((t < 6) & (np.arange(features.shape[1]) == 1), 0.1, features)
    return np.column_stack([features[:, :-1], np.full(len(features), 0.1)])


@pytest.mark.parametrize("kind", ["huge", "nearly alike", "the same", "constant at first", "constant for ever"])
@pytest.mark.parametrize("name", NAMES)
def test_feature_scales_agree(name: str, kind: str) -> None:
    for seed in range(3):
        policy, reference = twins(name, horizon=100)
        rng, world, waiting = np.random.default_rng(seed), World(seed, 8, 3, "logistic"), []
        for t in range(30):
            table = dl.ArmTable(8, shown(kind, world.features, t))
            duel, choice = policy.ask(table), reference.decide(table)
            pair = duel.first, duel.second
            assert pair == choice.pair or choice.shortfall(*pair) <= NEAR_TIE, (t, choice.shortfall(*pair))
            waiting.append((duel, reference.commit(table, choice, pair), *world.vote(pair)))
            while len(waiting) > 2:
                mine, same, outcome, weight = waiting.pop(int(rng.integers(len(waiting))))
                policy.tell(mine, outcome, weight)
                reference.tell(same, outcome, weight)
        assert_same_knowledge(policy, reference, table)
