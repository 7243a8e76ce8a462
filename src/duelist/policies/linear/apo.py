"""APO (pair choice: `native/policies/apo.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.policies.engine import NativePolicy


@dataclass(kw_only=True, eq=False, repr=False)
class APO(NativePolicy):
    """Active preference optimization (Das, Chakraborty, Pacchiano, Chowdhury 2024, arXiv 2402.10500).

    Plays the most uncertain pair,

        (x_t, y_t) = argmax_{x, y in A_t} |x - y|_{Sigma_t^-1},    Sigma_t = ridge I + sum z_s z_s',

    whatever the outcomes were. The paper also chooses the prompt with the largest such width: that is
    `ask_batch(prompts, k=1)`. With k > 1 each further prompt is chosen as if the duels before it were answered.

    Deviations
    ----------
    - The widths are those of the authors' published code; the slopes of the link, commented out there, are in
      `DesignPair`.
    - Their code takes the k widest pairs of a batch at once; `ask_batch` counts each chosen pair before the next.
    - The paper returns the mean of all estimates; `theta_` is the last one.

    Cost per round: O(K^2 d) at worst, far less with very many arms (docs/contributing/decisions/0011-pair-search.md); the estimate
    is computed only when read.

    >>> import numpy as np
    >>> policy, prompts = APO(), np.random.default_rng(0).normal(size=(50, 4, 3))
    >>> batch = policy.ask_batch(prompts, k=2)
    >>> len(batch)
    2
    """

    pure_exploration: ClassVar[bool] = True
