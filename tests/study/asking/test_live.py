"""Live comparison: systems answer a prompt on demand, from Python and over HTTP."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from duelist.core.errors import InvalidInput, NotAllowed, StudyNotOpen, SystemFailed
from duelist.study import HttpSystem, ask_live, create_study
from duelist.study.asking.live import MAX_ANSWER_BYTES, revealed_systems
from tests.helpers.systems import system_study

SYSTEMS = {name: (lambda prompt, name=name: f"{name} says: {prompt}") for name in ("ada", "bob", "cyd")}


def test_two_systems_answer_and_the_rater_votes() -> None:
    study = create_study("arena", "memory", goal="rank")
    met: Counter[str | None] = Counter()
    for k in range(12):
        prompt = f"Why {k}?"
        duel = ask_live(study, prompt, "ana", SYSTEMS, random_state=k)
        assert duel.prompt == prompt
        assert duel.first.system != duel.second.system
        assert {arm.payload for arm in (duel.first, duel.second)} == {
            f"{arm.system} says: {prompt}" for arm in (duel.first, duel.second)
        }
        met.update([duel.first.system, duel.second.system])
        study.tell(duel, "first" if str(duel.first.system) < str(duel.second.system) else "second", "ana")
    assert set(met) == set(SYSTEMS)
    assert [row.arm for row in study.leaderboard().standings] == ["ada", "bob", "cyd"]
    assert len(study.arms()) == 24


def test_systems_with_answers_in_a_new_study_are_drawn_at_random() -> None:
    study = system_study(2, 1)
    duel = ask_live(study, "Why?", "ana", {"s0": SYSTEMS["ada"], "s1": SYSTEMS["bob"]}, random_state=0)
    assert {duel.first.system, duel.second.system} == {"s0", "s1"}
    assert duel.context == "Why?"


def test_an_answer_is_used_again() -> None:
    study = create_study("arena", "memory", goal="rank")
    asked: Counter[str] = Counter()

    def system(name: str):
        def answer(prompt: object) -> str:
            asked[name] += 1
            return f"{name}: {prompt}"

        return answer

    systems = {name: system(name) for name in ("ada", "bob")}
    for rater in ("ana", "ben"):
        study.tell(ask_live(study, "Why?", rater, systems), "tie", rater)
    assert asked == {"ada": 1, "bob": 1}
    assert study.leaderboard().votes == 2


def test_the_policy_chooses_among_known_systems() -> None:
    """With the goal best, a system that always loses is asked less often than the others."""
    study = create_study("arena", "memory", goal="best")
    met: Counter[str | None] = Counter()
    systems = dict.fromkeys(("good", "fair", "bad"), SYSTEMS["ada"])
    for k in range(60):
        duel = ask_live(study, f"prompt {k}", "ana", systems, random_state=k)
        pair = {duel.first.system, duel.second.system}
        met.update(pair)
        winner = "good" if "good" in pair else "fair"
        study.tell(duel, "first" if duel.first.system == winner else "second", "ana")
    assert met["bad"] < met["good"]
    assert met["bad"] < met["fair"]


def test_what_cannot_be_asked_is_an_error() -> None:
    study = create_study("arena", "memory", goal="rank")
    with pytest.raises(InvalidInput, match="at least two"):
        ask_live(study, "Why?", "ana", {"ada": SYSTEMS["ada"]})
    with pytest.raises(InvalidInput, match="empty"):
        ask_live(study, "  ", "ana", SYSTEMS)
    study.pause()
    with pytest.raises(StudyNotOpen):
        ask_live(study, "Why?", "ana", SYSTEMS)
    assert not study.arms()


def test_a_slow_system_is_an_error_and_leaves_nothing() -> None:
    study, free = create_study("arena", "memory", goal="rank"), threading.Event()
    systems = {"ada": lambda prompt: free.wait(60), "bob": SYSTEMS["bob"]}
    with pytest.raises(SystemFailed, match="System 'ada' did not answer in time"):
        ask_live(study, "Why?", "ana", systems, timeout=0.05)
    free.set()
    assert not study.arms()


def test_a_system_that_fails_is_named() -> None:
    study = create_study("arena", "memory", goal="rank")
    for broken, words in ((lambda prompt: 1 / 0, "ZeroDivisionError"), (lambda prompt: None, "returned None")):
        with pytest.raises(SystemFailed, match=f"System 'ada'.* {words}"):
            ask_live(study, "Why?", "ana", {"ada": broken, "bob": SYSTEMS["bob"]})
    assert not study.arms()


def test_systems_are_revealed_after_the_vote() -> None:
    study = create_study("arena", "memory", goal="rank")
    duel = ask_live(study, "Why?", "ana", SYSTEMS)
    with pytest.raises(NotAllowed, match="after the vote"):
        revealed_systems(study, duel.id, "ana")
    study.tell(duel, "first", "ana")
    assert revealed_systems(study, duel.id, "ana") == (duel.first.system, duel.second.system)
    with pytest.raises(NotAllowed):
        revealed_systems(study, duel.id, "ben")


# -- over HTTP ---------------------------------------------------------------------------


class Hook(BaseHTTPRequestHandler):
    """Answers by the path."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"]
        if self.path == "/answer" and self.headers.get("Authorization") == "Bearer secret":
            self.reply(200, json.dumps({"answer": f"echo {asked}"}))
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/answer")
            self.end_headers()
        elif self.path == "/endless":
            with suppress(OSError):
                for number in range(1000):
                    self.wfile.write(f"X-{number}: x\r\n".encode() if number else b"HTTP/1.1 200 OK\r\n")
                    time.sleep(0.02)
        else:
            bodies = {"/text": "hello", "/none": "{}", "/large": '"' + "x" * (MAX_ANSWER_BYTES + 1) + '"'}
            self.reply(200 if self.path in bodies else 401, bodies.get(self.path, ""))

    def reply(self, status: int, body: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def hook() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_system_answers_over_http(hook: str) -> None:
    system = HttpSystem(f"{hook}/answer", {"Authorization": "Bearer secret"})
    assert system("Why?") == "echo Why?"
    assert "secret" not in repr(system)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("answer", "status 401"),
        ("moved", "status 302"),
        ("text", "not answer with JSON"),
        ("none", 'no "answer"'),
        ("large", "more than 1,048,576 bytes"),
    ],
)
def test_what_is_no_answer_is_an_error(hook: str, path: str, words: str) -> None:
    with pytest.raises(SystemFailed, match=words):
        HttpSystem(f"{hook}/{path}")("Why?")


def test_a_system_that_sends_headers_for_ever_is_cut_off(hook: str) -> None:
    """Its time began anew with every header, so that it held a place for pairs of live answers as long as it liked."""
    started_at = time.monotonic()
    with pytest.raises(SystemFailed, match=r"did not answer|took too long"):
        HttpSystem(f"{hook}/endless", timeout=0.3)("Why?")
    assert time.monotonic() - started_at < 10  # of 20 s


def test_nobody_listens() -> None:
    with pytest.raises(SystemFailed, match="did not answer"):
        HttpSystem("http://127.0.0.1:1/")("Why?")


@pytest.mark.parametrize("url", ["ftp://a/b", "file:///etc/passwd", "http://", "http://ana:secret@host/"])
def test_other_addresses_are_rejected(url: str) -> None:
    with pytest.raises(InvalidInput, match="address of a system"):
        HttpSystem(url)
