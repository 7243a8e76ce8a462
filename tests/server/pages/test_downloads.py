"""Downloads of tables and charts, and the link that shares results."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Page, expect

from tests.server.pages.conftest import Tabs
from tests.server.pages.live_server import Server
from tests.server.pages.simulated_votes import simulate_votes

FORMULA = "=1+1"


@pytest.fixture(scope="module")
def voted(server: Server) -> int:
    """The id of a study of 30 items with votes; the first item looks like a formula of a spreadsheet."""
    name = "results to download"
    arms = [{"id": FORMULA if not k else f"item {k}", "payload": f"Text “{k}”, with a comma"} for k in range(30)]
    study = server.create_study(name, arms)
    beside = server.load_study(name)
    simulate_votes(beside, {arm["id"]: 0.2 * k for k, arm in enumerate(arms)}, 60, ["ana", "ben"])
    beside.close()
    return study


def download(page: Page, panel: str, kind: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Download {panel} as {kind}", exact=True).click()
    assert download.value.suggested_filename.endswith(f".{kind.lower()}")
    return Path(download.value.path()).read_bytes()


def test_the_leaderboard_as_csv_has_every_item(tabs: Tabs, server: Server, voted: int) -> None:
    page = tabs.open_as_owner(f"/study/{voted}")
    rows = list(csv.DictReader(io.StringIO(download(page, "Leaderboard", "CSV").decode("utf-8-sig"))))
    standings = server.call("GET", f"/studies/{voted}/leaderboard")["standings"]
    assert [row["item"].lstrip("'") for row in rows] == [each["arm"] for each in standings]
    assert [float(row["utility"]) for row in rows] == [each["utility"] for each in standings]
    formula = next(row for row in rows if FORMULA in row["item"])
    assert (formula["item"], formula["text"][0]) == (f"'{FORMULA}", "'")
    assert any("with a comma" in row["text"] for row in rows)


@pytest.mark.parametrize(
    ("tab", "panel"), [("results", "Probability of being the best, over time"), ("diagnostics", "Calibration")]
)
def test_charts_as_svg_and_png(tabs: Tabs, voted: int, tab: str, panel: str) -> None:
    page = tabs.open_as_owner(f"/study/{voted}#{tab}")
    drawn = ET.fromstring(download(page, panel, "SVG"))
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    colors = {each.get("stroke") for each in drawn.iter()}
    assert any(color and color.startswith("rgb") for color in colors)  # the colors of the page, not its classes
    png = download(page, panel, "PNG")
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") > 500


def test_the_matrix_as_png_and_csv(tabs: Tabs, voted: int) -> None:
    page = tabs.open_as_owner(f"/study/{voted}#pairs")
    panel = page.get_by_role("button", name=re.compile("as PNG"))
    panel.first.wait_for()
    with page.expect_download() as saved:
        panel.first.click()
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")


def test_a_link_shares_the_results_and_nothing_else(tabs: Tabs, voted: int) -> None:
    page = tabs.open_as_owner(f"/study/{voted}#access")
    page.get_by_role("button", name="Create a link to the results").click()
    address = page.get_by_label("Link to the results").input_value()
    guest = tabs.open(address)
    expect(guest.get_by_role("region", name="Leaderboard")).to_contain_text("item 29")
    assert guest.url.endswith(f"/study/{voted}")  # without the secret
    expect(guest.get_by_role("navigation").get_by_role("link", name="Settings")).to_have_count(0)
    status = guest.evaluate(
        "async id => (await fetch(`/api/v1/studies/${id}`, {method: 'PATCH', body: '{}'})).status", voted
    )
    assert status == 403
    page.reload()
    row = page.get_by_role("row", name=re.compile("shared results"))
    expect(row).to_be_visible()
