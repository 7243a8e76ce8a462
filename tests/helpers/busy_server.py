"""Busy servers: people at work while servers are killed, restarted, and several at once; and what must hold afterwards.

python -m tests.helpers.busy_server URL KILLS SEED     kill -9 a busy server, again and again
"""

from __future__ import annotations

import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np

from duelist.server.hidden_names import HiddenNumbers
from duelist.study import Study, create_study, delete_study
from duelist.study.administration.tokens import Scope, create_token
from tests.helpers.busy_owners import Owner
from tests.helpers.busy_participants import Participants
from tests.helpers.busy_participants import make as make_people
from tests.helpers.busy_study import PATIENCE, rebuilt
from tests.helpers.forked_server import TOKEN, ForkedServer, fork_server

OUTCOMES = ("first", "second", "tie", "both_bad", "skip")
RATERS = 8
OWNERS = 2
REVISED_SHARE = 0.1
MOST_THOUGHT = 0.1
"""Seconds before a vote, at most: raters without any would keep owners from getting anything done."""
SHARE_KILLED_EARLY = 0.1
N_ARMS, DIM = 1000, 64


def make(url: str, n_arms: int = N_ARMS, dim: int = DIM, **settings: object) -> Study:
    """A study of many arms."""
    study = create_study("busy", url, **settings)
    features = np.random.default_rng(0).normal(size=(n_arms, dim)) / np.sqrt(dim)
    study.add_arms([f"a{k}" for k in range(n_arms)], features, payloads=[f"text {k}" for k in range(n_arms)])
    return study


def rater_tokens(study: Study, names: list[str]) -> dict[str, str]:
    return {name: create_token(study._storage, Scope.RATER, study.id, name).secret for name in names}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Raters:
    """Raters who vote forever, repeat unacknowledged votes, and record acknowledged ones."""

    addresses: list[str]
    study: int
    tokens: dict[str, str]
    acknowledged: list[tuple[int, int, str, str]] = field(default_factory=list)
    lost_connections: int = 0
    done: threading.Event = field(default_factory=threading.Event)
    failures: list[str] = field(default_factory=list)
    waits: bool = False
    """Whether 503 with Retry-After is expected; they then send the request again."""
    unavailable: int = 0

    def begin(self) -> None:
        self.threads = [threading.Thread(target=self._rate, args=(name,)) for name in self.tokens]
        for thread in self.threads:
            thread.start()

    def end(self) -> None:
        self.done.set()
        for thread in self.threads:
            thread.join()

    def _rate(self, name: str) -> None:
        luck = random.Random(name)
        headers = {"Authorization": f"Bearer {self.tokens[name]}"}
        with httpx.Client(headers=headers, timeout=30) as client:
            while not self.done.is_set():
                duel = self._send(client, luck, "ask", {})
                if duel is None:
                    continue
                time.sleep(luck.uniform(0.0, MOST_THOUGHT))
                first, second = luck.sample(OUTCOMES, 2)
                self._vote(client, luck, name, {"duel": duel["id"], "outcome": first})
                if luck.random() < REVISED_SHARE:
                    self._vote(client, luck, name, {"duel": duel["id"], "outcome": second, "revise": True})

    def _vote(self, client: httpx.Client, luck: random.Random, name: str, body: dict[str, object]) -> None:
        """Send a vote until it is acknowledged."""
        told = self._send(client, luck, "votes", body)
        while told is None and not self.done.is_set():
            told = self._send(client, luck, "votes", body)
        if told is not None:
            vote = told["votes"][0]
            self.acknowledged.append((vote["sequence"], vote["duel_id"], vote["outcome"], name))

    def _send(self, client: httpx.Client, luck: random.Random, verb: str, body: dict[str, object]) -> dict | None:
        try:
            answer = client.post(f"{luck.choice(self.addresses)}/api/v1/studies/{self.study}/{verb}", json=body)
        except httpx.TransportError:
            self.lost_connections += 1
            time.sleep(0.02)
            return None
        if self.waits and answer.status_code == 503 and "Retry-After" in answer.headers:
            self.unavailable += 1
            time.sleep(0.05)
            return None
        if answer.status_code != 200:
            self.failures.append(f"{verb}: {answer.status_code} {answer.text}")
            time.sleep(0.1)
            return None
        return answer.json()


def check(study: Study, raters: Raters | Participants) -> int:
    """No acknowledged vote lost, none twice; how many there are."""
    votes = study.votes()
    assert [vote.sequence for vote in votes] == list(range(1, len(votes) + 1))
    given = [(vote.duel_id, vote.rater) for vote in votes if vote.revises is None]
    assert len(set(given)) == len(given), "a vote was counted twice"
    numbers = HiddenNumbers(study._storage.secret())
    there = {(vote.sequence, numbers.hide(study.id, vote.duel_id), str(vote.outcome), vote.rater) for vote in votes}
    lost = [vote for vote in raters.acknowledged if vote not in there]
    assert not lost, f"{len(lost)} acknowledged votes are lost: {lost[:3]}"
    assert not raters.failures, raters.failures[:3]
    return len(votes)


