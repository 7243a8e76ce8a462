"""Covariance of utilities if votes are dependent in clusters: votes of one rater, or on one prompt.

A fit assumes independent votes. If the members of a cluster k have tastes t_k ~ N(0, s I) for the items, its scores
(derivatives of the log-likelihood by the utilities, summed) have the covariance L_k + s Q_k. Here L_k is the information
of its votes, and Q_k = L_k^2 minus the sum of the squared informations of its single votes, which do not depend on s.
With Q the sum of all Q_k and C the covariance of the fit, utilities have the covariance

    C + s C Q C,

the sandwich with a meat that the model of tastes gives. The variance s of tastes is estimated by moments, from how much
the scores of votes in one cluster agree beyond what the fit itself explains:

    s = (sum_k [|g_k|^2 - sum_v |g_v|^2] + tr(C Q)) / (tr(Q) - tr(C Q C Q)),   0 if that is negative.

The sum of squares of the scores themselves (the plain sandwich) has as many unknowns as pairs of items and needs many
clusters; s is one number. `docs/evidence/intervals.md` compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from duelist.core.arrays import Floats, Ints
from duelist.model.posterior import Posterior
from duelist.model.raters.scores import scores_by_rater
from duelist.model.votes import Votes, numbered

_LEAST: Final = 1e-12
_DENSE: Final = 1 << 22
"""Up to this many numbers, the information of all clusters is a dense array."""


class Agreement(NamedTuple):
    """How votes of the same cluster agree: sum of products of their scores, and the information Q that they share."""

    products: float
    shared: Any
    """Q, (n_items, n_items), sparse or dense."""


def with_clusters(posterior: Posterior, votes: Votes) -> Posterior:
    """Return the posterior with a covariance that counts every kind of cluster of the votes.

    With several kinds, such as raters and prompts, their variances solve one equation each, in which votes that share
    both clusters count for both. Tastes attenuate utilities: those of the fit are the utilities of the crowd, by which
    an average vote is cast, not the mean of the raters' own.
    """
    votes = replace(votes, counts=votes.counts[:, : len(posterior.answer.outcomes)])
    kinds = [kind for kind, clusters in votes.clusters.items() if len(np.unique(clusters[clusters >= 0])) > 1]
    if not kinds or posterior.fitted is None:
        return posterior
    covariance = _Covariance(posterior)
    single = _SingleVotes(posterior, votes)
    found = [single.within(votes.clusters[kind]).agreement for kind in kinds]
    products, own = np.array([covariance.moments(each) for each in found]).T
    system = np.diag(np.maximum(own, _LEAST))
    for i in range(1, len(kinds)):
        for j in range(i):
            both = single.within(_intersection(votes.clusters[kinds[i]], votes.clusters[kinds[j]]))
            system[i, j] = system[j, i] = min(both.trace, own[i], own[j])
    scale = np.sqrt(np.diagonal(system))
    tastes = _least_squares(system / np.outer(scale, scale), np.where(own > _LEAST, products, 0.0) / scale) / scale
    added = sum(
        (taste * each.shared for taste, each in zip(tastes, found, strict=True)), csr_array((votes.n_items,) * 2)
    )
    increased = covariance.increased(added) if tastes.any() else posterior
    return replace(increased, taste=dict(zip(kinds, tastes.tolist(), strict=True)))


def _least_squares(system: Floats, right: Floats) -> Floats:
    """Return the least squares solution without negative unknowns; they are few, so that every set of positive ones is tried.

    SciPy's `nnls` does the same, but importing it takes longer than most fits.
    """
    places = range(len(right))
    best, least = np.zeros(len(right)), float(right @ right)
    for some in (list(chosen) for size in places for chosen in combinations(places, size + 1)):
        solution = np.linalg.lstsq(system[:, some], right, rcond=None)[0]
        loss = float(np.square(system[:, some] @ solution - right).sum())
        if solution.min() >= 0.0 and loss < least:
            best, least = np.zeros(len(right)), loss
            best[some] = solution
    return best


class Deviation(NamedTuple):
    """The common deviation of a group's members from the fit."""

    variance: float
    """The moment estimate of s; negative if they agree less than independent votes do."""
    score: float
    """The estimate in standard deviations under s = 0: approximately standard normal if votes are independent."""


