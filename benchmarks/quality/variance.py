"""`make bench-variance`: who profits where votes vary less, against twins that know no variance; writes docs/evidence/variance.md.

    python -m benchmarks.quality.variance [--runs 1000] [--processes N] [--write FILE] [--read FILE] [--page FILE]

The gaps are fixed and the noise changes: theta* is scaled and regret is divided by the scale. Regret then falls for every
policy, since the signal is clearer. What variance-awareness adds is the ratio to a twin that differs only in the norm of its
widths: with coin flips, mu' = 1/4 and |x - y|_{H^-1} = 2 |x - y|_{Sigma^-1}, so LocalPairUCB with radius r and MaxPairUCB
with radius 2 r play alike.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import duelist as dl
from duelist.core.arrays import Floats, Ints
from duelist.research.origin import origin, stored_origin, with_origin
from duelist.simulation.environments import Environment, Hypercube, Noiseless, RandomArms, World
from duelist.simulation.environments.wrapper import EnvironmentWrapper

DIM: Final = 5
SEED: Final = 2
CUBE_ROUNDS: Final = 4000
CHANGING_ROUNDS: Final = 1000
SCALES: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
BATCH: Final = 25
RADIUS: Final = 2.5
RIDGE: Final = 1.0
NEAR, FAR = 0.25, 4.0


class UnequalRounds(EnvironmentWrapper):
    """Changing arms that lie near each other in some rounds (votes are coin flips) and far apart in others."""

    def draw_arms(self, world: World, rng: np.random.Generator, rounds: int) -> tuple[Floats, Ints]:
        """Scale the arms of a round by 1/4 or by 4, each with chance one half."""
        arms, count = self.inside.draw_arms(world, rng, rounds)
        return arms * np.where(arms[:, :1, :1] > 0.0, NEAR, FAR), count


POLICIES: Final[Mapping[str, dl.Policy]] = {
    "widths in H (aware)": dl.LocalPairUCB(radius=RADIUS, ridge=RIDGE),
    "widths in Σ (twin)": dl.MaxPairUCB(radius=2.0 * RADIUS, ridge=RIDGE),
    "VACDB, residual variance (aware)": dl.VACDB(variance="all"),
    "VACDB, number of votes (twin)": dl.VACDB(variance="high", scale=0.5),
    "VACDB, tight / 10, from layer 0": dl.VACDB(radius="tight", scale=0.1, first_layer=0),
    "LocalPairUCB": dl.LocalPairUCB(),
    "ThompsonPair": dl.ThompsonPair(),
    "MaxPairUCB": dl.MaxPairUCB(ridge=RIDGE),
    "MaxInP": dl.MaxInP(ridge=RIDGE),
    "RCDB": dl.RCDB(),
    "FGTS": dl.FGTS(),
}
FEWER_RUNS: Final[Mapping[str, int]] = {"FGTS": 12}
"""Most runs of a policy that takes seconds per run: the first ones, in the same worlds as the others."""
TWINS: Final = {
    "widths in H (aware)": "widths in Σ (twin)",
    "VACDB, residual variance (aware)": "VACDB, number of votes (twin)",
}


def worlds() -> dict[str, tuple[Environment, int, float]]:
    """Return the environments with their rounds and the number that regret is divided by."""
    found: dict[str, tuple[Environment, int, float]] = {
        f"scale {s:g}": (Hypercube(dim=DIM, scale=s), CUBE_ROUNDS, s) for s in SCALES
    }
    found["unequal rounds"] = (UnequalRounds(RandomArms(dim=DIM, n_arms=16)), CHANGING_ROUNDS, 1.0)
    found["deterministic votes"] = (Noiseless(Hypercube(dim=DIM)), CUBE_ROUNDS, 1.0)
    return found


def some_runs(policy: str, world: str, span: range) -> Floats:
    """Play some runs; return final regret."""
    environment, rounds, unit = worlds()[world]
    made = {policy: POLICIES[policy].replace(horizon=rounds)}
    played = dl.simulate(made, environment, rounds, runs=span, seed=SEED, keep="curves", points=2, threads=1)
    return np.asarray(played.final(policy) / unit)


def spans(policy: str, runs: int) -> list[range]:
    """Return the runs of a policy in batches."""
    runs, batch = (min(runs, FEWER_RUNS[policy]), 1) if policy in FEWER_RUNS else (runs, BATCH)
    return [range(first, min(runs, first + batch)) for first in range(0, runs, batch)]


def measure(runs: int, processes: int, minutes: float) -> dict[str, dict[str, list[float]]]:
    """Play everything; start no world after `minutes`."""
    start, found = time.perf_counter(), {}
    with ProcessPoolExecutor(processes) as pool:
        for world in worlds():
            if time.perf_counter() - start > 60.0 * minutes:
                break
            found[world] = {
                policy: np.round(
                    np.concatenate(list(pool.map(partial(some_runs, policy, world), spans(policy, runs)))), 3
                ).tolist()
                for policy in POLICIES
            }
            means = {policy: round(float(np.mean(values)), 1) for policy, values in found[world].items()}
            print(f"{world}: {means} after {time.perf_counter() - start:.0f} s", flush=True)
    return found


PAGE: Final = """# Who profits where votes vary less

