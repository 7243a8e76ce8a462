"""Choosing an item: by a click or a tap on it, what is not a choice, how items are laid out, and content of every kind."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from duelist.study.records import current_votes
from tests.server.pages.conftest import PHONE, Tabs
from tests.server.pages.live_server import Server
from tests.server.pages.test_rater import wait_until_ready, wait_until_saved

TEXTS = [{"id": f"text {k}", "payload": f"Text number {k}."} for k in range(6)]


def outcomes(server: Server, name: str) -> list[str | None]:
    return [vote.outcome for vote in current_votes(server.load_study(name).votes())]


def choose(page: Page, side: str, touch: bool = False) -> None:
    wait_until_ready(page)
    item = page.locator(f".side.{side} h3")
    item.tap() if touch else item.click()


@pytest.mark.parametrize("touch", [False, True])
def test_a_click_or_a_tap_on_an_item_chooses_it_and_can_be_undone(server: Server, tabs: Tabs, touch: bool) -> None:
    name = f"touch is {touch}"
    study = server.create_study(name, TEXTS)
    options = {"viewport": PHONE, "has_touch": True, "is_mobile": True} if touch else {}
    page = tabs.open(server.rater_link(study, "ana"), **options)
    wait_until_ready(page)
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_hidden()  # there is nothing to undo
    choose(page, "second", touch)
    wait_until_saved(page)
    expect(page.locator("#last-vote")).to_have_text("You chose: Bottom." if touch else "You chose: Right.")
    assert outcomes(server, name) == ["second"]
    with page.expect_response("**/undo"):
        undo.click()
    assert outcomes(server, name) == []
    expect(undo).to_be_hidden()
    choose(page, "first", touch)
    wait_until_saved(page)
    assert outcomes(server, name) == ["first"]


def test_reading_is_not_choosing(server: Server, tabs: Tabs) -> None:
    """Selecting text, enlarging a picture, playing a sound and following a link do not vote."""
    name = "reading"
    payload = {"image": "picture0.png", "audio": "tone0.wav", "markdown": "A [link](https://example.org/) and words."}
    study = server.create_study(name, [{"id": c, "payload": payload} for c in "abcd"])
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    box = page.locator("#right p").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 5, steps=4)
    page.mouse.up()
    assert page.evaluate("getSelection().toString().trim()") != ""
    page.locator("#left [data-zoom]").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("#left audio").click()
    page.locator("#left a").evaluate(
        "link => { link.addEventListener('click', event => event.preventDefault()); link.click(); }"
    )
    assert server.load_study(name).votes() == []
    expect(page.locator("#progress")).to_have_text("0 votes so far")


def test_a_click_chooses_for_the_current_criterion(server: Server, tabs: Tabs) -> None:
    name = "clicks with criteria"
    page = tabs.open(server.rater_link(server.create_study(name, TEXTS, criteria=["clear", "nice"]), "ana"))
    choose(page, "first")
    choose(page, "second")
    wait_until_saved(page)
    votes = server.load_study(name).votes()
    assert [(vote.criterion, vote.outcome) for vote in votes] == [("clear", "first"), ("nice", "second")]


@pytest.mark.parametrize(
    "payloads", [["Short.", "A long text. " * 40], [{"image": "picture0.png"}, {"image": "picture2.png"}]]
)
def test_items_have_the_same_height_and_the_buttons_are_near(
    server: Server, tabs: Tabs, payloads: list[object]
) -> None:
    arms = [{"id": f"{k}", "payload": payload} for k, payload in enumerate(payloads)]
    page = tabs.open(server.rater_link(server.create_study(f"heights {payloads[0]}"[:40], arms), "ana"))
    wait_until_ready(page)
    left, right, bar = (page.locator(each).bounding_box() for each in (".side.first", ".side.second", ".criterion"))
    assert left is not None
    assert right is not None
    assert bar is not None
    assert left["height"] == pytest.approx(right["height"], abs=1)
    assert 0 < bar["y"] - (left["y"] + left["height"]) < 60


def test_pictures_inside_markdown_are_those_of_the_study(server: Server, tabs: Tabs) -> None:
    text = "Look:\n\n![a gradient](picture1.png) ![other](https://example.org/cat.png) ![none](none.png)"
    study = server.create_study("pictures", [{"id": c, "payload": text} for c in "ab"], show_as="markdown")
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    expect(page.locator("#left img")).to_have_count(1)
    page.wait_for_function("() => document.querySelector('#left img').naturalWidth === 240")
    assert page.locator("#left img").get_attribute("alt") == "a gradient"
    page.locator("#left").get_by_role("button", name="Enlarge: a gradient").click()
    expect(page.get_by_role("dialog")).to_contain_text("Left")


def test_formulas_and_code(server: Server, tabs: Tabs) -> None:
    text = "$x^2$\n\n```python\nreturn 1\n```"
    study = server.create_study("formulas", [{"id": c, "payload": text} for c in "ab"], show_as="markdown")
    page = tabs.open(server.rater_link(study, "ana"), viewport=PHONE)
    wait_until_ready(page)
    expect(page.locator("#left math msup")).to_be_visible()
    expect(page.locator("#left .code-keyword")).to_have_text("return")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_two_sounds_by_keyboard(server: Server, tabs: Tabs) -> None:
    study = server.create_study("sounds", [{"id": f"{k}", "payload": {"audio": f"tone{k}.wav"}} for k in range(2)])
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    page.wait_for_function("() => [...document.querySelectorAll('audio')].every(each => each.readyState >= 3)")
    page.keyboard.press("p")
    page.wait_for_function("() => [...document.querySelectorAll('audio')].every(each => !each.paused)")
    page.keyboard.press("h")
    assert page.evaluate("[...document.querySelectorAll('audio')].map(each => each.muted)") == [True, False]
    page.keyboard.press("p")
    page.wait_for_function("() => [...document.querySelectorAll('audio')].every(each => each.paused)")
    page.keyboard.press("l")
    page.wait_for_function("() => [...document.querySelectorAll('audio')].every(each => each.currentTime > 1.9)")
    page.keyboard.press("j")
    page.wait_for_function("() => [...document.querySelectorAll('audio')].every(each => each.currentTime === 0)")


def test_a_vote_with_the_keyboard_focus_alone(server: Server, tabs: Tabs) -> None:
    """Tab leads from the skip link through the header to the votes; what happens is announced."""
    name = "focus"
    page = tabs.open(server.rater_link(server.create_study(name, TEXTS), "ana"))
    wait_until_ready(page)
    names = []
    for _ in range(8):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert names[0] == "Skip to the pair"
    assert [each.split()[0] for each in names[3:]] == ["Left", "Tie", "Both", "Skip", "Right"]
    page.keyboard.press("Enter")
    wait_until_saved(page)
    assert outcomes(server, name) == ["second"]
    page.keyboard.press("u")
    expect(page.locator("#live-region")).to_contain_text("undone")


def test_the_structure_for_screen_readers(server: Server, tabs: Tabs) -> None:
    page = tabs.open(server.rater_link(server.create_study("structure", TEXTS), "ana"))
    wait_until_ready(page)
    for role, name in (("article", "Left"), ("article", "Right"), ("group", "Your vote")):
        expect(page.get_by_role(role, name=name, exact=True)).to_be_visible()
    headings = page.get_by_role("heading").all_inner_texts()
    assert headings == ["structure", "Which is better?", "Left", "Right"]
