"""Which arm is best, how sure that is, and when to stop asking.

From an estimate theta with curvature H (a Laplace posterior N(theta, H^-1)): the best arm is i = argmax x . theta. An arm j
with gap g = (x_i - x_j) . theta is ruled out when

    g^2 / w^2 + 2 log(2 Phi(g / w)) > log(w_0^2 / w^2) + 2 log((K - 1) / delta),

where w = |x_i - x_j|_{H^-1} and w_0 is the same before any vote, when H was the ridge. Half of the left side minus half of the
logarithm of w_0^2 / w^2 is the logarithm of the likelihood of "i is better than j", mixed over N(0, w_0^2) cut at zero, against
"they are equal" (the normal mixture of Robbins 1970, one-sided): where j is as good as i it reaches (K - 1) / delta, in whichever
round one looks, with probability at most delta / (K - 1). So one may look after every vote and stop when all others are ruled out:
the announced arm is wrong with probability at most delta, up to the normal approximation.

With a tolerance e > 0, g + e takes the place of g, and "j is better by e" that of "they are equal": an arm is ruled out when the votes say
that it is not better by e or more, and the announced arm is as good as the best to within e, up to the same probability. With
arms that are nearly equal this ends, where without it nothing would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_ndtr

from duelist.core.arrays import Floats, Ints, check_choice, is_number
from duelist.core.errors import InvalidInput
from duelist.model.links import Link, get_link

DRAWS: Final = 4000
"""Posterior draws behind the probability of being best; its standard error is then under 0.008."""
_FEWEST_DRAWS: Final = 400
"""With very many candidates; the standard error is then under 0.025."""
_WORK: Final = 2**33
"""Products of numbers that the draws may cost, some seconds' worth."""
_MOST_DRAWN: Final = 1000
_MORE: Final = (0.0, 1e-12, 1e-9, 1e-6)
"""What is added to a matrix of ones on its diagonal, until it can be factored."""
_LEVEL: Final = 1.959963984540054
_SEED: Final = 0
_HELD: Final = 2**20
"""Utilities drawn at a time: more of them would not stay in the processor's cache."""


A = TypeVar("A")
_LEVEL_WITHIN: Final = 1e-6
"""Parts of its standard deviation within which a gap is none."""
_LISTED: Final = 3
UNITS: Final = ("utility", "chance")
MIN_VOTES_TO_FORECAST: Final = 20
"""Fewer votes than this say nothing of how many more there will have to be."""
MAX_FORECAST_RATIO: Final = 50


@dataclass(frozen=True)
class StoppingDecision(Generic[A]):
    """The best arm so far, by whatever arms are called."""

    best: A
    probability: float
    """Posterior probability that it is the best among the candidates, with a tolerance among all; arms that are alike count as one."""
    interval: tuple[float, float]
    """95 % interval of its lead over the arm that comes closest to being better; (0, 0) for a single arm."""
    candidates: tuple[A, ...]
    """Arms not ruled out at the error rate `delta`, the best first, then by their utility."""
    delta: float
    identical: tuple[A, ...] = ()
    """Arms with the features of the best: no vote can tell them apart, and they are named together."""
    tolerance: float = 0.0
    """How much better, in utility, another arm may be that is ruled out."""
    votes_expected: int | None = None
    """Votes still needed if arms are as far apart as they look and votes go on as so far (`forecast_votes`); None: nobody can say yet."""
    advice: str = ""
    """What to beware of, and what would help; empty: nothing."""
    tied: tuple[A, ...] = ()
    """Arms that are exactly as good as the best by the votes so far: it is named for its place in the list, and nothing else."""
    tolerance_given: tuple[float, str] | None = None
    """The tolerance as it was given, and its unit; None: in utility."""

    @property
    def decided(self) -> bool:
        """Whether to stop: every other arm is ruled out, or has the same features."""
        return set(self.candidates) <= {self.best, *self.identical}

    def __str__(self) -> str:
        if self.decided and self.interval == (0.0, 0.0):
            return f"{self._named().rstrip(',')}; there are no others to compare with"
        others = len(set(self.candidates) - {self.best, *self.identical})
        left = "all others are ruled out" if self.decided else f"{count_others(others)} not ruled out"
        if self.tied and not self.decided:
            left = (
                "none of them is ruled out"
                if others == len(self.tied)
                else f"{others} besides {self.best} are not ruled out"
            )
        if self.tied and self.decided:  # that takes a tolerance
            left = f"no arm is better than arm {self.best}"
        parts = [self._level() if self.tied else self._leads()]
        parts.append(left + (f" at error rate {self.delta:g}" if not self.tolerance else self._as_good()))
        if not self.decided:
            more = self.votes_expected
            parts.append(
                "nobody can say how many votes it will take"
                if more is None
                else f"about {more:,.0f} vote{'' if more == 1 else 's'} more"
            )
        return "; ".join([*parts, *([self.advice] if self.advice else [])])

    def _leads(self) -> str:
        low, high = self.interval
        lead = f"lead{'' if self.identical else 's'} by {low:.3g} to {high:.3g}"
        return f"{self._named()} with probability {self.probability:.3f}; {lead}"

    def _named(self) -> str:
        named = " and ".join(f"arm {arm}" for arm in (self.best, *self.identical))
        return f"{named} {'are best, being alike,' if self.identical else 'is best'}"

    def _level(self) -> str:
        return f"arms {join_names((self.best, *self.identical, *self.tied))} are level: the votes so far favour none of them"

    def _as_good(self) -> str:
        allowed = format_tolerance(self.tolerance, self.tolerance_given)
        better = "" if self.tied and self.decided else " as better"
        return f"{better} by more than {allowed}, at error rate {self.delta:g}"


