"""A study on a server, with the methods of a local study.

    study = load_study("captions", storage="https://rate.example.org", token="duelist_...")
    duel = study.ask(rater="ana")
    study.tell(duel, "first", rater="ana")
    study.leaderboard()

With a rater's token, `rater` may be left out, and duels have the payloads of arms but not their ids.
"""

# ruff: noqa: D102 - `Study` documents the methods

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Never, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats
from duelist.core.errors import InvalidInput, NotOnRemoteStudy
from duelist.core.serialization import from_plain
from duelist.model.scorer import Scorer
from duelist.policies import Policy
from duelist.study import analysis
from duelist.study.administration.lifecycle import UNCHANGED, changed_limits
from duelist.study.administration.raters import Erasure
from duelist.study.analysis.goal_stopping import CanStop
from duelist.study.analysis.plots.study_plots import StudyPlots
from duelist.study.analysis.stopping import StudyRecommendation
from duelist.study.asking.explain import Explanation
from duelist.study.formats import ExportReport, default_format
from duelist.study.imports import ItemPlan, VotePlan
from duelist.study.imports.apply import ItemImportReport
from duelist.study.imports.votes.plan import VoteImportReport
from duelist.study.log import LogPage, Queue, RaterProgress, StudyRevision
from duelist.study.records import (
    Arm,
    DuelKind,
    GoldPair,
    Outcome,
    Rater,
    Source,
    StudyDuel,
    StudySettings,
    StudyState,
    Vote,
)
from duelist.study.remote.http_client import HttpClient, as_json
from duelist.study.storage import MediaRow
from duelist.study.validation import checked_duel_id, checked_outcome

_PAGE: Final = 1000
_ALL: Final = 100_000
Result = TypeVar("Result")


