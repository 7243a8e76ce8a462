"""Payloads as blocks of content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from duelist.core.errors import UnknownArm
from duelist.server.content import ContentRenderer, find_media_file, media_type, replace_surrogates
from duelist.server.errors import HINTS, error_response
from duelist.server.http.rate_limits import RateLimiter

KEY = "0123456789abcdef0123456789abcdef.png"


@pytest.fixture
def show(tmp_path: Path) -> ContentRenderer:
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / "cat & dog.png").write_bytes(b"")
    (tmp_path / "outside.png").write_bytes(b"")
    return ContentRenderer(7, "markdown", tmp_path / "media")


@pytest.mark.parametrize(
    ("payload", "blocks"),
    [
        ("<b>hi</b>", [{"type": "markdown", "text": "<b>hi</b>"}]),
        (f"![a](cat%20x.png) ![]({KEY}) ![b](../outside.png)",
         [{"type": "markdown", "text": f"![a](cat%20x.png) ![](/api/v1/studies/7/media/{KEY}) ![b](../outside.png)",
           "images": [f"/api/v1/studies/7/media/{KEY}"]}]),
        ({"text": "plain"}, [{"type": "text", "text": "plain"}]),
        ({"code": "x = 1", "language": "python"}, [{"type": "code", "text": "x = 1", "language": "python"}]),
        ({"image": KEY, "alt": "a cat"}, [{"type": "image", "src": f"/api/v1/studies/7/media/{KEY}", "alt": "a cat"}]),
        (KEY, [{"type": "image", "src": f"/api/v1/studies/7/media/{KEY}", "alt": ""}]),
        ("cat & dog.png", [{"type": "image", "src": "/api/v1/studies/7/media/cat%20%26%20dog.png", "alt": ""}]),
        ("../outside.png", [{"type": "markdown", "text": "../outside.png"}]),
        ({"image": "https://elsewhere.org/x.png"}, [{"type": "link", "href": "https://elsewhere.org/x.png", "text": "https://elsewhere.org/x.png"}]),
        ({"image": "javascript:alert(1)//.png"}, [{"type": "text", "text": "javascript:alert(1)//.png"}]),
        ({"image": "data:text/html,x"}, [{"type": "text", "text": "data:text/html,x"}]),
        ([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}],
         [{"type": "message", "role": "user", "text": "Hi"}, {"type": "message", "role": "assistant", "text": "Ho"}]),
        ({"other": 1}, [{"type": "code", "text": '{\n "other": 1\n}', "language": "json"}]),
        (3.5, [{"type": "code", "text": "3.5", "language": "json"}]),
        ([], [{"type": "code", "text": "[]", "language": "json"}]),
    ],
)  # fmt: skip
def test_payloads_become_blocks(show: ContentRenderer, payload: Any, blocks: list[dict[str, Any]]) -> None:
    assert show.render(payload) == blocks


def test_an_arm_without_payload_shows_its_id(show: ContentRenderer) -> None:
    assert show.render_arm(None, "red") == [{"type": "text", "text": "red"}]


def test_unpaired_surrogates_are_replaced() -> None:
    """Pairs of surrogates are joined; unpaired ones become U+FFFD."""
    value = {"a\ud83d": ["cut \ud83d", "whole \ud83d\ude00", 3, None], "b": "plain \u00e9"}
    assert replace_surrogates(value) == {"a\ufffd": ["cut \ufffd", "whole \U0001f600", 3, None], "b": "plain \u00e9"}


def test_an_arm_with_an_unpaired_surrogate_is_asked_and_listed(admin: httpx.Client) -> None:
    arms = b'[{"id": "a", "text": "cut \\ud83d"}, {"id": "b", "text": "whole"}]'
    files = [("file", ("arms.json", arms))]
    assert "cut \ufffd" in admin.post("/files/preview", files=files).raise_for_status().text
    made = admin.post("/files/create", files=files, data={"plan": json.dumps({"name": "halves"})}).raise_for_status()
    study = f"/studies/{made.json()['id']}"
    assert [arm["payload"] for arm in admin.get(f"{study}/arms").raise_for_status().json()["arms"]] == [
        "cut \ufffd",
        "whole",
    ]
    duel = admin.post(f"{study}/ask", json={"rater": "ana"}).raise_for_status().json()
    assert {duel[side]["content"][0]["text"] for side in ("first", "second")} == {"cut \ufffd", "whole"}


def test_only_media_files_are_served() -> None:
    for name in ("x.html", "x.js", "x.css", "x.pdf", "x", ".png/x", "x.png.html", "x.svgz"):
        assert media_type(name) is None, name
    assert media_type("X.PNG") == "image/png"


def test_paths_outside_the_media_folder_are_rejected(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "out.png").write_bytes(b"")
    (inside / "link.png").symlink_to(tmp_path / "out.png")
    for name in ("../out.png", str(tmp_path / "out.png"), "link.png", "./../out.png", "x\x00.png", ""):
        assert find_media_file(inside, name) is None, name


def test_rate_limits_recover_with_time() -> None:
    now = 0.0
    buckets = RateLimiter(rate=2.0, burst=4.0, clock=lambda: now)
    assert [buckets.acquire("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    assert buckets.acquire("b") == 0
    now = 1.0
    assert [buckets.acquire("a") for _ in range(3)] == [0, 0, 0.5]


def test_hints_are_rendered_in_the_words_of_http() -> None:
    error = UnknownArm("There is no arm 'x'.", "Add it with `add_arms`.", code="unknown_arm.arm")
    status, body = error_response(error)
    assert (status, body["error"]["hint"]) == (404, HINTS["unknown_arm.arm"])
