"""Stopping decisions by goal, all by one rule for when an arm is behind another.

best, serve   every other arm is ruled out: the rule of `duelist.study.analysis.stopping`, as in `recommend` and
`progress`
rank          each of the top arms is ahead of the next, and the last of them ahead of all others, by the same rule
learn         doubling the votes has not improved the prediction of held-out votes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Ints
from duelist.core.errors import InvalidInput
from duelist.core.tables import format_count, format_percent
from duelist.model.stopping import (
    check_delta,
    count_others,
    forecast_votes,
    format_tolerance,
    join_names,
    utility_tolerance,
)
from duelist.study.analysis.fit.cross_validation import HeldOut
from duelist.study.analysis.fit.flagged_raters import FlaggedRater
from duelist.study.analysis.fit.study_fit import StudyFit
from duelist.study.analysis.fit.utilities import Features
from duelist.study.analysis.fit.votes import FIRST, VoteTable
from duelist.study.analysis.intervals import two_sided
from duelist.study.analysis.progress import recommendation_from_fit, stopping_hint
from duelist.study.analysis.raters.supply import RaterSupply, are_connected, compare, raters_to_plan, shortage_of
from duelist.study.analysis.stopping import StudyRecommendation, still_possible

FOLDS: Final = 5
RISE: Final = 0.01
"""A smaller rise of the agreement counts as none."""
_LEVEL: Final = 0.95
_EVEN: Final = 1e-9
"""Shares this close to one half favour neither side."""
NO_VOTES: Final = "there are no votes yet"
"""Shown before the first vote, when the leader would just be the first arm added."""


@dataclass(frozen=True, slots=True)
class CanStop:
    """Whether to stop asking, and why."""

    done: bool
    statement: str
    goal: str
    context: str | None = None
    votes_expected: int | None = None
    """Votes that are still needed at the present rate, if that can be forecast; see `forecast_votes`."""
    raters_needed: int | None = None
    """About how many raters could settle it, where those of the study cannot; see `duelist.study.analysis.raters.supply`."""
    leader: str | None = None
    """The arm that leads, or is first in the order; None before the first vote."""
    flagged: tuple[FlaggedRater, ...] = ()
    """Careless raters."""
    flagged_note: str = ""
    """Who is flagged and why, and what changes without their votes."""

    def __bool__(self) -> bool:
        return self.done

    def __str__(self) -> str:
        where = "" if self.context is None else f"in {self.context}: "
        more = (
            ""
            if self.votes_expected is None or self.done
            else f"; about {self.votes_expected:,} more votes are expected"
        )
        flagged = f"; {self.flagged_note}" if self.flagged_note else ""
        return f"{'you can stop' if self.done else 'go on'}: {where}{self.statement}{more}{flagged}"


def leader_of(fit: StudyFit) -> str | None:
    """Return the arm with the largest mean utility; None without votes or arms."""
    return fit.ids[int(np.argmax(fit.posterior.mean))] if fit.votes and len(fit.among) else None


def best_arm_decision(
    fit: StudyFit,
    goal: str,
    delta: float,
    tolerance: float = 0.0,
    unit: str = "utility",
    supply: RaterSupply | None = None,
) -> CanStop:
    """Decide whether every arm but one is ruled out; `supply` is that of raters who answer each pair once."""
    found = recommendation_from_fit(fit, delta=delta, tolerance=tolerance, unit=unit)
    if found.decided:
        return CanStop(True, _decided(fit, found, goal), goal)
    if not fit.votes:
        return _without_votes(fit, goal, delta, supply)
    others = len(set(found.candidates) - {found.best, *found.identical})
    said = f"{found.best} leads, and {count_others(others, len(fit.among) - 1)} not ruled out"
    if found.tied:
        rest = others - len(found.tied)
        more = f", and {count_others(rest)} not ruled out" if rest else ""
        said = f"{join_names((found.best, *found.identical, *found.tied))} are level: the votes so far favour none of them{more}"
    place = {arm: k for k, arm in enumerate(fit.ids)}
    leader = np.full(len(fit.among) - 1, place[found.best])
    behind = np.delete(np.arange(len(fit.among)), place[found.best])
    rivals = set(found.candidates) - {found.best, *found.identical}
    is_open = np.array([fit.ids[k] in rivals for k in behind], np.bool_)
    return _undecided(
        fit, goal, said, found.advice, found.votes_expected, (leader, behind, is_open), supply, delta, found.tolerance
    )


def _without_votes(fit: StudyFit, goal: str, delta: float, supply: RaterSupply | None) -> CanStop:
    """Warn before the first vote if the raters invited so far could not decide the study."""
    if supply is None or fit.whole.features is not None or len(fit.among) < 2:
        return CanStop(False, NO_VOTES, goal)
    needed = raters_to_plan(len(fit.among), delta)
    if supply.raters >= needed:
        return CanStop(False, NO_VOTES, goal)
    few = (
        f"{format_count(supply.raters, 'rater')} may not decide it" if supply.raters else "few raters may not decide it"
    )
    said = f"{NO_VOTES}; each rater answers a pair once, so that {few}: plan about {needed} raters, or allow repeated pairs"
    return CanStop(False, said, goal, raters_needed=needed)


def _undecided(
    fit: StudyFit,
    goal: str,
    said: str,
    advice: str,
    foreseen: int | None,
    comparisons: tuple[Ints, Ints, NDArray[np.bool_]],
    supply: RaterSupply | None,
    delta: float,
    within: float,
) -> CanStop:
    """Return that the study goes on, with the forecast; or why the raters whom it has cannot settle it."""
    shortage = shortage_of(fit, *comparisons, supply, delta, within)
    if shortage is not None:
        return CanStop(False, _with_advice(f"{said}; {shortage}", advice), goal, raters_needed=shortage.raters_needed)
    return CanStop(False, _with_advice(said, advice), goal, votes_expected=foreseen)


def _with_advice(said: str, advice: str) -> str:
    return f"{said}; {advice}" if advice else said


def _decided(fit: StudyFit, found: StudyRecommendation, goal: str) -> str:
    """Say which arm is best, and what happened to the others; arms with identical features count as one."""
    named = join_names((found.best, *found.identical))
    others = len(fit.among) - 1 - len(found.identical)
    if not others:
        return (
            f"{named} are alike in their features, and there are no others"
            if found.identical
            else f"{named} is the only {fit.of}"
        )
    named += " are alike in their features and" if found.identical else " is"
    given = found.tolerance_given if found.tolerance else None
    good = f"as good as the best to within {format_tolerance(found.tolerance, given)}" if given else "best"
    what = f"all others are ruled out{' as better by more' if given else ''}"
    unseen = _ruled_out_unseen(fit, found)
    alone = f" ({unseen} of them by their features alone, without a vote)" if unseen else ""
    if goal == "serve":
        what = f"show {'them' if found.identical else 'it'} alone from now on"
        alone = f" ({count_others(unseen)} ruled out by features alone, without a vote)" if unseen else ""
    return f"{named} {good}, at error rate {found.delta:g}; {what}{alone}"


def _ruled_out_unseen(fit: StudyFit, found: StudyRecommendation) -> int:
    """Return how many arms were ruled out without having been shown."""
    kept = set(found.candidates)
    gone = [k for k, arm in zip(fit.among, fit.ids, strict=True) if arm not in kept]
    return int((fit.counts_by_arm["votes"][gone] == 0).sum())


def ranking_decision(
    fit: StudyFit,
    top: int | None,
    delta: float,
    tolerance: float = 0.0,
    unit: str = "utility",
    supply: RaterSupply | None = None,
) -> CanStop:
    """Decide whether the order of the first `top` arms is settled; None means all.

    With a tolerance, decide whether each is at most that much worse than the next.
    """
    delta, within = check_delta(delta), utility_tolerance(tolerance, unit)
    mean = fit.posterior.mean
    order = np.argsort(-mean, kind="stable")
    if not len(order):
        raise InvalidInput("There are no arms.", "Add some first.")
    top = len(order) - 1 if top is None else min(top, len(order) - 1)
    if top < 1:
        return CanStop(True, f"there is one {fit.of}", "rank")
    # Each of the top arms against the next; the last of them against all others.
    ahead = np.concatenate([order[: top - 1], np.full(len(order) - top, order[top - 1])])
    behind = order[1:]
    compared = compare(fit, ahead, behind)
    alike = compared[2][:-1] <= 0.0  # identical features: no vote can tell them apart, so there is nothing to settle
    connected = are_connected(fit, ahead, behind)
    open_pairs = still_possible(*compared, connected, delta, within)[:-1] & ~alike
    to_within = f" to within {format_tolerance(within, (tolerance, unit))}" if within else ""
    name = f"the order of all {fit.of}s" if top == len(order) - 1 else f"the order of the top {top}"
    shared = f"; {fit.of}s with the same features share their places" if alike.any() else ""
    if not open_pairs.any():
        return CanStop(True, f"{name} is settled{to_within} at error rate {delta:g}{shared}", "rank")
    if not fit.votes:
        return _without_votes(fit, "rank", delta, supply)
    first = int(np.argmax(open_pairs))
    one, other = (fit.ids[k] for k in (ahead[first], behind[first]))
    count = int(open_pairs.sum())
    still = "1 comparison is open, between" if count == 1 else f"{count} comparisons are open, the first between"
    said = f"{name} may still change: {still} {one} and {other}"
    if (np.abs(compared[0][:-1]) <= 1e-6 * np.sqrt(compared[1][:-1])).all():
        said = f"{name} may still change: all {fit.of}s are level, the votes so far favour none of them"
    foreseen = forecast_votes(*compared, fit.votes, delta, within) if connected.all() else None
    open_ones = [(fit.ids[a], fit.ids[b]) for a, b in zip(ahead[open_pairs], behind[open_pairs], strict=True)]
    advice = stopping_hint(fit, open_ones, foreseen, within)
    return _undecided(fit, "rank", said, advice, foreseen, (ahead, behind, open_pairs), supply, delta, within)


def learning_decision(log: VoteTable, features: Features, seed: int = 0) -> CanStop:
    """Decide whether half of the votes would have predicted as well as all of them did.

    Every decided vote is predicted by a fit to the votes of other folds, and by one to half of those, for its rater if
    raters differ. The difference of the two shares of correct predictions, with its interval, is the gain from the second
    half. (Two extra changed predictions are assumed, so that a handful of votes decides nothing.)
    """
    log = log.of(log.teaching)
    rng = np.random.default_rng(seed)
    fold = rng.permutation(len(log)) % FOLDS
    half = rng.permutation(len(log)) % 2 == 0
    whole, part = np.zeros(len(log)), np.zeros(len(log))
    fits = HeldOut(log, features, seed=seed)
    for k in range(FOLDS):
        out = fold == k
        for right, taught in ((whole, ~out), (part, ~out & half)):
            win, tie = fits.chances(taught, out)
            right[out] = _right(log.of(out), win + 0.5 * tie)
    gained = (whole - part)[log.decided]
    n = len(gained)
    if n < FOLDS:
        said = f"there are {n} decided votes, too few to hold some out; ask for more"
        return CanStop(False, said, "learn")
    agreement, rise = float(whole[log.decided].sum()) / n, float(gained.sum()) / n
    margin = two_sided(_LEVEL) * float(np.sqrt(np.square(gained).sum() + 2.0)) / n
    points = round(100 * rise, 1) + 0.0  # avoid -0.0
    said = f"held-out agreement is {format_percent(agreement)}; the second half of the votes raised it by {points:.1f} points, "
    said += f"at most {100 * (rise + margin):.1f}"
    return CanStop(rise + margin <= RISE, said, "learn")


def _right(log: VoteTable, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 where the likelier side won, 0 where it lost, 1/2 where neither was likelier, up to rounding."""
    first = log.outcome == FIRST
    return np.where(np.abs(share - 0.5) < _EVEN, 0.5, (share > 0.5) == first).astype(np.float64)
