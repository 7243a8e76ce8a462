"""`make bench-analyses`: time analyses of a large log, cold and after three new votes, and evalica; docs/evidence/benchmarks-analyses.md.

    python -m benchmarks.analyses [--votes 100000] [--arms 100] [--page docs/evidence/benchmarks-analyses.md]

The logs have ties and 64 raters, and are in SQLite files: one on arms without features of their own, two on 1,000 arms with 16
features, where raters are alike, and where every eighth is careless. Cold: the study has just been opened. Warm: three votes have been
added since the last analysis. evalica gets the votes of the first log as lists in memory, and returns scores without intervals; the
table also has the time to read those lists from the database, which our analyses include.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.intervals import answers
from duelist.research.origin import with_origin
from duelist.study import Outcome, Source, Study, Vote, create_study, load_study

ANALYSES = (
    "leaderboard",
    "win_matrix",
    "progress",
    "can_stop",
    "recommend",
    "raters",
    "win_chances",
    "calibration",
    "goodness_of_fit",
    "history",
)
OF_FEATURES = ("scorer",)
NU = 0.6
RATERS = 64
CARELESS = 8
"""Every eighth rater votes at random where raters differ."""


def filled(url: str, votes: int, features: np.ndarray, careless: bool = False) -> None:
    rng = np.random.default_rng(0)
    arms, dim = features.shape
    utilities = features @ rng.normal(size=dim) / np.linalg.norm(features, axis=1).mean()
    first = rng.integers(arms, size=votes)
    second = (first + rng.integers(1, arms, size=votes)) % arms
    attentive = np.where(np.arange(votes) % RATERS % CARELESS > 0, 1.0, 0.0 if careless else 1.0)
    outcome = answers(attentive * (utilities[first] - utilities[second]), NU, rng.random(votes))
    names = (Outcome.FIRST, Outcome.SECOND, Outcome.TIE)
    study = create_study("log", url)
    ids = [f"arm {k}" for k in range(arms)]
    study.add_arms(ids, features)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    study.add_votes(
        Vote(
            k + 1, k + 1, names[outcome[k]], f"rater {k % RATERS}", start + timedelta(seconds=k), ids[first[k]], ids[second[k]],
            source=Source.HUMAN, response_seconds=3.0,
        )
        for k in range(votes)
    )  # fmt: skip
    study.close()


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds on the clock, seconds of the processor, and the result."""
    clock, processor = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - clock, time.process_time() - processor, result


def add_votes(study: Study, k: int) -> None:
    for answer in ("first", "tie", "second"):
        study.tell(study.ask(f"new {k}").id, answer, f"new {k}")


def median(times: list[tuple[float, float, Any]]) -> str:
    clock, processor = (1e3 * float(np.median([each[part] for each in times])) for part in (0, 1))
    return f"{clock:,.0f} ({processor:,.0f})"


def analyses_table(url: str, what: str, repeats: int, names: tuple[str, ...] = ANALYSES) -> list[str]:
    lines = [f"| {what} | cold, ms (CPU time) | after three new votes, ms |", "|---|---:|---:|"]
    for name in names:
        cold, warm = [], []
        for k in range(repeats):
            study = load_study("log", url)
            cold.append(timed(getattr(study, name)))
            add_votes(study, k)
            warm.append(timed(getattr(study, name)))
            study.close()
        lines.append(f"| {name} | {median(cold)} | {median(warm)} |")
        print(lines[-1], flush=True)
    return lines


def wide_table(folder: Path, repeats: int) -> list[str]:
    """Time the first and the second analysis of a process: 3,000 arms with 384 features and arm effects, and few votes."""
    url, rng = f"sqlite:///{folder / 'wide.db'}", np.random.default_rng(0)
    study = create_study("log", url, arm_effects=True)
    study.add_arms([f"arm {k}" for k in range(3000)], rng.normal(size=(3000, 384)))
    for k in range(60):
        study.tell(study.ask(f"rater {k % 6}").id, ("first", "second", "tie")[k % 3], f"rater {k % 6}")
    study.close()
    lines = ["| 3,000 arms x 384 features, 60 votes | first, ms (CPU time) | again, ms |", "|---|---:|---:|"]
    for name in ("leaderboard", "recommend", "raters", "calibration"):
        first, again = [], []
        for _ in range(repeats):
            study = load_study("log", url)
            first.append(timed(getattr(study, name)))
            again.append(timed(getattr(study, name)))
            study.close()
        lines.append(f"| {name} | {median(first)} | {median(again)} |")
        print(lines[-1], flush=True)
    return lines


def evalica_table(url: str, repeats: int) -> list[str]:
    import evalica

    study = load_study("log", url)
    seconds = timed(study.votes)
    votes = [vote for vote in seconds[2] if vote.outcome in ("first", "second", "tie")]
    winner = {
        Outcome.FIRST: evalica.Winner.X,
        Outcome.SECOND: evalica.Winner.Y,
        Outcome.TIE: evalica.Winner.Draw,
    }
    sides = [vote.first for vote in votes], [vote.second for vote in votes], [winner[vote.outcome] for vote in votes]
    lines = [
        "| evalica | ms (CPU time) |",
        "|---|---:|",
        f"| the votes as a list of objects | {median([seconds])} |",
    ]
    for name in ("counting", "bradley_terry", "newman", "elo", "eigen", "pagerank"):
        function = getattr(evalica, name)
        times = [timed(lambda function=function: function(*sides)) for _ in range(repeats)]
        lines.append(f"| {name} | {median(times)} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=100_000)
    parser.add_argument("--arms", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'log.db'}"
        filled(url, options.votes, np.eye(options.arms))
        ours = [*analyses_table(url, f"{options.arms} arms", options.repeats), ""]
        features = np.random.default_rng(1).normal(size=(1000, 16))
        for name, careless in (("alike", False), ("careless", True)):
            with_features = f"sqlite:///{Path(folder) / name}.db"
            filled(with_features, options.votes, features, careless)
            raters = "every eighth rater careless" if careless else "raters alike"
            ours += [
                *analyses_table(
                    with_features, f"1,000 arms x 16 features, {raters}", options.repeats, ANALYSES + OF_FEATURES
                ),
                "",
            ]
        ours += wide_table(Path(folder), options.repeats)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        theirs = evalica_table(url, options.repeats)
    load = os.getloadavg()[0]
    page = "\n".join(
        [
            "# Analyses of a large log",
            "",
            f"{options.votes:,} votes with ties of {RATERS} raters in an SQLite file, on {os.cpu_count()} cores "
            f"({platform.machine()}), Python {platform.python_version()}. Medians of {options.repeats} runs. The load average of the "
            f"machine was {load:.1f}, so CPU times compare better. The peak memory of the process, which also filled the studies, "
            f"was {most:,.0f} MiB.",
            "",
            *ours,
            "",
            f"evalica {importlib.metadata.version('evalica')} on the same votes, as lists in memory; scores without intervals:",
            "",
            *theirs,
            "",
        ]
    )
    print(page)
    if options.page is not None:
        options.page.write_text(with_origin(page, "make bench-analyses"))


if __name__ == "__main__":
    main()
