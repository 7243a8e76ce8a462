"""The least possible log-loss after a few votes; a part of docs/evidence/raw-features.md.

Worlds are drawn from the prior of the rule: utilities of one of four scales, each as likely, and theta normal. No method has a lower
mean log-loss over these worlds than Bayes' predictive distribution, which averages over every theta in proportion to its
probability given the votes. If even that is more than 2 % above the best ridge in hindsight, no estimate is within 2 % there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats
from scipy.special import expit, logsumexp

import duelist as dl

SCALES = (0.5, 1.0, 2.0, 4.0)
FEATURES = (5, 10)
VOTES = 50
HELD_OUT = 4000
DRAWS = 4000
NEGLIGIBLE = 1e-7  # of the weight of all draws
FREEDOM = 5.0  # of the t distribution that theta is proposed from: wider than the posterior


@dataclass(frozen=True)
class PairLog:
    """Differences and outcomes, those to learn from and those held out."""

    z: np.ndarray
    outcome: np.ndarray
    held_z: np.ndarray
    held_outcome: np.ndarray

    def loss(self, chance: np.ndarray) -> float:
        return float(-np.mean(np.log(np.where(self.held_outcome == 1.0, chance, 1.0 - chance))))

    def loss_of(self, ridge: float | str) -> float:
        margin = self.held_z @ dl.fit_mle(self.z, self.outcome, ridge=ridge).theta
        return float(np.mean(np.logaddexp(0.0, margin) - self.held_outcome * margin))


def drawn(dim: int, scale: float, rng: np.random.Generator) -> PairLog:
    """Arms are normal, so a utility has the standard deviation `scale`."""
    theta = scale / np.sqrt(dim) * rng.standard_normal(dim)
    z = np.sqrt(2.0) * rng.standard_normal((VOTES + HELD_OUT, dim))
    outcome = (rng.random(len(z)) < expit(z @ theta)).astype(float)
    return PairLog(z[:VOTES], outcome[:VOTES], z[VOTES:], outcome[VOTES:])


def foreseen(log: PairLog, scales: Sequence[float], rng: np.random.Generator) -> np.ndarray:
    """Chances of the held-out votes by Bayes' rule over these scales: importance sampling, with a proposal for each."""
    dim = log.z.shape[1]
    thetas, weights = [], []
    for scale in scales:
        precision = dim / scale**2
        at = dl.fit_mle(log.z, log.outcome, ridge=precision).theta
        slope = expit(log.z @ at) * expit(-log.z @ at)
        spread = np.linalg.inv(np.eye(dim) * precision + (log.z * slope[:, None]).T @ log.z)
        proposal = stats.multivariate_t(at, spread, df=FREEDOM, seed=rng)
        theta = proposal.rvs(DRAWS)
        margin = np.where(log.outcome == 1.0, 1.0, -1.0) * (theta @ log.z.T)
        prior = 0.5 * dim * np.log(precision) - 0.5 * precision * np.square(theta).sum(axis=1)
        thetas.append(theta)
        weights.append(prior - np.logaddexp(0.0, -margin).sum(axis=1) - proposal.logpdf(theta))
    weight = np.concatenate(weights)
    weight = np.exp(weight - logsumexp(weight))
    heard = weight > NEGLIGIBLE
    return np.asarray((weight[heard] / weight[heard].sum()) @ expit(np.concatenate(thetas)[heard] @ log.held_z.T))


def losses(dim: int, scale: float, seed: int) -> tuple[float, float, float, float, float]:
    """Of the best constant ridge in hindsight, of the default, of the ridge that belongs to the scale, and of Bayes' rule, for all
    scales and for the one."""
    rng = np.random.default_rng([seed, dim, int(10 * scale)])
    log = drawn(dim, scale, rng)
    hindsight = min(log.loss_of(dim * r) for r in 10.0 ** np.arange(-2.5, 3.6, 0.5))
    by_bayes = (log.loss(foreseen(log, scales, rng)) for scales in (SCALES, [scale]))
    return hindsight, log.loss_of("auto"), log.loss_of(dim / scale**2), *by_bayes


def limits(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield f"## Least possible log-loss after {VOTES} votes, relative to hindsight, {runs} runs each"
    yield ""
    yield "Mean log-loss over the mean of the best constant ridge in hindsight, run by run, with its standard error. Known scale: the"
    yield "ridge that worlds were drawn with, which a user does not know. Bayes' rule averages over every theta. With known scale, it has"
    yield "the least possible log-loss at that scale, by Gibbs' inequality: if it is above 2 %, no method is within 2 %,"
    yield "with any knowledge of the scale. Knowing only that the four scales are equally likely, it has the least average over them."
    yield ""
    yield "| features | scale of utilities | `ridge='auto'` | known scale | Bayes' rule | Bayes' rule, known scale |"
    yield "|---|---|---|---|---|---|"
    for dim in FEATURES:
        found = [np.array(list(pool.map(partial(losses, dim, scale), range(runs)))) for scale in SCALES]
        for scale, rows in zip(SCALES, found, strict=True):
            yield f"| {dim} | {scale:g} | {_excess(rows)}"
        yield f"| {dim} | **all** | {_excess(np.concatenate(found))}"


def _excess(rows: np.ndarray) -> str:
    """Ratios of means, less 1, with their standard errors."""
    ratio = rows[:, 1:].mean(axis=0) / rows[:, 0].mean()
    error = (rows[:, 1:] - ratio * rows[:, :1]).std(axis=0) / np.sqrt(len(rows)) / rows[:, 0].mean()
    return " | ".join(f"{m - 1.0:.2%} ± {e:.2%}" for m, e in zip(ratio, error, strict=True)) + " |"
