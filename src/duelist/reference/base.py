"""What all references share: asking and telling, pending duels, layers and radii. The rules are in the other files."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Final, Self, cast

import numpy as np

from duelist.core.duel import Duel, check_outcome, check_weight, is_tie
from duelist.core.errors import InvalidInput, UnknownDuel
from duelist.policies.base import Policy
from duelist.reference.feature_scale import FeatureScale
from duelist.reference.fit import (
    ESTIMATORS,
    Estimator,
    Exact,
    Vote,
    effective_horizon,
    feature_bound,
    mean_variance,
    utilities,
    widths,
)
from duelist.reference.links import Floats, link_slope
from duelist.reference.pair_choice import AllowedPairs, Choice, Draws, Pair
from duelist.reference.ties import TieParameter, exposure
from duelist.reference.tight_radius import TightRadius, tight_radius

MAX_EXCLUDED_PAIRS: Final = 2**20
"""More pending pairs than this are not excluded."""


@dataclass(frozen=True)
class Pending:
    """The values that `tell` needs about a pending duel."""

    pair: Pair
    arms: Floats
    layer: int
    share: float

    @property
    def z(self) -> Floats:
        """The features of the first arm minus those of the second."""
        return np.asarray(self.arms[0] - self.arms[1])


@dataclass(kw_only=True, eq=False, repr=False)
class Reference(Policy):
    """A policy in plain NumPy; subclasses implement `choose`.

    The hyperparameters are those of the fast policy of the same name, which documents them. Start with `decide`, which
    plays a round, and `tell`, which learns from it.
    """

    horizon: int | None = None
    link: str = "logistic"
    ridge: float | None = None
    estimator: str = "exact"
    random_state: int | None = None

    practical_ridge: ClassVar[float] = 1.0
    """The default ridge for features of unit variance."""
    ridge_reference_dim: ClassVar[float] = math.inf
    """With more features than this, the ridge grows in proportion, so that the prior variance of a utility does not."""
    accounts_for_pending: ClassVar[bool] = True
    """Whether the rule values pending pairs less; if not, they are excluded as long as others are left."""

    def __post_init__(self) -> None:
        self.draws = Draws(self.random_state)
        self.rounds_ = 0
        self.dim_: int | None = None
        self.layers_: dict[int, Estimator] = {}
        """The estimator of each layer, created on the first visit; a policy without layers has only layer 1."""
        self._pending: dict[int, Pending] = {}
        self.ties_ = TieParameter()

    # -- what subclasses implement or override ---------------------------------------------

    @abstractmethod
    def choose(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        """Choose the pair of round `t`."""

    def configure(self, arms: Floats) -> None:
        """Set what depends on the first arms."""
        self.feature_scale_ = FeatureScale(arms, adaptive=self.ridge is None)
        self.ridge_ = self.ridge if self.ridge is not None else self.practical_ridge_in(arms.shape[1])

    @classmethod
    def practical_ridge_in(cls, dim: int) -> float:
        """The default ridge for `dim` features of unit variance."""
        return cls.practical_ridge * max(1.0, dim / cls.ridge_reference_dim)

    def new_layer(self, number: int) -> Estimator:
        """Create the estimator of a layer; Sigma and the estimate share one ridge."""
        return self.new_estimator(ridge=self.ridge_, prior=self.ridge_)

    def update_layer(self, number: int, vote: Vote, weight: float) -> None:
        """Learn a vote in a layer."""
        self.layer(number).update(vote, weight)

    def rescale(self) -> None:
        """Tell all layers that the feature scale has changed."""
        for layer in self.layers_.values():
            layer.rescale()

    def rescale_from_start(self) -> None:
        """Tell all layers that the first arms were atypical."""
        for layer in self.layers_.values():
            layer.rescale_from_start()

    # -- ask and tell --------------------------------------------------------------------

    def ask(self, arms: Any, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> Duel:
        """Choose two arms to compare, by their position in `arms` (n_arms, dim).

        With distinct=False an arm may meet itself, as in most published rules. `exclude` lists pairs of positions, in
        any order, that may not be asked.
        """
        return self.commit(arms, self.decide(arms, distinct=distinct, exclude=exclude))

    def decide(self, arms: Any, *, distinct: bool = True, exclude: Iterable[Iterable[int]] = ()) -> Choice:
        """Choose the pair of the next round, and use up its random numbers; `commit` turns the choice into a duel."""
        arms = self._check_arms(arms)
        allowed = AllowedPairs(len(arms), distinct=distinct, exclude=exclude)
        if self.dim_ is None:
            self.configure(arms)
            self.dim_ = arms.shape[1]
        if not any(layer.count for layer in self.layers_.values()) and self.feature_scale_.observe_arms(arms):
            self.rescale()
        choice = self._adapted_to(arms)._choose_with_pending(arms, allowed)
        self.rounds_ += 1
        return choice

    def _adapted_to(self, arms: Floats) -> Self:
        """The policy itself, or a copy with another scale if these arms require one; both use the same `draws`."""
        scale = self.feature_scale_.for_arms(arms)
        if scale is None:
            return self
        adapted = copy.deepcopy(self, {id(self.draws): self.draws})
        adapted.feature_scale_ = scale
        for layer in adapted.layers_.values():
            layer.feature_scale = scale
        adapted.rescale_from_start() if scale.first_arms_atypical else adapted.rescale()
        return adapted

    def _choose_with_pending(self, arms: Floats, allowed: AllowedPairs) -> Choice:
        layers_without_pending = self.add_pending()
        choice = self.choose(arms, allowed if self.accounts_for_pending else allowed.without(self._pending_pairs(arms)))
        self.layers_ |= layers_without_pending
        return choice

    def _pending_pairs(self, arms: Floats) -> list[Pair]:
        compared = [both for pending in self._pending.values() for both in (pending.arms, pending.arms[::-1])]
        pairs = [
            (i, j)
            for i, j in combinations(range(len(arms)), 2)
            if any(np.array_equal(arms[[i, j]], both) for both in compared)
        ]
        return pairs if len(pairs) <= MAX_EXCLUDED_PAIRS else []

    def add_pending(self) -> dict[int, Estimator]:
        """Add the information of pending duels to their layers; return these layers as they were."""
        before: dict[int, Estimator] = {}
        for pending in self._pending.values():
            if pending.share > 0.0 and pending.z.any():
                before.setdefault(pending.layer, self.layer(pending.layer))
                self.layers_[pending.layer] = self.layer(pending.layer).with_pending(pending.z, pending.share)
        return before

    def commit(self, arms: Any, choice: Choice, pair: Pair | None = None) -> Duel:
        """Turn a choice into a pending duel; `pair` replaces it by another one that ties up to rounding."""
        i, j = pair or choice.pair
        arms = self._check_arms(arms)
        number = self.rounds_ - 1
        self._pending[number] = Pending((i, j), arms[[i, j]], choice.layer, choice.share(i, j))
        return Duel(i, j, number)

    def tell(self, duel: Duel | int, outcome: float | str, weight: float = 1.0) -> None:
        """Learn the outcome of a pending duel; a weight of 2 counts as two votes."""
        value, weight, tie = check_outcome(outcome), check_weight(weight), is_tie(outcome)
        pending = self._pop_pending(duel)
        if pending.share > 0.0 and pending.z.any():  # a self-duel carries no information
            if self.feature_scale_.observe_vote(pending.z, weight):
                self.rescale_from_start() if self.feature_scale_.first_arms_atypical else self.rescale()
            vote = Vote(pending.z, value, pending.share * weight)
            if self.estimator == "online":
                self._count_tie(pending.layer, vote, tie)
            self.update_layer(pending.layer, vote, weight)
            if self.estimator == "exact":
                self._count_tie(pending.layer, vote, tie)

    def _count_tie(self, number: int, vote: Vote, tie: bool) -> None:
        """Count a vote for the parameter of ties: before a one-pass estimator learns it, after an exact one has."""
        if self.link in ("probit", "exponential"):
            return
        online = self.estimator == "online"
        if online:
            self.ties_.add_exposure(float(vote.z @ self.layer(number).theta), vote.total_weight)
        if not self.ties_.count(tie, vote.total_weight):
            return
        exact = [layer for layer in self.layers_.values() if isinstance(layer, Exact)]
        rows = [(each.z @ layer.theta, each.total_weight) for layer in exact for each in layer.votes]
        margins, weights = np.array(rows).reshape(-1, 2).T
        self.ties_.estimate(lambda nu: self.ties_.exposure if online else float(weights @ exposure(margins, nu)))
        self.link = self.ties_.link
        self.adopt_link()

    def adopt_link(self) -> None:
        """Tell all layers that the parameter of ties has changed."""
        for layer in self.layers_.values():
            layer.adopt_link(self.link)

    def forget(self, duel: Duel | int) -> None:
        """Drop a pending duel that will get no outcome."""
        self._pop_pending(duel)

    def _pop_pending(self, duel: Duel | int) -> Pending:
        number = duel.id if isinstance(duel, Duel) else duel
        pending = self._pending.get(number)
        if pending is None or (isinstance(duel, Duel) and tuple(duel) != pending.pair):
            raise UnknownDuel(f"{duel!r} is not waiting for an outcome.", "Tell each duel that `ask` returned once.")
        return self._pending.pop(number)

    def _check_arms(self, arms: Any) -> Floats:
        arms = np.asarray(arms, np.float64)
        if arms.ndim != 2 or 0 in arms.shape or arms.shape[1] != (self.dim_ or arms.shape[1]):
            raise InvalidInput(
                f"arms have shape {arms.shape}.", "Give (n_arms, dim), with the same dim in every round."
            )
        return arms

    # -- the state -------------------------------------------------------------------------

    @property
    def t(self) -> int:
        """The next round, from 1: in `choose` the current one, in `update_layer` the first that can use the vote."""
        return self.rounds_ + 1

    @property
    def theta_(self) -> Floats:
        """The estimate of the layer with the most votes; if several have as many, of the deepest."""
        if self.dim_ is None:
            raise InvalidInput(f"This {type(self).__name__} has seen no arms yet.", "Call `ask` first.")
        main = max(self.layers_, key=lambda number: (self.layers_[number].count, number), default=None)
        return np.zeros(self.dim_) if main is None else self.layers_[main].theta.copy()

    def layer(self, number: int) -> Estimator:
        """The estimator of a layer."""
        if number not in self.layers_:
            self.layers_[number] = self.new_layer(number)
        return self.layers_[number]

    def new_estimator(self, *, ridge: float, prior: float) -> Estimator:
        """Create an estimator of the kind that `estimator` names."""
        return ESTIMATORS[self.estimator](self.link, self.feature_scale_, ridge, prior)

    def utilities_and_widths(self, arms: Floats) -> tuple[Floats, Floats]:
        """Utilities and widths in Sigma^-1, for policies without layers."""
        estimator = self.layer(1)
        return utilities(arms, estimator.theta), widths(arms, estimator.precision)

    def local_utilities_and_widths(self, arms: Floats) -> tuple[Floats, Floats]:
        """Utilities and widths in H^-1, with the curvature H at the estimate."""
        estimator = self.layer(1)
        return utilities(arms, estimator.theta), widths(arms, estimator.curvature)


@dataclass(kw_only=True, eq=False, repr=False)
class RadiusReference(Reference):
    """A policy with a confidence radius beta: |theta_hat - theta*|_Sigma <= beta."""

    radius: str | float = "practical"
    scale: float = 1.0
    delta: float = 0.05
    kappa: float | None = None
    theta_bound: float = 1.0

    practical_multiplier: ClassVar[float] = 1.0

    def configure(self, arms: Floats) -> None:
        """Set kappa: the smallest slope of the link over |v| <= 2 A S, where the first arms have |x| <= A."""
        super().configure(arms)
        if self.radius in ("tight", "theory"):  # the same ridge for all features
            self.feature_scale_ = FeatureScale(arms, adaptive=False)
            self.ridge_ = self.ridge or self.practical_ridge * mean_variance(arms)
        self.kappa_ = self.kappa or float(link_slope(self.link, 2.0 * feature_bound(arms) * self.theta_bound))

    def new_estimator(self, *, ridge: float, prior: float) -> Estimator:
        """With the published radius, keep the one-pass estimate within |theta| <= S, as its theory requires."""
        estimator = super().new_estimator(ridge=ridge, prior=prior)
        estimator.bound = self.theta_bound if self.radius == "theory" else math.inf
        return estimator

    def tight_radius(self, number: int = 1, delta: float | None = None) -> TightRadius:
        """The tight radii of a layer."""
        return tight_radius(cast("Exact", self.layer(number)), self.theta_bound, delta or self.delta)

    def beta(self) -> float:
        """The radius of round t, for policies without layers."""
        if self.radius == "tight":
            return self.scale * self.tight_radius().precision
        d, T = self.layer(1).dim, effective_horizon(self.horizon, self.t)
        if self.radius == "theory":  # Li, Lu and Zhou 2017, Theorem 1, for outcomes in [0, 1]
            inside = d / 2.0 * math.log(1.0 + 2.0 * T / d) + math.log(1.0 / self.delta)
            return self.scale * math.sqrt(inside) / (2.0 * self.kappa_)
        if self.radius == "practical":
            return self.scale * self.practical_multiplier * root_d_log(d, T)
        if self.radius == "experiment":  # the comparators in the experiments of Di et al. 2024
            return self.scale * 2.0 * root_d_log(d, T)
        return self.scale * float(self.radius)


def root_d_log(d: int, T: float) -> float:  # noqa: N803  (the papers' letter)
    """sqrt(d log T), the order of every radius."""
    return math.sqrt(d * math.log(max(T, 2.0)))
