"""`make bench-study`: durable ask + tell in SQLite against Optuna's, and what a study costs as it grows; docs/evidence/benchmarks-study.md.

    python -m benchmarks.study [--votes 1000 10000 100000] [--rounds 400] [--arms 100000] [--page docs/evidence/benchmarks-study.md]

1,000 arms with 16 features. Optuna is asked for two whole numbers (which of 1,000 arms) with its random sampler, the
cheapest it has, in SQLite as its documentation opens it. All sides take turns in blocks of 20 rounds, so that a disk that is slow for a
while is slow for all; ratios are of the totals of the whole run.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import logging
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np

from duelist.research.origin import with_origin
from duelist.study import Outcome, Source, Study, Vote, create_study, load_study
from duelist.study.studies import DEFAULT_POLICY

N_ARMS, DIM, BLOCK = 1000, 16, 20
LONG = 256
RATER = "ana"
Result = TypeVar("Result")


# -- studies to measure ------------------------------------------------------------------


def filled_study(folder: Path, votes: int, policy: str) -> tuple[Study, np.ndarray]:
    """A study with that many votes in its log, of a rater who follows a hidden theta with logistic noise."""
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(N_ARMS, DIM)) / np.sqrt(DIM)
    utility = arms @ rng.normal(size=DIM) * 2.0
    study = create_study("benchmark", f"sqlite:///{folder / f'{policy}-{votes}.db'}", policy=policy)
    ids = [f"arm {k}" for k in range(N_ARMS)]
    study.add_arms(ids, arms)
    study.tell(study.ask(RATER).id, "first", RATER)  # the oldest vote, to be revised in the end
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
        duel = study.ask(RATER)
        gap = utility[duel.first.number] - utility[duel.second.number]
        study.tell(duel.id, "first" if luck.random() < 1.0 / (1.0 + np.exp(-gap)) else "second", RATER)

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


# -- measuring ---------------------------------------------------------------------------


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


def timed(call: Callable[[], Result]) -> tuple[float, Result]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


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


def rounds_table(folder: Path, sizes: Sequence[int], policies: Sequence[str], rounds: int) -> tuple[list[str], Study]:
    """Time ask + tell against Optuna's; also return the largest study for further measurements."""
    plays = {"Optuna, random sampler": optuna_round(folder)}
    for policy in policies:
        for votes in sizes:
            study, utility = filled_study(folder, votes, policy)
            plays[f"{policy}, {votes:,} votes"] = study_round(study, utility, np.random.default_rng(1))
    times = time_blocks(plays, rounds)
    reference = next(iter(times.values())).sum()
    rows = []
    for name, seconds in times.items():
        low, median, high = 1e3 * np.quantile(seconds, [0.1, 0.5, 0.9])
        rows.append((name, f"{median:.1f} ({low:.1f} to {high:.1f})", f"{reference / seconds.sum():.1f}"))
    return table(("", "one ask + tell, ms", "times Optuna's rate"), rows), study


def growth_table(study: Study, url: str) -> list[str]:
    """What else costs something when there are many votes."""
    votes = study.votes()
    own = [vote.duel_id for vote in votes if vote.rater == RATER]
    rows = [
        ("open the study, and have its policy", lambda: load_study("benchmark", url).policy()),
        ("revise the newest vote", lambda: study.tell(own[-1], "tie", RATER, revise=True)),
        (
            f"revise a vote {len(own) // 2} rows back",
            lambda: study.tell(own[-len(own) // 2], "tie", RATER, revise=True),
        ),
        ("revise the first vote of all", lambda: study.tell(own[0], "tie", RATER, revise=True)),
        ("read the log", study.votes),
    ]
    return table((f"with {len(votes):,} votes", "s"), [(what, f"{timed(call)[0]:.3g}") for what, call in rows])


def arms_table(folder: Path, n_arms: int) -> list[str]:
    """Very many arms with long features."""
    file = folder / "arms.db"
    url = f"sqlite:///{file}"
    vectors = np.random.default_rng(0).standard_normal((n_arms, LONG), np.float32) / np.sqrt(LONG, dtype=np.float32)
    study = create_study("arms", url)
    ids, payloads = [f"arm {k}" for k in range(n_arms)], [f"text {k}" for k in range(n_arms)]
    adding, _ = timed(lambda: study.add_arms(ids, vectors, payloads))
    study.close()  # the write-ahead log goes into the file
    again = load_study("arms", url)
    loading, _ = timed(again.arms)
    first, duel = timed(lambda: again.ask(RATER))
    again.tell(duel.id, "first", RATER)
    asks, tells = [], []
    for k in range(10):
        seconds, duel = timed(lambda: again.ask(RATER))
        asks.append(seconds)
        tells.append(timed(lambda: again.tell(duel.id, ("first", "second")[k % 2], RATER))[0])  # noqa: B023
    rows = [
        ("add them", f"{adding:.2g} s"),
        ("the file", f"{file.stat().st_size / 1e6:.0f} MB, of which features {vectors.nbytes / 1e6:.0f}"),
        ("read them in a new process", f"{loading:.2g} s"),
        ("the first ask of all", f"{first:.2g} s"),
        ("later asks", f"{np.median(asks):.2g} s ({min(asks):.2g} to {max(asks):.2g})"),
        ("a tell", f"{np.median(tells):.2g} s"),
    ]
    return table((f"{n_arms:,} arms, {LONG} features, {study.settings.policy}", ""), rows)


# -- the page ----------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:], ""]


def page(options: argparse.Namespace, folder: Path) -> str:
    disk = 1e3 * fsync_time(folder)
    policies = list(dict.fromkeys(options.policies))
    rounds, largest = rounds_table(folder, options.votes, policies, options.rounds)
    url = f"sqlite:///{folder / f'{policies[-1]}-{options.votes[-1]}.db'}"
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("duelist", "optuna", "sqlalchemy"))
    lines = [
        "# Benchmarks of studies",
        "",
        f"With {versions}, Python {platform.python_version()}, {os.cpu_count()} cores.",
        "",
        "## Durable ask + tell in SQLite",
        "",
        f"{N_ARMS:,} arms with {DIM} features, against Optuna on the same disk in the same run, in turns of {BLOCK} rounds; "
        f"medians of {options.rounds} rounds, in brackets a tenth and nine tenths of them. "
        f"One fdatasync of 4 KiB took {disk:.2g} ms by itself.",
        "",
        *rounds,
        "## When there are many votes",
        "",
        "Calls that are not part of a round, each timed once. [Analyses](benchmarks-analyses.md) have a page of their own.",
        "",
        *growth_table(largest, url),
        "## When there are many arms",
        "",
        *arms_table(folder, options.arms),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--arms", type=int, default=100_000)
    parser.add_argument("--policies", nargs="+", default=["VACDB", DEFAULT_POLICY])
    parser.add_argument("--folder", type=Path, default=Path("out"), help="where the databases are made")
    parser.add_argument("--page", type=Path, help="where to write the result, beside printing it")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="study-") as name:
        text = page(options, Path(name))
    print(text)
    if options.page is not None:
        options.page.write_text(with_origin(text, "make bench-study"))


if __name__ == "__main__":
    main()
