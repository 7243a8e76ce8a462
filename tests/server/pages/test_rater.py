"""The rater page: voting by keyboard, undo, unreliable connections, phones, and visitors without a link."""

from __future__ import annotations

from collections import Counter

import pytest
from playwright.sync_api import Page, expect

from duelist.study.records import current_votes
from tests.server.pages.conftest import PHONE, Tabs
from tests.server.pages.live_server import Server

DOUBLE_CLICK_MS = 400  # a little longer than a new pair ignores clicks


def pair_on(page: Page) -> tuple[str, str]:
    return page.locator("#left").inner_text(), page.locator("#right").inner_text()


def wait_until_ready(page: Page) -> None:
    expect(page.locator("#rating")).to_be_visible()
    page.wait_for_timeout(DOUBLE_CLICK_MS)


def cast_vote(page: Page, key: str) -> None:
    wait_until_ready(page)
    page.keyboard.press(key)


def wait_until_saved(page: Page) -> None:
    expect(page.locator("#save-status")).to_have_text("All votes saved.")


def saved_votes(server: Server, name: str) -> list[tuple[int, str | None, str | None]]:
    """Return duel, outcome and rater of the votes that were not undone."""
    return [(vote.duel_id, vote.outcome, vote.rater) for vote in current_votes(server.load_study(name).votes())]


def test_fifty_pairs_by_keyboard_alone(server: Server, tabs: Tabs) -> None:
    """Every key press becomes a vote on the pair that was on the screen."""
    name = "fifty pairs"
    arms = [{"id": f"arm {k}", "payload": f"Sentence {k}."} for k in range(12)]
    study = server.create_study(name, arms)
    page = tabs.open(server.rater_link(study, "ana"))
    keys = {"ArrowLeft": "first", "ArrowRight": "second", "ArrowDown": "tie", "b": "both_bad", "s": "skip"}
    pressed = []
    for k in range(50):
        wait_until_ready(page)
        key = list(keys)[k % len(keys)]
        pressed.append((*pair_on(page), keys[key]))
        page.keyboard.press(key)
    wait_until_saved(page)
    expect(page.locator("#progress")).to_have_text("40 votes so far")  # skips do not count
    arms_of = {arm["id"]: arm["payload"] for arm in arms}
    log = [(arms_of[vote.first], arms_of[vote.second], vote.outcome) for vote in server.load_study(name).votes()]
    assert log == pressed


def test_the_token_is_removed_from_the_address(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    page = tabs.open(server.rater_link(eight_texts[1], "ana"))
    wait_until_ready(page)
    assert page.url == f"{server.url}/rate/{eight_texts[1]}"
    page.reload()
    wait_until_ready(page)  # the cookie is enough


def test_the_next_pair_is_loaded_before_the_vote(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """A vote shows the next pair even if the server does not respond."""
    page = tabs.open(server.rater_link(eight_texts[1], "ana"))
    with page.expect_response("**/ask") as _:
        wait_until_ready(page)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').filter(e => e.name.endsWith('/ask')).length >= 2"
    )
    before = pair_on(page)
    page.route("**/api/**", lambda route: None)  # no request gets a response
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "([left, right]) => document.querySelector('#left').innerText !== left || document.querySelector('#right').innerText !== right",
        arg=list(before),
    )
    page.unroute_all(behavior="ignoreErrors")


