"""Options of a server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from duelist.core.errors import InvalidInput
from duelist.study import Storage

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
    temporary_token: str | None = None
    """The secret of an admin token that is valid while the server runs and is never stored."""

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
