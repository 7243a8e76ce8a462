"""What layered policies share: estimators of rising precision, each with its own data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.policies.engine.radius_policy import RadiusPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class LayeredPolicy(RadiusPolicy):
    """Layers, each with its own data, precision and estimate; with an unknown horizon there are more of them as rounds go by."""

    takes_experiment: ClassVar[str] = "is not defined for layered policies"

    @property
    def layer_counts_(self) -> list[int]:
        """Duels learned in each layer (their weights summed and rounded)."""
        return [round(count) for count in self._fitted().learned]
