"""A client of a study server, which repeats lost requests and raises the server's errors as the library does."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from duelist.core import errors
from duelist.core.extras import needs_extra
from duelist.core.files import atomic_write

if TYPE_CHECKING:
    import httpx

TRIES: Final = 4
"""All requests may be repeated: the server recognises a vote by its duel, and arms by their ids."""
_FIRST_WAIT: Final = 0.25
_RETRY_STATUSES: Final = (429, 503)
_TIMEOUT: Final = 120.0


class HttpClient:
    """A connection to one server with one token."""

    def __init__(self, address: str, token: str | None) -> None:
        with needs_extra("client", "studies on a server"):
            import httpx
        self.address = address.rstrip("/")
        self._transport_error = httpx.TransportError
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(base_url=f"{self.address}/api/v1", headers=headers, timeout=_TIMEOUT)

    def call(self, method: str, path: str, **options: Any) -> Any:
        """Send a request and return the JSON of the response."""
        response = self._send(method, path, **options)
        return None if response.status_code == 204 else response.json()

    def content(self, path: str) -> tuple[bytes, str]:
        """Return a file of the server and its media type."""
        response = self._send("GET", path)
        return response.content, response.headers.get("content-type", "")

    def download(self, path: str, target: Path, **options: Any) -> dict[str, str]:
        """Save a file of the server, all or nothing; return the response's headers."""
        with atomic_write(target) as file, self._stream(path, options) as response:
            for chunk in response.iter_bytes():
                file.write(chunk)
            return dict(response.headers)

    @contextmanager
    def _stream(self, path: str, options: dict[str, Any]) -> Iterator[httpx.Response]:
        try:
            with self._client.stream("GET", path, **options) as response:
                if response.is_error:
                    response.read()
                    raise _error(response)
                yield response
        except self._transport_error as error:
            raise self._unreachable(error) from error

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        for attempt in range(1, TRIES + 1):
            try:
                response = self._client.request(method, path, **options)
            except self._transport_error as error:
                if attempt == TRIES:
                    raise self._unreachable(error) from error
            else:
                if not response.is_error:
                    return response
                if response.status_code not in _RETRY_STATUSES or attempt == TRIES:
                    raise _error(response)
            time.sleep(_FIRST_WAIT * 2 ** (attempt - 1))
        raise errors.ConnectionLost(f"{self.address} does not answer.", "Repeat the call.")  # the last try raises

    def _unreachable(self, error: Exception) -> errors.ConnectionLost:
        return errors.ConnectionLost(
            f"{self.address} cannot be reached ({type(error).__name__}).",
            "Check that it runs, then repeat the call: it is idempotent.",
        )

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _error(response: httpx.Response) -> errors.DuelistError:
    """Return the error of a response as the library raises it."""
    try:
        parts = response.json()["error"]
        code, message, hint, field = (parts[name] for name in ("code", "message", "hint", "field"))
    except (ValueError, KeyError, TypeError):
        return errors.StorageError(
            f"{response.request.url.host} answered {response.status_code}, not as a study server would.",
            "Check that the address is that of a study server.",
        )
    kind = errors.error_class(code)
    if kind is not None:
        return kind(message, hint, code=code, field=field)
    if response.status_code in (401, 403):
        return errors.NotAllowed(message, hint, field=field)
    if response.status_code >= 500:
        return errors.StorageError(message, hint, field=field)
    return errors.InvalidInput(message, hint, field=field)


def as_json(value: Any) -> Any:
    """Return a value as JSON would read it back; raise InvalidInput if JSON cannot hold it."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise errors.InvalidInput(
            f"{value!r} is not JSON ({error}).", "Give texts, numbers, lists and mappings."
        ) from error
