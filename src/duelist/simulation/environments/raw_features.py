"""RawFeatures: arms with features in raw units, as in people's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from duelist.core.arrays import Floats, check_choice
from duelist.model.links import Link, get_link
from duelist.simulation.environments.base import Environment, World, check_scale, utilities_of


@dataclass(frozen=True)
class _RawTable:
    """Features in raw units, with theta in the matching units."""

    arms: Floats
    theta: Floats


def _unit(rng: np.random.Generator, dim: int) -> Floats:
    theta = rng.standard_normal(dim)
    return np.asarray(theta / np.linalg.norm(theta))


def _mixed_units(rng: np.random.Generator) -> _RawTable:
    arms = np.column_stack([rng.uniform(50, 900, 10), rng.uniform(1, 5, 10), rng.integers(0, 2, 10)])
    return _RawTable(arms, np.array([-0.002, 1.0, 1.0]))


def _correlated(rng: np.random.Generator) -> _RawTable:
    mixing = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 8)) + 0.3 * rng.standard_normal((8, 8))
    arms = rng.standard_normal((32, 8)) @ mixing * 10.0 ** rng.uniform(-2.0, 2.0, 8)
    theta = rng.standard_normal(8) / arms.std(axis=0)
    return _RawTable(arms, theta / (arms @ theta).std())


def _near_duplicates(rng: np.random.Generator) -> _RawTable:
    arms = np.repeat(rng.standard_normal((8, 5)), 4, axis=0) + 0.01 * rng.standard_normal((32, 5))
    return _RawTable(arms, _unit(rng, 5))


def _more_features_than_arms(rng: np.random.Generator) -> _RawTable:
    return _RawTable(rng.standard_normal((10, 30)), _unit(rng, 30))


def _sparse_binary(rng: np.random.Generator) -> _RawTable:
    return _RawTable((rng.random((32, 20)) < 0.1).astype(float), rng.standard_normal(20))


def _heavy_tailed(rng: np.random.Generator) -> _RawTable:
    return _RawTable(rng.standard_t(2, (32, 5)), _unit(rng, 5))


def _arm_effects(rng: np.random.Generator) -> _RawTable:
    return _RawTable(rng.standard_normal((20, 5)), _unit(rng, 5))


_TABLES: Final[Mapping[str, tuple[int, Callable[[np.random.Generator], _RawTable]]]] = {
    "mixed units": (3, _mixed_units),
    "correlated": (8, _correlated),
    "heavy-tailed": (5, _heavy_tailed),
    "sparse binary": (20, _sparse_binary),
    "more features than arms": (30, _more_features_than_arms),
    "near-duplicates": (5, _near_duplicates),
    "arm effects": (5, _arm_effects),
}
KINDS: Final = tuple(_TABLES)
EFFECT: Final = 0.3
"""Standard deviation of the part of utility that features do not explain, for "arm effects"."""


class RawFeatures(Environment):
    """A table of arms with raw features: a new one per run, the same arms in every round.

    Parameters
    ----------
    kind
        "mixed units": 10 arms with a price of 50 to 900, a rating of 1 to 5 and a flag. "correlated": 8 features with
        two common factors, in units from a hundredth to a hundred. "heavy-tailed": t with two degrees of freedom.
        "sparse binary": 20 flags, each set in a tenth of the arms. "more features than arms": 30 features of 10 arms.
        "near-duplicates": 8 arms, four times each, a hundredth apart. "arm effects": utilities differ by N(0, 0.3^2)
        from the linear part.
    standardised
        Divide each feature by its standard deviation, for comparison; the problem is the same.
    scale
        Multiplies utilities.
    link
        As for `Hypercube`.

    >>> world = RawFeatures("mixed units").draw_world(np.random.default_rng(0))
    >>> world.arms.shape
    (10, 3)
    """

    def __init__(
        self,
        kind: str = "mixed units",
        *,
        standardised: bool = False,
        scale: float = 1.0,
        link: str | Link = "logistic",
    ) -> None:
        self.kind = check_choice("kind", kind, KINDS)
        self.dim, self._draw = _TABLES[kind]
        self.standardised = bool(standardised)
        self.scale = check_scale(scale)
        self.link = get_link(link)

    def draw_world(self, rng: np.random.Generator) -> World:
        """Draw the table of one run."""
        table = self._draw(rng)
        utilities = utilities_of(table.arms, self.scale * table.theta)
        if self.kind == "arm effects":
            utilities = utilities + self.scale * EFFECT * rng.standard_normal(len(utilities))
        size = table.arms.std(axis=0) if self.standardised else np.ones(self.dim)
        size = np.where(size > 0.0, size, 1.0)
        arms, theta = np.ascontiguousarray(table.arms / size), self.scale * table.theta * size
        return World(theta, arms, utilities)
