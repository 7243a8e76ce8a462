"""What is written down of runs: every duel, or regret at some rounds.

A duel takes 26 bytes a round and run. Regret at 201 rounds takes the same room however long the runs are, so long simulations keep
that. Both say the same: curves are the running sums of the duels' regret, added in the order of the rounds, to the bit.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats, Ints, check_choice, check_integer
from duelist.core.errors import InvalidInput
from duelist.simulation.environments import Environment
from duelist.simulation.regret import KINDS, regret

KEEP: Final = ("duels", "curves")
"""What can be kept of runs."""
CURVE_POINTS: Final = 201
"""Rounds at which curves are kept, unless somebody says otherwise."""
LAYERS_KEPT: Final = 32
BYTES_A_DUEL: Final = 26
MOST_BYTES: Final = 1 << 30
"""A policy's duels are kept unless they would take more than this, or somebody says otherwise."""


class Log(NamedTuple):
    """Every duel: (runs, rounds) arrays."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    layer: NDArray[np.int8]
    """Layer that learned the outcome, from 1; 0 where nothing was learned (exploitation, a self-duel)."""
    outcome: NDArray[np.uint8]
    first_gap: Floats
    second_gap: Floats


_DTYPES: Final[tuple[Any, ...]] = (np.int32, np.int32, np.int8, np.uint8, np.float64, np.float64)


class Curves(NamedTuple):
    """Sums over the rounds so far, at some rounds: (runs, points) arrays."""

    rounds: Ints
    """(points,) the rounds; the last is the horizon."""
    average: Floats
    weak: Floats
    strong: Floats
    variance: Floats
    """Sum of the outcomes' variances p (1 - p)."""
    learned_variance: Floats
    """The same over the rounds whose outcome was learned (for layered policies: exploration)."""
    layers: Ints
    """(runs, 32) rounds in which each layer learned, up to the horizon; position 0: nothing was learned."""


SUMS: Final = (*KINDS, "variance", "learned_variance")
"""The fields of `Curves` that have a value a round."""


def blank_log(runs: int, rounds: int) -> Log:
    """A log with nothing written yet."""
    return Log(*(np.zeros((runs, rounds), dtype) for dtype in _DTYPES))


def what_to_keep(keep: str | None, runs: int, horizon: int) -> str:
    """`keep` if it is one of `KEEP`; for None the duels, unless there are very many."""
    if keep is None:
        return "duels" if runs * horizon * BYTES_A_DUEL <= MOST_BYTES else "curves"
    return check_choice("keep", keep, KEEP)


def check_duels_fit(runs: int, horizon: int) -> None:
    """InvalidInput where every duel is needed and they are too many to keep."""
    if what_to_keep(None, runs, horizon) != "duels":
        raise InvalidInput(
            f"{runs} runs of {horizon} rounds are more duels than are kept, and this goal is judged by all of them.",
            f"Give at most {MOST_BYTES // (horizon * BYTES_A_DUEL)} runs, or fewer rounds.",
        )


def curve_rounds(horizon: int, points: int) -> Ints:
    """So many rounds from the first to the last, evenly apart; all of them where there are no more.

    >>> curve_rounds(9, 5)
    array([1, 3, 5, 7, 9])
    """
    check_integer("points", points, 2)
    return np.unique(np.linspace(1, horizon, points).astype(np.int64))


class CurveRecorder:
    """Takes in rounds a stretch at a time, and keeps their sums at some of them."""

    def __init__(self, environment: Environment, runs: int, horizon: int, points: int) -> None:
        self._environment = environment
        self._truth = environment.truth()
        self._rounds = curve_rounds(horizon, points)
        self._kept = np.zeros((len(SUMS), runs, len(self._rounds)))
        self._sums = np.zeros((len(SUMS), runs))
        self._layers = np.zeros((runs, LAYERS_KEPT), np.int64)
        self._done = 0

    def take(self, log: Log) -> None:
        """The next rounds of every run."""
        length = log.first.shape[1]
        at = np.flatnonzero((self._rounds > self._done) & (self._rounds <= self._done + length))
        variance = self._variances(log)
        each = [*(regret(log.first_gap, log.second_gap, kind) for kind in KINDS), variance, variance * (log.layer > 0)]
        for k, values in enumerate(each):
            values[:, 0] += self._sums[k]
            sums = np.cumsum(values, axis=1)
            self._kept[k][:, at] = sums[:, self._rounds[at] - self._done - 1]
            self._sums[k] = sums[:, -1]
        for run, layers in enumerate(log.layer):
            self._layers[run] += np.bincount(layers, minlength=LAYERS_KEPT)[:LAYERS_KEPT]
        self._done += length

    def curves(self) -> Curves:
        """What was kept."""
        average, weak, strong, variance, learned = self._kept
        return Curves(self._rounds, average, weak, strong, variance, learned, self._layers)

    def _variances(self, log: Log) -> Floats:
        """p (1 - p) of every round; zero where comparisons have no noise."""
        if self._truth.noiseless:
            return np.zeros(log.first_gap.shape)
        table, gaps = self._truth.table, log.second_gap - log.first_gap
        p = table[log.first, log.second] if table.size else self._environment.link.mean(gaps)
        return np.asarray(p * (1.0 - p))


def curves_of(log: Log, environment: Environment, points: int = CURVE_POINTS) -> Curves:
    """The curves of a whole log."""
    runs, horizon = log.first.shape
    recorder = CurveRecorder(environment, runs, horizon, points)
    recorder.take(log)
    return recorder.curves()
