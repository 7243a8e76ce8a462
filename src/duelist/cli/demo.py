"""`duelist demo`: something to look at after a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from duelist.cli.console import bars, kind_errors, say, say_written
from duelist.cli.defaults import DEMO_HORIZON, DEMO_RUNS


def demo(
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where to write the picture and the table.")] = Path(
        "out/demo"
    ),
    horizon: Annotated[int, typer.Option("--horizon", "-t", help="Rounds a run.")] = DEMO_HORIZON,
    runs: Annotated[int, typer.Option("--runs", "-r", help="Independent runs.")] = DEMO_RUNS,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Seed of everything random.")] = 0,
) -> None:
    """The paper's main comparison: VACDB, MaxInP, MaxPairUCB and CoLSTIM on 32 arms, with LocalPairUCB beside them."""
    from duelist.core.figures import check_matplotlib
    from duelist.research.demo import DIM, demo_policies, run_demo

    with kind_errors():
        check_matplotlib()
        names = ", ".join(type(policy).__name__ for policy in demo_policies(horizon))
        say(
            f"{names}: {runs} runs of {horizon} rounds, {2**DIM} arms in {DIM} dimensions, random unit theta*, "
            f"logistic link, seed {seed}; every policy with its default settings."
        )
        with bars() as report:
            result, written = run_demo(folder, horizon, runs, seed=seed, progress=report)
        say(result.summary())
        say_written(written)
