"""The paper's figures and theory, and the frontier beyond it; their texts are in `templates/`."""

from __future__ import annotations

from typing import Final

from duelist.research.experiments.programs import Experiment
from duelist.research.paper import figure_1a, figure_1b, figure_2, frontier, theory

__all__ = ["CATALOG", "PAPER"]

PAPER: Final[dict[str, Experiment]] = {module.NAME: module.run for module in (figure_1a, figure_1b, figure_2, theory)}
"""The experiments of the paper."""
CATALOG: Final[dict[str, Experiment]] = {**PAPER, frontier.NAME: frontier.run}
