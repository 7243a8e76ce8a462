"""GreedyChallenger (pair choice: `native/policies/greedy_challenger.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.policies.engine import RadiusPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyChallenger(RadiusPolicy):
    """Greedy first arm, optimistic second (Di et al. 2024, equation colstim_sel).

    Plays

        x_t = argmax_x x . theta_hat,
        y_t = argmax_y y . theta_hat + 2 beta_t |x_t - y|_{Sigma_t^-1}.

    If |theta_hat - theta*|_Sigma <= beta_t, twice the average regret of the round is at most 3 beta_t |x - y| (appendix
    C, method 2).

    Deviations: none known; an arm may be compared with itself, as the argmax allows.

    Radius "practical": 0.5 sqrt(d log T), so that the bonus is sqrt(d log T).

    Cost per round: O(K d^2) for the decision, O(n d^2) per Newton step with n distinct differences.

    >>> import numpy as np
    >>> policy = GreedyChallenger(random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 0.5)
    """

    practical_multiplier: ClassVar[float] = 0.5
