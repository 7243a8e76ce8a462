"""A study on a server, with the verbs of a study in a file.

    study = load_study("captions", storage="https://rate.example.org", token="duelist_...")
    duel = study.ask(rater="ana")
    study.tell(duel, "first", rater="ana")
    study.leaderboard()

With a rater's token, `ask` and `tell` need no `rater`, and what is shown has no ids of arms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.errors import InvalidInput, UnknownStudy
from duelist.study import analysis
from duelist.study.administration import Erasure
from duelist.study.analysis.goal_stopping import CanStop
from duelist.study.analysis.stopping import StudyRecommendation
from duelist.study.asking.explain import Explanation
from duelist.study.formats import ExportReport, default_format
from duelist.study.imports import VoteImportReport
from duelist.study.log_queries import LogPage, Queue
from duelist.study.records import (
    Arm,
    GoldPair,
    Outcome,
    Rater,
    Source,
    StudyDuel,
    StudySettings,
    StudyState,
    Vote,
)
from duelist.study.remote.http_client import Wire, as_json
from duelist.study.serialization import from_plain
from duelist.study.validation import checked_number

_PAGE: Final = 1000
_AS_IT_IS: Final[Any] = object()
Read = TypeVar("Read")


def is_address(text: object) -> bool:
    """Whether this is the address of a server rather than a name or a database."""
    return isinstance(text, str) and text.startswith(("http://", "https://"))


def connect(address: str, name: str | None = None, token: str | None = None) -> RemoteStudy:
    """A study on a server: by its name; by its own address, `https://server/study/ID`; or the only one that the token is for."""
    parts = urlsplit(address)
    base, path = f"{parts.scheme}://{parts.netloc}", [part for part in parts.path.split("/") if part]
    wire = Wire(base, token)
    if name is None and path and path[-1].isdigit():
        return RemoteStudy(wire, int(path[-1]))
    try:
        return RemoteStudy(wire, _found(wire, address, name))
    except BaseException:
        wire.close()
        raise


def _found(wire: Wire, address: str, name: str | None) -> int:
    base = wire.address
    if name is None:
        own = wire.call("GET", "/session")["study"]
        if own is None:
            raise InvalidInput(
                f"{address!r} does not say which study.", f"Give its name, or its own address, {base}/study/ID."
            )
        return int(own)
    there = wire.call("GET", "/studies", params={"archived": True})["studies"]
    found = next((study["id"] for study in there if study["name"] == name), None)
    if found is None:
        names = ", ".join(repr(study["name"]) for study in there[:10]) or "none"
        raise UnknownStudy(f"There is no study {name!r} at {base}.", f"There are: {names}.")
    return int(found)


class RemoteStudy:
    """A study on a server; made by `load_study`. Every call is one request, and may be repeated."""

    def __init__(self, wire: Wire, study_id: int) -> None:
        self._wire = wire
        self._root = f"/studies/{study_id}"
        self.id = study_id

    def __repr__(self) -> str:
        return f"RemoteStudy({self._wire.address!r}, id={self.id})"

    def __len__(self) -> int:
        """Rows in the log."""
        return int(self._summary()["votes"])

    def __bool__(self) -> bool:
        return True

    # -- the study -----------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._summary()["name"])

    @property
    def settings(self) -> StudySettings:
        """Its settings."""
        return from_plain(StudySettings, self._summary()["settings"])

    @property
    def state(self) -> StudyState:
        """Open, paused, closed or archived."""
        return StudyState(self._summary()["state"])

    def open(self) -> None:
        """Ask and take votes again, as `Study.open`."""
        self._patch(state="open")

    def pause(self) -> None:
        """Ask nothing new, as `Study.pause`."""
        self._patch(state="paused")

    def end(self) -> None:
        """Ask nothing and take no more votes, as `Study.end`."""
        self._patch(state="ended")

    def archive(self) -> None:
        """Keep the study for reading only, as `Study.archive`."""
        self._patch(state="archived")

    def rename(self, name: str) -> None:
        """Another name, as `Study.rename`."""
        self._patch(name=name)

    def change(self, **settings: Any) -> StudySettings:
        """Change settings, as `Study.change`."""
        return from_plain(StudySettings, self._patch(settings=as_json(settings))["settings"])

    def limit(
        self, total: int | None = _AS_IT_IS, per_pair: int | None = _AS_IT_IS, per_rater: int | None = _AS_IT_IS
    ) -> StudySettings:
        """How many votes are wanted, as `Study.limit`."""
        given = {"max_votes": total, "max_votes_per_pair": per_pair, "max_votes_per_rater": per_rater}
        return self.change(**{name: value for name, value in given.items() if value is not _AS_IT_IS})

    # -- arms ----------------------------------------------------------------------------

    def add_arms(
        self,
        ids: Sequence[str],
        features: ArrayLike | None = None,
        payloads: Sequence[Any] | None = None,
        contexts: Sequence[str | None] | str | None = None,
        context_payloads: Mapping[str, Any] | None = None,
    ) -> int:
        """Add arms, as `Study.add_arms`; how many are new."""
        vectors = [None] * len(ids) if features is None else np.asarray(features, np.float64).tolist()
        groups = [contexts] * len(ids) if contexts is None or isinstance(contexts, str) else list(contexts)
        shown = [None] * len(ids) if payloads is None else list(payloads)
        if not len(ids) == len(vectors) == len(groups) == len(shown):
            raise InvalidInput(
                f"There are {len(ids)} ids, and not as many features, payloads or contexts.", "Give one for each."
            )
        arms = [
            {"id": arm, "features": vector, "payload": payload, "context": context}
            for arm, vector, payload, context in zip(ids, vectors, shown, groups, strict=True)
        ]
        body = as_json({"arms": arms, "prompts": context_payloads})
        return int(self._post("/arms", body)["added"])

    def retire(self, ids: Sequence[str]) -> None:
        """Take arms out of the game, as `Study.retire`."""
        self._post("/arms/retire", {"ids": list(ids)})

    def activate(self, ids: Sequence[str]) -> None:
        """Take retired arms back in, as `Study.activate`."""
        self._post("/arms/activate", {"ids": list(ids)})

    def arms(self, context: str | None = None) -> list[Arm]:
        """All arms in the order they were added, or those of a context."""
        found: list[Arm] = []
        after: int | None = None
        while True:
            page = self._get("/arms", after=after, limit=_PAGE, context=context)
            found += [from_plain(Arm, arm) for arm in page["arms"]]
            after = page["next"]
            if after is None:
                return found

    def contexts(self) -> list[str]:
        """The contexts that have arms in the game."""
        return [each["name"] for each in self._get("/contexts")["contexts"]]

    # -- ask and tell --------------------------------------------------------------------

    def ask(
        self,
        rater: str | None = None,
        candidates: Sequence[str] | None = None,
        context: str | None = None,
        in_progress: Sequence[StudyDuel | int] = (),
    ) -> StudyDuel:
        """A duel for this rater, as `Study.ask`."""
        given = {"rater": rater, "candidates": candidates, "context": context}
        held = [checked_number(duel) for duel in in_progress]
        return _duel(self._post("/ask", {**_said(given), "in_progress": held}))

    def tell(
        self,
        duel: StudyDuel | int,
        outcome: Outcome | str,
        rater: str | None = None,
        revise: bool = False,
        source: Source | str = Source.HUMAN,
        response_seconds: float | None = None,
        reason: str | None = None,
        criterion: str | None = None,
    ) -> Vote:
        """A rater's answer, as `Study.tell`."""
        given = {"outcome": str(outcome), "criterion": criterion}
        return self._tell(duel, given, rater, revise, source, response_seconds, reason)[0]

    def tell_all(
        self,
        duel: StudyDuel | int,
        outcomes: Mapping[str, Outcome | str],
        rater: str | None = None,
        revise: bool = False,
        source: Source | str = Source.HUMAN,
        response_seconds: float | None = None,
        reason: str | None = None,
    ) -> list[Vote]:
        """A rater's answers by several criteria, as `Study.tell_all`."""
        given = {"outcomes": {name: str(outcome) for name, outcome in outcomes.items()}}
        return self._tell(duel, given, rater, revise, source, response_seconds, reason)

    def _tell(
        self,
        duel: StudyDuel | int,
        given: Mapping[str, Any],
        rater: str | None,
        revise: bool,
        source: Source | str,
        response_seconds: float | None,
        reason: str | None,
    ) -> list[Vote]:
        more = {"rater": rater, "response_seconds": response_seconds, "reason": reason, **given}
        body = {"duel": checked_number(duel), "revise": revise, "source": str(source), **_said(more)}
        return [_vote(vote) for vote in self._post("/votes", body)["votes"]]

    def undo(self, duel: StudyDuel | int, rater: str | None = None, criterion: str | None = None) -> Vote:
        """Take back a rater's vote, as `Study.undo`."""
        body = {"duel": checked_number(duel), **_said({"rater": rater, "criterion": criterion})}
        return _vote(self._post("/undo", body)["votes"][0])

    def release(self, duel: StudyDuel | int, rater: str | None = None) -> None:
        """Give a duel back without an answer, as `Study.release`."""
        self._post("/release", {"duel": checked_number(duel), **_said({"rater": rater})})

    # -- readings ------------------------------------------------------------------------

    def leaderboard(
        self, context: str | None = None, *, top: int | None = None, **options: Any
    ) -> analysis.Leaderboard:
        """Arms by utility, as `Study.leaderboard`."""
        return self._read(analysis.Leaderboard, "/leaderboard", context=context, top=top, **options)

    def recommend(self, context: str | None = None, delta: float = 0.05, **options: Any) -> StudyRecommendation:
        """The arm to name now, as `Study.recommend`."""
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
        """How near the study is to knowing its best arm, as `Study.progress`."""
        return self._read(analysis.Progress, "/progress", context=context, delta=delta, **options)

    def can_stop(self, context: str | None = None, **options: Any) -> CanStop:
        """Whether there are votes enough, as `Study.can_stop`."""
        found = self._get("/can-stop", context=context, **options)
        return from_plain(CanStop, {**found, "statement": found["reason"]})

    def win_matrix(self, context: str | None = None, **options: Any) -> analysis.WinMatrix:
        """Who won against whom, as `Study.win_matrix`; arms in the order of their rank."""
        found = self._get("/win-matrix", context=context, **options)
        wins, ties, both_bad = (np.zeros((len(found["arms"]),) * 2, np.int64) for _ in range(3))
        for i, j, won, lost, tied, bad in found["cells"]:
            wins[i, j], wins[j, i] = won, lost
            ties[i, j] = ties[j, i] = tied
            both_bad[i, j] = both_bad[j, i] = bad
        return analysis.WinMatrix(tuple(found["arms"]), wins, ties, both_bad)

    def win_chances(self, context: str | None = None, **options: Any) -> analysis.WinChances:
        """Who would win against whom, as `Study.win_chances`; arms in the order of their rank."""
        return self._read(analysis.WinChances, "/win-chances", context=context, **{"top": 100_000, **options})

    def history(self, context: str | None = None, **options: Any) -> analysis.History:
        """The chance of being best, vote by vote, as `Study.history`; the best arm first."""
        found = self._get("/history", context=context, **{"top": 100_000, **options})
        chances = np.array([series["chance"] for series in found["series"]], np.float64)
        arms = tuple(series["arm"] for series in found["series"])
        return analysis.History(arms, np.array(found["votes"], np.int64), chances.T)

    def calibration(self, context: str | None = None, **options: Any) -> analysis.Calibration:
        """Predicted against observed, as `Study.calibration`."""
        return self._read(analysis.Calibration, "/calibration", context=context, **options)

    def raters(self, context: str | None = None, **options: Any) -> analysis.Raters:
        """Speed, side, agreement and outliers among raters, as `Study.raters`."""
        return self._read(analysis.Raters, "/raters", context=context, **options)

    def regret(self, context: str | None = None, **options: Any) -> analysis.RegretEstimate:
        """What the policy's choices cost, as `Study.regret`."""
        return self._read(analysis.RegretEstimate, "/regret", context=context, **options)

    def explain(self, duel: StudyDuel | int) -> Explanation:
        """Why this pair, as `Study.why`."""
        return self._read(Explanation, f"/duels/{checked_number(duel)}/explanation")

    def votes(self) -> list[Vote]:
        """The log, every row of it."""
        return list(self._log())[::-1]

    def _log(self) -> Iterator[Vote]:
        before: int | None = None
        while True:
            page = self.log(before, _PAGE)
            yield from page.votes
            before = page.next
            if before is None:
                return

    def log(self, before: int | None = None, limit: int = 100, **wanted: Any) -> LogPage:
        """A page of the log, newest first, as `Study.log`."""
        found = self._get("/log", before=before, limit=limit, **wanted)
        return LogPage([_vote(vote) for vote in found["votes"]], found["next"], found["total"])

    def pending(self) -> list[StudyDuel]:
        """The duels that are out, as `Study.pending`."""
        return self.queue().out

    def queue(self) -> Queue:
        """What is out and what came back, as `Study.queue`; arms have nothing but their ids."""
        found = self._get("/queue")
        return Queue(
            [_out(d) for d in found["pending"]], [_out(d) for d in found["expired"]], found["returned"], found["late"]
        )

    # -- owners --------------------------------------------------------------------------

    def block(self, rater: str, keep_votes: bool = False) -> Rater:
        """Ask a rater no more, as `Study.block`."""
        return from_plain(Rater, self._post("/raters/block", {"rater": rater, "keep_votes": keep_votes}))

    def reinstate(self, rater: str) -> Rater:
        """Ask a rater again, as `Study.unblock`."""
        return from_plain(Rater, self._post("/raters/reinstate", {"rater": rater}))

    def describe_rater(self, name: str, /, **attributes: Any) -> Rater:
        """Keep attributes of a rater, as `Study.describe_rater`."""
        body = {"rater": name, "attributes": as_json(attributes)}
        return from_plain(Rater, self._post("/raters/describe", body))

    def erase_rater(self, name: str) -> Erasure:
        """Forget who a rater is, as `Study.erase_rater`."""
        return from_plain(Erasure, self._post("/raters/erase", {"rater": name, "confirm": name}))

    def add_gold(self, first: str, second: str, outcome: Outcome | str) -> None:
        """A pair of arms whose answer is known, as `Study.add_gold`."""
        self._post("/gold", {"first": first, "second": second, "outcome": str(outcome)})

    def remove_gold(self, first: str, second: str) -> None:
        """Ask a gold pair no more, as `Study.remove_gold`."""
        self._post("/gold/remove", {"first": first, "second": second})

    def gold(self) -> list[GoldPair]:
        """The pairs whose answers are known."""
        return [from_plain(GoldPair, pair) for pair in self._get("/gold")["gold"]]

    # -- files ---------------------------------------------------------------------------

    def export(
        self,
        path: str | Path,
        format: str | None = None,  # noqa: A002
        **options: Any,
    ) -> ExportReport:
        """Write the votes into a file, as `Study.export`."""
        name = default_format(path) if format is None else format
        given = {key: str(value).lower() if isinstance(value, bool) else value for key, value in options.items()}
        headers = self._wire.save(f"{self._root}/export/{name}", Path(path), params=given)
        return from_plain(ExportReport, json.loads(headers["x-duelist-export-report"]))

    def import_votes(
        self,
        path: str | Path,
        format: str | None = None,  # noqa: A002
        *,
        skip_duplicates: bool = True,
    ) -> VoteImportReport:
        """Import the votes of a file, as `Study.import_votes`."""
        source = Path(path)
        params = {"format": format, "filename": source.name, "skip_duplicates": skip_duplicates}
        content = source.read_bytes()
        found = self._wire.call("POST", f"{self._root}/import", params=_said(params), content=content)
        return from_plain(VoteImportReport, found)

    def save(self, path: str | Path) -> Path:
        """Write everything there is of this study into one file, as `Study.save`."""
        self._wire.save(f"{self._root}/archive", Path(path))
        return Path(path)

    def close(self) -> None:
        """Give the connection back."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------

    def _summary(self) -> Any:
        return self._wire.call("GET", self._root)

    def _patch(self, **body: Any) -> Any:
        return self._wire.call("PATCH", self._root, json=body)

    def _get(self, path: str, **params: Any) -> Any:
        return self._wire.call("GET", self._root + path, params=_said(params))

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._wire.call("POST", self._root + path, json=body)

    def _read(self, kind: type[Read], path: str, **params: Any) -> Read:
        return from_plain(kind, self._get(path, **params))


def _said(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _duel(body: dict[str, Any]) -> StudyDuel:
    sides = {side: _arm(body[side]) for side in ("first", "second")}
    shown = body.get("prompt_payload", body["prompt"])
    rest = {name: value for name, value in body.items() if name not in (*sides, "prompt", "prompt_payload")}
    blank = {"number": 0, "id": ""}
    duel = from_plain(StudyDuel, {**rest, "first": blank, "second": blank})
    return StudyDuel(**{**{name: getattr(duel, name) for name in StudyDuel.__slots__}, **sides, "prompt": shown})


def _arm(side: dict[str, Any]) -> Arm:
    """An arm; a rater is not told its id, only what it shows."""
    return from_plain(Arm, side) if "id" in side else Arm(0, "", side["content"])


def _vote(body: dict[str, Any]) -> Vote:
    missing = {"rater": None, "voted_at": None, "first": "", "second": ""}
    return from_plain(Vote, {**missing, **body})


def _out(body: dict[str, Any]) -> StudyDuel:
    arms = {side: {"number": 0, "id": body[side]} for side in ("first", "second")}
    return from_plain(StudyDuel, {**body, **arms, "id": body["duel"]})
