"""PreferenceMatrix: outcomes from a table of chances, arms without features."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Final

import numpy as np

from duelist.environments._base import Environment, Floats, Truth, World
from duelist.errors import InvalidInput
from duelist.links import get_link

WINNERS: Final = ("condorcet", "borda")
_SYMMETRY_TOLERANCE: Final = 1e-6


class PreferenceMatrix(Environment):
    """One-hot arms and a table: entry (i, j) is the chance that arm i beats arm j.

    Regret is measured against the winner w. With winner "condorcet" (the arm that beats every
    other with chance over 1/2) the utility of arm i is P(i beats w) - 1/2, so that the gap of an
    arm is the usual P(w beats i) - 1/2. With "borda" it is the mean chance to beat another arm.

    A policy's link model need not fit the table; that is the point of trying.

    >>> PreferenceMatrix([[0.5, 0.6], [0.4, 0.5]]).draw_world(np.random.default_rng(0)).utilities.round(3)
    array([ 0. , -0.1])
    """

    def __init__(self, matrix: Any, winner: str = "condorcet") -> None:
        self.matrix = _check_matrix(np.array(matrix, dtype=np.float64))
        if winner not in WINNERS:
            raise InvalidInput(f"winner is {winner!r}; choose one of {', '.join(WINNERS)}")
        self.winner = winner
        self.dim = len(self.matrix)
        self.link = get_link("logistic")
        self._utilities = self._borda() if winner == "borda" else self._condorcet()

    @classmethod
    def from_csv(cls, path: str | Path, winner: str = "condorcet") -> PreferenceMatrix:
        """The table of a CSV file with one header line."""
        with Path(path).open(newline="") as file:
            rows = list(csv.reader(file))[1:]
        return cls([[float(entry) for entry in row] for row in rows], winner)

    def draw_world(self, rng: np.random.Generator) -> World:
        """The same world in every run."""
        return World(self._utilities, np.eye(self.dim), self._utilities)

    def truth(self) -> Truth:
        """The table decides."""
        return Truth(self.link.code, False, self.matrix)

    def _condorcet(self) -> Floats:
        beats = self.matrix > 0.5
        winners = np.flatnonzero(beats.sum(axis=1) == self.dim - 1)
        if winners.size == 0:
            raise InvalidInput(
                "no arm beats every other one with chance over 1/2, so there is no Condorcet winner; "
                "measure regret against the best mean instead with winner='borda'"
            )
        return np.asarray(self.matrix[:, winners[0]] - 0.5)

    def _borda(self) -> Floats:
        others = max(self.dim - 1, 1)
        return np.asarray((self.matrix.sum(axis=1) - 0.5) / others)


def _check_matrix(matrix: Floats) -> Floats:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InvalidInput(f"matrix has shape {matrix.shape}; give a square table of chances")
    if not ((matrix >= 0.0) & (matrix <= 1.0)).all():
        raise InvalidInput("matrix has entries outside [0, 1]; entry (i, j) is the chance that i beats j")
    off = np.abs(matrix + matrix.T - 1.0)
    if off.max() > _SYMMETRY_TOLERANCE:
        i, j = (int(k) for k in np.unravel_index(off.argmax(), off.shape))
        raise InvalidInput(
            f"matrix[{i}, {j}] + matrix[{j}, {i}] is {matrix[i, j] + matrix[j, i]:.6g}; the two chances must add to 1"
        )
    return matrix
