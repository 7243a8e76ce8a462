"""One connection to a study server: requests that are repeated when they get lost, errors as the library raises them."""

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
"""Everything that is sent may be repeated: the server knows a vote by its duel, arms by their ids."""
_WAITS: Final = 0.25
_AGAIN: Final = (429, 503)
_SECONDS: Final = 120.0


class Wire:
    """Speaks to one server with one token."""

    def __init__(self, address: str, token: str | None) -> None:
        with needs_extra("client", "studies on a server"):
            import httpx
        self.address = address.rstrip("/")
        self._lost = httpx.TransportError
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(base_url=f"{self.address}/api/v1", headers=headers, timeout=_SECONDS)

    def call(self, method: str, path: str, **given: Any) -> Any:
        """What the server answers, as JSON has it."""
        answer = self._send(method, path, **given)
        return None if answer.status_code == 204 else answer.json()

    def save(self, path: str, target: Path, **given: Any) -> dict[str, str]:
        """A file of the server's, all of it or nothing; the headers it came with."""
        with atomic_write(target) as file, self._begun(path, given) as answer:
            for chunk in answer.iter_bytes():
                file.write(chunk)
            return dict(answer.headers)

    @contextmanager
    def _begun(self, path: str, given: dict[str, Any]) -> Iterator[httpx.Response]:
        try:
            with self._client.stream("GET", path, **given) as answer:
                if answer.is_error:
                    answer.read()
                    raise _error(answer)
                yield answer
        except self._lost as error:
            raise self._gone(error) from error

    def _send(self, method: str, path: str, **given: Any) -> httpx.Response:
        for number in range(1, TRIES + 1):
            try:
                answer = self._client.request(method, path, **given)
            except self._lost as error:
                if number == TRIES:
                    raise self._gone(error) from error
            else:
                if not answer.is_error:
                    return answer
                if answer.status_code not in _AGAIN or number == TRIES:
                    raise _error(answer)
            time.sleep(_WAITS * 2 ** (number - 1))
        raise errors.ConnectionLost(f"{self.address} does not answer.", "Repeat the call.")  # the last try raises

    def _gone(self, error: Exception) -> errors.ConnectionLost:
        return errors.ConnectionLost(
            f"{self.address} cannot be reached ({type(error).__name__}).",
            "See whether it runs, then repeat the call: it is idempotent.",
        )

    def close(self) -> None:
        """Give the connection back."""
        self._client.close()


def _error(answer: httpx.Response) -> errors.DuelistError:
    """What the server refuses, as the library would have said it."""
    try:
        parts = answer.json()["error"]
        code, message, hint, field = (parts[name] for name in ("code", "message", "hint", "field"))
    except (ValueError, KeyError, TypeError):
        return errors.StorageError(
            f"{answer.request.url.host} answered {answer.status_code}, not as a study server would.",
            "Check that the address is that of a study server.",
        )
    kind = errors.error_class(code)
    if kind is not None:
        return kind(message, hint, code=code, field=field)
    if answer.status_code in (401, 403):
        return errors.NotAllowed(message, hint, field=field)
    if answer.status_code >= 500:
        return errors.StorageError(message, hint, field=field)
    return errors.InvalidInput(message, hint, field=field)


def as_json(value: Any) -> Any:
    """A value that JSON can hold, or InvalidInput."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise errors.InvalidInput(
            f"{value!r} is not JSON ({error}).", "Give texts, numbers, lists and mappings."
        ) from error
