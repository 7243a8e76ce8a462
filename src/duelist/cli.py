"""The command line: parse, call, print."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

import duelist
from duelist import demo as demonstration
from duelist.environments import ENVIRONMENTS
from duelist.errors import InvalidInput
from duelist.experiments import CATALOG, Lab, tuning
from duelist.experiments.report import markdown_report
from duelist.experiments.reproduce import reproduce as run_experiments
from duelist.experiments.reproduce import write_text
from duelist.links import LINKS
from duelist.policies import POLICIES, CompiledPolicy
from duelist.regret import check_kind
from duelist.runs import Runs, Summary
from duelist.simulation import Progress as Report
from duelist.simulation import simulate as run_simulation
from duelist.specs import parse_environment, parse_policy
from duelist.warmup import warm as compile_everything

app = typer.Typer(
    help="Contextual dueling bandits: which two should I show next?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(cli_study.app, name="study")
app.add_typer(cli_study.storage_app, name="storage")
TUNED_FOLDER = Path("out/tuned")


@contextmanager
def _bars() -> Iterator[Report]:
    """A progress bar a label, with the time left; silent where nobody watches."""
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err) as progress:
        tasks: dict[str, TaskID] = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = progress.add_task(label, total=total)
            progress.update(tasks[label], completed=done)

        yield report


def _version(show: bool) -> None:
    if show:
        out.print(f"duelist {duelist.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def main(
    _version_flag: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Contextual dueling bandits: which two should I show next?"""


@app.command("list")
def list_() -> None:
    """Policies, environments and links, with their settings."""
    policies = Table("policy", "what it plays", "settings", title="Policies", title_justify="left")
    for name, cls in POLICIES.items():
        policies.add_row(name, _first_line(cls), ", ".join(cls.setting_names()))
    environments = Table("environment", "what it is", title="Environments", title_justify="left")
    for name, environment in ENVIRONMENTS.items():
        environments.add_row(name, _first_line(environment))
    links = Table("link", "formula", title="Links", title_justify="left")
    for name, link in LINKS.items():
        links.add_row(name, _first_line(type(link)))
    for table in (policies, environments, links):
        out.print(table)


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0].rstrip(".")


@app.command()
def simulate(
    policies: Annotated[list[str], typer.Argument(help="NAME, NAME:key=value,... or @TUNED for each policy.")],
    environment: Annotated[
        str, typer.Option("--environment", "-e", help="NAME:key=value,... as in Hypercube:dim=5,scale=2.")
    ] = "Hypercube:dim=5",
    horizon: Annotated[int, typer.Option("--horizon", "-t", help="Rounds a run.")] = 4000,
    runs: Annotated[int, typer.Option("--runs", "-r", help="Independent runs.")] = 128,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Seed of everything random.")] = 0,
    kind: Annotated[str, typer.Option(help="Regret to report: average, weak or strong.")] = "average",
    save: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Save all runs (.npz); policies already in it are not run again."),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", "-p", help="Draw regret to this picture.")] = None,
) -> None:
    """Play policies against the same worlds, and compare their regret."""
    with kind_errors():
        check_kind(kind)
        world = parse_environment(environment)
        chosen = {spec: _policy(spec, horizon) for spec in policies}
        done = Runs.load(save) if save is not None and save.exists() else None
        if done is not None:
            done.check_world(world.describe(), seed, runs, horizon)
        if save is not None:
            save.parent.mkdir(parents=True, exist_ok=True)
        with _bars() as report:
            for spec, policy in chosen.items():
                if done is not None and done.settings["policies"].get(spec) == repr(policy):
                    continue
                new = run_simulation({spec: policy}, world, horizon, runs, seed, progress=report)
                done = new if done is None else done.joined(new)
                if save is not None:
                    done.save(save)
        if done is None:
            return
        done = done.only(list(chosen))
        out.print(str(world), highlight=False, soft_wrap=True)
        _print_summary(done.summary(kind))
        if plot is not None:
            plot.parent.mkdir(parents=True, exist_ok=True)
            done.plot(kind=kind).figure.savefig(plot, dpi=150)  # type: ignore[union-attr]
        for path in (save, plot):
            if path is not None:
                out.print(f"wrote {path}", highlight=False, soft_wrap=True)


def _print_summary(summary: Summary) -> None:
    out.print(str(summary), highlight=False, soft_wrap=True)


