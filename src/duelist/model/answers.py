"""The models of a vote, with or without ties, as log-likelihoods of the utilities of the items shown.

In `ChoiceModel` a rater chooses one of several outcomes, outcome c with probability proportional to exp(score_c), where

    score_c = A_c . u + a_c shift + B_c . parameters

is linear in the utilities u of the items shown, a shift towards the first item (side, covariates of the vote), and
parameters of the model itself. Linear scores make every such model one computation, and its loss convex. `LinkedPair` is
a vote for one of two items under any link.

Every class has the same methods (`Answer`), so that a new kind of vote is a new object here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats, Ints
from duelist.model.links import get_link


class Terms(NamedTuple):
    """The negative log-likelihood of rows of votes, and its derivatives.

    Derivatives are by the variables (utilities of the items shown, shift, parameters), in this order.
    """

    loss: float
    slope: Floats
    """(variables, rows)."""
    curvature: Floats
    """(variables, variables, rows)."""


class Answer(Protocol):
    """A model of what a rater says about the items shown."""

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Names of the outcomes."""

    @property
    def shown(self) -> int:
        """Number of items shown."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters."""

    @property
    def prior_votes(self) -> Floats:
        """Votes on equal items that are added to the log, one number per outcome, so that parameters stay finite."""

    def terms(self, utilities: Floats, shift: Floats, parameters: Floats, counts: Floats) -> Terms:
        """Return loss and derivatives for rows of votes: utilities (rows, shown), counts (rows, outcomes)."""

    def loss(self, utilities: Floats, shift: Floats, parameters: Floats, counts: Floats) -> float:
        """Return the loss alone, which is cheaper."""

    def probabilities(self, utilities: Floats, shift: Floats, parameters: Floats) -> Floats:
        """Return the probability of each outcome, (rows, outcomes)."""

    def scores(self, utilities: Floats, shift: Floats, parameters: Floats) -> Floats:
        """Return the derivative of the loss of one vote by the utilities, for each outcome: (rows, outcomes, shown)."""


@dataclass(frozen=True, eq=False)
class ChoiceModel:
    """A choice among outcomes with linear scores."""

    outcomes: tuple[str, ...]
    by_item: Floats
    """A: (outcomes, shown)."""
    by_shift: Floats
    """a: (outcomes,)."""
    parameters: tuple[str, ...] = ()
    by_parameter: Floats = field(default_factory=lambda: np.zeros((2, 0)))
    """B: (outcomes, parameters)."""
    prior_votes: Floats = field(default_factory=lambda: np.zeros(2))

    @property
    def shown(self) -> int:
        """Number of items shown."""
        return int(self.by_item.shape[1])

    def only(self, outcomes: Sequence[str]) -> ChoiceModel:
        """Return the model of a choice among some of the outcomes, with the parameters on which they depend."""
        rows = [self.outcomes.index(name) for name in outcomes]
        used = np.flatnonzero((self.by_parameter[rows] != 0.0).any(axis=0))
        return ChoiceModel(
            tuple(outcomes),
            self.by_item[rows],
            self.by_shift[rows],
            tuple(self.parameters[k] for k in used),
            self.by_parameter[rows][:, used],
            self.prior_votes[rows],
        )

    def _scores(self, utilities: Floats, shift: Floats, parameters: Floats) -> Floats:
        """Return the score of each outcome, (outcomes, rows): sums over outcomes are then fast."""
        scores = self.by_item @ utilities.T + (self.by_parameter @ parameters)[:, None]
        return np.asarray(scores + self.by_shift[:, None] * shift if shift.any() else scores)

    def probabilities(self, utilities: Floats, shift: Floats, parameters: Floats) -> Floats:
        """Return the probability of each outcome."""
        return _chances(self._scores(utilities, shift, parameters))[0].T

    def loss(self, utilities: Floats, shift: Floats, parameters: Floats, counts: Floats) -> float:
        """Return the negative log-likelihood."""
        scores = self._scores(utilities, shift, parameters)
        top = scores.max(axis=0)
        whole = np.log(np.exp(scores - top).sum(axis=0)) + top
        return float(counts.T.sum(axis=0) @ whole - np.vdot(counts.T, scores))

    def terms(self, utilities: Floats, shift: Floats, parameters: Floats, counts: Floats) -> Terms:
        """Return loss and derivatives."""
        scores = self._scores(utilities, shift, parameters)
        chances, whole = _chances(scores)
        total = counts.T.sum(axis=0)
        loss = float(total @ whole - np.vdot(counts.T, scores))
        every = np.column_stack([self.by_item, self.by_shift, self.by_parameter])
        slope = every.T @ (total * chances - counts.T)
        mean = every.T @ chances
        products = (every[:, :, None] * every[:, None, :]).reshape(len(every), -1)
        second = (products.T @ chances).reshape(*products.shape[1:], -1).reshape(len(mean), len(mean), -1)
        return Terms(loss, slope, total * (second - mean[:, None] * mean))

    def scores(self, utilities: Floats, shift: Floats, parameters: Floats) -> Floats:
        """Return the derivative of the loss of one vote by the utilities, for each outcome."""
        mean = self.probabilities(utilities, shift, parameters) @ self.by_item
        return np.asarray(mean[:, None, :] - self.by_item)


