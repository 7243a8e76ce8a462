"""What every reference policy does alike: ask and tell, first arms, layers, radii. The rules are in the other files."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Final, Self

import numpy as np

from duelist.core.duel import Duel, check_outcome, check_weight
from duelist.core.errors import InvalidInput, UnknownDuel
from duelist.policies.base import Policy
from duelist.reference.fit import (
    ESTIMATORS,
    Estimator,
    Floats,
    Row,
    Sizes,
    horizon_in,
    link_slope,
    mean_variance,
    reach,
    utilities,
    widths,
)
from duelist.reference.pair_choice import Allowed, Choice, Draws, Pair

MOST_TAKEN: Final = 2**20
"""So many pairs are left out for being out, at most."""


@dataclass(frozen=True)
class Pending:
    """What was decided at ask and is needed at tell."""

    pair: Pair
    z: Floats
    layer: int
    share: float


@dataclass(kw_only=True, eq=False, repr=False)
class Reference(Policy):
    """A policy in plain NumPy: a subclass says in `choose` which pair it plays.

    The settings are those of the fast policy of the same name, and are explained there. Read `decide` for a round, `tell` for
    what is learned from it.
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
    minds_pairs: ClassVar[bool] = True
    """Whether what it goes by falls for a pair that is out; where not, such pairs are left out while there are others."""

    def __post_init__(self) -> None:
        self.draws = Draws(self.random_state)
        self.rounds_ = 0
        self.dim_: int | None = None
        self.layers_: dict[int, Estimator] = {}
        """Each layer's estimator, made when the layer is first visited; a policy without layers has number 1."""
        self._pending: dict[int, Pending] = {}

    # -- what a policy fills in ----------------------------------------------------------

    @abstractmethod
    def choose(self, arms: Floats, allowed: Allowed) -> Choice:
        """The decision of round `t`."""

    def start(self, arms: Floats) -> None:
        """Settings that depend on the first arms."""
        self.sizes_ = Sizes(arms, follow=self.ridge is None)
        self.ridge_ = self.ridge if self.ridge is not None else self.practical_ridge_in(arms.shape[1])

    @classmethod
    def practical_ridge_in(cls, dim: int) -> float:
        """The default ridge of a feature of unit variance among so many."""
        return cls.practical_ridge * max(1.0, dim / cls.ridge_reference_dim)

    def new_layer(self, number: int) -> Estimator:
        """An estimator that has learned nothing; Sigma and the estimate share one ridge."""
        return self.new_estimator(ridge=self.ridge_, prior=self.ridge_)

    def absorb(self, number: int, row: Row, weight: float) -> None:
        """Let a layer take in a vote."""
        self.layer(number).learn(row, weight)

    def resize(self) -> None:
        """Let all layers know that features have other sizes than was thought."""
        for layer in self.layers_.values():
            layer.resize()

    def meet_other_kind(self) -> None:
        """Let all layers know that the first arms were of another kind."""
        for layer in self.layers_.values():
            layer.meet_other_kind()

    # -- ask and tell --------------------------------------------------------------------

    def ask(self, arms: Any, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> Duel:
        """Two arms to compare, by their position in `arms` (n_arms, dim).

        `distinct`: two different ones; False: as published, where most rules let an arm meet itself. `exclude`: pairs
        of positions, in any order, that may not be asked now.
        """
        return self.follow(arms, self.decide(arms, distinct=distinct, exclude=exclude))

    def decide(self, arms: Any, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> Choice:
        """The decision of the next round. It uses up the round and its random numbers; `follow` makes it a duel."""
        arms = self._checked(arms)
        allowed = Allowed(len(arms), distinct=distinct, exclude=exclude)
        if self.dim_ is None:
            self.start(arms)
            self.dim_ = arms.shape[1]
        if not any(layer.count for layer in self.layers_.values()) and self.sizes_.meet(arms):
            self.resize()
        choice = self._as_seen(arms)._choose_beside_pending(arms, allowed)
        self.rounds_ += 1
        return choice

    def _as_seen(self, arms: Floats) -> Self:
        """The policy itself, or where these arms show that sizes are not theirs, one that knows that; dice are shared."""
        sizes = self.sizes_.as_seen(arms)
        if sizes is None:
            return self
        aside = copy.deepcopy(self, {id(self.draws): self.draws})
        aside.sizes_ = sizes
        for layer in aside.layers_.values():
            layer.sizes = sizes
        aside.meet_other_kind() if sizes.found_kind else aside.resize()
        return aside

    def _choose_beside_pending(self, arms: Floats, allowed: Allowed) -> Choice:
        known = self.expect_pending()
        choice = self.choose(arms, allowed if self.minds_pairs else allowed.without(self._pairs_that_are_out(arms)))
        self.layers_ |= known
        return choice

    def _pairs_that_are_out(self, arms: Floats) -> list[Pair]:
        out = [z for known in self._pending.values() for z in (known.z, -known.z)]
        pairs = [
            (i, j) for i, j in combinations(range(len(arms)), 2) if any((arms[i] - arms[j] == z).all() for z in out)
        ]
        return pairs if len(pairs) <= MOST_TAKEN else []

    def expect_pending(self) -> dict[int, Estimator]:
        """Count duels that are out as if they were answered, so that the next one is about something else; what is known really."""
        known: dict[int, Estimator] = {}
        for out in self._pending.values():
            if out.share > 0.0 and out.z.any():
                known.setdefault(out.layer, self.layer(out.layer))
                self.layers_[out.layer] = self.layer(out.layer).expecting(out.z, out.share)
        return known

    def follow(self, arms: Any, choice: Choice, pair: Pair | None = None) -> Duel:
        """The duel of a decision, or of another `pair` where rounding, not the rule, decides between the two."""
        i, j = pair or choice.pair
        arms = self._checked(arms)
        number = self.rounds_ - 1
        self._pending[number] = Pending((i, j), arms[i] - arms[j], choice.layer, choice.share(i, j))
        return Duel(i, j, number)

    def tell(self, duel: Duel | int, outcome: float, weight: float = 1.0) -> None:
        """The outcome of a duel, now, later or never; a weight of 2 is the same as telling it twice."""
        outcome, weight = check_outcome(outcome), check_weight(weight)
        told = self._take(duel)
        if told.share > 0.0 and told.z.any():  # an arm that met itself teaches nothing
            if self.sizes_.notice(told.z, weight):
                self.meet_other_kind() if self.sizes_.found_kind else self.resize()
            self.absorb(told.layer, Row(told.z, outcome, told.share * weight), weight)

    def forget(self, duel: Duel | int) -> None:
        """Give up on a duel that will never be told."""
        self._take(duel)

    def _take(self, duel: Duel | int) -> Pending:
        number = duel.id if isinstance(duel, Duel) else duel
        known = self._pending.get(number)
        if known is None or (isinstance(duel, Duel) and tuple(duel) != known.pair):
            raise UnknownDuel(f"{duel!r} is not waiting for an outcome.", "Tell each duel that `ask` returned once.")
        return self._pending.pop(number)

    def _checked(self, arms: Any) -> Floats:
        arms = np.asarray(arms, np.float64)
        if arms.ndim != 2 or 0 in arms.shape or arms.shape[1] != (self.dim_ or arms.shape[1]):
            raise InvalidInput(
                f"arms have shape {arms.shape}.", "Give (n_arms, dim), with the same dim in every round."
            )
        return arms

    # -- what it knows -------------------------------------------------------------------

    @property
    def t(self) -> int:
        """The round that comes next, from 1: in `choose` that of the decision, in `absorb` the first that can use the vote."""
        return self.rounds_ + 1

    @property
    def theta_(self) -> Floats:
        """The estimate; of several layers that of the one with the most votes, the deepest of equals."""
        if self.dim_ is None:
            raise InvalidInput(f"This {type(self).__name__} has seen no arms yet.", "`ask` first.")
        main = max(self.layers_, key=lambda number: (self.layers_[number].count, number), default=None)
        return np.zeros(self.dim_) if main is None else self.layers_[main].theta.copy()

    def layer(self, number: int) -> Estimator:
        """The estimator of a layer."""
        if number not in self.layers_:
            self.layers_[number] = self.new_layer(number)
        return self.layers_[number]

    def new_estimator(self, *, ridge: float, prior: float) -> Estimator:
        """An estimator of the kind that the settings ask for."""
        return ESTIMATORS[self.estimator](self.link, self.sizes_, ridge, prior)

    def look(self, arms: Floats) -> tuple[Floats, Floats]:
        """Utilities and widths in Sigma^-1, for a policy without layers."""
        known = self.layer(1)
        return utilities(arms, known.theta), widths(arms, known.precision)

    def look_locally(self, arms: Floats) -> tuple[Floats, Floats]:
        """Utilities and widths in H^-1, the curvature at the estimate."""
        known = self.layer(1)
        return utilities(arms, known.theta), widths(arms, known.curvature)


@dataclass(kw_only=True, eq=False, repr=False)
class RadiusReference(Reference):
    """A policy with a confidence radius beta: |theta_hat - theta*|_Sigma <= beta."""

    radius: str | float = "practical"
    scale: float = 1.0
    delta: float = 0.05
    kappa: float | None = None
    theta_bound: float = 1.0

    practical_multiplier: ClassVar[float] = 1.0

    def start(self, arms: Floats) -> None:
        """kappa: the smallest slope of the link over |v| <= 2 A S, with A the reach of the first arms."""
        super().start(arms)
        if self.radius == "theory":  # as published: one ridge for all features
            self.sizes_ = Sizes(arms, follow=False)
            self.ridge_ = self.ridge or self.practical_ridge * mean_variance(arms)
        self.kappa_ = self.kappa or float(link_slope(self.link, 2.0 * reach(arms) * self.theta_bound))

    def new_estimator(self, *, ridge: float, prior: float) -> Estimator:
        """With the published radius, the one-pass estimate is kept within |theta| <= S, as its theory asks."""
        known = super().new_estimator(ridge=ridge, prior=prior)
        known.bound = self.theta_bound if self.radius == "theory" else math.inf
        return known

    def beta(self) -> float:
        """The radius of round t for a policy without layers."""
        d, T = self.layer(1).dim, horizon_in(self.horizon, self.t)
        if self.radius == "theory":  # Li, Lu and Zhou 2017, Theorem 1, for outcomes in [0, 1]
            inside = d / 2.0 * math.log(1.0 + 2.0 * T / d) + math.log(1.0 / self.delta)
            return self.scale * math.sqrt(inside) / (2.0 * self.kappa_)
        if self.radius == "practical":
            return self.scale * self.practical_multiplier * root_d_log(d, T)
        if self.radius == "experiment":  # the comparators in the experiments of Di et al. 2024
            return self.scale * 2.0 * root_d_log(d, T)
        return self.scale * float(self.radius)


def root_d_log(d: int, T: float) -> float:  # noqa: N803  (the papers' letter)
    """sqrt(d log T), the shape of every radius."""
    return math.sqrt(d * math.log(max(T, 2.0)))
