"""Requests to one study on a server, which all parts of `RemoteStudy` share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Never, TypeVar

from duelist.core.errors import NotOnRemoteStudy
from duelist.core.serialization import from_plain
from duelist.study.remote.http_client import HttpClient

Result = TypeVar("Result")


class RemoteBase:
    """A study on a server, by its id."""

    def __init__(self, client: HttpClient, study_id: int) -> None:
        self._client = client
        self._root = f"/studies/{study_id}"
        self._id = study_id

    def _not_available(self, what: str) -> Never:
        raise NotOnRemoteStudy(
            f"`{what}` is not available for a study on a server.",
            "Load the study from its storage, on the machine that runs the server.",
        )

    def _summary(self) -> Any:
        return self._client.call("GET", self._root)

    def _patch(self, **body: Any) -> Any:
        return self._client.call("PATCH", self._root, json=body)

    def _get(self, path: str, **params: Any) -> Any:
        return self._client.call("GET", self._root + path, params=without_none(params))

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._client.call("POST", self._root + path, json=body)

    def _read(self, kind: type[Result], path: str, **params: Any) -> Result:
        return from_plain(kind, self._get(path, **params))


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}
