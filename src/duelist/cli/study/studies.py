"""`duelist study` for studies: create, list, state, name, settings and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from duelist.cli.console import report_errors, say, say_table
from duelist.cli.defaults import FEATURES, GOALS, POLICY, STORAGE
from duelist.cli.study.options import (
    Columns,
    Encoding,
    Name,
    StorageUrl,
    Systems,
    load_study,
    parse_json_pairs,
    parse_pairs,
)
from duelist.cli.study.previews import expand_folders, show_items
from duelist.core.errors import InvalidInput
from duelist.core.tables import format_count

Limit = Annotated[str | None, typer.Option(help="Number of votes, or none for no limit.")]


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
            "--policy", "-p", help=f"Policy (see `duelist list`); default: the one for the goal, else {POLICY}."
        ),
    ] = None,
    goal: Annotated[str | None, typer.Option("--goal", "-g", help=f"Goal of the study: {GOALS}.")] = None,
    top: Annotated[
        int | None, typer.Option(help="For the goal rank: how many top places matter; default: all.")
    ] = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option("--criterion", help="Criterion to vote on; may be repeated. The policy learns from the first."),
    ] = None,
    lease_seconds: Annotated[
        float | None, typer.Option(help="Seconds for which a pair is reserved for a rater; default: 600.")
    ] = None,
    raters_per_duel: Annotated[int | None, typer.Option(help="Number of raters per pair; default: 1.")] = None,
    random_share: Annotated[
        float | None, typer.Option(help="Share of random pairs, for off-policy evaluation; default: 0.")
    ] = None,
    arm_effects: Annotated[
        bool | None,
        typer.Option(
            "--arm-effects/--no-arm-effects",
            help="Whether items with features also have an arm effect; default: yes for the goals best, rank and serve.",
        ),
    ] = None,
    if_missing: Annotated[bool, typer.Option("--if-missing", help="Do nothing if the study exists.")] = False,
    features: Annotated[
        str | None, typer.Option("--features", help=f"How to make features from a file: {FEATURES}.")
    ] = None,
    column: Columns = None,
    encoding: Encoding = None,
    system: Systems = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show the items of the files, and create nothing.")
    ] = False,
) -> None:
    """Create a study, optionally with items from files. Columns are recognized by name and content."""
    from duelist.study import create_study, plan_items
    from duelist.study.storage import without_password

    with report_errors():
        if not files and (column or encoding or features or system or preview):
            raise InvalidInput(
                "--column, --encoding, --features, --system and --preview need a file of items.", "Give one."
            )
        items = None
        if files:
            columns = parse_pairs("--column", column)
            items = plan_items(expand_folders(files), columns, features, encoding, system or None)
            show_items(items)
        if preview:
            say("The study was not created. Repeat without --preview to create it.")
            return
        settings = {
            "criteria": criterion or None,
            "lease_seconds": lease_seconds,
            "raters_per_duel": raters_per_duel,
            "random_share": random_share,
            "arm_effects": arm_effects,
            "top": top,
        }
        study = create_study(
            name,
            storage=storage,
            policy=policy,
            load_if_exists=if_missing,
            goal=goal,
            items=items,
            **{key: value for key, value in settings.items() if value is not None},
        )
        kind = (study.settings.feature_recipe or {}).get("kind")
        contents = f", {len(study.arms())} items, features {kind!r}" if kind else ""
        if study.systems():
            contents = f", {len(study.systems())} systems on {len(study.contexts())} prompts"
        say(f"study {study.name!r} with policy {study.settings.policy}{contents} in {without_password(storage)}")


def list_(
    storage: StorageUrl = STORAGE,
    every: Annotated[bool, typer.Option("--all", help="Include archived studies.")] = False,
) -> None:
    """List the studies of a storage."""
    from duelist.study import list_studies

    with report_errors():
        rows = [
            (
                each.name,
                each.state.value,
                each.settings.policy,
                each.arms,
                each.duels,
                each.votes,
                f"{each.created_at:%Y-%m-%d %H:%M} UTC",
            )
            for each in list_studies(storage, include_archived=every)
        ]
        say_table(("study", "state", "policy", "items", "pairs", "votes", "created"), rows)


def open_(name: Name, storage: StorageUrl = STORAGE) -> None:
    """Open a study: raters get pairs, and votes count."""
    with report_errors():
        study = load_study(name, storage)
        study.open()
        say(f"study {name!r} is open")


def pause(name: Name, storage: StorageUrl = STORAGE) -> None:
    """Pause a study: raters get no new pairs; votes on pending pairs still count."""
    with report_errors():
        study = load_study(name, storage)
        study.pause()
        pending = format_count(len(study.pending()), "pending pair")
        say(f"study {name!r} is paused; votes on {pending} still count")


def end(name: Name, storage: StorageUrl = STORAGE) -> None:
    """End a study: raters get no pairs, and no votes are accepted."""
    with report_errors():
        load_study(name, storage).end()
        say(f"study {name!r} has ended; no more votes are accepted")


def archive(name: Name, storage: StorageUrl = STORAGE) -> None:
    """Archive a study: read-only, and hidden from the list."""
    with report_errors():
        load_study(name, storage).archive()
        say(f"study {name!r} is archived; `duelist study list --all` shows it")


def rename(
    name: Name,
    new_name: Annotated[str, typer.Argument(help="The new name.", show_default=False)],
    storage: StorageUrl = STORAGE,
) -> None:
    """Rename a study."""
    with report_errors():
        load_study(name, storage).rename(new_name)
        say(f"study {name!r} is now {new_name!r}")


def change(
    name: Name,
    settings: Annotated[
        list[str], typer.Argument(help="KEY=VALUE, such as lease_seconds=300; values are JSON or text.")
    ],
    storage: StorageUrl = STORAGE,
) -> None:
    """Change settings of a study."""
    with report_errors():
        load_study(name, storage).change(**parse_json_pairs("setting", settings))
        say(f"study {name!r}: {', '.join(settings)}")


def limit(
    name: Name, total: Limit = None, per_pair: Limit = None, per_rater: Limit = None, storage: StorageUrl = STORAGE
) -> None:
    """Show or set the maximum number of votes: in total, per pair, per rater."""
    with report_errors():
        given = {"total": total, "per_pair": per_pair, "per_rater": per_rater}
        settings = load_study(name, storage).limit(**{key: _limit(key, text) for key, text in given.items() if text})
        found = settings.max_votes, settings.max_votes_per_pair, settings.max_votes_per_rater
        words = ("in total", "per pair", "per rater")
        say(", ".join(f"{'no limit' if n is None else n} {word}" for n, word in zip(found, words, strict=True)))


def delete(
    name: Name,
    storage: StorageUrl = STORAGE,
    yes: Annotated[bool, typer.Option("--yes", help="Delete permanently without asking.")] = False,
) -> None:
    """Delete a study and all its items and votes permanently."""
    from duelist.study import delete_study

    with report_errors():
        if not yes:
            votes = format_count(len(load_study(name, storage)), "vote")
            raise InvalidInput(f"Study {name!r} has {votes}.", "Export what you need, then repeat with --yes.")
        delete_study(name, storage=storage)
        say(f"study {name!r} is deleted")


def _limit(key: str, text: str) -> int | None:
    if text == "none":
        return None
    if not text.isdigit():
        raise InvalidInput(f"--{key.replace('_', '-')} is {text!r}.", "Give a number of votes, or none.")
    return int(text)
