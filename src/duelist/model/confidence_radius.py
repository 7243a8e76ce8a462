"""Confidence radii, each with its theorem.

A radius beta asserts |theta_hat - theta*|_Sigma <= beta. The published radii hold with probability 1 - delta and are
very wide at practical horizons; `practical` is the form that the papers' own experiments use. Policies multiply any of
them by `scale`. The engine has the same functions in `native/policies/confidence_radius.hpp`, and tests compare the
two.
"""

from __future__ import annotations

import math


def effective_horizon(horizon: int, t: int) -> float:
    """Return the horizon if it is known (> 0), else the next power of two above round t.

    Guessing an unknown horizon by doubling discards nothing: what a policy learns does not depend on the guess.
    """
    if horizon > 0:
        return float(horizon)
    return 2.0 ** math.ceil(math.log2(t + 1.0) if t > 0 else 1.0)


def practical(dim: int, horizon: float) -> float:
    """Return sqrt(d log T): the shape of every theorem here, without its constants."""
    return math.sqrt(dim * math.log(max(horizon, 2.0)))


def warmed_glm(dim: int, horizon: float, kappa: float, delta: float) -> float:
    """Return (1/(2 kappa)) sqrt((d/2) log(1 + 2T/d) + log(1/delta)).

    Li, Lu and Zhou 2017, Theorem 1, with outcomes in [0, 1] (sub-Gaussian with 1/2), as used by MaxInP (Saha 2021). The
    theorem requires a warm-up until the smallest eigenvalue of the precision is at least 1; the experiments of the
    VACDB paper replace it by a ridge.
    """
    return math.sqrt(0.5 * dim * math.log(1.0 + 2.0 * horizon / dim) + math.log(1.0 / delta)) / (2.0 * kappa)


def stagewise(n_arms: int, horizon: float, kappa: float, delta: float) -> float:
    """Return (3/(2 kappa)) sqrt(2 log(3 T K / delta)).

    For layers whose data are independent of their design (Li, Lu and Zhou 2017, SupCB-GLM), as used by Sta'D (Saha
    2021) and SupCoLSTIM (Bengs, Saha and Huellermeier 2022). It bounds one direction at a time and so has no factor
    sqrt(d).
    """
    return 1.5 * math.sqrt(2.0 * math.log(3.0 * horizon * n_arms / delta)) / kappa


def variance_aware(layer: int, variance: float, kappa: float, t: int, layers: int, delta: float) -> float:
    """Return the radius of layer `layer` (from 1) of VACDB in round t (Di et al. 2024, equation for beta).

    beta = (16 2^-l / kappa) sqrt((8 V + 18 log(4 (t+1)^2 L / delta)) log(4 t^2 L / delta))
           + (6 2^-l / kappa) log(4 t^2 L / delta) + 2^(1-l)
    """
    small = 2.0**-layer
    log_now = math.log(4.0 * t * t * layers / delta)
    log_next = math.log(4.0 * (t + 1.0) * (t + 1.0) * layers / delta)
    return (
        16.0 * small / kappa * math.sqrt((8.0 * variance + 18.0 * log_next) * log_now)
        + 6.0 * small / kappa * log_now
        + 2.0 * small
    )


def variance_is_estimated(layer: int, kappa: float, max_slope: float, t: int, layers: int, delta: float) -> bool:
    """Whether VACDB takes V to be the residual sum in this layer.

    That is the case if 2^l >= 64 (L_mu / kappa) sqrt(log(4 (t+1)^2 L / delta)).
    """
    log_next = math.log(4.0 * (t + 1.0) * (t + 1.0) * layers / delta)
    return 2.0**layer >= 64.0 * max_slope / kappa * math.sqrt(log_next)


def log_loss(dim: int, t: int, theta_bound: float, reach: float, ridge: float, delta: float) -> float:
    """Return the radius of the log-loss confidence set in the norm of the curvature at the estimate.

        sqrt(2 (1 + S)(1 + b)) + sqrt(ridge) theta_bound,  b = log(1/delta) + d log max(e, 2 e S (1 + S/2) (t - 1) / d)

    It holds for all t at once with probability 1 - delta (Lee, Yun and Jun 2024, logistic link) and contains no
    1/kappa. The theorem is for differences of length at most 1; here they have length up to `reach`, so S = theta_bound
    reach.
    """
    bound = theta_bound * reach
    growth = 2.0 * math.e * bound * (1.0 + 0.5 * bound) * (t - 1.0) / dim
    b = math.log(1.0 / delta) + dim * math.log(max(math.e, growth))
    return math.sqrt(2.0 * (1.0 + bound) * (1.0 + b)) + math.sqrt(ridge) * theta_bound
