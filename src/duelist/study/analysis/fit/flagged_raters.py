"""Whether raters differ, and which of them are careless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from duelist.core.arrays import Ints
from duelist.core.errors import InvalidInput
from duelist.model.clusters import with_clusters
from duelist.model.posterior import Posterior
from duelist.model.raters.difference import LEVEL, difference_p_value
from duelist.model.raters.effects import RaterEffects
from duelist.model.raters.fit import fit_raters
from duelist.model.stopping import join_names
from duelist.model.vote_fit import DENSE
from duelist.model.votes import Votes
from duelist.study.analysis.fit.utilities import AUTO

RaterChoice = bool | Literal["auto"]
REASONS: Final = ("answers at random", "prefers a side", "votes against the others")
"""By kind of careless rater (`duelist.model.raters.effects.KINDS`)."""


@dataclass(frozen=True, slots=True)
class FlaggedRater:
    """A careless rater: one who answers without regard to the items, or against the others."""

    rater: str
    reason: str
    probability: float
    """That the rater is careless."""

    def __str__(self) -> str:
        return f"{self.rater} ({self.reason})"


def with_raters(
    posterior: Posterior, votes: Votes, choice: RaterChoice = AUTO, *, clusters: bool, seed: int = 0
) -> Posterior:
    """Return the posterior that counts how raters differ: with "auto" if they do, with True always.

    `clusters` says whether the covariance counts votes of one rater as dependent.
    """
    if choice is not True and choice is not False and choice != AUTO:
        raise InvalidInput(
            f"rater_model is {choice!r}.",
            'Give "auto", True or False.',
            code="invalid_input.rater_model",
            field="rater_model",
        )
    wide = with_clusters(posterior, votes) if clusters or choice == AUTO else posterior
    if choice is True or (choice == AUTO and raters_differ(wide, votes)):
        fitted = estimated_raters(posterior, votes, seed)
        if choice is True or has_a_crowd(fitted.raters):
            return with_clusters(fitted, votes) if clusters else fitted
    return wide if clusters else posterior


def has_a_crowd(effects: RaterEffects | None, excluded: Ints | Sequence[int] = ()) -> bool:
    """Return whether at most half of the raters are careless; otherwise too few votes tell them from the crowd.

    Excluded raters do not count.
    """
    if effects is None:
        return True
    counts = ~np.isin(effects.ids, np.asarray(excluded, np.intp))
    return bool(2 * counts[effects.careless].sum() <= counts.sum())


def raters_differ(posterior: Posterior, votes: Votes) -> bool:
    """Return whether a test says that raters differ, beyond the tastes of the posterior."""
    return _has_few_coefficients(posterior) and difference_p_value(posterior, votes) < LEVEL


def estimated_raters(posterior: Posterior, votes: Votes, seed: int = 0, outside: Ints | None = None) -> Posterior:
    """Return the fit of utilities and raters; raters `outside` do not affect it."""
    if not _has_few_coefficients(posterior) or votes.clusters["rater"].max(initial=-1) < 0:
        return posterior
    given: dict[str, Any] = {} if outside is None else {"outside": outside}
    return fit_raters(votes, posterior, seed=seed, **given)


def _has_few_coefficients(posterior: Posterior) -> bool:
    return posterior.fitted is not None and posterior.utility is not None and posterior.utility.width <= DENSE


def flagged_raters(effects: RaterEffects | None, names: tuple[str, ...]) -> tuple[FlaggedRater, ...]:
    """Return the careless raters."""
    if effects is None:
        return ()
    kind = np.argmax(effects.kinds, axis=1)
    return tuple(
        FlaggedRater(names[effects.ids[k]], REASONS[kind[k]], float(1.0 - effects.attentive[k]))
        for k in effects.careless
    )


def describe_flagged(flagged: tuple[FlaggedRater, ...]) -> str:
    """Return who is flagged, and why, as the beginning of a sentence."""
    by_reason = {reason: [each.rater for each in flagged if each.reason == reason] for reason in REASONS}
    plural = {"answers": "answer", "prefers": "prefer", "votes": "vote"}
    parts = []
    for reason, names in by_reason.items():
        verb, _, rest = reason.partition(" ")
        if names:
            parts.append(f"{join_names(tuple(names))} {verb if len(names) == 1 else plural[verb]} {rest}")
    return ", ".join(parts)
