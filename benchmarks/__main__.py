"""`make bench`: side-by-side speed in one run, written to docs/benchmarks.md.

Baseline and library alternate; figures are medians with their spread. Ratios, not seconds, are
the result: both sides run on the same machine in the same minutes.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import duelist as dl
from benchmarks import textbook

HORIZON, RUNS, DIM = 4000, 128, 5
REPEATS = 3
ARMS = np.array(list(product((-1.0, 1.0), repeat=DIM)))
REPORT = Path(__file__).parents[1] / "docs" / "benchmarks.md"

BASELINES: dict[str, Callable[[int], Any]] = {
    "VACDB": lambda seed: textbook.TextbookVACDB(
        ARMS, HORIZON, seed, dl.VACDB.practical_multiplier, dl.VACDB.practical_ridge
    ),
    "MaxInP": lambda seed: textbook.TextbookMaxInP(ARMS, HORIZON, seed),
    "MaxPairUCB": lambda seed: textbook.TextbookMaxPairUCB(ARMS, HORIZON, seed),
    "CoLSTIM": lambda seed: textbook.TextbookCoLSTIM(ARMS, HORIZON, seed),
}


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def spread(values: list[float]) -> str:
    return f"{np.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def theta(seed: int) -> np.ndarray:
    direction = np.random.default_rng(seed).standard_normal(DIM)
    return direction / np.linalg.norm(direction)


def simulation_rows() -> list[str]:
    """128 runs of 4,000 rounds against one textbook run of 4,000 rounds, alternating."""
    rows, totals = [], np.zeros(2)
    environment = dl.environments.Hypercube(dim=DIM)
    for name, baseline in BASELINES.items():
        policy = dl.make_policy(name, horizon=HORIZON)
        ours, theirs = [], []
        for repeat in range(REPEATS):
            theirs.append(seconds(partial(textbook.play, baseline(repeat), theta(repeat), HORIZON, repeat)))
            ours.append(seconds(partial(dl.simulate, policy, environment, HORIZON, RUNS, repeat)))
        ratio = np.median(theirs) * RUNS / np.median(ours)
        totals += np.median(theirs) * RUNS, np.median(ours)
        rows.append(f"| {name} | {spread(ours)} | {spread(theirs)} | {ratio:.0f} |")
        print(rows[-1], flush=True)
    rows.append(f"| all four | {totals[1]:.3g} | {totals[0] / RUNS:.3g} | {totals[0] / totals[1]:.0f} |")
    return rows


def live_rows() -> list[str]:
    """Ask and tell from Python, after warm-up, against the textbook's."""
    rows = []
    for name in dl.policies.POLICIES:
        policy = dl.make_policy(name, horizon=HORIZON, random_state=0)
        ours = _live(partial(policy.ask, ARMS), policy.tell)
        theirs, ratio = "", ""
        if name in BASELINES:
            book = BASELINES[name](0)
            costs = _live(book.ask, partial(_tell_book, book), rounds=1000)
            theirs, ratio = spread([c * 1e6 for c in costs]), f"{np.median(costs) / np.median(ours):.0f}"
        rows.append(f"| {name} | {spread([c * 1e6 for c in ours])} | {theirs} | {ratio} |")
        print(rows[-1], flush=True)
    return rows


def _tell_book(book: Any, duel: tuple[int, int], outcome: float) -> None:
    book.tell(*duel, outcome)


def _live(ask: Callable, tell: Callable, rounds: int = 3000) -> list[float]:
    """Seconds a round in the last third of a run, in five slices."""
    rng, truth, costs = np.random.default_rng(0), theta(0), []
    for _ in range(rounds):
        start = time.perf_counter()
        duel = ask()
        middle = time.perf_counter()
        i, j = duel
        outcome = float(rng.random() < 1.0 / (1.0 + np.exp(-(ARMS[i] - ARMS[j]) @ truth)))
        again = time.perf_counter()
        tell(duel, outcome)
        costs.append(time.perf_counter() - again + middle - start)
    return [float(np.mean(part)) for part in np.array_split(costs[-rounds // 3 :], 5)]


def import_row() -> str:
    command = [sys.executable, "-c", "import duelist"]
    return spread([seconds(lambda: subprocess.run(command, check=True)) for _ in range(5)])


def main() -> None:
    dl.simulate([dl.make_policy(n, horizon=8) for n in dl.policies.POLICIES], dl.environments.Hypercube(dim=2), 2, 2)
    lines = [
        "# Benchmarks",
        "",
        f"Made by `make bench` with duelist {dl.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, {os.cpu_count()} cores. Medians, with the smallest and largest in brackets.",
        "",
        "The baseline is `benchmarks/textbook.py`: plain NumPy, BFGS on the whole history, all widths anew in every",
        "round, one core, one run. Both sides alternate in one process.",
        "",
        f"## Simulation: {RUNS} runs of {HORIZON} rounds, {len(ARMS)} arms, dim {DIM}",
        "",
        "| policy | duelist, all runs, s | textbook, one run, s | ratio for all runs |",
        "|---|---|---|---|",
        *simulation_rows(),
        "",
        "## Live: one ask and one tell from Python",
        "",
        "| policy | duelist, µs | textbook, µs | ratio |",
        "|---|---|---|---|",
        *live_rows(),
        "",
        "## Import",
        "",
        f"`python -c 'import duelist'`, machine code already on disk: {import_row()} s.",
        "",
    ]
    REPORT.write_text("\n".join(lines))
    print(f"wrote {REPORT}")


if __name__ == "__main__":
    main()
