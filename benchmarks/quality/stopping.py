"""Are decisions right where features do not explain what people like, and how much later do they come where they do?

    python -m benchmarks.quality.stopping --runs 1000 --page docs/evidence/stopping.md

No family here was used to choose a constant of the stopping rule, except the two that the page names.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from scipy.special import expit, ndtr
from scipy.stats import beta

import duelist as dl
from benchmarks import DOCS
from duelist.research.origin import with_origin

DELTA: Final = 0.1
PRICES: Final = np.arange(1.0, 10.0)[:, None]
Make = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Family:
    """Arms and utilities of a run, and how people vote."""

    make: Make
    explained: bool = False
    """Whether utilities are linear in the features and votes follow the logistic link."""
    ties: float = 0.0
    """Davidson's parameter."""
    tastes: float = 0.0
    """Standard deviation of each of ten raters' own tastes for an arm."""
    probit: bool = False


def _prices(utility: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> Make:
    return lambda rng: (PRICES, utility(PRICES[:, 0], rng))


def _random(utility: Callable[[np.ndarray, np.random.Generator], np.ndarray], n: int = 12, dim: int = 2) -> Make:
    def make(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        arms = rng.standard_normal((n, dim))
        utilities = utility(arms, rng)
        return arms, utilities / utilities.std()

    return make


def _linear(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(x @ rng.standard_normal(x.shape[1]))


def _step(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(x <= rng.integers(3, 8), 0.5 * x, -1.0)


FAMILIES: Final = {
    "prices, ideal in the middle": Family(_prices(lambda x, _: -0.25 * (x - 6.0) ** 2)),
    "prices, good up to a limit": Family(_prices(_step)),
    "codes 1 to 9": Family(_prices(lambda x, rng: rng.standard_normal(9))),
    "quadratic": Family(_random(lambda x, rng: -np.square(x - 0.7 * rng.standard_normal(2)).sum(axis=1))),
    "interaction": Family(_random(lambda x, _: x[:, 0] * x[:, 1] + 0.3 * x[:, 0])),
    "tanh": Family(_random(lambda x, rng: np.tanh(2.0 * _linear(x, rng)))),
    "arm effects of half the size": Family(_random(lambda x, rng: _linear(x, rng) + 0.7 * rng.standard_normal(12))),
    "arm effects of the same size": Family(_random(lambda x, rng: _linear(x, rng) + 1.4 * rng.standard_normal(12))),
    "ten raters with tastes": Family(_random(_linear), tastes=0.5),
    "ties": Family(_random(_linear), ties=1.0),
    "probit votes": Family(_random(_linear), probit=True),
    "prices, linear": Family(_prices(lambda x, _: 0.5 * x), explained=True),
    "linear, 12 arms, 3 features": Family(_random(_linear, dim=3), explained=True),
    "linear, 8 arms, 4 features, large": Family(
        lambda rng: (lambda arms: (arms, 2.0 * arms @ rng.standard_normal(4)))(rng.standard_normal((8, 4))),
        explained=True,
    ),
}
CHOSEN_BY: Final = ("prices, linear", "linear, 12 arms, 3 features")
"""Families on which the shares of effect sizes were chosen, by votes to a decision (16 runs each)."""


def voter(family: Family, utilities: np.ndarray, rng: np.random.Generator) -> Callable[[dl.Duel], float]:
    """Return a function that votes on a duel."""
    tastes = family.tastes * rng.standard_normal((10, len(utilities)))

    def vote(duel: dl.Duel) -> float:
        shown = utilities + tastes[rng.integers(10)]
        gap = shown[duel.first] - shown[duel.second]
        if family.ties:
            tie = family.ties / (2.0 * np.cosh(gap / 2.0) + family.ties)
            if rng.random() < tie:
                return 0.5
        return float(rng.random() < (ndtr(0.6 * gap) if family.probit else expit(gap)))

    return vote


def votes_to_decide(name: str, most_votes: int, alone: bool, seed: int) -> tuple[int, bool | None]:
    """Return the votes until a decision, and whether it was right; None: there was none."""
    family = FAMILIES[name]
    arms, utilities = family.make(np.random.default_rng([seed, 1]))
    vote = voter(family, utilities, np.random.default_rng([seed, 2]))
    policy, look = dl.BestArmPair(random_state=seed), 8
    for count in range(1, most_votes + 1):
        duel = policy.ask(arms, distinct=not alone)  # distinct=False: by features alone
        policy.tell(duel, vote(duel))
        if count == look:
            look += max(1, count // 20)
            best = policy.decided_arm(arms, DELTA, effects=False if alone else None)
            if best is not None:
                return count, bool(utilities[best] >= utilities.max() - 1e-12)
    return most_votes, None


def row(name: str, runs: int, most_votes: int, pool: ProcessPoolExecutor) -> str:
    """Return a row of the table."""
    cells = [name + (" (chosen by)" if name in CHOSEN_BY else ""), "yes" if FAMILIES[name].explained else "no"]
    for alone in (True, False):
        found = list(pool.map(partial(votes_to_decide, name, most_votes, alone), range(runs), chunksize=4))
        wrong, decided = sum(right is False for _, right in found), sum(right is not None for _, right in found)
        limit = beta.ppf(0.975, wrong + 1, runs - wrong) if wrong < runs else 1.0
        cells += [f"{wrong} (at most {limit:.1%})", f"{decided}", f"{np.median([votes for votes, _ in found]):,.0f}"]
    return f"| {' | '.join(cells)} |"


def page(names: Sequence[str], runs: int, most_votes: int) -> Iterator[str]:
    """Yield the lines of the page."""
    began = time.perf_counter()
    yield "# Decisions where features do not explain the votes"
    yield ""
    yield f"`BestArmPair` at error rate {DELTA:g}, {runs} runs per family, at most"
    yield f"{most_votes:,} votes, a look at the decision after every vote at first and every 5 % later. Alone: features alone ask and"
    yield "decide. With arm effects: the default. Wrong: runs with a wrong decision, and the upper 97.5 % limit of their share."
    yield "Medians count an undecided run with all its votes. Chosen by: the shares of effect sizes in"
    yield "`src/duelist/model/misfit.py` were chosen with 16 runs of this family."
    yield ""
    yield "| family | explained | alone: wrong | decided | median votes | default: wrong | decided | median votes |"
    yield "|---|---|---|---|---|---|---|---|"
    with ProcessPoolExecutor() as pool:
        for name in names:
            yield row(name, runs, most_votes, pool)
    yield ""
    yield f"({time.perf_counter() - began:,.0f} s)"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--votes", type=int, default=1000, help="most votes per run")
    parser.add_argument("--families", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--page", type=Path, default=DOCS / "stopping.md")
    given = parser.parse_args()
    lines = []
    for line in page(given.families, given.runs, given.votes):
        print(line, flush=True)
        lines.append(line)
    given.page.write_text(with_origin("\n".join(lines) + "\n", "make bench-stopping"))


if __name__ == "__main__":
    main()
