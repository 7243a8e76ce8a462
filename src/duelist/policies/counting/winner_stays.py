"""WSW and WSS (rule: `native/counting/winner_stays.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

from duelist.core.arrays import is_number
from duelist.core.errors import InvalidInput
from duelist.policies.counting.counting_policy import CountingPolicy


@dataclass(kw_only=True, eq=False, repr=False)
class WSW(CountingPolicy):
    """Winner Stays for weak regret, WS-W: the two arms with the most net wins.

    With q_i the number of duels that arm i has won minus those it has lost,

        first = argmax_i q_i,   second = argmax_{i != first} q_i,

    with ties broken for the first arm of the last duel, then its second arm, then at random. Chen, Frazier, "Dueling
    bandits with weak regret", ICML 2017. For a Condorcet winner; its expected weak regret is bounded whatever the
    horizon.

    Deviations
    ----------
    - The published rule waits for each outcome. Here a pending duel counts, for the next decision, as won by the arm
      with more net wins (of equals the first), so that the leader moves on to the next opponent.
    - The last duel is the one told last. A tie moves neither arm; a weight moves both by that much.
    - With `distinct=False` a first arm without an allowed opponent meets itself.

    Cost per round: O(K).

    >>> policy = WSW(random_state=0)
    >>> for _ in range(200):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_
    0
    """


@dataclass(kw_only=True, eq=False, repr=False)
class WSS(CountingPolicy):
    """Winner Stays for strong regret, WS-S: rounds of WS-W, between which the winner meets itself ever longer.

    Round l of WS-W is over when all arms but one have q_i = -l. Then that one, argmax q, meets itself floor(beta^l)
    times, and round l + 1 begins. Chen, Frazier, ICML 2017; beta > 1, 1.1 by default.

    Parameters
    ----------
    beta
        Each exploitation is this many times longer than the one before; above 1.

    Deviations
    ----------
    - Late votes may bring q to values that WS-W never reaches, so a round is over when at most one arm has q_i > -l.
    - Pending duels: as with `WSW`.
    - With `distinct=True` the winner meets, instead of itself, the arm with the largest win rate against it; that vote
      counts in `wins_` and leaves q unchanged, like a self-duel.

    Cost per round: O(K).

    >>> policy = WSS(random_state=0)
    >>> for _ in range(200):
    ...     policy.tell(duel := policy.ask(4), float(duel.first < duel.second))
    >>> policy.leader_
    0
    """

    beta: float = 1.1

    def check_settings(self) -> None:
        """Check beta > 1, so that exploitation grows."""
        if not is_number(self.beta) or not 1.0 < self.beta < float("inf"):
            raise InvalidInput(
                f"beta is {self.beta!r}.",
                "Give a number above 1, by which each exploitation is longer than the last.",
                field="beta",
            )

    def rule_settings(self) -> dict[str, float]:
        """Return beta."""
        return {"beta": float(self.beta)}
