"""What every reference needs: links, the estimating equation, widths, horizons and random draws."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Floats = NDArray[np.float64]
Pair = tuple[int, int]


def link_mean(link: str, v: Any) -> Any:
    """mu(v), the chance that the first arm wins."""
    if link == "logistic":
        return special.expit(v)
    if link == "probit":
        return special.ndtr(v)
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(np.asarray(v) < 0.0, tail, 1.0 - tail)


def link_slope(link: str, v: Any) -> Any:
    """mu'(v)"""
    if link == "logistic":
        return special.expit(v) * special.expit(-np.asarray(v))
    if link == "probit":
        return np.exp(-0.5 * np.square(v)) / math.sqrt(2.0 * math.pi)
    return 0.5 * np.exp(-np.abs(v))


class Row(NamedTuple):
    """One told outcome: difference, outcome, and w^2 times the weight it was told with."""

    z: Floats
    outcome: float
    mass: float


def precision(prior: float, rows: list[Row], dim: int) -> Floats:
    """Sigma = prior I + sum w^2 zz'"""
    sigma = prior * np.eye(dim)
    for row in rows:
        sigma = sigma + row.mass * np.outer(row.z, row.z)
    return sigma


def estimate(link: str, ridge: float, rows: list[Row], dim: int) -> Floats:
    """The root of ridge theta + sum w^2 (mu(z . theta) - o) z = 0."""
    if not rows:
        return np.zeros(dim)
    z = np.array([row.z for row in rows])
    outcome = np.array([row.outcome for row in rows])
    mass = np.array([row.mass for row in rows])

    # Divided by the ridge, so that a solver's tolerance means the same in every layer.
    def equation(theta: Floats) -> Floats:
        return theta + z.T @ (mass / ridge * (link_mean(link, z @ theta) - outcome))

    def jacobian(theta: Floats) -> Floats:
        return np.eye(dim) + (z.T * (mass / ridge * link_slope(link, z @ theta))) @ z

    def error(theta: Floats) -> float:
        return float(np.abs(np.linalg.solve(jacobian(theta), equation(theta))).max())

    theta = optimize.root(equation, np.zeros(dim), jac=jacobian, tol=1e-13).x
    if error(theta) > 1e-8:
        theta = optimize.least_squares(equation, np.zeros(dim), jac=jacobian, xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    for _ in range(3):  # the solvers stop near the root; three Newton steps bring it to rounding
        theta = theta - np.linalg.solve(jacobian(theta), equation(theta))
    if not error(theta) < 1e-10 * (1.0 + np.abs(theta).max()):
        raise ArithmeticError(f"the estimating equation is solved only to {error(theta)}")
    return theta


def width(x: Floats, y: Floats, inverse: Floats) -> float:
    """|x - y|_{Sigma^-1}"""
    return math.sqrt(max(float((x - y) @ inverse @ (x - y)), 0.0))


def horizon_in(horizon: int | None, t: int) -> float:
    """T, or, where it is not known, the smallest power of two above round t."""
    if horizon is not None:
        return float(horizon)
    guess = 2
    while guess <= t:
        guess *= 2
    return float(guess)


def curvature(link: str, ridge: float, rows: list[Row], theta: Floats) -> Floats:
    """H = ridge I + sum W mu'(z . theta) zz'"""
    h = ridge * np.eye(len(theta))
    for row in rows:
        h += row.mass * link_slope(link, row.z @ theta) * np.outer(row.z, row.z)
    return h


def squared_widths(arms: Floats, h: Floats) -> Floats:
    """|x - y|^2 in h^-1 for all pairs."""
    gaps = arms[:, None] - arms[None]
    return np.asarray(np.maximum(np.einsum("ijk,kl,ijl->ij", gaps, np.linalg.inv(h), gaps), 0.0))


def mean_variance(arms: Floats) -> float:
    """The mean variance of a feature; one where the arms say nothing about units."""
    spread = float(np.mean([np.mean((column - np.mean(column)) ** 2) for column in arms.T]))
    return spread if spread > 0.0 else 1.0


def smallest_slope(link: str, arms: Floats, theta_bound: float) -> float:
    """kappa: mu' at 2 A S, with A the largest distance of an arm from the centre of the arms."""
    reach = max(float(np.linalg.norm(x - arms.mean(axis=0))) for x in arms)
    return float(link_slope(link, 2.0 * reach * theta_bound))


def first_best(scores: dict[Any, Any]) -> Any:
    """The key of the largest score; of equal ones the first."""
    best = None
    for key, score in scores.items():
        if best is None or score > scores[best]:
            best = key
    return best


def pairs_of(arms: list[int]) -> list[Pair]:
    """All pairs of different arms, row by row."""
    return [(i, j) for a, i in enumerate(arms) for j in arms[a + 1 :]]


def self_pairs_and_pairs_of(arms: list[int]) -> list[Pair]:
    """An arm may meet itself: those duels first, then all pairs of different arms."""
    return [(i, i) for i in arms] + pairs_of(arms)


class Draws:
    """The random numbers of a policy, in the order in which it consumes them."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.SFC64(seed))

    def uniform(self) -> float:
        return float(self._generator.random())

    def below(self, n: int) -> int:
        return min(int(self.uniform() * n), n - 1)

    def other_than(self, i: int, n: int) -> int:
        """One of the n - 1 other arms."""
        return [j for j in range(n) if j != i][self.below(n - 1)]

    def gumbel(self) -> float:
        return -math.log(-math.log(self.uniform()))

    def normal(self) -> float:
        """Box-Muller, the cosine half."""
        u = 1.0 - self.uniform()
        return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * self.uniform())


class Choice(NamedTuple):
    """A decision, and what has to be known about any other pair that a tie might allow."""

    pair: Pair
    shortfall: Callable[[int, int], float]
    """How far a pair stays below the maximum of the rule: 0 for a pair that the rule allows."""
    layer: int = 1
    """The layer that learns the outcome, from 1; 0 where nothing is learned."""
    share: Callable[[int, int], float] = lambda i, j: 1.0
    """w^2 of a pair."""


def best_pair_choice(scores: dict[Pair, Any], **learning: Any) -> Choice:
    """The pair with the largest score."""
    best = first_best(scores)

    def shortfall(i: int, j: int) -> float:
        if (i, j) not in scores:
            return math.inf
        # Of a score that is a tuple, the later entries only break ties.
        top, score = (np.ravel(scores[pair])[0] for pair in (best, (i, j)))
        return float(top - score)

    return Choice(best, shortfall, **learning)


def champion_choice(first: dict[int, float], second: Callable[[int], dict[int, float]], **learning: Any) -> Choice:
    """The arm with the largest first score, then the arm with the largest score against it."""

    def against(i: int) -> dict[int, float]:
        scores = second(i)
        return {i: scores[i], **scores}  # equal scores: the champion meets itself

    champion = first_best(first)

    def shortfall(i: int, j: int) -> float:
        if i not in first or j not in first:
            return math.inf
        return max(first[champion] - first[i], max(against(i).values()) - against(i)[j])

    return Choice((champion, first_best(against(champion))), shortfall, **learning)


class Reference(ABC):
    """Asked and told like a policy; the subclass says how to start and how to choose."""

    def __init__(self, *, link: str = "logistic", ridge: float | None = None, random_state: int = 0) -> None:
        self.link = link
        self.ridge = ridge
        self.draws = Draws(random_state)
        self.rounds = 0
        self._pending: dict[int, tuple[Floats, int, float]] = {}

    @abstractmethod
    def start(self, arms: Floats) -> None:
        """Settings that depend on the first arms."""

    @abstractmethod
    def choose(self, arms: Floats) -> Choice:
        """The decision of round `self.rounds`."""

    @abstractmethod
    def learn(self, layer: int, row: Row, weight: float) -> None:
        """One told outcome."""

    @property
    @abstractmethod
    def theta(self) -> Floats:
        """The estimate."""

    def ask(self, arms: Floats, played: Pair | None = None) -> Choice:
        """The reference's decision; `played` is the duel that is really fought, where that differs."""
        if self.rounds == 0:
            self.start(arms)
        self.rounds += 1
        choice = self.choose(arms)
        i, j = played or choice.pair
        self._pending[self.rounds - 1] = (arms[i] - arms[j], choice.layer, choice.share(i, j) if choice.layer else 0.0)
        return choice

    def tell(self, number: int, outcome: float, weight: float = 1.0) -> None:
        """The outcome of duel `number`, counted from 0; a weight of 2 is the same as telling it twice."""
        z, layer, share = self._pending.pop(number)
        if layer and z.any():
            self.learn(layer, Row(z, outcome, share * weight), weight)


class FlatReference(Reference):
    """One estimate from all data, Sigma and estimate with the same ridge."""

    def start(self, arms: Floats) -> None:
        self.dim = arms.shape[1]
        self.rows: list[Row] = []
        self.lam = self.ridge if self.ridge is not None else mean_variance(arms)
        self._theta = np.zeros(self.dim)

    def learn(self, layer: int, row: Row, weight: float) -> None:
        self.rows.append(row)
        self._theta = estimate(self.link, self.lam, self.rows, self.dim)

    @property
    def theta(self) -> Floats:
        return self._theta

    def inverse(self) -> Floats:
        return np.linalg.inv(precision(self.lam, self.rows, self.dim))


class RadiusReference(FlatReference):
    """A flat policy with a radius beta."""

    practical_multiplier = 1.0

    def __init__(
        self,
        *,
        horizon: int | None = None,
        radius: str | float = "practical",
        scale: float = 1.0,
        delta: float = 0.05,
        kappa: float | None = None,
        theta_bound: float = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.horizon, self.radius, self.scale, self.delta = horizon, radius, scale, delta
        self.kappa, self.theta_bound = kappa, theta_bound

    def start(self, arms: Floats) -> None:
        super().start(arms)
        if self.radius == "theory" and self.kappa is None:
            self.kappa = smallest_slope(self.link, arms, self.theta_bound)

    def beta(self) -> float:
        """The radius of the present round."""
        d, T = self.dim, horizon_in(self.horizon, self.rounds)
        if self.radius == "theory":
            # Li, Lu and Zhou 2017, Theorem 1, with sigma = 1/2.
            inside = d / 2.0 * math.log(1.0 + 2.0 * T / d) + math.log(1.0 / self.delta)
            return self.scale * math.sqrt(inside) / (2.0 * self.kappa)
        if self.radius == "practical":
            return self.scale * self.practical_multiplier * math.sqrt(d * math.log(T))
        if self.radius == "experiment":
            return self.scale * 2.0 * math.sqrt(d * math.log(T))
        return self.scale * float(self.radius)
