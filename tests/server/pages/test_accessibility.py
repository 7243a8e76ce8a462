"""What pages look like and to whom: contrast, names and order for screen readers, light and dark, right to left, how large they are."""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import duelist.study
from tests.server.pages.conftest import PHONE, Opened
from tests.server.pages.live_server import Server
from tests.server.pages.simulated_votes import vote_by_strength

PAGES = (Path(duelist.study.__file__).parents[1] / "server" / "pages").resolve()
AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"
PARTS = ["results", "pairs", "trust", "raters", "votes", "arms", "sharing", "run"]


@pytest.fixture(scope="module")
def shown(server: Server) -> int:
    """A study in which every panel has something to show."""
    name = "looked at"
    arms = [
        {
            "id": f"answer {k}",
            "payload": f"# Answer {k}\n\n- one\n- *two*\n\n```\ncode\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |",
            "context": "a prompt",
        }
        for k in range(5)
    ]
    study = server.make(
        name, arms, random_share=0.3, show_as="markdown", guidelines="Be **fair**.", ask_reason=True, repeat_pairs=0.1
    )
    server.call("POST", f"/studies/{study}/gold", {"first": "answer 0", "second": "answer 4", "outcome": "second"})
    beside = server.study(name)
    vote_by_strength(beside, {arm["id"]: 0.5 * k for k, arm in enumerate(arms)}, 20, ["ana", "ben", "cléo"])
    beside.ask(rater="dan")
    beside.close()
    return study


