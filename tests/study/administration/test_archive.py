"""Archives, copies and backups: a study comes back to the bit, in whatever database, or not at all."""

import json
import sqlite3
import threading
import tracemalloc
import zipfile
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from duelist.core.errors import InvalidArchive, InvalidInput, StudyExists, UnknownStudy
from duelist.study import (
    Outcome,
    Source,
    Study,
    Vote,
    backup_storage,
    copy_study,
    create_study,
    list_studies,
    load_study,
    open_storage,
    restore_study,
)
from duelist.study.storage import ContextRow, DetailRow, StagedRow, VoteRow
from duelist.testing.storage_rows import read_everything
from tests.helpers.archives import rewrite
from tests.helpers.owners import play
from tests.study.conftest import Clock, filled


def eventful(storage: str, clock: Clock) -> Study:
    """A study with something in every table."""
    study = create_study(
        "evéntful",
        storage,
        policy="VACDB",
        seed=3,
        random_share=0.3,
        gold_share=0.5,
        lease_seconds=7,
        goal="rank",
        repeat_pairs=0,
    )
    study._clock = clock
    corners = np.array([[x, y] for x in (-1, 0, 1) for y in (-1, 0.1, 1)])
    study.add_arms([f"arm {k}\n" for k in range(9)], corners, payloads=[{"text": f"täxt {k}"} for k in range(9)])
    study.add_arms(["p/1", "p/2"], [[2, 1], [1, 2]], contexts="p")
    study.add_gold("arm 0\n", "arm 1\n", "second")
    play(study, 270)
    clock.seconds += 3.5
    study.update_features(["arm 4\n"], [[0.5, 1e-45]])
    study.retire(["arm 8\n"])
    study.block("ben", exclude_votes=True)
    study.describe_rater("ana", größe=[1, None, "\ud800"])
    study.ask("dora")
    study.pause()
    with study._storage.writing(study._id) as tx:
        tx.put_contexts([ContextRow("p", {"text": "prömpt"}, tx.counters.arms_revision)])
        tx.add_details([DetailRow(2, {"columns": [1, "x"]})])
        tx.add_staged([StagedRow(1, 2**40, bytes(range(256)))])
    return study


def everything(study: Study) -> list[object]:
    """All rows of a study, its snapshots too, and the study itself but for its number."""
    with study._storage.reading(study._id) as tx:
        snapshots = [tx.snapshot_before(sequence + 1) for sequence in tx.snapshot_sequences()]
        leases = tx.leases_between(0, tx.counters.n_duels)
        return [*read_everything(tx), leases, snapshots, tx.study()._replace(id=0), tx.counters]


def test_a_study_goes_from_database_to_database_to_the_bit(
    sqlite_url: str, postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    study = eventful(sqlite_url, clock)
    first = study.save(tmp_path / "first.duelist")
    there = restore_study(first, postgres_url)
    second = there.save(tmp_path / "second.duelist")
    back = restore_study(second, sqlite_url, "back")
    third = restore_study(second, "memory").save(tmp_path / "third.duelist")
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()
    assert everything(there) == everything(study)
    assert everything(there) == everything(restore_study(first, "memory"))
    assert there.votes() == study.votes()
    assert there.leaderboard() == study.leaderboard() == back.leaderboard()
    assert there.policy().snapshot() == study.policy().snapshot()
    upcoming = []
    for each in (study, there, back):
        each._clock = Clock()
        each._clock.seconds = clock.seconds
        each.open()
        duels = [(duel.id, duel.first, duel.second, duel.kind) for duel in map(each.ask, ["e", "f", "g", "h"])]
        votes = [each.tell(duel[0], "tie", rater) for duel, rater in zip(duels, "efgh", strict=True)]
        upcoming.append((duels, votes, each.policy().snapshot()))
    assert upcoming[0] == upcoming[1] == upcoming[2]


def test_an_archive_can_be_read_by_others(tmp_path: Path, clock: Clock) -> None:
    study = eventful("memory", clock)
    with zipfile.ZipFile(study.save(tmp_path / "a.duelist")) as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read("manifest.json"))
        votes = [VoteRow(*json.loads(line)) for line in archive.read("votes.jsonl").splitlines()]
    assert (manifest["format"], manifest["version"], manifest["name"]) == ("duelist study", 1, "evéntful")
    assert manifest["parts"]["votes"]["lines"] == len(votes) == len(study)
    assert [(v.outcome, v.rater) for v in votes] == [(v.outcome, v.rater) for v in study.votes()]


