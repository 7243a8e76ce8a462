"""Runs: a contestant collects votes in a world, for one of the jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

import duelist as dl
from benchmarks.quality.goals.problems import GoalWorld
from benchmarks.quality.jobs import peers
from duelist.core.arrays import Floats
from duelist.policies.engine import NativePolicy

SERVED: Final = (100, 300, 1000, 2000)
"""Duels after which regret is recorded."""
ASKED: Final = (100, 300, 1000, 3000)
"""Votes after which an arm is recommended."""
DELTA: Final = 0.05
FIRST_LOOK, LOOK_GROWTH = 16, 0.3
"""The stopping rule is checked after 16 votes, and then whenever the votes have grown by this share."""


class Contestant(Protocol):
    """A policy or a peer on fixed arms."""

    def ask(self) -> tuple[int, int]: ...

    def tell(self, first: int, second: int, outcome: float) -> None: ...


class Ours:
    """A policy of the library."""

    def __init__(self, policy: NativePolicy, arms: Floats | dl.ArmTable, distinct: bool) -> None:
        self.policy, self.arms, self.distinct = policy, arms, distinct

    def ask(self) -> tuple[int, int]:
        self._duel = self.policy.ask(self.arms, distinct=self.distinct)
        return self._duel.first, self._duel.second

    def tell(self, first: int, second: int, outcome: float) -> None:
        self.policy.tell(self._duel, outcome)


Maker = Callable[[GoalWorld, int], Contestant]

BOTH, EFFECTS, FEATURES = "arm effects and features", "arm effects alone", "features alone"


def arms_of(world: GoalWorld, form: str) -> Floats | dl.ArmTable:
    """The arms as a policy is shown them."""
    if form == FEATURES:
        assert world.features is not None
        return world.features
    return dl.ArmTable(world.n, world.features if form == BOTH else None)


def serving(form: str, horizon: int = SERVED[-1]) -> Maker:
    def make(world: GoalWorld, seed: int) -> Contestant:
        arms = arms_of(world, form)
        policy = dl.policy_for("serve", arms=arms, horizon=horizon, random_state=seed, estimator=estimator(form))
        return Ours(policy, arms, distinct=False)

    return make


def finding(form: str) -> Maker:
    """Our policy; with features alone it asks by these to the end, because confirming by arm effects is the other form."""

    def make(world: GoalWorld, seed: int) -> Contestant:
        arms = arms_of(world, form)
        policy = dl.policy_for("best", arms=arms, random_state=seed, estimator=estimator(form))
        return Ours(policy, arms, distinct=form != FEATURES)

    return make


def estimator(form: str) -> str:
    return "exact" if form == FEATURES else "online"


def peer(rule: type[peers.Peer]) -> Maker:
    return lambda world, seed: rule(dl.ArmTable(world.n, world.features), seed)


@dataclass(frozen=True)
class Served:
    """One run of the job *serve*."""

    regret: Floats
    """Summed average regret after each number of duels in `SERVED`."""


@dataclass(frozen=True)
class Found:
    """One run of the job *best*."""

    regret: Floats
    """Simple regret of the recommended arm, after each number of votes in `ASKED`."""
    votes: int
    """Votes until the decision, or all."""
    decided: bool | None
    """Whether the decision was right; None: undecided."""


def serve(contestant: Contestant, world: GoalWorld, luck: np.random.Generator, rounds: int = SERVED[-1]) -> Served:
    """Play all rounds, and add up what the arms shown are worth less than the best."""
    lost = world.utilities.max() - world.utilities
    total, reached = 0.0, []
    for t in range(1, rounds + 1):
        first, second = contestant.ask()
        contestant.tell(first, second, world.vote(first, second, t - 1, luck))
        total += 0.5 * (lost[first] + lost[second])
        if t in SERVED:
            reached.append(total)
    return Served(np.array(reached))


def find_best(contestant: Contestant, world: GoalWorld, luck: np.random.Generator, most: int = ASKED[-1]) -> Found:
    """Collect all votes; one reader, the same for all contestants, recommends an arm from the votes."""
    table = dl.ArmTable(world.n, world.features)
    reader = dl.UniformPair(estimator="online", random_state=0)
    reader.initialize(table)
    look, votes, decided, reached = FIRST_LOOK, most, None, []
    for t in range(1, most + 1):
        first, second = contestant.ask()
        outcome = world.vote(first, second, t - 1, luck)
        contestant.tell(first, second, outcome)
        reader.learn(table[[first, second]], outcome)
        if t in ASKED:
            reached.append(world.regret(int(np.argmax(reader.posterior(table).utilities))))
        if t == look and decided is None:
            look = int(np.ceil(look * (1.0 + LOOK_GROWTH)))
            found = reader.recommend(table, delta=DELTA)
            if found.decided:
                votes, decided = t, world.regret(found.best) <= 1e-12
    return Found(np.array(reached), votes, decided)
