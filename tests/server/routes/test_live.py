"""Live comparison over HTTP: answers to a rater's own prompt, hidden names, and what raters may not do."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from duelist.core.errors import InvalidInput
from duelist.server.options import read_live_systems
from tests.helpers.server import Running, running
from tests.server.conftest import checked, refused, token_of


class Hook(BaseHTTPRequestHandler):
    """Answers with a poem by nobody; /broken fails."""

    def do_POST(self) -> None:
        prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"]
        is_known = self.headers.get("Authorization") == "Bearer of tests"
        self.send_response(200 if is_known and self.path != "/broken" else 500)
        self.end_headers()
        self.wfile.write(json.dumps({"answer": f"{self.path[1:]} about {prompt}"}).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def hook() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def live_server(hook: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("live")
    systems = {name: {"url": f"{hook}/poem", "token_env": "LIVE_TEST_TOKEN"} for name in ("Ada 1.0", "Bob 2")}
    broken = {name: {"url": f"{hook}/{name}", "token_env": "LIVE_TEST_TOKEN"} for name in ("broken", "fine")}
    (folder / "live.json").write_text(json.dumps({"arena": systems, "broken": broken}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIVE_TEST_TOKEN", "of tests")
        with running(f"sqlite:///{folder / 'live.db'}", folder, "--live", str(folder / "live.json")) as found:
            yield found


@pytest.fixture(scope="module")
def owner(live_server: Running) -> Iterator[httpx.Client]:
    with live_server.client() as client:
        yield client


def made(owner: httpx.Client, name: str) -> str:
    body = {"name": name, "settings": {"goal": "rank"}, "load_if_exists": True}
    response = owner.post("/studies", json=body)
    return f"/studies/{response.json()['id']}"


def rater_of(live_server: Running, owner: httpx.Client, study: str, name: str) -> httpx.Client:
    return live_server.client(token_of(owner, study, "rater", rater=name))


def test_two_systems_answer_blindly_and_are_revealed_after_the_vote(live_server: Running, owner: httpx.Client) -> None:
    study = made(owner, "arena")
    with rater_of(live_server, owner, study, "ana") as ana, rater_of(live_server, owner, study, "ben") as ben:
        assert checked(ana.get(f"{study}/me"))["live"] is True
        duel = checked(ana.post(f"{study}/live", json={"prompt": "the sea"}))
        shown = json.dumps(duel)
        assert shown.count("poem about the sea") == 2
        assert "Ada" not in shown
        assert "Bob" not in shown
        assert duel["context"] is None
        reveal = f"{study}/live/{duel['id']}"
        checked(ana.get(reveal), 403)
        checked(ana.post(f"{study}/votes", json={"duel": duel["id"], "outcome": "first"}))
        assert set(checked(ana.get(reveal)).values()) == {"Ada 1.0", "Bob 2"}
        checked(ben.get(reveal), 403)
        change = {"duel": duel["id"], "outcome": "second", "revise": True}
        assert (
            checked(ana.post(f"{study}/votes", json=change), 403)["error"]["message"]
            == "Votes of this study are final."
        )
        checked(ana.post(f"{study}/undo", json={"duel": duel["id"]}), 403)
    board = checked(owner.get(f"{study}/leaderboard"))
    assert {row["arm"] for row in board["standings"]} == {"Ada 1.0", "Bob 2"}


def test_a_system_that_fails_is_not_named_to_raters(live_server: Running, owner: httpx.Client) -> None:
    study = made(owner, "broken")
    with rater_of(live_server, owner, study, "ana") as ana:
        error = checked(ana.post(f"{study}/live", json={"prompt": "the sea"}), 502)["error"]
    assert error["message"] == "A system did not answer."
    assert "broken" not in json.dumps(error)


@pytest.mark.parametrize("prompt", ["", "  ", "x" * 20_001, "a\x00b", 3, None])
def test_other_prompts_are_rejected(live_server: Running, owner: httpx.Client, prompt: object) -> None:
    study = made(owner, "arena")
    checked(owner.post(f"{study}/live", json={"prompt": prompt, "rater": "ana"}), 422)


def test_other_studies_have_no_systems(live_server: Running, owner: httpx.Client) -> None:
    study = made(owner, "another")
    with rater_of(live_server, owner, study, "ana") as ana:
        assert checked(ana.get(f"{study}/me"))["live"] is False
        checked(ana.post(f"{study}/live", json={"prompt": "the sea"}), 404)
        checked(ana.get(f"{study}/live/1"), 404)


def test_raters_write_few_prompts_at_once(live_server: Running, owner: httpx.Client) -> None:
    study = made(owner, "broken")
    with rater_of(live_server, owner, study, "eager") as eager:
        found = [eager.post(f"{study}/live", json={"prompt": "the sea"}).status_code for _ in range(14)]
    assert found[:10] == [502] * 10
    assert 429 in found[10:]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "does not describe"),
        ("{", "does not describe"),
        ('{"a": {"b": {}}}', "Give its url"),
        ('{"a": {"b": {"url": "https://h/", "token": "secret"}}}', "Give its url"),
        ('{"a": {"b": {"url": "ftp://h/"}}}', "http or https"),
        ('{"a": {"b": {"url": "https://h/", "token_env": "SURELY_NOT_SET"}}}', "SURELY_NOT_SET is not set"),
    ],
)
def test_a_file_that_is_wrong_stops_the_server(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "live.json").write_text(text)
    with pytest.raises(InvalidInput, match=words):
        read_live_systems(tmp_path / "live.json")


def test_consent_comes_before_live_pairs_too(live_server: Running, owner: httpx.Client) -> None:
    """The steps before the first pair held for pairs that the policy chooses alone."""
    study = made(owner, "arena")
    checked(owner.patch(study, json={"settings": {"flow": {"consent": {"text": "Agree?"}}}}))
    try:
        with rater_of(live_server, owner, study, "stranger to forms") as rater:
            refused(rater.post(f"{study}/live", json={"prompt": "Why?"}), 409, "step_missing")
            version = checked(rater.get(f"{study}/me"))["flow"]["consent"]["version"]
            checked(rater.post(f"{study}/consent", json={"version": version}), 204)
            checked(rater.post(f"{study}/live", json={"prompt": "Why?"}))
    finally:
        checked(owner.patch(study, json={"settings": {"flow": {}}}))
