"""A policy of your own, in plain Python: epsilon-greedy, played against VACDB.

Subclass `Policy`, write `ask` and `tell`, and everything else works: simulations on the same worlds
as the built-in policies, paired comparisons, plots. Run it:

    python examples/plain_policy.py
"""

import numpy as np

import duelist as dl


class EpsilonGreedy(dl.Policy):
    """The arm that looks best meets the runner-up, or with chance epsilon any arm at all."""

    def __init__(self, epsilon=0.1, ridge=1.0, random_state=None):
        # Keep every setting under its own name: `simulate` reads them to make a fresh copy for each run.
        self.epsilon, self.ridge, self.random_state = epsilon, ridge, random_state
        self._rng = np.random.default_rng(random_state)
        self._asked = 0
        self._pending = {}  # id of a duel -> its difference, until the outcome comes
        self._differences, self._outcomes, self._weights = [], [], []
        self._theta = 0.0  # knows nothing yet: all arms look the same

    def ask(self, arms):
        """Two positions in `arms`; nothing is learned here, however often this is called."""
        arms = np.asarray(arms, dtype=float)
        by_utility = np.argsort(-(arms * self._theta).sum(axis=1), kind="stable")
        first, second = by_utility[0], by_utility[min(1, len(arms) - 1)]
        if self._rng.random() < self.epsilon:
            second = self._rng.integers(len(arms))
        duel = dl.Duel(int(first), int(second), id=self._asked)
        self._pending[duel.id] = arms[first] - arms[second]
        self._asked += 1
        return duel

    def tell(self, duel, outcome, weight=1.0):
        """One outcome more: fit theta again. Outcomes may come late and in any order."""
        if duel.id not in self._pending:
            raise dl.UnknownDuel(f"duel {duel.id} is not waiting for an outcome; tell each duel once")
        self._differences.append(self._pending.pop(duel.id))
        self._outcomes.append(outcome)
        self._weights.append(weight)
        self._theta = dl.fit_mle(self._differences, self._outcomes, self._weights, ridge=self.ridge).theta


def main(horizon=300, runs=10):
    """Both policies in the same ten worlds; the last column is the paired difference."""
    policies = [dl.VACDB(horizon=horizon), EpsilonGreedy()]
    print(dl.simulate(policies, dl.environments.Hypercube(dim=4), horizon, runs, seed=0).summary())


if __name__ == "__main__":
    main()
