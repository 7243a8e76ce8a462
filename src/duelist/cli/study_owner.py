"""`duelist study`, for those who run one: open and pause, limit, block and erase raters, gold pairs, archives and copies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duelist.cli.console import kind_errors, say
from duelist.cli.defaults import GOALS, STORAGE
from duelist.core.errors import InvalidInput

if TYPE_CHECKING:
    from duelist.study import Study

Name = Annotated[str, typer.Argument(help="The study.", show_default=False)]
Url = Annotated[
    str, typer.Option("--storage", "-s", envvar="DUELIST_STORAGE", help="sqlite:///FILE or postgresql+psycopg://...")
]
RaterName = Annotated[str, typer.Argument(help="The rater.", show_default=False)]
Limit = Annotated[str | None, typer.Option(help="So many votes, or none for no limit.")]


def open_(name: Name, storage: Url = STORAGE) -> None:
    """Ask and take votes again, whatever the state was."""
    with kind_errors():
        study = _study(name, storage)
        study.open()
        say(f"study {name!r} is open")


def pause(name: Name, storage: Url = STORAGE) -> None:
    """Ask nothing new; answers to duels that are out still count."""
    with kind_errors():
        study = _study(name, storage)
        study.pause()
        say(f"study {name!r} is paused; {len(study.pending())} duels are out and may be answered")


def end(name: Name, storage: Url = STORAGE) -> None:
    """Ask nothing, and take no more votes."""
    with kind_errors():
        _study(name, storage).end()
        say(f"study {name!r} is closed: it asks nothing and takes no votes")


def put_away(name: Name, storage: Url = STORAGE) -> None:
    """Keep a study as it is, for reading only, out of the list."""
    with kind_errors():
        _study(name, storage).archive()
        say(f"study {name!r} is archived: it can be read, and `duelist study list --all` shows it")


def rename(
    name: Name, new_name: Annotated[str, typer.Argument(help="Its name from now on.")], storage: Url = STORAGE
) -> None:
    """Give a study another name."""
    with kind_errors():
        _study(name, storage).rename(new_name)
        say(f"study {name!r} is {new_name!r} now")


def limit(
    name: Name, total: Limit = None, per_pair: Limit = None, per_rater: Limit = None, storage: Url = STORAGE
) -> None:
    """Ask no more when there are so many votes: in total, on a pair, of a rater. Shows the limits."""
    with kind_errors():
        given = {"total": total, "per_pair": per_pair, "per_rater": per_rater}
        settings = _study(name, storage).limit(**{key: _limit(key, text) for key, text in given.items() if text})
        found = settings.max_votes, settings.max_votes_per_pair, settings.max_votes_per_rater
        words = ("in total", "per pair", "per rater")
        say(", ".join(f"{'no limit' if n is None else n} {word}" for n, word in zip(found, words, strict=True)))


def change(
    name: Name,
    settings: Annotated[list[str], typer.Argument(help="KEY=VALUE, such as lease_seconds=300; values are JSON.")],
    storage: Url = STORAGE,
) -> None:
    """Change settings of a study."""
    with kind_errors():
        _study(name, storage).change(**_pairs(settings))
        say(f"study {name!r}: {', '.join(settings)}")


def block(
    name: Name,
    rater: RaterName,
    keep_votes: Annotated[bool, typer.Option("--keep-votes", help="Let the votes count that are there.")] = False,
    storage: Url = STORAGE,
) -> None:
    """Ask a rater no more, and leave their votes out; `unblock` takes it all back."""
    with kind_errors():
        _study(name, storage).block(rater, keep_votes=keep_votes)
        say(f"{rater!r} is blocked; their votes {'count' if keep_votes else 'are left out'}")


def unblock(name: Name, rater: RaterName, storage: Url = STORAGE) -> None:
    """Ask a rater again, and count their votes again, as if nothing had been."""
    with kind_errors():
        _study(name, storage).reinstate(rater)
        say(f"{rater!r} is asked again, and their votes count")


def erase(
    name: Name,
    rater: RaterName,
    yes: Annotated[bool, typer.Option("--yes", help="Really: there is no way back.")] = False,
    storage: Url = STORAGE,
) -> None:
    """Forget who a rater is: a made-up name takes the place of theirs, their votes stay."""
    with kind_errors():
        if not yes:
            raise InvalidInput(f"Erasing {rater!r} cannot be taken back.", "Repeat with --yes.")
        erased = _study(name, storage).erase_rater(rater)
        if erased.name is None:
            say(f"there is nobody of the name {rater!r} in study {name!r}")
        else:
            say(
                f"{rater!r} is {erased.name!r} now, with {erased.votes} votes; archives and exports made before keep the name"
            )


def describe(
    name: Name,
    rater: RaterName,
    attributes: Annotated[
        list[str] | None, typer.Argument(help="KEY=VALUE, such as age=31; null takes one away.")
    ] = None,
    storage: Url = STORAGE,
) -> None:
    """Keep attributes of a rater; without any, show them."""
    with kind_errors():
        study = _study(name, storage)
        found = study.describe_rater(rater, **_pairs(attributes)) if attributes else study.rater(rater)
        state = [word for word in ("blocked", "excluded", "erased") if getattr(found, word)]
        say(f"{rater}: {json.dumps(found.attributes, ensure_ascii=False)}{' ' * bool(state)}{', '.join(state)}")


def retire(
    name: Name,
    arms: Annotated[list[str], typer.Argument(help="Ids of arms.", show_default=False)],
    back: Annotated[bool, typer.Option("--back", help="Take retired arms back in.")] = False,
    storage: Url = STORAGE,
) -> None:
    """Take arms out of the game: they are asked no more, votes on duels that are out still count."""
    with kind_errors():
        study = _study(name, storage)
        (study.activate if back else study.retire)(arms)
        say(f"{sum(arm.retired for arm in study.arms())} of {len(study.arms())} arms of {name!r} are retired")


def gold(
    name: Name,
    pair: Annotated[
        list[str] | None, typer.Argument(help="FIRST SECOND OUTCOME; nothing shows those there are.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Ask the pair FIRST SECOND no more.")] = False,
    storage: Url = STORAGE,
) -> None:
    """Pairs whose answer is known, slipped in among the others to see which raters look."""
    with kind_errors():
        study = _study(name, storage)
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


def why(name: Name, duel: Annotated[int, typer.Argument(help="The duel's number.")], storage: Url = STORAGE) -> None:
    """Why a pair was asked: who chose it, and what the policy thinks of it and of others."""
    with kind_errors():
        say(_study(name, storage).explain(duel))


def can_stop(
    name: Name,
    storage: Url = STORAGE,
    context: Annotated[str | None, typer.Option("--context", "-c", help="Only this group of arms.")] = None,
    goal: Annotated[str | None, typer.Option(help=f"Another than the study's own: {GOALS}.")] = None,
    top: Annotated[
        int | None, typer.Option(help="How many places the goal rank is about; the study's own, else all.")
    ] = None,
    delta: Annotated[float, typer.Option(help="The error rate.")] = 0.05,
    tolerance: Annotated[float, typer.Option(help="How much better another arm may be.")] = 0.0,
    unit: Annotated[str, typer.Option(help="What the tolerance is in: utility, or chance (to win).")] = "utility",
) -> None:
    """Whether there are votes enough for what the study is for. The exit status is 0 if so, 1 if not."""
    with kind_errors():
        found = _study(name, storage).can_stop(context, goal=goal, top=top, delta=delta, tolerance=tolerance, unit=unit)
        say(found)
    if not found.done:
        raise typer.Exit(1)


def archive(name: Name, file: Annotated[Path, typer.Argument(help="Where to write.")], storage: Url = STORAGE) -> None:
    """Write everything of a study into one file, from which `restore` makes it again to the bit."""
    with kind_errors():
        study = _study(name, storage)
        say(f"{study.save(file)}: study {name!r}, {len(study)} votes")


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `archive` wrote.")],
    name: Annotated[str | None, typer.Option("--name", help="Another name than it had.")] = None,
    storage: Url = STORAGE,
) -> None:
    """Make a study from an archive, all of it or nothing."""
    from duelist.study import restore_study

    with kind_errors():
        study = restore_study(file, storage, name)
        say(f"study {study.name!r} with {len(study.arms())} arms and {len(study)} votes")


def copy(
    name: Name,
    to_storage: Annotated[str | None, typer.Option("--to-storage", help="Another storage.")] = None,
    to_name: Annotated[str | None, typer.Option("--to-name", help="Another name.")] = None,
    storage: Url = STORAGE,
) -> None:
    """Copy a study as it is now, into another storage or under another name."""
    from duelist.study import copy_study

    with kind_errors():
        study = copy_study(name, storage, to_storage, to_name)
        say(f"study {study.name!r} with {len(study)} votes is a copy of {name!r}")


def backup(
    file: Annotated[Path, typer.Argument(help="Where to write; an SQLite storage.")], storage: Url = STORAGE
) -> None:
    """Write all studies of a storage into one SQLite file, while raters go on."""
    from duelist.study import backup_storage, list_studies

    with kind_errors():
        path = backup_storage(storage, file)
        say(f"{path}: {len(list_studies(f'sqlite:///{path}', include_archived=True))} studies")


def add_to(app: typer.Typer) -> None:
    """Let the app have these commands."""
    for command in (
        retire,
        pause,
        end,
        rename,
        limit,
        change,
        block,
        unblock,
        erase,
        describe,
        gold,
        why,
        archive,
        restore,
        copy,
        backup,
    ):
        app.command()(command)
    app.command("open")(open_)
    app.command("put-away")(put_away)
    app.command("can-stop")(can_stop)
    app.command("close", hidden=True)(end)


def _study(name: str, storage: str) -> Study:
    from duelist.study import load_study

    return load_study(name, storage=storage)


def _limit(key: str, text: str) -> int | None:
    if text == "none":
        return None
    if not text.isdigit():
        raise InvalidInput(f"--{key.replace('_', '-')} is {text!r}.", "Give a number of votes, or none.")
    return int(text)


def _pairs(given: list[str]) -> dict[str, Any]:
    """KEY=VALUE; a value is JSON, and what is not is a text."""
    found: dict[str, Any] = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise InvalidInput(f"{each!r} is no KEY=VALUE.", "Write for instance age=31.")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
