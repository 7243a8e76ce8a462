"""`make bench`: side-by-side speed in one run, written to docs/evidence/benchmarks.md.

Baseline and library alternate; figures are medians with their spread. Ratios, not seconds, are
the result: both sides run on the same machine in the same minutes. `python -m benchmarks horizons` makes one part anew.
"""

from __future__ import annotations

import os
import platform
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from benchmarks import DOCS
from benchmarks.speed import large_arms, rounds, sizes, starting
from duelist.research.origin import made_by, this_part

REPORT = DOCS / "benchmarks.md"


def small_problems() -> list[str]:
    return [
        f"## Simulation: {rounds.RUNS} runs of {rounds.HORIZON} rounds, {len(rounds.ARMS)} arms, dim {rounds.DIM}",
        "",
        "The baseline is `benchmarks/speed/textbook.py`: plain NumPy, BFGS on the whole history, all widths anew in every",
        "round, one core, one run. Both sides alternate in one process.",
        "",
        "| policy | duelist, all runs, s | textbook, one run, s | ratio for all runs |",
        "|---|---|---|---|",
        *rounds.simulation_rows(),
        "",
        "## Live: ask and tell from Python, mean over a whole run",
        "",
        "The published rule, under which an arm may meet itself. Arithmetic: the same run simulated in one thread, without",
        "Python in the loop.",
        "",
        "| policy | duelist, µs | arithmetic, µs | the rest, µs | textbook, µs | ratio |",
        "|---|---|---|---|---|---|",
        *rounds.live_rows(),
        "",
        "## A round by part, ns",
        "",
        "In the state after 300 rounds, each part as a call from Python, less a call that does nothing. Selection: `ask` with a",
        "current estimate. Update: `tell`, that is both factors, the rows, and the first guess of the estimate. Solve: the",
        "exact estimate, which the next `ask` finds.",
        "",
        "| policy | selection | update | solve | a call that does nothing |",
        "|---|---|---|---|---|",
        *rounds.part_rows(),
        "",
    ]


def long_horizons() -> list[str]:
    rows, curves = rounds.horizon_rows()
    _draw_curves("benchmarks-horizon", "t", "µs a round", rounds.LATER, curves)
    return [
        "## Long horizons: ask and tell at t, µs",
        "",
        "With fixed arms the exact estimator keeps at most K(K-1)/2 rows a layer, whatever t is. With changing arms it keeps",
        "a row a duel, and a solve grows with t; the one-pass estimator keeps none. At each t two policies are timed, and the",
        "faster one counts: where its memory happens to lie makes one slower than the other for its whole life.",
        "",
        "| policy | arms | estimator | t = 1,000 | 10,000 | 100,000 | last / first |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        "![cost a round against t](benchmarks-horizon.png)",
        "",
    ]


def large_sets() -> list[str]:
    growth = large_arms.growth_rows()
    sizes_ = [row["arms"] for row in growth]
    curves = {
        "the exact best pair, dim 16": {
            "duelist": [row["seconds"] for row in growth],
            "blocked NumPy": [row["numpy_seconds"] for row in growth],
        }
    }
    _draw_curves("benchmarks-arms", "arms", "seconds", sizes_, curves)
    return [
        "## Large arm sets: the exact best pair",
        "",
        "`duelist.best_pair` from arms to pair, everything included, against all pairs in blocks with NumPy (timed on some",
        "rows and scaled). States after random duels; estimate 'none': widths alone, the hardest case.",
        "",
        *large_arms.table(large_arms.pair_rows()),
        "",
        *large_arms.table(growth),
        "",
        "![seconds against the number of arms](benchmarks-arms.png)",
        "",
        "## One decision of VACDB among 100,000 changing arms, dim 32, ms",
        "",
        "Below it, calls of the engine that do some of its work; whitening is part of both searches.",
        "",
        "| call | ms |",
        "|---|---|",
        *sizes.decision_rows(),
        "",
    ]


def other_sizes() -> list[str]:
    return [
        "## Dimensions: ask and tell with 8 changing arms, ms",
        "",
        "| dim | exact | online |",
        "|---|---|---|",
        *sizes.dimension_rows(),
        "",
        "## Many contexts at once: `ask_batch` of 10,000 contexts, 8 candidates each, dim 256, s",
        "",
        "| policy | all contexts | the 100 most informative |",
        "|---|---|---|",
        *sizes.batch_rows(),
        "",
        "On a GPU: [gpu.md](gpu.md).",
        "",
    ]


def _draw_curves(name: str, x: str, y: str, places: object, panels: dict[str, dict[str, list[float]]]) -> None:
    """A panel for each family of curves, all with the same axes."""
    size = (5.5 * len(panels) + 1.5, 4.5)
    figure, row = plt.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for axes, (title, curves) in zip(row[0], panels.items(), strict=True):
        colors = plt.get_cmap("tab20" if len(curves) > 10 else "tab10").colors
        for color, (label, values) in zip(colors, curves.items(), strict=False):
            axes.loglog(places, values, "o-", label=label, color=color, lw=1.2, ms=4)
        axes.set(xlabel=x, title=title)
        axes.grid(alpha=0.3, which="both")
    row[0, 0].set_ylabel(y)
    row[0, -1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(DOCS / f"{name}.png", dpi=110)
    plt.close(figure)


def first_calls() -> list[str]:
    return [
        "## Starting",
        "",
        "From the wheel in an empty environment, every figure from fresh processes that take turns. First `ask` and `tell`: after",
        "the import, with the policy made and its first arms seen, 32 of 5 features.",
        "",
        "| what | ms | times `import numpy` |",
        "|---|---|---|",
        *starting.rows(),
        "",
    ]


PARTS = {
    "rounds": small_problems,
    "horizons": long_horizons,
    "arms": large_sets,
    "sizes": other_sizes,
    "starting": first_calls,
}


def main(wanted: list[str]) -> None:
    """All parts, or some of them in a report that is there already."""
    mpl.use("agg")
    if unknown := set(wanted) - set(PARTS):
        raise SystemExit(f"there is no part {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}")
    if wanted:
        report = REPORT.read_text()
        for name in wanted:
            report = _with_sections(report, "\n".join(_made(name)))
        REPORT.write_text(report)
    else:
        REPORT.write_text("\n".join(_whole_report()))
    print(f"wrote {REPORT}")


def _whole_report() -> list[str]:
    head = [
        "# Benchmarks",
        "",
        f"Python {platform.python_version()}, "
        f"NumPy {np.__version__}, {os.cpu_count()} cores. Medians, with the smallest and largest in brackets.",
        "",
    ]
    return [*head, *(line for name in PARTS for line in _made(name))]


def _made(name: str) -> list[str]:
    return [*PARTS[name](), made_by("make bench", this_part()), ""]


def _with_sections(report: str, made: str) -> str:
    """The report with its sections replaced by the new ones of the same heading."""
    for section in ("\n" + made).split("\n## ")[1:]:
        heading = section.split("\n", 1)[0]
        if f"\n## {heading}\n" not in report:
            raise SystemExit(f"{REPORT} has no section {heading!r}; make the whole report: python -m benchmarks")
        before, _, after = report.partition(f"\n## {heading}\n")
        _, marker, following = after.partition("\n## ")
        report = f"{before}\n## {section.rstrip()}\n{marker}{following}"
    return report


if __name__ == "__main__":
    main(sys.argv[1:])
