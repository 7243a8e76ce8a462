"""What can be read of a study over HTTP, each made by one function of the study; runs in the back office.

Every reading takes the study and what was given in the query, and returns what JSON can hold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from duelist.core.errors import DisconnectedArms
from duelist.study import Study
from duelist.study.serialization import plain

Given = dict[str, Any]
Reading = Callable[[Study, Given], Any]

SCOPE: Final = ("context", "criterion", "without", "everyone", "retired")
_HISTORY_TOP: Final = 8


def make_reading(study: Study, name: str, given: Given) -> Any:
    """The reading of that name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedArms)  # it stands in the reading's note
        return READINGS[name](study, given)


def _leaderboard(study: Study, given: Given) -> Any:
    return plain(study.leaderboard(**given))


def _can_stop(study: Study, given: Given) -> Any:
    found = study.can_stop(**given)
    return {**plain(found), "statement": str(found), "reason": found.statement}


def _recommend(study: Study, given: Given) -> Any:
    found = study.recommend(**given)
    return {**plain(found), "decided": found.decided, "statement": str(found)}


def _progress(study: Study, given: Given) -> Any:
    found = study.progress(**given)
    return {**plain(found), "done": found.done, "statement": str(found)}


def _win_matrix(study: Study, given: Given) -> Any:
    given, top = _without_top(given)
    found = study.win_matrix(**given)
    place = {arm: k for k, arm in enumerate(found.arms)}
    ranked = [row.arm for row in study.leaderboard(**given).standings if row.arm in place][:top]
    order = np.array([place[arm] for arm in ranked], np.int64)
    wins, ties, both_bad = (table[np.ix_(order, order)] for table in (found.wins, found.ties, found.both_bad))
    one, other = np.nonzero(np.triu(wins + wins.T + ties + both_bad, 1))
    cells = np.column_stack([one, other, wins[one, other], wins[other, one], ties[one, other], both_bad[one, other]])
    return {"arms": ranked, "cells": cells.astype(np.int64).tolist(), "n_arms": len(found.arms)}


def _win_chances(study: Study, given: Given) -> Any:
    given, top = _without_top(given)
    found = study.win_chances(**given)
    place = {arm: k for k, arm in enumerate(found.arms)}
    ranked = [row.arm for row in study.leaderboard(**given).standings][:top]
    order = np.array([place[arm] for arm in ranked], np.int64)
    both = np.ix_(order, order)
    return {"arms": ranked, "win": plain(found.win[both]), "tie": plain(found.tie[both]), "n_arms": len(found.arms)}


def _history(study: Study, given: Given) -> Any:
    given, top = _without_top(given)
    found = study.history(**given)
    chance = np.asarray(found.chance_best)
    last = chance[-1] if len(chance) else np.zeros(len(found.arms))
    order = np.argsort(-last, kind="stable")[: _HISTORY_TOP if top is None else top]
    others = np.delete(chance, order, axis=1).sum(axis=1) if len(chance) else np.zeros(0)
    series = [{"arm": found.arms[k], "chance": plain(chance[:, k]) if len(chance) else []} for k in order.tolist()]
    return {"votes": plain(found.votes), "series": series, "others": plain(others), "n_arms": len(found.arms)}


def _calibration(study: Study, given: Given) -> Any:
    return plain(study.calibration(**given))


def _regret(study: Study, given: Given) -> Any:
    return plain(study.regret(**given))


def _raters(study: Study, given: Given) -> Any:
    found = plain(study.raters(**given))
    said = {rater.name: rater for rater in study.rater_records()}
    for row in found["rows"]:
        rater = said.pop(row["rater"], None)
        row["blocked"] = rater is not None and rater.blocked
        row["erased"] = rater is not None and rater.erased
        row["attributes"] = {} if rater is None else rater.attributes
    found["others"] = [plain(rater) for rater in said.values()]
    return found


def _queue(study: Study, given: Given) -> Any:
    found = study.queue()
    return {
        "pending": [_queued_duel(duel) for duel in found.out],
        "expired": [_queued_duel(duel) for duel in found.over],
        "returned": found.returned,
        "late": found.late,
    }


def _queued_duel(duel: Any) -> dict[str, Any]:
    kept = {
        name: plain(getattr(duel, name)) for name in ("rater", "context", "kind", "chosen_by", "asked_at", "deadline")
    }
    return {"duel": duel.id, "first": duel.first.id, "second": duel.second.id, **kept}


def _log(study: Study, given: Given) -> Any:
    page = study.log(**given)
    return plain(page)


def _explanation(study: Study, given: Given) -> Any:
    found = study.explain(given["duel"])
    return {**plain(found), "statement": str(found).splitlines()[0]}


def _arms(study: Study, given: Given) -> Any:
    after, limit, search = given.get("after"), given.get("limit", 100), given.get("search")
    every = study.arms(given.get("context"))
    wanted = [arm for arm in every if (after is None or arm.number > after) and _matches(arm, search)]
    page = wanted[:limit]
    return {
        "arms": [plain(arm) for arm in page],
        "next": page[-1].number if len(wanted) > limit else None,
        "total": len(every),
        "show_as": study.settings.show_as,
    }


def _matches(arm: Any, search: str | None) -> bool:
    if not search:
        return True
    word = search.casefold()
    return word in arm.id.casefold() or (isinstance(arm.payload, str) and word in arm.payload.casefold())


def _contexts(study: Study, given: Given) -> Any:
    return {"contexts": [{"name": name, "prompt": study.context_payload(name)} for name in study.contexts()]}


def _gold(study: Study, given: Given) -> Any:
    return {"gold": plain(study.gold())}


def _rater(study: Study, given: Given) -> Any:
    return plain(study.rater(given["rater"]))


READINGS: Final[dict[str, Reading]] = {
    "leaderboard": _leaderboard,
    "can-stop": _can_stop,
    "recommend": _recommend,
    "progress": _progress,
    "win-matrix": _win_matrix,
    "win-chances": _win_chances,
    "history": _history,
    "calibration": _calibration,
    "regret": _regret,
    "raters": _raters,
    "queue": _queue,
    "log": _log,
    "explanation": _explanation,
    "arms": _arms,
    "contexts": _contexts,
    "gold": _gold,
    "rater": _rater,
}

BY_THE_CLOCK: Final = ("queue",)
"""StudyAnalysis that change though nobody has done anything: a lease runs out."""


def _without_top(given: Given) -> tuple[Given, int | None]:
    return {name: value for name, value in given.items() if name != "top"}, given.get("top")
