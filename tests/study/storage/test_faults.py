"""Full disks, read-only files, damaged files, other schemas: a clear error, and nothing is lost."""

import os
import random
import resource
import shutil
import sqlite3
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from duelist.core.errors import (
    ConnectionLost,
    InvalidInput,
    StorageCorrupted,
    StorageError,
    StorageFull,
    StorageLocked,
    StorageReadOnly,
    StorageTooNew,
    StorageTooOld,
    StorageWarning,
    UnknownStudy,
)
from duelist.study import create_study, list_studies, load_study, upgrade_storage
from duelist.study.storage import sqlite as _sqlite
from duelist.study.storage.sql import errors as _explain
from duelist.study.storage.sql.tables import HEAD
from tests.helpers.busy_study import rebuilt
from tests.study.conftest import filled, path_of


def test_a_full_disk(sqlite_url: str) -> None:
    """No file may grow past a limit: the vote that does not fit is refused, all others are there, and it goes on."""
    study = filled(storage=sqlite_url)
    duel = study.ask("ana")
    study.tell(duel.id, "first", "ana")
    written = max(file.stat().st_size for file in path_of(sqlite_url).parent.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    acknowledged, asked = 1, duel
    resource.setrlimit(resource.RLIMIT_FSIZE, (written + 500_000, hard))
    try:
        with pytest.raises(StorageFull, match=r"no room left .*\. Free some space") as caught:  # noqa: PT012
            while acknowledged < 10_000:
                asked = study.ask("ana")
                study.tell(asked.id, "second", "ana")
                acknowledged += 1
        with pytest.raises(StorageFull):  # still full; reading still works
            study.add_arms([f"b{k}" for k in range(1000)], [[1.0, 2.0, 3.0]] * 1000)
        assert len(load_study("study", sqlite_url).votes()) == acknowledged
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(path_of(sqlite_url)) in str(caught.value)
    assert acknowledged > 5
    assert [vote.sequence for vote in study.votes()] == list(range(1, acknowledged + 1))
    study.tell(study.ask("ana").id, "tie", "ana")
    assert len(study) == acknowledged + 1
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def test_a_disk_without_a_page_left(sqlite_url: str) -> None:
    """SQLite's own word for a full disk, in the middle of a large write: nothing of it stays, and what fits still does."""
    study = filled(storage=sqlite_url)
    engine = study._storage._engine  # type: ignore[attr-defined]

    @sa.event.listens_for(engine, "begin")
    def allow_few_pages(connection: sa.Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 60")

    vote = study.tell(study.ask("ana").id, "first", "ana")
    with pytest.raises(StorageFull, match="had no effect"):
        study.add_arms([f"b{k}" for k in range(5000)], [[1.0, 2.0, 3.0]] * 5000)
    assert (len(study.arms()), study.votes()) == (6, [vote])
    assert study.tell(study.ask("ana").id, "second", "ana").sequence == 2
    sa.event.remove(engine, "begin", allow_few_pages)
    study.close()
    study.add_arms([f"b{k}" for k in range(5000)], [[1.0, 2.0, 3.0]] * 5000)
    assert len(load_study("study", sqlite_url).arms()) == 5006


def as_nobody(task: Callable[[], None]) -> None:
    """Run a task in a child that may not write what others own; root may write anything."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            task()
            code = 0
        except BaseException:  # noqa: BLE001  (shown, and the exit status tells)
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


@pytest.fixture
def guarded() -> Iterator[Path]:
    """A folder that may be read by everybody and written by nobody, once the test has filled it."""
    folder = Path(tempfile.mkdtemp(prefix="duelist-read-only-"))
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_file(guarded: Path) -> None:
    url = f"sqlite:///{guarded / 'studies.db'}"
    study = filled(storage=url)
    duel = study.ask("ana")
    study.close()
    (guarded / "studies.db").chmod(0o444)
    guarded.chmod(0o555)

    def try_to_vote() -> None:
        with pytest.raises(StorageReadOnly, match=r"cannot be written.*Check the permissions"):
            load_study("study", url).tell(duel.id, "first", "ana")

    as_nobody(try_to_vote)
    guarded.chmod(0o755)
    (guarded / "studies.db").chmod(0o644)
    assert load_study("study", url).pending() == [duel]


def test_a_file_that_is_no_database(sqlite_url: str) -> None:
    path_of(sqlite_url).write_bytes(b"These are not the votes you are looking for. " * 100)
    before = path_of(sqlite_url).read_bytes()
    with pytest.raises(StorageCorrupted, match=r"not a database .*\. Keep the file"):
        create_study("s", sqlite_url)
    assert path_of(sqlite_url).read_bytes() == before


def test_a_damaged_file(sqlite_url: str) -> None:
    study = filled(storage=sqlite_url, n_arms=400)
    study.tell(study.ask("ana").id, "first", "ana")
    study.close()
    size = path_of(sqlite_url).stat().st_size
    with path_of(sqlite_url).open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xa5" * (size - 4096 * 3))
    with pytest.raises(StorageCorrupted, match="damaged"):
        load_study("study", sqlite_url).votes()


def test_settings_that_cannot_be_read(url: str) -> None:
    study = filled(storage=url)
    with study._storage._writer.begin() as connection:  # type: ignore[attr-defined]
        connection.execute(sa.text("UPDATE duelist_studies SET settings = '{\"policy'"))
    for look in (lambda: load_study("study", url), lambda: list_studies(url)):
        with pytest.raises(StorageCorrupted, match=r"damaged.*in a row for study"):
            look()


def test_bytes_that_have_changed_anywhere(sqlite_url: str) -> None:
    """Whatever a damaged file makes of itself, it is an error that says so, or nobody can tell: never a traceback from inside."""
    study = filled(storage=sqlite_url, n_arms=100)
    for outcome in ("first", "second", "tie") * 10:
        study.tell(study.ask("ana").id, outcome, "ana")
    study.close()
    sound = path_of(sqlite_url).read_bytes()
    luck = random.Random(0)
    refused = 0
    for _ in range(40):
        damaged = bytearray(sound)
        for _ in range(20):
            damaged[luck.randrange(len(damaged))] = luck.randrange(256)
        for file in path_of(sqlite_url).parent.glob("studies.db*"):
            file.unlink()
        path_of(sqlite_url).write_bytes(damaged)
        try:
            read_all(sqlite_url)
        except StorageCorrupted:
            refused += 1
    assert refused > 10


def read_all(url: str) -> None:
    study = load_study("study", url)
    try:
        study.arms()
        study.votes()
        study.pending()
        with warnings.catch_warnings(action="ignore", category=StorageWarning):
            study.policy()
    finally:
        study.close()


@pytest.mark.parametrize(
    ("version", "error", "match"),
    [("0000", StorageTooOld, "duelist storage upgrade"), ("9999", StorageTooNew, "Install a newer duelist")],
)
def test_another_schema_is_refused_and_explained(url: str, version: str, error: type, match: str) -> None:
    study = filled(storage=url)
    with study._storage._writer.begin() as connection:  # type: ignore[attr-defined]
        connection.execute(sa.text(f"UPDATE duelist_version SET version_num = '{version}'"))
    for attempt in (load_study, create_study):
        with pytest.raises(error, match=f"schema {version}.*{HEAD}.*{match}"):
            attempt("study", url)


def test_upgrading_what_is_newer_is_refused(url: str) -> None:
    study = filled(storage=url)
    with study._storage._writer.begin() as connection:  # type: ignore[attr-defined]
        connection.execute(sa.text("UPDATE duelist_version SET version_num = '9999'"))
    with pytest.raises(StorageTooNew, match=r"schema 9999.*Install a newer duelist"):
        upgrade_storage(url)


def test_upgrading_what_is_not_there_makes_nothing(sqlite_url: str, postgres_url: str) -> None:
    with pytest.raises(UnknownStudy, match="no file"):
        upgrade_storage(sqlite_url)
    assert not path_of(sqlite_url).exists()
    with pytest.raises(UnknownStudy, match="There is nothing to upgrade"):
        upgrade_storage(postgres_url)


def test_upgrading_what_is_up_to_date_changes_nothing(url: str) -> None:
    study = filled(storage=url)
    vote = study.tell(study.ask("ana").id, "first", "ana")
    assert upgrade_storage(url) == HEAD
    assert load_study("study", url).votes() == [vote]


def test_a_writer_that_does_not_end(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sqlite, "BUSY_SECONDS", 0.2)
    study = filled(storage=sqlite_url)
    duel = study.ask("ana")
    other = sqlite3.connect(path_of(sqlite_url), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageLocked, match="another process"):
        study.tell(duel.id, "first", "ana")
    assert study.votes() == []  # readers do not wait
    other.execute("ROLLBACK")
    other.close()
    assert study.tell(duel.id, "first", "ana").sequence == 1


def test_passwords_are_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConnectionLost) as caught:
        create_study("s", f"postgresql+psycopg://user:secret@/db?host={tmp_path}")
    assert "secret" not in str(caught.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConnectionLost, match="Check that the folder exists"):
        create_study("s", f"sqlite:///{tmp_path / 'missing' / 'studies.db'}")


def test_a_network_file_system_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/export {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(_sqlite, "_MOUNTS", mounts)
    with pytest.warns(StorageWarning, match=r"network file system \(nfs4\).*PostgreSQL"):
        create_study("s", f"sqlite:///{tmp_path / 'studies.db'}")
    assert _sqlite.file_system(Path("/datax/a.db"), "/dev/sda / ext4 rw\nserver:/ /data nfs rw") == "ext4"


def test_a_network_file_system_that_is_mounted_when_needed_is_seen() -> None:
    """As homes on NFS are: the table names the automatic mount first, and then what lies on it."""
    mounts = "/dev/sda / ext4 rw\n/etc/auto /home/ana autofs rw\nserver:/ana /home/ana nfs4 rw"
    assert _sqlite.file_system(Path("/home/ana/a.db"), mounts) == "nfs4"


@pytest.mark.parametrize("storage", ["captions.db", "mysql://host/db", "sqlite://", "sqlite:///:memory:", ""])
def test_storages_that_are_none(storage: str) -> None:
    with pytest.raises(InvalidInput, match=r"Use \"sqlite:///file.db\""):
        create_study("s", storage)


def test_every_known_code_has_its_error() -> None:
    """Codes that cannot be provoked here are told by the drivers' own words for them."""

    class Refusal(Exception):
        def __init__(self, **codes: str) -> None:
            super().__init__("as the database says it\nwith details")
            self.__dict__.update(codes)

    for codes, kind in (
        ({"sqlstate": "53100"}, StorageFull),
        ({"sqlstate": "25006"}, StorageReadOnly),
        ({"sqlstate": "XX001"}, StorageCorrupted),
        ({"sqlstate": "55P03"}, StorageLocked),
        ({"sqlstate": "57P01"}, ConnectionLost),
        ({"sqlite_errorname": "SQLITE_IOERR_FSYNC"}, StorageError),
    ):
        error = _explain.translated(sa.exc.InternalError("SELECT 1", {}, Refusal(**codes)), "here")
        assert type(error) is kind
        assert str(error).startswith("Storage here ")
        assert error.message.endswith("(as the database says it).")
        assert error.hint


def interrupted(view: AbstractContextManager[Any]) -> None:
    """Ctrl-C in the middle of a statement."""
    with view as tx:
        interruption = KeyboardInterrupt()
        tx._connection._raise(interruption, "SELECT 1")
        raise interruption


def test_an_interruption_in_the_middle_of_a_statement_does_not_take_studies_in_memory_along() -> None:
    """The connection is not used again, and it was the only one."""
    study = filled(n_arms=6)
    for _ in range(3):
        study.tell(study.ask("ana").id, "first", "ana")
    for view in (study._storage.writing, study._storage.reading):
        with pytest.raises(KeyboardInterrupt):
            interrupted(view(study.id))
        assert len(study.votes()) == 3
    study.tell(study.ask("ana").id, "second", "ana")
    assert len(study) == 4
    assert study.policy().snapshot() == rebuilt(study).snapshot()
