"""Raters at work, in a real browser: by keyboard, twice over, with a bad connection, on a phone."""

from __future__ import annotations

from collections import Counter

import pytest
from playwright.sync_api import Page, expect

from duelist.study.records import current_votes
from tests.server.pages.conftest import PHONE, Opened
from tests.server.pages.live_server import Server

SETTLE = 400  # milliseconds for which a new pair takes no answer, and a little more


def texts(page: Page) -> tuple[str, str]:
    return page.locator("#left").inner_text(), page.locator("#right").inner_text()


def ready(page: Page) -> None:
    expect(page.locator("#work")).to_be_visible()
    page.wait_for_timeout(SETTLE)


def answer(page: Page, key: str) -> None:
    ready(page)
    page.keyboard.press(key)


def settled(page: Page) -> None:
    expect(page.locator("#sent")).to_have_text("All answers are sent.")


def all_votes(server: Server, name: str) -> list[tuple[int, str | None, str | None]]:
    return [(vote.duel_id, vote.outcome, vote.rater) for vote in current_votes(server.study(name).votes())]


def test_fifty_pairs_by_keyboard_alone(server: Server, opened: Opened) -> None:
    """The votes in the log are the keys that were pressed, on the pairs that were on the screen."""
    name = "fifty"
    arms = [{"id": f"arm {k}", "payload": f"Sentence {k}."} for k in range(12)]
    study = server.make(name, arms)
    page = opened.page(server.link(study, "ana"))
    keys = {"ArrowLeft": "first", "ArrowRight": "second", "ArrowDown": "tie", "b": "both_bad", "s": "skip"}
    pressed = []
    for k in range(50):
        ready(page)
        key = list(keys)[k % len(keys)]
        pressed.append((*texts(page), keys[key]))
        page.keyboard.press(key)
    settled(page)
    expect(page.locator("#progress")).to_have_text("50 answers so far")
    arms_of = {arm["id"]: arm["payload"] for arm in arms}
    log = [(arms_of[vote.first], arms_of[vote.second], vote.outcome) for vote in server.study(name).votes()]
    assert log == pressed


def test_the_secret_leaves_the_address(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    page = opened.page(server.link(eight[1], "ana"))
    ready(page)
    assert page.url == f"{server.url}/rate/{eight[1]}"
    page.reload()
    ready(page)  # the cookie is enough


def test_the_next_pair_is_there_before_the_vote(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    """With every request held up, a vote still shows the next pair."""
    page = opened.page(server.link(eight[1], "ana"))
    with page.expect_response("**/ask") as _:
        ready(page)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').filter(e => e.name.endsWith('/ask')).length >= 2"
    )
    before = texts(page)
    page.route("**/api/**", lambda route: None)  # nothing is answered any more
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "([left, right]) => document.querySelector('#left').innerText !== left || document.querySelector('#right').innerText !== right",
        arg=list(before),
    )
    page.unroute_all(behavior="ignoreErrors")


