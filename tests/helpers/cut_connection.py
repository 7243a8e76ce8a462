"""A wire to PostgreSQL that can be cut at a given word: before the server hears it, or after it has acted on it."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import sqlalchemy as sa

_SOCKET: Final = ".s.PGSQL.5432"


class Wire:
    """Relays bytes between clients and the server, until a test cuts it."""

    def __init__(self, server: Path, here: Path) -> None:
        self._server = server
        self._word: bytes | None = None
        self._heard = False
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

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        """One thread for both ways, so that no socket is closed under another's hands."""
        cut = False
        with client, server, suppress(OSError):
            while True:
                for sender in select.select([client, server], [], [])[0]:
                    data = sender.recv(1 << 20)
                    if not data or (sender is server and cut):  # cut, and an answer is here: the server has acted
                        return
                    if sender is client and self._is_the_word(data):
                        cut = True
                        if not self._heard:
                            return
                    (server if sender is client else client).sendall(data)

    def _is_the_word(self, data: bytes) -> bool:
        if self._word is None or self._word not in data:
            return False
        self._word = None
        self.cuts += 1
        return True


@contextmanager
def wired(url: str, here: Path) -> Iterator[tuple[Wire, str]]:
    """A wire to the server of that URL, which listens on a socket in a folder; and the URL of its other end."""
    where = sa.make_url(url)
    wire = Wire(Path(str(where.query["host"])), here)
    try:
        yield wire, where.set(query={**where.query, "host": str(here)}).render_as_string(hide_password=False)
    finally:
        wire.close()
