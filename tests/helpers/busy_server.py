"""Busy servers: raters who vote while servers are killed, restarted, and several at once; and what must hold afterwards.

python -m tests.helpers.busy_server URL KILLS SEED     kill -9 a busy server, again and again
"""

from __future__ import annotations

import random
import socket
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np

from duelist.study import Study, create_study
from duelist.study.administration.tokens import Scope, create_token
from tests.helpers.server import Running, start

OUTCOMES = ("first", "second", "tie", "both_bad", "skip")
RATERS = 8
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
    """People who vote without end, send again what was not acknowledged, and remember what was."""

    addresses: list[str]
    study: int
    tokens: dict[str, str]
    acknowledged: list[tuple[int, int, str, str]] = field(default_factory=list)
    lost_connections: int = 0
    done: threading.Event = field(default_factory=threading.Event)
    failures: list[str] = field(default_factory=list)

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
                outcome = luck.choice(OUTCOMES)
                told = self._send(client, luck, "votes", {"duel": duel["id"], "outcome": outcome})
                while told is None and not self.done.is_set():
                    told = self._send(client, luck, "votes", {"duel": duel["id"], "outcome": outcome})
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
        if answer.status_code != 200:
            self.failures.append(f"{verb}: {answer.status_code} {answer.text}")
            time.sleep(0.1)
            return None
        return answer.json()


def check(study: Study, raters: Raters) -> int:
    """No acknowledged vote lost, none twice; how many there are."""
    votes = study.votes()
    assert [vote.sequence for vote in votes] == list(range(1, len(votes) + 1))
    given = [(vote.duel_id, vote.rater) for vote in votes]
    assert len(set(given)) == len(given), "a vote was counted twice"
    there = {(vote.sequence, vote.duel_id, str(vote.outcome), vote.rater) for vote in votes}
    lost = [vote for vote in raters.acknowledged if vote not in there]
    assert not lost, f"{len(lost)} acknowledged votes are lost: {lost[:3]}"
    assert not raters.failures, raters.failures[:3]
    return len(votes)


def kill(url: str, kills: int, seed: int = 0) -> str:
    """Kill a server under load at random moments, start another, go on; what came of it."""
    luck = random.Random(seed)
    study = make(url)
    tokens = rater_tokens(study, [f"rater {k}" for k in range(RATERS)])
    starts: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()

        def begun() -> Running:
            since = time.monotonic()
            server = start(url, Path(folder) / "log", "--log-level", "warning", port=port)
            starts.append(time.monotonic() - since)
            return server

        server = begun()
        raters = Raters([server.address], study.id, tokens)
        raters.begin()
        try:
            for _ in range(kills):
                before = len(raters.acknowledged)
                while len(raters.acknowledged) < before + 5:  # nothing is tested by killing who has not begun
                    time.sleep(0.005)
                time.sleep(luck.uniform(0, 0.3))
                server.kill()
                server = begun()
        finally:
            raters.end()
            server.stop()
        total = check(study, raters)
    assert raters.lost_connections >= kills
    study.close()
    slowest = max(starts)
    return (
        f"{kills} kills, {len(raters.acknowledged)} votes acknowledged, {total} in the log: none lost, none twice; "
        f"a start took {np.median(starts):.2f} s, at most {slowest:.2f}"
    )


if __name__ == "__main__":
    where, kills, seed = sys.argv[1:]
    print(kill(where, int(kills), int(seed)))  # noqa: T201
