"""Studies whose owner is killed in the middle of things: archives, copies, blocks, erasures, renames, with raters at work.

python -m tests.helpers.killed_owners URL KILLS SEED        kill -9 busy owners, a few at a time, and look at what is left
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from duelist.core.errors import InvalidArchive, NothingToAsk, StudyExists, VoteConflict
from duelist.study import (
    Study,
    backup_storage,
    copy_study,
    create_study,
    delete_study,
    list_studies,
    load_study,
    restore_study,
)
from duelist.testing.storage_rows import read_everything
from tests.helpers import busy_study as busy
from tests.helpers.owners import replayed

N_ARMS, DIM, POLICY = 12, 3, "VACDB"
RATERS = ("ana", "ben", "cleo", "dora")
BEFORE = 300
"""Votes before the first kill: more than from one snapshot to the next."""


def make(url: str) -> None:
    study = create_study("owned", url, policy=POLICY, lease_seconds=0.05, gold_share=0.2)
    rng = np.random.default_rng(0)
    study.add_arms([f"a{k}" for k in range(N_ARMS)], rng.normal(size=(N_ARMS, DIM)))
    study.add_gold("a0", "a1", "first")
    study.close()


def rate(study: Study, luck: random.Random, acknowledged: Path, votes: int) -> None:
    """Some votes, written down after they were acknowledged."""
    with acknowledged.open("ab", buffering=0) as file:
        for _ in range(votes):
            rater = luck.choice(RATERS)
            with contextlib.suppress(NothingToAsk, VoteConflict):
                vote = study.tell(study.ask(rater), luck.choice(busy.OUTCOMES), rater, reason=f"{rater} says")
                file.write(f"{vote.sequence} {vote.duel_id} {vote.outcome}\n".encode())


def own(url: str, folder: Path, acknowledged: Path, seed: int) -> None:
    """Do random actions of an owner until killed, and record them."""
    luck = random.Random(seed)
    study = load_study("owned", url)
    deeds: dict[str, Callable[[], object]] = {
        "block": lambda: study.block(luck.choice(RATERS), exclude_votes=True),
        "unblock": lambda: study.reinstate(luck.choice(RATERS)),
        "erase": lambda: study.erase_rater(luck.choice(RATERS)),
        "archive": lambda: study.save(folder / "archive.duelist"),
        "restore": lambda: restore_study(folder / "archive.duelist", url, f"restored {luck.random()}"),
        "copy": lambda: copy_study("owned", url, to_name=f"copy {luck.random()}"),
        "backup": lambda: backup_storage(url, folder / f"backup {luck.random()}.db"),
        "limit": lambda: study.limit(per_pair=luck.choice([None, 500])),
        "pause": lambda: [do() for do in (study.pause, study.open)],
        "describe": lambda: study.describe_rater(luck.choice(RATERS), age=luck.randrange(99)),
    }
    while True:
        rate(study, luck, acknowledged, luck.randrange(4))
        deed = luck.choice(list(deeds))
        with contextlib.suppress(InvalidArchive if not (folder / "archive.duelist").exists() else StudyExists):
            deeds[deed]()
            with (folder / "done").open("a") as file:
                file.write(f"{deed}\n")


def whole(study: Study) -> list[object]:
    with study._storage.reading(study._id) as tx:
        snapshots = [tx.snapshot_before(sequence + 1) for sequence in tx.snapshot_sequences()]
        return [*read_everything(tx), tx.leases_between(0, tx.counters.n_duels), snapshots, tx.counters]


def check_study(study: Study) -> int:
    """Dense log, no vote twice, policy equal to its log, erased names nowhere beside their made-up ones; votes in it."""
    votes = study.votes()
    assert [vote.sequence for vote in votes] == list(range(1, len(votes) + 1))
    first = Counter((vote.duel_id, vote.rater) for vote in votes if vote.revises is None)
    assert max(first.values(), default=1) == 1, "a vote was counted twice"
    for vote in votes:
        erased = str(vote.rater).startswith("erased")
        assert (vote.reason is None) if erased else (vote.reason == f"{vote.rater} says"), "half erased"
    if votes:
        out = tuple(rater.name for rater in study.rater_records() if rater.excluded)
        assert study.policy().snapshot() == replayed(study, out), "the policy is not its log"
    return len(votes)


def check(url: str, folder: Path, acknowledged: Path, looked_at: dict[Path, int]) -> None:
    """What must hold after kills; an archive that was looked at before, by the time of its last change, is as it was."""
    study = load_study("owned", url)
    check_study(study)
    there = {(vote.sequence, vote.duel_id, str(vote.outcome)) for vote in study.votes()}
    for line in acknowledged.read_text().splitlines() if acknowledged.exists() else []:
        sequence, duel, outcome = line.split()
        assert (int(sequence), int(duel), outcome) in there, f"an acknowledged vote is lost: {line}"
    for archive in folder.glob("*/archive.duelist"):
        if looked_at.get(archive) != archive.stat().st_mtime_ns:
            check_study(restore_study(archive, "memory"))
            looked_at[archive] = archive.stat().st_mtime_ns
    now = study.save(folder / "now")  # the archive equals the storage
    assert whole(restore_study(now, "memory")) == whole(study)
    for backup in folder.glob("*/backup*.db"):
        check_study(load_study("owned", f"sqlite:///{backup}"))
        for file in backup.parent.glob(f"{backup.name}*"):
            file.unlink()
    for summary in list_studies(url):
        if summary.name != "owned":  # a copy is there whole, or it is not there
            copied = load_study(summary.name, url)
            assert check_study(copied) == summary.votes
            assert len(copied.arms()) == N_ARMS
            delete_study(summary.name, url)
    study.open()  # a killed owner may have paused it
    study.close()


def start(*arguments: object) -> int:
    """A child that owns; its process id."""
    child = os.fork()
    if child == 0:
        try:
            own(*arguments)
        except BaseException:  # noqa: BLE001  (shown, and the exit status tells)
            traceback.print_exc()
        os._exit(1)
    return child


def kill(url: str, kills: int, seed: int) -> None:
    """Kill owners at random moments, a few at a time; check the storage, continue."""
    luck = random.Random(seed)
    make(url)
    looked_at: dict[Path, int] = {}
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / f"owner {k}" for k in range(busy.AT_ONCE)]
        for folder in folders:
            folder.mkdir()
        acknowledged, done = Path(name) / "acknowledged", [folder / "done" for folder in folders]
        rate(load_study("owned", url), luck, acknowledged, BEFORE)
        for number in range(0, kills, busy.AT_ONCE):
            owners = range(number, min(number + busy.AT_ONCE, kills))
            children = [
                start(url, folder, acknowledged, seed * 1_000_003 + owner)
                for folder, owner in zip(folders, owners, strict=False)
            ]
            busy.kill_one_by_one(children, lambda: busy.lines(acknowledged, *done), luck)
            check(url, Path(name), acknowledged, looked_at)
        deeds = Counter(deed for file in done if file.exists() for deed in file.read_text().split())
        votes = busy.lines(acknowledged)
    print(f"{kills} kills, {votes} votes acknowledged, {deeds.total()} deeds: {dict(sorted(deeds.items()))}")  # noqa: T201
    assert deeds.total() >= kills, "too little was done between the kills: the test had no effect"


if __name__ == "__main__":
    busy.warm_up()
    where, count, first = sys.argv[1:]
    kill(where, int(count), int(first))
