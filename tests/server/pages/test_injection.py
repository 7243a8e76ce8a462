"""Whatever people write, pages show it as text: nothing of it runs, and none of it becomes an element.

Every field that reaches a page is filled with every way of writing a script that this file knows, and every page is opened.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.server.pages.conftest import Opened
from tests.server.pages.live_server import Server

HIT = "window.__hit=(window.__hit||0)+1"
SCRIPTS = [
    f"<script>{HIT}</script>",
    f"<img src=x onerror={HIT}>",
    f"<svg/onload={HIT}>",
    f'"><iframe srcdoc="<script>parent.{HIT}</script>"></iframe>',
    f"' onfocus='{HIT}' autofocus='",
    f"[link](javascript:{HIT}) ![x](javascript:{HIT}) <javascript:{HIT}>",
    f"[link](JaVaScRiPt:{HIT}) [data](data:text/html,<script>{HIT}</script>)",
    f"</textarea></title></style><script>{HIT}</script>",
    f'<a href="javascript:{HIT}">x</a><style>*{{background:url(//evil.example/)}}</style>',
    "{{constructor.constructor('" + HIT + "')()}} ${" + HIT + "}",
    f"```html\n<script>{HIT}</script>\n```\n\n| a |\n|---|\n| <img src=x onerror={HIT}> |",
    "\u202e<b>&lt;i&gt;\u0000".replace("\u0000", ""),
]
EVERYTHING = "\n\n".join(SCRIPTS)
LINE = " ".join(each.replace("\n", " ") for each in SCRIPTS)

# The fields of what is stored, by how they get there; each test says how many it looked at.
STORED = [
    "name of the study",
    "question",
    "guidelines",
    "criterion",
    "id of an arm",
    "payload: text",
    "payload: markdown",
    "payload: code",
    "payload: messages",
    "payload: image",
    "payload: any JSON",
    "context",
    "prompt",
    "name of a rater",
    "reason of a vote",
    "attribute of a rater",
    "label of a key",
    "gold pair",
]


@pytest.fixture(scope="module")
def poisoned(server: Server) -> int:
    """A study all of whose fields are hostile, votes and all."""
    ids = [f"{k} {LINE}" for k in range(8)]
    payloads: list[Any] = [
        EVERYTHING,
        {"markdown": EVERYTHING},
        {"code": EVERYTHING, "language": LINE},
        [{"role": LINE, "content": EVERYTHING}],
        {"image": 'x.png" onerror="' + HIT, "text": EVERYTHING, "alt": LINE},
        {LINE: EVERYTHING},
        {"image": "//evil.example/x.png"},
        {"text": LINE},
    ]
    made = server.call(
        "POST",
        "/studies",
        {
            "name": f"hostile {LINE}"[:400],
            "goal": "best",
            "settings": {
                "question": LINE,
                "guidelines": EVERYTHING,
                "criteria": [f"first {LINE}"[:200], f"second {LINE}"[:200]],
                "show_as": "markdown",
                "ask_reason": True,
            },
        },
    )
    study = int(made["id"])
    context = f"context {LINE}"[:300]
    arms = [
        {"id": arm[:400], "payload": payload, "context": context} for arm, payload in zip(ids, payloads, strict=True)
    ]
    server.call("POST", f"/studies/{study}/arms", {"arms": arms, "prompts": {context: EVERYTHING}})
    rater = f"rater {LINE}"[:150]
    for _ in range(6):
        duel = server.call("POST", f"/studies/{study}/ask", {"rater": rater})
        outcomes = dict.fromkeys(made["settings"]["criteria"], "first")
        server.call(
            "POST",
            f"/studies/{study}/votes",
            {"duel": duel["id"], "outcomes": outcomes, "rater": rater, "reason": LINE[:1000]},
        )
    server.call("POST", f"/studies/{study}/ask", {"rater": rater})
    server.call("POST", f"/studies/{study}/raters/describe", {"rater": rater, "attributes": {"note": LINE}})
    server.call("POST", f"/studies/{study}/gold", {"first": arms[0]["id"], "second": arms[1]["id"], "outcome": "first"})
    server.call("POST", f"/studies/{study}/tokens", {"scope": "reader", "label": LINE[:100]})
    return study


def clean(page: Page) -> None:
    """Nothing ran, and nothing in the page could: no scripts but ours, no handlers, no strange addresses."""
    page.wait_for_timeout(150)
    assert page.evaluate("window.__hit") is None
    strange = page.evaluate(
        """() => [...document.querySelectorAll('*')].flatMap(node => [...node.attributes].filter(({name, value}) =>
             name.startsWith('on') || name === 'style' && !node.matches('canvas, img, .matrix .cursor') || name === 'srcdoc' ||
             ['href', 'src', 'action', 'formaction', 'data'].includes(name) && !/^(\\/|#|https?:|mailto:|$)/.test(value))
             .map(({name, value}) => `${node.tagName} ${name}=${value.slice(0, 60)}`))"""
    )
    assert strange == []
    foreign = page.evaluate(
        """() => [...document.querySelectorAll('script, iframe, object, embed, base, meta[http-equiv], link')]
             .filter(node => !(node.src || node.href || '').startsWith(location.origin + '/assets/'))
             .map(node => node.outerHTML.slice(0, 80))"""
    )
    assert foreign == []


@pytest.mark.parametrize("script", [SCRIPTS[0], SCRIPTS[1], SCRIPTS[3], SCRIPTS[8]])
def test_a_page_that_parsed_it_would_be_found_out(opened: Opened, script: str) -> None:
    page = opened.page("/signin")
    page.evaluate("text => document.body.insertAdjacentHTML('beforeend', text)", script)
    with pytest.raises(AssertionError):
        clean(page)
    opened.problems.clear()  # the content policy has complained, too
    opened.hosts.clear()


@pytest.mark.parametrize("part", ["results", "pairs", "trust", "raters", "votes", "arms", "sharing", "run"])
def test_stored_in_a_study_shown_to_its_owner(opened: Opened, poisoned: int, part: str) -> None:
    page = opened.owner(f"/study/{poisoned}#{part}")
    page.locator("section.card:visible").first.wait_for()
    expect(page.get_by_text("Reading…")).to_have_count(0)
    for each in page.locator("summary:visible").all():
        each.click()
    clean(page)
    if part == "votes":
        page.get_by_role("button", name="Why pair").first.click()
        page.get_by_role("region", name="Why this pair").wait_for()
        clean(page)


def test_stored_in_a_study_shown_in_the_list(opened: Opened, poisoned: int) -> None:
    page = opened.owner("/")
    expect(page.get_by_role("link", name="hostile <script>").first).to_be_visible()
    clean(page)


def test_stored_in_a_study_shown_to_raters(server: Server, opened: Opened, poisoned: int) -> None:
    """All pairs of the eight arms, so that every payload has been on both sides."""
    page = opened.page(server.link(poisoned, f"another {LINE}"[:100]))
    expect(page.get_by_role("dialog")).to_be_visible()
    clean(page)
    page.keyboard.press("Escape")
    for _ in range(12):
        expect(page.locator("#work")).to_be_visible()
        page.wait_for_timeout(400)
        clean(page)
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
    # The same text, written as Markdown may be, is there to be read.
    assert (
        "window.__hit=(window.__hit||0)+1" in page.locator("#prompt").inner_text()
        or page.locator("#empty").is_visible()
    )


@pytest.mark.parametrize("script", range(len(SCRIPTS)))
def test_in_a_file_that_is_previewed(opened: Opened, script: int) -> None:
    text = SCRIPTS[script]
    page = opened.owner("/new")
    rows = [{"id": f"{k} {text}", "payload": {"markdown": text}, f"column {text}": text} for k in range(3)]
    body = "\n".join(json.dumps(row) for row in rows).encode()
    page.get_by_label("A file:").set_input_files(
        {"name": f"{text.replace('/', '')[:60]}.jsonl", "mimeType": "text/plain", "buffer": body}
    )
    page.get_by_role("button", name="Start the study").wait_for()
    for each in page.locator("summary:visible").all():
        each.click()
    clean(page)


REFLECTED = [
    "/signin?next={}",
    "/signin?next=javascript:{}",
    "/signin?next=//evil.example/{}",
    "/signin?next=\\\\evil.example/{}",
    "/study/{}",
    "/rate/{}",
    "/rate/1#{}",
    "/study/1#{}",
    "/new#{}",
    "/#{}",
    "/?{}",
    "/rate/1?name={}",
    "/study/1?context={}",
]


@pytest.mark.parametrize("address", REFLECTED)
def test_reflected_from_the_address(opened: Opened, address: str) -> None:
    page = opened.page()
    for text in SCRIPTS[:4]:
        page.goto("about:blank")  # or a new fragment would not load the page anew
        page.goto(opened.server.url + address.format(quote(text, safe="")))
        page.locator("button.primary, pre, #lost").first.wait_for()  # where each ends: a form, an error, or nowhere
        assert page.evaluate("window.__hit") is None


@pytest.mark.parametrize(
    "wanted", ["javascript:alert(1)", "//evil.example/", "https://evil.example/", "\\\\evil.example", "/\\evil.example"]
)
def test_signing_in_leads_nowhere_else(server: Server, opened: Opened, wanted: str) -> None:
    page = opened.page(f"/signin?next={quote(wanted, safe='')}")
    from tests.server.pages.live_server import TOKEN

    page.get_by_label("Key").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/**")
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()


@pytest.mark.parametrize("field", ["Rater", "Arm"])
def test_typed_into_a_filter(opened: Opened, poisoned: int, field: str) -> None:
    page = opened.owner(f"/study/{poisoned}#votes")
    for text in SCRIPTS[:5]:
        page.get_by_label(field, exact=True).fill(text.replace("\n", " "))
        page.keyboard.press("Tab")
        page.wait_for_timeout(100)
    clean(page)


def test_how_much_is_tried() -> None:
    """The numbers that docs/pages.md states."""
    assert (len(STORED), len(REFLECTED), len(SCRIPTS)) == (18, 13, 12)
