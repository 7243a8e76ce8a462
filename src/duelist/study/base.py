"""The transactions of a study, which all parts of `Study` share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from duelist.study.cache import StudyCache
from duelist.study.records import StudySettings
from duelist.study.storage import PendingImport, Storage, StudyRow, Transaction
from duelist.study.storage.group_commit import GroupCommit, Result
from duelist.study.storage.write_queue import BUSY_SECONDS, queued


class StudyBase:
    """A study in a storage, with a cache for writers and one for readers, so that writers never wait for readers."""

    def __init__(self, storage: Storage, row: StudyRow, clock: Callable[[], float] | None = None) -> None:
        self._storage = storage
        self._id = row.id
        self._write_cache = StudyCache(row.settings)
        self._read_cache = StudyCache(row.settings)
        self._clock = clock
        self._group = GroupCommit(self._writing, self._forget_failed)
        self.name: str = row.name
        self.settings: StudySettings = row.settings

    @property
    def id(self) -> int:
        """The number of the study in its storage; it stays when the study is renamed."""
        return self._id

    def close(self) -> None:
        """Close the connections of the storage; they open again on the next use."""
        self._storage.close()

    def _write(self, call: Callable[[Transaction], Result]) -> Result:
        """Call in a transaction that writes, and that it may share with other callers; return when it is committed."""
        return self._group.run(call)

    def _forget_failed(self, tx: Transaction) -> None:
        """Drop from the cache for writers what a call may have left that was undone; arms do not change in such calls."""
        self._write_cache.clear()

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """Begin a transaction that writes and refreshes the cache for writers."""
        with self._transaction(self._write_cache, self._storage.writing) as tx:
            yield tx
        self._after_writing(tx.pending_import)

    @contextmanager
    def _changing(self) -> Iterator[Transaction]:
        """Begin a transaction that writes; raise StudyNotOpen if the study is archived."""
        with self._writing() as tx:
            self._write_cache.check_may_change()
            yield tx

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        """Begin a transaction that reads and refreshes the cache for readers."""
        with self._transaction(self._read_cache, self._storage.viewing) as tx:
            yield tx

    @contextmanager
    def _transaction(
        self, cache: StudyCache, begin: Callable[[int], AbstractContextManager[Transaction]]
    ) -> Iterator[Transaction]:
        """Begin a transaction and refresh a cache; clear it after an error, since it may hold rows that were rolled back."""
        with queued(cache.queue, seconds=BUSY_SECONDS, storage=repr(self.name)):
            revision = cache.arms.revision
            try:
                with begin(self._id) as tx:
                    if cache.refresh(tx):
                        self.name, self.settings = cache.name, cache.settings
                    yield tx
            except BaseException:
                cache.clear()
                if cache.arms.revision != revision:
                    cache.arms.clear()
                raise

    def _after_writing(self, pending_import: PendingImport | None) -> None:
        """Called after every write; parts of the study override it."""

    def _refresh(self) -> None:
        """Update `name` and `settings` from the storage."""
        with self._reading():
            pass

    def _now(self, tx: Transaction | None = None) -> int:
        """Return the time in microseconds, by the storage's clock where it has one that its users share."""
        if self._clock is not None:
            return round(self._clock() * 1e6)
        return round(time.time() * 1e6) if tx is None else tx.now
