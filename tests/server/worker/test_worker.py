"""Queries of the worker: run once for concurrent clients, and on all acknowledged votes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from duelist.core.errors import DuelistError
from duelist.server.worker import process as worker_process
from duelist.server.worker.process import RequestHandler
from duelist.study import Study, open_storage
from tests.helpers.busy_server import make


class Slow:
    """Replaces `run_query` by one that waits for a signal."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = 0
        self.begun, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        self._make = vars(worker_process)["run_query"]
        monkeypatch.setattr(worker_process, "run_query", self)

    def __call__(self, study: Study, name: str, arguments: dict[str, Any]) -> Any:
        self.made += 1
        self.begun.release()
        assert self.go_on.acquire(timeout=60)
        return self._make(study, name, arguments)


class Asking(threading.Thread):
    """A thread that requests the leaderboard."""

    def __init__(self, answers: RequestHandler, study: Study, known_revision: str | None = None) -> None:
        super().__init__()
        self._ask = lambda: answers(
            {"study": study.id, "task": "leaderboard", "arguments": {}, "known_revision": known_revision}
        )
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


def test_concurrent_equal_queries_run_once(
    study: Study, answers: RequestHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The revisions that clients know do not matter."""
    slow = Slow(monkeypatch)
    first = Asking(answers, study)
    assert slow.begun.acquire(timeout=60)
    others = [Asking(answers, study, have) for have in (None, "an older one", "another")]
    slow.go_on.release()
    for other in others:
        assert votes(other) == 0
        assert (other.head, other.body) == (first.head, first.body)
    assert slow.made == 1


def test_a_query_after_a_vote_includes_the_vote(
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


def test_a_failed_query_fails_all_waiting_clients_and_is_retried(
    study: Study, answers: RequestHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing, begun, go_on = [True], threading.Event(), threading.Event()
    run_query = vars(worker_process)["run_query"]

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
        assert each.head == {"unexpected_error": "RuntimeError: no luck"}
    failing.clear()
    assert votes(Asking(answers, study)) == 0


def test_an_error_is_returned_with_its_parts(answers: RequestHandler, study: Study) -> None:
    arguments = {"context": "None; True"}
    head, body = answers({"study": study.id, "task": "leaderboard", "arguments": arguments, "known_revision": None})
    assert body == b""
    assert DuelistError.from_dict(json.loads(json.dumps(head["error"]))).to_dict() == head["error"]
    assert (head["error"]["code"], head["error"]["field"]) == ("invalid_input", "context")
    assert "'None; True'" in head["error"]["message"]


def test_a_request_that_needs_too_much_memory_is_an_error(
    answers: RequestHandler, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_query(*_: Any) -> Any:
        return bytearray(2**62)

    monkeypatch.setattr(worker_process, "run_query", run_query)
    head, body = answers({"study": study.id, "task": "leaderboard", "arguments": {}})
    assert (head["error"]["code"], body) == ("too_large", b"")


def test_the_worker_is_what_ends_if_memory_runs_out(tmp_path: Path) -> None:
    code = (
        "import pathlib, resource; from duelist.server.worker.process import _limit_memory; _limit_memory();"
        "print(resource.getrlimit(resource.RLIMIT_DATA)[0], pathlib.Path('/proc/self/oom_score_adj').read_text())"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert 0 < int(found[0]) < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert found[1] == "1000"
