"""What policies with a confidence radius share: its settings, and its value in a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist import radius as radii
from duelist.compiled import compiled
from duelist.errors import InvalidInput
from duelist.links import get_link
from duelist.policies._base import CompiledPolicy
from duelist.policies._checks import check_horizon, check_positive, is_number
from duelist.policies._state import Floats, Memory, State, empty_memory

_SMALLEST_KAPPA = 1e-300
RADIUS_NAMES = ("practical", "theory", "experiment")


class RadiusConfig(NamedTuple):
    """Settings of a rule that reads one radius: beta = factor * (shape of `kind`).

    A policy with no other setting subclasses it without a word: the type alone picks its rule.
    """

    link: int
    online: bool
    horizon: int
    kind: int
    factor: float
    delta: float


@compiled
def flat_radius(config: Any, state: State, dim: int) -> float:
    """beta of the present round for a policy with one estimator."""
    horizon = radii.effective_horizon(config.horizon, state.rounds[0])
    if config.kind == radii.THEORY:
        return config.factor * radii.warmed_glm(dim, horizon, state.kappa[0], config.delta)
    if config.kind == radii.SHAPE:
        return config.factor * radii.practical(dim, horizon)
    return config.factor


@dataclass(kw_only=True, eq=False, repr=False)
class RadiusPolicy(CompiledPolicy):
    """A compiled policy with a confidence radius.

    Parameters
    ----------
    horizon
        Number of rounds T, or None: then T is guessed by doubling, nothing is forgotten.
    radius
        "practical" (default, see the policy), "theory" (as published, times 1/kappa),
        "experiment" (2 sqrt(d log T), the comparators' in the paper's experiments), or a
        number: that radius in every round.
    scale
        Multiplies the radius, whichever it is.
    delta
        Error probability of the published radius.
    kappa
        Smallest slope of the link; None derives it from `theta_bound` and the first arms.
    theta_bound
        A bound S on |theta*| (the papers: 1), used to derive kappa: the smallest slope
        over |v| <= 2 A S with A the largest distance of a first arm from their centre. Give kappa where the
        first arms are not typical (a single one, say). With radius "theory" the one-pass estimate is also
        kept within |theta| <= S.
    """

    horizon: int | None = None
    radius: str | float = "practical"
    scale: float = 1.0
    delta: float = 0.05
    kappa: float | None = None
    theta_bound: float = 1.0

    practical_multiplier: ClassVar[float] = 1.0
    config_class: ClassVar[type[RadiusConfig]] = RadiusConfig

    def __post_init__(self) -> None:
        super().__post_init__()
        check_horizon(self.horizon)
        check_positive("scale", self.scale)
        check_positive("theta_bound", self.theta_bound)
        if not is_number(self.delta) or not 0.0 < self.delta < 1.0:
            raise InvalidInput(f"delta is {self.delta!r}; give a probability between 0 and 1")
        if self.kappa is not None and not (is_number(self.kappa) and 0.0 < self.kappa < np.inf):
            raise InvalidInput(
                f"kappa is {self.kappa!r}; give the smallest slope of the link, a positive finite number, "
                "or None to derive it"
            )
        if isinstance(self.radius, str):
            if self.radius not in RADIUS_NAMES:
                raise InvalidInput(f"radius is {self.radius!r}; give a number or one of {', '.join(RADIUS_NAMES)}")
        else:
            check_positive("radius", self.radius)

    def make_config(self) -> Any:
        """The settings of the rule as numbers."""
        return self.config_class(*self.radius_config())

    def radius_config(self) -> RadiusConfig:
        """The settings that every rule with a radius reads."""
        kind, factor = self._kind_and_factor()
        code, horizon = get_link(self.link).code, check_horizon(self.horizon)
        return RadiusConfig(code, self.online_, horizon, kind, factor, self.delta)

    def make_memory(self, words: NDArray[np.uint64], arms: Floats) -> Memory:
        """One estimator a run, its precision and estimate with the same ridge."""
        ridge = self._ridge(arms)[:, None]
        kappa = self._kappa(arms) if self.radius == "theory" else np.ones(len(arms))
        memory = empty_memory(words, kappa, np.ones(len(arms)), ridge, ridge, np.zeros_like(ridge), arms.shape[2])
        return self._bounded(memory)

    def _bounded(self, memory: Memory) -> Memory:
        """With the published radius, the one-pass estimate is kept within `theta_bound`, as its theory asks."""
        if self.radius == "theory":
            for run in range(len(memory.core)):
                memory.state(run).bound[0] = self.theta_bound
        return memory

    def _kind_and_factor(self) -> tuple[int, float]:
        if self.radius == "theory":
            return radii.THEORY, self.scale
        if self.radius == "practical":
            return radii.SHAPE, self.scale * self.practical_multiplier
        if self.radius == "experiment":
            return radii.SHAPE, self.scale * radii.EXPERIMENT_MULTIPLIER
        return radii.CONSTANT, self.scale * float(self.radius)

    def _kappa(self, arms: Floats) -> Floats:
        """kappa of every run: as given, or from its first arms."""
        if self.kappa is not None:
            return np.full(len(arms), float(self.kappa))
        # Distances from the centre, so that a constant added to all arms changes nothing.
        reach = np.linalg.norm(arms - arms.mean(axis=1, keepdims=True), axis=2).max(axis=1)
        largest = 2.0 * reach * self.theta_bound
        kappa = get_link(self.link).slope(largest)
        if kappa.min() < _SMALLEST_KAPPA:  # radii go with 1/kappa
            raise InvalidInput(
                f"kappa is {kappa.min():.6g}: the {self.link} link is flat at utility differences of {largest.max():.6g} "
                f"(arms reach {reach.max():.6g} from their centre, theta_bound is {self.theta_bound}); "
                "rescale the features, lower theta_bound, or give kappa"
            )
        return kappa
