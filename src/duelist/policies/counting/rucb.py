"""RUCB (rule: `native/counting/rucb.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.core.arrays import check_positive
from duelist.policies.counting.counting_policy import CountingPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class RUCB(CountingPolicy):
    """Relative upper confidence bounds: an arm that may be the best, against the arm most likely to beat it.

    With w_ij wins of i over j and n_ij = w_ij + w_ji, in round t

        u_ij = w_ij / n_ij + sqrt(alpha log t / n_ij),   u_ii = 1/2,   x / 0 := 1,
        C = {i : u_ij >= 1/2 for all j},                 B <- B and C; B <- C if C has one arm.

    The first arm c is drawn from C: B with probability 1/2 and the others uniformly, uniformly if B is empty, any arm
    if C is empty. The second is argmax_j u_jc, ties at random, and not c if it ties. Zoghi, Whiteson, Munos, de Rijke,
    "Relative upper confidence bound for the K-armed dueling bandit problem", ICML 2014, Algorithm 1. For a Condorcet
    winner; alpha > 1/2 for its bound, 0.51 in its experiments.

    Parameters
    ----------
    alpha
        Width of the confidence bounds u_ij; above 1/2 the published bounds hold.

    Deviations
    ----------
    - None with `distinct=False` and no exclusions. Otherwise c is an arm with an allowed opponent, and the second arm
      the argmax over the allowed opponents.
    - The round t is the number of votes learned plus one.

    Cost per round: O(K). Whether u_ij >= 1/2 is decided by n_ij (1/2 - w_ij / n_ij)^2 <= alpha log t, whose left side
    changes for one pair.

    >>> policy = RUCB(random_state=0)
    >>> for _ in range(200):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_, tuple(policy.ask(4, distinct=False))
    (0, (0, 0))
    """

    alpha: float = 0.51

    def check_settings(self) -> None:
        """Check alpha > 0; below 1/2 no bound is proved."""
        check_positive("alpha", self.alpha)

    def rule_settings(self) -> dict[str, float]:
        """Return alpha."""
        return {"alpha": float(self.alpha)}
