"""Declared experiments: the paper's figures, its theory, and tuning. `CATALOG` lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from duelist.experiments.catalog import figure_1a, figure_1b, figure_2, frontier, theory
from duelist.experiments.lab import Cell, Lab, Result
from duelist.experiments.outcome import Claim, Outcome
from duelist.experiments.tuning import Tuned, tune

__all__ = ["CATALOG", "PAPER", "Cell", "Claim", "Lab", "Outcome", "Result", "Tuned", "tune"]

PAPER: Final[dict[str, Callable[[Lab], Outcome]]] = {
    module.NAME: module.run for module in (figure_1a, figure_1b, figure_2, theory)
}
"""The experiments of the paper."""
CATALOG: Final[dict[str, Callable[[Lab], Outcome]]] = {**PAPER, frontier.NAME: frontier.run}
