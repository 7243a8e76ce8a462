"""The contract of a policy, and what all compiled policies share.

A policy is asked and told; the caller owns the loop:

    duel = policy.ask(arms)        # arms (n_arms, dim), new each round if need be
    policy.tell(duel, outcome)     # now, later, in any order, or never

`ask` learns nothing. A trace of one policy:

    ask -> duel 0 pending; ask -> duels 0, 1 pending; tell 1 -> duel 0 pending, one outcome
    learned; tell 1 again -> UnknownDuel, nothing changed; forget 0 -> nothing pending.

To add a policy, subclass `Policy` with `ask` and `tell` in plain Python; or, for compiled
speed, subclass `CompiledPolicy` with a config, a rule (see `_rule`) and two small hooks.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist.domain import Duel, check_outcome, check_weight
from duelist.errors import InvalidInput, UnknownDuel
from duelist.identification import Recommendation, recommend
from duelist.kernels.random import seed_words
from duelist.kernels.scratch import Room, scratch_block
from duelist.links import get_link
from duelist.policies import _batch, _ledger, _snapshot
from duelist.policies._checks import as_floats, check_arms, check_positive, feature_variance
from duelist.policies._pooled import pooled
from duelist.policies._rule import REFUSED, live_code
from duelist.policies._state import (
    Floats,
    Layout,
    Memory,
    Pending,
    State,
    empty_memory,
    solve_once,
    with_room,
)

ESTIMATORS = ("exact", "online")
_new_tuple = tuple.__new__  # of a NamedTuple, in half the time of its own constructor


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
                f"{type(self).__name__} takes {missing[0]!r} but does not keep it; set self.{missing[0]} in __init__, "
                "so that fresh copies can be made"
            )
        return {name: getattr(self, name) for name in names}

    def fresh(self, random_state: int | None) -> Self:
        """A policy with the same hyperparameters that has seen nothing."""
        params = self.params
        if "random_state" in params:
            params["random_state"] = random_state
        return type(self)(**params)

    def __repr__(self) -> str:
        defaults = {n: p.default for n, p in inspect.signature(type(self)).parameters.items()}
        told = [f"{n}={v!r}" for n, v in self.params.items() if not _same(v, defaults[n])]
        return f"{type(self).__name__}({', '.join(told)})"


def _whole(key: Any) -> int:
    """A duel's number as an int; what is no whole number is no duel's."""
    return int(key) if isinstance(key, (int, np.integer)) and not isinstance(key, bool) else -1


def _same(value: Any, default: Any) -> bool:
    """Whether a setting has its default; settings may be arrays."""
    return value is default or (np.shape(value) == np.shape(default) and bool(np.all(value == default)))


class CompiledConfig(NamedTuple):
    """The settings every compiled rule needs; each policy has a config type of its own."""

    link: int
    online: bool


@dataclass(kw_only=True, eq=False, repr=False)
class CompiledPolicy(Policy):
    """A policy whose rule is compiled: one live run, or many at once in a simulation.

    Parameters
    ----------
    link
        "logistic", "probit" or "exponential".
    ridge
        Ridge of the estimate, in the units of the features. None: `practical_ridge` times the mean variance of a
        feature over the first arms shown, so that the rule does not depend on the units.
    estimator
        "exact" (default): the root of the estimating equation over all duels. With arms that never change a
        round costs the same however long the run; with changing arms the cost and the memory of a
        round grow with the distinct differences seen. "online": one pass, an approximation; each outcome
        is taken in once, in O(dim^2) time and memory, and forgotten (see `kernels.tracking`).
    random_state
        Seed of the policy's own randomness; None takes one from the operating system.
    """

    link: str = "logistic"
    ridge: float | None = None
    estimator: str = "exact"
    random_state: int | None = None

    practical_ridge: ClassVar[float] = 1.0
    """The default ridge for features of unit variance."""
    config_class: ClassVar[type[Any]] = CompiledConfig
    uses_randomness: ClassVar[bool] = False
    local_curvature: ClassVar[bool] = False
    """Whether widths are those of the curvature at the estimate, not of the precision."""
    _config: Any = field(init=False, default=None)
    _words: Any = field(init=False, default=None)
    _memory: Memory | None = field(init=False, default=None)
    _pending: dict[int, Pending] = field(init=False, default_factory=dict)
    _next_id: int = field(init=False, default=0)
    # What a call into compiled code takes, ready to hand over: the blocks of the memory, and room to work in.
    _blocks: tuple[Floats, Floats, Layout] | None = field(init=False, default=None)
    _room: tuple[Floats, Room] | None = field(init=False, default=None)
    _dim: int = field(init=False, default=0)
    _code: Any = field(init=False, default=None)  # LiveCode, from the first room on
    _aside: tuple[Floats, Room] | None = field(init=False, default=None)
    _free_rows: int = field(init=False, default=0)
    _ready_until: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        get_link(self.link)
        if self.ridge is not None:
            check_positive("ridge", self.ridge)
        if self.estimator not in ESTIMATORS:
            raise InvalidInput(f"estimator is {self.estimator!r}; choose one of {', '.join(ESTIMATORS)}")
        if self.random_state is None:
            self._words = seed_words(None)
        elif isinstance(self.random_state, (int, np.integer)) and self.random_state >= 0:
            self._words = seed_words(int(self.random_state))
        else:
            raise InvalidInput(
                f"random_state is {self.random_state!r}; give a whole number of at least 0, "
                "or None for one from the operating system"
            )

    @classmethod
    def setting_names(cls) -> list[str]:
        """Names of the settings the constructor takes."""
        return [f.name for f in fields(cls) if f.init]

    # -- hooks a policy fills in ---------------------------------------------------------

    def make_config(self) -> Any:
        """The NamedTuple of numbers that the rule reads."""
        return self.config_class(get_link(self.link).code, self.online_)

    def make_memory(self, words: NDArray[np.uint64], arms: Floats) -> Memory:
        """An empty memory for runs whose first arms are `arms`, shape (runs, n_arms, dim)."""
        ridge = self._ridge(arms)[:, None]
        unused = np.zeros_like(ridge)
        ones = np.ones(len(arms))
        return empty_memory(words, ones, ones, ridge, ridge, unused, arms.shape[2])

    def make_room(self, memory: Memory, rounds: int, rows: int | None = None) -> Memory:
        """The memory with room for `rounds` more outcomes in every run, which bring at most `rows` new differences.

        The one-pass estimator needs none.
        """
        return memory if self.online_ else with_room(memory, rounds if rows is None else rows)

    # -- the contract --------------------------------------------------------------------

    def ask(self, arms: ArrayLike) -> Duel:
        """Two arms to compare, by their position in `arms` (n_arms, dim)."""
        # Every look at the arms from Python costs as much as the decision; so compiled code looks, and refuses.
        shown = as_floats(arms)
        if shown.ndim != 2 or self._next_id + 1 >= self._ready_until:
            self.begin(arms)
        difference = np.empty(self._dim)
        first, second, layer, share = self._code.ask(shown, difference)
        if first == REFUSED:
            self.begin(arms)  # says what is wrong with them, or makes room
            first, second, layer, share = self._code.ask(shown, difference)
        return self._asked(first, second, layer, share, difference)

    def ask_batch(self, arms: ArrayLike, k: int | None = None, threads: int | None = None) -> _batch.Batch:
        """A duel in each of many contexts, or in the k contexts that would teach most.

        Parameters
        ----------
        arms
            (contexts, candidates, dim): the candidates of every context.
        k
            How many contexts to ask in; None: all of them. The k contexts are chosen one after the other, each
            for the most information log(1 + w^2 |x - y|^2) that its duel adds to those already chosen.
        threads
            How many to use; None: all cores. The result does not depend on it.

        Every context is decided by the policy's own rule from what it knows now; nothing is learned in
        between. Tell each duel of the result like any other.

        >>> import duelist as dl, numpy as np
        >>> policy = dl.MaxPairUCB(random_state=0)
        >>> batch = policy.ask_batch(np.random.default_rng(0).normal(size=(100, 4, 8)), k=3)
        >>> for context, duel in batch:
        ...     policy.tell(duel, 1)
        """
        return _batch.ask_batch(self, arms, k, threads)

    def tell(self, duel: Duel | int, outcome: float, weight: float = 1.0) -> None:
        """The outcome of an asked duel; `weight` 2 counts as the same outcome told twice."""
        value, weight = check_outcome(outcome), check_weight(weight)
        _, _, difference, layer, share = self._take(duel)
        if share > 0.0 and self._memory is not None:
            self._make_room()
            self._absorb(layer, difference, value, share, weight)

    def _absorb(self, layer: int, z: Floats, outcome: float, share: float, weight: float) -> None:
        """Let one estimator take in an outcome, for which there is room."""
        self._free_rows = self._code.tell(layer, z, outcome, share, weight)

    # -- a log in the place of pending duels ---------------------------------------------

    def begin(self, arms: ArrayLike) -> None:
        """Learn the dimension and the units from these arms (n_arms, dim), without asking."""
        self._prepare(check_arms(arms, self.dim_)[None], 1)

    def consider(
        self,
        arms: ArrayLike,
        pending: Sequence[tuple[ArrayLike, int, float]] = (),
        *,
        seed: int | None = None,
        rounds: int | None = None,
    ) -> _ledger.Choice:
        """What it would ask now; nothing changes, neither what it knows nor its random numbers.

        (A policy that has seen no arms begins with these.)

        Parameters
        ----------
        arms
            (n_arms, dim), as for `ask`.
        pending
            (difference, layer, share) of duels that are out with somebody else. They count in the precision as
            if they were answered, so that the next duel is about something else.
        seed
            Of the random numbers of this decision; None: those that `ask` would use.
        rounds
            Duels asked before this one; None: as many as it has asked and learned itself.

        >>> import duelist as dl, numpy as np
        >>> policy, arms = dl.MaxPairUCB(), np.eye(3)
        >>> policy.begin(arms)
        >>> choice = policy.consider(arms)
        >>> policy.learn(arms[choice.first] - arms[choice.second], 1, layer=choice.layer, share=choice.share)
        """
        return _ledger.consider(self, check_arms(arms, self.dim_), pending, seed, rounds)

    def learn(
        self,
        difference: ArrayLike,
        outcome: float,
        weight: float = 1.0,
        *,
        layer: int | None = None,
        share: float = 1.0,
    ) -> None:
        """One outcome of a duel with this difference of features, first minus second, asked by whomever.

        `layer` and `share` are those of the `Choice`; without a layer, `place` finds them. What the policy knows
        afterwards is a function of the outcomes it has learned, in their order, to the bit.
        """
        z, value, weight = _ledger.difference_for(self, difference), check_outcome(outcome), check_weight(weight)
        if layer is None:
            layer, share = self.place(z)
        _ledger.learn(self, z, value, weight, layer, share)

    def place(self, difference: ArrayLike) -> tuple[int, float]:
        """Layer and share of an outcome that the policy did not ask for; a policy without layers has one place."""
        _ledger.difference_for(self, difference)
        return 0, 1.0

    def forget(self, duel: Duel | int) -> None:
        """Give up on a duel that will never be told, and free its memory."""
        self._take(duel)

    def _take(self, duel: Duel | int) -> Pending:
        key = duel.id if isinstance(duel, Duel) else duel
        number = key if type(key) is int else _whole(key)
        pending = self._pending.get(number)
        if pending is None:
            known = 0 <= number < self._next_id
            why = "was told or forgotten already" if known else "was never asked of this policy"
            raise UnknownDuel(f"duel {key!r} {why}; tell each duel that `ask` returned once")
        if isinstance(duel, Duel) and (duel.first != pending[0] or duel.second != pending[1]):
            raise UnknownDuel(
                f"duel {key} was asked as ({pending.first}, {pending.second}), not ({duel.first}, {duel.second}); "
                "tell the outcome in the order asked"
            )
        del self._pending[number]
        return pending

    def _asked(self, first: int, second: int, layer: int, share: float, difference: Floats) -> Duel:
        """Hand out a decided duel, and remember what telling it will need."""
        number = self._next_id
        self._pending[number] = _new_tuple(Pending, (first, second, difference, layer, share))
        self._next_id = number + 1
        return Duel(first, second, number)

    # -- memory --------------------------------------------------------------------------

    def _prepare(self, arms: Floats, rounds: int) -> None:
        """A memory, and room to decide on `arms` (contexts, n_arms, dim) in the next rounds."""
        memory = self._memory
        if memory is None:
            config = self.make_config()
            memory = self.make_memory(self._words[None], arms[:1])
            self._config = config
        if self._next_id + rounds >= self._ready_until:
            # An unknown horizon is guessed anew at powers of two; between them nothing has to be looked at.
            self._adopt(self.make_room(memory, rounds))
            self._ready_until = 1 << (self._next_id + rounds).bit_length()
        if self._room is None or self._room[1].arms < arms.shape[1]:
            self._make_scratch(arms.shape[1])

    def _ready(self) -> tuple[tuple[Floats, Floats, Layout], tuple[Floats, Room]]:
        """The blocks of the memory and the room to work in, which `_prepare` has made."""
        if self._blocks is None or self._room is None:
            raise InvalidInput(f"this {type(self).__name__} has seen no arms yet; `ask` first")
        return self._blocks, self._room

    def _adopt(self, memory: Memory) -> None:
        """Go on with this memory, which has room."""
        self._memory = memory
        self._blocks = memory.core[0], memory.rows[0], memory.layout
        self._free_rows = memory.layout.capacity - int(memory.state().n_rows[0])
        if self._room is None:
            return
        if self._room[1].rows != memory.layout.capacity:
            self._make_scratch(self._room[1].arms)
        else:
            self._code = live_code(self._config, *self._ready())

    def _make_room(self, ahead: int = 0) -> None:
        """Room for one more outcome, and for the layers that the rounds so far, and `ahead` more, can reach."""
        if self._memory is not None and (self._free_rows == 0 or self._next_id + ahead >= self._ready_until):
            self._adopt(self.make_room(self._memory, 1))
            self._ready_until = 1 << (self._next_id + ahead).bit_length()

    def _make_scratch(self, n_arms: int) -> None:
        assert self._memory is not None  # noqa: S101  (for the type checker)
        room = Room(n_arms, self._memory.layout.dim, self._memory.layout.capacity)
        self._room = scratch_block(room), room
        self._dim = room.dim
        self._code = live_code(self._config, *self._ready())

    @property
    def _state(self) -> State | None:
        """A view of what it knows; None before the first arms."""
        return None if self._memory is None else self._memory.state()

    # -- what it has learned -------------------------------------------------------------

    @property
    def dim_(self) -> int | None:
        """Number of features, learned from the first arms; None before."""
        return None if self._memory is None else self._memory.layout.dim

    @property
    def online_(self) -> bool:
        """Whether the one-pass estimator is used."""
        return self.estimator == "online"

    @property
    def rounds_(self) -> int:
        """Duels asked so far."""
        return self._next_id

    @property
    def pending_(self) -> list[int]:
        """Ids of duels asked and not yet told."""
        return list(self._pending)

    @property
    def theta_(self) -> Floats:
        """The estimate of theta; see `main_layer_` for policies with several."""
        return self.estimate(self.main_layer_)

    @property
    def precision_(self) -> Floats:
        """The precision Sigma that belongs to `theta_`."""
        return self.layer_precision(self.main_layer_)

    @property
    def main_layer_(self) -> int:
        """Position of the estimator with the most data (the deepest of equals)."""
        counts = self._fitted().learned
        return int(counts.size - 1 - np.argmax(counts[::-1])) if counts.any() else 0

    @property
    def pooled_ridge_(self) -> float:
        """The ridge under the votes of all layers together."""
        return float(self._fitted().ridge[0])

    def recommend(self, arms: ArrayLike, delta: float = 0.05) -> Recommendation:
        """The best of these arms by all votes so far, how sure that is, and the arms not yet ruled out.

        Call it after every vote if you like, and stop when it is `decided`: the announced arm is then wrong with
        probability at most `delta` (see `duelist.identification` for what is behind that). Nothing changes.

        >>> import duelist as dl, numpy as np
        >>> policy, arms = dl.LocalPairUCB(random_state=0), np.eye(3)
        >>> for _ in range(200):
        ...     duel = policy.ask(arms)
        ...     policy.tell(duel, float(duel.first < duel.second))
        >>> policy.recommend(arms).best
        0
        """
        return recommend(check_arms(arms, self.dim_), *pooled(self), delta)

    def estimate(self, layer: int) -> Floats:
        """The up-to-date estimate of one estimator."""
        state = self._fitted()
        if not -state.theta.shape[0] <= layer < state.theta.shape[0]:
            raise InvalidInput(f"layer is {layer}; this policy has layers 0 to {state.theta.shape[0] - 1}")
        layer %= state.theta.shape[0]
        blocks, room = self._ready()
        if state.dirty[layer] and not self.online_:
            solve_once(*blocks, *room, self._config.link, layer)
        return state.theta[layer].copy()

    def layer_precision(self, layer: int) -> Floats:
        """The precision Sigma of one estimator."""
        factor = self._fitted().factor[layer]
        return np.asarray(factor.T @ factor)

    def _fitted(self) -> State:
        if self._memory is None:
            raise InvalidInput(f"this {type(self).__name__} has seen no arms yet; `ask` first")
        return self._memory.state()

    # -- snapshots -----------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data that JSON can hold; see `restore`."""
        return _snapshot.pack(self)

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """The policy of a snapshot; it goes on with the same duels, bit for bit."""
        return _snapshot.unpack(cls, snapshot)

    # -- first arms ----------------------------------------------------------------------

    def _ridge(self, arms: Floats) -> Floats:
        """The ridge of every run: as given, or in proportion to the mean variance of a feature of its first arms."""
        if self.ridge is None:
            return self.practical_ridge * feature_variance(arms)
        return np.full(len(arms), float(self.ridge))
