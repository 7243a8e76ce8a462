"""UniformPair (pair choice: `native/policies/uniform_pair.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.policies.engine import NativePolicy


@dataclass(kw_only=True, eq=False, repr=False)
class UniformPair(NativePolicy):
    """Uniformly random pairs: the baseline that only explores.

    Plays (x, y) uniform over ordered pairs of different arms; a single arm is compared with itself. It learns like the
    others, so `theta_` is the estimate from unbiased duels.

    Cost per round: O(1); the estimate is computed only when read.

    >>> import numpy as np
    >>> i, j = UniformPair(random_state=0).ask(np.eye(4))
    >>> i != j
    True
    """

    pure_exploration: ClassVar[bool] = True
