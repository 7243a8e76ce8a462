"""How a server is set up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from duelist.core.errors import InvalidInput
from duelist.study import Storage

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the person who runs a server decides."""

    storage: str | Storage
    """Where studies are, as for `create_study`."""
    public_url: str | None = None
    """The address that people use, if it is another than the server's own (behind a proxy): links are made with it."""
    hosts: tuple[str, ...] = LOOPBACK
    """Names by which the server may be addressed, besides that of `public_url`; "*" for any."""
    media: Path | None = None
    """A folder of images, sounds and films that payloads may name."""
    rate_limit: float = 50.0
    """Requests a second of one token, in bursts of ten seconds' worth."""
    max_upload_bytes: int = 256 * 2**20
    """Bytes that an uploaded file may have."""
    temporary_token: str | None = None
    """The secret of an admin's token that is valid as long as the server runs, and is kept nowhere."""

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
                f"rate_limit is {self.rate_limit!r}.", "Give a number of requests a second above 0.", field="rate_limit"
            )

    @property
    def is_https(self) -> bool:
        """Whether browsers reach the server by https: cookies are then sent by nothing else."""
        return self.public_url is not None and self.public_url.startswith("https:")

    def allows(self, host: str) -> bool:
        """Whether the server may be addressed so; a page of another name that points here is refused."""
        name = urlsplit(f"//{host}").hostname or ""
        public = "" if self.public_url is None else urlsplit(self.public_url).hostname
        return "*" in self.hosts or name in self.hosts or name == public

    def link(self, path: str, base: str) -> str:
        """The address of a page for people; `base` is the server's own address."""
        return (self.public_url or base).rstrip("/") + path
