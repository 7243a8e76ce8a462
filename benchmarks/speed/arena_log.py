"""`make bench-arena-log`: the leaderboard of a large arena log; writes docs/evidence/benchmarks-arena-log.md.

    python -m benchmarks.speed.arena_log [--votes 1000000] [--systems 200] [--prompts 10000] [--page FILE]

The log has ties, 64 raters and prompts, and lies in an SQLite file. Cold: a new process opens the study. Again: the same study
after three more votes. Unchanged: the same study without new votes. Each repetition is a separate process.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.intervals import answers
from duelist.research.origin import with_origin
from duelist.study import Outcome, Source, Vote, create_study, load_study

NU = 0.12
"""About 5 % ties."""
RATERS = 64
OUTCOMES = (Outcome.FIRST, Outcome.SECOND, Outcome.TIE)
REPEATS = 5


def filled(url: str, votes: int, systems: int, prompts: int) -> None:
    """Create a study with a simulated log."""
    rng = np.random.default_rng(0)
    utilities = rng.normal(size=systems)
    first = rng.integers(systems, size=votes)
    second = (first + rng.integers(1, systems, size=votes)) % systems
    prompt = rng.integers(prompts, size=votes)
    rater = rng.integers(RATERS, size=votes)
    outcome = answers(utilities[first] - utilities[second], NU, rng.random(votes))
    study = create_study("log", url, goal="rank")
    ids = [f"system {k}" for k in range(systems)]
    study.add_arms(ids)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    columns = zip(first.tolist(), second.tolist(), outcome.tolist(), prompt.tolist(), rater.tolist(), strict=True)
    study.add_votes(
        Vote(
            k + 1, k + 1, OUTCOMES[said], f"rater {who}", start + timedelta(seconds=k), ids[one], ids[other],
            context=f"prompt {about}", source=Source.HUMAN, response_seconds=3.0,
        )
        for k, (one, other, said, about, who) in enumerate(columns)
    )  # fmt: skip
    study.close()


def timed(call: Callable[[], Any]) -> dict[str, float]:
    """Return seconds on the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    call()
    return {"clock": time.perf_counter() - clock, "processor": time.process_time() - processor}


def measure(url: str, clusters: bool) -> dict[str, Any]:
    """Time leaderboards in this process, whose peak memory is returned as well."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    study = load_study("log", url)
    found: dict[str, Any] = {"cold": timed(lambda: study.leaderboard(clusters=clusters))}
    for k, said in enumerate(("first", "tie", "second")):
        study.tell(study.ask(f"new {k}").id, said, f"new {k}")
    found["again"] = timed(lambda: study.leaderboard(clusters=clusters))
    found["unchanged"] = timed(lambda: study.leaderboard(clusters=clusters))
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    return found


def in_new_process(url: str, clusters: bool) -> dict[str, Any]:
    """Return `measure` of a new process."""
    command = [sys.executable, "-m", "benchmarks.speed.arena_log", "--measure", url]
    done = subprocess.run([*command, *([] if clusters else ["--naive"])], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def milliseconds(runs: list[dict[str, Any]], what: str) -> str:
    clock, processor = (1e3 * float(np.median([run[what][part] for run in runs])) for part in ("clock", "processor"))
    return f"{clock:,.0f} ({processor:,.0f})"


def table(url: str) -> list[str]:
    """Return the table of times."""
    lines = [
        "| leaderboard | cold, ms (of the processor) | three new votes, ms | unchanged, ms | memory, MiB |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, clusters in (("with intervals that count raters and prompts", True), ("`clusters=False`", False)):
        runs = [in_new_process(url, clusters) for _ in range(REPEATS)]
        times = " | ".join(milliseconds(runs, what) for what in ("cold", "again", "unchanged"))
        lines.append(f"| {name} | {times} | {max(run['memory'] for run in runs):,.0f} |")
        print(lines[-1], flush=True)
    return lines


PROSE = """# Leaderboard of a large arena log

{votes:,} votes of {raters} raters on {systems} systems and {prompts:,} prompts, about 5 % ties, in an
SQLite file, on {cores} cores ({machine}), Python {python}. Medians of {repeats} processes. "Cold": a new process that has just opened
the study. "Memory": the growth of the process. The load average of the machine was {load:.1f}, so CPU times compare better.

{table}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=1_000_000)
    parser.add_argument("--systems", type=int, default=200)
    parser.add_argument("--prompts", type=int, default=10_000)
    parser.add_argument("--file", type=Path, help="keep the study in this file, or use the one that is there")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--naive", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, not options.naive)))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = options.file or Path(folder) / "log.db"
        url = f"sqlite:///{file}"
        if not file.exists():
            filled(url, options.votes, options.systems, options.prompts)
        lines = table(url)
    page = PROSE.format(
        votes=options.votes,
        raters=RATERS,
        systems=options.systems,
        prompts=options.prompts,
        cores=os.cpu_count(),
        machine=platform.machine(),
        python=platform.python_version(),
        repeats=REPEATS,
        load=os.getloadavg()[0],
        table="\n".join(lines),
    )
    print(page)
    if options.page is not None:
        options.page.write_text(with_origin(page, "make bench-arena-log"))


if __name__ == "__main__":
    main()
