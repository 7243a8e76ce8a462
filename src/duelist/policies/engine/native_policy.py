"""What all policies share whose rule is native: settings, ask and tell, a log in the place of pending duels, snapshots."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from duelist import native
from duelist.core.arms import ArmTable
from duelist.core.arrays import (
    Floats,
    Ints,
    Words,
    check_arms,
    check_choice,
    check_difference,
    check_horizon,
    check_integer,
    check_pairs,
    check_positive,
    check_threads,
    is_integer,
    is_number,
)
from duelist.core.duel import Duel, check_outcome, check_weight
from duelist.core.errors import InvalidInput
from duelist.core.seeds import check_random_state, seed_words
from duelist.model.links import get_link
from duelist.model.ridge_selection import default_ridge
from duelist.policies.base import Arms, Choice
from duelist.policies.engine import snapshots
from duelist.policies.engine.arm_effects import NEEDS_ARM_TABLE, ArmEffectsLearner, check_support
from duelist.policies.engine.batch import Batch, as_contexts
from duelist.policies.engine.fitted_policy import FittedPolicy
from duelist.policies.engine.pending import no_pairs_left, pending_id
from duelist.policies.engine.prior import Prior

ESTIMATORS: Final = ("exact", "online")


@dataclass(kw_only=True, eq=False, repr=False)
class NativePolicy(FittedPolicy):
    """A policy whose rule runs in the engine: one live run, or many at once in a simulation.

    Parameters
    ----------
    horizon
        Number of rounds T, or None if it is not known; a policy that does not use it ignores it.
    link
        "logistic", "probit" or "exponential".
    ridge
        Ridge of the estimate, in the units of the features, the same for each. None: for each feature `practical_ridge`
        times its variance over the first arms shown, so that the rule does not depend on the units of any. Where the
        arms of later duels turn out to be of another size, the ridge follows, and pairs that turn out to be out of all
        proportion count in the precision as typical ones (`native/model/feature_scale.hpp` has the rule). With `ArmTable`
        it is the inverse of the variance of an arm effect, by default 1.
    estimator
        "exact" (default): the root of the estimating equation over all duels. With arms that never change a
        round costs the same however long the run; with changing arms the cost and the memory of a
        round grow with the distinct differences seen. "online": one pass, an approximation; each outcome
        is taken in once, in O(dim^2) time and memory, and forgotten, but for the number of wins of each pair,
        as long as there are no more than 2,048 pairs: `recommend` is made from those.
    random_state
        Seed of the policy's own randomness; None takes one from the operating system.
    """

    horizon: int | None = None
    link: str = "logistic"
    ridge: float | None = None
    estimator: str = "exact"
    random_state: int | None = None

    practical_ridge: ClassVar[float] = 1.0
    """The default ridge for features of unit variance."""
    ridge_reference_dim: ClassVar[float] = math.inf
    """Before the first vote an arm's utility is as uncertain as with so many features, however many there are."""
    local_curvature: ClassVar[bool] = False
    """Whether widths are those of the curvature at the estimate, not of the precision."""
    _player: Any = field(init=False, default=None)
    _effects: ArmEffectsLearner | None = field(init=False, default=None)
    _requires_arm_table: bool = field(init=False, default=False)
    _words: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        get_link(self.link)
        if self.ridge is not None:
            check_positive("ridge", self.ridge)
        check_choice("estimator", self.estimator, ESTIMATORS)
        self._words = seed_words(check_random_state(self.random_state))
        self.check_settings()
        self._player = native.LivePolicy(self.make_rule())

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

    def prior(self, variances: Floats, reach: float) -> Prior:
        """What to start from, given the variance of each feature and the largest distance of an arm from the centre."""
        if self.ridge is not None:
            return Prior(float(self.ridge), float(self.ridge))
        ridge = self.practical_ridge_in(len(variances))
        return Prior(ridge, ridge, by_feature=True)

    @classmethod
    def practical_ridge_in(cls, dim: int) -> float:
        """The default ridge of a feature of unit variance among so many."""
        return default_ridge(dim, cls.ridge_reference_dim, cls.practical_ridge)

    def make_rule(self) -> Any:
        """The rule in the engine, which has the name of the policy, or of the one that it is derived from."""
        named = (cls.__name__ for cls in type(self).__mro__)
        known = native.selection_rule_names()
        return native.make_selection_rule(next(name for name in named if name in known), self.rule_settings())

    def initial_arms(self, contexts: Floats | list[Floats]) -> Floats:
        """What a policy that begins with a batch of contexts (candidates, dim) learns the units from: the first context."""
        return np.asarray(contexts[0])

    def initial_state(self, words: Words, arms: Floats) -> Any:
        """A state that has seen nothing but these arms (n_arms, dim)."""
        start = self.prior(*native.arm_spread(arms))
        first_arms = np.ascontiguousarray(arms, np.float64) if start.by_feature else None
        return native.new_policy_state(
            dim=arms.shape[1], link=self.link, online=self.online_, words=words,
            kappa=start.kappa, units=start.units, bound=start.bound, ridge=start.ridge, prior=start.precision, first_arms=first_arms,
        )  # fmt: skip

    # -- the contract --------------------------------------------------------------------

    def ask(self, arms: Arms, *, distinct: bool = True, exclude: Collection[tuple[int, int]] = ()) -> Duel:
        """Two arms to compare, by their position in `arms` (n_arms, dim).

        Parameters
        ----------
        arms
            What is on the table: a row of features an arm; or `ArmTable`, who is on the table, in every round.
        distinct
            True (default): two different arms, which people can compare. Arms with the same features count as
            different; a single arm can only meet itself. False: the published rule, under which an arm may meet
            itself. Such a duel means that the policy would show this arm and has nothing to learn here.
        exclude
            Pairs of positions that may not be asked, because they are out with somebody.
        """
        if len(exclude) == 0:
            duel = self._player.ask(arms, distinct)
            if duel is not None:
                return duel
        if self._uses_arm_effects(arms):
            return self._arm_effects(arms).ask(arms, distinct, exclude)
        shown = check_arms(arms, self.dim_)
        if self._player.dim == 0:
            self.initialize(shown)
        duel = self._player.ask_with_exclusions(shown, bool(distinct), check_pairs("exclude", exclude, len(shown)))
        if duel is None:
            raise no_pairs_left(len(shown))
        return duel

    def tell(self, duel: Duel | int, outcome: float, weight: float = 1.0) -> None:
        """The outcome of an asked duel; `weight` 2 counts as the same outcome told twice."""
        if self._player.tell(duel, outcome, weight):
            return
        if self._effects is not None:
            self._effects.tell(duel, outcome, weight)
            return
        value, times = check_outcome(outcome), check_weight(weight)
        self._player.tell(pending_id(self._player, duel), value, times)

    def ask_batch(
        self, arms: ArrayLike, k: int | None = None, threads: int | None = None, *, distinct: bool = True
    ) -> Batch:
        """A duel in each of many contexts, or in the k contexts that would teach most.

        Parameters
        ----------
        arms
            (contexts, candidates, dim): the candidates of every context; or a list of arrays (candidates, dim), where some contexts have
            more of them than others.
        k
            How many duels to ask for, at most one in each context; None: one in each. The k contexts are chosen one after the other, each
            for the most information log(1 + w^2 |x - y|^2) that its duel adds to those already chosen. A policy that designs
            (`RewardDesign`) chooses pairs and contexts together, and may come back to a context for another pair where that pays: it takes
            a k of up to all pairs of all contexts.
        threads
            How many to use; None: all cores. The result does not depend on it.
        distinct
            As for `ask`: two different arms, unless told otherwise.

        Every context is decided by the policy's own rule from what it knows now; nothing is learned in
        between. Tell each duel of the result like any other.

        >>> import duelist as dl, numpy as np
        >>> policy = dl.MaxPairUCB(random_state=0)
        >>> batch = policy.ask_batch(np.random.default_rng(0).normal(size=(100, 4, 8)), k=3)
        >>> for context, duel in batch:
        ...     policy.tell(duel, 1)
        """
        if self._uses_arm_effects(arms):
            raise InvalidInput("A batch is of arms with features alone.", "Ask for the contexts one after the other.")
        contexts = as_contexts(arms, self.dim_)
        contexts.check_k(k, self.make_rule().designs_batches)
        many = check_threads(threads) or os.cpu_count() or 1
        if self._player.dim == 0:
            self.initialize(self.initial_arms(contexts.listed))
        wanted = -1 if k is None else int(k)
        asked = self._player.ask_batch(contexts.cube, wanted, many, bool(distinct), contexts.counts)
        if asked is None:
            raise no_pairs_left(contexts.cube.shape[1])
        return Batch(*asked)

    def forget(self, duel: Duel | int) -> None:
        """Give up on a duel that will never be told, and free its memory."""
        if self._effects is not None:
            self._effects.forget(duel)
        else:
            self._player.forget(pending_id(self._player, duel))

    # -- a log in the place of pending duels ---------------------------------------------

    def initialize(self, arms: Arms) -> None:
        """Learn the dimension and the units from these arms (n_arms, dim), without asking."""
        if self._uses_arm_effects(arms):
            self._arm_effects(arms)
            return
        shown = check_arms(arms, self.dim_)
        if self._player.dim == 0:
            self._player.begin(self.initial_state(self._words, shown))

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

        (A policy that has seen no arms begins with these.)

        Parameters
        ----------
        arms
            (n_arms, dim), as for `ask`.
        pending
            (difference, layer, share) of duels that are out with somebody else; with `ArmTable`, the table of the two in the place of
            a difference. They count in the precision as if they were answered, so that the next duel is about something else.
        seed
            Of the random numbers of this decision; None: those that `ask` would use.
        rounds
            Duels asked before this one; None: as many as it has asked and learned itself.
        distinct, exclude
            As for `ask`.

        >>> import duelist as dl, numpy as np
        >>> policy, arms = dl.MaxPairUCB(), np.eye(3)
        >>> policy.initialize(arms)
        >>> choice = policy.suggest(arms)
        >>> policy.learn(arms[choice.first] - arms[choice.second], 1, layer=choice.layer, share=choice.share)
        """
        for name, value in (("seed", seed), ("rounds", rounds)):
            if value is not None:
                check_integer(name, value, 0, "a whole number of at least 0, or leave it out")
        if self._uses_arm_effects(arms):
            return self._arm_effects(arms).suggest(arms, pending, seed, rounds, distinct, exclude)
        shown = check_arms(arms, self.dim_)
        if self._player.dim == 0:
            self.initialize(shown)
        differences, layers, shares = self._checked_pending(pending)
        words = None if seed is None else seed_words(seed)
        rounds_before = -1 if rounds is None else int(rounds)
        pairs = check_pairs("exclude", exclude, len(shown))
        choice = Choice(
            *self._player.consider(shown, differences, layers, shares, words, rounds_before, bool(distinct), pairs)
        )
        if choice.first < 0:
            raise no_pairs_left(len(shown))
        return choice

    def learn(
        self,
        seen: Arms,
        outcome: float,
        weight: float = 1.0,
        *,
        layer: int | None = None,
        share: float = 1.0,
    ) -> None:
        """One outcome of a duel, asked by whomever.

        `seen` is the features of the two arms (2, dim), their difference, first minus second, or `ArmTable`. `layer` and `share` are those
        of the `Choice`; without a layer, `assign_layer` finds them. What the policy knows
        afterwards is a function of the outcomes it has learned, in their order, to the bit.
        """
        if self._uses_arm_effects(seen):
            self._arm_effects(seen).learn(seen, outcome, weight, layer, share)
            return
        value, weight = check_outcome(outcome), check_weight(weight)
        who = None
        if np.ndim(seen) == 2:
            rows = check_arms(seen, self._fitted().dim)
            if len(rows) != 2:
                raise InvalidInput(
                    f"seen has shape {rows.shape}.", "Give the features of the two arms, or their difference."
                )
            seen, who = rows[0] - rows[1], native.arm_fingerprints(rows)
        z = check_difference(seen, self._fitted().dim)
        if layer is None:
            layer, share = self.assign_layer(z)
        self._player.learn(z, value, weight, *self._checked_place(layer, share), who)

    def assign_layer(self, difference: Arms) -> tuple[int, float]:
        """Layer and share of an outcome that the policy did not ask for; (-1, 0): it is known well already."""
        if self._uses_arm_effects(difference):
            return 0, 1.0
        return self._player.place(check_difference(difference, self._fitted().dim))

    def _checked_place(self, layer: Any, share: Any) -> tuple[int, float]:
        """A layer that the policy can have (-1: none) and the share of an outcome in it."""
        known = is_integer(layer) and -1 <= layer < self._fitted().max_layers
        if not known or not is_number(share) or not 0.0 <= share < np.inf:
            raise InvalidInput(
                f"layer is {layer!r}, share {share!r}.", "Give those of the `Choice`, or no layer.", field="layer"
            )
        return int(layer), float(share)

    def _checked_pending(self, pending: Sequence[tuple[ArrayLike, int, float]]) -> tuple[Floats, Ints, Floats]:
        dim = self._fitted().dim
        if not pending:
            return np.empty((0, dim)), np.empty(0, np.int64), np.empty(0)
        differences, layers, shares = zip(*pending, strict=True)
        rows = _rows_at_once(differences, dim)
        if rows is None:  # which one is wrong, if any?
            rows = np.array([check_difference(z, dim) for z in differences])
        for layer, share in zip(layers, shares, strict=True):
            if type(layer) is not int or type(share) is not float or layer != 0 or not 0.0 <= share < np.inf:
                self._checked_place(layer, share)
        return rows, np.array(layers, np.int64), np.array(shares, np.float64)

    # -- what is out, and who arms are ---------------------------------------------------

    @property
    def rounds_(self) -> int:
        """Duels asked so far."""
        return int((self._effects or self._player).next_id)

    @property
    def pending_(self) -> list[int]:
        """Ids of duels asked and not yet told."""
        return list(self._effects.pending) if self._effects is not None else list(self._player.pending_ids())

    @property
    def accepts_arm_table(self) -> bool:
        """Whether it can be asked with `ArmTable`: one of the rules that can, learning in one pass."""
        return self.online_ and self.supports_arm_effects

    @property
    def supports_arm_effects(self) -> bool:
        """Whether its rule can decide among arms that have arm effects."""
        return bool(self.make_rule().supports_arm_effects)

    def require_arm_table(self) -> Self:
        """The policy itself, which from now on takes `ArmTable` only: a table of features, given by mistake, is refused."""
        check_support(self)
        self._requires_arm_table = True
        return self

    def with_arm_effects(self, arms: Arms) -> Self:
        """A policy of the same kind that knows these arms by arm effects beside their features, and has heard the votes on them.

        For going on where features turn out not to explain the votes: this one goes on to ask by features alone, and may never ask what
        its verdict waits for. `arms` are all that were asked about (n_arms, dim); ask the new one with `ArmTable(len(arms), arms)`. Duels
        that are out are not known to it. Votes on arms with the same features are heard as votes on the first of them. A `ridge` that
        was given is not taken along: with arm effects it means something else.

        >>> import duelist as dl, numpy as np
        >>> arms, policy = np.eye(3), dl.BestArmPair(random_state=0)
        >>> policy.tell(policy.ask(arms), 1)
        >>> policy.with_arm_effects(arms).look(dl.ArmTable(3, arms)).utilities.argmax()
        np.int64(0)
        """
        from duelist.policies.engine.recommend import counted_votes  # and SciPy with it

        shown = check_arms(arms.features if isinstance(arms, ArmTable) else arms, self._fitted().dim)
        votes = counted_votes(self, shown)
        new = type(self)(**{**self.params, "estimator": "online", "ridge": None})
        table = ArmTable(len(shown), shown)
        new.initialize(table)
        for first, second, mass, wins in zip(votes.first, votes.second, votes.mass, votes.wins, strict=True):
            new.learn(table[[first, second]], wins / mass, mass)
        return new

    def _uses_arm_effects(self, arms: Any) -> bool:
        """Whether these arms, or those before them, have arm effects."""
        return isinstance(arms, ArmTable) or self._effects is not None or self._requires_arm_table

    @property
    def requires_arm_table(self) -> bool:
        """Whether it refuses tables of features, see `require_arm_table`."""
        return self._requires_arm_table

    def _arm_effects(self, arms: Any, *, keep: bool = True) -> ArmEffectsLearner:
        """What is known of arms with arm effects, of which these may be the first; who only looks does not `keep` that."""
        if self._effects is None:
            if self._player.dim:
                raise InvalidInput(
                    f"This {type(self).__name__} has learned of arms by their features.",
                    "Give (n_arms, dim), or start a new policy.",
                )
            if not isinstance(arms, ArmTable):
                raise InvalidInput(*NEEDS_ARM_TABLE)
            begun = ArmEffectsLearner.begun(self, arms, self._words)
            if not keep:
                return begun
            self._effects = begun
        return self._effects

    # -- snapshots -----------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data that JSON can hold; see `restore`."""
        return snapshots.pack(self)

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """The policy of a snapshot; it goes on with the same duels, bit for bit."""
        return snapshots.unpack(cls, snapshot)

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return type(self).restore(self.snapshot())


def _rows_at_once(differences: Sequence[ArrayLike], dim: int) -> Floats | None:
    """Differences as rows of an array; None if there is fault to find with one of them."""
    try:
        rows = np.array(differences, np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return rows if rows.shape == (len(differences), dim) and np.isfinite(rows).all() else None


class LocalCurvature(NativePolicy):
    """A policy with one estimator and widths in the curvature at its estimate."""

    local_curvature: ClassVar[bool] = True

    @property
    def curvature_(self) -> Floats:
        """H at `theta_`."""
        factor = np.triu(self._fitted().curvature_factor(0))
        return np.asarray(factor.T @ factor)
