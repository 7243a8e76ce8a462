"""FGTS: feel-good Thompson sampling with its whole past, in plain NumPy."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np

from duelist.core.arrays import (
    Floats,
    check_arms,
    check_horizon,
    check_integer,
    check_pairs,
    check_positive,
    is_number,
)
from duelist.core.duel import Duel, check_outcome, check_weight
from duelist.core.errors import InvalidInput, InvalidSnapshot
from duelist.core.seeds import RandomState, check_random_state
from duelist.model.fit import fit_mle
from duelist.policies.base import Arms, Choice, CopiedBySnapshot
from duelist.policies.engine.pending import check_all_pending, no_pairs_left, pending_id
from duelist.policies.engine.snapshots import decode, encode
from duelist.policies.linear.feel_good import Potential, RoundHistory, feature_scale, in_scale

FORMAT: Final = "duelist.fgts"
STEP: Final = 1.65
"""Optimal scaling of Metropolis-adjusted Langevin steps, times dim^(-1/6) (Roberts, Rosenthal 1998)."""

MAX_STEPS: Final = 1000
"""The largest number of steps per draw and player; a snapshot with more is rejected, since its draws would not end."""


@dataclass(frozen=True)
class _PendingTable:
    """A pending duel: the arms of its round, and which two were asked."""

    arms: Floats
    first: int
    second: int


@dataclass(kw_only=True, eq=False, repr=False)
class FGTS(CopiedBySnapshot):
    """Feel-good Thompson sampling for contextual duels, FGTS.CDB (Li, Zhao, Gu 2024, arXiv 2404.06013), in full.

    Two players, j = 1 and 2, draw a theta each from

        p^j(theta) ~ p_0(theta) exp(-sum_{i < t} L^j_i(theta)),

        L^j_i(theta) = eta log(1 + exp(-y_i z_i . theta)) - feel_good max_{a in A_i} (x_a - x_i^{3-j}) . theta,

    with z_i = x_i^1 - x_i^2, y_i = 1 if the first arm won and -1 if the second did, and A_i all arms of round i; x_t^j
    is the best arm of draw j. The second term favours parameters that promise more than the other player's arm has, in
    every round so far. p_0 is N(0, 1 / ridge) in each feature.

    It must remember the arms of every round, more than a log of votes contains, so it is not a rule of the engine: it
    is plain Python, some hundred times slower than `ThompsonPair`, which makes similar draws without the sum over the
    past.

    Parameters
    ----------
    horizon
        T, which sets `feel_good` if that is None. None: the next power of two above t.
    eta
        Weight of the votes; 1: the posterior itself.
    feel_good
        Weight of the second term. None: 1 / sqrt(T). 0: Thompson sampling.
    ridge
        Inverse of the prior variance, one number in the units of the features. None: for each feature its variance
        among the arms of a round: the median over the rounds of all votes and the one to be decided, of those where it
        varies.
    steps
        Number of Langevin steps per draw, at most 1,000.
    random_state
        Seed of the draws, or a NumPy generator to draw it from; None draws one from the operating system.

    Deviations
    ----------
    - The paper samples by stochastic-gradient Langevin dynamics. Here a chain starts at a draw of the Laplace
      approximation of the first term and takes `steps` Metropolis-adjusted Langevin steps with all data, preconditioned
      by its curvature: more steps come closer to p^j, without bias from the step size.
    - eta = 1 and feel_good = 1 / sqrt(T) are practical; the constants of the paper's theorem, which shrink
      exponentially with the size of utilities, are not used.
    - A vote learned from a log (`learn`, as in studies) has a table of just its two arms. Tables of two set the scale
      of a feature only if no larger one does; the first arms (`initialize`) if none does.
    - A feature in which no arms have differed so far, up to rounding, is ignored.
    - A table whose arms are more than eight times as spread as usual, in the median feature, is weighted down in the
      second term by 1 / m_i, with m_i that median. Not with a given `ridge`.
    - With `distinct`, or excluded pairs, the second arm is the best of its draw among those that the first may be
      compared with.

    Cost per round: O(n d^2) for the fit with n distinct differences, and O((n + m) d) per step, where m counts the arms
    of all distinct tables so far: if arms change in every round, memory and time grow with t K d.

    >>> import numpy as np
    >>> policy = FGTS(horizon=100, random_state=0)
    >>> for _ in range(20):
    ...     duel = policy.ask(np.eye(3))
    ...     policy.tell(duel, float(duel.first < duel.second))
    >>> bool(policy.theta_[0] > policy.theta_[2])
    True
    """

    horizon: int | None = None
    eta: float = 1.0
    feel_good: float | None = None
    ridge: float | None = None
    steps: int = 10
    random_state: RandomState = None

    _history: RoundHistory | None = field(init=False, default=None)
    _pending: dict[int, _PendingTable] = field(init=False, default_factory=dict)
    _asked: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        self.random_state = check_random_state(self.random_state)
        check_positive("eta", self.eta)
        if self.feel_good is not None and not (is_number(self.feel_good) and 0.0 <= self.feel_good < np.inf):
            raise InvalidInput(
                f"feel_good is {self.feel_good!r}.",
                "Give a number of at least 0, or leave it out for 1 / sqrt(T).",
                field="feel_good",
            )
        if self.ridge is not None:
            check_positive("ridge", self.ridge)
        if check_integer("steps", self.steps, 1) > MAX_STEPS:
            raise InvalidInput(f"steps is {self.steps!r}.", f"Give at most {MAX_STEPS}.", field="steps")
        self._rng = np.random.Generator(np.random.SFC64(check_random_state(self.random_state)))

    # -- ask and tell --------------------------------------------------------------------

    def ask(self, arms: Arms, *, distinct: bool = True, exclude: Collection[tuple[int, int]] = ()) -> Duel:
        """Return the best arm of one draw and the best arm of another.

        With `distinct` (default) the two differ; False is the published rule. `exclude` lists pairs of positions that
        must not be asked.
        """
        shown = self._checked_arms(arms)
        first, second = self._best_of_draws(shown, distinct=distinct, exclude=exclude)
        self._pending[self._asked] = _PendingTable(shown, first, second)
        self._asked += 1
        return Duel(first, second, self._asked - 1)

    def tell(self, duel: Duel | int, outcome: float | str, weight: float = 1.0) -> None:
        """Learn the outcome of an asked duel; a weight of 2 counts as two equal outcomes."""
        value, times = check_outcome(outcome), check_weight(weight)
        asked = self._pending.pop(pending_id(self, duel))
        self._fitted().add(asked.arms, asked.first, asked.second, value, times)

    def check_pending(self, duels: Sequence[Any]) -> None:
        """Raise UnknownDuel unless these duels are pending, each once."""
        check_all_pending(self, duels)

    def forget(self, duel: Duel | int) -> None:
        """Drop a pending duel whose outcome will never arrive."""
        del self._pending[pending_id(self, duel)]

    @property
    def next_id(self) -> int:
        """The id of the next duel."""
        return self._asked

    def pending_positions(self, number: int, /) -> tuple[int, int] | None:
        """Return the positions of a pending duel; None if no pending duel has this id."""
        duel = self._pending.get(number)
        return None if duel is None else (duel.first, duel.second)

    def initialize(self, arms: Arms) -> None:
        """Set the number of features and their scale from these arms, without asking."""
        self._checked_arms(arms)

    def suggest(
        self,
        arms: Arms,
        pending: Sequence[tuple[Arms, int, float]] = (),
        *,
        seed: int | None = None,
        rounds: int | None = None,
        distinct: bool = True,
        exclude: Collection[tuple[int, int]] = (),
    ) -> Choice:
        """Return the duel that `ask` would return now. Pending duels do not matter: draws differ anyway."""
        shown, random_state = self._checked_arms(arms), self._rng.bit_generator.state
        if seed is not None:
            self._rng = np.random.Generator(np.random.SFC64(seed))
        try:
            return Choice(*self._best_of_draws(shown, distinct=distinct, exclude=exclude))
        finally:
            self._rng.bit_generator.state = random_state

    def learn(
        self, arms: Arms, outcome: float, weight: float = 1.0, *, layer: int | None = None, share: float = 1.0
    ) -> None:
        """Learn the outcome of any duel: the features of its arms (2, dim), or their difference."""
        rows = np.asarray(arms, np.float64)
        table = rows if rows.ndim == 2 else np.stack([rows, np.zeros_like(rows)])
        shown = self._checked_arms(table)
        if len(shown) != 2 or self._history is None:
            raise InvalidInput(
                f"arms have shape {rows.shape}.", "Give the features of the two arms, or their difference."
            )
        self._history.add(shown, 0, 1, check_outcome(outcome), check_weight(weight))
        self._asked += 1

    # -- estimates -----------------------------------------------------------------------

    @property
    def theta_(self) -> Floats:
        """The mode of the posterior without the feel-good term."""
        history = self._fitted()
        scale = self._scale()
        mode = self._mode(history.potential(scale))
        with np.errstate(over="ignore"):
            return np.where(scale > 0.0, mode / np.where(scale > 0.0, scale, 1.0), 0.0)

    def potential(self, theta: Floats, player: int) -> float:
        """Return -log p^j(theta), up to a constant, for player 1 or 2: what the chains sample from."""
        scale = self._scale()
        return self._scaled_potential(scale).value(np.asarray(theta, np.float64) * scale, self._weights(), player - 1)

    # -- drawing -------------------------------------------------------------------------

    def _best_of_draws(self, arms: Floats, *, distinct: bool, exclude: Collection[tuple[int, int]]) -> tuple[int, int]:
        partners = _partners(len(arms), distinct, check_pairs("exclude", exclude, len(arms)).tolist())
        if not any(partners):
            raise no_pairs_left(len(arms))
        table = in_scale(arms - arms[0], self._scale(arms))
        one, other = (table @ theta for theta in self._draws(arms))
        first = max((i for i, met in enumerate(partners) if met), key=lambda i: one[i])
        return first, max(partners[first], key=lambda j: other[j])

    def _draws(self, arms: Floats | None = None) -> tuple[Floats, Floats]:
        """Return one theta per player in scaled features, for deciding about `arms`."""
        potential = self._scaled_potential(self._scale(arms))
        mode, weights = self._mode(potential), self._weights()
        root = _inverse_root(potential.curvature(mode, weights))
        with np.errstate(over="ignore", invalid="ignore"):  # overflowing steps are rejected
            return tuple(self._chain(potential, player, mode, root, weights) for player in (0, 1))  # type: ignore[return-value]

    def _chain(
        self, potential: Potential, player: int, mode: Floats, root: Floats, weights: tuple[float, float, float]
    ) -> Floats:
        """Take Langevin steps over psi, where theta = mode + root psi, from a standard normal draw."""
        step = STEP * len(mode) ** (-1.0 / 6.0)

        def evaluate(psi: Floats) -> tuple[float, Floats]:
            """Return the potential at psi, and the mean of a proposal from there."""
            value, gradient = potential.value_and_gradient(mode + root @ psi, weights, player)
            return value, psi - 0.5 * step**2 * (root.T @ gradient)

        psi = self._rng.standard_normal(len(mode))
        value, drift = evaluate(psi)
        for _ in range(self.steps):
            proposed = drift + step * self._rng.standard_normal(len(mode))
            value_there, drift_back = evaluate(proposed)
            forth = ((proposed - drift) ** 2).sum() - ((psi - drift_back) ** 2).sum()
            if math.log(1.0 - self._rng.random()) < value - value_there + forth / (2.0 * step**2):
                psi, value, drift = proposed, value_there, drift_back
        return np.asarray(mode + root @ psi)

    def _mode(self, potential: Potential) -> Floats:
        if not potential.mass.size:
            return np.zeros(potential.differences.shape[1])
        eta, ridge, _ = self._weights()
        return fit_mle(potential.differences, potential.wins / potential.mass, eta * potential.mass, ridge=ridge).theta

    def _weights(self) -> tuple[float, float, float]:
        """Return eta, the ridge of scaled features, and the weight of the feel-good term."""
        rounds = self.horizon or 1 << (self._asked + 1).bit_length()
        return self.eta, self.ridge or 1.0, 1.0 / math.sqrt(rounds) if self.feel_good is None else self.feel_good

    def _checked_arms(self, arms: Arms) -> Floats:
        shown = check_arms(arms, None if self._history is None else self._history.dim).copy()
        if self._history is None:
            self._history = RoundHistory(feature_scale(shown))
        return shown

    def _scale(self, arms: Floats | None = None) -> Floats:
        """Return the scale of each feature; 1 with a given `ridge`."""
        history = self._fitted()
        return history.scale(arms) if self.ridge is None else np.ones(history.dim)

    def _scaled_potential(self, scale: Floats) -> Potential:
        history = self._fitted()
        return history.potential(scale, history.table_weights(scale) if self.ridge is None else None)

    def _fitted(self) -> RoundHistory:
        if self._history is None:
            raise InvalidInput("This FGTS has seen no arms yet.", "`ask` first.")
        return self._history

    # -- snapshots -----------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return the policy as plain data for JSON."""
        return {
            "format": FORMAT,
            "policy": type(self).__name__,
            "params": {k: v.item() if isinstance(v, np.generic) else v for k, v in self.params.items()},
            "asked": self._asked,
            "words": encode(self._rng.bit_generator.state["state"]["state"]),
            "history": None if self._history is None else {k: encode(v) for k, v in self._history.arrays().items()},
            "pending": [[number, encode(p.arms), p.first, p.second] for number, p in self._pending.items()],
        }

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy of a snapshot; it continues with the same duels, bit for bit."""
        if not isinstance(snapshot, dict) or snapshot.get("format") != FORMAT:
            raise InvalidSnapshot(
                f"Not a snapshot of {cls.__name__}: {str(snapshot)[:60]!r}.", "Give what `snapshot()` returned."
            )
        try:
            policy = cls(**snapshot["params"])
            words = decode(snapshot["words"])
            if words.dtype != np.uint64 or words.shape != (4,):
                raise ValueError(f"words have shape {words.shape} and type {words.dtype}")
            generator = policy._rng.bit_generator
            generator.state = {**generator.state, "state": {"state": words}}
            policy._asked = check_integer("asked", snapshot["asked"], 0)
            if snapshot["history"] is not None:
                policy._history = RoundHistory.restore(
                    {name: decode(entry) for name, entry in snapshot["history"].items()}
                )
            for number, arms, first, second in snapshot["pending"]:
                policy._pending[check_integer("a duel", number, 0)] = policy._checked_pending(
                    decode(arms), first, second
                )
        except (KeyError, TypeError, ValueError, AttributeError, InvalidInput) as error:
            raise InvalidSnapshot(
                f"snapshot is incomplete ({error}).", "Take a new one with `snapshot()`.", field="snapshot"
            ) from error
        return policy

    def _checked_pending(self, arms: Floats, first: Any, second: Any) -> _PendingTable:
        shown = check_arms(arms, self._fitted().dim)
        pair = check_pairs("pending", [(first, second)], len(shown))[0]
        return _PendingTable(shown, int(pair[0]), int(pair[1]))


def _inverse_root(curvature: Floats) -> Floats:
    """Return R with R R' = curvature^-1, with jitter if rounding requires it."""
    scale = np.sqrt(curvature.diagonal())
    unit, jitter = curvature / np.outer(scale, scale), 0.0
    while True:
        try:
            lower = np.linalg.cholesky(unit + jitter * np.eye(len(scale)))
        except np.linalg.LinAlgError:
            jitter = 10.0 * jitter or len(scale) * np.finfo(float).eps
        else:
            return np.asarray(np.linalg.inv(lower.T) / scale[:, None])


def _partners(n: int, distinct: bool, excluded: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the arms that each arm may be compared with; a single arm with itself only."""
    forbidden = {frozenset(pair) for pair in excluded}
    selves = n == 1 or not distinct
    return [[j for j in range(n) if (selves if i == j else frozenset((i, j)) not in forbidden)] for i in range(n)]
