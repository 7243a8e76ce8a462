"""`duelist tune`: tune a policy's radius scale and ridge, for `duelist simulate @NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from duelist.cli.console import report_errors, say, say_table
from duelist.cli.defaults import TUNING_RUNS, TUNING_SEED
from duelist.cli.progress import progress_bars

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
    name: Annotated[str | None, typer.Option("--name", "-n", help="Name of the result; default: the policy's.")] = None,
    folder: Annotated[Path, typer.Option("--out", "-o", help="Output folder.")] = TUNED_FOLDER,
) -> None:
    """Tune the radius scale and the ridge of a policy. Every policy gets the same number of trials."""
    from duelist.policies import builtin_policy
    from duelist.research.experiments import tuning
    from duelist.research.experiments.lab import Lab
    from duelist.simulation.environments.registry import make_environment

    with report_errors():
        worlds = [make_environment(e) for e in environment or ["Hypercube:dim=5"]]
        template = builtin_policy(policy, horizon=horizon)
        fixed = {k: v for k, v in template.params.items() if k not in ("scale", "ridge", "horizon", "random_state")}
        kind = type(template).__name__
        with progress_bars() as report:
            lab = Lab(folder / "cache", report)
            found = tuning.tune(lab, kind, worlds, horizon, seed=seed, first_runs=runs, **fixed)
        _show_finals(found, tuning.FINALISTS)
        path = found.save(folder / f"{name or kind}.json")
        say(f"wrote {path}; use it with `duelist simulate @{name or kind}`")


def _show_finals(found: Tuned, finalists: int) -> None:
    finals = sorted(found.trials[-finalists:], key=lambda trial: trial.mean)
    rows = [(f"{t.scale:g}", f"{t.ridge:g}", f"{t.mean:.1f}", f"{t.sd:.1f}", t.runs) for t in finals]
    say_table(("scale", "ridge", "mean regret", "sd", "runs"), rows, f"Finals of {found.policy}")
