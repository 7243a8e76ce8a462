"""`Policy`: the contract of a policy, in three levels.

1. `ask` and `tell` make a policy usable in simulations, studies and the shell.

       duel = policy.ask(arms)        # arms (n_arms, dim), which may change every round
       policy.tell(duel, outcome)     # now, later, in any order, or never

   `ask` learns nothing, and the caller owns the loop. For example: ask -> duel 0 is pending; ask -> duels 0 and 1 are
   pending; tell 1 -> duel 0 is pending, one outcome learned; tell 1 again -> UnknownDuel, nothing changes.
2. `initialize`, `suggest`, `learn` and `assign_layer` serve a study, which keeps its duels in a log and has many
   pending. Their defaults here use `ask` and `tell`.
3. `snapshot` and `restore` let a study open without replaying its log. Without them, both raise InvalidInput.

The built-in policies have all three; `duelist.policies.engine` is what they share.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.docstrings import inherit_parameters
from duelist.core.duel import Duel, check_outcome, check_weight, is_tie
from duelist.core.errors import InvalidInput

_MAX_TRIES: Final = 16
Arms = Any
"""Arms to choose from: features (n_arms, dim), or an `ArmTable` if the policy says `accepts_arm_table`."""


class Choice(NamedTuple):
    """A suggested duel, with the layer and share to give to `learn` with its outcome."""

    first: int
    second: int
    layer: int = 0
    share: float = 1.0


class Policy(ABC):
    """Base class of policies: ask for a duel, tell its outcome."""

    learns_ties: ClassVar[bool] = False
    """Whether `tell` and `learn` tell the outcome "tie" from half a win for either arm, 0.5."""
    always_described: ClassVar[tuple[str, ...]] = ()
    """Settings that `describe` shows even at their defaults."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherit_parameters(cls)

    @abstractmethod
    def ask(self, arms: Any) -> Duel:
        """Return two arms to compare, by their positions in `arms` (n_arms, dim)."""

    @abstractmethod
    def tell(self, duel: Duel, outcome: float, weight: float = 1.0) -> None:
        """Learn the outcome of a duel: 1 if the first arm won, 0 if the second won, 0.5 for a tie."""

    def tell_batch(
        self, duels: Iterable[Any], outcomes: Iterable[float], weights: Iterable[float] | None = None
    ) -> None:
        """Learn the outcomes of several duels in this order, all or none.

        `duels` may be a `Batch`, whose items are (context, duel).

        >>> import duelist as dl, numpy as np
        >>> policy = dl.MaxPairUCB(random_state=0)
        >>> duels = [policy.ask(np.eye(4)) for _ in range(3)]
        >>> policy.tell_batch(duels, [1, 0, 0.5])
        """
        told = [each[1] if isinstance(each, tuple) and isinstance(each[1], Duel) else each for each in duels]
        values: list[Any] = [outcome if is_tie(outcome) else check_outcome(outcome) for outcome in outcomes]
        times = [1.0] * len(told) if weights is None else [check_weight(weight) for weight in weights]
        if not len(told) == len(values) == len(times):
            raise InvalidInput(
                f"There are {len(told)} duels, {len(values)} outcomes and {len(times)} weights.",
                "Give one outcome, and one weight or none, for each duel.",
                field="outcomes",
            )
        self.check_pending(told)
        for duel, value, weight in zip(told, values, times, strict=True):
            self.tell(duel, value, weight)

    def check_pending(self, duels: Sequence[Any]) -> None:  # noqa: B027  (optional: by default nothing)
        """Raise UnknownDuel unless these duels are pending, each once; by default without a check."""

    @property
    def params(self) -> dict[str, Any]:
        """The hyperparameters, by the names of the constructor's arguments."""
        names = inspect.signature(type(self)).parameters
        missing = [name for name in names if not hasattr(self, name)]
        if missing:
            raise InvalidInput(
                f"{type(self).__name__} takes {missing[0]!r} but does not keep it.",
                f"Set self.{missing[0]} in __init__, so that fresh copies can be made.",
            )
        return {name: getattr(self, name) for name in names}

    def clone(self, random_state: int | None) -> Self:
        """Return a policy with the same hyperparameters that has learned nothing."""
        return self.replace(random_state=random_state) if "random_state" in self.params else self.replace()

    def replace(self, **changes: Any) -> Self:
        """Return a policy with these hyperparameters changed that has learned nothing."""
        return type(self)(**{**self.params, **changes})

    def __repr__(self) -> str:
        return self.describe()

    def describe(self, horizon: int | None = None) -> str:
        """Return the name and the settings that differ from their defaults and from a shared `horizon`.

        Settings in `always_described` are shown in any case.
        """
        defaults = {n: p.default for n, p in inspect.signature(type(self)).parameters.items()}
        usual = defaults if horizon is None else {**defaults, "horizon": horizon}
        changed = [
            f"{n}={v!r}"
            for n, v in self.params.items()
            if n in self.always_described or not (_is_same(v, defaults[n]) or _is_same(v, usual[n]))
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # -- for studies ---------------------------------------------------------------------

    def initialize(self, arms: Arms) -> None:  # noqa: B027  (optional: by default nothing)
        """Prepare for arms like these (n_arms, dim) without being asked; by default nothing."""

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
        """Return the duel that `ask` would return now, without changing anything.

        The default asks a copy of the policy, repeatedly if it returns a pair
        that is not allowed. If that fails, it pairs the first arm returned with
        the other arm that the copy returns after the excluded partners are
        removed.

        Parameters
        ----------
        arms
            As for `ask`.
        pending
            (arms or difference, layer, share) of duels whose outcome is still
            to come.
        seed
            Seed for the randomness of this decision.
        rounds
            Number of duels asked before.
        distinct
            Whether the two arms must differ.
        exclude
            Pairs of positions that must not be asked.
        """
        shown = np.asarray(arms, np.float64)
        excluded = {frozenset(pair) for pair in exclude}
        copied = copy.deepcopy(self)
        for _ in range(_MAX_TRIES):
            first, second = _ask_positions(copied, shown)
            if (first != second or not distinct) and frozenset((first, second)) not in excluded:
                return Choice(first, second)
        return _partner_for(copied, shown, first, distinct, excluded)

    def learn(
        self,
        arms: Arms,
        outcome: float,
        weight: float = 1.0,
        *,
        layer: int | None = None,
        share: float = 1.0,
    ) -> None:
        """Learn the outcome of any duel; the default asks about its two arms and tells the outcome.

        `arms` are the features of the two arms (2, dim), or their difference
        (dim,), first minus second.
        """
        rows = np.asarray(arms, np.float64)
        table = rows if rows.ndim == 2 else np.stack([rows, np.zeros_like(rows)])
        duel = self.ask(table)
        first, second = duel
        if (first, second) == (1, 0):
            outcome = 1.0 - outcome
        elif (first, second) != (0, 1):  # it answered with an arm against itself
            duel = Duel(0, 1, duel.id)
        self.tell(duel, outcome, weight)

    def assign_layer(self, difference: Arms) -> tuple[int, float]:
        """Return layer and share for an outcome that the policy did not ask for; without layers there is one."""
        return 0, 1.0

    def snapshot(self) -> dict[str, Any]:
        """Return the policy as plain data for JSON; by default raise InvalidInput, see `is_restorable`."""
        raise _no_snapshot(type(self))

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy of a snapshot; by default raise InvalidInput."""
        raise _no_snapshot(cls)

    @property
    def accepts_arm_table(self) -> bool:
        """Whether `ask` accepts an `ArmTable`, whose arms may have no features; by default not."""
        return False

    @property
    def is_restorable(self) -> bool:
        """Whether the class defines `snapshot` and `restore`; otherwise a study replays its log."""
        own, default = type(self), Policy
        return own.snapshot is not default.snapshot and own.restore.__func__ is not default.restore.__func__  # type: ignore[attr-defined]


class CopiedBySnapshot(Policy):
    """A policy that `copy`, `pickle` and so `joblib` copy through its snapshot, for state that Python cannot pickle."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _restored, (type(self), self.snapshot())


def same_settings(one: Policy, other: Policy) -> bool:
    """Return whether two policies have the same hyperparameters."""
    mine, theirs = one.params, other.params
    return mine.keys() == theirs.keys() and all(_is_same(mine[name], theirs[name]) for name in mine)


def _restored(cls: type[CopiedBySnapshot], snapshot: dict[str, Any]) -> CopiedBySnapshot:
    return cls.restore(snapshot)


def _no_snapshot(cls: type[Policy]) -> InvalidInput:
    return InvalidInput(
        f"{cls.__name__} does not define snapshot and restore, so what it has learned cannot be saved.",
        "Define both methods, or use the policy in a study, which replays its log.",
        code="invalid_input.no_snapshot",
    )


def _ask_positions(policy: Policy, arms: Floats) -> tuple[int, int]:
    first, second = policy.ask(arms)
    return int(first), int(second)


def _partner_for(policy: Policy, arms: Floats, first: int, distinct: bool, excluded: set[frozenset[int]]) -> Choice:
    """Return the best allowed partner of `first`, or of the arms after it, by asking about ever smaller tables."""
    for champion in [first, *(k for k in range(len(arms)) if k != first)]:
        partners = [k for k in range(len(arms)) if k != champion and frozenset((champion, k)) not in excluded]
        if partners:
            positions = _ask_positions(policy, arms[partners])
            return Choice(champion, partners[positions[0]])
    if not distinct:
        return Choice(first, first)
    raise InvalidInput(f"No pair is left to ask among the {len(arms)} arms.", "Exclude fewer, or wait for an outcome.")


def _is_same(value: Any, other: Any) -> bool:
    """Whether two values of a setting, which may be arrays, are equal."""
    return value is other or (np.shape(value) == np.shape(other) and bool(np.all(value == other)))
