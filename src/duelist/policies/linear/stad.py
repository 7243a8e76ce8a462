"""StaD (pair choice: `native/policies/stad.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.policies.engine import LayeredPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class StaD(LayeredPolicy):
    """Stagewise adaptive duel, Sta'D (Saha 2021).

    With p_s(x, y) = eta |x - y|_{Sigma_s^-1} in layer s, start with all arms and s = 1 and repeat:

    1. all p_s <= 1/sqrt(T): play argmax_x x . theta_s and argmax_y y . theta_s + p_s(x, y); store nothing;
    2. all p_s <= 2^-s: drop arms with x . theta_s + 2^-s < max; s += 1;
    3. otherwise play a pair with p_s > 2^-s and store it in layer s.

    Deviations: a ridge replaces the warm-up; step 3, which leaves the pair open, plays the widest one; 2^-s falls to
    1/sqrt(T) after ceil(log2 sqrt(T)) layers, and step 1 is taken there.

    Radius "theory": eta = (3/(2 kappa)) sqrt(2 log(3TK/delta)). "practical": `practical_multiplier` times sqrt(log T).

    Cost per round: O(layers visited * K^2 d), and a Newton solve if a layer with new votes is read.

    >>> import numpy as np
    >>> policy = StaD(horizon=100, random_state=0)
    >>> policy.tell(policy.ask(np.eye(3)), 1)
    >>> policy.layer_counts_[0]
    1
    """
