"""DTS and DTSPlus (rule: `native/counting/dts.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from duelist.core.arrays import check_positive
from duelist.policies.counting.counting_policy import CountingPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class DTS(CountingPolicy):
    """Double Thompson sampling, D-TS: the Copeland winner of a draw, against the arm that beats it most in another.

    With u_ij and l_ij = 1 - u_ji as in RUCB, and theta_ij ~ Beta(w_ij + 1, w_ji + 1) for i < j, theta_ji = 1 -
    theta_ij,

        C = argmax_i #{j : u_ij > 1/2},
        first = argmax_{i in C} #{j : theta_ij > 1/2}, ties at random,
        second = argmax_{j : l_j,first <= 1/2} of new draws theta_j,first, with theta_first,first = 1/2.

    Wu, Liu, "Double Thompson sampling for dueling bandits", NeurIPS 2016, Algorithm 1. For Copeland winners, and so for
    a Condorcet winner; alpha = 0.51 in its experiments.

    Parameters
    ----------
    alpha
        Width of the confidence bounds u_ij; above 1/2 the published bounds hold.

    Deviations
    ----------
    - Only the theta that are read are drawn: those of arms of C, none if C has one arm, and against the first arm those
      of arms with l_j,first <= 1/2. The duels have the same distribution.
    - If every second arm that the rule allows is excluded, the largest draw of the others.
    - The round t is the number of votes learned plus one.

    Cost per round: O(K^2) comparisons of numbers, and O(|C| K) draws.

    >>> policy = DTS(random_state=0)
    >>> for _ in range(200):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_
    0
    """

    alpha: float = 0.51

    rule_name: ClassVar[str] = "DTS"
    plus: ClassVar[bool] = False

    def check_settings(self) -> None:
        """Check alpha > 0."""
        check_positive("alpha", self.alpha)

    def rule_settings(self) -> dict[str, float]:
        """Return alpha, and how ties are broken."""
        return {"alpha": float(self.alpha), "plus": float(self.plus)}


@dataclass(kw_only=True, eq=False, repr=False)
class DTSPlus(DTS):
    """D-TS+: double Thompson sampling whose ties for the first arm are broken by estimated regret.

    Of the arms i of C with the most wins z_i in the draw theta, as in `DTS`, the first arm is

        argmin_i sum_{j != i} (z_i - (z_i + z_j) / 2) / d(theta_ij, 1/2),   d(p, q) = p log(p / q) + (1 - p) log((1 - p) / (1 - q)).

    Wu, Liu, NeurIPS 2016, section 4.3. With several Copeland winners it settles on the one that costs least.

    Deviations
    ----------
    - All theta_ij are drawn if C has more than one arm, as published, and none if it has one.
    - Those of `DTS` for the second arm and the round.

    Cost per round: O(K^2) draws while C has more than one arm.

    >>> policy = DTSPlus(random_state=0)
    >>> for _ in range(200):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_
    0
    """

    plus: ClassVar[bool] = True
