"""A real server and a real Chromium for all tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.server.pages.live_server import TOKEN, Server, start, stop

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
]
PATIENCE = 60_000
"""Milliseconds to wait for what will come: a busy machine is slow, and what does not come fails all the same."""
expect.set_options(timeout=PATIENCE)
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 780}


def chromium() -> str:
    """Where the system's Chromium is."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        raise RuntimeError("the tests of pages need Chromium; run scripts/install-chromium")
    return path


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start(tmp_path_factory.mktemp("server"))
    yield running
    stop(running)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield opened
        opened.close()


_SIGNED_IN: dict[tuple[str, str], Any] = {}


class Opened:
    """Pages that were opened, and what went wrong in them."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self.browser, self.server = browser, server
        self.contexts: list[BrowserContext] = []
        self.problems: list[str] = []
        self.hosts: set[str] = set()

    def page(self, address: str = "", **options: Any) -> Page:
        """A page of a browser of its own: no cookies, nothing kept."""
        context = self.browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **options})
        context.set_default_timeout(PATIENCE)
        self.contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("console", lambda said: self._console(said.type, said.text))
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))
        if address:
            page.goto(address if address.startswith("http") else self.server.url + address)
        return page

    def owner(self, address: str, token: str = TOKEN, **options: Any) -> Page:
        """A page of somebody who has signed in with a key: by hand for the first time, by the cookie from then on."""
        state = _SIGNED_IN.get((self.server.url, token))
        if state is not None:
            return self.page(address, storage_state=state, **options)
        page = self.page(f"/signin?next={address.replace('#', '%23')}", **options)
        page.get_by_label("Key").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(self.server.url + address)
        _SIGNED_IN[self.server.url, token] = page.context.storage_state()
        return page

    def _console(self, kind: str, text: str) -> None:
        # The browser itself reports requests that fail, which tests cause on purpose; pages report nothing.
        if kind == "error" and not text.startswith("Failed to load resource"):
            self.problems.append(f"console: {text}")


@pytest.fixture
def opened(browser: Browser, server: Server) -> Iterator[Opened]:
    """Opens pages; afterwards none may have had an error, a violation of the content policy, or asked another host."""
    found = Opened(browser, server)
    yield found
    for context in found.contexts:
        context.close()
    assert found.problems == []
    assert found.hosts <= {server.url.split("/")[2]}


@pytest.fixture
def eight(server: Server, request: pytest.FixtureRequest) -> tuple[str, int]:
    """A study of eight texts; name and number."""
    name = f"eight texts of {request.node.name}"
    arms = [{"id": f"text {k}", "payload": f"This is text number {k}."} for k in range(8)]
    return name, server.make(name, arms)
