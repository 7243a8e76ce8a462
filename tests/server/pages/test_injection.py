"""Cross-site scripting: user content is shown as text. No script runs, and no element is created.

Every stored field is filled with all attack strings below, and every page is opened.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.server.pages.conftest import Tabs
from tests.server.pages.live_server import TOKEN, Server
from tests.server.pages.screenshots import TABS

HIT = "window.__hit=(window.__hit||0)+1"
ATTACKS = [
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
ALL_ATTACKS = "\n\n".join(ATTACKS)
ONE_LINE = " ".join(each.replace("\n", " ") for each in ATTACKS)

# The stored fields that `hostile_study` fills.
STORED = [
    "name of the study",
    "question",
    "guidelines",
    "criterion",
    "id of an item",
    "payload: text",
    "payload: markdown",
    "payload: code",
    "payload: messages",
    "payload: image",
    "payload: any JSON",
    "context",
    "prompt",
    "name of a rater",
    "reason for a vote",
    "note about a rater",
    "label of a token",
    "gold pair",
]


@pytest.fixture(scope="module")
def hostile_study(server: Server) -> int:
    """The id of a study with attack strings in all fields, including those of its votes."""
    ids = [f"{k} {ONE_LINE}" for k in range(8)]
    payloads: list[Any] = [
        ALL_ATTACKS,
        {"markdown": ALL_ATTACKS},
        {"code": ALL_ATTACKS, "language": ONE_LINE},
        [{"role": ONE_LINE, "content": ALL_ATTACKS}],
        {"image": 'x.png" onerror="' + HIT, "text": ALL_ATTACKS, "alt": ONE_LINE},
        {ONE_LINE: ALL_ATTACKS},
        {"image": "//evil.example/x.png"},
        {"text": ONE_LINE},
    ]
    made = server.call(
        "POST",
        "/studies",
        {
            "name": f"hostile {ONE_LINE}"[:400],
            "goal": "best",
            "settings": {
                "question": ONE_LINE,
                "guidelines": ALL_ATTACKS,
                "criteria": [f"first {ONE_LINE}"[:200], f"second {ONE_LINE}"[:200]],
                "show_as": "markdown",
                "ask_reason": True,
            },
        },
    )
    study = int(made["id"])
    context = f"context {ONE_LINE}"[:300]
    arms = [
        {"id": arm[:400], "payload": payload, "context": context} for arm, payload in zip(ids, payloads, strict=True)
    ]
    server.call("POST", f"/studies/{study}/arms", {"arms": arms, "prompts": {context: ALL_ATTACKS}})
    rater = f"rater {ONE_LINE}"[:150]
    for _ in range(6):
        duel = server.call("POST", f"/studies/{study}/ask", {"rater": rater})
        outcomes = dict.fromkeys(made["settings"]["criteria"], "first")
        server.call(
            "POST",
            f"/studies/{study}/votes",
            {"duel": duel["id"], "outcomes": outcomes, "rater": rater, "reason": ONE_LINE[:1000]},
        )
    server.call("POST", f"/studies/{study}/ask", {"rater": rater})
    server.call("POST", f"/studies/{study}/raters/describe", {"rater": rater, "attributes": {"note": ONE_LINE}})
    server.call("POST", f"/studies/{study}/gold", {"first": arms[0]["id"], "second": arms[1]["id"], "outcome": "first"})
    server.call("POST", f"/studies/{study}/tokens", {"scope": "reader", "label": ONE_LINE[:100]})
    return study


def assert_harmless(page: Page) -> None:
    """Assert that no script ran, and that the page has no foreign scripts, event handlers or unsafe addresses."""
    page.wait_for_timeout(150)
    assert page.evaluate("window.__hit") is None
    unsafe = page.evaluate(
        """() => [...document.querySelectorAll('*')].flatMap(node => [...node.attributes].filter(({name, value}) =>
             name.startsWith('on') || name === 'style' && !node.matches('canvas, img, .matrix .cursor') || name === 'srcdoc' ||
             ['href', 'src', 'action', 'formaction', 'data'].includes(name) && !/^(\\/|#|https?:|mailto:|$)/.test(value))
             .map(({name, value}) => `${node.tagName} ${name}=${value.slice(0, 60)}`))"""
    )
    assert unsafe == []
    foreign = page.evaluate(
        """() => [...document.querySelectorAll('script, iframe, object, embed, base, meta[http-equiv], link')]
             .filter(node => !(node.src || node.href || '').startsWith(location.origin + '/assets/'))
             .filter(node => !node.matches('script#sentences[type="application/json"]')) // data of the page, which does not run
             .map(node => node.outerHTML.slice(0, 80))"""
    )
    assert foreign == []


@pytest.mark.parametrize("attack", [ATTACKS[0], ATTACKS[1], ATTACKS[3], ATTACKS[8]])
def test_parsed_html_would_be_detected(tabs: Tabs, attack: str) -> None:
    page = tabs.open("/signin")
    page.evaluate("text => document.body.insertAdjacentHTML('beforeend', text)", attack)
    with pytest.raises(AssertionError):
        assert_harmless(page)
    tabs.problems.clear()  # the violations of the content security policy
    tabs.hosts.clear()


@pytest.mark.parametrize("tab", TABS)
def test_stored_content_on_the_dashboard(tabs: Tabs, hostile_study: int, tab: str) -> None:
    page = tabs.open_as_owner(f"/study/{hostile_study}#{tab}")
    page.locator("section.card:visible").first.wait_for()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    for each in page.locator("summary:visible").all():
        each.click()
    assert_harmless(page)
    if tab == "votes":
        page.get_by_role("button", name="Why pair").first.click()
        page.get_by_role("region", name="Why this pair").wait_for()
        assert_harmless(page)


def test_stored_content_in_the_list_of_studies(tabs: Tabs, hostile_study: int) -> None:
    page = tabs.open_as_owner("/")
    expect(page.get_by_role("link", name="hostile <script>").first).to_be_visible()
    assert_harmless(page)


def test_stored_content_on_the_rater_page(server: Server, tabs: Tabs, hostile_study: int) -> None:
    """Vote on enough pairs that every payload is shown."""
    page = tabs.open(server.rater_link(hostile_study, f"another {ONE_LINE}"[:100]))
    expect(page.get_by_role("dialog")).to_be_visible()
    assert_harmless(page)
    page.keyboard.press("Escape")
    for _ in range(12):
        expect(page.locator("#rating")).to_be_visible()
        page.wait_for_timeout(400)
        assert_harmless(page)
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
    # The attack strings are there, as text.
    assert (
        "window.__hit=(window.__hit||0)+1" in page.locator("#prompt").inner_text()
        or page.locator("#empty").is_visible()
    )


@pytest.mark.parametrize("attack", range(len(ATTACKS)))
def test_content_of_a_previewed_file(tabs: Tabs, attack: int) -> None:
    text = ATTACKS[attack]
    page = tabs.open_as_owner("/new")
    rows = [{"id": f"{k} {text}", "payload": {"markdown": text}, f"column {text}": text} for k in range(3)]
    body = "\n".join(json.dumps(row) for row in rows).encode()
    page.get_by_label("File:").set_input_files(
        {"name": f"{text.replace('/', '')[:60]}.jsonl", "mimeType": "text/plain", "buffer": body}
    )
    page.get_by_role("button", name="Create study").wait_for()
    for each in page.locator("summary:visible").all():
        each.click()
    assert_harmless(page)


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
def test_content_of_the_address(tabs: Tabs, address: str) -> None:
    page = tabs.open()
    for text in ATTACKS[:4]:
        page.goto("about:blank")  # a new fragment alone does not reload the page
        page.goto(tabs.server.url + address.format(quote(text, safe="")))
        page.locator(
            "button.primary, pre, #not-found, #message"
        ).first.wait_for()  # a form, an error, or the page not found
        assert page.evaluate("window.__hit") is None


@pytest.mark.parametrize(
    "wanted",
    [
        "javascript:alert(1)",
        "//evil.example/",
        "https://evil.example/",
        "\\\\evil.example",
        "/\\evil.example",
        "/.//evil.example/",
        "/x/..//evil.example/",
    ],
)
def test_signing_in_redirects_to_this_server_only(server: Server, tabs: Tabs, wanted: str) -> None:
    page = tabs.open(f"/signin?next={quote(wanted, safe='')}")
    page.get_by_label("Access token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: url.startswith(f"{server.url}/") and "/signin" not in url)
    expect(page.get_by_role("heading", name=re.compile("Studies|Page not found"))).to_be_visible()


@pytest.mark.parametrize("field", ["Rater", "Item"])
def test_text_in_a_filter(tabs: Tabs, hostile_study: int, field: str) -> None:
    page = tabs.open_as_owner(f"/study/{hostile_study}#votes")
    for text in ATTACKS[:5]:
        page.get_by_label(field, exact=True).fill(text.replace("\n", " "))
        page.keyboard.press("Tab")
        page.wait_for_timeout(100)
    assert_harmless(page)


def test_numbers_of_attacks() -> None:
    """docs/guides/pages.md states these numbers."""
    assert (len(STORED), len(REFLECTED), len(ATTACKS)) == (18, 13, 12)
