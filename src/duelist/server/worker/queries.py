"""Queries of a study, which the background worker runs; each returns plain JSON values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from duelist.core.errors import DisconnectedArms, InvalidInput
from duelist.core.serialization import to_plain
from duelist.study import Rater, Study
from duelist.study.items.labels import label_of, picture_of

Arguments = dict[str, Any]
Query = Callable[[Study, Arguments], Any]

RATER_FIELDS: Final = ("blocked", "erased", "attributes", "ending", "excluded_by")
"""What pages show of a rater beside the statistics."""
_HISTORY_TOP: Final = 8
_MAX_PAIRED: Final = 1000
"""Items of a table with a cell for every two; the JSON of 4,000 took two minutes."""
_MAX_LABELS: Final = 20_000
"""Arms with labels on pages; more would take megabytes."""


def run_query(study: Study, name: str, arguments: Arguments) -> Any:
    """Run a query by its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedArms)  # the note of the result has it
        return QUERIES[name](study, arguments)


def _leaderboard(study: Study, arguments: Arguments) -> Any:
    return to_plain(study.leaderboard(**arguments))


def _leaderboard_by_category(study: Study, arguments: Arguments) -> Any:
    return to_plain(study.leaderboard_by_category(**arguments))


def _can_stop(study: Study, arguments: Arguments) -> Any:
    found = study.can_stop(**arguments)
    return {**to_plain(found), "statement": str(found), "reason": found.statement}


def _recommend(study: Study, arguments: Arguments) -> Any:
    found = study.recommend(**arguments)
    return {**to_plain(found), "decided": found.decided, "statement": str(found)}


def _progress(study: Study, arguments: Arguments) -> Any:
    found = study.progress(**arguments)
    return {**to_plain(found), "done": found.done, "statement": str(found)}


def _win_matrix(study: Study, arguments: Arguments) -> Any:
    arguments, top = _without_top(arguments)
    found = study.win_matrix(**arguments)
    place = {arm: k for k, arm in enumerate(found.arms)}
    ranked = [row.arm for row in study.leaderboard(**arguments).standings if row.arm in place][:top]
    order = np.array([place[arm] for arm in ranked], np.int64)
    wins, ties, both_bad = (table[np.ix_(order, order)] for table in (found.wins, found.ties, found.both_bad))
    one, other = np.nonzero(np.triu(wins + wins.T + ties + both_bad, 1))
    cells = np.column_stack([one, other, wins[one, other], wins[other, one], ties[one, other], both_bad[one, other]])
    return {"arms": ranked, "cells": cells.astype(np.int64).tolist(), "n_arms": len(found.arms)}


def _win_chances(study: Study, arguments: Arguments) -> Any:
    arguments, top = _without_top(arguments)
    ranked = [row.arm for row in study.leaderboard(**arguments).standings][:top]
    if len(ranked) > _MAX_PAIRED:
        cells = len(ranked) ** 2
        raise InvalidInput(
            f"A table of {len(ranked)} items would have {cells:,} cells.",
            f"Ask for at most {_MAX_PAIRED} with `top`, or choose one context.",
            field="top",
        )
    found = study.win_chances(**arguments)
    place = {arm: k for k, arm in enumerate(found.arms)}
    order = np.array([place[arm] for arm in ranked], np.int64)
    both = np.ix_(order, order)
    return {
        "arms": ranked,
        "win": to_plain(found.win[both]),
        "tie": to_plain(found.tie[both]),
        "n_arms": len(found.arms),
    }


def _history(study: Study, arguments: Arguments) -> Any:
    arguments, top = _without_top(arguments)
    found = study.history(**arguments)
    chance = np.asarray(found.chance_best)
    last = chance[-1] if len(chance) else np.zeros(len(found.arms))
    order = np.argsort(-last, kind="stable")[: _HISTORY_TOP if top is None else top]
    others = np.delete(chance, order, axis=1).sum(axis=1) if len(chance) else np.zeros(0)
    series = [{"arm": found.arms[k], "chance": to_plain(chance[:, k]) if len(chance) else []} for k in order.tolist()]
    return {"votes": to_plain(found.votes), "series": series, "others": to_plain(others), "n_arms": len(found.arms)}


def _calibration(study: Study, arguments: Arguments) -> Any:
    return to_plain(study.calibration(**arguments))


def _goodness_of_fit(study: Study, arguments: Arguments) -> Any:
    return to_plain(study.goodness_of_fit(**arguments))


