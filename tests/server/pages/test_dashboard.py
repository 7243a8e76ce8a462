"""The dashboard shows what the study says, while it changes, with 8 arms and with 800."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.server.pages.conftest import Opened
from tests.server.pages.live_server import Server
from tests.server.pages.simulated_votes import vote_by_strength

RATERS = ["ana", "ben", "cléo"]


@pytest.fixture(scope="module")
def rated(server: Server) -> tuple[str, int]:
    """A study with votes, made beside the server on the same file."""
    name = "a study with votes"
    arms = [{"id": f"answer {k}", "payload": f"Answer number {k}."} for k in range(6)]
    study = server.make(name, arms, random_share=0.3)
    beside = server.study(name)
    vote_by_strength(beside, {arm["id"]: 0.6 * k for k, arm in enumerate(arms)}, 45, RATERS)
    beside.close()
    return name, study


def rows(page: Page, name: str) -> list[list[str]]:
    """The texts of a table's body, as somebody sees them."""
    body = page.get_by_role("group", name=name, exact=True).locator("tbody tr")
    body.first.wait_for()
    found: list[list[str]] = body.evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.innerText.trim()))"
    )
    return found


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("+", "").replace(" %", "").replace("<", "").replace(",", ""))


def test_the_leaderboard_is_the_study_s(server: Server, opened: Opened, rated: tuple[str, int]) -> None:
    name, study = rated
    page = opened.owner(f"/study/{study}#results")
    shown = rows(page, "Leaderboard")
    board = server.study(name).leaderboard()
    assert [row[1] for row in shown] == [each.arm for each in board.standings]
    for row, each in zip(shown, board.standings, strict=True):
        utility, low, high = (number(text) for text in re.findall(r"[+−][\d.]+", row[2]))
        np.testing.assert_allclose([utility, low, high], [each.utility, each.low, each.high], atol=0.0051)
        assert row[4] == (
            f"{each.best_rank}" if each.best_rank == each.worst_rank else f"{each.best_rank}–{each.worst_rank}"
        )
        if each.chance_best >= 0.005:
            assert abs(number(row[5]) - 100 * each.chance_best) <= 0.5
        assert [int(text) for text in row[6:9]] == [each.votes, each.wins, each.ties]


def test_can_i_stop_is_the_study_s(server: Server, opened: Opened, rated: tuple[str, int]) -> None:
    name, study = rated
    page = opened.owner(f"/study/{study}#results")
    answer = server.study(name).can_stop()
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("You can stop" if answer.done else "Go on")
    expect(verdict).to_contain_text(answer.statement)  # ids as they are written
    expected = server.call("GET", f"/studies/{study}/can-stop")["votes_expected"]
    if expected is not None and not answer.done:
        expect(verdict).to_contain_text(f"{expected:,} more")


def test_the_win_matrix_by_keyboard(server: Server, opened: Opened, rated: tuple[str, int]) -> None:
    """Every pair that the arrow keys come to says what the log says."""
    name, study = rated
    page = opened.owner(f"/study/{study}#pairs")
    matrix = page.get_by_role("application")
    matrix.focus()
    order = [each.arm for each in server.study(name).leaderboard().standings]
    wins = server.study(name).win_matrix()
    place = {arm: k for k, arm in enumerate(wins.arms)}
    page.keyboard.press("ArrowLeft")  # from the first pair to the corner
    for column in range(1, len(order)):
        page.keyboard.press("ArrowRight")
        i, j = place[order[0]], place[order[column]]
        if wins.votes[i, j]:
            expect(page.locator("#pair-said")).to_contain_text(
                f"{order[column]}: {wins.wins[i, j]} won, {wins.wins[j, i]} lost, {wins.ties[i, j]} tied of {wins.votes[i, j]}"
            )
        else:
            expect(page.locator("#pair-said")).to_contain_text("never compared")


def test_calibration_and_regret(server: Server, opened: Opened, rated: tuple[str, int]) -> None:
    name, study = rated
    page = opened.owner(f"/study/{study}#trust")
    expect(page.get_by_text("The same in numbers")).to_have_count(2)
    for each in page.get_by_text("The same in numbers").all():
        each.click()
    found = server.study(name).calibration()
    shown = rows(page, "Predicted and observed")
    assert [int(row[4]) for row in shown] == [each.votes for each in found.bins]
    np.testing.assert_allclose(
        [number(row[2]) for row in shown], [100 * each.observed for each in found.bins], atol=0.051
    )
    regret = server.study(name).regret()
    costs = rows(page, "Regret a duel")
    assert [int(row[3]) for row in costs[:2]] == [regret.policy_duels, regret.random_duels]
    np.testing.assert_allclose(
        [number(row[1]) for row in costs[:2]], [regret.policy.value, regret.random.value], atol=6e-4
    )


