"""What policies of the native engine promise on top of `PolicyContract`, in two parts.

`RuleContract` is what settings and links can break: decisions, estimates, symmetries. It is run with every setting there is.
`NativePolicyContract` has the bookkeeping too, which they cannot touch (memory of duels, errors, snapshots); one
setting of a policy will do.
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
    RunsContract,
    ask,
    check_duel,
    draw_arms,
    draw_outcome,
    play,
    same_params,
)

SHIFT: Final = np.array([3.0, -2.5, 7.25])


def restored(policy: NativePolicy) -> NativePolicy:
    """The policy of a snapshot that went through JSON text."""
    return type(policy).restore(json.loads(json.dumps(policy.snapshot())))


def knowledge(policy: NativePolicy) -> dict[str, Any]:
    """Every bit of the state but the random generator."""
    return {name: array for name, array in policy.snapshot()["state"].items() if name != "words"}


def _asked(policy: NativePolicy) -> None:
    policy.ask(draw_arms(1)[0])


def _in_the_middle(policy: NativePolicy) -> None:
    play(policy, draw_arms(40))
    for arms in draw_arms(4, seed=1):
        policy.ask(arms)


MOMENTS: Final[dict[str, Callable[[NativePolicy], None]]] = {
    "before the first ask": lambda policy: None,
    "after an ask": _asked,
    "in the middle, four pending": _in_the_middle,
}


def goes_on_bit_for_bit(policy: NativePolicy) -> None:
    """Check that a restored copy plays what the policy plays, and knows what it knows."""
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
    """The policy's own weight of every duel that is out."""
    return {number: share for number, _, _, _, share, _ in policy._player.pending()}


