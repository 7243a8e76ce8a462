"""`make bench-jobs`: pages that compare policies with their peers for the goals *serve* and *best*, on held-out and on tuning sets.

Finished runs are kept in out/jobs. The rules are in docs/evidence/held-out-protocol.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from benchmarks import DOCS
from benchmarks.quality.goals import logs
from benchmarks.quality.jobs import page
from benchmarks.quality.jobs.play import ASKED, SERVED
from benchmarks.quality.jobs.runs import SHORT, Results, results
from duelist.research.origin import this_part, with_origin

RUNS = 48
SPLITS = ("held out", "tuning")
COMMAND = 'make bench-jobs JOBS="--jobs {}"'
PAGES = {
    "serve": ("job-serve.md", "Serve: LocalPairUCB and its peers on real data"),
    "best": ("job-best.md", "Best: BestArmPair and its peers on real data"),
}


def serve_page(found: dict[str, dict[str, Results]]) -> Iterator[str]:
    yield f"An arm may be shown alone. `policy_for` was given the horizon: {SERVED[-1]:,} duels, or {SHORT}; peers do not use it."
    yield ""
    for split in found["serve"]:
        long, short = found["serve"][split], found["serve-short"][split]
        yield from (f"## Where another one is first, {split} sets", "")
        yield from page.losses(long, page.SERVE_MEASURES)
        yield from page.losses(short, page.SHORT_MEASURES)
        yield from (f"## One form for all sets, {split} sets", "")
        yield from page.one_form(long, page.SERVE_MEASURES[0])
        yield from (f"## All results, {split} sets", "")
        yield from page.tables(long, page.SERVE_MEASURES)
        yield from page.tables(short, page.SHORT_MEASURES)


def best_page(found: dict[str, dict[str, Results]], votes: int) -> Iterator[str]:
    measures = page.best_measures(votes)
    for split, results_ in found[f"best-{votes}"].items():
        yield from (f"## Where another one is first, {split} sets", "")
        yield from page.losses(results_, measures)
        yield from (f"## All results, {split} sets", "")
        yield from page.tables(results_, measures)
        yield from page.decisions(results_, votes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--votes", type=int, default=ASKED[-1], choices=ASKED, help="votes per run of the job best")
    parser.add_argument("--splits", nargs="*", default=list(SPLITS), choices=SPLITS)
    parser.add_argument("--jobs", nargs="*", default=list(PAGES), choices=list(PAGES))
    given = parser.parse_args()
    absent = [*logs.missing(), *logs.missing(logs.HELD_OUT_SOURCES)]
    for line in absent:
        print(f"not included: {line}")
    found: dict[str, dict[str, Results]] = {}
    for job in given.jobs:
        for part in ("serve", "serve-short") if job == "serve" else (f"best-{given.votes}",):
            for split in given.splits:
                found.setdefault(part, {})[split] = results(part, split, given.runs, given.workers)
        name, title = PAGES[job]
        head = [
            f"# {title}",
            "",
            f"{given.runs} runs per data set, on the {' and the '.join(given.splits)} sets.",
            "All contestants meet the same worlds and the same random numbers.",
            "[held-out-protocol.md](held-out-protocol.md) gives the data sets and the rules, `benchmarks/quality/jobs/peers.py`",
            "the peers. `ours` is what `policy_for` returns for an `ArmTable`, with features where there are any. In brackets:",
            "95 % bootstrap intervals over runs, run by run.",
            "",
            *(f"- Not included: {line}" for line in absent),
            *([""] if absent else []),
        ]
        text = (
            "\n".join([*head, *(serve_page(found) if job == "serve" else best_page(found, given.votes))]).rstrip()
            + "\n"
        )
        (DOCS / name).write_text(with_origin(text, COMMAND.format(job), this_part()))


if __name__ == "__main__":
    main()
