"""How well does the default ridge foresee votes, beside the ridge that hindsight would have taken?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

import duelist as dl
from duelist.research.datasets import CRITERIA, load_eventtime, load_llmfao, load_photos
from duelist.study import Outcome

HELD_OUT = 4000
MULTIPLES = 10.0 ** np.arange(-2.5, 3.6, 0.5)
HEADER = "| over one ridge for all runs | over the best of each run | the worst run | runs |"
LARGE, MANY = 200 * 5000, 1024  # features times votes, and features, from which on runs are few


@dataclass(frozen=True)
class Losses:
    """Mean log-loss on held-out votes: of `ridge="auto"`, and of each multiple of the features' sizes."""

    auto: float
    constant: np.ndarray


def held_out(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield "## Held-out log-loss of `fit_mle(ridge='auto')`, over that of the best constant ridge in hindsight"
    yield ""
    yield f"Hindsight has {len(MULTIPLES)} multiples of the features' sizes and the held-out votes themselves: it chooses the best for all"
    yield "runs of a row together, or, with more luck to choose from, for each run. Means over runs."
    yield ""
    yield f"| features | votes | scale of utilities {HEADER}"
    yield "|---|---|---|---|---|---|---|"
    cases = [(d, n, s) for d in (5, 30, 200) for n in (50, 500, 5000) for s in (0.5, 1.0, 4.0)]
    cases += [(1024, 500, 1.0), (1024, 2000, 2.0), (0, 50, 1.0), (0, 500, 1.0), (0, 5000, 2.0)]
    for dim, votes, scale in cases:
        many = min(runs, 2 if dim >= MANY else 10 if dim * votes >= LARGE else runs)
        found = list(pool.map(partial(simulated, dim, votes, scale), range(many)))
        title = f"{dim:,}" if dim else "50 arms, one-hot"
        yield f"| {title} | {votes:,} | {scale:g} | {excess(found)} | {many} |"


def simulated(dim: int, votes: int, scale: float, seed: int) -> Losses:
    """Of a simulated log."""
    rng = np.random.default_rng([seed, dim, votes, int(10 * scale)])
    arms = rng.standard_normal((2000, dim)) / 10.0 ** rng.uniform(-2, 2, dim) if dim else np.eye(50)
    theta = rng.standard_normal(arms.shape[1])
    theta *= scale / (arms @ theta).std()
    i, j = rng.integers(len(arms), size=(2, votes + HELD_OUT))
    z = (arms[i] - arms[j])[i != j]
    outcome = (rng.random(len(z)) < 1.0 / (1.0 + np.exp(-z @ theta))).astype(float)
    return losses(z, outcome, votes)


def losses(z: np.ndarray, outcome: np.ndarray, votes: int) -> Losses:
    """Numbers of votes after which the next ones are predicted."""
    train, test = slice(0, votes), slice(votes, votes + HELD_OUT)

    def loss(ridge: str | np.ndarray) -> float:
        v = z[test] @ dl.fit_mle(z[train], outcome[train], ridge=ridge).theta
        return float(np.mean(np.logaddexp(0.0, v) - outcome[test] * v))

    sizes = np.square(z[train]).mean(axis=0) / 2.0
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    return Losses(loss("auto"), np.array([loss(r * sizes) for r in MULTIPLES]))


def excess(found: Sequence[Losses]) -> str:
    """Cells of a table, see HEADER."""
    auto, constant = np.array([run.auto for run in found]), np.array([run.constant for run in found])
    over_one, over_each = auto.mean() / constant.mean(axis=0).min(), auto / constant.min(axis=1)
    return " | ".join(f"{ratio - 1.0:.2%}" for ratio in (over_one, over_each.mean(), over_each.max()))


def real_votes() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Logs of the data folder: what it is, the arms, and pairs (n, 2) of a winner and a loser."""
    photos = load_photos()
    for criterion, wins_ in zip(CRITERIA, photos.decided, strict=True):
        pairs = np.repeat(np.argwhere(wins_), wins_[wins_ > 0], axis=0)
        yield f"photos by {criterion}, {photos.features.shape[1]} raw features", photos.features, pairs
        yield f"photos by {criterion}, one-hot", np.eye(len(photos.features)), pairs
    events = load_eventtime()
    yield "events, one-hot", np.eye(len(events.events)), events.votes
    decided = [vote for vote in load_llmfao() if vote.outcome in (Outcome.FIRST, Outcome.SECOND)]
    models = sorted({arm for vote in decided for arm in (vote.first, vote.second)})
    place = {model: k for k, model in enumerate(models)}
    ordered = [(v.first, v.second) if v.outcome is Outcome.FIRST else (v.second, v.first) for v in decided]
    yield "language models, one-hot", np.eye(len(models)), np.array([[place[a], place[b]] for a, b in ordered])


def real(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield "## The same on the real votes of the data folder"
    yield ""
    yield "Votes in a random order, another in each run; which arm stands first is a coin's."
    yield ""
    yield f"| log | votes {HEADER}"
    yield "|---|---|---|---|---|---|"
    for title, arms, pairs in real_votes():
        for votes in (50, 500, 5000):
            if votes + 500 > len(pairs):
                continue
            found = list(pool.map(partial(real_losses, arms, pairs, votes), range(runs)))
            yield f"| {title} | {votes:,} | {excess(found)} | {runs} |"


def real_losses(arms: np.ndarray, pairs: np.ndarray, votes: int, seed: int) -> Losses:
    rng = np.random.default_rng([seed, votes])
    chosen = rng.permutation(len(pairs))[: votes + HELD_OUT]
    outcome = rng.integers(2, size=len(chosen)).astype(float)
    winner, loser = pairs[chosen].T
    return losses((2.0 * outcome - 1.0)[:, None] * (arms[winner] - arms[loser]), outcome, votes)
