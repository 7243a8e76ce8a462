"""`make bench-raw-features`: do the answers hold on features as people have them? Written to docs/evidence/raw-features.md.

Raw features, never standardised here. `python -m benchmarks.quality.raw_features decisions --runs 1000` makes one part.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.quality.raw_features.decisions import decisions, with_kept_rows
from benchmarks.quality.raw_features.held_out import held_out, real
from benchmarks.quality.raw_features.page import PAGE, put, sections_of
from benchmarks.quality.raw_features.prediction import limits
from benchmarks.quality.raw_features.problems import decision_problems
from benchmarks.quality.raw_features.regret import (
    BLOCK,
    delays,
    first_arms,
    late_arms,
    own_tails,
    regret,
    ridges,
    tails,
    units,
)


@dataclass(frozen=True)
class Part:
    write: Callable[[int, ProcessPoolExecutor], Iterator[str]]
    runs: int


PARTS = {
    "best": Part(partial(decisions, ("BestArmPair",)), 1000),
    "decisions": Part(partial(decisions, ("ThompsonPair", "UniformPair")), 1000),
    "regret": Part(regret, 128),
    "units": Part(units, 64),
    "ridges": Part(ridges, 2 * BLOCK),
    "tails": Part(tails, 10 * BLOCK),
    "own-tails": Part(own_tails, 10 * BLOCK),
    "first": Part(first_arms, 1024),
    "delays": Part(delays, 512),
    "late": Part(late_arms, 128),
    "held-out": Part(held_out, 40),
    "limits": Part(limits, 100),
    "real": Part(real, 40),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--runs", type=int)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument(
        "--problems", nargs="*", choices=list(decision_problems()), help="of decisions; the rows of others stay"
    )
    given = parser.parse_args()
    if given.problems is not None and (not given.parts or {*given.parts} - {"best", "decisions"}):
        parser.error("--problems are of the parts best and decisions; name one of them, or both")
    with ProcessPoolExecutor() as pool:
        for name in given.parts or PARTS:
            began, part = time.perf_counter(), PARTS[name]
            write = part.write if given.problems is None else partial(part.write, problems=given.problems)
            lines = []
            for line in write(given.runs or part.runs, pool):
                print(line, flush=True)
                lines.append(line)
            if given.problems is not None:
                lines = with_kept_rows(lines, sections_of(given.page).get(name, "").splitlines())
            else:
                lines += ["", f"({time.perf_counter() - began:,.0f} s)"]
            put(given.page, name, "\n".join(lines))


if __name__ == "__main__":
    main()
