"""The contract of a policy, in three levels, each of which unlocks more of the product.

1. `ask` and `tell`: enough to be simulated, to be put into a study and to be named in the shell.

       duel = policy.ask(arms)        # arms (n_arms, dim), new each round if need be
       policy.tell(duel, outcome)     # now, later, in any order, or never

   `ask` learns nothing; the caller owns the loop. A trace: ask -> duel 0 pending; ask -> duels 0, 1 pending; tell 1 ->
   duel 0 pending, one outcome learned; tell 1 again -> UnknownDuel, nothing changed.
2. `initialize`, `suggest`, `learn` and `assign_layer`: what a study asks of a policy whose duels are kept in a log, with many out
   at once. The defaults here make do with `ask` and `tell`.
3. `snapshot` and `restore`: a study that need not learn its whole log again when it is opened.

The built-in policies have all three; `duelist.policies.engine` is what they share.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.duel import Duel
from duelist.core.errors import InvalidInput

SETTINGS_ONLY: Final = "duelist.plain"
"""The format of the snapshot of a policy that cannot make one: its name and settings, and nothing it has learned."""
_TRIES: Final = 16
Arms = Any
"""What is on a table: an array of features (n_arms, dim); or `ArmTable`, for a policy that says `accepts_arm_table`."""


class Choice(NamedTuple):
    """A duel that a policy would ask, and what `learn` will want to know with its outcome."""

    first: int
    second: int
    layer: int = 0
    share: float = 1.0


class Policy(ABC):
    """Anything that can be asked for a duel and told its outcome."""

    @abstractmethod
    def ask(self, arms: Any) -> Duel:
        """Two arms to compare, by their position in `arms` (n_arms, dim)."""

    @abstractmethod
    def tell(self, duel: Duel, outcome: float, weight: float = 1.0) -> None:
        """The outcome of a duel: 1 the first arm won, 0 the second, 0.5 a tie."""

    @property
    def params(self) -> dict[str, Any]:
        """The hyperparameters, by the names the constructor takes."""
        names = inspect.signature(type(self)).parameters
        missing = [name for name in names if not hasattr(self, name)]
        if missing:
            raise InvalidInput(
                f"{type(self).__name__} takes {missing[0]!r} but does not keep it.",
                f"Set self.{missing[0]} in __init__, so that fresh copies can be made.",
            )
        return {name: getattr(self, name) for name in names}

    def clone(self, random_state: int | None) -> Self:
        """A policy with the same hyperparameters that has seen nothing."""
        params = self.params
        if "random_state" in params:
            params["random_state"] = random_state
        return type(self)(**params)

    def __repr__(self) -> str:
        defaults = {n: p.default for n, p in inspect.signature(type(self)).parameters.items()}
        told = [f"{n}={v!r}" for n, v in self.params.items() if not _same(v, defaults[n])]
        return f"{type(self).__name__}({', '.join(told)})"

    # -- what a study asks of it ---------------------------------------------------------

    def initialize(self, arms: Arms) -> None:  # noqa: B027  (a policy that needs no beginning has none)
        """See the first arms (n_arms, dim) without being asked; here: nothing to do."""

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
        """What it would ask now; nothing changes. Here: what a copy of it answers when it is asked.

        The copy is asked again while it names a pair that may not be asked, since it may draw another; after that the arm it named
        first meets the other arm that it names when its partners so far have left the table.
        """
        shown = np.asarray(arms, np.float64)
        out = {frozenset(pair) for pair in exclude}
        aside = copy.deepcopy(self)
        for _ in range(_TRIES):
            first, second = _positions(aside, shown)
            if (first != second or not distinct) and frozenset((first, second)) not in out:
                return Choice(first, second)
        return _among_others(aside, shown, first, distinct, out)

    def learn(
        self,
        seen: Arms,
        outcome: float,
        weight: float = 1.0,
        *,
        layer: int | None = None,
        share: float = 1.0,
    ) -> None:
        """The outcome of a duel that whoever asked. Here: the policy is shown the two arms, and told.

        `seen` is the features of the two arms (2, dim), or their difference (dim,), first minus second.
        """
        rows = np.asarray(seen, np.float64)
        table = rows if rows.ndim == 2 else np.stack([rows, np.zeros_like(rows)])
        duel = self.ask(table)
        first, second = duel
        if (first, second) == (1, 0):
            outcome = 1.0 - outcome
        elif (first, second) != (0, 1):  # it would rather play an arm against itself
            duel = Duel(0, 1, duel.id)
        self.tell(duel, outcome, weight)

    def assign_layer(self, difference: Arms) -> tuple[int, float]:
        """Layer and share of an outcome that the policy did not ask for; a policy without layers has one place."""
        return 0, 1.0

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data that JSON can hold. Here: its name and settings; what it has learned is not in it."""
        cls = type(self)
        params = {name: value.item() if isinstance(value, np.generic) else value for name, value in self.params.items()}
        return {"format": SETTINGS_ONLY, "policy": f"{cls.__module__}:{cls.__qualname__}", "params": params}

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """The policy of a snapshot."""
        return cls(**snapshot["params"])

    @property
    def accepts_arm_table(self) -> bool:
        """Whether it can be asked with `ArmTable`, arms that may have no features; here: it wants features."""
        return False

    @property
    def is_restorable(self) -> bool:
        """Whether `restore(snapshot())` knows what this policy has learned; else a study learns its log again."""
        return type(self).snapshot is not Policy.snapshot


def _positions(policy: Policy, arms: Floats) -> tuple[int, int]:
    first, second = policy.ask(arms)
    return int(first), int(second)


def _among_others(policy: Policy, arms: Floats, first: int, distinct: bool, out: set[frozenset[int]]) -> Choice:
    """The best allowed partner of `first`, or of the arms after it, by asking about ever smaller tables."""
    for champion in [first, *(k for k in range(len(arms)) if k != first)]:
        partners = [k for k in range(len(arms)) if k != champion and frozenset((champion, k)) not in out]
        if partners:
            named = [partners[k] for k in _positions(policy, arms[partners])]
            return Choice(champion, named[0])
    if not distinct:
        return Choice(first, first)
    raise InvalidInput(f"No pair is left to ask among the {len(arms)} arms.", "Exclude fewer, or wait for an outcome.")


def _same(value: Any, default: Any) -> bool:
    """Whether a setting has its default; settings may be arrays."""
    return value is default or (np.shape(value) == np.shape(default) and bool(np.all(value == default)))
