"""Real preference data: loaders, never the data.

The files lie in one folder outside the repository; docs/data.md says where they come from. A loader takes that
folder as an argument, or finds it with `data_folder`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from duelist.errors import InvalidInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

VARIABLE: Final = "DUELIST_DATA"
USUAL_FOLDER: Final = Path("..") / "shared" / "data"
CRITERIA: Final = ("color", "sharpness", "landscape")
GOLD_VOTES: Final = 100
"""A pair of events with at least so many votes is a gold question asked of every worker."""


@dataclass(frozen=True)
class EventTime:
    """Which of two historical events came first, as crowd workers voted (Zhang, Li, Feng 2016)."""

    events: Ints
    """Ids of the events, in the order of `counts`."""
    votes: Ints
    """Every vote kept, (n, 2): position of the winner, position of the loser."""
    weights: Floats
    """What each vote counts, (n,): 1, or less for a vote on a gold pair."""
    dropped: Mapping[str, int]
    """What was left out or weighed down, and how many of it."""

    @property
    def counts(self) -> Floats:
        """Entry (i, j): how often i won over j, (n_events, n_events)."""
        return self.counts_of(np.arange(len(self.votes)))

    def counts_of(self, chosen: NDArray[np.integer | np.bool_]) -> Floats:
        """The same for some of the votes."""
        table = np.zeros((len(self.events), len(self.events)))
        np.add.at(table, tuple(self.votes[chosen].T), self.weights[chosen])
        return table


@dataclass(frozen=True)
class Photos:
    """Photos, their features, and people's votes on every pair of them (Asudeh et al. 2015)."""

    photos: Ints
    """Ids of the photos, in the order of everything else."""
    names: tuple[str, ...]
    """Names of the features."""
    features: Floats
    """Features as given, (n_photos, n_features)."""
    decided: Ints
    """Entry (c, i, j): how many voters preferred i to j by criterion c, in the order of `CRITERIA`."""
    ties: Ints
    """Entry (c, i, j) = (c, j, i): how many were indifferent."""

    @property
    def standardised(self) -> Floats:
        """Features with mean 0 and variance 1 over the photos; a constant feature becomes 0."""
        spread = self.features.std(axis=0)
        return np.asarray((self.features - self.features.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))

    @property
    def wins(self) -> Floats:
        """Wins of i over j by each criterion; an indifferent vote counts half to each side."""
        return np.asarray(self.decided + 0.5 * self.ties)

    @property
    def shares(self) -> Floats:
        """Share of the pair's votes that i has against j, by each criterion; 1/2 on the diagonal."""
        wins = self.wins
        total = wins + wins.transpose(0, 2, 1)
        return np.asarray(np.where(total > 0.0, wins / np.where(total > 0.0, total, 1.0), 0.5))


def data_folder(path: str | Path | None = None) -> Path:
    """The folder with the data: the argument, or $DUELIST_DATA, or ../shared/data if it is there."""
    given = path if path is not None else os.environ.get(VARIABLE)
    folder = Path(given) if given is not None else USUAL_FOLDER
    if folder.is_dir():
        return folder
    looked = (
        f"{folder} is not a folder"
        if given is not None
        else f"{VARIABLE} is not set and {folder.resolve()} is not there"
    )
    raise InvalidInput(
        f"no preference data: {looked}; get the files named in docs/data.md, put them in one folder, and name it in "
        f"{VARIABLE} or as an argument"
    )


def load_eventtime(folder: str | Path | None = None) -> EventTime:
    """Votes on the 100 events with valid = 1 and in_k100 = 1.

    Gold pairs (at least `GOLD_VOTES` votes) would dominate a fit: their votes are weighed down alike, so that such
    a pair counts as much as the most voted other pair.
    """
    base = data_folder(folder) / "eventtime"
    items = list(_rows(base / "items.csv", ("event_id", "valid", "in_k100")))
    chosen = [event for event, valid, in_k100 in items if valid == 1 and in_k100 == 1]
    kept = _positions(base / "items.csv", "event_id", chosen)
    known = {event for event, _, _ in items}
    comparisons = list(_rows(base / "comparisons.csv", ("winner", "loser")))
    _check_known(base / "comparisons.csv", known, comparisons)
    votes = np.array([(kept[w], kept[v]) for w, v in comparisons if w in kept and v in kept], dtype=np.int64).reshape(
        -1, 2
    )
    weights = _capped(votes, len(chosen))
    dropped = {
        "events that are not valid": sum(valid != 1 for _, valid, _ in items),
        "valid events outside the 100": sum(valid == 1 and in_k100 != 1 for _, valid, in_k100 in items),
        "votes on other events": len(comparisons) - len(votes),
        "gold pairs capped": len(np.unique(np.sort(votes[weights < 1.0], axis=1), axis=0)),
        "votes on gold pairs": int((weights < 1.0).sum()),
    }
    return EventTime(np.array(chosen, dtype=np.int64), votes, weights, dropped)


