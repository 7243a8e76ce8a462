"""VACDB: variance-aware contextual dueling bandit, the paper's Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duelist import radius as radii
from duelist.compiled import compiled
from duelist.errors import InvalidInput
from duelist.kernels.linalg import width_of
from duelist.kernels.mle import residual_sum
from duelist.kernels.pairs import (
    all_within,
    best_pair,
    best_wide_pair,
    random_wide_pair,
    widest_pair,
)
from duelist.kernels.scratch import Scratch, cut, last_decision, recall, remember
from duelist.links import get_link
from duelist.policies._checks import check_horizon, feature_variance, is_number
from duelist.policies._layers import keep_good_arms, layers_for, powers_of_half, reach_layer, start_walk
from duelist.policies._ledger import difference_for
from duelist.policies._radius_policy import RadiusPolicy
from duelist.policies._rule import Decision, estimate_first, outdated, rule, utilities_of, whitened
from duelist.policies._state import (
    Floats,
    Ints,
    Memory,
    State,
    empty_memory,
    layer_rows,
    most_rounds,
    with_layers,
)

EXPLORE: Final = ("value", "widest", "random")
VARIANCE: Final = ("high", "all")
_VALUE, _WIDEST = 0, 1
_COARSEST: Final = -8


class VACDBConfig(NamedTuple):
    """Settings of the VACDB rule; `constant` > 0 replaces the variance-aware radius."""

    link: int
    online: bool
    max_slope: float
    horizon: int
    alpha: float
    delta: float
    scale: float
    constant: float
    explore: int
    variance_everywhere: bool
    first_layer: int


@compiled
def finest_width(config: VACDBConfig, t: int) -> float:
    """alpha: as given, or T^(-3/2)."""
    if config.alpha > 0.0:
        return config.alpha
    return radii.effective_horizon(config.horizon, t) ** -1.5


@compiled
def width_in(config: VACDBConfig, layer: int) -> float:
    """2^-l: what counts as wide in a layer, the first of which is number 0 here and l = `first_layer` in the paper's count."""
    return 2.0 ** -(layer + config.first_layer)


@compiled
def refresh_radius(config: VACDBConfig, state: State, scratch: Scratch, layer: int) -> None:
    """Line 24, done when first read: the radius of a layer whose data changed, after its estimate (line 23)."""
    if state.stale[layer] == 0:
        return
    state.stale[layer] = 0
    if config.constant > 0.0:
        return
    t = state.stamp[layer] + 1  # the update of round s makes the radius of round s + 1
    layers = layers_for(finest_width(config, t)) + 1 - config.first_layer
    number = layer + config.first_layer
    kappa = state.kappa[0]
    variance = state.learned[layer]
    if config.variance_everywhere or radii.variance_is_estimated(
        number, kappa, config.max_slope, t, layers, config.delta
    ):
        variance = state.residual[layer]
        if not config.online:
            z, mass, wins = layer_rows(state, scratch, layer)
            variance = residual_sum(z, mass, wins, config.link, state.theta[layer])
    beta = radii.variance_aware(number, variance, kappa, t, layers, config.delta)
    state.radius[layer] = config.scale * beta


@compiled
def pair_to_explore(
    config: VACDBConfig, state: State, scratch: Scratch, layer: int, arms: Floats, remaining: Ints, v: Floats
) -> tuple[int, int]:
    """Line 14, which the paper leaves open: some pair of the remaining arms wider than 2^-l; (-1, -1): there is none."""
    threshold = width_in(config, layer)
    if config.explore == _VALUE:
        return best_wide_pair(utilities_of(state, scratch, layer, arms, remaining), v, threshold, scratch)
    if config.explore == _WIDEST:
        i, j, square = widest_pair(v, scratch.near, scratch)
        return (i, j) if square > threshold * threshold else (-1, -1)
    return random_wide_pair(v, threshold, state.words, scratch)


