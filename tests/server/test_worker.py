"""Readings are made once for all who want them, and have in them whatever was acknowledged before they were asked for."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from duelist.server.worker import process as worker_process
from duelist.server.worker.process import RequestHandler
from duelist.study import Study, open_storage
from tests.helpers.busy_server import make


class Slow:
    """The library's readings, made one by one when somebody lets them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = 0
        self.begun, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        self._make = worker_process.run_query
        monkeypatch.setattr(worker_process, "run_query", self)

    def __call__(self, study: Study, name: str, arguments: dict[str, Any]) -> Any:
        self.made += 1
        self.begun.release()
        assert self.go_on.acquire(timeout=60)
        return self._make(study, name, arguments)


class Asking(threading.Thread):
    """Somebody who asks for the leaderboard."""

    def __init__(self, answers: RequestHandler, study: Study, known_revision: str | None = None) -> None:
        super().__init__()
        self._ask = lambda: answers({"study": study.id, "task": "leaderboard", "arguments": {}, "known_revision": known_revision})
        self.start()

    def run(self) -> None:
        self.head, self.body = self._ask()


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return make(f"sqlite:///{tmp_path / 's.db'}", n_arms=4, dim=2)


@pytest.fixture
def answers(study: Study, tmp_path: Path) -> RequestHandler:
    return RequestHandler(open_storage(f"sqlite:///{tmp_path / 's.db'}"))


def votes(answer: Asking) -> int:
    answer.join(60)
    return int(json.loads(answer.body)["votes"])


def test_a_reading_is_made_once_for_all_who_want_it(
    study: Study, answers: RequestHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever they had before."""
    slow = Slow(monkeypatch)
    first = Asking(answers, study)
    assert slow.begun.acquire(timeout=60)
    others = [Asking(answers, study, have) for have in (None, "an older one", "another")]
    slow.go_on.release()
    for other in others:
        assert votes(other) == 0
        assert (other.head, other.body) == (first.head, first.body)
    assert slow.made == 1


def test_whoever_has_voted_does_not_get_the_reading_that_was_begun_before(
    study: Study, answers: RequestHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    before = Asking(answers, study)
    assert slow.begun.acquire(timeout=60)
    study.tell(study.ask("ana").id, "first", "ana")
    after = Asking(answers, study)
    assert slow.begun.acquire(timeout=60)
    slow.go_on.release(2)
    assert votes(after) == 1
    before.join(60)
    assert before.head["revision"] != after.head["revision"]


def test_those_who_wait_hear_of_a_failure_and_the_next_one_tries_again(
    study: Study, answers: RequestHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing, begun, go_on = [True], threading.Event(), threading.Event()
    run_query = worker_process.run_query

    def fail(*arguments: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        if failing:
            raise RuntimeError("no luck")
        return run_query(*arguments)

    monkeypatch.setattr(worker_process, "run_query", fail)
    first = Asking(answers, study)
    assert begun.wait(60)
    second = Asking(answers, study)
    go_on.set()
    for each in (first, second):
        each.join(60)
        assert each.head == {"failed": "RuntimeError: no luck"}
    failing.clear()
    assert votes(Asking(answers, study)) == 0
