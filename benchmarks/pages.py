"""Loading times of the dashboard of a large study: `make bench-pages`.

A real Chromium, a separate server, 800 arms and 100,000 votes. Each tab of the dashboard is opened in a new browser tab: right after the
server has started, once more, and while raters vote and five other dashboards are open. Then the results stay open for a while.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from playwright.sync_api import BrowserContext, sync_playwright
from tests.helpers.busy_server import rater_tokens
from tests.server.pages.conftest import CHROMIUM_ARGUMENTS, DESKTOP, TIMEOUT_MS, chromium_path
from tests.server.pages.live_server import TOKEN, Server, start_server, stop_server
from tests.server.pages.screenshots import TABS, sign_in

from benchmarks.server import RATERS, filled, play
from duelist.research.origin import with_origin

N_ARMS, DIM, VOTES = 800, 64, 100_000
RATE, DASHBOARDS = 20, 5
LOOKED_ON = 30
"""Seconds for which the results stay open while raters vote."""

PANELS = "#tab-content section, #tab-content form"
SOMETHING = (
    f"() => [...document.querySelectorAll('{PANELS}')].some((e) => e.offsetParent && !e.innerText.includes('Loading…'))"
)
EVERYTHING = f"() => document.querySelector('{PANELS}') && !document.body.innerText.includes('Loading…')"


class Opening(NamedTuple):
    """Milliseconds until the first panel shows data, and until all panels do."""

    something: float
    everything: float


def opened(context: BrowserContext, address: str) -> Opening:
    """Open a tab of the dashboard in a new browser tab and measure it."""
    page = context.new_page()
    page.goto(address, wait_until="commit")
    times = []
    for shown in (SOMETHING, EVERYTHING):
        page.wait_for_function(shown, polling="raf")
        times.append(float(page.evaluate("performance.now()")))
    page.close()
    return Opening(*times)


def crowd(server: Server, study: int, tokens: list[str], seconds: float) -> threading.Thread:
    """Start raters and other dashboards in a separate process."""
    given = {"address": server.url, "admin": TOKEN, "study": study, "tokens": tokens}
    thread = threading.Thread(target=play, args=({**given, "rate": RATE, "seconds": seconds, "watching": DASHBOARDS},))
    thread.start()
    return thread


def behind(context: BrowserContext, server: Server, study: int, address: str) -> list[float]:
    """Return by how many seconds the number of votes on the page lags behind the log, in regular samples."""
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(EVERYTHING)
    found = []
    until = time.perf_counter() + LOOKED_ON
    while time.perf_counter() < until:
        shown = int(re.sub(r"\D", "", page.locator(".facts dd").first.inner_text()))
        found.append((server.call("GET", f"/studies/{study}")["votes"] - shown) / RATE)
        page.wait_for_timeout(500)
    page.close()
    return found


def measured(say: Callable[[str], None]) -> Iterator[str]:
    """The lines of the page."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        url = f"sqlite:///{Path(folder) / 'studies.db'}"
        study = filled(url, N_ARMS, DIM, VOTES)
        tokens = list(rater_tokens(study, [f"rater {k}" for k in range(RATERS)]).values())
        number = study.id
        study.close()
        server = start_server(Path(folder))
        try:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGUMENTS)
            context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
            context.set_default_timeout(2 * TIMEOUT_MS)
            sign_in(context.new_page(), server, "/")
            yield from tables(context, server, number, tokens, say)
        finally:
            stop_server(server)


def tables(
    context: BrowserContext, server: Server, study: int, tokens: list[str], say: Callable[[str], None]
) -> Iterator[str]:
    def address(part: str) -> str:
        return f"{server.url}/study/{study}#{part}"

    passes: list[list[Opening]] = []
    for name in ("after a start", "again", "while people rate"):
        rating = crowd(server, study, tokens, 60.0) if name == "while people rate" else None
        passes.append([opened(context, address(part)) for part in TABS])
        for part, opening in zip(TABS, passes[-1], strict=True):
            say(f"{name}: {part} {opening.something:.0f} / {opening.everything:.0f} ms")
        if rating is not None:
            rating.join()
    yield f"| part | after a start | again | while people rate, {DASHBOARDS} other dashboards |"
    yield "|---|---|---|---|"
    for part, *openings in zip(TABS, *passes, strict=True):
        yield f"| {part} | " + " | ".join(f"{o.something:,.0f} / {o.everything:,.0f}" for o in openings) + " |"
    rating = crowd(server, study, tokens, LOOKED_ON + 15.0)
    late = behind(context, server, study, address("results"))
    rating.join()
    yield ""
    yield (
        f"At {RATE} votes per second, the number of votes on the results tab was {np.median(late):.1f} s behind the log in the "
        f"median of {len(late)} looks, {max(late):.1f} s at most."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    lines = list(measured(lambda line: print(line, flush=True)))
    text = "\n".join([
        "# How long an owner waits", "",
        f"{os.cpu_count()} cores (load before: {load:.1f}).",
        f"The dashboard of a study of {N_ARMS} arms with {DIM} features and {VOTES:,} votes, in Chromium, each part in a new tab; server,",
        "browser, raters and other dashboards are processes on one machine. Milliseconds from the address to the first panel with",
        f"something in it / until every panel has. While raters vote: {RATE} votes per second.", "",
        *lines, "",
    ])  # fmt: skip
    print(text)
    if given.page:
        given.page.write_text(with_origin(text, "make bench-pages"))


if __name__ == "__main__":
    main()
