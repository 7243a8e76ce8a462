"""`duelist study` for owners: state, limits, raters, gold pairs, backups and copies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duelist.cli.console import report_errors, say
from duelist.cli.defaults import GOALS, STORAGE
from duelist.cli.study.options import Name, StorageUrl, load_study
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.study import StudyProtocol

RaterName = Annotated[str, typer.Argument(help="The rater.", show_default=False)]
Limit = Annotated[str | None, typer.Option(help="Number of votes, or none for no limit.")]


def open_(name: Name, storage: StorageUrl = STORAGE) -> None:
    """Open a study: raters get pairs, and votes count."""
    with report_errors():
        study = load_study(name, storage)
        study.open()
        say(f"study {name!r} is open")


def pause(name: Name, storage: StorageUrl = STORAGE) -> None:
    """Pause a study: no new pairs; votes on pending pairs still count."""
    with report_errors():
        study = load_study(name, storage)
        study.pause()
        say(f"study {name!r} is paused; votes on {len(study.pending())} pending pairs still count")


def end(name: Name, storage: StorageUrl = STORAGE) -> None:
    """End a study: no pairs and no votes."""
    with report_errors():
        load_study(name, storage).end()
        say(f"study {name!r} has ended: no pairs, no votes")


def archive(name: Name, storage: StorageUrl = STORAGE) -> None:
    """Archive a study: read-only, and hidden from the list."""
    with report_errors():
        load_study(name, storage).archive()
        say(f"study {name!r} is archived; `duelist study list --all` shows it")


def rename(
    name: Name, new_name: Annotated[str, typer.Argument(help="The new name.")], storage: StorageUrl = STORAGE
) -> None:
    """Rename a study."""
    with report_errors():
        load_study(name, storage).rename(new_name)
        say(f"study {name!r} is now {new_name!r}")


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


def change(
    name: Name,
    settings: Annotated[list[str], typer.Argument(help="KEY=VALUE, such as lease_seconds=300; values are JSON.")],
    storage: StorageUrl = STORAGE,
) -> None:
    """Change settings of a study."""
    with report_errors():
        load_study(name, storage).change(**_pairs(settings))
        say(f"study {name!r}: {', '.join(settings)}")


def block(
    name: Name,
    rater: RaterName,
    keep_votes: Annotated[bool, typer.Option("--keep-votes", help="Keep counting existing votes.")] = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """Block a rater and exclude their votes; `reinstate` reverts it."""
    with report_errors():
        load_study(name, storage).block(rater, keep_votes=keep_votes)
        say(f"{rater!r} is blocked; their votes {'still count' if keep_votes else 'are excluded'}")


def reinstate(name: Name, rater: RaterName, storage: StorageUrl = STORAGE) -> None:
    """Reinstate a rater: pairs and votes count again."""
    with report_errors():
        load_study(name, storage).reinstate(rater)
        say(f"{rater!r} is reinstated; their votes count")


def erase(
    name: Name,
    rater: RaterName,
    yes: Annotated[bool, typer.Option("--yes", help="Erase without asking; this cannot be undone.")] = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """Erase a rater's identity: a pseudonym replaces the name, and the votes stay."""
    with report_errors():
        if not yes:
            raise InvalidInput(f"Erasing {rater!r} cannot be undone.", "Repeat with --yes.")
        erased = load_study(name, storage).erase_rater(rater)
        if erased.pseudonym is None:
            say(f"study {name!r} has no rater {rater!r}")
        else:
            say(
                f"{rater!r} is {erased.pseudonym!r} now, with {erased.votes} votes; earlier archives and exports keep the name"
            )


def describe(
    name: Name,
    rater: RaterName,
    attributes: Annotated[
        list[str] | None, typer.Argument(help="KEY=VALUE, such as age=31; null removes a key.")
    ] = None,
    storage: StorageUrl = STORAGE,
) -> None:
    """Set attributes of a rater; without any, show them."""
    with report_errors():
        study = load_study(name, storage)
        found = study.describe_rater(rater, **_pairs(attributes)) if attributes else study.rater(rater)
        state = [word for word in ("blocked", "excluded", "erased") if getattr(found, word)]
        say(f"{rater}: {json.dumps(found.attributes, ensure_ascii=False)}{' ' * bool(state)}{', '.join(state)}")


def retire(
    name: Name,
    items: Annotated[list[str], typer.Argument(help="Item ids.", show_default=False)],
    storage: StorageUrl = STORAGE,
) -> None:
    """Retire items: they are not shown any more; votes on pending pairs still count."""
    with report_errors():
        study = load_study(name, storage)
        study.retire(items)
        _say_retired(study)


def activate(
    name: Name,
    items: Annotated[list[str], typer.Argument(help="Item ids.", show_default=False)],
    storage: StorageUrl = STORAGE,
) -> None:
    """Activate retired items again."""
    with report_errors():
        study = load_study(name, storage)
        study.activate(items)
        _say_retired(study)


