"""`duelist study`: create studies, ask for pairs, record votes, import and export."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from duelist.cli.console import out, report_errors, say
from duelist.cli.defaults import FEATURES, FORMATS, GOALS, OUTCOMES, POLICY, SOURCE, SOURCES, STORAGE
from duelist.cli.study.files import add_from_file, plan_files, show_items, show_votes
from duelist.cli.study.options import By, Category, Context, Name, StorageUrl, load_study
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.study import StudyDuel
    from duelist.study.analysis import Leaderboard

app = typer.Typer(help="Create and run studies.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", help="KEY=VALUE of the format, such as left=answer1; may be repeated."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="FIELD=COLUMN, such as rater=worker: the file's name of a column; may be repeated."),
]


@app.command()
def create(
    name: Name,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Items: a .csv, .tsv, .xlsx, .json or .jsonl file, images, or a folder of them.", show_default=False
        ),
    ] = None,
    storage: StorageUrl = STORAGE,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", "-p", help=f"Policy, see `duelist list`; default: the one for the goal, else {POLICY}."
        ),
    ] = None,
    goal: Annotated[str | None, typer.Option("--goal", "-g", help=f"Goal of the study: {GOALS}.")] = None,
    top: Annotated[
        int | None, typer.Option(help="For the goal rank: how many top places matter; default: all.")
    ] = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option("--criterion", help="Criterion of the comparison; may be repeated, the policy learns the first."),
    ] = None,
    lease_seconds: Annotated[float, typer.Option(help="Seconds a pair is reserved for a rater.")] = 600.0,
    raters_per_duel: Annotated[int, typer.Option(help="Number of raters per pair.")] = 1,
    random_share: Annotated[float, typer.Option(help="Share of random pairs, for off-policy evaluation.")] = 0.0,
    arm_effects: Annotated[
        bool | None,
        typer.Option(
            "--arm-effects/--no-arm-effects",
            help="Whether items with features also have an arm effect; default: yes for the goals best and rank.",
        ),
    ] = None,
    if_missing: Annotated[bool, typer.Option("--if-missing", help="Do nothing if the study exists.")] = False,
    features: Annotated[
        str | None, typer.Option("--features", help=f"How to make features from a file: {FEATURES}.")
    ] = None,
    column: Columns = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of the file, if detection fails.")] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show what would be imported, and create nothing.")
    ] = False,
) -> None:
    """Create a study, optionally with the items of files, whose columns are recognised by name and content."""
    from duelist.study import create_study
    from duelist.study.storage import without_password

    with report_errors():
        if not files and (column or encoding or features or preview):
            raise InvalidInput("--column, --encoding, --features and --preview are for a file of items.", "Give one.")
        items = plan_files(files, _pairs("--column", column), features, encoding) if files else None
        if items is not None:
            show_items(items)
        if preview:
            say("Nothing was created. Leave out --preview to create the study.")
            return
        study = create_study(
            name,
            storage=storage,
            policy=policy,
            load_if_exists=if_missing,
            goal=goal,
            items=items,
            **({"criteria": criterion} if criterion else {}),
            lease_seconds=lease_seconds,
            raters_per_duel=raters_per_duel,
            random_share=random_share,
            **({} if arm_effects is None else {"arm_effects": arm_effects}),
            **({} if top is None else {"top": top}),
        )
        kind = (study.settings.feature_recipe or {}).get("kind")
        contents = f", {len(study.arms())} items, features {kind!r}" if kind else ""
        say(f"study {study.name!r} with policy {study.settings.policy}{contents} in {without_password(storage)}")


@app.command("list")
def list_(
    storage: StorageUrl = STORAGE,
    every: Annotated[bool, typer.Option("--all", help="Include archived studies.")] = False,
) -> None:
    """List the studies of a storage."""
    from duelist.study import list_studies

    with report_errors():
        table = Table("study", "state", "policy", "arms", "duels", "votes", "created")
        for each in list_studies(storage, include_archived=every):
            counts = (str(n) for n in (each.arms, each.duels, each.votes))
            created = f"{each.created_at:%Y-%m-%d %H:%M} UTC"
            table.add_row(escape(each.name), each.state.value, each.settings.policy, *counts, created)
        out.print(table)


@app.command("add-arms")
def add_arms(
    name: Name,
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON lines (id; optionally features, payload, context, prompt), or a table: .csv, .tsv, .xlsx."
        ),
    ],
    column: Columns = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of the file, if detection fails.")] = None,
    storage: StorageUrl = STORAGE,
) -> None:
    """Add items from a file, all or none; its columns are recognised as in `create`."""
    with report_errors():
        add_from_file(name, file, _pairs("--column", column), encoding, storage)


@app.command()
def ask(
    name: Name,
    rater: Annotated[str, typer.Option("--rater", "-r", help="Name of the rater.")],
    storage: StorageUrl = STORAGE,
    context: Context = None,
    as_json: AsJson = False,
) -> None:
    """Ask for a rater's next pair; the same one until it is voted on."""
    with report_errors():
        duel = load_study(name, storage).ask(rater, context=context)
        say(json.dumps(_plain(duel)) if as_json else _shown(duel))


