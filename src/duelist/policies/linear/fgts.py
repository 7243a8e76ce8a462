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
from duelist.core.errors import InvalidInput, InvalidSnapshot, UnknownDuel
from duelist.core.seeds import check_random_state
from duelist.model.fit import fit_mle
from duelist.policies.base import Arms, Choice, Policy
from duelist.policies.engine.snapshots import decode, encode
from duelist.policies.linear.feel_good import Past, Potential, in_sizes, spread_of

FORMAT: Final = "duelist.fgts"
STEP: Final = 1.65
"""The optimal scaling of Metropolis-adjusted Langevin steps, times dim^(-1/6) (Roberts, Rosenthal 1998)."""


@dataclass(frozen=True)
class _PendingTable:
    """What was asked: the arms on the table, and which two."""

    arms: Floats
    first: int
    second: int


@dataclass(kw_only=True, eq=False, repr=False)
class FGTS(Policy):
    """Feel-good Thompson sampling for contextual duels, FGTS.CDB (Li, Zhao, Gu 2024, arXiv 2404.06013), in full.

    Two players, j = 1 and 2, draw a theta each from

        p^j(theta) ~ p_0(theta) exp(-sum_{i < t} L^j_i(theta)),

        L^j_i(theta) = eta log(1 + exp(-y_i z_i . theta)) - feel_good max_{a in A_i} (x_a - x_i^{3-j}) . theta,

    with z_i = x_i^1 - x_i^2, y_i = 1 where the first arm won and -1 where the second did, and A_i all arms that were on the table in
    round i; x_t^j is the best arm of draw j. The second term favours parameters that promise more than the other player's arm
    has, in every round so far. p_0 is N(0, 1 / ridge) in each feature.

    It has to remember every table that it was shown, which is more than a log of votes has, so it is no rule of the engine: it is
    plain Python, some hundred times slower than `ThompsonPair`, whose draws are of the same kind without the sum over the past.

    Parameters
    ----------
    horizon
        T, which sets `feel_good` where that is None. None: the next power of two above t.
    eta
        How much the votes count; 1: the posterior itself.
    feel_good
        Weight of the second term. None: 1 / sqrt(T). 0: Thompson sampling.
    ridge
        Inverse of the prior variance, in the units of the features, the same for each. None: for each feature its variance among the
        arms on a table: the median over the tables of all votes and the one that is to be decided, of those where it varies.
    steps
        Langevin steps a draw.

    Deviations
    ----------
    - The paper samples by stochastic-gradient Langevin dynamics. Here a chain starts at a draw of the Laplace approximation of the
      first term and takes `steps` Metropolis-adjusted Langevin steps with all data, preconditioned by its curvature: the more steps,
      the closer to p^j, and without the bias of the step size.
    - eta = 1 and feel_good = 1 / sqrt(T) are practical; the constants of the paper's theorem, which shrink exponentially
      with the size of utilities, are not used.
    - A vote that was learned from a log (`learn`, as in studies) has a table of just its two arms. Tables of two say how large a feature
      is only where no larger one does; the first arms shown (`initialize`), where none does.
    - A feature in which no arms have differed so far, up to rounding, has no say.
    - A table whose arms are more than eight times as far apart as usual, in most features, counts in the second term as if they were
      as usual: 1 / m_i with m_i the middle, over features, of how many times it is. Not with a `ridge` that is given.
    - With `distinct`, or excluded pairs, the second arm is the best of its draw among those that the first may meet.

    Cost a round: O(n d^2) for the fit with n distinct differences, and O((n + m) d) a step, where m counts the arms of all different
    tables so far: with arms that change in every round, memory and time grow with t K d.

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
    random_state: int | None = None

    _past: Past | None = field(init=False, default=None)
    _waiting: dict[int, _PendingTable] = field(init=False, default_factory=dict)
    _asked: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_positive("eta", self.eta)
        if self.feel_good is not None and not (is_number(self.feel_good) and 0.0 <= self.feel_good < np.inf):
            raise InvalidInput(
                f"feel_good is {self.feel_good!r}.",
                "Give a number of at least 0, or leave it out for 1 / sqrt(T).",
                field="feel_good",
            )
        if self.ridge is not None:
            check_positive("ridge", self.ridge)
        check_integer("steps", self.steps, 1)
        self._rng = np.random.Generator(np.random.SFC64(check_random_state(self.random_state)))

    # -- asking and telling --------------------------------------------------------------

    def ask(self, arms: Arms, *, distinct: bool = True, exclude: Collection[tuple[int, int]] = ()) -> Duel:
        """The best arm of one draw against the best arm of another.

        distinct: two different arms (default), or, False, the published rule, where the two may be the same. exclude: pairs of positions
        that may not be asked.
        """
        shown = self._shown(arms)
        first, second = self._best_of_draws(shown, distinct=distinct, exclude=exclude)
        self._waiting[self._asked] = _PendingTable(shown, first, second)
        self._asked += 1
        return Duel(first, second, self._asked - 1)

    def tell(self, duel: Duel | int, outcome: float, weight: float = 1.0) -> None:
        """The outcome of an asked duel, now, later or never; a weight of 2 counts as the same outcome told twice."""
        value, times = check_outcome(outcome), check_weight(weight)
        number = duel.id if isinstance(duel, Duel) else duel
        asked = self._waiting.get(number)
        if asked is None or self._past is None:
            raise UnknownDuel(
                f"Duel {number!r} is not waiting for an outcome.", "Tell each duel that `ask` returned once."
            )
        if isinstance(duel, Duel) and tuple(duel) != (asked.first, asked.second):
            raise UnknownDuel(
                f"Duel {number} was asked as {(asked.first, asked.second)}, not {tuple(duel)}.", "Tell it as asked."
            )
        del self._waiting[number]
        self._past.add(asked.arms, asked.first, asked.second, value, times)

    def forget(self, duel: Duel | int) -> None:
        """Give up on a duel that will never be told."""
        number = duel.id if isinstance(duel, Duel) else duel
        if self._waiting.pop(number, None) is None:
            raise UnknownDuel(f"Duel {number!r} is not waiting for an outcome.", "Give a duel that `ask` returned.")

    def initialize(self, arms: Arms) -> None:
        """Learn the number of features and their sizes from these arms, without asking."""
        self._shown(arms)

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
        """What it would ask now; nothing changes. Duels that are out do not matter: two draws differ by themselves."""
        shown, kept = self._shown(arms), self._rng.bit_generator.state
        if seed is not None:
            self._rng = np.random.Generator(np.random.SFC64(seed))
        try:
            return Choice(*self._best_of_draws(shown, distinct=distinct, exclude=exclude))
        finally:
            self._rng.bit_generator.state = kept

    def learn(
        self, seen: Arms, outcome: float, weight: float = 1.0, *, layer: int | None = None, share: float = 1.0
    ) -> None:
        """One outcome of a duel that whoever asked: the features of its two arms (2, dim), or their difference."""
        rows = np.asarray(seen, np.float64)
        table = rows if rows.ndim == 2 else np.stack([rows, np.zeros_like(rows)])
        shown = self._shown(table)
        if len(shown) != 2 or self._past is None:
            raise InvalidInput(
                f"seen has shape {rows.shape}.", "Give the features of the two arms, or their difference."
            )
        self._past.add(shown, 0, 1, check_outcome(outcome), check_weight(weight))
        self._asked += 1

    # -- what it knows -------------------------------------------------------------------

    @property
    def theta_(self) -> Floats:
        """The mode of the posterior without the feel-good term."""
        past = self._fitted()
        size = self._sizes()
        mode = self._mode(past.in_units(size))
        with np.errstate(over="ignore"):
            return np.where(size > 0.0, mode / np.where(size > 0.0, size, 1.0), 0.0)

    def potential(self, theta: Floats, player: int) -> float:
        """-log p^j(theta), up to a constant, for player 1 or 2: what the chains sample from."""
        size = self._sizes()
        return self._in_units(size).value(np.asarray(theta, np.float64) * size, self._weights(), player - 1)

    # -- drawing -------------------------------------------------------------------------

    def _best_of_draws(self, arms: Floats, *, distinct: bool, exclude: Collection[tuple[int, int]]) -> tuple[int, int]:
        partners = _partners(len(arms), distinct, check_pairs("exclude", exclude, len(arms)).tolist())
        if not any(partners):
            raise InvalidInput(
                f"No pair is left to ask among the {len(arms)} arms.", "Exclude fewer, or wait for an outcome."
            )
        table = in_sizes(arms - arms[0], self._sizes(arms))
        one, other = (table @ theta for theta in self._draws(arms))
        first = max((i for i, met in enumerate(partners) if met), key=lambda i: one[i])
        return first, max(partners[first], key=lambda j: other[j])

    def _draws(self, arms: Floats | None = None) -> tuple[Floats, Floats]:
        """One theta for each player, in features of unit size; `arms`: those that are to be decided."""
        past = self._in_units(self._sizes(arms))
        mode, weights = self._mode(past), self._weights()
        root = _inverse_root(past.curvature(mode, weights))
        with np.errstate(over="ignore", invalid="ignore"):  # a step beyond all numbers is not taken
            return tuple(self._chain(past, player, mode, root, weights) for player in (0, 1))  # type: ignore[return-value]

    def _chain(
        self, past: Potential, player: int, mode: Floats, root: Floats, weights: tuple[float, float, float]
    ) -> Floats:
        """Langevin steps over psi, where theta = mode + root psi, from a standard normal draw."""
        step = STEP * len(mode) ** (-1.0 / 6.0)

        def look(psi: Floats) -> tuple[float, Floats]:
            """The potential at psi, and the mean of a proposal from there."""
            value, gradient = past.value_and_gradient(mode + root @ psi, weights, player)
            return value, psi - 0.5 * step**2 * (root.T @ gradient)

        psi = self._rng.standard_normal(len(mode))
        value, drift = look(psi)
        for _ in range(self.steps):
            proposed = drift + step * self._rng.standard_normal(len(mode))
            there, back = look(proposed)
            forth = ((proposed - drift) ** 2).sum() - ((psi - back) ** 2).sum()
            if math.log(1.0 - self._rng.random()) < value - there + forth / (2.0 * step**2):
                psi, value, drift = proposed, there, back
        return np.asarray(mode + root @ psi)

    def _mode(self, past: Potential) -> Floats:
        if not past.mass.size:
            return np.zeros(past.differences.shape[1])
        eta, ridge, _ = self._weights()
        return fit_mle(past.differences, past.wins / past.mass, eta * past.mass, ridge=ridge).theta

    def _weights(self) -> tuple[float, float, float]:
        """eta, the ridge of features of unit size, and the weight of the feel-good term."""
        rounds = self.horizon or 1 << (self._asked + 1).bit_length()
        return self.eta, self.ridge or 1.0, 1.0 / math.sqrt(rounds) if self.feel_good is None else self.feel_good

    def _shown(self, arms: Arms) -> Floats:
        shown = check_arms(arms, None if self._past is None else self._past.dim).copy()
        if self._past is None:
            self._past = Past(spread_of(shown))
        return shown

    def _sizes(self, arms: Floats | None = None) -> Floats:
        """How large each feature is; with a `ridge` that is given, units are those of the features."""
        past = self._fitted()
        return past.sizes(arms) if self.ridge is None else np.ones(past.dim)

    def _in_units(self, size: Floats) -> Potential:
        past = self._fitted()
        return past.in_units(size, past.parts(size) if self.ridge is None else None)

    def _fitted(self) -> Past:
        if self._past is None:
            raise InvalidInput("This FGTS has seen no arms yet.", "`ask` first.")
        return self._past

    # -- snapshots -----------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data that JSON can hold."""
        return {
            "format": FORMAT,
            "policy": type(self).__name__,
            "params": {k: v.item() if isinstance(v, np.generic) else v for k, v in self.params.items()},
            "asked": self._asked,
            "words": encode(self._rng.bit_generator.state["state"]["state"]),
            "past": None if self._past is None else {k: encode(v) for k, v in self._past.arrays().items()},
            "waiting": [[number, encode(w.arms), w.first, w.second] for number, w in self._waiting.items()],
        }

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """The policy of a snapshot; it goes on with the same duels, bit for bit."""
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
            if snapshot["past"] is not None:
                policy._past = Past.restored({name: decode(entry) for name, entry in snapshot["past"].items()})
            for number, arms, first, second in snapshot["waiting"]:
                policy._waiting[check_integer("a duel", number, 0)] = policy._checked_waiting(
                    decode(arms), first, second
                )
        except (KeyError, TypeError, ValueError, AttributeError, InvalidInput) as error:
            raise InvalidSnapshot(
                f"snapshot is incomplete ({error}).", "Take a new one with `snapshot()`.", field="snapshot"
            ) from error
        return policy

    def _checked_waiting(self, arms: Floats, first: Any, second: Any) -> _PendingTable:
        shown = check_arms(arms, self._fitted().dim)
        pair = check_pairs("waiting", [(first, second)], len(shown))[0]
        return _PendingTable(shown, int(pair[0]), int(pair[1]))


def _inverse_root(curvature: Floats) -> Floats:
    """R with R R' = curvature^-1, up to rounding: what is lost in it, next to entries of quite another size, is taken to be positive."""
    scale = np.sqrt(curvature.diagonal())
    unit, lost = curvature / np.outer(scale, scale), 0.0
    while True:
        try:
            lower = np.linalg.cholesky(unit + lost * np.eye(len(scale)))
        except np.linalg.LinAlgError:
            lost = 10.0 * lost or len(scale) * np.finfo(float).eps
        else:
            return np.asarray(np.linalg.inv(lower.T) / scale[:, None])


def _partners(n: int, distinct: bool, excluded: Sequence[Sequence[int]]) -> list[list[int]]:
    """Whom each arm may meet; a single arm can only meet itself."""
    out = {frozenset(pair) for pair in excluded}
    selves = n == 1 or not distinct
    return [[j for j in range(n) if (selves if i == j else frozenset((i, j)) not in out)] for i in range(n)]