@dataclass
class Restarts:
    """A server that is killed again and again, always on the same port."""

    url: str
    folder: Path
    luck: random.Random
    seconds: list[float] = field(default_factory=list)
    """Times from a kill until the next server answers."""

    def __post_init__(self) -> None:
        self.port = free_port()
        self.server = self._fork()
        self.server.wait()

    def _fork(self) -> ForkedServer:
        return fork_server(self.url, self.folder / "log", self.port)

    def kill(self) -> None:
        """Kill the server, and now and then the next one before it answers."""
        self.server.kill()
        since = time.monotonic()
        self.server = self._fork()
        if self.luck.random() < SHARE_KILLED_EARLY:
            time.sleep(self.luck.uniform(0.0, 0.3))
        else:
            self.server.wait()
            self.seconds.append(time.monotonic() - since)


class Crowd:
    """Raters of one study, participants of another, and owners of more, on one server."""

    def __init__(self, address: str, study: Study, people: Study, seed: int) -> None:
        tokens = rater_tokens(study, [f"rater {k}" for k in range(RATERS)])
        self.raters = Raters([address], study.id, tokens)
        self.participants = Participants(address, TOKEN, people, seed)
        self.owners = [Owner(address, TOKEN, 1000 * seed + k) for k in range(OWNERS)]

    def begin(self) -> None:
        self.raters.begin()
        self.participants.begin()
        for owner in self.owners:
            owner.begin()

    def end(self) -> None:
        for owner in self.owners:
            owner.end()
        self.participants.end()
        self.raters.end()

    def owners_deeds(self) -> Counter[str]:
        return sum((owner.deeds for owner in self.owners), Counter())

    def check(self) -> None:
        owners = [failure for owner in self.owners for failure in owner.failures]
        failures = [*self.raters.failures, *self.participants.failures, *owners]
        assert not failures, failures[:3]

    def wait_for_progress(self, luck: random.Random) -> None:
        """Wait until a vote was acknowledged, and sometimes another action, too: killing an idle server tests nothing."""
        counts: list[Callable[[], int]] = [
            lambda: len(self.raters.acknowledged),
            lambda: self.owners_deeds().total(),
            lambda: self.participants.deeds.total(),
        ]
        waited_for = {counts[0], luck.choice(counts)}
        before = {count: count() for count in waited_for}
        give_up = time.monotonic() + PATIENCE
        while any(count() == before[count] for count in waited_for):
            assert time.monotonic() < give_up, f"nothing was acknowledged for {PATIENCE} seconds"
            self.check()
            time.sleep(0.001)


@dataclass
class KillReport:
    """The record of a server that was killed repeatedly."""

    kills: int
    acknowledged: int
    votes: int
    actions: dict[str, int]
    """Acknowledged actions of owners and participants, by kind."""
    median_restart: float
    longest_restart: float
    """Seconds from a kill until the next server answers."""

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.acknowledged} votes acknowledged, {self.votes} in the log: none lost, none twice; "
            f"actions: {self.actions}; "
            f"a restart took {self.median_restart:.2f} s, at most {self.longest_restart:.2f} s"
        )


def kill(url: str, kills: int, seed: int = 0) -> KillReport:
    """Kill a server under load at random moments, start another, continue; return a report."""
    luck = random.Random(seed)
    study, people = make(url, n_arms=200, dim=16), make_people(url)
    with tempfile.TemporaryDirectory() as folder:
        restarts = Restarts(url, Path(folder), luck)
        crowd = Crowd(restarts.server.address, study, people, seed)
        crowd.begin()
        try:
            for _ in range(kills):
                crowd.wait_for_progress(luck)
                time.sleep(luck.choice([0.01, 0.1, 0.5]) * luck.random())
                restarts.kill()
            restarts.server.wait()
        finally:
            crowd.end()
            restarts.server.stop()
        crowd.check()
        logged = restarts.server.log.read_text()
        assert "Traceback" not in logged, logged[logged.index("Traceback") :][:3000]
    total = check(study, crowd.raters)
    assert crowd.raters.lost_connections >= kills / 2
    assert study.policy().snapshot() == rebuilt(study).snapshot(), "the policy is not its log"
    check(people, crowd.participants)
    crowd.participants.check(people)
    for each in (study, people):
        each.close()
        delete_study(each.name, url)
    return KillReport(
        kills,
        len(crowd.raters.acknowledged),
        total,
        dict(sorted((crowd.owners_deeds() + crowd.participants.deeds).items())),
        float(np.median(restarts.seconds)),
        max(restarts.seconds),
    )


if __name__ == "__main__":
    where, kills, seed = sys.argv[1:]
    print(kill(where, int(kills), int(seed)))  # noqa: T201