class RuleContract(RunsContract):
    """What settings and links of a native policy can break: run it with each of them.

    Two symmetries do not hold for all rules. A subclass says so by setting

    translation_invariant
        False if the rule looks at an arm's own features, not only at differences.
    label_equivariant
        False if chance decides between pairs, or the order of the arms between unequal ones.
    """

    translation_invariant: bool = True
    label_equivariant: bool = True

    @abstractmethod
    def make(self, random_state: int) -> NativePolicy:
        """A new policy with that random state, the same hyperparameters every time."""

    # -- what is learned -----------------------------------------------------------------

    def test_ask_learns_nothing(self) -> None:
        """However often it is asked, what it knows stays as it was, to the bit."""
        policy = self.make(0)
        play(policy, draw_arms(20))
        theta, precision = policy.theta_, policy.precision_
        for arms in draw_arms(50, seed=1):
            policy.ask(arms)
        np.testing.assert_array_equal(policy.theta_, theta)
        np.testing.assert_array_equal(policy.precision_, precision)

    def test_what_it_learned_is_finite(self) -> None:
        """The estimate is finite and the precision positive definite, also when one side always wins."""
        policy = self.make(0)
        for arms in draw_arms(60):
            first, second = duel = policy.ask(arms)
            policy.tell(duel, float((arms[first] - arms[second])[0] > 0.0))
        assert np.isfinite(policy.theta_).all()
        assert np.linalg.eigvalsh(policy.precision_).min() > 0.0

    def test_an_arm_against_itself_teaches_nothing(self) -> None:
        """Whatever the outcome of a self-duel, what was learned stays as it was, to the bit."""
        policy = self.make(0)
        play(policy, draw_arms(20))
        theta, precision = policy.theta_, policy.precision_
        for arms in draw_arms(5, least=1, most=1):
            policy.tell(policy.ask(arms), 1.0)
        np.testing.assert_array_equal(policy.theta_, theta)
        np.testing.assert_array_equal(policy.precision_, precision)

    def test_weight_two_is_two_outcomes(self) -> None:
        """An outcome with weight 2 teaches what the same outcome told twice does.

        Weights double without rounding, so the estimates see the same data; the factors of the
        precision are rotated once or twice, a few roundings apart. (A one-pass estimate is another matter: the second
        outcome meets what the first has made of it.)
        """
        double, twice = self.make(0), self.make(0)
        shown = draw_arms(8, least=2, most=2)
        twice.initialize(shown[0])
        taught = 0
        for arms in shown:
            choice = double.suggest(arms)  # what `ask` asks with nothing out
            duel = double.ask(arms)
            outcome, z = draw_outcome(arms, duel, 0.7), arms[duel.first] - arms[duel.second]
            double.tell(duel, outcome, weight=2.0)
            for _ in range(2):
                twice.learn(z, outcome, layer=choice.layer, share=choice.share)
            taught += choice.share > 0.0 and not duel.is_self_duel
        assert taught > 0
        if not double.online_:
            np.testing.assert_allclose(double.theta_, twice.theta_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(double.precision_, twice.precision_, rtol=1e-9, atol=1e-9)

    def test_swapping_the_arms_changes_no_bit(self) -> None:
        """Two arms shown the other way round, with the outcome turned, teach the same to the last bit."""
        straight, swapped = self.make(0), self.make(0)
        taught = []
        for k, arms in enumerate(draw_arms(8, least=2, most=2)):
            one, other = straight.ask(arms), swapped.ask(arms[::-1])
            if not one.is_self_duel and not other.is_self_duel:
                taught.append((one, other, (1.0, 0.0, 0.5)[k % 3]))
        assert taught
        for one, other, outcome in taught:
            straight.tell(one, outcome)
            swapped.tell(other, 1.0 - outcome if tuple(one) == tuple(other) else outcome)
        assert knowledge(straight) == knowledge(swapped)

    def test_the_order_of_outcomes_does_not_matter(self) -> None:
        """Outcomes told backwards leave the precision of outcomes told forwards, up to rounding."""
        forwards, backwards = self.make(0), self.make(0)
        for policy, step in ((forwards, 1), (backwards, -1)):
            duels = [policy.ask(arms) for arms in draw_arms(12)]
            for duel in duels[::step]:
                policy.tell(duel, float(duel.id % 2))
        np.testing.assert_allclose(forwards.precision_, backwards.precision_, rtol=1e-9, atol=1e-9)

    # -- symmetries ----------------------------------------------------------------------

    def test_a_constant_added_to_all_arms_changes_no_duel(self) -> None:
        """Only differences of arms count; a rule that looks at more must at least play on."""
        shown = draw_arms(80)
        moved = [arms + SHIFT for arms in shown]
        duels, after = play(self.make(0), shown), play(self.make(0), moved)
        if self.translation_invariant:
            assert after == duels
        for arms, duel in zip(shown, after, strict=True):
            check_duel(duel, len(arms))

    def test_relabelled_arms_relabel_the_duel(self) -> None:
        """Arms in another order: the same two meet; a rule that throws dice must at least play on.

        The first few rounds keep their order, since before anything is known all arms are equally good.
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

    def test_restored_goes_on_bit_for_bit(self) -> None:
        """A policy restored in the middle plays the same next 50 duels and ends in the same state, late outcomes included."""
        policy = self.make(0)
        _in_the_middle(policy)
        goes_on_bit_for_bit(policy)

    def test_nothing_is_remembered_but_what_is_known(self) -> None:
        """With the same arms round after round, a copy restored in between asks what the policy asks that saw them all.

        Every third outcome comes late, when others have been learned.
        """
        policy, late = self.make(0), []
        (arms,) = draw_arms(1, least=6)
        for t in range(36):
            copy = restored(policy)
            duel = ask(policy, arms, t // 18)
            assert ask(copy, arms, t // 18) == duel
            late.append(duel)
            for told in [late.pop(0)] if t % 3 else []:
                policy.tell(told, draw_outcome(arms, told, 0.9 if t % 4 == 0 else 0.1))


class NativePolicyContract(RuleContract, PolicyContract):
    """Everything that native policies promise."""

    @abstractmethod
    def make(self, random_state: int) -> NativePolicy:
        """A new policy with that random state, the same hyperparameters every time."""

    # -- asking and telling --------------------------------------------------------------

    def test_it_counts_what_it_was_asked_and_told(self) -> None:
        """`dim_`, `rounds_` and `pending_` follow the asks and tells."""
        policy = self.make(0)
        assert (policy.dim_, policy.rounds_, policy.pending_) == (None, 0, [])
        duels = [policy.ask(arms) for arms in draw_arms(3)]
        policy.tell(duels[1], 1.0)
        assert (policy.dim_, policy.rounds_) == (DIM, 3)
        assert policy.pending_ == [duels[0].id, duels[2].id]

    def test_arms_may_be_reused_after_ask(self) -> None:
        """The policy keeps no reference to the caller's arms: writing into them later changes nothing."""
        policy, control = self.make(0), self.make(0)
        for arms in draw_arms(10):
            duel, same = policy.ask(arms), control.ask(arms.copy())
            outcome = draw_outcome(arms, duel, 0.5)
            arms[:] = 0.0
            policy.tell(duel, outcome)
            control.tell(same, outcome)
        assert policy.snapshot() == control.snapshot()

    def test_a_duel_may_be_told_by_its_id(self) -> None:
        """`tell` and `forget` take the duel or its id."""
        by_duel, by_id = self.make(0), self.make(0)
        for arms in draw_arms(6):
            by_duel.tell(by_duel.ask(arms), 1.0)
            by_id.tell(by_id.ask(arms).id, 1.0)
        assert by_duel.snapshot() == by_id.snapshot()

    def test_told_twice_is_an_error(self) -> None:
        """An outcome told again raises UnknownDuel, names the duel, and changes nothing."""
        policy = self.make(0)
        play(policy, draw_arms(10))
        duel = policy.ask(draw_arms(1)[0])
        policy.tell(duel, 1.0)
        self._refused(policy, policy.tell, duel, 1.0)

    def test_never_asked_is_an_error(self) -> None:
        """An outcome of a duel that was never asked raises UnknownDuel and changes nothing, at any time."""
        policy = self.make(0)
        self._refused(policy, policy.tell, Duel(0, 1, 0), 1.0)
        play(policy, draw_arms(10))
        policy.ask(draw_arms(1)[0])
        for unknown in (Duel(0, 1, 99), Duel(0, 1), Duel(0, 1, -7)):
            self._refused(policy, policy.tell, unknown, 1.0)

    def test_forget(self) -> None:
        """A forgotten duel is not pending, teaches nothing, and cannot be told or forgotten again."""
        policy = self.make(0)
        kept, given_up = (policy.ask(arms) for arms in draw_arms(2))
        before = policy.snapshot()["state"]
        policy.forget(given_up)
        assert policy.pending_ == [kept.id]
        assert policy.snapshot()["state"] == before
        self._refused(policy, policy.tell, given_up, 1.0)
        self._refused(policy, policy.forget, given_up)
        policy.tell(kept, 1.0)
        assert policy.pending_ == []

    def _refused(self, policy: NativePolicy, verb: Callable[..., None], duel: Duel, *args: float) -> None:
        before = policy.snapshot()
        with pytest.raises(UnknownDuel, match=rf"Duel {duel.id} .*\. "):
            verb(duel, *args)
        assert policy.snapshot() == before

    # -- snapshots -----------------------------------------------------------------------

    @pytest.mark.parametrize("moment", MOMENTS)
    def test_snapshot_is_json(self, moment: str) -> None:
        """A snapshot is plain data: JSON text gives it back unchanged."""
        policy = self.make(0)
        MOMENTS[moment](policy)
        snapshot = policy.snapshot()
        assert json.loads(json.dumps(snapshot, allow_nan=False)) == snapshot

    @pytest.mark.parametrize("moment", ["before the first ask", "after an ask"])
    def test_restored_early_it_goes_on(self, moment: str) -> None:
        """Also where there is nothing to restore but settings and dice, or a duel that is out."""
        policy = self.make(0)
        MOMENTS[moment](policy)
        goes_on_bit_for_bit(policy)

    def test_snapshot_stands_still(self) -> None:
        """A snapshot does not change as the policy, or one restored from it, plays on."""
        policy = self.make(0)
        play(policy, draw_arms(20))
        snapshot = policy.snapshot()
        text = json.dumps(snapshot)
        play(type(policy).restore(snapshot), draw_arms(20, seed=1))
        assert policy.snapshot() == snapshot
        play(policy, draw_arms(20, seed=1))
        assert json.dumps(snapshot) == text

    def test_restored_keeps_hyperparameters(self) -> None:
        """A restored policy has every hyperparameter of the one it was, the random state included."""
        policy = self.make(6)
        copy = restored(policy)
        assert same_params(copy, policy, but="")
        assert repr(copy) == repr(policy)
