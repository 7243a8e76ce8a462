"""Hypercube: the paper's arms, all corners of {-1, 1}^dim."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from duelist.core.arrays import check_integer
from duelist.core.errors import InvalidInput
from duelist.model.links import Link, get_link
from duelist.simulation.environments.base import Environment, World, check_prior, check_scale, check_theta, draw_theta

_LARGEST_DIM = 16


class Hypercube(Environment):
    """The 2^dim corners of {-1, 1}^dim, fixed (Di et al. 2024, section 6).

    Parameters
    ----------
    dim
        Number of features; 5 in the paper, which makes 32 arms.
    theta
        theta*; None draws one in every run.
    scale
        Multiplies theta*: larger means clearer comparisons, so less variance.
    link
        How outcomes are drawn.
    prior
        How theta* is drawn: "direction", uniformly among those of unit length, or "normal", coordinates N(0, 1 / dim).

    >>> world = Hypercube(dim=3).draw_world(np.random.default_rng(0))
    >>> world.arms.shape
    (8, 3)
    >>> round(float(np.linalg.norm(world.theta)), 12)
    1.0
    """

    def __init__(
        self,
        dim: int = 5,
        theta: Any = None,
        scale: float = 1.0,
        link: str | Link = "logistic",
        prior: str = "direction",
    ) -> None:
        self.dim = check_integer("dim", dim)
        if self.dim > _LARGEST_DIM:
            raise InvalidInput(
                f"dim is {dim}, so there would be 2^{dim} arms.", f"Give at most {_LARGEST_DIM}.", field="dim"
            )
        self.theta = check_theta(theta, self.dim)
        self.scale = check_scale(scale)
        self.link = get_link(link)
        self.prior = check_prior(prior)

    def draw_world(self, rng: np.random.Generator) -> World:
        """Draw theta* of one run, with the corners."""
        arms = np.array(list(product((-1.0, 1.0), repeat=self.dim)))
        return World(draw_theta(self.theta, self.dim, self.scale, rng, self.prior), arms)
