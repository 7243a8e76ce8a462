"""Policies with a confidence radius, and layered ones: their settings and prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from duelist.core.arrays import Floats, check_positive, check_probability, is_number
from duelist.core.errors import InvalidInput
from duelist.model.links import get_link
from duelist.policies.engine.native_policy import NativePolicy
from duelist.policies.engine.prior import Prior

_MIN_KAPPA: Final = 1e-100
"""Radii are proportional to 1 / kappa, the ridge of VACDB to kappa, and both are squared."""
RADIUS_NAMES: Final = ("practical", "tight", "theory", "experiment")
VALID_RADII: Final = ("tight", "theory")
"""Radii with a theorem: features keep their units, and theta_bound is S."""
THEORY, SHAPE, CONSTANT, TIGHT = range(4)
EXPERIMENT_MULTIPLIER: Final = 2.0
"""Multiplier of sqrt(d log T) for the comparators in the authors' own experiments."""


def mean_variance(variances: Floats) -> float:
    """Return the mean of the features' variances, or 1 if no arms differ."""
    mean = float(variances.mean())
    return mean if mean > 0.0 else 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class RadiusPolicy(NativePolicy):
    """A native policy with a confidence radius.

    Parameters
    ----------
    horizon
        Number of rounds T, or None: then T is guessed by doubling, without a restart.
    radius
        "practical" (default, see the policy; no guarantee), "tight" (computed from the votes, valid in all rounds at
        once with probability 1 - delta if |theta*| <= theta_bound; `docs/algorithms/tight-radius.md`), "theory" (as published, times
        1/kappa; some 10,000 times as large), "experiment" (2 sqrt(d log T), that of the comparators in the paper's
        experiments), or a number: that radius in every round.
    scale
        Multiplies the radius.
    delta
        Error probability of the tight and the published radius.
    kappa
        Smallest slope of the link; None derives it from `theta_bound` and the first arms.
    theta_bound
        A bound S on |theta*| (the papers: 1). The tight radius uses it. The published radius derives kappa from it: the
        smallest slope over |v| <= 2 A S with A the largest distance of a first arm from their centre. Give kappa if the
        first arms are not typical (a single one, say). With radius "theory" the one-pass estimate is also kept within
        |theta| <= S.
    """

    radius: str | float = "practical"
    scale: float = 1.0
    delta: float = 0.05
    kappa: float | None = None
    theta_bound: float = 1.0

    practical_multiplier: ClassVar[float] = 1.0
    experiment_radius_error: ClassVar[str] = ""
    """Why radius "experiment" does not apply to this policy; empty if it does."""

    def check_settings(self) -> None:
        """Check the radius and its parameters."""
        super().check_settings()
        check_positive("scale", self.scale)
        check_positive("theta_bound", self.theta_bound)
        check_probability("delta", self.delta)
        if self.kappa is not None and not (is_number(self.kappa) and 0.0 < self.kappa < float("inf")):
            raise InvalidInput(
                f"kappa is {self.kappa!r}.",
                "Give the smallest slope of the link, a positive finite number, or leave it out to derive it.",
                field="kappa",
            )
        if not isinstance(self.radius, str):
            check_positive("radius", self.radius)
        elif self.radius not in RADIUS_NAMES:
            raise InvalidInput(
                f"radius is {self.radius!r}.", f"Give a number or one of {', '.join(RADIUS_NAMES)}.", field="radius"
            )
        elif self.radius == "experiment" and self.experiment_radius_error:
            raise InvalidInput(
                f"Radius 'experiment' {self.experiment_radius_error}.",
                "Take 'practical', 'tight', 'theory', or a number.",
            )
        elif self.radius == "tight" and self.estimator == "online":
            raise InvalidInput(
                "Radius 'tight' needs the exact estimate.", "Take estimator 'exact', or another radius.", field="radius"
            )

    def rule_settings(self) -> dict[str, float]:
        """Return the settings that every rule with one radius reads."""
        kind, factor = self._kind_and_factor()
        return {"horizon": self.horizon or 0, "kind": kind, "factor": factor, "delta": self.delta}

    def prior(self, variances: Floats, reach: float) -> Prior:
        """Return one ridge for precision and estimate; radii with a theorem have the same for all features."""
        if self.radius not in VALID_RADII:
            return super().prior(variances, reach)
        ridge = self._common_ridge(variances)
        kappa = self._kappa(reach) if self.radius == "theory" else 1.0
        return Prior(ridge, ridge, kappa, bound=self.theta_bound)

    def _common_ridge(self, variances: Floats) -> float:
        """Return the given ridge, or one in proportion to the mean of the features' variances."""
        return self.practical_ridge * mean_variance(variances) if self.ridge is None else float(self.ridge)

    @property
    def layer_radii_(self) -> Floats:
        """Current radius of every layer, where the votes determine it: VACDB, and radius "tight"."""
        player = self._fitted()
        return np.array([player.radius(layer) for layer in range(len(player.learned))])

    def _kind_and_factor(self) -> tuple[int, float]:
        if self.radius == "theory":
            return THEORY, self.scale
        if self.radius == "tight":
            return TIGHT, self.scale
        if self.radius == "practical":
            return SHAPE, self.scale * self.practical_multiplier
        if self.radius == "experiment":
            return SHAPE, self.scale * EXPERIMENT_MULTIPLIER
        return CONSTANT, self.scale * float(self.radius)

    def _kappa(self, reach: float) -> float:
        """Return the given kappa, or that at the distance of the first arms from their centre."""
        if self.kappa is not None:
            return float(self.kappa)
        largest = 2.0 * reach * self.theta_bound
        kappa = float(get_link(self.link).slope(largest))
        if kappa < _MIN_KAPPA:
            raise InvalidInput(
                f"kappa is {kappa:.6g}: the {self.link} link is flat at utility differences of {largest:.6g} "
                f"(arms reach {reach:.6g} from their centre, theta_bound is {self.theta_bound}).",
                "Rescale the features, lower theta_bound, or give kappa.",
                field="kappa",
            )
        return kappa


@dataclass(kw_only=True, eq=False, repr=False)
class LayeredPolicy(RadiusPolicy):
    """Policies with layers, each with its own data, precision and estimate; an unknown horizon adds layers as it grows."""

    experiment_radius_error: ClassVar[str] = "is not defined for layered policies"

    @property
    def layer_counts_(self) -> list[int]:
        """Number of duels learned in each layer (their weights summed and rounded)."""
        return [round(count) for count in self._fitted().learned]