class Recommendation(StoppingDecision[int]):
    """A verdict on arms by their positions in the arms that were given."""


def format_tolerance(tolerance: float, given: tuple[float, str] | None = None) -> str:
    """A tolerance in utility, in words: in the unit that it was given in.

    >>> format_tolerance(0.04), format_tolerance(0.04, (0.01, "chance"))
    ('0.04 in utility', '0.01 in the chance to win')
    """
    amount, unit = (tolerance, "utility") if given is None else given
    return f"{amount:.3g} in {'utility' if unit == 'utility' else 'the chance to win'}"


def count_others(count: int, of: int | None = None) -> str:
    """Others, counted, with their verb.

    >>> count_others(1), count_others(5), count_others(1, of=1)
    ('1 other is', '5 others are', '1 of 1 other is')
    """
    noun = "other" if (count if of is None else of) == 1 else "others"
    return f"{count}{'' if of is None else f' of {of}'} {noun} {'is' if count == 1 else 'are'}"


def join_names(arms: Sequence[object]) -> str:
    """The names of some arms, and how many more there are.

    >>> join_names("ab"), join_names("abcd"), join_names("abcdefg")
    ('a and b', 'a, b, c and d', 'a, b, c and 4 others')
    """
    names = [str(arm) for arm in arms]
    if len(names) > _LISTED + 1:
        names = [*names[:_LISTED], f"{len(names) - _LISTED} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def tied_with_best(best: int, gaps: Floats, squares: Floats) -> NDArray[np.int64]:
    """The arms other than `best` that are exactly as good; those with width 0 to it are alike, not level."""
    level = (squares > 0.0) & (gaps <= _LEVEL_WITHIN * np.sqrt(squares)) & (np.arange(len(gaps)) != best)
    return np.flatnonzero(level)


def check_delta(delta: float) -> float:
    """An error rate between 0 and 1."""
    if isinstance(delta, bool) or not isinstance(delta, (int, float, np.floating)) or not 0.0 < delta < 1.0:
        raise InvalidInput(f"delta is {delta!r}.", "Give an error rate between 0 and 1.", field="delta")
    return float(delta)


def utility_tolerance(tolerance: float, unit: str, link: str | Link = "logistic") -> float:
    """A tolerance as a difference of utilities.

    With unit "chance" it is how far the chance of the other arm to win may be above one half: 0.01 is one percentage point.

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
            "In chances it is less than 0.5, since no arm wins more often than always.",
            field="tolerance",
        )
    from scipy.optimize import brentq  # slow to load, and rarely needed: a server that starts does not wait for it

    mean = get_link(link).mean
    return float(brentq(lambda v: float(mean(v)) - 0.5 - tolerance, 0.0, 700.0))


@dataclass(frozen=True)
class LinearPosterior:
    """What is known of the arms: theta, its curvature H, the ridge in H, and the votes behind it."""

    theta: Floats
    curvature: Floats
    ridge: float | Floats
    votes: float = 0.0
    root: Floats | None = None
    """The upper factor R of the curvature R'R, where it is known better than that has it; None: to be found from it."""

    def whiten(self, rows: Floats) -> Floats:
        """R'^-1 x of every row x: their products are those of H^-1."""
        root = _root(self.curvature) if self.root is None else self.root
        return np.asarray(solve_triangular(root, rows.T, trans="T").T)


def curvature_root(z: Floats, weights: Floats, ridge: Floats) -> Floats:
    """The upper factor of diag(ridge) + z' diag(weights) z, which is never formed: its rounding would hide a feature beside another whose
    differences are a hundred million times as large, and count as knowledge of it.
    """
    stacked = np.vstack([np.diag(np.sqrt(ridge)), z * np.sqrt(weights)[:, None]])
    units = np.sqrt(np.square(stacked).sum(axis=0))
    return np.asarray(np.linalg.qr(stacked / units, mode="r")) * units


def recommend(
    arms: Floats, known: LinearPosterior, delta: float = 0.05, tolerance: float = 0.0, *, rules_out: bool = True
) -> Recommendation:
    """See the module; `arms` (n_arms, dim), `tolerance` in utility. Without `rules_out` all arms are left, whatever is known."""
    delta = check_delta(delta)
    seen = _look(arms, known, delta, tolerance)
    if not rules_out:
        seen.kept[:] = True
    order = _in_order(seen.best, seen.gaps, seen.kept)
    drawn = _in_order(
        seen.best, seen.gaps, seen.kept | (tolerance > 0.0)
    )  # who is ruled out with a tolerance may be better
    apart = [a for a in drawn if a == seen.best or not seen.identical[a]]
    return Recommendation(
        best=seen.best,
        probability=_probability(seen.whitened[apart], -seen.gaps[apart]),
        interval=lead_interval(seen.best, seen.gaps, seen.squares),
        candidates=tuple(order),
        delta=delta,
        identical=tuple(np.flatnonzero(seen.identical & (np.arange(len(arms)) != seen.best)).tolist()),
        tolerance=tolerance,
        votes_expected=forecast_votes(seen.gaps, seen.squares, seen.prior, known.votes, delta, tolerance)
        if rules_out
        else None,
        tied=tuple(tied_with_best(seen.best, seen.gaps, seen.squares).tolist()),
    )


@dataclass(frozen=True)
class GapPosterior:
    """What is known of each arm: utilities, w^2 and w_0^2 against the first of largest utility, the votes, covariances of some arms."""

    utilities: Floats
    squares: Floats
    prior: Floats
    votes: float
    covariance: Callable[[Ints], Floats]


def recommend_from_gaps(known: GapPosterior, delta: float, tolerance: float = 0.0) -> Recommendation:
    """The same from what is known of each arm.

    Of very many that are not ruled out, the 1,000 with the largest utilities stand for all in the probability.
    """
    delta = check_delta(delta)
    best = int(np.argmax(known.utilities))
    gaps = known.utilities[best] - known.utilities
    kept = not_ruled_out(gaps, known.squares, known.prior, delta, tolerance)
    kept[best] = True
    order = _in_order(best, gaps, kept)
    drawn = np.array(_in_order(best, gaps, kept | (tolerance > 0.0))[:_MOST_DRAWN], np.int64)
    block = known.covariance(drawn)
    root = _root(block).T
    return Recommendation(
        best=best,
        probability=_probability(root, -gaps[drawn]),
        interval=lead_interval(best, gaps, known.squares),
        candidates=tuple(order),
        delta=delta,
        tolerance=tolerance,
        votes_expected=forecast_votes(gaps, known.squares, known.prior, known.votes, delta, tolerance),
        tied=tuple(tied_with_best(best, gaps, known.squares).tolist()),
    )


def _in_order(best: int, gaps: Floats, kept: NDArray[np.bool_]) -> list[int]:
    """The arms that are left, the best first, then by their utility."""
    return sorted(np.flatnonzero(kept).tolist(), key=lambda a: (a != best, gaps[a], a))


def decided_arm(arms: Floats, known: LinearPosterior, delta: float = 0.05, tolerance: float = 0.0) -> int | None:
    """The best arm if all others are ruled out, else None: what to ask after every vote, without the rest."""
    seen = _look(arms, known, check_delta(delta), tolerance)
    return seen.best if not (seen.kept & ~seen.identical).any() else None


@dataclass(frozen=True)
class _Look:
    best: int
    gaps: Floats
    squares: Floats
    prior: Floats
    whitened: Floats
    kept: NDArray[np.bool_]
    identical: NDArray[np.bool_]
    """Arms with the features of the best, itself among them."""


def _root(matrix: Floats) -> Floats:
    """The upper factor R of a positive definite matrix R'R, in its own units; where rounding hides that it is, of a little more."""
    units = np.sqrt(np.maximum(np.diagonal(matrix), np.finfo(np.float64).tiny))
    scaled = matrix / units / units[:, None]
    for more in _MORE:
        try:
            return np.asarray(cholesky(scaled + more * np.eye(len(scaled)))) * units
        except LinAlgError:
            continue
    return np.diag(units)  # nothing is known of how arms hang together


def _look(arms: Floats, known: LinearPosterior, delta: float, tolerance: float) -> _Look:
    utilities = arms @ known.theta
    best = int(np.argmax(utilities))
    identical = (arms == arms[best]).all(axis=1)
    whitened = known.whiten(arms)
    squares = np.where(identical, 0.0, np.square(whitened - whitened[best]).sum(axis=1))
    prior = (np.square(arms - arms[best]) / known.ridge).sum(axis=1)
    gaps = np.where(identical, 0.0, utilities[best] - utilities)
    kept = not_ruled_out(gaps, squares, prior, delta, tolerance) | identical
    return _Look(best, gaps, squares, prior, whitened, kept, identical)


def not_ruled_out(
    gaps: Floats, squares: Floats, prior: Floats, delta: float, tolerance: float = 0.0
) -> NDArray[np.bool_]:
    """The arms that the rule of this module leaves, by g, w^2 and w_0^2 of each; the best has 0 everywhere and is left."""
    others = max(len(gaps) - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = np.where(squares > 0.0, (gaps + tolerance) / np.sqrt(squares), 0.0)
        doubt = np.log(np.maximum(prior / squares, 1.0)) + 2.0 * np.log(others / delta)
    evidence = np.square(lead) + 2.0 * (np.log(2.0) + log_ndtr(lead))
    # An equal arm has width 0 and gap 0: it can never be ruled out, and need not be.
    return np.where(squares > 0.0, evidence <= doubt, gaps <= 0.0)


def forecast_votes(
    gaps: Floats, squares: Floats, prior: Floats, votes: float, delta: float, tolerance: float = 0.0
) -> int | None:
    """Forecast how many more votes it takes to rule out every arm; None if that cannot be forecast.

    The forecast assumes that gaps stay as they are and that each vote adds as much precision as those so far. The precision of a gap is
    1 / w_0^2 before any vote and 1 / w^2 after `votes` of them, and grows linearly in between. Small gaps tend to grow, and a policy that
    asks about the arms still open is faster, so the forecast errs on the high side. Arms are given as for `not_ruled_out`; those
    with width 0 are the best arm or identical to it. None with fewer than `MIN_VOTES_TO_FORECAST` votes, or if more than
    `MAX_FORECAST_RATIO` times as many votes would be needed.
    """
    if votes < MIN_VOTES_TO_FORECAST:
        return None
    apart = squares > 0.0
    told = np.maximum(1.0 / squares[apart] - 1.0 / prior[apart], 0.0) / votes  # precision that a vote brings
    then = np.zeros_like(squares)

    def open_after(count: int) -> bool:
        then[apart] = 1.0 / (1.0 / prior[apart] + told * (votes + count))
        return bool(not_ruled_out(gaps, then, prior, delta, tolerance)[apart].any())

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
    """95 % interval of the lead of `best` over the arm that comes closest to being better."""
    others = np.flatnonzero((np.arange(len(gaps)) != best) & (squares > 0.0))
    if others.size == 0:
        return 0.0, 0.0
    widths = np.sqrt(squares[others])
    closest = others[int(np.argmin(gaps[others] - _LEVEL * widths))]
    width = float(np.sqrt(squares[closest]))
    return float(gaps[closest] - _LEVEL * width), float(gaps[closest] + _LEVEL * width)


def _probability(whitened: Floats, utilities: Floats) -> float:
    """How often the first of these arms is the best under draws from the posterior; equal arms share."""
    if len(utilities) == 1:
        return 1.0
    rng = np.random.default_rng(_SEED)
    draws = min(DRAWS, max(_FEWEST_DRAWS, _WORK // whitened.size))
    step = max(1, _HELD // len(utilities))
    total = 0.0
    for start in range(0, draws, step):
        noise = rng.standard_normal((min(step, draws - start), whitened.shape[1]))
        drawn = noise @ whitened.T
        drawn += utilities
        top = drawn >= drawn.max(axis=1, keepdims=True)
        total += float((top[:, 0] / top.sum(axis=1)).sum())
    return total / draws
