"""The contract of a policy: subclass it in your tests and implement `make`.

`PolicyContract` holds for everything with `ask` and `tell`; `native_policies` adds what policies of the engine
promise.

Arms are multiples of 2^-16 in [-1, 1), so that their differences and shifts are exact and no two pairs tie by
accident.
"""

# ruff: noqa: S101 - these are tests; pytest shows the values of a failed assert

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.duel import Duel
from duelist.policies import Policy
from duelist.simulation.environments import FixedArms, RandomArms
from duelist.simulation.runs import Runs
from duelist.simulation.simulate import policy_seed, simulate

DIM: Final = 3
THETA: Final = np.array([2.0, -1.0, 0.5])
SEED: Final = 11


def draw_arms(rounds: int, least: int = 2, most: int = 7, seed: int = 0) -> list[Floats]:
    """Draw the arms of several rounds, `least` to `most` in each."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(least, most + 1, rounds)
    return [rng.integers(-(2**16), 2**16, (n, DIM)) / 2.0**16 for n in counts]


def draw_outcome(arms: Floats, duel: Iterable[int], luck: float) -> float:
    """Return who wins, given the two arms and a uniform draw, whatever their order."""
    first, second = duel
    gap = float((arms[first] - arms[second]) @ THETA)
    better_wins = luck < 1.0 / (1.0 + math.exp(-abs(gap)))
    return float(better_wins == (gap >= 0.0))


def ask(policy: Policy, arms: Floats, t: int) -> Duel:
    """Ask for the duel of round t, with distinct=True in even rounds if the policy has that parameter."""
    return policy.ask(arms, distinct=t % 2 == 0) if _takes_distinct(policy) else policy.ask(arms)  # type: ignore[call-arg]


def ask_published(policy: Policy, arms: Floats) -> Duel:
    """Ask for the duel of a simulation, in which an arm may meet itself."""
    return policy.ask(arms, distinct=False) if _takes_distinct(policy) else policy.ask(arms)  # type: ignore[call-arg]


def _takes_distinct(policy: Policy) -> bool:
    return "distinct" in inspect.signature(policy.ask).parameters


def play(policy: Policy, shown: Sequence[Floats], seed: int = 0) -> list[tuple[int, int]]:
    """Ask and tell once for each set of arms; return the duels."""
    luck = np.random.default_rng(seed).random(len(shown))
    played = []
    for t, (arms, chance) in enumerate(zip(shown, luck, strict=True)):
        duel = ask(policy, arms, t)
        first, second = duel
        policy.tell(duel, draw_outcome(arms, duel, chance))
        played.append((first, second))
    return played


def check_duel(duel: Any, n_arms: int) -> None:
    """Check that a duel is a pair of positions among the arms."""
    first, second = duel
    for position in (first, second):
        assert isinstance(position, (int, np.integer))
        assert 0 <= position < n_arms


def same_params(one: Policy, other: Policy, but: str = "random_state") -> bool:
    """Return whether two policies have the same hyperparameters, except one."""
    left, right = ({k: v for k, v in p.params.items() if k != but} for p in (one, other))
    return left.keys() == right.keys() and all(np.all(left[name] == right[name]) for name in left)


class SimulationContract(ABC):
    """What simulations rely on: runs are reproducible, and equal to live play."""

    @abstractmethod
    def make(self, random_state: int) -> Policy:
        """Return a new policy with this random state and always the same hyperparameters."""

    def test_same_random_state_gives_the_same_duels(self) -> None:
        """Policies with the same random state, arms and outcomes play the same duels."""
        shown = draw_arms(60)
        assert play(self.make(3), shown) == play(self.make(3), shown)

    def test_simulated_and_live_play_agree(self) -> None:
        """A copy that is asked and told by hand plays the duels of the simulation."""
        (arms,) = draw_arms(1, least=6)
        runs = self._simulated(FixedArms(arms, theta=THETA), runs=2)
        log = runs.log(runs.labels[0])
        for run in range(2):
            live = self.make(0).clone(policy_seed(SEED, run))
            for first, second, outcome in zip(log.first[run], log.second[run], log.outcome[run], strict=True):
                duel = ask_published(live, arms)
                assert tuple(duel) == (first, second)
                live.tell(duel, float(outcome))

    def _simulated(self, environment: FixedArms | RandomArms, runs: int) -> Runs:
        return simulate(self.make(0), environment, horizon=25, runs=runs, seed=SEED, tell_horizon=False)


class PolicyContract(SimulationContract):
    """What every policy promises. Subclass it as `Test...` and implement `make`."""

    def test_positions_are_in_range(self) -> None:
        """A duel is a pair of positions among the arms."""
        policy = self.make(0)
        (arms,) = draw_arms(1, least=5)
        for _ in range(30):
            duel = policy.ask(arms)
            check_duel(duel, len(arms))
            policy.tell(duel, 1.0)

    def test_arms_may_change_every_round(self) -> None:
        """Number and features of the arms may change from round to round."""
        policy = self.make(0)
        shown = draw_arms(60, least=1, most=9)
        for arms, (first, second) in zip(shown, play(policy, shown), strict=True):
            check_duel((first, second), len(arms))

    def test_one_arm_meets_itself(self) -> None:
        """A single arm meets itself, in the first round and later."""
        policy = self.make(0)
        for arms in draw_arms(3, least=1, most=1) + draw_arms(5) + draw_arms(3, least=1, most=1):
            duel = policy.ask(arms)
            if len(arms) == 1:
                assert tuple(duel) == (0, 0)
            policy.tell(duel, 1.0)

    def test_duplicate_arms_are_allowed(self) -> None:
        """Some arms, or all, may be equal."""
        policy = self.make(0)
        for arms in draw_arms(10):
            for shown in (np.repeat(arms, 2, axis=0), np.repeat(arms[:1], 4, axis=0)):
                duel = policy.ask(shown)
                check_duel(duel, len(shown))
                policy.tell(duel, 0.0)

    def test_arms_are_not_modified(self) -> None:
        """`ask` and `tell` do not write to the caller's arms."""
        policy = self.make(0)
        for arms in draw_arms(20):
            before = arms.copy()
            duel = policy.ask(arms)
            np.testing.assert_array_equal(arms, before)
            policy.tell(duel, 1.0)
            np.testing.assert_array_equal(arms, before)

    def test_clone_starts_anew(self) -> None:
        """A `clone` of a policy that has played plays like a new one."""
        played = self.make(0)
        play(played, draw_arms(40))
        shown = draw_arms(40, seed=1)
        assert play(played.clone(5), shown) == play(self.make(5), shown)

    def test_clone_keeps_hyperparameters(self) -> None:
        """`clone` keeps the hyperparameters and takes the given random state."""
        policy = self.make(0)
        copy = policy.clone(5)
        assert type(copy) is type(policy)
        assert same_params(copy, policy)
        assert copy.params.get("random_state", 5) == 5

    def test_clone_does_not_change_the_original(self) -> None:
        """Creating and playing a `clone` does not change the original."""
        template, control = self.make(0), self.make(0)
        shown = draw_arms(40)
        play(template, shown[:20])
        play(control, shown[:20])
        play(template.clone(5), shown)
        assert play(template, shown[20:]) == play(control, shown[20:])

    def test_several_duels_may_be_pending(self) -> None:
        """A policy may be asked many times before the first outcome."""
        policy = self.make(0)
        shown = draw_arms(15)
        duels = [policy.ask(arms) for arms in shown]
        for arms, duel in zip(shown, duels, strict=True):
            check_duel(duel, len(arms))
            policy.tell(duel, draw_outcome(arms, duel, 0.5))
        check_duel(policy.ask(shown[0]), len(shown[0]))

    def test_outcomes_may_come_late_out_of_order_or_never(self) -> None:
        """Outcomes may arrive rounds later, in any order, or never."""
        policy = self.make(0)
        waiting: list[tuple[Floats, Duel]] = []
        rng = np.random.default_rng(1)
        for arms in draw_arms(60):
            duel = policy.ask(arms)
            check_duel(duel, len(arms))
            waiting.append((arms, duel))
            if rng.random() < 0.6:
                late_arms, late = waiting.pop(int(rng.integers(len(waiting))))
                policy.tell(late, draw_outcome(late_arms, late, luck=rng.random()))
        assert len(waiting) > 5

    def test_ties_and_weights_are_accepted(self) -> None:
        """Outcomes may be ties, booleans or integers, and have weights."""
        policy = self.make(0)
        shown = draw_arms(5)
        for arms, outcome in zip(shown, (0.5, 1, 0, True, False), strict=True):
            policy.tell(policy.ask(arms), outcome, weight=2.0)
        check_duel(policy.ask(shown[0]), len(shown[0]))

    def test_simulate_is_reproducible(self) -> None:
        """`simulate` plays it with changing arms; the same seed gives the same runs."""
        environment = RandomArms(dim=DIM, n_arms=(1, 6))
        runs = self._simulated(environment, runs=3)
        fewer = self._simulated(environment, runs=2)
        label = runs.labels[0]
        assert runs.regret(label).shape == (3, 25)
        assert (runs.regret(label) >= 0.0).all()
        for name, values in runs.log(label)._asdict().items():
            np.testing.assert_array_equal(values[:2], getattr(fewer.log(label), name))

    def test_simulate_does_not_change_the_policy(self) -> None:
        """`simulate` does not change the policy it is given."""
        template = self.make(0)
        simulate(template, RandomArms(dim=DIM, n_arms=4), horizon=10, runs=2, seed=SEED)
        shown = draw_arms(30)
        assert play(template, shown) == play(self.make(0), shown)
