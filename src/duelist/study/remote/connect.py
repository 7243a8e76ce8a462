"""Find a study on a server."""

from __future__ import annotations

from urllib.parse import urlsplit

from duelist.core.errors import InvalidInput, UnknownStudy
from duelist.study.remote.http_client import HttpClient
from duelist.study.remote.remote_study import RemoteStudy


def is_address(text: object) -> bool:
    """Whether a text is the address of a server, not a name or a database URL."""
    return isinstance(text, str) and text.startswith(("http://", "https://"))


def connect(address: str, name: str | None = None, token: str | None = None) -> RemoteStudy:
    """Return a study by name, by its own address `https://server/study/ID`, or the only one that the token is for."""
    parts = urlsplit(address)
    base, path = f"{parts.scheme}://{parts.netloc}", [part for part in parts.path.split("/") if part]
    client = HttpClient(base, token)
    if name is None and path and path[-1].isdigit():
        return RemoteStudy(client, int(path[-1]))
    try:
        return RemoteStudy(client, _find_study(client, address, name))
    except BaseException:
        client.close()
        raise


def _find_study(client: HttpClient, address: str, name: str | None) -> int:
    base = client.address
    if name is None:
        own = client.call("GET", "/session")["study"]
        if own is None:
            raise InvalidInput(f"{address!r} names no study.", f"Give its name, or its own address, {base}/study/ID.")
        return int(own)
    studies = client.call("GET", "/studies", params={"archived": True})["studies"]
    found = next((study["id"] for study in studies if study["name"] == name), None)
    if found is None:
        names = ", ".join(repr(study["name"]) for study in studies[:10]) or "none"
        raise UnknownStudy(f"There is no study {name!r} at {base}.", f"There are: {names}.")
    return int(found)
