"""Policies and arms for the tests of sizes."""

import numpy as np
import pytest

from duelist.policies import POLICIES

DIM = 3
THETA = np.array([1.0, -0.7, 0.4])
ESTIMATORS = ("exact", "online")
EVERY = pytest.mark.parametrize(("name", "estimator"), [(n, e) for n in POLICIES for e in ESTIMATORS])


def make(name, estimator="exact", **settings):
    return POLICIES[name](estimator=estimator, random_state=0, **settings)


def draw_arms(rounds, n_arms=5, seed=0):
    return list(np.random.default_rng([seed, 71]).normal(size=(rounds, n_arms, DIM)))


def vote(arms, duel, luck):
    chance = 1.0 / (1.0 + np.exp(-(arms[duel.first] - arms[duel.second]) @ THETA))
    return float(luck < chance)
