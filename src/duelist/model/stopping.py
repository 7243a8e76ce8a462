"""The stopping rule: which arm is best, how sure that is, and whether to stop asking.

Given the Laplace posterior N(theta, H^-1), the best arm is i = argmax x . theta. An arm j with gap g = (x_i - x_j) . theta is ruled out if

    g^2 / w^2 + 2 log(2 Phi(g / w)) > log(w_0^2 / w^2) + 2 log((K - 1) / delta),

where w = |x_i - x_j|_{H^-1}, and w_0 is the same before any vote, when H was the ridge. Half of the left side minus half of
log(w_0^2 / w^2) is the log likelihood ratio of "i is better than j", mixed over N(0, w_0^2) truncated at zero, to "they are equal" (the
normal mixture of Robbins 1970, one-sided). If j is as good as i, it ever reaches log((K - 1) / delta) with probability at most
delta / (K - 1). The rule may therefore be checked after every vote (it is anytime-valid): the arm decided for is wrong with probability at
most delta, up to the normal approximation.

With several models (`Mixture`), such as several sizes of arm effects, each likelihood ratio is that of the mixture: with prior
weights and evidence of model m in p_m, arm j is ruled out if

    sum_m p_m 2 Phi(g_m / w_m)  >  (K - 1) / delta  sum_m p_m (w_0m / w_m) exp(-g_m^2 / (2 w_m^2)),

where i has the largest mean utility under the posterior of the mixture. With one model this is the rule above.

With a tolerance e > 0, g + e replaces g, and "j is better by e" replaces "they are equal": an arm is ruled out once the votes show that it
is not better by e or more. The arm decided for is then best to within e with the same probability, and the rule stops even
if arms are nearly equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_ndtr, logsumexp

from duelist.core.arrays import Floats, check_choice, is_number
from duelist.core.errors import InvalidInput
from duelist.model.links import Link, get_link

DRAWS: Final = 4000
"""Posterior draws for the probability of being best; its standard error is below 0.008."""
_MIN_DRAWS: Final = 400
"""With very many candidates; the standard error is then below 0.025."""
_MAX_WORK: Final = 2**33
"""Multiplications to spend on the draws, a few seconds' worth."""
_JITTER: Final = (0.0, 1e-12, 1e-9, 1e-6)
"""Added to the diagonal of a scaled matrix until it can be factored."""
_NORMAL_QUANTILE: Final = 1.959963984540054
_SEED: Final = 0
_CHUNK: Final = 2**20
"""Utilities drawn at a time, few enough to stay in the processor's cache."""
_TIED_WITHIN: Final = 1e-6
"""Gaps below this share of their standard deviation are ties."""
_MAX_LISTED: Final = 3
UNITS: Final = ("utility", "chance")
ONE_LOOK: Final = "posterior, for a single look at the votes"
ANY_LOOK: Final = "stopping rule, valid at any time, so it needs more votes"
"""Labels of the two inferences in one sentence, with the reason why they differ."""
MIN_VOTES_TO_FORECAST: Final = 20
"""Below this number of votes no forecast is made."""
MAX_FORECAST_RATIO: Final = 50

Bools = NDArray[np.bool_]
A = TypeVar("A")


