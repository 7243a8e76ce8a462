"""What chance allows: means and wins within six sigma."""

import math

import numpy as np

SIX_SIGMA = 6.0


def rng(seed=0):
    return np.random.default_rng(seed)


def assert_mean_near(values, expected, sd):
    """The mean over the first axis is within six standard errors of `expected`."""
    error = SIX_SIGMA * sd / math.sqrt(len(values))
    np.testing.assert_allclose(np.mean(values, axis=0), expected, atol=error)


def assert_wins_match(first, second, outcome, chance):
    """Wins of each ordered pair are binomial: within six sigma of n p."""
    n_arms = len(chance)
    pair = first.astype(int) * n_arms + second
    duels = np.bincount(pair.ravel(), minlength=n_arms**2)
    wins = np.bincount(pair.ravel(), weights=outcome.ravel(), minlength=n_arms**2)
    p = np.asarray(chance).ravel()
    assert (np.abs(wins - duels * p) <= SIX_SIGMA * np.sqrt(duels * p * (1.0 - p)) + 1e-9).all()