@rule(VACDBConfig)
def decide_vacdb(config: VACDBConfig, state: State, scratch: Scratch, arms: Floats) -> Decision:
    """Lines 5-18: walk down the layers until a pair is chosen."""
    alpha = finest_width(config, state.rounds[0])
    if recall(scratch, arms, alpha):
        return last_decision(scratch)
    last = state.theta.shape[0] - 1
    layer, count = start_walk(scratch, arms, 1.0)
    while True:
        remaining = scratch.remaining[:count]
        threshold = width_in(config, layer)
        if config.explore == _VALUE and outdated(state, layer):
            return estimate_first(layer)
        v = whitened(state, scratch, layer, arms, remaining)
        exploit = threshold < alpha and all_within(v, alpha, scratch)
        if not exploit:
            i, j = pair_to_explore(config, state, scratch, layer, arms, remaining, v)
            if i >= 0:  # lines 13-16: explore
                square = 0.0
                for k in range(v.shape[0]):
                    square += (v[k, i] - v[k, j]) ** 2
                return remaining[i], remaining[j], layer, threshold * threshold / square
            # 2^-L <= alpha up to rounding, so the last layer exploits, whatever rounding says.
            exploit = layer == last or all_within(v, alpha, scratch)
        if outdated(state, layer):
            return estimate_first(layer)
        refresh_radius(config, state, scratch, layer)
        u = utilities_of(state, scratch, layer, arms, remaining)
        if exploit:  # lines 7-9
            i, j, _ = best_pair(u, v, state.radius[layer], scratch)
            return remember(scratch, remaining[i], remaining[j], -1, 0.0)
        count = keep_good_arms(u, remaining, threshold * state.radius[layer])  # lines 10-12: eliminate
        layer += 1
        reach_layer(scratch, layer, count)


