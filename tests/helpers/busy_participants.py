"""Participants who go from a recruiting link to a completion code while servers are killed, and the owner who manages them."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx

from duelist.study import Rater, Study, create_study

THREADS: Final = 2
ARMS, VOTES, SUSPICIOUS = 8, 10, 5
"""Arms, votes per participant, and votes for one side after which a rule excludes them."""
PLACES, QUOTA = 12, 4
GRACE: Final = timedelta(seconds=1)
"""A write has the time at which the transaction began that it shares with others."""
KEPT: Final = 30
"""Participants who have left and whom the owner still manages."""
CODES: Final = {"completed": "DONE", "screened_out": "OUT", "timed_out": "LATE", "full": "FULL"}
KINDS: Final = ("careful", "careful", "one-sided", "one-sided", "drops out", "refuses", "not eligible")
_TURNED_AWAY: Final = (
    "limit_reached", "no_pairs_left", "nothing_to_ask", "participation_ended", "step_missing", "rater_blocked"
)  # fmt: skip


def flow(version: int, change: int) -> dict[str, Any]:
    option = {"name": "group", "text": "Which?", "kind": "choice", "options": ["a", "b", "c"]}
    return {
        "consent": {"text": "Do you agree?", "version": f"v{version}"},
        "questions": [
            {"name": "age", "text": "How old are you?", "kind": "number"},
            {**option, "accept": ["a", "b"], "quotas": {"b": QUOTA}},
        ],
        "practice": [{"first": "good", "second": "bad"}],
        "exclusion": {"one_side": 1.0, "after": SUSPICIOUS},
        "thanks": f"Thank you ({change}).",
    }


def recruiting(places: int) -> dict[str, Any]:
    endings = {kind: {"code": code} for kind, code in CODES.items()}
    return {"participant": "PROLIFIC_PID", "places": places, "idle_minutes": 0.1, **endings}


def make(url: str) -> Study:
    """A study with every part of the flow around the pairs."""
    settings = {"open_registration": True, "max_votes_per_rater": VOTES}
    study = create_study("people", url, **settings, flow=flow(0, 0), recruiting=recruiting(PLACES))
    study.add_arms([f"a{k}" for k in range(ARMS)])
    return study


@dataclass
class Person:
    """A participant as acknowledged requests left them."""

    name: str
    kind: str
    client: httpx.Client
    version: str | None = None
    consented: tuple[datetime, datetime] | None = None
    """Shortly before the first request that gave this consent, and after its acknowledgement."""
    answers: dict[str, Any] = field(default_factory=dict)
    practised: bool = False
    votes: int = 0
    ending: str | None = None
    blocked: bool = False
    excluded: bool = False
    rule: str | None = None
    was_reinstated: bool = False
    is_sure: bool = True
    """Whether all their requests were acknowledged, or rejected when they were first sent."""

    def check(self, found: Rater) -> None:
        """Compare with the record of the study."""
        assert found.consent_version == self.version, f"{self} has {found}"
        if self.consented is not None:
            assert found.consented_at is not None
            assert self.consented[0] <= found.consented_at <= self.consented[1], f"{self} consented at {found}"
        assert found.attributes == self.answers, f"{self} has {found}"
        assert found.parameters == {"PROLIFIC_PID": self.name, "STUDY_ID": "s"}, f"{self} has {found}"
        state = (found.blocked, found.excluded, found.excluded_by)
        assert state == (self.blocked, self.excluded, self.rule), f"{self} has {state}"
        may_be = (None, "timed_out") if self.ending in (None, "timed_out") else (self.ending,)
        assert found.ending in may_be, f"{self} has {found}"


class Participants:
    """Participants of one study, who enter, consent, answer, practise, vote and leave; and its owner."""

    def __init__(self, address: str, token: str, study: Study, seed: int) -> None:
        self.deeds: Counter[str] = Counter()
        self.acknowledged: list[tuple[int, int, str, str]] = []
        self.failures: list[str] = []
        self.done = threading.Event()
        self._base = f"{address}/api/v1/studies/{study.id}"
        self._transport = httpx.HTTPTransport()  # one for all, since each takes a moment to make
        self._owner = self._client({"Authorization": f"Bearer {token}"})
        self._luck = random.Random(seed)
        self._numbers = itertools.count()
        self._people: list[Person] = []
        self._left: list[Person] = []
        self._lock = threading.Lock()
        self._version, self._change, self._places = 0, 0, PLACES
        work = [self._take_part] * THREADS + [self._manage]
        self._threads = [threading.Thread(target=self._run, args=(each,)) for each in work]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let the current requests finish; the server must be running."""
        self.done.set()
        for thread in self._threads:
            thread.join()
        self._transport.close()

    def _client(self, headers: dict[str, str]) -> httpx.Client:
        return httpx.Client(transport=self._transport, trust_env=False, timeout=120, headers=headers)

    def _run(self, work: Any) -> None:
        try:
            while not self.done.is_set():
                work()
        except BaseException as error:  # noqa: BLE001  (the test shows it)
            self.failures.append(f"{work.__name__}: {type(error).__name__}: {error}")

    # -- participants --------------------------------------------------------------------

    def _take_part(self) -> None:
        """Play a new participant, or one who comes back."""
        person = self._find_one() if self._luck.random() < 0.3 else None
        if person is None or person.blocked or person.ending not in (None, "timed_out"):
            self._put_back(person)
            name = f"p{next(self._numbers)}"
            person = Person(name, self._luck.choice(KINDS), self._client({}))
            self._people.append(person)
        if not self._enter(person):
            return
        person.ending = None
        leaves_after = person.votes + 2 if person.kind == "drops out" else VOTES + 1
        while person.votes < leaves_after:
            me = self._send(person.client, "GET", "/me").json()
            assert me["votes"] == person.votes, f"{person} has {me['votes']} votes"
            if me["departure"] is not None:
                self._leave(person, me["departure"])
                break
            if self.done.is_set():  # only now, because the last step may have ended their participation
                break
            self._continue(person, me)
        self._put_back(person)

    def _enter(self, person: Person) -> bool:
        """Enter by the recruiting link; return whether there is a place."""
        body = {"parameters": {"PROLIFIC_PID": person.name, "STUDY_ID": "s"}}
        departure = self._send(person.client, "POST", "/entry", json=body).json()["departure"]
        if departure is None:
            entered = self._send(person.client, "POST", "/register", json=body, also=(409,))
        if departure is not None or entered.status_code == 409:
            assert departure is None or (departure["kind"], departure["code"]) == ("full", "FULL")
            assert departure is not None or entered.json()["error"]["code"] == "study_full", entered.text
            person.is_sure = person.is_sure and person.version is not None
            self.deeds["find the study full"] += 1
            self._put_back(person)
            return False
        person.client.headers["X-Duelist-CSRF"] = entered.json()["csrf"]
        self.deeds["enter"] += 1
        return True

    def _continue(self, person: Person, me: dict[str, Any]) -> None:
        """Take the next step, or vote."""
        if me["step"] == "consent":
            self._consent(person, me["flow"]["consent"]["version"])
        elif me["step"] == "questions":
            assert not person.answers, f"the answers of {person} are lost"
            group = "c" if person.kind == "not eligible" else self._luck.choice("aab")
            answers = {"age": self._luck.randrange(99), "group": group}
            if self._step(person, "answers", {"answers": answers}):
                person.answers = answers
        elif me["step"] == "practice":
            assert not person.practised, f"the practice of {person} is lost"
            person.practised = self._step(person, "practised", None)
        else:
            self._vote(person)

    def _consent(self, person: Person, version: str) -> None:
        assert version != person.version, f"the consent of {person} is lost"
        since = datetime.now(UTC) - GRACE
        agrees = person.kind != "refuses"
        if self._step(person, "consent", {"version": version, "agrees": agrees}) and agrees:
            person.version, person.consented = version, (since, datetime.now(UTC))

    def _step(self, person: Person, path: str, body: dict[str, Any] | None) -> bool:
        """Send a step; return whether it is recorded. A repeated one may have ended their participation the first time."""
        answer = self._send(person.client, "POST", f"/{path}", json=body, also=(409, 422))
        is_recorded = answer.status_code == 204
        if not is_recorded and answer.extensions["repeated"]:
            departure = self._send(person.client, "GET", "/me").json()["departure"]
            is_recorded = departure is not None and departure["kind"] in ("screened_out", "full")
            person.is_sure = person.is_sure and is_recorded
        self.deeds[path if is_recorded else f"{path} too late"] += 1
        return is_recorded

    def _vote(self, person: Person) -> None:
        asked = self._send(person.client, "POST", "/ask", json={}, also=(403, 409))
        if asked.status_code != 200:
            code = asked.json()["error"]["code"].partition(".")[0]
            assert code in _TURNED_AWAY, asked.text
            return
        outcome = "first" if person.kind == "one-sided" else ("first", "second")[person.votes % 2]
        body = {"duel": asked.json()["id"], "outcome": outcome}
        vote = self._send(person.client, "POST", "/votes", json=body).json()["votes"][0]
        self.acknowledged.append((vote["sequence"], vote["duel_id"], vote["outcome"], person.name))
        person.votes += 1
        self.deeds["participant's vote"] += 1
        if person.kind == "one-sided" and person.votes == SUSPICIOUS:
            person.blocked = person.excluded = True
            person.rule = "side"
            self.deeds["excluded by rule"] += 1

    def _leave(self, person: Person, departure: dict[str, Any]) -> None:
        """Check that a participant left in a way that they may have left, with its code."""
        kind = departure["kind"]
        assert departure["code"] == CODES[kind]
        may_be = {
            "completed": person.votes == VOTES,
            "screened_out": person.blocked or person.kind in ("refuses", "not eligible"),
            "full": person.answers.get("group") == "b",
            "timed_out": True,
        }
        assert may_be[kind], f"{person} left as {kind}"
        person.ending = None if person.blocked else kind
        self.deeds[f"leave: {kind}"] += 1

    # -- their owner ---------------------------------------------------------------------

    def _manage(self) -> None:
        time.sleep(self._luck.random() / 10)
        person = self._find_one()
        if person is None or self._luck.random() < 0.2:
            self._change_flow()
        else:
            if self._luck.random() < 0.5:
                self._block_or_reinstate(person)
            self._compare(person)
        self._put_back(person)

    def _change_flow(self) -> None:
        self._change += 1
        self._version += self._luck.random() < 0.1
        self._places += 3
        changed = {"flow": flow(self._version, self._change), "recruiting": recruiting(self._places)}
        self._send(self._owner, "PATCH", "", json={"settings": changed})
        there = self._send(self._owner, "GET", "").json()["settings"]
        found = (there["flow"]["thanks"], there["flow"]["consent"]["version"], there["recruiting"]["places"])
        assert found == (changed["flow"]["thanks"], f"v{self._version}", self._places), found
        self.deeds["change the flow"] += 1

    def _block_or_reinstate(self, person: Person) -> None:
        body: dict[str, Any] = {"rater": person.name}
        if person.blocked:
            self._send(self._owner, "POST", "/raters/reinstate", json=body)
            person.was_reinstated = True
            person.blocked, person.excluded, person.rule = False, False, None
            self.deeds["reinstate a participant"] += 1
            return
        person.blocked, person.excluded = True, self._luck.random() < 0.5
        self._send(self._owner, "POST", "/raters/block", json={**body, "exclude_votes": person.excluded})
        self.deeds["block a participant"] += 1

    def _compare(self, person: Person) -> None:
        found = self._send(self._owner, "POST", "/raters/describe", json={"rater": person.name, "attributes": {}})
        times = {name: found.json()[name] for name in ("entered_at", "consented_at")}
        read = {name: time and datetime.fromisoformat(time) for name, time in times.items()}
        person.check(Rater(**{**found.json(), **read}))
        rows = self._send(self._owner, "GET", "/log", params={"rater": person.name, "limit": 100}).json()["votes"]
        assert len(rows) == person.votes, f"{person} has {len(rows)} votes"
        assert all(row["excluded"] is person.excluded for row in rows), f"{person} has {rows}"
        self.deeds["compare a participant"] += 1

    def check(self, study: Study) -> None:
        """Compare everyone with the study, and the people in it with its places and quotas."""
        assert not self.failures, self.failures[:3]
        expected = {person.name: person for person in self._people}
        records = {rater.name: rater for rater in study.rater_records()}
        assert set(records) <= set(expected)
        votes = Counter(vote.rater for vote in study.votes())
        for name, person in expected.items():
            if person.is_sure and (name in records or person.version is not None):
                person.check(records[name])
            assert votes[name] == person.votes, f"{person} has {votes[name]} votes"
        holders = [each for each in records.values() if each.ending in (None, "completed") and not each.blocked]
        admitted = [each for each in holders if not expected[each.name].was_reinstated]
        assert len(admitted) <= self._places
        assert sum(each.attributes.get("group") == "b" for each in admitted) <= QUOTA

    # -- both ----------------------------------------------------------------------------

    def _find_one(self) -> Person | None:
        """Take a participant who has left; nobody else has them until they are put back."""
        with self._lock:
            return self._left.pop(self._luck.randrange(len(self._left))) if self._left else None

    def _put_back(self, person: Person | None) -> None:
        with self._lock:
            if person is not None and person.is_sure and person.version is not None:
                self._left = [*self._left[-KEPT:], person]

    def _send(self, client: httpx.Client, method: str, path: str, also: tuple[int, ...] = (), **request: Any) -> Any:
        """Send a request until it is answered."""
        is_repeated = False
        while True:
            try:
                response = client.request(method, f"{self._base}{path}", **request)
            except httpx.TransportError:
                response = None
            if response is not None and response.status_code not in (429, 503):
                allowed = (200, 204, *also)
                assert response.status_code in allowed, f"{method} {path}: {response.status_code} {response.text}"
                response.extensions["repeated"] = is_repeated
                return response
            is_repeated = is_repeated or response is None or response.status_code == 503
            time.sleep(0.02)
