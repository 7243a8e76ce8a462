"""A study on a server, with the methods of a local study.

    study = load_study("captions", storage="https://rate.example.org", token="duelist_...")
    duel = study.ask(rater="ana")
    study.tell(duel, "first", rater="ana")
    study.leaderboard()

With a rater's token, `rater` is optional, and duels have the payloads of arms but not their ids.
"""

# ruff: noqa: D102 - `Study` documents the methods

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from duelist.core.arrays import Floats
from duelist.core.docstrings import describe_like
from duelist.core.errors import InvalidInput
from duelist.core.serialization import from_plain
from duelist.core.tables import RecordList
from duelist.policies import Policy
from duelist.study.administration.lifecycle import UNCHANGED, changed_limits
from duelist.study.administration.raters import Erasure
from duelist.study.asking.explain import Explanation
from duelist.study.formats import ExportReport, check_suffix, default_format
from duelist.study.formats.files import suffix_of
from duelist.study.imports import ItemPlan, VotePlan
from duelist.study.imports.apply import ItemImportReport
from duelist.study.imports.votes.plan import VoteImportReport
from duelist.study.log import LogPage, Queue, RaterProgress, StudyRevision
from duelist.study.participation.entry import Admission, Departure
from duelist.study.participation.steps import Step
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
from duelist.study.remote.analysis import RemoteAnalysis
from duelist.study.remote.base import without_none
from duelist.study.remote.http_client import as_json
from duelist.study.remote.responses import duel_from, listed_duel_from, vote_from
from duelist.study.storage import MediaRow
from duelist.study.study import Study
from duelist.study.validation import checked_duel_id, checked_outcome

_PAGE: Final = 1000


class RemoteStudy(RemoteAnalysis):
    """A study on a server, see `load_study`; every call is one request, which may be repeated."""

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

    def arms(self, context: str | None = None) -> RecordList[Arm]:
        found: RecordList[Arm] = RecordList(Arm)
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
        body = without_none({"rater": rater, "candidates": candidates, "context": context})
        return duel_from(self._post("/ask", {**body, "in_progress": [checked_duel_id(duel) for duel in in_progress]}))

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

    def tell_batch(
        self,
        votes: Iterable[tuple[StudyDuel | int, Outcome | str | float, str]],
        revise: bool = False,
        source: Source | str = Source.HUMAN,
    ) -> list[Vote]:
        """Record many votes, one request after the other; after an error, give the same ones again."""
        return [self.tell(duel, outcome, rater, revise, source) for duel, outcome, rater in votes]

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
        body = {"duel": checked_duel_id(duel), "revise": revise, "source": str(source), **without_none(optional)}
        return [vote_from(vote) for vote in self._post("/votes", body)["votes"]]

    def undo(self, duel: StudyDuel | int, rater: str | None = None, criterion: str | None = None) -> Vote:
        body = {"duel": checked_duel_id(duel), **without_none({"rater": rater, "criterion": criterion})}
        return vote_from(self._post("/undo", body)["votes"][0])

    def release(self, duel: StudyDuel | int, rater: str | None = None) -> None:
        self._post("/release", {"duel": checked_duel_id(duel), **without_none({"rater": rater})})

    # -- the log -------------------------------------------------------------------------

    def votes(self) -> RecordList[Vote]:
        return RecordList(Vote, list(self._backwards())[::-1])

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
        return LogPage([vote_from(vote) for vote in found["votes"]], found["next"], found["total"])

    def pending(self) -> list[StudyDuel]:
        return self.queue().pending

    def queue(self) -> Queue:
        """Return pending and expired duels; their arms have ids only."""
        found = self._get("/queue")
        pending, expired = ([listed_duel_from(duel) for duel in found[name]] for name in ("pending", "expired"))
        return Queue(pending, expired, found["returned"], found["late"])

    def explain(self, duel: StudyDuel | int, labels: bool = False) -> Explanation:
        return self._read(Explanation, f"/duels/{checked_duel_id(duel)}/explanation", labels=labels)

    # -- raters --------------------------------------------------------------------------

    def rater(self, name: str) -> Rater:
        return next((rater for rater in self.rater_records() if rater.name == name), Rater(name))

    def rater_records(self) -> RecordList[Rater]:
        found = self._get("/raters")
        rows = [{**row, "name": row["rater"]} for row in found["rows"]] + found["others"]
        raters = [from_plain(Rater, row) for row in rows]
        described = (rater for rater in raters if rater != Rater(rater.name))
        return RecordList(Rater, sorted(described, key=lambda rater: rater.name))

    def has_rater(self, name: str) -> bool:
        self._not_available("has_rater")

    def rater_progress(self, rater: str | None = None) -> RaterProgress:
        found = self._get("/me", rater=rater)
        return RaterProgress(found["votes"], [(vote["duel_id"], Outcome(vote["outcome"])) for vote in found["recent"]])

    def block(self, rater: str, exclude_votes: bool = False) -> Rater:
        return from_plain(Rater, self._post("/raters/block", {"rater": rater, "exclude_votes": exclude_votes}))

    def reinstate(self, rater: str) -> Rater:
        return from_plain(Rater, self._post("/raters/reinstate", {"rater": rater}))

    def describe_rater(self, name: str, /, **attributes: Any) -> Rater:
        body = {"rater": name, "attributes": as_json(attributes)}
        return from_plain(Rater, self._post("/raters/describe", body))

    def erase_rater(self, name: str) -> Erasure:
        return from_plain(Erasure, self._post("/raters/erase", {"rater": name, "confirm": name}))

    def entry(self, parameters: Mapping[str, str] | None = None) -> Admission:
        self._not_available("entry")

    def enter(self, rater: str, parameters: Mapping[str, str] | None = None, invited: bool = False) -> None:
        self._not_available("enter")

    def departure(self, rater: str) -> Departure | None:
        self._not_available("departure")

    def next_step(self, rater: str) -> Step | None:
        self._not_available("next_step")

    def check_steps(self, rater: str) -> None:
        self._not_available("check_steps")

    def consent(self, rater: str, version: str, agrees: bool = True) -> None:
        self._not_available("consent")

    def answer(self, rater: str, answers: Mapping[str, Any]) -> None:
        self._not_available("answer")

    def finish_practice(self, rater: str) -> None:
        self._not_available("finish_practice")

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
        check_suffix(name, path)
        file = Path(path)
        if suffix_of(file):
            params["suffix"] = suffix_of(file) + (".gz" if file.suffix.lower() == ".gz" else "")
        headers = self._client.download(f"{self._root}/export/{name}", file, params=params)
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
        params = without_none({"format": format, "filename": source.name, "skip_duplicates": skip_duplicates})
        found = self._client.call("POST", f"{self._root}/import", params=params, content=source.read_bytes())
        return from_plain(VoteImportReport, found)

    def save(self, path: str | Path) -> Path:
        self._client.download(f"{self._root}/archive", Path(path))
        return Path(path)


describe_like(RemoteStudy, Study)
