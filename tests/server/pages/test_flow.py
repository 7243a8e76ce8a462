"""What comes around the pairs: consent, questionnaire, examples, practice, reasons, breaks and thanks, on desktop and phone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.server.pages.conftest import PHONE, Tabs
from tests.server.pages.live_server import Server
from tests.server.pages.test_accessibility import violations
from tests.server.pages.test_rater import cast_vote, wait_until_ready

FLOW: dict[str, Any] = {
    "welcome": "# Taglines\n\nWe look for the **best** one.",
    "consent": {"text": "Your answers are stored for a year.", "version": "2026-11"},
    "questions": [
        {"name": "age", "text": "How old are you?", "kind": "number"},
        {
            "name": "reader",
            "text": "Do you read ads?",
            "kind": "choice",
            "options": ["often", "never"],
            "accept": ["often"],
        },
        {
            "name": "mood",
            "text": "How do you feel?",
            "kind": "scale",
            "steps": 5,
            "low": "bad",
            "high": "good",
            "required": False,
        },
    ],
    "examples": [{"first": "Short", "second": "Long and dull", "explanation": "It is shorter."}],
    "practice": [
        {"first": "A", "second": "B", "outcome": "second", "explanation": "B is better."},
        {"first": "C", "second": "D"},
    ],
    "break_every": 2,
    "thanks": "See you *soon*.",
    "reasons": ["clearer", "shorter"],
    "reason_required": True,
    "appearance": {"name": "Acme taglines", "color": "#00664f"},
}


def make(server: Server, name: str, **changes: Any) -> int:
    arms = [{"id": c, "payload": f"Tagline {c}"} for c in "abcdef"]
    return server.create_study(name, arms, ask_reason=True, max_votes_per_rater=3, flow={**FLOW, **changes})


def agree(page: Page) -> None:
    expect(page.get_by_text("Your answers are stored")).to_be_visible()
    page.get_by_role("button", name="I agree").click()


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desktop", "phone"])
def test_from_consent_to_thanks(server: Server, tabs: Tabs, viewport: dict[str, int] | None) -> None:
    name = f"flow {viewport}"
    study = make(server, name)
    page = tabs.open(server.rater_link(study, "ana"), **({} if viewport is None else {"viewport": viewport}))
    expect(page.get_by_role("heading", name="Acme taglines")).to_be_visible()
    expect(page.locator("#rating")).to_be_hidden()
    assert violations(page) == []
    agree(page)
    page.get_by_role("button", name="Continue").click()  # nothing answered
    expect(page.get_by_role("alert").filter(has_text="Please answer all questions")).to_be_visible()
    page.get_by_label("How old are you?").fill("31")
    page.get_by_label("often").check()
    assert violations(page) == []
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Examples")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Continue").click()
    page.keyboard.press("ArrowLeft")  # practice by key: wrong
    better = "Right is better" if viewport is None else "Bottom is better"
    expect(page.get_by_text(f"Expected: {better}.")).to_be_visible()
    expect(page.get_by_text("B is better.")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Continue").click()
    page.locator(".intro .side.first").click()
    expect(page.get_by_text("That is right.")).to_be_visible()
    page.get_by_role("button", name="Continue").click()
    wait_until_ready(page)
    cast_vote(page, "ArrowLeft")
    expect(page.get_by_text("Please give a reason")).to_be_visible()
    expect(page.locator("#progress")).to_have_text("0 of 3 votes")
    page.get_by_role("button", name="shorter").click()
    expect(page.get_by_role("button", name="shorter")).to_have_attribute("aria-pressed", "true")
    page.locator("#pair").focus()
    cast_vote(page, "ArrowLeft")
    expect(page.locator("#progress")).to_have_text("1 of 3 votes")
    page.get_by_role("button", name="clearer").click()
    page.locator("#pair").focus()
    cast_vote(page, "ArrowLeft")
    expect(page.get_by_role("heading", name="Time for a break")).to_be_visible()
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="clearer").click()
    page.locator("#pair").focus()
    cast_vote(page, "ArrowLeft")
    expect(page.get_by_text("See you soon.")).to_be_visible()
    stored = server.load_study(name)
    rater = stored.rater("ana")
    assert (rater.consent_version, rater.attributes) == ("2026-11", {"age": 31, "reader": "often"})
    assert rater.consented_at is not None
    assert [vote.reason for vote in stored.votes()] == ["shorter", "clearer", "clearer"]
    page.reload()  # no step comes again
    expect(page.get_by_text("See you soon.")).to_be_visible()


def test_no_agreement_and_ineligible_answers_end_participation(server: Server, tabs: Tabs) -> None:
    study = make(server, "flow declined")
    page = tabs.open(server.rater_link(study, "ana"))
    page.get_by_role("button", name="I do not agree").click()
    expect(page.get_by_role("heading", name="Thank you for your interest")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Thank you for your interest")).to_be_visible()
    page = tabs.open(server.rater_link(study, "ben"))
    agree(page)
    page.get_by_label("How old are you?").fill("40")
    page.get_by_label("never").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Thank you for your interest")).to_be_visible()
    assert server.load_study("flow declined").rater("ben").ending == "screened_out"
