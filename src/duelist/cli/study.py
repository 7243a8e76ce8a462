"""`duelist study`: live studies from the shell."""

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
from duelist.cli.study_files import add_from_file, plan_files, show_items, show_votes
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.study import Study, StudyDuel
    from duelist.study.analysis import Leaderboard

app = typer.Typer(help="Live studies: ask people, keep what they say.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The study.", show_default=False)]
Url = Annotated[
    str, typer.Option("--storage", "-s", envvar="DUELIST_STORAGE", help="sqlite:///FILE or postgresql+psycopg://...")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", help="KEY=VALUE of the format, such as left=answer1; may be repeated."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="OURS=THEIRS, such as rater=worker: what the file calls a column; may be repeated."),
]
Context = Annotated[str | None, typer.Option("--context", "-c", help="Only this group of arms.")]


@app.command()
def create(
    name: Name,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Arms: a .csv, .tsv, .xlsx, .json or .jsonl file, images, or a folder of them.", show_default=False
        ),
    ] = None,
    storage: Url = STORAGE,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", "-p", help=f"Its name, as `duelist list` shows it; what suits the goal, else {POLICY}."
        ),
    ] = None,
    goal: Annotated[str | None, typer.Option("--goal", "-g", help=f"What the study is for: {GOALS}.")] = None,
    top: Annotated[
        int | None, typer.Option(help="For the goal rank: how many places matter; all, if you do not say.")
    ] = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option("--criterion", help="What pairs are judged by; may be repeated, the first is learned."),
    ] = None,
    lease_seconds: Annotated[float, typer.Option(help="How long a rater may take.")] = 600.0,
    raters_per_duel: Annotated[int, typer.Option(help="How many raters answer the same duel.")] = 1,
    random_share: Annotated[
        float, typer.Option(help="Share of duels chosen by a coin, for off-line evaluation.")
    ] = 0.0,
    arm_effects: Annotated[
        bool | None,
        typer.Option(
            "--arm-effects/--no-arm-effects",
            help="Whether arms with features have an arm effect, too, for what features do not say; if neither is given, they "
            "have for the goals best and rank.",
        ),
    ] = None,
    if_missing: Annotated[bool, typer.Option("--if-missing", help="Do nothing if it is there already.")] = False,
    features: Annotated[
        str | None, typer.Option("--features", help=f"How features of a file's arms are made: {FEATURES}.")
    ] = None,
    column: Columns = None,
    encoding: Annotated[str | None, typer.Option(help="Of the file, if it is not guessed right.")] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show what would be imported, and create nothing.")
    ] = False,
) -> None:
    """Make a study; with a file, with its arms: columns are understood by their names and what is in them."""
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
    storage: Url = STORAGE, every: Annotated[bool, typer.Option("--all", help="Those that were put away, too.")] = False
) -> None:
    """All studies of a storage."""
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
            help="JSON lines (id, and, if there are any, features, payload, context, prompt), or a table: .csv, .tsv, .xlsx."
        ),
    ],
    column: Columns = None,
    encoding: Annotated[str | None, typer.Option(help="Of the file, if it is not guessed right.")] = None,
    storage: Url = STORAGE,
) -> None:
    """Add arms from a file, all or none; its columns are understood as `create` does."""
    with report_errors():
        add_from_file(name, file, _pairs("--column", column), encoding, storage)


@app.command()
def ask(
    name: Name,
    rater: Annotated[str, typer.Option("--rater", "-r", help="Who will answer.")],
    storage: Url = STORAGE,
    context: Context = None,
    as_json: AsJson = False,
) -> None:
    """The next duel for a rater; the same one until it is told."""
    with report_errors():
        duel = _study(name, storage).ask(rater, context=context)
        say(json.dumps(_plain(duel)) if as_json else _shown(duel))


@app.command()
def tell(
    name: Name,
    duel: Annotated[int, typer.Argument(help="The duel's number.")],
    outcome: Annotated[str, typer.Argument(help=OUTCOMES)],
    rater: Annotated[str, typer.Option("--rater", "-r", help="Who answers.")],
    storage: Url = STORAGE,
    revise: Annotated[bool, typer.Option("--revise", help="Replace this rater's earlier answer.")] = False,
    source: Annotated[str, typer.Option(help=SOURCES)] = SOURCE,
    reason: Annotated[str | None, typer.Option(help="Why, in the rater's words.")] = None,
    criterion: Annotated[str | None, typer.Option(help="Which criterion the answer is about.")] = None,
) -> None:
    """A rater's answer; durable when this returns, and safe to repeat."""
    with report_errors():
        vote = _study(name, storage).tell(
            duel, outcome, rater=rater, revise=revise, source=source, reason=reason, criterion=criterion
        )
        late = ", after its deadline" if vote.late else ""
        say(f"vote {vote.sequence}: {vote.outcome} of duel {vote.duel_id} ({vote.first} against {vote.second}){late}")