def load_photos(folder: str | Path | None = None) -> Photos:
    """Features and votes of the 100 photos."""
    base = data_folder(folder) / "crowdpareto_photos"
    ids, names, features = _features(base / "features.csv")
    position = _positions(base / "features.csv", "photo", ids)
    path = base / "votes.csv"
    votes = list(_rows(path, ("criterion", "photo_i", "photo_j", "vote")))
    _check_known(path, set(position), [(i, j) for _, i, j, _ in votes])
    decided = np.zeros((len(CRITERIA), len(ids), len(ids)), dtype=np.int64)
    ties = np.zeros_like(decided)
    for criterion, i, j, vote in votes:
        if criterion not in range(len(CRITERIA)) or vote not in (-1, 0, 1):
            raise InvalidInput(
                f"{path} has criterion {criterion} with vote {vote}; criteria are 0, 1, 2 and votes -1, 0, 1"
            )
        a, b = (position[j], position[i]) if vote < 0 else (position[i], position[j])
        if vote == 0:
            ties[criterion, a, b] += 1
            ties[criterion, b, a] += 1
        else:
            decided[criterion, a, b] += 1
    return Photos(np.array(ids, dtype=np.int64), names, features, decided, ties)


def _capped(votes: Ints, n: int) -> Floats:
    """A weight for each vote: those of a gold pair add up to the votes of the most voted other pair."""
    low, high = votes.min(axis=1, initial=n), votes.max(axis=1, initial=0)
    pair = low * n + high
    total = np.bincount(pair, minlength=n * n)
    gold = total >= GOLD_VOTES
    cap = total[~gold].max(initial=0)
    return np.asarray(np.where(gold[pair], cap / np.maximum(total[pair], 1), 1.0))


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Whole numbers of some columns of a CSV file."""
    for line, row in _records(path, columns):
        try:
            yield tuple(int(row[c]) for c in columns)
        except (TypeError, ValueError) as error:
            told = ", ".join(f"{c} {row[c]!r}" for c in columns)
            raise InvalidInput(f"{path}, line {line}: {told}; each must be a whole number") from error


def _features(path: Path) -> tuple[list[int], tuple[str, ...], Floats]:
    """Ids, names and values of a table of features; every column but `photo` is a feature."""
    ids: list[int] = []
    values: list[list[float]] = []
    names: tuple[str, ...] = ()
    for line, row in _records(path, ("photo",)):
        names = names or tuple(name for name in row if name != "photo")
        try:
            ids.append(int(row["photo"]))
            values.append([float(row[name]) for name in names])
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"{path}, line {line} cannot be read ({error}); give a number in every column"
            ) from error
        if not np.isfinite(values[-1]).all():
            raise InvalidInput(f"{path}, line {line} has a feature that is not finite; give a number in every column")
    if not names:
        raise InvalidInput(f"{path} has no features; give a column `photo` and a column for each feature, and rows")
    return ids, names, np.array(values)


def _records(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of a CSV file with their line numbers; the columns named must be there."""
    if not path.is_file():
        raise InvalidInput(f"{path} is not there; docs/data.md says where it comes from")
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = [c for c in columns if c not in (reader.fieldnames or ())]
        if missing:
            found = ", ".join(reader.fieldnames or ()) or "none"
            raise InvalidInput(f"{path} has no column {missing[0]!r}; its columns are {found}")
        for row in reader:
            yield reader.line_num, row


def _positions(path: Path, column: str, ids: Sequence[int]) -> dict[int, int]:
    repeated = [event for k, event in enumerate(ids) if event in ids[:k]]
    if repeated:
        raise InvalidInput(f"{path} has {column} {repeated[0]} twice; give each one row")
    return {event: k for k, event in enumerate(ids)}


def _check_known(path: Path, known: set[int], pairs: Sequence[tuple[int, ...]]) -> None:
    for k, (a, b) in enumerate(pairs):
        if a not in known or b not in known:
            raise InvalidInput(
                f"{path}, vote {k + 1} is on {a} and {b}; one of them is not in the table of items beside it"
            )
        if a == b:
            raise InvalidInput(f"{path}, vote {k + 1} compares {a} with itself; remove it")
