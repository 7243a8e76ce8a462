"""A wire to PostgreSQL that can be cut at a given word: before the server hears it, or after it has acted on it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import sqlalchemy as sa

_SOCKET: Final = ".s.PGSQL.5432"


class Wire:
    """Carries bytes both ways between clients and the server, until it is told to be cut."""

    def __init__(self, server: Path, here: Path) -> None:
        self._server = server
        self._word: bytes | None = None
        self._heard = False
        self._deaf: socket.socket | None = None
        self.cuts = 0
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(here / _SOCKET))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, word: bytes, *, heard: bool) -> None:
        """Cut the next connection that says this word, once; if it is to be heard, when the server has answered."""
        self._word, self._heard = word, heard

    def close(self) -> None:
        """Take no more connections."""
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self._server / _SOCKET))
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()
            threading.Thread(target=self._carry_back, args=(server, client), daemon=True).start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        while data := _received(client):
            if self._word is not None and self._word in data:
                self._word = None
                self.cuts += 1
                if self._heard:
                    self._deaf = client
                    server.sendall(data)
                else:
                    _end(client, server)
                continue
            server.sendall(data)
        _end(client, server)

    def _carry_back(self, server: socket.socket, client: socket.socket) -> None:
        while data := _received(server):
            if client is self._deaf:  # the answer is here: the server has done what it was told
                break
            client.sendall(data)
        _end(client, server)


def _received(from_: socket.socket) -> bytes:
    try:
        return from_.recv(1 << 20)
    except OSError:
        return b""


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


@contextmanager
def wired(url: str, here: Path) -> Iterator[tuple[Wire, str]]:
    """A wire to the server of that URL, which listens on a socket in a folder; and the URL of its other end."""
    where = sa.make_url(url)
    wire = Wire(Path(str(where.query["host"])), here)
    try:
        yield wire, where.set(query={**where.query, "host": str(here)}).render_as_string(hide_password=False)
    finally:
        wire.close()
