"""The contract of policies that take an `ArmTable`: subclass it in your tests and implement `make`."""

# ruff: noqa: S101 - these are tests; pytest shows the values of a failed assert

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from duelist.core.arms import ArmTable
from duelist.core.duel import Duel
from duelist.core.errors import InvalidInput, UnknownDuel
from duelist.policies import Policy

N_ARMS: Final = 12
DIMS: Final = (0, 2)


def draw_table(dim: int, n: int = N_ARMS, seed: int = 0) -> ArmTable:
    """Arms with unordered ids, and features unless dim is 0."""
    rng = np.random.default_rng([seed, dim])
    return ArmTable(rng.permutation(3 * n)[:n], rng.normal(size=(n, dim)) if dim else None)


def draw_outcome(table: ArmTable, duel: Any, luck: float) -> float:
    """Draw who wins; arms with larger ids are better."""
    first, second = (float(table.ids[k]) for k in duel)
    return float(luck < 1.0 / (1.0 + math.exp(0.2 * (second - first))))


def play_table(policy: Policy, table: ArmTable, rounds: int, seed: int = 0) -> list[tuple[int, int]]:
    """Ask and tell for some rounds; return the duels."""
    luck = np.random.default_rng(seed).random(rounds)
    played = []
    for chance in luck:
        duel = policy.ask(table)
        policy.tell(duel, draw_outcome(table, duel, float(chance)))
        played.append((duel.first, duel.second))
    return played


