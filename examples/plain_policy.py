"""A policy of your own in plain Python: epsilon-greedy, compared with VACDB.

Derive from `Policy` and write `ask` and `tell`; simulations in the same worlds as the built-in policies, paired
comparisons, plots and studies then work. Run it:

    python examples/plain_policy.py
"""

from pathlib import Path

import numpy as np

import duelist as dl


class EpsilonGreedy(dl.Policy):
    """Play the two arms of largest estimated utility, or with probability epsilon a random second arm."""

    def __init__(self, epsilon=0.1, ridge=1.0, random_state=None):
        # Store every setting under its own name: `simulate` clones the policy for each run.
        self.epsilon, self.ridge, self.random_state = epsilon, ridge, random_state
        self._rng = np.random.default_rng(random_state)
        self._asked = 0
        self._pending = {}  # duel id -> difference, until the outcome is told
        self._differences, self._outcomes, self._weights = [], [], []
        self._theta = 0.0  # nothing learned yet

    def ask(self, arms):
        """Return two positions in `arms`; asking learns nothing."""
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
        """Learn one outcome and fit theta again; outcomes may come late and in any order."""
        if duel.id not in self._pending:
            raise dl.UnknownDuel(f"Duel {duel.id} is not pending.", "Tell each duel once.")
        self._differences.append(self._pending.pop(duel.id))
        self._outcomes.append(outcome)
        self._weights.append(weight)
        self._theta = dl.fit_mle(self._differences, self._outcomes, self._weights, ridge=self.ridge).theta


def main(horizon=300, runs=10):
    """Compare both policies in the same ten worlds; the last column is the paired difference."""
    policies = [dl.VACDB(horizon=horizon), EpsilonGreedy()]
    found = dl.simulate(policies, dl.environments.Hypercube(dim=4), horizon, runs, seed=0)
    print(found.summary())
    picture = Path("out/examples/plain_policy.png")
    picture.parent.mkdir(parents=True, exist_ok=True)
    found.plot().figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main()
