"""`make bench-horizons`: regret over long horizons, and who still pays at the end; writes docs/evidence/long-horizons.md.

    python -m benchmarks.quality.horizons [--runs 1000] [--longest 1000000] [--write FILE] [--read FILE] [--page FILE]

Every policy knows the horizon and plays the hypercube of figure 1a. A run pays late if its regret grows in the last tenth
of its rounds. `--write` stores the results after every cell; `--read` makes the page of stored results. With both, cells
that the results lack are played and added, so an interrupted measurement continues.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import duelist as dl
from duelist.core.arrays import Floats
from duelist.policies import NativePolicy
from duelist.research.origin import origin, source_commit, stored_origin, with_origin

DIM: Final = 5
SEED: Final = 1
HORIZONS: Final = (4_000, 32_000, 128_000, 1_000_000)
LAST_TENTH: Final = 11
"""Recorded rounds; the last two are a tenth of the horizon apart."""
BATCH: Final = 25
"""Runs per task; tasks are played in parallel."""

POLICIES: Final[Mapping[str, NativePolicy]] = {
    "VACDB, practical (default)": dl.VACDB(),
    "VACDB, tight / 10, from layer 0": dl.VACDB(radius="tight", scale=0.1, first_layer=0),
    "VACDB, tight": dl.VACDB(radius="tight"),
    "VACDB, as published": dl.VACDB(radius="theory"),
    "LocalPairUCB (default)": dl.LocalPairUCB(),
    "LocalPairUCB, scale 0.7": dl.LocalPairUCB(scale=0.7),
    "LocalPairUCB, scale 1.5": dl.LocalPairUCB(scale=1.5),
    "LocalPairUCB, scale 2": dl.LocalPairUCB(scale=2.0),
    "LocalPairUCB, scale 3": dl.LocalPairUCB(scale=3.0),
    "LocalPairUCB, tight": dl.LocalPairUCB(radius="tight"),
    "LocalPairUCB, tight / 2": dl.LocalPairUCB(radius="tight", scale=0.5),
    "MaxPairUCB, tight": dl.MaxPairUCB(radius="tight"),
    "MaxPairUCB, ridge 1": dl.MaxPairUCB(ridge=1.0),
    "MaxPairUCB, tuned": dl.MaxPairUCB(ridge=10.0, scale=0.5),
    "MaxInP, tuned": dl.MaxInP(ridge=10.0, scale=0.5),
    "CoLSTIM, tuned": dl.CoLSTIM(ridge=10.0, scale=0.5),
}
"""Tuned: the settings that docs/evidence/reproduction.md finds at T = 4,000, on other seeds."""
SLOW: Final = (
    "VACDB, tight",
    "VACDB, as published",
    "LocalPairUCB, tight",
    "LocalPairUCB, tight / 2",
    "MaxPairUCB, tight",
)
"""They learn in most rounds, which costs ten times as much; played with fewer runs from the third horizon on."""
FEWER: Final = {HORIZONS[2]: 5, HORIZONS[3]: 20}
"""Fewer by this factor, by horizon."""


CLEAR: Final = 4.0
AT_CLEAR_VOTES: Final = (
    "LocalPairUCB (default)",
    "LocalPairUCB, scale 0.7",
    "LocalPairUCB, scale 1.5",
    "MaxPairUCB, ridge 1",
)
"""Also played with a theta* of that length, where votes are clear."""


class Played(NamedTuple):
    """What one policy lost at one horizon: per run, in all rounds and in the last tenth."""

    policy: str
    horizon: int
    final: Floats
    late: Floats
    seconds: float
    """From the start of the first run to the end of the last, with others in between."""
    scale: float = 1.0
    """Length of theta*."""


def some_runs(policy: str, horizon: int, scale: float, span: range) -> Floats:
    """Play some runs of one policy; return regret after nine tenths of the rounds and after all, (runs, 2)."""
    made = {policy: POLICIES[policy].replace(horizon=horizon)}
    env = dl.environments.Hypercube(dim=DIM, scale=scale)
    played = dl.simulate(made, env, horizon, runs=span, seed=SEED, keep="curves", points=LAST_TENTH, threads=1)
    return np.asarray(played.regret(policy)[:, -2:])


def wanted_runs(policy: str, horizon: int, runs: int) -> int:
    """Return the number of runs of a policy at a horizon."""
    return max(runs // FEWER.get(horizon, 1), 1) if policy in SLOW else runs


def measure(
    runs: int, longest: int, write: Path | None, minutes: float, processes: int, before: Iterable[Played] = ()
) -> list[Played]:
    """Play all policies that are not in the results from before, short horizons first; start no policy after `minutes`."""
    found = list(before)
    known = {(p.policy, p.horizon, p.scale) for p in found}
    end = time.perf_counter() + 60.0 * minutes
    cells = [(policy, HORIZONS[0], CLEAR) for policy in AT_CLEAR_VOTES]
    cells += [(policy, T, 1.0) for T in HORIZONS if longest >= T for policy in POLICIES]
    with ProcessPoolExecutor(processes) as pool:
        for policy, horizon, scale in (cell for cell in cells if cell not in known):
            if time.perf_counter() > end:
                print(f"no time for {policy}, T = {horizon}")
                continue
            start = time.perf_counter()
            wanted = wanted_runs(policy, horizon, runs)
            spans = [range(first, min(wanted, first + BATCH)) for first in range(0, wanted, BATCH)]
            curves = np.concatenate(list(pool.map(partial(some_runs, policy, horizon, scale), spans)))
            late, seconds = curves[:, 1] - curves[:, 0], time.perf_counter() - start
            found.append(Played(policy, horizon, curves[:, 1], late, seconds, scale))
            print(_line(found[-1]), flush=True)
            if write is not None:
                write.write_text(json.dumps(_stored(found, runs)))
    return found


def _stored(found: Iterable[Played], runs: int) -> dict[str, Any]:
    cells = [
        {**p._asdict(), "final": np.round(p.final, 2).tolist(), "late": np.round(p.late, 3).tolist()} for p in found
    ]
    return {**stored_origin(), "runs": runs, "cells": cells}


def _line(p: Played) -> str:
    return (
        f"{p.policy}, T = {p.horizon}, scale {p.scale:g}, {len(p.final)} runs: mean {p.final.mean():.1f}, median {np.median(p.final):.1f}, "
        f"worst {p.final.max():.0f}, pays late {100 * (p.late > 0).mean():.1f} %, {p.seconds:.0f} s"
    )


def slope(
    cells: list[Played], middle: Callable[[Floats], float], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the slope of log regret in log T from the second horizon on, with a bootstrap interval over runs."""
    cells = cells[1:]
    if len(cells) < 2:
        return np.nan, np.nan, np.nan
    logs = np.log([c.horizon for c in cells])

    def fitted(picks: list[Floats]) -> float:
        return float(np.polyfit(logs, np.log([max(middle(p), 1e-9) for p in picks]), 1)[0])

    drawn = [fitted([rng.choice(c.final, len(c.final)) for c in cells]) for _ in range(1000)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return fitted([c.final for c in cells]), float(low), float(high)


def _slope_text(found: tuple[float, float, float]) -> str:
    return "{:.2f} [{:.2f}, {:.2f}]".format(*found) if np.isfinite(found[0]) else ""


def root_judgement(found: tuple[float, float, float]) -> str:
    """Judge "mean regret grows no faster than the square root of T" by a slope and its interval."""
    _, low, high = found
    return "holds" if high <= 0.5 else "does not hold" if low > 0.5 else "holds within the interval"


PAGE: Final = """# Long horizons

Average regret on the hypercube of figure 1a (d = 5, 32 arms, a random unit θ*), {runs} runs per cell, or the number
in brackets for policies that learn in most rounds, and the same worlds for all policies. Every policy knows its horizon T.
Intervals are 95 %. "Tuned" settings are those of [the reproduction](reproduction.md) at T = 4,000.

## Mean regret

{means}

## Growth from T = 32,000 on

The slope of log regret in log T; 0.5 is the square root. The paper's theorem allows logarithms beyond it, so a slope slightly
above 0.5 does not contradict the theorem.

{slopes}

## Who still pays at the end

A run pays late if its regret grows in the last tenth of its rounds. "Late share" is the part of all regret that is paid
there: 10 % means that regret grows in proportion to T.

{late}

## Clear votes

θ* of length 4, T = 4,000. "Relative" is the mean regret divided by that of MaxPairUCB, paired over runs.

{clear}

## Why lock-in has a price

A policy that shows one arm against itself, or always pairs the same arms, learns nothing that could correct it. It leaves a wrong
choice only if its bonus exceeds the gap it believes in. A larger bonus makes that likelier and costs comparisons in every run. The
rows of LocalPairUCB with scale 0.7 to 3 are this trade: a smaller scale lowers the mean while few runs lock in, and the worst run grows;
a larger scale raises the mean and cuts the tail. The bonus of LocalPairUCB grows with log T for pairs that
are compared seldom, so its share of locked runs falls with T. VACDB drops arms for good: with a radius below the error it drops the best
arm in some runs, and those lose in proportion to T. With the tight radius it does not, and pays with exploration.
"""


def played_before(stored: dict[str, Any]) -> list[Played]:
    """Return the results that were stored, in the order in which they are played."""
    found = [Played(**{**c, "final": np.array(c["final"]), "late": np.array(c["late"])}) for c in stored["cells"]]
    names = list(POLICIES)
    return sorted(found, key=lambda p: (p.scale == 1.0, p.horizon, names.index(p.policy)))


def page(stored: dict[str, Any]) -> str:
    """Return the page of the stored results."""
    everything = played_before(stored)
    found = [p for p in everything if p.scale == 1.0]
    horizons = sorted({p.horizon for p in found})
    by_policy = {name: [p for T in horizons for p in found if (p.policy, p.horizon) == (name, T)] for name in POLICIES}
    by_policy = {name: cells for name, cells in by_policy.items() if cells}
    rng = np.random.default_rng(0)
    heads = [f"T = {T:,}" for T in horizons]

    def row(name: str, cell: Callable[[Played], str]) -> list[str]:
        at = {p.horizon: cell(p) for p in by_policy[name]}
        return [name, *(at.get(T, "") for T in horizons)]

    def mean(p: Played) -> str:
        fewer = "" if len(p.final) == stored["runs"] else f" ({len(p.final)})"
        return f"{p.final.mean():.0f} ± {1.96 * p.final.std() / np.sqrt(len(p.final)):.0f}{fewer}"

    def late(p: Played) -> str:
        share = p.late.sum() / max(p.final.sum(), 1e-9)
        worst = p.final.max() / max(float(np.median(p.final)), 1e-9)
        return f"{100 * (p.late > 0.0).mean():.1f} %; {100 * share:.1f} %; {worst:.0f}"

    growth = []
    for name, cells in by_policy.items():
        mean_slope, median_slope = slope(cells, np.mean, rng), slope(cells, lambda x: float(np.median(x)), rng)
        judged = root_judgement(mean_slope) if np.isfinite(mean_slope[0]) else ""
        last = f"{cells[-1].horizon:,}"
        growth.append([name, last, _slope_text(mean_slope), _slope_text(median_slope), judged])
    text = PAGE.format(
        runs=stored["runs"],
        means=_table(["policy", *heads], (row(name, mean) for name in by_policy)),
        slopes=_table(["policy", "up to T", "mean", "median", "the mean grows no faster than the square root"], growth),
        late=_table(
            ["policy: runs that pay late; late share; worst run / median run", *heads],
            (row(name, late) for name in by_policy),
        ),
        clear=clear_votes([p for p in everything if p.scale != 1.0]),
    )
    return with_origin(text, "make bench-horizons", origin(stored))


def clear_votes(found: list[Played]) -> str:
    """Return the table at clear votes."""
    rng, plain = np.random.default_rng(0), found[-1]
    rows = []
    for p in found:
        picks = rng.integers(len(p.final), size=(1000, len(p.final)))
        ratios = p.final[picks].mean(axis=1) / plain.final[picks].mean(axis=1)
        low, high = np.quantile(ratios, [0.025, 0.975])
        relative = f"{p.final.mean() / plain.final.mean():.2f} [{low:.2f}, {high:.2f}]"
        rows.append([p.policy, f"{p.final.mean():.0f}", f"{np.median(p.final):.0f}", f"{p.final.max():.0f}", relative])
    return _table(["policy", "mean", "median", "worst", "relative"], rows)


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


def main() -> None:
    """Play or read, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--longest", type=int, default=HORIZONS[-1])
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--read", type=Path)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    stored = None if options.read is None else json.loads(options.read.read_text())
    if stored is None or options.write is not None:
        if stored is not None and stored["commit"] != source_commit():
            parser.error(f"{options.read} is from commit {stored['commit']}; cells of another commit cannot be added")
        before = [] if stored is None else played_before(stored)
        found = measure(options.runs, options.longest, options.write, options.minutes, options.processes, before)
        stored = _stored(found, options.runs)
    if options.page is not None:
        options.page.write_text(page(stored))


if __name__ == "__main__":
    main()
