"""The loss of votes whose raters differ, with its derivatives; `duelist.model.raters.effects` states the model.

The extra parameters are those of `VoteLoss` (coefficients of the covariates, parameters of the answer), followed by log
reliability, side, log-odds of a lapse and, if the answer has ties, the habit of ties of every rater.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.model.answers import Answer, ChoiceModel
from duelist.model.loss import Curvature, Derivatives, VoteLoss, by_items
from duelist.model.raters.effects import ATTENTION, LAPSES, RaterEffects
from duelist.model.utility import Utility
from duelist.model.votes import Votes

NEGLIGIBLE: Final = 1e-4
"""Raters whose votes weigh less than this share hardly change the utilities."""
_DENSE_ITEMS: Final = 2000
_NOTHING: Final = np.zeros(0)
CENTRE: Final = 1e4
"""Precision of the mean log reliability, which is 0."""


class VoteTerms(NamedTuple):
    """Each vote's negative log-likelihood, and its derivatives by the gap, the tie parameter and the log-odds of a lapse."""

    loss: Floats
    by_gap: Floats
    by_tie: Floats
    by_lapse: Floats
    gap_gap: Floats
    gap_tie: Floats
    tie_tie: Floats
    gap_lapse: Floats
    tie_lapse: Floats
    lapse_lapse: Floats


class _Choices(NamedTuple):
    """Each vote's reliability, difference of utilities, log-odds of a lapse and `choice_terms`; its `VoteTerms` by `exact`."""

    scale: Floats
    apart: Floats
    lapse: Floats
    choice: tuple[Floats, ...]
    terms: dict[bool, VoteTerms]


def choice_terms(gap: Floats, tie: Floats | None, outcome: Ints) -> tuple[Floats, ...]:
    """Return -log P of outcomes (0 first, 1 second, 2 tie) without lapses, with first and second derivatives."""
    half = 0.5 * gap
    top = np.abs(half) if tie is None else np.maximum(np.abs(half), tie)
    first, second = np.exp(half - top), np.exp(-half - top)
    third = np.zeros_like(first) if tie is None else np.exp(tie - top)
    total = first + second + third
    first, second, third = first / total, second / total, third / total
    said = np.where(outcome == 0, half, np.where(outcome == 1, -half, 0.0 if tie is None else tie))
    mean = 0.5 * (first - second)
    sign = np.where(outcome == 0, 0.5, np.where(outcome == 1, -0.5, 0.0))
    return (
        np.log(total) + top - said,
        mean - sign,
        third - (outcome == 2),
        0.25 * (first + second) - mean * mean,
        -mean * third,
        third * (1.0 - third),
    )


def vote_terms(choice: tuple[Floats, ...], lapse: Floats, careless_share: Floats, exact: bool) -> VoteTerms:
    """Return the terms of each vote, from its `choice_terms` and the share of its outcome in lapses.

    The second derivatives are those of the loss, or larger ones, which are convex: these take for known which votes were
    lapses, as EM does.
    """
    loss, by_gap, by_tie, gap_gap, gap_tie, tie_tie = choice
    rate = expit(lapse)
    attentive, careless = (1.0 - rate) * np.exp(-loss), rate * careless_share
    either = attentive + careless
    lapsed = careless / either
    meant = 1.0 - lapsed
    overlap = lapsed * meant if exact else np.zeros_like(lapsed)
    return VoteTerms(
        -np.log(either),
        meant * by_gap,
        meant * by_tie,
        rate - lapsed,
        meant * gap_gap - overlap * by_gap**2,
        meant * gap_tie - overlap * by_gap * by_tie,
        meant * tie_tie - overlap * by_tie**2,
        -overlap * by_gap,
        -overlap * by_tie,
        rate * (1.0 - rate) - overlap,
    )


def summed(low: Ints, high: Ints, values: Floats, n: int) -> Floats:
    """Return sums of values over rows, minus for the second of each."""
    return np.asarray(np.bincount(low, values, n) - np.bincount(high, values, n), np.float64)


