"""`FittedPolicy`: what a native policy has learned, read without changing it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from duelist.core.arms import ArmTable
from duelist.core.arrays import Floats, check_arms, is_integer
from duelist.core.errors import InvalidInput
from duelist.policies.base import Arms, CopiedBySnapshot, Policy
from duelist.policies.engine.arm_effects import ArmEffectsLearner, UtilityPosterior

if TYPE_CHECKING:
    from duelist.model.scorer import Scorer
    from duelist.model.stopping import Recommendation


class FittedPolicy(CopiedBySnapshot):
    """The read-only half of a native policy: estimates, precisions, scorers, and stopping decisions."""

    link: str
    estimator: str
    pure_exploration: ClassVar[bool] = False
    """Whether it asks to find the best arm, rather than to keep regret small."""
    asks_with_effects: ClassVar[bool] = False
    """Whether `ask` uses arm effects once features alone would decide (`BestArmPair`)."""
    _player: Any
    _effects: ArmEffectsLearner | None

    @property
    def dim_(self) -> int | None:
        """Number of features, set by the first arms; None before."""
        return self._effects.state.dim if self._effects is not None else self._player.dim or None

    @property
    def online_(self) -> bool:
        """Whether the one-pass estimator is used."""
        return self.estimator == "online"

    @property
    def link_(self) -> str:
        """The link of the estimates: `link`, or "davidson(nu)" if that is logistic and there are ties.

        A tie is learned by Davidson's model: equal arms tie with probability nu / (2 + nu). nu is estimated from the votes,
        and at most 4.
        """
        if self._effects is not None:
            return str(self._effects.state.link)
        return self.link if self._player.dim == 0 else str(self._player.state.link)

    @property
    def theta_(self) -> Floats:
        """The estimate of theta; see `main_layer_` for layered policies."""
        if self._effects is not None:
            return np.asarray(self._effects.state.theta)
        return self.estimate(self.main_layer_)

    @property
    def reward_theta_(self) -> Floats:
        """The estimate of theta for predicting votes: from all votes, with the ridge selected by evidence.

        `theta_` has a ridge for decisions; with many features or few votes this estimate predicts better
        (`duelist.model.ridge_selection`). It needs the votes, which only the exact estimator keeps.
        """
        from duelist.policies.engine.pooled_fit import reward_theta  # imports SciPy, which is slow

        return reward_theta(self)

    def scorer(self) -> Scorer:
        """Return a `Scorer`, which scores arms and predicts votes without the policy.

        It is fitted to all votes with the ridge selected by evidence, like `reward_theta_`. The one-pass estimator has
        not kept the votes, so its scorer has the policy's own estimate and ridge.

        Votes count as they do for the policy. VACDB and other layered policies weight a vote down by w^2 if its pair
        was uncertain, and ignore votes of rounds that only exploit; these weights are part of their estimators. To
        count every vote alike, use `Study.scorer`, or `fit_mle` on your log.

        >>> import duelist as dl, numpy as np
        >>> policy = dl.UniformPair(random_state=0)
        >>> policy.tell(duel := policy.ask(np.eye(3)), 1)
        >>> bool(policy.scorer().prefer(np.eye(3)[duel.first], np.eye(3)[duel.second]) > 0.5)
        True
        """
        from duelist.policies.engine.pooled_fit import learned_scorer  # imports SciPy, which is slow

        return learned_scorer(self)

    @property
    def precision_(self) -> Floats:
        """The precision Sigma of `theta_`."""
        return self.layer_precision(self.main_layer_)

    @property
    def main_layer_(self) -> int:
        """Index of the estimator with most data (the deepest of equals)."""
        counts = self._fitted().learned
        return int(counts.size - 1 - np.argmax(counts[::-1])) if counts.any() else 0

    @property
    @abstractmethod
    def supports_arm_effects(self) -> bool:
        """Whether its rule can decide among arms with effects."""

    @property
    def pooled_ridge_(self) -> Floats:
        """The ridge of each feature for the votes of all layers together."""
        arrays = self._fitted().state.arrays()
        return np.asarray(arrays["ridge"][0] * arrays["scale"])

    def posterior(self, arms: ArmTable, chosen: Sequence[int] = ()) -> UtilityPosterior:
        """Return the posterior utilities of an `ArmTable`, with covariances of the chosen positions."""
        return self._arm_effects(arms, keep=False).posterior(arms, chosen)

    def recommend(
        self,
        arms: Arms,
        delta: float = 0.05,
        *,
        tolerance: float = 0.0,
        unit: str = "utility",
        effects: bool | None = None,
    ) -> Recommendation:
        """Return the best of these arms by all votes so far, and whether to stop asking.

        Call it after every vote if you like, and stop once it is `decided`: the recommended arm is then wrong with
        probability at most `delta` (`duelist.model.stopping`). It changes nothing.

        Parameters
        ----------
        arms
            (n_arms, dim). Arms with the same features are recommended together.
        delta
            The error rate.
        tolerance, unit
            How much better than the recommended arm another may be: a difference of utilities, or, with unit "chance",
            how far its win probability may exceed one half. If arms are nearly equal, only a tolerance leads to a
            decision.
        effects
            Whether arms have effects beside their features (`duelist.model.misfit`). None (default): features alone
            never decide. Where they would, or where a test says that they do not explain the votes, the decision
            averages over several sizes of arm effects, so votes on the arms themselves must confirm it. `BestArmPair`
            asks for these votes; other policies may not. This needs votes by pair, which a policy counts (with the
            one-pass estimator for up to 2,048 pairs, those of 64 arms), and all arms asked about, up to 300. Otherwise
            features alone decide, and the advice says that this was not tested. False: features alone decide.

        >>> import duelist as dl, numpy as np
        >>> policy, arms = dl.LocalPairUCB(random_state=0), np.eye(3)
        >>> for _ in range(200):
        ...     duel = policy.ask(arms)
        ...     policy.tell(duel, float(duel.first < duel.second))
        >>> policy.recommend(arms).best
        0
        """
        if self._uses_arm_effects(arms):
            from duelist.model.stopping import utility_tolerance
            from duelist.policies.engine.recommend import advice

            if effects is False:
                raise InvalidInput(
                    "effects is False, but an ArmTable has arm effects.",
                    "Leave effects out, or give features (n_arms, dim).",
                    field="effects",
                )
            learner = self._arm_effects(arms, keep=False)
            found = learner.recommend(arms, delta, utility_tolerance(tolerance, unit, self.link))
            return replace(found, tolerance_given=(tolerance, unit), advice=advice(self, found))
        from duelist.policies.engine.recommend import recommend_arm  # imports SciPy, which is slow

        return recommend_arm(self, check_arms(arms, self.dim_), delta, (tolerance, unit), effects)

    def decided_arm(
        self,
        arms: Arms,
        delta: float = 0.05,
        *,
        tolerance: float = 0.0,
        unit: str = "utility",
        effects: bool | None = None,
    ) -> int | None:
        """Return the arm that `recommend` decides for, or None while undecided.

        The decision is that of `recommend`, without probabilities, forecast or advice, and faster. Read the advice of `recommend` once
        before you act on the decision.

        >>> import duelist as dl, numpy as np
        >>> policy, arms = dl.BestArmPair(random_state=0), np.eye(3)
        >>> while policy.decided_arm(arms) is None:
        ...     duel = policy.ask(arms)
        ...     policy.tell(duel, float(duel.first < duel.second))
        >>> policy.decided_arm(arms)
        0
        """
        if self._uses_arm_effects(arms):
            found = self.recommend(arms, delta, tolerance=tolerance, unit=unit, effects=effects)
            return found.best if found.decided else None
        from duelist.policies.engine.recommend import decided_arm_of

        return decided_arm_of(self, check_arms(arms, self.dim_), delta, (tolerance, unit), effects)

    def estimate(self, layer: int) -> Floats:
        """Return the up-to-date estimate of one layer."""
        return self._player.estimate(self._checked_layer(layer))

    def layer_precision(self, layer: int) -> Floats:
        """Return the precision Sigma of one layer."""
        factor = np.triu(self._player.precision_factor(self._checked_layer(layer)))
        return np.asarray(factor.T @ factor)

    def _checked_layer(self, layer: int) -> int:
        layers = len(self._fitted().learned)
        if not is_integer(layer) or not -layers <= layer < layers:
            raise InvalidInput(f"layer is {layer}.", f"This policy has layers 0 to {layers - 1}.", field="layer")
        return int(layer) % layers

    @abstractmethod
    def with_arm_effects(self, arms: Arms) -> Policy:
        """Return a policy of the same kind with arm effects that has learned the votes so far."""

    @abstractmethod
    def _uses_arm_effects(self, arms: Any) -> bool:
        """Whether the policy learns arm effects, given these arms."""

    @abstractmethod
    def _arm_effects(self, arms: Any, *, keep: bool = True) -> ArmEffectsLearner:
        """Return the learner of arm effects, started with these arms if need be, and stored if `keep`."""

    def _fitted(self) -> Any:
        if self._effects is not None:
            raise InvalidInput(
                f"This {type(self).__name__} has learned arm effects, not theta alone.",
                "Use `posterior(arms)`.",
            )
        if self._player.dim == 0:
            raise InvalidInput(f"This {type(self).__name__} has seen no arms yet.", "`ask` first.")
        return self._player
