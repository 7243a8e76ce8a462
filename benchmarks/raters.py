"""`make bench-raters`: how long raters wait, in SQLite and in PostgreSQL, when many of them ask and tell at once.

    python -m benchmarks.raters [--only thought busy processes cpu most meanwhile] [--seconds 30] [--databases sqlite postgres]

thought     64 raters in one process, each thinking for some 4 s between an ask and its tell: 1,000 arms, 64 features
busy        64, 128 and 192 raters in one process, each thinking for a quarter of a second: 1,000 arms, 16 features
processes   4 processes with 3 raters each, who do not think: 100 arms, 16 features
cpu         CPU time of one ask while 64 duels are pending
most        16 raters in one process, who do not think: the most votes per second
meanwhile   the longest wait of 8 raters while 100,000 votes are imported, and while the leaderboard of those is made

Everything runs on this machine: SQLite in a folder of `--folder`, PostgreSQL in a separate server that waits for the disk. A
wait is the time from the call of `ask` or `tell` until it returns.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tests.helpers import postgres

from benchmarks.study import fsync_time, table
from duelist.research.origin import with_origin
from duelist.study import Outcome, Source, Study, Vote, create_study, load_study

OUT, IMPORTED = 64, 100_000
NAME = "raters"


class Waits(NamedTuple):
    """Seconds that each ask and each tell took."""

    asks: list[float]
    tells: list[float]


def filled(url: str, n_arms: int, dim: int, **settings: object) -> Study:
    """A study with arms of unit length, about."""
    study = create_study(NAME, url, **settings)
    vectors = np.random.default_rng(0).normal(size=(n_arms, dim)) / np.sqrt(dim)
    study.add_arms([f"arm {k}" for k in range(n_arms)], vectors)
    return study


# -- raters ------------------------------------------------------------------------------


def play(study: Study, rater: str, think: float, over: threading.Event, waits: Waits) -> None:
    """Ask, think, tell, until it is over; thoughts are exponential and first asks spread over one, so raters do not fall into step."""
    luck = np.random.default_rng([int(letter) for letter in rater.encode()])
    over.wait(luck.uniform(0.0, think))
    while not over.is_set():
        start = time.perf_counter()
        duel = study.ask(rater)
        waits.asks.append(time.perf_counter() - start)
        if over.wait(luck.exponential(think)):
            return  # not all of them at once, at the end
        start = time.perf_counter()
        study.tell(duel.id, ("first", "second", "tie")[int(luck.integers(3))], rater)
        waits.tells.append(time.perf_counter() - start)


@contextmanager
def playing(study: Study, raters: Sequence[str], think: float) -> Iterator[Waits]:
    """Raters in threads of this process, as long as the block lasts."""
    waits, over = Waits([], []), threading.Event()
    threads = [threading.Thread(target=play, args=(study, rater, think, over, waits)) for rater in raters]
    for thread in threads:
        thread.start()
    try:
        yield waits
    finally:
        over.set()
        for thread in threads:
            thread.join()


def in_threads(study: Study, count: int, think: float, seconds: float) -> Waits:
    for k in range(2):  # whatever is loaded once
        study.tell(study.ask(f"first {k}").id, "first", f"first {k}")
    with playing(study, [f"rater {k}" for k in range(count)], think) as waits:
        time.sleep(seconds)
    return waits


def in_processes(url: str, processes: int, raters: int, seconds: float) -> Waits:
    """Raters in threads of several processes."""
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[tuple[list[float], list[float]]] = context.Queue()
    ready = context.Barrier(processes)
    children = [
        context.Process(target=one_process, args=(url, k, raters, seconds, ready, results)) for k in range(processes)
    ]
    for child in children:
        child.start()
    found = [results.get() for _ in children]
    for child in children:
        child.join()
    return Waits([w for asks, _ in found for w in asks], [w for _, tells in found for w in tells])


def one_process(url: str, number: int, raters: int, seconds: float, ready: object, results: object) -> None:
    study = load_study(NAME, url)
    study.tell(study.ask(f"first {number}").id, "first", f"first {number}")
    ready.wait()  # type: ignore[attr-defined]
    with playing(study, [f"rater {number} {k}" for k in range(raters)], 0.0) as waits:
        time.sleep(seconds)
    results.put((waits.asks, waits.tells))  # type: ignore[attr-defined]


# -- tables ------------------------------------------------------------------------------


HEAD = ("", "ask: median", "p99", "longest", "tell: median", "p99", "longest", "votes per second")


def row(what: str, waits: Waits, seconds: float) -> list[str]:
    cells = [what]
    for times in waits:
        cells += [f"{1e3 * q:.1f}" for q in np.quantile(times, [0.5, 0.99, 1.0])]
    return [*cells, f"{len(waits.tells) / seconds:.0f}"]


def thought(url: str, seconds: float) -> tuple[str, Waits, float]:
    """One process with many raters, as a server has them."""
    study = filled(url, 1000, 64)
    return "64 raters, 4 s of thought, 1,000 x 64", in_threads(study, 64, 4.0, seconds), seconds


def busy(url: str, seconds: float, raters: int) -> tuple[str, Waits, float]:
    """More and more raters, who hardly think."""
    study = filled(url, 1000, 16)
    return f"{raters} raters, 0.25 s of thought, 1,000 x 16", in_threads(study, raters, 0.25, seconds / 3), seconds / 3


def most(url: str, seconds: float) -> tuple[str, Waits, float]:
    """As many votes as there can be."""
    study = filled(url, 1000, 16)
    return "16 raters without thought, 1,000 x 16", in_threads(study, 16, 0.0, seconds / 3), seconds / 3


def processes(url: str, seconds: float) -> tuple[str, Waits, float]:
    """Several processes on one study."""
    filled(url, 100, 16).close()
    return "4 processes x 3 raters without thought, 100 x 16", in_processes(url, 4, 3, seconds / 3), seconds / 3


def cpu(url: str, n_arms: int, dim: int, rounds: int = 60) -> list[float]:
    """Return the median CPU seconds of an ask with some pending duels, and of its tell, over all threads of the process."""
    study = filled(url, n_arms, dim)
    for k in range(200):
        study.tell(study.ask(f"early {k % 16}").id, ("first", "second")[k % 2], f"early {k % 16}")
    for k in range(OUT):
        study.ask(f"holder {k}")
    asks, tells = [], []
    for k in range(rounds):
        start = time.process_time()
        duel = study.ask("ana")
        asks.append(time.process_time() - start)
        start = time.process_time()
        study.tell(duel.id, ("first", "second")[k % 2], "ana")
        tells.append(time.process_time() - start)
    return [float(np.median(asks)), float(np.median(tells))]


def meanwhile(url: str, task: str, apart: bool) -> tuple[str, Waits, float]:
    """Eight raters while something else takes long, in the same process or in another."""
    study = load_study(NAME, url)
    study.tell(study.ask("first").id, "first", "first")
    with playing(study, [f"rater {k}" for k in range(8)], 0.1) as waits:
        start = time.perf_counter()
        if apart:
            child = multiprocessing.get_context("spawn").Process(target=do_apart, args=(task, url))
            child.start()
            child.join()
        else:
            TASKS[task](study)
        seconds = time.perf_counter() - start
    study.close()
    return f"meanwhile, in {'another' if apart else 'the same'} process: {task} ({seconds:.1f} s)", waits, seconds


def do_apart(task: str, url: str) -> None:
    TASKS[task](load_study(NAME, url))


def import_many(study: Study) -> None:
    """As `import_votes` does with a file, without the reading of the file."""
    study.add_votes(votes_to_import(100, IMPORTED, datetime.now(UTC)))


def read_board(study: Study) -> None:
    study.leaderboard()


TASKS = {f"{IMPORTED:,} votes imported": import_many, "leaderboard of all": read_board}


def votes_to_import(n_arms: int, count: int, start: datetime) -> list[Vote]:
    rng = np.random.default_rng(count)
    firsts = rng.integers(n_arms, size=count)
    pairs = np.stack([firsts, (firsts + rng.integers(1, n_arms, size=count)) % n_arms], axis=1).tolist()
    outcomes = [(Outcome.FIRST, Outcome.SECOND, Outcome.TIE)[k] for k in rng.integers(3, size=count)]
    return [
        Vote(k, k, outcome, f"old {k % 50}", start, f"arm {a}", f"arm {b}", source=Source.IMPORT)
        for k, (outcome, (a, b)) in enumerate(zip(outcomes, pairs, strict=True), start=1)
    ]


# -- the page ----------------------------------------------------------------------------


def waits_table(fresh: Callable[[], str], database: str, parts: Sequence[str], seconds: float) -> list[str]:
    rows = []
    for name, part in (("thought", thought), ("processes", processes), ("most", most)):
        if name in parts:
            rows.append(row(*part(fresh(), seconds)))
    if "busy" in parts:
        rows += [row(*busy(fresh(), seconds, raters)) for raters in (64, 128, 192)]
    if "meanwhile" in parts:
        url = fresh()
        filled(url, 100, 16).close()
        rows += [row(*meanwhile(url, task, apart)) for task in TASKS for apart in (True, False)]
    return table((f"{database}, ms", *HEAD[1:]), rows) if rows else []


def cpu_table(fresh: Callable[[], str], database: str) -> list[str]:
    rows = []
    for n_arms, dim in ((100, 16), (1000, 64)):
        asking, telling = cpu(fresh(), n_arms, dim)
        rows.append((f"{n_arms:,} x {dim}", f"{1e3 * asking:.2f}", f"{1e3 * telling:.2f}"))
    return table((f"{database}, CPU ms with {OUT} duels out", "ask", "tell"), rows)


@contextmanager
def places(database: str, folder: Path) -> Iterator[Callable[[], str]]:
    """Something that gives the URL of an empty database whenever it is called."""
    if database == "sqlite":
        numbers = iter(range(1000))
        yield lambda: f"sqlite:///{folder / f'{next(numbers)}.db'}"
        return
    with postgres.own_server(durable=True) as server, ExitStack() as stack:
        yield lambda: stack.enter_context(postgres.database(server))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ["thought", "busy", "processes", "cpu", "most", "meanwhile"]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--databases", nargs="+", choices=["sqlite", "postgres"], default=["sqlite", "postgres"])
    parser.add_argument("--page", type=Path, help="page to write")
    parser.add_argument("--folder", type=Path, default=Path("out"), help="where the SQLite files are made")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="raters-") as name:
        disk = 1e3 * fsync_time(Path(name))
        pages = [
            f"{os.cpu_count()} cores. One fdatasync of 4 KiB takes {disk:.2g} ms; "
            f"load before: {os.getloadavg()[0]:.1f}. What each row does: `python -m benchmarks.raters --help`.\n"
        ]
        print(pages[0])
        for database in options.databases:
            with places(database, Path(name)) as fresh:
                lines = waits_table(fresh, database, options.only, options.seconds)
                lines += cpu_table(fresh, database) if "cpu" in options.only else []
                pages.append("\n".join(lines))
                print(pages[-1], flush=True)
    if options.page:
        text = "# How long raters wait\n\n" + "\n".join(pages).rstrip() + "\n"
        options.page.write_text(with_origin(text, "make bench-raters"))


if __name__ == "__main__":
    main()
