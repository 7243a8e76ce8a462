"""Texts that people compared: convincing arguments, and funny short texts."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput
from duelist.research.datasets.folder import public_file, public_files
from duelist.research.datasets.pair_wins import PairVote, PairWins, count_wins

ARGUMENTS: Final = "acl2016-convincing-arguments/data/UKPConvArg1-full-XML"
HUMOUR: Final = "acl2019-GPPL-humour-metaphor/data/pl-humor-full/pairs.csv"
TEXT_FEATURES: Final = ("words", "letters per word", "sentences", "commas", "questions", "share of capitals")
_SHARES: Final = {"a1": 1.0, "a2": 0.0}


def load_arguments(folder: str | Path | None = None) -> list[PairWins]:
    """Load 32 topics: 20 to 35 arguments each, five votes on most pairs, and counts of the texts as features."""
    return [_topic(path) for path in public_files(ARGUMENTS, "*.xml", folder)]


def load_humour(folder: str | Path | None = None) -> Floats:
    """Load pairs of short texts, the funnier one first, as positions among 4,030: (n_votes, 2)."""
    path = public_file(HUMOUR, folder)
    try:
        pairs = np.loadtxt(path, np.int64, delimiter=",", ndmin=2)
    except ValueError as error:
        raise InvalidInput(f"{path} cannot be read ({error}).", "Each line must be two whole numbers.") from error
    _, positions = np.unique(pairs, return_inverse=True)
    return np.asarray(positions.reshape(-1, 2))


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


def _topic(path: Path) -> PairWins:
    texts: dict[str, str] = {}
    votes: list[PairVote] = []
    for _, pair in ET.iterparse(path):  # noqa: S314 - expat limits the expansion of entities
        if pair.tag != "annotatedArgumentPair":
            continue
        first, second = (_text(pair, f"{side}/id", path) for side in ("arg1", "arg2"))
        texts[first], texts[second] = (_text(pair, f"{side}/text", path) for side in ("arg1", "arg2"))
        values = [value.text for value in pair.iterfind("mTurkAssignments/mTurkAssignment/value")]
        votes += [(first, second, _SHARES.get(str(value), 0.5)) for value in values]
        pair.clear()
    names = tuple(sorted(texts))
    features = np.array([text_features(texts[name]) for name in names])
    return PairWins(names, count_wins(votes, names), features, TEXT_FEATURES)


def _text(pair: ET.Element, where: str, path: Path) -> str:
    found = pair.findtext(where)
    if found is None:
        raise InvalidInput(f"{path}: a pair of arguments has no {where}.", "Download the file again.")
    return found
