"""The rater page where systems answer live: a prompt, a blind pair, a vote, and then the names."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.server.pages.conftest import Tabs
from tests.server.pages.live_server import Server, start_server, stop_server


class Hook(BaseHTTPRequestHandler):
    """Answers with the prompt and the path."""

    def do_POST(self) -> None:
        prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"answer": f"A *{self.path[1:]}* answer to: {prompt}"}).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def live_server(tmp_path: Path) -> Iterator[Server]:
    hook = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=hook.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{hook.server_address[1]}"
    systems = {"Ada 1.0": {"url": f"{url}/short"}, "Bob 2": {"url": f"{url}/long"}}
    (tmp_path / "live.json").write_text(json.dumps({"arena": systems}))
    running = start_server(tmp_path, "--live", str(tmp_path / "live.json"))
    yield running
    stop_server(running)
    hook.shutdown()
    thread.join()
    hook.server_close()


def test_prompt_vote_and_reveal(live_server: Server, browser: Browser) -> None:
    study = live_server.call("POST", "/studies", {"name": "arena", "goal": "rank"})["id"]
    tabs = Tabs(browser, live_server)
    page = tabs.open(live_server.rater_link(study, "ana"))
    for prompt in ("Why is the sky blue?", "Tell me a joke."):
        page.get_by_label("Your prompt").fill(prompt)
        page.get_by_role("button", name="Compare two answers").click()
        expect(page.locator("#rating")).to_be_visible()
        expect(page.locator("#prompt-content")).to_have_text(prompt)
        expect(page.locator("#left")).to_contain_text(f"answer to: {prompt}")
        text = page.locator("body").inner_text()
        assert "Ada 1.0" not in text
        assert "Bob 2" not in text
        if "DUELIST_SCREENSHOT" in os.environ:
            page.screenshot(path=os.environ["DUELIST_SCREENSHOT"] + "-pair.png")
        page.wait_for_timeout(400)  # a new pair ignores clicks for a moment
        page.keyboard.press("ArrowLeft")
        expect(page.get_by_text("You compared:")).to_be_visible()
        expect(page.get_by_text("Ada 1.0")).to_be_visible()
        expect(page.get_by_text("Bob 2")).to_be_visible()
    if "DUELIST_SCREENSHOT" in os.environ:
        page.screenshot(path=os.environ["DUELIST_SCREENSHOT"] + "-reveal.png")
    page.keyboard.press("u")
    expect(page.locator("#live-region")).to_have_text("Votes of this study are final.")
    assert [vote.outcome for vote in live_server.load_study("arena").votes()] == ["first", "first"]
    for context in tabs.contexts:
        context.close()
    assert tabs.problems == []