def test_a_taken_name_is_refused(url: str, tmp_path: Path) -> None:
    study = filled("one", url)
    play(study, 5)
    path = study.save(tmp_path / "one.duelist")
    with pytest.raises(StudyExists, match="'one' already"):
        restore_study(path, url)
    assert len(load_study("one", url)) == len(study)
    assert restore_study(path, url, "two").votes() == study.votes()


@pytest.mark.parametrize("part", ["votes.jsonl", "duels.jsonl", "features.jsonl", "manifest.json", "snapshots.jsonl"])
def test_a_damaged_archive_is_refused_whole(part: str, sqlite_url: str, tmp_path: Path) -> None:
    study = filled("one")
    play(study, 20)
    path, bad = study.save(tmp_path / "one.duelist"), tmp_path / "bad.duelist"
    create_study("other", sqlite_url)
    with zipfile.ZipFile(path) as good, zipfile.ZipFile(bad, "w") as worse:
        for name in good.namelist():
            body = bytearray(good.read(name))
            if name == part:
                digit = max(at for at, character in enumerate(body[:-1]) if chr(character).isalnum())
                body[digit] = ord("7") if body[digit] != ord("7") else ord("8")
            worse.writestr(name, bytes(body))
    with pytest.raises(InvalidArchive, match=r"bad\.duelist"):
        restore_study(bad, sqlite_url)
    for k, cut in enumerate((0, 10, path.stat().st_size // 2, path.stat().st_size - 1)):
        bad.write_bytes(path.read_bytes()[:cut])
        with pytest.raises(InvalidArchive, match=r"bad\.duelist"):
            restore_study(bad, sqlite_url, f"cut {k}")
    assert [summary.name for summary in list_studies(sqlite_url)] == ["other"]


def test_every_flipped_bit_of_an_archive_is_noticed_or_harmless(tmp_path: Path) -> None:
    study = filled("one")
    play(study, 8)
    path, bad = study.save(tmp_path / "one.duelist"), tmp_path / "bad.duelist"
    body = path.read_bytes()
    luck = np.random.default_rng(0)
    refused = 0
    for at in luck.integers(len(body), size=100):
        bad.write_bytes(body[:at] + bytes([body[at] ^ (1 << luck.integers(8))]) + body[at + 1 :])
        try:
            restored = restore_study(bad, "memory")
        except InvalidArchive:
            refused += 1
        else:
            assert everything(restored) == everything(study)  # times and flags of the zip's own
    assert refused > 50


@pytest.mark.parametrize("method", [0, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 99])
def test_parts_that_are_not_compressed_as_they_say(tmp_path: Path, method: int) -> None:
    path = filled("one").save(tmp_path / "one.duelist")
    body = bytearray(path.read_bytes())
    for mark, after in (
        (b"PK\x01\x02", 10),
        (b"PK\x03\x04", 8),
    ):  # the zip's directory, and what it says of each part beside it
        at = body.find(mark)
        while at >= 0:
            body[at + after : at + after + 2] = method.to_bytes(2, "little")
            at = body.find(mark, at + 4)
    path.write_bytes(body)
    with pytest.raises(InvalidArchive, match="damaged or not a study archive"):
        restore_study(path, "memory")


def test_a_directory_before_the_beginning_of_the_file(tmp_path: Path) -> None:
    path = filled("one").save(tmp_path / "one.duelist")
    body = bytearray(path.read_bytes())
    body[-3] ^= 1 << 7  # the highest byte of where the zip's directory is said to begin
    path.write_bytes(body)
    with pytest.raises(InvalidArchive, match="damaged or not a study archive"):
        restore_study(path, "memory")


@pytest.mark.parametrize(
    ("table", "place", "value"),
    [
        ("features", 1, float("inf")),
        ("duels", 1, 2**70),
        ("duels", 8, 10**400),
        ("arms", 6, "a system of one arm alone"),
    ],
)
def test_numbers_and_systems_that_no_study_has(table: str, place: int, value: object, tmp_path: Path) -> None:
    study = filled("one")
    play(study, 8)

    def change(manifest: dict[str, Any], tables: dict[str, list[Any]]) -> None:
        tables[table][0][place] = value

    bad = rewrite(study.save(tmp_path / "one.duelist"), tmp_path / "bad.duelist", change)
    with pytest.raises(InvalidArchive, match=r"bad\.duelist"):
        restore_study(bad, "memory")


def test_what_is_no_archive_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidArchive, match="There is no file"):
        restore_study(tmp_path / "none", "memory")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(InvalidArchive, match="not a study archive"):
        restore_study(tmp_path / "text", "memory")
    with zipfile.ZipFile(tmp_path / "newer", "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "duelist study", "version": 2}))
    with pytest.raises(InvalidArchive, match="version 2; this release reads version 1"):
        restore_study(tmp_path / "newer", "memory")


def test_copies_go_their_own_way(url: str, clock: Clock) -> None:
    study = eventful(url, clock)
    copy = copy_study("evéntful", url, to_name="copy")
    study.open()
    study.tell(study.ask("zoe"), "first", "zoe")
    assert len(copy) == len(study) - 1
    assert {summary.name for summary in list_studies(url)} == {"evéntful", "copy"}
    elsewhere = copy_study("copy", url, "memory")
    assert everything(elsewhere) == everything(copy)
    with pytest.raises(InvalidInput, match=r"Pass to_storage=\.\.\. or to_name=\.\.\."):
        copy_study("copy", url)
    with pytest.raises(UnknownStudy, match="no study 'none'"):
        copy_study("none", url, to_name="x")


def test_a_backup_is_a_storage_of_its_own(url: str, tmp_path: Path, clock: Clock) -> None:
    study = eventful(url, clock)
    filled("two", url)
    path = backup_storage(url, tmp_path / "folder" / "backup.db")
    saved = open_storage(f"sqlite:///{path}", create=False)
    assert everything(load_study("evéntful", saved)) == everything(study)
    assert load_study("two", saved).arms() == load_study("two", url).arms()
    with pytest.raises(StudyExists, match=r"file .* already"):
        backup_storage(url, path)
    assert [each.name for each in path.parent.iterdir() if not each.name.startswith("backup.db")] == []


def test_a_backup_while_raters_go_on(url: str, tmp_path: Path) -> None:
    study = filled("busy", url, policy="UniformPair")
    play(study, 50)
    stop = threading.Event()

    def rate() -> None:
        mine = load_study("busy", url)
        while not stop.is_set():
            mine.tell(mine.ask("zoe"), "first", "zoe")

    rater = threading.Thread(target=rate)
    rater.start()
    try:
        paths = []
        for k in range(5):
            before = len(study)
            paths.append((before, backup_storage(url, tmp_path / f"{k}.db"), len(study)))
    finally:
        stop.set()
        rater.join()
    log = study.votes()
    for before, path, after in paths:
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        saved = load_study("busy", f"sqlite:///{path}")
        assert before <= len(saved) <= after
        assert saved.votes() == log[: len(saved)]
        saved.policy()


def test_an_archive_of_many_votes_takes_little_memory(tmp_path: Path) -> None:
    def peak(votes: int) -> int:
        url = f"sqlite:///{tmp_path / f'{votes}.db'}"
        study = filled("many", url, policy="UniformPair")
        vote = Vote(1, 1, Outcome.FIRST, "ana", datetime(2026, 1, 1, tzinfo=UTC), "a0", "a1", source=Source.IMPORT)
        study.add_votes([replace(vote, sequence=k) for k in range(votes)])
        tracemalloc.start()
        try:
            restore_study(study.save(tmp_path / f"{votes}.duelist"), url, "again")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(5_000), peak(15_000)
    assert many < 1.25 * few