class RemoteStudy(StudyPlots):
    """A study on a server, see `load_study`; every call is one request, which may be repeated."""

    def __init__(self, client: HttpClient, study_id: int) -> None:
        self._client = client
        self._root = f"/studies/{study_id}"
        self._id = study_id

    def __repr__(self) -> str:
        return f"RemoteStudy({self._client.address!r}, id={self._id})"

    def __len__(self) -> int:
        """Return the number of rows of the log."""
        return int(self._summary()["votes"])

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the study -----------------------------------------------------------------------

    @property
    def id(self) -> int:
        return self._id

    @property
    def name(self) -> str:
        return str(self._summary()["name"])

    @property
    def settings(self) -> StudySettings:
        return from_plain(StudySettings, self._summary()["settings"])

    @property
    def state(self) -> StudyState:
        return StudyState(self._summary()["state"])

    def open(self) -> None:
        self._patch(state=StudyState.OPEN)

    def pause(self) -> None:
        self._patch(state=StudyState.PAUSED)

    def end(self) -> None:
        self._patch(state=StudyState.ENDED)

    def archive(self) -> None:
        self._patch(state=StudyState.ARCHIVED)

    def rename(self, name: str) -> None:
        self._patch(name=name)

    def change(self, **settings: Any) -> StudySettings:
        return from_plain(StudySettings, self._patch(settings=as_json(settings))["settings"])

    def limit(
        self, total: int | None = UNCHANGED, per_pair: int | None = UNCHANGED, per_rater: int | None = UNCHANGED
    ) -> StudySettings:
        return self.change(**changed_limits(total, per_pair, per_rater))

    def revision(self) -> StudyRevision:
        self._not_available("revision")

    def policy(self) -> Policy:
        self._not_available("policy")

    def close(self) -> None:
        self._client.close()

    # -- arms ----------------------------------------------------------------------------

    def add_arms(
        self,
        ids: Sequence[str],
        features: ArrayLike | None = None,
        payloads: Sequence[Any] | None = None,
        contexts: Sequence[str | None] | str | None = None,
        context_payloads: Mapping[str, Any] | None = None,
        systems: Sequence[str | None] | None = None,
        categories: Sequence[str | None] | None = None,
    ) -> int:
        vectors = [None] * len(ids) if features is None else np.asarray(features, np.float64).tolist()
        groups = [contexts] * len(ids) if contexts is None or isinstance(contexts, str) else list(contexts)
        shown, of, kinds = (
            [None] * len(ids) if each is None else list(each) for each in (payloads, systems, categories)
        )
        columns = {"id": ids, "features": vectors, "payload": shown, "context": groups, "system": of, "category": kinds}
        if any(len(column) != len(ids) for column in columns.values()):
            raise InvalidInput(
                f"There are {len(ids)} ids, and not as many features, payloads, contexts, systems or categories.",
                "Give one for each.",
            )
        arms = [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]
        body = as_json({"arms": arms, "prompts": context_payloads})
        return int(self._post("/arms", body)["added"])

    def retire(self, ids: Sequence[str]) -> None:
        self._post("/arms/retire", {"ids": list(ids)})

    def activate(self, ids: Sequence[str]) -> None:
        self._post("/arms/activate", {"ids": list(ids)})

    def arms(self, context: str | None = None) -> list[Arm]:
        found: list[Arm] = []
        after: int | None = None
        while True:
            page = self._get("/arms", after=after, limit=_PAGE, context=context)
            found += [from_plain(Arm, arm) for arm in page["arms"]]
            after = page["next"]
            if after is None:
                return found

    def features(self, ids: Sequence[str] | None = None, version: int | None = None) -> Floats:
        self._not_available("features")

    def update_features(self, ids: Sequence[str], features: ArrayLike) -> None:
        self._not_available("update_features")

    def systems(self) -> list[str]:
        return list(dict.fromkeys(arm.system for arm in self.arms() if arm.system is not None))

    def contexts(self) -> list[str]:
        return [each["name"] for each in self._get("/contexts")["contexts"]]

    def context_payload(self, name: str) -> Any:
        found = self._get("/contexts")["contexts"]
        return next((each["prompt"] for each in found if each["name"] == name), None)

    def set_context(self, name: str, payload: Any) -> None:
        self._not_available("set_context")

    def add_media(self, files: list[tuple[str, str, bytes]]) -> list[str]:
        self._not_available("add_media")

    def media(self, key: str) -> MediaRow:
        body, kind = self._client.content(f"{self._root}/media/{key}")
        return MediaRow(key, key, kind, body)

    # -- ask and tell --------------------------------------------------------------------

    def ask(
        self,
        rater: str | None = None,
        candidates: Sequence[str] | None = None,
        context: str | None = None,
        in_progress: Sequence[StudyDuel | int] = (),
    ) -> StudyDuel:
        body = _without_none({"rater": rater, "candidates": candidates, "context": context})
        return _duel(self._post("/ask", {**body, "in_progress": [checked_duel_id(duel) for duel in in_progress]}))

    def tell(
        self,
        duel: StudyDuel | int,
        outcome: Outcome | str | float,
        rater: str | None = None,
        revise: bool = False,
        source: Source | str = Source.HUMAN,
        response_seconds: float | None = None,
        reason: str | None = None,
        criterion: str | None = None,
    ) -> Vote:
        outcomes = {"outcome": checked_outcome(outcome).value, "criterion": criterion}
        return self._tell(duel, outcomes, rater, revise, source, response_seconds, reason)[0]

    def tell_all(
        self,
        duel: StudyDuel | int,
        outcomes: Mapping[str, Outcome | str | float],
        rater: str | None = None,
        revise: bool = False,
        source: Source | str = Source.HUMAN,
        response_seconds: float | None = None,
        reason: str | None = None,
    ) -> list[Vote]:
        given = {"outcomes": {name: checked_outcome(outcome).value for name, outcome in outcomes.items()}}
        return self._tell(duel, given, rater, revise, source, response_seconds, reason)

    def _tell(
        self,
        duel: StudyDuel | int,
        outcomes: Mapping[str, Any],
        rater: str | None,
        revise: bool,
        source: Source | str,
        response_seconds: float | None,
        reason: str | None,
    ) -> list[Vote]:
        optional = {"rater": rater, "response_seconds": response_seconds, "reason": reason, **outcomes}
        body = {"duel": checked_duel_id(duel), "revise": revise, "source": str(source), **_without_none(optional)}
        return [_vote(vote) for vote in self._post("/votes", body)["votes"]]

    def undo(self, duel: StudyDuel | int, rater: str | None = None, criterion: str | None = None) -> Vote:
        body = {"duel": checked_duel_id(duel), **_without_none({"rater": rater, "criterion": criterion})}
        return _vote(self._post("/undo", body)["votes"][0])

    def release(self, duel: StudyDuel | int, rater: str | None = None) -> None:
        self._post("/release", {"duel": checked_duel_id(duel), **_without_none({"rater": rater})})

    # -- the log -------------------------------------------------------------------------

    def votes(self) -> list[Vote]:
        return list(self._backwards())[::-1]

    def _backwards(self) -> Iterator[Vote]:
        before: int | None = None
        while True:
            page = self.log(before, _PAGE)
            yield from page.votes
            before = page.next
            if before is None:
                return

    def log(
        self,
        before: int | None = None,
        limit: int = 100,
        *,
        rater: str | None = None,
        arm: str | None = None,
        outcome: Outcome | str | None = None,
        context: str | None = None,
        criterion: str | None = None,
        kind: DuelKind | str | None = None,
    ) -> LogPage:
        filters = {
            "rater": rater,
            "arm": arm,
            "outcome": outcome,
            "context": context,
            "criterion": criterion,
            "kind": kind,
        }
        found = self._get("/log", before=before, limit=limit, **filters)
        return LogPage([_vote(vote) for vote in found["votes"]], found["next"], found["total"])

    def pending(self) -> list[StudyDuel]:
        return self.queue().pending

    def queue(self) -> Queue:
        """Return pending and expired duels; their arms have ids only."""
        found = self._get("/queue")
        pending, expired = ([_listed_duel(duel) for duel in found[name]] for name in ("pending", "expired"))
        return Queue(pending, expired, found["returned"], found["late"])

    def explain(self, duel: StudyDuel | int) -> Explanation:
        return self._read(Explanation, f"/duels/{checked_duel_id(duel)}/explanation")

    # -- analyses ------------------------------------------------------------------------

    def leaderboard(
        self, context: str | None = None, *, top: int | None = None, **options: Any
    ) -> analysis.Leaderboard:
        return self._read(analysis.Leaderboard, "/leaderboard", context=context, top=top, **options)

    def recommend(self, context: str | None = None, delta: float = 0.05, **options: Any) -> StudyRecommendation:
        found = self._get("/recommend", context=context, delta=delta, **options)
        interval, given = found["interval"], found["tolerance_given"]
        return StudyRecommendation(
            best=found["best"],
            probability=found["probability"],
            interval=(interval[0], interval[1]),
            candidates=tuple(found["candidates"]),
            delta=found["delta"],
            identical=tuple(found["identical"]),
            tolerance=found["tolerance"],
            votes_expected=found["votes_expected"],
            advice=found["advice"],
            tied=tuple(found["tied"]),
            tolerance_given=given and (given[0], given[1]),
        )

    def progress(self, context: str | None = None, delta: float = 0.05, **options: Any) -> analysis.Progress:
        return self._read(analysis.Progress, "/progress", context=context, delta=delta, **options)

    def can_stop(self, context: str | None = None, **options: Any) -> CanStop:
        found = self._get("/can-stop", context=context, **options)
        return from_plain(CanStop, {**found, "statement": found["reason"]})

    def win_matrix(self, context: str | None = None, **options: Any) -> analysis.WinMatrix:
        """Return wins by pair, with arms in the order of their rank."""
        found = self._get("/win-matrix", context=context, **options)
        wins, ties, both_bad = (np.zeros((len(found["arms"]),) * 2, np.int64) for _ in range(3))
        for i, j, won, lost, tied, bad in found["cells"]:
            wins[i, j], wins[j, i] = won, lost
            ties[i, j] = ties[j, i] = tied
            both_bad[i, j] = both_bad[j, i] = bad
        return analysis.WinMatrix(tuple(found["arms"]), wins, ties, both_bad)

    def win_chances(self, context: str | None = None, **options: Any) -> analysis.WinChances:
        """Return win probabilities by pair, with arms in the order of their rank."""
        return self._read(analysis.WinChances, "/win-chances", context=context, **{"top": _ALL, **options})

    def history(self, context: str | None = None, **options: Any) -> analysis.History:
        """Return probabilities of being the best over time, with the best arm first."""
        found = self._get("/history", context=context, **{"top": _ALL, **options})
        chances = np.array([series["chance"] for series in found["series"]], np.float64)
        arms = tuple(series["arm"] for series in found["series"])
        return analysis.History(arms, np.array(found["votes"], np.int64), chances.T)

    def calibration(self, context: str | None = None, **options: Any) -> analysis.Calibration:
        return self._read(analysis.Calibration, "/calibration", context=context, **options)

    def raters(self, context: str | None = None, **options: Any) -> analysis.Raters:
        return self._read(analysis.Raters, "/raters", context=context, **options)

    def regret(self, context: str | None = None, **options: Any) -> analysis.RegretEstimate:
        return self._read(analysis.RegretEstimate, "/regret", context=context, **options)

    def scorer(self, context: str | None = None, **options: Any) -> Scorer:
        self._not_available("scorer")

    # -- raters --------------------------------------------------------------------------

    def rater(self, name: str) -> Rater:
        return next((rater for rater in self.rater_records() if rater.name == name), Rater(name))

    def rater_records(self) -> list[Rater]:
        found = self._get("/raters")
        rows = [{**row, "name": row["rater"]} for row in found["rows"]] + found["others"]
        raters = [from_plain(Rater, row) for row in rows]
        return sorted((rater for rater in raters if rater != Rater(rater.name)), key=lambda rater: rater.name)

    def has_rater(self, name: str) -> bool:
        self._not_available("has_rater")

    def rater_progress(self, rater: str | None = None) -> RaterProgress:
        found = self._get("/me", rater=rater)
        return RaterProgress(found["votes"], [(vote["duel_id"], Outcome(vote["outcome"])) for vote in found["recent"]])

    def block(self, rater: str, keep_votes: bool = False) -> Rater:
        return from_plain(Rater, self._post("/raters/block", {"rater": rater, "keep_votes": keep_votes}))

    def reinstate(self, rater: str) -> Rater:
        return from_plain(Rater, self._post("/raters/reinstate", {"rater": rater}))

    def describe_rater(self, name: str, /, **attributes: Any) -> Rater:
        body = {"rater": name, "attributes": as_json(attributes)}
        return from_plain(Rater, self._post("/raters/describe", body))

    def erase_rater(self, name: str) -> Erasure:
        return from_plain(Erasure, self._post("/raters/erase", {"rater": name, "confirm": name}))

    # -- gold pairs ----------------------------------------------------------------------

    def add_gold(self, first: str, second: str, outcome: Outcome | str | float) -> None:
        self._post("/gold", {"first": first, "second": second, "outcome": checked_outcome(outcome).value})

    def remove_gold(self, first: str, second: str) -> None:
        self._post("/gold/remove", {"first": first, "second": second})

    def gold(self) -> list[GoldPair]:
        return [from_plain(GoldPair, pair) for pair in self._get("/gold")["gold"]]

    # -- files ---------------------------------------------------------------------------

    def export(
        self,
        path: str | Path,
        format: str | None = None,  # noqa: A002
        **options: Any,
    ) -> ExportReport:
        name = default_format(path) if format is None else format
        params = {key: str(value).lower() if isinstance(value, bool) else value for key, value in options.items()}
        headers = self._client.download(f"{self._root}/export/{name}", Path(path), params=params)
        return from_plain(ExportReport, json.loads(headers["x-duelist-export-report"]))

    def add_votes(self, votes: Iterable[Vote]) -> int:
        self._not_available("add_votes")

    @overload
    def apply(self, plan: ItemPlan) -> ItemImportReport: ...

    @overload
    def apply(self, plan: VotePlan) -> VoteImportReport: ...

    def apply(self, plan: ItemPlan | VotePlan) -> ItemImportReport | VoteImportReport:
        self._not_available("apply")

    def import_votes(
        self,
        path: str | Path,
        format: str | None = None,  # noqa: A002
        *,
        skip_duplicates: bool = True,
        **options: Any,
    ) -> VoteImportReport:
        if options:
            self._not_available(f"import_votes({min(options)}=...)")
        source = Path(path)
        params = _without_none({"format": format, "filename": source.name, "skip_duplicates": skip_duplicates})
        found = self._client.call("POST", f"{self._root}/import", params=params, content=source.read_bytes())
        return from_plain(VoteImportReport, found)

    def save(self, path: str | Path) -> Path:
        self._client.download(f"{self._root}/archive", Path(path))
        return Path(path)

    # -- requests ------------------------------------------------------------------------

    def _not_available(self, what: str) -> Never:
        raise NotOnRemoteStudy(
            f"`{what}` is not available for a study on a server.",
            "Load the study from its storage, on the machine that runs the server.",
        )

    def _summary(self) -> Any:
        return self._client.call("GET", self._root)

    def _patch(self, **body: Any) -> Any:
        return self._client.call("PATCH", self._root, json=body)

    def _get(self, path: str, **params: Any) -> Any:
        return self._client.call("GET", self._root + path, params=_without_none(params))

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._client.call("POST", self._root + path, json=body)

    def _read(self, kind: type[Result], path: str, **params: Any) -> Result:
        return from_plain(kind, self._get(path, **params))


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _duel(body: dict[str, Any]) -> StudyDuel:
    """Return the duel of a response, where the prompt and the payloads are content to show."""
    sides = {side: _arm(body[side]) for side in ("first", "second")}
    prompt = body.get("prompt_payload", body["prompt"])
    rest = {name: value for name, value in body.items() if name not in (*sides, "prompt", "prompt_payload")}
    blank = {"number": 0, "id": ""}
    duel = from_plain(StudyDuel, {**rest, "first": blank, "second": blank})
    return StudyDuel(**{**{name: getattr(duel, name) for name in StudyDuel.__slots__}, **sides, "prompt": prompt})


def _arm(side: dict[str, Any]) -> Arm:
    """Return the arm of one side; raters receive only its content."""
    return from_plain(Arm, side) if "id" in side else Arm(0, "", side["content"])


def _listed_duel(body: dict[str, Any]) -> StudyDuel:
    """Return a duel of the queue, which has only the ids of its arms."""
    arms = {side: {"number": 0, "id": body[side]} for side in ("first", "second")}
    return from_plain(StudyDuel, {**body, **arms, "id": body["duel"]})


def _vote(body: dict[str, Any]) -> Vote:
    """Return the vote of a response; raters receive only some of its fields."""
    missing = {"rater": None, "voted_at": None, "first": "", "second": ""}
    return from_plain(Vote, {**missing, **body})
