"""The analysis methods of a study: leaderboard, raters, progress, and the rest.

They analyse the current votes whenever they are called. They read the log in short transactions and under a separate
lock, so that asking and voting do not wait for them; rows stay cached, and the next analysis reads only new
ones.

All of them take the same options to select votes:

context     only the arms of this group, and the votes between them
category    only the prompts of this category, in a study of systems
by          "system" (the default in a study of systems) or "item": analyse systems or their single answers
criterion   the question, if a study has several; the first by default
without     raters whose votes are excluded, besides those that the owner excluded
everyone    True includes excluded raters as well
retired     True ranks retired arms, too; otherwise their votes inform the fit, and they are not shown
where       conditions on attributes of raters, such as "age >= 30" or "home = north": only the votes of those who fulfil all
labels      True names each arm by its id and the beginning of its text: 17 “Fast as light”

Intervals, ranks, probabilities of being best and stopping decisions count the votes of one rater, and those of systems on
one prompt, as dependent; `clusters=False` treats all votes as independent. `covariates=["side", "length"]` removes the
effects of these from utilities, and the leaderboard reports them.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cached_property, wraps
from html import escape
from typing import Any, Final, NamedTuple, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from duelist.core.errors import InvalidInput
from duelist.model.scorer import Scorer
from duelist.policies import Policy
from duelist.study import analysis
from duelist.study.administration.tokens import list_tokens
from duelist.study.analysis.fit.covariates import Covariates, ShownPair, expand_names, measured
from duelist.study.analysis.fit.selection import Selection, SelectionOptions, left_out, select, split
from duelist.study.analysis.fit.study_fit import chance_if_explained
from duelist.study.analysis.fit.vote_log import CHUNK, VoteLog
from duelist.study.analysis.raters.supply import RaterSupply
from duelist.study.analysis.raters.without_flagged import Result, with_flagged
from duelist.study.analysis.stopping import StudyRecommendation
from duelist.study.items.feature_scorer import scorer_for_file
from duelist.study.options import (
    CalibrationOptions,
    ChanceOptions,
    EstimateOptions,
    GoodnessOptions,
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

Method = TypeVar("Method", bound=Callable[..., Any])
FITS_KEPT: Final = 8
"""Fits that are cached as starting points."""


class CachedFit(NamedTuple):
    stamp: tuple[int, ...]
    fit: analysis.StudyFit


def once(analyse: Method) -> Method:
    """Decorate an analysis to return its last result with the same options while the study is unchanged."""

    @wraps(analyse)
    def computed_once(study: StudyAnalysis, *args: Any, **options: Any) -> Any:
        if any(isinstance(value, np.random.Generator) for value in (*args, *options.values())):
            return analyse(study, *args, **options)
        key, stamp = (analyse.__name__, repr(args), repr(sorted(options.items()))), study._follow()
        found = study._cache.result(key, stamp)
        if found is None:
            found = analyse(study, *args, **options)
            study._cache.keep_result(key, stamp, found)
        return found

    return cast("Method", computed_once)


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
        found = self._with_flagged(scope, own, lambda fit, given: analysis.leaderboard_from_fit(fit, top=top, **given))
        return replace(found, category=scope.category)

    @lists(LeaderboardOptions)
    def leaderboard_by_category(self, **options: Unpack[LeaderboardOptions]) -> analysis.LeaderboardByCategory:
        """Return the leaderboard of systems on all prompts, and on those of each category."""
        check_options("leaderboard_by_category", LeaderboardOptions, options)
        names = dict.fromkeys(arm.category for arm in self.arms() if arm.category is not None and not arm.retired)
        if not names:
            raise InvalidInput(
                "The prompts of this study have no categories.",
                "Name the category of each prompt when you add the answers, or in a column of their file.",
            )
        whole = options | LeaderboardOptions(category=None)
        boards = tuple(self.leaderboard(**(whole | LeaderboardOptions(category=name))) for name in names)
        return analysis.LeaderboardByCategory(self.leaderboard(**whole), boards)

    @lists(StoppingOptions)
    def recommend(
        self, context: str | None = None, delta: float = 0.05, **options: Unpack[StoppingOptions]
    ) -> StudyRecommendation:
        """Return the recommended arm, its probability of being best, and the arms that are not ruled out.

        Stop asking when it is `decided`: the recommended arm is then wrong with
        probability at most `delta`. `probability` is that of being the best
        among the arms not ruled out (1 when decided); `leaderboard` reports it
        among all arms.

        Arms with the same features are recommended together if features are all
        that distinguishes arms. With `arm_effects`, votes must tell them apart;
        if they are equally good that never ends, and `advice` says so.
        `tolerance=0.01, unit="chance"` accepts an arm within one percentage
        point of the best, which does end; a tolerance without a unit is in
        utility.
        """
        check_options("recommend", StoppingOptions, options)
        scope, own = split(context, options)
        return self._with_flagged(
            scope,
            own,
            lambda fit, given: analysis.recommendation_from_fit(fit, delta=delta, supply=self._supply(fit.of), **given),
        )

    @lists(StoppingOptions)
    def progress(
        self, context: str | None = None, delta: float = 0.05, **options: Unpack[StoppingOptions]
    ) -> analysis.Progress:
        """Return how close the study is to knowing its best arm; it is done when `recommend` is decided."""
        check_options("progress", StoppingOptions, options)
        scope, own = split(context, options)
        return self._with_flagged(
            scope,
            own,
            lambda fit, given: analysis.progress_from_fit(fit, delta=delta, supply=self._supply(fit.of), **given),
        )

    def _supply(self, of: str) -> RaterSupply | None:
        """Return the raters available; None if a pair may be repeated, or stands for many pairs of answers."""
        if self.settings.repeat_pairs != "never" or of == "system":
            return None
        with self._storage.viewing(self._id) as tx:
            blocked = {rater.name for rater in tx.raters() if rater.blocked}
        voted = self._select(SelectionOptions(everyone=True)).log.raters
        invited = {token.rater for token in list_tokens(self._storage, self._id) if token.rater and token.is_valid()}
        return RaterSupply(len({*voted, *invited} - blocked), self.settings.max_votes_per_pair)

    @lists(VoteOptions)
    @once
    def win_matrix(self, context: str | None = None, **options: Unpack[VoteOptions]) -> analysis.WinMatrix:
        """Return how often each arm won against each other, and how often they tied or were both bad."""
        check_options("win_matrix", VoteOptions, options)
        scope, _ = split(context, options)
        seen = self._select(scope)
        index = {arm: k for k, arm in enumerate(seen.arms)}
        among = None if seen.among is None else np.array([index[arm] for arm in seen.among], np.int64)
        return analysis.win_matrix_from_votes(seen.log.on_arms, seen.arms, among)

    @lists(ChanceOptions)
    @once
    def win_chances(self, context: str | None = None, **options: Unpack[ChanceOptions]) -> analysis.WinChances:
        """Return the fitted chances of each pair to win and to tie; see `analysis.win_chances`."""
        check_options("win_chances", ChanceOptions, options)
        scope, own = split(context, options)
        return analysis.win_chances_from_fit(self._fit(scope, own))

    @lists(HistoryOptions)
    @once
    def history(self, context: str | None = None, **options: Unpack[HistoryOptions]) -> analysis.History:
        """Return the probability of being best of each arm over the votes; see `analysis.history`."""
        check_options("history", HistoryOptions, options)
        scope, own = split(context, options)
        seen = self._select(scope)
        of_fit: dict[str, Any] = {
            str(name): own[name] for name in ("ridge", "clusters", "rater_model", "seed") if name in own
        }
        flagged = [each.rater for each in self._fit(scope, of_fit).flagged]
        own.pop("rater_model", None)
        with self._cache.history(scope) as remembered:
            own |= {"remembered": remembered, "of": seen.of, "flagged": flagged}
            return analysis.history(seen.log, seen.arms, seen.features, among=seen.among, **own)

    @lists(VoteOptions)
    def scorer(self, context: str | None = None, **options: Unpack[VoteOptions]) -> Scorer:
        """Return a scorer that predicts the utility of new arms from features: `scorer().save("scorer.json")`.

        For a study made from a table it takes that table's columns in their own
        units; the scorer's `columns` names them.
        """
        check_options("scorer", VoteOptions, options)
        scope, _ = split(context, options)
        seen = self._select(scope)
        found = analysis.scorer_from_votes(seen.log.on_arms, seen.features, source=f"study {self.name}")
        return scorer_for_file(found, self.settings.feature_recipe)

    # -- raters ---------------------------------------------------------------------------

    @lists(CalibrationOptions)
    @once
    def calibration(self, context: str | None = None, **options: Unpack[CalibrationOptions]) -> analysis.Calibration:
        """Return predicted against observed shares, on held-out votes; see `analysis.calibration`."""
        check_options("calibration", CalibrationOptions, options)
        scope, own = split(context, options)
        seen = self._select(scope)
        return analysis.calibration(seen.log, seen.arms, seen.features, **own)

    @lists(RaterOptions)
    @once
    def raters(self, context: str | None = None, **options: Unpack[RaterOptions]) -> analysis.Raters:
        """Return speed, side bias, agreement and reliability of raters, and who is flagged; see `analysis.rater_statistics`.

        Excluded raters are listed, too, but their votes do not affect the
        statistics of others.
        """
        check_options("raters", RaterOptions, options)
        scope, own = split(context, options)
        seen = self._select(scope._replace(everyone=True, without=frozenset()))
        excluded = left_out(scope, seen)
        cross_fits = self._cache.cross_fits(scope)
        own |= {"excluded": excluded, "cross_fits": cross_fits}
        found = analysis.rater_statistics(seen.log, seen.arms, seen.features, **own)
        self._cache.keep_cross_fits(scope, cross_fits)
        return found

    @lists(GoodnessOptions)
    @once
    def goodness_of_fit(self, context: str | None = None, **options: Unpack[GoodnessOptions]) -> analysis.GoodnessOfFit:
        """Return how well the model describes the votes, with one sentence of advice; see `analysis.goodness_of_fit`."""
        check_options("goodness_of_fit", GoodnessOptions, options)
        scope, own = split(context, options)
        seen = self._select(scope)
        error = analysis.calibration(seen.log, seen.arms, seen.features).error
        found = self._fit(scope, {**own, "clusters": False})
        plain = seen.features is not None and not isinstance(seen.features, analysis.WithArmEffects)
        with self._cache.lock:
            known = self._cache.log
            first = known.arms_of(found.log.duel)[:, 0]
            names = [row.category for row in known.arms.rows()]
        number = {name: k for k, name in enumerate(dict.fromkeys(names)) if name is not None}
        categories = np.array([-1 if name is None else number[name] for name in names], np.int64)[first]
        return analysis.goodness_of_fit(
            found,
            categories=categories if len(number) > 1 else None,
            features_p=chance_if_explained(seen.log.on_arms, seen.features, 0) if plain else None,
            calibration_error=error,
        )

    @lists(EstimateOptions)
    @once
    def regret(self, context: str | None = None, **options: Unpack[EstimateOptions]) -> analysis.RegretEstimate:
        """Return the regret of the policy's duels, estimated from random ones; see `analysis.estimated_regret`.

        If arms have contexts, a duel is measured against the best arm of its
        context.
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

    def _follow(self) -> tuple[int, ...]:
        """Read new rows of the log, and return a value that changes whenever an analysis may change."""
        with self._cache.lock:
            self._cache.log.follow(lambda: self._storage.viewing(self._id))
            return self._cache.log.stamp

    def _select(self, scope: SelectionOptions) -> Selection:
        kept = self._cache
        with kept.lock:
            kept.log.follow(lambda: self._storage.viewing(self._id))
            if scope.criterion is None and self.settings.main_criterion in kept.log.criteria():
                scope = scope._replace(criterion=self.settings.main_criterion)
            return select(kept.log, scope, self.settings.arm_effects)

    def _with_flagged(
        self,
        scope: SelectionOptions,
        options: dict[str, Any],
        analyse: Callable[[analysis.StudyFit, dict[str, Any]], Result],
    ) -> Result:
        """Return an analysis of the fit, with flagged raters and what changes without their votes."""
        again = dict(options)
        fit = self._fit(scope, options)

        def without(raters: frozenset[str]) -> analysis.StudyFit:
            return self._fit(scope._replace(without=scope.without | raters), dict(again))

        return with_flagged(fit, without, lambda each: analyse(each, options))

    def _fit(self, scope: SelectionOptions, options: dict[str, Any]) -> analysis.StudyFit:
        """Return the fit to the selection: the cached one if nothing is new, or one that starts from it."""
        labels = self._select(scope).arms if scope.labels else None
        scope = scope._replace(labels=False)
        fit = self._fit_by_id(scope, options)
        return fit if labels is None else replace(fit, arms=tuple(labels))

    def _fit_by_id(self, scope: SelectionOptions, options: dict[str, Any]) -> analysis.StudyFit:
        seen = self._select(scope)
        covariates = expand_names(options.pop("covariates", ()))
        given: dict[str, Any] = {
            name: options.pop(name) for name in ("ridge", "clusters", "rater_model") if name in options
        }
        key = (scope, repr(given), covariates, repr(options.get("seed")))
        before = self._cache.fit(key)
        if before is not None and before.stamp == seen.stamp:
            return before.fit
        if "seed" in options:
            given["seed"] = options["seed"]
        start = None if before is None else before.fit.whole
        if covariates:
            seen = seen._replace(log=replace(seen.log, covariates=self._measured(covariates, seen.log.duel)))
        given |= {"among": seen.among, "start": start, "of": seen.of}
        fit = analysis.fit_with_misfit_test(seen.log, seen.arms, seen.features, **given)
        self._cache.keep(key, CachedFit(seen.stamp, fit))
        return fit

    def _measured(self, names: Sequence[str], duels: NDArray[Any]) -> Covariates:
        """Return covariates of votes on these duels, from their own texts, or those of their arms."""
        shown, of_vote = np.unique(duels, return_inverse=True)
        with self._cache.lock:
            known = self._cache.log
            pairs = [ShownPair(*map(known.arms.payload, arms)) for arms in known.arms_of(shown).tolist()]
        place = {duel: k for k, duel in enumerate(shown.tolist())}
        for start in range(0, int(shown[-1]) if len(shown) else 0, CHUNK):
            with self._storage.viewing(self._id) as tx:
                rows = tx.details_between(start, start + CHUNK)
            for row in rows:
                k = place.get(row.duel)
                if k is not None:
                    one, other, _ = pairs[k]
                    extra = row.body.get("extra", {})
                    pairs[k] = ShownPair(row.body.get("first", one), row.body.get("second", other), extra)
        return measured(names, len(duels), pairs, of_vote)


class AnalysisCache:
    """The cache of the analyses; accessed only under its lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.log = VoteLog()
        self._fits: OrderedDict[Any, CachedFit] = OrderedDict()
        self._results: OrderedDict[Any, tuple[tuple[int, ...], Any]] = OrderedDict()
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
        self._keep_newest(self._fits, key, fit)

    def result(self, key: Any, stamp: tuple[int, ...]) -> Any:
        """Return a result that was computed from the same votes, None if there is none."""
        with self.lock:
            found = self._results.get(key)
        return None if found is None or found[0] != stamp else found[1]

    def keep_result(self, key: Any, stamp: tuple[int, ...], result: Any) -> None:
        for each in fields(result):
            value = getattr(result, each.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)  # all callers share it
        self._keep_newest(self._results, key, (stamp, result))

    def _keep_newest(self, entries: OrderedDict[Any, Any], key: Any, value: Any) -> None:
        with self.lock:
            entries[key] = value
            entries.move_to_end(key)
            while len(entries) > FITS_KEPT:
                entries.popitem(last=False)