def test_raters_are_dropped_and_given_back(server: Server, opened: Opened, rated: tuple[str, int]) -> None:
    name, study = rated
    page = opened.owner(f"/study/{study}#raters")
    shown = {row[0]: row for row in rows(page, "Raters")}
    for each in server.study(name).raters().rows:
        assert int(shown[each.rater][1]) == each.votes
    row = page.get_by_role("row", name=re.compile("^ben"))
    row.get_by_role("button", name="Drop").click()
    expect(row.get_by_text("votes left out")).to_be_visible()
    assert server.study(name).rater("ben").excluded
    row.get_by_role("button", name="Give back").click()
    expect(row.get_by_role("button", name="Drop")).to_be_visible()
    assert not server.study(name).rater("ben").blocked
    row.get_by_role("button", name="Block").click()
    expect(row.get_by_text("blocked")).to_be_visible()
    told = server.study(name).rater("ben")
    assert told.blocked
    assert not told.excluded
    row.get_by_role("button", name="Give back").click()
    expect(row.get_by_role("button", name="Drop")).to_be_visible()


def test_the_log_and_its_filters(server: Server, opened: Opened, rated: tuple[str, int]) -> None:
    name, study = rated
    page = opened.owner(f"/study/{study}#votes")
    log = server.study(name).votes()
    newest = [(str(vote.sequence), vote.rater, vote.first, vote.second) for vote in reversed(log)]
    assert [tuple(row[:4]) for row in rows(page, f"{len(log)} rows, newest first")] == newest[:50]
    page.get_by_role("combobox", name="Answer").select_option("tie")
    fitting = f"Rows that fit, newest first, of {len(log)} rows in all"
    ties = [str(vote.sequence) for vote in reversed(log) if vote.outcome == "tie"]
    assert [row[0] for row in rows(page, fitting)] == ties
    rater = next(vote.rater for vote in log if vote.outcome == "tie")
    page.get_by_label("Rater", exact=True).fill(str(rater))
    page.keyboard.press("Tab")
    theirs = [str(vote.sequence) for vote in reversed(log) if vote.outcome == "tie" and vote.rater == rater]
    expect(page.get_by_role("group", name=fitting).locator("tbody tr")).to_have_count(len(theirs))
    assert theirs == [row[0] for row in rows(page, fitting)]


def test_why_this_pair(server: Server, opened: Opened, rated: tuple[str, int]) -> None:
    name, study = rated
    page = opened.owner(f"/study/{study}#votes")
    page.get_by_role("button", name="Why pair 3?").first.click()
    why = server.study(name).explain(3)
    shown = rows(page, f"The best of {why.candidates} candidates, as the policy sees them")
    assert [row[0] for row in shown] == [each.arm for each in why.considered]
    np.testing.assert_allclose(
        [number(row[1]) for row in shown], [each.utility for each in why.considered], atol=0.0051
    )


def test_it_is_live(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    """A vote that somebody else gives comes to the screen without a click."""
    name, study = eight
    page = opened.owner(f"/study/{study}#results")
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator(".facts dd").first).to_have_text("0")
    beside = server.study(name)
    for _ in range(3):
        beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    beside.close()
    expect(page.locator(".facts dd").first).to_have_text("3")
    expect(page.locator("caption", has_text="3 votes on 8 arms")).to_be_visible()
    server.call("PATCH", f"/studies/{study}", {"state": "paused"})
    expect(page.locator("#state")).to_have_text("paused")


def test_a_reading_that_is_ahead_of_the_news_is_drawn_with_them(
    server: Server, opened: Opened, eight: tuple[str, int]
) -> None:
    """Readings and news come on two ways: what was read before the news of its votes came is not left with old numbers beside it."""
    name, study = eight
    page = opened.owner("/")
    news: list[Route] = []
    page.route("**/events", lambda route: news.append(route))  # they are on their way
    page.goto(f"{server.url}/study/{study}#results")
    expect(page.locator(".facts dd").first).to_have_text("0")
    beside = server.study(name)
    for _ in range(3):
        beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    beside.close()
    page.get_by_role("link", name="Trust").click()
    page.get_by_role("link", name="Results").click()
    expect(page.locator("caption", has_text="3 votes on 8 arms")).to_be_visible()
    expect(page.locator(".facts dd").first).to_have_text("0")
    news[0].continue_()
    expect(page.locator(".facts dd").first).to_have_text("3")


