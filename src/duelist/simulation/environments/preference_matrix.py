"""PreferenceMatrix: outcomes from a matrix of probabilities, with or without features."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.model.links import get_link
from duelist.simulation.environments import winners
from duelist.simulation.environments.base import Environment, Truth, World

WINNERS: Final = ("condorcet", "copeland", "borda")
_SYMMETRY_TOLERANCE: Final = 1e-6


class PreferenceMatrix(Environment):
    """Outcomes from a matrix: entry (i, j) is the probability that arm i beats arm j.

    Regret is measured against the winner w. With winner "condorcet" (the arm that beats every other with probability
    over 1/2), the utility of arm i is P(i beats w) - 1/2, so that the gap of an arm is the usual P(w beats i) - 1/2.
    With "copeland" it is the share of the other arms that it beats with probability over 1/2, and with "borda" the
    mean probability of beating another arm; the winners are the arms with the largest value
    (`duelist.simulation.environments.winners`).

    A policy's link need not fit the matrix. If the matrix holds shares of real votes, an outcome is one of the pair's
    votes drawn at random (a replay).

    Parameters
    ----------
    matrix
        Probabilities, (n_arms, n_arms); entries (i, j) and (j, i) add to 1.
    winner
        "condorcet", "copeland" or "borda": the winner that regret is measured against.
    arms
        Features shown to the policy, (n_arms, dim); None: one-hot, so that arms have nothing in common.

    >>> PreferenceMatrix([[0.5, 0.6], [0.4, 0.5]]).draw_world(np.random.default_rng(0)).utilities.round(3)
    array([ 0. , -0.1])
    >>> PreferenceMatrix([[0.5, 0.6], [0.4, 0.5]], arms=[[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]]).dim
    3
    """

    def __init__(self, matrix: Any, winner: str = "condorcet", arms: Any = None) -> None:
        self.matrix = _check_matrix(matrix)
        if winner not in WINNERS:
            raise InvalidInput(f"winner is {winner!r}.", f"Choose one of {', '.join(WINNERS)}.", field="winner")
        self.winner = winner
        self.arms = None if arms is None else _check_arms(arms, len(self.matrix))
        self._features = np.eye(len(self.matrix)) if self.arms is None else self.arms
        self.dim = self._features.shape[1]
        self.link = get_link("logistic")
        self._utilities = {"condorcet": self._condorcet, "copeland": self._copeland, "borda": self._borda}[winner]()

    @classmethod
    def from_csv(cls, path: str | Path, winner: str = "condorcet", arms: Any = None) -> PreferenceMatrix:
        """Read the matrix from a CSV file with one header line."""
        with Path(path).open(newline="") as file:
            rows = [row for row in list(csv.reader(file))[1:] if row]
        return cls(rows, winner, arms)

    def draw_world(self, rng: np.random.Generator) -> World:
        """Return the same world in every run; theta is the least-squares fit of the utilities by the features."""
        return World(self._nearest_theta(), self._features, self._utilities)

    def truth(self) -> Truth:
        """Return outcomes drawn from the matrix."""
        return Truth(self.link.name, False, self.matrix)

    def _nearest_theta(self) -> Floats:
        if self.arms is None:
            return self._utilities
        return np.asarray(np.linalg.lstsq(self.arms, self._utilities)[0])

    def _condorcet(self) -> Floats:
        winner = winners.condorcet_winner(self.matrix)
        if winner is None:
            raise InvalidInput(
                "No arm beats every other one with chance over 1/2, so there is no Condorcet winner.",
                "Measure regret against the best mean instead with winner='borda', or against the most arms "
                "beaten with winner='copeland'.",
            )
        return np.asarray(self.matrix[:, winner] - 0.5)

    def _copeland(self) -> Floats:
        return winners.copeland_scores(self.matrix)

    def _borda(self) -> Floats:
        return winners.borda_scores(self.matrix)


def _check_matrix(table: Any) -> Floats:
    try:
        matrix = np.array(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"matrix cannot be read ({error}).", "Give a square table of chances in rows of one length."
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InvalidInput(f"matrix has shape {matrix.shape}.", "Give a square table of chances.")
    outside = ~((matrix >= 0.0) & (matrix <= 1.0))
    if outside.any():
        i, j = (int(k) for k in np.unravel_index(outside.argmax(), outside.shape))
        raise InvalidInput(
            f"matrix[{i}, {j}] is {matrix[i, j]:.6g}.", "Entry (i, j) is the chance, in [0, 1], that i beats j."
        )
    off = np.abs(matrix + matrix.T - 1.0)
    if off.max() > _SYMMETRY_TOLERANCE:
        i, j = (int(k) for k in np.unravel_index(off.argmax(), off.shape))
        raise InvalidInput(
            f"matrix[{i}, {j}] + matrix[{j}, {i}] is {matrix[i, j] + matrix[j, i]:.6g}.",
            "The two chances must add to 1.",
        )
    return matrix


def _check_arms(arms: Any, n_arms: int) -> Floats:
    try:
        features = np.array(arms, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"arms cannot be read ({error}).", f"Give finite features ({n_arms}, dim).") from error
    if features.ndim != 2 or len(features) != n_arms or features.size == 0 or not np.isfinite(features).all():
        raise InvalidInput(
            f"arms have shape {features.shape} or non-finite entries.",
            f"Give finite features ({n_arms}, dim), a row for each row of the matrix.",
        )
    return features
