"""FixedArms: given arms, the same in every round."""

from __future__ import annotations

from typing import Any

import numpy as np

from duelist.core.arrays import check_finite
from duelist.core.errors import InvalidInput
from duelist.model.links import Link, get_link
from duelist.simulation.environments.base import Environment, World, check_scale, check_theta, draw_theta


class FixedArms(Environment):
    """Arms that you give, the same in every round.

    Parameters
    ----------
    arms
        Features, (n_arms, dim).
    theta, scale, link
        As for `Hypercube`.

    >>> FixedArms([[0.0, 1.0], [1.0, 0.0]], theta=[1.0, 0.0]).dim
    2
    """

    def __init__(self, arms: Any, theta: Any = None, scale: float = 1.0, link: str | Link = "logistic") -> None:
        self.arms = check_finite("arms", arms, "finite features (n_arms, dim)")
        if self.arms.ndim != 2 or 0 in self.arms.shape:
            raise InvalidInput(f"arms have shape {self.arms.shape}.", "Give finite features (n_arms, dim).")
        self.dim = self.arms.shape[1]
        self.theta = check_theta(theta, self.dim)
        self.scale = check_scale(scale)
        self.link = get_link(link)

    def draw_world(self, rng: np.random.Generator) -> World:
        """Draw theta* of one run, with the arms."""
        return World(draw_theta(self.theta, self.dim, self.scale, rng), self.arms)
