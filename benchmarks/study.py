"""Durable ask + tell of a study in SQLite, against Optuna's on the same disk in the same run.

    python -m benchmarks.study [--votes 1000 100000] [--rounds 200]

1,000 arms with 16 features. Optuna is asked for two whole numbers (which of 1,000 arms) with its random sampler, the
cheapest it has, in SQLite as its documentation opens it. The two take turns in blocks of 20 rounds, so that a disk that is slow for a
while is slow for both; printed are medians and the ratio of the totals.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from duelist.study import Outcome, Source, Study, Vote, create_study

N_ARMS, DIM, BLOCK = 1000, 16, 20


def filled_study(folder: Path, votes: int, policy: str) -> tuple[Study, np.ndarray]:
    """A study with that many votes in its log, of a rater who follows a hidden theta with logistic noise."""
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(N_ARMS, DIM)) / np.sqrt(DIM)
    utility = arms @ rng.normal(size=DIM) * 2.0
    study = create_study("benchmark", f"sqlite:///{folder / f'study-{votes}.db'}", policy=policy)
    ids = [f"arm {k}" for k in range(N_ARMS)]
    study.add_arms(ids, arms)
    pairs = np.array([rng.choice(N_ARMS, 2, replace=False) for _ in range(votes)]).reshape(-1, 2)
    wins = rng.random(votes) < 1.0 / (1.0 + np.exp(-(utility[pairs[:, 0]] - utility[pairs[:, 1]])))
    when = datetime(2026, 1, 1, tzinfo=UTC)
    study.add_votes(
        Vote(k + 1, k + 1, Outcome.FIRST if win else Outcome.SECOND, None, when, ids[a], ids[b], source=Source.IMPORT)
        for k, ((a, b), win) in enumerate(zip(pairs, wins, strict=True))
    )
    return study, utility


def study_round(study: Study, utility: np.ndarray, luck: np.random.Generator) -> Callable[[], None]:
    def play() -> None:
        duel = study.ask("ana")
        gap = utility[duel.first.number] - utility[duel.second.number]
        study.tell(duel.id, "first" if luck.random() < 1.0 / (1.0 + np.exp(-gap)) else "second", "ana")

    return play


def optuna_round(folder: Path) -> Callable[[], None]:
    import optuna

    optuna.logging.set_verbosity(logging.ERROR)
    url = f"sqlite:///{folder / 'optuna.db'}"
    study = optuna.create_study(storage=url, sampler=optuna.samplers.RandomSampler(seed=0))

    def play() -> None:
        trial = study.ask()
        trial.suggest_int("first", 0, N_ARMS - 1)
        trial.suggest_int("second", 0, N_ARMS - 1)
        study.tell(trial, 1.0)

    return play


def time_blocks(plays: dict[str, Callable[[], None]], rounds: int) -> dict[str, np.ndarray]:
    times: dict[str, list[float]] = {name: [] for name in plays}
    for play in plays.values():
        for _ in range(3):
            play()
    for _ in range(rounds // BLOCK):
        for name, play in plays.items():
            for _ in range(BLOCK):
                start = time.perf_counter()
                play()
                times[name].append(time.perf_counter() - start)
    return {name: np.array(seconds) for name, seconds in times.items()}


def fsync_time(folder: Path, rounds: int = 50) -> float:
    """What the disk asks for making 4 KiB durable, by itself."""
    seconds = []
    with (folder / "plain").open("wb") as file:
        for _ in range(rounds):
            start = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
            seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--policy", default="VACDB")
    parser.add_argument("--folder", type=Path, default=Path("out"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="study-") as name:
        folder = Path(name)
        print(f"one fdatasync of 4 KiB here: {1e3 * fsync_time(folder):.2f} ms")
        plays = {"Optuna": optuna_round(folder)}
        for votes in options.votes:
            start = time.perf_counter()
            study, utility = filled_study(folder, votes, options.policy)
            plays[f"{options.policy}, {votes:,} votes"] = study_round(study, utility, np.random.default_rng(1))
            print(f"importing {votes:,} votes: {time.perf_counter() - start:.1f} s")
        times = time_blocks(plays, options.rounds)
    reference = times["Optuna"].sum()
    for name, seconds in times.items():
        low, median, high = 1e3 * np.quantile(seconds, [0.1, 0.5, 0.9])
        print(
            f"{name:28} {median:7.2f} ms ({low:.2f} to {high:.2f}), {reference / seconds.sum():5.2f} times Optuna's rate"
        )


if __name__ == "__main__":
    main()
