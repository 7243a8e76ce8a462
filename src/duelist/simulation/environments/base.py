"""The contract of an environment, which owns the truth that policies never see.

An environment describes a family of problems. `draw_world` draws the problem of one run: its theta* and, if the arms
never change, its arms. Otherwise `draw_arms` draws new arms for every round. Worlds, arms and outcomes have separate
random streams, so that every policy of a simulation meets the same world, arms and luck.

To add an environment, subclass `Environment` with `draw_world` (and `draw_arms`; and `utilities`, if they are not linear
or drift). `CustomVotes` gives an environment another outcome model.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from duelist import native
from duelist.core.arrays import Floats, Ints, check_choice, check_finite
from duelist.core.errors import InvalidInput
from duelist.model.links import Link


@dataclass(frozen=True)
class World:
    """The problem of one run. `arms` is None if `draw_arms` draws new ones in every round."""

    theta: Floats
    arms: Floats | None = None
    utilities: Floats | None = None
    """Utilities of fixed arms; None: arms . theta."""


class Truth(NamedTuple):
    """How outcomes are drawn, as the engine reads it: from a link, a matrix, or without noise."""

    link: str
    noiseless: bool
    table: Floats  # (n_arms, n_arms) probability that the row arm wins; (0, 0) if the link decides
    flipped_first: int = 0  # the number of votes at the start of a run that are flipped
    flip_chance: float = 0.0  # the probability that each later vote is flipped
    delay: int = 0  # a vote arrives after this many further rounds
    chances: Callable[[Floats, Ints], tuple[Floats, Floats]] | None = None  # an outcome model in Python, not the link

    def vote_model(self) -> native.VoteModel:
        """Return how the engine draws outcomes, which ignores `chances`."""
        return native.VoteModel(*self[:6])


class Rounds(NamedTuple):
    """Arms and utilities of a block of rounds. Axes: run (1 if shared), round (1 if fixed), arm."""

    arms: Floats  # (runs or 1, rounds or 1, n_arms, dim)
    n_arms: Ints  # (runs or 1, rounds or 1) the number of arms on the table
    utilities: Floats  # (runs or 1, rounds or 1, n_arms)


PRIORS: Final = ("direction", "normal")
"""How theta* is drawn: a uniformly random direction of unit length, or independent coordinates N(0, 1 / dim)."""


class Environment(ABC):
    """A family of problems; `dim` and `link` describe its kind."""

    dim: int
    link: Link

    @abstractmethod
    def draw_world(self, rng: np.random.Generator) -> World:
        """Draw the problem of one run."""

    def draw_arms(self, world: World, rng: np.random.Generator, rounds: int) -> tuple[Floats, Ints]:
        """Draw arms for the next rounds, (rounds, n_arms, dim), and the number of valid ones per round."""
        raise InvalidInput(f"{type(self).__name__} has no fixed arms and no draw_arms.", "Give it one of them.")

    def available_arms(self, n_arms: int, start: int, rounds: int) -> Ints | None:
        """Return how many of the fixed arms, in their order, have joined in each round.

        The rounds begin at `start`. None: always all of them.
        """
        return None

    def utilities(self, world: World, arms: Floats, t: Ints) -> Floats:
        """Return utilities (rounds, n_arms) of arms (rounds, n_arms, dim) in the rounds t, which count from 1.

        By default arms . theta. Override it for utilities that are not linear in the features or drift over rounds.
        """
        return utilities_of(arms.reshape(-1, arms.shape[2]), world.theta).reshape(arms.shape[:2])

    @property
    def has_own_utilities(self) -> bool:
        """Whether the class overrides `utilities`."""
        return type(self).utilities is not Environment.utilities

    def truth(self) -> Truth:
        """Return how outcomes are drawn; by default, from the link."""
        return Truth(self.link.name, False, np.empty((0, 0)))

    def describe(self) -> dict[str, Any]:
        """Return name and settings, for records."""
        settings = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        return {"environment": type(self).__name__, **{k: _plain(v) for k, v in settings.items()}}

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in self.describe().items() if k != "environment")
        return f"{type(self).__name__}({settings})"


def _plain(value: Any) -> Any:
    if isinstance(value, Link):
        return value.name
    if isinstance(value, Environment):
        return value.describe()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)


class Worlds:
    """The worlds of many runs, advanced by blocks of rounds."""

    def __init__(self, environment: Environment, world_seeds: Sequence[Any], arm_seeds: Sequence[Any]) -> None:
        self._environment = environment
        self._worlds = [environment.draw_world(np.random.default_rng(s)) for s in world_seeds]
        self._fixed = self._fixed_rounds()
        self._shown = 0
        self._arm_rngs = [] if self._fixed is not None else [np.random.default_rng(s) for s in arm_seeds]
        self.truth = environment.truth()

    @property
    def thetas(self) -> Floats:
        """theta* of every run."""
        return np.stack([w.theta for w in self._worlds])

    @property
    def fixed(self) -> bool:
        """Whether the arms never change."""
        return self._fixed is not None and self._environment.available_arms(1, 0, 1) is None

    def next_rounds(self, rounds: int) -> Rounds:
        """Return the arms of the next rounds of every run."""
        self._shown += rounds
        t = np.arange(self._shown - rounds + 1, self._shown + 1)
        if self._fixed is not None:
            shown = self._joined(self._fixed, self._shown - rounds, rounds)
            return self._with_own_utilities(shown, t) if self._environment.has_own_utilities else shown
        drawn = [self._environment.draw_arms(w, g, rounds) for w, g in zip(self._worlds, self._arm_rngs, strict=True)]
        arms = np.stack([a for a, _ in drawn])
        count = np.stack([c for _, c in drawn]).astype(np.int64)
        utilities = [self._environment.utilities(w, a, t) for a, w in zip(arms, self._worlds, strict=True)]
        return Rounds(arms, count, np.stack(utilities))

    def _with_own_utilities(self, shown: Rounds, t: Ints) -> Rounds:
        """Return fixed arms with their utilities in the rounds t."""
        whole = (len(t) // shown.arms.shape[1], len(t) // shown.n_arms.shape[1])
        arms, count = np.repeat(shown.arms, whole[0], axis=1), np.repeat(shown.n_arms, whole[1], axis=1)
        of_run = [arms[k if len(arms) > 1 else 0] for k in range(len(self._worlds))]
        utilities = [self._environment.utilities(w, a, t) for w, a in zip(self._worlds, of_run, strict=True)]
        return Rounds(np.ascontiguousarray(arms), np.ascontiguousarray(count), np.stack(utilities))

    def _joined(self, fixed: Rounds, start: int, rounds: int) -> Rounds:
        """Return fixed arms, limited to those on the table in each round."""
        counts = self._environment.available_arms(fixed.arms.shape[2], start, rounds)
        if counts is None:
            return fixed
        arms, utilities = np.repeat(fixed.arms, rounds, axis=1), np.repeat(fixed.utilities, rounds, axis=1)
        return Rounds(arms, np.repeat(counts[None].astype(np.int64), len(arms), axis=0), utilities)

    def _fixed_rounds(self) -> Rounds | None:
        if any(w.arms is None for w in self._worlds):
            return None
        arms = np.stack([w.arms for w in self._worlds if w.arms is not None])
        utilities = np.stack([_utilities(w) for w in self._worlds])
        if (arms == arms[0]).all():
            arms = arms[:1]
        count = np.full((len(arms), 1), arms.shape[1], np.int64)
        return Rounds(np.ascontiguousarray(arms[:, None]), count, np.ascontiguousarray(utilities[:, None]))


def _utilities(world: World) -> Floats:
    if world.utilities is not None:
        return world.utilities
    return utilities_of(np.asarray(world.arms), world.theta)


def utilities_of(arms: Floats, theta: Floats) -> Floats:
    """Return x . theta of every arm, added in a fixed order, since BLAS gives other last bits on other processors."""
    return native.utilities(np.ascontiguousarray(arms, np.float64), np.ascontiguousarray(theta, np.float64))


def check_theta(theta: Any, dim: int) -> Floats | None:
    """Return a given theta* as an array of `dim` finite numbers; None stays None."""
    if theta is None:
        return None
    array = check_finite("theta", theta, f"{dim} finite numbers")
    if array.shape != (dim,):
        raise InvalidInput(f"theta has shape {array.shape}.", f"Give {dim} finite numbers.")
    return array


def draw_theta(
    theta: Floats | None, dim: int, scale: float, rng: np.random.Generator, prior: str = "direction"
) -> Floats:
    """Return scale times the given theta, or times a random one: see `PRIORS`."""
    if theta is None:
        theta = rng.standard_normal(dim)
        size = math.sqrt(utilities_of(theta[None], theta)[0]) if prior == "direction" else math.sqrt(dim)
        theta = theta / size
    return np.asarray(scale * theta)


def check_prior(prior: str) -> str:
    """Return `prior` if it is one of `PRIORS`."""
    return check_choice("prior", prior, PRIORS)


def check_scale(scale: float) -> float:
    """Return a finite scale of theta*; 0 makes every comparison a coin flip."""
    value = check_finite("scale", scale, "a finite number of at least 0")
    if value.shape != () or value < 0.0:
        raise InvalidInput(f"scale is {scale!r}.", "Give a finite number of at least 0.", field="scale")
    return float(value)