@dataclass(frozen=True, eq=False)
class LinkedPair:
    """A vote for one of two items: the first wins with probability mu(u_1 - u_2 + shift)."""

    link: str = "logistic"
    outcomes: tuple[str, ...] = ("first", "second")
    shown: int = 2
    parameters: tuple[str, ...] = ()
    prior_votes: Floats = field(default_factory=lambda: np.zeros(2))

    def probabilities(self, utilities: Floats, shift: Floats, parameters: Floats) -> Floats:
        """Return the probability of each outcome."""
        mean = get_link(self.link).mean
        gap = _gap(utilities, shift)
        return np.stack([mean(gap), mean(-gap)], axis=1)

    def loss(self, utilities: Floats, shift: Floats, parameters: Floats, counts: Floats) -> float:
        """Return sum W M(gap) - O gap: the negative log-likelihood for the logistic link, the paper's loss for others."""
        gap = _gap(utilities, shift)
        return float(counts.sum(axis=1) @ get_link(self.link).potential(gap) - counts[:, 0] @ gap)

    def terms(self, utilities: Floats, shift: Floats, parameters: Floats, counts: Floats) -> Terms:
        """Return loss and derivatives."""
        link, gap, total = get_link(self.link), _gap(utilities, shift), counts.sum(axis=1)
        sign = np.array([1.0, -1.0, 1.0])
        slope = sign[:, None] * (total * link.mean(gap) - counts[:, 0])
        curvature = (sign[:, None] * sign)[:, :, None] * (total * link.slope(gap))
        return Terms(self.loss(utilities, shift, parameters, counts), slope, curvature)

    def scores(self, utilities: Floats, shift: Floats, parameters: Floats) -> Floats:
        """Return the derivative of the loss of one vote by the utilities, for each outcome."""
        mean = get_link(self.link).mean(_gap(utilities, shift))
        excess = np.stack([mean - 1.0, mean], axis=1)
        return np.asarray(excess[:, :, None] * np.array([1.0, -1.0]))


def _chances(scores: Floats) -> tuple[Floats, Floats]:
    """Return exp(score) / sum exp(score) over outcomes, (outcomes, rows), and the logarithm of the sum."""
    top = scores.max(axis=0)
    chances = np.exp(scores - top)
    whole = chances.sum(axis=0)
    return chances / whole, np.log(whole) + top


def _gap(utilities: Floats, shift: Floats) -> Floats:
    return np.asarray(utilities[:, 0] - utilities[:, 1] + shift)


_HALF: Final = [[0.5, -0.5], [-0.5, 0.5]]

PAIR: Final = ChoiceModel(("first", "second"), np.array(_HALF), np.array([0.5, -0.5]))
"""A vote for one of two items (Bradley and Terry): the first wins with odds exp(u_1 - u_2)."""

PAIR_WITH_TIES: Final = ChoiceModel(
    ("first", "second", "tie"),
    np.array([*_HALF, [0.0, 0.0]]),
    np.array([0.5, -0.5, 0.0]),
    ("log_nu",),
    np.array([[0.0], [0.0], [1.0]]),
    np.array([0.25, 0.25, 0.5]),
)
"""Davidson (1970): a tie has probability proportional to nu exp((u_1 + u_2) / 2), a win to exp(u). Among votes that are
not ties, a difference d of two utilities means odds exp(d). The prior is half a tie and half a win between equal items,
Jeffreys' prior for the share of ties among equals."""

PAIR_WITH_LEVEL: Final = ChoiceModel(
    ("first", "second", "tie", "both bad", "both good"),
    np.array([[0.5, -0.5, 0.0], [-0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [-0.5, -0.5, 1.0], [0.5, 0.5, -1.0]]),
    np.array([0.5, -0.5, 0.0, 0.0, 0.0]),
    ("log_nu", "log_good"),
    np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]),
    np.array([0.25, 0.25, 0.5, 0.0, 0.5]),
)
"""Ties, and statements against an acceptable level, which is the third item shown: "both bad" is chosen as in Luce (1959)
with probability proportional to exp(level), where a win has exp(u); "both good" has exp(u_1 + u_2 - level + log_good).
So an item above the level wins against "both bad" more often than not: absolute quality is learned. As an item, the level
has a prior, a covariance with the others, and tastes of raters, some of whom are stricter."""


def draw_outcomes(
    answer: Answer, utilities: Floats, parameters: Floats, rng: np.random.Generator, shift: Floats | None = None
) -> Ints:
    """Draw an outcome for each row, as its position in `answer.outcomes`."""
    shift = np.zeros(len(utilities)) if shift is None else shift
    steps = np.cumsum(answer.probabilities(utilities, shift, parameters), axis=1)
    return np.minimum((rng.random(len(steps))[:, None] > steps).sum(axis=1), steps.shape[1] - 1)


def information(answer: Answer, utilities: Floats, parameters: Floats) -> Floats:
    """Return the expected information of one vote on the utilities shown, (rows, shown, shown)."""
    shift = np.zeros(len(utilities))
    chances = answer.probabilities(utilities, shift, parameters)
    scores = answer.scores(utilities, shift, parameters)
    return np.asarray(np.einsum("rc,rca,rcb->rab", chances, scores, scores))


def mirrored(answer: Answer) -> NDArray[np.int64]:
    """Return the position of each outcome when the two items change places."""
    swap = {"first": "second", "second": "first"}
    return np.array([answer.outcomes.index(swap.get(name, name)) for name in answer.outcomes])