@dataclass(frozen=True)
class StoppingDecision(Generic[A]):
    """The best arm so far, the arms not ruled out, and whether that decides it; arms are positions or ids."""

    best: A
    probability: float
    """Posterior probability of being the best candidate, with a tolerance of being the best arm; identical arms count as one."""
    interval: tuple[float, float]
    """95 % interval of its lead over the arm that comes closest to being better; (0, 0) for a single arm."""
    candidates: tuple[A, ...]
    """Arms not ruled out at the error rate `delta`: the best first, then by utility."""
    delta: float
    identical: tuple[A, ...] = ()
    """Arms with the same features as the best: no vote can tell them apart."""
    tolerance: float = 0.0
    """How much better, in utility, an arm may be that is ruled out."""
    votes_expected: int | None = None
    """Forecast of the votes still needed (`forecast_votes`); None without a forecast."""
    advice: str = ""
    """Warnings and how to resolve them; empty without any."""
    tied: tuple[A, ...] = ()
    """Arms exactly as good as the best by the votes so far; the best is merely the first of them."""
    tolerance_given: tuple[float, str] | None = None
    """The tolerance as given, with its unit; None: in utility."""
    of: str = "arm"
    """The kind compared: "arm" or "system"."""

    @property
    def decided(self) -> bool:
        """Whether to stop: every other arm is ruled out or identical to the best."""
        return set(self.candidates) <= {self.best, *self.identical}

    def __str__(self) -> str:
        if self.decided and self.interval == (0.0, 0.0):
            return f"{self._best().rstrip(',')}; there are no other {self.of}s to compare with"
        parts = [self._tie() if self.tied else self._lead()]
        parts.append(self._open_arms() + (self._within_tolerance() if self.tolerance else self._error_rate()))
        if not self.decided:
            parts.append(self._forecast())
        return "; ".join([*parts, *([self.advice] if self.advice else [])])

    def _best(self) -> str:
        arms = " and ".join(f"{self.of} {arm}" for arm in (self.best, *self.identical))
        return f"{arms} {'are best, with the same features,' if self.identical else 'is best'}"

    def _lead(self) -> str:
        low, high = self.interval
        lead = f"lead{'' if self.identical else 's'} by {low:.3g} to {high:.3g}"
        label = "" if self.decided else f" ({ONE_LOOK})"
        return f"{self._best()} with probability {self.probability:.3f}{label}; {lead}"

    def _tie(self) -> str:
        return f"{self.of}s {join_names((self.best, *self.identical, *self.tied))} are tied: the votes so far favour none of them"

    def _open_arms(self) -> str:
        others = len(set(self.candidates) - {self.best, *self.identical})
        if self.decided:
            return f"no {self.of} is better than {self.of} {self.best}" if self.tied else "all others are ruled out"
        if not self.tied:
            return f"{count_others(others)} not ruled out"
        if others == len(self.tied):
            return "none of them is ruled out"
        return f"{others} besides {self.best} are not ruled out"

    def _error_rate(self) -> str:
        return f" at error rate {self.delta:g}{self._rule()}"

    def _rule(self) -> str:
        return "" if self.decided or self.tied else f" ({ANY_LOOK})"

    def _within_tolerance(self) -> str:
        tolerance = format_tolerance(self.tolerance, self.tolerance_given)
        better = "" if self.tied and self.decided else " as better"
        return f"{better} by more than {tolerance}, at error rate {self.delta:g}{self._rule()}"

    def _forecast(self) -> str:
        votes = self.votes_expected
        if votes is None:
            return "the number of votes still needed cannot be forecast"
        return f"about {votes:,.0f} vote{'' if votes == 1 else 's'} more"


class Recommendation(StoppingDecision[int]):
    """A stopping decision about arms by position."""


def format_tolerance(tolerance: float, given: tuple[float, str] | None = None) -> str:
    """Return a tolerance as text, in the unit in which it was given.

    >>> format_tolerance(0.04), format_tolerance(0.04, (0.01, "chance"))
    ('0.04 in utility', '0.01 in the chance to win')
    """
    amount, unit = (tolerance, "utility") if given is None else given
    return f"{amount:.3g} in {'utility' if unit == 'utility' else 'the chance to win'}"


def count_others(count: int, of: int | None = None) -> str:
    """Return a number of other arms with its verb.

    >>> count_others(1), count_others(5), count_others(1, of=1)
    ('1 other is', '5 others are', '1 of 1 other is')
    """
    noun = "other" if (count if of is None else of) == 1 else "others"
    return f"{count}{'' if of is None else f' of {of}'} {noun} {'is' if count == 1 else 'are'}"


