"""Experiments: grids that are declared, cells that are kept for good, engines that play them, reports of what was found.

`Experiment` declares a grid, `run_experiment` plays what is not there yet, `Results` reads it at any moment. An experiment that looks
at results before it knows what to play next is a function that takes a `Lab` and returns an `Outcome`; `duelist.research.paper`
has the paper's. Both are played in the same way.
"""

from duelist.research.experiments.cells import Cell
from duelist.research.experiments.declared import Experiment, sweep
from duelist.research.experiments.engines import Cluster, Engine, LocalProcesses, ThisProcess
from duelist.research.experiments.lab import Lab, Result
from duelist.research.experiments.outcome import Claim, Outcome
from duelist.research.experiments.results import Results
from duelist.research.experiments.running import run_experiment
from duelist.research.experiments.tuning import Tuned, tune

__all__ = [
    "Cell",
    "Claim",
    "Cluster",
    "Engine",
    "Experiment",
    "Lab",
    "LocalProcesses",
    "Outcome",
    "Result",
    "Results",
    "ThisProcess",
    "Tuned",
    "run_experiment",
    "sweep",
    "tune",
]