def _regret(study: Study, arguments: Arguments) -> Any:
    return to_plain(study.regret(**arguments))


def _raters(study: Study, arguments: Arguments) -> Any:
    rest = {name: value for name, value in arguments.items() if name != "personal"}
    found = to_plain(study.raters(**rest))
    is_personal = arguments["personal"]
    records = {each.name: _shown(each, is_personal) for each in study.rater_records() if is_personal or each.blocked}
    for row in found["rows"]:
        rater = records.pop(row["rater"], Rater(row["rater"]))
        row |= {name: to_plain(getattr(rater, name)) for name in RATER_FIELDS}
    found["others"] = [to_plain(rater) for rater in records.values()]
    return found


def _shown(rater: Rater, is_personal: bool) -> Rater:
    """Return a rater's record as admins see it, or as readers do, who learn nothing about the person."""
    return rater if is_personal else Rater(rater.name, {}, rater.blocked, rater.excluded, rater.erased)


def _queue(study: Study, arguments: Arguments) -> Any:
    found = study.queue()
    return {
        "pending": [_queued_duel(duel) for duel in found.pending],
        "expired": [_queued_duel(duel) for duel in found.expired],
        "returned": found.returned,
        "late": found.late,
    }


def _queued_duel(duel: Any) -> dict[str, Any]:
    rest = {
        name: to_plain(getattr(duel, name))
        for name in ("rater", "context", "kind", "chosen_by", "asked_at", "deadline")
    }
    return {"duel": duel.id, "first": duel.first.id, "second": duel.second.id, **rest}


def _log(study: Study, arguments: Arguments) -> Any:
    page = study.log(**arguments)
    return to_plain(page)


def _explanation(study: Study, arguments: Arguments) -> Any:
    found = study.explain(**arguments)
    return {**to_plain(found), "statement": str(found).splitlines()[0]}


def _arms(study: Study, arguments: Arguments) -> Any:
    after, limit, search = arguments.get("after"), arguments.get("limit", 100), arguments.get("search")
    every = study.arms(arguments.get("context"))
    matching = [arm for arm in every if (after is None or arm.number > after) and _matches(arm, search)]
    page = matching[:limit]
    return {
        "arms": [to_plain(arm) for arm in page],
        "next": page[-1].number if len(matching) > limit else None,
        "total": len(every),
        "show_as": study.settings.show_as,
    }


def _labels(study: Study, arguments: Arguments) -> Any:
    """Return the label of each arm, and the picture that it shows."""
    named = study.arms()[:_MAX_LABELS]
    return {"labels": {arm.id: [label_of(arm), picture_of(arm.payload)] for arm in named}}


def _matches(arm: Any, search: str | None) -> bool:
    if not search:
        return True
    word = search.casefold()
    return word in arm.id.casefold() or (isinstance(arm.payload, str) and word in arm.payload.casefold())


def _contexts(study: Study, arguments: Arguments) -> Any:
    arms = study.arms()
    return {
        "contexts": [{"name": name, "prompt": study.context_payload(name)} for name in study.contexts()],
        "systems": study.systems(),
        "categories": list(dict.fromkeys(arm.category for arm in arms if arm.category is not None)),
    }


def _gold(study: Study, arguments: Arguments) -> Any:
    return {"gold": to_plain(study.gold())}


def _rater(study: Study, arguments: Arguments) -> Any:
    return to_plain(study.rater(arguments["rater"]))


QUERIES: Final[dict[str, Query]] = {
    "leaderboard": _leaderboard,
    "leaderboard-by-category": _leaderboard_by_category,
    "can-stop": _can_stop,
    "recommend": _recommend,
    "progress": _progress,
    "win-matrix": _win_matrix,
    "win-chances": _win_chances,
    "history": _history,
    "calibration": _calibration,
    "goodness-of-fit": _goodness_of_fit,
    "regret": _regret,
    "raters": _raters,
    "queue": _queue,
    "log": _log,
    "explanation": _explanation,
    "arms": _arms,
    "labels": _labels,
    "contexts": _contexts,
    "gold": _gold,
    "rater": _rater,
}

UNCACHED: Final = ("queue",)
"""Queries whose result changes with time: leases expire."""


def _without_top(arguments: Arguments) -> tuple[Arguments, int | None]:
    return {name: value for name, value in arguments.items() if name != "top"}, arguments.get("top")
