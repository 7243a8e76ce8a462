"""`duelist demo`: the paper's main comparison, with a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from duelist.cli.console import report_errors, say, say_written
from duelist.cli.defaults import DEMO_HORIZON, DEMO_RUNS
from duelist.cli.progress import progress_bars


def demo(
    folder: Annotated[Path, typer.Option("--out", "-o", help="Output folder for the figure and the table.")] = Path(
        "out/demo"
    ),
    horizon: Annotated[int, typer.Option("--horizon", "-t", help="Rounds per run.")] = DEMO_HORIZON,
    runs: Annotated[int, typer.Option("--runs", "-r", help="Independent runs.")] = DEMO_RUNS,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Random seed.")] = 0,
) -> None:
    """Repeat the paper's main comparison: VACDB, MaxInP, MaxPairUCB and CoLSTIM on 32 arms, and LocalPairUCB."""
    from duelist.core.figures import check_matplotlib
    from duelist.research.demo import DIM, demo_policies, run_demo

    with report_errors():
        check_matplotlib()
        names = ", ".join(type(policy).__name__ for policy in demo_policies(horizon))
        say(
            f"{names}: {runs} runs of {horizon} rounds, {2**DIM} arms in {DIM} dimensions, random unit theta*, "
            f"logistic link, seed {seed}; all policies have their default settings."
        )
        with progress_bars() as report:
            result, written = run_demo(folder, horizon, runs, seed=seed, progress=report)
        say(result.summary())
        say_written(written)
