"""Threads of the worker are shared by studies."""

from __future__ import annotations

import threading

from duelist.server.worker.fair_threads import FairThreads


def test_a_study_with_many_requests_leaves_threads_to_others() -> None:
    threads, go_on = FairThreads(4), threading.Event()
    begun: list[str] = []
    done = threading.Semaphore(0)

    two_run = threading.Semaphore(0)

    def hold() -> None:
        begun.append("one")
        two_run.release()
        assert go_on.wait(60)
        done.release()

    for _ in range(20):
        threads.submit(1, hold)
    for _ in range(2):
        assert two_run.acquire(timeout=60)
    other = threading.Event()
    threads.submit(2, other.set)
    assert other.wait(60), "it waits behind twenty requests about another study"
    assert begun == ["one", "one"]
    go_on.set()
    for _ in range(20):
        assert done.acquire(timeout=60)