def test_undo(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    name, study = eight_texts
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    first = pair_on(page)
    cast_vote(page, "ArrowLeft")
    wait_until_saved(page)
    wait_until_ready(page)
    second = pair_on(page)
    page.keyboard.press("u")
    wait_until_ready(page)
    assert pair_on(page) == first
    expect(page.locator("[data-outcome=first]")).to_have_attribute("aria-pressed", "true")
    cast_vote(page, "ArrowRight")
    wait_until_saved(page)
    wait_until_ready(page)
    assert pair_on(page) == second  # back to the pair before the undo
    (vote,) = current_votes(server.load_study(name).votes())
    assert vote.outcome == "second"
    assert [row.outcome for row in server.load_study(name).votes()] == ["first", None, "second"]


def test_undo_a_vote_from_another_browser(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    name, study = eight_texts
    link = server.rater_link(study, "ana")
    page = tabs.open(link)
    wait_until_ready(page)
    first = pair_on(page)
    cast_vote(page, "ArrowLeft")
    wait_until_saved(page)
    other = tabs.open(link)
    wait_until_ready(other)
    other.keyboard.press("u")
    expect(other.locator("#left")).to_have_text(first[0])
    expect(other.locator("#right")).to_have_text(first[1])
    assert saved_votes(server, name) == []


def test_a_double_click_is_one_vote(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    name, study = eight_texts
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    # All events in one script: on a busy machine, separate ones could be slow enough for several votes.
    page.get_by_role("button", name="Left is better").evaluate(
        """button => {
          button.click();
          document.querySelector('[data-outcome=first]').click();
          for (const repeat of [false, true])
            document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', repeat, bubbles: true}));
        }"""
    )
    wait_until_saved(page)
    assert len(saved_votes(server, name)) == 1


def test_a_lost_connection_keeps_votes_and_sends_them_once(
    server: Server, tabs: Tabs, eight_texts: tuple[str, int]
) -> None:
    name, study = eight_texts
    page = tabs.open(server.rater_link(study, "ana"))
    cast_vote(page, "ArrowLeft")
    wait_until_saved(page)
    wait_until_ready(page)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').filter(e => e.name.endsWith('/ask')).length >= 3"
    )
    page.context.set_offline(True)
    cast_vote(page, "ArrowRight")
    expect(page.locator("#save-status")).to_contain_text("stored in this browser")
    cast_vote(page, "ArrowDown")
    expect(page.locator("#message")).to_be_visible()  # both loaded pairs have a vote
    expect(page.locator("#save-status")).to_contain_text("2 votes")
    assert len(saved_votes(server, name)) == 1
    page.context.set_offline(False)
    wait_until_saved(page)
    assert [outcome for _, outcome, _ in saved_votes(server, name)] == ["first", "second", "tie"]
    assert len(server.load_study(name).votes()) == 3  # no duplicates


def test_a_vote_whose_response_is_lost_counts_once(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """The server saves the vote, but its response is lost: the page sends the vote again."""
    name, study = eight_texts
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    lost = []

    def lose(route: object) -> None:
        if len(lost) < 2:
            lost.append(route.fetch().status)  # type: ignore[attr-defined]
            route.abort()  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]

    page.route("**/votes", lose)
    cast_vote(page, "ArrowLeft")
    wait_until_saved(page)
    assert lost == [200, 200]
    assert len(server.load_study(name).votes()) == 1


def test_closing_the_page_offline_loses_no_vote(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """A vote that was not sent before the page was closed is sent when it is opened again."""
    name, study = eight_texts
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').filter(e => e.name.endsWith('/ask')).length >= 2"
    )
    page.context.set_offline(True)
    cast_vote(page, "ArrowLeft")
    wait_until_ready(page)
    next_pair = pair_on(page)
    page.route("**/votes", lambda route: route.abort())
    page.context.set_offline(False)
    page.reload()
    assert saved_votes(server, name) == []
    address = page.url
    page.goto("about:blank")  # so that only the new page can send the vote
    page.unroute_all(behavior="ignoreErrors")
    page.goto(address)
    wait_until_saved(page)
    wait_until_ready(page)
    assert [outcome for _, outcome, _ in saved_votes(server, name)] == ["first"]
    assert pair_on(page) == next_pair


def test_undo_a_vote_before_it_is_sent(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    name, study = eight_texts
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').filter(e => e.name.endsWith('/ask')).length >= 2"
    )
    page.context.set_offline(True)
    cast_vote(page, "ArrowLeft")
    cast_vote(page, "u")
    cast_vote(page, "ArrowRight")
    page.context.set_offline(False)
    wait_until_saved(page)
    assert [outcome for _, outcome, _ in saved_votes(server, name)] == ["second"]


def test_two_raters_at_once(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """No pair is shown to both at once, and every vote is saved under the right name."""
    name, study = eight_texts
    pages = {rater: tabs.open(server.rater_link(study, rater)) for rater in ("ana", "ben")}
    for k in range(8):
        for page in pages.values():
            wait_until_ready(page)
        out = server.call("GET", f"/studies/{study}/queue")["pending"]
        pairs = [frozenset((each["first"], each["second"])) for each in out]
        assert len(set(pairs)) == len(pairs)
        for page in pages.values():
            page.keyboard.press(["ArrowLeft", "ArrowRight"][k % 2])
    for page in pages.values():
        wait_until_saved(page)
    assert Counter(rater for _, _, rater in saved_votes(server, name)) == {"ana": 8, "ben": 8}


def test_on_a_phone_the_sides_are_stacked_and_the_vote_bar_is_visible(server: Server, tabs: Tabs) -> None:
    long = "A long answer goes on and on. " * 80
    study = server.create_study("phone", [{"id": f"{k}", "payload": f"{k}. {long}"} for k in range(4)])
    page = tabs.open(server.rater_link(study, "ana"), viewport=PHONE, has_touch=True, is_mobile=True)
    wait_until_ready(page)
    left, right = (page.locator(f".side.{side}").bounding_box() for side in ("first", "second"))
    assert left is not None
    assert right is not None
    assert right["y"] >= left["y"] + left["height"]
    for name in ("Top is better", "Tie", "Both bad", "Skip", "Bottom is better"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    widths = [page.get_by_role("button", name=name).bounding_box()["width"] for name in ("Tie", "Both bad", "Skip")]
    assert min(widths) > 100
    button = page.get_by_role("button", name="Top is better")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    button.tap()
    wait_until_saved(page)


def test_on_a_desktop_the_sides_are_next_to_each_other(
    server: Server, tabs: Tabs, eight_texts: tuple[str, int]
) -> None:
    page = tabs.open(server.rater_link(eight_texts[1], "ana"))
    wait_until_ready(page)
    for name in ("Left is better", "Tie", "Both bad", "Skip", "Right is better"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    left, right = (page.locator(f".side.{side}").bounding_box() for side in ("first", "second"))
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]


def test_several_criteria_and_a_reason(server: Server, tabs: Tabs) -> None:
    name = "posters"
    study = server.create_study(
        name, [{"id": c, "payload": c} for c in "abcd"], criteria=["clear", "nice"], ask_reason=True
    )
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    page.keyboard.press("r")
    page.keyboard.type("because su?b")  # typing in the field does not vote
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    wait_until_saved(page)
    votes = server.load_study(name).votes()
    assert [(vote.criterion, vote.outcome, vote.reason) for vote in votes] == [
        ("clear", "first", "because su?b"),
        ("nice", "tie", "because su?b"),
    ]
    cast_vote(page, "u")
    wait_until_ready(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    wait_until_saved(page)
    assert [vote.outcome for vote in current_votes(server.load_study(name).votes())] == ["second", "second"]


def test_only_the_offered_outcomes_can_be_chosen(server: Server, tabs: Tabs) -> None:
    name = "two outcomes"
    study = server.create_study(name, [{"id": c, "payload": c} for c in "abcd"], answers=[])
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    expect(page.locator("#vote-bar [data-outcome]")).to_have_count(2)
    for key in ("ArrowDown", "b", "s"):
        page.keyboard.press(key)
    cast_vote(page, "ArrowLeft")
    wait_until_saved(page)
    assert [outcome for _, outcome, _ in saved_votes(server, name)] == ["first"]


def test_keyboard_shortcuts_can_be_switched_off(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    name, study = eight_texts
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    page.keyboard.press("?")
    page.get_by_label("Use keyboard shortcuts").uncheck()
    page.keyboard.press("Escape")
    for key in ("ArrowLeft", "b", "s"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Tie").click()
    wait_until_saved(page)
    assert [outcome for _, outcome, _ in saved_votes(server, name)] == ["tie"]


def test_after_the_last_pair(server: Server, tabs: Tabs) -> None:
    study = server.create_study("three items", [{"id": c, "payload": c} for c in "abc"])
    page = tabs.open(server.rater_link(study, "ana"))
    for _ in range(3):
        cast_vote(page, "ArrowLeft")
    expect(page.get_by_role("heading", name="You have finished. Thank you!")).to_be_visible()
    page.keyboard.press("u")  # undo still works
    wait_until_ready(page)
    cast_vote(page, "ArrowRight")
    expect(page.get_by_role("heading", name="You have finished. Thank you!")).to_be_visible()


def test_pausing_and_reopening_a_study(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    name, study = eight_texts
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    server.call("PATCH", f"/studies/{study}", {"state": "paused"})
    cast_vote(page, "ArrowLeft")
    cast_vote(page, "ArrowLeft")  # votes on pending pairs are accepted
    expect(page.get_by_role("heading", name="This study is not open right now")).to_be_visible()
    assert len(saved_votes(server, name)) == 2
    server.call("PATCH", f"/studies/{study}", {"state": "open"})
    page.get_by_role("button", name="Check again").click()
    wait_until_ready(page)


def test_open_registration(server: Server, tabs: Tabs) -> None:
    name = "open registration"
    study = server.create_study(name, [{"id": c, "payload": c} for c in "abcd"], open_registration=True)
    page = tabs.open(f"/rate/{study}")
    page.get_by_label("Your name").fill("zoë")
    page.get_by_role("button", name="Start").click()
    cast_vote(page, "ArrowLeft")
    wait_until_saved(page)
    assert [rater for _, _, rater in saved_votes(server, name)] == ["zoë"]


def test_an_owner_sees_that_the_page_is_for_raters(tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    page = tabs.open_as_owner(f"/rate/{eight_texts[1]}")
    expect(page.get_by_role("heading", name="This page is for raters")).to_be_visible()


@pytest.mark.parametrize("link", ["unknown token", "no token"])
def test_a_study_by_invitation_only(server: Server, tabs: Tabs, eight_texts: tuple[str, int], link: str) -> None:
    page = tabs.open(f"/rate/{eight_texts[1]}" + ("#not-a-token" if link == "unknown token" else ""))
    expect(page.get_by_role("heading", name="This study is by invitation only")).to_be_visible()
    text = "no longer valid" if link == "unknown token" else "use the full link from your invitation"
    expect(page.locator("#message")).to_contain_text(text)
    expect(page.locator("#rating")).to_be_hidden()


@pytest.mark.parametrize(
    ("status", "code", "title"),
    [
        (409, "no_pairs_left", "You have finished. Thank you!"),
        (409, "limit_reached.per_rater", "You have finished. Thank you!"),
        (409, "nothing_to_ask.too_few_arms", "No pairs right now"),
        (409, "rater_blocked.erased", "This study is no longer open to you"),
        (401, "token_unknown", "Your link is no longer valid"),
        (409, "a_new_code.of_some_kind", "No pairs right now"),
        (500, "internal", "No pairs right now"),
    ],
)
def test_raters_see_no_message_of_the_server(
    tabs: Tabs, server: Server, eight_texts: tuple[str, int], status: int, code: str, title: str
) -> None:
    """Errors are translated by their code, the most specific part first; unknown codes by their status."""
    error = {"code": code, "message": "Arm 'a' has lease 7.", "hint": "Call `tell` with duel 3.", "field": None}
    page = tabs.open()
    page.route("**/ask", lambda route: route.fulfill(status=status, json={"error": error}))
    page.goto(server.rater_link(eight_texts[1], "ana"))
    message = page.locator("#message")
    expect(message.get_by_role("heading")).to_have_text(title)
    assert not {word for word in ("Arm", "lease 7", "tell", "duel", code) if word in message.inner_text()}


def test_a_quota_with_gold_pairs_and_skips(server: Server, tabs: Tabs) -> None:
    """The count never exceeds the quota, whatever kinds of pairs there were, and skips do not fill it."""
    name = "a quota of five"
    study = server.create_study(
        name, [{"id": c, "payload": c} for c in "abcdef"], max_votes_per_rater=5, gold_share=0.5
    )
    beside = server.load_study(name)
    for first, second in ("ab", "cd", "ef"):
        beside.add_gold(first, second, "first")
    page = tabs.open(server.rater_link(study, "ana"))
    expect(page.locator("#progress")).to_have_text("0 of 5 votes")
    votes = 0
    for key in ["s", "ArrowLeft", "ArrowLeft", "s", "ArrowRight", "ArrowLeft", "ArrowLeft"]:
        cast_vote(page, key)
        votes += key != "s"
        expect(page.locator("#progress")).to_have_text(f"{votes} of 5 votes")
    expect(page.get_by_role("heading", name="You have finished. Thank you!")).to_be_visible()
    page.reload()
    expect(page.locator("#progress")).to_have_text("5 of 5 votes")
    assert {vote.kind for vote in beside.votes()} == {"normal", "gold"}
    beside.close()


def test_undo_restores_the_reason(server: Server, tabs: Tabs) -> None:
    study = server.create_study("reasons", [{"id": c, "payload": c} for c in "abcd"], ask_reason=True)
    page = tabs.open(server.rater_link(study, "ana"))
    wait_until_ready(page)
    page.locator("#reason").fill("It is shorter.")
    page.keyboard.press("Escape")
    cast_vote(page, "ArrowLeft")
    wait_until_ready(page)
    expect(page.locator("#reason")).to_have_value("")
    page.keyboard.press("u")
    expect(page.locator("#reason")).to_have_value("It is shorter.")


def test_reading_the_guidelines_is_not_response_time(server: Server, tabs: Tabs) -> None:
    name = "guidelines"
    study = server.create_study(name, [{"id": c, "payload": c} for c in "abcd"], guidelines="Take your time.")
    page = tabs.open(server.rater_link(study, "ana"))
    page.clock.install()
    page.reload()
    expect(page.locator("#rating")).to_be_visible()
    page.keyboard.press("g")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.clock.run_for(60_000)
    page.get_by_role("button", name="Close").click()
    expect(page.locator("dialog")).to_have_count(0)
    page.clock.run_for(2_000)
    page.keyboard.press("ArrowLeft")
    page.clock.run_for(2_000)
    wait_until_saved(page)
    (vote,) = server.load_study(name).votes()
    assert vote.response_seconds is not None
    assert 1.9 < vote.response_seconds < 30.0


def test_headings_in_answers_are_larger_than_the_text(server: Server, tabs: Tabs) -> None:
    arms = [{"id": c, "payload": f"# Heading {c}\n\nSome text."} for c in "ab"]
    page = tabs.open(server.rater_link(server.create_study("headings", arms, show_as="markdown"), "ana"))
    size = "node => parseFloat(getComputedStyle(node).fontSize)"
    heading, text = (page.locator(f"#left {tag}").first.evaluate(size) for tag in ("h3", "p"))
    assert heading > 1.2 * text
