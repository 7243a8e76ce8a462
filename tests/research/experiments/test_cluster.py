"""A Dask cluster of separate processes, some of which are killed: every cell comes back once, to the bit.

The same with 2,000 cells is `make bench-cluster`.
"""

import subprocess
import sys
import threading

import pytest

from duelist.core.errors import EngineLost
from duelist.research.experiments import Cluster, Experiment, Results, run_experiment, sweep
from duelist.research.experiments.engines.this_process import ThisProcess
from duelist.simulation.environments import Hypercube
from tests.helpers import custom_parts as own_parts
from tests.helpers.dask_cluster import DaskCluster, cells_in, wait_until, where_played


def experiment(**changes):
    settings = {
        "policies": [sweep("MaxInP", over={"scale": [0.25, 0.5, 1.0]}), own_parts.Coin(seconds=0.002)],
        "environments": [Hypercube(dim=2), own_parts.TwoArms()],
        "horizon": 30,
        "runs": 24,
        "runs_per_cell": 2,
        "points": 5,
    }
    return Experiment(**(settings | changes))


@pytest.fixture
def cluster(tmp_path):
    with DaskCluster(tmp_path) as started:
        yield started


class Run(threading.Thread):
    """An experiment on a cluster, in the background."""

    def __init__(self, cluster, folder, **options):
        super().__init__(daemon=True)
        self._cluster, self._folder, self._options = cluster, folder, options
        self.error = None
        self.start()

    def run(self):
        try:
            run_experiment(experiment(), self._folder, Cluster(self._cluster.address, **self._options))
        except EngineLost as error:
            self.error = error

    def wait_for(self, cells):
        wait_until(lambda: len(cells_in(self._folder)) >= cells or not self.is_alive(), f"{cells} cells")


def test_workers_that_are_killed_and_one_that_joins(cluster, tmp_path):
    workers = [cluster.start_worker() for _ in range(3)]
    cluster.wait_for_workers(3)
    folder = tmp_path / "r"
    run = Run(cluster, folder)
    run.wait_for(10)
    cluster.kill(workers[0])
    run.wait_for(20)
    late = cluster.start_worker()
    cluster.kill(workers[1])
    run.join(120)
    assert not run.is_alive()
    assert run.error is None
    assert Results(folder).complete
    assert not Results(folder).failures
    run_experiment(experiment(), tmp_path / "truth", ThisProcess())
    assert cells_in(folder) == cells_in(tmp_path / "truth")
    pids = {int(where.rpartition(":")[2]) for where in where_played(folder).values()}
    assert {workers[0].pid, workers[1].pid} & pids
    assert late.pid in pids


def test_a_scheduler_that_is_killed_and_comes_back_and_one_that_does_not(cluster, tmp_path):
    cluster.start_worker()
    cluster.wait_for_workers(1)
    truth = tmp_path / "truth"
    run_experiment(experiment(), truth, ThisProcess())

    first = Run(cluster, tmp_path / "a")
    first.wait_for(10)
    cluster.kill(cluster.scheduler)
    before = cells_in(tmp_path / "a")
    cluster.start_scheduler()
    cluster.start_worker()
    first.join(120)
    assert not first.is_alive()
    assert first.error is None
    assert 10 <= len(before) < len(cells_in(truth))
    assert cells_in(tmp_path / "a") == cells_in(truth)

    second = Run(cluster, tmp_path / "b", patience=1.0)
    second.wait_for(10)
    cluster.kill(cluster.scheduler)
    second.join(60)
    assert not second.is_alive()
    assert "did not come back within 1 s" in str(second.error)
    finished = written(tmp_path / "b")
    assert 10 <= len(finished) < len(cells_in(truth))
    run_experiment(experiment(), tmp_path / "b", ThisProcess())  # whatever engine goes on
    assert cells_in(tmp_path / "b") == cells_in(truth)
    again = written(tmp_path / "b")
    assert {key: again[key] for key in finished} == finished  # not touched


def written(folder):
    """When each cell was written."""
    return {path.stem: path.stat().st_mtime_ns for path in (folder / "cells").rglob("*.parquet")}


def test_a_cell_that_kills_workers_is_reported_and_the_rest_is_played(tmp_path, monkeypatch):
    monkeypatch.setenv(
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0"
    )  # how often Dask tries again; three times by default
    with DaskCluster(tmp_path) as cluster:
        killing_cell(cluster, tmp_path)


def killing_cell(cluster, tmp_path):
    for _ in range(2):
        cluster.start_worker()
    cluster.wait_for_workers(2)
    mixed = experiment(
        policies=["MaxInP", own_parts.Deadly()], environments=[Hypercube(dim=2)], runs=1, runs_per_cell=1
    )
    results = run_experiment(mixed, tmp_path / "r", Cluster(cluster.address))
    assert results.finished == 1
    (failed,) = results.failures
    assert "the workers that played it died" in failed["error"]
    assert failed["settings"]["policy"] == "tests.helpers.custom_parts:Deadly"


def test_workers_that_cannot_play_are_named_and_a_cluster_without_any_waits(cluster, tmp_path, monkeypatch):
    with Cluster(cluster.address) as engine:
        assert engine.workers == 0
        assert "0 workers so far, more may join" in engine.about
    small = {"runs": 2, "policies": ["UniformPair"]}
    # A worker that cannot import duelist, as on a machine where it is not installed.
    hidden = "import sys; sys.modules['duelist'] = None; from dask.__main__ import main; main()"
    words = ["worker", cluster.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    with (tmp_path / "bare.log").open("wb") as log:
        bare = subprocess.Popen([sys.executable, "-c", hidden, *words], stdout=log, stderr=log, cwd=tmp_path)
    try:
        with pytest.raises(EngineLost, match="has no duelist"):
            run_experiment(experiment(**small), tmp_path / "r", Cluster(cluster.address))
        assert bare.poll() is None  # and lives on
    finally:
        cluster.kill(bare)

    run = Run(cluster, tmp_path / "r")
    run.join(0.5)
    assert run.is_alive()
    cluster.start_worker()
    run.join(120)
    assert Results(tmp_path / "r").complete

    monkeypatch.setattr("duelist.research.experiments.cells.stamp", lambda: "another")
    with pytest.raises(EngineLost, match="Install the same release on all workers"):
        run_experiment(experiment(**small), tmp_path / "other", Cluster(cluster.address))
