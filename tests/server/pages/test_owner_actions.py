"""What owners change with the pages: settings, items, raters, links, tokens, imports and exports."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from duelist.core.errors import UnknownStudy
from tests.server.pages.conftest import Tabs
from tests.server.pages.live_server import TOKEN, Server


@pytest.fixture
def page(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> Page:
    return tabs.open_as_owner(f"/study/{eight_texts[1]}#settings")


def test_the_sign_in_link_that_the_server_prints(server: Server, tabs: Tabs) -> None:
    page = tabs.open(f"/signin#{quote(TOKEN)}")
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    assert page.url == f"{server.url}/"


@pytest.mark.parametrize(("verb", "state"), [("Pause", "paused"), ("End", "ended"), ("Archive", "archived")])
def test_states(server: Server, eight_texts: tuple[str, int], page: Page, verb: str, state: str) -> None:
    page.get_by_role("button", name=verb, exact=True).click()
    expect(page.get_by_role("button", name=verb, exact=True)).to_be_disabled()
    assert server.load_study(eight_texts[0]).state == state
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator("#state")).to_have_text("open")
    assert server.load_study(eight_texts[0]).state == "open"


def save(page: Page, card: str, button: str = "Save") -> None:
    section = page.get_by_role("region", name=card, exact=True)
    # "Saved." may still be there from the last time, so wait for the response.
    with page.expect_response(lambda response: response.request.method != "GET"):
        section.get_by_role("button", name=button, exact=True).click()
    expect(section.get_by_text("Saved.", exact=True)).to_be_visible()


def test_goal(server: Server, eight_texts: tuple[str, int], page: Page) -> None:
    page.get_by_label("Rank all items").check()
    save(page, "Goal")
    assert server.load_study(eight_texts[0]).settings.goal == "rank"


def test_limits(server: Server, eight_texts: tuple[str, int], page: Page) -> None:
    page.get_by_label("Votes in total").fill("100")
    page.get_by_label("Votes per rater").fill("7")
    save(page, "Limits")
    settings = server.load_study(eight_texts[0]).settings
    assert (settings.max_votes, settings.max_votes_per_rater, settings.max_votes_per_pair) == (100, 7, None)
    page.get_by_label("Votes per rater").fill("")
    save(page, "Limits")
    assert server.load_study(eight_texts[0]).settings.max_votes_per_rater is None


def test_an_invalid_value_is_shown_at_its_field(server: Server, eight_texts: tuple[str, int], page: Page) -> None:
    page.get_by_label("Random share").fill("7")
    section = page.get_by_role("region", name="Pair selection")
    section.get_by_role("button", name="Save").click()
    expect(section.get_by_role("status")).to_have_text("Random share: Enter a number from 0 to 1.")
    expect(page.get_by_label("Random share")).to_be_focused()
    assert server.load_study(eight_texts[0]).settings.random_share == 0.0


def test_pair_selection(server: Server, eight_texts: tuple[str, int], page: Page) -> None:
    page.get_by_label("Time limit per pair").fill("90")
    page.get_by_label("Raters per pair").fill("2")
    page.get_by_label("Random share").fill("0.25")
    page.get_by_label("Repeated pairs").fill("0.1")
    save(page, "Pair selection")
    settings = server.load_study(eight_texts[0]).settings
    assert (settings.lease_seconds, settings.raters_per_duel) == (90, 2)
    assert (settings.random_share, settings.repeat_pairs) == (0.25, 0.1)


def test_rater_page(server: Server, tabs: Tabs, eight_texts: tuple[str, int], page: Page) -> None:
    page.get_by_label("Question", exact=True).fill("Which is funnier?")
    page.get_by_label("Guidelines").fill("# Read\n\n- both\n- **twice**")
    page.get_by_label("Let raters give a reason").check()
    page.get_by_role("checkbox", name="Both bad").uncheck()
    save(page, "Rater page")
    rater = tabs.open(server.rater_link(eight_texts[1], "ana"))
    expect(rater.get_by_role("dialog")).to_contain_text("twice")
    assert rater.locator("dialog li strong").inner_text() == "twice"
    rater.keyboard.press("Escape")
    expect(rater.get_by_role("heading", name="Which is funnier?")).to_be_visible()
    expect(rater.get_by_label("Why?")).to_be_visible()
    expect(rater.locator("[data-outcome=both_bad]")).to_have_count(0)


def test_criteria(server: Server, eight_texts: tuple[str, int], page: Page) -> None:
    page.get_by_label("Criteria, one per line").fill("clear\nnice")
    save(page, "Criteria")
    assert server.load_study(eight_texts[0]).settings.criteria == ("clear", "nice")


def test_gold_pairs_are_made_by_clicking(server: Server, eight_texts: tuple[str, int], page: Page) -> None:
    section = page.get_by_role("region", name="Gold pairs")
    items = section.get_by_role("group", name="Items")
    section.get_by_label("Find an item").fill("number 2")
    items.get_by_role("button").click()
    section.get_by_label("Find an item").fill("number 1")
    items.get_by_role("button", name="text 1").click()
    section.locator("[data-gold=second]").click()
    expect(section.get_by_role("button", name="Remove")).to_be_visible()
    assert [tuple(each) for each in server.load_study(eight_texts[0]).gold()] == [("text 2", "text 1", "second")]
    expect(items.locator("[aria-pressed=true]")).to_have_count(0)
    section.get_by_role("button", name="Remove").click()
    expect(section.get_by_text("No gold pairs yet.")).to_be_visible()
    assert server.load_study(eight_texts[0]).gold() == []


def test_a_form_says_that_it_is_not_saved_yet(eight_texts: tuple[str, int], page: Page) -> None:
    section = page.get_by_role("region", name="Rater page")
    section.get_by_label("Question").fill("Which is shorter?")
    expect(section.get_by_text("Not saved yet")).to_be_visible()
    page.get_by_role("link", name="Items").click()
    expect(page.get_by_role("region", name="Items")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(section.get_by_label("Question")).to_have_value("Which is shorter?")
    save(page, "Rater page")
    expect(section.get_by_text("Not saved yet")).to_be_hidden()


def test_every_setting_waits_for_save(server: Server, eight_texts: tuple[str, int], page: Page) -> None:
    page.get_by_label("Rank all items").check()
    page.get_by_role("checkbox", name="Skip").uncheck()
    page.get_by_label("Language of the page").select_option("fr")
    settings = server.call("GET", f"/studies/{eight_texts[1]}")["settings"]
    assert (settings["goal"], settings["language"], "skip" in settings["answers"]) == ("best", None, True)
    save(page, "Goal")
    save(page, "Rater page")
    settings = server.call("GET", f"/studies/{eight_texts[1]}")["settings"]
    assert (settings["goal"], settings["language"], "skip" in settings["answers"]) == ("rank", "fr", False)


def test_wordings(server: Server, tabs: Tabs, eight_texts: tuple[str, int], page: Page) -> None:
    section = page.get_by_role("region", name="Wordings", exact=True)
    section.get_by_label("Language of the wordings").select_option("de")
    section.get_by_label("Find a sentence").fill("gleich gut")
    section.get_by_label("Gleich gut", exact=True).fill("Unentschieden")
    save(page, "Wordings")
    assert server.load_study(eight_texts[0]).settings.wordings == {"de": {"outcome.tie": "Unentschieden"}}
    rater = tabs.open(server.rater_link(eight_texts[1], "ana"), locale="de")
    expect(rater.locator("[data-outcome=tie]")).to_contain_text("Unentschieden")
    section.get_by_label("Gleich gut", exact=True).fill("")
    save(page, "Wordings")
    assert server.load_study(eight_texts[0]).settings.wordings == {}


def test_rename(server: Server, eight_texts: tuple[str, int], page: Page) -> None:
    page.get_by_role("textbox", name="Name", exact=True).fill(f"{eight_texts[0]}, renamed ✓")
    save(page, "Name")
    expect(page.locator("#title")).to_have_text(f"{eight_texts[0]}, renamed ✓")
    assert server.load_study(f"{eight_texts[0]}, renamed ✓").arms()


def test_deleting_needs_confirmation(server: Server, eight_texts: tuple[str, int], page: Page) -> None:
    page.get_by_role("button", name="Delete this study…").click()
    delete = page.get_by_role("button", name="Delete permanently")
    expect(delete).to_be_disabled()
    page.keyboard.press("Escape")
    assert server.load_study(eight_texts[0]).arms()
    page.get_by_role("button", name="Delete this study…").click()
    page.get_by_role("dialog").get_by_role("textbox").fill(eight_texts[0])
    delete.click()
    page.wait_for_url(f"{server.url}/")
    with pytest.raises(UnknownStudy):
        server.load_study(eight_texts[0])


def test_erasing_a_rater_needs_confirmation(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    beside = server.load_study(eight_texts[0])
    beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}#raters")
    page.get_by_role("button", name="Erase…").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("ana")
    page.get_by_role("button", name="Erase", exact=True).click()
    expect(page.get_by_role("rowheader", name="erased 1")).to_be_visible()
    assert [vote.rater for vote in server.load_study(eight_texts[0]).votes()] == ["erased 1"]


def test_a_note_on_a_rater(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    beside = server.load_study(eight_texts[0])
    beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}#raters")
    page.get_by_role("button", name="Note…").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("speaks Portuguese")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name="ana").get_by_text("speaks Portuguese")).to_be_visible()
    assert server.load_study(eight_texts[0]).rater("ana").attributes == {"note": "speaks Portuguese"}


def test_access_tokens_for_all_studies(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    page = tabs.open_as_owner("/")
    page.get_by_label("Description").fill("a colleague")
    page.get_by_role("button", name="Create token").click()
    token = page.get_by_role("textbox", name="Access token").input_value()
    colleague = tabs.open_as_owner("/", token=token)
    expect(colleague.get_by_role("link", name=eight_texts[0])).to_be_visible()
    expect(colleague.get_by_role("link", name="New study")).to_have_count(0)
    page.get_by_role("button", name="Revoke access of a colleague").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_role("button", name="Revoke access of a colleague")).to_have_count(0)


def test_retire_and_reactivate_an_item(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}#items")
    page.get_by_label("Search").fill("text 3")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("button", name="Retire")).to_have_count(1)
    page.get_by_role("button", name="Retire").click()
    expect(page.get_by_role("button", name="Reactivate")).to_be_visible()
    assert [arm.id for arm in server.load_study(eight_texts[0]).arms() if arm.retired] == ["text 3"]
    page.get_by_role("button", name="Reactivate").click()
    expect(page.get_by_role("button", name="Retire")).to_be_visible()
    assert not any(arm.retired for arm in server.load_study(eight_texts[0]).arms())


def test_rater_links(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}#access")
    page.get_by_label("Names of raters").fill("ana\nбен")
    page.get_by_role("button", name="Create links").click()
    link = page.get_by_label("Link for бен").input_value()
    rater = tabs.open(link)
    expect(rater.locator("#rating")).to_be_visible()
    assert {each["rater"] for each in server.call("GET", f"/studies/{eight_texts[1]}/queue")["pending"]} == {"бен"}
    page.get_by_role("button", name="Revoke access of бен").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_role("button", name="Revoke access of бен")).to_have_count(0)
    again = tabs.open(link)
    expect(again.locator("#message")).to_contain_text("Your link is no longer valid.")


def test_copy_all_links(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}#access", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("Names of raters").fill("ana\nбен")
    page.get_by_role("button", name="Create links").click()
    links = {name: page.get_by_label(f"Link for {name}").input_value() for name in ("ana", "бен")}
    page.get_by_role("button", name="Copy all with names").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert dict(line.split("\t") for line in copied.splitlines()) == links


def test_downloads_equal_exports_of_the_library(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """The browser saves the same bytes as the library writes."""
    name, study = eight_texts
    beside = server.load_study(name)
    for outcome in ("first", "second", "tie"):
        beside.tell(beside.ask(rater="ana"), outcome, rater="ana")
    page = tabs.open_as_owner(f"/study/{study}#access")
    for kind in ("csv", "jsonl", "archive"):
        with page.expect_download() as saved:
            page.get_by_role("region", name="Export").get_by_role("link", name=kind, exact=True).click()
        path = server.folder / f"{kind} from the browser"
        saved.value.save_as(path)
        expected = server.folder / f"{kind} from the library"
        if kind == "archive":
            beside.save(expected)
        else:
            beside.export(expected, kind)
        assert path.read_bytes() == expected.read_bytes()
    beside.close()


def test_import_votes_and_copy_the_study(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    name, study = eight_texts
    page = tabs.open_as_owner(f"/study/{study}#access")
    file = {
        "name": "votes.csv",
        "mimeType": "text/csv",
        "buffer": b"left,right,winner\ntext 1,text 2,left\ntext 3,text 4,tie\n",
    }
    page.get_by_label("File with votes").set_input_files(file)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("2 votes imported, 0 already in the study.")).to_be_visible()
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("0 votes imported, 2 already in the study.")).to_be_visible()
    assert len(server.load_study(name).votes()) == 2
    page.get_by_label("Name of the copy").fill(f"{name}, copy")
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_text("Copied to")).to_be_visible()
    assert len(server.load_study(f"{name}, copy").votes()) == 2


def test_restore_an_archive(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    name, _ = eight_texts
    path = server.load_study(name).save(server.folder / "kept.duelist")
    page = tabs.open_as_owner("/")
    page.get_by_label("Archive", exact=True).set_input_files(path)
    page.get_by_role("textbox", name="Name").fill(f"{name}, restored")
    page.get_by_role("button", name="Restore").click()
    expect(page.locator("#title")).to_have_text(f"{name}, restored")
    assert [arm.id for arm in server.load_study(f"{name}, restored").arms()] == [
        arm.id for arm in server.load_study(name).arms()
    ]


def test_import_votes_with_other_columns(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    name, study = eight_texts
    page = tabs.open_as_owner(f"/study/{study}#access", timezone_id="Asia/Tokyo")
    file = "shown;against;best one;when\nThis is text number 1.;text 2;A;2026-01-01 12:00\n"
    page.get_by_label("File with votes").set_input_files(
        {"name": "old votes.csv", "mimeType": "text/csv", "buffer": file.encode()}
    )
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("Choose the columns above.")).to_be_visible()
    for field, column in (
        ("First item", "shown"),
        ("Second item", "against"),
        ("Winner", "best one"),
        ("Time", "when"),
    ):
        page.get_by_label(field, exact=True).select_option(column)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("1 vote imported, 0 already in the study.")).to_be_visible()
    (vote,) = server.load_study(name).votes()
    assert (vote.first, vote.second, vote.outcome) == ("text 1", "text 2", "first")
    assert vote.voted_at is not None
    assert vote.voted_at.isoformat() == "2026-01-01T03:00:00+00:00"


def test_recruiting_settings(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """A service fills in its address; what is wrong is marked, and what is saved is what the study has."""
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}#settings")
    card = page.get_by_role("region", name="Recruiting")
    card.get_by_label("Recruiting service").select_option("prolific")
    expect(card.locator(".address")).to_contain_text("?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}")
    card.get_by_label("Code").first.fill("C1")
    card.get_by_label("Address to return to").nth(1).fill("http://example.com")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_contain_text("Give an https address")
    expect(card.get_by_label("Address to return to").nth(1)).to_have_attribute("aria-invalid", "true")
    card.get_by_label("Address to return to").nth(1).fill("")
    card.get_by_label("Places").fill("40")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved.")
    settings = server.load_study(eight_texts[0]).settings
    assert settings.open_registration
    assert settings.recruiting.participant == "PROLIFIC_PID"
    assert settings.recruiting.places == 40
    assert settings.recruiting.completed.address({}) == "https://app.prolific.com/submissions/complete?cc=C1"


def test_unsaved_settings_survive_a_change_of_tab(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """Neither another tab nor a change of state redraws a form that the owner has edited; afterwards it is saved."""
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}#settings")
    card = page.get_by_role("region", name="Rater page")
    card.get_by_label("Question").fill("Which tagline is catchier?")
    page.get_by_role("link", name="Items").click()
    expect(page.get_by_role("heading", name="Items")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Pause")).to_be_disabled()
    expect(card.get_by_label("Question")).to_have_value("Which tagline is catchier?")
    card.get_by_role("button", name="Save").click()
    expect(card.locator(".tag.good")).to_have_text("Saved.")
    assert server.load_study(eight_texts[0]).settings.question == "Which tagline is catchier?"


def test_imports_without_a_file_and_exports_without_votes_say_so(tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}#access")
    expect(page.get_by_role("region", name="Export")).to_contain_text("There are no votes yet")
    card = page.get_by_role("region", name="Import votes")
    card.get_by_role("button", name="Import").click()
    expect(card).to_contain_text("Choose a file first.")
    card.get_by_label("File with votes").set_input_files([{"name": "v.csv", "mimeType": "text/csv", "buffer": b""}])
    card.get_by_role("button", name="Import").click()
    expect(card.locator(".note.bad")).to_be_visible()
