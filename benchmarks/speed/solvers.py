"""`make bench-solvers`: time, accuracy and scale of the solvers of `fit_mle`; writes docs/evidence/solvers.md.

    python -m benchmarks.speed.solvers [--page FILE]

The error is the distance from the root in the norm of the curvature there, in standard errors, so that units do not matter.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from scipy import special

import duelist as dl
from duelist.core.arrays import Floats
from duelist.research.origin import with_origin

SOLVERS: Final = ("newton", "agd", "svrg", "online")
TRIES: Final = 3


class Problem(NamedTuple):
    """Votes with standard normal features, except for what is said."""

    votes: int
    dim: int
    ridge: float = 1.0
    units: float = 1.0
    """The ratio of the largest to the smallest unit of a feature, in equal steps of the logarithm."""
    strength: float = 1.0
    """Standard deviation of a vote's margin."""


PROBLEMS: Final = (
    Problem(100, 5),
    Problem(10_000, 5),
    Problem(10_000, 50),
    Problem(5_000, 500),
    Problem(10_000, 5, units=1e6),
    Problem(10_000, 5, units=1e12),
    Problem(10_000, 5, strength=20.0),
    Problem(1_000, 5, ridge=1e-6),
)


class Solved(NamedTuple):
    """What one solver did."""

    milliseconds: float
    error: float
    converged: bool
    iterations: int


def votes(problem: Problem) -> tuple[Floats, Floats, Floats]:
    """Return differences, outcomes and the ridge of each feature."""
    rng = np.random.default_rng(0)
    units = problem.units ** np.linspace(-0.5, 0.5, problem.dim)
    z = rng.normal(size=(problem.votes, problem.dim))
    theta = problem.strength * rng.normal(size=problem.dim) / np.sqrt(problem.dim)
    won = (rng.random(problem.votes) < special.expit(z @ theta)).astype(np.float64)
    return z * units, won, problem.ridge * units**2


def solve(problem: Problem, solver: str) -> Solved:
    """Solve a problem some times; the time is the shortest."""
    z, won, ridge = votes(problem)
    root = dl.fit_mle(z, won, ridge=ridge).theta
    seconds = []
    for _ in range(TRIES):
        start = time.perf_counter()
        fit = dl.fit_mle(z, won, ridge=ridge, solver=solver)
        seconds.append(time.perf_counter() - start)
    p = special.expit(z @ root)
    off = fit.theta - root
    error = np.sqrt(ridge @ off**2 + (p * (1.0 - p)) @ (z @ off) ** 2)
    return Solved(1e3 * min(seconds), float(error), fit.converged, fit.iterations)


PAGE: Final = """# Solvers of the estimating equation

The paper names three ways to compute its estimate: Newton's method, accelerated gradient descent and SVRG, and online learning
with one pass. `dl.fit_mle(solver=...)` has all four. Times are the shortest of {tries} tries, in milliseconds. The error is
|θ̂ − root|_H, in standard errors; the root is Newton's. "Units" is the ratio of the largest to the smallest unit of a feature.

{table}

- `newton` (default): a few steps of O(n d² + d³), independent of units. Right wherever d is at most some hundred.
- `agd`: steps of O(n d), without a d × d matrix until the last check. Right for thousands of features. Features are divided by their root
  mean square first, so that their units do not matter.
- `svrg`: passes of O(n d) in random order. Its gain, cheap steps on
  data that do not fit into memory, does not show with rows that do.
- `online`: one pass, O(d²) per vote, no stored votes. An approximation, never `converged`. Right for policies that learn from each
  vote once (`estimator="online"`).

`converged` means that one more Newton step would change θ by at most 1e-6 of its norm, whatever the units
(`tests/model/test_fit_units.py`: units from 1e-9 to 1e10).
"""


def page() -> str:
    """Solve everything and return the page."""
    heads = ["votes", "d", "ridge", "units", "sd of the margins", *SOLVERS]
    rows = []
    for problem in PROBLEMS:
        cells = [f"{problem.votes:,}", str(problem.dim), *(f"{x:g}" for x in problem[2:])]
        for solver in SOLVERS:
            found = solve(problem, solver)
            print(problem, solver, found, flush=True)
            status = "" if found.converged or solver == "online" else ", not converged"
            cells.append(f"{_number(found.milliseconds)} ms, {found.error:.1g}{status}")
        rows.append(cells)
    return with_origin(PAGE.format(tries=TRIES, table=_table(heads, rows)), "make bench-solvers")


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10.0 else f"{value:.2g}"


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    text = page()
    if options.page is not None:
        options.page.write_text(text)


if __name__ == "__main__":
    main()