def test_news_that_come_during_a_reading_are_read_after_it(
    server: Server, opened: Opened, eight: tuple[str, int]
) -> None:
    """An answer that was under way when a vote came does not have it: one more is asked for."""
    name, study = eight
    page = opened.owner(f"/study/{study}#results")
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("caption", has_text="0 votes on 8 arms")).to_be_visible()
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/leaderboard*", lambda route: held.append((route, route.fetch())), times=1)
    beside = server.study(name)
    beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    while not held:
        page.wait_for_timeout(50)
    with page.expect_response("**/can-stop*"):  # the next news are read, up to the reading that is under way
        beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    beside.close()
    page.wait_for_timeout(500)
    held[0][0].fulfill(response=held[0][1])
    expect(page.locator("caption", has_text="2 votes on 8 arms")).to_be_visible()


def test_a_reading_that_breaks_does_not_keep_news_from_being_read(opened: Opened, eight: tuple[str, int]) -> None:
    """Whoever calls during it is given the next one, and so is whoever calls during that."""
    page = opened.owner(f"/study/{eight[1]}")
    drawn = page.evaluate(
        """async () => {
          const { Panel } = await import("/assets/owner/live-panel.js");
          let reads = 0, drawings = 0;
          const path = () => {
            reads += 1;
            if (reads === 1) throw new Error("this one breaks");
            return `/studies?put_away=${reads % 2 === 0}`;
          };
          const draw = () => {
            drawings += 1;
            return document.createElement("p");
          };
          const panel = new Panel({ title: "One", about: "Breaks once.", path, draw });
          for (let round = 0; round < 2; round += 1) await Promise.allSettled([panel.refresh(), panel.refresh()]);
          return [reads, drawings];
        }"""
    )
    assert drawn == [4, 3]


def test_what_was_opened_stays_open(server: Server, opened: Opened, eight: tuple[str, int]) -> None:
    name, study = eight
    beside = server.study(name)
    beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    page = opened.owner(f"/study/{study}#results")
    page.get_by_text("The same in numbers").click()
    page.get_by_role("group", name="Chance of being best, after so many votes").focus()
    beside.tell(beside.ask(rater="ana"), "second", rater="ana")
    beside.close()
    expect(page.locator("caption", has_text="2 votes on 8 arms")).to_be_visible()
    expect(page.get_by_role("group", name="Chance of being best, after so many votes")).to_be_focused()


def test_a_reader_looks_and_changes_nothing(server: Server, opened: Opened, rated: tuple[str, int]) -> None:
    _, study = rated
    token = server.call("POST", f"/studies/{study}/tokens", {"scope": "reader", "label": "a reader"})["token"]
    page = opened.owner(f"/study/{study}#raters", token=token)
    rows(page, "Raters")
    expect(page.get_by_role("button", name="Drop")).to_have_count(0)
    expect(page.get_by_role("link", name="Run the study")).to_have_count(0)


def test_before_the_first_vote_nothing_is_made_up(opened: Opened, eight: tuple[str, int]) -> None:
    """No leader, no empty grid, no average of nothing; and what to do about it in the words of the pages."""
    page = opened.owner(f"/study/{eight[1]}#results")
    expect(page.locator(".verdict")).to_have_text("Go onthere are no votes yet. ")
    page.get_by_role("link", name="Pairs").click()
    expect(page.get_by_text("There is a square as soon as two arms were compared.")).to_be_visible()
    page.get_by_role("link", name="Trust").click()
    expect(page.get_by_text("There is a point as soon as there are votes to predict.")).to_be_visible()
    expect(page.get_by_text("“Random share” under “Run the study”")).to_be_visible()
    expect(page.get_by_text("On average predictions are off")).to_have_count(0)


def test_a_pace_that_nobody_can_have_is_not_shown(server: Server, opened: Opened, rated: tuple[str, int]) -> None:
    """The votes of this study were made within a second, and say that each took several."""
    page = opened.owner(f"/study/{rated[1]}#raters")
    assert all(row.votes_per_hour > 3600 for row in server.study(rated[0]).raters().rows)
    assert {row[3] for row in rows(page, "Raters")} == {"–"}


