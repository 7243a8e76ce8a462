"""The penalised loss of utilities, shift and parameters, and its derivatives.

The coefficients beta of the utility may be many. The few others, coefficients gamma of the covariates and parameters of
the answer, are kept apart as `extra`. So the second derivative is [[H, B], [B', F]] with a small F, and every solve needs
only H, which is dense (Cholesky) or large and sparse (conjugate gradients).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.sparse import csr_array

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.model.answers import Answer
from duelist.model.utility import Utility
from duelist.model.votes import Votes

DENSE_STEPS: Final = 300
"""Up to this many items or coefficients Newton's steps are solved directly."""


class Curvature:
    """H = D' L D + diag(precision), with L the second derivative of the loss by the utilities."""

    def __init__(self, utility: Utility, by_items: Floats | csr_array, direct: bool = False) -> None:
        self.utility, self.by_items = utility, by_items
        self._direct = direct or utility.width <= DENSE_STEPS or utility.dense
        self._factor: Any = None
        self._diagonal: Floats | None = None

    def dense(self) -> Floats:
        """Return H as a matrix."""
        whole = self.utility.curvature(self.by_items)
        whole[np.diag_indices_from(whole)] += self.utility.precisions
        return whole

    def inverse(self) -> Floats:
        """Return the inverse of H."""
        try:
            factor, lower = cho_factor(self.dense(), lower=True, overwrite_a=True)
        except LinAlgError:
            raise InvalidInput(
                "The votes do not determine the fit to floating-point precision.", "Raise ridge."
            ) from None
        inverse, _ = dpotri(factor, lower=lower, overwrite_c=True)
        inverse = np.tril(inverse)
        return np.asarray(inverse + np.tril(inverse, -1).T)

    def solve(self, right: Floats) -> Floats:
        """Return H^-1 right, for right (width, k)."""
        if not self._direct:
            return self._by_conjugate_gradients(right)
        if self._factor is None:
            self._factor = cho_factor(self.dense(), overwrite_a=True)
        return np.asarray(cho_solve(self._factor, right))

    def _times(self, x: Floats) -> Floats:
        image = self.utility.gathered(np.asarray(self.by_items @ self.utility.values(x)))
        return np.asarray(image + self.utility.precisions[:, None] * x)

    def _by_conjugate_gradients(self, right: Floats) -> Floats:
        """Solve for several right sides by conjugate gradients with a diagonal preconditioner."""
        if self._diagonal is None:
            self._diagonal = (self.utility.curvature_diagonal(self.by_items) + self.utility.precisions)[:, None]
        x, residual = np.zeros_like(right), right.copy()
        scaled = residual / self._diagonal
        direction = scaled.copy()
        power = (residual * scaled).sum(axis=0)
        goal = 1e-20 * np.maximum(power, 1e-300)
        for _ in range(10 * len(right)):
            if (power <= goal).all():
                break
            image = self._times(direction)
            moving = power > goal
            size = np.where(moving, power, 0.0) / np.maximum((direction * image).sum(axis=0), 1e-300)
            x += size * direction
            residual -= size * image
            scaled = residual / self._diagonal
            before, power = power, (residual * scaled).sum(axis=0)
            direction = scaled + np.where(moving, power / np.maximum(before, 1e-300), 0.0) * direction
        return x


class Derivatives(NamedTuple):
    """Loss, gradients by beta and by the extra parameters, and the second derivative in three parts."""

    loss: float
    by_beta: Floats
    by_extra: Floats
    curvature: Curvature
    cross: Floats
    """(width, extra)."""
    extra_twice: Floats


