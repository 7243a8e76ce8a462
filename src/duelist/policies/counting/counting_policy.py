"""What policies share that know arms by who they are and count wins: settings, ask and tell, a log, snapshots."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final, Self

import numpy as np

from duelist import native
from duelist.core.arms import ArmTable
from duelist.core.arrays import (
    Floats,
    Ints,
    check_arms,
    check_horizon,
    check_integer,
    check_pairs,
    is_integer,
    is_number,
)
from duelist.core.duel import Duel, check_outcome, check_weight
from duelist.core.errors import InvalidInput
from duelist.core.seeds import check_random_state, seed_words
from duelist.policies.base import Arms, Choice, Policy
from duelist.policies.counting import snapshots as _snapshots
from duelist.policies.engine.pending import no_pairs_left, pending_id

LAYERS: Final = 2
"""Votes that a rule learns from in different ways: 0, and 1 for those of a pass or of an arm that it has committed to."""


@dataclass(kw_only=True, eq=False, repr=False)
class CountingPolicy(Policy):
    """A policy that counts who won how often against whom, and knows nothing else of arms.

    Arms are given as how many there are (`ask(6)`), as their numbers (`ask([0, 3, 7])`), as `ArmTable`, or as a table of features
    whose rows are only counted: row k is arm k in every round. New arms may join in any round. An arm that is not on the table
    cannot be asked; a rule that waits for it goes on with those that are there.

    What is known moves when a vote is learned, never by asking. Duels that are out count, for the next decision only, as if they
    had been answered as their arms were before: shares stay, doubt shrinks, and a rule that works through a list goes on to the next
    entry; for Winner Stays, as won by the arm that is ahead. So outcomes may come late, in any order, or never.

    Parameters
    ----------
    horizon
        Number of rounds T; needed by the rules whose confidence depends on it, ignored by the others.
    random_state
        Seed of the policy's own randomness; None takes one from the operating system.
    """

    horizon: int | None = None
    random_state: int | None = None

    needs_horizon: ClassVar[bool] = False
    external_layer: ClassVar[int] = 0
    """The layer of votes that it did not ask for."""
    rule_name: ClassVar[str] = ""
    """The rule in the engine; empty: the one of the class's name."""
    _player: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        if self.needs_horizon and self.horizon is None:
            raise InvalidInput(
                f"{type(self).__name__} has to know for how many rounds it will be asked.",
                "Pass horizon=T, or choose RUCB or DTS.",
                code="invalid_input.horizon_missing",
                field="horizon",
                policy=type(self).__name__,
            )
        self.check_settings()
        words = seed_words(check_random_state(self.random_state))
        self._player = native.LiveCountingPolicy(self.make_rule(), words)

    @classmethod
    def setting_names(cls) -> list[str]:
        """Names of the settings the constructor takes."""
        return [f.name for f in fields(cls) if f.init]

    # -- hooks a policy fills in ---------------------------------------------------------

    def check_settings(self) -> None:
        """Refuse settings that make no sense; those of this class are checked already."""

    def rule_settings(self) -> dict[str, float]:
        """The numbers that the rule reads, by name."""
        return {}

    def make_rule(self) -> Any:
        """The rule in the engine."""
        return native.make_counting_rule(self.rule_name or type(self).__name__, self.rule_settings())

    # -- the contract --------------------------------------------------------------------

    def ask(self, arms: Arms, *, distinct: bool = True, exclude: Collection[tuple[int, int]] = ()) -> Duel:
        """Two arms to compare, by their position on the table.

        Parameters
        ----------
        arms
            How many there are, their numbers, `ArmTable`, or a table whose rows are counted.
        distinct
            True (default): two different arms. False: the published rule, under which an arm may meet itself.
        exclude
            Pairs of positions that may not be asked, because they are out with somebody.
        """
        shown = self._numbers(arms)
        asked = self._player.ask(shown, bool(distinct), check_pairs("exclude", exclude, len(shown)))
        if asked is None:
            raise no_pairs_left(len(shown))
        return Duel(*asked)

    def tell(self, duel: Duel | int, outcome: float, weight: float = 1.0) -> None:
        """The outcome of an asked duel; 0.5 is half a win for each, `weight` counts it so often, up to 1e15."""
        value, times = check_outcome(outcome), check_weight(weight)
        self._player.tell(pending_id(self._player, duel), value, times)

    def forget(self, duel: Duel | int) -> None:
        """Give up on a duel that will never be told."""
        self._player.forget(pending_id(self._player, duel))

    # -- a log in the place of pending duels ---------------------------------------------

    def initialize(self, arms: Arms) -> None:
        """See the first arms without being asked."""
        self._player.begin(self._numbers(arms))

    def suggest(
        self,
        arms: Arms,
        pending: Sequence[tuple[Arms, int, float]] = (),
        *,
        seed: int | None = None,
        rounds: int | None = None,
        distinct: bool = True,
        exclude: Collection[tuple[int, int]] = (),
    ) -> Choice:
        """What it would ask now; nothing changes, neither what it knows nor its random numbers.

        `pending` are tables of two arms that are out with somebody, each with the layer and share of its `Choice`. `rounds` is
        ignored: the round of these rules is the number of votes they have learned, plus one.
        """
        for name, value in (("seed", seed), ("rounds", rounds)):
            if value is not None:
                check_integer(name, value, 0, "a whole number of at least 0, or leave it out")
        shown = self._numbers(arms)
        waiting = [self._two(table) for table, _, _ in pending]
        layers = np.array([self._checked_layer(layer) for _, layer, _ in pending], np.int64)
        choice = self._player.consider(
            shown,
            np.array(waiting, np.int64).reshape(len(waiting), 2),
            layers,
            None if seed is None else seed_words(seed),
            bool(distinct),
            check_pairs("exclude", exclude, len(shown)),
        )
        if choice is None:
            raise no_pairs_left(len(shown))
        return Choice(*choice)

    def learn(
        self, seen: Arms, outcome: float, weight: float = 1.0, *, layer: int | None = None, share: float = 1.0
    ) -> None:
        """One outcome of a duel, asked by whomever; `seen` says who the two arms are, as `ArmTable` or two numbers."""
        value, times = check_outcome(outcome), check_weight(weight)
        if not is_number(share) or not 0.0 <= share < np.inf:
            raise InvalidInput(f"share is {share!r}.", "Give that of the `Choice`, or none.", field="share")
        where = self.external_layer if layer is None else self._checked_layer(layer)
        self._player.learn(self._two(seen), value, times, where)

    def assign_layer(self, difference: Arms) -> tuple[int, float]:
        """Layer and share of an outcome that the policy did not ask for."""
        return self.external_layer, 1.0

    def _two(self, seen: Arms) -> Ints:
        if not isinstance(seen, ArmTable) and _axes(seen) != 1:
            raise InvalidInput(
                f"{type(self).__name__} knows arms by who they are, and features do not say it.",
                "Give ArmTable([i, j]).",
            )
        numbers = self._numbers(seen)
        if len(numbers) != 2:
            raise InvalidInput(f"{len(numbers)} arms were given.", "A duel is of two.")
        return numbers

    def _checked_layer(self, layer: Any) -> int:
        if not (is_integer(layer) and 0 <= layer < LAYERS):
            raise InvalidInput(f"layer is {layer!r}.", "Give that of the `Choice`, or none.", field="layer")
        return int(layer)

    def _numbers(self, arms: Arms) -> Ints:
        """Who is on the table."""
        if isinstance(arms, ArmTable):
            numbers = arms.ids
        elif is_integer(arms) or (_axes(arms) == 1 and len(arms) > 0):
            numbers = ArmTable(arms).ids
        else:
            numbers = np.arange(len(check_arms(arms)), dtype=np.int64)
        new = self._player.n_unseen(numbers)
        if new and len(self._player.ids) + new > native.MAX_COUNTING_ARMS:
            raise InvalidInput(
                f"There would be {len(self._player.ids) + new} arms, and {type(self).__name__} keeps a "
                f"count for every pair, of {native.MAX_COUNTING_ARMS} arms at most.",
                "Take LocalPairUCB or BestArmPair with ArmTable.",
            )
        return np.ascontiguousarray(numbers, np.int64)

    # -- what it knows -------------------------------------------------------------------

    @property
    def accepts_arm_table(self) -> bool:
        """It can be asked with `ArmTable`."""
        return True

    @property
    def rounds_(self) -> int:
        """Duels asked so far."""
        return int(self._player.next_id)

    @property
    def pending_(self) -> list[int]:
        """Ids of duels asked and not yet told."""
        return [number for number, *_ in self._player.pending()]

    @property
    def votes_(self) -> int:
        """Outcomes learned so far."""
        return int(self._player.votes)

    @property
    def arms_(self) -> Ints:
        """The numbers of the arms that it has seen, in that order."""
        return self._player.ids

    @property
    def wins_(self) -> Floats:
        """How often an arm (row) has won against another (column), in the order of `arms_`."""
        return self._player.wins()

    @property
    def leader_(self) -> int:
        """The number of the arm that has won more often than lost against most others; of equals the one that won the largest share."""
        wins = self.wins_
        if len(wins) == 0:
            raise InvalidInput(f"This {type(self).__name__} has seen no arms yet.", "`ask` first.")
        met = wins + wins.T
        shares = np.divide(wins, met, out=np.full_like(wins, 0.5), where=met > 0.0)
        ahead = np.sign(wins - wins.T).sum(axis=1)
        return int(self.arms_[np.lexsort((-shares.sum(axis=1), -ahead))[0]])

    # -- snapshots -----------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data that JSON can hold; see `restore`."""
        return _snapshots.pack(self)

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """The policy of a snapshot; it goes on with the same duels, bit for bit."""
        return _snapshots.unpack(cls, snapshot)

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return type(self).restore(self.snapshot())


def _axes(arms: Any) -> int:
    """How many axes an array of this has; -1 for what is none."""
    try:
        return int(np.ndim(arms))
    except (TypeError, ValueError):
        return -1
