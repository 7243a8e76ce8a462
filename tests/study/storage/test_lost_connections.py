"""Connections that are lost, servers that are full or gone, Ctrl-C while waiting: a clear error, and nothing is lost."""

import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from duelist.core.errors import ConnectionLost, StorageError, StorageFull, StudyExists
from duelist.study import Study, Vote, create_study, load_study
from duelist.study.storage import VoteRow
from duelist.study.storage.sql.errors import translating_errors
from duelist.study.storage.sql.transaction import SqlTransaction
from tests.helpers.busy_study import rebuilt
from tests.helpers.cut_connection import wired
from tests.helpers.local_study import load_local_study
from tests.study.conftest import filled


def test_a_connection_cut_in_the_middle_of_a_tell(postgres_url: str) -> None:
    """The server ends the connection while the vote waits for its turn; told again, it is there, once."""
    study = filled(storage=postgres_url)
    duel = study.ask("ana")
    admin = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    failures: list[Exception] = []

    def tell() -> None:
        try:
            study.tell(duel.id, "first", "ana")
        except StorageError as error:
            failures.append(error)

    holder = load_local_study("study", postgres_url)
    waiting = sa.text(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with holder._storage.writing(holder._id), admin.connect() as connection:
        thread = threading.Thread(target=tell)
        thread.start()
        give_up = time.monotonic() + 20
        while (pid := connection.execute(waiting).scalar()) is None and time.monotonic() < give_up:
            time.sleep(0.01)
        assert connection.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid}).scalar()
        thread.join()
    assert [type(error) for error in failures] == [ConnectionLost]
    assert "repeat the call" in str(failures[0])
    assert study.votes() == []
    assert study.tell(duel.id, "first", "ana").sequence == 1
    assert len(study) == 1
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def test_a_backend_that_is_ended_in_the_middle_of_the_transaction(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the vote is written and not yet committed: it is gone, and told again it is there, once."""
    study = filled(storage=postgres_url)
    duel = study.ask("ana")
    admin = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    write = SqlTransaction.add_votes

    def write_and_end(tx: SqlTransaction, rows: Sequence[VoteRow]) -> None:
        write(tx, rows)
        with admin.connect() as other:
            pid = tx._connection.connection.connection.driver_connection.info.backend_pid
            assert other.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid}).scalar()

    with monkeypatch.context() as patched:
        patched.setattr(SqlTransaction, "add_votes", write_and_end)
        with pytest.raises(ConnectionLost, match="repeat the call"):
            study.tell(duel.id, "first", "ana")
    assert study.votes() == []
    assert study.pending() == [duel]
    assert study.tell(duel.id, "first", "ana").sequence == len(study) == 1
    assert study.policy().snapshot() == rebuilt(study).snapshot()


TELLING = """
import sys
from duelist.study import load_study

study, duel = load_study("study", sys.argv[1]), int(sys.argv[2])
try:
    study.tell(duel, "first", "ana")
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.readline()
print(study.tell(duel, "first", "ana").sequence, len(study), flush=True)
"""


def test_interrupted_while_waiting_for_the_server(postgres_url: str) -> None:
    """Ctrl-C while another process writes: the connection that was left in the middle of a statement is not used again."""
    study = filled(storage=postgres_url)
    duel = study.ask("ana")
    admin = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    waiting = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    child = [sys.executable, "-c", TELLING, postgres_url, str(duel.id)]
    with subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        with study._storage.writing(study._id), admin.connect() as connection:
            while not connection.execute(waiting).scalar():
                assert other.poll() is None
                time.sleep(0.01)
            other.send_signal(signal.SIGINT)
            assert other.stdout.readline() == "interrupted\n"
        assert study.votes() == []
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "1 1\n"
    assert other.returncode == 0
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def calls(tmp_path: Path) -> dict[str, Callable[[Study], object]]:
    """Everything that writes, each safe to repeat."""
    (tmp_path / "timed.csv").write_text("left,right,winner,voted_at\na0,a1,left,2026-01-01T00:00:00+00:00\n")
    (tmp_path / "untimed.csv").write_text("left,right,winner\na0,a1,left\na2,a1,right\n")
    return {
        "ask": lambda study: study.ask("ben"),
        "tell": lambda study: study.tell(2, "second", "ana"),
        "revise": lambda study: study.tell(1, "second", "ana", revise=True),
        "undo": lambda study: study.undo(1, "ana"),
        "add arms": lambda study: study.add_arms(["b0", "b1"], [[1, 2, 3], [4, 5, 6]]),
        "retire": lambda study: study.retire(["a3"]),
        "import": lambda study: study.import_votes(tmp_path / "timed.csv", "csv"),
        "import without times": lambda study: study.import_votes(tmp_path / "untimed.csv", "csv"),
    }


@pytest.mark.parametrize("name", list(calls(Path(tempfile.gettempdir()))))
@pytest.mark.parametrize("heard", [False, True], ids=["commit is lost", "acknowledgement is lost"])
def test_a_wire_that_is_cut_at_the_commit(own_postgres_url: str, tmp_path: Path, name: str, heard: bool) -> None:
    """Nobody can tell whether it was written; repeated, it is there once, as if nothing had happened."""

    def prepared(study: Study) -> Study:
        study.tell(study.ask("ana").id, "first", "ana")
        study.ask("ana")
        return study

    call = calls(tmp_path)[name]
    with wired(own_postgres_url, tmp_path) as (wire, url):
        cut, whole = prepared(filled("cut", url)), prepared(filled("whole", own_postgres_url))
        call(whole)
        wire.cut_at(b"COMMIT", heard=heard)
        with pytest.raises(ConnectionLost, match="repeat the call"):
            call(cut)
        call(cut)
        assert wire.cuts == 1
        other = load_study("cut", own_postgres_url)
        assert [said(vote) for vote in other.votes()] == [said(vote) for vote in whole.votes()]
        assert other.arms() == cut.arms() == whole.arms()
        assert [pair.id for pair in other.pending()] == [pair.id for pair in whole.pending()]
        assert other.policy().snapshot() == cut.policy().snapshot() == whole.policy().snapshot()
        cut.close()


def said(vote: Vote) -> tuple[object, ...]:
    return vote.sequence, vote.duel_id, vote.outcome, vote.rater, vote.revises


def test_a_full_disk_under_postgres(own_postgres_url: str) -> None:
    """The file of the votes is a device that has no room: the server cannot extend it, and says so as on any full disk."""
    study = filled(storage=own_postgres_url)
    duel = study.ask("ana")
    with sa.create_engine(own_postgres_url, poolclass=sa.NullPool).connect() as connection:
        folder = connection.execute(sa.text("SHOW data_directory")).scalar_one()
        file = Path(folder) / connection.execute(sa.text("SELECT pg_relation_filepath('duelist_votes')")).scalar_one()
    study.close()  # those who have the file open would not notice
    aside = file.with_name("aside")
    file.rename(aside)
    file.symlink_to("/dev/full")
    for _ in range(2):
        with pytest.raises(StorageFull, match=r"No space left on device\)\. Free some space and repeat the call"):
            study.tell(duel.id, "first", "ana")
    assert study.pending() == [duel]
    study.close()
    file.unlink()
    aside.rename(file)
    assert study.tell(duel.id, "first", "ana").sequence == len(study) == 1


def test_what_the_url_says_is_heeded(postgres_url: str) -> None:
    """Options of the server go beside ours; and a vote is durable though the database was told that it need not be."""
    admin = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.execute(sa.text("CREATE SCHEMA elsewhere"))
        name = connection.execute(sa.text("SELECT current_database()")).scalar_one()
        connection.execute(sa.text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    url = sa.make_url(postgres_url).update_query_dict({"options": "-c search_path=elsewhere"})
    study = filled(storage=url.render_as_string(hide_password=False))
    with admin.connect() as connection:
        where = connection.execute(sa.text("SELECT schemaname FROM pg_tables WHERE tablename = 'duelist_votes'"))
        assert where.scalars().all() == ["elsewhere"]
    with study._storage._engine.connect() as connection:  # type: ignore[attr-defined]
        settings = [
            connection.execute(sa.text(f"SHOW {name}")).scalar() for name in ("lock_timeout", "synchronous_commit")
        ]
    assert settings == ["1min", "on"]


def test_all_connections_cut_between_calls(postgres_url: str) -> None:
    """The server has been restarted, as far as we can see: the next call connects anew."""
    study = filled(storage=postgres_url)
    duel = study.ask("ana")
    with sa.create_engine(postgres_url, poolclass=sa.NullPool).connect() as connection:
        connection.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    assert study.tell(duel.id, "first", "ana").sequence == 1


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConnectionLost, match="Check that the server runs"):
        create_study("s", f"postgresql+psycopg://user:secret@/db?host={tmp_path}")


@pytest.mark.parametrize("chained", [False, True])
def test_errors_after_a_lost_connection_are_those_of_the_storage(chained: bool) -> None:
    """A call that shares a transaction with the one that lost the connection got an error of SQLAlchemy, and raters status 500."""
    lost = sa.exc.PendingRollbackError("Can't reconnect until invalid transaction is rolled back.")
    error: Exception = lost
    if chained:
        error = RuntimeError()
        error.__cause__ = lost
    with pytest.raises(ConnectionLost), translating_errors("postgresql://s"):
        raise error


def test_errors_of_the_library_stay_as_they_are() -> None:
    cause = sa.exc.IntegrityError("INSERT", None, Exception())
    with pytest.raises(StudyExists), translating_errors("sqlite:///s"):
        raise StudyExists("There is one.", "Choose another name.") from cause
