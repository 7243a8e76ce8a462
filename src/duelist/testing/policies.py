"""The contract of a policy: subclass it in your tests, fill in `make`, run pytest.

`PolicyContract` holds for anything with `ask` and `tell`; `NativePolicyContract` adds what compiled
policies promise on top: memory of their duels, estimates, snapshots, and symmetries of the rule.
Every test is one rule, told by its docstring.

The arms are multiples of 2^-16 in [-1, 1): differences and shifts of them are exact, so a symmetry
is broken by the policy or not at all, and two pairs are never equally good by accident.
"""

# ruff: noqa: S101 - these are tests; pytest shows the values of a failed assert

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
import pytest

from duelist.arrays import Floats
from duelist.domain import Duel
from duelist.environments import FixedArms, RandomArms
from duelist.errors import UnknownDuel
from duelist.links import LINKS
from duelist.policies import NativePolicy, Policy
from duelist.runs import Runs
from duelist.simulation import policy_seed, simulate

DIM: Final = 3
THETA: Final = np.array([2.0, -1.0, 0.5])
SHIFT: Final = np.array([3.0, -2.5, 7.25])
SEED: Final = 11


def draw_arms(rounds: int, least: int = 2, most: int = 7, seed: int = 0) -> list[Floats]:
    """Arms of several rounds, `least` to `most` in each."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(least, most + 1, rounds)
    return [rng.integers(-(2**16), 2**16, (n, DIM)) / 2.0**16 for n in counts]


def draw_outcome(arms: Floats, duel: Iterable[int], luck: float) -> float:
    """Who wins, decided by the two arms and `luck` alone, not by their order: the better one if luck allows."""
    first, second = duel
    gap = float((arms[first] - arms[second]) @ THETA)
    better_wins = luck < 1.0 / (1.0 + math.exp(-abs(gap)))
    return float(better_wins == (gap >= 0.0))


def play(policy: Policy, shown: Sequence[Floats], seed: int = 0) -> list[tuple[int, int]]:
    """Ask and tell once for every set of arms; the duels played."""
    luck = np.random.default_rng(seed).random(len(shown))
    played = []
    for arms, chance in zip(shown, luck, strict=True):
        duel = policy.ask(arms)
        first, second = duel
        policy.tell(duel, draw_outcome(arms, duel, chance))
        played.append((first, second))
    return played


def check_duel(duel: Any, n_arms: int) -> None:
    """A duel is two whole numbers, positions among the arms shown."""
    first, second = duel
    for position in (first, second):
        assert isinstance(position, (int, np.integer))
        assert 0 <= position < n_arms


def same_params(one: Policy, other: Policy, but: str = "random_state") -> bool:
    """Whether two policies have the same hyperparameters, but for one."""
    left, right = ({k: v for k, v in p.params.items() if k != but} for p in (one, other))
    return left.keys() == right.keys() and all(np.all(left[name] == right[name]) for name in left)


class PolicyContract(ABC):
    """What every policy promises. Subclass it as `Test...` and fill in `make`."""

    @abstractmethod
    def make(self, random_state: int) -> Policy:
        """A new policy with that random state, the same hyperparameters every time."""

    def new(self, random_state: int) -> Policy:
        """The policy that a test plays with."""
        return self.make(random_state)

    def test_positions_are_in_range(self) -> None:
        """A duel is a pair of positions among the arms shown."""
        policy = self.new(0)
        (arms,) = draw_arms(1, least=5)
        for _ in range(30):
            duel = policy.ask(arms)
            check_duel(duel, len(arms))
            policy.tell(duel, 1.0)

    def test_arms_may_change_every_round(self) -> None:
        """The arms may change in number and content from round to round."""
        policy = self.new(0)
        shown = draw_arms(60, least=1, most=9)
        for arms, (first, second) in zip(shown, play(policy, shown), strict=True):
            check_duel((first, second), len(arms))

    def test_one_arm_meets_itself(self) -> None:
        """With one arm on the table the duel is that arm against itself, in the first round and later."""
        policy = self.new(0)
        for arms in draw_arms(3, least=1, most=1) + draw_arms(5) + draw_arms(3, least=1, most=1):
            duel = policy.ask(arms)
            if len(arms) == 1:
                assert tuple(duel) == (0, 0)
            policy.tell(duel, 1.0)

    def test_duplicate_arms_are_fine(self) -> None:
        """Equal arms are allowed: some of them, or all."""
        policy = self.new(0)
        for arms in draw_arms(10):
            for shown in (np.repeat(arms, 2, axis=0), np.repeat(arms[:1], 4, axis=0)):
                duel = policy.ask(shown)
                check_duel(duel, len(shown))
                policy.tell(duel, 0.0)

    def test_ask_leaves_the_arms_alone(self) -> None:
        """`ask` does not write into the caller's arms."""
        policy = self.new(0)
        for arms in draw_arms(20):
            before = arms.copy()
            duel = policy.ask(arms)
            np.testing.assert_array_equal(arms, before)
            policy.tell(duel, 1.0)
            np.testing.assert_array_equal(arms, before)

    def test_same_random_state_gives_the_same_duels(self) -> None:
        """Two policies with the same random state, shown and told the same, play the same duels."""
        shown = draw_arms(60)
        assert play(self.new(3), shown) == play(self.new(3), shown)

    def test_fresh_has_seen_nothing(self) -> None:
        """`fresh` of a policy that has played plays like a new one."""
        played = self.new(0)
        play(played, draw_arms(40))
        shown = draw_arms(40, seed=1)
        assert play(played.fresh(5), shown) == play(self.new(5), shown)

    def test_fresh_keeps_hyperparameters(self) -> None:
        """`fresh` has the same hyperparameters, and the random state it was given."""
        policy = self.new(0)
        copy = policy.fresh(5)
        assert type(copy) is type(policy)
        assert same_params(copy, policy)
        assert copy.params.get("random_state", 5) == 5

    def test_fresh_leaves_the_template_alone(self) -> None:
        """Making and playing a `fresh` copy changes nothing in the policy it came from."""
        template, control = self.new(0), self.new(0)
        shown = draw_arms(40)
        play(template, shown[:20])
        play(control, shown[:20])
        play(template.fresh(5), shown)
        assert play(template, shown[20:]) == play(control, shown[20:])

    def test_several_duels_may_be_pending(self) -> None:
        """A policy may be asked many times before the first outcome comes."""
        policy = self.new(0)
        shown = draw_arms(15)
        duels = [policy.ask(arms) for arms in shown]
        for arms, duel in zip(shown, duels, strict=True):
            check_duel(duel, len(arms))
            policy.tell(duel, draw_outcome(arms, duel, 0.5))
        check_duel(policy.ask(shown[0]), len(shown[0]))

    def test_outcomes_may_come_late_out_of_order_or_never(self) -> None:
        """Outcomes may come rounds later, in any order, or not at all; the policy plays on."""
        policy = self.new(0)
        waiting: list[tuple[Floats, Duel]] = []
        rng = np.random.default_rng(1)
        for arms in draw_arms(60):
            duel = policy.ask(arms)
            check_duel(duel, len(arms))
            waiting.append((arms, duel))
            if rng.random() < 0.6:
                told = waiting.pop(int(rng.integers(len(waiting))))
                policy.tell(told[1], draw_outcome(*told, luck=rng.random()))
        assert len(waiting) > 5

    def test_ties_and_weights_are_taken(self) -> None:
        """An outcome may be a tie, and may carry a weight; booleans and whole numbers are outcomes."""
        policy = self.new(0)
        shown = draw_arms(5)
        for arms, outcome in zip(shown, (0.5, 1, 0, True, False), strict=True):
            policy.tell(policy.ask(arms), outcome, weight=2.0)
        check_duel(policy.ask(shown[0]), len(shown[0]))

    def test_simulate_plays_it(self) -> None:
        """`simulate` plays it where arms come and go; the same seed gives the same runs."""
        environment = RandomArms(dim=DIM, n_arms=(1, 6))
        runs = self._simulated(environment, runs=3)
        fewer = self._simulated(environment, runs=2)
        label = runs.labels[0]
        assert runs.regret(label).shape == (3, 25)
        assert (runs.regret(label) >= 0.0).all()
        for name, values in runs.log(label)._asdict().items():
            np.testing.assert_array_equal(values[:2], getattr(fewer.log(label), name))

    def test_simulated_and_live_play_agree(self) -> None:
        """A run of a simulation is what a fresh copy does when it is asked and told by hand."""
        (arms,) = draw_arms(1, least=6)
        runs = self._simulated(FixedArms(arms, theta=THETA), runs=2)
        log = runs.log(runs.labels[0])
        for run in range(2):
            live = self.new(0).fresh(policy_seed(SEED, run))
            for first, second, outcome in zip(log.first[run], log.second[run], log.outcome[run], strict=True):
                duel = live.ask(arms)
                assert tuple(duel) == (first, second)
                live.tell(duel, float(outcome))

    def test_simulate_leaves_the_template_alone(self) -> None:
        """The policy given to `simulate` is a template; it has learned nothing afterwards."""
        template = self.new(0)
        simulate(template, RandomArms(dim=DIM, n_arms=4), horizon=10, runs=2, seed=SEED)
        shown = draw_arms(30)
        assert play(template, shown) == play(self.new(0), shown)

    def _simulated(self, environment: FixedArms | RandomArms, runs: int) -> Runs:
        return simulate(self.new(0), environment, horizon=25, runs=runs, seed=SEED)


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