def join_names(arms: Sequence[object]) -> str:
    """Return the first few names, and how many more there are.

    >>> join_names("ab"), join_names("abcd"), join_names("abcdefg")
    ('a and b', 'a, b, c and d', 'a, b, c and 4 others')
    """
    names = [str(arm) for arm in arms]
    if len(names) > _MAX_LISTED + 1:
        names = [*names[:_MAX_LISTED], f"{len(names) - _MAX_LISTED} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def tied_with_best(best: int, gaps: Floats, squares: Floats) -> NDArray[np.int64]:
    """Return the other arms that are exactly as good as `best`, except identical ones, whose width is 0."""
    tied = (squares > 0.0) & (gaps <= _TIED_WITHIN * np.sqrt(squares)) & (np.arange(len(gaps)) != best)
    return np.flatnonzero(tied)


def check_delta(delta: float) -> float:
    """Return an error rate strictly between 0 and 1."""
    if isinstance(delta, bool) or not isinstance(delta, (int, float, np.floating)) or not 0.0 < delta < 1.0:
        raise InvalidInput(f"delta is {delta!r}.", "Give an error rate between 0 and 1.", field="delta")
    return float(delta)


def utility_tolerance(tolerance: float, unit: str, link: str | Link = "logistic") -> float:
    """Return a tolerance as a difference of utilities.

    With unit "chance" a tolerance is how far the win probability of another arm may exceed one half: 0.01 is one percentage point.

    >>> round(utility_tolerance(0.01, "chance"), 4)
    0.04
    """
    if not is_number(tolerance) or not 0.0 <= tolerance < np.inf:
        raise InvalidInput(f"tolerance is {tolerance!r}.", "Give a finite number of at least 0.", field="tolerance")
    check_choice("unit", unit, UNITS)
    if unit == "utility" or tolerance == 0.0:
        return float(tolerance)
    if not tolerance < 0.5:
        raise InvalidInput(
            f"tolerance is {tolerance!r}.",
            "Give less than 0.5 with unit 'chance': a win probability exceeds one half by less than that.",
            field="tolerance",
        )
    from scipy.optimize import brentq  # slow to import and rarely needed

    mean = get_link(link).mean
    return float(brentq(lambda v: float(mean(v)) - 0.5 - tolerance, 0.0, 700.0))


@dataclass(frozen=True)
class LinearPosterior:
    """Normal posterior of theta: its mode, the curvature H there, the ridge within H, and the number of votes."""

    theta: Floats
    curvature: Floats
    ridge: float | Floats
    votes: float = 0.0
    root: Floats | None = None
    """Upper factor R of the curvature R'R, if known more precisely than from the curvature."""

    def whiten(self, rows: Floats) -> Floats:
        """Return R'^-1 x for every row x, so that their inner products are those of H^-1."""
        root = upper_factor(self.curvature) if self.root is None else self.root
        return np.asarray(solve_triangular(root, rows.T, trans="T").T)


def curvature_root(z: Floats, weights: Floats, ridge: Floats) -> Floats:
    """Return the upper factor of diag(ridge) + z' diag(weights) z without forming that matrix.

    Its rounding errors would hide a feature whose differences are a hundred million times smaller than another's, and count as information
    about it.
    """
    stacked = np.vstack([np.diag(np.sqrt(ridge)), z * np.sqrt(weights)[:, None]])
    scale = np.sqrt(np.square(stacked).sum(axis=0))
    return np.asarray(np.linalg.qr(stacked / scale, mode="r")) * scale


@dataclass(frozen=True)
class Model:
    """One model of a mixture: features of the arms, effects included, the posterior, and the log of its weight."""

    arms: Floats
    posterior: LinearPosterior
    log_weight: float


Mixture = Sequence[Model]
"""Models with the logs of their posterior weights, which need not add to 1."""


def recommend(
    arms: Floats,
    posterior: LinearPosterior | Mixture,
    delta: float = 0.05,
    tolerance: float = 0.0,
    *,
    rules_out: bool = True,
) -> Recommendation:
    """Apply the stopping rule to arms (n_arms, dim).

    Parameters
    ----------
    arms, posterior
        Features of the arms, and what the votes say about theta, by one model or several.
    delta, tolerance
        Error rate, and tolerance in utility.
    rules_out
        False: rule out no arm, whatever the posterior says.
    """
    delta = check_delta(delta)
    found = _compare(arms, posterior, delta, tolerance)
    if not rules_out:
        found.open[:] = True
    # An arm ruled out with a tolerance may still be better.
    drawn = by_utility(found.best, found.gaps, found.open | (tolerance > 0.0))
    distinct = [a for a in drawn if a == found.best or not found.identical[a]]
    return Recommendation(
        best=found.best,
        probability=sum(
            share * probability_of_first(whitened[distinct], -gaps[distinct]) for share, whitened, gaps in found.models
        ),
        interval=lead_interval(found.best, found.gaps, found.squares),
        candidates=tuple(by_utility(found.best, found.gaps, found.open)),
        delta=delta,
        identical=tuple(np.flatnonzero(found.identical & (np.arange(len(arms)) != found.best)).tolist()),
        tolerance=tolerance,
        votes_expected=forecast_votes(found.gaps, found.squares, found.prior, found.votes, delta, tolerance)
        if rules_out
        else None,
        tied=tuple(tied_with_best(found.best, found.gaps, found.squares).tolist()),
    )


def decided_arm(
    arms: Floats, posterior: LinearPosterior | Mixture, delta: float = 0.05, tolerance: float = 0.0
) -> int | None:
    """Return the best arm if all others are ruled out, else None; faster than `recommend`."""
    best, decided = leader(arms, posterior, delta, tolerance)
    return best if decided else None


def leader(
    arms: Floats, posterior: LinearPosterior | Mixture, delta: float = 0.05, tolerance: float = 0.0
) -> tuple[int, bool]:
    """Return the best arm, and whether all others are ruled out."""
    found = _compare(arms, posterior, check_delta(delta), tolerance)
    return found.best, not (found.open & ~found.identical).any()


def by_utility(best: int, gaps: Floats, chosen: Bools) -> list[int]:
    """Return the chosen arms, the best first, then by utility."""
    return sorted(np.flatnonzero(chosen).tolist(), key=lambda a: (a != best, gaps[a], a))


@dataclass(frozen=True)
class _Comparison:
    best: int
    gaps: Floats
    squares: Floats
    prior: Floats
    votes: float
    models: list[tuple[float, Floats, Floats]]
    """Share, whitened arms and gaps of each model."""
    open: Bools
    """Arms not ruled out."""
    identical: Bools
    """Arms with the features of the best, including the best."""


def _compare(arms: Floats, posterior: LinearPosterior | Mixture, delta: float, tolerance: float) -> _Comparison:
    models = [Model(arms, posterior, 0.0)] if isinstance(posterior, LinearPosterior) else posterior
    log_weights = np.array([model.log_weight for model in models])
    shares = model_shares(log_weights)
    utilities = np.array([model.arms @ model.posterior.theta for model in models])
    mean = shares @ utilities
    best = int(np.argmax(mean))
    identical = (arms == arms[best]).all(axis=1)
    gaps = np.where(identical, 0.0, utilities[:, best, None] - utilities)
    whitened = [model.posterior.whiten(model.arms) for model in models]
    squares = np.array([np.square(rows - rows[best]).sum(axis=1) for rows in whitened])
    squares = np.where(identical, 0.0, squares)
    prior = np.array([(np.square(m.arms - m.arms[best]) / m.posterior.ridge).sum(axis=1) for m in models])
    still_open = arms_still_open(log_weights, gaps, squares, prior, delta, tolerance)
    each = list(zip(shares.tolist(), whitened, gaps, strict=True))
    average = average_gaps(log_weights, gaps, squares, prior)
    return _Comparison(best, *average, models[0].posterior.votes, each, still_open | identical, identical)


def model_shares(log_weights: Floats) -> Floats:
    """Return weights that add to 1."""
    return np.exp(log_weights - logsumexp(log_weights))


def average_gaps(log_weights: Floats, gaps: Floats, squares: Floats, prior: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean and variance of each gap under the mixture, and its prior variance."""
    shares = model_shares(log_weights)
    mean = shares @ gaps
    return mean, shares @ (squares + np.square(gaps - mean)), shares @ prior


def arms_still_open(
    log_weights: Floats, gaps: Floats, squares: Floats, prior: Floats, delta: float, tolerance: float
) -> Bools:
    """Return which arms a mixture does not rule out, given g, w^2 and w_0^2 by model."""
    if len(log_weights) == 1:
        return not_ruled_out(gaps[0], squares[0], prior[0], delta, tolerance)
    apart = squares > 0.0
    width = np.sqrt(np.where(apart, squares, 1.0))
    lead = np.where(apart, (gaps + tolerance) / width, 0.0)
    shrinkage = np.where(apart, np.maximum(prior / np.square(width), 1.0), 1.0)
    better = logsumexp(log_weights[:, None] + np.log(2.0) + log_ndtr(lead), axis=0)
    equal = logsumexp(log_weights[:, None] + 0.5 * np.log(shrinkage) - 0.5 * np.square(lead), axis=0)
    return np.asarray(better - equal <= np.log(max(gaps.shape[1] - 1, 1) / delta))


def upper_factor(matrix: Floats) -> Floats:
    """Return the upper factor R of a positive definite matrix R'R, with jitter if rounding requires it."""
    scale = np.sqrt(np.maximum(np.diagonal(matrix), np.finfo(np.float64).tiny))
    scaled = matrix / scale / scale[:, None]
    for jitter in _JITTER:
        try:
            return np.asarray(cholesky(scaled + jitter * np.eye(len(scaled)))) * scale
        except LinAlgError:
            continue
    return np.diag(scale)  # ignore correlations


def not_ruled_out(gaps: Floats, squares: Floats, prior: Floats, delta: float, tolerance: float = 0.0) -> Bools:
    """Return which arms the stopping rule does not rule out, given g, w^2 and w_0^2 of each (0 for the best arm itself)."""
    others = max(len(gaps) - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = np.where(squares > 0.0, (gaps + tolerance) / np.sqrt(squares), 0.0)
        threshold = np.log(np.maximum(prior / squares, 1.0)) + 2.0 * np.log(others / delta)
    evidence = np.square(lead) + 2.0 * (np.log(2.0) + log_ndtr(lead))
    # An identical arm has width 0 and gap 0: it cannot be ruled out, and need not be.
    return np.where(squares > 0.0, evidence <= threshold, gaps <= 0.0)


def forecast_votes(
    gaps: Floats, squares: Floats, prior: Floats, votes: float, delta: float, tolerance: float = 0.0
) -> int | None:
    """Forecast how many more votes it takes to rule out every arm; None without a forecast.

    The forecast assumes that gaps stay as they are and that each vote adds as much precision as those so far: the precision of a
    gap is 1 / w_0^2 before any vote and 1 / w^2 after `votes` of them, and grows linearly. Underestimated gaps grow, and a policy
    that asks about open arms is faster. Arms are given as for `not_ruled_out`. None with fewer than `MIN_VOTES_TO_FORECAST`
    votes, or if more than `MAX_FORECAST_RATIO` times as many would be needed.
    """
    if votes < MIN_VOTES_TO_FORECAST:
        return None
    apart = squares > 0.0
    per_vote = np.maximum(1.0 / squares[apart] - 1.0 / prior[apart], 0.0) / votes
    later = np.zeros_like(squares)

    def open_after(count: int) -> bool:
        later[apart] = 1.0 / (1.0 / prior[apart] + per_vote * (votes + count))
        return bool(not_ruled_out(gaps, later, prior, delta, tolerance)[apart].any())

    low, high = 0, int(min(votes * MAX_FORECAST_RATIO, 2.0**62))
    if not open_after(low):
        return 0
    if open_after(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if open_after(middle) else (low, middle)
    return high


def lead_interval(best: int, gaps: Floats, squares: Floats) -> tuple[float, float]:
    """Return the 95 % interval of the lead of `best` over the arm that comes closest to being better."""
    others = np.flatnonzero((np.arange(len(gaps)) != best) & (squares > 0.0))
    if others.size == 0:
        return 0.0, 0.0
    widths = np.sqrt(squares[others])
    closest = others[int(np.argmin(gaps[others] - _NORMAL_QUANTILE * widths))]
    width = float(np.sqrt(squares[closest]))
    return float(gaps[closest] - _NORMAL_QUANTILE * width), float(gaps[closest] + _NORMAL_QUANTILE * width)


def probability_of_first(whitened: Floats, utilities: Floats) -> float:
    """Estimate the posterior probability that the first of these arms is best; tied arms share it."""
    if len(utilities) == 1:
        return 1.0
    rng = np.random.default_rng(_SEED)
    draws = min(DRAWS, max(_MIN_DRAWS, _MAX_WORK // whitened.size))
    step = max(1, _CHUNK // len(utilities))
    total = 0.0
    for start in range(0, draws, step):
        noise = rng.standard_normal((min(step, draws - start), whitened.shape[1]))
        drawn = noise @ whitened.T
        drawn += utilities
        top = drawn >= drawn.max(axis=1, keepdims=True)
        total += float((top[:, 0] / top.sum(axis=1)).sum())
    return total / draws