class RaterLoss(VoteLoss):
    """The loss of votes with the priors of all parameters, for given weights of raters and variances."""

    def __init__(
        self, votes: Votes, utility: Utility, answer: Answer, covariate_precision: float, effects: RaterEffects
    ) -> None:
        super().__init__(votes, utility, answer, covariate_precision)
        if not isinstance(answer, ChoiceModel) or answer.outcomes not in (
            ("first", "second"),
            ("first", "second", "tie"),
        ):
            raise InvalidInput("Raters can differ only in votes for one of two items, or a tie.", "Leave raters out.")
        row, self.outcome = np.nonzero(votes.counts)
        self.n_raters = len(effects.ids)
        self.rater = effects.positions(votes.clusters["rater"])[row]
        self.low, self.high = votes.items[row].T
        self.mass = votes.counts[row, self.outcome]
        self.sides = np.ones(len(row)) if votes.sides is None else votes.sides[row]
        self.x = None if votes.covariates is None else votes.covariates[row]
        self.has_ties = bool(answer.parameters)
        self.n_common = self.n_covariates + len(answer.parameters)
        self.n_kinds = 4 if self.has_ties else 3
        self.n_extra = self.n_common + self.n_kinds * self.n_raters
        self.by_rater = self.by_each(np.ones(len(row)))
        self.shares = effects.outcomes
        self._at, self._choices = b"", _Choices(_NOTHING, _NOTHING, _NOTHING, (), {})
        self.update(effects)

    def update(self, effects: RaterEffects) -> None:
        """Take other weights and variances."""
        self.effects = effects
        if not np.array_equal(effects.outcomes, self.shares):
            self._at = b""
        self.weight_of_raters, self.spread, self.shares = effects.weight, effects.spread, effects.outcomes
        self.weight = self.mass * np.append(effects.weight, 1.0)[self.rater]
        self.matters = effects.weight > NEGLIGIBLE
        self._exactly = np.append(self.matters, True)[self.rater].astype(np.float64)
        counted = effects.weight * self.by_rater
        self.centre = counted / max(float(counted.sum()), 1e-300)

    @property
    def centre_curvature(self) -> Floats:
        """The second derivative of the constraint on the mean log reliability."""
        return CENTRE * np.outer(self.centre, self.centre)

    def parameters(self, extra: Floats) -> Floats:
        """Return log reliability, side, log-odds of a lapse and ties of the raters, (4, raters)."""
        own = np.zeros((4, self.n_raters))
        own[: self.n_kinds] = extra[self.n_common :].reshape(self.n_kinds, self.n_raters)
        return own

    def terms(self, beta: Floats, extra: Floats, exact: bool) -> tuple[Floats, Floats, VoteTerms]:
        """Return reliability and difference of utilities of each vote, and its terms; those of the last place are cached."""
        at = beta.tobytes() + extra.tobytes()
        if at != self._at:
            self._at, self._choices = at, self._choices_at(beta, extra)
        scale, apart, lapse, choice, terms = self._choices
        if exact not in terms:
            terms[exact] = vote_terms(choice, lapse, self.shares[self.outcome], exact)
        return scale, apart, terms[exact]

    def _choices_at(self, beta: Floats, extra: Floats) -> _Choices:
        own = np.hstack([self.parameters(extra), [[0.0], [0.0], [-np.inf], [0.0]]])
        scale = np.exp(own[0])[self.rater]
        u = self.utility.values(beta)
        apart = u[self.low] - u[self.high]
        gap = scale * apart + self.sides * own[1][self.rater]
        if self.x is not None:
            gap = gap + self.x @ extra[: self.n_covariates]
        tie = extra[self.n_covariates] + own[3][self.rater] if self.has_ties else None
        return _Choices(scale, apart, own[2][self.rater], choice_terms(gap, tie, self.outcome), {})

    def own_penalty(self, own: Floats) -> Floats:
        """Return the negative log prior of each rater's parameters, up to a constant."""
        a, side, lapse, ties = own
        lapses = ATTENTION * np.logaddexp(0.0, lapse) + LAPSES * np.logaddexp(0.0, -lapse)
        spread = self.spread
        return np.asarray(0.5 * (a**2 / spread.reliability + side**2 / spread.side + ties**2 / spread.ties) + lapses)

    def _penalties(self, beta: Floats, extra: Floats) -> float:
        own = self.parameters(extra)
        mean = float(self.centre @ own[0])
        common = extra[: self.n_common]
        return float(
            self._penalty(beta, common) + self.weight_of_raters @ self.own_penalty(own) + 0.5 * CENTRE * mean**2
        )

    def loss(self, beta: Floats, extra: Floats) -> float:
        """Return the penalised loss."""
        return float(self.weight @ self.terms(beta, extra, False)[2].loss) + self._penalties(beta, extra)

    def derivatives(self, beta: Floats, extra: Floats, exact: bool = True) -> Derivatives:
        """Return the penalised loss and its first derivatives, and its second derivatives or larger, convex ones.

        Those of raters who hardly matter are always convex: their loss is often concave, which would end every exact step.
        """
        scale, apart, each = self.terms(beta, extra, exact)
        exactly = self._exactly if exact else np.zeros_like(self._exactly)
        if exact and not self.matters.all():
            convex = self.terms(beta, extra, False)[2]
            each = VoteTerms(*(np.where(exactly > 0.0, a, b) for a, b in zip(each, convex, strict=True)))
        value = float(self.weight @ each.loss) + self._penalties(beta, extra)
        each = VoteTerms(*(self.weight * part for part in each))
        long = scale * apart
        by_item, cross = self._by_items(scale, long, each, exactly)
        self.by_utilities = cross
        first = [self._own(long * each.by_gap), self._own(self.sides * each.by_gap), self._own(each.by_lapse)]
        if self.has_ties:
            first.append(self._own(each.by_tie))
        own = self.parameters(extra)
        a, side, lapse, ties = own
        w, n = self.weight_of_raters, self.n_raters
        prior = [
            a / self.spread.reliability,
            side / self.spread.side,
            (ATTENTION + LAPSES) * expit(lapse) - LAPSES,
            ties / self.spread.ties,
        ][: self.n_kinds]
        mean = float(self.centre @ a)
        by_own = np.array(first) + w * np.array(prior)
        by_own[0] += CENTRE * mean * self.centre
        by_common, common_twice, mixed = self._common(extra, long, each)
        blocks = self._own_blocks(long, each, exactly)
        prior_curvature = w * self._prior_curvature(lapse)
        twice = np.zeros((self.n_extra, self.n_extra))
        m = self.n_common
        twice[:m, :m] = common_twice
        twice[:m, m:] = mixed
        twice[m:, :m] = mixed.T
        place = m + np.arange(self.n_kinds * n).reshape(self.n_kinds, n)
        for i in range(self.n_kinds):
            for j in range(self.n_kinds):
                twice[place[i], place[j]] += blocks[i][j]
            twice[place[i], place[i]] += prior_curvature[i]
        twice[np.ix_(place[0], place[0])] += self.centre_curvature
        items = summed(self.low, self.high, scale * each.by_gap, self.utility.n_items)
        return Derivatives(
            value,
            self.utility.precisions * beta + self.utility.gathered(items[:, None])[:, 0],
            np.append(by_common, by_own.ravel()),
            Curvature(self.utility, by_item, direct=True),
            self.utility.gathered(cross),
            twice,
        )

    def own_curvature(self, extra: Floats, long: Floats, each: VoteTerms, exact: bool) -> Floats:
        """Return the second derivative of each rater's loss by their parameters, whatever their weight: (raters, k, k)."""
        exactly = np.full(len(long), float(exact))
        blocks = np.array(self._own_blocks(long, VoteTerms(*(self.mass * part for part in each)), exactly))
        places = np.arange(self.n_kinds)
        blocks[places, places] += self._prior_curvature(self.parameters(extra)[2])
        return np.moveaxis(blocks, 2, 0)

    def _prior_curvature(self, lapse: Floats) -> Floats:
        """Return the second derivatives of the negative log prior by each of a rater's parameters, (k, raters)."""
        rate, one = expit(lapse), np.ones(self.n_raters)
        lapses = (ATTENTION + LAPSES) * rate * (1.0 - rate)
        spread = self.spread
        return np.array([one / spread.reliability, one / spread.side, lapses, one / spread.ties])[: self.n_kinds]

    def _own_blocks(self, long: Floats, each: VoteTerms, exactly: Floats) -> list[list[Floats]]:
        """Return the second derivatives of weighted terms by two parameters of the same rater."""
        curved = exactly * long * each.by_gap
        s = self.sides
        aa, ab, bb = long**2 * each.gap_gap + curved, long * s * each.gap_gap, each.gap_gap
        al, bl, ll = long * each.gap_lapse, s * each.gap_lapse, each.lapse_lapse
        rows = [[aa, ab, al], [ab, bb, bl], [al, bl, ll]]
        if self.has_ties:
            at, bt, lt, tt = long * each.gap_tie, s * each.gap_tie, each.tie_lapse, each.tie_tie
            rows = [[aa, ab, al, at], [ab, bb, bl, bt], [al, bl, ll, lt], [at, bt, lt, tt]]
        return [[self._own(part) for part in row] for row in rows]

    def by_each(self, values: Floats | NDArray[np.bool_]) -> Floats:
        """Return sums over the votes of each rater, without the weight of the rater."""
        return np.asarray(np.bincount(self.rater, self.mass * values, self.n_raters + 1)[: self.n_raters], np.float64)

    def _own(self, values: Floats) -> Floats:
        """Return sums over the votes of each rater."""
        return np.asarray(np.bincount(self.rater, values, self.n_raters + 1)[: self.n_raters], np.float64)

    def _by_items(
        self, scale: Floats, long: Floats, each: VoteTerms, exactly: Floats
    ) -> tuple[Floats | csr_array, Floats]:
        """Return the second derivatives by utilities, and by utilities and extra parameters, (n_items, extra)."""
        n = self.utility.n_items
        curvature = scale**2 * each.gap_gap
        whole = self._pairs(curvature)
        by_gap = scale * each.gap_gap
        common = [] if self.x is None else [by_gap * column for column in self.x.T]
        if self.has_ties:
            common.append(scale * each.gap_tie)
        parts = [np.zeros((n, 0)), *(summed(self.low, self.high, values, n)[:, None] for values in common)]
        own = [by_gap * long + exactly * scale * each.by_gap, by_gap * self.sides, scale * each.gap_lapse]
        if self.has_ties:
            own.append(scale * each.gap_tie)
        return whole, np.hstack([*parts, *(self.by_item_and_rater(values) for values in own)])

    def _pairs(self, curvature: Floats) -> Floats | csr_array:
        """Return the sum over votes of c (e_i - e_j)(e_i - e_j)'."""
        n = self.utility.n_items
        if n > _DENSE_ITEMS:
            signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
            return by_items(np.stack([self.low, self.high], axis=1), signs[:, :, None] * curvature, n)
        apart = np.bincount(self.low * n + self.high, curvature, n * n).reshape(n, n)
        whole = -(apart + apart.T)
        whole[np.diag_indices(n)] += apart.sum(axis=0) + apart.sum(axis=1)
        return np.asarray(whole, np.float64)

    def by_item_and_rater(self, values: Floats) -> Floats:
        """Return sums over the votes of each rater on each item, (n_items, raters); minus for the second of a row."""
        n, wide = self.utility.n_items, self.n_raters + 1
        table = summed(self.low * wide + self.rater, self.high * wide + self.rater, values, n * wide)
        return np.asarray(table.reshape(n, wide)[:, : self.n_raters])

    def _common(self, extra: Floats, long: Floats, each: VoteTerms) -> tuple[Floats, Floats, Floats]:
        """Return the derivatives by covariates and tie parameter: first, second, and with the raters' parameters."""
        m = self.n_covariates
        columns: list[tuple[Floats, bool]] = [] if self.x is None else [(column, False) for column in self.x.T]
        if self.has_ties:
            columns.append((np.ones(len(long)), True))
        first, twice, mixed = np.zeros(len(columns)), np.zeros((len(columns),) * 2), []
        for i, (x, of_tie) in enumerate(columns):
            first[i] = x @ (each.by_tie if of_tie else each.by_gap)
            for j, (y, other) in enumerate(columns):
                twice[i, j] = (x * y) @ (
                    each.tie_tie if of_tie and other else each.gap_tie if of_tie or other else each.gap_gap
                )
            gap, tie, lapse = (
                (each.gap_tie, each.tie_tie, each.tie_lapse) if of_tie else (each.gap_gap, each.gap_tie, each.gap_lapse)
            )
            own = [self._own(x * long * gap), self._own(x * self.sides * gap), self._own(x * lapse)]
            if self.has_ties:
                own.append(self._own(x * tie))
            mixed.append(np.concatenate(own))
        if m:
            first[:m] += self.covariate_precision * extra[:m]
            twice[:m, :m] += self.covariate_precision * np.eye(m)
        if self.has_ties:
            prior = self.answer.terms(*self.at_equals, extra[m : m + 1], self.prior_counts)
            k = self.answer.shown + 1
            first[m] += prior.slope[k, 0]
            twice[m, m] += prior.curvature[k, k, 0]
        return first, twice, np.array(mixed).reshape(len(columns), self.n_extra - self.n_common)
