"""Logs of real votes as tables of counts: those in the data folder, and optional public ones.

Public logs are in the folder named by $DUELIST_PUBLIC. Missing logs are skipped, and `missing` says where to get them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.model.fit import fit_mle
from duelist.research.datasets import (
    CRITERIA,
    PairWins,
    load_arguments,
    load_candy,
    load_cuisines,
    load_eventtime,
    load_football,
    load_humour,
    load_llmfao,
    load_movies,
    load_photos,
    load_sushi,
    load_tennis,
)
from duelist.study import Outcome

SOURCES = {
    "arguments": "github.com/UKPLab/acl2016-convincing-arguments, data/UKPConvArg1-full-XML (Habernal, Gurevych 2016; CC BY 4.0)",
    "tennis": "github.com/JeffSackmann/tennis_atp, atp_matches_2010.csv to atp_matches_2019.csv (CC BY-NC-SA 4.0)",
    "humour": "github.com/UKPLab/acl2019-GPPL-humour-metaphor, data/pl-humor-full (Simpson et al. 2019)",
}
HELD_OUT_SOURCES = {
    "sushi": "www.kamishima.net/sushi, sushi3-2016 (Kamishima 2003; research use, not to be redistributed)",
    "movies": "grouplens.org/datasets/movielens, ml-100k (Harper, Konstan 2015; research use, not to be redistributed)",
    "candy": "github.com/fivethirtyeight/data, candy-power-ranking (CC BY 4.0)",
    "football": "github.com/martj42/international_results, results.csv (CC0)",
    "cuisines": "github.com/fivethirtyeight/data, food-world-cup (CC BY 4.0)",
}
"""Where public logs come from: for tuning, and held out (docs/evidence/held-out-protocol.md)."""
HELD_OUT = 0.2
"""The share of a log's votes held out from simulated worlds."""
SPLIT_SEED = 16
JOKES = 100


@dataclass(frozen=True)
class RealVotes:
    """Votes on the pairs of some arms."""

    wins: Floats
    """Entry (i, j): how often i won over j, a tie being half a win for each; of the votes that worlds may be made of."""
    held_out: Floats
    """The same of the other votes."""
    utilities: Floats
    """Bradley-Terry utilities, fitted to `wins`."""
    features: Floats | None = None
    """Raw features (n, dim)."""

    def of(self, arms: Ints) -> RealVotes:
        """The part of it that is about some arms."""
        table = np.ix_(arms, arms)
        features = None if self.features is None else self.features[arms]
        return RealVotes(self.wins[table], self.held_out[table], self.utilities[arms], features)

    def without_features(self) -> RealVotes:
        return RealVotes(self.wins, self.held_out, self.utilities)


def split_log(wins: Floats, features: Floats | None = None) -> RealVotes:
    """Split the votes of a log at random, with a fixed seed; the halves of a tie stay together."""
    rng = np.random.default_rng(SPLIT_SEED)
    i, j = np.triu_indices(len(wins), 1)
    votes = np.rint(wins[i, j] + wins[j, i]).astype(np.int64)
    aside = rng.binomial(votes, HELD_OUT)
    share = np.divide(wins[i, j], votes, out=np.full(len(votes), 0.5), where=votes > 0)
    held = np.zeros_like(wins)
    # The first arm's share of the votes set aside, rounded at random.
    won = np.clip(np.floor(aside * share + rng.random(len(votes))), 0.0, aside)
    won = np.minimum(np.maximum(won, aside - wins[j, i]), wins[i, j])
    held[i, j], held[j, i] = won, aside - won
    kept = wins - held
    return RealVotes(kept, held, bradley_terry(kept), features)


def bradley_terry(wins: Floats, ridge: float = 0.1) -> Floats:
    """u that maximises sum_ij wins_ij log sigma(u_i - u_j) - ridge/2 |u|^2, by damped steps of one arm each, all at once."""
    i, j = np.nonzero(np.triu(wins + wins.T, 1))
    votes, won = (wins + wins.T)[i, j], wins[i, j]
    n, u = len(wins), np.zeros(len(wins))
    if n <= 200:
        return fit_mle(np.eye(n)[i] - np.eye(n)[j], won / votes, votes, ridge).theta
    for _ in range(2000):
        chance = 1.0 / (1.0 + np.exp(u[j] - u[i]))
        rest, slope = won - votes * chance, votes * chance * (1.0 - chance)
        pull = np.bincount(i, rest, n) - np.bincount(j, rest, n) - ridge * u
        step = 0.5 * pull / (np.bincount(i, slope, n) + np.bincount(j, slope, n) + ridge)
        u = u + step
        if np.abs(step).max() < 1e-6:
            break
    return u


