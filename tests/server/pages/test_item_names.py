"""Items without telling ids are named by their texts and pictures on every tab of the dashboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.server.pages.conftest import Tabs
from tests.server.pages.live_server import Server
from tests.server.pages.simulated_votes import simulate_votes
from tests.server.pages.test_new_study import png

TEXTS = ["Fast as light", "Slow is smooth", "Made for mornings"]


@pytest.fixture(scope="module")
def taglines(server: Server) -> int:
    """A study of numbered texts with votes, a pending pair and a gold pair."""
    arms = [{"id": str(k), "payload": text} for k, text in enumerate(TEXTS, start=1)]
    return voted(server, "taglines by number", server.create_study("taglines by number", arms), arms)


@pytest.fixture(scope="module")
def pictures(server: Server) -> int:
    """A study of pictures, as a folder of images makes it."""
    name = "a folder of pictures"
    made = int(server.call("POST", "/studies", {"name": name, "goal": "best", "settings": {}})["id"])
    beside = server.load_study(name)
    keys = beside.add_media([(f"{k}.png", "image/png", png(80 * k, 40, 90)) for k in range(3)])
    beside.close()
    arms = [{"id": f"{k}.png", "payload": {"image": key}} for k, key in enumerate(keys)]
    server.call("POST", f"/studies/{made}/arms", {"arms": arms})
    return voted(server, name, made, arms)


def voted(server: Server, name: str, study: int, arms: list[dict[str, object]]) -> int:
    ids = [str(arm["id"]) for arm in arms]
    beside = server.load_study(name)
    simulate_votes(beside, dict(zip(ids, (0.0, 0.5, 1.0), strict=True)), 9, ["ana", "ben", "cleo"])
    beside.add_gold(ids[0], ids[1], "first")
    beside.ask("dora")
    beside.close()
    return study


def open_tables(page: Page) -> None:
    for each in page.get_by_text("Show as a table").all():
        each.click()


@pytest.mark.parametrize("tab", ["results", "pairs", "votes", "settings"])
def test_texts_are_shown_on_every_tab(tabs: Tabs, taglines: int, tab: str) -> None:
    page = tabs.open_as_owner(f"/study/{taglines}#{tab}")
    if tab in ("results", "pairs"):
        expect(page.get_by_text("Show as a table").first).to_be_visible()
        open_tables(page)
    if tab == "results":
        expect(page.locator(".decision")).to_contain_text("“")
        expect(page.locator(".board tbody th")).to_contain_text(["“", "“", "“"])
    if tab == "pairs":
        page.get_by_role("application").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#pair-readout")).to_contain_text("“")
    if tab == "votes":
        page.get_by_role("button", name="Why pair 1?").first.click()
        expect(page.get_by_label("Why this pair?").locator("p").nth(1)).to_contain_text("“")
    for text in TEXTS[:2] if tab == "settings" else TEXTS:
        expect(page.locator("table").get_by_text(f"“{text}”").first).to_be_visible()


@pytest.mark.parametrize("tab", ["results", "votes", "settings"])
def test_pictures_are_shown_on_every_tab(tabs: Tabs, pictures: int, tab: str) -> None:
    page = tabs.open_as_owner(f"/study/{pictures}#{tab}")
    thumbnail = page.locator("table .thumbnail").first
    expect(thumbnail).to_be_visible()
    page.wait_for_function("image => image.naturalWidth > 0", arg=thumbnail.element_handle())
    if tab == "results":
        expect(page.locator(".chart svg image").first).to_be_visible()
