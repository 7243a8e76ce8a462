"""Time and memory of importing and exporting 100,000 votes.

    python -m benchmarks.files [votes ...]

Each measurement is a separate process, on SQLite; memory is the peak of the process above its memory after the library
was loaded and the study opened.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

ARMS, CONTEXTS = 100, 1000
FORMATS = ("jsonl", "csv", "arena", "trl")


def votes(n: int) -> Iterator[object]:
    """Yield votes on 100 models with different answers to each of 1,000 questions, some 400 characters per answer."""
    from duelist.study.formats import Comparison
    from duelist.study.records import Outcome

    rng = np.random.default_rng(0)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    outcomes = [Outcome.FIRST, Outcome.SECOND, Outcome.FIRST, Outcome.SECOND, Outcome.TIE]
    for k in range(n):
        first, second = rng.choice(ARMS, 2, replace=False)
        context = int(rng.integers(CONTEXTS))
        yield Comparison(
            f"model {first}",
            f"model {second}",
            outcomes[k % 5],
            rater=f"rater {k % 50}",
            context=f"q{context}",
            voted_at=start + timedelta(seconds=k),
            prompt=f"Question {context}? " + "why " * 20,
            payload_first=f"Answer of {first} to {context}. " + "so " * 120,
            payload_second=f"Answer of {second} to {context}. " + "so " * 120,
            extra={"turn": 1},
        )


def memory(which: str) -> float:
    """Megabytes that this process has (VmRSS), or has had at most since it was last asked to forget (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) / 1024


def one(what: str, form: str, folder: Path) -> None:
    """Do one thing, and print seconds and megabytes."""
    from duelist.study import create_study, load_study

    url = f"sqlite:///{folder / 'studies.db'}"
    study = load_study("full", url) if what == "export" else create_study(f"{what} {form}", url, policy="LocalPairUCB")
    study.arms()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before, start, worked = memory("VmRSS"), time.perf_counter(), time.process_time()
    if what == "export":
        study.export(folder / f"votes.{form}", form)
    else:
        study.import_votes(folder / f"votes.{form}", form)
    print(f"{time.perf_counter() - start:.1f} {time.process_time() - worked:.1f} {memory('VmHWM') - before:.0f}")


def measured(*words: object) -> list[str]:
    """What one process says."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.files", "one", *map(str, words)], check=True, capture_output=True, text=True
    )
    return done.stdout.split()


def main(sizes: list[int]) -> None:
    """The table."""
    from duelist.study import create_study
    from duelist.study.formats import write

    print("| votes | format | file, MB | export, s | of it CPU | MB | import, s | of it CPU | MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            write(votes(n), folder / "all.jsonl", "jsonl")
            study = create_study("full", f"sqlite:///{folder / 'studies.db'}", policy="LocalPairUCB")
            study.import_votes(folder / "all.jsonl", "jsonl")
            for form in FORMATS:
                out = measured("export", form, folder)
                size = (folder / f"votes.{form}").stat().st_size / 1e6
                into = measured("import", form, folder) if form != "trl" else ["-"] * 3  # too many arms
                print(f"| {n:,} | {form} | {size:.0f} | {' | '.join(out)} | {' | '.join(into)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        main([int(n) for n in sys.argv[1:]] or [100_000])
