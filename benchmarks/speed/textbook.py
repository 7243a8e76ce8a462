"""The baseline: each policy as a textbook would write it in plain NumPy.

Every round the estimate is fitted again to the whole history with
`scipy.optimize.minimize(method="BFGS")` with SciPy's own settings, started from the last one, and all K^2 widths
are computed anew from the inverse precision. The baseline is not slowed down on purpose: arrays are grown in place, the
gradient is exact, and only what the policy needs is computed. Fixed arms, logistic link.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


class DuelHistory:
    """Rows of one estimator, its precision and its estimate."""

    def __init__(self, dim: int, horizon: int, prior: float, ridge: float) -> None:
        self.z = np.empty((horizon, dim))
        self.o = np.empty(horizon)
        self.w2 = np.empty(horizon)
        self.n = 0
        self.ridge = ridge
        self.precision = prior * np.eye(dim)
        self.theta = np.zeros(dim)

    def add(self, z: np.ndarray, outcome: float, w2: float) -> None:
        self.z[self.n], self.o[self.n], self.w2[self.n] = z, outcome, w2
        self.n += 1
        self.precision += w2 * np.outer(z, z)
        self.theta = minimize(self._loss, self.theta, jac=True, method="BFGS").x

    def _loss(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        z, o, w2 = self.z[: self.n], self.o[: self.n], self.w2[: self.n]
        v = z @ theta
        value = 0.5 * self.ridge * theta @ theta + w2 @ (np.logaddexp(0.0, v) - o * v)
        return value, self.ridge * theta + z.T @ (w2 * (expit(v) - o))


class Textbook:
    """Shared by all: the arms, their differences, and all pairwise widths."""

    def __init__(self, arms: np.ndarray, horizon: int, seed: int) -> None:
        self.arms = arms
        self.differences = arms[:, None] - arms[None]
        self.dim = arms.shape[1]
        self.rng = np.random.default_rng(seed)
        self.horizon = horizon
        self.beta = np.sqrt(self.dim * np.log(horizon))

    def widths(self, precision: np.ndarray) -> np.ndarray:
        inverse = np.linalg.inv(precision)
        return np.sqrt(np.einsum("ijk,kl,ijl->ij", self.differences, inverse, self.differences))


class Flat(Textbook):
    """One estimator on all data, ridge 1."""

    def __init__(self, arms: np.ndarray, horizon: int, seed: int) -> None:
        super().__init__(arms, horizon, seed)
        self.history = DuelHistory(self.dim, horizon, 1.0, 1.0)

    def tell(self, i: int, j: int, outcome: float) -> None:
        self.history.add(self.arms[i] - self.arms[j], outcome, 1.0)


class TextbookMaxPairUCB(Flat):
    def ask(self) -> tuple[int, int]:
        u = self.arms @ self.history.theta
        value = u[:, None] + u[None] + self.beta * self.widths(self.history.precision)
        i, j = np.unravel_index(value.argmax(), value.shape)
        return int(i), int(j)


class TextbookMaxInP(Flat):
    def ask(self) -> tuple[int, int]:
        u = self.arms @ self.history.theta
        widths = self.widths(self.history.precision)
        promising = (u[:, None] - u[None] + self.beta * widths >= 0.0).all(axis=1)
        masked = np.where(promising[:, None] & promising[None], widths, -1.0)
        i, j = np.unravel_index(masked.argmax(), masked.shape)
        return int(i), int(j)


class TextbookCoLSTIM(Flat):
    def __init__(self, arms: np.ndarray, horizon: int, seed: int) -> None:
        super().__init__(arms, horizon, seed)
        self.t = 0

    def ask(self) -> tuple[int, int]:
        self.t += 1
        u = self.arms @ self.history.theta
        inverse = np.linalg.inv(self.history.precision)
        norms = np.sqrt(np.einsum("ik,kl,il->i", self.arms, inverse, self.arms))
        chance = min(1.0, np.sqrt(self.dim * np.log(self.dim * self.horizon) / self.t))
        noise = self.rng.gumbel(size=len(u)) if self.rng.random() < chance else self.rng.gumbel()
        i = int((u + np.clip(noise, -self.beta, self.beta) * norms).argmax())
        z = self.arms - self.arms[i]
        j = int((u + self.beta * np.sqrt(np.einsum("ik,kl,il->i", z, inverse, z))).argmax())
        return i, j


class TextbookVACDB(Textbook):
    """Algorithm 1 with the largest utility among wide pairs; settings of the library's default."""

    def __init__(self, arms: np.ndarray, horizon: int, seed: int, scale: float, rho: float) -> None:
        super().__init__(arms, horizon, seed)
        self.alpha = horizon**-1.5
        self.n_layers = int(np.ceil(np.log2(1.0 / self.alpha)))
        self.scale, self.kappa, self.delta = scale, 0.25, 0.05
        small = 0.5 ** np.arange(1, self.n_layers + 1)
        self.layers = [DuelHistory(self.dim, horizon, s * s, s * s * rho) for s in small]
        self.radius = scale * small * (1.0 + 1.0 / self.kappa)
        self.t = 0
        self.pending: tuple[int, float] | None = None

    def ask(self) -> tuple[int, int]:
        self.t += 1
        alive = np.ones(len(self.arms), bool)
        for layer, history in enumerate(self.layers):
            widths = np.where(alive[:, None] & alive[None], self.widths(history.precision), 0.0)
            threshold = 0.5 ** (layer + 1)
            u = self.arms @ history.theta
            total = u[:, None] + u[None]
            if widths.max() <= self.alpha or layer + 1 == self.n_layers:
                value = np.where(alive[:, None] & alive[None], total + self.radius[layer] * widths, -np.inf)
                self.pending = None
                break
            if widths.max() > threshold:
                value = np.where(widths > threshold, total, -np.inf)
                i, j = np.unravel_index(value.argmax(), value.shape)
                self.pending = layer, float(threshold / widths[i, j]) ** 2
                break
            alive &= u >= u[alive].max() - threshold * self.radius[layer]
        i, j = np.unravel_index(value.argmax(), value.shape)
        return int(i), int(j)

    def tell(self, i: int, j: int, outcome: float) -> None:
        if self.pending is None:
            return
        layer, w2 = self.pending
        history = self.layers[layer]
        history.add(self.arms[i] - self.arms[j], outcome, w2)
        z, o, weights = history.z[: history.n], history.o[: history.n], history.w2[: history.n]
        variance = weights @ (o - expit(z @ history.theta)) ** 2
        now = np.log(4.0 * (self.t + 1) ** 2 * self.n_layers / self.delta)
        following = np.log(4.0 * (self.t + 2) ** 2 * self.n_layers / self.delta)
        small = 0.5 ** (layer + 1)
        beta = 16 * small / self.kappa * np.sqrt((8 * variance + 18 * following) * now)
        self.radius[layer] = self.scale * (beta + 6 * small / self.kappa * now + 2 * small)


def play(policy, theta: np.ndarray, rounds: int, seed: int) -> float:
    """Average regret of a run."""
    rng = np.random.default_rng(seed)
    utilities = policy.arms @ theta
    regret = 0.0
    for _ in range(rounds):
        i, j = policy.ask()
        policy.tell(i, j, float(rng.random() < expit(utilities[i] - utilities[j])))
        regret += utilities.max() - 0.5 * (utilities[i] + utilities[j])
    return regret
