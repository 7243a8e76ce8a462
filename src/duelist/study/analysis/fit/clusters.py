"""The covariance of a fit whose votes are not independent: those of one rater, and those on one prompt.

A rater has tastes, and a system may be better or worse at a prompt than elsewhere. So votes of one rater, and votes on
one prompt, err together. With the covariance B of the fit, which takes votes for independent, and the scores g_v of the
votes (the derivative of the log-likelihood of vote v by the utilities), the covariance is

    B + B E B,    E = E_rater + E_prompt - E_both,    E_c = G / (G - 1) sum_{clusters k} g_k g_k' - sum_v g_v g_v',

where g_k is the sum of the scores in cluster k, G is the number of clusters, and E_both has a cluster for each rater on
each prompt: the two-way sandwich of Cameron, Gelbach and Miller (2011). B includes the prior. In no direction is the
result less than B: few clusters estimate E badly, and a decision must not be hastened by that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from duelist.core.arrays import Floats, Ints
from duelist.model.posterior import Posterior, outcome_chances
from duelist.study.analysis.fit.votes import FIRST, TIE, VoteTable


def clustered(posterior: Posterior, log: VoteTable) -> Posterior:
    """Return the posterior with a covariance that counts raters and prompts (contexts) as clusters of votes.

    Votes of unknown raters are clustered by their prompts alone. A posterior with a factor, of thousands of arms, is
    returned as it is.
    """
    votes = log.of(log.teaching)
    if posterior.covariance is None or not len(votes):
        return posterior
    first, second = votes.first.astype(np.int64), votes.second.astype(np.int64)
    nu = 0.0 if posterior.tie is None else float(np.exp(posterior.tie))
    win, tie, _ = outcome_chances(posterior.mean[first] - posterior.mean[second], nu)
    share = np.where(votes.outcome == TIE, 0.5, votes.outcome == FIRST)
    scores = _Scores(first, second, share - win - 0.5 * tie, log.n_arms)
    prompt, rater = votes.context.astype(np.int64), votes.rater.astype(np.int64)
    known = rater >= 0
    both = rater * (int(prompt.max()) + 1) + prompt
    excess = scores.excess(prompt, prompt >= 0) + scores.excess(rater, known) - scores.excess(both, known)
    return replace(posterior, covariance=_increased(posterior.covariance, excess))


class _Scores:
    """The scores of votes: `size` for the first arm and minus that for the second."""

    def __init__(self, first: Ints, second: Ints, size: Floats, n_arms: int) -> None:
        self.first, self.second, self.size, self.n_arms = first, second, size, n_arms

    def excess(self, cluster: Ints, known: NDArray[np.bool_]) -> Floats:
        """Return G / (G - 1) times the sum of squares over clusters, minus that over single votes."""
        names, of = np.unique(cluster[known], return_inverse=True)
        n, count = self.n_arms, len(names)
        if count < 2:
            return np.zeros((n, n))
        first, second, size = self.first[known], self.second[known], self.size[known]
        rows, columns = np.concatenate([of, of]), np.concatenate([first, second])
        total = csr_array((np.concatenate([size, -size]), (rows, columns)), shape=(count, n))
        together = (total.T @ total).toarray()
        square = np.bincount(first * n + second, np.square(size), n * n).reshape(n, n)
        alone = np.diag(square.sum(axis=0) + square.sum(axis=1)) - square - square.T
        return np.asarray(count / (count - 1.0) * together - alone)


def _increased(covariance: Floats, excess: Floats) -> Floats:
    """Return B + B E B, with the eigenvalues of the excess relative to B that are negative set to zero."""
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    relative, directions = np.linalg.eigh(root @ excess @ root)
    added = root @ directions * np.sqrt(np.maximum(relative, 0.0))
    return np.asarray(covariance + added @ added.T)
