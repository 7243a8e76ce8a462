"""What policies of the native engine promise beyond `PolicyContract`.

`RuleContract` tests decisions, estimates and symmetries, which depend on hyperparameters and links: run it with each
of
them. `NativePolicyContract` adds memory of duels, errors and snapshots, which do not: one setting per policy is
enough.
"""

# ruff: noqa: S101 - these are tests; pytest shows the values of a failed assert

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from duelist.core.duel import Duel
from duelist.core.errors import UnknownDuel
from duelist.policies import NativePolicy
from duelist.testing.policies import (
    DIM,
    PolicyContract,
    SimulationContract,
    ask,
    check_duel,
    draw_arms,
    draw_outcome,
    play,
    same_params,
)

SHIFT: Final = np.array([3.0, -2.5, 7.25])


def restored(policy: NativePolicy) -> NativePolicy:
    """Restore the policy from a snapshot that went through JSON."""
    return type(policy).restore(json.loads(json.dumps(policy.snapshot())))


def learned_state(policy: NativePolicy) -> dict[str, Any]:
    """The state without the random generator."""
    return {name: array for name, array in policy.snapshot()["state"].items() if name != "words"}


def _asked(policy: NativePolicy) -> None:
    policy.ask(draw_arms(1)[0])


def _play_with_pending(policy: NativePolicy) -> None:
    play(policy, draw_arms(40))
    for arms in draw_arms(4, seed=1):
        policy.ask(arms)


STAGES: Final[dict[str, Callable[[NativePolicy], None]]] = {
    "before the first ask": lambda policy: None,
    "after an ask": _asked,
    "in the middle, four pending": _play_with_pending,
}


def assert_continues_bit_for_bit(policy: NativePolicy) -> None:
    """Check that a restored copy plays the same duels and learns the same."""
    copy = restored(policy)
    assert copy.snapshot() == policy.snapshot()
    shown = draw_arms(50, seed=3)
    assert play(copy, shown[:25]) == play(policy, shown[:25])
    for waiting in list(policy.pending_):
        policy.tell(waiting, 1.0)
        copy.tell(waiting, 1.0)
    assert play(copy, shown[25:], seed=4) == play(policy, shown[25:], seed=4)
    assert copy.snapshot() == policy.snapshot()


def shares(policy: NativePolicy) -> dict[int, float]:
    """The share of each pending duel."""
    return {number: share for number, _, _, _, share, _ in policy._player.pending()}


