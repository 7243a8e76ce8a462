"""The analysis methods of a study: leaderboard, raters, progress, and the rest.

They analyse the current votes whenever they are called. They read the log in short transactions and under a separate
lock, so that asking and voting do not wait for them; rows stay cached, and the next analysis reads only new
ones.

All of them take the same options to select votes:

context     only the arms of this group, and the votes between them
category    only the prompts of this category, in a study of systems
by          "system" (the default in a study of systems) or "item": what is analysed, systems or their single answers
criterion   the question, if a study has several; the first by default
without     raters whose votes are excluded, besides those that the owner excluded
everyone    True includes excluded raters as well
retired     True ranks retired arms, too; otherwise their votes inform the fit, and they are not shown
labels      True names each arm by its id and the beginning of its text: 17 “Fast as light”

Intervals, ranks, probabilities of being best and stopping decisions count the votes of one rater, and those of systems on
one prompt, as dependent; `clusters=False` takes all votes for independent.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from html import escape
from typing import Any, Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import check_choice
from duelist.core.errors import InvalidInput
from duelist.core.seeds import draw_seed
from duelist.model.scorer import Scorer
from duelist.policies import Policy
from duelist.study import analysis
from duelist.study.analysis.fit.vote_log import VoteLog
from duelist.study.analysis.stopping import StudyRecommendation
from duelist.study.items.feature_scorer import scorer_for_file
from duelist.study.items.labels import label_of
from duelist.study.options import (
    CalibrationOptions,
    ChanceOptions,
    EstimateOptions,
    HistoryOptions,
    LeaderboardOptions,
    RaterOptions,
    StoppingOptions,
    VoteOptions,
    check_options,
    lists,
)
from duelist.study.records import Arm, StudySettings, Vote
from duelist.study.storage import Storage

__all__ = ["StudyAnalysis", "StudyRecommendation"]

FITS_KEPT: Final = 8
"""Fits that are cached as starting points."""


class SelectionOptions(NamedTuple):
    """The selection options of an analysis; see the module."""

    context: str | None = None
    criterion: str | None = None
    without: frozenset[str] = frozenset()
    everyone: bool = False
    retired: bool = False
    category: str | None = None
    by: str | None = None
    labels: bool = False


class Selection(NamedTuple):
    """The selected votes, arms and features."""

    log: analysis.VoteTable
    arms: list[str]
    features: NDArray[np.float64] | analysis.WithArmEffects | None
    among: list[str] | None
    contexts: list[str | None]
    excluded: frozenset[str]
    stamp: tuple[int, ...]
    of: str = "arm"
    """What is compared: "arm" or "system"."""


class CachedFit(NamedTuple):
    stamp: tuple[int, ...]
    fit: analysis.StudyFit


class StudyAnalysis(ABC):
    """The analysis half of `Study`."""

    name: str
    settings: StudySettings
    _storage: Storage
    _id: int

    @abstractmethod
    def votes(self) -> list[Vote]:
        """Return every row of the log."""

    @abstractmethod
    def arms(self, context: str | None = None) -> list[Arm]:
        """Return all arms, or those of a context."""

    @abstractmethod
    def policy(self) -> Policy:
        """Return the policy after the whole log."""

    # -- the best arm --------------------------------------------------------------------

    @lists(LeaderboardOptions)
    def leaderboard(
        self, context: str | None = None, *, top: int | None = None, **options: Unpack[LeaderboardOptions]
    ) -> analysis.Leaderboard:
        """Return arms by utility, with intervals, ranks and probabilities of being best; see `analysis.leaderboard`."""
        check_options("leaderboard", LeaderboardOptions, options)
        scope, own = split(context, options)
        fit = self._fit(scope, own)
        return replace(analysis.leaderboard_from_fit(fit, top=top, **own), category=scope.category)

    @lists(StoppingOptions)
    def recommend(
        self, context: str | None = None, delta: float = 0.05, **options: Unpack[StoppingOptions]
    ) -> StudyRecommendation:
        """Return the recommended arm, its probability of being best, and the arms that are not ruled out.

        Stop asking when it is `decided`: the recommended arm is then wrong with probability at most `delta`.
        `probability` is that of being the best among the arms not ruled out (1 when decided); `leaderboard` reports
        it among all arms.

        Arms with the same features are recommended together if features are all that distinguishes arms. With
        `arm_effects`, votes must tell them apart; if they are equally good that never ends, and `advice` says so.
        `tolerance=0.01, unit="chance"` accepts an arm within one percentage point of the best, which does end; a
        tolerance without a unit is in utility.
        """
        check_options("recommend", StoppingOptions, options)
        scope, own = split(context, options)
        return analysis.recommendation_from_fit(self._fit(scope, own), delta=delta, **own)

    @lists(StoppingOptions)
    def progress(
        self, context: str | None = None, delta: float = 0.05, **options: Unpack[StoppingOptions]
    ) -> analysis.Progress:
        """Return how close the study is to knowing its best arm; it is done when `recommend` is decided."""
        check_options("progress", StoppingOptions, options)
        scope, own = split(context, options)
        return analysis.progress_from_fit(self._fit(scope, own), delta=delta, **own)

    @lists(VoteOptions)
    def win_matrix(self, context: str | None = None, **options: Unpack[VoteOptions]) -> analysis.WinMatrix:
        """Return how often each arm won against each other, and how often they tied or were both bad."""
        check_options("win_matrix", VoteOptions, options)
        scope, _ = split(context, options)
        seen = self._select(scope)
        index = {arm: k for k, arm in enumerate(seen.arms)}
        among = None if seen.among is None else np.array([index[arm] for arm in seen.among], np.int64)
        return analysis.win_matrix_from_votes(seen.log.on_arms, seen.arms, among)

    @lists(ChanceOptions)
    def win_chances(self, context: str | None = None, **options: Unpack[ChanceOptions]) -> analysis.WinChances:
        """Return the fitted probability that each arm wins against each other, and of a tie; see
        `analysis.win_chances`.
        """
        check_options("win_chances", ChanceOptions, options)
        scope, own = split(context, options)
        return analysis.win_chances_from_fit(self._fit(scope, own))

    @lists(HistoryOptions)
    def history(self, context: str | None = None, **options: Unpack[HistoryOptions]) -> analysis.History:
        """Return the probability of being best of each arm over the votes; see `analysis.history`."""
        check_options("history", HistoryOptions, options)
        scope, own = split(context, options)
        seen = self._select(scope)
        with self._cache.history(scope) as remembered:
            own |= {"remembered": remembered, "of": seen.of}
            return analysis.history(seen.log, seen.arms, seen.features, among=seen.among, **own)

    @lists(VoteOptions)
    def scorer(self, context: str | None = None, **options: Unpack[VoteOptions]) -> Scorer:
        """Return a scorer that predicts the utility of new arms from features: `scorer().save("scorer.json")`.

        For a study made from a table it takes that table's columns in their own units; the scorer's `columns` names
        them.
        """
        check_options("scorer", VoteOptions, options)
        scope, _ = split(context, options)
        seen = self._select(scope)
        found = analysis.scorer_from_votes(seen.log.on_arms, seen.features, source=f"study {self.name}")
        return scorer_for_file(found, self.settings.feature_recipe)

    # -- raters ---------------------------------------------------------------------------

    @lists(CalibrationOptions)
    def calibration(self, context: str | None = None, **options: Unpack[CalibrationOptions]) -> analysis.Calibration:
        """Return predicted against observed shares, on held-out votes; see `analysis.calibration`."""
        check_options("calibration", CalibrationOptions, options)
        scope, own = split(context, options)
        seen = self._select(scope)
        return analysis.calibration(seen.log, seen.arms, seen.features, **own)

    @lists(RaterOptions)
    def raters(self, context: str | None = None, **options: Unpack[RaterOptions]) -> analysis.Raters:
        """Return speed, side bias, agreement and outliers among raters; see `analysis.rater_statistics`.

        Excluded raters are listed, too, but their votes do not affect the statistics of others.
        """
        check_options("raters", RaterOptions, options)
        scope, own = split(context, options)
        seen = self._select(scope._replace(everyone=True, without=frozenset()))
        excluded = _left_out(scope, seen)
        cross_fits = self._cache.cross_fits(scope)
        own |= {"excluded": excluded, "cross_fits": cross_fits}
        found = analysis.rater_statistics(seen.log, seen.arms, seen.features, **own)
        self._cache.keep_cross_fits(scope, cross_fits)
        return found

    @lists(EstimateOptions)
    def regret(self, context: str | None = None, **options: Unpack[EstimateOptions]) -> analysis.RegretEstimate:
        """Return the regret of the policy's duels, estimated from random ones; see `analysis.estimated_regret`.

        If arms have contexts, a duel is measured against the best arm of its context.
        """
        check_options("regret", EstimateOptions, options)
        scope, own = split(context, options)
        seen = self._select(scope)
        return analysis.estimated_regret(seen.log, seen.arms, seen.features, groups=seen.contexts, **own)

    def _repr_html_(self) -> str:
        """Return a summary of the study as HTML for notebooks."""
        with self._storage.viewing(self._id) as tx:
            counters = tx.counters
        shown = {
            "policy": self.settings.policy,
            "arms": counters.n_arms,
            "duels": counters.n_duels,
            "votes": counters.n_votes,
        }
        cells = "".join(f"<tr><th>{name}</th><td>{escape(str(value))}</td></tr>" for name, value in shown.items())
        return f"<div><b>{escape(self.name)}</b><table>{cells}</table></div>"

    # -- internals ------------------------------------------------------------------------

    @cached_property
    def _cache(self) -> AnalysisCache:
        return AnalysisCache()

    def _select(self, scope: SelectionOptions) -> Selection:
        kept = self._cache
        with kept.lock:
            kept.log.follow(lambda: self._storage.viewing(self._id))
            if scope.criterion is None and self.settings.main_criterion in kept.log.criteria():
                scope = scope._replace(criterion=self.settings.main_criterion)
            return _look(kept.log, scope, self.settings.arm_effects)

    def _fit(self, scope: SelectionOptions, options: dict[str, Any]) -> analysis.StudyFit:
        """Return the fit to the selection: the cached one if nothing is new, or one that starts from it."""
        labels = self._select(scope).arms if scope.labels else None
        scope = scope._replace(labels=False)
        fit = self._fit_by_id(scope, options)
        return fit if labels is None else replace(fit, arms=tuple(labels))

    def _fit_by_id(self, scope: SelectionOptions, options: dict[str, Any]) -> analysis.StudyFit:
        seen = self._select(scope)
        given: dict[str, Any] = {name: options.pop(name) for name in ("ridge", "clusters") if name in options}
        key = (scope, repr(given), repr(options.get("seed")))
        before = self._cache.fit(key)
        if before is not None and before.stamp == seen.stamp:
            return before.fit
        if "seed" in options:
            given["seed"] = options["seed"]
        start = None if before is None else before.fit.whole
        given |= {"among": seen.among, "start": start, "of": seen.of}
        fit = analysis.fit_with_misfit_test(seen.log, seen.arms, seen.features, **given)
        self._cache.keep(key, CachedFit(seen.stamp, fit))
        return fit


class AnalysisCache:
    """The cache of the analyses; accessed only under its lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.log = VoteLog()
        self._fits: OrderedDict[Any, CachedFit] = OrderedDict()
        self._judges: tuple[Any, dict[int, Any]] = None, {}
        self._history: tuple[Any, analysis.HistoryCache] = None, analysis.HistoryCache()

    def fit(self, key: Any) -> CachedFit | None:
        with self.lock:
            return self._fits.get(key)

    @contextmanager
    def history(self, key: Any) -> Iterator[analysis.HistoryCache]:
        """Yield a copy of the last history of the same scope, to continue from; two threads may read at once."""
        with self.lock:
            of, before = self._history
        known = analysis.HistoryCache(dict(before.chances), before.last) if of == key else analysis.HistoryCache()
        yield known
        with self.lock:
            self._history = key, known

    def cross_fits(self, key: Any) -> dict[int, Any]:
        """Return a copy: two threads may use it at once."""
        with self.lock:
            return dict(self._judges[1]) if self._judges[0] == key else {}

    def keep_cross_fits(self, key: Any, cross_fits: dict[int, Any]) -> None:
        with self.lock:
            self._judges = key, cross_fits

    def keep(self, key: Any, fit: CachedFit) -> None:
        with self.lock:
            self._fits[key] = fit
            self._fits.move_to_end(key)
            while len(self._fits) > FITS_KEPT:
                self._fits.popitem(last=False)


