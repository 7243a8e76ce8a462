"""Power cuts: what a disk holds when the power fails while a study is written, and what must be in it.

A process works on a study with `disk_recorder.c` loaded, which records its writes and syncs. From the record this module builds the
files as a power cut at any point would leave them: what was synced is there; every later write is there, lost, or torn in sectors, and
so is every later change of a folder.

python -m tests.helpers.power_cut FOLDER SEED VOTES        work on a study in FOLDER, and write down what was acknowledged
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from duelist.core.errors import NothingToAsk, VoteConflict
from duelist.study import create_study, delete_study, list_studies, load_study, restore_study
from duelist.study.records import Vote
from tests.helpers.busy_study import OUTCOMES
from tests.helpers.local_study import load_local_study
from tests.helpers.owners import replayed

ROOT: Final = Path(__file__).parents[2]
SECTOR: Final = 512
RATERS: Final = ("ana", "ben", "cleo")
N_ARMS, DIM, IMPORTED = 12, 3, 40
_HEAD: Final = struct.Struct("<cIqq")


# -- the record --------------------------------------------------------------------------


class Event(NamedTuple):
    """One call of the recorded process: W write, T truncate, S sync, U unlink, R rename."""

    kind: str
    path: str
    offset: int
    data: bytes


def record(folder: Path, seed: int, votes: int) -> list[Event]:
    """Run the work in a separate process and return what it asked of the disk."""
    library = folder / "recorder.so"
    compiler = (ROOT / ".venv" / ".compiler").read_text().strip() if (ROOT / ".venv" / ".compiler").exists() else "c++"
    source = ROOT / "tests" / "helpers" / "disk_recorder.c"
    subprocess.run([compiler, "-x", "c", "-O1", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    disk, log = folder / "disk", folder / "record"
    disk.mkdir()
    environment = {**os.environ, "LD_PRELOAD": str(library), "RECORDED_FOLDER": f"{disk}", "RECORD_FILE": str(log)}
    command = [sys.executable, "-m", "tests.helpers.power_cut", str(disk), str(seed), str(votes)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return list(_events(log.read_bytes(), disk))


def _events(record: bytes, folder: Path) -> Iterator[Event]:
    at = 0
    while at < len(record):
        kind, path_length, offset, length = _HEAD.unpack_from(record, at)
        at += _HEAD.size
        path = os.path.relpath(record[at : at + path_length].decode(), folder)
        data = record[at + path_length : at + path_length + length]
        at += path_length + length
        yield Event(kind.decode(), path, offset, data)


# -- the disk ----------------------------------------------------------------------------


@dataclass
class File:
    """A file's synced content, and the changes since."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[Event] = field(default_factory=list)

    def sync(self) -> None:
        for event in self.pending:
            _change(self.synced, event)
        self.pending.clear()

    def after_cut(self, luck: random.Random, share: float) -> bytes:
        """Return its content if each later change survives with that probability, and a write by sectors."""
        content = bytearray(self.synced)
        for event in self.pending:
            if luck.random() >= share:
                continue
            is_torn = event.kind == "W" and 0 < share < 1 and luck.random() < 0.5
            for part in _sectors(event) if is_torn else [event]:
                if not is_torn or luck.random() < 0.5:
                    _change(content, part)
        return bytes(content)


def _change(content: bytearray, event: Event) -> None:
    end = event.offset + len(event.data)
    content.extend(bytes(max(0, end - len(content))))
    if event.kind == "T":
        del content[event.offset :]
    else:
        content[event.offset : end] = event.data


def _sectors(event: Event) -> list[Event]:
    starts = range(0, len(event.data), SECTOR)
    return [event._replace(offset=event.offset + k, data=event.data[k : k + SECTOR]) for k in starts]


