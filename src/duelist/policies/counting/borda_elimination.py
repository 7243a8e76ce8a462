"""BordaElimination (rule: `native/counting/borda_elimination.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.core.arrays import check_probability
from duelist.policies.counting.counting_policy import CountingPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class BordaElimination(CountingPolicy):
    """Successive elimination by Borda scores: arms against random others, until one surely has the largest score.

    The Borda score of arm i is its mean probability of beating another arm; a duel with an arm drawn uniformly from all
    others estimates it without bias. With m_i such duels and the share b_i of them won, the remaining arm with the
    least m_i meets a random one; arm i is eliminated when

        b_i + r(m_i) < max_k (b_k - r(m_k)),   r(m) = sqrt(log(4 K m^2 / delta) / (2 m)).

    By Hoeffding's inequality the Borda winner is eliminated with probability at most delta. A single remaining arm
    meets itself. The reduction is that of Jamieson, Katariya, Deshpande, Nowak, "Sparse dueling bandits", AISTATS 2015,
    section 2; successive elimination that of Even-Dar, Mannor, Mansour, JMLR 7, 2006, Algorithm 3. The policy finds the
    Borda winner, which need not be a Condorcet winner, and does not keep regret small.

    Parameters
    ----------
    delta
        Largest probability of eliminating the Borda winner.

    Deviations
    ----------
    - The radius is Hoeffding's with a union over arms and over m; Even-Dar et al. have sqrt(log(c K m^2 / delta) / m),
      c > 4, and compare after whole rounds.
    - If pairs are excluded, or arms are missing from a round, opponents are not uniform over all arms, and scores are
      those against the arms that were present.
    - Only duels that the policy asked count for a score, that of their first arm. With `distinct=True` the last arm
      meets the one with the largest win rate against it.

    Cost per round: O(K).

    >>> policy = BordaElimination(random_state=0)
    >>> for _ in range(2000):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_, tuple(policy.ask(4, distinct=False))
    (0, (0, 0))
    """

    delta: float = 0.05

    external_layer: ClassVar[int] = 1

    def check_settings(self) -> None:
        """Check delta."""
        check_probability("delta", self.delta)

    def rule_settings(self) -> dict[str, float]:
        """Return the error rate delta by name."""
        return {"delta": float(self.delta)}
