"""Every engine plays the same cells to the same bits; what goes wrong with one cell does not touch the others."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import duelist as dl
from duelist.core.errors import EngineLost
from duelist.research.experiments import Cluster, Experiment, LocalProcesses, ThisProcess, run_experiment, sweep
from duelist.research.experiments.cells import Cell, Failure, Played
from duelist.simulation.environments import Hypercube
from tests.helpers import custom_parts as own_parts
from tests.helpers.dask_cluster import cells_in, where_played


def experiment(*more, **changes):
    settings = {
        "policies": [sweep("MaxInP", over={"scale": [0.5, 1.0]}), own_parts.Coin(), *more],
        "environments": [Hypercube(dim=2), own_parts.TwoArms(gap=2.0)],
        "horizon": 60,
        "runs": 6,
        "runs_per_cell": 3,
        "points": 7,
    }
    return Experiment(**(settings | changes))


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truth")
    run_experiment(experiment(), folder, ThisProcess(threads=1))
    return cells_in(folder)


def test_threads_do_not_matter(truth, tmp_path):
    run_experiment(experiment(), tmp_path, ThisProcess(threads=3))
    assert cells_in(tmp_path) == truth


def test_local_processes_give_the_same_bits(truth, tmp_path):
    assert run_experiment(experiment(), tmp_path, LocalProcesses(2)).complete
    assert cells_in(tmp_path) == truth


def test_local_processes_play_at_the_same_time(tmp_path):
    """Each waits for the other: however quick one of them is, it cannot play both cells."""
    together = tmp_path / "together"
    together.mkdir()
    meeting = own_parts.Meeting(str(together))
    one = Experiment([meeting], [Hypercube(dim=2)], horizon=5, runs=2, runs_per_cell=1, points=2)
    assert run_experiment(one, tmp_path / "r", LocalProcesses(2)).complete
    pids = {told.rpartition(":")[2] for told in where_played(tmp_path / "r").values()}
    assert pids == {path.name for path in together.iterdir()}
    assert len(pids) == 2
    assert str(os.getpid()) not in pids


def test_a_cluster_that_is_started_for_you_gives_the_same_bits(truth, tmp_path):
    with Cluster(workers=2) as cluster:
        assert cluster.workers == 2
        assert "dashboard: http://127.0.0.1:" in cluster.about
        assert run_experiment(experiment(), tmp_path, cluster).complete
    assert cells_in(tmp_path) == truth


@pytest.mark.parametrize("engine", [ThisProcess(), LocalProcesses(2)], ids=["process", "processes"])
def test_a_cell_that_fails_does_not_stop_the_rest(truth, tmp_path, engine):
    results = run_experiment(experiment(own_parts.Broken()), tmp_path, engine)
    assert cells_in(tmp_path) == truth
    assert [failed["error"] for failed in results.failures] == ["RuntimeError: no idea what to ask"] * 4


def test_a_process_that_was_killed_costs_nothing_but_time(truth, tmp_path):
    fuse = tmp_path / "fuse"
    fuse.touch()
    deadly = own_parts.Deadly(str(fuse))
    results = run_experiment(experiment(deadly), tmp_path / "r", LocalProcesses(2))
    assert not fuse.exists()  # a process did die
    assert results.complete
    mine = cells_in(tmp_path / "r")
    assert {key: mine[key] for key in truth} == truth


def test_a_cell_that_kills_its_process_is_found_out(truth, tmp_path):
    one = Experiment([own_parts.Deadly()], [Hypercube(dim=2)], 60, runs=3, points=7)
    (deadly,) = (cell for _, _, cell in one.cells())
    others = [cell for _, _, cell in experiment().cells()][:5]
    found: dict[Any, Any] = dict(LocalProcesses(2).play([*others[:2], deadly, *others[2:]]))
    assert isinstance(found[deadly], Failure)
    assert "the process that played it died" in found[deadly].error
    assert sum(isinstance(played, Played) for played in found.values()) == 5


PARENT = """
import sys
from duelist.research.experiments import Experiment, LocalProcesses, run_experiment
from tests.helpers import custom_parts as own_parts
from typing import Any
if __name__ == "__main__":
    slow = Experiment([own_parts.Coin(seconds=0.01)], ["Hypercube:dim=2"], 10_000, runs=4, runs_per_cell=1)
    run_experiment(slow, sys.argv[1], LocalProcesses(2))
"""


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(word) for word in listed.split()]


def test_workers_end_when_whoever_started_them_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path / "r")], env=environment)
    end = time.monotonic() + 60
    while len(children := children_of(parent.pid)) < 3:  # two workers, and one that looks after their semaphores
        assert time.monotonic() < end
        assert parent.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_policy_of_this_program_only_is_refused_before_anything_is_sent(tmp_path):
    class Local(own_parts.Coin):
        pass

    with pytest.raises(dl.InvalidInput, match="importable module"):
        run_experiment(experiment(Local()), tmp_path, LocalProcesses(2))


def test_no_scheduler_is_a_clear_error():
    with pytest.raises(EngineLost, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9 .*dask scheduler"):
        Cluster("tcp://127.0.0.1:9", patience=0.5).__enter__()


@pytest.mark.parametrize("address", ["not an address", "absent.json"])
def test_an_address_that_is_none_is_a_clear_error(address):
    with pytest.raises(EngineLost, match=address):
        Cluster(address, patience=0.5).__enter__()


@pytest.mark.parametrize("number", [0, -1, 1.5])
def test_a_number_of_workers_that_is_none(number):
    with pytest.raises(dl.InvalidInput, match=f"processes is {number}"):
        LocalProcesses(number)
    with pytest.raises(dl.InvalidInput, match=f"workers is {number}"):
        Cluster(workers=number)


def test_cells_come_back_with_the_cell_they_are_of():
    cells = [Cell(dl.UniformPair(), Hypercube(dim=2), 10, 1, seed) for seed in range(3)]
    assert [cell for cell, _ in ThisProcess().play(cells)] == cells
