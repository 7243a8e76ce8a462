"""Play a fast policy and its reference side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import duelist
from duelist.core.duel import Duel
from duelist.policies import POLICIES
from duelist.reference import REFERENCES, Choice, Reference
from duelist.reference.fit import Estimator, Exact
from duelist.reference.links import Floats
from duelist.reference.pair_choice import Pair
from tests.helpers.policies.worlds import World

LINKS = ("logistic", "probit", "exponential")
ESTIMATORS = ("exact", "online")
LAYERED = ("VACDB", "StaD", "SupCoLSTIM")

NEAR_TIE = 1e-9
"""Below the accuracy of the estimates; one win and one loss can leave an estimate of exactly zero."""


def twins(name: str, seed: int = 0, **settings: Any) -> tuple[Any, Any]:
    """Create a fast policy and its reference with the same hyperparameters."""
    reference = REFERENCES[name](random_state=seed, **settings)
    return POLICIES[name](random_state=seed, **settings), reference


def engine_duel(policy: Any, arms: Floats) -> Duel:
    """Ask the fast policy for the published duel, in which an arm may meet itself."""
    duel: Duel = policy.ask(arms, distinct=False)
    return duel


@dataclass
class Game:
    """What happened in a game, so that tests can check that it covers all branches."""

    duels: list[Pair] = field(default_factory=list)
    explored: Counter[int] = field(default_factory=Counter)
    """Duels that were learned, by layer."""
    exploited: Counter[int] = field(default_factory=Counter)
    exploited_with_a_choice: Counter[int] = field(default_factory=Counter)
    dropped: int = 0
    remaining: list[int] = field(default_factory=list)
    """The number of arms not eliminated, by round."""

    def note(self, choice: Choice, played: Pair, n_arms: int) -> None:
        """Count one decision."""
        self.duels.append(played)
        self.remaining.append(len(choice.remaining))
        self.dropped += n_arms - len(choice.remaining)
        if choice.share(*played) > 0.0:
            self.explored[choice.layer] += 1
        else:
            self.exploited[choice.layer] += 1
            self.exploited_with_a_choice[choice.layer] += len(choice.remaining) > 1

    def __add__(self, other: Game) -> Game:
        return Game(**{name: value + getattr(other, name) for name, value in vars(self).items()})


def same_duel(
    policy: Any, reference: Reference, arms: Floats, game: Game, where: Any = "", **allowed: Any
) -> tuple[Duel, Duel]:
    """Ask both for the duel of a round, and check that they agree up to rounding."""
    duel = policy.ask(arms, **allowed) if allowed else engine_duel(policy, arms)
    played = (duel.first, duel.second)
    choice = reference.decide(arms, **(allowed or {"distinct": False}))
    assert played == choice.pair or choice.shortfall(*played) <= NEAR_TIE, (
        f"round {reference.rounds_} {where}: the engine plays {played}, the reference {choice.pair}, "
        f"short by {choice.shortfall(*played)}"
    )
    game.note(choice, played, len(arms))
    return duel, reference.commit(arms, choice, played)


def play(policy: Any, reference: Reference, world: World, rounds: int) -> Game:
    """Play with every outcome told at once."""
    game = Game()
    for _ in range(rounds):
        arms = world.arms()
        duel, same = same_duel(policy, reference, arms, game)
        outcome = world.outcome(arms, game.duels[-1])
        policy.tell(duel, outcome)
        reference.tell(same, outcome)
    assert_same_estimates(policy, reference)
    return game


def play_late(
    policy: Any, reference: Reference, world: World, rounds: int, allowed: Iterable[dict[str, Any]] = ()
) -> Game:
    """Play with late outcomes, ties and weights; the last outcomes never arrive. `allowed`: arguments of `ask` by
    round."""
    game, waiting, most_pending = Game(), [], 0
    settings = iter(allowed)
    for _ in range(rounds):
        arms = world.arms()
        duel, same = same_duel(policy, reference, arms, game, **next(settings, {}))
        waiting.append((duel, same, *world.any_vote(arms, game.duels[-1])))
        most_pending = max(most_pending, len(waiting))
        for vote in world.some(waiting):
            duel, same, outcome, weight = vote
            policy.tell(duel, outcome, weight)
            reference.tell(same, outcome, weight)
            waiting.remove(vote)
    assert most_pending >= 3
    assert_same_estimates(policy, reference)
    return game


def assert_same_estimates(policy: Any, reference: Any) -> None:
    """Compare estimates to 1e-7 standard errors per layer; the engine's solver aims at a tenth of that."""
    for number, layer in reference.layers_.items():
        position = number - getattr(reference, "first_layer", 1)
        if not layer.count:
            continue  # the engine creates layers later
        assert errors(layer, policy.estimate(position)) <= 1e-7
        np.testing.assert_allclose(policy.layer_precision(position), layer.precision, rtol=1e-9, atol=1e-12)
        if isinstance(policy, duelist.VACDB):
            np.testing.assert_allclose(policy.layer_radii_[position], reference.radii_[number], rtol=1e-7)


def errors(layer: Estimator, theta: Floats) -> float:
    """|theta - theta of the layer|_H, in standard errors of votes with a total weight of at least 1."""
    gap = theta - layer.theta
    weight = sum(vote.total_weight for vote in layer.votes) if isinstance(layer, Exact) else 1.0
    return float(np.sqrt(gap @ layer.curvature @ gap / min(1.0, weight)))
