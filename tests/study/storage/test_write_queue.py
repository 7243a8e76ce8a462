"""Turns: in order, bounded, given back by who is killed; and readers who never wait."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from duelist.core.errors import StorageLocked
from duelist.study import create_study, load_study
from duelist.study.storage import sqlite as _sqlite
from duelist.study.storage.write_queue import FileQueue, QueueTimeout, ThreadQueue
from tests.study.conftest import features, filled, path_of

ROOT = Path(__file__).parents[3]


def wait_until(condition, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.005)


# -- threads -----------------------------------------------------------------------------


def test_threads_have_their_turns_in_the_order_they_came() -> None:
    turns = ThreadQueue()
    order: list[int] = []

    def come(number: int) -> None:
        with turns.turn(20.0):
            order.append(number)

    with turns.turn(1.0):
        threads = []
        for number in range(8):
            threads.append(threading.Thread(target=come, args=(number,)))
            threads[-1].start()
            wait_until(lambda n=number: len(turns._waiting) == n + 1)
    with turns.turn(20.0):  # who had it comes last, though it comes at once
        order.append(99)
    for thread in threads:
        thread.join()
    assert order == [*range(8), 99]


def test_a_thread_may_take_a_turn_in_its_own() -> None:
    turns = ThreadQueue()
    with turns.turn(1.0), turns.turn(1.0):
        pass
    with turns.turn(0.1):
        pass


def test_who_waits_too_long_leaves_the_queue() -> None:
    turns = ThreadQueue()
    failed = threading.Event()

    def impatient() -> None:
        with pytest.raises(QueueTimeout), turns.turn(0.05):
            pass
        failed.set()

    with turns.turn(1.0):
        thread = threading.Thread(target=impatient)
        thread.start()
        assert failed.wait(20.0)
        thread.join()
    with turns.turn(1.0):
        assert not turns._waiting


# -- processes ---------------------------------------------------------------------------

HOLDER = """
import sys, time
from pathlib import Path
from duelist.study.storage.write_queue import FileQueue
with FileQueue(Path(sys.argv[1])).turn(20.0):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the turn, until it is killed."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "held\n"
            yield child
        finally:
            child.kill()


def test_who_is_killed_gives_the_turn_back(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with holder(path), pytest.raises(QueueTimeout), FileQueue(path).turn(0.2):
        pass
    with FileQueue(path).turn(20.0):
        pass


def test_nobody_overtakes_who_is_next(tmp_path: Path) -> None:
    """One who gives the turn back and wants it again at once has it after the one who waits, every time."""
    path = tmp_path / "x.db"
    mine, other = FileQueue(path), FileQueue(path)
    order: list[str] = []
    wanted, over = threading.Event(), threading.Event()

    def wait_for_it() -> None:
        while True:
            wanted.wait()
            wanted.clear()
            if over.is_set():
                return
            with other.turn(20.0):
                order.append("other")

    thread = threading.Thread(target=wait_for_it)
    thread.start()
    for _ in range(20):
        with mine.turn(20.0):
            wanted.set()
            wait_until(lambda: _is_locked(tmp_path / "x.db-next"))  # the other is next now
        with mine.turn(20.0):
            order.append("mine")
    over.set()
    wanted.set()
    thread.join()
    assert order == ["other", "mine"] * 20


def _is_locked(path: Path) -> bool:
    import fcntl

    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_writer_who_is_stopped_keeps_others_only_so_long(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = filled(storage=sqlite_url)
    with holder(path_of(sqlite_url)) as child, monkeypatch.context() as patched:
        os.kill(child.pid, signal.SIGSTOP)
        patched.setattr(_sqlite, "BUSY_SECONDS", 0.3)
        start = time.monotonic()
        with pytest.raises(StorageLocked, match=r"been written by another process for over 0\.3 s"):
            study.ask("ana")
        assert time.monotonic() - start < 120.0
        assert study.votes() == []  # readers do not wait
    study.ask("ana")


def test_a_folder_in_which_no_file_can_be_made_is_no_obstacle(tmp_path: Path) -> None:
    with FileQueue(tmp_path / "missing" / "x.db").turn(1.0):
        pass


def test_turns_of_a_parent_are_not_its_childs(tmp_path: Path) -> None:
    """A fork while another thread has the turn: the child waits for nobody in itself, and holds nothing of the parent's."""
    threads, processes = ThreadQueue(), FileQueue(tmp_path / "x.db")
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with threads.turn(1.0), processes.turn(1.0):
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with threads.turn(1.0), processes.turn(20.0):
                code = 0
        finally:
            os._exit(code)
    over.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


# -- readers -----------------------------------------------------------------------------


@pytest.mark.parametrize("read", ["votes", "arms", "leaderboard", "pending", "policy"])
def test_a_reading_that_takes_long_keeps_nobody(url: str, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader is held in the middle of what it reads; raters ask and tell in the same process meanwhile."""
    study = filled(storage=url, n_arms=20)
    study.tell(study.ask("ana").id, "first", "ana")
    reading, over = threading.Event(), threading.Event()
    original = type(study._storage).reading

    def slow(self, study_id):
        found = original(self, study_id)
        if threading.current_thread().name == "reader":

            class Held:
                def __enter__(self):
                    tx = found.__enter__()
                    reading.set()
                    over.wait(30.0)
                    return tx

                def __exit__(self, *error):
                    return found.__exit__(*error)

            return Held()
        return found

    monkeypatch.setattr(type(study._storage), "reading", slow)
    thread = threading.Thread(target=getattr(study, read), name="reader")
    thread.start()
    assert reading.wait(30.0)
    for _ in range(3):
        study.tell(study.ask("ben").id, "second", "ben")
    assert thread.is_alive()
    over.set()
    thread.join()
    assert len(study) == 4


# -- clocks ------------------------------------------------------------------------------


def test_leases_go_by_the_clock_of_the_database(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client whose clock is a day ahead takes no duel away from others, and gives none that has ended already."""
    study = create_study("study", postgres_url, policy="MaxInP", lease_seconds=60.0)
    study.add_arms([f"a{k}" for k in range(6)], features(6))
    duel = study.ask("ana")
    monkeypatch.setattr(time, "time", lambda: duel.asked_at.timestamp() + 86_400.0)
    ahead = load_study("study", postgres_url)
    other = ahead.ask("ben")
    assert other.id != duel.id
    assert abs((other.asked_at - duel.asked_at).total_seconds()) < 60.0
    assert [out.id for out in ahead.pending()] == [duel.id, other.id]
    vote = ahead.tell(duel.id, "first", "ana")
    assert not vote.late
    assert abs((vote.voted_at - duel.asked_at).total_seconds()) < 60.0
