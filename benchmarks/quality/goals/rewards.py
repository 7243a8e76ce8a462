"""Worlds in which a reward is learned: prompts with a few answers each, and what raters prefer.

Every batch of votes is chosen among new prompts. Answers have features of a falling spectrum, as embeddings have, each in units of its own.
In "linear" the reward is a linear function of them. In "interactions" half of its variance is a quadratic form that no linear model can
follow. In "uneven prompts" the answers to some prompts are nearly alike, and to others far apart.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import expit

from duelist.core.arrays import Floats
from duelist.research.datasets import load_llmfao
from duelist.study import Outcome

CANDIDATES = 6
KINDS = ("linear", "interactions", "uneven prompts")
SCALE = 1.5
"""Standard deviation of the utilities of the answers to a prompt."""
UNEVEN = 0.7
ARGUMENTS = Path("acl2016-convincing-arguments/data/UKPConvArg1Strict-CSV")
"""In the folder that $DUELIST_PUBLIC names: github.com/UKPLab/acl2016-convincing-arguments (Habernal, Gurevych 2016; CC BY 4.0)."""


class RewardWorld:
    """One draw of a kind: prompts on demand, their utilities, and pairs to be tested on."""

    def __init__(self, kind: str, dim: int, seed: int) -> None:
        self.kind, self.dim = kind, dim
        self.rng = np.random.default_rng([seed, dim, KINDS.index(kind)])
        spectrum = 1.0 / np.arange(1, dim + 1)
        self._spread = np.sqrt(spectrum / spectrum.mean())
        self._units = 10.0 ** self.rng.uniform(-1.0, 1.0, dim)
        self._theta = self.rng.standard_normal(dim)
        self._form = self.rng.standard_normal((dim, dim))
        self._sizes = (1.0, 1.0)
        linear, quadratic = self._parts(self._draw(400))
        self._sizes = float(linear.std()), float(quadratic.std())

    def prompts(self, n: int) -> tuple[Floats, Floats]:
        """Features (n, candidates, dim) as a policy sees them, and utilities (n, candidates)."""
        x = self._draw(n)
        return x * self._units, self._utilities(x)

    def random_pairs(self, n: int) -> tuple[Floats, Floats]:
        """Differences of features of two answers to a prompt, drawn at random, and of their utilities."""
        x, u = self.prompts(n)
        return x[:, 0] - x[:, 1], u[:, 0] - u[:, 1]

    def good_pairs(self, n: int) -> tuple[Floats, Floats]:
        """The same for the two best answers to each prompt, in any order."""
        x, u = self.prompts(n)
        order = np.argsort(-u, axis=1)[:, :2]
        order = self.rng.permuted(order, axis=1)
        x, u = np.take_along_axis(x, order[:, :, None], axis=1), np.take_along_axis(u, order, axis=1)
        return x[:, 0] - x[:, 1], u[:, 0] - u[:, 1]

    def _draw(self, n: int) -> Floats:
        answers = self.rng.standard_normal((n, CANDIDATES, self.dim))
        if self.kind == "uneven prompts":
            answers *= np.exp(UNEVEN * self.rng.standard_normal((n, 1, 1)) - UNEVEN**2)
        return (answers + 0.7 * self.rng.standard_normal((n, 1, self.dim))) * self._spread

    def _parts(self, x: Floats) -> tuple[Floats, Floats]:
        linear, quadratic = x @ self._theta, np.einsum("nkd,nkd->nk", x @ self._form, x)
        linear, quadratic = (part - part.mean(axis=1, keepdims=True) for part in (linear, quadratic))
        return linear / self._sizes[0], quadratic / self._sizes[1]

    def _utilities(self, x: Floats) -> Floats:
        linear, quadratic = self._parts(x)
        return SCALE * ((linear + quadratic) / np.sqrt(2.0) if self.kind == "interactions" else linear)


def excess(margin: Floats, utilities: Floats) -> float:
    """Mean log-loss of the chances expit(margin) above that of the true ones."""
    p = expit(utilities)
    best = np.logaddexp(0.0, utilities) - p * utilities
    return float(np.mean(np.logaddexp(0.0, margin) - p * margin - best))


# -- real votes --------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerPairs:
    """Pairs of texts that people have compared: features (n, 2, dim), and the share of votes that the first has."""

    features: Floats
    first: Floats

    def __len__(self) -> int:
        return len(self.first)

    def of(self, rows: np.ndarray) -> AnswerPairs:
        return AnswerPairs(self.features[rows], self.first[rows])


def real_logs(dim: int) -> Iterator[tuple[str, AnswerPairs]]:
    """Return the available logs, with text features of this dimension."""
    yield "answers of language models (llmfao)", answers(dim)
    if argument_files():
        yield "convincing arguments (UKPConvArg1)", arguments(dim)


def missing() -> list[str]:
    """Return the missing logs, and where to get them."""
    return [] if argument_files() else [f"{ARGUMENTS}: github.com/UKPLab/{ARGUMENTS.parts[0]}, in $DUELIST_PUBLIC"]


@cache
def argument_files() -> tuple[Path, ...]:
    folder = Path(os.environ.get("DUELIST_PUBLIC", "nowhere")) / ARGUMENTS
    return tuple(sorted(folder.glob("*.csv")))


@cache
def arguments(dim: int) -> AnswerPairs:
    """11,650 pairs of arguments on 32 topics, and which of the two is the more convincing."""
    rows = []
    for path in argument_files():
        with path.open(encoding="utf-8", newline="") as file:
            table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            rows += [(row["a1"], row["a2"], float(row["label"] == "a1")) for row in table]
    return _described([row[:2] for row in rows], np.array([row[2] for row in rows]), dim)


@cache
def answers(dim: int) -> AnswerPairs:
    """Decided votes on answers to 13 prompts."""
    votes = [vote for vote in load_llmfao() if vote.outcome in (Outcome.FIRST, Outcome.SECOND)]
    texts = [(str(vote.payload_first), str(vote.payload_second)) for vote in votes]
    return _described(texts, np.array([float(vote.outcome is Outcome.FIRST) for vote in votes]), dim)


def _described(texts: list[tuple[str, str]], first: Floats, dim: int) -> AnswerPairs:
    """Words weighted by rarity, in the directions in which texts differ most; and how long a text is."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    every = list(dict.fromkeys(text for pair in texts for text in pair))
    words = TfidfVectorizer(min_df=3, sublinear_tf=True, ngram_range=(1, 2)).fit_transform(every)
    size = min(dim - 1, words.shape[1] - 1, words.shape[0] - 1)
    reduced = TruncatedSVD(size, random_state=0).fit_transform(words)
    lengths = np.log1p([len(text) for text in every])
    features = dict(zip(every, np.column_stack([reduced, lengths]), strict=True))
    return AnswerPairs(np.array([[features[text] for text in pair] for pair in texts]), first)
