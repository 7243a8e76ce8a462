"""The files of an SQLite storage: only their owner can read them, and none is left beside the database after a clean close."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duelist.study import backup_storage, load_study
from tests.study.conftest import filled, path_of


@pytest.fixture(autouse=True)
def lax_umask() -> Iterator[None]:
    """Let new files be readable and writable by everybody, unless the code says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Return the permissions of the files in a folder."""
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def test_all_files_are_private(sqlite_url: str) -> None:
    study = filled(storage=sqlite_url)
    study.tell(study.ask("ana").id, "first", "ana")
    names = ("studies.db", "studies.db-next", "studies.db-shm", "studies.db-turn", "studies.db-wal")
    assert modes(path_of(sqlite_url).parent) == dict.fromkeys(names, 0o600)


def test_backups_and_archives_are_private(url: str, tmp_path: Path) -> None:
    study = filled(storage=url)
    backup_storage(url, tmp_path / "out" / "backup.db")
    study.save(tmp_path / "out" / "study.duelist")
    assert modes(tmp_path / "out") == {"backup.db": 0o600, "study.duelist": 0o600}
    filled("other", storage=f"sqlite:///{tmp_path / 'out' / 'backup.db'}")
    assert set(modes(tmp_path / "out").values()) == {0o600}


def test_an_owner_may_share_the_database(sqlite_url: str) -> None:
    """The side files follow the permissions that the owner gave the database."""
    filled(storage=sqlite_url).close()
    path_of(sqlite_url).chmod(0o660)
    study = load_study("study", sqlite_url)
    study.ask("ana")
    assert set(modes(path_of(sqlite_url).parent).values()) == {0o660}


def test_a_closed_database_is_one_file(sqlite_url: str) -> None:
    study, other = filled(storage=sqlite_url), load_study("study", sqlite_url)
    study.tell(study.ask("ana").id, "first", "ana")
    other.ask("ben")
    study.close()
    assert "studies.db-turn" in modes(path_of(sqlite_url).parent), "another process may be using it"
    other.close()
    assert set(modes(path_of(sqlite_url).parent)) == {"studies.db"}
    study.tell(study.ask("ana").id, "first", "ana")  # it opens again


def test_a_process_that_ends_leaves_one_file(sqlite_url: str) -> None:
    code = """
import sys
from duelist.study import create_study
study = create_study("study", sys.argv[1])
study.add_arms(["a", "b"])
study.tell(study.ask("ana").id, "first", "ana")
"""
    subprocess.run([sys.executable, "-c", code, sqlite_url], check=True)
    assert set(modes(path_of(sqlite_url).parent)) == {"studies.db"}
