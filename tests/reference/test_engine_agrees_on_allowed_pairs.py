"""Fast policies against their references with `distinct` and `exclude`, duel for duel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.reference import REFERENCES
from tests.helpers.policies.reference_play import ESTIMATORS, LINKS, Game, assert_same_estimates, same_duel, twins
from tests.helpers.policies.worlds import World

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in REFERENCES),
    ("MaxInP", {"radius": 0.5}),
    ("MaxPairUCB", {"radius": 0.3}),
    ("LocalPairUCB", {"radius": "theory", "scale": 0.1}),
    ("GreedyChallenger", {"radius": 0.3}),
    ("CoLSTIM", {"warmup": 20, "horizon": 100}),
    ("ThompsonPair", {"allow_self_duel": False}),
    ("ThompsonPair", {"feel_good": 1.0}),
    ("RankingPair", {"top": 2}),
    ("RewardDesign", {"coverage": 0.0}),
    ("MaxMinLCB", {"radius": 0.3}),
    ("DesignPair", {"criterion": "A"}),
    ("DeltaUCB", {"scale": 3.0}),
    ("VACDB", {"alpha": 0.4, "scale": 3.0}),
    ("VACDB", {"alpha": 0.4, "scale": 0.1, "explore": "widest"}),
    ("VACDB", {"alpha": 0.4, "scale": 0.1, "explore": "random"}),
    ("StaD", {"horizon": 16, "scale": 0.3}),
    ("SupCoLSTIM", {"horizon": 16, "scale": 0.3}),
]
NEVER_ITSELF = (
    "UniformPair", "GreedyUniform", "BestArmPair", "CoLSTIM", "DRTS", "DeltaUCB", "InfoMax", "DesignPair", "RankingPair", "RewardDesign",
)  # fmt: skip
"""Rules that raise an error if only self-duels are left (CoLSTIM during its warm-up)."""


def some_pairs(rng: Any, n: int, keep_one: bool) -> list[tuple[int, int]]:
    """Pairs to exclude: none, some, most or all."""
    chance = rng.choice([0.0, 0.3, 0.6, 0.9, 1.0])
    pairs = [(i, j) for i in range(n) for j in range(n) if i < j]
    excluded = [(i, j) if rng.choice([-1, 1]) == 1 else (j, i) for i, j in pairs if rng.random() < chance]
    return excluded[1:] if keep_one and len(excluded) == len(pairs) else excluded


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_allowed_duels_agree(name: str, settings: dict[str, Any], estimator: str) -> None:
    for link in LINKS:
        play_some_pairs(name, link, estimator, settings)


def play_some_pairs(name: str, link: str, estimator: str, settings: dict[str, Any]) -> None:
    """Play sixty rounds with excluded pairs."""
    rng = np.random.default_rng(15)
    policy, reference = twins(name, 0, link=link, estimator=estimator, **settings)
    world, game = World(0, False, dim=2, size=0.5, link=link, n_arms=(1, 6)), Game()
    for t in range(60):
        arms = world.arms()
        if t % 5 == 4:
            arms = np.repeat(arms, 2, axis=0)
        distinct = bool(rng.random() < 0.5)
        exclude = some_pairs(rng, len(arms), keep_one=distinct or name in NEVER_ITSELF)
        duel, same = same_duel(policy, reference, arms, game, distinct=distinct, exclude=exclude)
        assert not (distinct and duel.is_self_duel and len(arms) > 1)
        outcome = world.outcome(arms, game.duels[-1])
        policy.tell(duel, outcome)
        reference.tell(same, outcome)
    assert_same_estimates(policy, reference)


@pytest.mark.parametrize("name", REFERENCES)
def test_fixed_arms_with_distinct_pairs(name: str) -> None:
    policy, reference = twins(name, 1)
    world, game = World(1, True, strength=4.0), Game()
    for _ in range(80):
        arms = world.arms()
        duel, same = same_duel(policy, reference, arms, game, distinct=True)
        assert not duel.is_self_duel
        outcome = world.outcome(arms, game.duels[-1])
        policy.tell(duel, outcome)
        reference.tell(same, outcome)
    assert_same_estimates(policy, reference)


@pytest.mark.parametrize("name", REFERENCES)
def test_distinct_is_the_default(name: str) -> None:
    policy, reference = twins(name, 1)
    arms = np.ones((3, 2))
    policy.ask(arms, distinct=True)
    for _ in range(5):
        assert not policy.ask(arms).is_self_duel
        assert not reference.ask(arms).is_self_duel


@pytest.mark.parametrize("name", REFERENCES)
def test_both_raise_an_error_when_all_pairs_are_excluded(name: str) -> None:
    policy, _ = twins(name, 1)
    with pytest.raises(dl.InvalidInput, match="No pair is left to ask"):
        policy.ask(np.eye(3), exclude=[(0, 1), (1, 2), (2, 0)])
