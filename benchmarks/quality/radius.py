"""`make bench-radius`: how often the tight radius covers the error, and how large it is; writes docs/evidence/radius-coverage.md.

    python -m benchmarks.quality.radius [--runs 2000] [--processes N] [--write FILE] [--read FILE] [--page FILE]

Results are written after every line. With both `--read` and `--write`, lines that the results read lack are played and
added, so an interrupted measurement continues. A page whose lines are from several commits says which.

After every vote the error of the estimate is compared with the radius, in the layer that learned the vote. A run is covered
if the radius is the larger one in every round.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import duelist as dl
from duelist.core.arrays import Floats
from duelist.research.origin import origin, source_commit, stored_origin, with_origin

DELTA: Final = 0.05
ROUNDS: Final = 400
FEWER_ROUNDS: Final = 150
"""For more than 20 features."""
N_ARMS: Final = 20
PARTS: Final = 50
LINKS: Final = ("logistic", "probit", "exponential")


class Cell(NamedTuple):
    """The settings of a line. The hypercube has all its 2^dim corners; changing arms are 20 new points of the unit sphere."""

    policy: str = "LocalPairUCB"
    arms: str = "hypercube"
    link: str = "logistic"
    dim: int = 5
    scale: float = 1.0
    """Length of theta*."""
    bound: float = 1.0
    """S, the `theta_bound` of the policy."""
    ridge: float | None = None
    radius: str = "tight"

    @property
    def rounds(self) -> int:
        """Number of votes per run."""
        return ROUNDS if self.dim <= N_ARMS else FEWER_ROUNDS


def cells() -> Iterator[Cell]:
    """Return links by arms, dimensions, scales that are known, and priors that are wrong; and the published radius."""
    for policy in ("LocalPairUCB", "MaxPairUCB", "VACDB"):
        for link, arms in product(LINKS, ("hypercube", "changing")):
            yield Cell(policy, arms, link)
        if policy == "MaxPairUCB":  # the estimate of LocalPairUCB in another norm
            continue
        for dim in (2, 10, 20, 50):
            yield Cell(policy, "changing", dim=dim)
        for scale in (0.25, 2.0, 4.0, 8.0):
            yield Cell(policy, scale=scale, bound=scale)
        for link in LINKS[1:]:
            yield Cell(policy, link=link, scale=8.0, bound=8.0)
        yield Cell(policy, ridge=0.01)
        yield Cell(policy, ridge=100.0)
        yield Cell(policy, bound=10.0)
        yield Cell(policy, scale=4.0)
        yield Cell(policy, scale=8.0)
    yield Cell("VACDB", radius="theory")


def one_run(cell: Cell, seed: int) -> tuple[bool, float, float]:
    """Return whether all rounds were covered, and error / radius: the largest of the run, and the last."""
    rng = np.random.default_rng([seed, 7])
    theta = rng.normal(size=cell.dim)
    theta *= cell.scale / np.linalg.norm(theta)
    settings: dict[str, Any] = {"horizon": cell.rounds, "link": cell.link, "radius": cell.radius, "delta": DELTA}
    policy: Any = dl.make_policy(
        cell.policy, **settings, theta_bound=cell.bound, ridge=cell.ridge, random_state=int(rng.integers(2**31))
    )
    mean = dl.get_link(cell.link).mean
    corners = np.array(list(product((-1.0, 1.0), repeat=cell.dim))) if cell.arms == "hypercube" else None
    ratios = []
    counts: list[int] = []
    for _ in range(cell.rounds):
        arms = corners if corners is not None else points_of_sphere(rng, cell.dim)
        duel = policy.ask(arms)
        first, second = duel
        z = arms[first] - arms[second]
        policy.tell(duel, float(rng.random() < mean(z @ theta)))
        moved = [0]
        if cell.policy == "VACDB":
            before, counts = counts or [0] * len(policy.layer_counts_), policy.layer_counts_
            moved = [layer for layer, count in enumerate(counts) if count != before[layer]]
        ratios += [error(policy, cell.policy, layer, theta) for layer in moved]
    return max(ratios) <= 1.0, max(ratios), ratios[-1]


def error(policy: Any, name: str, layer: int, theta: Floats) -> float:
    """Return |theta_hat - theta*| divided by the radius, in the norm that the policy measures widths in."""
    norm = policy.curvature_ if name == "LocalPairUCB" else policy.layer_precision(layer)
    off = policy.estimate(layer) - theta
    return float(np.sqrt(off @ norm @ off) / policy.layer_radii_[layer])


def points_of_sphere(rng: np.random.Generator, dim: int) -> Floats:
    """Return new arms of length 1."""
    x = rng.normal(size=(N_ARMS, dim))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def part(cell: Cell, seeds: range) -> list[tuple[bool, float, float]]:
    """Return some runs of a cell."""
    return [one_run(cell, seed) for seed in seeds]


def measure(
    runs: int,
    processes: int,
    minutes: float,
    before: Iterable[dict[str, Any]] = (),
    keep: Callable[[list[dict[str, Any]]], object] = len,
) -> list[dict[str, Any]]:
    """Play all cells that are not in the results from before; start none after `minutes`. Call `keep` after every cell."""
    found, start, commit = list(before), time.perf_counter(), source_commit()
    played = {Cell(**line["cell"]) for line in found}
    with ProcessPoolExecutor(processes) as pool:
        for cell in (c for c in cells() if c not in played):
            if time.perf_counter() - start > 60.0 * minutes:
                break
            seeds = [range(first, min(first + PARTS, runs)) for first in range(0, runs, PARTS)]
            results = [result for some in pool.map(partial(part, cell), seeds) for result in some]
            covered, largest, last = (np.array(column) for column in zip(*results, strict=True))
            found.append(
                {
                    "cell": cell._asdict(),
                    "commit": commit,
                    "runs": runs,
                    "covered": int(covered.sum()),
                    "largest": float(largest.max()),
                    "median_largest": float(np.median(largest)),
                    "median_last": float(np.median(last)),
                }
            )
            keep(found)
            print(f"{cell}: {found[-1]} after {time.perf_counter() - start:.0f} s", flush=True)
    return found


PAGE: Final = """# Coverage of the tight radius