class RuleContract(SimulationContract):
    """What hyperparameters and links of a native policy can break: run it with each of them.

    Two symmetries do not hold for all rules. Subclasses set

    translation_invariant
        to False if the rule uses an arm's own features, not only differences;
    label_equivariant
        to False if pairs are chosen at random, or by the order of the arms.
    """

    translation_invariant: bool = True
    label_equivariant: bool = True

    @abstractmethod
    def make(self, random_state: int) -> NativePolicy:
        """Return a new policy with this random state and always the same hyperparameters."""

    # -- learning -------------------------------------------------------------------

    def test_ask_learns_nothing(self) -> None:
        """Asking does not change the estimate or the precision by a bit."""
        policy = self.make(0)
        play(policy, draw_arms(20))
        theta, precision = policy.theta_, policy.precision_
        for arms in draw_arms(50, seed=1):
            policy.ask(arms)
        np.testing.assert_array_equal(policy.theta_, theta)
        np.testing.assert_array_equal(policy.precision_, precision)

    def test_estimate_is_finite(self) -> None:
        """The estimate is finite and the precision positive definite, even if one side always wins."""
        policy = self.make(0)
        for arms in draw_arms(60):
            first, second = duel = policy.ask(arms)
            policy.tell(duel, float((arms[first] - arms[second])[0] > 0.0))
        assert np.isfinite(policy.theta_).all()
        assert np.linalg.eigvalsh(policy.precision_).min() > 0.0

    def test_self_duels_teach_nothing(self) -> None:
        """Outcomes of self-duels do not change the estimate or the precision by a bit."""
        policy = self.make(0)
        play(policy, draw_arms(20))
        theta, precision = policy.theta_, policy.precision_
        for arms in draw_arms(5, least=1, most=1):
            policy.tell(policy.ask(arms), 1.0)
        np.testing.assert_array_equal(policy.theta_, theta)
        np.testing.assert_array_equal(policy.precision_, precision)

    def test_weight_two_equals_two_outcomes(self) -> None:
        """An outcome with weight 2 counts as two outcomes.

        The estimates see the same data; the factors of the precision differ by a few roundings. One-pass estimates are
        not compared, because the second outcome starts from another estimate.
        """
        double, twice = self.make(0), self.make(0)
        shown = draw_arms(8, least=2, most=2)
        twice.initialize(shown[0])
        learned = 0
        for arms in shown:
            choice = double.suggest(arms)  # what `ask` chooses without pending duels
            duel = double.ask(arms)
            outcome, z = draw_outcome(arms, duel, 0.7), arms[duel.first] - arms[duel.second]
            double.tell(duel, outcome, weight=2.0)
            for _ in range(2):
                twice.learn(z, outcome, layer=choice.layer, share=choice.share)
            learned += choice.share > 0.0 and not duel.is_self_duel
        assert learned > 0
        if not double.online_:
            np.testing.assert_allclose(double.theta_, twice.theta_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(double.precision_, twice.precision_, rtol=1e-9, atol=1e-9)

    def test_swapping_the_arms_changes_no_bit(self) -> None:
        """Swapping the arms of a pair and reversing its outcome changes no bit."""
        straight, swapped = self.make(0), self.make(0)
        learned = []
        for k, arms in enumerate(draw_arms(8, least=2, most=2)):
            one, other = straight.ask(arms), swapped.ask(arms[::-1])
            if not one.is_self_duel and not other.is_self_duel:
                learned.append((one, other, (1.0, 0.0, 0.5)[k % 3]))
        assert learned
        for one, other, outcome in learned:
            straight.tell(one, outcome)
            swapped.tell(other, 1.0 - outcome if tuple(one) == tuple(other) else outcome)
        assert learned_state(straight) == learned_state(swapped)

    def test_the_order_of_outcomes_does_not_matter(self) -> None:
        """Outcomes told in reverse order give the same precision, up to rounding."""
        forwards, backwards = self.make(0), self.make(0)
        for policy, step in ((forwards, 1), (backwards, -1)):
            duels = [policy.ask(arms) for arms in draw_arms(12)]
            for duel in duels[::step]:
                policy.tell(duel, float(duel.id % 2))
        np.testing.assert_allclose(forwards.precision_, backwards.precision_, rtol=1e-9, atol=1e-9)

    # -- symmetries ----------------------------------------------------------------------

    def test_shifting_all_arms_changes_no_duel(self) -> None:
        """Only differences of arms matter; rules that use more must at least keep playing."""
        shown = draw_arms(80)
        moved = [arms + SHIFT for arms in shown]
        duels, after = play(self.make(0), shown), play(self.make(0), moved)
        if self.translation_invariant:
            assert after == duels
        for arms, duel in zip(shown, after, strict=True):
            check_duel(duel, len(arms))

    def test_relabelled_arms_relabel_the_duel(self) -> None:
        """Reordered arms give the same two arms; rules that choose at random must at least keep playing.

        The first rounds keep their order, because all arms are equal before the first vote.
        """
        shown = draw_arms(80)
        rng = np.random.default_rng(2)
        orders = [np.arange(len(arms)) if t < 5 else rng.permutation(len(arms)) for t, arms in enumerate(shown)]
        duels = play(self.make(0), shown)
        after = play(self.make(0), [arms[order] for arms, order in zip(shown, orders, strict=True)])
        for arms, order, duel, relabelled in zip(shown, orders, duels, after, strict=True):
            check_duel(relabelled, len(arms))
            if self.label_equivariant:
                assert {int(order[k]) for k in relabelled} == set(duel)

    # -- snapshots -----------------------------------------------------------------------

    def test_restored_policy_continues_bit_for_bit(self) -> None:
        """A policy restored with pending duels plays the same next 50 duels and ends in the same state."""
        policy = self.make(0)
        _play_with_pending(policy)
        assert_continues_bit_for_bit(policy)

    def test_snapshot_is_the_complete_state(self) -> None:
        """With the same arms in all rounds, a copy restored in any round asks the same duel, with late outcomes."""
        policy, late = self.make(0), []
        (arms,) = draw_arms(1, least=6)
        for t in range(36):
            copy = restored(policy)
            duel = ask(policy, arms, t // 18)
            assert ask(copy, arms, t // 18) == duel
            late.append(duel)
            for duel in [late.pop(0)] if t % 3 else []:
                policy.tell(duel, draw_outcome(arms, duel, 0.9 if t % 4 == 0 else 0.1))


class NativePolicyContract(RuleContract, PolicyContract):
    """What every native policy promises."""

    @abstractmethod
    def make(self, random_state: int) -> NativePolicy:
        """Return a new policy with this random state and always the same hyperparameters."""

    # -- asking and telling --------------------------------------------------------------

    def test_counters_follow_ask_and_tell(self) -> None:
        """`dim_`, `rounds_` and `pending_` follow `ask` and `tell`."""
        policy = self.make(0)
        assert (policy.dim_, policy.rounds_, policy.pending_) == (None, 0, [])
        duels = [policy.ask(arms) for arms in draw_arms(3)]
        policy.tell(duels[1], 1.0)
        assert (policy.dim_, policy.rounds_) == (DIM, 3)
        assert policy.pending_ == [duels[0].id, duels[2].id]

    def test_arms_may_be_reused_after_ask(self) -> None:
        """The policy keeps no reference to the caller's arms."""
        policy, control = self.make(0), self.make(0)
        for arms in draw_arms(10):
            duel, same = policy.ask(arms), control.ask(arms.copy())
            outcome = draw_outcome(arms, duel, 0.5)
            arms[:] = 0.0
            policy.tell(duel, outcome)
            control.tell(same, outcome)
        assert policy.snapshot() == control.snapshot()

    def test_a_duel_may_be_told_by_its_id(self) -> None:
        """`tell` and `forget` take a duel or its id."""
        by_duel, by_id = self.make(0), self.make(0)
        for arms in draw_arms(6):
            by_duel.tell(by_duel.ask(arms), 1.0)
            by_id.tell(by_id.ask(arms).id, 1.0)
        assert by_duel.snapshot() == by_id.snapshot()

    def test_told_twice_is_an_error(self) -> None:
        """Telling a duel twice raises UnknownDuel and changes nothing."""
        policy = self.make(0)
        play(policy, draw_arms(10))
        duel = policy.ask(draw_arms(1)[0])
        policy.tell(duel, 1.0)
        self._check_unknown_duel(policy, policy.tell, duel, 1.0)

    def test_never_asked_is_an_error(self) -> None:
        """Telling a duel that was never asked raises UnknownDuel and changes nothing."""
        policy = self.make(0)
        self._check_unknown_duel(policy, policy.tell, Duel(0, 1, 0), 1.0)
        play(policy, draw_arms(10))
        policy.ask(draw_arms(1)[0])
        for unknown in (Duel(0, 1, 99), Duel(0, 1), Duel(0, 1, -7)):
            self._check_unknown_duel(policy, policy.tell, unknown, 1.0)

    def test_forget(self) -> None:
        """A forgotten duel is not pending, is not learned, and rejects `tell` and `forget`."""
        policy = self.make(0)
        pending, forgotten = (policy.ask(arms) for arms in draw_arms(2))
        before = policy.snapshot()["state"]
        policy.forget(forgotten)
        assert policy.pending_ == [pending.id]
        assert policy.snapshot()["state"] == before
        self._check_unknown_duel(policy, policy.tell, forgotten, 1.0)
        self._check_unknown_duel(policy, policy.forget, forgotten)
        policy.tell(pending, 1.0)
        assert policy.pending_ == []

    def _check_unknown_duel(self, policy: NativePolicy, verb: Callable[..., None], duel: Duel, *args: float) -> None:
        before = policy.snapshot()
        with pytest.raises(UnknownDuel, match=rf"Duel {duel.id} .*\. "):
            verb(duel, *args)
        assert policy.snapshot() == before

    # -- snapshots -----------------------------------------------------------------------

    @pytest.mark.parametrize("stage", STAGES)
    def test_snapshot_is_json(self, stage: str) -> None:
        """A snapshot is unchanged by a round trip through JSON."""
        policy = self.make(0)
        STAGES[stage](policy)
        snapshot = policy.snapshot()
        assert json.loads(json.dumps(snapshot, allow_nan=False)) == snapshot

    @pytest.mark.parametrize("stage", ["before the first ask", "after an ask"])
    def test_restored_early_policy_continues(self, stage: str) -> None:
        """A policy restored before the first outcome continues bit for bit."""
        policy = self.make(0)
        STAGES[stage](policy)
        assert_continues_bit_for_bit(policy)

    def test_snapshot_does_not_change(self) -> None:
        """A snapshot does not change when the policy, or a copy restored from it, plays on."""
        policy = self.make(0)
        play(policy, draw_arms(20))
        snapshot = policy.snapshot()
        text = json.dumps(snapshot)
        play(type(policy).restore(snapshot), draw_arms(20, seed=1))
        assert policy.snapshot() == snapshot
        play(policy, draw_arms(20, seed=1))
        assert json.dumps(snapshot) == text

    def test_restored_keeps_hyperparameters(self) -> None:
        """A restored policy has the same hyperparameters, including the random state."""
        policy = self.make(6)
        copy = restored(policy)
        assert same_params(copy, policy, but="")
        assert repr(copy) == repr(policy)
