"""The acceptable level: absolute quality, from the votes that both items are bad.

Comparisons say which of two items is better, not whether it is good enough. "Both bad" says that: it is one more option,
the acceptable level, that was chosen before both items (`PAIR_WITH_LEVEL`). The level is fitted as one more item,
together with the utilities, so an item is above it if it wins against "both bad" more often than not. Votes of one rater
are dependent here as well: some raters are stricter.

The order of the items does not use these votes. Given that a rater prefers one item, the odds are the same with and without
the option (Luce 1959), so the fit of comparisons alone is right even if prompts or raters make "both bad" more likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from duelist.core.arrays import Floats
from duelist.model.answers import PAIR_WITH_LEVEL
from duelist.model.clusters import with_clusters
from duelist.model.posterior import Posterior
from duelist.model.vote_fit import DENSE
from duelist.model.vote_fit import fit as fit_model
from duelist.model.votes import Votes
from duelist.study.analysis.fit.study_fit import StudyFit, cluster_kinds
from duelist.study.analysis.fit.votes import BOTH_BAD, TIE, VoteTable, vote_counts

BAD: Final = PAIR_WITH_LEVEL.outcomes[BOTH_BAD]


@dataclass(frozen=True, eq=False)
class AcceptableLevel:
    """The acceptable level among the analysed arms."""

    utility: float
    """Relative to the mean arm."""
    probability: Floats
    """That each arm is above the level."""
    votes: int
    """Votes that both arms are bad."""


def acceptable_level(fit: StudyFit) -> AcceptableLevel | None:
    """Return the acceptable level; None if no vote says that both arms are bad, or with too many coefficients."""
    found = level_posterior(fit)
    if found is None:
        return None
    arms, level = fit.among, np.full(len(fit.among), len(fit.arms))
    above = found.mean[arms] - found.mean[level]
    deviation = np.sqrt(found.difference_variance(arms, level))
    return AcceptableLevel(float(-above.mean()), ndtr(above / deviation), int(fit.log.both_bad.sum()))


def level_posterior(fit: StudyFit) -> Posterior | None:
    """Return the posterior of all arms and, after them, of the acceptable level; None without one.

    It counts clusters of votes if the fit does.
    """
    return fit.once("level", lambda: _fit_level(fit))


def _fit_level(fit: StudyFit) -> Posterior | None:
    utility = fit.whole.utility
    if not fit.log.both_bad.any() or utility is None or utility.width >= DENSE:
        return None
    votes = level_votes(fit.log)
    ties = bool(votes.by_outcome[TIE])
    answer = PAIR_WITH_LEVEL.only(["first", "second", *(["tie"] if ties else []), BAD])
    kept = [PAIR_WITH_LEVEL.outcomes.index(name) for name in answer.outcomes]
    votes = Votes(votes.n_items, votes.items, votes.counts[:, kept], votes.covariates, votes.clusters, votes.sides)
    posterior = fit_model(votes, utility.with_level(), answer)
    return with_clusters(posterior, votes) if fit.whole.taste else posterior


def level_votes(log: VoteTable) -> Votes:
    """Return the votes one by one, with the acceptable level as the last item shown."""
    return vote_counts(log, cluster_kinds(log), level=True)
