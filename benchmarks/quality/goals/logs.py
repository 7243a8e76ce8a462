"""Logs of real votes as tables of counts: those in the data folder, and optional public ones.

Public logs are in the folder named by $DUELIST_PUBLIC, each in a checkout (or a part of one) of its repository. Missing logs
are skipped, and `missing` says where to get them.
"""

from __future__ import annotations

import csv
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.model.fit import fit_mle
from duelist.research.datasets import CRITERIA, load_eventtime, load_llmfao, load_photos
from duelist.study import Outcome

VARIABLE = "DUELIST_PUBLIC"
SOURCES = {
    "arguments": "github.com/UKPLab/acl2016-convincing-arguments, data/UKPConvArg1-full-XML (Habernal, Gurevych 2016; CC BY 4.0)",
    "tennis": "github.com/JeffSackmann/tennis_atp, atp_matches_2010.csv to atp_matches_2019.csv (CC BY-NC-SA 4.0)",
    "humour": "github.com/UKPLab/acl2019-GPPL-humour-metaphor, data/pl-humor-full (Simpson et al. 2019)",
}
"""Where public logs come from; a checkout has the repository's name."""
HELD_OUT = 0.2
"""The share of a log's votes held out from simulated worlds."""
SPLIT_SEED = 16
TEXT_FEATURES = ("words", "letters a word", "sentences", "commas", "questions", "share of capitals")
PLAYERS = 64
SEASONS = range(2010, 2020)
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


def missing() -> list[str]:
    """Return where to get each missing public log."""
    return [
        f"{name}: get {SOURCES[name]}, and name the folder that holds the checkout in {VARIABLE}"
        for name in SOURCES
        if not _files(name)
    ]


def _files(name: str) -> list[Path]:
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return []
    base = Path(folder) / SOURCES[name].split(",")[0].split("/")[-1]
    if name == "tennis":
        return [path for year in SEASONS if (path := base / f"atp_matches_{year}.csv").is_file()]
    where, pattern = ("UKPConvArg1-full-XML", "*.xml") if name == "arguments" else ("pl-humor-full", "pairs.csv")
    return sorted((base / "data" / where).glob(pattern))


@cache
def arguments() -> tuple[RealVotes, ...]:
    """A log a topic: 20 to 35 arguments for one side of a debate, five votes on most pairs, raw features of their texts."""
    return tuple(_topic(path) for path in _files("arguments"))


def _topic(path: Path) -> RealVotes:
    texts: dict[str, str] = {}
    votes: list[tuple[str, str, float]] = []
    for _, pair in ET.iterparse(path):
        if pair.tag != "annotatedArgumentPair":
            continue
        first, second = (_text(pair, f"{side}/id") for side in ("arg1", "arg2"))
        texts[first], texts[second] = (_text(pair, f"{side}/text") for side in ("arg1", "arg2"))
        values = [value.text for value in pair.iterfind("mTurkAssignments/mTurkAssignment/value")]
        votes += [(first, second, {"a1": 1.0, "a2": 0.0}.get(str(value), 0.5)) for value in values]
        pair.clear()
    place = {name: k for k, name in enumerate(sorted(texts))}
    pairs = np.array([(place[first], place[second]) for first, second, _ in votes])
    wins = _table(pairs, np.array([share for *_, share in votes]), len(place))
    return split_log(wins, np.array([text_features(texts[name]) for name in place]))


def _text(pair: ET.Element, where: str) -> str:
    found = pair.findtext(where)
    if found is None:
        raise ValueError(f"a pair of arguments has no {where}; get the files anew from {SOURCES['arguments']}")
    return found


def text_features(text: str) -> list[float]:
    """Return counts of a text, in the order of `TEXT_FEATURES`."""
    words = text.split()
    letters = [c for c in text if c.isalpha()]
    return [
        float(len(words)),
        len(letters) / max(len(words), 1),
        float(sum(text.count(mark) for mark in ".!?")),
        float(text.count(",")),
        float(text.count("?")),
        sum(c.isupper() for c in letters) / max(len(letters), 1),
    ]


@cache
def tennis() -> RealVotes:
    """The 64 players with the most matches of ten seasons."""
    matches: list[tuple[str, str]] = []
    for path in _files("tennis"):
        with path.open(newline="", encoding="utf-8") as file:
            matches += [(row["winner_name"], row["loser_name"]) for row in csv.DictReader(file)]
    return split_log(_most_seen(matches, PLAYERS))


def _most_seen(won: Iterable[tuple[str, str]], count: int) -> Floats:
    pairs = list(won)
    names, seen = np.unique(np.array(pairs), return_counts=True)
    kept = {name: k for k, name in enumerate(names[np.argsort(-seen, kind="stable")][:count].tolist())}
    among = np.array([(kept[a], kept[b]) for a, b in pairs if a in kept and b in kept])
    return _table(among, np.ones(len(among)), len(kept))


@cache
def humour() -> RealVotes:
    """100 of 4,030 short texts, by chance: each has some 14 pairs, so what they are worth is fitted among all of them."""
    (path,) = _files("humour")
    pairs = np.loadtxt(path, np.int64, delimiter=",")
    ids, places = np.unique(pairs, return_inverse=True)
    log = split_log(_table(places.reshape(-1, 2), np.ones(len(pairs)), len(ids)))
    return log.of(np.sort(np.random.default_rng(SPLIT_SEED).choice(len(ids), JOKES, replace=False)))
