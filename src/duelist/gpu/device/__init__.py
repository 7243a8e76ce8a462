"""What runs on the device: PyTorch only, so that it can be loaded where the rest of the package cannot.

Nothing here decides. The device names the few arms that can be in the answer, with a proof that
no other can; the caller scores those few in float64 as it always does.
"""

from .arithmetic import MODES, Mode, mode_for
from .contexts import Chosen, choose_in_contexts
from .problem import Problem, prepared
from .search import Effort, candidates

__all__ = [
    "MODES",
    "Chosen",
    "Effort",
    "Mode",
    "Problem",
    "candidates",
    "choose_in_contexts",
    "mode_for",
    "prepared",
]
