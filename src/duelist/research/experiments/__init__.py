"""Experiments: declare a grid, run its cells on an engine, report the results.

`Experiment` declares a grid, `run_experiment` plays the cells that are missing, and `Results` reads them at any time.
An experiment that chooses what to play next from earlier results is a function that takes a `Lab` and returns
`Findings`; `duelist.research.paper` has the paper's.
"""

from duelist.research.experiments.cells import Cell
from duelist.research.experiments.definition import Experiment, sweep
from duelist.research.experiments.engines import Cluster, Engine, LocalProcesses, ThisProcess
from duelist.research.experiments.execution import run_experiment
from duelist.research.experiments.lab import Lab, Result
from duelist.research.experiments.reports.findings import Claim, Findings
from duelist.research.experiments.results import Results
from duelist.research.experiments.tuning import Tuned, tune

__all__ = [
    "Cell",
    "Claim",
    "Cluster",
    "Engine",
    "Experiment",
    "Findings",
    "Lab",
    "LocalProcesses",
    "Result",
    "Results",
    "ThisProcess",
    "Tuned",
    "run_experiment",
    "sweep",
    "tune",
]
