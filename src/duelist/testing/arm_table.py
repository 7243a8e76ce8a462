"""What policies promise that take arms by who they are: subclass it in your tests, fill in `make`, run pytest."""

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
    """Arms with numbers that are not in order, and features, if dim is not 0."""
    rng = np.random.default_rng([seed, dim])
    return ArmTable(rng.permutation(3 * n)[:n], rng.normal(size=(n, dim)) if dim else None)


def draw_outcome(table: ArmTable, duel: Any, luck: float) -> float:
    """The larger number is the better arm, and wins if luck allows."""
    first, second = (float(table.ids[k]) for k in duel)
    return float(luck < 1.0 / (1.0 + math.exp(0.2 * (second - first))))


def play_free(policy: Policy, table: ArmTable, rounds: int, seed: int = 0) -> list[tuple[int, int]]:
    """Ask and tell; the duels played."""
    luck = np.random.default_rng(seed).random(rounds)
    played = []
    for chance in luck:
        duel = policy.ask(table)
        policy.tell(duel, draw_outcome(table, duel, float(chance)))
        played.append((duel.first, duel.second))
    return played


@pytest.mark.parametrize("dim", DIMS)
class ArmTableContract(ABC):
    """What every policy promises that says `accepts_arm_table`."""

    @abstractmethod
    def make(self, random_state: int) -> Any:
        """A policy that has seen nothing."""

    def test_it_asks_two_different_arms_that_may_be_asked(self, dim: int) -> None:
        """Pairs that are excluded are not asked; when all are, that is said, and nothing has changed."""
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

    def test_a_restored_copy_goes_on_to_the_bit(self, dim: int) -> None:
        """With duels out, and told in another order."""
        policy, table = self.make(3), draw_table(dim)
        play_free(policy, table, 40)
        out = [policy.ask(table) for _ in range(3)]
        copy = type(policy).restore(json.loads(json.dumps(policy.snapshot())))
        for each in (policy, copy):
            for duel in reversed(out):
                each.tell(duel, 0.5, weight=2.0)
        assert copy.snapshot() == policy.snapshot()
        assert play_free(copy, table, 20, seed=1) == play_free(policy, table, 20, seed=1)

    def test_it_is_a_function_of_its_log(self, dim: int) -> None:
        """What is learned from a log is what is learned by telling, and looking and considering leave no trace."""
        asked, folded, table = self.make(5), self.make(5), draw_table(dim)
        folded.initialize(table)
        for luck in np.random.default_rng(5).random(30):
            duel = asked.ask(table)
            outcome = draw_outcome(table, duel, float(luck))
            asked.tell(duel, outcome)
            folded.suggest(table, [(table[[0, 1]], 0, 1.0)], seed=7, rounds=3)
            folded.posterior(table)
            folded.learn(table[[duel.first, duel.second]], outcome, layer=0, share=1.0)
        one, other = asked.snapshot()["arm_effects"], folded.snapshot()["arm_effects"]
        assert {k: v for k, v in one.items() if k != "words"} == {k: v for k, v in other.items() if k != "words"}

    def test_considering_depends_on_the_seed_alone(self, dim: int) -> None:
        """The same seed, the same choice; what is out counts."""
        policy, table = self.make(1), draw_table(dim)
        play_free(policy, table, 25)
        choices = [policy.suggest(table, seed=9, rounds=25) for _ in range(2)]
        copy = type(policy).restore(policy.snapshot())
        assert choices[0] == choices[1] == copy.suggest(table, seed=9, rounds=25)
        assert choices[0].first != choices[0].second

    def test_what_is_out_is_not_asked_again_and_again(self, dim: int) -> None:
        """Twelve first asks without an answer are about several pairs: those that are out count as if they were answered."""
        policy, table = self.make(8), draw_table(dim)
        out = [policy.ask(table) for _ in range(12)]
        assert len({frozenset((duel.first, duel.second)) for duel in out}) >= 4

    def test_who_won_rises_and_a_vote_turned_round_is_the_same(self, dim: int) -> None:
        """Positions on the table and the order of a pair do not matter."""
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

    def test_arms_come_late_and_leave(self, dim: int) -> None:
        """An arm that joins is asked about sooner or later, and what was learned before it came stays."""
        policy, table = self.make(2), draw_table(dim, 8)
        play_free(policy, table[np.arange(4)], 30)
        before = policy.posterior(table)
        joined = play_free(policy, table, 120, seed=2)
        assert {k for duel in joined for k in duel} >= {4, 5, 6, 7}
        if not dim:
            assert (before.utilities[4:] == 0.0).all()
            assert np.ptp(before.variances[4:]) == 0.0
        duel = policy.ask(table[[6, 7]])
        assert {duel.first, duel.second} == {0, 1}

    def test_the_best_arm_is_found(self, dim: int) -> None:
        """With votes enough, the best arm has the largest utility; `recommend` names it, and says how sure that is."""
        policy, table = self.make(4), draw_table(dim, 6)
        play_free(policy, table, 500)
        best = int(np.argmax(table.ids))
        found = policy.recommend(table)
        assert best in found.candidates
        assert int(np.argmax(policy.posterior(table).utilities)) == found.best
        assert 0.0 < found.probability <= 1.0

    def test_units_of_features_do_not_matter(self, dim: int) -> None:
        """Each feature may be in another unit, and have another origin."""
        table = draw_table(dim)
        other = ArmTable(table.ids, table.features * 2.0 ** np.arange(3, 3 + dim) + 1.0 if dim else None)
        assert play_free(self.make(6), table, 40) == play_free(self.make(6), other, 40)

    def test_what_does_not_fit_is_refused(self, dim: int) -> None:
        """Errors name the value and the way out, and change nothing."""
        policy, table = self.make(0), draw_table(dim)
        duel = policy.ask(table)
        before = policy.snapshot()
        cases: list[tuple[Callable[[], Any], str]] = [
            (lambda: policy.ask(np.eye(3)), "ArmTable"),
            (lambda: policy.ask(ArmTable(3, np.eye(3))), "3 features"),
            (lambda: policy.tell(duel, 2.0), "outcome is 2.0"),
            (lambda: policy.learn(table[[0, 1, 2]], 1.0), "give the two"),
            (lambda: policy.suggest(table, [(np.ones(3), 0, 1.0)]), "ArmTable"),
            (lambda: policy.learn(table[[0, 1]], 1.0, layer=3), "layer is 3"),
            (lambda: policy.ask_batch(np.zeros((2, 3, 3))), "one after the other"),
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
        with pytest.raises(UnknownDuel, match="told or forgotten already"):
            policy.forget(duel)
