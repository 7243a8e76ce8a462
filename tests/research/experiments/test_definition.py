"""An experiment is declared in Python or TOML, checked before anything is played, and has the cells it says."""

import numpy as np
import pytest

import duelist as dl
from duelist.research.experiments import Experiment, sweep
from duelist.research.experiments.definition import environment_label
from duelist.simulation.environments import FlippedVotes, Hypercube, Noiseless, PreferenceMatrix, RandomArms
from tests.helpers import custom_parts as own_parts

TOML = """
name = "scales"
horizon = 50
runs = 10
seeds = [3, 5]
runs_per_cell = 4

[[policies]]
policy = "VACDB"
explore = "widest"
sweep.scale = [0.5, 1.0]
sweep.ridge = [0.1, 1.0, 10.0]

[[policies]]
policy = "max-in-p:scale=0.5"

[[environments]]
environment = "Hypercube"
dim = 3
sweep.scale = [1.0, 2.0]

[[environments]]
environment = "FlippedVotes:share=0.1:RandomArms:dim=2,n_arms=(2,5)"
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "e.toml"
        path.write_text(text)
        return path

    return write


def test_a_file_says_what_python_says(file):
    written = Experiment.from_toml(file(TOML))
    python = Experiment(
        policies=[
            sweep("VACDB", over={"scale": [0.5, 1.0], "ridge": [0.1, 1.0, 10.0]}, explore="widest"),
            dl.MaxInP(horizon=50, scale=0.5),
        ],
        environments=[
            sweep("Hypercube", over={"scale": [1.0, 2.0]}, dim=3),
            FlippedVotes(RandomArms(dim=2, n_arms=(2, 5)), share=0.1),
        ],
        horizon=50,
        runs=10,
        seeds=[3, 5],
        runs_per_cell=4,
        name="scales",
    )
    mine, theirs = ([(p, e, c.key) for p, e, c in experiment.cells()] for experiment in (written, python))
    assert mine == theirs
    assert written.name == "scales"


def test_the_grid_has_every_combination_once(file):
    cells = Experiment.from_toml(file(TOML)).cells()
    assert len(cells) == 7 * 3 * 2 * 3  # policies, environments, seeds, pieces of 4, 4 and 2 runs
    assert len({cell.key for _, _, cell in cells}) == len(cells)
    runs = {(c.seed, r) for p, e, c in cells for r in range(c.first_run, c.first_run + c.runs)}
    assert runs == {(seed, run) for seed in (3, 5) for run in range(10)}
    assert {c.policy.params["horizon"] for _, _, c in cells} == {50}


def test_a_partial_grid_compares_all_policies():
    experiment = Experiment(["VACDB", "MaxInP"], ["Hypercube:dim=2"], 10, runs=8, runs_per_cell=4)
    assert [(p, c.first_run) for p, _, c in experiment.cells()] == [
        ("VACDB", 0), ("MaxInP", 0), ("VACDB", 4), ("MaxInP", 4),
    ]  # fmt: skip


def test_more_runs_keep_the_cells_that_are_whole():
    few, many = (Experiment("VACDB", "Hypercube", 10, runs=r, runs_per_cell=4) for r in (8, 14))
    keys = [[c.key for _, _, c in e.cells()] for e in (few, many)]
    assert keys[1][:2] == keys[0]
    assert len(keys[1]) == 4


def test_names_are_a_list_too(file):
    text = 'horizon = 9\npolicies = ["VACDB", "MaxInP:scale=2"]\nenvironments = "Hypercube:dim=2"\n'
    experiment = Experiment.from_toml(file(text))
    assert list(experiment.labelled) == ["VACDB", "MaxInP(scale=2)"]
    assert experiment.name == "e"
    assert experiment.runs == 128


def test_labels_can_be_given():
    experiment = Experiment({"mine": dl.VACDB(), "theirs": "MaxInP"}, {"cube": Hypercube(dim=2)}, 10, runs=1)
    assert [(p, e) for p, e, _ in experiment.cells()] == [("mine", "cube"), ("theirs", "cube")]


@pytest.mark.parametrize(
    ("environment", "label"),
    [
        (Hypercube(), "Hypercube"),
        (Hypercube(dim=3, scale=2), "Hypercube(dim=3, scale=2.0)"),
        (Hypercube(dim=2, theta=[1.0, 0.0]), "Hypercube(dim=2, theta=[1.0, 0.0])"),
        (Hypercube(link="probit"), "Hypercube(link='probit')"),
        (Noiseless(Hypercube()), "Noiseless of Hypercube"),
        (FlippedVotes(Hypercube(dim=2), share=0.1), "FlippedVotes(share=0.1) of Hypercube(dim=2)"),
        (RandomArms(n_arms=(2, 5)), "RandomArms(n_arms=(2, 5))"),
        (PreferenceMatrix(np.full((4, 4), 0.5), winner="borda"), "PreferenceMatrix(matrix=4x4, winner='borda')"),
        (own_parts.TwoArms(gap=3.0), "TwoArms(gap=3.0)"),
    ],
)
def test_labels_of_environments(environment, label):
    assert environment_label(environment) == label


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("horizon = 50", "horizon = 0"), "horizon is 0"),
        (("horizon = 50", ""), "horizon is missing"),
        (("horizon = 50", "horizons = 50"), "no setting 'horizons'"),
        (("runs = 10", "runs = -1"), "runs is -1"),
        (("seeds = [3, 5]", "seeds = [3, 3]"), "each once"),
        (("seeds = [3, 5]", "seeds = []"), "at least one"),
        (("seeds = [3, 5]", "seeds = [-2]"), "seed is -2"),
        (("runs_per_cell = 4", "runs_per_cell = 0"), "runs_per_cell is 0"),
        (("runs_per_cell = 4", "points = 1"), "points is 1"),
        (("runs_per_cell = 4", 'keep = "all"'), "keep is 'all'"),
        (('policy = "VACDB"', 'policy = "VACBD"'), r"policy is 'VACBD'. Did you mean 'VACDB'\? Choose one of"),
        (('policy = "VACDB"', 'plicy = "VACDB"'), "does not say which policy"),
        (('explore = "widest"', 'explore = "sideways"'), "'sideways'"),
        (('explore = "widest"', "speed = 3"), "no setting 'speed'"),
        (("sweep.scale = [0.5, 1.0]", "sweep.scale = 0.5"), "Give a list of values"),
        (("sweep.scale = [0.5, 1.0]", "sweep.scale = []"), "over nothing"),
        (("sweep.scale = [0.5, 1.0]\nsweep.ridge = [0.1, 1.0, 10.0]", "sweep = 3"), "sweep is 3"),
        (("sweep.scale = [0.5, 1.0]", "sweep.scale = [0.5, 0.5]"), "given twice"),
        (('environment = "Hypercube"', 'environment = "Hypercub"'), "environment is 'Hypercub'"),
        (("dim = 3", "dims = 3"), "no setting 'dims'"),
        (("horizon = 50", "horizon = = 50"), "is not TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_the_file(file, change, message):
    path = file(TOML.replace(*change))
    with pytest.raises(dl.InvalidInput, match=message) as caught:
        Experiment.from_toml(path)
    assert "e.toml" in str(caught.value)


def test_nothing_to_play_is_refused():
    with pytest.raises(dl.InvalidInput, match="No policy is given"):
        Experiment([], ["Hypercube"], 10)
    with pytest.raises(dl.InvalidInput, match="policies is 3"):
        Experiment(3, ["Hypercube"], 10)