@pytest.mark.parametrize("dim", DIMS)
class ArmTableContract(ABC):
    """What every policy with `accepts_arm_table` promises."""

    @abstractmethod
    def make(self, random_state: int) -> Any:
        """Return a new policy."""

    def test_excluded_pairs_are_not_asked(self, dim: int) -> None:
        """Excluded pairs are not asked; if all are excluded, `ask` raises an error and changes nothing."""
        policy, table = self.make(0), draw_table(dim, 4)
        pairs = [(i, j) for i in range(4) for j in range(i)]
        for left in pairs * 3:
            duel = policy.ask(table, exclude=[pair for pair in pairs if pair != left])
            assert {duel.first, duel.second} == set(left)
            policy.tell(duel, 1.0)
        before = policy.snapshot()
        with pytest.raises(InvalidInput, match="No pair is left"):
            policy.ask(table, exclude=pairs)
        assert policy.snapshot() == before

    def test_restored_copy_continues_bit_for_bit(self, dim: int) -> None:
        """A restored policy continues bit for bit, with pending duels told in another order."""
        policy, table = self.make(3), draw_table(dim)
        play_table(policy, table, 40)
        pending = [policy.ask(table) for _ in range(3)]
        copy = type(policy).restore(json.loads(json.dumps(policy.snapshot())))
        for each in (policy, copy):
            for duel in reversed(pending):
                each.tell(duel, 0.5, weight=2.0)
        assert copy.snapshot() == policy.snapshot()
        assert play_table(copy, table, 20, seed=1) == play_table(policy, table, 20, seed=1)

    def test_state_is_a_function_of_the_log(self, dim: int) -> None:
        """Learning a log equals telling it; `suggest` and `posterior` leave no trace."""
        policy, replayed, table = self.make(5), self.make(5), draw_table(dim)
        replayed.initialize(table)
        for luck in np.random.default_rng(5).random(30):
            duel = policy.ask(table)
            outcome = draw_outcome(table, duel, float(luck))
            policy.tell(duel, outcome)
            replayed.suggest(table, [(table[[0, 1]], 0, 1.0)], seed=7, rounds=3)
            replayed.posterior(table)
            replayed.learn(table[[duel.first, duel.second]], outcome, layer=0, share=1.0)
        assert policy.snapshot()["arm_effects"] == replayed.snapshot()["arm_effects"]

    def test_suggestion_depends_only_on_the_seed(self, dim: int) -> None:
        """The same seed gives the same suggestion; pending duels count."""
        policy, table = self.make(1), draw_table(dim)
        play_table(policy, table, 25)
        choices = [policy.suggest(table, seed=9, rounds=25) for _ in range(2)]
        copy = type(policy).restore(policy.snapshot())
        assert choices[0] == choices[1] == copy.suggest(table, seed=9, rounds=25)
        assert choices[0].first != choices[0].second

    def test_pending_duels_are_not_repeated(self, dim: int) -> None:
        """Twelve pending first duels cover several pairs."""
        policy, table = self.make(8), draw_table(dim)
        pending = [policy.ask(table) for _ in range(12)]
        assert len({frozenset((duel.first, duel.second)) for duel in pending}) >= 4

    def test_winner_rises_whatever_the_order(self, dim: int) -> None:
        """A win raises the winner; neither positions nor the order of a pair matter."""
        table = draw_table(dim)
        straight, turned = self.make(0), self.make(0)
        for policy in (straight, turned):
            policy.initialize(table)
        before = straight.posterior(table)
        straight.learn(table[[2, 5]], 1.0)
        turned.learn(table[[5, 2]], 0.0)
        assert straight.snapshot() == turned.snapshot()
        after = straight.posterior(table, [2])
        assert after.utilities[2] - after.utilities[5] > before.utilities[2] - before.utilities[5]
        assert after.variances[2] < before.variances[2]
        mixed = np.random.default_rng(0).permutation(N_ARMS)
        np.testing.assert_array_equal(straight.posterior(table[mixed]).utilities, after.utilities[mixed])

    def test_arms_may_join_and_leave(self, dim: int) -> None:
        """New arms are asked sooner or later, and votes from before they joined still count."""
        policy, table = self.make(2), draw_table(dim, 8)
        play_table(policy, table[np.arange(4)], 30)
        before = policy.posterior(table)
        joined = play_table(policy, table, 120, seed=2)
        assert {k for duel in joined for k in duel} >= {4, 5, 6, 7}
        if not dim:
            assert (before.utilities[4:] == 0.0).all()
            assert np.ptp(before.variances[4:]) == 0.0
        duel = policy.ask(table[[6, 7]])
        assert {duel.first, duel.second} == {0, 1}

    def test_best_arm_is_found(self, dim: int) -> None:
        """With enough votes the best arm has the largest utility, and `recommend` returns it with a probability."""
        policy, table = self.make(4), draw_table(dim, 6)
        play_table(policy, table, 500)
        best = int(np.argmax(table.ids))
        found = policy.recommend(table)
        assert best in found.candidates
        assert int(np.argmax(policy.posterior(table).utilities)) == found.best
        assert 0.0 < found.probability <= 1.0

    def test_units_of_features_do_not_matter(self, dim: int) -> None:
        """Units and origins of features do not change the duels."""
        table = draw_table(dim)
        other = ArmTable(table.ids, table.features * 2.0 ** np.arange(3, 3 + dim) + 1.0 if dim else None)
        assert play_table(self.make(6), table, 40) == play_table(self.make(6), other, 40)

    def test_invalid_input_raises_errors(self, dim: int) -> None:
        """Errors name the value and the fix, and change nothing."""
        policy, table = self.make(0), draw_table(dim)
        duel = policy.ask(table)
        before = policy.snapshot()
        cases: list[tuple[Callable[[], Any], str]] = [
            (lambda: policy.ask(np.eye(3)), "ArmTable"),
            (lambda: policy.ask(ArmTable(3, np.eye(3))), "3 features"),
            (lambda: policy.tell(duel, 2.0), "outcome is 2.0"),
            (lambda: policy.learn(table[[0, 1, 2]], 1.0), "Give the two"),
            (lambda: policy.suggest(table, [(np.ones(3), 0, 1.0)]), "ArmTable"),
            (lambda: policy.learn(table[[0, 1]], 1.0, layer=3), "layer is 3"),
            (lambda: policy.ask_batch(np.zeros((2, 3, 3))), "one context after the other"),
            (lambda: policy.precision_, "posterior"),
        ]
        for wrong, match in cases:
            with pytest.raises(InvalidInput, match=match):
                wrong()
        with pytest.raises(UnknownDuel, match="never asked"):
            policy.tell(17, 1.0)
        with pytest.raises(UnknownDuel, match="in the order asked"):
            policy.tell(Duel(duel.second, duel.first, duel.id), 1.0)
        assert policy.snapshot() == before
        policy.tell(duel, 1.0)
        with pytest.raises(UnknownDuel, match="told or forgotten before"):
            policy.forget(duel)
