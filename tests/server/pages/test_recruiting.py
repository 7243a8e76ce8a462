"""Participants of recruiting services: from the address with their id to the redirect with the completion code."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.server.pages.conftest import PHONE, Tabs
from tests.server.pages.live_server import Server
from tests.server.pages.test_rater import cast_vote, wait_until_ready

PARAMETERS = "PROLIFIC_PID=5f2a9c&STUDY_ID=s1&SESSION_ID=x%201"
RECRUITING = {
    "participant": "PROLIFIC_PID",
    "completed": {"code": "C0MPLETE", "redirect": "https://app.prolific.example/submissions/complete?cc={code}"},
    "screened_out": {"code": "SCREENED"},
    "timed_out": {"code": "TIMEOUT"},
    "full": {"redirect": "https://app.prolific.example/full?who={PROLIFIC_PID}"},
}


def open_study(server: Server, name: str, **settings: object) -> int:
    arms = [{"id": c, "payload": f"Tagline {c}"} for c in "abcdef"]
    return server.create_study(name, arms, open_registration=True, **settings)


def start(page: Page) -> None:
    page.get_by_role("button", name="Start").click()
    wait_until_ready(page)


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desktop", "phone"])
def test_a_prolific_participant(server: Server, tabs: Tabs, viewport: dict[str, int] | None) -> None:
    """From the address to the redirect: no name is asked for, parameters are stored, and the code comes after the last vote."""
    name = f"prolific {viewport}"
    study = open_study(server, name, max_votes_per_rater=3, recruiting=RECRUITING)
    page = tabs.open(f"/rate/{study}?{PARAMETERS}", **({} if viewport is None else {"viewport": viewport}))
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    expect(page.get_by_label("Your name")).to_have_count(0)
    start(page)
    for k in range(3):
        expect(page.locator("#progress")).to_have_text(f"{k} of 3 votes")
        cast_vote(page, "ArrowLeft")
    expect(page.get_by_role("heading", name="You have finished. Thank you!")).to_be_visible()
    expect(page.get_by_label("Your completion code")).to_have_text("C0MPLETE")
    rater = server.load_study(name).rater("5f2a9c")
    assert rater.parameters == {"PROLIFIC_PID": "5f2a9c", "STUDY_ID": "s1", "SESSION_ID": "x 1"}
    assert rater.ending == "completed"
    assert [vote.rater for vote in server.load_study(name).votes()] == ["5f2a9c"] * 3
    page.reload()  # the end is still there, and no pair
    link = page.get_by_role("link", name="Finish and return")
    arrived: list[str] = []

    def receive(route: Route) -> None:
        arrived.append(route.request.url)
        route.fulfill(body="Thank you.")

    page.context.route("https://app.prolific.example/**", receive)
    tabs.hosts_allowed.add("app.prolific.example")
    link.click()
    expect(page.get_by_text("Thank you.")).to_be_visible()
    assert arrived == ["https://app.prolific.example/submissions/complete?cc=C0MPLETE"]


def test_the_id_is_required_and_comes_back(server: Server, tabs: Tabs) -> None:
    """Without the id there is no way in; with it, a participant goes on in another browser; another id is another person."""
    study = open_study(server, "ids", recruiting=RECRUITING)
    page = tabs.open(f"/rate/{study}")
    expect(page.get_by_role("heading", name="This link is incomplete")).to_be_visible()
    first = tabs.open(f"/rate/{study}?PROLIFIC_PID=p1")
    start(first)
    cast_vote(first, "ArrowLeft")
    expect(first.locator("#progress")).to_have_text("1 vote so far")
    expect(first.locator("#save-status")).to_have_text("All votes saved.")
    second = tabs.open(f"/rate/{study}?PROLIFIC_PID=p1")
    start(second)
    expect(second.locator("#progress")).to_have_text("1 vote so far")
    first.goto(f"{server.url}/rate/{study}?PROLIFIC_PID=p2")
    start(first)
    expect(first.locator("#progress")).to_have_text("0 votes so far")


def test_all_places_are_taken(server: Server, tabs: Tabs) -> None:
    study = open_study(server, "full", recruiting={**RECRUITING, "places": 1})
    start(tabs.open(f"/rate/{study}?PROLIFIC_PID=p1"))
    late = tabs.open(f"/rate/{study}?PROLIFIC_PID=p%262")
    expect(late.get_by_role("heading", name="All places are taken")).to_be_visible()
    link = late.get_by_role("link", name="Finish and return")
    assert link.get_attribute("href") == "https://app.prolific.example/full?who=p%262"


def test_a_blocked_participant_gets_the_code_of_those_screened_out(server: Server, tabs: Tabs) -> None:
    study = open_study(server, "screened", recruiting=RECRUITING)
    page = tabs.open(f"/rate/{study}?PROLIFIC_PID=p1")
    start(page)
    server.call("POST", f"/studies/{study}/raters/block", {"rater": "p1"})
    page.reload()
    expect(page.get_by_role("heading", name="Thank you for your interest")).to_be_visible()
    expect(page.get_by_label("Your completion code")).to_have_text("SCREENED")


def test_a_closed_study_says_so_instead_of_asking_for_a_name(server: Server, tabs: Tabs) -> None:
    study = open_study(server, "closed")
    server.call("PATCH", f"/studies/{study}", {"state": "ended"})
    page = tabs.open(f"/rate/{study}")
    expect(page.get_by_role("heading", name="This study is not open right now")).to_be_visible()
    expect(page.get_by_label("Your name")).to_have_count(0)


def test_entry_without_a_name(server: Server, tabs: Tabs) -> None:
    study = open_study(server, "nameless", recruiting={"ask_name": False})
    page = tabs.open(f"/rate/{study}?source=poster")
    expect(page.get_by_label("Your name")).to_have_count(0)
    start(page)
    (rater,) = server.load_study("nameless").rater_records()
    assert rater.name.startswith("rater ")
    assert rater.parameters == {"source": "poster"}


def test_parameters_of_an_invitation(server: Server, tabs: Tabs) -> None:
    study = open_study(server, "invited")
    address, _, token = server.rater_link(study, "ana").partition("#")
    wait_until_ready(tabs.open(f"{address}?wave=2#{token}"))
    assert server.load_study("invited").rater("ana").parameters == {"wave": "2"}


def test_a_preview_of_a_task_does_not_take_a_place(server: Server, tabs: Tabs) -> None:
    study = open_study(server, "mturk", recruiting={"participant": "workerId"})
    page = tabs.open(f"/rate/{study}?workerId=w1&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
    expect(page.get_by_role("heading", name="This is a preview")).to_be_visible()
    assert server.load_study("mturk").rater_records() == []


@pytest.fixture
def site() -> Iterator[str]:
    """A site on another port, whose only page has the frame that its path names."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<!doctype html><title>Lab</title><iframe width=900 height=700 src='{self.path[1:]}'></iframe>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{found.server_port}"
    found.shutdown()
    thread.join()
    found.server_close()


def test_only_named_sites_frame_the_rater_page(server: Server, tabs: Tabs, site: str) -> None:
    tabs.hosts_allowed.add(site.removeprefix("http://"))
    study = open_study(server, "framed", recruiting={"embed_in": [site]})
    page = tabs.open(f"{site}/{server.url}/rate/{study}")
    frame = page.frame_locator("iframe")
    frame.get_by_label("Your name").fill("ana")
    frame.get_by_role("button", name="Start").click()
    expect(frame.locator("#rating")).to_be_visible()
    server.call("PATCH", f"/studies/{study}", {"settings": {"recruiting": {"embed_in": ["https://lab.example.org"]}}})
    tabs.problems_allowed = "frame-ancestors"
    refused = tabs.open(f"{site}/{server.url}/rate/{study}")
    refused.wait_for_timeout(500)
    assert refused.frame_locator("iframe").locator("#message").count() == 0
    tabs.open(f"{site}/{server.url}/study/{study}").wait_for_timeout(200)
