"""`make bench-comparison`: compare duelist with the programs that people would otherwise use; docs/evidence/comparison.md.

    python -m benchmarks.comparison --peers build/peers/bin/python [--runs 10] [--page docs/evidence/comparison.md]

Programs take turns, each in a process of its own. Results go to out/comparison.json as they come, and a second call with
`--keep` measures only what is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparison.programs import FITS, PLAYERS
from benchmarks.comparison.worlds import LOOKS, OWN, PEAK, SIDE, VOTES, WIDTH, made_log, real_log, world
from duelist.research.origin import this_part, with_origin
from duelist.simulation.runs import interval

FEATURES = tomllib.loads(Path(__file__).with_name("features.toml").read_text(encoding="utf-8"))
PACKAGES = (
    "duelist",
    "numpy",
    "choix",
    "evalica",
    "arena-rank",
    "leaderbot",
    "optuna",
    "optuna-dashboard",
    "botorch",
    "duelpy",
)
LOGS = {"real": "llmfao", "made": "made"}
MADE_VOTES, MADE_ITEMS = 100_000, 100
REPEATS = 3


class Worker:
    """A process that measures one program."""

    def __init__(self, python: str) -> None:
        command = [python, "-m", "benchmarks.comparison.programs"]
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | threads,
        )

    def __call__(self, **task: Any) -> dict[str, Any]:
        print(json.dumps(task), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"The worker ended at {task.get('program', task['kind'])}.")
        return json.loads(line)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class Results(dict[str, Any]):
    """Results by key, in a file that is written after each of them."""

    def __init__(self, path: Path, keep: bool) -> None:
        super().__init__(json.loads(path.read_text(encoding="utf-8")) if keep and path.exists() else {})
        self.path = path

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self.path.write_text(json.dumps(self), encoding="utf-8")
        print(key, flush=True)


def python_of(program: str, peers: str) -> str:
    return sys.executable if program.startswith("duelist") else peers


def measure_fits(results: Results, peers: str, folder: Path) -> None:
    """Fit each log once, and then `REPEATS` times in turns."""
    for log, content in (("real", real_log), ("made", lambda: made_log(MADE_VOTES, MADE_ITEMS))):
        names = {
            program: model
            for model, programs in FITS.items()
            for program in programs
            if f"fit, {log}, {program}" not in results
        }
        if not names:
            continue
        path = folder / f"comparison-{log}.json"
        path.write_text(json.dumps(content()), encoding="utf-8")
        workers = {program: Worker(python_of(program, peers)) for program in names}
        found: dict[str, list[dict[str, Any]]] = {program: [] for program in names}
        for _ in range(1 + REPEATS):
            for program, model in names.items():
                found[program].append(workers[program](kind="fit", model=model, program=program, log=str(path)))
        for program, each in found.items():
            workers[program].close()
            results[f"fit, {log}, {program}"] = {
                "processor": [one["processor"] for one in each[1:]],
                "utilities": each[-1]["utilities"],
            }


def measure_searches(results: Results, peers: str, runs: int) -> None:
    """Let each program find the best design of each world."""
    workers: dict[str, Worker] = {}
    for run in range(runs):
        for program in PLAYERS:
            key = f"search, {run}, {program}"
            if key not in results:
                worker = workers.setdefault(program, Worker(python_of(program, peers)))
                results[key] = worker(kind="search", program=program, world=world(run))
    for worker in workers.values():
        worker.close()


# -- the page ----------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool = True) -> list[str]:
    line = "|---|" + ("---:|" if numbers else "---|") * (len(head) - 1)
    return ["| " + " | ".join(head) + " |", line, *("| " + " | ".join(row) + " |" for row in rows)]


def features_table(kind: str, questions: Sequence[str], versions: Mapping[str, str]) -> list[str]:
    rows = [
        (f"{each['name']} {each.get('version') or versions.get(each['package'], '')}".strip(), *each["cells"])
        for each in FEATURES[kind]
    ]
    return table(("", *questions), rows, numbers=False)


def agreement(results: Results) -> list[str]:
    rows = []
    for model, programs in FITS.items():
        ours, *others = (np.array(results[f"fit, real, {name}"]["utilities"]) for name in programs)
        for name, theirs in zip(list(programs)[1:], others, strict=True):
            same = int((np.argsort(-ours) == np.argsort(-theirs)).sum())
            rows.append(
                (next(iter(programs)), name, model, f"{np.abs(ours - theirs).max():.1e}", f"{same} of {len(ours)}")
            )
    return table(("ours", "theirs", "model", "largest difference of utilities", "same rank"), rows)


def speed(results: Results) -> list[str]:
    names = [name for programs in FITS.values() for name in programs]
    seconds = {(log, name): results[f"fit, {log}, {name}"]["processor"] for log in LOGS for name in names}
    rows = [(name, *(f"{np.median(seconds[log, name]):.3f}" for log in LOGS)) for name in names]
    return table(("", *(f"{log}, CPU s" for log in LOGS.values())), rows)


def searches(results: Results, runs: int) -> list[str]:
    rows = []
    worlds = [np.array(world(run)["utility"]) for run in range(runs)]
    for name in PLAYERS:
        each = [results[f"search, {run}, {name}"] for run in range(runs)]
        lost = np.array([[u.max() - u[k] for k in one["recommended"]] for u, one in zip(worlds, each, strict=True)])
        low, high = interval(lost[:, -1])
        cells = [f"{x:.2f}" for x in lost.mean(axis=0)]
        cells[-1] += f" [{max(low, 0.0):.2f}, {high:.2f}]"
        rows.append((name, *cells, f"{1000.0 * np.median([one['processor'] for one in each]):.3g}"))
    return table(("", *(f"{votes} votes" for votes in LOOKS), "CPU time per vote, ms"), rows)


def page(results: Results, runs: int) -> str:
    """Fill in `page.md`."""
    versions, log = results["versions"], real_log()
    text = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    parts = {
        "libraries": features_table("library", FEATURES["questions"], versions),
        "tools": features_table("tool", FEATURES["tools"]["questions"], versions),
        "agreement": agreement(results),
        "speed": speed(results),
        "searches": searches(results, runs),
    }
    return text.format(
        installed=", ".join(f"{name} {versions[name]}" for name in PACKAGES if name in versions),
        python=platform.python_version(),
        cores=os.cpu_count(),
        machine=platform.machine(),
        votes=len(log["share"]),
        items=len(log["names"]),
        ties=100.0 * np.mean(np.array(log["share"]) == 0.5),
        made_votes=MADE_VOTES,
        made_items=MADE_ITEMS,
        repeats=REPEATS,
        load=results["load"],
        designs=SIDE * SIDE,
        side=SIDE,
        peak=PEAK,
        width=WIDTH,
        own=OWN,
        votes_per_run=VOTES,
        runs=runs,
        **{name: "\n".join(lines) for name, lines in parts.items()},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="build/peers/bin/python", help="the Python that has the other programs")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--keep", action="store_true", help="keep earlier results")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    results = Results(options.out / "comparison.json", options.keep)
    if "versions" not in results:
        found = {}
        for python in (sys.executable, options.peers):
            worker = Worker(python)
            found |= worker(kind="versions", names=[name for name in PACKAGES if name not in found])
            worker.close()
        results["versions"] = found
    measure_fits(results, options.peers, options.out)
    if "load" not in results:
        results["load"] = os.getloadavg()[0]
    measure_searches(results, options.peers, options.runs)
    text = page(results, options.runs)
    print(text)
    if options.page is not None:
        options.page.write_text(with_origin(text, "make bench-comparison", this_part()), encoding="utf-8")


if __name__ == "__main__":
    main()
