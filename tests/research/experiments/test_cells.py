"""A cell is known by everything its numbers depend on, and is the same wherever it is played."""

import pickle
import shutil
import sys

import numpy as np
import pytest

import duelist as dl
from duelist.research.experiments import cells
from duelist.research.experiments.cells import Cell, Failure, play, play_packed
from duelist.simulation.environments import FlippedVotes, Hypercube, Noiseless, PreferenceMatrix
from tests.helpers import custom_parts as own_parts


def cell(**changes):
    settings = {
        "policy": dl.MaxInP(horizon=40),
        "environment": Hypercube(dim=3),
        "horizon": 40,
        "runs": 4,
        "seed": 1,
    } | changes
    return Cell(**settings)


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": dl.MaxInP(horizon=40, scale=2.0)},
        {"policy": dl.MaxPairUCB(horizon=40)},
        {"policy": own_parts.Coin()},
        {"environment": Hypercube(dim=3, scale=2.0)},
        {"environment": Hypercube(dim=3, theta=[1.0, 0.0, 0.0])},
        {"environment": Noiseless(Hypercube(dim=3))},
        {"environment": FlippedVotes(Hypercube(dim=3), share=0.1)},
        {"horizon": 41},
        {"runs": 5},
        {"seed": 2},
        {"first_run": 4},
        {"points": 20},
        {"keep": "duels"},
    ],
)
def test_every_setting_is_part_of_the_key(changes):
    assert cell(**changes).key != cell().key


def test_what_does_not_matter_is_not_part_of_the_key():
    assert cell(policy=dl.MaxInP(horizon=40, random_state=7)).key == cell().key
    assert cell(environment=Hypercube(dim=3)).key == cell().key


def test_long_arrays_are_part_of_the_key_to_the_last_number():
    table = np.full((60, 60), 0.5)
    other = table.copy()
    other[30, 31], other[31, 30] = 0.6, 0.4
    worlds = [PreferenceMatrix(matrix, winner="borda") for matrix in (table, other)]
    assert len({cell(environment=world).key for world in worlds}) == 2


def test_the_code_is_part_of_the_key(monkeypatch):
    before = cell().key
    monkeypatch.setattr(cells, "stamp", lambda: "other")
    assert cell().key != before


def test_the_stamp_is_of_the_files_that_numbers_depend_on(monkeypatch, tmp_path):
    before = cells.stamp()
    shutil.copytree(cells._PACKAGE / "simulation", tmp_path / "simulation")
    monkeypatch.setattr(cells, "_PACKAGE", tmp_path)
    assert cells.stamp.__wrapped__() == before
    with (tmp_path / "simulation" / "environments" / "hypercube.py").open("a") as file:
        file.write("\n")
    assert cells.stamp.__wrapped__() != before


def test_the_file_of_somebody_elses_policy_is_part_of_the_key(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    keys = []
    for extra in ("", "\n# changed\n"):
        (tmp_path / "a_policy.py").write_text(
            "from tests.helpers.custom_parts import Coin\n\nclass Mine(Coin):\n    pass\n" + extra
        )
        sys.modules.pop("a_policy", None)
        keys.append(cell(policy=dl.make_policy("a_policy:Mine")).key)
    assert keys[0] != keys[1]


def test_a_cell_plays_what_simulate_plays():
    played = play(cell(first_run=2, keep="duels", points=7))
    runs = dl.simulate(dl.MaxInP(horizon=40), Hypercube(dim=3), 40, 6, seed=1)
    assert played.log is not None
    for mine, theirs in zip(played.log, runs.part(range(2, 6)).log("MaxInP"), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(played.curves.average[:, -1], runs.final("MaxInP")[2:])
    assert played.seconds > 0.0


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"policy": own_parts.Coin(), "environment": own_parts.TwoArms(gap=2.0)},
        {"environment": FlippedVotes(Hypercube(dim=3), first=10), "keep": "duels"},
    ],
)
def test_a_cell_that_was_sent_is_the_same(changes):
    one = cell(**changes)
    here, there = play(one), play_packed(pickle.loads(pickle.dumps(one.pack())))
    assert not isinstance(there, Failure)
    for mine, theirs in zip(here.curves, there.curves, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (here.log is None) == (there.log is None)


def test_a_policy_that_cannot_be_found_by_name_is_refused_when_it_is_sent():
    class Local(own_parts.Coin):
        pass

    with pytest.raises(dl.InvalidInput, match="importable module"):
        cell(policy=Local()).pack()


def test_other_code_refuses_to_play():
    from duelist.core.errors import EngineLost

    packed = cell().pack()._replace(stamp="0123")
    with pytest.raises(EngineLost, match=r"another duelist .*Install the same release"):
        play_packed(packed)


def test_a_failure_tells_the_story():
    failed = cells.play_or_fail(cell(policy=own_parts.Broken()))
    assert isinstance(failed, Failure)
    assert failed.error == "RuntimeError: no idea what to ask"
    assert "custom_parts.py" in failed.story


def test_a_class_that_a_worker_lacks_is_a_failure():
    packed = cell(policy=own_parts.Coin()).pack()._replace(policy="not_there:Coin")
    failed = play_packed(packed)
    assert isinstance(failed, Failure)
    assert "not_there" in failed.error
