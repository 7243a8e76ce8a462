"""Owners who manage studies over HTTP while servers are killed, repeat what was not acknowledged, and compare what is left."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import numpy as np

ARMS: Final = 12
VOTES: Final = 30
"""Votes per imported file."""
LIFE: Final = 40
"""Actions after which an owner deletes the study and begins a new one."""


@dataclass
class Expected:
    """A study as its owner's acknowledged requests left it."""

    id: int
    name: str
    arms: int = 0
    votes: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, bool] = field(default_factory=dict)
    question: str | None = None
    archive: tuple[bytes, int, int] | None = None
    """An archive, with the numbers of arms and votes that it must have."""
    restored: dict[str, tuple[int, int, int, str]] = field(default_factory=dict)
    """By name: id, arms, votes and state of studies restored from archives."""


class Owner:
    """Performs everything that an owner may do, in random order, until the end."""

    def __init__(self, address: str, token: str, seed: int) -> None:
        self.done = threading.Event()
        self.deeds: Counter[str] = Counter()
        self.failures: list[str] = []
        self._luck = random.Random(seed)
        self._label = f"owner {seed}"
        self._numbers = itertools.count()
        headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(base_url=f"{address}/api/v1", headers=headers, timeout=120)
        self._thread = threading.Thread(target=self._run)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Let the current request finish; the server must be running."""
        self.done.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        try:
            while not self.done.is_set():
                self._manage_one_study()
        except BaseException as error:  # noqa: BLE001  (the test shows it)
            self.failures.append(f"{self._label}: {type(error).__name__}: {error}")

    def _manage_one_study(self) -> None:
        study = self._create()
        for _ in range(LIFE):
            if self.done.is_set():
                break
            possible = self._possible(study)
            name = self._luck.choice(list(possible))
            possible[name](study)
            self.deeds[name] += 1
        self._compare(study)
        for name in list(study.restored):
            self._delete(name, study.restored.pop(name)[0])
        self._delete(study.name, study.id)

    def _possible(self, study: Expected) -> dict[str, Callable[[Expected], None]]:
        """Return the actions that the study allows now."""
        possible: dict[str, Callable[[Expected], None]] = {
            "add arms": self._add_arms,
            "import": self._import,
            "change settings": self._change_settings,
            "download archive": self._download_archive,
            "compare": self._compare,
        }
        if study.votes:
            possible["block or reinstate"] = self._block
        if study.archive is not None:
            possible["restore"] = self._restore
        if study.restored:
            possible |= {"archive": self._archive, "delete": self._delete_restored}
        return possible

    # -- what an owner does --------------------------------------------------------------

    def _create(self) -> Expected:
        name = f"study {next(self._numbers)} of {self._label}"
        made = self._send("POST", "/studies", json={"name": name, "load_if_exists": True}, accept=(200, 201))
        study = Expected(made.json()["id"], name)
        self._add_arms(study)
        return study

    def _add_arms(self, study: Expected) -> None:
        features = np.random.default_rng(study.arms).normal(size=(ARMS, 3)).tolist()
        arms = [{"id": f"a{study.arms + k}", "features": row} for k, row in enumerate(features)]
        self._send("POST", f"/studies/{study.id}/arms", json={"arms": arms})
        study.arms += ARMS

    def _import(self, study: Expected) -> None:
        rater = f"rater {next(self._numbers)}"
        pairs = itertools.islice(itertools.combinations(range(ARMS), 2), VOTES)
        times = [f"2026-01-01T00:00:{k:02d}+00:00" for k in range(VOTES)]
        lines = [f"a{i},a{j},left,{rater},{time}" for (i, j), time in zip(pairs, times, strict=True)]
        body = "\n".join(["left,right,winner,rater,voted_at", *lines]).encode()
        self._send("POST", f"/studies/{study.id}/import?format=csv&filename=votes.csv", content=body)
        study.votes[rater] = VOTES

    def _block(self, study: Expected) -> None:
        rater = self._luck.choice(list(study.votes))
        exclude = not study.excluded.get(rater, False)
        if exclude:
            self._send("POST", f"/studies/{study.id}/raters/block", json={"rater": rater, "exclude_votes": True})
        else:
            self._send("POST", f"/studies/{study.id}/raters/reinstate", json={"rater": rater})
        study.excluded[rater] = exclude

    def _change_settings(self, study: Expected) -> None:
        question = f"Question {next(self._numbers)}?"
        self._send("PATCH", f"/studies/{study.id}", json={"settings": {"question": question}})
        study.question = question

    def _download_archive(self, study: Expected) -> None:
        body = self._send("GET", f"/studies/{study.id}/archive").content
        study.archive = body, study.arms, sum(study.votes.values())

    def _restore(self, study: Expected) -> None:
        assert study.archive is not None
        body, arms, votes = study.archive
        name = f"restored {next(self._numbers)} of {self._label}"
        response = self._send("POST", "/studies/restore", params={"name": name}, content=body, repeated=409)
        found = response.json()["id"] if response.is_success else self._find(name)
        study.restored[name] = found, arms, votes, "open"

    def _archive(self, study: Expected) -> None:
        name = self._luck.choice(list(study.restored))
        number, arms, votes, _ = study.restored[name]
        self._send("PATCH", f"/studies/{number}", json={"state": "archived"})
        study.restored[name] = number, arms, votes, "archived"

    def _delete_restored(self, study: Expected) -> None:
        name = self._luck.choice(list(study.restored))
        self._delete(name, study.restored.pop(name)[0])

    def _delete(self, name: str, number: int) -> None:
        self._send("DELETE", f"/studies/{number}", params={"confirm": name}, repeated=404)
        assert self._find(name) is None, f"{name} was deleted and is there again"

    # -- what must be there --------------------------------------------------------------

    def _compare(self, study: Expected) -> None:
        there = self._send("GET", f"/studies/{study.id}").json()
        found = (there["arms"], there["votes"], there["settings"]["question"])
        assert found == (study.arms, sum(study.votes.values()), study.question), f"{study.name} has {found}"
        if study.votes:
            rater = self._luck.choice(list(study.votes))
            path = f"/studies/{study.id}/log"
            rows = self._send("GET", path, params={"rater": rater, "limit": 1000}).json()["votes"]
            assert len(rows) == study.votes[rater], f"{len(rows)} votes of {rater}"
            assert {row["excluded"] for row in rows} == {study.excluded.get(rater, False)}, f"exclusion of {rater}"
        for name, (number, arms, votes, state) in study.restored.items():
            there = self._send("GET", f"/studies/{number}").json()
            copy = (there["name"], there["arms"], there["votes"], there["state"])
            assert copy == (name, arms, votes, state), f"{copy} is not {name, arms, votes, state}"

    def _find(self, name: str) -> int | None:
        listed = self._send("GET", "/studies", params={"archived": True}).json()["studies"]
        return next((each["id"] for each in listed if each["name"] == name), None)

    def _send(
        self, method: str, path: str, accept: tuple[int, ...] = (200, 201, 204), repeated: int = 0, **request: Any
    ) -> httpx.Response:
        """Send a request until it is answered; a repeated one may have been carried out the first time."""
        is_repeated = False
        while True:
            try:
                response = self._client.request(method, path, **request)
            except httpx.TransportError:
                response = None
            if response is not None and response.status_code != 503:
                allowed = (*accept, repeated) if is_repeated else accept
                assert response.status_code in allowed, f"{method} {path}: {response.status_code} {response.text}"
                return response
            is_repeated = True
            time.sleep(0.02)
