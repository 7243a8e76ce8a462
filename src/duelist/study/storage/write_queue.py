"""Fair queues for writers: the threads of a process, and the processes that share a file.

SQLite lets writers poll: the one that happens to look when the file is free goes first, and the others sleep longer and longer. Thread
locks are no fairer: a thread that releases one and wants it again gets it before the others wake up.
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
from duelist.core.files import PRIVATE

try:
    import fcntl
except ImportError:  # Windows, which relies on SQLite's own waiting
    fcntl = None  # type: ignore[assignment]


BUSY_SECONDS: Final = 60.0
"""How long a writer waits for its turn."""


class WriteQueue(Protocol):
    """A queue of writers."""

    def turn(self, seconds: float) -> AbstractContextManager[None]:
        """Wait for a turn and hold it until the block ends; raise QueueTimeout after that many seconds."""


class QueueTimeout(Exception):
    """A turn did not come in time."""


@contextmanager
def queued(*queues: WriteQueue, seconds: float, storage: str) -> Iterator[None]:
    """Hold a turn in each of these queues, one after the other."""
    with ExitStack() as held:
        try:
            for queue in queues:
                held.enter_context(queue.turn(seconds))
        except QueueTimeout:
            raise StorageLocked(
                f"Storage {storage} has been written by another process for over {seconds:g} s.",
                "Try again, or end the other writer.",
            ) from None
        yield


class ThreadQueue:
    """A queue of threads, first come, first served; a thread may take a turn within its own."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[tuple[int, threading.Lock]] = deque()
        self._owner: int | None = None
        self._depth = 0
        _AFTER_FORK.add(self)

    @contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """Wait for a turn and hold it until the block ends."""
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
            raise QueueTimeout

    def _leave(self, place: tuple[int, threading.Lock], keep: bool = False) -> bool:
        """Leave the queue; return whether the turn came meanwhile, which is then kept or passed on."""
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

    def reset_after_fork(self) -> None:
        """Drop the parent's threads in a child process."""
        mine = self._owner == threading.get_ident()
        depth = self._depth if mine else 0
        self.__init__()  # type: ignore[misc]
        self._owner, self._depth = (threading.get_ident(), depth) if mine else (None, 0)


class FileQueue:
    """A queue of processes, by two locked files beside the shared one.

    The process that is next holds the first file and waits for the second, which the process with the turn holds. So no process overtakes
    the next one, and the operating system queues the rest in order of arrival. It also releases the locks of a process that dies. The
    files are empty. Deleting them is harmless: at worst two processes believe that it is their turn, and the database's own lock decides.
    """

    def __init__(self, shared: Path) -> None:
        self._shared = shared
        self._paths = [Path(f"{shared}-{what}") for what in ("next", "turn")]

    @contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """Wait for a turn and hold it until the block ends; do not wait where files cannot be locked."""
        until = time.monotonic() + seconds
        with _opened(self._paths[0], self._shared) as following, _opened(self._paths[1], self._shared) as having:
            if following is not None and having is not None:
                following.lock(until)
                having.lock(until)
                following.unlock()
            yield

    def remove_files(self) -> None:
        """Delete the files, unless a process uses them or may not delete them."""
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for path in self._paths:
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                held.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in self._paths:
                path.unlink()


class _LockedFile:
    """An open file that one process at a time can lock."""

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
        """Wait in another thread: waiting for a file lock can be neither interrupted nor timed."""
        done = threading.Event()
        threading.Thread(target=self._wait_without_end, args=(done,), daemon=True).start()
        if not done.wait(max(0.0, until - time.monotonic())):
            with self._guard:
                self._abandoned = not done.is_set()
            if self._abandoned:
                raise QueueTimeout

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
            if not self._abandoned:  # else the waiting thread closes it
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # a child process may have the file open as well
                os.close(self._descriptor)

    def reset_after_fork(self) -> None:
        """Close the parent's lock in a child process."""
        os.close(self._descriptor)


@contextmanager
def _opened(path: Path, shared: Path) -> Iterator[_LockedFile | None]:
    """Open a file to lock, creating it like the shared file if needed; None if that is impossible."""
    try:
        descriptor = None if fcntl is None else _open_like(path, shared)
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


def _open_like(path: Path, shared: Path) -> int:
    """Open a file; give a new one the mode of the shared file, and its owner if this process may do that."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    with contextlib.suppress(OSError):
        of_shared = shared.stat()
        os.fchmod(descriptor, of_shared.st_mode & 0o666)
        os.fchown(descriptor, of_shared.st_uid, of_shared.st_gid)
    return descriptor


_AFTER_FORK: weakref.WeakSet[ThreadQueue | _LockedFile] = weakref.WeakSet()


def _reset_after_fork() -> None:
    for each in list(_AFTER_FORK):
        each.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