def test_undo(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    name, study = eight
    page = opened.page(server.link(study, "ana"))
    ready(page)
    first = texts(page)
    answer(page, "ArrowLeft")
    settled(page)
    ready(page)
    second = texts(page)
    page.keyboard.press("u")
    ready(page)
    assert texts(page) == first
    expect(page.locator("[data-outcome=first]")).to_have_attribute("aria-pressed", "true")
    answer(page, "ArrowRight")
    settled(page)
    ready(page)
    assert texts(page) == second  # where one was is where one goes on
    (vote,) = current_votes(server.study(name).votes())
    assert vote.outcome == "second"
    assert [row.outcome for row in server.study(name).votes()] == ["first", None, "second"]


def test_undo_of_a_vote_from_another_browser(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    name, study = eight
    link = server.link(study, "ana")
    page = opened.page(link)
    ready(page)
    first = texts(page)
    answer(page, "ArrowLeft")
    settled(page)
    other = opened.page(link)
    ready(other)
    other.keyboard.press("u")
    expect(other.locator("#left")).to_have_text(first[0])
    expect(other.locator("#right")).to_have_text(first[1])
    assert all_votes(server, name) == []


def test_a_double_click_is_one_vote(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    name, study = eight
    page = opened.page(server.link(study, "ana"))
    ready(page)
    # All in one go, or a busy machine would make slow, deliberate answers of it.
    page.get_by_role("button", name="Left is better").evaluate(
        """button => {
          button.click();
          document.querySelector('[data-outcome=first]').click();
          for (const repeat of [false, true])
            document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', repeat, bubbles: true}));
        }"""
    )
    settled(page)
    assert len(all_votes(server, name)) == 1


def test_a_lost_connection_keeps_votes_and_sends_them_once(
    server: Server, opened: Opened, eight: tuple[str, int]
) -> None:
    name, study = eight
    page = opened.page(server.link(study, "ana"))
    answer(page, "ArrowLeft")
    settled(page)
    ready(page)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').filter(e => e.name.endsWith('/ask')).length >= 3"
    )
    page.context.set_offline(True)
    answer(page, "ArrowRight")
    expect(page.locator("#sent")).to_contain_text("kept in this browser")
    answer(page, "ArrowDown")
    expect(page.locator("#empty")).to_be_visible()  # both pairs that were here are answered
    expect(page.locator("#sent")).to_contain_text("2 answers")
    assert len(all_votes(server, name)) == 1
    page.context.set_offline(False)
    settled(page)
    assert [outcome for _, outcome, _ in all_votes(server, name)] == ["first", "second", "tie"]
    assert len(server.study(name).votes()) == 3  # not a row more


def test_an_acknowledgement_that_is_lost(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    """The vote arrives, the answer does not: it is sent again and counted once."""
    name, study = eight
    page = opened.page(server.link(study, "ana"))
    ready(page)
    lost = []

    def lose(route: object) -> None:
        if len(lost) < 2:
            lost.append(route.fetch().status)  # type: ignore[attr-defined]
            route.abort()  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]

    page.route("**/votes", lose)
    answer(page, "ArrowLeft")
    settled(page)
    assert lost == [200, 200]
    assert len(server.study(name).votes()) == 1


def test_a_reload_without_a_connection_loses_nothing(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    """The vote is in the browser when the page closes; opened again, the page sends it, and shows the pair that was next."""
    name, study = eight
    page = opened.page(server.link(study, "ana"))
    ready(page)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').filter(e => e.name.endsWith('/ask')).length >= 2"
    )
    page.context.set_offline(True)
    answer(page, "ArrowLeft")
    ready(page)
    waiting = texts(page)
    page.route("**/votes", lambda route: route.abort())
    page.context.set_offline(False)
    page.reload()
    assert all_votes(server, name) == []
    address = page.url
    page.goto("about:blank")  # the page that is opened again sends the vote, and not this one in the meantime
    page.unroute_all(behavior="ignoreErrors")
    page.goto(address)
    settled(page)
    ready(page)
    assert [outcome for _, outcome, _ in all_votes(server, name)] == ["first"]
    assert texts(page) == waiting


def test_undo_of_a_vote_that_was_not_sent(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    name, study = eight
    page = opened.page(server.link(study, "ana"))
    ready(page)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').filter(e => e.name.endsWith('/ask')).length >= 2"
    )
    page.context.set_offline(True)
    answer(page, "ArrowLeft")
    answer(page, "u")
    answer(page, "ArrowRight")
    page.context.set_offline(False)
    settled(page)
    assert [outcome for _, outcome, _ in all_votes(server, name)] == ["second"]


def test_two_raters_at_once(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    """No pair is out twice, every vote is its own rater's."""
    name, study = eight
    pages = {rater: opened.page(server.link(study, rater)) for rater in ("ana", "ben")}
    for k in range(8):
        for page in pages.values():
            ready(page)
        out = server.call("GET", f"/studies/{study}/queue")["out"]
        pairs = [frozenset((each["first"], each["second"])) for each in out]
        assert len(set(pairs)) == len(pairs)
        for page in pages.values():
            page.keyboard.press(["ArrowLeft", "ArrowRight"][k % 2])
    for page in pages.values():
        settled(page)
    assert Counter(rater for _, _, rater in all_votes(server, name)) == {"ana": 8, "ben": 8}


def test_on_a_phone_sides_are_stacked_and_answers_in_reach(server: Server, opened: Opened) -> None:
    long = "A long answer goes on and on. " * 80
    study = server.make("phone", [{"id": f"{k}", "payload": f"{k}. {long}"} for k in range(4)])
    page = opened.page(server.link(study, "ana"), viewport=PHONE, has_touch=True, is_mobile=True)
    ready(page)
    left, right = (page.locator(f".side.{side}").bounding_box() for side in ("first", "second"))
    assert left is not None
    assert right is not None
    assert right["y"] >= left["y"] + left["height"]
    for name in ("Left is better", "Tie", "Both bad", "Skip", "Right is better", "Undo"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    widths = [page.get_by_role("button", name=name).bounding_box()["width"] for name in ("Tie", "Both bad", "Skip")]  # type: ignore[index]
    assert min(widths) > 100
    button = page.get_by_role("button", name="Left is better")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    button.tap()
    settled(page)


def test_on_a_desktop_sides_are_side_by_side(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    page = opened.page(server.link(eight[1], "ana"))
    ready(page)
    for name in ("Left is better", "Tie", "Both bad", "Skip", "Right is better", "Undo"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    left, right = (page.locator(f".side.{side}").bounding_box() for side in ("first", "second"))
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]


def test_several_questions_and_a_reason(server: Server, opened: Opened) -> None:
    name = "posters"
    study = server.make(name, [{"id": c, "payload": c} for c in "abcd"], criteria=["clear", "nice"], ask_reason=True)
    page = opened.page(server.link(study, "ana"))
    ready(page)
    page.keyboard.press("r")
    page.keyboard.type("because su?b")  # letters in the field are no answers
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    settled(page)
    votes = server.study(name).votes()
    assert [(vote.criterion, vote.outcome, vote.reason) for vote in votes] == [
        ("clear", "first", "because su?b"),
        ("nice", "tie", "because su?b"),
    ]
    answer(page, "u")
    ready(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settled(page)
    assert [vote.outcome for vote in current_votes(server.study(name).votes())] == ["second", "second"]


def test_answers_that_are_not_offered(server: Server, opened: Opened) -> None:
    name = "two answers"
    study = server.make(name, [{"id": c, "payload": c} for c in "abcd"], answers=[])
    page = opened.page(server.link(study, "ana"))
    ready(page)
    expect(page.locator("#answers [data-outcome]")).to_have_count(2)
    for key in ("ArrowDown", "b", "s"):
        page.keyboard.press(key)
    answer(page, "ArrowLeft")
    settled(page)
    assert [outcome for _, outcome, _ in all_votes(server, name)] == ["first"]


def test_letters_can_be_switched_off(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    name, study = eight
    page = opened.page(server.link(study, "ana"))
    ready(page)
    page.keyboard.press("?")
    page.get_by_label("Answer with keys").uncheck()
    page.keyboard.press("Escape")
    for key in ("ArrowLeft", "b", "s"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Tie").click()
    settled(page)
    assert [outcome for _, outcome, _ in all_votes(server, name)] == ["tie"]


def test_through_with_everything(server: Server, opened: Opened) -> None:
    study = server.make("three", [{"id": c, "payload": c} for c in "abc"])
    page = opened.page(server.link(study, "ana"))
    for _ in range(3):
        answer(page, "ArrowLeft")
    expect(page.get_by_role("heading", name="Thank you, that was all.")).to_be_visible()
    page.keyboard.press("u")  # even now the last can be taken back
    ready(page)
    answer(page, "ArrowRight")
    expect(page.get_by_role("heading", name="Thank you, that was all.")).to_be_visible()


def test_a_pause_and_its_end(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    name, study = eight
    page = opened.page(server.link(study, "ana"))
    ready(page)
    server.call("PATCH", f"/studies/{study}", {"state": "paused"})
    answer(page, "ArrowLeft")
    answer(page, "ArrowLeft")  # both pairs that are out are still taken
    expect(page.get_by_role("heading", name="This study is not open at the moment.")).to_be_visible()
    assert len(all_votes(server, name)) == 2
    server.call("PATCH", f"/studies/{study}", {"state": "open"})
    page.get_by_role("button", name="Look again").click()
    ready(page)


def test_open_registration(server: Server, opened: Opened) -> None:
    name = "open to all"
    study = server.make(name, [{"id": c, "payload": c} for c in "abcd"], open_registration=True)
    page = opened.page(f"/rate/{study}")
    page.get_by_label("Your name").fill("zoë")
    page.get_by_role("button", name="Take part").click()
    answer(page, "ArrowLeft")
    settled(page)
    assert [rater for _, _, rater in all_votes(server, name)] == ["zoë"]


def test_an_owner_is_told_that_this_is_the_page_of_raters(opened: Opened, eight: tuple[str, int]) -> None:
    page = opened.owner(f"/rate/{eight[1]}")
    expect(page.get_by_role("heading", name="This is the page of raters.")).to_be_visible()


@pytest.mark.parametrize("closed", ["unknown key", "no registration"])
def test_the_door_is_shut(server: Server, opened: Opened, eight: tuple[str, int], closed: str) -> None:
    page = opened.page(f"/rate/{eight[1]}" + ("#not-a-key" if closed == "unknown key" else ""))
    expect(page.get_by_role("button", name="Take part")).to_be_visible()
    page.get_by_role("button", name="Take part").click()
    expect(page.get_by_role("alert").filter(has_text="not open to everybody")).to_be_visible()
    expect(page.locator("#work")).to_be_hidden()
