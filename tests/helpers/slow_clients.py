"""Clients that mean harm, as a separate process: slow and half-open connections, and uploads that are rejected.

python -m tests.helpers.slow_clients HOST PORT SECONDS     print what was sent, as JSON
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import sys
import threading
import time
from typing import Final

CONNECTIONS: Final = 200
BYTES_PER_SECOND: Final = 50 * 10**6
UPLOADERS: Final = 2
PIECE: Final = b"x" * 2**18
HALVES: Final = (
    b"",
    b"GET",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",  # and never reads the response
)
UPLOAD: Final = (
    b"POST /api/v1/files/preview HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000000\r\n"
    b"Content-Type: multipart/form-data; boundary=x\r\n\r\n"
)


class Attack:
    """Opens connections again that the server closes, and counts."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self.address = (host, port)
        self.end = time.monotonic() + seconds
        self.opened = 0
        self.uploads = 0
        self.sent = 0

    def hold(self) -> None:
        """Keep `CONNECTIONS` slow connections open."""
        held: list[socket.socket] = []
        while time.monotonic() < self.end:
            while len(held) < CONNECTIONS:
                connection = socket.create_connection(self.address, timeout=10)
                connection.sendall(HALVES[self.opened % len(HALVES)])
                held.append(connection)
                self.opened += 1
            closed = [each for each in select.select(held, [], [], 0.2)[0] if not self._is_open(each)]
            held = [each for each in held if each not in closed]
        for connection in held:
            connection.close()

    def _is_open(self, connection: socket.socket) -> bool:
        """Return whether the server keeps the connection; what it sent is read only in part."""
        try:
            is_open = bool(connection.recv(1))
        except OSError:
            is_open = False
        if not is_open:
            connection.close()
        return is_open

    def upload(self) -> None:
        """Send unauthorized bodies, as fast as the share of this thread."""
        while time.monotonic() < self.end:
            with contextlib.suppress(OSError), socket.create_connection(self.address, timeout=10) as connection:
                connection.sendall(UPLOAD)
                self.uploads += 1
                while time.monotonic() < self.end:
                    connection.sendall(PIECE)
                    self.sent += len(PIECE)
                    time.sleep(len(PIECE) * UPLOADERS / BYTES_PER_SECOND)


def main() -> None:
    host, port, seconds = sys.argv[1:]
    attack = Attack(host, int(port), float(seconds))
    threads = [
        threading.Thread(target=attack.hold),
        *(threading.Thread(target=attack.upload) for _ in range(UPLOADERS)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = {"connections": attack.opened, "uploads": attack.uploads, "sent": attack.sent}
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()
