"""Votes with ties: the engine agrees with the reference, duel for duel."""

from __future__ import annotations

import numpy as np
import pytest

import duelist as dl
from duelist.policies import POLICIES
from duelist.reference import REFERENCES
from duelist.reference.arm_table_policies import ARM_TABLE_REFERENCES
from tests.helpers.policies.reference_play import Game, assert_same_estimates, same_duel
from tests.helpers.policies.worlds import World

NEAR_TIE = 1e-9


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize(
    "name", ["BestArmPair", "DesignPair", "InfoMax", "LocalPairUCB", "MaxMinLCB", "RankingPair", "VACDB"]
)
def test_policies_with_features(name: str, estimator: str, fixed: bool) -> None:
    settings = {"estimator": estimator, "random_state": 0, "horizon": 60}
    policy, reference = POLICIES[name](**settings), REFERENCES[name](**settings)
    world, rng, game = World(3, fixed, strength=2.0), np.random.default_rng(4), Game()
    for _ in range(45):
        arms = world.arms()
        duel, same = same_duel(policy, reference, arms, game)
        outcome = "tie" if rng.random() < 0.3 else world.outcome(arms, game.duels[-1])
        weight = float(rng.choice([0.5, 1.0, 2.0]))
        policy.tell(duel, outcome, weight)
        reference.tell(same, outcome, weight)
    assert policy.link_.startswith("davidson(")
    assert float(policy.link_[9:-1]) == pytest.approx(reference.ties_.nu, rel=1e-8)
    assert_same_estimates(policy, reference)


@pytest.mark.parametrize("dim", [0, 2])
@pytest.mark.parametrize("name", sorted(ARM_TABLE_REFERENCES))
def test_policies_with_arm_effects(name: str, dim: int) -> None:
    rng = np.random.default_rng([dim, 6])
    features, utilities = rng.normal(size=(7, dim)), rng.normal(size=7)
    table = dl.ArmTable(7, features if dim else None)
    settings = {"random_state": 3, "horizon": 100}
    policy, reference = POLICIES[name](estimator="online", **settings), ARM_TABLE_REFERENCES[name](**settings)
    for _ in range(40):
        duel, choice = policy.ask(table), reference.decide(table)
        pair = duel.first, duel.second
        assert pair == choice.pair or choice.shortfall(*pair) <= NEAR_TIE
        same = reference.commit(table, choice, pair)
        chance = 1.0 / (1.0 + np.exp(utilities[pair[1]] - utilities[pair[0]]))
        outcome = "tie" if rng.random() < 0.3 else float(rng.random() < chance)
        policy.tell(duel, outcome)
        reference.tell(same, outcome)
    assert reference.effects_ is not None
    assert float(policy.link_[9:-1]) == pytest.approx(reference.effects_.ties.nu, rel=1e-8)
    np.testing.assert_allclose(policy.posterior(table).utilities, reference.effects_.posterior(table).u, atol=1e-9)
