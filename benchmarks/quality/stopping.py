"""Are decisions right where features do not explain what people like, and how much later do they come where they do?

    python -m benchmarks.quality.stopping --runs 1000 --page docs/evidence/stopping.md

No family here was used to choose a constant of the stopping rule, except the two that the page names.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from scipy.special import expit, ndtr

import duelist as dl
from benchmarks import DOCS
from benchmarks.quality.stopping_bound import votes_needed
from duelist.model.misfit import SIZES
from duelist.model.stopping import LinearPosterior, Mixture, decided_arm
from duelist.policies.engine.recommend import decision_input
from duelist.research.origin import origin, stored_origin, with_origin
from duelist.study.analysis.intervals import binomial_interval

DELTA: Final = 0.1
PRICES: Final = np.arange(1.0, 10.0)[:, None]
SHARES: Final = (0.5, 0.9, 0.99)
"""Prior shares of "features explain everything"; the first is the default."""
BOUND_RUNS: Final = 8
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
    "linear, 50 arms, 3 features": Family(_random(_linear, n=50, dim=3), explained=True),
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


Decided = tuple[int, bool | None]
"""The votes until a decision, and whether it was right; None: there was none."""


def votes_to_decide(name: str, most_votes: int, seed: int) -> list[Decided]:
    """Return when a run is decided by features alone, and by the default with each of `SHARES`."""
    return [_alone(name, most_votes, seed), *_with_effects(name, most_votes, seed)]


def _alone(name: str, most_votes: int, seed: int) -> Decided:
    """Let features alone ask and decide."""
    for count, policy, arms, utilities in _looks(name, most_votes, seed, distinct=False):
        best = policy.decided_arm(arms, DELTA, effects=False)
        if best is not None:
            return count, _right(best, utilities)
    return most_votes, None


def _with_effects(name: str, most_votes: int, seed: int) -> list[Decided]:
    """Let the default ask; which pair it asks for does not depend on the shares."""
    found: dict[float, Decided] = {}
    for count, policy, arms, utilities in _looks(name, most_votes, seed, distinct=True):
        given = decision_input(policy, arms, None, DELTA, 0.0)
        for share in SHARES:
            if share in found:
                continue
            posterior = given.posterior
            best = decided_arm(
                given.arms, posterior if isinstance(posterior, LinearPosterior) else _weighted(posterior, share), DELTA
            )
            if best is not None:
                found[share] = count, _right(best, utilities)
        if len(found) == len(SHARES):
            break
    return [found.get(share, (most_votes, None)) for share in SHARES]


def _looks(
    name: str, most_votes: int, seed: int, distinct: bool
) -> Iterator[tuple[int, dl.BestArmPair, np.ndarray, np.ndarray]]:
    """Ask and vote; yield the number of votes, the policy, arms and utilities whenever the decision is looked at."""
    family = FAMILIES[name]
    arms, utilities = family.make(np.random.default_rng([seed, 1]))
    vote = voter(family, utilities, np.random.default_rng([seed, 2]))
    policy, look = dl.BestArmPair(random_state=seed), 8
    for count in range(1, most_votes + 1):
        duel = policy.ask(arms, distinct=distinct)  # distinct=False: by features alone
        policy.tell(duel, vote(duel))
        if count == look:
            look += max(1, count // 20)
            yield count, policy, arms, utilities


def _weighted(models: Mixture, share: float) -> Mixture:
    """Return a mixture with another prior share of "features explain everything", which is its first model."""
    usual = SIZES[0.0]
    logs = [np.log(share / usual), *[np.log((1.0 - share) / (1.0 - usual))] * (len(models) - 1)]
    return [replace(model, log_weight=model.log_weight + float(log)) for model, log in zip(models, logs, strict=True)]


def _right(best: int, utilities: np.ndarray) -> bool:
    return bool(utilities[best] >= utilities.max() - 1e-12)


Runs = dict[str, list[list[Decided]]]
"""By family: the runs so far."""


def played(names: Sequence[str], most_votes: int, runs: int, minutes: float, known: Runs) -> Iterator[Runs]:
    """Yield the runs after each round of one more run per family, until there are enough or the time is used up."""
    began = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        for seed in range(min(len(known.get(name, [])) for name in names), runs):
            if time.perf_counter() - began > 60.0 * minutes:
                return
            jobs = {name: pool.submit(votes_to_decide, name, most_votes, seed) for name in names}
            for name, job in jobs.items():
                known.setdefault(name, []).append(job.result())
            yield known


def row(name: str, found: list[list[Decided]]) -> str:
    """Return a row of the table."""
    cells = [name + (" (chosen by)" if name in CHOSEN_BY else ""), "yes" if FAMILIES[name].explained else "no"]
    for column in zip(*found, strict=True):
        wrong, n = sum(right is False for _, right in column), len(column)
        low, high = binomial_interval(wrong, n, 0.95)
        decided = sum(right is not None for _, right in column)
        cells += [
            f"{wrong / n:.1%} ({low:.1%} to {high:.1%})",
            f"{decided / n:.0%}",
            f"{np.median([votes for votes, _ in column]):,.0f}",
        ]
    return f"| {' | '.join(cells)} |"


def bound_row(name: str, found: list[list[Decided]]) -> str:
    """Return a row of the table of lower bounds."""
    bounds = np.array([bounds_of_run(name, seed) for seed in range(min(BOUND_RUNS, len(found)))])
    median = np.median(bounds, axis=0)
    alone, default = (np.median([votes for votes, _ in column]) for column in list(zip(*found, strict=True))[:2])
    cells = [name, *(f"{each:,.0f}" for each in (median[0], alone, *median[1:], default))]
    return f"| {' | '.join([*cells, f'{median[-1] / alone:.1f}', f'{default / alone:.1f}'])} |"


def bounds_of_run(name: str, seed: int) -> list[float]:
    """Return the votes needed against other coefficients, also of squares of the features, and against any utilities."""
    arms, utilities = FAMILIES[name].make(np.random.default_rng([seed, 1]))
    standard = (arms - arms.mean(axis=0)) / arms.std(axis=0)
    designs = standard, np.hstack([standard, np.square(standard)]), np.eye(len(arms))
    return [votes_needed(utilities, design, DELTA) for design in designs]


def page(found: Runs, most_votes: int) -> Iterator[str]:
    """Yield the lines of the page."""
    n = {len(runs) for runs in found.values()}
    ways = ["alone", "default", *(f"share {share:g}" for share in SHARES[1:])]
    yield "# Decisions where features do not explain the votes"
    yield ""
    yield f"`BestArmPair` at error rate {DELTA:g}, {' or '.join(f'{each:,}' for each in sorted(n))} runs per family, at most"
    yield f"{most_votes:,} votes, a look at the decision after every vote at first and every 5 % later. Wrong: share of runs with a wrong"
    yield "decision, with its 95 % interval. Medians count an undecided run with all its votes."
    yield ""
    yield "- Alone: features alone ask and decide."
    yield f'- Default: arm effects must confirm the decision; the prior share of "features explain everything" is {SHARES[0]:g}.'
    yield "- Share: the same votes, decided with a larger prior share."
    yield ""
    yield "Chosen by: the prior shares of effect sizes in `src/duelist/model/misfit.py` were chosen with 16 runs of this family."
    yield ""
    yield f"| family | explained | {' | '.join(f'{way}: wrong | decided | median votes' for way in ways)} |"
    yield f"|{'---|' * (2 + 3 * len(ways))}"
    for name, runs in found.items():
        yield row(name, runs)
    explained = [name for name in found if FAMILIES[name].explained]
    if not explained:
        return
    yield ""
    yield "## How early can any rule decide?"
    yield ""
    yield f"Any rule that is wrong with probability at most {DELTA:g} for every utility of a set needs at least so many votes on average"
    yield "(Garivier and Kaufmann 2016; `benchmarks/quality/stopping_bound.py`), median over"
    yield f"{min(BOUND_RUNS, max(n))} runs at most. Linear: utilities are linear in the features. Curved: also in their squares. Any:"
    yield "arms may be worth anything. So no rule that is right for any utilities decides sooner than the ratio of bound and alone."
    yield ""
    yield (
        "| family | bound, linear | alone, median votes | bound, curved | bound, any | default, median votes "
        "| bound, any / alone | default / alone |"
    )
    yield f"|{'---|' * 8}"
    for name in explained:
        yield bound_row(name, found[name])


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument(
        "--minutes", type=float, default=600.0, help="stop after this time, with as many runs as there are"
    )
    parser.add_argument("--votes", type=int, default=400, help="most votes per run")
    parser.add_argument("--families", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--known", type=Path, help="file of the runs so far, which a later call continues")
    parser.add_argument("--page", type=Path, default=DOCS / "stopping.md")
    given = parser.parse_args()
    known: Runs = {}
    made = stored_origin()
    if given.known is not None and given.known.exists():
        stored = json.loads(given.known.read_text())
        known, made = stored["runs"], stored["origin"]
        if max(map(len, known.values())) < given.runs and made["commit"] != origin().commit:
            parser.error(
                f"{given.known} has runs of commit {made['commit']}: continue there, or give --runs for a page of these"
            )
    for found in played(given.families, given.votes, given.runs, given.minutes, known):
        if given.known is not None:
            given.known.write_text(json.dumps({"origin": made, "runs": found}))
    lines = []
    for line in page(known, given.votes):
        print(line, flush=True)
        lines.append(line)
    given.page.write_text(with_origin("\n".join(lines) + "\n", "make bench-stopping", origin(made)))


if __name__ == "__main__":
    main()
