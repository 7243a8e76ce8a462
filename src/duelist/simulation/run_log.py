"""The record of simulated runs: every duel, or regret at some rounds.

Duels take 26 bytes per round and run. Curves at 201 rounds take the same space for any horizon, so long simulations
keep those. The two agree bit for bit: curves are running sums of the duels' regret, added in the order of the rounds.
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
"""What a simulation can record."""
CURVE_POINTS: Final = 201
"""The default number of rounds at which curves are recorded."""
LAYERS_KEPT: Final = 32
TIE_CODE: Final = 2
"""A tie in the record of outcomes."""
BYTES_PER_DUEL: Final = 26
MOST_BYTES: Final = 1 << 30
"""By default, a policy's duels are recorded unless they would take more than this."""


class DuelLog(NamedTuple):
    """Every duel: (runs, rounds) arrays."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    layer: NDArray[np.int8]
    """The layer that learned the outcome, from 1; 0 if the vote was not learned (exploitation, a self-duel)."""
    outcome: NDArray[np.uint8]
    """1 the first arm won, 0 the second, 2 a tie."""
    first_gap: Floats
    second_gap: Floats


_DTYPES: Final[tuple[Any, ...]] = (np.int32, np.int32, np.int8, np.uint8, np.float64, np.float64)


class Curves(NamedTuple):
    """Cumulative sums at some rounds: (runs, points) arrays."""

    rounds: Ints
    """(points,) the rounds; the last is the horizon."""
    average: Floats
    weak: Floats
    strong: Floats
    variance: Floats
    """Sum of the outcomes' variances p (1 - p)."""
    learned_variance: Floats
    """The same over rounds whose outcome was learned (for layered policies: exploration)."""
    layers: Ints
    """(runs, 32) rounds in which each layer learned, up to the horizon; column 0 counts rounds without learning."""


SUMS: Final = (*KINDS, "variance", "learned_variance")
"""The fields of `Curves` with one value per recorded round."""


def win_shares(outcomes: NDArray[np.uint8]) -> Floats:
    """Return the first arm's share of the win: 1, 0, or 0.5 for a tie."""
    return np.where(outcomes == TIE_CODE, 0.5, outcomes.astype(np.float64))


def blank_log(runs: int, rounds: int) -> DuelLog:
    """Return an empty log."""
    return DuelLog(*(np.zeros((runs, rounds), dtype) for dtype in _DTYPES))


def choose_record(keep: str | None, runs: int, horizon: int) -> str:
    """Return `keep` if valid; None means duels, unless there are too many."""
    if keep is None:
        return "duels" if runs * horizon * BYTES_PER_DUEL <= MOST_BYTES else "curves"
    return check_choice("keep", keep, KEEP)


def check_duels_fit(runs: int, horizon: int) -> None:
    """Raise if every duel is needed and there are too many to record."""
    if choose_record(None, runs, horizon) != "duels":
        raise InvalidInput(
            f"{runs} runs of {horizon} rounds are more duels than are kept, and this goal is judged by all of them.",
            f"Give at most {MOST_BYTES // (horizon * BYTES_PER_DUEL)} runs, or fewer rounds.",
        )


def curve_rounds(horizon: int, points: int) -> Ints:
    """Return evenly spaced rounds from the first to the last, or all rounds if there are fewer.

    >>> curve_rounds(9, 5)
    array([1, 3, 5, 7, 9])
    """
    check_integer("points", points, 2)
    return np.unique(np.linspace(1, horizon, points).astype(np.int64))


class CurveRecorder:
    """Records cumulative sums at some rounds from consecutive blocks of rounds."""

    def __init__(self, environment: Environment, runs: int, horizon: int, points: int) -> None:
        self._environment = environment
        self._truth = environment.truth()
        self._rounds = curve_rounds(horizon, points)
        self._kept = np.zeros((len(SUMS), runs, len(self._rounds)))
        self._sums = np.zeros((len(SUMS), runs))
        self._layers = np.zeros((runs, LAYERS_KEPT), np.int64)
        self._done = 0

    def take(self, log: DuelLog) -> None:
        """Add the next block of rounds of every run."""
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
        """Return the recorded curves."""
        average, weak, strong, variance, learned = self._kept
        return Curves(self._rounds, average, weak, strong, variance, learned, self._layers)

    def _variances(self, log: DuelLog) -> Floats:
        """Return the variance of the outcome of every round; zero if comparisons are noiseless."""
        if self._truth.noiseless:
            return np.zeros(log.first_gap.shape)
        table, gaps = self._truth.table, log.second_gap - log.first_gap
        if self._truth.chances is not None:
            rounds = self._done + 1 + np.arange(gaps.shape[1])
            win, tie = self._truth.chances(gaps, np.broadcast_to(rounds, gaps.shape))
            return np.asarray(win + tie / 4.0 - np.square(win + tie / 2.0))
        p = table[log.first, log.second] if table.size else self._environment.link.mean(gaps)
        return np.asarray(p * (1.0 - p))


def curves_of(log: DuelLog, environment: Environment, points: int = CURVE_POINTS) -> Curves:
    """Return the curves of a complete log."""
    runs, horizon = log.first.shape
    recorder = CurveRecorder(environment, runs, horizon, points)
    recorder.take(log)
    return recorder.curves()
