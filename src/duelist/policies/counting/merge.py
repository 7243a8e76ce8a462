"""MergeRUCB and MergeDTS (rule: `native/counting/merge.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.core.arrays import check_integer, check_probability, is_number
from duelist.core.errors import InvalidInput
from duelist.policies.counting.counting_policy import CountingPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class MergeRUCB(CountingPolicy):
    """MergeRUCB: duels within small batches, whose losers leave and which are merged as they shrink; for very many arms.

    Arms are divided at random into batches of p. Round t is that of batch m = t mod b, b the number of batches; with

        u_ij = w_ij / n_ij + sqrt(alpha log(t + C) / n_ij),   x / 0 := 1,
        C = ((4 alpha - 1) K^2 / ((2 alpha - 1) delta))^(1 / (2 alpha - 1)),

    every arm i of it with u_ij < 1/2 for some j of it leaves; a batch with one arm joins the next one. A random arm c
    of the batch meets argmax_j u_jc, j != c, ties at random. Once K / 2^S arms remain, S = 1, 2, ..., the smallest
    batches are merged with the largest, to at most 1.5 p arms. Zoghi, Whiteson, de Rijke, "MergeRUCB: a method for
    large-scale online ranker evaluation", WSDM 2015, Algorithm 1. For a Condorcet winner; p >= 4, alpha > 1/2.

    Parameters
    ----------
    alpha
        Width of the confidence bounds u_ij; above 1/2.
    delta
        Error probability of the bounds.
    batch_size
        Number of arms p per batch.

    Deviations
    ----------
    - If all arms of a batch would leave at once, in a cycle, none does.
    - The paper asks for merged batches of 0.5 p to 1.5 p arms. Here, in order of size, the smallest batch is merged
      with the largest while they have at most 1.5 p together, else the largest stays alone; once more if one has 0.5 p
      or fewer, as in the authors' program.
    - A new arm joins the smallest batch. The last arm meets itself, with `distinct=True` the one with the largest win
      rate against it. The round t is the number of votes learned plus one.

    Cost per round: O(K) to find the batch, O(p^2) within it.

    >>> policy = MergeRUCB(random_state=0)
    >>> for _ in range(500):
    ...     policy.tell(duel := policy.ask(8), float(duel.first < duel.second))
    >>> policy.leader_
    0
    """

    alpha: float = 1.01
    delta: float = 0.01
    batch_size: int = 4

    def check_settings(self) -> None:
        """Check alpha > 1/2, without which C is undefined, delta, and the batch size."""
        if not is_number(self.alpha) or not 0.5 < self.alpha < 1e6:
            raise InvalidInput(
                f"alpha is {self.alpha!r}.", "Give a number above 1/2; the regret bound needs it.", field="alpha"
            )
        check_probability("delta", self.delta)
        check_integer("batch_size", self.batch_size, 2)

    def rule_settings(self) -> dict[str, float]:
        """Return the bounds and the batch size."""
        return {
            "alpha": float(self.alpha),
            "delta": float(self.delta),
            "batch_size": float(min(self.batch_size, 2**20)),
        }


@dataclass(kw_only=True, eq=False, repr=False)
class MergeDTS(MergeRUCB):
    """MergeDTS: MergeRUCB with duels by Thompson sampling, the winner of a draw against its surest loser.

    Batches, losers and merging are those of `MergeRUCB`. Within the batch of the round, with theta_ij ~ Beta(w_ij + 1,
    w_ji + 1),

        c = argmax_i #{j : theta_ij > 1/2}, ties at random,   d = argmin_{j != c} of new draws theta_jc:

    the arm that loses most surely leaves soonest. Li, Markov, de Rijke, Zoghi, "MergeDTS: a method for effective
    large-scale online ranker evaluation", ACM Transactions on Information Systems 38, 2020, Algorithm 1. For a
    Condorcet winner.

    Deviations: those of `MergeRUCB`.

    Cost per round: O(K) to find the batch, O(p^2) draws within it.

    >>> policy = MergeDTS(random_state=0)
    >>> for _ in range(500):
    ...     policy.tell(duel := policy.ask(8), float(duel.first < duel.second))
    >>> policy.leader_
    0
    """