def split(context: str | None, options: Mapping[str, Any]) -> tuple[SelectionOptions, dict[str, Any]]:
    """Return the selection, and the arguments of the analysis itself."""
    without: Collection[str] | str = options.get("without", ())
    scope = SelectionOptions(
        context,
        options.get("criterion"),
        frozenset([without] if isinstance(without, str) else without),
        bool(options.get("everyone", False)),
        bool(options.get("retired", False)),
        options.get("category"),
        None if options.get("by") is None else check_choice("by", options["by"], ("system", "item")),
        bool(options.get("labels", False)),
    )
    own = {name: value for name, value in options.items() if name not in SelectionOptions._fields}
    if "random_state" in own:
        own["seed"] = draw_seed(own.pop("random_state"))
    return scope, own


def _left_out(scope: SelectionOptions, seen: Selection) -> frozenset[str]:
    unknown = next((name for name in scope.without if name not in seen.log.raters), None)
    if unknown is not None:
        raise InvalidInput(f"without has {unknown!r}, a rater without votes here.", "Remove the name.")
    return scope.without | (frozenset() if scope.everyone else seen.excluded)


def _look(known: VoteLog, scope: SelectionOptions, arm_effects: bool) -> Selection:
    """Select from the whole log."""
    every = [known.arms.arm(number) for number in range(len(known.arms))]
    chosen = [arm for arm in every if scope.context in (None, arm.context) and scope.category in (None, arm.category)]
    if scope.context is not None and not chosen:
        raise InvalidInput(
            f"context is {scope.context!r}, which has no arms.", f"{_which_contexts(every)}.", field="context"
        )
    if scope.category is not None and not chosen:
        categories = ", ".join(dict.fromkeys(repr(arm.category) for arm in every if arm.category)) or "none"
        raise InvalidInput(
            f"category is {scope.category!r}, which has no prompts.", f"There are: {categories}.", field="category"
        )
    if scope.by == "system" and not known.arms.has_systems:
        raise InvalidInput("by is 'system', and the items of this study have no systems.", "Leave it out.", field="by")
    log, criterion = known.standing()
    seen = Selection(
        log=log,
        arms=[arm.id for arm in chosen],
        features=_features(known, [arm.number for arm in chosen], arm_effects),
        among=None if scope.retired or not any(arm.retired for arm in chosen) else _ids_of_active(chosen),
        contexts=[arm.context for arm in chosen],
        excluded=known.excluded,
        stamp=known.stamp,
    )
    if seen.among == []:
        raise InvalidInput(
            f"context is {scope.context!r}, which has no active arms.", "Add or activate some.", field="context"
        )
    wanted = _on(known, scope.criterion, criterion)
    excluded = _left_out(scope, seen)
    if excluded:
        counts = np.array([*(name not in excluded for name in log.raters), True])
        wanted = counts[log.rater] if wanted is None else wanted & counts[log.rater]
    if len(chosen) < len(every):
        place = np.full(len(every), -1)
        place[[arm.number for arm in chosen]] = np.arange(len(chosen))
        first, second = place[log.first], place[log.second]
        inside = (first >= 0) & (second >= 0)
        wanted = inside if wanted is None else wanted & inside
        columns = {**vars(log), "n_arms": len(chosen), "first": first, "second": second}
        log = analysis.VoteTable(**columns)
    seen = seen._replace(log=log if wanted is None else log.of(wanted))
    if scope.by != "item" and known.arms.has_systems:
        return _by_system(seen, chosen)
    return _with_labels(seen, chosen) if scope.labels else seen


