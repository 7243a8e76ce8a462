"""Goodness of fit: tests of the model of votes against the next larger models, with one sentence of advice.

Each test asks whether votes of one group (a pair, a rater, a prompt, a category) deviate from the fit together, by the
score test of `duelist.model.clusters.deviation`; votes that share a rater or a prompt as well do not count for another
group. Side is tested as a covariate, ties and "both bad" against the numbers that the model expects, and features against
arm effects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
from scipy.special import chdtrc, ndtr

from duelist.core.arrays import Floats, Ints
from duelist.core.tables import TableContent, TabularResult, columns_of
from duelist.model.clusters import deviation
from duelist.model.posterior import Posterior
from duelist.model.vote_fit import fit as fit_model
from duelist.study.analysis.fit.acceptable import BAD, level_posterior
from duelist.study.analysis.fit.covariates import SIDE, Covariates
from duelist.study.analysis.fit.study_fit import StudyFit, cluster_kinds
from duelist.study.analysis.fit.votes import BOTH_BAD, TIE, Bools, VoteTable, vote_counts

LEVEL: Final = 0.01
"""P-value below which a check finds a misfit."""
_FEW_VOTES: Final = 50
_BINS: Final = 3
_ADVICE: Final = {
    "side": "The {of} shown first has an advantage of {size:+.2f} in log-odds: exclude it with covariates=['side'].",
    "categories": "The order differs between categories, by {size:.2f} in log-odds: read leaderboard_by_category().",
    "features": "Features do not explain the votes: arm effects were added; create studies with arm_effects=True.",
    "pairs": "Single pairs deviate from any order, by {size:.2f} in log-odds, as cycles do: read the win matrix as well.",
    "raters": "Tastes differ between raters, by {size:.2f} in log-odds: intervals count that, and more raters help more "
    "than more votes per rater.",
    "prompts": "Prompts suit some {of}s better, by {size:.2f} in log-odds: intervals count that, and more prompts help more "
    "than more votes per prompt.",
    "ties": "The share of ties differs from the model's by {size:.0%} at some gaps between two {of}s: win probabilities of close "
    "{of}s are approximate.",
    "both bad": 'The share of "both bad" differs from the model\'s by {size:.0%} on some pairs: which {of}s are acceptable is '
    "approximate.",
}
"""By check, in the order in which a misfit is reported."""


@dataclass(frozen=True, slots=True)
class FitCheck:
    """One test of the model against a larger one."""

    name: str
    """The effect tested: side, categories, features, pairs, raters, prompts, ties or both bad."""
    size: float | None
    """Estimated standard deviation of a group's own gap between two items, in log-odds; for side the advantage of the
    first, for ties and both bad the largest difference of shares."""
    groups: int
    """How many groups, each with votes to compare."""
    p_value: float

    @property
    def failed(self) -> bool:
        """Whether the votes contradict the model here."""
        return self.p_value < LEVEL


@dataclass(frozen=True, slots=True, repr=False)
class GoodnessOfFit(TabularResult):
    """How well the model describes the votes; `advice` is one sentence."""

    checks: tuple[FitCheck, ...]
    votes: int
    calibration_error: float
    """Mean difference of predicted and observed shares, on held-out votes."""
    advice: str

    __str__ = TabularResult.__str__

    def _table(self) -> TableContent:
        rows = [
            [
                each.name,
                "-" if each.size is None else f"{each.size:.2f}",
                f"{each.groups:,}",
                f"{each.p_value:.2g}",
                "misfit" if each.failed else "",
            ]
            for each in self.checks
        ]
        error = f"calibration error {self.calibration_error:.3f} on held-out votes, {self.votes:,} votes"
        return TableContent(["check", "deviation", "groups", "p", ""], rows, [error, self.advice])

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return columns_of(self.checks, [field.name for field in fields(FitCheck)])


def goodness_of_fit(
    fit: StudyFit, *, categories: Ints | None = None, features_p: float | None = None, calibration_error: float
) -> GoodnessOfFit:
    """Check a fit whose covariance takes votes for independent (`clusters=False`).

    `categories` is the category of each vote of `fit.log`, -1 for none; `features_p` the p-value of the misfit test.
    """
    log = fit.log
    checks = [] if features_p is None else [FitCheck("features", None, len(fit.arms), features_p)]
    if fit.votes:
        checks += [*_side(fit), *_grouped(fit, categories), *_ties(fit), *_both_bad(fit)]
    order = list(_ADVICE)
    checks.sort(key=lambda each: order.index(each.name))
    worst = next((each for each in checks if each.failed), None)
    if worst is not None:
        advice = _ADVICE[worst.name].format(of="item" if fit.of == "arm" else fit.of, size=worst.size or 0.0)
    elif fit.votes < _FEW_VOTES:
        advice = f"There are {fit.votes} votes, too few to find a misfit."
    else:
        advice = "The model describes the votes: no check contradicts it."
    return GoodnessOfFit(tuple(checks), int(log.teaching.sum()), calibration_error, advice)


def _grouped(fit: StudyFit, categories: Ints | None) -> list[FitCheck]:
    """Test whether the votes on a pair, of a rater, on a prompt or of a category deviate together."""
    log = fit.log
    single, chosen = vote_counts(log, cluster_kinds(log)), np.flatnonzero(log.teaching)
    known = dict(single.clusters)
    groups = {f"{kind}s": clusters for kind, clusters in known.items()}
    groups["pairs"] = single.items[:, 0] * single.n_items + single.items[:, 1]
    if categories is not None:
        groups["categories"] = categories[chosen]
    checks = []
    for name, group in groups.items():
        others = [clusters for kind, clusters in known.items() if f"{kind}s" != name]
        found = deviation(fit.whole, single, group, others)
        size = np.unique(group[group >= 0])
        if found is not None and len(size) > 1:
            gap = float(np.sqrt(2.0 * max(found.variance, 0.0)))
            checks.append(FitCheck(name, gap, len(size), float(ndtr(-found.score))))
    return checks


def _side(fit: StudyFit) -> list[FitCheck]:
    """Test whether the item shown first has an advantage."""
    given = fit.log.covariates
    if given is not None and SIDE in given.names:
        return []
    ones = np.ones((len(fit.log), 1))
    covariates = Covariates((SIDE,), ones)
    if given is not None:
        covariates = Covariates((SIDE, *given.names), np.hstack([ones, given.values]))
    votes = vote_counts(replace(fit.log, covariates=covariates), ())
    utility, answer = fit.whole.utility, fit.whole.answer
    found = (
        None
        if utility is None
        else fit_model(replace(votes, counts=votes.counts[:, : len(answer.outcomes)]), utility, answer).fitted
    )
    if found is None:
        return []
    advantage, error = float(found.covariates[0]), float(np.sqrt(found.extra_covariance[0, 0]))
    return [FitCheck(SIDE, advantage, 2, float(2.0 * ndtr(-abs(advantage) / error)))]


def _ties(fit: StudyFit) -> list[FitCheck]:
    """Compare ties with those expected, among votes on close, middling and distant items."""
    log = fit.log.of(fit.log.teaching)
    if fit.whole.tie is None or not len(log):
        return []
    gap = np.abs(fit.whole.mean[log.first] - fit.whole.mean[log.second])
    expected = _expected(fit.whole, np.stack([log.first, log.second], axis=1), log)[:, TIE]
    return _compared("ties", log.outcome == TIE, expected, gap)


def _both_bad(fit: StudyFit) -> list[FitCheck]:
    """Compare votes that both items are bad with those expected, among pairs where few, some and many are expected."""
    posterior, log = level_posterior(fit), fit.log.of(fit.log.teaching | fit.log.both_bad)
    if posterior is None:
        return []
    items = np.column_stack([log.first, log.second, np.full(len(log), log.n_arms)])
    expected = _expected(posterior, items, log)[:, posterior.answer.outcomes.index(BAD)]
    return _compared(BAD, log.outcome == BOTH_BAD, expected, expected)


def _compared(name: str, happened: Bools, expected: Floats, by: Floats) -> list[FitCheck]:
    """Compare how often something happened with its probability, in three groups of votes by the size of `by`."""
    group = np.searchsorted(np.quantile(by, np.arange(1, _BINS) / _BINS), by)
    n = np.bincount(group, minlength=_BINS)
    excess = np.bincount(group, happened - expected, _BINS)
    variance = np.bincount(group, expected * (1.0 - expected), _BINS)
    used = variance > 0.0
    if used.sum() < 2:
        return []
    statistic = float((excess[used] ** 2 / variance[used]).sum())
    size = float(np.abs(excess[used] / n[used]).max())
    # One degree of freedom goes to the fitted share.
    return [FitCheck(name, size, int(used.sum()), float(chdtrc(int(used.sum()) - 1, statistic)))]


def _expected(posterior: Posterior, items: Ints, log: VoteTable) -> Floats:
    """Return the fitted probability of each outcome of each vote."""
    fitted = posterior.fitted
    parameters = np.zeros(len(posterior.answer.parameters)) if fitted is None else fitted.parameters
    shift = np.zeros(len(log))
    if log.covariates is not None and fitted is not None:
        shift = log.covariates.values @ fitted.covariates
    return np.asarray(posterior.answer.probabilities(posterior.mean[items], shift, parameters))
