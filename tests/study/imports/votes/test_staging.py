"""Staged imports: atomic even if the process is killed, and without blocking raters."""

import threading
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from duelist.core.errors import InvalidInput, UnknownArm
from duelist.study import Outcome, Source, Study, Vote, current_votes, load_study
from duelist.study.administration.archive import restore_archive
from duelist.study.imports.votes import staging
from duelist.study.storage import open_storage
from tests.helpers.busy_study import rebuilt
from tests.helpers.local_study import load_local_study
from tests.study.conftest import filled

WHEN = datetime(2020, 1, 1, tzinfo=UTC)


class Stopped(Exception):
    """The importing process was killed here."""


def votes(count: int, n_arms: int = 6) -> list[Vote]:
    rng = np.random.default_rng(1)
    made = []
    for k in range(1, count + 1):
        first, second = rng.choice(n_arms, 2, replace=False)
        outcome = (Outcome.FIRST, Outcome.SECOND, Outcome.TIE, Outcome.SKIP)[int(rng.integers(4))]
        told = WHEN + timedelta(seconds=k)
        made.append(Vote(k, k, outcome, f"old {k % 3}", told, f"a{first}", f"a{second}", source=Source.IMPORT))
    return made


def contents(rows: list[Vote]) -> list[tuple]:
    return [(v.first, v.second, v.outcome, v.rater, v.voted_at) for v in rows]


def killed_after(parts: int, study: Study, new: list[Vote], monkeypatch: pytest.MonkeyPatch) -> None:
    """Import votes, killed after this number of parts."""
    moved = []
    original = staging.move_part

    def until(*arguments: object) -> None:
        if len(moved) == parts:
            raise Stopped
        moved.append(1)
        original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(staging, "move_part", until)
        with pytest.raises(Stopped):
            study.add_votes(new)


def test_all_parts_of_an_import_are_one_batch(url: str) -> None:
    study = filled(storage=url, policy="VACDB")
    new = votes(2 * staging.PART + 100)
    assert study.add_votes(new) == len(new)
    assert contents(study.votes()) == contents(new)
    assert study.policy().snapshot() == rebuilt(study).snapshot()
    with study._reading() as tx:
        assert {row.batch for row in tx.votes_since(0)} == {1}


@pytest.mark.parametrize("parts", [0, 1, 2])
def test_a_partial_import_is_invisible_and_is_finished(url: str, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the importing process is killed, readers see none of its votes, raters continue, and other writers finish it."""
    study = filled(storage=url)
    study.tell(study.ask("ana").id, "first", "ana")
    new = votes(2 * staging.PART + 100)
    killed_after(parts, study, new, monkeypatch)
    for each in (study, load_study("study", url)):
        assert len(each.votes()) == len(each) == 1
        assert each.leaderboard().votes == 1
    told = study.tell(study.ask("ben").id, "second", "ben")
    assert told.sequence == 2 + min(parts * staging.PART, len(new))
    assert len(study.votes()) == 1
    other = load_study("study", url)
    monkeypatch.setattr(staging, "STALLED_SECONDS", 0.0)
    rounds = 0
    while len(other) == 1:  # everybody who writes moves a part
        rounds += 1
        assert rounds < 20, "the import is stuck"
        other.tell(other.ask("cleo").id, "tie", "cleo")
    log = other.votes()
    assert sorted(contents(current_votes(log)), key=str) == sorted([*contents(new), *contents(live(log))], key=str)
    assert [row.sequence for row in log] == list(range(1, len(log) + 1))
    assert other.policy().snapshot() == rebuilt(other).snapshot()
    assert other.leaderboard().votes == sum(v.outcome != Outcome.SKIP for v in log)


def live(log: list[Vote]) -> list[Vote]:
    return [vote for vote in log if vote.source is not Source.IMPORT]


def test_the_next_import_finishes_the_previous_one(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    study = filled(storage=url)
    new = votes(2 * staging.PART)
    source = filled("source", storage="memory")
    source.add_votes(new)
    file = tmp_path / "votes.jsonl"
    source.export(file, "jsonl")
    killed_after(1, study, new, monkeypatch)
    done = study.import_votes(file, "jsonl")
    assert (done.added, done.duplicates) == (0, len(new))
    assert len(study) == len(new)


def test_one_invalid_vote_rejects_the_import(url: str) -> None:
    study = filled(storage=url)
    new = votes(2 * staging.PART)
    alike = Vote(9999, 9999, Outcome.FIRST, None, WHEN, "a1", "a1")
    stray = Vote(9999, 9999, Outcome.FIRST, None, WHEN, "a1", "nobody")
    with pytest.raises(InvalidInput, match="compares 'a1' with itself"):
        study.add_votes([*new, alike])
    with pytest.raises(UnknownArm, match="'nobody'"):
        study.add_votes([*new, stray])
    assert study.votes() == []
    with study._storage.reading(study._id) as tx:
        assert tx.next_staged() is None


def test_concurrent_imports_of_one_file_are_counted_once(url: str, tmp_path) -> None:
    source = filled("source", storage="memory")
    source.add_votes(votes(3 * staging.PART))
    file = tmp_path / "votes.jsonl"
    source.export(file, "jsonl")
    filled(storage=url)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(load_study("study", url).import_votes(file, "jsonl")))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done.added for done in results) == [0, 0, 3 * staging.PART]
    assert len(load_study("study", url)) == 3 * staging.PART


def test_a_partial_import_is_finished_in_a_restored_archive(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    study = filled(storage=sqlite_url)
    new = votes(2 * staging.PART)
    killed_after(1, study, new, monkeypatch)
    path = study.save(tmp_path / "study.duelist")
    storage = open_storage("memory")
    restored = load_local_study(restore_archive(path, storage, "again"), storage)
    assert len(restored) == 0
    restored._finish_imports()
    assert contents(restored.votes()) == contents(new)


def test_raters_continue_during_an_import(url: str) -> None:
    """Votes that raters gave meanwhile are in the log, and the policy has learned all of it."""
    study = filled(storage=url, n_arms=30, policy="MaxInP")
    waits: list[float] = []
    over = threading.Event()

    def play(rater: str) -> None:
        while not over.is_set():
            start = time.perf_counter()
            duel = study.ask(rater)
            study.tell(duel.id, "first", rater)
            waits.append(time.perf_counter() - start)

    threads = [threading.Thread(target=play, args=(f"rater {k}",)) for k in range(3)]
    for thread in threads:
        thread.start()
    seen = set()
    importing = threading.Thread(target=study.add_votes, args=(votes(4 * staging.PART, 30),))
    importing.start()
    reader = load_study("study", url)
    while importing.is_alive():
        seen.add(sum(vote.source is Source.IMPORT for vote in reader.votes()))
    importing.join()
    over.set()
    for thread in threads:
        thread.join()
    assert seen <= {0, 4 * staging.PART}
    assert len(waits) > 3
    log = study.votes()
    assert len(live(log)) == len(waits)
    assert len(log) == len(waits) + 4 * staging.PART
    assert study.policy().snapshot() == rebuilt(study).snapshot()