@app.command()
def tune(
    policy: Annotated[str, typer.Argument(help="NAME or NAME:key=value,... of the policy.")],
    environment: Annotated[
        list[str] | None, typer.Option("--environment", "-e", help="NAME:key=value,...; give several to tune over all.")
    ] = None,
    horizon: Annotated[int, typer.Option("--horizon", "-t", help="Rounds a run.")] = 4000,
    runs: Annotated[
        int, typer.Option("--runs", "-r", help="Runs of each first trial; finals have four times as many.")
    ] = (tuning.FIRST_RUNS),
    seed: Annotated[
        int, typer.Option("--seed", "-s", help="Seed for tuning; compare on other seeds.")
    ] = tuning.TUNING_SEED,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Name of the result; default: the policy's.")] = None,
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where results are kept.")] = TUNED_FOLDER,
) -> None:
    """Find the radius scale and ridge of a policy: the same trials for every policy, on tuning seeds."""
    with kind_errors():
        worlds = [parse_environment(e) for e in environment or ["Hypercube:dim=5"]]
        template = parse_policy(policy, horizon)
        told = {k: v for k, v in template.params.items() if k not in ("scale", "ridge", "horizon", "random_state")}
        with _bars() as report:
            lab = Lab(folder / "cache", report)
            kind = type(template).__name__
            found = tuning.tune(lab, kind, worlds, horizon, seed=seed, first_runs=runs, **told)
        best = found.trials[-tuning.FINALISTS :]
        table = Table("scale", "ridge", "mean regret", "sd", "runs", title=f"finals of {kind}", title_justify="left")
        for trial in sorted(best, key=lambda t: t.mean):
            table.add_row(
                f"{trial.scale:g}", f"{trial.ridge:g}", f"{trial.mean:.1f}", f"{trial.sd:.1f}", str(trial.runs)
            )
        out.print(table)
        path = found.save(folder / f"{name or kind}.json")
        out.print(f"wrote {path}; use it as @{name or kind}, as in: duelist simulate @{name or kind}", highlight=False)


def _policy(spec: str, horizon: int) -> CompiledPolicy:
    """The policy of a spec; @NAME is one that `tune` has stored."""
    if not spec.startswith("@"):
        return parse_policy(spec, horizon)
    path = TUNED_FOLDER / f"{spec[1:]}.json"
    if not path.exists():
        raise InvalidInput(f"no tuned policy {spec[1:]!r} in {TUNED_FOLDER}; make it with `duelist tune`")
    return tuning.Tuned.load(path).make(horizon)


@app.command()
def reproduce(
    experiments: Annotated[list[str], typer.Argument(help=f"{', '.join(CATALOG)}, or all for the paper's.")],
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where figures, tables and the report go.")] = Path(
        "out/figures"
    ),
    docs: Annotated[Path | None, typer.Option("--docs", help="Also write the claims to this Markdown file.")] = None,
) -> None:
    """Run experiments, the paper's and others: figures, tables, and a verdict on every claim."""
    with kind_errors():
        with _bars() as report:
            outcomes = run_experiments(experiments, folder, report)
        table = Table("claim", "setting", "what we found", "verdict", title="What holds", title_justify="left")
        for claim in (c for o in outcomes for c in o.claims):
            table.add_row(claim.claim, claim.setting, claim.figure, claim.verdict)
        out.print(table)
        if docs is not None:
            write_text(docs, markdown_report(outcomes))
            out.print(f"wrote {docs}", highlight=False, soft_wrap=True)
        out.print(f"wrote {folder / 'report.html'}", highlight=False, soft_wrap=True)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where to write the picture and the table.")] = Path(
        "out/demo"
    ),
    horizon: Annotated[int, typer.Option("--horizon", "-t", help="Rounds a run.")] = demonstration.HORIZON,
    runs: Annotated[int, typer.Option("--runs", "-r", help="Independent runs.")] = demonstration.RUNS,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Seed of everything random.")] = 0,
) -> None:
    """The paper's main comparison: VACDB, MaxInP, MaxPairUCB and CoLSTIM on 32 arms."""
    with kind_errors():
        out.print(
            f"{runs} runs of {horizon} rounds, {2**demonstration.DIM} arms in {demonstration.DIM} dimensions, "
            f"random unit theta*, logistic link, seed {seed}; every policy with its default settings.",
            highlight=False,
            soft_wrap=True,
        )
        with _bars() as report:
            result, written = demonstration.run_demo(folder, horizon, runs, seed=seed, progress=report)
        _print_summary(result.summary())
        for path in written:
            out.print(f"wrote {path}", highlight=False, soft_wrap=True)


@app.command()
def warm() -> None:
    """Compile every policy now, so that the first duel does not wait for it (a few minutes)."""
    with kind_errors(), _bars() as report:
        compile_everything(lambda what, done, total: report("compiling", done, total))
    out.print("all policies are compiled")


if __name__ == "__main__":
    sys.exit(app())
