"""Busy studies: processes that ask and tell, are killed or crowd each other, and what must hold afterwards.

python -m tests.helpers.busy_study kill URL KILLS SEED         kill -9 busy processes, again and again
python -m tests.helpers.busy_study import URL KILLS SEED       the same, with imports of several parts in between
python -m tests.helpers.busy_study crowd URL PROCESSES SECONDS many processes on one study
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from duelist.policies import Policy, restore_policy
from duelist.study import Outcome, Source, Study, Vote, create_study, current_votes, delete_study
from duelist.study.records import WIN_SHARES
from tests.helpers.local_study import load_local_study

N_ARMS, DIM, POLICY = 120, 4, "VACDB"
PATIENCE: Final = 900
"""Seconds after which processes count as stuck; far more than a busy machine needs."""
IMPORTED = 300  # more than one part
AT_ONCE = 5
"""Processes that play together, each of which is killed at a moment of its own."""
RATERS = 3
"""Threads of each of these processes, so that votes share transactions (`duelist.study.storage.group_commit`)."""
GOAL = 6
"""Things that each of them does before it is killed: some fewer than so many on average."""
LONG = 3000
"""Rows of a log after which a new study is begun: whoever looks at it after every few kills reads all of it."""
OUTCOMES = ("first", "second", "tie", "both_bad", "skip")


def make(url: str, **settings: object) -> Study:
    study = create_study("busy", url, **settings)
    rng = np.random.default_rng(0)
    study.add_arms([f"a{k}" for k in range(N_ARMS)], rng.normal(size=(N_ARMS, DIM)))
    return study


def imported(rater: str) -> list[Vote]:
    """Votes from elsewhere."""
    when = datetime(2020, 1, 1, tzinfo=UTC)
    pairs = itertools.islice(itertools.combinations(range(N_ARMS), 2), IMPORTED)
    return [
        Vote(k, k, Outcome.FIRST, rater, when, f"a{a}", f"a{b}", source=Source.IMPORT)
        for k, (a, b) in enumerate(pairs, start=1)
    ]


def play(
    url: str, rater: str, acknowledged: Path, until: float, undo: bool = True, importing: bool = False, raters: int = 1
) -> None:
    """Ask and tell as several raters, each in a thread."""
    study = load_local_study("busy", url)
    with ThreadPoolExecutor(raters) as threads:
        playing = [
            threads.submit(rate, study, f"{rater}.{k}", acknowledged, until, undo, importing) for k in range(raters)
        ]
        for each in playing:
            each.result()


def rate(study: Study, rater: str, acknowledged: Path, until: float, undo: bool, importing: bool) -> None:
    """Ask, tell, now and then revise, undo or import; write down what was acknowledged, after it was."""
    luck = random.Random(rater)
    with acknowledged.open("ab", buffering=0) as file:
        begun = False
        while not begun or time.time() < until:
            begun = True
            duel = study.ask(rater)
            votes = [study.tell(duel.id, luck.choice(OUTCOMES), rater)]
            if luck.random() < 0.05:
                other = luck.choice([outcome for outcome in OUTCOMES if outcome != votes[0].outcome])
                votes.append(study.tell(duel.id, other, rater, revise=True))
            if undo and luck.random() < 0.05:
                votes.append(study.undo(duel.id, rater))
            if importing and luck.random() < 0.3:
                study.add_votes(imported(f"of {rater}"))
            for vote in votes:
                file.write(f"{vote.sequence} {vote.duel_id} {vote.outcome} {rater}\n".encode())


def outcome_for(policy: Policy, outcome: Outcome) -> Any:
    """What a policy learns from a vote with that outcome: ties by their model if it has one, otherwise the share of a win."""
    return "tie" if policy.learns_ties and outcome == Outcome.TIE else WIN_SHARES[outcome]


def rebuilt(study: Study) -> Policy:
    """The policy, made from the first snapshot and the log by the plainest means."""
    with study._storage.reading(study._id) as tx:
        stored = tx.snapshot_before(1)
        duels = {duel.number: duel for duel in tx.duels_since(0)}
    assert stored is not None
    policy = restore_policy(json.loads(zlib.decompress(stored[1])))
    features = {arm.id: row.astype(np.float64) for arm, row in zip(study.arms(), study.features(), strict=True)}
    for vote in current_votes(study.votes()):
        if vote.outcome in WIN_SHARES:
            duel = duels[vote.duel_id]
            shown = np.array([features[vote.first], features[vote.second]])
            policy.learn(shown, outcome_for(policy, vote.outcome), layer=duel.layer, share=duel.share)
    return policy


def check(url: str, files: list[Path]) -> list[Vote]:
    """No acknowledged vote lost, none twice; the log dense; the policy of the snapshots is the policy of the log."""
    study = load_local_study("busy", url)
    shown = sum(vote.source is Source.IMPORT for vote in study.votes())
    assert shown % IMPORTED == 0, f"{shown} imported votes are shown: not all of an import"
    study._finish_imports()  # a killed process may have left one
    votes = study.votes()
    assert sum(vote.source is Source.IMPORT for vote in votes) % IMPORTED == 0
    assert [vote.sequence for vote in votes] == list(range(1, len(votes) + 1))
    first = [(vote.duel_id, vote.rater) for vote in votes if vote.revises is None]
    assert len(set(first)) == len(first), "a vote was counted twice"
    there = {(vote.sequence, vote.duel_id, str(vote.outcome), vote.rater) for vote in votes}
    for file in files:
        for line in file.read_text().splitlines() if file.exists() else []:
            sequence, duel, outcome, rater = line.split(" ", 3)
            assert (int(sequence), int(duel), outcome, rater) in there, f"an acknowledged vote is lost: {line}"
    if votes:
        assert study.policy().snapshot() == rebuilt(study).snapshot(), "the snapshot is not the log"
    study.close()
    return votes


def check_pairs(url: str) -> None:
    """No pair was out twice at a time. Every time is taken while its process alone is writing, so times are in order."""
    study = load_local_study("busy", url)
    with study._storage.reading(study._id) as tx:
        asked = {duel.number: duel.asked_at for duel in tx.duels_since(0)}
        told = {vote.duel: vote.voted_at for vote in tx.votes_since(0) if vote.revises is None}
    pairs: dict[frozenset[str], list[int]] = {}
    for vote in study.votes():
        if vote.revises is None:
            pairs.setdefault(frozenset((vote.first, vote.second)), []).append(vote.duel_id)
    for duels in pairs.values():
        for earlier, later in itertools.pairwise(duels):
            assert told[earlier] <= asked[later], f"duels {earlier} and {later} of one pair were out together"
    study.close()


def warm_up() -> None:
    """Load the machine code before the forks, so that children play from their first moment."""
    study = make("memory", policy=POLICY)
    for outcome in ("first", "second"):
        study.ask("other")
        study.tell(study.ask("ana").id, outcome, "ana")


def start(*arguments: object) -> int:
    """A child that plays; its process id."""
    child = os.fork()
    if child == 0:
        try:
            play(*arguments)
        except BaseException:  # noqa: BLE001  (shown, and the exit status tells)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def kill_one_by_one(children: list[int], done: Callable[[], int], luck: random.Random) -> None:
    """Kill each child at a random moment: a moment after they have done so much together, some before they have done anything.

    What is done sets the pace, and not the clock: on a busy machine as on an idle one, what is killed has begun.
    """
    before = done()
    goals = sorted((luck.randrange(GOAL * len(children)), child) for child in children)
    for goal, child in goals:
        give_up = time.monotonic() + PATIENCE
        while done() - before < goal:
            assert time.monotonic() < give_up, f"they did {done() - before} of {goal} in {PATIENCE} seconds"
            time.sleep(0.001)
        time.sleep(luck.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
    for child in children:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"a process ended by itself: {status}"


def kill(url: str, kills: int, seed: int, importing: bool = False) -> None:
    """Kill busy processes at random moments, a few at a time; check the storage, continue."""
    luck = random.Random(seed)
    total = acknowledged = studies = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "acknowledged"
        votes = LONG
        for number in range(0, kills, AT_ONCE):
            if votes >= LONG:
                acknowledged, total, studies = acknowledged + lines(file), total + votes * (studies > 0), studies + 1
                begin_anew(url, file)
            names = [f"rater{k}" for k in range(number, min(number + AT_ONCE, kills))]
            children = [start(url, name, file, time.time() + 600, True, importing, RATERS) for name in names]
            kill_one_by_one(children, lambda: lines(file), luck)
            votes = len(check(url, [file]))
        acknowledged, total = acknowledged + lines(file), total + votes
    assert acknowledged > kills, f"only {acknowledged} votes and {kills} kills: the test had no effect"
    print(  # noqa: T201
        f"{kills} kills in {studies} studies, {acknowledged} votes acknowledged, {total} in the logs: none lost, none twice"
    )


def begin_anew(url: str, file: Path) -> None:
    """Start a new study instead of the old one."""
    if file.exists():
        delete_study("busy", url)
        file.unlink()
    make(url, policy=POLICY, lease_seconds=0.05).close()


def lines(*files: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in files if file.exists())


def crowd(url: str, processes: int, seconds: float) -> None:
    """Many processes at once."""
    make(url, policy=POLICY).close()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / str(k) for k in range(processes)]
        until = time.time() + seconds
        children = [start(url, f"rater{k}", file, until, False) for k, file in enumerate(files)]
        statuses = [os.waitpid(child, 0)[1] for child in children]
        assert statuses == [0] * processes, f"a process failed: {statuses}"
        votes = check(url, files)
        acknowledged = sum(len(file.read_text().splitlines()) for file in files)
        assert acknowledged == len(votes)
        assert len({vote.rater for vote in votes}) == processes
    check_pairs(url)
    print(f"{processes} processes, {len(votes)} votes in {seconds:g} s: none lost, none twice, no pair out twice")  # noqa: T201


if __name__ == "__main__":
    task, where, *numbers = sys.argv[1:]
    warm_up()
    if task == "kill":
        kill(where, int(numbers[0]), int(numbers[1]))
    elif task == "import":
        kill(where, int(numbers[0]), int(numbers[1]), importing=True)
    else:
        crowd(where, int(numbers[0]), float(numbers[1]))
