"""Fixtures: a running server and a real Chromium, shared by all tests of the pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.server.pages.live_server import TOKEN, Server, start_server, stop_server
from tests.server.pages.media_files import write_media

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
]
TIMEOUT_MS = 60_000
"""Longer than any page takes, even on a busy machine."""
expect.set_options(timeout=TIMEOUT_MS)
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 780}


def chromium_path() -> str:
    """Return the path of the system's Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        raise RuntimeError("The tests of the pages need Chromium. Run scripts/install-chromium.")
    return path


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start_server(
        tmp_path_factory.mktemp("server"), "--media", str(write_media(tmp_path_factory.mktemp("media")))
    )
    yield running
    stop_server(running)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGUMENTS)
        yield launched
        launched.close()


_OWNER_COOKIES: dict[tuple[str, str], Any] = {}


class Tabs:
    """Opens pages, and records their errors and the hosts that they contact."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self.browser, self.server = browser, server
        self.contexts: list[BrowserContext] = []
        self.problems: list[str] = []
        self.hosts: set[str] = set()
        self.hosts_allowed = {server.url.split("/")[2]}
        self.problems_allowed: str | None = None
        """Messages that contain it are what a test is about."""

    def open(self, address: str = "", **options: Any) -> Page:
        """Open a page in a fresh browser profile, without cookies or storage."""
        context = self.browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **options})
        context.set_default_timeout(TIMEOUT_MS)
        self.contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("console", lambda message: self._record(message.type, message.text))
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))
        if address:
            page.goto(address if address.startswith("http") else self.server.url + address)
        return page

    def open_as_owner(self, address: str, token: str = TOKEN, **options: Any) -> Page:
        """Open a page as an owner: sign in with the form the first time, and with the cookie from then on."""
        cookies = _OWNER_COOKIES.get((self.server.url, token))
        if cookies is not None:
            return self.open(address, storage_state=cookies, **options)
        page = self.open(f"/signin?next={address.replace('#', '%23')}", **options)
        page.get_by_label("Access token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(self.server.url + address)
        _OWNER_COOKIES[self.server.url, token] = page.context.storage_state()
        return page

    def _record(self, kind: str, text: str) -> None:
        # The browser reports failed requests, which tests cause on purpose.
        is_wanted = self.problems_allowed is not None and self.problems_allowed in text
        if kind == "error" and not text.startswith("Failed to load resource") and not is_wanted:
            self.problems.append(f"console: {text}")


@pytest.fixture
def tabs(browser: Browser, server: Server) -> Iterator[Tabs]:
    """Open pages; afterwards, none may have had a script error or a CSP violation, or contacted another host."""
    opened = Tabs(browser, server)
    yield opened
    for context in opened.contexts:
        context.close()
    assert opened.problems == []
    assert opened.hosts <= opened.hosts_allowed


@pytest.fixture
def eight_texts(server: Server, request: pytest.FixtureRequest) -> tuple[str, int]:
    """The name and id of a study of eight texts."""
    name = f"eight texts of {request.node.name}"
    arms = [{"id": f"text {k}", "payload": f"This is text number {k}."} for k in range(8)]
    return name, server.create_study(name, arms)