[A radius that is valid and tight](../algorithms/tight-radius.md) has the theorem and its proof.

δ = {delta}; {rounds} votes per run, {fewer} with more than 20 features. After every vote the error of the
estimate is divided by the radius, both in the norm in which the policy measures widths (VACDB: of the layer that learned the vote).

- covered: runs in which the ratio is at most 1 after every vote. The theorem promises {promised} %.
- largest ratio: the largest of all runs and rounds, and the median over runs of the largest of a run.
- last ratio: the median over runs of the ratio after the last vote.

{judgement}

{table}

In the lines marked † |θ*| exceeds `theta_bound`, so the theorem promises nothing.
"""


def page(stored: dict[str, Any]) -> str:
    """Return the page of the stored results."""
    found = stored["cells"]
    commits = [line.get("commit", stored["commit"]) for line in found]
    several = len(set(commits)) > 1
    heads = [
        "policy",
        "radius",
        "arms",
        "link",
        "d",
        "\\|θ*\\|",
        "S",
        "ridge",
        "runs",
        "covered",
        "largest ratio",
        "last ratio",
        *(["commit"] if several else []),
    ]
    rows = []
    for line, commit in zip(found, commits, strict=True):
        c = Cell(**line["cell"])
        beyond = " †" if c.scale > c.bound else ""
        rows.append(
            [
                c.policy,
                c.radius,
                c.arms,
                c.link,
                str(c.dim),
                f"{c.scale:g}",
                f"{c.bound:g}{beyond}",
                "default" if c.ridge is None else f"{c.ridge:g}",
                f"{line['runs']:,}",
                f"{100 * line['covered'] / line['runs']:.2f} %",
                f"{line['largest']:.2g}; {line['median_largest']:.2g}",
                f"{line['median_last']:.2g}",
                *([commit] if several else []),
            ]
        )
    promised = [line for line in found if line["cell"]["scale"] <= line["cell"]["bound"]]
    held = sum(line["covered"] >= (1.0 - DELTA) * line["runs"] for line in promised)
    text = PAGE.format(
        delta=DELTA,
        rounds=ROUNDS,
        fewer=FEWER_ROUNDS,
        promised=f"{100 * (1 - DELTA):g}",
        judgement=f"The promise is kept in {held} of {len(promised)} lines in which |θ*| is at most S.",
        table="\n".join(_row(cells) for cells in (heads, ["---"] * len(heads), *rows)),
    )
    return with_origin(text, "make bench-radius", origin(stored))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Play or read, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--read", type=Path)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    stored = {**stored_origin(), "cells": []} if options.read is None else json.loads(options.read.read_text())
    if options.read is None or options.write is not None:
        before = [{"commit": stored["commit"]} | line for line in stored["cells"]]
        stored |= {**stored_origin(), "seconds": None}  # the time of an interrupted measurement is unknown

        def keep(found: list[dict[str, Any]]) -> None:
            stored["cells"] = found
            if options.write is not None:
                options.write.write_text(json.dumps(stored))

        found = measure(options.runs, options.processes, options.minutes, before, keep)
        stored["seconds"] = None if before else origin().seconds
        keep(found)
    if options.page is not None:
        options.page.write_text(page(stored))


if __name__ == "__main__":
    main()