The paper's promise is regret that follows the variance of the votes. On the hypercube (d = 5, T = {rounds:,}, {runs} runs), θ* is
scaled and regret is divided by the scale: the gaps stay the same and the noise falls. No policy knows the scale. Unequal rounds:
changing arms ({changing:,} rounds) that are near each other in half of the rounds and far apart in the others. Deterministic
votes: the better arm always wins.

## Mean regret

{means}

Regret falls for every policy, whether it knows the variance or not, since a larger θ* is also a clearer signal. So this
table alone cannot show variance-awareness.

## Against twins that know no variance

Regret of the aware policy divided by that of its twin, paired over runs, with 95 % intervals. The first pair differs only in
the norm of the widths, and plays alike where votes are coin flips. The second pair differs in V in the published radius: the
residual variance, or a quarter of the number of votes, which is the variance of coin flips. A pair shows variance-awareness if its ratio
falls as the noise does.

{ratios}

{judgements}

A caution for the first pair: with the logistic link the variance μ' of a vote is also the information that it carries, so H is
at most Σ/4 and its widths are at least twice as large. At equal multiples the aware policy explores more where votes are clear. Its gain is
validity: r bounds the error in H whatever the variance, while in Σ a valid radius has to grow with λ_max(H⁻¹Σ).

FGTS draws from its posterior by Markov chains, which takes seconds per run, so it plays only the first {fewer} runs. NVLDB
(Oh, Park, Paik, AISTATS 2026, arXiv 2506.01250) learns a neural network and explores in its last layer. It is not implemented
here, nor is its linear part: its rule could not be read ([decision 42](../contributing/decisions/0042-cited-algorithms.md)).
"""


def page(stored: dict[str, Any]) -> str:
    """Return the page of the stored results."""
    found = {
        world: {policy: np.array(values) for policy, values in cell.items()} for world, cell in stored["cells"].items()
    }
    rng = np.random.default_rng(0)
    means = [
        [policy, *(f"{cell[policy].mean():.1f} ± {_error(cell[policy]):.1f}" for cell in found.values())]
        for policy in POLICIES
    ]
    rows, judgements = [], []
    for aware, twin in TWINS.items():
        drawn = {world: _log_ratios(cell[aware], cell[twin], rng) for world, cell in found.items()}
        at = {world: np.exp(float(np.log(cell[aware].mean() / cell[twin].mean()))) for world, cell in found.items()}
        rows.append([f"{aware} / {twin}", *(f"{at[w]:.2f} {_interval(np.exp(drawn[w]))}" for w in found)])
        first, last = f"scale {SCALES[0]:g}", f"scale {SCALES[-1]:g}"
        change = drawn[last] - drawn[first]
        low, high = np.quantile(change, [0.025, 0.975])
        word = "falls" if high < 0.0 else "rises" if low > 0.0 else "does not change beyond its interval"
        judgements.append(
            f"- {aware}: from {first} to {last} the ratio {word}, by a factor of {_interval(np.exp(change))}: "
            f"variance-awareness {'**holds** here' if high < 0.0 else '**does not hold** here'}."
        )
    text = PAGE.format(
        rounds=CUBE_ROUNDS,
        changing=CHANGING_ROUNDS,
        runs=len(next(iter(next(iter(found.values())).values()))),
        fewer=FEWER_RUNS["FGTS"],
        means=_table(["policy", *found], means),
        ratios=_table(["pair", *found], rows),
        judgements="\n".join(judgements),
    )
    return with_origin(text, "make bench-variance", origin(stored))


def _log_ratios(aware: Floats, twin: Floats, rng: np.random.Generator) -> Floats:
    picks = rng.integers(len(aware), size=(1000, len(aware)))
    return np.asarray(np.log(aware[picks].mean(axis=1) / twin[picks].mean(axis=1)))


def _interval(values: Floats) -> str:
    low, high = np.quantile(values, [0.025, 0.975])
    return f"[{low:.2f}, {high:.2f}]"


def _error(values: Floats) -> float:
    return float(1.96 * values.std() / np.sqrt(len(values)))


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


def main() -> None:
    """Play or read, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--read", type=Path)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if options.read is None:
        found = measure(options.runs, options.processes, options.minutes)
        stored = {**stored_origin(), "cells": found}
        if options.write is not None:
            options.write.write_text(json.dumps(stored))
    else:
        stored = json.loads(options.read.read_text())
    if options.page is not None:
        options.page.write_text(page(stored))


if __name__ == "__main__":
    main()
