"""Problems with raw features, as people bring them, and the votes on them."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import duelist as dl
from duelist.simulation.environments import Environment, RawFeatures, World
from duelist.simulation.environments.raw_features import KINDS


class ThreeArms(Environment):
    """Arms (.5, 0), (-.5, 0), (-3, -.3) with theta = (-.5, 20): one ridge for both features is always wrong here."""

    dim = 2
    link = dl.get_link("logistic")

    def draw_world(self, rng: np.random.Generator) -> World:
        arms, theta = np.array([[0.5, 0.0], [-0.5, 0.0], [-3.0, -0.3]]), np.array([-0.5, 20.0])
        return World(theta, arms, arms @ theta)


class Ratios(Environment):
    """12 arms, 4 features with equal standardised effects, in units up to `ratio` apart; arms may have effects of their own."""

    dim = 4
    link = dl.get_link("logistic")

    def __init__(self, ratio: float = 1.0, effect: float = 0.0) -> None:
        self.ratio, self.effect = ratio, effect

    def draw_world(self, rng: np.random.Generator) -> World:
        arms, theta = rng.standard_normal((12, 4)), rng.standard_normal(4)
        theta *= 2.0 / np.linalg.norm(theta)
        utilities = arms @ theta + self.effect * rng.standard_normal(12)
        size = self.ratio ** np.linspace(0.0, 1.0, 4)
        return World(theta / size, arms * size, utilities)


class OneOutlier(Environment):
    """Six arms with a price, a correlated rating and a flag, and a seventh whose price is a placeholder."""

    dim = 3
    link = dl.get_link("logistic")

    def draw_world(self, rng: np.random.Generator) -> World:
        cheap, theta = rng.standard_normal(6), np.array([-0.02, 1.5, 0.6])
        arms = np.column_stack([500 + 100 * cheap, 3 + cheap + 0.3 * rng.standard_normal(6), rng.integers(0, 2, 6)])
        arms = np.vstack([arms, [99999.0, 3.0, 0.0]])
        return World(theta, arms, arms @ theta)


class Placeholder(Environment):
    """Eight arms and two features, of which one arm's first is a number that stands for none; the arm itself is as good as any."""

    dim = 2
    link = dl.get_link("logistic")

    def draw_world(self, rng: np.random.Generator) -> World:
        arms, theta = rng.standard_normal((8, 2)), np.array([-2.0, 0.7])
        utilities = arms @ theta
        arms[rng.integers(8), 0] = 99999.0
        return World(theta, arms, utilities)


def decision_problems() -> dict[str, Environment]:
    named: dict[str, Environment] = {kind: RawFeatures(kind) for kind in KINDS}
    ratios: dict[str, Environment] = {f"units {r:g} apart": Ratios(r) for r in (1.0, 10.0, 100.0, 1000.0)}
    effects: dict[str, Environment] = {f"arm effects {e:g}": Ratios(effect=e) for e in (0.3, 1.0)}
    return (
        ratios
        | {"three arms": ThreeArms(), "one outlier": OneOutlier(), "a placeholder": Placeholder()}
        | named
        | effects
    )


def world_of(environment: Environment, seed: int) -> tuple[np.ndarray, np.ndarray]:
    world = environment.draw_world(np.random.default_rng([seed, 1]))
    arms = np.asarray(world.arms)
    return arms, arms @ world.theta if world.utilities is None else world.utilities


def wins(rng: np.random.Generator, utilities: np.ndarray, duel: dl.Duel) -> float:
    return float(rng.random() < expit(utilities[duel.first] - utilities[duel.second]))
