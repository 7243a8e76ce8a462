"""`duelist study` for raters: block, reinstate, describe and erase them, and gold pairs to check them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from duelist.cli.console import report_errors, say
from duelist.cli.defaults import STORAGE
from duelist.cli.study.options import Name, StorageUrl, labels_of, load_study, parse_json_pairs
from duelist.core.errors import InvalidInput
from duelist.core.tables import format_count

RaterName = Annotated[str, typer.Argument(help="Name of the rater.", show_default=False)]


def block(
    name: Name,
    rater: RaterName,
    exclude_votes: Annotated[
        bool, typer.Option("--exclude-votes", help="Also exclude their votes from the results.")
    ] = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """Block a rater: they get no more pairs. `reinstate` undoes it."""
    with report_errors():
        load_study(name, storage).block(rater, exclude_votes=exclude_votes)
        say(f"{rater!r} is blocked; their votes {'are excluded' if exclude_votes else 'still count'}")


def reinstate(name: Name, rater: RaterName, storage: StorageUrl = STORAGE) -> None:
    """Reinstate a rater: they get pairs again, and their votes count again."""
    with report_errors():
        load_study(name, storage).reinstate(rater)
        say(f"{rater!r} is reinstated; their votes count")


def describe(
    name: Name,
    rater: RaterName,
    attributes: Annotated[
        list[str] | None, typer.Argument(help="KEY=VALUE, such as age=31; null removes a key.")
    ] = None,
    storage: StorageUrl = STORAGE,
) -> None:
    """Set attributes of a rater, or show them if none are given."""
    with report_errors():
        study = load_study(name, storage)
        found = (
            study.describe_rater(rater, **parse_json_pairs("attribute", attributes))
            if attributes
            else study.rater(rater)
        )
        state = [word for word in ("blocked", "excluded", "erased") if getattr(found, word)]
        say(f"{rater}: {json.dumps(found.attributes, ensure_ascii=False)}{' ' * bool(state)}{', '.join(state)}")


def erase(
    name: Name,
    rater: RaterName,
    yes: Annotated[bool, typer.Option("--yes", help="Erase without asking; this cannot be undone.")] = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """Replace a rater's name with a pseudonym, and delete their reasons and attributes; the votes stay."""
    with report_errors():
        if not yes:
            raise InvalidInput(f"Erasing {rater!r} cannot be undone.", "Repeat with --yes.")
        erased = load_study(name, storage).erase_rater(rater)
        if erased.pseudonym is None:
            say(f"study {name!r} has no rater {rater!r}")
        else:
            say(
                f"{rater!r} is now {erased.pseudonym!r}, with {format_count(erased.votes, 'vote')}; "
                "earlier archives and exports still contain the name"
            )


def gold(
    name: Name,
    pair: Annotated[
        list[str] | None, typer.Argument(help="FIRST SECOND OUTCOME to add a gold pair; omit them to list all.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the gold pair FIRST SECOND.")] = False,
    storage: StorageUrl = STORAGE,
) -> None:
    """List, add or remove gold pairs: pairs with a known outcome, which check whether raters pay attention."""
    with report_errors():
        study = load_study(name, storage)
        given = pair or []
        if len(given) not in ((2,) if remove else (0, 3)):
            raise InvalidInput(
                f"The gold pair is {' '.join(given)!r}.", "Give FIRST SECOND OUTCOME, or --remove and FIRST SECOND."
            )
        if remove:
            study.remove_gold(*given)
        elif given:
            study.add_gold(*given)
        gold_pairs = study.gold()
        names = labels_of(study.arms()) if gold_pairs else {}
        for each in gold_pairs:
            say(f"{names[each.first]} against {names[each.second]}: {each.outcome}")
