"""The posterior of the model with arm effects, which policies for an `ArmTable` use.

The utility of arm a is x_a . theta + u_a, with the priors theta_k ~ N(0, v_k) and u_a ~ N(0, v). A feature with scale
s_k (`FeatureScale`) has v_k = f / (m s_k), where m features are scaled at the first vote; an unscaled one has v_k = 0.
Without features there is u alone. The posterior over theta and the u of all arms with votes is normal. A vote with
outcome o and total weight W on the pair (a, b), a < b, with difference z (features of a minus those of b, 1 for u_a,
-1 for u_b), updates it as in the one-pass estimate:

    a = W (o - mu(z . mean + a q)),  q = z' C z,    mean <- mean + a C z,    C <- (C^-1 + W mu'(z . mean) zz')^-1.

Only the last `block` arms with votes keep covariances. When another one gets a vote, the arm whose last vote is the
oldest keeps its mean and variance, and becomes independent of everything else.

If the feature scale changes, so does the prior. While the first votes are still stored, they are learned again.

v and f are unknown: `ArmEffectsMixture` has such a posterior for each of several pairs (v, f), weighted by prior and evidence.
The evidence is the product over votes of p(vote | earlier votes), the integral of exp(W (o g - M(g))) over
g ~ N(z . mean, q), M' = mu, by adaptive Gauss-Hermite quadrature with five nodes.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.arms import ArmTable
from duelist.reference.feature_scale import MAX_FIRST_VOTES, FeatureScale
from duelist.reference.fit import find_root
from duelist.reference.links import Floats, link_mean, link_potential, link_slope
from duelist.reference.pair_choice import Draws
from duelist.reference.ties import TieParameter


class UtilityPosterior(NamedTuple):
    """The posterior at the arms of a round: mean utilities, variances, covariances, widths of pairs, ids, the level."""

    u: Floats
    variance: Floats
    covariance: Floats
    width: Floats
    ids: NDArray[np.int64]
    level: float
    """Utility by features of an arm with the median of each feature; variances are relative to it."""


class ArmEffects:
    """Mean and covariance of theta (the first entries) and of the effects of all arms with votes."""

    def __init__(self, link: str, arms: Floats, effect_variance: float, feature_variance: float, block: int) -> None:
        self.link, self.block = link, block
        self.effect_variance, self.feature_variance = effect_variance, feature_variance
        self.dim = arms.shape[1]
        self.feature_scale = FeatureScale(arms, adaptive=self.dim > 0)
        self.first_votes: list[tuple[ArmTable, float, float]] = []
        """The votes so far, while the first arms may turn out to be atypical."""
        self.keeps_first = True
        self.votes = 0
        self.reset()
        self.scaled_features = int((~self.feature_scale.unscaled).sum()) or self.dim
        self.rescale()

    def reset(self) -> None:
        """Forget all votes and the prior."""
        self.log_evidence = 0.0
        self.mean = np.zeros(self.dim)
        self.theta_variance = np.zeros(self.dim)
        self.covariance = np.zeros((self.dim, self.dim))
        self.index: dict[int, int] = {}
        """The position of each arm effect in `mean`, by arm id."""
        self.recent: list[int] = []
        """The arms of the block, by last vote, the latest at the end."""

    def observe_arms(self, arms: Floats) -> None:
        """Scale unscaled features by the arms of a round; before the first vote they count in m."""
        if self.feature_scale.observe_arms(arms):
            self.scaled_features = self.scaled_features if self.index else int((~self.feature_scale.unscaled).sum())
            self.rescale()

    def adapted_to(self, arms: Floats) -> ArmEffects:
        """Return a copy with the feature scale for a round with these arms."""
        adapted = copy.deepcopy(self)
        adapted.observe_arms(arms)
        scale = adapted.feature_scale.for_arms(arms)
        if scale is not None:
            adapted.feature_scale = scale
            adapted.rescale()
        return adapted

    def rescale(self) -> None:
        """Adopt the new feature scale in the prior, and learn all votes again if they are stored."""
        if self.votes == len(self.first_votes):
            self.reset()
            self._change_prior()
            for pair, outcome, weight in self.first_votes:
                self._update(pair, outcome, weight)
        else:
            self._change_prior()

    def _change_prior(self) -> None:
        """Replace the prior precision of each theta_k by a rank-one update."""
        for k in np.flatnonzero(~self.feature_scale.unscaled):
            before = self.theta_variance[k]
            after = self.feature_variance / self.scaled_features / self.feature_scale.variance[k]
            column = self.covariance[k].copy()
            if before == 0.0:
                self.covariance[k, k] = after
            else:
                factor = (1.0 / after - 1.0 / before) / (max(0.0, 1.0 - column[k] / before) + column[k] / after)
                self.mean = self.mean - factor * self.mean[k] * column
                self.covariance = self.covariance - factor * np.outer(column, column)
            self.theta_variance[k] = after

    def update(self, pair: ArmTable, outcome: float, weight: float) -> None:
        """Learn one vote."""
        a, b = pair.ids.tolist()
        if a == b:
            return
        if a > b:
            self.update(pair[[1, 0]], 1.0 - outcome, weight)
            return
        if self.feature_scale.observe_vote(pair.features[0] - pair.features[1], weight):
            self.rescale()
        keeps = self.feature_scale.is_early and self.keeps_first
        self.first_votes = [*self.first_votes, (pair, outcome, weight)] if keeps else []
        self.keeps_first = self.keeps_first and len(self.first_votes) <= MAX_FIRST_VOTES
        self.first_votes = self.first_votes if self.keeps_first else []
        self.votes += 1
        self._update(pair, outcome, weight)

    def _update(self, pair: ArmTable, outcome: float, weight: float) -> None:
        weight *= self.feature_scale.outlier_weight(pair.features[0] - pair.features[1])
        direction, q, v = self._compare(pair)

        def excess(step: float) -> float:
            return step - weight * (outcome - float(link_mean(self.link, v + step * q)))

        step = find_root(excess, 0.0, -excess(0.0)) if excess(0.0) != 0.0 else 0.0
        self.log_evidence += log_vote_probability(self.link, v, q, v + step * q, outcome, weight)
        self.mean = self.mean + step * direction
        self._reduce_covariance(direction, q, weight * float(link_slope(self.link, v + step * q)))

    def add_pending(self, pair: ArmTable) -> None:
        """Reduce the covariance by a pending duel, with its slope at the current mean."""
        a, b = pair.ids.tolist()
        if a != b:
            direction, q, v = self._compare(pair)
            weight = self.feature_scale.outlier_weight(pair.features[0] - pair.features[1])
            self._reduce_covariance(direction, q, weight * float(link_slope(self.link, v)))

    def _compare(self, pair: ArmTable) -> tuple[Floats, float, float]:
        """C z, z' C z and z . mean, after adding both arms to the block."""
        a, b = pair.ids.tolist()
        self._add_to_block(a, b)
        self._add_to_block(b, a)
        row_a, row_b = self._rows(pair)
        z = row_a - row_b
        direction = self.covariance @ z
        return direction, float(z @ direction), float(z @ self.mean)

    def margin(self, pair: ArmTable) -> float:
        """z . mean of a pair, 0 for effects of arms without votes."""
        row_a, row_b = self._rows(pair)
        return float((row_a - row_b) @ self.mean)

    def _reduce_covariance(self, direction: Floats, q: float, curvature: float) -> None:
        self.covariance = self.covariance - curvature / (1.0 + curvature * q) * np.outer(direction, direction)

    def posterior(self, arms: ArmTable) -> UtilityPosterior:
        """The posterior at these arms; the effects of arms without votes have their prior.

        Duels leave the level of utilities open, so variances are relative to an arm with the median of each feature.
        """
        rows = self._rows(arms)
        prior = np.array([0.0 if arm in self.index else self.effect_variance for arm in arms.ids.tolist()])
        u, width = rows @ self.mean, np.sqrt(self._squared_widths(rows, prior))
        median = np.sort(arms.features, axis=0)[(len(arms) - 1) // 2]
        rows[:, : self.dim] -= median
        covariance = rows @ self.covariance @ rows.T + np.diag(prior)
        return UtilityPosterior(
            u, np.diagonal(covariance), covariance, width, arms.ids, float(median @ self.mean[: self.dim])
        )

    def _squared_widths(self, rows: Floats, prior: Floats) -> Floats:
        """z' C z of all pairs with difference z, plus the prior variances of effects without votes."""
        differences = [rows - row for row in rows]
        squares = np.array([((z @ self.covariance) * z).sum(axis=1) for z in differences])
        squares = np.maximum(squares, 0.0) + prior[:, None] + prior
        np.fill_diagonal(squares, 0.0)
        return squares

    def _rows(self, arms: ArmTable) -> Floats:
        rows = np.zeros((len(arms), len(self.mean)))
        rows[:, : self.dim] = arms.features
        for k, arm in enumerate(arms.ids.tolist()):
            if arm in self.index:
                rows[k, self.index[arm]] = 1.0
        return rows

    def _add_to_block(self, arm: int, partner: int) -> None:
        if arm not in self.index:
            self.index[arm] = len(self.mean)
            self.mean = np.append(self.mean, 0.0)
            larger = np.zeros((len(self.mean), len(self.mean)))
            larger[:-1, :-1], larger[-1, -1] = self.covariance, self.effect_variance
            self.covariance = larger
        if arm in self.recent:
            self.recent.remove(arm)
        elif len(self.recent) == self.block:
            oldest = next(other for other in self.recent if other != partner)
            self.recent.remove(oldest)
            k = self.index[oldest]
            variance = self.covariance[k, k]
            self.covariance[k], self.covariance[:, k] = 0.0, 0.0
            self.covariance[k, k] = variance
        self.recent.append(arm)


def log_vote_probability(link: str, v: float, q: float, mode: float, outcome: float, weight: float) -> float:
    """The log of the integral of exp(W (o g - M(g))) over g ~ N(v, q), given the maximum of the integrand."""
    spread = np.sqrt(q / (1.0 + weight * float(link_slope(link, mode)) * q))
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    g = mode + spread * nodes
    exponent = weight * (outcome * g - link_potential(link, g)) - 0.5 * (g - v) ** 2 / q + 0.5 * nodes**2
    return float(np.log(weights @ np.exp(exponent) / np.sqrt(2.0 * np.pi)) + np.log(spread) - 0.5 * np.log(q))


class ArmEffectsMixture:
    """A posterior for each pair (v, f) of candidate variances, with its log prior weight.

    The one with the largest weight decides, or the widest that is almost as likely, or one drawn by its weight. Models
    with less than e^-10 of the largest weight are dropped, once the first arms can no longer turn out to be atypical.
    """

    def __init__(self, link: str, arms: Floats, candidates: Floats, block: int) -> None:
        self.models = [(float(p), ArmEffects(link, arms, float(v), float(f), block)) for v, f, p in candidates]
        self.ties = TieParameter()

    @property
    def log_weights(self) -> Floats:
        """Log weights up to a constant."""
        return np.array([prior + model.log_evidence for prior, model in self.models])

    @property
    def best(self) -> ArmEffects:
        """The model of largest weight."""
        return self.models[int(np.argmax(self.log_weights))][1]

    @property
    def widest(self) -> ArmEffects:
        """The model with the largest prior variances of those with at least e^-2 of the largest weight; of equals the likeliest."""
        weights = self.log_weights
        plausible = np.flatnonzero(weights >= weights.max() - 2.0)

        def breadth(k: int) -> tuple[float, float]:
            model = self.models[k][1]
            return model.effect_variance + (model.feature_variance if model.dim else 0.0), float(weights[k])

        return self.models[max(plausible.tolist(), key=breadth)][1]

    def deciding(self, which: str, draws: Draws) -> ArmEffects:
        """The model that decides; one that is drawn has a probability in proportion to its weight."""
        if which != "drawn":
            return self.widest if which == "widest" else self.best
        shares = np.exp(self.log_weights - self.log_weights.max())
        above = np.flatnonzero(np.cumsum(shares) > draws.uniform() * shares.sum())
        return self.models[above[0] if above.size else -1][1]

    def observe_arms(self, arms: Floats) -> None:
        """Scale unscaled features of every model by the arms of a round."""
        for _, model in self.models:
            model.observe_arms(arms)

    def update(self, pair: ArmTable, outcome: float, weight: float, tie: bool = False) -> None:
        """Learn one vote."""
        if pair.ids[0] == pair.ids[1]:
            return
        self._count_tie(pair, tie, weight)
        for _, model in self.models:
            model.update(pair, outcome, weight)
        if not self.best.feature_scale.is_early:
            weights = self.log_weights
            self.models = [self.models[k] for k in np.flatnonzero(weights >= weights.max() - 10.0)]

    def _count_tie(self, pair: ArmTable, tie: bool, weight: float) -> None:
        """Count a vote for the parameter of ties, by the likeliest model; all models share the link."""
        if self.best.link in ("probit", "exponential"):
            return
        self.ties.add_exposure(self.best.margin(pair), weight)
        if self.ties.count(tie, weight):
            self.ties.estimate(lambda _: self.ties.exposure)
            for _, model in self.models:
                model.link = self.ties.link

    @property
    def link(self) -> str:
        """The link, with the parameter of ties."""
        return self.best.link

    def posterior(self, arms: ArmTable) -> UtilityPosterior:
        """Mean, covariance and widths under the mixture."""
        weights = self.log_weights
        shares = np.exp(weights - weights.max()) / np.exp(weights - weights.max()).sum()
        each = [model.adapted_to(arms.features).posterior(arms) for _, model in self.models]
        level = sum(share * known.level for share, known in zip(shares, each, strict=True))
        mean = sum(share * known.u for share, known in zip(shares, each, strict=True))
        off = [known.u - known.level - (mean - level) for known in each]
        covariance = sum(
            share * (known.covariance + np.outer(apart, apart))
            for share, known, apart in zip(shares, each, off, strict=True)
        )
        squares = sum(
            share * (known.width**2 + np.subtract.outer(apart, apart) ** 2)
            for share, known, apart in zip(shares, each, off, strict=True)
        )
        return UtilityPosterior(mean, np.diagonal(covariance), covariance, np.sqrt(squares), arms.ids, level)
