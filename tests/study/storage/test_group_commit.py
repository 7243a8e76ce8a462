"""Writes that wait at the same time share a transaction; each is durable when it returns, and fails alone."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import sqlalchemy as sa

from duelist.core.errors import StorageError, VoteConflict
from duelist.study import Study, load_study
from duelist.study.storage.group_commit import MAX_CALLS
from tests.helpers.busy_study import rebuilt
from tests.study.conftest import filled

Calls = list[Callable[[], object]]


def commits(study: Study) -> list[str]:
    """A list that grows with every commit of this study's storage."""
    seen: list[str] = []
    sa.event.listen(study._storage._engine, "commit", lambda _: seen.append("commit"))  # type: ignore[attr-defined]
    return seen


def at_once(study: Study, calls: Calls) -> list[Future[object]]:
    """Make calls that all wait for a turn before the first of them gets it."""
    with ThreadPoolExecutor(len(calls)) as threads, study._writing():
        made = []
        for waiting, call in enumerate(calls, start=1):
            made.append(threads.submit(call))
            while len(study._group._waiting) < waiting:
                time.sleep(0.001)
    return made


def test_calls_that_wait_share_a_transaction(url: str) -> None:
    study = filled(storage=url, n_arms=12)
    study.ask("first")
    raters = [f"rater {k}" for k in range(2 * MAX_CALLS)]
    seen = commits(study)
    asked = at_once(study, [lambda rater=rater: study.ask(rater) for rater in raters])  # type: ignore[misc]
    assert len(seen) == 1 + 2
    duels = [made.result() for made in asked]
    assert len({duel.id for duel in duels}) == len(raters)  # type: ignore[attr-defined]
    assert len({frozenset((duel.first.id, duel.second.id)) for duel in duels}) == len(raters)  # type: ignore[attr-defined]
    told: Calls = [
        lambda rater=rater, duel=duel: study.tell(duel, "first", rater)  # type: ignore[misc]
        for rater, duel in zip(raters, duels, strict=True)
    ]
    at_once(study, told)
    assert len(seen) == 2 * (1 + 2)
    again = load_study("study", url)
    assert sorted(vote.rater or "" for vote in again.votes()) == sorted(raters)
    assert study.policy().snapshot() == again.policy().snapshot() == rebuilt(study).snapshot()


def test_a_call_that_fails_is_undone_alone(url: str) -> None:
    study = filled(storage=url)
    duels = {rater: study.ask(rater) for rater in ("ana", "ben", "cem", "dan")}
    study.tell(duels["ben"], "first", "ben")

    def tell(rater: str) -> Callable[[], object]:
        return lambda: study.tell(duels[rater], "second", rater)

    def ask_and_break() -> object:
        def broken(tx: object) -> None:
            tx.set_free(duels["ana"].id, 5)  # type: ignore[attr-defined]
            raise KeyError("a bug")

        return study._write(broken)

    ana, ben, bug, cem = at_once(study, [tell("ana"), tell("ben"), ask_and_break, tell("cem")])
    assert ana.exception() is None
    assert cem.exception() is None
    assert isinstance(ben.exception(), VoteConflict)
    assert isinstance(bug.exception(), KeyError)
    assert [vote.rater for vote in load_study("study", url).votes()] == ["ben", "ana", "cem"]
    with study._storage.reading(study._id) as tx:
        assert {duel.free for duel in tx.duels_since(0)} == {0}
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def test_a_commit_that_fails_fails_for_everybody(url: str) -> None:
    study = filled(storage=url)
    duels = {rater: study.ask(rater) for rater in ("ana", "ben")}
    seen = commits(study)

    @sa.event.listens_for(study._storage._engine, "commit")  # type: ignore[attr-defined]
    def fail_once(connection: sa.Connection) -> None:
        if len(seen) == 2:
            connection.exec_driver_sql("SELECT no_such_column")

    calls: Calls = [lambda rater=rater: study.tell(duels[rater], "first", rater) for rater in duels]  # type: ignore[misc]
    assert all(isinstance(made.exception(), StorageError) for made in at_once(study, calls))
    assert len(load_study("study", url)) == 0
    for call in calls:
        call()  # again, as after any error of the storage
    assert len(load_study("study", url)) == 2
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def test_an_interruption_concerns_its_own_call(url: str) -> None:
    """Ctrl-C in the thread that leads undoes its call; the calls that it had taken are made by another."""
    study = filled(storage=url)
    duels = {rater: study.ask(rater) for rater in ("ana", "ben")}
    interruptions = [KeyboardInterrupt()]

    def interrupt(_: object) -> None:
        if interruptions:
            raise interruptions.pop()

    calls: Calls = [lambda rater=rater: study.tell(duels[rater], "first", rater) for rater in duels]  # type: ignore[misc]
    ana, ben, other = at_once(study, [*calls, lambda: study._write(interrupt)])
    assert isinstance(ana.exception(), KeyboardInterrupt)
    assert ben.exception() is other.exception() is None
    assert [vote.rater for vote in load_study("study", url).votes()] == ["ben"]
    assert study.tell(duels["ana"], "first", "ana").sequence == 2
    assert study.policy().snapshot() == rebuilt(study).snapshot()