@app.command()
def tell(
    name: Name,
    duel: Annotated[int, typer.Argument(help="Number of the pair.")],
    outcome: Annotated[str, typer.Argument(help=OUTCOMES)],
    rater: Annotated[str, typer.Option("--rater", "-r", help="Name of the rater.")],
    storage: StorageUrl = STORAGE,
    revise: Annotated[bool, typer.Option("--revise", help="Replace this rater's earlier vote.")] = False,
    source: Annotated[str, typer.Option(help=SOURCES)] = SOURCE,
    reason: Annotated[str | None, typer.Option(help="Why, in the rater's words.")] = None,
    criterion: Annotated[str | None, typer.Option(help="Criterion of the vote.")] = None,
) -> None:
    """Record a rater's vote; saved when this returns, and safe to repeat."""
    with report_errors():
        vote = load_study(name, storage).tell(
            duel, outcome, rater=rater, revise=revise, source=source, reason=reason, criterion=criterion
        )
        late = ", after its deadline" if vote.late else ""
        say(f"vote {vote.sequence}: {vote.outcome} of duel {vote.duel_id} ({vote.first} against {vote.second}){late}")


@app.command()
def undo(
    name: Name,
    duel: Annotated[int, typer.Argument(help="Number of the pair.")],
    rater: Annotated[str, typer.Option("--rater", "-r", help="Name of the rater.")],
    storage: StorageUrl = STORAGE,
    criterion: Annotated[str | None, typer.Option(help="Criterion of the vote.")] = None,
) -> None:
    """Undo a rater's vote."""
    with report_errors():
        vote = load_study(name, storage).undo(duel, rater=rater, criterion=criterion)
        say(f"vote {vote.revises} on duel {vote.duel_id} is undone; {rater} may vote again")


@app.command()
def status(name: Name, storage: StorageUrl = STORAGE, context: Context = None) -> None:
    """Show the progress of a study and its raters."""
    with report_errors():
        study = load_study(name, storage)
        arms = study.arms()
        retired = sum(arm.retired for arm in arms)
        say(
            f"{study.name} ({study.state.value}): policy {study.settings.policy}, {len(arms)} items ({retired} retired), "
            f"{len(study)} votes in the log"
        )
        say(f"{len(study.pending())} pairs are pending")
        if len(study) and len(arms) > 1:
            say(study.progress(context))
            say(study.recommend(context))
            say(study.raters())


