"""The machinery that runs any experiment: cells in a lab, tuning, comparing, and a report of what was found.

An experiment is a function that takes a `Lab` and returns an `Outcome`; `duelist.paper` declares the paper's.
"""

from duelist.experiments.lab import Cell, Lab, Result
from duelist.experiments.outcome import Claim, Outcome
from duelist.experiments.tuning import Tuned, tune

__all__ = ["Cell", "Claim", "Lab", "Outcome", "Result", "Tuned", "tune"]