# -- the data folder ---------------------------------------------------------------------


@cache
def photos(criterion: int = 0) -> RealVotes:
    """100 photos with 23 raw features, five votes on every pair."""
    loaded = load_photos()
    varying = loaded.features.std(axis=0) > 0.0
    return split_log(loaded.wins[criterion], np.ascontiguousarray(loaded.features[:, varying]))


PHOTO_CRITERIA = {name: k for k, name in enumerate(CRITERIA)}


@cache
def events() -> RealVotes:
    """100 events, three votes on every pair; gold questions count as other pairs do."""
    return split_log(np.rint(load_eventtime().counts))


@dataclass(frozen=True)
class RatedVotes:
    """Votes of many raters: (first, second, share of the win that goes to the first, rater), a column each."""

    pairs: Ints
    shares: Floats
    raters: Ints


@cache
def answers() -> tuple[RealVotes, RatedVotes]:
    """59 language models by the votes on their answers, and the votes themselves."""
    comparisons = list(load_llmfao())
    names = sorted({c.first for c in comparisons} | {c.second for c in comparisons})
    place, people = {name: k for k, name in enumerate(names)}, sorted({str(c.rater) for c in comparisons})
    share = {Outcome.FIRST: 1.0, Outcome.SECOND: 0.0, Outcome.TIE: 0.5}
    pairs = np.array([(place[c.first], place[c.second]) for c in comparisons])
    shares = np.array([share[c.outcome] for c in comparisons])
    rater = {name: k for k, name in enumerate(people)}
    return split_log(_table(pairs, shares, len(names))), RatedVotes(
        pairs, shares, np.array([rater[str(c.rater)] for c in comparisons])
    )


def _table(pairs: Ints, shares: Floats, n: int) -> Floats:
    wins = np.zeros((n, n))
    np.add.at(wins, (pairs[:, 0], pairs[:, 1]), shares)
    np.add.at(wins, (pairs[:, 1], pairs[:, 0]), 1.0 - shares)
    return wins


# -- public logs -------------------------------------------------------------------------


def missing(sources: dict[str, str] = SOURCES) -> list[str]:
    """Return where to get each missing public log."""
    return [f"{name}: get {source}; see docs/guides/data.md" for name, source in sources.items() if not is_here(name)]


def is_here(name: str) -> bool:
    """Return whether a public log can be read."""
    try:
        _LOADERS[name]()
    except InvalidInput:
        return False
    return True


@cache
def arguments() -> tuple[RealVotes, ...]:
    """A log for each topic: 20 to 35 arguments for one side of a debate, five votes on most pairs, raw features of their texts."""
    return tuple(split_log(topic.wins, topic.features) for topic in load_arguments())


@cache
def humour() -> RealVotes:
    """100 of 4,030 short texts, by chance: each has some 14 pairs, so what they are worth is fitted among all of them."""
    pairs = load_humour()
    n = int(pairs.max()) + 1
    log = split_log(_table(pairs, np.ones(len(pairs)), n))
    return log.of(np.sort(np.random.default_rng(SPLIT_SEED).choice(n, JOKES, replace=False)))


@cache
def public(name: str) -> RealVotes:
    """A log with one table of counts."""
    loaded = _TABLES[name]()
    return split_log(loaded.wins, loaded.features)


_TABLES: dict[str, Callable[[], PairWins]] = {
    "tennis": load_tennis,
    "sushi": load_sushi,
    "movies": load_movies,
    "candy": load_candy,
    "football": load_football,
    "cuisines": load_cuisines,
}
_LOADERS: dict[str, Callable[[], object]] = {
    "arguments": arguments,
    "humour": humour,
    **{name: partial(public, name) for name in _TABLES},
}