@app.command()
def undo(
    name: Name,
    duel: Annotated[int, typer.Argument(help="The duel's number.")],
    rater: Annotated[str, typer.Option("--rater", "-r", help="Whose answer to take back.")],
    storage: Url = STORAGE,
    criterion: Annotated[str | None, typer.Option(help="Which criterion it was about.")] = None,
) -> None:
    """Take back a rater's answer."""
    with report_errors():
        vote = _study(name, storage).undo(duel, rater=rater, criterion=criterion)
        say(f"vote {vote.revises} on duel {vote.duel_id} is undone; {rater} may answer again")


@app.command()
def status(name: Name, storage: Url = STORAGE, context: Context = None) -> None:
    """How far along a study is, and what its raters do."""
    with report_errors():
        study = _study(name, storage)
        arms = study.arms()
        retired = sum(arm.retired for arm in arms)
        say(
            f"{study.name} ({study.state.value}): policy {study.settings.policy}, {len(arms)} arms ({retired} retired), "
            f"{len(study)} votes in the log"
        )
        say(f"{len(study.pending())} duels are out")
        if len(study) and len(arms) > 1:
            say(study.progress(context))
            say(study.recommend(context))
            say(study.raters())


@app.command()
def leaderboard(
    name: Name,
    storage: Url = STORAGE,
    context: Context = None,
    top: Annotated[int | None, typer.Option("--top", "-n", help="Only the first so many.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also draw it into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Arms by utility, with intervals, rank ranges and the chance of being best."""
    with report_errors():
        board = _study(name, storage).leaderboard(context, top=top)
        if plot is not None:
            _draw(board, plot)
        say(json.dumps(asdict(board)) if as_json else board)


@app.command()
def export(
    name: Name,
    file: Annotated[Path, typer.Argument(help="Where to write.")],
    form: Annotated[
        str | None,
        typer.Option("--format", "-f", help=f"One of {FORMATS}; by the file's name where it ends in .csv or .jsonl."),
    ] = None,
    option: Options = None,
    storage: Url = STORAGE,
) -> None:
    """Write the votes for other tools; what a format cannot hold is counted."""
    with report_errors():
        say(f"{file}: {_study(name, storage).export(file, form, **_parsed(option))}")


@app.command("import")
def import_(
    name: Name,
    file: Annotated[Path, typer.Argument(help="The file to read.")],
    form: Annotated[
        str | None, typer.Option("--format", "-f", help=f"One of {FORMATS}; by what is in the file, if you do not say.")
    ] = None,
    keep_duplicates: Annotated[
        bool, typer.Option("--keep-duplicates", help="Add votes that the log has already once more.")
    ] = False,
    column: Columns = None,
    option: Options = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show what the file holds, and import nothing.")] = False,
    storage: Url = STORAGE,
) -> None:
    """Import votes from a file, all or none; the policy learns from them. Duplicates are skipped."""
    from duelist.study import plan_votes

    with report_errors():
        options = _parsed(option) | ({"columns": _pairs("--column", column)} if column else {})
        plan = plan_votes(file, form, skip_duplicates=not keep_duplicates, **options)
        if preview:
            show_votes(plan)
            return
        say(f"{file}, as {plan.format}: {_study(name, storage).apply(plan)}")


@app.command()
def delete(
    name: Name,
    storage: Url = STORAGE,
    yes: Annotated[bool, typer.Option("--yes", help="Really: its arms, duels and votes are gone.")] = False,
) -> None:
    """Delete a study with everything in it."""
    from duelist.study import delete_study

    with report_errors():
        if not yes:
            votes = len(_study(name, storage))
            raise InvalidInput(f"Study {name!r} has {votes} votes.", "Export what you need, then repeat with --yes.")
        delete_study(name, storage=storage)
        say(f"study {name!r} is deleted")


@app.command()
def formats() -> None:
    """The formats that votes can be read from and written to."""
    from duelist.study import formats as known

    table = Table("format", "what it is", "can be read")
    for each in known.FORMATS.values():
        table.add_row(each.name, each.summary, "yes" if each.read is not None else "no")
    out.print(table)


def _study(name: str, storage: str) -> Study:
    from duelist.study import load_study

    return load_study(name, storage=storage)


def _parsed(options: list[str] | None) -> dict[str, Any]:
    """KEY=VALUE as the formats take them; true and false are meant as such."""
    words: dict[str, Any] = {"true": True, "false": False}
    return {key: words.get(value, value) for key, value in _pairs("--option", options).items()}


def _pairs(name: str, given: list[str] | None) -> dict[str, str]:
    """KEY=VALUE, as often as it was given."""
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
