"""`duelist study plan`: forecast votes, cost and decision before the first vote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from duelist.cli.console import report_errors, say
from duelist.cli.defaults import GOALS, STORAGE
from duelist.cli.study.options import AsJson, StorageUrl, load_study


def plan(
    items: Annotated[int | None, typer.Argument(help="Number of items; default: that of the pilot.")] = None,
    goal: Annotated[str, typer.Option("--goal", "-g", help=f"Goal of the study: {GOALS}.")] = "best",
    raters: Annotated[int, typer.Option(help="Number of raters.")] = 20,
    votes_per_rater: Annotated[int, typer.Option(help="Maximum number of votes per rater.")] = 50,
    effect: Annotated[
        float | None,
        typer.Option(help="Share of votes that the better of two items wins, averaged over pairs; default: 0.7."),
    ] = None,
    pilot: Annotated[str | None, typer.Option(help="A study with votes on similar items, instead of --effect.")] = None,
    top: Annotated[int | None, typer.Option(help="For the goal rank: how many top places matter.")] = None,
    tolerance: Annotated[
        float, typer.Option(help="Accept an item that is worse than the best by at most this much.")
    ] = 0.0,
    unit: Annotated[str, typer.Option(help="Unit of the tolerance: utility, or chance (win probability).")] = "utility",
    delta: Annotated[float, typer.Option(help="Error rate.")] = 0.05,
    pay_per_rater: Annotated[float, typer.Option(help="Payment per rater.")] = 0.0,
    pay_per_vote: Annotated[float, typer.Option(help="Payment per vote.")] = 0.0,
    repeat_pairs: Annotated[bool, typer.Option("--repeat-pairs", help="Raters may see a pair again.")] = False,
    runs: Annotated[
        int | None, typer.Option(help="Studies to simulate; default: the number that takes a few seconds.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also plot to this file.")] = None,
    as_json: AsJson = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """Simulate studies to forecast the votes, the cost, and the probability of a decision."""
    from duelist.study import plan_study

    with report_errors():
        found = plan_study(
            items,
            goal,
            raters=raters,
            votes_per_rater=votes_per_rater,
            effect=effect,
            pilot=None if pilot is None else load_study(pilot, storage),
            top=top,
            tolerance=tolerance,
            unit=unit,
            delta=delta,
            pay_per_rater=pay_per_rater,
            pay_per_vote=pay_per_vote,
            repeat_pairs=repeat_pairs,
            runs=runs,
            seed=seed,
        )
        if plot is not None:
            found.plot(plot)
        say(json.dumps(found.to_dict()) if as_json else found)