def test_an_address_that_leads_nowhere(server: Server, opened: Opened) -> None:
    """People see a page and the way out; programs are answered in JSON."""
    page = opened.owner("/study/999999999")
    expect(page.get_by_text("There is no study at this address.")).to_be_visible()
    page.goto(f"{server.url}/nowhere")
    page.get_by_role("link", name="all studies").click()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{server.url}/nowhere")
    assert refused.value.headers["Content-Type"] == "application/json"
    refused.value.close()


@pytest.fixture(scope="module")
def many(server: Server) -> tuple[str, int]:
    """800 arms with long names in several scripts, and 4,000 votes."""
    name = "many"
    scripts = ["the quick brown fox", "быстрая лиса", "素早い狐", "الثعلب السريع", "ταχεία αλεπού"]
    ids = [f"{k} {scripts[k % 5]} " + "x" * (k % 70) for k in range(800)]
    study = server.make(name, [{"id": each, "payload": each} for each in ids], goal="rank")
    rng = np.random.default_rng(0)
    battles = []
    for k in range(4000):
        i, j = (int(each) for each in rng.choice(800, 2, replace=False))
        won = "left" if rng.random() < 1 / (1 + np.exp((j - i) / 200)) else "right"
        battles.append((ids[i], ids[j], won, f"rater {k % 7}"))
    path = server.folder / "battles.csv"
    text = ["left,right,winner,rater", *(",".join(f'"{cell}"' for cell in row) for row in battles)]
    path.write_text("\n".join(text), encoding="utf-8")
    beside = server.study(name)
    beside.import_votes("csv", path)
    beside.close()
    return name, study


def test_eight_hundred_arms(server: Server, opened: Opened, many: tuple[str, int]) -> None:
    name, study = many
    page = opened.owner(f"/study/{study}#results")
    shown = rows(page, "Leaderboard")
    board = server.study(name).leaderboard()
    assert [row[1] for row in shown] == [each.arm.strip() for each in board.standings[:25]]
    page.get_by_role("button", name="Show all").click()
    assert len(rows(page, "Leaderboard")) == 800
    page.goto(f"{server.url}/study/{study}#pairs")
    page.get_by_role("application").focus()
    wins = server.study(name).win_matrix()
    place = {arm: k for k, arm in enumerate(wins.arms)}
    order = np.array([place[each.arm] for each in board.standings])
    compared = 0
    for k in range(2, 12):  # groups of 14 ranks
        page.keyboard.press("ArrowRight")
        groups = np.ix_(order[:14], order[14 * k : 14 * k + 14])
        won, lost = wins.wins[groups].sum(), wins.wins.T[groups].sum()
        found = f"{won} won, {lost} lost" if won + lost else "never compared"
        pair = f"ranks 1 to 14 against ranks {14 * k + 1} to {14 * k + 14}"
        expect(page.locator("#pair-said")).to_contain_text(f"{pair}: {found}")
        compared += int(won + lost)
    assert compared > 0
    page.get_by_label("every arm by itself").check()
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#pair-said")).to_contain_text("2. ")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]


@pytest.mark.parametrize("part", ["results", "pairs", "trust", "raters", "votes", "arms", "sharing", "run"])
def test_every_panel_says_what_it_shows(server: Server, opened: Opened, rated: tuple[str, int], part: str) -> None:
    page = opened.owner(f"/study/{rated[1]}#{part}")
    page.locator("section.card:visible").first.wait_for()
    cards = page.locator("section.card:visible").all()
    assert cards
    for card in cards:
        assert len(card.locator("p.about").inner_text()) > 20
    expect(page.locator("body")).not_to_contain_text("undefined")
    expect(page.locator("body")).not_to_contain_text("[object")


def test_the_first_content_does_not_wait_for_readings(server: Server, opened: Opened, many: tuple[str, int]) -> None:
    """Every panel is there, with its sentence, before any reading is; `docs/pages.md` has the times that were measured."""
    page = opened.owner("/")
    for part in ("results", "pairs", "trust", "raters", "votes"):
        page.goto("about:blank")
        start = time.monotonic()
        page.goto(f"{server.url}/study/{many[1]}#{part}")
        page.locator("section.card p.about:visible").first.wait_for()
        assert time.monotonic() - start < 3.0  # a second on an idle machine
