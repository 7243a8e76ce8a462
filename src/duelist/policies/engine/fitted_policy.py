"""What a native policy has learned, and what it says of it; nothing here changes anything."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from duelist.core.arms import ArmTable
from duelist.core.arrays import Floats, check_arms, is_integer
from duelist.core.errors import InvalidInput
from duelist.policies.base import Arms, Policy
from duelist.policies.engine.arm_effects import ArmEffectsLearner, UtilityPosterior

if TYPE_CHECKING:
    from duelist.model.scorer import Scorer
    from duelist.model.stopping import Recommendation


class FittedPolicy(Policy):
    """The half of a native policy that is read: estimates, precisions, and which arm it would name."""

    link: str
    estimator: str
    pure_exploration: ClassVar[bool] = False
    """Whether it asks in order to name the best arm, and not to lose little on the way."""
    _player: Any
    _effects: ArmEffectsLearner | None

    @property
    def dim_(self) -> int | None:
        """Number of features, learned from the first arms; None before."""
        return self._effects.known.dim if self._effects is not None else self._player.dim or None

    @property
    def online_(self) -> bool:
        """Whether the one-pass estimator is used."""
        return self.estimator == "online"

    @property
    def theta_(self) -> Floats:
        """The estimate of theta; see `main_layer_` for policies with several."""
        if self._effects is not None:
            return np.asarray(self._effects.known.theta)
        return self.estimate(self.main_layer_)

    @property
    def reward_theta_(self) -> Floats:
        """The estimate for predicting votes on new arms: all votes, with the ridge that makes them most likely.

        `theta_` has the ridge that decides well; with many features or few votes this one predicts better
        (`duelist.model.ridge_selection`).
        It takes the votes themselves, which only the exact estimator keeps.
        """
        from duelist.policies.engine.pooled_fit import reward_theta  # and SciPy with it

        return reward_theta(self)

    def scorer(self) -> Scorer:
        """What was learned, as a thing of its own that scores arms and foresees votes; see `duelist.model.scorer`.

        All votes, with the ridge that makes them most likely, as in `reward_theta_`. The one-pass estimator has not kept the votes, and
        gives its own estimate, with the ridge it decides by.

        Votes count as they do for the policy. VACDB and other layered policies weigh a vote down by w^2 where little was known, and leave
        out those of rounds in which they only show what they know: the weights are part of their estimators, and what a vote would
        have counted without them is not kept. Where every vote shall count alike, take `Study.scorer`, or `fit_mle` of your log.

        >>> import duelist as dl, numpy as np
        >>> policy = dl.UniformPair(random_state=0)
        >>> policy.tell(duel := policy.ask(np.eye(3)), 1)
        >>> bool(policy.scorer().prefer(np.eye(3)[duel.first], np.eye(3)[duel.second]) > 0.5)
        True
        """
        from duelist.policies.engine.pooled_fit import learned_scorer  # and SciPy with it

        return learned_scorer(self)

    @property
    def precision_(self) -> Floats:
        """The precision Sigma that belongs to `theta_`."""
        return self.layer_precision(self.main_layer_)

    @property
    def main_layer_(self) -> int:
        """Position of the estimator with the most data (the deepest of equals)."""
        counts = self._fitted().learned
        return int(counts.size - 1 - np.argmax(counts[::-1])) if counts.any() else 0

    @property
    @abstractmethod
    def supports_arm_effects(self) -> bool:
        """Whether its rule can decide among arms that have arm effects."""

    @property
    def pooled_ridge_(self) -> Floats:
        """The ridge of every feature under the votes of all layers together."""
        arrays = self._fitted().state.arrays()
        return np.asarray(arrays["ridge"][0] * arrays["scale"])

    def posterior(self, arms: ArmTable, chosen: Sequence[int] = ()) -> UtilityPosterior:
        """What is known of `ArmTable`: utilities, variances, and covariances of those at the chosen positions with all."""
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
        """The best of these arms by all votes so far, how sure that is, and the arms not yet ruled out.

        Call it after every vote if you like, and stop when it is `decided`: the announced arm is then wrong with
        probability at most `delta` (see `duelist.model.stopping` for what is behind that). Nothing changes.

        Parameters
        ----------
        arms
            (n_arms, dim). Arms with the same features are named together.
        delta
            The error rate.
        tolerance, unit
            How much better than the announced arm another may be: a difference of utilities, or, with unit "chance", by how
            much its chance of winning may be above one half. With arms that are nearly equal, only a tolerance ends the asking.
        effects
            Whether arms have effects of their own beside their features (see `duelist.model.misfit`). None: they have where
            the votes say that features alone do not explain them, and the advice says so. That takes all arms that were asked
            about, up to 300, and who won against whom, which a policy counts (with the one-pass estimator for up to 2,048 pairs,
            those of 64 arms). An arm that is announced untested comes with the advice that it is.

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
                    "effects is False, but ArmTable have arm effects.",
                    "Leave effects out, or give (n_arms, dim).",
                    field="effects",
                )
            known = self._arm_effects(arms, keep=False)
            found = known.recommend(arms, delta, utility_tolerance(tolerance, unit, self.link))
            return replace(found, tolerance_given=(tolerance, unit), advice=advice(self, found))
        # SciPy takes longer to load than a policy to decide; who only asks and tells does not wait for it.
        from duelist.policies.engine.recommend import recommend_arm

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
        """The up-to-date estimate of one estimator."""
        return self._player.estimate(self._checked_layer(layer))

    def layer_precision(self, layer: int) -> Floats:
        """The precision Sigma of one estimator."""
        factor = np.triu(self._player.precision_factor(self._checked_layer(layer)))
        return np.asarray(factor.T @ factor)

    def _checked_layer(self, layer: int) -> int:
        layers = len(self._fitted().learned)
        if not is_integer(layer) or not -layers <= layer < layers:
            raise InvalidInput(f"layer is {layer}.", f"This policy has layers 0 to {layers - 1}.", field="layer")
        return int(layer) % layers

    @abstractmethod
    def _uses_arm_effects(self, arms: Any) -> bool:
        """Whether these arms, or those before them, have arm effects."""

    @abstractmethod
    def _arm_effects(self, arms: Any, *, keep: bool = True) -> ArmEffectsLearner:
        """What is known of arms with arm effects, of which these may be the first; who only looks does not `keep` that."""

    def _fitted(self) -> Any:
        if self._effects is not None:
            raise InvalidInput(
                f"This {type(self).__name__} knows arms by arm effects, not by theta alone.",
                "`posterior(arms)` says what it knows.",
            )
        if self._player.dim == 0:
            raise InvalidInput(f"This {type(self).__name__} has seen no arms yet.", "`ask` first.")
        return self._player
