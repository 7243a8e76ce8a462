"""GreedyUniform (pair choice: `native/policies/greedy_uniform.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.engine import NativePolicy


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyUniform(NativePolicy):
    """Greedy first arm, uniformly random second (a baseline of the authors' experiments).

    Plays x_t = argmax_x x . theta_hat and y_t uniform over the other arms. Its regret grows linearly, since every
    second arm is random: it is the cost of "show the best, test at random".

    Cost per round: O(K d) for the decision, O(n d^2) per Newton step with n distinct differences.

    >>> import numpy as np
    >>> policy = GreedyUniform(random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    """
