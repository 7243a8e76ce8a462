"""What owners do, by clicks: each changes the study, and what cannot be undone asks first."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from duelist.core.errors import UnknownStudy
from tests.server.pages.conftest import Opened
from tests.server.pages.live_server import TOKEN, Server


@pytest.fixture
def page(server: Server, opened: Opened, eight: tuple[str, int]) -> Page:
    return opened.owner(f"/study/{eight[1]}#run")


def test_the_link_that_the_server_prints(server: Server, opened: Opened) -> None:
    page = opened.page(f"/signin#{quote(TOKEN)}")
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    assert page.url == f"{server.url}/"


@pytest.mark.parametrize(("word", "state"), [("Pause", "paused"), ("Close", "ended"), ("Put away", "archived")])
def test_states(server: Server, eight: tuple[str, int], page: Page, word: str, state: str) -> None:
    page.get_by_role("button", name=word, exact=True).click()
    expect(page.get_by_role("button", name=word, exact=True)).to_be_disabled()
    assert server.study(eight[0]).state == state
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator("#state")).to_have_text("open")
    assert server.study(eight[0]).state == "open"


def save(page: Page, card: str, button: str = "Save") -> None:
    section = page.get_by_role("region", name=card, exact=True)
    # "Saved." may be there from the last time: the answer of the server is waited for.
    with page.expect_response(lambda answer: answer.request.method != "GET"):
        section.get_by_role("button", name=button, exact=True).click()
    expect(section.get_by_text("Saved.", exact=True)).to_be_visible()


def test_goal(server: Server, eight: tuple[str, int], page: Page) -> None:
    page.get_by_label("Rank them").check()
    expect(page.get_by_text("The goal is: Rank them.")).to_be_visible()
    assert server.study(eight[0]).settings.goal == "rank"


def test_limits(server: Server, eight: tuple[str, int], page: Page) -> None:
    page.get_by_label("Votes in total").fill("100")
    page.get_by_label("Votes of a rater").fill("7")
    save(page, "Limits")
    settings = server.study(eight[0]).settings
    assert (settings.max_votes, settings.max_votes_per_rater, settings.max_votes_per_pair) == (100, 7, None)
    page.get_by_label("Votes of a rater").fill("")
    save(page, "Limits")
    assert server.study(eight[0]).settings.max_votes_per_rater is None


def test_a_wrong_value_is_named_where_it_is(server: Server, eight: tuple[str, int], page: Page) -> None:
    page.get_by_label("Random share").fill("7")
    section = page.get_by_role("region", name="How pairs are asked")
    section.get_by_role("button", name="Save").click()
    expect(section.get_by_role("status")).to_have_text("“Random share” is 7.0. Give a number from 0 to 1.")
    expect(page.get_by_label("Random share")).to_be_focused()
    assert server.study(eight[0]).settings.random_share == 0.0


def test_how_pairs_are_asked(server: Server, eight: tuple[str, int], page: Page) -> None:
    page.get_by_label("Seconds a rater has").fill("90")
    page.get_by_label("Raters for each pair").fill("2")
    page.get_by_label("Random share").fill("0.25")
    page.get_by_label("May a rater see a pair again?").fill("0.1")
    save(page, "How pairs are asked")
    settings = server.study(eight[0]).settings
    assert (settings.lease_seconds, settings.raters_per_duel) == (90, 2)
    assert (settings.random_share, settings.repeat_pairs) == (0.25, 0.1)


def test_what_raters_see(server: Server, opened: Opened, eight: tuple[str, int], page: Page) -> None:
    page.get_by_label("Question above the pair").fill("Which is funnier?")
    page.get_by_label("Guidelines").fill("# Read\n\n- both\n- **twice**")
    page.get_by_label("Offer a field for the reason").check()
    save(page, "What raters see")
    page.get_by_label("Both bad", exact=True).uncheck()
    expect(page.get_by_role("region", name="What raters see").get_by_text("Saved.")).to_have_count(2)
    rater = opened.page(server.link(eight[1], "ana"))
    expect(rater.get_by_role("dialog")).to_contain_text("twice")
    assert rater.locator("dialog li strong").inner_text() == "twice"
    rater.keyboard.press("Escape")
    expect(rater.get_by_role("heading", name="Which is funnier?")).to_be_visible()
    expect(rater.get_by_label("Why?")).to_be_visible()
    expect(rater.locator("[data-outcome=both_bad]")).to_have_count(0)


def test_several_questions(server: Server, eight: tuple[str, int], page: Page) -> None:
    page.get_by_label("Questions about each pair").fill("clear\nnice")
    save(page, "Several questions")
    assert server.study(eight[0]).settings.criteria == ("clear", "nice")


def test_gold_pairs(server: Server, eight: tuple[str, int], page: Page) -> None:
    page.get_by_label("Id of one arm").fill("text 1")
    page.get_by_label("Id of another").fill("text 2")
    section = page.get_by_role("region", name="Gold pairs")
    section.get_by_label("Answer").select_option("second")
    section.get_by_role("button", name="Add").click()
    expect(section.get_by_role("button", name="Remove")).to_be_visible()
    assert [tuple(each) for each in server.study(eight[0]).gold()] == [("text 1", "text 2", "second")]
    page.get_by_label("Id of another").fill("nobody")
    section.get_by_role("button", name="Add").click()
    expect(section.get_by_text("nobody")).to_be_visible()
    section.get_by_role("button", name="Remove").click()
    expect(section.get_by_text("There are none yet.")).to_be_visible()
    assert server.study(eight[0]).gold() == []


def test_rename(server: Server, eight: tuple[str, int], page: Page) -> None:
    page.get_by_role("textbox", name="Name", exact=True).fill(f"{eight[0]}, renamed ✓")
    save(page, "Name")
    expect(page.locator("#title")).to_have_text(f"{eight[0]}, renamed ✓")
    assert server.study(f"{eight[0]}, renamed ✓").arms()


def test_deleting_asks_first(server: Server, eight: tuple[str, int], page: Page) -> None:
    page.get_by_role("button", name="Delete this study…").click()
    go = page.get_by_role("button", name="Delete for good")
    expect(go).to_be_disabled()
    page.keyboard.press("Escape")
    assert server.study(eight[0]).arms()
    page.get_by_role("button", name="Delete this study…").click()
    page.get_by_role("dialog").get_by_role("textbox").fill(eight[0])
    go.click()
    page.wait_for_url(f"{server.url}/")
    with pytest.raises(UnknownStudy):
        server.study(eight[0])


def test_erasing_a_rater_asks_first(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    beside = server.study(eight[0])
    beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    page = opened.owner(f"/study/{eight[1]}#raters")
    page.get_by_role("button", name="Erase…").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("ana")
    page.get_by_role("button", name="Erase", exact=True).click()
    expect(page.get_by_role("rowheader", name="erased 1")).to_be_visible()
    assert [vote.rater for vote in server.study(eight[0]).votes()] == ["erased 1"]


def test_a_note_on_a_rater(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    beside = server.study(eight[0])
    beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    page = opened.owner(f"/study/{eight[1]}#raters")
    page.get_by_role("button", name="Note…").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("speaks Portuguese")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name="ana").get_by_text("speaks Portuguese")).to_be_visible()
    assert server.study(eight[0]).rater("ana").attributes == {"note": "speaks Portuguese"}


def test_keys_for_all_studies(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    page = opened.owner("/")
    page.get_by_label("For whom").fill("a colleague")
    page.get_by_role("button", name="Make a key").click()
    key = page.get_by_role("textbox", name="Key").input_value()
    colleague = opened.owner("/", token=key)
    expect(colleague.get_by_role("link", name=eight[0])).to_be_visible()
    expect(colleague.get_by_role("link", name="New study")).to_have_count(0)
    page.get_by_role("button", name="End the key of a colleague").click()
    page.get_by_role("button", name="End it").click()
    expect(page.get_by_role("button", name="End the key of a colleague")).to_have_count(0)


def test_arms_are_retired_and_taken_back(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    page = opened.owner(f"/study/{eight[1]}#arms")
    page.get_by_label("Search").fill("text 3")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("button", name="Retire")).to_have_count(1)
    page.get_by_role("button", name="Retire").click()
    expect(page.get_by_role("button", name="Take back in")).to_be_visible()
    assert [arm.id for arm in server.study(eight[0]).arms() if arm.retired] == ["text 3"]
    page.get_by_role("button", name="Take back in").click()
    expect(page.get_by_role("button", name="Retire")).to_be_visible()
    assert not any(arm.retired for arm in server.study(eight[0]).arms())


def test_links_and_keys(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    page = opened.owner(f"/study/{eight[1]}#sharing")
    page.get_by_label("Names of raters").fill("ana\nбен")
    page.get_by_role("button", name="Make links").click()
    link = page.get_by_label("Link of бен").input_value()
    rater = opened.page(link)
    expect(rater.locator("#work")).to_be_visible()
    assert {each["rater"] for each in server.call("GET", f"/studies/{eight[1]}/queue")["out"]} == {"бен"}
    page.get_by_role("button", name="End the key of бен").click()
    page.get_by_role("button", name="End it").click()
    expect(page.get_by_role("button", name="End the key of бен")).to_have_count(0)
    late = opened.page(link)
    expect(late.get_by_role("heading", name="This link has ended.")).to_be_visible()


def test_all_links_are_copied_at_once(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    page = opened.owner(f"/study/{eight[1]}#sharing", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("Names of raters").fill("ana\nбен")
    page.get_by_role("button", name="Make links").click()
    links = {name: page.get_by_label(f"Link of {name}").input_value() for name in ("ana", "бен")}
    page.get_by_role("button", name="Copy all, with names").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert dict(line.split("\t") for line in copied.splitlines()) == links


def test_downloads_are_the_library_s(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    """What the browser saves is what the library writes."""
    name, study = eight
    beside = server.study(name)
    for outcome in ("first", "second", "tie"):
        beside.tell(beside.ask(rater="ana"), outcome, rater="ana")
    page = opened.owner(f"/study/{study}#sharing")
    for kind in ("csv", "jsonl", "archive"):
        with page.expect_download() as saved:
            page.get_by_role("region", name="Downloads").get_by_role("link", name=kind, exact=True).click()
        path = server.folder / f"{kind} from the browser"
        saved.value.save_as(path)
        ours = server.folder / f"{kind} from the library"
        if kind == "archive":
            beside.save(ours)
        else:
            beside.export(kind, ours)
        assert path.read_bytes() == ours.read_bytes()
    beside.close()


def test_votes_from_a_file_and_a_copy(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    name, study = eight
    page = opened.owner(f"/study/{study}#sharing")
    file = {
        "name": "votes.csv",
        "mimeType": "text/csv",
        "buffer": b"left,right,winner\ntext 1,text 2,left\ntext 3,text 4,tie\n",
    }
    page.get_by_label("File of votes").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Take in").click()
    expect(page.get_by_text("2 votes were added")).to_be_visible()
    page.get_by_role("button", name="Take in").click()
    expect(page.get_by_text("0 votes were added; 2 were there already.")).to_be_visible()
    assert len(server.study(name).votes()) == 2
    page.get_by_label("A copy of this study").fill(f"{name}, again")
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_text("Copied:")).to_be_visible()
    assert len(server.study(f"{name}, again").votes()) == 2


def test_back_from_an_archive(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    name, _ = eight
    path = server.study(name).save(server.folder / "kept.duelist")
    page = opened.owner("/")
    page.get_by_label("Archive", exact=True).set_input_files(path)
    page.get_by_role("textbox", name="Name").fill(f"{name}, back")
    page.get_by_role("button", name="Restore").click()
    expect(page.locator("#title")).to_have_text(f"{name}, back")
    assert [arm.id for arm in server.study(f"{name}, back").arms()] == [arm.id for arm in server.study(name).arms()]
