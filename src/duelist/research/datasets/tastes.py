"""What people like: orders of sushi, ratings of movies and cuisines, and win shares of candy."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from duelist.core.errors import InvalidInput
from duelist.research.datasets.folder import public_file
from duelist.research.datasets.pair_wins import PairWins, as_number, wins_in_orders, wins_in_ratings
from duelist.research.datasets.tables import records

SUSHI: Final = "sushi3-2016"
MOVIES: Final = "ml-100k"
CANDY: Final = "candy-power-ranking/candy-data.csv"
CUISINES: Final = "food-world-cup/food-world-cup-data.csv"
SUSHI_FEATURES: Final = (
    "style",
    "major group",
    "minor group",
    "heaviness",
    "how often eaten",
    "price",
    "how often sold",
)
GENRES: Final = [
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
]
MOST_RATED: Final = 100
CANDY_VOTES: Final = 100.0
"""Votes per pair of candy; the file has only each item's share of wins."""
_QUESTION: Final = "traditional cuisine of"


def load_sushi(folder: str | Path | None = None) -> PairWins:
    """Load 5,000 people's orders of 10 of 100 kinds of sushi, with features of the kinds."""
    items = public_file(f"{SUSHI}/sushi3.idata", folder)
    rows = list(_lines(items, "\t", 9))
    names = tuple(fields[1] for _, fields in rows)
    features = np.array([[as_number(value, where) for value in fields[2:]] for where, fields in rows])
    orders = public_file(f"{SUSHI}/sushi3b.5000.10.order", folder)
    return PairWins(names, wins_in_orders(_orders(orders, len(names)), len(names)), features, SUSHI_FEATURES)


def load_movies(folder: str | Path | None = None) -> PairWins:
    """Load the ratings of MovieLens 100K of the 100 movies with most ratings; features are the year and genres.

    Of two movies that a person rated, the one with the higher rating wins.
    """
    ratings = public_file(f"{MOVIES}/u.data", folder)
    votes = [(fields[0], fields[1], as_number(fields[2], where)) for where, fields in _lines(ratings, "\t", 4)]
    counts = Counter(movie for _, movie, _ in votes)
    chosen = sorted(counts, key=lambda movie: (-counts[movie], int(movie)))[:MOST_RATED]
    place = {movie: k for k, movie in enumerate(chosen)}
    by_person: dict[str, dict[int, float]] = {}
    for person, movie, rating in votes:
        if movie in place:
            by_person.setdefault(person, {})[place[movie]] = rating
    items = public_file(f"{MOVIES}/u.item", folder)
    described = {fields[0]: (where, fields) for where, fields in _lines(items, "|", 24, "latin-1")}
    missing = [movie for movie in chosen if movie not in described]
    if missing:
        raise InvalidInput(f"{items} does not describe movie {missing[0]}.", "Download all files together.")
    features = np.array([_movie_features(*described[movie]) for movie in chosen])
    names = tuple(described[movie][1][1] for movie in chosen)
    return PairWins(names, wins_in_ratings(by_person.values(), len(chosen)), features, ("year", *GENRES))


def load_candy(folder: str | Path | None = None) -> PairWins:
    """Load 85 kinds of candy with 11 features; wins follow Bradley-Terry utilities with the published shares of wins."""
    path = public_file(CANDY, folder)
    rows = list(records(path, ("competitorname", "winpercent")))
    names = tuple(row["competitorname"] for _, row in rows)
    columns = tuple(name for name in rows[0][1] if name not in ("competitorname", "winpercent"))
    features = np.array([[as_number(row[name], f"{path}, line {line}") for name in columns] for line, row in rows])
    shares = np.array([as_number(row["winpercent"], f"{path}, line {line}") for line, row in rows]) / 100.0
    utilities = utilities_with_shares(shares)
    wins = CANDY_VOTES / (1.0 + np.exp(utilities - utilities[:, None]))
    np.fill_diagonal(wins, 0.0)
    return PairWins(names, wins, features, columns)


def load_cuisines(folder: str | Path | None = None) -> PairWins:
    """Load the ratings of 40 national cuisines by some 1,300 Americans; unfamiliar cuisines are not rated."""
    path = public_file(CUISINES, folder)
    with path.open(newline="", encoding="mac-roman") as file:
        header, *people = csv.reader(file)
    columns = [k for k, title in enumerate(header) if _QUESTION in title.replace("\xa0", " ")]
    names = tuple(_country(header[k]) for k in columns)
    if not names:
        raise InvalidInput(f"{path} has no ratings of cuisines.", "Download the file again.")
    rated = [
        {item: as_number(row[k], f"{path}, respondent {row[0]}") for item, k in enumerate(columns) if row[k].isdigit()}
        for row in people
        if len(row) == len(header)
    ]
    return PairWins(names, wins_in_ratings(rated, len(names)))


def utilities_with_shares(shares: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return utilities with mean 0 under which each item wins this share of its duels with a random other item."""
    wanted = np.asarray(shares, np.float64)
    utilities = np.log(wanted / (1.0 - wanted))
    for _ in range(200):
        chance = 1.0 / (1.0 + np.exp(utilities - utilities[:, None]))
        missed = wanted - wanted.mean() + 0.5 - (chance.sum(axis=1) - 0.5) / (len(wanted) - 1)
        slope = ((chance * (1.0 - chance)).sum(axis=1) - 0.25) / (len(wanted) - 1)
        utilities = utilities + missed / slope
        utilities -= utilities.mean()
        if np.abs(missed).max() < 1e-12:
            break
    return utilities


def _movie_features(where: str, fields: list[str]) -> list[float]:
    """The year of release, and an indicator for each genre."""
    return [as_number(fields[2][-4:], where), *(as_number(value, where) for value in fields[6:])]


def _country(question: str) -> str:
    return question.replace("\xa0", " ").split(_QUESTION)[1].strip(" .:").removeprefix("the ")


def _orders(path: Path, n: int) -> Iterator[list[int]]:
    """The first line says how many items there are; the others have two numbers before the order."""
    for number, (where, fields) in enumerate(_lines(path, " ")):
        items = [int(as_number(value, where)) for value in fields]
        if number == 0:
            continue
        if not all(0 <= item < n for item in items[2:]):
            raise InvalidInput(f"{where} has an item that is not among the {n} kinds.", "Download all files together.")
        yield items[2:]


def _lines(
    path: Path, separator: str, count: int | None = None, encoding: str = "utf-8"
) -> Iterator[tuple[str, list[str]]]:
    """Yield the fields of each line with its location, without empty lines and comments."""
    with path.open(encoding=encoding) as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip("\n").split(separator)
            where = f"{path}, line {number}"
            if not line.strip() or line.startswith("#"):
                continue
            if count is not None and len(fields) != count:
                raise InvalidInput(f"{where} has {len(fields)} fields instead of {count}.", "Download the file again.")
            yield where, fields
