"""Accessibility and layout: axe-core, phones, themes, right-to-left text, and synchronized media."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.server.pages.conftest import PHONE, Tabs
from tests.server.pages.live_server import Server
from tests.server.pages.screenshots import TABS
from tests.server.pages.simulated_votes import simulate_votes

AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def full_study(server: Server) -> int:
    """The id of a study with data for every panel."""
    name = "data for every panel"
    arms = [
        {
            "id": f"answer {k}",
            "payload": f"# Answer {k}\n\n- one\n- *two*\n\n```\ncode\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |",
            "context": "a prompt",
        }
        for k in range(5)
    ]
    study = server.create_study(
        name, arms, random_share=0.3, show_as="markdown", guidelines="Be **fair**.", ask_reason=True, repeat_pairs=0.1
    )
    server.call("POST", f"/studies/{study}/gold", {"first": "answer 0", "second": "answer 4", "outcome": "second"})
    beside = server.load_study(name)
    simulate_votes(beside, {arm["id"]: 0.5 * k for k, arm in enumerate(arms)}, 20, ["ana", "ben", "cléo"])
    beside.ask(rater="dan")
    beside.close()
    return study


def violations(page: Page) -> list[Any]:
    """Return the serious and critical violations that axe-core finds."""
    if not AXE.exists():
        raise RuntimeError(f"axe-core is not installed at {AXE}. Run `make test-pages`, which installs it.")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    # Preloading copies the style sheets of shadow roots into <style> elements, which the pages' policy forbids.
    found = page.evaluate("async () => (await axe.run(document, {preload: false})).violations")
    return [
        (each["id"], each["impact"], [node["html"][:200] for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def test_axe_finds_violations(tabs: Tabs) -> None:
    page = tabs.open("/signin")
    page.evaluate("() => document.body.append(document.createElement('img'), document.createElement('button'))")
    assert {each[0] for each in violations(page)} == {"image-alt", "button-name"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", TABS)
def test_dashboard_is_accessible(tabs: Tabs, full_study: int, tab: str, scheme: str) -> None:
    page = tabs.open_as_owner(f"/study/{full_study}#{tab}", color_scheme=scheme)
    page.locator("section.card:visible").first.wait_for()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    for each in page.locator("summary:visible").all():
        each.click()
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", ["desktop", "phone"])
def test_rater_page_is_accessible(server: Server, tabs: Tabs, full_study: int, scheme: str, viewport: str) -> None:
    options: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True} if viewport == "phone" else {}
    page = tabs.open(server.rater_link(full_study, f"eve {scheme} {viewport}"), color_scheme=scheme, **options)
    expect(page.get_by_role("dialog")).to_be_visible()  # the guidelines
    assert violations(page) == []
    page.keyboard.press("Escape")
    assert violations(page) == []
    page.keyboard.press("?")
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["/", "/new"])
def test_other_pages_are_accessible(tabs: Tabs, full_study: int, address: str, scheme: str) -> None:
    page = tabs.open_as_owner(address, color_scheme=scheme)
    page.locator("section.card:visible").first.wait_for()
    if address == "/new":
        page.get_by_label("File:").set_input_files(
            {"name": "a.csv", "mimeType": "text/csv", "buffer": b"id,text\na,one\nb,two\n"}
        )
        page.get_by_role("button", name="Create study").wait_for()
        page.get_by_text("Columns", exact=True).click()
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["/signin", "/rate/{}"])
def test_pages_before_signing_in_are_accessible(tabs: Tabs, full_study: int, address: str, scheme: str) -> None:
    page = tabs.open(address.format(full_study), color_scheme=scheme)
    page.get_by_role("button", name=re.compile("Sign in|Start")).or_(
        page.get_by_role("heading", level=1)
    ).first.wait_for()
    assert violations(page) == []


@pytest.mark.parametrize("address", ["/", "/new", *(f"/study/{{}}#{tab}" for tab in TABS)])
def test_no_page_is_wider_than_a_phone(tabs: Tabs, full_study: int, address: str) -> None:
    page = tabs.open_as_owner(address.format(full_study), viewport=PHONE, has_touch=True, is_mobile=True)
    page.locator("section.card:visible").first.wait_for()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_all_tabs_are_visible_on_a_phone(tabs: Tabs, full_study: int) -> None:
    page = tabs.open_as_owner(f"/study/{full_study}#settings", viewport=PHONE, has_touch=True, is_mobile=True)
    links = page.get_by_role("navigation").get_by_role("link")
    expect(links).to_have_count(len(TABS))
    for tab in links.all():
        box = tab.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]


@pytest.mark.parametrize("tab", ["Raters", "Items"])
def test_action_buttons_are_visible_without_scrolling(server: Server, tabs: Tabs, tab: str) -> None:
    """On a desktop, tables with long names still fit, so that their buttons are visible."""
    name = f"long names on the tab {tab}"
    context = "a prompt with a good many words that go on and on"
    arms = [{"id": f"item {k} with quite a long name", "payload": "word " * 80, "context": context} for k in range(4)]
    study = server.create_study(name, arms)
    beside = server.load_study(name)
    strengths = {arm["id"]: float(k) for k, arm in enumerate(arms)}
    simulate_votes(beside, strengths, 12, ["ana", "first.last@example.org", "another.rater@example.org"])
    beside.close()
    page = tabs.open_as_owner(f"/study/{study}#{tab.lower()}")
    table = page.get_by_role("group", name=tab, exact=True)
    table.wait_for()
    assert table.evaluate("node => node.scrollWidth <= node.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_legend_of_the_matrix_has_its_colors(server: Server, tabs: Tabs, scheme: str) -> None:
    """An even pair on the canvas has the color of the legend."""
    name = f"even in {scheme}"
    study = server.create_study(name, [{"id": f"arm {k}"} for k in range(2)])
    beside = server.load_study(name)
    beside.tell(beside.ask(rater="ana"), "tie", rater="ana")
    beside.close()
    page = tabs.open_as_owner(f"/study/{study}#pairs", color_scheme=scheme)
    page.locator(".swatch.even").wait_for()
    drawn, legend = page.evaluate(
        """() => {
          const canvas = document.querySelector('.matrix canvas'), ratio = devicePixelRatio;
          const box = document.querySelector('.matrix .cursor').style;
          const at = ['left', 'top'].map(side => (parseFloat(box[side]) + parseFloat(box.width) / 2) * ratio);
          const one = document.createElement('canvas').getContext('2d');
          one.fillStyle = getComputedStyle(document.querySelector('.swatch.even')).backgroundColor;
          one.fillRect(0, 0, 1, 1);
          return [canvas.getContext('2d').getImageData(...at, 1, 1), one.getImageData(0, 0, 1, 1)].map(each => [...each.data]);
        }"""
    )
    assert drawn == pytest.approx(legend, abs=2)  # the canvas and CSS round differently


def test_the_theme_follows_the_system_and_the_button(tabs: Tabs) -> None:
    page = tabs.open("/signin", color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(paper)
    assert dark != light
    button = page.get_by_role("button", name="Theme")
    button.click()
    button.click()
    assert page.evaluate(paper) == dark
    page.reload()
    assert page.evaluate(paper) == dark  # the choice is stored


def test_right_to_left_text(server: Server, tabs: Tabs) -> None:
    arabic = "أي الإجابتين أفضل؟ هذه إجابة طويلة."
    study = server.create_study(
        "من اليمين", [{"id": f"{k}", "payload": f"{arabic} {k}"} for k in range(3)], question=arabic
    )
    page = tabs.open(server.rater_link(study, "ليلى"))
    expect(page.locator("#rating")).to_be_visible()
    for selector in ("#left .content", "#right .content", "#question", "#title"):
        assert page.locator(selector).evaluate("node => getComputedStyle(node).direction") == "rtl"
    assert page.locator("#save-status").evaluate("node => getComputedStyle(node).direction") == "ltr"


def test_synchronized_audio(server: Server, tabs: Tabs) -> None:
    """Both sides play, one of them is audible, and the button switches between them."""
    page = tabs.open("/rate/1")
    page.evaluate(
        """async () => {
          const { syncedPlayer } = await import('/assets/rater/media-sync.js');
          const rate = 8000, samples = 16000, bytes = new DataView(new ArrayBuffer(44 + samples));
          const text = (at, word) => [...word].forEach((letter, k) => bytes.setUint8(at + k, letter.charCodeAt(0)));
          text(0, 'RIFF'); bytes.setUint32(4, 36 + samples, true); text(8, 'WAVEfmt '); bytes.setUint32(16, 16, true);
          bytes.setUint16(20, 1, true); bytes.setUint16(22, 1, true); bytes.setUint32(24, rate, true); bytes.setUint32(28, rate, true);
          bytes.setUint16(32, 1, true); bytes.setUint16(34, 8, true); text(36, 'data'); bytes.setUint32(40, samples, true);
          const source = URL.createObjectURL(new Blob([bytes.buffer], {type: 'audio/wav'}));
          window.both = [0, 1].map(() => Object.assign(document.createElement('audio'), {src: source}));
          window.bar = syncedPlayer(...both);
          document.body.append(...both, bar);
        }"""
    )
    page.get_by_role("button", name="Play both").click()
    page.wait_for_function("() => both.every(each => !each.paused && each.currentTime > 0.2)")
    assert page.evaluate("both.map(each => each.muted)") == [False, True]
    assert page.evaluate("Math.abs(both[0].currentTime - both[1].currentTime)") < 0.2
    page.get_by_role("button", name="Sound: Left").click()
    assert page.evaluate("both.map(each => each.muted)") == [True, False]
    page.get_by_role("button", name="Pause both").click()
    assert page.evaluate("both.every(each => each.paused)")
