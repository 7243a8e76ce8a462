"""`duelist tune`: the radius scale and ridge of a policy, kept for `duelist simulate @NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table

from duelist.cli.console import bars, kind_errors, out, say
from duelist.cli.defaults import TUNING_RUNS, TUNING_SEED

if TYPE_CHECKING:
    from duelist.research.experiments.tuning import Tuned

TUNED_FOLDER: Final = Path("out/tuned")


def tune(
    policy: Annotated[str, typer.Argument(help="NAME or NAME:key=value,... of the policy.")],
    environment: Annotated[
        list[str] | None, typer.Option("--environment", "-e", help="NAME:key=value,...; give several to tune over all.")
    ] = None,
    horizon: Annotated[int, typer.Option("--horizon", "-t", help="Rounds a run.")] = 4000,
    runs: Annotated[
        int, typer.Option("--runs", "-r", help="Runs of each first trial; finals have four times as many.")
    ] = TUNING_RUNS,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Seed for tuning; compare on other seeds.")] = TUNING_SEED,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Name of the result; default: the policy's.")] = None,
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where results are kept.")] = TUNED_FOLDER,
) -> None:
    """Find the radius scale and ridge of a policy: the same trials for every policy, on tuning seeds."""
    from duelist.policies import builtin_policy
    from duelist.research.experiments import tuning
    from duelist.research.experiments.lab import Lab
    from duelist.simulation.environments.registry import parse_environment

    with kind_errors():
        worlds = [parse_environment(e) for e in environment or ["Hypercube:dim=5"]]
        template = builtin_policy(policy, horizon=horizon)
        told = {k: v for k, v in template.params.items() if k not in ("scale", "ridge", "horizon", "random_state")}
        kind = type(template).__name__
        with bars() as report:
            lab = Lab(folder / "cache", report)
            found = tuning.tune(lab, kind, worlds, horizon, seed=seed, first_runs=runs, **told)
        out.print(_finals(found, tuning.FINALISTS))
        path = found.save(folder / f"{name or kind}.json")
        say(f"wrote {path}; use it as @{name or kind}, as in: duelist simulate @{name or kind}")


def _finals(found: Tuned, finalists: int) -> Table:
    table = Table(
        "scale", "ridge", "mean regret", "sd", "runs", title=f"finals of {found.policy}", title_justify="left"
    )
    for trial in sorted(found.trials[-finalists:], key=lambda t: t.mean):
        table.add_row(f"{trial.scale:g}", f"{trial.ridge:g}", f"{trial.mean:.1f}", f"{trial.sd:.1f}", str(trial.runs))
    return table
