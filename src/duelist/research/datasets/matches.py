"""Results of matches: men's tennis, and national football teams."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from duelist.research.datasets.folder import public_file, public_files
from duelist.research.datasets.pair_wins import PairVote, PairWins, as_number, count_wins, most_compared
from duelist.research.datasets.tables import records, texts

TENNIS: Final = "tennis_atp"
FOOTBALL: Final = "international_results/results.csv"
SEASONS: Final = range(2010, 2020)
FOOTBALL_SINCE: Final = "1990"
MOST_MATCHES: Final = 64
_NOT_PLAYED: Final = "NA"


def load_tennis(folder: str | Path | None = None) -> PairWins:
    """Load the matches of 2010 to 2019 between the 64 men with most matches."""
    paths = public_files(TENNIS, "atp_matches_[0-9][0-9][0-9][0-9].csv", folder)
    seasons = [path for path in paths if int(path.stem[-4:]) in SEASONS]
    votes = [
        (winner, loser, 1.0) for path in seasons for _, (winner, loser) in texts(path, ("winner_name", "loser_name"))
    ]
    return most_played(votes)


def load_football(folder: str | Path | None = None) -> PairWins:
    """Load the matches since 1990 between the 64 national teams with most matches; a draw is a tie."""
    return most_played(_football_votes(public_file(FOOTBALL, folder)))


def most_played(votes: Iterable[PairVote], count: int = MOST_MATCHES) -> PairWins:
    """Keep the votes between the items with most votes."""
    listed = list(votes)
    names = most_compared(listed, count)
    return PairWins(tuple(names), count_wins(listed, names))


def _football_votes(path: Path) -> Iterable[PairVote]:
    columns = ("date", "home_team", "away_team", "home_score", "away_score")
    for line, row in records(path, columns):
        if row["date"] < FOOTBALL_SINCE or row["home_score"] == _NOT_PLAYED:
            continue
        home, away = (as_number(row[column], f"{path}, line {line}") for column in columns[3:])
        yield row["home_team"], row["away_team"], 0.5 if home == away else float(home > away)
