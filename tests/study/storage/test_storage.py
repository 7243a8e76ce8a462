"""The contract of storages, on every storage there is."""

from collections.abc import Iterator

import pytest

from duelist.study import Storage, open_storage
from duelist.testing import StorageContract


class TestMemory(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        return open_storage("memory")


class _Durable(StorageContract):
    @pytest.fixture
    def where(self) -> str:
        """Nothing here can know; a database that forgets to say so fails loudly."""
        raise NotImplementedError("each database says where it is")

    @pytest.fixture
    def storage(self, where: str) -> Iterator[Storage]:
        self.where_ = where
        self.opened = [open_storage(where)]
        yield self.opened[0]
        for storage in self.opened:
            storage.close()

    def again(self, storage: Storage) -> Storage:
        self.opened.append(open_storage(self.where_, create=False))
        return self.opened[-1]


class TestSqlite(_Durable):
    @pytest.fixture
    def where(self, sqlite_url: str) -> str:
        return sqlite_url


class TestPostgres(_Durable):
    @pytest.fixture
    def where(self, postgres_url: str) -> str:
        return postgres_url
