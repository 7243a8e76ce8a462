"""Cells are files that pandas and polars read, there whole or not at all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import duelist as dl
from duelist.core.errors import InvalidResults
from duelist.research.experiments.cells import Cell, Failure, play
from duelist.research.experiments.store import Store
from duelist.simulation.environments import Hypercube


def cell(**changes):
    settings = {"policy": dl.VACDB(horizon=60), "environment": Hypercube(dim=3), "horizon": 60, "runs": 3, "seed": 1}
    return Cell(**(settings | {"points": 9} | changes))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def test_what_was_written_comes_back_to_the_bit(store):
    one = cell(first_run=4)
    played = play(one)
    store.write(one, played)
    assert store.has(one)
    for mine, theirs in zip(store.read(one.key), played.curves, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def test_pandas_and_polars_read_the_files_by_themselves(store):
    one = cell(first_run=4, keep="duels")
    store.write(one, play(one))
    runs = dl.simulate({"a": one.policy}, one.environment, 60, range(4, 7), seed=1)
    for read in (pd.read_parquet, pl.read_parquet):
        frame = read(store.path(one.key))
        assert list(frame.columns)[:5] == ["run", "round", "average", "weak", "strong"]
        last = frame.filter(pl.col("round") == 60) if read is pl.read_parquet else frame[frame["round"] == 60]
        assert list(last["run"]) == [4, 5, 6]
        np.testing.assert_array_equal(last["weak"].to_numpy(), runs.final("a", "weak"))
        assert sum(map(sum, last["layers"])) == 3 * 60
        duels = read(store.duels_path(one.key))
        np.testing.assert_array_equal(duels["first"].to_numpy().reshape(3, 60), runs.duels("a")[0])


def test_the_settings_are_beside_it(store):
    one = cell()
    store.write(one, play(one))
    record = json.loads(store.path(one.key).with_suffix(".json").read_text())
    assert record["settings"] == json.loads(json.dumps(one.describe()))
    assert record["settings"]["policy"] == "VACDB"
    assert record["settings"]["settings"]["horizon"] == 60
    assert record["made"]["seconds"] > 0
    assert record["made"]["duelist"] == dl.__version__


@pytest.mark.parametrize(
    "damage", [lambda b: b"", lambda b: b[:100], lambda b: b[: len(b) // 2] + b"x" + b[len(b) // 2 + 1 :]]
)
def test_a_damaged_cell_is_not_there(store, damage):
    one = cell()
    store.write(one, play(one))
    path = store.path(one.key)
    path.write_bytes(damage(path.read_bytes()))
    assert not store.has(one)
    assert store.read(one.key) is None


def test_a_failure_is_forgotten_when_the_cell_is_there(store):
    one = cell()
    store.write_failure(one, Failure("Oops: x", "a long story", "here"))
    (failed,) = store.failures()
    assert (failed["error"], failed["story"], failed["settings"]["seed"]) == ("Oops: x", "a long story", 1)
    store.write(one, play(one))
    assert not list(store.failures())


@pytest.mark.parametrize("mark", ['{"format": "duelist.results", "version": 2}', '{"format": "x"}', "not json", "[]"])
def test_a_folder_of_another_version_is_refused_and_left_as_it_is(tmp_path, mark):
    (tmp_path / "format.json").write_text(mark)
    with pytest.raises(InvalidResults, match=r"reads and writes duelist\.results version 1"):
        Store(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["format.json"]
    assert (tmp_path / "format.json").read_text() == mark


SMALL_FILES = """
import resource, signal, sys
from pathlib import Path
import duelist as dl
from duelist.research.experiments import Experiment, Results, run_experiment
from duelist.core.errors import StorageFull

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
small = Experiment(["UniformPair"], ["Hypercube:dim=2"], 200, runs=2, points=5)
large = Experiment(["UniformPair"], ["Hypercube:dim=2", "Hypercube:dim=3"], 2000, runs=400, points=1000)
folder = Path(sys.argv[1])
run_experiment(small, folder)
before = sorted(p.name for p in folder.rglob("*.parquet"))
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    run_experiment(large, folder)
except StorageFull as error:
    print(error)
print(sorted(p.name for p in folder.rglob("*.parquet")) == before, len(before), len(list(folder.rglob("*.part"))))
"""


def test_a_full_disk_keeps_what_is_finished(tmp_path):
    """The operating system refuses to let a file grow, as it does on a full disk."""
    done = subprocess.run(
        [sys.executable, "-c", SMALL_FILES, str(tmp_path / "r")],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    told, rest = done.stdout.splitlines()
    assert "No room is left in" in told
    assert "Finished cells are kept" in told
    assert rest == "True 1 0"


def test_without_pyarrow_it_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from duelist.research.experiments import Experiment, run_experiment\n"
        "run_experiment(Experiment(['UniformPair'], ['Hypercube:dim=2'], 5, runs=1), sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 1
    assert "MissingExtra" in done.stderr
    assert "pip install 'duelist[experiments]'" in done.stderr


def test_a_cell_lies_under_its_key(store):
    assert store.path("abcdef") == Path(store.folder / "cells" / "ab" / "abcdef.parquet")
