"""What a lab gives back is what the simulation says; interrupted work goes on."""

import numpy as np
import pytest

import duelist as dl
from duelist.research.experiments import LocalProcesses
from duelist.research.experiments.lab import Cell, Lab
from duelist.research.experiments.store import Store
from duelist.simulation.environments import Hypercube, Noiseless


def cell(**changes):
    settings = {
        "policy": dl.MaxInP(horizon=40),
        "environment": Hypercube(dim=3),
        "horizon": 40,
        "runs": 4,
        "seed": 1,
    } | changes
    return Cell(**settings)


def test_a_result_is_what_the_simulation_says(tmp_path):
    (result,) = Lab(tmp_path).run("x", [cell()])
    runs = dl.simulate(dl.MaxInP(horizon=40), Hypercube(dim=3), 40, 4, seed=1)
    curves = runs.regret("MaxInP")
    assert (result.final == runs.final("MaxInP")).all()
    assert (result.weak == runs.final("MaxInP", "weak")).all()
    assert (result.mean == curves.mean(axis=0)[result.rounds - 1]).all()
    log = runs.log("MaxInP")
    p = 1.0 / (1.0 + np.exp(log.first_gap - log.second_gap))
    np.testing.assert_allclose(result.variance, (p * (1 - p)).sum(axis=1), rtol=1e-12)
    assert result.layer_counts.sum() == 4 * 40


def test_exploitation_counts_in_the_variance_but_not_in_what_was_learned(tmp_path):
    (result,) = Lab(tmp_path).run("x", [cell(policy=dl.VACDB(horizon=300, scale=0.01), horizon=300)])
    assert (result.layer_counts[:, 0] > 0).all()  # it exploits
    assert (result.learned_variance < result.variance).all()
    assert result.layer_share.sum() == pytest.approx(1.0)


def test_noiseless_comparisons_have_no_variance(tmp_path):
    (result,) = Lab(tmp_path).run("x", [cell(environment=Noiseless(Hypercube(dim=3)))])
    assert (result.variance == 0.0).all()


def test_a_table_of_chances_gives_the_variance(tmp_path):
    world = dl.environments.PreferenceMatrix([[0.5, 0.9], [0.1, 0.5]])
    (result,) = Lab(tmp_path).run("x", [cell(policy=dl.UniformPair(), environment=world)])
    np.testing.assert_allclose(result.variance, 40 * 0.9 * 0.1)


def test_a_stored_cell_is_not_played_again(tmp_path):
    first = Lab(tmp_path)
    (a,) = first.run("x", [cell()])
    second = Lab(tmp_path)
    (b,) = second.run("x", [cell()])
    assert (first.played, first.reused, second.played, second.reused) == (1, 0, 0, 1)
    assert (a.final == b.final).all()


def test_a_damaged_file_is_made_again(tmp_path):
    Lab(tmp_path).run("x", [cell()])
    path = Store(tmp_path).path(cell().key)
    path.write_bytes(path.read_bytes()[:100])
    again = Lab(tmp_path)
    again.run("x", [cell()])
    assert again.played == 1


def test_an_interruption_keeps_what_was_finished(tmp_path):
    cells = [cell(seed=s) for s in range(3)]
    lab = Lab(tmp_path)

    def stop_after_two(label, done, total):
        if done == 2:
            raise KeyboardInterrupt

    lab._progress = stop_after_two
    with pytest.raises(KeyboardInterrupt):
        lab.run("x", cells)
    again = Lab(tmp_path)
    again.run("x", cells)
    assert (again.played, again.reused) == (1, 2)
    assert not list(tmp_path.rglob("*.part")) + list(tmp_path.rglob(".*.part"))


def test_a_cell_that_fails_is_named_with_its_error(tmp_path):
    class Broken(dl.Policy):
        def ask(self, arms):
            raise RuntimeError("no idea")

        def tell(self, duel, outcome, weight=1.0):
            pass

    with pytest.raises(dl.InvalidInput, match=r"Broken.*no idea"):
        Lab(tmp_path).run("x", [cell(policy=Broken())])


def test_a_lab_plays_on_any_engine(tmp_path):
    with LocalProcesses(1) as engine:
        (there,) = Lab(tmp_path / "there", engine=engine).run("x", [cell()])
    (here,) = Lab(tmp_path / "here").run("x", [cell()])
    assert (there.final == here.final).all()
    assert (there.mean == here.mean).all()
