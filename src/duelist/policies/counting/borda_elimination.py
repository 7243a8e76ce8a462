"""BordaElimination: successive elimination by Borda scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.core.arrays import check_probability
from duelist.policies.counting.counting_policy import CountingPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class BordaElimination(CountingPolicy):
    """Successive elimination by Borda scores: arms against random others, until one wins the largest share for sure.

    The Borda score of arm i is its mean chance to beat another arm, which a duel with an arm drawn uniformly from all others
    estimates without bias. With m_i such duels and the share b_i of them won, the arm with the least m_i of those that are in meets a
    random one; arm i is out when

        b_i + r(m_i) < max_k (b_k - r(m_k)),   r(m) = sqrt(log(4 K m^2 / delta) / (2 m)).

    By Hoeffding's inequality the Borda winner is never out but with chance at most delta. When one is left it meets itself. The
    reduction is that of Jamieson, Katariya, Deshpande, Nowak, "Sparse dueling bandits", AISTATS 2015, section 2; successive elimination
    that of Even-Dar, Mannor, Mansour, JMLR 7, 2006, Algorithm 3. It is for finding the Borda winner, which need not be a Condorcet
    winner, not for small regret.

    Deviations
    ----------
    - The radius is Hoeffding's with a union over arms and over m; Even-Dar et al. have sqrt(log(c K m^2 / delta) / m), c > 4, and compare
      after whole rounds.
    - Where pairs may not be asked, or arms leave the table, opponents are no longer uniform over all, and scores are those against who
      was there.
    - Only duels that it has asked itself count for a score: those of the arm that was named first. With `distinct=True` the last arm
      meets the one that has won the largest share against it.

    Cost a round: O(K).

    >>> policy = BordaElimination(random_state=0)
    >>> for _ in range(2000):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_, tuple(policy.ask(4, distinct=False))
    (0, (0, 0))
    """

    delta: float = 0.05

    external_layer: ClassVar[int] = 1

    def check_settings(self) -> None:
        """Delta is a probability."""
        check_probability("delta", self.delta)

    def rule_settings(self) -> dict[str, float]:
        """Delta."""
        return {"delta": float(self.delta)}
