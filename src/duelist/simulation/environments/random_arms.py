"""RandomArms: new arms in every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from duelist.core.arrays import Floats, Ints, check_integer
from duelist.core.errors import InvalidInput
from duelist.model.links import PROBIT, Link, get_link
from duelist.simulation.environments.base import Environment, World, check_scale, check_theta, draw_theta

KINDS: Final = ("sphere", "gaussian", "clustered")
_CLUSTERS: Final = 4
_CLUSTER_SPREAD: Final = 0.3


class RandomArms(Environment):
    """New arms in every round, drawn independently.

    Parameters
    ----------
    dim
        Number of features.
    n_arms
        Arms per round, or (least, most): then their number changes every round, uniform in that range, both ends
        included.
    kind
        "sphere": uniform on the sphere of radius sqrt(dim), where the hypercube's corners lie; "gaussian": standard
        normal features; "clustered": around 4 centres of standard normal features, fixed for the run, with a spread
        of 0.3 in each feature.
    theta, scale, link
        As for `Hypercube`.

    >>> environment = RandomArms(dim=3, n_arms=(2, 6), kind="gaussian")
    >>> world = environment.draw_world(np.random.default_rng(0))
    >>> arms, count = environment.draw_arms(world, np.random.default_rng(1), rounds=10)
    >>> arms.shape, bool((count >= 2).all() and (count <= 6).all())
    ((10, 6, 3), True)
    """

    def __init__(
        self,
        dim: int = 5,
        n_arms: int | tuple[int, int] = 32,
        kind: str = "sphere",
        theta: Any = None,
        scale: float = 1.0,
        link: str | Link = "logistic",
    ) -> None:
        self.dim = check_integer("dim", dim)
        self.n_arms = n_arms
        bounds = tuple(n_arms) if isinstance(n_arms, (tuple, list)) else (n_arms, n_arms)
        if len(bounds) != 2:
            raise InvalidInput(f"n_arms is {n_arms!r}.", "Give a number, or the least and the most.", field="n_arms")
        self._least = check_integer("n_arms", bounds[0])
        self._most = check_integer("n_arms", bounds[1], self._least)
        if kind not in KINDS:
            raise InvalidInput(f"kind is {kind!r}.", f"Choose one of {', '.join(KINDS)}.", field="kind")
        self.kind = kind
        self.theta = check_theta(theta, self.dim)
        self.scale = check_scale(scale)
        self.link = get_link(link)

    def draw_world(self, rng: np.random.Generator) -> World:
        """Draw theta* of one run, with its cluster centres."""
        theta = draw_theta(self.theta, self.dim, self.scale, rng)
        return _RandomWorld(theta, centres=rng.standard_normal((_CLUSTERS, self.dim)))

    def draw_arms(self, world: World, rng: np.random.Generator, rounds: int) -> tuple[Floats, Ints]:
        """Draw the arms of the next rounds from one block of normals per round, so that blocks can be cut anywhere."""
        size = self._most * self.dim
        block = rng.standard_normal((rounds, size + self._most + 1))
        features = block[:, :size].reshape(rounds, self._most, self.dim)
        chosen = PROBIT.mean(block[:, size:])  # uniform numbers: a cluster per arm, then the count
        span = self._most - self._least + 1
        count = self._least + np.minimum((chosen[:, -1] * span).astype(np.int64), span - 1)
        if self.kind == "sphere":
            features = np.sqrt(self.dim) * features / np.linalg.norm(features, axis=2, keepdims=True)
        elif self.kind == "clustered":
            if not isinstance(world, _RandomWorld):
                raise InvalidInput("This world has no cluster centres.", "Make it with draw_world.")
            cluster = np.minimum((chosen[:, :-1] * _CLUSTERS).astype(np.int64), _CLUSTERS - 1)
            features = world.centres[cluster] + _CLUSTER_SPREAD * features
        return np.ascontiguousarray(features), count


@dataclass(frozen=True, kw_only=True)
class _RandomWorld(World):
    centres: Floats