class Disk:
    """The files of one folder, as far as they were synced."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self._folders: list[dict[str, File]] = [{}]
        """The folder as it was last synced, and after each later change; file systems keep their order."""
        self.acknowledged: list[list] = []

    def apply(self, event: Event) -> None:
        if event.path == "acknowledged":
            self.acknowledged.append(json.loads(event.data))
        elif event.path == ".":
            self._folders = [dict(self.files)]
        elif event.kind == "U":
            self.files.pop(event.path, None)
            self._folders.append(dict(self.files))
        elif event.kind == "R":
            self.files[Path(event.data.decode()).name] = self.files.pop(event.path)
            self._folders.append(dict(self.files))
        else:
            if event.path not in self.files:
                self.files[event.path] = File()
                self._folders.append(dict(self.files))
            if event.kind == "S":
                self.files[event.path].sync()
            else:
                self.files[event.path].pending.append(event)

    def cut(self, folder: Path, luck: random.Random) -> None:
        """Write the files as a power cut now may leave them: unsynced changes are lost, kept, or some of each."""
        share = luck.choice([0.0, 0.5, 0.9, 1.0])
        folder.mkdir()
        for name, file in luck.choice([self._folders[0], self._folders[-1], luck.choice(self._folders)]).items():
            if not name.endswith("-shm"):  # shared memory, which SQLite builds again
                (folder / name).write_bytes(file.after_cut(luck, share))


# -- the work ----------------------------------------------------------------------------


def work(folder: Path, seed: int, votes: int) -> None:
    """Create a study, vote from several threads while the owner works; write down what was acknowledged."""
    url = f"sqlite:///{folder / 'studies.db'}"
    file = os.open(folder / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def acknowledge(*what: object) -> None:
        os.write(file, json.dumps(what).encode())

    study = create_study("study", url, lease_seconds=0.5)
    acknowledge("created")
    study.add_arms([f"a{k}" for k in range(N_ARMS)], np.random.default_rng(seed).normal(size=(N_ARMS, DIM)))
    acknowledge("arms", N_ARMS)

    def rate(rater: str) -> None:
        luck = random.Random(f"{seed} {rater}")
        for _ in range(votes):
            with contextlib.suppress(NothingToAsk, VoteConflict):
                first, second = luck.sample(OUTCOMES, 2)
                vote = study.tell(study.ask(rater).id, first, rater)
                acknowledge("vote", vote.sequence, vote.duel_id, str(vote.outcome), rater)
                if luck.random() < 0.1:
                    vote = study.tell(vote.duel_id, second, rater, revise=True)
                    acknowledge("vote", vote.sequence, vote.duel_id, str(vote.outcome), rater)

    threads = [threading.Thread(target=rate, args=(rater,)) for rater in RATERS]
    for thread in threads:
        thread.start()
    number = 0
    while any(thread.is_alive() for thread in threads):
        number += 1
        rows = "".join(
            f"a{k % 4},a{4 + k % 8},left,imported {number},2026-01-01T00:00:{k:02d}+00:00\n" for k in range(IMPORTED)
        )
        (folder.parent / "votes.csv").write_text(f"left,right,winner,rater,voted_at\n{rows}")
        study.import_votes(folder.parent / "votes.csv", "csv")
        acknowledge("import", f"imported {number}")
        study.block(f"imported {number}", exclude_votes=True)
        acknowledge("block", f"imported {number}")
        study.change(question=f"Question {number}?")
        acknowledge("question", number)
        study.save(folder / "study.duelist")
        acknowledge("saved", number)
        name = f"restored {number}"
        restore_study(folder / "study.duelist", url, name)
        acknowledge("restored", name)
        if number % 2:
            delete_study(name, url)
            acknowledge("deleted", name)
    for thread in threads:
        thread.join()
    study.close()
    acknowledge("closed")


# -- what must hold ----------------------------------------------------------------------


def check(folder: Path, acknowledged: list[list]) -> None:
    """Open what the power cut left with the library: it holds everything acknowledged, and goes on."""
    url = f"sqlite:///{folder / 'studies.db'}"
    create_study("after the power cut", url).close()
    facts = [tuple(what) for what in acknowledged]
    if ("created",) not in facts:
        return
    study = load_local_study("study", url)
    votes = study.votes()
    assert [vote.sequence for vote in votes] == list(range(1, len(votes) + 1))
    _check_votes(votes, facts)
    excluded = {rater.name for rater in study.rater_records() if rater.excluded}
    if votes:  # before the first duel there is no policy
        assert study.policy().snapshot() == replayed(study, tuple(excluded)), "the policy is not its log"
    assert len(study.arms()) == N_ARMS or ("arms", N_ARMS) not in facts, "arms are lost"
    assert {fact[1] for fact in facts if fact[0] == "block"} <= excluded, "a block is lost"
    questions = [fact[1] for fact in facts if fact[0] == "question"]
    if questions:
        assert study.settings.question in (f"Question {questions[-1]}?", f"Question {questions[-1] + 1}?")
    names = {summary.name for summary in list_studies(url)}
    deleted = {fact[1] for fact in facts if fact[0] == "deleted"}
    assert not deleted & names, "a deleted study is there again"
    doomed = f"restored {len([fact for fact in facts if fact[0] == 'restored'])}"  # its deletion may have begun
    assert {fact[1] for fact in facts if fact[0] == "restored"} - deleted - {doomed} <= names, (
        "a restored study is lost"
    )
    if any(fact[0] == "saved" for fact in facts):
        assert len(restore_study(folder / "study.duelist", "memory").arms()) == N_ARMS
    _go_on(url)
    study.close()


def _check_votes(votes: list[Vote], facts: list[tuple]) -> None:
    first = [(vote.duel_id, vote.rater) for vote in votes if vote.revises is None]
    assert len(set(first)) == len(first), "a vote was counted twice"
    there = {("vote", vote.sequence, vote.duel_id, str(vote.outcome), vote.rater) for vote in votes}
    lost = [fact for fact in facts if fact[0] == "vote" and fact not in there]
    assert not lost, f"{len(lost)} acknowledged votes are lost: {lost[:3]}"
    for rater in (fact[1] for fact in facts if fact[0] == "import"):
        found = sum(vote.rater == rater for vote in votes)
        assert found == IMPORTED, f"{found} votes of {rater}, who gave {IMPORTED}"


def _go_on(url: str) -> None:
    study = load_study("study", url)
    before = len(study)
    with contextlib.suppress(NothingToAsk):
        study.tell(study.ask("later").id, "first", "later")
        assert len(study) == before + 1


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
