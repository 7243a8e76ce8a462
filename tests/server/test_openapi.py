"""Fuzz the API by its OpenAPI description with schemathesis: no 5xx and no undocumented response.

`make test-api` does for minutes what `make test-server` does for seconds.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.helpers.evidence import record
from tests.helpers.server import Running, running

EXAMPLES = int(os.environ.get("DUELIST_API_EXAMPLES", "4"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A separate server with a study that has votes."""
    folder = tmp_path_factory.mktemp("api")
    with running(f"sqlite:///{folder / 's.db'}", folder, "--rate-limit", "100000") as server:
        with server.client() as client:
            study = client.post("/studies", json={"name": "tried", "settings": {"random_share": 0.5}}).json()["id"]
            arms = [{"id": f"a{k}", "payload": f"text {k}", "context": "c"} for k in range(5)]
            client.post(f"/studies/{study}/arms", json={"arms": arms})
            for k in range(30):
                rater = f"r{k % 4}"
                duel = client.post(f"/studies/{study}/ask", json={"rater": rater}).json()["id"]
                body = {"duel": duel, "outcome": ("first", "second", "tie")[k % 3], "rater": rater}
                assert client.post(f"/studies/{study}/votes", json=body).status_code == 200
        server.study = study  # type: ignore[attr-defined]
        yield server


SETTINGS = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)


def test_every_response_is_documented(tried: Running) -> None:
    """Send valid and invalid generated requests to every endpoint except the endless events."""
    api = schemathesis.openapi.from_url(f"{tried.address}/api/v1/openapi.json").exclude(path_regex="/events$")
    found: list[str] = []
    calls = 0

    def attempt(case: Any) -> None:
        nonlocal calls
        if "study" in (case.path_parameters or {}) and case.method != "DELETE":
            case.path_parameters["study"] = tried.study  # type: ignore[attr-defined]
        answer = case.call(headers={"Authorization": f"Bearer {tried.token}"}, timeout=60)
        calls += 1
        case.validate_response(answer, checks=CHECKS)

    operations = [found.ok() for found in api.get_all_operations() if isinstance(found, Ok)]
    for operation, mode in itertools.product(operations, schemathesis.GenerationMode):
        try:
            made = operation.as_strategy(generation_mode=mode)
            SETTINGS(hypothesis.given(case=made)(attempt))()
        except hypothesis.errors.Unsatisfiable:
            assert mode is schemathesis.GenerationMode.NEGATIVE, operation.label  # nothing about it can be wrong
        except Exception as error:  # noqa: BLE001  (all of them are shown together)
            found.append(f"{operation.label}: {error}")
    assert not found, "\n\n".join(found)
    assert len(operations) > 50
    assert calls > len(operations) * EXAMPLES
    record("test-api", requests=calls, operations=len(operations))


def test_authentication_and_errors_are_described(tried: Running) -> None:
    body = httpx.get(f"{tried.address}/api/v1/openapi.json").json()
    assert {"HTTPBearer", "APIKeyCookie"} <= set(body["components"]["securitySchemes"])
    shape = body["components"]["schemas"]["ErrorResponse"]["properties"]["error"]["$ref"].rsplit("/", 1)[1]
    assert set(body["components"]["schemas"][shape]["required"]) == {"code", "message", "hint", "field"}
    undocumented = [
        (path, method)
        for path, methods in body["paths"].items()
        for method, operation in methods.items()
        if not operation.get("description") or not any(status.startswith("4") for status in operation["responses"])
    ]
    assert undocumented == []


def test_every_endpoint_is_in_the_documentation(tried: Running) -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "http-api.md").read_text()
    paths = httpx.get(f"{tried.address}/api/v1/openapi.json").json()["paths"]
    short = {path.removeprefix("/api/v1").replace("{token}", "{id}").replace("{form}", "{format}") for path in paths}
    assert len(short) > 45
    missing = [path for path in short if path not in text and path.removeprefix("/studies/{study}") not in text]
    assert missing == []