def deviation(posterior: Posterior, votes: Votes, groups: Ints, others: Sequence[Ints] = ()) -> Deviation | None:
    """Test whether votes of the same group deviate together; None if no group has two votes.

    Two votes count only if they share none of the other clusters. Under s = 0 the products of their scores have the
    variance 2 tr(Q), less what the fit explains.
    """
    votes = replace(votes, counts=votes.counts[:, : len(posterior.answer.outcomes)])
    single = _SingleVotes(posterior, votes)
    products, shared = single.within(groups).agreement
    for size in range(1, len(others) + 1):  # inclusion and exclusion
        for some in combinations(others, size):
            both = groups
            for other in some:
                both = _intersection(both, other)
            less = single.within(both).agreement
            products, shared = products + (-1) ** size * less.products, shared + (-1) ** size * less.shared
    numerator, denominator = _Covariance(posterior).moments(Agreement(products, shared))
    if denominator <= _LEAST:
        return None
    return Deviation(numerator / denominator, numerator / float(np.sqrt(2.0 * denominator)))


def _intersection(one: Ints, other: Ints) -> Ints:
    """Return a cluster for each combination of two clusters, -1 where either is unknown."""
    both = one * (int(other.max(initial=0)) + 1) + other
    return np.where((one >= 0) & (other >= 0), both, -1)


class _SingleVotes:
    """Votes one by one: the score of each, and its information.

    Without covariates both depend on the items shown and the outcome alone, and are computed once for each of these.
    """

    def __init__(self, posterior: Posterior, votes: Votes) -> None:
        fitted, answer = posterior.fitted, posterior.answer
        if fitted is None:
            raise TypeError("a posterior needs its fitted parameters")
        self.n_items, n_outcomes = votes.n_items, votes.counts.shape[1]
        self.row, outcome = np.nonzero(votes.counts)
        self.items, self.mass = votes.items[self.row], votes.counts[self.row, outcome]
        x = votes.covariates
        self._items = self.items
        if posterior.raters is not None:
            self._kind = np.arange(len(self.row))
            self._score, self._information = scores_by_rater(posterior, votes)
            return
        if x is None:
            key = outcome
            for column in self.items.T:
                key = key * votes.n_items + column
            _, self._kind = numbered(key, n_outcomes * votes.n_items ** self.items.shape[1])
            example = np.empty(int(self._kind.max(initial=-1)) + 1, np.int64)
            example[self._kind] = np.arange(len(self._kind))
            shift = np.zeros(len(example))
        else:
            self._kind = example = np.arange(len(self.row))
            shift = x[self.row] @ fitted.covariates[-x.shape[1] :]
        said = np.zeros((len(example), n_outcomes))
        said[np.arange(len(example)), outcome[example]] = 1.0
        self._items = self.items[example]
        utilities, shown = (posterior.mean + fitted.origin)[self._items], self.items.shape[1]
        terms = answer.terms(utilities, shift, fitted.parameters, said)
        self._score = terms.slope[:shown].T
        self._information = np.ascontiguousarray(terms.curvature[:shown, :shown].transpose(2, 0, 1))

    def within(self, clusters: Ints) -> _WithinClusters:
        """Return how votes agree within clusters, given by row; those in none (-1) agree with no others."""
        of_vote = clusters[self.row]
        known = np.flatnonzero(of_vote >= 0)
        _, cluster = numbered(of_vote[known], int(of_vote.max(initial=-1)) + 1)
        # A vote that is alone in its cluster agrees with none.
        several = (np.bincount(cluster)[cluster] > 1) | (self.mass[known] != 1.0)
        known = known[several]
        kind, mass = self._kind[known], self.mass[known]
        count = np.bincount(kind, mass, len(self._items))
        squares = count[:, None, None] * (self._information @ self._information)
        return _WithinClusters(
            self.n_items,
            numbered(cluster[several], int(cluster.max(initial=-1)) + 1)[1],
            self.items[known],
            mass[:, None] * self._score[kind],
            mass[:, None, None] * self._information[kind],
            float(count @ np.square(self._score).sum(axis=1)),
            self._summed(squares),
        )

    def _summed(self, information: Floats) -> Any:
        """Return the sum of matrices of the items of each kind of vote, (n_items, n_items)."""
        row, column = _ends(self._items, self._items)
        return csr_array((information.ravel(), (row, column)), shape=(self.n_items, self.n_items))