@app.command()
def leaderboard(
    name: Name,
    storage: StorageUrl = STORAGE,
    context: Context = None,
    top: Annotated[int | None, typer.Option("--top", "-n", help="Show only the top N.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also plot to this file.")] = None,
    category: Category = None,
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """Show items, or systems, by utility, with intervals, ranks and probabilities of being best."""
    with report_errors():
        selected = {name: value for name, value in (("category", category), ("by", by)) if value is not None}
        board = load_study(name, storage).leaderboard(context, top=top, **selected)
        if plot is not None:
            _draw(board, plot)
        say(json.dumps(asdict(board)) if as_json else board)


@app.command()
def export(
    name: Name,
    file: Annotated[Path, typer.Argument(help="Output file.")],
    form: Annotated[
        str | None,
        typer.Option("--format", "-f", help=f"Format: {FORMATS}; default: by the file name."),
    ] = None,
    option: Options = None,
    storage: StorageUrl = STORAGE,
) -> None:
    """Export the votes for other tools; anything a format cannot hold is counted."""
    with report_errors():
        say(f"{file}: {load_study(name, storage).export(file, form, **_parsed(option))}")


@app.command("import")
def import_(
    name: Name,
    file: Annotated[Path, typer.Argument(help="The file to read.")],
    form: Annotated[
        str | None, typer.Option("--format", "-f", help=f"Format: {FORMATS}; default: by the content.")
    ] = None,
    keep_duplicates: Annotated[
        bool, typer.Option("--keep-duplicates", help="Also add votes that the log already has.")
    ] = False,
    column: Columns = None,
    option: Options = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show what would be imported, and import nothing.")
    ] = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """Import votes from a file, all or none; the policy learns from them. Duplicates are skipped."""
    from duelist.study import plan_votes

    with report_errors():
        options = _parsed(option) | ({"columns": _pairs("--column", column)} if column else {})
        plan = plan_votes(file, form, skip_duplicates=not keep_duplicates, **options)
        if preview:
            show_votes(plan)
            return
        say(f"{file}, as {plan.format}: {load_study(name, storage).apply(plan)}")


@app.command()
def delete(
    name: Name,
    storage: StorageUrl = STORAGE,
    yes: Annotated[bool, typer.Option("--yes", help="Delete permanently without asking.")] = False,
) -> None:
    """Delete a study with everything in it."""
    from duelist.study import delete_study

    with report_errors():
        if not yes:
            votes = len(load_study(name, storage))
            raise InvalidInput(f"Study {name!r} has {votes} votes.", "Export what you need, then repeat with --yes.")
        delete_study(name, storage=storage)
        say(f"study {name!r} is deleted")


@app.command()
def formats() -> None:
    """List the formats of votes."""
    from duelist.study import formats as known

    table = Table("format", "description", "import")
    for each in known.FORMATS.values():
        table.add_row(each.name, each.summary, "yes" if each.read is not None else "no")
    out.print(table)


def _parsed(options: list[str] | None) -> dict[str, Any]:
    """Parse KEY=VALUE options of a format; true and false become booleans."""
    words: dict[str, Any] = {"true": True, "false": False}
    return {key: words.get(value, value) for key, value in _pairs("--option", options).items()}


def _pairs(name: str, given: list[str] | None) -> dict[str, str]:
    """Parse repeated KEY=VALUE options."""
    pairs = [each.partition("=") for each in given or ()]
    wrong = next((key for key, equals, value in pairs if not (key and equals and value)), None)
    if wrong is not None:
        raise InvalidInput(f"{name} is {wrong!r}.", "Give KEY=VALUE.", field=name)
    return {key: value for key, _, value in pairs}


def _plain(duel: StudyDuel) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(duel), default=str))


def _shown(duel: StudyDuel) -> str:
    where = f" in {duel.context}" if duel.context else ""
    prompt = "" if duel.prompt is None else f"\n  prompt:{_payload(duel.prompt)}"
    sides = "\n".join(
        f"  {side}: {arm.id}{_payload(arm.payload)}" for side, arm in (("first", duel.first), ("second", duel.second))
    )
    return f"duel {duel.id}{where}, until {duel.deadline:%Y-%m-%d %H:%M:%S} UTC{prompt}\n{sides}"


def _payload(payload: Any) -> str:
    if payload is None:
        return ""
    return f"\n    {payload if isinstance(payload, str) else json.dumps(payload)}"


def _draw(board: Leaderboard, path: Path) -> None:
    from duelist.study.analysis import draw_leaderboard

    figure = draw_leaderboard(board)
    kinds = figure.canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in kinds:
        raise InvalidInput(f"--plot is {path}.", f"Give a name that ends in one of .{', .'.join(kinds)}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
