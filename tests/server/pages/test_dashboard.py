"""The dashboard: it shows the results of the library, stays current, and copes with 800 items."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import numpy as np
import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from duelist.study.items.labels import label_of
from tests.server.pages.conftest import Tabs
from tests.server.pages.live_server import Server
from tests.server.pages.screenshots import TABS
from tests.server.pages.simulated_votes import simulate_votes

RATERS = ["ana", "ben", "cléo"]


@pytest.fixture(scope="module")
def study_with_votes(server: Server) -> tuple[str, int]:
    """The name and id of a study with 45 votes."""
    name = "votes on six answers"
    arms = [{"id": f"answer {k}", "payload": f"Answer number {k}."} for k in range(6)]
    study = server.create_study(name, arms, random_share=0.3)
    beside = server.load_study(name)
    simulate_votes(beside, {arm["id"]: 0.6 * k for k, arm in enumerate(arms)}, 45, RATERS)
    beside.close()
    return name, study


def rows(page: Page, name: str) -> list[list[str]]:
    """Return the visible texts of the body of a table."""
    body = page.get_by_role("group", name=name, exact=True).locator("tbody tr")
    body.first.wait_for()
    found: list[list[str]] = body.evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.innerText.trim()))"
    )
    return found


def number(text: str) -> float:
    """Parse a number as the pages format it."""
    return float(text.replace("−", "-").replace("+", "").replace("%", "").replace("<", "").replace(",", ""))


def test_leaderboard(server: Server, tabs: Tabs, study_with_votes: tuple[str, int]) -> None:
    name, study = study_with_votes
    page = tabs.open_as_owner(f"/study/{study}#results")
    shown = rows(page, "Leaderboard")
    board = server.load_study(name).leaderboard(labels=True)
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


def test_stopping_decision(server: Server, tabs: Tabs, study_with_votes: tuple[str, int]) -> None:
    name, study = study_with_votes
    page = tabs.open_as_owner(f"/study/{study}#results")
    expected = server.load_study(name).can_stop(labels=True)
    decision = page.locator(".decision")
    expect(decision).to_contain_text("You can stop" if expected.done else "Keep going")
    shown = expected.statement.replace("where arms", "where items").replace(
        'tolerance=0.05, unit="chance"', "5 percentage points"
    )
    expect(decision).to_contain_text(shown)
    votes = server.call("GET", f"/studies/{study}/can-stop")["votes_expected"]
    if votes is not None and not expected.done:
        expect(decision).to_contain_text(f"{votes:,} more")


def test_win_matrix_by_keyboard(server: Server, tabs: Tabs, study_with_votes: tuple[str, int]) -> None:
    """The arrow keys move along the first row, and the readout has the counts of each pair."""
    name, study = study_with_votes
    page = tabs.open_as_owner(f"/study/{study}#pairs")
    matrix = page.get_by_role("application")
    matrix.focus()
    order = [each.arm for each in server.load_study(name).leaderboard(labels=True).standings]
    wins = server.load_study(name).win_matrix(labels=True)
    place = {arm: k for k, arm in enumerate(wins.arms)}
    page.keyboard.press("ArrowLeft")  # from the first pair to the diagonal
    for column in range(1, len(order)):
        page.keyboard.press("ArrowRight")
        i, j = place[order[0]], place[order[column]]
        if wins.votes[i, j]:
            expect(page.locator("#pair-readout")).to_contain_text(
                f"{order[column]}: {wins.wins[i, j]} won, {wins.wins[j, i]} lost, {wins.ties[i, j]} tied of {wins.votes[i, j]}"
            )
        else:
            expect(page.locator("#pair-readout")).to_contain_text("never compared")


def test_calibration_and_regret(server: Server, tabs: Tabs, study_with_votes: tuple[str, int]) -> None:
    name, study = study_with_votes
    page = tabs.open_as_owner(f"/study/{study}#diagnostics")
    expect(page.get_by_text("Show as a table")).to_have_count(2)
    for each in page.get_by_text("Show as a table").all():
        each.click()
    found = server.load_study(name).calibration()
    shown = rows(page, "Predicted and observed shares")
    assert [int(row[4]) for row in shown] == [each.votes for each in found.bins]
    np.testing.assert_allclose(
        [number(row[2]) for row in shown], [100 * each.observed for each in found.bins], atol=0.051
    )
    regret = server.load_study(name).regret()
    regrets = rows(page, "Regret per pair")
    assert [int(row[3]) for row in regrets[:2]] == [regret.policy_duels, regret.random_duels]
    np.testing.assert_allclose(
        [number(row[1]) for row in regrets[:2]], [regret.policy.value, regret.random.value], atol=6e-4
    )


def test_block_exclude_and_reinstate_raters(server: Server, tabs: Tabs, study_with_votes: tuple[str, int]) -> None:
    name, study = study_with_votes
    page = tabs.open_as_owner(f"/study/{study}#raters")
    shown = {row[0]: row for row in rows(page, "Raters")}
    for each in server.load_study(name).raters().rows:
        assert int(shown[each.rater][1]) == each.votes
    row = page.get_by_role("row", name=re.compile("^ben"))
    row.get_by_role("button", name="Exclude votes").click()
    expect(row.get_by_text("votes excluded")).to_be_visible()
    assert server.load_study(name).rater("ben").excluded
    row.get_by_role("button", name="Reinstate").click()
    expect(row.get_by_role("button", name="Exclude votes")).to_be_visible()
    assert not server.load_study(name).rater("ben").blocked
    row.get_by_role("button", name="Block").click()
    expect(row.get_by_text("blocked")).to_be_visible()
    blocked = server.load_study(name).rater("ben")
    assert blocked.blocked
    assert not blocked.excluded
    row.get_by_role("button", name="Reinstate").click()
    expect(row.get_by_role("button", name="Exclude votes")).to_be_visible()


def test_vote_log_and_its_filters(server: Server, tabs: Tabs, study_with_votes: tuple[str, int]) -> None:
    name, study = study_with_votes
    page = tabs.open_as_owner(f"/study/{study}#votes")
    log = server.load_study(name).votes()
    label = {arm.id: label_of(arm) for arm in server.load_study(name).arms()}
    newest = [(str(vote.sequence), vote.rater, label[vote.first], label[vote.second]) for vote in reversed(log)]
    assert [tuple(row[:4]) for row in rows(page, f"{len(log)} entries, newest first")] == newest[:50]
    page.get_by_role("combobox", name="Vote").select_option("tie")
    matches = f"Matches among {len(log)} entries, newest first"
    ties = [str(vote.sequence) for vote in reversed(log) if vote.outcome == "tie"]
    assert [row[0] for row in rows(page, matches)] == ties
    rater = next(vote.rater for vote in log if vote.outcome == "tie")
    page.get_by_label("Rater", exact=True).fill(str(rater))
    page.keyboard.press("Tab")
    theirs = [str(vote.sequence) for vote in reversed(log) if vote.outcome == "tie" and vote.rater == rater]
    expect(page.get_by_role("group", name=matches).locator("tbody tr")).to_have_count(len(theirs))
    assert theirs == [row[0] for row in rows(page, matches)]


def test_why_this_pair(server: Server, tabs: Tabs, study_with_votes: tuple[str, int]) -> None:
    name, study = study_with_votes
    page = tabs.open_as_owner(f"/study/{study}#votes")
    page.get_by_role("button", name="Why pair 3?").first.click()
    why = server.load_study(name).explain(3, labels=True)
    shown = rows(page, f"Best of {why.n_candidates} candidates by the estimates of the policy")
    assert [row[0] for row in shown] == [each.arm for each in why.candidates]
    np.testing.assert_allclose(
        [number(row[1]) for row in shown], [each.utility for each in why.candidates], atol=0.0051
    )


def test_live_updates(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """New votes and changes of the state appear without a click."""
    name, study = eight_texts
    page = tabs.open_as_owner(f"/study/{study}#results")
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator(".facts dd").first).to_have_text("0")
    beside = server.load_study(name)
    for _ in range(3):
        beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    beside.close()
    expect(page.locator(".facts dd").first).to_have_text("3")
    expect(page.locator("caption", has_text="3 votes on 8 items")).to_be_visible()
    server.call("PATCH", f"/studies/{study}", {"state": "paused"})
    expect(page.locator("#state")).to_have_text("paused")


def test_results_that_arrive_before_their_event_are_redrawn_with_it(
    server: Server, tabs: Tabs, eight_texts: tuple[str, int]
) -> None:
    """A panel is drawn again when an event changes the counts it shows, even if its own data is current."""
    name, study = eight_texts
    page = tabs.open_as_owner("/")
    events: list[Route] = []
    page.route("**/events", lambda route: events.append(route))  # held back
    page.goto(f"{server.url}/study/{study}#results")
    expect(page.locator(".facts dd").first).to_have_text("0")
    beside = server.load_study(name)
    for _ in range(3):
        beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    beside.close()
    page.get_by_role("link", name="Diagnostics").click()
    page.get_by_role("link", name="Results").click()
    expect(page.locator("caption", has_text="3 votes on 8 items")).to_be_visible()
    expect(page.locator(".facts dd").first).to_have_text("0")
    events[0].continue_()
    expect(page.locator(".facts dd").first).to_have_text("3")


def test_changes_during_a_request_are_fetched_after_it(
    server: Server, tabs: Tabs, eight_texts: tuple[str, int]
) -> None:
    """A response on its way when a vote is saved does not include the vote: the panel sends another request."""
    name, study = eight_texts
    page = tabs.open_as_owner(f"/study/{study}#results")
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("caption", has_text="0 votes on 8 items")).to_be_visible()
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/leaderboard*", lambda route: held.append((route, route.fetch())), times=1)
    beside = server.load_study(name)
    beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    while not held:
        page.wait_for_timeout(50)
    with page.expect_response("**/can-stop*"):  # the next event is handled, up to the held request
        beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    beside.close()
    page.wait_for_timeout(500)
    held[0][0].fulfill(response=held[0][1])
    expect(page.locator("caption", has_text="2 votes on 8 items")).to_be_visible()


def test_a_panel_refreshes_after_a_failed_request(tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """Calls during a request share the next request, also if the first one fails."""
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}")
    drawn = page.evaluate(
        """async () => {
          const { LivePanel } = await import("/assets/owner/live-panel.js");
          let requests = 0, drawings = 0;
          const path = () => {
            requests += 1;
            if (requests === 1) throw new Error("the first request fails");
            return `/studies?archived=${requests % 2 === 0}`;
          };
          const draw = () => {
            drawings += 1;
            return document.createElement("p");
          };
          const panel = new LivePanel({ title: "Test", description: "Fails once.", path, draw });
          for (let round = 0; round < 2; round += 1) await Promise.allSettled([panel.refresh(), panel.refresh()]);
          return [requests, drawings];
        }"""
    )
    assert drawn == [4, 3]


def test_an_open_table_stays_open_and_focused(server: Server, tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    name, study = eight_texts
    beside = server.load_study(name)
    beside.tell(beside.ask(rater="ana"), "first", rater="ana")
    page = tabs.open_as_owner(f"/study/{study}#results")
    page.get_by_text("Show as a table").click()
    page.get_by_role("group", name="Probability of being the best, by number of votes").focus()
    beside.tell(beside.ask(rater="ana"), "second", rater="ana")
    beside.close()
    expect(page.locator("caption", has_text="2 votes on 8 items")).to_be_visible()
    expect(page.get_by_role("group", name="Probability of being the best, by number of votes")).to_be_focused()


def test_a_reader_can_change_nothing(server: Server, tabs: Tabs, study_with_votes: tuple[str, int]) -> None:
    _, study = study_with_votes
    token = server.call("POST", f"/studies/{study}/tokens", {"scope": "reader", "label": "a reader"})["token"]
    page = tabs.open_as_owner(f"/study/{study}#raters", token=token)
    rows(page, "Raters")
    expect(page.get_by_role("button", name="Exclude votes")).to_have_count(0)
    expect(page.get_by_role("link", name="Settings")).to_have_count(0)


def test_before_the_first_vote(tabs: Tabs, eight_texts: tuple[str, int]) -> None:
    """Panels without data show an explanation instead of an empty chart."""
    page = tabs.open_as_owner(f"/study/{eight_texts[1]}#results")
    expect(page.locator(".decision")).to_have_text(
        re.compile(r"^Keep going[Tt]here are no votes yet; .*plan about \d+ raters, or allow")
    )
    page.get_by_role("link", name="Pairs").click()
    expect(page.get_by_text("The matrix appears once two items were compared.")).to_be_visible()
    page.get_by_role("link", name="Diagnostics").click()
    expect(page.get_by_text("The plot appears once there are votes to predict.")).to_be_visible()
    expect(page.get_by_text("Set “Random share” in the Settings tab")).to_be_visible()
    expect(page.get_by_text("Mean error of the predictions")).to_have_count(0)


def test_an_implausible_pace_is_not_shown(server: Server, tabs: Tabs, study_with_votes: tuple[str, int]) -> None:
    """The simulated votes arrived within a second, although each of them claims several seconds."""
    page = tabs.open_as_owner(f"/study/{study_with_votes[1]}#raters")
    assert all(row.votes_per_hour > 3600 for row in server.load_study(study_with_votes[0]).raters().rows)
    assert {row[3] for row in rows(page, "Raters")} == {"–"}


def test_an_unknown_address(server: Server, tabs: Tabs) -> None:
    """People see a page with a link; programs get JSON."""
    page = tabs.open_as_owner("/study/999999999")
    expect(page.get_by_text("There is no study at this address.")).to_be_visible()
    page.goto(f"{server.url}/nowhere")
    page.get_by_role("link", name="all studies").click()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{server.url}/nowhere")
    assert refused.value.headers["Content-Type"] == "application/json"
    refused.value.close()


@pytest.fixture(scope="module")
def large_study(server: Server) -> tuple[str, int]:
    """The name and id of a study of 800 items with long names in several scripts, and 4,000 votes."""
    name = "800 items"
    scripts = ["the quick brown fox", "быстрая лиса", "素早い狐", "الثعلب السريع", "ταχεία αλεπού"]
    ids = [f"{k} {scripts[k % 5]} " + "x" * (k % 70) for k in range(800)]
    study = server.create_study(name, [{"id": each, "payload": each} for each in ids], goal="rank")
    rng = np.random.default_rng(0)
    battles = []
    for k in range(4000):
        i, j = (int(each) for each in rng.choice(800, 2, replace=False))
        won = "left" if rng.random() < 1 / (1 + np.exp((j - i) / 200)) else "right"
        battles.append((ids[i], ids[j], won, f"rater {k % 7}"))
    path = server.folder / "battles.csv"
    text = ["left,right,winner,rater", *(",".join(f'"{cell}"' for cell in row) for row in battles)]
    path.write_text("\n".join(text), encoding="utf-8")
    beside = server.load_study(name)
    beside.import_votes(path, "csv")
    beside.close()
    return name, study


def test_eight_hundred_items(server: Server, tabs: Tabs, large_study: tuple[str, int]) -> None:
    name, study = large_study
    page = tabs.open_as_owner(f"/study/{study}#results")
    shown = rows(page, "Leaderboard")
    board = server.load_study(name).leaderboard()
    assert [row[1] for row in shown] == [each.arm.strip() for each in board.standings[:25]]
    page.get_by_role("button", name="Show all").click()
    assert len(rows(page, "Leaderboard")) == 800
    page.goto(f"{server.url}/study/{study}#pairs")
    page.get_by_role("application").focus()
    wins = server.load_study(name).win_matrix()
    place = {arm: k for k, arm in enumerate(wins.arms)}
    order = np.array([place[each.arm] for each in board.standings])
    compared = 0
    for k in range(2, 12):  # groups of 14 ranks
        page.keyboard.press("ArrowRight")
        groups = np.ix_(order[:14], order[14 * k : 14 * k + 14])
        won, lost = wins.wins[groups].sum(), wins.wins.T[groups].sum()
        found = f"{won} won, {lost} lost" if won + lost else "never compared"
        pair = f"ranks 1 to 14 against ranks {14 * k + 1} to {14 * k + 14}"
        expect(page.locator("#pair-readout")).to_contain_text(f"{pair}: {found}")
        compared += int(won + lost)
    assert compared > 0
    page.get_by_label("show every item").check()
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#pair-readout")).to_contain_text("2. ")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


@pytest.mark.parametrize("tab", TABS)
def test_every_panel_has_a_description(server: Server, tabs: Tabs, study_with_votes: tuple[str, int], tab: str) -> None:
    page = tabs.open_as_owner(f"/study/{study_with_votes[1]}#{tab}")
    page.locator("section.card:visible").first.wait_for()
    cards = page.locator("section.card:visible").all()
    assert cards
    for card in cards:
        assert len(card.locator("p.description").inner_text()) > 20
    expect(page.locator("body")).not_to_contain_text("undefined")
    expect(page.locator("body")).not_to_contain_text("[object")


def test_panels_appear_before_their_data(server: Server, tabs: Tabs, large_study: tuple[str, int]) -> None:
    """Every panel shows its title and description before its data is loaded."""
    page = tabs.open_as_owner("/")
    data = re.compile(
        rf"/studies/{large_study[1]}/(leaderboard|win-matrix|history|calibration|queue|raters|log|can-stop|regret)"
    )
    page.route(data, lambda route: None)  # no request for data gets a response
    for tab in ("results", "pairs", "diagnostics", "raters", "votes"):
        page.goto("about:blank")
        page.goto(f"{server.url}/study/{large_study[1]}#{tab}")
        page.locator("section.card p.description:visible").first.wait_for()


def test_systems_by_category_and_by_prompt(server: Server, tabs: Tabs) -> None:
    """The leaderboard ranks systems; categories, single answers and one prompt are a choice away."""
    name = "three systems on four prompts"
    answers = [
        {"id": f"{s} / {p}", "payload": f"{s} on {p}", "context": p, "system": s, "category": f"kind {int(p[1]) % 2}"}
        for p in ("q0", "q1", "q2", "q3")
        for s in ("ada", "bob", "cy")
    ]
    study = server.create_study(name, answers, goal="rank")
    beside = server.load_study(name)
    simulate_votes(beside, {each["id"]: len(each["system"]) for each in answers}, 30, RATERS)
    board = beside.leaderboard_by_category()
    page = tabs.open_as_owner(f"/study/{study}#results")
    assert [row[1] for row in rows(page, "Leaderboard")] == [each.arm for each in board.overall.standings]
    shown = rows(page, "By category")
    assert [row[0] for row in shown] == [each.arm for each in board.overall.standings]
    assert shown[0][1].startswith(board.overall.standings[0].ranks.replace("-", "–"))
    page.get_by_role("combobox", name="Exclude the influence of").select_option("side length")
    expect(page.get_by_text(re.compile("excluded from utilities: being shown first"))).to_be_visible()
    page.get_by_role("combobox", name="Exclude the influence of").select_option("")
    expect(page.get_by_text(re.compile("excluded from utilities: being shown first"))).to_have_count(0)
    page.get_by_role("combobox", name="Category").select_option("kind 1")
    one = board.categories[[each.category for each in board.categories].index("kind 1")]
    expect(page.locator("caption", has_text=f"{one.votes} votes on 3 systems")).to_be_visible()
    page.get_by_role("combobox", name="Category").select_option("")
    page.get_by_role("combobox", name="Prompt").select_option("q2")
    votes = beside.leaderboard("q2").votes
    expect(page.locator("caption", has_text=f"{votes} votes on 3 systems")).to_be_visible()
    page.get_by_role("combobox", name="Prompt").select_option("")
    page.get_by_role("combobox", name="Compare").select_option("item")
    expect(page.locator("caption", has_text="30 votes on 12 items")).to_be_visible()
    beside.close()


def test_a_tolerance_in_the_page(server: Server, tabs: Tabs, study_with_votes: tuple[str, int]) -> None:
    """The field asks for what the advice advises: the decision is that of the library."""
    name, study = study_with_votes
    page = tabs.open_as_owner(f"/study/{study}#results")
    expect(page.get_by_text("one item may show 100% while others are not ruled out")).to_be_visible()
    page.get_by_label("Tolerance in percentage points").fill("45")
    page.keyboard.press("Tab")
    expected = server.load_study(name).can_stop(tolerance=0.45, unit="chance", labels=True)
    assert expected.done
    expect(page.locator(".decision")).to_contain_text(expected.statement)


def test_a_study_without_votes_says_what_to_do_next(server: Server, tabs: Tabs) -> None:
    study = int(server.call("POST", "/studies", {"name": "next steps", "goal": "best"})["id"])
    page = tabs.open_as_owner(f"/study/{study}")
    steps = page.get_by_role("region", name="Next steps")
    expect(steps.get_by_text("done")).to_have_count(0)
    expect(page.get_by_role("region", name="Leaderboard")).to_contain_text("Add some in the Items tab")
    steps.get_by_role("link", name="Add items").click()
    expect(page.get_by_role("region", name="Items", exact=True)).to_be_visible()
    server.call("POST", f"/studies/{study}/arms", {"arms": [{"id": c} for c in "ab"]})
    page.goto("about:blank")
    page.goto(f"{server.url}/study/{study}")
    expect(steps.get_by_text("done")).to_have_count(1)
