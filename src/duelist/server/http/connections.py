"""Connections: how many there may be, and how long each may wait, read or write.

uvicorn closes idle connections only between two requests. `BoundedProtocol` also closes those whose request never
becomes whole and those who do not read their response, and it makes room at the limit of connections by closing the
connection that has waited longest without a request.
"""

from __future__ import annotations

import asyncio
import resource
from collections import OrderedDict
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from duelist.server.monitoring.metrics import Metrics

MAX_CONNECTIONS: Final = 2000
HEAD_SECONDS: Final = 10.0
"""Seconds from the first byte of a request, or from the start of a connection, to the end of the headers."""
KEEP_ALIVE_SECONDS: Final = 75
"""Seconds that a connection may be idle between two requests."""
WRITE_SECONDS: Final = 60.0
"""Seconds without progress of a response whose client does not read it."""
CLOSE_SECONDS: Final = 10.0
"""Seconds that the last bytes of a response have to leave after the connection was closed."""
LINGER_SECONDS: Final = 2.0
"""Seconds for which the rest of an unread body is discarded, so that its sender can read the error."""
_LINGER_BYTES: Final = 4 * 2**20
_SWEEP_SECONDS: Final = 0.5
_SPARE_FILES: Final = 256
"""Open files kept for the storage, the worker and temporary files."""
_WANTED_FILES: Final = 65_536


class ConnectionPool:
    """All connections of a server process."""

    def __init__(self, metrics: Metrics, limit: int) -> None:
        self._limit = limit
        self._metrics = metrics
        self._all: set[BoundedProtocol] = set()
        self._idle: OrderedDict[BoundedProtocol, None] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None

    def add(self, connection: BoundedProtocol, loop: asyncio.AbstractEventLoop) -> None:
        """Add a connection; at the limit, close the one that has waited longest, or else the new one."""
        if len(self._all) >= self._limit:
            victim = next(iter(self._idle), connection)
            victim.abort("limit")
            if victim is connection:
                return
        self._all.add(connection)
        self._idle[connection] = None
        self._metrics.connections.set(len(self._all))
        if self._sweep is None:
            self._sweep = loop.call_later(_SWEEP_SECONDS, self._check_all, loop)

    def remove(self, connection: BoundedProtocol) -> None:
        """Remove a closed connection."""
        self._all.discard(connection)
        self._idle.pop(connection, None)
        self._metrics.connections.set(len(self._all))

    def set_idle(self, connection: BoundedProtocol, is_idle: bool) -> None:
        """Record whether a connection waits for a request."""
        if not is_idle:
            self._idle.pop(connection, None)
        elif connection in self._all:
            self._idle.setdefault(connection)

    def count_closed(self, reason: str) -> None:
        """Count a connection that the server has closed."""
        self._metrics.connections_closed.labels(reason).inc()

    def _check_all(self, loop: asyncio.AbstractEventLoop) -> None:
        for connection in list(self._all):
            connection.check(loop.time())
        self._sweep = loop.call_later(_SWEEP_SECONDS, self._check_all, loop) if self._all else None


class BoundedProtocol(H11Protocol):
    """A connection with deadlines. `protocol_for` makes the class for a pool."""

    pool: ConnectionPool

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        self._socket = transport
        self._head_since: float | None = self.loop.time()
        self._blocked_since: float | None = None
        self._closed_at: float | None = None
        self._lingered = 0
        super().connection_made(_PoliteTransport(transport, self))  # type: ignore[arg-type]
        self.pool.add(self, self.loop)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._closed_at = self._closed_at or self.loop.time()
        self.pool.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a piece of a request; discard it if the response is already complete."""
        if self._closed_at is not None:
            self._lingered += len(data)
            if self._lingered > _LINGER_BYTES:
                self._socket.abort()
            return
        super().data_received(data)
        self._note_state()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._note_state()

    def _note_state(self) -> None:
        """Start the deadline of a head at its first byte, and end it with the last."""
        is_idle = self.conn.their_state is h11.IDLE
        self.pool.set_idle(self, is_idle)
        if not is_idle:
            self._head_since = None
        elif self._head_since is None and self.conn.trailing_data[0]:
            self._head_since = self.loop.time()

    def pause_writing(self) -> None:
        """Start the deadline of a client that does not read."""
        self._blocked_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """End the deadline of a client that reads again."""
        self._blocked_since = None
        super().resume_writing()

    def check(self, now: float) -> None:
        """Close the connection if one of its deadlines has passed."""
        if self._closed_at is not None:
            is_lingering = not self._socket.is_closing()
            if now - self._closed_at > (LINGER_SECONDS if is_lingering else CLOSE_SECONDS):
                self._socket.abort()
        elif self._head_since is not None and now - self._head_since > HEAD_SECONDS:
            self.abort("head")
        elif self._blocked_since is not None and now - self._blocked_since > WRITE_SECONDS:
            self.abort("write")

    def abort(self, reason: str) -> None:
        """Close the connection at once."""
        self.pool.count_closed(reason)
        self.pool.remove(self)
        self._closed_at = self.loop.time()
        self._socket.abort()

    def close(self) -> None:
        """Close the connection after the response; if a body is still being sent, end only the response's direction.

        A socket that is closed with unread data is reset, and its client may never see the response.
        """
        if self._closed_at is not None:
            return
        self._closed_at = self.loop.time()
        self.pool.set_idle(self, False)
        if self.conn.their_state is h11.SEND_BODY and not self._socket.is_closing() and self._socket.can_write_eof():
            self._socket.write_eof()
            self._socket.resume_reading()
        else:
            self._socket.close()

    @property
    def is_closing(self) -> bool:
        """Whether the connection takes no more requests."""
        return self._closed_at is not None or self._socket.is_closing()


class _PoliteTransport:
    """The transport of a connection, whose `close` is that of `BoundedProtocol`."""

    def __init__(self, transport: asyncio.Transport, connection: BoundedProtocol) -> None:
        self._transport = transport
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        self._connection.close()

    def is_closing(self) -> bool:
        return self._connection.is_closing


def protocol_for(metrics: Metrics) -> type[BoundedProtocol]:
    """Return the class of a server's connections."""
    limit = min(MAX_CONNECTIONS, _raise_file_limit() - _SPARE_FILES)
    return type("ServerProtocol", (BoundedProtocol,), {"pool": ConnectionPool(metrics, max(limit, 64))})


def _raise_file_limit() -> int:
    """Return the number of files that this process may open, after raising it as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, _WANTED_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return _WANTED_FILES if soft == resource.RLIM_INFINITY else soft
