"""How fast the rater page is on a slow phone: Chromium with a throttled processor and network.

python -m benchmarks.phone --page docs/evidence/benchmarks-phone.md
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

from playwright.sync_api import Browser, sync_playwright
from tests.server.pages.conftest import CHROMIUM_ARGUMENTS, PHONE, chromium_path
from tests.server.pages.live_server import Server, start_server, stop_server

from duelist.research.origin import with_origin

SLOWDOWN: Final = 6
"""How many times slower the processor is; Lighthouse takes 4 for a middling phone."""
NETWORKS: Final = {
    "4G": {"latency": 20, "downloadThroughput": 4_000_000 / 8, "uploadThroughput": 3_000_000 / 8},
    "slow 3G": {"latency": 400, "downloadThroughput": 400_000 / 8, "uploadThroughput": 400_000 / 8},
}
"""Milliseconds of latency and bytes per second."""
RUNS: Final = 5
VOTES: Final = 10
READY_MS: Final = 400
"""A new pair ignores taps for a little less than this."""
FORMULA: Final = "$\\int_0^1 x^2\\,dx = \\frac{1}{3}$"
CODE: Final = "```python\nreturn sum(x**2 for x in grid) / n\n```"
MARKDOWN: Final = f"## Answer\n\nThe area is {FORMULA}.\n\n{CODE}\n\n" + "Words. " * 60


class Visit(NamedTuple):
    """One visit of the page: milliseconds until the first pair, milliseconds from tap to next pair, and bytes received."""

    first_pair: float
    taps: list[float]
    received: float


def visit(browser: Browser, server: Server, study: int, rater: str, network: dict[str, float]) -> Visit:
    """Open the page with an empty cache, and tap on items."""
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    devtools = context.new_cdp_session(page)
    received: list[float] = []
    devtools.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    devtools.send("Network.enable")
    devtools.send("Network.emulateNetworkConditions", {"offline": False, **network})
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    page.add_init_script(
        "new MutationObserver(() => { const box = document.querySelector('#rating');"
        " if (box && !box.hidden) window.firstPair ??= performance.now(); })"
        ".observe(document, {subtree: true, childList: true, attributes: true});"
    )
    page.goto(server.rater_link(study, rater))
    page.wait_for_function("() => window.firstPair !== undefined")
    first_pair = float(page.evaluate("firstPair"))
    until_first_pair = sum(received)
    taps = []
    for _ in range(VOTES):
        page.wait_for_timeout(READY_MS)
        page.wait_for_function("() => !document.querySelector('#rating').hidden")
        taps.append(float(page.evaluate(TAP)))
    context.close()
    return Visit(first_pair, taps, until_first_pair)


TAP: Final = """async () => {
  const painted = () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const since = performance.now();
  document.querySelector('.side.first').dispatchEvent(new MouseEvent('click', {bubbles: true}));
  await painted();
  return performance.now() - since;
}"""
"""Tap an item; return the milliseconds until the page is painted with what follows."""


def measure() -> str:
    """Return the table of measurements."""
    folder = Path(tempfile.mkdtemp())
    server = start_server(folder)
    arms: list[dict[str, Any]] = [{"id": f"{k}", "payload": f"{MARKDOWN} {k}"} for k in range(40)]
    study = server.create_study("phone", arms, show_as="markdown")
    heads = ("network", "first pair", "after a tap, median", "after a tap, slowest", "received until the first pair")
    lines = [f"| {' | '.join(heads)} |", "|---|--:|--:|--:|--:|"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGUMENTS)
        for name, network in NETWORKS.items():
            visits = [visit(browser, server, study, f"{name} {k}", network) for k in range(RUNS)]
            taps = [each for one in visits for each in one.taps]
            first = statistics.median(one.first_pair for one in visits) / 1000
            size = statistics.median(one.received for one in visits) / 1000
            lines.append(
                f"| {name} | {first:.1f} s | {statistics.median(taps):.0f} ms | {max(taps):.0f} ms | {size:.0f} kB |"
            )
        browser.close()
    stop_server(server)
    return "\n".join(lines)


def page_of(table: str) -> str:
    """Return the page of the documentation."""
    networks = "; ".join(
        f"{name}: {values['latency']} ms latency, {values['downloadThroughput'] * 8 / 1000:,.0f} kbit/s down"
        for name, values in NETWORKS.items()
    )
    return f"""# The rater page on a slow phone

Chromium as a phone of {PHONE["width"]} by {PHONE["height"]} pixels, with a processor {SLOWDOWN} times slower than that of the machine
and an empty cache ({RUNS} visits, {VOTES} taps each). Networks: {networks}.
Items are Markdown with a formula and code. "After a tap" is the time from a tap on an item until the next pair, or the note
that it is being loaded, is painted; the vote is sent in the background.

{table}

Machine: {platform.processor() or platform.machine()}, shared with other work.
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args()
    text = measure()
    print(text)
    if chosen.page is not None:
        chosen.page.write_text(with_origin(page_of(text), "make bench-phone"), encoding="utf-8")
