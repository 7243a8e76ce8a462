"""Photos: votes on every pair of 100 photos, with features computed from the photos."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.research.datasets.folder import data_folder
from duelist.research.datasets.tables import check_known, positions, records, whole_numbers

CRITERIA: Final = ("color", "sharpness", "landscape")


@dataclass(frozen=True)
class Photos:
    """Photos, their features, and votes on every pair (Asudeh et al. 2015)."""

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
        """Return features with mean 0 and variance 1 over the photos; a constant feature becomes 0."""
        spread = self.features.std(axis=0)
        return np.asarray((self.features - self.features.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))

    @property
    def wins(self) -> Floats:
        """Return wins of i over j by each criterion; an indifferent vote counts half to each side."""
        return np.asarray(self.decided + 0.5 * self.ties)

    @property
    def shares(self) -> Floats:
        """Return the share of the pair's votes that i has against j, by each criterion; 1/2 on the diagonal."""
        wins = self.wins
        total = wins + wins.transpose(0, 2, 1)
        return np.asarray(np.where(total > 0.0, wins / np.where(total > 0.0, total, 1.0), 0.5))


def load_photos(folder: str | Path | None = None) -> Photos:
    """Load the features and votes of the 100 photos."""
    base = data_folder(folder) / "crowdpareto_photos"
    ids, names, features = _features(base / "features.csv")
    position = positions(base / "features.csv", "photo", ids)
    path = base / "votes.csv"
    votes = list(whole_numbers(path, ("criterion", "photo_i", "photo_j", "vote")))
    check_known(path, set(position), [(i, j) for _, i, j, _ in votes])
    decided = np.zeros((len(CRITERIA), len(ids), len(ids)), dtype=np.int64)
    ties = np.zeros_like(decided)
    for criterion, i, j, vote in votes:
        if criterion not in range(len(CRITERIA)) or vote not in (-1, 0, 1):
            raise InvalidInput(
                f"{path} has criterion {criterion} with vote {vote}.", "Criteria are 0, 1, 2 and votes -1, 0, 1."
            )
        a, b = (position[j], position[i]) if vote < 0 else (position[i], position[j])
        if vote == 0:
            ties[criterion, a, b] += 1
            ties[criterion, b, a] += 1
        else:
            decided[criterion, a, b] += 1
    return Photos(np.array(ids, dtype=np.int64), names, features, decided, ties)


def _features(path: Path) -> tuple[list[int], tuple[str, ...], Floats]:
    """Return ids, names and values of a table of features; every column but `photo` is a feature."""
    ids: list[int] = []
    values: list[list[float]] = []
    names: tuple[str, ...] = ()
    for line, row in records(path, ("photo",)):
        names = names or tuple(name for name in row if name != "photo")
        try:
            ids.append(int(row["photo"]))
            values.append([float(row[name]) for name in names])
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"{path}, line {line} cannot be read ({error}).", "Give a number in every column."
            ) from error
        if not np.isfinite(values[-1]).all():
            raise InvalidInput(
                f"{path}, line {line} has a feature that is not finite.", "Give a number in every column."
            )
    if not names:
        raise InvalidInput(f"{path} has no features.", "Give a column `photo` and a column for each feature, and rows.")
    return ids, names, np.array(values)
