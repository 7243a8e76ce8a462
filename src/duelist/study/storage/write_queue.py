"""Turns: who writes next, among the threads of a process and among processes that share a file.

SQLite lets writers poll: whoever happens to look when the file is free goes first, the others sleep longer and longer. Locks of
threads are no fairer: a thread that gives one back and wants it again has it before the others have woken up. Here everybody
has to queue, for as long as is said and no longer.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol

from duelist.core.errors import StorageLocked

try:
    import fcntl
except ImportError:  # not on Windows, where SQLite's own waiting has to do
    fcntl = None  # type: ignore[assignment]


BUSY_SECONDS: Final = 60.0
"""How long a writer waits for the others."""


class Turns(Protocol):
    """A queue."""

    def turn(self, seconds: float) -> AbstractContextManager[None]:
        """Wait for a turn, at most so many seconds (then `NoTurn`), and have it until the block ends."""


class NoTurn(Exception):
    """The turn did not come in time."""


@contextmanager
def waiting_for(*queues: Turns, seconds: float, place: str) -> Iterator[None]:
    """A turn in each of these queues, one after the other."""
    with ExitStack() as held:
        try:
            for queue in queues:
                held.enter_context(queue.turn(seconds))
        except NoTurn:
            raise StorageLocked(
                f"Storage {place} is being written by somebody else for over {seconds:g} s.",
                "Try again, or end the other writer.",
            ) from None
        yield


class ThreadTurns:
    """A queue of threads: a turn is handed to whoever has waited longest. A thread may take a turn within its own."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[tuple[int, threading.Lock]] = deque()
        self._owner: int | None = None
        self._depth = 0
        _AFTER_FORK.add(self)

    @contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """A turn, after those who came before."""
        self._take(seconds)
        try:
            yield
        finally:
            self._give()

    def _take(self, seconds: float) -> None:
        me = threading.get_ident()
        with self._guard:
            if self._owner in (None, me):
                self._owner = me
                self._depth += 1
                return
            called = threading.Lock()
            called.acquire()
            place = me, called
            self._waiting.append(place)
        try:
            in_time = called.acquire(timeout=seconds)
        except BaseException:
            self._leave(place)
            raise
        if not in_time and not self._leave(place, keep=True):
            raise NoTurn

    def _leave(self, place: tuple[int, threading.Lock], keep: bool = False) -> bool:
        """Leave the queue; whether the turn has come meanwhile, which is then kept or given on."""
        with self._guard:
            if place in self._waiting:
                self._waiting.remove(place)
                return False
        if not keep:
            self._give()
        return True

    def _give(self) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth:
                return
            self._owner = None
            if self._waiting:
                self._owner, called = self._waiting.popleft()
                self._depth = 1
                called.release()

    def forget_others(self) -> None:
        """In a child of a fork: the threads that waited, or had the turn, are the parent's."""
        mine = self._owner == threading.get_ident()
        depth = self._depth if mine else 0
        self.__init__()  # type: ignore[misc]
        self._owner, self._depth = (threading.get_ident(), depth) if mine else (None, 0)


class FileTurns:
    """A queue of processes, by two locked files beside the one they share.

    Whoever holds the first file is next, and waits for the second, which whoever has the turn holds. So nobody can
    overtake who is next, and behind them the operating system queues the others in the order they came. It takes the locks from a process
    that ends, however it ends. The files are empty and stay; to delete them does no harm beyond an unfair moment, since
    the database has locks of its own.
    """

    def __init__(self, shared: Path) -> None:
        self._paths = [Path(f"{shared}-{what}") for what in ("next", "turn")]

    @contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """A turn, after those who came before; at once where files cannot be locked."""
        until = time.monotonic() + seconds
        with _opened(self._paths[0]) as following, _opened(self._paths[1]) as having:
            if following is not None and having is not None:
                following.lock(until)
                having.lock(until)
                following.unlock()
            yield


class _LockedFile:
    """A file that can be locked, by whoever has opened it, once at a time."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._abandoned = False
        self._guard = threading.Lock()
        _AFTER_FORK.add(self)

    def lock(self, until: float) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait(until)

    def _wait(self, until: float) -> None:
        """Wait in another thread: one that waits for a lock of a file can be neither called back nor timed."""
        done = threading.Event()
        threading.Thread(target=self._wait_without_end, args=(done,), daemon=True).start()
        if not done.wait(max(0.0, until - time.monotonic())):
            with self._guard:
                self._abandoned = not done.is_set()
            if self._abandoned:
                raise NoTurn

    def _wait_without_end(self, done: threading.Event) -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        with self._guard:
            done.set()
            if self._abandoned:
                os.close(self._descriptor)

    def unlock(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        with self._guard:
            if not self._abandoned:  # else it is closed when the wait is over
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # also where a child of a fork has it open as well
                os.close(self._descriptor)

    def forget_others(self) -> None:
        """In a child of a fork: the lock is the parent's."""
        os.close(self._descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[_LockedFile | None]:
    """A file to lock, made where there is none; None where that is not possible, which is no reason not to go on."""
    try:
        descriptor = None if fcntl is None else os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        descriptor = None
    if descriptor is None:
        yield None
        return
    file = _LockedFile(descriptor)
    try:
        yield file
    finally:
        _AFTER_FORK.discard(file)
        file.close()


_AFTER_FORK: weakref.WeakSet[ThreadTurns | _LockedFile] = weakref.WeakSet()


def _forget_others() -> None:
    for each in list(_AFTER_FORK):
        each.forget_others()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_others)
