"""What FGTS remembers: votes, the tables they were asked from, and the potential of both."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from duelist.arrays import Floats

Weights = tuple[float, float, float]
"""eta, ridge, and the weight of the feel-good term."""


class Past:
    """Votes by their difference, tables by their arms, and the arms of either player; all in features of unit size.

    Equal differences, and equal tables, are kept once. A table is kept relative to its first arm, so that a constant added to all
    arms changes nothing.
    """

    def __init__(self, size: Floats) -> None:
        self.size = size
        self.dim = len(size)
        self.differences = np.empty((0, self.dim))
        self.mass, self.wins = np.empty(0), np.empty(0)
        self.arms = np.empty((0, self.dim))
        """The arms of all tables, one table after the other."""
        self.starts = np.empty(0, np.int64)
        self.shown = np.empty(0)
        """How often each table was played, by weight."""
        self.opponents = np.zeros((2, self.dim))
        """The sum over the rounds of the arms that each player met."""
        self._rows: dict[bytes, int] = {}
        self._tables: dict[bytes, int] = {}

    def add(self, arms: Floats, first: int, second: int, outcome: float, weight: float) -> None:
        """One vote from a table of arms."""
        table = (arms - arms[0]) / self.size + 0.0  # never -0.0: equal tables have equal bits
        self.opponents[0] += weight * table[second]
        self.opponents[1] += weight * table[first]
        self._add_table(table, weight)
        difference = (arms[first] - arms[second]) / self.size + 0.0
        if difference.any():  # an arm that met itself says nothing about theta, but it met nobody better
            self._add_row(difference, outcome, weight)

    def _add_row(self, difference: Floats, outcome: float, weight: float) -> None:
        at = self._rows.setdefault(difference.tobytes(), len(self.mass))
        if at == len(self.mass):
            self.differences = np.vstack([self.differences, difference])
            self.mass, self.wins = np.append(self.mass, 0.0), np.append(self.wins, 0.0)
        self.mass[at] += weight
        self.wins[at] += weight * outcome

    def _add_table(self, table: Floats, weight: float) -> None:
        at = self._tables.setdefault(table.tobytes(), len(self.shown))
        if at == len(self.shown):
            self.starts = np.append(self.starts, len(self.arms))
            self.arms = np.vstack([self.arms, table])
            self.shown = np.append(self.shown, 0.0)
        self.shown[at] += weight

    def potential(self, theta: Floats, weights: Weights, player: int) -> float:
        """eta sum (log(1 + e^v) - o v) + ridge/2 |theta|^2 - feel_good sum_i max_a (x_a - x_i) . theta"""
        return self.potential_and_gradient(theta, weights, player)[0]

    def potential_and_gradient(self, theta: Floats, weights: Weights, player: int) -> tuple[float, Floats]:
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
            ridge * np.eye(self.dim) + (self.differences.T * (eta * self.mass * slopes)) @ self.differences
        )

    # -- snapshots -----------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, as arrays by name."""
        names = ("size", "differences", "mass", "wins", "arms", "starts", "shown", "opponents")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def restored(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The past of these arrays; ValueError says what does not fit."""
        past = cls(arrays["size"])
        d, n, m, tables = past.dim, len(arrays["mass"]), len(arrays["arms"]), len(arrays["shown"])
        shapes = {
            "size": (d,), "differences": (n, d), "mass": (n,), "wins": (n,),
            "arms": (m, d), "starts": (tables,), "shown": (tables,), "opponents": (2, d),
        }  # fmt: skip
        for name, shape in shapes.items():
            array = arrays[name]
            kind = np.int64 if name == "starts" else np.float64
            if array.shape != shape or array.dtype != kind or not np.isfinite(array).all():
                raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}, or is not finite")
            setattr(past, name, array)
        bounds = [*past.starts.tolist(), m]
        if (
            (past.size <= 0.0).any()
            or (past.mass <= 0.0).any()
            or (tables and bounds[0])
            or sorted(set(bounds)) != bounds
        ):
            raise ValueError("sizes, weights or tables are damaged")
        past._rows = {row.tobytes(): k for k, row in enumerate(past.differences)}
        past._tables = {past.arms[a:b].tobytes(): k for k, (a, b) in enumerate(pairwise(bounds))}
        return past
