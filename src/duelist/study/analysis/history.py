"""History: the probability of being the best, over the votes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.core.tables import TableContent, TabularResult, format_percent
from duelist.model.posterior import Posterior
from duelist.study.analysis.fit.study_fit import fit_votes
from duelist.study.analysis.fit.utilities import Features, WithArmEffects
from duelist.study.analysis.fit.votes import VoteTable, as_vote_table
from duelist.study.analysis.leaderboard import chances_of_best
from duelist.study.records import Vote


@dataclass(frozen=True, eq=False, repr=False)
class History(TabularResult):
    """The probability of being the best of each arm, after increasing numbers of votes."""

    arms: tuple[str, ...]
    votes: NDArray[np.int64]
    """Numbers of votes, increasing."""
    chance_best: Floats
    """(len(votes), n_arms)."""

    def leading(self, most: int) -> list[int]:
        """Return positions of the arms to plot: those that end highest, then those that once led."""
        if not len(self.votes):
            return []
        order = np.lexsort((-self.chance_best.max(axis=0), -self.chance_best[-1]))
        return [int(k) for k in order[:most] if self.chance_best[:, k].max() > 0.0]

    def _table(self) -> TableContent:
        chosen = self.leading(5)
        rows = [
            [f"{n}", *(format_percent(row[k]) for k in chosen)]
            for n, row in zip(self.votes, self.chance_best, strict=True)
        ]
        return TableContent(["after votes", *(self.arms[k] for k in chosen)], rows)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        points, n = self.chance_best.shape
        return {
            "votes": np.repeat(self.votes, n).tolist(),
            "arm": list(self.arms) * points,
            "chance_best": self.chance_best.ravel().tolist(),
        }


@dataclass
class HistoryCache:
    """Results of an earlier history, reused by the next one of the same study, since most moments are the same."""

    chances: dict[bytes, Floats] = field(default_factory=dict)
    """By a digest of everything a moment depends on: arms, features, and the current votes up to then."""
    last: Posterior | None = None


def history(
    votes: Sequence[Vote] | VoteTable,
    arms: Sequence[str],
    features: Features = None,
    *,
    among: Sequence[str] | None = None,
    points: int = 40,
    ridge: float | str = 1.0,
    seed: int = 0,
    remembered: HistoryCache | None = None,
    clusters: bool = True,
    of: str = "arm",
    flagged: Collection[str] = (),
) -> History:
    """Return the probability of being best after every 1, 2 or 5 times 10^k votes, and now.

    The step is chosen so that there are at most `points` of them.

    Votes are in the order in which they were first given, as they stand now: a
    vote that was revised later counts as revised. Such moments stay the same
    when votes are added, so that with the cache of the last history only the
    newest are computed. Votes of `flagged` raters are on the axis, but do not
    count; others count alike.
    """
    if isinstance(points, bool) or not isinstance(points, int) or points < 1:
        raise InvalidInput(f"points is {points!r}.", "Give a whole number of at least 1.", field="points")
    log = as_vote_table(votes, arms).on_arms
    log = log.of(log.teaching)
    moments = _moments(len(log), points)
    names = tuple(arms) if among is None else tuple(among)
    known = HistoryCache() if remembered is None else remembered
    found: dict[bytes, Floats] = {}
    keys = _digests(log, moments, repr((tuple(arms), names, ridge, seed, clusters, of, sorted(flagged))), features)
    counts = np.array([*(name not in flagged for name in log.raters), True])[log.rater]
    for moment, key in zip(moments, keys, strict=True):
        row = known.chances.get(key)
        if row is None:
            fit = fit_votes(
                log.of(np.flatnonzero(counts[:moment])),
                arms,
                features,
                among=among,
                ridge=ridge,
                seed=seed,
                start=known.last,
                clusters=clusters,
                of=of,
                rater_model=False,
            )
            known.last, row = fit.whole, chances_of_best(fit.posterior, seed)
        found[key] = row
    known.chances = found
    return History(names, moments, np.array([found[key] for key in keys]).reshape(len(moments), len(names)))


def _moments(n: int, points: int) -> NDArray[np.int64]:
    """Return 0, multiples of a round number, and n.

    >>> _moments(103, 6).tolist()
    [0, 20, 40, 60, 80, 100, 103]
    """
    step = next(s for k in range(20) for s in (10**k, 2 * 10**k, 5 * 10**k) if n <= s * points)
    return np.unique(np.append(np.arange(0, n, step, dtype=np.int64), n))


def _digests(log: VoteTable, moments: NDArray[np.int64], settings: str, features: Features) -> list[bytes]:
    """Return, for each moment, a digest of everything its fit depends on."""
    digest = blake2b(settings.encode(), digest_size=16)
    vectors = features.features if isinstance(features, WithArmEffects) else features
    if vectors is not None:
        digest.update(type(features).__name__.encode() + np.ascontiguousarray(vectors).tobytes())
    keys = [digest.digest()]
    for start, stop in pairwise(moments.tolist()):
        for column in (log.first, log.second, log.outcome, log.rater, log.context):
            digest.update(np.ascontiguousarray(column[start:stop]).tobytes())
        keys.append(digest.digest())
    return keys
