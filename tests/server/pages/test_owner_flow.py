"""What owners set up around the pairs, plan before the first vote, and read by raters' answers."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.server.pages.conftest import DESKTOP, PHONE, Tabs
from tests.server.pages.live_server import Server
from tests.server.pages.test_accessibility import violations
from tests.server.pages.test_new_study import upload

CSV = "\n".join(["id,text", *(f"{c},Tagline {c}" for c in "abcdef")]).encode()


def test_the_flow_card_previews_and_saves_what_raters_see(
    server: Server, tabs: Tabs, eight_texts: tuple[str, int]
) -> None:
    """The preview follows every change before it is saved; what is saved is what the study has."""
    name, study = eight_texts
    page = tabs.open_as_owner(f"/study/{study}#settings")
    card = page.get_by_role("region", name="Around the pairs")
    preview, screen = card.locator(".flow-preview"), card.get_by_label("Screen of the preview")
    card.get_by_label("Consent form (Markdown)").fill("We store **everything**.")
    card.get_by_label("Version of the consent form").fill("v2")
    expect(card.get_by_role("status")).to_have_text("Not saved yet")
    expect(preview.get_by_text("We store everything.")).to_be_visible()
    card.get_by_text("Questionnaire", exact=True).click()
    card.get_by_role("button", name="Add a question").click()
    question = card.get_by_role("group", name="Question", exact=True)
    question.get_by_label("Name of the attribute").fill("reader")
    question.get_by_label("Question", exact=True).fill("Do you read ads?")
    question.get_by_label("Answer").select_option("choice")
    question.get_by_label("Options of a choice").fill("often\nnever")
    question.get_by_label("Eligible options").fill("often")
    question.get_by_label("Quotas").fill("often = 50")
    expect(screen).to_have_value("questions")  # it shows what is being edited
    expect(preview.get_by_text("Do you read ads?")).to_be_visible()
    expect(preview.get_by_label("never")).to_be_visible()
    card.get_by_text("Practice pairs with feedback", exact=True).click()
    card.get_by_role("button", name="Add a practice pair").click()
    pair = card.get_by_role("group", name="Practice pair")
    pair.get_by_label("Left", exact=True).fill("good")
    pair.get_by_label("Right", exact=True).fill("bad")
    card.get_by_text("Reasons, breaks, thanks, appearance").click()
    card.get_by_label("Votes between suggested breaks").fill("20")
    card.get_by_label("Thanks at the end (Markdown)").fill("Come *again*!")
    expect(preview.get_by_text("Come again!")).to_be_visible()
    expect(card.get_by_label("Thanks at the end (Markdown)")).to_be_focused()  # the preview takes no focus
    screen.select_option("break")
    expect(preview.get_by_role("heading", name="Time for a break")).to_be_visible()
    card.get_by_text("Automatic exclusion", exact=True).click()
    card.get_by_label("Share of votes for the same side").fill("0.2")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_contain_text("Give a number from 0.5 to 1")
    assert server.load_study(name).settings.flow.consent is None
    card.get_by_label("Share of votes for the same side").fill("0.9")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved.")
    flow = server.load_study(name).settings.flow
    assert flow.consent is not None
    assert (flow.consent.text, flow.consent.version) == ("We store **everything**.", "v2")
    assert [(each.name, each.options, each.accept, each.quotas) for each in flow.questions] == [
        ("reader", ("often", "never"), ("often",), {"often": 50})
    ]
    assert (flow.practice[0].first, flow.break_every, flow.thanks) == ("good", 20, "Come *again*!")
    assert flow.exclusion.one_side == 0.9


def test_a_removed_question_is_an_unsaved_change(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """A button changes a form as typing does: the change survives another tab."""
    name, study = eight_texts
    server.call("PATCH", f"/studies/{study}", {"settings": {"flow": {"questions": [{"name": "age", "text": "Age?"}]}}})
    page = tabs.open_as_owner(f"/study/{study}#settings")
    card = page.get_by_role("region", name="Around the pairs")
    card.get_by_text("Questionnaire", exact=True).click()
    card.get_by_role("button", name="Remove this question").click()
    expect(card.get_by_role("status")).to_have_text("Not saved yet")
    page.get_by_role("link", name="Items").click()
    expect(page.get_by_role("heading", name="Items")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(card.get_by_role("group", name="Question", exact=True)).to_have_count(0)
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved.")
    assert server.load_study(name).settings.flow.questions == ()


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_plan_before_the_first_vote(tabs: Tabs, viewport: dict[str, int]) -> None:
    page = tabs.open_as_owner("/new", viewport=viewport)
    upload(page, "items.csv", CSV)
    card = page.get_by_role("region", name="Plan before the first vote")
    card.get_by_label("Raters", exact=True).fill("4")
    card.get_by_label("Votes per rater").fill("6")
    card.get_by_label("Payment per rater").fill("2.5")
    card.get_by_role("button", name="Simulate").click()
    table = card.get_by_role("table", name="Expected, from")
    expect(table.get_by_role("row", name="cost of all votes")).to_contain_text("10.00")
    expect(table.get_by_role("row", name="votes for a decision in 80%")).to_contain_text("more than 24")
    expect(card.get_by_text("To raise the chance of a decision, plan more raters")).to_be_visible()
    expect(card.locator("#plan svg").first).to_be_visible()
    assert violations(page) == []
    card.get_by_label("Votes per rater").fill("100000000")
    card.get_by_role("button", name="Simulate").click()
    expect(card.locator(".note.bad")).to_be_visible()
    expect(card.get_by_role("table")).to_have_count(0)


def test_results_by_the_answers_of_raters(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """Owners read any result by an answer; holders of a shared link get neither the filter nor the answers."""
    name, number = eight_texts
    server.call(
        "PATCH",
        f"/studies/{number}",
        {"settings": {"flow": {"questions": [{"name": "age", "text": "Age?", "kind": "number"}]}}},
    )
    study = server.load_study(name)
    for rater, age, votes in (("ana", 31, 3), ("ben", 22, 2)):
        study.describe_rater(rater, age=age)
        for _ in range(votes):
            study.tell(study.ask(rater), "first", rater)
    page = tabs.open_as_owner(f"/study/{number}#results")
    board = page.get_by_role("region", name="Leaderboard")
    expect(board).to_contain_text("5 votes")
    condition = page.get_by_label("Raters", exact=True)
    condition.fill("age >= 30")
    condition.press("Enter")
    expect(board).to_contain_text("3 votes")
    condition.fill("height > 2")
    condition.press("Enter")
    expect(board).to_contain_text("no rater has")
    condition.fill("")
    condition.press("Enter")
    expect(board).to_contain_text("5 votes")
    page.get_by_role("link", name="Raters").click()
    expect(page.get_by_text("age: 31")).to_be_visible()
    token = server.call("POST", f"/studies/{number}/tokens", {"scope": "reader"})["token"]
    reader = tabs.open_as_owner(f"/study/{number}#raters", token=token)
    expect(reader.get_by_role("rowheader", name="ana")).to_be_visible()
    expect(reader.get_by_text("age: 31")).to_have_count(0)
    reader.get_by_role("link", name="Results").click()
    expect(reader.get_by_role("region", name="Leaderboard")).to_contain_text("5 votes")
    expect(reader.locator("#filters input[type=search]")).to_have_count(0)


def test_the_raters_tab_says_which_rule_excluded_a_rater(
    server: Server, tabs: Tabs, eight_texts: tuple[str, int]
) -> None:
    name, number = eight_texts
    server.call("PATCH", f"/studies/{number}", {"settings": {"flow": {"exclusion": {"one_side": 0.9, "after": 5}}}})
    study = server.load_study(name)
    for _ in range(5):
        study.tell(study.ask("ana"), "first", "ana")
    page = tabs.open_as_owner(f"/study/{number}#raters")
    expect(page.get_by_text("by rule: one side only")).to_be_visible()
    page.get_by_role("button", name="Reinstate").click()
    expect(page.get_by_text("by rule")).to_have_count(0)
    assert not server.load_study(name).rater("ana").excluded


def test_a_reason_has_the_words_of_the_page(tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """Owners read of items and percentage points, not of arms and arguments of Python; names of items stay as they are."""
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}#results")
    shown = page.evaluate(
        """async (reason) => (await import("/assets/owner/tabs/results.js")).inPageWords(reason)""",
        "the order of all arms may still change, between arm 1 and arms race; where arms are nearly equal, only a tolerance "
        'ends it, such as tolerance=0.05, unit="chance".',
    )
    assert shown == (
        "the order of all items may still change, between arm 1 and arms race; where items are nearly equal, only a tolerance "
        "ends it, such as 5 percentage points."
    )
