"""RewardDesign (pair choice: `native/policies/reward_design.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from duelist.core.arrays import Floats, is_number
from duelist.core.errors import InvalidInput
from duelist.policies.engine import LocalCurvature

_MAX_SCALE_CONTEXTS: Final = 1000
"""Number of contexts of a first batch that set the feature scale."""


@dataclass(kw_only=True, eq=False, repr=False)
class RewardDesign(LocalCurvature):
    """Optimal design for a reward model: votes that predict votes on arms not compared yet.

    With H_t = ridge + sum mu'(z_s . theta_hat) z_s z_s', asks the pair with difference z = x - y that adds most to log
    det H_t,

        argmax_{x, y in A_t}  log(1 + mu'(z . theta_hat) |z|^2_{H_t^-1}),

    and, with probability `coverage`, a uniformly random pair. `ask_batch(contexts, k=n)` chooses contexts and pairs
    together: pair after pair the one that adds most to those before it, over all pairs of all contexts. The gain of a
    pair is divided by one more than the number of pairs that its context has in the batch already, so a context returns
    only if that is worth two others. The random share, in random contexts, is chosen first, so that the rest takes it
    into account. `scorer()` returns the fitted model.

    The criterion is Bayesian D-optimal design in the curvature at the estimate (Chaloner and Verdinelli 1995), for
    comparisons; with the votes so far counted in it is the past-aware design of Shen, Sun and Ton (2025, arXiv
    2502.04354). The random share protects against misspecification of the linear model (docs/evidence/goal-learn.md has
    measurements and alternatives).

    Parameters
    ----------
    coverage
        The share of random duels, from 0 to 1. In a batch of k it is k times that, rounded up or down.

    Deviations
    ----------
    - The ridge is `dim` times the variance of each feature, so that the utility of an average arm is about one before
      the first vote; the paper has none and fits a network.
    - From 256 arms on, pairs of the 128 arms farthest from the mean of all, in H_t^-1; with more than 64 arms in an
      `ArmTable`, pairs of the 64 most uncertain arms. All pairs if these are all excluded.
    - In batches of contexts with 256 candidates or more, the pair of each context is chosen first, and then the
      contexts.
    - With the one-pass estimator, and above 128 dimensions, a comparison keeps the slope it had when it was learned.

    Cost per round: O(K^2 d) for the pairs, O(n d^2) for the curvature with n distinct differences, and a solve. A batch
    of k out of N contexts: O(N K d^2) once, then O(k d^2), and O(K d) for each pair taken and each of the few contexts
    reconsidered.

    >>> import numpy as np
    >>> policy = RewardDesign(random_state=0)
    >>> answers = np.random.default_rng(0).normal(size=(200, 4, 8))  # 200 prompts, 4 answers each, 8 features
    >>> for context, duel in policy.ask_batch(answers, k=20):
    ...     policy.tell(duel, float(answers[context, duel.first, 0] > answers[context, duel.second, 0]))
    >>> policy.scorer().score(np.eye(8)).argmax()
    np.int64(0)
    """

    coverage: float = 0.25

    pure_exploration: ClassVar[bool] = True

    ridge_reference_dim: ClassVar[float] = 1.0

    def initial_arms(self, contexts: Floats | list[Floats]) -> Floats:
        """Return candidates relative to the mean of their context: one context has too few for a feature scale."""
        sample = contexts[:_MAX_SCALE_CONTEXTS]
        if isinstance(sample, list):
            centred = [np.sqrt(len(c) / (len(c) - 1.0)) * (c - c.mean(axis=0)) for c in sample if len(c) > 1]
            return np.concatenate(centred) if centred else super().initial_arms(contexts)
        n, candidates, dim = sample.shape
        if candidates == 1:
            return super().initial_arms(contexts)
        unbiased = np.sqrt(candidates / (candidates - 1.0))
        return np.asarray(unbiased * (sample - sample.mean(axis=1, keepdims=True)).reshape(n * candidates, dim))

    def check_settings(self) -> None:
        """Check the random share."""
        super().check_settings()
        if not is_number(self.coverage) or not 0.0 <= self.coverage <= 1.0:
            raise InvalidInput(f"coverage is {self.coverage!r}.", "Give a share from 0 to 1.", field="coverage")

    def rule_settings(self) -> dict[str, float]:
        """Return the settings of the rule as numbers."""
        return {"coverage": float(self.coverage)}