def _ends(rows: Ints, columns: Ints) -> tuple[Ints, Ints]:
    """Return row and column of the entries of a matrix of each vote, (votes, shown, shown), in order."""
    shown = columns.shape[1]
    return np.repeat(rows, shown, axis=1).ravel(), np.tile(columns, (1, shown)).ravel()


class _WithinClusters:
    """Votes in clusters: (votes,), (votes, shown) and (votes, shown, shown); what single votes say is summed."""

    def __init__(
        self, n_items: int, cluster: Ints, items: Ints, score: Floats, information: Floats, products: float, alone: Any
    ) -> None:
        self.n_items, self.items, self.score, self.information = n_items, items, score, information
        self.products_alone, self.alone = products, alone
        n_places = (int(cluster.max(initial=-1)) + 1) * n_items
        place = cluster[:, None] * n_items + items
        self.dense = n_places * n_items <= _DENSE
        if not self.dense:
            found, place = numbered(place.ravel(), n_places)
            n_places, place = len(found), place.reshape(items.shape)
        self.n_places, self.place = n_places, place
        """A place is an item in a cluster."""

    @cached_property
    def by_place(self) -> Any:
        """The information L_k of each cluster k, (places, n_items)."""
        row, column = _ends(self.place, self.items)
        if self.dense:
            size = self.n_places * self.n_items
            dense = np.bincount(row * self.n_items + column, self.information.ravel(), size)
            return dense.reshape(self.n_places, self.n_items)
        return csr_array((self.information.ravel(), (row, column)), shape=(self.n_places, self.n_items))

    @property
    def trace(self) -> float:
        """The trace of Q."""
        data = self.by_place if self.dense else self.by_place.data
        return float(np.vdot(data, data) - self.alone.diagonal().sum())

    @property
    def agreement(self) -> Agreement:
        """Products of scores, and Q."""
        together = np.bincount(self.place.ravel(), self.score.ravel(), self.n_places)
        shared = csr_array(self.by_place.T @ self.by_place)
        return Agreement(float(np.vdot(together, together) - self.products_alone), shared - self.alone)


class _Covariance:
    """C as a matrix or by a factor."""

    def __init__(self, posterior: Posterior) -> None:
        self.posterior = posterior

    def moments(self, found: Agreement) -> tuple[float, float]:
        """Return numerator and denominator of the variance s of tastes."""
        explained, twice = self._traces(found.shared)
        return found.products + explained, float(found.shared.diagonal().sum()) - twice

    def _traces(self, shared: Any) -> tuple[float, float]:
        """Return tr(C Q) and tr(C Q C Q)."""
        if self.posterior.covariance is not None:
            product = np.asarray(shared @ self.posterior.covariance)
            return float(np.trace(product)), float(np.vdot(product, product.T))
        product = self._by_factor(shared)
        return float(np.trace(product)), float(np.square(product).sum())

    def _by_factor(self, shared: Any) -> Floats:
        """Return F' Q F."""
        factor = self.posterior.factor
        if factor is None:
            raise TypeError("a posterior needs a covariance or a factor of it")
        return np.asarray(factor.T @ (shared @ factor))

    def increased(self, added: Any) -> Posterior:
        """Return the posterior with the covariance C + C added C."""
        posterior = self.posterior
        if posterior.covariance is not None:
            half = np.asarray(added @ posterior.covariance)
            more = posterior.covariance @ half
            return replace(posterior, covariance=posterior.covariance + 0.5 * (more + more.T))
        values, vectors = np.linalg.eigh(self._by_factor(added))
        root = vectors * np.sqrt(1.0 + np.maximum(values, 0.0))
        return replace(posterior, factor=np.asarray(posterior.factor @ root))
