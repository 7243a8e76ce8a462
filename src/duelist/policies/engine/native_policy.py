"""`NativePolicy`: settings, ask and tell, replay of a log, and snapshots of policies in the engine."""

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
    check_two_arms,
    is_integer,
    is_number,
)
from duelist.core.duel import Duel, check_outcome, check_weight, is_tie
from duelist.core.errors import InvalidInput
from duelist.core.seeds import RandomState, check_random_state, seed_words
from duelist.model.links import get_link
from duelist.model.ridge_selection import default_ridge
from duelist.policies.base import Arms, Choice
from duelist.policies.engine import snapshots
from duelist.policies.engine.arm_effects import NEEDS_ARM_TABLE, ArmEffectsLearner, DecidingModel, check_support
from duelist.policies.engine.batch import Batch, as_contexts
from duelist.policies.engine.fitted_policy import FittedPolicy
from duelist.policies.engine.pending import check_all_pending, no_pairs_left, pending_id, shown_arms
from duelist.policies.engine.prior import Prior

ESTIMATORS: Final = ("exact", "online")
_NEVER: Final = 1e300
"""Number of votes after which the parameter of ties would be estimated again."""


@dataclass(kw_only=True, eq=False, repr=False)
class NativePolicy(FittedPolicy):
    """A policy whose rule runs in the engine, in one live run or in many simulated ones.

    Parameters
    ----------
    horizon
        Number of rounds T, or None if unknown; ignored by policies that do not need it.
    link
        "logistic", "probit" or "exponential".
    ridge
        Ridge of the estimate, one number in the units of the features. None: for each feature `practical_ridge` times
        its variance over the first arms, so that units do not matter. If later arms have another scale, the ridge
        follows, and pairs far out of proportion count in the precision as typical ones
        (`native/model/feature_scale.hpp`). With an `ArmTable`, the inverse of the prior variance of an arm effect, and
        of the part of a utility that features explain. None: votes choose both by evidence
        (`duelist.model.ridge_selection.effect_variances`).
    estimator
        "exact" (default): the root of the estimating equation over all duels. With fixed arms the cost per round does
        not depend on the number of rounds; with changing arms cost and memory grow with the number of distinct
        differences. "online": one pass, an approximation. Each outcome is learned once, in O(dim^2) time and memory,
        and forgotten, except for the wins of each pair as long as there are at most 2,048 pairs: stopping decisions use
        those.
    random_state
        Seed of the policy's own randomness, or a NumPy generator to draw it from; None draws one from the operating
        system.
    """

    horizon: int | None = None
    link: str = "logistic"
    ridge: float | None = None
    estimator: str = "exact"
    random_state: RandomState = None

    learns_ties: ClassVar[bool] = True
    practical_ridge: ClassVar[float] = 1.0
    """The default ridge of a feature with unit variance."""
    ridge_reference_dim: ClassVar[float] = math.inf
    """Beyond this many features the prior variance of a utility grows no more (`default_ridge`)."""
    local_curvature: ClassVar[bool] = False
    """Whether widths use the curvature at the estimate instead of the precision."""
    deciding_model: ClassVar[DecidingModel] = "likeliest"
    """With an `ArmTable`: which prior variances decide: the likeliest, the widest that are almost as likely (decision 53), or those drawn
    with the probability that votes give them (decision 54)."""
    _player: Any = field(init=False, default=None)
    _effects: ArmEffectsLearner | None = field(init=False, default=None)
    _requires_arm_table: bool = field(init=False, default=False)
    _words: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        self.random_state = check_random_state(self.random_state)
        get_link(self.link)
        if self.ridge is not None:
            check_positive("ridge", self.ridge)
        check_choice("estimator", self.estimator, ESTIMATORS)
        self._words = seed_words(check_random_state(self.random_state))
        self.check_settings()
        self._player = native.LivePolicy(self.make_rule())

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

    def prior(self, variances: Floats, reach: float) -> Prior:
        """Return the prior, given the variance of each feature and the largest distance of an arm from the centre."""
        if self.ridge is not None:
            return Prior(float(self.ridge), float(self.ridge))
        ridge = self.practical_ridge_in(len(variances))
        return Prior(ridge, ridge, by_feature=True)

    @classmethod
    def practical_ridge_in(cls, dim: int) -> float:
        """Return the default ridge of a feature with unit variance among `dim` features."""
        return default_ridge(dim, cls.ridge_reference_dim, cls.practical_ridge)

    def make_rule(self) -> Any:
        """Return the rule in the engine, named like this class or a base class."""
        names = (cls.__name__ for cls in type(self).__mro__)
        rules = native.selection_rule_names()
        return native.make_selection_rule(next(name for name in names if name in rules), self.rule_settings())

    def initial_arms(self, contexts: Floats | list[Floats]) -> Floats:
        """Return the arms that set the feature scale of a policy whose first call is a batch: the first context."""
        return np.asarray(contexts[0])

    def initial_state(self, words: Words, arms: Floats) -> Any:
        """Return a state that has seen nothing but these arms (n_arms, dim)."""
        start = self.prior(*native.arm_spread(arms))
        first_arms = np.ascontiguousarray(arms, np.float64) if start.by_feature else None
        return native.new_policy_state(
            dim=arms.shape[1], link=self.link, online=self.online_, words=words,
            kappa=start.kappa, units=start.units, bound=start.bound, ridge=start.ridge, prior=start.precision, first_arms=first_arms,
        )  # fmt: skip

    # -- ask and tell --------------------------------------------------------------------

    def ask(self, arms: Arms, *, distinct: bool = True, exclude: Collection[tuple[int, int]] = ()) -> Duel:
        """Return two arms to compare, by their positions in `arms`.

        Parameters
        ----------
        arms
            Features (n_arms, dim), or an `ArmTable` in every round.
        distinct
            True (default): two different arms, which people can compare. Arms with the same features count as
            different; a single arm is compared with itself. False: the published rule, which may compare an arm with
            itself. Such a duel means that the policy would show this arm and has nothing to learn here.
        exclude
            Pairs of positions that must not be asked, for example because they are pending.
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

    def _ask_pair(self, arms: Floats, first: int, second: int) -> Duel:
        """Ask a given pair."""
        number = self._player.next_id
        self._player.next_id = number + 1
        self._player.add_pending(number, first, second, 0, 1.0, arms[[first, second]])
        return Duel(first, second, number)

    def tell(self, duel: Duel | int, outcome: float | str, weight: float = 1.0) -> None:
        """Learn the outcome of an asked duel; `weight` 2 counts as two equal outcomes.

        1: the first arm won, 0: the second won, "tie": a tie, which is learned by Davidson's model if the link is logistic
        (`link_`). Any other number between 0 and 1 is the first arm's share of a win, and so is a tie with other links.
        """
        if self._player.tell(duel, outcome, weight):
            return
        if self._effects is not None:
            self._effects.tell(duel, outcome, weight)
            return
        value, times = check_outcome(outcome), check_weight(weight)
        self._player.tell(pending_id(self._player, duel), value, times, is_tie(outcome))

    def check_pending(self, duels: Sequence[Any]) -> None:
        """Raise UnknownDuel unless these duels are pending, each once."""
        check_all_pending(self._player if self._effects is None else self._effects, duels)

    def ask_batch(
        self, arms: ArrayLike, k: int | None = None, threads: int | None = None, *, distinct: bool = True
    ) -> Batch:
        """Return a duel in each of many contexts, or in the k contexts with most to learn.

        All duels are chosen from the votes so far; the policy learns nothing in between. Tell each of them
        like any other duel.

        Parameters
        ----------
        arms
            (contexts, candidates, dim): the candidates of each context; or a list of arrays (candidates, dim), if
            contexts have different numbers of candidates.
        k
            Number of duels, at most one per context; None: one per context. The k contexts are chosen one after the
            other, each for the largest information gain log(1 + w^2 |x - y|^2) of its duel, given those chosen before.
            `RewardDesign` chooses pairs and contexts together and may choose several pairs of one context, so its k may
            be up to the number of all pairs.
        threads
            Number of threads; None: all cores. The result does not depend on it.
        distinct
            As for `ask`.

        >>> import duelist as dl, numpy as np
        >>> policy = dl.MaxPairUCB(random_state=0)
        >>> batch = policy.ask_batch(np.random.default_rng(0).normal(size=(100, 4, 8)), k=3)
        >>> for context, duel in batch:
        ...     policy.tell(duel, 1)
        """
        if self._uses_arm_effects(arms):
            raise InvalidInput("A batch cannot have arm effects.", "Ask for one context after the other.")
        contexts = as_contexts(arms, self.dim_)
        contexts.check_k(k, self.make_rule().designs_batches)
        n_threads = check_threads(threads) or os.cpu_count() or 1
        if self._player.dim == 0:
            self.initialize(self.initial_arms(contexts.listed))
        n_duels = -1 if k is None else int(k)
        asked = self._player.ask_batch(contexts.cube, n_duels, n_threads, bool(distinct), contexts.counts)
        if asked is None:
            raise no_pairs_left(contexts.cube.shape[1])
        return Batch(*asked)

    def forget(self, duel: Duel | int) -> None:
        """Drop a pending duel whose outcome will never arrive, and free its memory."""
        if self._effects is not None:
            self._effects.forget(duel)
        else:
            self._player.forget(pending_id(self._player, duel))

    # -- for studies ---------------------------------------------------------------------

    def initialize(self, arms: Arms) -> None:
        """Set the dimension and the feature scale from these arms (n_arms, dim), without asking."""
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
        """Return the duel that `ask` would return now, without changing estimates or the random state.

        A policy that has seen no arms is initialized with these.

        Parameters
        ----------
        arms
            As for `ask`.
        pending
            (arms, layer, share) of duels pending elsewhere, where `arms` are the features of the two arms (2, dim),
            their difference, or, with arm effects, their `ArmTable`. They count in the precision as answered, so that
            the next duel adds other information.
        seed
            Seed for the randomness of this decision; None: the random numbers that `ask` would use.
        rounds
            Number of duels asked before; None: those that this policy has asked and learned.
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
        compared, layers, shares = self._checked_pending(pending)
        words = None if seed is None else seed_words(seed)
        rounds_before = -1 if rounds is None else int(rounds)
        pairs = check_pairs("exclude", exclude, len(shown))
        choice = Choice(
            *self._player.consider(shown, compared, layers, shares, words, rounds_before, bool(distinct), pairs)
        )
        if choice.first < 0:
            raise no_pairs_left(len(shown))
        return choice

    def learn(
        self,
        arms: Arms,
        outcome: float | str,
        weight: float = 1.0,
        *,
        layer: int | None = None,
        share: float = 1.0,
    ) -> None:
        """Learn the outcome of any duel, asked by this policy or not.

        `arms` are the features of the two arms (2, dim), their difference, first minus second, or an `ArmTable`.
        `layer` and `share` are those of the `Choice`; without a layer, `assign_layer` chooses. The result depends only
        on the outcomes and their order, bit for bit.
        """
        if self._uses_arm_effects(arms):
            self._arm_effects(arms).learn(arms, outcome, weight, layer, share)
            return
        value, weight, tie = check_outcome(outcome), check_weight(weight), is_tie(outcome)
        rows, difference = None, arms
        if np.ndim(arms) == 2:
            rows = check_two_arms(arms, self._fitted().dim)
            difference = rows[0] - rows[1]
        z = check_difference(difference, self._fitted().dim)
        if layer is None:
            layer, share = self.assign_layer(z)
        self._player.learn(z, value, weight, *self._check_layer(layer, share), rows, tie)

    def assign_layer(self, difference: Arms) -> tuple[int, float]:
        """Return layer and share for an outcome that the policy did not ask for; (-1, 0) if it adds nothing."""
        if self._uses_arm_effects(difference):
            return 0, 1.0
        return self._player.place(check_difference(difference, self._fitted().dim))

    def _check_layer(self, layer: Any, share: Any) -> tuple[int, float]:
        """Return a layer that the policy can have (-1: none) and the share of an outcome in it."""
        exists = is_integer(layer) and -1 <= layer < self._fitted().max_layers
        if not exists or not is_number(share) or not 0.0 <= share < np.inf:
            raise InvalidInput(
                f"layer is {layer!r}, share {share!r}.", "Give those of the `Choice`, or no layer.", field="layer"
            )
        return int(layer), float(share)

    def _checked_pending(self, pending: Sequence[tuple[ArrayLike, int, float]]) -> tuple[Floats, Ints, Floats]:
        """Return the features of the arms of pending duels (duels, 2, dim), their layers and shares.

        A difference stands for an arm with these features and one with zeros.
        """
        dim = self._fitted().dim
        if not pending:
            return np.empty((0, 2, dim)), np.empty(0, np.int64), np.empty(0)
        given, layers, shares = zip(*pending, strict=True)
        rows = shown_arms(given, dim)
        for layer, share in zip(layers, shares, strict=True):
            if type(layer) is not int or type(share) is not float or layer != 0 or not 0.0 <= share < np.inf:
                self._check_layer(layer, share)
        return rows, np.array(layers, np.int64), np.array(shares, np.float64)

    # -- pending duels and arm effects ---------------------------------------------------

    @property
    def rounds_(self) -> int:
        """Number of duels asked so far."""
        return int((self._effects or self._player).next_id)

    @property
    def pending_(self) -> list[int]:
        """Ids of the pending duels."""
        return list(self._effects.pending) if self._effects is not None else list(self._player.pending_ids())

    @property
    def accepts_arm_table(self) -> bool:
        """Whether `ask` accepts an `ArmTable`: its rule supports arm effects, and the estimator is "online"."""
        return self.online_ and self.supports_arm_effects

    @property
    def supports_arm_effects(self) -> bool:
        """Whether its rule can decide among arms with effects."""
        return bool(self.make_rule().supports_arm_effects)

    def require_arm_table(self) -> Self:
        """Accept nothing but an `ArmTable` from now on, and return the policy itself."""
        check_support(self)
        self._requires_arm_table = True
        return self

    def replace(self, **changes: Any) -> Self:
        """Return a policy with these hyperparameters changed that has learned nothing and accepts the same arms."""
        new = super().replace(**changes)
        new._requires_arm_table = self._requires_arm_table
        return new

    def with_arm_effects(self, arms: Arms) -> Self:
        """Return a policy of the same kind with arm effects that has learned the votes so far.

        Use it if the features turn out not to explain the votes: this policy asks by features alone, and may never ask
        what a decision needs. `arms` are all arms asked about (n_arms, dim); ask the new policy with
        `ArmTable(len(arms), arms)`. It has no pending duels, counts votes on identical arms for the first of them, and
        takes the default ridge, whose meaning differs with arm effects.

        >>> import duelist as dl, numpy as np
        >>> arms, policy = np.eye(3), dl.BestArmPair(random_state=0)
        >>> policy.tell(policy.ask(arms), 1)
        >>> policy.with_arm_effects(arms).posterior(dl.ArmTable(3, arms)).utilities.argmax()
        np.int64(0)
        """
        from duelist.policies.engine.recommend import counted_votes  # imports SciPy, which is slow

        shown = check_arms(arms.features if isinstance(arms, ArmTable) else arms, self._fitted().dim)
        votes = counted_votes(self, shown)
        new = type(self)(**{**self.params, "estimator": "online", "ridge": None})
        table = ArmTable(len(shown), shown)
        new.initialize(table)
        state, ties = new._arm_effects(table).state, self._player.state.arrays()["ties"].tolist()
        state.set_ties([*ties[:-1], _NEVER])  # counts of a pair do not say how many votes were ties
        for first, second, mass, wins in zip(votes.first, votes.second, votes.mass, votes.wins, strict=True):
            new.learn(table[[first, second]], wins / mass, mass)
        state.set_ties(ties)
        return new

    def _uses_arm_effects(self, arms: Any) -> bool:
        """Whether the policy learns arm effects, given these arms."""
        return isinstance(arms, ArmTable) or self._effects is not None or self._requires_arm_table

    @property
    def requires_arm_table(self) -> bool:
        """Whether it accepts nothing but an `ArmTable`, see `require_arm_table`."""
        return self._requires_arm_table

    def _arm_effects(self, arms: Any, *, keep: bool = True) -> ArmEffectsLearner:
        """Return the learner of arm effects, started with these arms if need be, and stored if `keep`."""
        if self._effects is None:
            if self._player.dim:
                raise InvalidInput(
                    f"This {type(self).__name__} has learned without arm effects.",
                    "Give features (n_arms, dim), or start a new policy.",
                )
            if not isinstance(arms, ArmTable):
                raise InvalidInput(*NEEDS_ARM_TABLE)
            learner = ArmEffectsLearner.start(self, arms, self._words)
            if not keep:
                return learner
            self._effects = learner
        return self._effects

    # -- snapshots -----------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return the policy as plain data for JSON; see `restore`."""
        return snapshots.pack(self)

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy of a snapshot; it continues with the same duels, bit for bit."""
        return snapshots.unpack(cls, snapshot)


class LocalCurvature(NativePolicy):
    """A policy with one estimator and widths in the curvature at its estimate."""

    local_curvature: ClassVar[bool] = True

    @property
    def curvature_(self) -> Floats:
        """H at `theta_`."""
        factor = np.triu(self._fitted().curvature_factor(0))
        return np.asarray(factor.T @ factor)
