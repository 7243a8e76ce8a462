"""Group commits: writes that wait at the same time share a transaction, and each returns when it is durable.

A commit waits for the disk, and writers of one study wait for each other. So the first caller leads: in one transaction it
makes its own call and those of the others that are waiting, commits, and wakes them. A call that fails is undone by a
savepoint, and only its caller gets the error. An error of the storage undoes the whole transaction, and every caller
gets it. A caller who is alone has a transaction without savepoints.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, TypeVar

from duelist.core.errors import StorageError
from duelist.study.storage.base import Transaction

MAX_CALLS: Final = 16
"""Calls per transaction: enough to share the wait for the disk, few enough that other processes soon have their turn."""
Result = TypeVar("Result")


class _Call:
    """A call that waits for a transaction."""

    def __init__(self, function: Callable[[Transaction], Any]) -> None:
        self.function = function
        self.result: Any = None
        self.error: Exception | None = None
        self.is_done = False
        self.wakes = threading.Lock()
        self.wakes.acquire()


class GroupCommit:
    """The calls that wait to write into one study.

    `writing` begins a transaction, and `forget` drops what a failed call may have left in a cache.
    """

    def __init__(
        self, writing: Callable[[], AbstractContextManager[Transaction]], forget: Callable[[Transaction], None]
    ) -> None:
        self._writing = writing
        self._forget = forget
        self._reset()
        _AFTER_FORK.add(self)

    def _reset(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[_Call] = deque()
        self._is_led = False

    def run(self, function: Callable[[Transaction], Result]) -> Result:
        """Call a function in a transaction and return its result when the transaction is committed."""
        call = _Call(function)
        with self._guard:
            self._waiting.append(call)
            leads, self._is_led = not self._is_led, True
        if not leads:
            self._wait(call)
        if not call.is_done:
            self._lead(call)
        if call.error is not None:
            raise call.error
        result: Result = call.result
        return result

    def _wait(self, call: _Call) -> None:
        """Wait until the call is done or has become the first, which leads."""
        try:
            call.wakes.acquire()
        except BaseException:  # Ctrl-C
            with self._guard:
                leads = self._is_first(call) and not call.wakes.locked()
                if call in self._waiting:
                    self._waiting.remove(call)
            if leads:
                self._wake_next_leader()
            raise

    def _is_first(self, call: _Call) -> bool:
        return bool(self._waiting) and self._waiting[0] is call

    def _lead(self, own: _Call) -> None:
        """Make the calls that wait, in one transaction; then let the next caller lead."""
        taken: list[_Call] = []
        try:
            with self._writing() as tx:
                self._run_waiting(tx, taken)
        except Exception as error:  # noqa: BLE001  (raised by `run`, for each caller)
            for call in taken or [self._take()]:
                call.error, call.is_done = error, True
        except BaseException:  # Ctrl-C concerns this caller alone: the others wait for another transaction
            with self._guard:
                self._waiting.extendleft(reversed([call for call in taken if call is not own]))
                if own in self._waiting:
                    self._waiting.remove(own)
            raise
        else:
            for call in taken:
                call.is_done = True
        finally:
            self._wake_next_leader()
            for call in taken:
                if call.is_done and call is not own:
                    call.wakes.release()

    def _run_waiting(self, tx: Transaction, taken: list[_Call]) -> None:
        """Make up to `MAX_CALLS` calls, also those that arrive meanwhile, if more than one is waiting."""
        is_alone = len(self._waiting) == 1
        while self._waiting and len(taken) < (1 if is_alone else MAX_CALLS):
            call = self._take()
            taken.append(call)
            call.error = None
            if is_alone:
                call.result = call.function(tx)
                continue
            try:
                with tx.savepoint():
                    call.result = call.function(tx)
            except StorageError:
                raise
            except Exception as error:  # noqa: BLE001  (raised by `run`)
                call.error = error
                self._forget(tx)

    def _take(self) -> _Call:
        with self._guard:
            return self._waiting.popleft()

    def _wake_next_leader(self) -> None:
        """Let the first waiting caller lead the next group."""
        with self._guard:
            self._is_led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].wakes.release()

    def reset_after_fork(self) -> None:
        """Drop the calls of the parent's threads in a child process."""
        self._reset()


_AFTER_FORK: weakref.WeakSet[GroupCommit] = weakref.WeakSet()


def _reset_after_fork() -> None:
    for each in list(_AFTER_FORK):
        each.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
