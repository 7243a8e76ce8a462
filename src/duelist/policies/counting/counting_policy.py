"""`CountingPolicy`: settings, ask and tell, replay of a log, and snapshots of counting policies."""

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
from duelist.core.seeds import RandomState, check_random_state, seed_words
from duelist.policies.base import Arms, Choice, CopiedBySnapshot
from duelist.policies.counting import snapshots as _snapshots
from duelist.policies.engine.pending import check_all_pending, no_pairs_left, pending_id

N_LAYERS: Final = 2
"""Kinds of votes for a rule: 0, and 1 for those of a pass or of a committed arm."""


@dataclass(kw_only=True, eq=False, repr=False)
class CountingPolicy(CopiedBySnapshot):
    """A policy that counts who won against whom, and nothing else.

    Arms are given by their number (`ask(6)`), by their ids (`ask([0, 3, 7])`), as an `ArmTable`, or as features whose
    rows are counted: row k is arm k in every round. New arms may join in any round. An arm that is not given cannot be
    asked; a rule that waits for it continues with the others.

    Asking does not change the counts. Pending duels count, for the next decision only, as if answered like
    earlier duels of their arms: win rates stay, uncertainty shrinks, and a rule that works through a list moves to its
    next entry; for Winner Stays, as won by the arm with more net wins. So outcomes may arrive late, in any order, or
    never.

    Parameters
    ----------
    horizon
        Number of rounds T, for rules whose confidence depends on it; others ignore it.
    random_state
        Seed of the policy's own randomness, or a NumPy generator to draw it from; None draws one from the operating
        system.
    """

    horizon: int | None = None
    random_state: RandomState = None

    needs_horizon: ClassVar[bool] = False
    external_layer: ClassVar[int] = 0
    """The layer of votes that the policy did not ask for."""
    rule_name: ClassVar[str] = ""
    """The name of the rule in the engine; empty: that of the class."""
    _player: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        self.random_state = check_random_state(self.random_state)
        if self.needs_horizon and self.horizon is None:
            raise InvalidInput(
                f"{type(self).__name__} needs a horizon.",
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
        """Return the names of the constructor's arguments."""
        return [f.name for f in fields(cls) if f.init]

    # -- for subclasses ------------------------------------------------------------------

    def check_settings(self) -> None:
        """Check the settings of a subclass; those of this class are checked already."""

    def rule_settings(self) -> dict[str, float]:
        """Return the numbers that the rule reads, by name."""
        return {}

    def make_rule(self) -> Any:
        """Return the rule in the engine."""
        return native.make_counting_rule(self.rule_name or type(self).__name__, self.rule_settings())

    # -- ask and tell --------------------------------------------------------------------

    def ask(self, arms: Arms, *, distinct: bool = True, exclude: Collection[tuple[int, int]] = ()) -> Duel:
        """Return two arms to compare, by their positions in `arms`.

        Parameters
        ----------
        arms
            The number of arms, their ids, an `ArmTable`, or features whose rows are counted.
        distinct
            True (default): two different arms. False: the published rule, which may compare an arm with itself.
        exclude
            Pairs of positions that must not be asked, for example because they are pending.
        """
        shown = self._ids(arms)
        asked = self._player.ask(shown, bool(distinct), check_pairs("exclude", exclude, len(shown)))
        if asked is None:
            raise no_pairs_left(len(shown))
        return Duel(*asked)

    def tell(self, duel: Duel | int, outcome: float | str, weight: float = 1.0) -> None:
        """Learn the outcome of an asked duel; 0.5 is half a win for each, `weight` multiplies the count, up to 1e15."""
        value, times = check_outcome(outcome), check_weight(weight)
        self._player.tell(pending_id(self._player, duel), value, times)

    def check_pending(self, duels: Sequence[Any]) -> None:
        """Raise UnknownDuel unless these duels are pending, each once."""
        check_all_pending(self._player, duels)

    def forget(self, duel: Duel | int) -> None:
        """Drop a pending duel whose outcome will never arrive."""
        self._player.forget(pending_id(self._player, duel))

    # -- for studies ---------------------------------------------------------------------

    def initialize(self, arms: Arms) -> None:
        """Add the first arms without asking."""
        self._player.begin(self._ids(arms))

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
        """Return the duel that `ask` would return now, without changing counts or the random state.

        `pending` are tables of the two arms of duels pending elsewhere, with layer and share of their `Choice`.
        `rounds` is ignored: the round of these rules is the number of votes learned, plus one.
        """
        for name, value in (("seed", seed), ("rounds", rounds)):
            if value is not None:
                check_integer(name, value, 0, "a whole number of at least 0, or leave it out")
        shown = self._ids(arms)
        pairs = [self._pair(table) for table, _, _ in pending]
        layers = np.array([self._checked_layer(layer) for _, layer, _ in pending], np.int64)
        choice = self._player.consider(
            shown,
            np.array(pairs, np.int64).reshape(len(pairs), 2),
            layers,
            None if seed is None else seed_words(seed),
            bool(distinct),
            check_pairs("exclude", exclude, len(shown)),
        )
        if choice is None:
            raise no_pairs_left(len(shown))
        return Choice(*choice)

    def learn(
        self, arms: Arms, outcome: float, weight: float = 1.0, *, layer: int | None = None, share: float = 1.0
    ) -> None:
        """Learn the outcome of any duel; `arms` are its two arms, as an `ArmTable` or two ids."""
        value, times = check_outcome(outcome), check_weight(weight)
        if not is_number(share) or not 0.0 <= share < np.inf:
            raise InvalidInput(f"share is {share!r}.", "Give that of the `Choice`, or none.", field="share")
        in_layer = self.external_layer if layer is None else self._checked_layer(layer)
        self._player.learn(self._pair(arms), value, times, in_layer)

    def assign_layer(self, difference: Arms) -> tuple[int, float]:
        """Return layer and share for an outcome that the policy did not ask for."""
        return self.external_layer, 1.0

    def _pair(self, arms: Arms) -> Ints:
        if not isinstance(arms, ArmTable) and _n_axes(arms) != 1:
            raise InvalidInput(
                f"{type(self).__name__} counts wins by arm and needs the ids of the arms.",
                "Give ArmTable([i, j]).",
            )
        ids = self._ids(arms)
        if len(ids) != 2:
            raise InvalidInput(f"{len(ids)} arms were given.", "Give the two that were compared.", field="arms")
        return ids

    def _checked_layer(self, layer: Any) -> int:
        if not (is_integer(layer) and 0 <= layer < N_LAYERS):
            raise InvalidInput(f"layer is {layer!r}.", "Give that of the `Choice`, or none.", field="layer")
        return int(layer)

    def _ids(self, arms: Arms) -> Ints:
        """Return the ids of the given arms."""
        if isinstance(arms, ArmTable):
            ids = arms.ids
        elif is_integer(arms) or (_n_axes(arms) == 1 and len(arms) > 0):
            ids = ArmTable(arms).ids
        else:
            ids = np.arange(len(check_arms(arms)), dtype=np.int64)
        new = self._player.n_unseen(ids)
        if new and len(self._player.ids) + new > native.MAX_COUNTING_ARMS:
            raise InvalidInput(
                f"{len(self._player.ids) + new} arms are too many: {type(self).__name__} keeps a count per pair, for at "
                f"most {native.MAX_COUNTING_ARMS} arms.",
                "Use LocalPairUCB or BestArmPair with an ArmTable.",
            )
        return np.ascontiguousarray(ids, np.int64)

    # -- counts --------------------------------------------------------------------------

    @property
    def accepts_arm_table(self) -> bool:
        """True: it accepts an `ArmTable`."""
        return True

    @property
    def rounds_(self) -> int:
        """Number of duels asked so far."""
        return int(self._player.next_id)

    @property
    def pending_(self) -> list[int]:
        """Ids of the pending duels."""
        return [number for number, *_ in self._player.pending()]

    @property
    def votes_(self) -> int:
        """Number of outcomes learned so far."""
        return int(self._player.votes)

    @property
    def arms_(self) -> Ints:
        """Ids of the arms so far, in order of appearance."""
        return self._player.ids

    @property
    def wins_(self) -> Floats:
        """How often each arm (row) has won against each other (column), in the order of `arms_`."""
        return self._player.wins()

    @property
    def leader_(self) -> int:
        """Id of the arm that leads against most others; of equals, the one with the largest sum of win rates."""
        wins = self.wins_
        if len(wins) == 0:
            raise InvalidInput(f"This {type(self).__name__} has seen no arms yet.", "`ask` first.")
        duels = wins + wins.T
        win_rates = np.divide(wins, duels, out=np.full_like(wins, 0.5), where=duels > 0.0)
        net_beaten = np.sign(wins - wins.T).sum(axis=1)
        return int(self.arms_[np.lexsort((-win_rates.sum(axis=1), -net_beaten))[0]])

    # -- snapshots -----------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return the policy as plain data for JSON; see `restore`."""
        return _snapshots.pack(self)

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy of a snapshot; it continues with the same duels, bit for bit."""
        return _snapshots.unpack(cls, snapshot)


def _n_axes(arms: Any) -> int:
    """Return the number of axes of an array; -1 for anything else."""
    try:
        return int(np.ndim(arms))
    except (TypeError, ValueError):
        return -1