@dataclass(kw_only=True, eq=False, repr=False)
class VACDB(RadiusPolicy):
    """Variance-aware contextual dueling bandit (Di, Jin, Wu, Zhao, Farnoud, Gu, ICLR 2024, Algorithm 1).

    With alpha = T^(-3/2), L = ceil(log2(1/alpha)) layers, each with its own data Psi_l, precision
    Sigma_l = 4^-l I + sum_{Psi_l} w^2 zz' and estimate theta_l, the root of

        4^-l kappa theta + sum_{Psi_l} w_s^2 (mu(z_s . theta) - o_s) z_s = 0.

    A round starts with all arms in layer 1 and goes on until a pair is chosen:

    1. all widths |x - y|_{Sigma_l^-1} <= alpha: play argmax (x + y) . theta_l + beta_l |x - y|, learn nothing;
    2. all widths <= 2^-l: keep {x : x . theta_l >= max - 2^-l beta_l}, go to layer l + 1;
    3. otherwise play a pair wider than 2^-l, learn it in layer l with w = 2^-l / |x - y|.

    The radius beta_l grows with the variance that layer l has seen (`radius.variance_aware`).

    Parameters
    ----------
    horizon, delta, kappa, theta_bound, link, random_state
        As for every policy with a radius.
    radius
        "theory": as published. "practical" (default): as published but with the largest slope
        L_mu in the place of kappa (unless kappa is given), times `practical_multiplier`, the variance estimate in all layers, and
        priors 4^-l times the mean variance of a feature over the first arms, so that units do not matter.
        A number: that radius in every layer, as the authors' code does.
    scale
        Multiplies the radius.
    ridge
        rho in the ridge 4^-l rho of layer l's estimate. None: kappa with "theory" (as published),
        otherwise 1/20 of the mean variance of a feature over the first arms.
    explore
        Which wide pair to play in step 3, which the paper leaves open: "value" (largest
        (x + y) . theta_l), "widest", or "random" (uniform over the wide pairs).
    variance
        "high": V is the residual sum in high layers and |Psi_l| in low ones, as published.
        "all": the residual sum everywhere. None: "high" with radius "theory", else "all".
    alpha
        The width at which to exploit; None: T^(-3/2). L follows from it: alpha = 2^-5 has 5 layers.
    first_layer
        The layer to start from: 1 as published; 0 or less: coarser layers come first, which drop arms that a few duels show
        to be bad. Where comparisons are clear this saves regret, where they are not it locks in more often
        (docs/decisions/0018).

    Deviations
    ----------
    - Sigma_l starts at 4^-l I as in Algorithm 1 (the proof of its Lemma uses 4^-l kappa I); with any radius but
      "theory", at 4^-l times the mean variance of a feature over the first arms.
    - Estimates are solved when they are read, not when data arrive; the decisions are the same.
    - The paper starts a layer's solver from the estimate of the layer below; the root does not
      depend on the start, so it is not done.
    - A tie counts as half a win and half a loss, also in the variance.
    - Unknown horizon: alpha and L follow a horizon that doubles; no data are dropped, since a
      layer does not depend on L, and the union bound over (t, l) holds with L of the round.
    - Late outcomes enter with the weight computed when the duel was asked.

    Cost a round: O(layers visited * K^2 d) for the widths, and one Newton solve, O(n d^2) a
    step with n distinct differences in the layer, when a layer that learned is read.

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
    uses_randomness: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius == "experiment":
            raise InvalidInput(
                "radius 'experiment' belongs to the comparators; VACDB takes 'practical', 'theory', or a number"
            )
        if self.explore not in EXPLORE:
            raise InvalidInput(f"explore is {self.explore!r}; choose one of {', '.join(EXPLORE)}")
        if self.variance is not None and self.variance not in VARIANCE:
            raise InvalidInput(f"variance is {self.variance!r}; choose one of {', '.join(VARIANCE)}, or None")
        if self.alpha is not None and not (is_number(self.alpha) and 0.0 < self.alpha < 1.0):
            raise InvalidInput(f"alpha is {self.alpha!r}; give a width between 0 and 1, or None")
        whole = isinstance(self.first_layer, (int, np.integer)) and not isinstance(self.first_layer, bool)
        if not whole or not _COARSEST <= self.first_layer <= 1:
            raise InvalidInput(f"first_layer is {self.first_layer!r}; give a whole number from {_COARSEST} to 1")

    @property
    def layer_counts_(self) -> list[int]:
        """|Psi_l|, the duels learned in each layer from `first_layer` on (their weights summed and rounded)."""
        return [round(c) for c in self._fitted().learned]

    @property
    def layer_radii_(self) -> Floats:
        """beta_l of every layer, up to date."""
        state = self._fitted()
        assert self._room is not None  # noqa: S101  (for the type checker)
        scratch = cut(*self._room)
        for layer in range(state.theta.shape[0]):
            self.estimate(layer)
            refresh_radius(self._config, state, scratch, layer)
        return state.radius.copy()

    @property
    def pooled_ridge_(self) -> float:
        """That of layer 1, wherever the layers start."""
        return float(4.0 ** (self.first_layer - 1) * super().pooled_ridge_)

    def place(self, difference: ArrayLike) -> tuple[int, float]:
        """The first layer in which the difference is wider than 2^-l, and its w^2 there; (-1, 0): it is known well."""
        z = difference_for(self, difference)
        for layer, factor in enumerate(self._fitted().factor):
            threshold, width = 0.5 ** (layer + self.first_layer), width_of(factor, z)
            if width > threshold:
                return layer, (threshold / width) ** 2
        return -1, 0.0

    def make_config(self) -> VACDBConfig:
        """The settings of the rule as numbers."""
        link = get_link(self.link)
        named = isinstance(self.radius, str)
        practical = self.radius == "practical"
        variance = self.variance or ("all" if practical else "high")
        return VACDBConfig(
            link=link.code,
            online=self.online_,
            max_slope=link.max_slope,
            horizon=check_horizon(self.horizon),
            alpha=float(self.alpha or 0.0),
            delta=float(self.delta),
            scale=float(self.scale * (self.practical_multiplier if practical else 1.0)),
            constant=0.0 if named else float(self.scale * float(self.radius)),
            explore=EXPLORE.index(self.explore),
            variance_everywhere=variance == "all",
            first_layer=int(self.first_layer),
        )

    def make_memory(self, words: NDArray[np.uint64], arms: Floats) -> Memory:
        """L empty layers a run."""
        theory = self.radius == "theory"
        kappa = self._kappa(arms) if theory or self.kappa else np.full(len(arms), get_link(self.link).max_slope)
        units = np.ones(len(arms)) if theory else feature_variance(arms)
        rho = kappa if theory and self.ridge is None else self._ridge(arms)
        prior, ridge, radius = self._layers(self._layers_at(1), kappa, units, rho)
        return self._bounded(empty_memory(words, kappa, units, ridge, prior, radius, arms.shape[2]))

    def make_room(self, memory: Memory, rounds: int, rows: int | None = None) -> Memory:
        """Room for more outcomes and, with an unknown horizon, for the layers they may reach."""
        if self.horizon is None and self.alpha is None:
            memory = self._deepened(memory, most_rounds(memory) + rounds)
        return super().make_room(memory, rounds, rows)

    def _deepened(self, memory: Memory, t: int) -> Memory:
        needed = self._layers_at(t)
        if needed <= memory.layout.layers:
            return memory
        states = [memory.state(run) for run in range(len(memory.core))]
        kappa, units = (np.array([getattr(s, name)[0] for s in states]) for name in ("kappa", "units"))
        rho = np.array([4.0**self.first_layer * s.ridge[0] for s in states])
        prior, ridge, radius = self._layers(needed, kappa, units, rho)
        return with_layers(memory, ridge, prior, radius)

    def _layers_at(self, t: int) -> int:
        return int(layers_for(finest_width(self.make_config(), t))) + 1 - self.first_layer

    def _layers(self, layers: int, kappa: Floats, units: Floats, rho: Floats) -> tuple[Floats, Floats, Floats]:
        """Prior precision, ridge and first radius of each run and layer (line 2)."""
        small = powers_of_half(self.first_layer, layers)[None]
        config = self.make_config()
        prior = small**2 * units[:, None]
        radius = config.scale * small * (1.0 + 1.0 / kappa[:, None])
        if config.constant > 0.0:
            radius = np.full_like(radius, config.constant)
        return prior, small**2 * rho[:, None], radius
