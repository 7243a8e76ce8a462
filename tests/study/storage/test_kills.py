"""Processes that are killed, and many at once. `make crash` runs the same with 500 kills and for a minute."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from duelist.study import current_votes, load_study
from tests.helpers.busy_study import check, make, rebuilt
from tests.study.conftest import filled

ROOT = Path(__file__).parents[3]
KILLS = int(os.environ.get("DUELIST_KILLS", "10"))
CROWD_SECONDS = float(os.environ.get("DUELIST_CROWD_SECONDS", "4"))


def run(*arguments: object) -> str:
    command = [sys.executable, "-m", "tests.helpers.busy_study", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)  # noqa: T201  (how much was tried; `make crash` shows it)
    return done.stdout


def test_killed_at_a_random_moment(url: str) -> None:
    assert "none lost, none twice" in run("kill", url, KILLS, 1)


def test_killed_while_importing(url: str) -> None:
    assert "none lost, none twice" in run("import", url, KILLS, 2)


def test_sixteen_processes(url: str) -> None:
    assert "no pair out twice" in run("crowd", url, 16, CROWD_SECONDS)


def test_threads_of_one_process(url: str) -> None:
    study = filled(storage=url, n_arms=12)
    failures: list[BaseException] = []

    def play(rater: str) -> None:
        try:
            for outcome in ("first", "second", "tie") * 4:
                duel = study.ask(rater)
                study.tell(duel.id, outcome, rater)
        except BaseException as error:  # noqa: BLE001  (shown by the test)
            failures.append(error)

    threads = [threading.Thread(target=play, args=(f"rater {k}",)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    votes = study.votes()
    assert len(votes) == len({(vote.duel_id, vote.rater) for vote in votes}) == 72
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def test_a_child_opens_its_own_connections(url: str) -> None:
    """A study carried over a fork goes on working on both sides."""
    study = make(url, policy="MaxInP")
    duel = study.ask("parent")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            study.tell(study.ask("child").id, "first", "child")
            code = 0
        finally:
            os._exit(code)
    study.tell(duel.id, "second", "parent")
    assert os.waitpid(child, 0)[1] == 0
    assert sorted(vote.rater for vote in study.votes()) == ["child", "parent"]
    check(url, [])


def test_two_views_of_one_study_agree(url: str) -> None:
    """Whatever one does, the other has the same policy, to the bit."""
    one = filled(storage=url, n_arms=8, policy="VACDB")
    other = load_study("study", url)
    for k in range(40):
        asking, telling = (one, other) if k % 3 else (other, one)
        duel = asking.ask("ana")
        telling.tell(duel.id, ("first", "second", "tie")[k % 3], "ana")
        if k % 7 == 0:
            asking.tell(duel.id, "skip", "ana", revise=True)
        if k % 11 == 0:
            asking.undo(duel.id, "ana")
            asking.tell(duel.id, "first", "ana")
        if k % 5 == 0:
            assert one.policy().snapshot() == other.policy().snapshot() == rebuilt(one).snapshot()
    assert len(current_votes(one.votes())) == 40
