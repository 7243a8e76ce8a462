"""Requests that cost the server more than the sender: thousands of wrong values, checks of health, the description."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from duelist.core.errors import StorageError
from duelist.server.app import make_app
from duelist.server.http.bodies import RATER
from duelist.server.monitoring.health import CACHE_SECONDS, Health
from duelist.server.options import ServerOptions
from tests.server.attacks.conftest import Attacked
from tests.server.conftest import checked, refused


@pytest.mark.parametrize("path", ["/ask", "/votes", "/undo", "/release", "/arrive"])
@pytest.mark.parametrize(
    "body",
    [
        {f"k{number}": 1 for number in range(20_000)},
        {"in_progress": ["x"] * 20_000},
        {"outcomes": {f"k{number}": 1 for number in range(10_000)}},
    ],
    ids=["fields", "array", "object"],
)
def test_a_rater_cannot_send_thousands_of_wrong_values(attacked: Attacked, path: str, body: dict[str, Any]) -> None:
    """Explaining 80,000 unknown fields took 4 seconds, in which the server served nobody."""
    with attacked.server.client(attacked.rater) as rater:
        error = refused(rater.post(f"{attacked.study}{path}", json=body), 422, "invalid_input")
    assert error["message"] == f"The body has more than {RATER.values} values."


def test_a_stranger_cannot_either(attacked: Attacked) -> None:
    body = {f"k{number}": 1 for number in range(1_000)}
    with attacked.server.stranger() as stranger:
        for path in ("/session", f"{attacked.study}/register", f"{attacked.study}/entry"):
            error = refused(stranger.post(path, json=body), 422, "invalid_input")
            assert error["message"] == "The body has more than 250 values."


def test_an_owner_can_send_as_many_values_as_are_documented(attacked: Attacked) -> None:
    ids = [f"none {number}" for number in range(30_000)]
    with attacked.server.client() as admin:
        refused(admin.post(f"{attacked.study}/arms/retire", json={"ids": ids}), 404, "unknown_arm.arm")
        body = {"raters": ids}
        error = refused(admin.post(f"{attacked.study}/links", json=body), 422, "invalid_input")
        assert error["message"] == "The body has more than 20,000 values."


def test_a_text_with_many_commas_is_no_long_list(attacked: Attacked) -> None:
    with attacked.server.client(attacked.rater) as rater:
        duel = checked(rater.post(f"{attacked.study}/ask", json={}))["id"]
        body = {"duel": duel, "outcome": "first", "reason": "," * 2000}
        checked(rater.post(f"{attacked.study}/votes", json=body))


def test_health_is_checked_once_per_second() -> None:
    """Every request of a stranger asked the storage and the worker."""
    now, checks = 0.0, 0

    async def check() -> bool:
        nonlocal checks
        checks += 1
        await asyncio.sleep(0)
        if checks == 3:
            raise StorageError("The database is gone.", "Start it.")
        return checks == 1

    async def ask() -> None:
        nonlocal now
        health = Health(check, lambda: now)
        assert await asyncio.gather(*(health.is_responding() for _ in range(50))) == [True] * 50
        now += 0.9 * CACHE_SECONDS
        assert await health.is_responding()
        assert checks == 1
        now += 0.2 * CACHE_SECONDS
        assert not await health.is_responding()
        now += CACHE_SECONDS
        for _ in range(2):
            with pytest.raises(StorageError):
                await health.is_responding()
        assert checks == 3

    asyncio.run(ask())


def test_the_description_is_made_and_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoding it took 40 ms of every request, without a limit."""
    app = make_app(ServerOptions("memory"))
    describe, calls = app.openapi, 0

    def counted() -> dict[str, Any]:
        nonlocal calls
        calls += 1
        return describe()

    async def ask() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as stranger:
            answers = [(await stranger.get("/api/v1/openapi.json")).json() for _ in range(3)]
        assert answers[0] == answers[2] == describe()

    monkeypatch.setattr(app, "openapi", counted)
    asyncio.run(ask())
    assert calls == 1
