"""VACDB, the paper's Algorithm 1 (pair choice: `native/policies/vacdb.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from duelist.core.arrays import Floats, check_choice, check_probability, is_integer
from duelist.core.errors import InvalidInput
from duelist.model.links import get_link
from duelist.policies.engine import LayeredPolicy, Prior, mean_variance

EXPLORE: Final = ("value", "widest", "random")
VARIANCE: Final = ("high", "all")
_MIN_FIRST_LAYER: Final = -8


@dataclass(kw_only=True, eq=False, repr=False)
class VACDB(LayeredPolicy):
    """VACDB (Di et al., ICLR 2024, Algorithm 1), by default with a radius without guarantee.

    The variance-aware contextual dueling bandit of Di, Jin, Wu, Zhao, Farnoud and Gu. `VACDB()` is a practical variant to
    which the paper's theorem does not apply. `VACDB(radius="tight")` is the algorithm with a valid radius, and
    `VACDB(radius="theory")` is the algorithm as published. The repr always names the radius (decision 48).

    With alpha = T^(-3/2), L = ceil(log2(1/alpha)) layers, each with its own data Psi_l, precision Sigma_l = 4^-l I +
    sum_{Psi_l} w^2 zz' and estimate theta_l, the root of

        4^-l kappa theta + sum_{Psi_l} w_s^2 (mu(z_s . theta) - o_s) z_s = 0.

    A round starts with all arms in layer 1 and continues until a pair is chosen:

    1. all widths |x - y|_{Sigma_l^-1} <= alpha: play argmax (x + y) . theta_l + beta_l |x - y|, learn nothing;
    2. all widths <= 2^-l: keep {x : x . theta_l >= max - 2^-l beta_l}, go to layer l + 1;
    3. otherwise play a pair wider than 2^-l, learn it in layer l with w = 2^-l / |x - y|.

    The published radius grows with the variance V seen in layer l: in round t, with c_t = log(4 t^2 L / delta),

        beta_l = (2^-l / kappa) (16 sqrt((8 V + 18 c_{t+1}) c_t) + 6 c_t) + 2^(1-l).

    Parameters
    ----------
    radius
        "theory": as published. "tight": beta_l = r_l sqrt(largest eigenvalue of H_l^-1 Sigma_l), with H_l the curvature
        at theta_l and r_l the radius of `docs/algorithms/tight-radius.md`, which holds for all rounds and layers at once with
        probability 1 - delta and needs no kappa. "practical" (default): as published but with the largest slope L_mu
        instead of kappa (unless kappa is given), times `practical_multiplier`, the variance estimate in all layers, and
        priors 4^-l times the variance of each feature over the first arms, so that units do not matter; no guarantee. A
        number: that radius in every layer, as in the authors' code.
    scale
        Multiplies the radius.
    ridge
        rho in the ridge 4^-l rho of layer l's estimate, the same for all features. None: kappa with "theory" (as
        published), 1 with "tight", otherwise 1/20 of each feature's variance over the first arms.
    explore
        Which wide pair to play in step 3, which the paper leaves open: "value" (largest (x + y) . theta_l), "widest",
        or "random" (uniform over the wide pairs).
    variance
        "high": V is the residual sum in high layers and |Psi_l| in low ones, as published. "all": the residual sum
        everywhere. None: "all" with radius "practical", else "high". The tight radius uses neither.
    alpha
        The width at which to exploit; None: T^(-3/2). L follows from it: alpha = 2^-5 has 5 layers.
    first_layer
        The layer to start from: 1 as published; 0 or less: coarser layers come first, which drop arms that a few duels
        show to be bad. With clear comparisons this saves regret, otherwise it locks in more often
        (docs/contributing/decisions/rejected.md).

    Deviations
    ----------
    - Sigma_l starts at 4^-l I as in Algorithm 1 (the proof of its Lemma uses 4^-l kappa I). With radius "practical" or a
      number it starts at 4^-l times the variance of each feature over the first arms, or, if `ridge` is given, at 4^-l
      times the mean of these variances.
    - With radius "tight" the ridge is 4^-l instead of 4^-l kappa, and a layer without votes has beta_l = 2^-l
      `theta_bound`.
    - Estimates are computed when they are read, not when data arrive; the decisions are the same.
    - The paper starts a layer's solver from the estimate of the layer below. The root does not depend on the start, so
      this is omitted.
    - A tie counts as half a win and half a loss, also in the variance.
    - Unknown horizon: alpha and L follow a horizon that doubles; no data are dropped, since a layer does not depend on
      L, and the union bound over (t, l) holds with L of the round.
    - Late outcomes have the weight computed when the duel was asked.

    Cost per round: O(layers visited * K^2 d) for the widths, and one Newton solve, O(n d^2) per step with n distinct
    differences in the layer, if a layer with new votes is read.

    >>> import numpy as np
    >>> policy = VACDB(horizon=1000, random_state=0)
    >>> for _ in range(3):
    ...     policy.tell(policy.ask(np.eye(4)), 1)
    >>> policy.layer_counts_[:2]
    [3, 0]
    """

    explore: str = "value"
    variance: str | None = None
    alpha: float | None = None
    first_layer: int = 1

    practical_multiplier: ClassVar[float] = 5e-4
    practical_ridge: ClassVar[float] = 0.05
    experiment_radius_error: ClassVar[str] = "belongs to the comparators"
    always_described: ClassVar[tuple[str, ...]] = ("radius",)

    def check_settings(self) -> None:
        """Check what the paper leaves open."""
        super().check_settings()
        check_choice("explore", self.explore, EXPLORE)
        if self.variance is not None:
            check_choice("variance", self.variance, VARIANCE, ", or leave it out")
        if self.alpha is not None:
            check_probability("alpha", self.alpha, "a width between 0 and 1, or leave it out")
        if not is_integer(self.first_layer) or not _MIN_FIRST_LAYER <= self.first_layer <= 1:
            raise InvalidInput(
                f"first_layer is {self.first_layer!r}.",
                f"Give a whole number from {_MIN_FIRST_LAYER} to 1.",
                field="first_layer",
            )

    def rule_settings(self) -> dict[str, float]:
        """Return the settings of the rule: alpha 0 means T^(-3/2); a constant above 0 replaces the radius."""
        practical = self.radius == "practical"
        variance = self.variance or ("all" if practical else "high")
        return {
            "horizon": self.horizon or 0,
            "alpha": self.alpha or 0.0,
            "delta": self.delta,
            "scale": self.scale * (self.practical_multiplier if practical else 1.0),
            "tight": self.radius == "tight",
            "constant": 0.0 if isinstance(self.radius, str) else self.scale * self.radius,
            "explore": EXPLORE.index(self.explore),
            "variance_everywhere": variance == "all",
            "first_layer": self.first_layer,
        }

    def prior(self, variances: Floats, reach: float) -> Prior:
        """Return the prior of layer 0; layer l starts with 4^-l of its ridge and precision."""
        if self.radius == "tight":
            return Prior(1.0 if self.ridge is None else self.ridge, 1.0, bound=self.theta_bound)
        if self.radius == "theory":
            kappa = self._kappa(reach)
            return Prior(kappa if self.ridge is None else self.ridge, 1.0, kappa, bound=self.theta_bound)
        kappa = self._kappa(reach) if self.kappa else get_link(self.link).max_slope
        if self.ridge is None:
            return Prior(self.practical_ridge, 1.0, kappa, by_feature=True)
        return Prior(self.ridge, mean_variance(variances), kappa)

    @property
    def pooled_ridge_(self) -> Floats:
        """The ridge of layer 1, wherever the layers start."""
        return np.asarray(4.0 ** (self.first_layer - 1) * super().pooled_ridge_)
