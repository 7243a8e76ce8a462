"""The computations on the device, in PyTorch alone, so that they load without the rest of the package.

The device only narrows the search to the few arms that can be in the result; the caller scores these in float64.
"""

from .arithmetic import MODES, Mode
from .contexts import BestPairs, best_pairs_in_contexts
from .search import SearchStatistics, candidates
from .whitening import WhitenedArms, whiten_arms

__all__ = [
    "MODES",
    "BestPairs",
    "Mode",
    "SearchStatistics",
    "WhitenedArms",
    "best_pairs_in_contexts",
    "candidates",
    "whiten_arms",
]
