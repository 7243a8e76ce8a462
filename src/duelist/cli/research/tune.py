"""`duelist tune`: tune settings of a policy, by default radius scale and ridge, for `duelist simulate @NAME`."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from duelist.cli.console import report_errors, say, say_table
from duelist.cli.defaults import TUNING_RUNS, TUNING_SEED
from duelist.cli.progress import progress_bars
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.research.experiments.tuning import Tuned

TUNED_FOLDER: Final = Path("out/tuned")


def tune(
    policy: Annotated[str, typer.Argument(help="NAME or NAME:key=value,...", show_default=False)],
    environment: Annotated[
        list[str] | None,
        typer.Option("--environment", "-e", help="NAME or NAME:key=value,...; may be repeated to tune over several."),
    ] = None,
    horizon: Annotated[int, typer.Option("--horizon", "-t", help="Rounds per run.")] = 4000,
    runs: Annotated[
        int, typer.Option("--runs", "-r", help="Runs per trial of the first round; finals have four times as many.")
    ] = TUNING_RUNS,
    seed: Annotated[
        int, typer.Option("--seed", "-s", help="Seed for tuning; compare policies on other seeds.")
    ] = TUNING_SEED,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", "-g", help="Values of a setting to try, as in epsilon=0.05,0.1,0.2; may be repeated."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Name of the result; default: the policy's.")] = None,
    folder: Annotated[Path, typer.Option("--out", "-o", help="Output folder.")] = TUNED_FOLDER,
) -> None:
    """Tune settings of a policy: its radius scale and ridge, with the same trials for each policy, or those of --grid."""
    from duelist.policies import make_policy
    from duelist.research.experiments import tuning
    from duelist.research.experiments.lab import Lab
    from duelist.simulation.environments.registry import make_environment

    with report_errors():
        worlds = [make_environment(e) for e in environment or ["Hypercube:dim=5"]]
        template = make_policy(policy, horizon=horizon)
        kind = type(template).__name__
        with progress_bars() as report:
            lab = Lab(folder / "cache", report)
            values = _read_grid(grid) if grid else None
            found = tuning.tune(lab, template, worlds, horizon, grid=values, seed=seed, first_runs=runs)
        _show_finals(found, min(tuning.FINALISTS, len(found.trials) // 2))
        path = found.save(folder / f"{name or kind}.json")
        say(f"wrote {path}; use it with `duelist simulate @{name or kind}`")


def _read_grid(texts: list[str]) -> dict[str, list[float]]:
    """Return the values of each setting, written as NAME=value,value."""
    grid = {}
    for text in texts:
        name, _, values = text.partition("=")
        try:
            grid[name.strip()] = list(ast.literal_eval(f"[{values}]"))
        except (SyntaxError, ValueError) as error:
            raise InvalidInput(
                f"Cannot read {text!r}.", "Write the values to try as NAME=value,value.", field="grid"
            ) from error
    return grid


def _show_finals(found: Tuned, finalists: int) -> None:
    finals = sorted((trial for trial in found.trials[-finalists:]), key=lambda trial: trial.mean)
    names = list(finals[0].settings)
    rows = [(*(f"{t.settings[n]:g}" for n in names), f"{t.mean:.1f}", f"{t.sd:.1f}", t.runs) for t in finals]
    say_table((*names, "mean regret", "sd", "runs"), rows, f"Finals of {found.policy}")
