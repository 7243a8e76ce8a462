"""A simulation plays the duels that live policies play."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import duelist
from duelist.core.duel import Duel
from duelist.policies import POLICIES, Policy
from duelist.reference.links import Floats
from duelist.simulation.environments import FixedArms, Hypercube, RandomArms
from duelist.simulation.simulate import policy_seed, simulate


class Spy(Policy):
    """Writes down the arms that a simulation shows in each run."""

    def __init__(self) -> None:
        self.arms: list[Floats] = []
        self.copies: list[Spy] = []

    def clone(self, random_state: int | None) -> Spy:
        self.copies.append(Spy())
        return self.copies[-1]

    def ask(self, arms: Any) -> Duel:
        self.arms.append(np.array(arms))
        return Duel(0, 0)

    def tell(self, duel: Duel, outcome: float, weight: float = 1.0) -> None:
        pass


SIMULATED = {
    **{name: cls() for name, cls in POLICIES.items()},
    "VACDB random": duelist.VACDB(explore="random", horizon=300, scale=4.0),
    "VACDB alpha": duelist.VACDB(explore="widest", alpha=0.3, scale=4.0, link="exponential"),
    "VACDB theory": duelist.VACDB(radius="theory", scale=1e-3, horizon=300),
    "VACDB from above": duelist.VACDB(first_layer=-1),
    "BestArmPair online": duelist.BestArmPair(estimator="online", link="probit"),
    "RankingPair of three": duelist.RankingPair(top=3, link="exponential"),
    "CoLSTIM warmup": duelist.CoLSTIM(warmup=None, link="probit", clip=1.0),
    "StaD known horizon": duelist.StaD(horizon=64, scale=0.3),
    "SupCoLSTIM known horizon": duelist.SupCoLSTIM(horizon=64, scale=0.3, link="probit"),
    "MaxInP theory": duelist.MaxInP(radius="theory", horizon=300, scale=0.1),
}
GAUSSIAN_ARMS = np.random.default_rng(7).standard_normal((6, 2))
ENVIRONMENTS = {
    "fixed": FixedArms(GAUSSIAN_ARMS, scale=2.0),
    "hypercube": Hypercube(dim=3),
    "changing": RandomArms(dim=2, n_arms=(1, 6), kind="gaussian", scale=2.0),
    "clustered": RandomArms(dim=3, n_arms=(2, 5), kind="clustered", link="probit"),
}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("label", SIMULATED)
def test_a_simulation_plays_the_duels_of_live_policies(label: str, environment: str) -> None:
    spy, policy, seed, runs, horizon = Spy(), SIMULATED[label], 5, 10, 300
    played = simulate({"spy": spy, label: policy}, ENVIRONMENTS[environment], horizon, runs, seed, tell_horizon=False)
    first, second = played.duels(label)
    outcomes = played.outcomes(label)
    for run in range(runs):
        live = policy.clone(policy_seed(seed, run))
        for t, arms in enumerate(spy.copies[run].arms):
            duel = live.ask(arms, distinct=False)
            assert tuple(duel) == (first[run, t], second[run, t]), f"run {run}, round {t + 1}"
            live.tell(duel, int(outcomes[run, t]))
        assert live.rounds_ == horizon
