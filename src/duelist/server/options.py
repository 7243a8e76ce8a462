"""Options of a server."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from duelist.core.errors import InvalidInput
from duelist.study import HttpSystem, Storage

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_HOST = re.compile(r"[A-Za-z0-9._\-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")
"""A name or address, and perhaps a port."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a server process."""

    storage: str | Storage
    """The storage, as for `create_study`."""
    public_url: str | None = None
    """The address that browsers use, if it differs from the server's own (behind a proxy); used in links."""
    hosts: tuple[str, ...] = LOOPBACK
    """Accepted Host headers besides that of `public_url`; "*" accepts any."""
    media: Path | None = None
    """A folder of images, audio and video that payloads may name."""
    rate_limit: float = 50.0
    """Requests per second and token, in bursts of up to ten seconds' worth."""
    max_upload_bytes: int = 256 * 2**20
    """Maximum size of an uploaded file."""
    clock: Callable[[], float] | None = None
    """Seconds since 1970, for tests; default: the database's clock, or this machine's."""
    temporary_token: str | None = None
    """The secret of an admin token that is valid while the server runs and is never stored."""
    live: Mapping[str, Mapping[str, HttpSystem]] = field(default_factory=dict)
    """Systems that answer raters' own prompts, by name of the study and of the system; see `read_live_systems`."""

    def __post_init__(self) -> None:
        if self.public_url is not None:
            parts = urlsplit(self.public_url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
                raise InvalidInput(
                    f"public_url is {self.public_url!r}.",
                    "Give an address such as https://rate.example.org.",
                    field="public_url",
                )
        if not self.rate_limit > 0:
            raise InvalidInput(
                f"rate_limit is {self.rate_limit!r}.",
                "Give a number of requests per second above 0.",
                field="rate_limit",
            )

    @property
    def is_https(self) -> bool:
        """Whether browsers use https; cookies are then marked as secure."""
        return self.public_url is not None and self.public_url.startswith("https:")

    def allows_host(self, host: str) -> bool:
        """Return whether a Host header is accepted, against DNS rebinding."""
        if not _HOST.fullmatch(host):  # such as "evil.example@localhost", which would end up in links
            return False
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:  # such as "["
            return False
        public = "" if self.public_url is None else urlsplit(self.public_url).hostname
        return "*" in self.hosts or name in self.hosts or name == public

    def allows_origin(self, origin: str | None, host: str) -> bool:
        """Return whether pages of an origin may sign in here: those of this server, or programs, which send none."""
        if origin is None:
            return True
        own = {host} if self.public_url is None else {host, urlsplit(self.public_url).netloc}
        return origin.partition("://")[2] in own

    def page_url(self, path: str, base: str) -> str:
        """Return the public URL of a page; `base` is the server's own address."""
        return (self.public_url or base).rstrip("/") + path


def read_live_systems(path: Path) -> dict[str, dict[str, HttpSystem]]:
    """Return the systems of a JSON file: `{"STUDY": {"SYSTEM": {"url": ..., "token_env": ..., "timeout": ...}}}`.

    `token_env` names the environment variable with the token that the system is sent (`Authorization: Bearer`), so that the file
    holds no secret.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(study): {str(name): _live_system(each) for name, each in systems.items()}
            for study, systems in found.items()
        }
    except (OSError, ValueError, AttributeError, TypeError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"{path} does not describe live systems: {error}.",
            'Write {"STUDY": {"SYSTEM": {"url": "https://..."}}}, with at least two systems.',
            field="live",
        ) from error


def _live_system(described: Mapping[str, Any]) -> HttpSystem:
    unknown = set(described) - {"url", "token_env", "timeout"}
    if unknown or "url" not in described:
        raise InvalidInput(
            f"A live system has {', '.join(sorted(described)) or 'nothing'}.",
            "Give its url, and if needed token_env and timeout.",
            field="live",
        )
    variable = described.get("token_env")
    if variable is not None and not os.environ.get(variable):
        raise InvalidInput(f"The environment variable {variable} is not set.", "Set it to the token of the system.")
    headers = {} if variable is None else {"Authorization": f"Bearer {os.environ[variable]}"}
    return HttpSystem(described["url"], headers, float(described.get("timeout", 60.0)))