class VoteLoss:
    """The loss of votes with the priors of all parameters."""

    def __init__(self, votes: Votes, utility: Utility, answer: Answer, covariate_precision: float) -> None:
        self.votes, self.utility, self.answer = votes, utility, answer
        self.n_covariates = 0 if votes.covariates is None else votes.covariates.shape[1]
        self.n_extra = self.n_covariates + len(answer.parameters)
        self.covariate_precision = covariate_precision
        self.prior_counts = answer.prior_votes[None, :]
        self.at_equals = np.zeros((1, answer.shown)), np.zeros(1)

    def shown(self, beta: Floats) -> Floats:
        """Return the utilities of the items shown."""
        return np.asarray(self.utility.values(beta)[self.votes.items])

    def shift(self, extra: Floats) -> Floats:
        """Return the shift of each row by its covariates."""
        if self.votes.covariates is None:
            return np.zeros(len(self.votes.items))
        return np.asarray(self.votes.covariates @ extra[: self.n_covariates])

    def _penalty(self, beta: Floats, extra: Floats) -> float:
        covariates = extra[: self.n_covariates]
        squares = self.utility.precisions @ beta**2 + self.covariate_precision * (covariates @ covariates)
        prior = self.answer.loss(*self.at_equals, extra[self.n_covariates :], self.prior_counts)
        return float(0.5 * squares + (prior if len(self.answer.parameters) else 0.0))

    def loss(self, beta: Floats, extra: Floats) -> float:
        """Return the penalised loss."""
        parameters = extra[self.n_covariates :]
        value = self.answer.loss(self.shown(beta), self.shift(extra), parameters, self.votes.counts)
        return value + self._penalty(beta, extra)

    def derivatives(self, beta: Floats, extra: Floats) -> Derivatives:
        """Return the penalised loss and its first and second derivatives."""
        votes, k, m = self.votes, self.answer.shown, self.n_covariates
        parameters, x = extra[m:], votes.covariates
        terms = self.answer.terms(self.shown(beta), self.shift(extra), parameters, votes.counts)
        prior = self.answer.terms(*self.at_equals, parameters, self.prior_counts)
        slope, second, own = terms.slope, terms.curvature, slice(k + 1, None)
        by_extra = slope[own].sum(axis=1) + prior.slope[own, 0]
        cross = self._on_items(second[:k, own])
        twice = second[own, own].sum(axis=2) + prior.curvature[own, own, 0]
        if x is not None:
            by_extra = np.append(x.T @ slope[k] + self.covariate_precision * extra[:m], by_extra)
            cross = np.column_stack([self._on_items(second[:k, k, None] * x.T), cross])
            shifted = (x.T * second[k, k]) @ x + self.covariate_precision * np.eye(m)
            mixed = x.T @ second[k, own].T
            twice = np.block([[shifted, mixed], [mixed.T, twice]])
        return Derivatives(
            terms.loss + self._penalty(beta, extra),
            self.utility.precisions * beta + self.utility.gathered(self._on_items(slope[:k, None])[:, 0]),
            by_extra,
            Curvature(self.utility, by_items(votes.items, second[:k, :k], self.utility.n_items)),
            self.utility.gathered(cross),
            twice,
        )

    def _on_items(self, values: Floats) -> Floats:
        """Return sums over rows of values (shown, n, rows) for each item: (n_items, n)."""
        n, items = self.utility.n_items, self.votes.items.T.ravel()
        sums = [np.bincount(items, values[:, column].ravel(), n) for column in range(values.shape[1])]
        return np.stack(sums, axis=1) if sums else np.zeros((n, 0))


def by_items(items: Ints, second: Floats, n: int) -> Floats | csr_array:
    """Return the sum over rows of their second derivatives (shown, shown, rows) as a matrix over items."""
    shown = items.shape[1]
    rows, columns = np.repeat(items.T, shown, axis=0).ravel(), np.tile(items.T, (shown, 1)).ravel()
    if n <= DENSE_STEPS:
        flat = np.bincount(rows * n + columns, second.ravel(), n * n).astype(np.float64)  # integers if empty
        return np.asarray(flat.reshape(n, n))
    diagonal = rows == columns
    on = np.bincount(rows[diagonal], second.ravel()[diagonal], n)
    off, every = ~diagonal, np.arange(n)
    ends = np.concatenate([rows[off], every]), np.concatenate([columns[off], every])
    return csr_array((np.concatenate([second.ravel()[off], on]), ends), shape=(n, n))
