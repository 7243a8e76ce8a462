"""`duelist simulate`: compare policies in the same worlds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duelist.cli.console import report_errors, say, say_written
from duelist.cli.defaults import GOALS
from duelist.cli.progress import progress_bars
from duelist.cli.research.tune import TUNED_FOLDER
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.policies.base import Policy
    from duelist.simulation.environments import Environment
    from duelist.simulation.runs import Runs


def simulate(
    policies: Annotated[
        list[str] | None,
        typer.Argument(help="Policies: NAME, NAME:key=value,..., MODULE:CLASS, or @NAME from `duelist tune`."),
    ] = None,
    environment: Annotated[
        str, typer.Option("--environment", "-e", help="NAME or NAME:key=value,..., such as Hypercube:dim=5,scale=2.")
    ] = "Hypercube:dim=5",
    horizon: Annotated[int, typer.Option("--horizon", "-t", help="Rounds per run.")] = 4000,
    runs: Annotated[int, typer.Option("--runs", "-r", help="Independent runs.")] = 128,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Random seed.")] = 0,
    goal: Annotated[
        list[str] | None,
        typer.Option("--goal", "-g", help=f"Add the policy recommended for a goal: {GOALS}."),
    ] = None,
    top: Annotated[int | None, typer.Option(help="For the goal rank: how many top places matter.")] = None,
    kind: Annotated[str, typer.Option(help="Regret to report: average, weak or strong.")] = "average",
    save: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Save the runs to this .npz file; policies that are already in it are skipped."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", "-p", help="Plot regret to this file.")] = None,
) -> None:
    """Simulate policies in the same environment and compare their regret, or how well they serve a goal.

    For the goals best, rank and learn, every round compares two different arms, as a study does. For the goal serve, and
    without a goal, an arm may be compared with itself, as in the papers. If you give both kinds of goals, everything is
    simulated twice, and --out saves the first simulation.
    """
    from duelist.core.figures import check_matplotlib
    from duelist.simulation.environments.registry import make_environment
    from duelist.simulation.evaluation import check_goal, evaluate
    from duelist.simulation.regret import check_kind
    from duelist.simulation.run_log import check_duels_fit

    with report_errors():
        check_kind(kind)
        if plot is not None:
            check_matplotlib()
        world = make_environment(environment)
        goals = list(dict.fromkeys(goal or []))
        texts = [*(policies or []), *(_for_goal(each, top) for each in goals)]
        _check_top(top, goals)
        evaluated = [each for each in goals if each != "serve"]
        for each in evaluated:
            check_goal(world, each)
            check_duels_fit(runs, horizon)
        chosen = {text: _policy(text, horizon) for text in texts}
        done = _played(chosen, world, horizon, runs, seed, save, bool(evaluated))
        say(world)
        for each in evaluated:
            say(evaluate(done, world, each, top if each == "rank" else None))
        served = done if not evaluated else None
        if evaluated and "serve" in goals:
            served = _played(chosen, world, horizon, runs, seed, None, False)
        if served is not None:
            say(served.summary(kind))
        if plot is not None:
            plot.parent.mkdir(parents=True, exist_ok=True)
            (done if served is None else served).plot(kind=kind).figure.savefig(plot, dpi=150)  # type: ignore[union-attr]
        say_written((save, plot))


def _played(
    policies: dict[str, Policy],
    world: Environment,
    horizon: int,
    runs: int,
    seed: int,
    save: Path | None,
    distinct: bool,
) -> Runs:
    """Return all policies' runs; those already in `save` are read, and each new one is saved as soon as it is played."""
    from duelist.simulation.runs import Runs
    from duelist.simulation.simulate import describe_player
    from duelist.simulation.simulate import simulate as play

    done = Runs.load(save) if save is not None and save.exists() else None
    if done is not None:
        done.check_world(world.describe(), seed, runs, horizon)
    if save is not None:
        save.parent.mkdir(parents=True, exist_ok=True)
    with progress_bars() as report:
        for text, policy in policies.items():
            if done is not None and done.settings["policies"].get(text) == describe_player(policy, distinct):
                continue
            new = play({text: policy}, world, horizon, runs, seed, distinct=distinct, progress=report)
            done = new if done is None else done.merge(new)
            if save is not None:
                done.save(save)
    if done is None:
        raise InvalidInput("No policy given.", "Name at least one; `duelist list` shows them.")
    return done.only(list(policies))


def _for_goal(name: str, top: int | None) -> str:
    from duelist.policies.goals import find_goal

    policy = find_goal(name).policy
    return policy if name != "rank" or top is None else f"{policy}:top={top}"


def _check_top(top: int | None, goals: list[str]) -> None:
    if top is not None and "rank" not in goals:
        raise InvalidInput(f"top is {top}, but only the goal 'rank' has places.", "Add --goal rank.", field="top")


def _policy(text: str, horizon: int) -> Policy:
    """Return the policy that a text describes; @NAME is one that `tune` has saved."""
    if not text.startswith("@"):
        from duelist.policies import make_policy

        return make_policy(text, horizon=horizon)
    from duelist.research.experiments.tuning import Tuned

    path = TUNED_FOLDER / f"{text[1:]}.json"
    if not path.exists():
        raise InvalidInput(f"No tuned policy {text[1:]!r} in {TUNED_FOLDER}.", "Make it with `duelist tune`.")
    return Tuned.load(path).make(horizon)
