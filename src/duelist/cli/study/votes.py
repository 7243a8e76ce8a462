"""`duelist study` for votes: ask for pairs, record votes and undo them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duelist.cli.console import report_errors, say
from duelist.cli.defaults import OUTCOMES, SOURCE, SOURCES, STORAGE
from duelist.cli.study.options import AsJson, Context, Criterion, Name, Pair, Rater, StorageUrl, labels_of, load_study

if TYPE_CHECKING:
    from duelist.study import Arm, StudyDuel


def ask(
    name: Name,
    rater: Rater,
    storage: StorageUrl = STORAGE,
    context: Context = None,
    as_json: AsJson = False,
) -> None:
    """Get a rater's next pair: the same one until they vote on it."""
    with report_errors():
        duel = load_study(name, storage).ask(rater, context=context)
        say(json.dumps(_to_json(duel)) if as_json else _to_text(duel))


def tell(
    name: Name,
    pair: Pair,
    outcome: Annotated[str, typer.Argument(help=f"One of {OUTCOMES}.", show_default=False)],
    rater: Rater,
    storage: StorageUrl = STORAGE,
    revise: Annotated[bool, typer.Option("--revise", help="Replace this rater's earlier vote.")] = False,
    source: Annotated[str, typer.Option(help=f"Source of the vote: {SOURCES}.")] = SOURCE,
    reason: Annotated[str | None, typer.Option(help="The rater's reason.")] = None,
    criterion: Criterion = None,
) -> None:
    """Record a rater's vote. Repeating the same vote changes nothing."""
    with report_errors():
        study = load_study(name, storage)
        vote = study.tell(pair, outcome, rater=rater, revise=revise, source=source, reason=reason, criterion=criterion)
        late = ", after its deadline" if vote.late else ""
        names = labels_of(study.arms())
        say(
            f"vote {vote.sequence} on pair {vote.duel_id} ({names[vote.first]} against {names[vote.second]}): {vote.outcome}{late}"
        )


def undo(
    name: Name,
    pair: Pair,
    rater: Rater,
    storage: StorageUrl = STORAGE,
    criterion: Criterion = None,
) -> None:
    """Undo a rater's vote."""
    with report_errors():
        vote = load_study(name, storage).undo(pair, rater=rater, criterion=criterion)
        say(f"vote {vote.revises} on pair {vote.duel_id} is undone; {rater} can vote again")


def explain(name: Name, pair: Pair, storage: StorageUrl = STORAGE) -> None:
    """Explain why a pair was chosen, and how the policy rates the alternatives."""
    with report_errors():
        say(load_study(name, storage).explain(pair, labels=True))


def _to_json(duel: StudyDuel) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(duel), default=str))


def _to_text(duel: StudyDuel) -> str:
    where = f" in {duel.context}" if duel.context else ""
    prompt = "" if duel.prompt is None else f"\n  prompt:{_payload(duel.prompt)}"
    sides = "\n".join(
        f"  {side}: {_name(arm)}{_payload(arm.payload)}"
        for side, arm in (("first", duel.first), ("second", duel.second))
    )
    return f"pair {duel.id}{where}, until {duel.deadline:%Y-%m-%d %H:%M:%S} UTC{prompt}\n{sides}"


def _payload(payload: Any) -> str:
    if payload is None:
        return ""
    return f"\n    {payload if isinstance(payload, str) else json.dumps(payload)}"


def _name(arm: Arm) -> str:
    """Return what names an item to a rater: never the system whose answer it is."""
    return arm.id if arm.system is None or arm.payload is None else ""