def _with_labels(seen: Selection, arms: Sequence[Arm]) -> Selection:
    """Return the selection with labels of arms instead of their ids."""
    label = {arm.id: label_of(arm) for arm in arms}
    among = None if seen.among is None else [label[arm] for arm in seen.among]
    return seen._replace(arms=list(label.values()), among=among)


def _by_system(seen: Selection, arms: Sequence[Arm]) -> Selection:
    """Return the selection with systems instead of their answers to prompts."""
    names = list(dict.fromkeys(arm.system for arm in arms if arm.system is not None))
    position = {name: k for k, name in enumerate(names)}
    of = np.array([position[arm.system] for arm in arms if arm.system is not None], np.int64)
    columns = {
        **vars(seen.log),
        "n_arms": len(names),
        "first": of[seen.log.first],
        "second": of[seen.log.second],
    }
    active = set(names) if seen.among is None else {arm.system for arm in arms if not arm.retired}
    return seen._replace(
        log=analysis.VoteTable(**columns),
        arms=names,
        features=None,
        among=None if len(active) == len(names) else [name for name in names if name in active],
        contexts=[None] * len(names),
        of="system",
    )


def _on(known: VoteLog, criterion: str | None, of_votes: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Return which votes are on this criterion; None for all of them."""
    if criterion is None:
        return None if not len(known.criteria()) else of_votes == 0
    number = known.criterion_number(criterion)
    if number is None and len(of_votes):
        there = ", ".join(map(repr, known.criteria())) or "none"
        raise InvalidInput(
            f"criterion is {criterion!r}, which no vote is on.", f"There are: {there}.", field="criterion"
        )
    return (of_votes == 0) | (of_votes == number)


def _features(
    known: VoteLog, numbers: Sequence[int], arm_effects: bool
) -> NDArray[np.float64] | analysis.WithArmEffects | None:
    """Return the newest features of arms; None if there are none, or they are one-hot, for which there is a faster
    way.
    """
    if not numbers or not known.arms.dim:
        return None
    features = np.asarray(known.arms.matrix(np.array(numbers)), np.float64)
    ones = features == 1.0
    own = (ones.sum(axis=1) == 1).all() and (ones.sum(axis=0) <= 1).all() and np.count_nonzero(features) == len(numbers)
    if own:
        return None
    return analysis.WithArmEffects(features) if arm_effects else features


def _ids_of_active(arms: Sequence[Arm]) -> list[str]:
    return [arm.id for arm in arms if not arm.retired]


def _which_contexts(arms: Sequence[Arm]) -> str:
    names = list(dict.fromkeys(arm.context for arm in arms if arm.context is not None))
    return f"There are: {', '.join(map(repr, names[:10]))}" if names else "The arms of this study have no contexts"
