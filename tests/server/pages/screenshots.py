"""Screenshots of the pages: `python -m pages.screenshots FOLDER` writes those of the documentation.

`--all` writes every page in light and dark, on a desktop and on a phone.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.server.pages.conftest import CHROMIUM_ARGUMENTS, DESKTOP, PHONE, chromium_path
from tests.server.pages.live_server import TOKEN, Server, start_server, stop_server
from tests.server.pages.simulated_votes import simulate_votes

PROMPT = "A child of six asks: **why is the sky blue?** Answer in a few sentences."
ANSWERS = {
    "short and plain": (
        "Sunlight is made of all colours. Air bounces the blue ones around more than the others, so blue comes at us "
        "from everywhere."
    ),
    "an analogy": (
        "Think of sunlight as a box of crayons:\n\n- the **red** ones roll straight through the air,\n"
        "- the **blue** ones bump into it and fly off in all directions.\n\n"
        "Look up, and wherever you look there is a blue one on its way to you."
    ),
    "a table": (
        "| colour | how much the air scatters it |\n|---|---|\n| red | a little |\n| green | more |\n| blue | most |\n\n"
        "That is why the sky looks blue."
    ),
    "a textbook": (
        "The phenomenon is due to *Rayleigh scattering*, whose intensity is proportional to the inverse fourth power of "
        "the wavelength."
    ),
    "asks back": "Good question! What do you think happens to light when it meets very small things?",
    "wrong": "The sky is blue because it reflects the sea.",
    "an experiment": (
        "Put a little milk into a glass of water and shine a torch through it. From the side it looks blue! "
        "The air does the same with sunlight."
    ),
    "a poem": (
        "The sun sends colours down the sky,\nthe blue ones dance, the red pass by;\n"
        "they dance and dance and fill the air,\nand that's the blue you see up there."
    ),
}
STRENGTHS = [0.7, 2.4, 0.1, -0.9, -0.3, -1.8, 1.1, 0.4]
TABS = ["results", "pairs", "diagnostics", "raters", "votes", "items", "access", "settings"]


def create_study(server: Server) -> int:
    """Create a study of answers to a prompt, with votes, and return its id."""
    name = "Why is the sky blue?"
    made = server.call(
        "POST",
        "/studies",
        {
            "name": name,
            "goal": "best",
            "settings": {
                "show_as": "markdown",
                "question": "Which answer would you give?",
                "guidelines": "- Read both answers.\n- A *tie* is fine.",
                "random_share": 0.25,
                "ask_reason": True,
                "repeat_pairs": 0.05,
                "raters_per_duel": 2,
            },
        },
    )
    study = int(made["id"])
    arms = [{"id": arm, "payload": text, "context": "sky"} for arm, text in ANSWERS.items()]
    server.call("POST", f"/studies/{study}/arms", {"arms": arms, "prompts": {"sky": {"markdown": PROMPT}}})
    server.call("POST", f"/studies/{study}/gold", {"first": "short and plain", "second": "wrong", "outcome": "first"})
    beside = server.load_study(name)
    simulate_votes(
        beside,
        dict(zip(ANSWERS, STRENGTHS, strict=True)),
        200,
        ["ana", "ben", "chidi", "dalia", "emre", "fen", "gina", "hugo", "ines", "jun", "kofi", "lena"],
    )
    beside.ask(rater="goran")
    beside.close()
    return study


def sign_in(page: Page, server: Server, address: str) -> None:
    """Sign in as an owner, then open a page."""
    page.goto(f"{server.url}/signin?next=%2F")
    page.get_by_label("Access token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/")
    page.goto(server.url + address)


def wait_until_loaded(page: Page) -> None:
    page.locator("section.card:visible, #rating:visible").first.wait_for()
    page.wait_for_function("() => !document.body.innerText.includes('Loading…')")
    page.wait_for_timeout(400)


def take(
    browser: Browser,
    server: Server,
    study: int,
    rater: str,
    path: Path,
    address: str,
    options: dict[str, Any],
    full_page: bool = True,
) -> None:
    """Take a screenshot of a page in a fresh browser profile."""
    context = browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **options})
    page = context.new_page()
    if address.startswith("/rate"):
        page.goto(server.rater_link(study, rater))
        page.locator("dialog").wait_for()
        if not path.stem.startswith("guidelines"):
            page.keyboard.press("Escape")
    elif address == "/signin":
        page.goto(f"{server.url}/signin")
    else:
        sign_in(page, server, address)
    if address == "/new":
        rows = "id;text\n" + "\n".join(f'{arm};"{text}"' for arm, text in ANSWERS.items())
        page.get_by_label("File:").set_input_files(
            {"name": "answers.csv", "mimeType": "text/csv", "buffer": rows.encode("latin-1")}
        )
        page.get_by_role("button", name="Create study").wait_for()
    wait_until_loaded(page)
    page.screenshot(path=path, full_page=full_page)
    context.close()


def take_all(browser: Browser, server: Server, study: int, folder: Path, everything: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    if not everything:
        take(
            browser,
            server,
            study,
            "hana",
            folder / "rate.png",
            "/rate",
            {"viewport": {"width": 1120, "height": 720}},
            full_page=False,
        )
        take(
            browser,
            server,
            study,
            "ivo",
            folder / "rate-phone.png",
            "/rate",
            {**phone, "color_scheme": "dark"},
            full_page=False,
        )
        take(
            browser,
            server,
            study,
            "",
            folder / "dashboard.png",
            f"/study/{study}#results",
            {"viewport": {"width": 1120, "height": 1240}},
            full_page=False,
        )
        take(
            browser,
            server,
            study,
            "",
            folder / "pairs.png",
            f"/study/{study}#pairs",
            {"viewport": {"width": 1120, "height": 560}, "color_scheme": "dark"},
            full_page=False,
        )
        return
    for scheme in ("light", "dark"):
        wide, narrow = {"color_scheme": scheme}, {**phone, "color_scheme": scheme}
        addresses = {
            "signin": "/signin",
            "index": "/",
            "new": "/new",
            "rate": "/rate",
            "guidelines": "/rate",
            **{tab: f"/study/{study}#{tab}" for tab in TABS},
        }
        for name, address in addresses.items():
            take(browser, server, study, f"{name} {scheme}", folder / f"{name}-{scheme}.png", address, wide)
            take(
                browser, server, study, f"{name} {scheme} phone", folder / f"{name}-{scheme}-phone.png", address, narrow
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--all",
        action="store_true",
        dest="everything",
        help="every page in light and dark, on a desktop and on a phone",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = start_server(Path(folder))
        try:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGUMENTS)
            take_all(browser, server, create_study(server), options.folder, options.everything)
            browser.close()
        finally:
            stop_server(server)


if __name__ == "__main__":
    main()
