"""`make bench-files`: time and memory of importing and exporting 100,000 votes; writes docs/evidence/benchmarks-files.md.

    python -m benchmarks.files [--votes 100000] [--page FILE]

Votes with texts: 100 models answered each of 1,000 questions, with some 400 characters per answer, which the file repeats. Votes
without: two ids, outcome, rater and time. Each measurement is a separate process; memory is the peak of the process above its memory
after the library was loaded and the study opened.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from duelist.research.origin import with_origin
from duelist.study import Outcome, create_study, load_study
from duelist.study.formats import Comparison, write

ARMS, CONTEXTS, RATERS = 100, 1000, 50
OUTCOMES = (Outcome.FIRST, Outcome.SECOND, Outcome.FIRST, Outcome.SECOND, Outcome.TIE)
FORMATS = {"jsonl": "jsonl", "csv": "csv", "arena": "json", "trl": "json"}
"""With the endings of their files."""
IMPORTED_TWICE = ("jsonl", "csv")
"""Into SQLite and PostgreSQL, with and without texts."""


def votes(n: int, texts: bool) -> Iterator[Comparison]:
    """Yield votes, with the question and the two answers or without."""
    rng = np.random.default_rng(0)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for k in range(n):
        first, second = rng.choice(ARMS, 2, replace=False)
        context = int(rng.integers(CONTEXTS))
        more: dict[str, Any] = {
            "context": f"q{context}",
            "prompt": f"Question {context}? " + "why " * 20,
            "payload_first": f"Answer of {first} to {context}. " + "so " * 120,
            "payload_second": f"Answer of {second} to {context}. " + "so " * 120,
            "extra": {"turn": 1},
        }
        yield Comparison(
            f"model {first}",
            f"model {second}",
            OUTCOMES[k % len(OUTCOMES)],
            rater=f"rater {k % RATERS}",
            voted_at=start + timedelta(seconds=k),
            **(more if texts else {}),
        )


def memory(which: str) -> float:
    """Megabytes that this process has (VmRSS), or has had at most since it was last asked to forget (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) / 1024


def one(what: str, url: str, file: Path, form: str) -> None:
    """Do one thing, and print seconds and megabytes."""
    study = load_study("full", url) if what == "export" else create_study(f"{what} {file.name}", url)
    study.arms()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before, start, worked = memory("VmRSS"), time.perf_counter(), time.process_time()
    if what == "export":
        study.export(file, form)
    else:
        study.import_votes(file, form)
    print(f"{time.perf_counter() - start:.1f} {time.process_time() - worked:.1f} {memory('VmHWM') - before:.0f}")


def measured(*words: object) -> str:
    """Return what one process says, as cells of a table."""
    command = [sys.executable, "-m", "benchmarks.files", "--one", *map(str, words)]
    return " | ".join(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@contextmanager
def postgres_url() -> Iterator[str]:
    from tests.helpers import postgres

    with postgres.own_server(durable=True) as server, postgres.database(server) as url:
        yield url


def tables(n: int) -> Iterator[str]:
    """Yield the lines of the page's table."""
    yield "| file | MB | storage | export, s | of it CPU | MB | import, s | of it CPU | MB |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|---:|"
    with tempfile.TemporaryDirectory() as place, postgres_url() as postgres:
        folder = Path(place)
        for texts in (False, True):
            name, sqlite = "with texts" if texts else "without texts", f"sqlite:///{folder}/{texts}.db"
            source = folder / f"all-{texts}.jsonl"
            write(votes(n, texts), source, "jsonl")
            create_study("full", sqlite).import_votes(source)
            for form in FORMATS if texts else IMPORTED_TWICE:
                file = folder / f"{form} {name}.{FORMATS[form]}"
                out = measured("export", sqlite, file, form)
                size = file.stat().st_size / 1e6
                into = measured("import", sqlite, file, form) if form != "trl" else "- | - | -"  # too many arms
                yield f"| {form}, {name} | {size:.0f} | SQLite | {out} | {into} |"
                if form in IMPORTED_TWICE:
                    into = measured("import", postgres, file, form)
                    yield f"| {form}, {name} | {size:.0f} | PostgreSQL | - | - | - | {into} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=100_000)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        what, url, file, form = given.one
        one(what, url, Path(file), form)
        return
    lines, load = [], os.getloadavg()[0]
    for line in tables(given.votes):
        print(line, flush=True)
        lines.append(line)
    page = "\n".join(
        [
            "# Import and export of votes",
            "",
            f"{given.votes:,} votes on {ARMS} items, on {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
            "one run each. With texts, a file repeats the question and both answers of some 400 characters in every row. CPU: seconds "
            f"of the importing process; the load average was {load:.1f} before, so CPU times compare better. MB: its growth.",
            "",
            *lines,
            "",
        ]
    )
    if given.page is not None:
        given.page.write_text(with_origin(page, "make bench-files"))


if __name__ == "__main__":
    main()
