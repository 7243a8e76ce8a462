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
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from duelist.core.arrays import Floats, Ints
from duelist.model.posterior import Posterior
from duelist.model.votes import Votes

_LEAST: Final = 1e-12


class Agreement(NamedTuple):
    """How votes of the same cluster agree: sum of products of their scores, and the information Q that they share."""

    products: float
    shared: Any
    """Q, sparse (n_items, n_items)."""


def with_clusters(posterior: Posterior, votes: Votes) -> Posterior:
    """Return the posterior with a covariance that counts every kind of cluster of the votes.

    With several kinds, such as raters and prompts, their variances solve one equation each, in which votes that share
    both clusters count for both. Tastes attenuate utilities: those of the fit are the utilities of the crowd, by which
    an average vote is cast, not the mean of the raters' own.
    """
    from scipy.optimize import nnls  # slow to import, and many processes need no intervals

    votes = replace(votes, counts=votes.counts[:, : len(posterior.answer.outcomes)])
    kinds = [kind for kind, clusters in votes.clusters.items() if len(np.unique(clusters[clusters >= 0])) > 1]
    if not kinds or posterior.fitted is None:
        return posterior
    covariance = _Covariance(posterior)
    found = [agreement(posterior, votes, votes.clusters[kind]) for kind in kinds]
    products, own = np.array([covariance.moments(each) for each in found]).T
    system = np.diag(np.maximum(own, _LEAST))
    for i in range(1, len(kinds)):
        for j in range(i):
            both = agreement(posterior, votes, _intersection(votes.clusters[kinds[i]], votes.clusters[kinds[j]]))
            system[i, j] = system[j, i] = min(float(both.shared.diagonal().sum()), own[i], own[j])
    scale = np.sqrt(np.diagonal(system))
    tastes = nnls(system / np.outer(scale, scale), np.where(own > _LEAST, products, 0.0) / scale)[0] / scale
    added = sum(
        (taste * each.shared for taste, each in zip(tastes, found, strict=True)), csr_array((votes.n_items,) * 2)
    )
    increased = covariance.increased(added) if tastes.any() else posterior
    return replace(increased, taste=dict(zip(kinds, tastes.tolist(), strict=True)))


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
    found = agreement(posterior, votes, groups)
    products, shared = found
    for size in range(1, len(others) + 1):  # inclusion and exclusion
        for some in combinations(others, size):
            both = groups
            for other in some:
                both = _intersection(both, other)
            less = agreement(posterior, votes, both)
            products, shared = products + (-1) ** size * less.products, shared + (-1) ** size * less.shared
    numerator, denominator = _Covariance(posterior).moments(Agreement(products, shared))
    if denominator <= _LEAST:
        return None
    return Deviation(numerator / denominator, numerator / float(np.sqrt(2.0 * denominator)))


def _intersection(one: Ints, other: Ints) -> Ints:
    """Return a cluster for each combination of two clusters, -1 where either is unknown."""
    both = one * (int(other.max(initial=0)) + 1) + other
    return np.where((one >= 0) & (other >= 0), both, -1)


def agreement(posterior: Posterior, votes: Votes, clusters: Ints) -> Agreement:
    """Return how votes agree within clusters; those in none (-1) agree with no others."""
    fitted, answer, kind = posterior.fitted, posterior.answer, "cluster"
    if fitted is None:
        raise TypeError("a posterior needs its fitted parameters")
    rows = replace(votes, clusters={kind: clusters}).pooled(kind)
    utilities, x = (posterior.mean + fitted.origin)[rows.items], rows.covariates
    shift = np.zeros(len(utilities)) if x is None else x @ fitted.covariates[-x.shape[1] :]
    terms = answer.terms(utilities, shift, fitted.parameters, rows.counts)
    known = rows.clusters[kind] >= 0
    shown, items, total = answer.shown, rows.items[known], rows.counts[known].sum(axis=1)
    squares = np.square(answer.scores(utilities, shift, fitted.parameters)[known]).sum(axis=2)
    # Each row of `places` is a cluster with an item.
    places, place = np.unique(rows.clusters[kind][known, None] * votes.n_items + items, return_inverse=True)
    place = place.reshape(items.shape)
    together = np.bincount(place.T.ravel(), terms.slope[:shown, known].ravel(), len(places))
    second = terms.curvature[:shown, :shown][:, :, known]
    size = len(places), votes.n_items
    ends = np.repeat(place.T, shown, axis=0).ravel(), np.tile(items.T, (shown, 1)).ravel()
    information = csr_array((second.ravel(), ends), shape=size)
    single = np.einsum("abv,bcv->acv", second, second / np.maximum(total, _LEAST))
    ends = np.repeat(items.T, shown, axis=0).ravel(), np.tile(items.T, (shown, 1)).ravel()
    alone = csr_array((single.ravel(), ends), shape=(votes.n_items, votes.n_items))
    shared = csr_array(information.T @ information) - alone
    return Agreement(float(np.square(together).sum() - (rows.counts[known] * squares).sum()), shared)


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
