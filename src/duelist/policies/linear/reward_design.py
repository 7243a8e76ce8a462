"""RewardDesign: the comparisons that teach most about a reward, with a share of them left to chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from duelist.core.arrays import Floats, is_number
from duelist.core.errors import InvalidInput
from duelist.policies.engine import LocalCurvature

_CONTEXTS_LOOKED_AT: Final = 1000
"""So many tell the sizes of features."""


@dataclass(kw_only=True, eq=False, repr=False)
class RewardDesign(LocalCurvature):
    """Optimal design for learning a reward model: votes that predict votes on arms nobody has compared yet.

    With H_t = ridge + sum mu'(z_s . theta_hat) z_s z_s', asks for the pair with difference z = x - y that adds most to log det H_t,

        argmax_{x, y in A_t}  log(1 + mu'(z . theta_hat) |z|^2_{H_t^-1}),

    and, with probability `coverage`, for a pair by pure chance. `ask_batch(contexts, k=n)` chooses contexts and pairs together: pair
    after pair the one that adds most to those before it, over all pairs of all contexts. What a context adds is divided by
    one more than the pairs it has in the batch already, so that it comes a second time only where that is worth two others. The share by
    chance, in contexts by chance, comes first, so that the rest knows of it. `scorer()` is what was learned.

    The criterion is the D-optimal design of Bayesian experiments in the curvature at the estimate (Chaloner and Verdinelli 1995), for
    comparisons; with the votes so far counted in it is the past-aware design of Shen, Sun and Ton (2025, arXiv 2502.04354). The share by
    chance holds up where the linear model is wrong (docs/jobs-learn.md has what was measured, and what else was tried).

    Parameters
    ----------
    coverage
        The share of duels that are left to chance, from 0 to 1. In a batch of k it is k times that, up or down to a whole number.

    Deviations
    ----------
    - The ridge is `dim` times the squared size of each feature, so that the utility of an average arm is about one in
      size before the first vote; the paper has none and fits a network.
    - From 256 arms on, pairs of the 128 arms that lie farthest from the middle of all, in H_t^-1; of more than 64
      `ArmTable`, pairs of the 64 that least is known about. Where none of these may be asked, all pairs.
    - In batches of contexts with 256 candidates and more, the pair of each context is decided first, and then the contexts.
    - With the one-pass estimator, and above 128 dimensions, a comparison keeps the slope it had when it was made.

    Cost a round: O(K^2 d) for the pairs, O(n d^2) for the curvature with n distinct differences, and a solve. A batch of k out of N
    contexts: O(N K d^2) once, then O(k d^2), and O(K d) for each pair taken and context looked at again; few are.

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
        """How candidates lie about the mean of their context: a few of one context alone say little about the size of a feature."""
        some = contexts[:_CONTEXTS_LOOKED_AT]
        if isinstance(some, list):
            about = [np.sqrt(len(c) / (len(c) - 1.0)) * (c - c.mean(axis=0)) for c in some if len(c) > 1]
            return np.concatenate(about) if about else super().initial_arms(contexts)
        n, candidates, dim = some.shape
        if candidates == 1:
            return super().initial_arms(contexts)
        unbiased = np.sqrt(candidates / (candidates - 1.0))
        return np.asarray(unbiased * (some - some.mean(axis=1, keepdims=True)).reshape(n * candidates, dim))

    def check_settings(self) -> None:
        """A share is a share."""
        super().check_settings()
        if not is_number(self.coverage) or not 0.0 <= self.coverage <= 1.0:
            raise InvalidInput(f"coverage is {self.coverage!r}.", "Give a share from 0 to 1.", field="coverage")

    def rule_settings(self) -> dict[str, float]:
        """The settings of the rule as numbers."""
        return {"coverage": float(self.coverage)}
