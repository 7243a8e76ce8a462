"""What FGTS remembers: votes, the tables they were asked from, how large their features are, and the potential of it all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats

Weights = tuple[float, float, float]
"""eta, ridge, and the weight of the feel-good term."""
ROUNDING: Final = 2.0**-40
"""Parts of the largest number: what computations of one thing may differ by."""
FAR: Final = 8.0
"""In sizes: a table whose arms are farther apart than that, in most features, is of another kind than the others."""
FARTHEST: Final = 1e50
"""In sizes: who is farther is as far, so that squares and their sums stay numbers."""
HEAVIEST: Final = 1e150
"""What a vote counts in the curvature at most, for the same reason."""


def spread_of(arms: Floats) -> Floats:
    """The standard deviation of each feature; exactly zero where arms are the same in it, or differ by rounding alone."""
    gaps = arms - arms[0]
    scale = 2.0 ** np.frexp(np.abs(gaps).max(axis=0))[1].astype(float).clip(-1000.0, 1000.0)  # squares of any size
    spread = np.sqrt((gaps / scale).var(axis=0)) * scale
    return np.where(spread > ROUNDING * np.abs(arms).max(axis=0), spread, 0.0)


def in_sizes(features: Floats, size: Floats) -> Floats:
    """Features in parts of their size; those that have none, 0, have no say."""
    with np.errstate(over="ignore"):
        parts = features / np.where(size > 0.0, size, 1.0)
    return np.clip(np.where(size > 0.0, parts, 0.0), -FARTHEST, FARTHEST)


class Past:
    """Votes by their difference, tables by their arms, and the arms of either player, as they came.

    Equal differences, and equal tables, are kept once. A table is kept relative to its first arm, so that a constant added to all
    arms changes nothing.
    """

    def __init__(self, first: Floats) -> None:
        self.first = first
        """How large features are among the first arms; 0: they do not differ."""
        self.dim = len(first)
        self.differences = np.empty((0, self.dim))
        self.mass, self.wins = np.empty(0), np.empty(0)
        self.arms = np.empty((0, self.dim))
        """The arms of all tables, one table after the other."""
        self.starts = np.empty(0, np.int64)
        self.shown = np.empty(0)
        """How often each table was played, by weight."""
        self.spreads = np.empty((0, self.dim))
        """How large features are in each table."""
        self.opponents = np.zeros((0, 2, self.dim))
        """The sum over the rounds of each table of the arms that either player met."""
        self._rows: dict[bytes, int] = {}
        self._tables: dict[bytes, int] = {}

    def add(self, arms: Floats, first: int, second: int, outcome: float, weight: float) -> None:
        """One vote from a table of arms."""
        table = arms - arms[0] + 0.0  # never -0.0: equal tables have equal bits
        at = self._tables.setdefault(table.tobytes(), len(self.shown))
        if at == len(self.shown):
            self.starts = np.append(self.starts, len(self.arms))
            self.arms = np.vstack([self.arms, table])
            self.shown = np.append(self.shown, 0.0)
            self.spreads = np.vstack([self.spreads, spread_of(arms)])
            self.opponents = np.vstack([self.opponents, np.zeros((1, 2, self.dim))])
        self.shown[at] += weight
        self.opponents[at] += weight * table[[second, first]]
        difference = arms[first] - arms[second] + 0.0
        if difference.any():  # an arm that met itself says nothing about theta, but it met nobody better
            self._add_row(difference, outcome, weight)

    def _add_row(self, difference: Floats, outcome: float, weight: float) -> None:
        at = self._rows.setdefault(difference.tobytes(), len(self.mass))
        if at == len(self.mass):
            self.differences = np.vstack([self.differences, difference])
            self.mass, self.wins = np.append(self.mass, 0.0), np.append(self.wins, 0.0)
        self.mass[at] += weight
        self.wins[at] += weight * outcome

    # -- how large features are ----------------------------------------------------------

    def lengths(self) -> NDArray[np.int64]:
        """How many arms each table has."""
        return np.diff(np.append(self.starts, len(self.arms)))

    def sizes(self, table: Floats | None = None) -> Floats:
        """The median spread of each feature over the tables of all votes, and over one that is to be decided; 0: no arms differ in it.

        A table where a feature does not vary says nothing of it, nor does one of two arms where larger ones do: two arms that met may
        have been chosen for being alike. Without any, it is the spread of the first arms.
        """
        spreads, weights, larger = self.spreads, self.shown, self.lengths() > 2
        if table is not None:
            spreads = np.vstack([spreads, spread_of(table)])
            weights, larger = np.append(weights, 1.0), np.append(larger, len(table) > 2)
        found = self.first.copy()
        for k in range(self.dim):
            varies = spreads[:, k] > 0.0
            says = varies & larger if (varies & larger).any() else varies
            if says.any():
                found[k] = _median(spreads[says, k], weights[says])
        return found

    def parts(self, size: Floats) -> Floats:
        """What each table counts in the feel-good term: 1, or 1 over the middle of its spreads in sizes where that is FAR.

        A table a hundred times as large promises a hundred times as much, whatever is better, and would drown the votes.
        """
        middle = _middles(in_sizes(self.spreads, size))
        return np.where(middle > FAR, 1.0 / middle, 1.0)

    def in_units(self, size: Floats, parts: Floats | None = None) -> Potential:
        """What it comes to in features of unit size, where tables count for so much."""
        shown = self.shown if parts is None else parts * self.shown
        met = self.opponents if parts is None else parts[:, None, None] * self.opponents
        return Potential(
            in_sizes(self.differences, size),
            self.mass,
            self.wins,
            in_sizes(self.arms, size),
            self.starts,
            shown,
            in_sizes(met.sum(axis=0), size),
        )

    # -- snapshots -----------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays by name."""
        names = ("first", "differences", "mass", "wins", "arms", "starts", "shown", "spreads", "opponents")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def restored(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The past of these arrays; ValueError says what does not fit."""
        past = cls(arrays["first"])
        d, n, m, tables = past.dim, len(arrays["mass"]), len(arrays["arms"]), len(arrays["shown"])
        shapes = {
            "first": (d,), "differences": (n, d), "mass": (n,), "wins": (n,),
            "arms": (m, d), "starts": (tables,), "shown": (tables,), "opponents": (tables, 2, d), "spreads": (tables, d),
        }  # fmt: skip
        for name, shape in shapes.items():
            array = arrays[name]
            kind = np.int64 if name == "starts" else np.float64
            if array.shape != shape or array.dtype != kind or not np.isfinite(array).all():
                raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}, or is not finite")
            setattr(past, name, array)
        bounds = [*past.starts.tolist(), m]
        if (
            (past.first < 0.0).any()
            or (past.mass <= 0.0).any()
            or (past.spreads < 0.0).any()
            or (tables and bounds[0])
            or sorted(set(bounds)) != bounds
        ):
            raise ValueError("sizes, weights or tables are damaged")
        past._rows = {row.tobytes(): k for k, row in enumerate(past.differences)}
        past._tables = {past.arms[a:b].tobytes(): k for k, (a, b) in enumerate(pairwise(bounds))}
        return past


def _middles(rows: Floats) -> Floats:
    """The median of what is above 0 in each row, 1 where nothing is; all rows at once, since after many tables an ask waits for it."""
    count = (rows > 0.0).sum(axis=1)
    ordered = np.sort(np.where(rows > 0.0, rows, np.inf), axis=1)
    at, some = np.arange(len(rows)), count > 0
    low, high = ordered[at, np.maximum(count - 1, 0) // 2], ordered[at, np.minimum(count // 2, rows.shape[1] - 1)]
    return np.where(some, (low + high) / 2.0, 1.0)


def _median(values: Floats, weights: Floats) -> float:
    """Of values above 0 with weights; between two the geometric mean, so that neither of two scales is preferred."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = 0.5 * below[-1]
    low, high = (values[order[np.searchsorted(below, half, side)]] for side in ("left", "right"))
    return float(low if low == high else np.sqrt(low) * np.sqrt(high))


@dataclass(frozen=True)
class Potential:
    """-log p^j of both players, in features of unit size; the arrays are those of `Past`."""

    differences: Floats
    mass: Floats
    wins: Floats
    arms: Floats
    starts: NDArray[np.int64]
    shown: Floats
    opponents: Floats

    def value(self, theta: Floats, weights: Weights, player: int) -> float:
        """eta sum (log(1 + e^v) - o v) + ridge/2 |theta|^2 - feel_good sum_i max_a (x_a - x_i) . theta"""
        return self.value_and_gradient(theta, weights, player)[0]

    def value_and_gradient(self, theta: Floats, weights: Weights, player: int) -> tuple[float, Floats]:
        """The potential, and its gradient; where two arms are best, half of each."""
        eta, ridge, feel_good = weights
        v = self.differences @ theta
        value = eta * (self.mass @ np.logaddexp(0.0, v) - self.wins @ v) + 0.5 * ridge * theta @ theta
        residual = self.mass / (1.0 + np.exp(-np.clip(v, -700.0, 700.0))) - self.wins
        gradient = eta * (residual @ self.differences) + ridge * theta
        if feel_good == 0.0 or not self.shown.size:
            return float(value), gradient
        utility = self.arms @ theta
        best = np.maximum.reduceat(utility, self.starts)
        value -= feel_good * (self.shown @ best - self.opponents[player] @ theta)
        lengths = np.diff(np.append(self.starts, len(self.arms)))
        at_best = utility == np.repeat(best, lengths)
        share = self.shown / np.add.reduceat(at_best.astype(float), self.starts)
        gradient -= feel_good * ((at_best * np.repeat(share, lengths)) @ self.arms - self.opponents[player])
        return float(value), gradient

    def curvature(self, theta: Floats, weights: Weights) -> Floats:
        """The Hessian without the feel-good term, which has none."""
        eta, ridge, _ = weights
        v = np.clip(self.differences @ theta, -700.0, 700.0)
        slopes = 1.0 / (2.0 + np.exp(v) + np.exp(-v))
        return np.asarray(
            ridge * np.eye(len(theta))
            + (self.differences.T * np.minimum(eta * self.mass * slopes, HEAVIEST)) @ self.differences
        )