def _say_retired(study: StudyProtocol) -> None:
    every = study.arms()
    say(f"{sum(item.retired for item in every)} of {len(every)} items of {study.name!r} are retired")


def gold(
    name: Name,
    pair: Annotated[
        list[str] | None, typer.Argument(help="FIRST SECOND OUTCOME; without it, list the gold pairs.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the gold pair FIRST SECOND.")] = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """Show, add or remove gold pairs, whose outcome is known, to check that raters pay attention."""
    with report_errors():
        study = load_study(name, storage)
        given = pair or []
        if len(given) not in ((2,) if remove else (0, 3)):
            raise InvalidInput(
                f"Gold pair is {' '.join(given)!r}.", "Give FIRST SECOND OUTCOME, or --remove and FIRST SECOND."
            )
        if remove:
            study.remove_gold(*given)
        elif given:
            study.add_gold(*given)
        for each in study.gold():
            say(f"{each.first} against {each.second}: {each.outcome}")


def explain(
    name: Name, duel: Annotated[int, typer.Argument(help="The duel's number.")], storage: StorageUrl = STORAGE
) -> None:
    """Explain why a pair was chosen, and how the policy rates the alternatives."""
    with report_errors():
        say(load_study(name, storage).explain(duel))


def can_stop(
    name: Name,
    storage: StorageUrl = STORAGE,
    context: Annotated[str | None, typer.Option("--context", "-c", help="Only items of this context.")] = None,
    goal: Annotated[str | None, typer.Option(help=f"Goal, if not the study's own: {GOALS}.")] = None,
    top: Annotated[
        int | None, typer.Option(help="Top places for the goal rank; default: the study's, else all.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Error rate.")] = 0.05,
    tolerance: Annotated[float, typer.Option(help="How much better another item may be.")] = 0.0,
    unit: Annotated[str, typer.Option(help="Unit of the tolerance: utility, or chance (win probability).")] = "utility",
) -> None:
    """Say whether there are enough votes for the study's goal. Exit status 0 if so, 1 if not."""
    with report_errors():
        found = load_study(name, storage).can_stop(
            context, goal=goal, top=top, delta=delta, tolerance=tolerance, unit=unit
        )
        say(found)
    if not found.done:
        raise typer.Exit(1)


def save(name: Name, file: Annotated[Path, typer.Argument(help="Output file.")], storage: StorageUrl = STORAGE) -> None:
    """Save a study with everything in it to a file that `restore` reads."""
    with report_errors():
        study = load_study(name, storage)
        say(f"{study.save(file)}: study {name!r}, {len(study)} votes")


def restore(
    file: Annotated[Path, typer.Argument(help="A file written by `save`.")],
    name: Annotated[str | None, typer.Option("--name", help="New name of the study.")] = None,
    storage: StorageUrl = STORAGE,
) -> None:
    """Restore a study from a file written by `save`, completely or not at all."""
    from duelist.study import restore_study

    with report_errors():
        study = restore_study(file, storage, name)
        say(f"study {study.name!r} with {len(study.arms())} items and {len(study)} votes")


def copy(
    name: Name,
    to_storage: Annotated[str | None, typer.Option("--to-storage", help="Target storage.")] = None,
    to_name: Annotated[str | None, typer.Option("--to-name", help="Target name.")] = None,
    storage: StorageUrl = STORAGE,
) -> None:
    """Copy a study to another storage or name."""
    from duelist.study import copy_study

    with report_errors():
        study = copy_study(name, storage, to_storage, to_name)
        say(f"study {study.name!r} with {len(study)} votes is a copy of {name!r}")


def backup(
    file: Annotated[Path, typer.Argument(help="Output file, an SQLite storage.")], storage: StorageUrl = STORAGE
) -> None:
    """Back up all studies of a storage into one SQLite file, while raters continue."""
    from duelist.study import backup_storage, list_studies

    with report_errors():
        path = backup_storage(storage, file)
        say(f"{path}: {len(list_studies(f'sqlite:///{path}', include_archived=True))} studies")


def add_to(app: typer.Typer) -> None:
    """Add these commands to the app."""
    for command in (
        activate, archive, backup, block, change, copy, describe, end, erase, explain, gold, limit, pause, reinstate,
        rename, restore, retire, save,
    ):  # fmt: skip
        app.command()(command)
    app.command("open")(open_)
    app.command("can-stop")(can_stop)


def _limit(key: str, text: str) -> int | None:
    if text == "none":
        return None
    if not text.isdigit():
        raise InvalidInput(f"--{key.replace('_', '-')} is {text!r}.", "Give a number of votes, or none.")
    return int(text)


def _pairs(given: list[str]) -> dict[str, Any]:
    """Parse KEY=VALUE; a value is JSON, or else a text."""
    found: dict[str, Any] = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise InvalidInput(f"{each!r} is not KEY=VALUE.", "Write, for example, age=31.")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
