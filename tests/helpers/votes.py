"""Made-up voters."""

import numpy as np
from scipy.special import expit


def told(policy, arms, utilities, votes, seed=0):
    """Return the policy after some votes on duels that it asked."""
    rng = np.random.default_rng(seed)
    for _ in range(votes):
        duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < expit(utilities[duel.first] - utilities[duel.second])))
    return policy
