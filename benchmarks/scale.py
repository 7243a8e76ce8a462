"""How fast one PostgreSQL takes votes, and what grows with what.

    python -m benchmarks.scale --page docs/evidence/benchmarks-scale.md [--rows 1000000] [--seconds 8]

A separate server on this machine, which waits for the disk. Votes per second: raters without delay, in one study and in several at once.
Growth: a study with more and more votes; then a million rows of another study, inserted by SQL.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from tests.helpers import postgres

from benchmarks.raters import playing, votes_to_import
from benchmarks.study import fsync_time, table
from duelist.core.files import atomic_write
from duelist.research.origin import with_origin
from duelist.study import Study, create_study, load_study

ARMS, DIM = 1000, 16
TABLES = ("duelist_votes", "duelist_duels", "duelist_leases")


def filled(url: str, name: str) -> Study:
    study = create_study(name, url)
    study.add_arms([f"arm {k}" for k in range(ARMS)], np.random.default_rng(0).normal(size=(ARMS, DIM)) / np.sqrt(DIM))
    return study


def rate(study: Study, raters: int, seconds: float) -> float:
    """Return the votes per second of some raters in threads of this process."""
    for k in range(2):  # whatever is loaded once
        study.tell(study.ask(f"first {k}").id, "first", f"first {k}")
    with playing(study, [f"rater {k}" for k in range(raters)], 0.0) as waits:
        time.sleep(seconds)
    return len(waits.tells) / seconds


def one_study(url: str, name: str, raters: int, seconds: float, ready: Any, found: Any) -> None:
    study = load_study(name, url)
    ready.wait()
    found.put(rate(study, raters, seconds))


def several(url: str, studies: int, raters: int, seconds: float) -> float:
    """Return the votes per second of several studies, each in a separate process."""
    for k in range(studies):
        filled(url, f"study {k}").close()
    context = multiprocessing.get_context("spawn")
    ready, found = context.Barrier(studies), context.Queue()
    children = [
        context.Process(target=one_study, args=(url, f"study {k}", raters, seconds, ready, found))
        for k in range(studies)
    ]
    for child in children:
        child.start()
    total = sum(found.get() for _ in children)
    for child in children:
        child.join()
    return float(total)


def round_time(study: Study, rounds: int = 60) -> float:
    """Median seconds of an ask and its tell, by one rater."""
    times = []
    for k in range(rounds):
        start = time.perf_counter()
        study.tell(study.ask("alone").id, "first" if k % 2 else "second", "alone")
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def timed(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def opened(url: str, name: str) -> None:
    study = load_study(name, url)
    study.policy()
    study.close()


def growth_rows(url: str, sizes: list[int]) -> list[tuple[str, ...]]:
    study = filled(url, "growing")
    rows = []
    told = 0
    for size in sizes:
        if size > told:
            study.add_votes(votes_to_import(ARMS, size, datetime.now(UTC))[told:])
        told = size
        reader = load_study("growing", url)
        rows.append(
            (
                f"{size:,}",
                f"{1e3 * round_time(study):.1f}",
                f"{timed(lambda: opened(url, 'growing')):.2f}",
                f"{timed(reader.leaderboard):.2f}",
                f"{timed(reader.leaderboard):.2f}",
            )
        )
        reader.close()
        print(rows[-1], flush=True)
    study.close()
    return rows


FILL = {
    "duelist_duels": """INSERT INTO duelist_duels
            (study_id, number, first_row, second_row, chosen_by, swapped, layer, share, asked_at, free, kind)
        SELECT :study, k, k % 1000, (k + 1) % 1000, 'policy', false, 1, 1.0, k, 0, 'normal' FROM generate_series(1, :rows) k""",
    "duelist_leases": """INSERT INTO duelist_leases (study_id, duel, rater, state, asked_at, deadline)
        SELECT :study, k, 'rater ' || (k::bigint * 7919 % 10000), 1, k, k + 600 FROM generate_series(1, :rows) k""",
    "duelist_votes": """INSERT INTO duelist_votes
            (study_id, sequence, duel, rater, outcome, voted_at, source, response_seconds, late, root, criterion)
        SELECT :study, k, k, 'rater ' || (k::bigint * 7919 % 10000), 'first', k, 'human', 1.5, false, k, ''
        FROM generate_series(1, :rows) k""",
}


def million_rows(url: str, rows: int) -> tuple[list[tuple[str, ...]], list[str]]:
    """Rows of another study beside a small one: their size, and what they do to the small one."""
    small = filled(url, "small")
    filled(url, "large").close()
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    before = round_time(small)
    sizes = []
    with engine.connect() as connection:
        large = connection.execute(sa.text("SELECT id FROM duelist_studies WHERE name = 'large'")).scalar_one()
        for name in ("duelist_duels", "duelist_leases", "duelist_votes"):
            seconds = timed(lambda name=name: connection.execute(sa.text(FILL[name]), {"study": large, "rows": rows}))
            connection.execute(sa.text(f"VACUUM ANALYZE {name}"))
            heap, whole = connection.execute(
                sa.text(f"SELECT pg_relation_size('{name}'), pg_total_relation_size('{name}')")
            ).one()
            sizes.append((name, f"{heap / rows:.0f}", f"{(whole - heap) / rows:.0f}", f"{rows / seconds:,.0f}"))
            print(sizes[-1], flush=True)
        query = "SELECT count(*) FROM duelist_votes WHERE study_id = :study AND rater = 'rater 77'"
        by_rater = min(timed(lambda: connection.execute(sa.text(query), {"study": large})) for _ in range(5))
        read = "SELECT sequence, duel, rater, outcome, voted_at FROM duelist_votes WHERE study_id = :study ORDER BY sequence"
        all_votes = timed(lambda: connection.execute(sa.text(read), {"study": large}).fetchall())
    after = round_time(small)
    small.close()
    engine.dispose()
    notes = [
        f"With {rows:,} votes of another study in the same tables, an ask and its tell of a small study takes {1e3 * after:.1f} ms "
        f"(before: {1e3 * before:.1f} ms); the votes of one rater are found in {1e3 * by_rater:.1f} ms; all of them are read in "
        f"{all_votes:.1f} s."
    ]
    return sizes, notes


def page(rows: int, seconds: float, folder: Path) -> str:
    with postgres.own_server(durable=True) as server:
        with postgres.database(server) as url:
            rates = [
                ("1", str(raters), f"{rate(filled(url, f'{raters} raters'), raters, seconds):.0f}")
                for raters in (1, 4, 16)
            ]
            print(rates, flush=True)
        for studies in (2, 4):
            with postgres.database(server) as url:
                rates.append((str(studies), "4 each", f"{several(url, studies, 4, seconds):.0f}"))
                print(rates[-1], flush=True)
        with postgres.database(server) as url:
            grown = growth_rows(url, [0, 10_000, 50_000])
        with postgres.database(server) as url:
            sizes, notes = million_rows(url, rows)
    lines = [
        "# Benchmarks of scale",
        "",
        f"Python {platform.python_version()}, {os.cpu_count()} cores. The load was "
        f"{os.getloadavg()[0]:.0f} when it ended: above {os.cpu_count()}, others had the cores as well, and times are longer than need be. "
        "One PostgreSQL server on the same machine that waits for the disk; "
        f"one fdatasync of 4 KiB took {1e3 * fsync_time(folder):.1f} ms. "
        f"Studies have {ARMS:,} arms with {DIM} features and the default policy; raters do not think.",
        "",
        *table(("studies at once", "raters", "votes per second, all together"), rates),
        "What grows with the votes of a study:",
        "",
        *table(("votes", "ask + tell, ms", "open, s", "first leaderboard, s", "next leaderboard, s"), grown),
        "What a vote takes on disk, and how fast rows go in by SQL:",
        "",
        *table(("table", "bytes per row", "bytes per row in indexes", "rows per second"), sizes),
        *notes,
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="write the page here")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = page(options.rows, options.seconds, Path(folder))
    if options.page is not None:
        with atomic_write(options.page) as file:
            file.write(with_origin(text, "make bench-scale").encode())
    print(text)


if __name__ == "__main__":
    main()