def findings(page: Page) -> list[Any]:
    """What axe-core calls serious or critical."""
    if not AXE.exists():
        raise RuntimeError(f"there is no axe-core at {AXE}; run `make test-pages`, which installs it")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run(document)).violations")
    return [
        (each["id"], each["impact"], [node["html"][:200] for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def test_axe_finds_what_is_wrong(opened: Opened) -> None:
    page = opened.page("/signin")
    page.evaluate("() => document.body.append(document.createElement('img'), document.createElement('button'))")
    assert {each[0] for each in findings(page)} == {"image-alt", "button-name"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("part", PARTS)
def test_dashboard_is_accessible(opened: Opened, shown: int, part: str, scheme: str) -> None:
    page = opened.owner(f"/study/{shown}#{part}", color_scheme=scheme)
    page.locator("section.card:visible").first.wait_for()
    expect(page.get_by_text("Reading…")).to_have_count(0)
    for each in page.locator("summary:visible").all():
        each.click()
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", ["desktop", "phone"])
def test_rater_page_is_accessible(server: Server, opened: Opened, shown: int, scheme: str, viewport: str) -> None:
    options: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True} if viewport == "phone" else {}
    page = opened.page(server.link(shown, f"eve {scheme} {viewport}"), color_scheme=scheme, **options)
    expect(page.get_by_role("dialog")).to_be_visible()  # the guidelines
    assert findings(page) == []
    page.keyboard.press("Escape")
    assert findings(page) == []
    page.keyboard.press("?")
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["/", "/new"])
def test_other_pages_are_accessible(opened: Opened, shown: int, address: str, scheme: str) -> None:
    page = opened.owner(address, color_scheme=scheme)
    page.locator("section.card:visible").first.wait_for()
    if address == "/new":
        page.get_by_label("A file:").set_input_files(
            {"name": "a.csv", "mimeType": "text/csv", "buffer": b"id,text\na,one\nb,two\n"}
        )
        page.get_by_role("button", name="Start the study").wait_for()
        page.get_by_text("What the columns are").click()
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["/signin", "/rate/1"])
def test_pages_before_signing_in_are_accessible(opened: Opened, shown: int, address: str, scheme: str) -> None:
    page = opened.page(address, color_scheme=scheme)
    page.get_by_role("button", name=re.compile("Sign in|Take part")).wait_for()
    assert findings(page) == []


@pytest.mark.parametrize("address", ["/", "/new", *(f"/study/{{}}#{part}" for part in PARTS)])
def test_no_page_is_wider_than_a_phone(opened: Opened, shown: int, address: str) -> None:
    page = opened.owner(address.format(shown), viewport=PHONE, has_touch=True, is_mobile=True)
    page.locator("section.card:visible").first.wait_for()
    expect(page.get_by_text("Reading…")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_all_tabs_are_in_sight_on_a_phone(opened: Opened, shown: int) -> None:
    page = opened.owner(f"/study/{shown}#run", viewport=PHONE, has_touch=True, is_mobile=True)
    tabs = page.get_by_role("navigation").get_by_role("link")
    expect(tabs).to_have_count(len(PARTS))
    for tab in tabs.all():
        box = tab.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]


@pytest.mark.parametrize("part", ["Raters", "Arms"])
def test_what_can_be_done_is_in_sight(server: Server, opened: Opened, part: str) -> None:
    """On a desktop no table hides its buttons behind its edge, whatever arms and raters are called."""
    name = f"long names under {part}"
    context = "a prompt with a good many words that go on and on"
    arms = [{"id": f"arm {k} with quite a long name", "payload": "word " * 80, "context": context} for k in range(4)]
    study = server.make(name, arms)
    beside = server.study(name)
    strengths = {arm["id"]: float(k) for k, arm in enumerate(arms)}
    vote_by_strength(beside, strengths, 12, ["ana", "somebody@example.org", "somebody.else@example.org"])
    beside.close()
    page = opened.owner(f"/study/{study}#{part.lower()}")
    table = page.get_by_role("group", name=part, exact=True)
    table.wait_for()
    assert table.evaluate("node => node.scrollWidth <= node.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_key_of_the_matrix_has_its_colours(server: Server, opened: Opened, scheme: str) -> None:
    """An even pair on the canvas and the square that explains it: the same colour."""
    name = f"even in {scheme}"
    study = server.make(name, [{"id": f"arm {k}"} for k in range(2)])
    beside = server.study(name)
    beside.tell(beside.ask(rater="ana"), "tie", rater="ana")
    beside.close()
    page = opened.owner(f"/study/{study}#pairs", color_scheme=scheme)
    page.locator(".swatch.even").wait_for()
    drawn, explained = page.evaluate(
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
    assert drawn == pytest.approx(explained, abs=2)  # rounded in two ways


def test_colours_follow_the_system_and_the_button(opened: Opened) -> None:
    page = opened.page("/signin", color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(paper)
    assert dark != light
    button = page.get_by_role("button", name="Colours")
    button.click()
    button.click()
    assert page.evaluate(paper) == dark
    page.reload()
    assert page.evaluate(paper) == dark  # it is remembered


def test_text_from_right_to_left(server: Server, opened: Opened) -> None:
    arabic = "أي الإجابتين أفضل؟ هذه إجابة طويلة."
    study = server.make("من اليمين", [{"id": f"{k}", "payload": f"{arabic} {k}"} for k in range(3)], question=arabic)
    page = opened.page(server.link(study, "ليلى"))
    expect(page.locator("#work")).to_be_visible()
    for selector in ("#left .content", "#right .content", "#question", "#title"):
        assert page.locator(selector).evaluate("node => getComputedStyle(node).direction") == "rtl"
    assert page.locator("#sent").evaluate("node => getComputedStyle(node).direction") == "ltr"


def test_sound_of_both_sides_in_step(server: Server, opened: Opened) -> None:
    """Both play, one is heard; the key turns over which."""
    page = opened.page("/signin")
    page.evaluate(
        """async () => {
          const { together } = await import('/assets/rater/media-sync.js');
          const rate = 8000, samples = 16000, bytes = new DataView(new ArrayBuffer(44 + samples));
          const text = (at, word) => [...word].forEach((letter, k) => bytes.setUint8(at + k, letter.charCodeAt(0)));
          text(0, 'RIFF'); bytes.setUint32(4, 36 + samples, true); text(8, 'WAVEfmt '); bytes.setUint32(16, 16, true);
          bytes.setUint16(20, 1, true); bytes.setUint16(22, 1, true); bytes.setUint32(24, rate, true); bytes.setUint32(28, rate, true);
          bytes.setUint16(32, 1, true); bytes.setUint16(34, 8, true); text(36, 'data'); bytes.setUint32(40, samples, true);
          const source = URL.createObjectURL(new Blob([bytes.buffer], {type: 'audio/wav'}));
          window.both = [0, 1].map(() => Object.assign(document.createElement('audio'), {src: source}));
          window.bar = together(...both);
          document.body.append(...both, bar);
        }"""
    )
    page.get_by_role("button", name="Play both").click()
    page.wait_for_function("() => both.every(each => !each.paused && each.currentTime > 0.2)")
    assert page.evaluate("both.map(each => each.muted)") == [False, True]
    assert page.evaluate("Math.abs(both[0].currentTime - both[1].currentTime)") < 0.2
    page.get_by_role("button", name="Heard: left").click()
    assert page.evaluate("both.map(each => each.muted)") == [True, False]
    page.get_by_role("button", name="Pause both").click()
    assert page.evaluate("both.every(each => each.paused)")


def loaded_by(page: str) -> set[Path]:
    """The files that a page asks for, itself and through its modules."""
    found: set[Path] = set()
    waiting = [PAGES / page]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found.add(file)
        text = file.read_text(encoding="utf-8")
        waiting += [PAGES / name.lstrip("/") for name in re.findall(r'(?:src|href)="(/assets/[^"]+)"', text)]
        waiting += [(file.parent / name).resolve() for name in re.findall(r'from "(\.[^"]+)"', text)]
    return found


def test_how_large_pages_are() -> None:
    """What a rater loads is under 100 KB as it lies there; all pages together are, as they are sent."""
    assert sum(file.stat().st_size for file in loaded_by("rate.html")) < 100_000
    everything = [file for file in PAGES.rglob("*") if file.is_file()]
    assert sum(len(gzip.compress(file.read_bytes())) for file in everything) < 100_000
    reached = set().union(*(loaded_by(page.name) for page in PAGES.glob("*.html")))
    assert {file for file in everything if file.suffix != ".py"} == reached  # nothing lies about


@pytest.mark.parametrize("file", sorted(str(file.relative_to(PAGES)) for file in PAGES.rglob("*.*")))
def test_nothing_in_a_page_parses_text_as_code(file: str) -> None:
    text = (PAGES / file).read_text(encoding="utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "srcdoc",
        "DOMParser",
        "createContextualFragment",
    ):
        assert word not in text
    if file.endswith(".html"):
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text)
    assert re.findall(r"https?://(?!www\.w3\.org/)[a-z]", text) == []
