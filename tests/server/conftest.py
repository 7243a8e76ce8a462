"""A server shared by tests, and a new study per test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from duelist.study import Study, load_study_by_id
from tests.helpers.server import Running, running

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="session")
def storage(folder: Path) -> str:
    return f"sqlite:///{folder / 'studies.db'}"


@pytest.fixture(scope="session")
def server(folder: Path, storage: str) -> Iterator[Running]:
    media = folder / "media"
    (media / "deep").mkdir(parents=True)
    (media / "deep" / "dog.png").write_bytes(b"\x89PNG dog")
    (folder / "secret.png").write_bytes(b"not yours")
    with running(storage, folder, "--media", str(media), "--rate-limit", "5000") as found:
        yield found


@pytest.fixture
def admin(server: Running) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def make(admin: httpx.Client) -> Callable[..., str]:
    """Create studies with arms a0, a1, ...; return their paths."""

    def made(n_arms: int = 6, **settings: Any) -> str:
        body = {"name": f"study {next(_NUMBERS)}", "settings": settings}
        study = checked(admin.post("/studies", json=body), 201)["id"]
        if n_arms:
            arms = [{"id": f"a{k}", "payload": f"text {k}"} for k in range(n_arms)]
            checked(admin.post(f"/studies/{study}/arms", json={"arms": arms}))
        return f"/studies/{study}"

    return made


@pytest.fixture
def study(make: Callable[..., str]) -> str:
    return make()


@pytest.fixture
def ana(server: Running, admin: httpx.Client, study: str) -> Iterator[httpx.Client]:
    """A rater of the study."""
    with server.client(token_of(admin, study, "rater", rater="ana")) as client:
        yield client


def token_of(admin: httpx.Client, study: str | None, scope: str, **more: Any) -> str:
    made = admin.post(f"{study or ''}/tokens", json={"scope": scope, **more})
    return str(checked(made, 201)["token"])


def checked(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, (
        f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    )
    return None if status == 204 else answer.json()


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Check the error of a response and return it; `code` may be without its part after the dot."""
    body = checked(answer, status)
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "hint", "field"}
    assert code in (body["error"]["code"], body["error"]["code"].partition(".")[0]), body
    assert body["error"]["message"]
    assert body["error"]["hint"], body
    return body["error"]


def opened(storage: str, path: str) -> Study:
    """Open the same study without the server."""
    return load_study_by_id(int(path.rsplit("/", 1)[1]), storage)
