"""2,000 cells on a Dask cluster of separate processes that are killed on the way; and what engines cost.

    python -m benchmarks.cluster --page docs/evidence/benchmarks-cluster.md

Every process is a real one: a scheduler and workers as `dask scheduler` and `dask worker` start them, killed with SIGKILL. The
program checks the guarantees and stops at a failure; it writes its measurements to the page.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from tests.helpers.custom_parts import Busy
from tests.helpers.dask_cluster import DaskCluster, cells_in, wait_until, where_played

from duelist.core.files import atomic_write
from duelist.research.experiments import (
    Cluster,
    Engine,
    Experiment,
    LocalProcesses,
    Results,
    ThisProcess,
    run_experiment,
    sweep,
)
from duelist.research.origin import with_origin
from duelist.simulation.environments import Hypercube

CELLS = 2000
LONG_CELLS = 7
MOST_OVERHEAD = 0.05


def grid() -> Experiment:
    """2,000 cells of about a hundredth of a second: 5 settings, 4 environments, 100 pieces of two runs."""
    return Experiment(
        policies=[sweep("VACDB", over={"scale": [0.25, 0.5, 1.0]}), "MaxInP", "LocalPairUCB"],
        environments=[sweep("RandomArms", over={"scale": [0.5, 1.0, 2.0, 4.0]}, dim=3, n_arms=8)],
        horizon=60,
        runs=200,
        runs_per_cell=2,
        points=21,
        name="evidence",
    )


def check(true: bool, what: str) -> None:
    if not true:
        raise SystemExit(f"does not hold: {what}")
    print(f"holds: {what}", flush=True)


class Watched:
    """A run in the background, and how many cells it has written."""

    def __init__(self, cluster: DaskCluster, folder: Path) -> None:
        self.folder = folder
        self._work = threading.Thread(
            target=lambda: run_experiment(grid(), folder, Cluster(cluster.address)), daemon=True
        )
        self._work.start()

    def wait_for(self, cells: int) -> None:
        wait_until(lambda: self.count() >= cells or not self._work.is_alive(), f"{cells} cells", 1200)
        print(f"{self.count()} cells are written", flush=True)

    def count(self) -> int:
        return sum(1 for _ in (self.folder / "cells").rglob("*.parquet"))

    def join(self) -> None:
        self._work.join(1800)
        check(not self._work.is_alive(), "the run ends")


def kills(folder: Path) -> list[str]:
    """The grid, with two workers killed, one that joins late, and the scheduler killed and started again."""
    lines = []
    started = time.perf_counter()
    run_experiment(grid(), folder / "truth", ThisProcess())
    lines.append(f"| this process, nothing killed | {CELLS} | {time.perf_counter() - started:.0f} s |")
    truth = cells_in(folder / "truth")
    check(len(truth) == CELLS, f"the grid has {CELLS} cells")
    with DaskCluster(folder) as cluster:
        workers = [cluster.start_worker() for _ in range(3)]
        cluster.wait_for_workers(3)
        started = time.perf_counter()
        run = Watched(cluster, folder / "r")
        run.wait_for(300)
        cluster.kill(workers[0])
        run.wait_for(600)
        cluster.kill(workers[1])
        late = cluster.start_worker()
        run.wait_for(1200)
        assert cluster.scheduler is not None
        cluster.kill(cluster.scheduler)
        time.sleep(1.0)
        before = {path: path.stat().st_mtime_ns for path in (run.folder / "cells").rglob("*.parquet")}
        print(f"the scheduler is dead, {len(before)} cells are written", flush=True)
        cluster.start_scheduler()
        after = [cluster.start_worker() for _ in range(2)]
        run.join()
        lines.append(f"| Dask, everything killed | {CELLS} | {time.perf_counter() - started:.0f} s |")
    check(Results(run.folder).complete and not Results(run.folder).failures, "every cell is there, none failed")
    check(cells_in(run.folder) == truth, "every cell is equal to that of a single process, byte for byte")
    untouched = all(path.stat().st_mtime_ns == when for path, when in before.items())
    check(untouched, f"the {len(before)} cells that were finished when the scheduler died were not written again")
    where = [int(told.rpartition(":")[2]) for told in where_played(run.folder).values()]
    played = {
        "killed first": where.count(workers[0].pid),
        "killed second": where.count(workers[1].pid),
        "until the scheduler died": where.count(workers[2].pid),
        "joined late": where.count(late.pid),
        "after the scheduler came back": sum(where.count(worker.pid) for worker in after),
    }
    check(sum(played.values()) == CELLS and all(played.values()), f"every worker played some of them: {played}")
    lines += [f"| of these by the worker {name} | {count} | |" for name, count in played.items()]
    return lines


def long_cells() -> Experiment:
    """Cells of one second of processor time, with a hundred runs to send back."""
    return Experiment(
        [Busy(seconds=0.01)], [Hypercube(dim=3)], 101, runs=100 * LONG_CELLS, runs_per_cell=100, points=101, name="long"
    )


def overhead(folder: Path) -> list[str]:
    """Wall time of one worker that is not spent in cells, as a share of the time spent in them."""
    lines = []
    with ExitStack() as stack:
        cluster = stack.enter_context(DaskCluster(folder))
        cluster.start_worker()
        cluster.wait_for_workers(1)
        engines: dict[str, Engine] = {
            "this process": ThisProcess(),
            "local processes, 1": LocalProcesses(1),
            "Dask, 1 worker": Cluster(cluster.address),
        }
        for name, engine in engines.items():
            with engine:
                cells = [cell for _, _, cell in long_cells().cells()]
                times: list[float] = []
                inside = 0.0
                for _, played in engine.play(cells):
                    times.append(time.perf_counter())
                    inside += played.seconds if times[1:] else 0.0  # type: ignore[union-attr]
                # From the first result to the last: what an engine needs to begin with comes once, not with every cell.
                share = (times[-1] - times[0]) / inside - 1.0
            lines.append(f"| {name} | {inside / (len(cells) - 1):.2f} s | {share:.2%} |")
            check(share <= MOST_OVERHEAD, f"{name} costs {share:.2%} of the time in cells")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="write the page here")
    page = parser.parse_args().page
    with tempfile.TemporaryDirectory() as place:
        costs = overhead(Path(place))
        grid_lines = kills(Path(place))
    text = f"""# A cluster whose parts are killed

Real processes on one machine, killed with SIGKILL.

{CELLS} cells on a Dask cluster of three workers. Two are killed on the way, one joins late, then the scheduler is killed and started
again with two new workers. Every cell is there once, byte for byte that of a single process; those that were finished when the
scheduler died were not touched.

| | cells | time |
|---|---|---|
{chr(10).join(grid_lines)}

What an engine costs: wall time of one worker that is not spent in cells, as a share of the time that is, over {LONG_CELLS - 1} cells of a
second of processor time and a hundred runs each. At most {MOST_OVERHEAD:.0%} is allowed. The load was {os.getloadavg()[0]:.0f} when this
ended, on {os.cpu_count()} cores: above that, others had the cores as well, and cells took longer than a second.

| engine | a cell | overhead |
|---|---|---|
{chr(10).join(costs)}
"""
    if page is not None:
        with atomic_write(page) as file:
            file.write(with_origin(text, "make bench-cluster").encode())
    print(text)


if __name__ == "__main__":
    main()
