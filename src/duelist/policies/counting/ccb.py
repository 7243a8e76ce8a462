"""CCB (rule: `native/counting/ccb.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.core.arrays import check_positive
from duelist.policies.counting.counting_policy import CountingPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class CCB(CountingPolicy):
    """Copeland confidence bounds: an arm that may be a Copeland winner, against one to which it may lose.

    With u and l as in RUCB, upper_i = #{j : u_ij >= 1/2}, lower_i = #{j : l_ij >= 1/2}, C = argmax_i upper_i.
    Hypotheses: B, the supposed winners; B^i, arms to which i supposedly loses; L, the supposed number of losses of a
    winner. In every round

        A. all are reset if l_ij > 1/2 for some j in B^i (B: all arms; B^i: none; L = K);
        B. an arm i with upper_i < lower_j for some j leaves B, and B^i <- {k : u_ik < 1/2} unless |B^i| = L + 1; reset if B is empty;
        C. an arm i of C with upper_i = lower_i joins B, B^i <- {}, L <- K - 1 - upper_i, and every other B^j with fewer than L + 1
           arms is emptied, one with more is cut at random to L + 1.

    With probability 1/4 it plays a pair (i, j), j in B^i, l_ij <= 1/2 <= u_ij, drawn uniformly, if there is one. Else
    the first arm c is drawn from C, with probability 2/3 from C and B if that is not empty; the second is argmax u_jc
    over j with l_jc <= 1/2, with probability 1/2 over those in B^c only; ties at random, not c if it ties. Zoghi,
    Karnin, Whiteson, de Rijke, "Copeland dueling bandits", NeurIPS 2015, Algorithm 1; alpha > 1/2.

    Parameters
    ----------
    alpha
        Width of the confidence bounds u_ij; above 1/2 the published bounds hold.

    Deviations
    ----------
    - If B^c has no arm with l_jc <= 1/2, the second arm is chosen among all.
    - If the chosen pair must not be asked, the best allowed one by the same measure.
    - New arms reset the hypotheses. The round t is the number of votes learned plus one.

    Cost per round: O(K^2) comparisons of numbers.

    >>> policy = CCB(random_state=0)
    >>> for _ in range(200):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_
    0
    """

    alpha: float = 0.51

    def check_settings(self) -> None:
        """Check alpha > 0."""
        check_positive("alpha", self.alpha)

    def rule_settings(self) -> dict[str, float]:
        """Return alpha."""
        return {"alpha": float(self.alpha)}
