"""The rater page speaks the language of the browser or of the owner, in sentences of the catalogue only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from duelist.server.routes.pages import PAGES
from duelist.study.languages import LANGUAGES, load_catalogue
from tests.server.pages.conftest import PHONE, Tabs
from tests.server.pages.live_server import Server
from tests.server.pages.test_assets import loaded_by

RATER_PAGES = ("rate.html", "not-found.html")
FILES = sorted(file for file in loaded_by("rate.html") if file.suffix == ".js" and file.name != "api.js")
"""Scripts of the page. Messages of the errors in api.js are for programs: pages translate errors by their code."""
DYNAMIC = ("error.", "screen.", "role.", "theme.", "language.")
"""Sentences whose keys are put together when the page runs."""


def arms(count: int = 6) -> list[dict[str, str]]:
    return [{"id": f"{k}", "payload": f"{k}"} for k in range(count)]


def wait_until_ready(page: Page) -> None:
    expect(page.locator("#rating")).to_be_visible()
    page.wait_for_timeout(400)


def test_the_pages_name_only_sentences_of_the_catalogue_and_all_of_them() -> None:
    keys = set(load_catalogue("en"))
    script = "".join(file.read_text(encoding="utf-8") for file in FILES)
    page = "".join((PAGES / name).read_text(encoding="utf-8") for name in RATER_PAGES)
    named = set(re.findall(r"\{\{([a-z_.]+)\}\}", page)) - {"sentences", "language.code"}
    assert named <= keys
    said = set(re.findall(r'say\(\s*"([a-z_.]+)"', script))
    assert said <= keys
    literal = {key for key in keys if f'"{key}"' in script}
    assert {key for key in keys - named - literal if not key.startswith(DYNAMIC)} == set()
    screens = {key.split(".")[1] for key in keys if key.startswith("screen.")}
    assert set(re.findall(r'screen\("([a-z_]+)"', script)) <= screens
    assert {f"screen.{name}.{part}" for name in screens for part in ("title", "text")} <= keys


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_sentence_is_written_into_a_script(file: Path) -> None:
    """Texts of the scripts have no words with a capital letter and no two words, except for programs."""
    text = re.sub(r"^\s*(//|\*|/\*).*$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = re.sub(r"(?<=[\s;{])//.*$", "", text, flags=re.MULTILINE)
    strings = re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
    words = [each for each in strings if re.search(r"[A-Z][a-z]+ [a-z]|[a-z]+ [a-z]+[.…!?]|[A-Z][a-z]+[.…!?]$", each)]
    assert words == []


@pytest.mark.parametrize("name", RATER_PAGES)
def test_no_sentence_is_written_into_a_page(name: str) -> None:
    text = (PAGES / name).read_text(encoding="utf-8")
    shown = re.sub(r'<kbd>.*?</kbd>|<p lang="en".*?</p>|<[^>]*>|\{\{[a-z_.]+\}\}|· duelist', "", text)
    assert shown.split() == []
    assert re.findall(r'(?:aria-label|title|alt|placeholder)="(?!\{\{)[^"]+"', text) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_in_each_language(server: Server, tabs: Tabs, language: str) -> None:
    says = load_catalogue(language)
    study = server.create_study(f"in {language}", arms())
    page = tabs.open(server.rater_link(study, "ana"), locale=language)
    wait_until_ready(page)
    html = page.locator("html")
    expect(html).to_have_attribute("lang", language)
    expect(html).to_have_attribute("dir", str(says["language.direction"]))
    expect(page.locator("#question")).to_have_text(str(says["question.default"]))
    expect(page.locator("[data-outcome=tie]")).to_contain_text(str(says["outcome.tie"]))
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#save-status")).to_have_text(str(says["status.saved"]))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text(str(says["shortcuts.enable"]))
    page.keyboard.press("Escape")
    text = page.locator("body").inner_text()
    assert re.findall(r"\{[a-z_]+\}|undefined|\b(?:error|screen|outcome|side|status)\.[a-z_]+", text) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_plural_forms_are_those_of_the_browser(tabs: Tabs, server: Server, language: str) -> None:
    """Every category that Intl.PluralRules returns for a number of votes is in the catalogue."""
    page = tabs.open("/rate/1", locale=language)
    categories = page.evaluate(
        "language => [...new Set([...Array(1201).keys()].map(count => new Intl.PluralRules(language).select(count)))]",
        language,
    )
    for key, sentence in load_catalogue(language).items():
        if isinstance(sentence, dict):
            assert set(categories) <= set(sentence), key


def test_arabic_counts(server: Server, tabs: Tabs) -> None:
    page = tabs.open("/rate/1", locale="ar")
    said = page.evaluate(
        """async () => {
          const { say } = await import('/assets/shared/sentences.js');
          return [1, 2, 3, 11, 100].map(count => say('progress.open', { count }).replace(/[0-9٠-٩]+ /, ''));
        }"""
    )
    assert said == ["صوت واحد حتى الآن", "صوتان حتى الآن", "أصوات حتى الآن", "صوتًا حتى الآن", "صوت حتى الآن"]


def test_the_owner_fixes_the_language_and_a_wording(server: Server, tabs: Tabs) -> None:
    tie = "</script><img src=x onerror=alert(1)> \u2028 &"
    study = server.create_study(
        "fixed", arms(), language="fr", wordings={"fr": {"outcome.tie": tie, "page.title": "</title><script>1"}}
    )
    page = tabs.open(server.rater_link(study, "ana"), locale="de")
    wait_until_ready(page)
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    assert page.locator("[data-outcome=tie]").text_content() == f"{tie} ↓"
    expect(page.locator("img")).to_have_count(0)


def test_visitors_and_errors_in_the_language_of_the_browser(server: Server, tabs: Tabs) -> None:
    says = load_catalogue("es")
    study = server.create_study("visitors", arms(), open_registration=True)
    page = tabs.open(f"/rate/{study}", locale="es-MX")
    expect(page.get_by_role("heading", name=str(says["screen.welcome.title"]))).to_be_visible()
    error = {"code": "study_not_open.ended", "message": "no", "hint": "no", "field": None}
    page.route("**/ask", lambda route: route.fulfill(status=409, json={"error": error}))
    page.get_by_role("textbox").fill("Zoé")
    page.get_by_role("button", name=str(says["welcome.start"])).click()
    expect(page.get_by_role("heading", name=str(says["screen.study_not_open.title"]))).to_be_visible()
    page = tabs.open("/nowhere", locale="zh-CN")
    expect(page.get_by_role("heading", level=1)).to_have_text(str(load_catalogue("zh")["page.not_found"]))


@pytest.mark.parametrize("viewport", ["desktop", "phone"])
def test_left_stays_left_where_text_runs_from_right_to_left(server: Server, tabs: Tabs, viewport: str) -> None:
    options = {"viewport": PHONE} if viewport == "phone" else {}
    study = server.create_study(f"right to left, {viewport}", arms())
    page = tabs.open(server.rater_link(study, "ana"), locale="ar", **options)
    wait_until_ready(page)
    buttons = [page.locator(f"[data-outcome={side}]").bounding_box() for side in ("first", "second")]
    assert buttons[0] is not None
    assert buttons[1] is not None
    assert buttons[0]["x"] < buttons[1]["x"] or buttons[0]["y"] < buttons[1]["y"]
    if viewport == "desktop":
        sides = [page.locator(f".side.{side}").bounding_box() for side in ("first", "second")]
        assert sides[0] is not None
        assert sides[1] is not None
        assert sides[0]["x"] < sides[1]["x"]
        title, theme = page.locator("#title").bounding_box(), page.locator("[data-theme-toggle]").bounding_box()
        assert title is not None
        assert theme is not None
        assert title["x"] > theme["x"]
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