class NativePolicyContract(PolicyContract):
    """What compiled policies promise on top; every rule is checked with every link.

    Two symmetries do not hold for all rules. A subclass says so by setting

    translation_invariant
        False if the rule looks at an arm's own features, not only at differences.
    label_equivariant
        False if chance decides between pairs, or the order of the arms between unequal ones.
    """

    translation_invariant: bool = True
    label_equivariant: bool = True
    link_name: str = "logistic"

    @abstractmethod
    def make(self, random_state: int) -> NativePolicy:
        """A new policy with that random state, the same hyperparameters every time; any link."""

    @pytest.fixture(autouse=True, params=list(LINKS))
    def _every_link(self, request: pytest.FixtureRequest) -> None:
        self.link_name = request.param

    def new(self, random_state: int) -> NativePolicy:
        """The policy that a test plays with, with the link of that test."""
        policy = self.make(random_state)
        return type(policy)(**{**policy.params, "link": self.link_name})

    # -- asking and telling --------------------------------------------------------------

    def test_ask_learns_nothing(self) -> None:
        """However often it is asked, what it knows stays as it was, to the bit."""
        policy = self.new(0)
        play(policy, draw_arms(20))
        theta, precision = policy.theta_, policy.precision_
        for arms in draw_arms(50, seed=1):
            policy.ask(arms)
        np.testing.assert_array_equal(policy.theta_, theta)
        np.testing.assert_array_equal(policy.precision_, precision)

    def test_it_counts_what_it_was_asked_and_told(self) -> None:
        """`dim_`, `rounds_` and `pending_` follow the asks and tells."""
        policy = self.new(0)
        assert (policy.dim_, policy.rounds_, policy.pending_) == (None, 0, [])
        duels = [policy.ask(arms) for arms in draw_arms(3)]
        policy.tell(duels[1], 1.0)
        assert (policy.dim_, policy.rounds_) == (DIM, 3)
        assert policy.pending_ == [duels[0].id, duels[2].id]

    def test_arms_may_be_reused_after_ask(self) -> None:
        """The policy keeps no reference to the caller's arms: writing into them later changes nothing."""
        policy, control = self.new(0), self.new(0)
        for arms in draw_arms(10):
            duel, same = policy.ask(arms), control.ask(arms.copy())
            outcome = draw_outcome(arms, duel, 0.5)
            arms[:] = 0.0
            policy.tell(duel, outcome)
            control.tell(same, outcome)
        assert policy.snapshot() == control.snapshot()

    def test_a_duel_may_be_told_by_its_id(self) -> None:
        """`tell` and `forget` take the duel or its id."""
        by_duel, by_id = self.new(0), self.new(0)
        for arms in draw_arms(6):
            by_duel.tell(by_duel.ask(arms), 1.0)
            by_id.tell(by_id.ask(arms).id, 1.0)
        assert by_duel.snapshot() == by_id.snapshot()

    def test_told_twice_is_an_error(self) -> None:
        """An outcome told again raises UnknownDuel, names the duel, and changes nothing."""
        policy = self.new(0)
        play(policy, draw_arms(10))
        duel = policy.ask(draw_arms(1)[0])
        policy.tell(duel, 1.0)
        self._refused(policy, policy.tell, duel, 1.0)

    def test_never_asked_is_an_error(self) -> None:
        """An outcome of a duel that was never asked raises UnknownDuel and changes nothing, at any time."""
        policy = self.new(0)
        self._refused(policy, policy.tell, Duel(0, 1, 0), 1.0)
        play(policy, draw_arms(10))
        policy.ask(draw_arms(1)[0])
        for unknown in (Duel(0, 1, 99), Duel(0, 1), Duel(0, 1, -7)):
            self._refused(policy, policy.tell, unknown, 1.0)

    def test_forget(self) -> None:
        """A forgotten duel is not pending, teaches nothing, and cannot be told or forgotten again."""
        policy = self.new(0)
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
        with pytest.raises(UnknownDuel, match=f"duel {duel.id} .*; "):
            verb(duel, *args)
        assert policy.snapshot() == before

    # -- what is learned -----------------------------------------------------------------

    def test_what_it_learned_is_finite(self) -> None:
        """The estimate is finite and the precision positive definite, also when one side always wins."""
        policy = self.new(0)
        for arms in draw_arms(60):
            first, second = duel = policy.ask(arms)
            policy.tell(duel, float((arms[first] - arms[second])[0] > 0.0))
        assert np.isfinite(policy.theta_).all()
        assert np.linalg.eigvalsh(policy.precision_).min() > 0.0

    def test_an_arm_against_itself_teaches_nothing(self) -> None:
        """Whatever the outcome of a self-duel, what was learned stays as it was, to the bit."""
        policy = self.new(0)
        play(policy, draw_arms(20))
        theta, precision = policy.theta_, policy.precision_
        for arms in draw_arms(5, least=1, most=1):
            policy.tell(policy.ask(arms), 1.0)
        np.testing.assert_array_equal(policy.theta_, theta)
        np.testing.assert_array_equal(policy.precision_, precision)

    def test_weight_two_is_two_outcomes(self) -> None:
        """An outcome with weight 2 teaches what the same outcome told twice does.

        Weights double without rounding, so the estimates see the same data; the factors of the
        precision are rotated once or twice, a few roundings apart.
        """
        double, twice = self.new(0), self.new(0)
        shown = draw_arms(8, least=2, most=2)
        asked = [(double.ask(arms), double.ask(arms)) for arms in shown]
        assert asked == [(twice.ask(arms), twice.ask(arms)) for arms in shown]
        taught = 0
        for arms, (one, other) in zip(shown, asked, strict=True):
            # A policy may give the same duel another weight of its own in another round.
            alike = twice._pending[one.id].share == twice._pending[other.id].share
            if one.is_self_duel or other.is_self_duel or not alike:
                continue
            outcome = draw_outcome(arms, one, 0.7)
            double.tell(one, outcome, weight=2.0)
            twice.tell(one, outcome)
            twice.tell(other, outcome if tuple(other) == tuple(one) else 1.0 - outcome)
            taught += 1
        assert taught > 0
        np.testing.assert_allclose(double.theta_, twice.theta_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(double.precision_, twice.precision_, rtol=1e-9, atol=1e-9)

    def test_swapping_the_arms_changes_no_bit(self) -> None:
        """Two arms shown the other way round, with the outcome turned, teach the same to the last bit."""
        straight, swapped = self.new(0), self.new(0)
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
        forwards, backwards = self.new(0), self.new(0)
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
        duels, after = play(self.new(0), shown), play(self.new(0), moved)
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
        duels = play(self.new(0), shown)
        after = play(self.new(0), [arms[order] for arms, order in zip(shown, orders, strict=True)])
        for arms, order, duel, relabelled in zip(shown, orders, duels, after, strict=True):
            check_duel(relabelled, len(arms))
            if self.label_equivariant:
                assert {int(order[k]) for k in relabelled} == set(duel)

    # -- snapshots -----------------------------------------------------------------------

    @pytest.mark.parametrize("moment", MOMENTS)
    def test_snapshot_is_json(self, moment: str) -> None:
        """A snapshot is plain data: JSON text gives it back unchanged."""
        policy = self.new(0)
        MOMENTS[moment](policy)
        snapshot = policy.snapshot()
        assert json.loads(json.dumps(snapshot, allow_nan=False)) == snapshot

    @pytest.mark.parametrize("moment", MOMENTS)
    def test_restored_goes_on_bit_for_bit(self, moment: str) -> None:
        """A restored policy plays the same next 50 duels and ends in the same state, late outcomes included."""
        policy = self.new(0)
        MOMENTS[moment](policy)
        copy = restored(policy)
        assert copy.snapshot() == policy.snapshot()
        shown = draw_arms(50, seed=3)
        assert play(copy, shown[:25]) == play(policy, shown[:25])
        for waiting in list(policy.pending_):
            policy.tell(waiting, 1.0)
            copy.tell(waiting, 1.0)
        assert play(copy, shown[25:], seed=4) == play(policy, shown[25:], seed=4)
        assert copy.snapshot() == policy.snapshot()

    def test_snapshot_stands_still(self) -> None:
        """A snapshot does not change as the policy, or one restored from it, plays on."""
        policy = self.new(0)
        play(policy, draw_arms(20))
        snapshot = policy.snapshot()
        text = json.dumps(snapshot)
        play(type(policy).restore(snapshot), draw_arms(20, seed=1))
        assert policy.snapshot() == snapshot
        play(policy, draw_arms(20, seed=1))
        assert json.dumps(snapshot) == text

    def test_restored_keeps_hyperparameters(self) -> None:
        """A restored policy has every hyperparameter of the one it was, the random state included."""
        policy = self.new(6)
        copy = restored(policy)
        assert same_params(copy, policy, but="")
        assert repr(copy) == repr(policy)
