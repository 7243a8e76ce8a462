"""The command line: every command, its messages, its errors, interrupted work."""

import json

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import duelist as dl
from duelist.cli import app
from duelist.model.links import LINKS
from duelist.simulation import simulate as simulation

mpl.use("Agg")


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(w) for w in words])
    assert result.exit_code == code, result.output
    return result


def flat(text: str) -> str:
    return " ".join(text.split())


def test_list_names_every_policy_environment_and_link():
    text = run("list").output
    for name in [*dl.policies.POLICIES, *dl.environments.ENVIRONMENTS, "logistic", "probit", "exponential"]:
        assert name in text


def test_list_says_what_a_link_is():
    text = flat(run("list").output)
    for link in LINKS.values():
        assert link.description.split(":")[0] in text


def test_version():
    assert dl.__version__ in run("--version").output


def test_no_command_shows_help():
    assert "simulate" in run(code=2).output


def test_simulate_prints_the_summary_of_the_same_simulation():
    text = run("simulate", "VACDB", "uniform-pair", "-e", "Hypercube:dim=3", "-t", 40, "-r", 4, "-s", 5).output
    policies = {"VACDB": dl.VACDB(horizon=40), "uniform-pair": dl.UniformPair()}
    expected = dl.simulate(policies, dl.environments.Hypercube(dim=3), 40, 4, seed=5).summary()
    assert str(expected) in text


def test_simulate_saves_and_plots(tmp_path):
    saved, picture = tmp_path / "a" / "runs.npz", tmp_path / "b" / "regret.png"
    run("simulate", "MaxInP", "-t", 30, "-r", 3, "-o", saved, "-p", picture)
    assert dl.Runs.load(saved).labels == ["MaxInP"]
    with Image.open(picture) as image:
        assert np.asarray(image.convert("L")).std() > 1.0  # something is drawn


def test_interrupted_work_goes_on_where_it_stopped(tmp_path, monkeypatch):
    saved = tmp_path / "runs.npz"
    words = ["simulate", "MaxInP", "MaxPairUCB", "-t", 30, "-r", 3, "-o", saved]
    played = []
    real = simulation.simulate

    def stop_at_second(policies, *args, **kwargs):
        played.extend(policies)
        if len(played) == 2:
            raise KeyboardInterrupt
        return real(policies, *args, **kwargs)

    monkeypatch.setattr(simulation, "simulate", stop_at_second)
    assert "run the same command again" in flat(run(*words, code=130).output)
    assert dl.Runs.load(saved).labels == ["MaxInP"]
    run(*words)
    assert played == ["MaxInP", "MaxPairUCB", "MaxPairUCB"]
    whole = dl.simulate([dl.MaxInP(horizon=30), dl.MaxPairUCB(horizon=30)], dl.environments.Hypercube(dim=5), 30, 3)
    for label in whole.labels:
        assert (dl.Runs.load(saved).final(label) == whole.final(label)).all()


def test_a_saved_file_of_another_simulation_is_refused_and_kept(tmp_path):
    saved = tmp_path / "runs.npz"
    run("simulate", "MaxInP", "-t", 30, "-r", 3, "-o", saved)
    before = saved.read_bytes()
    assert "seed 0, not 1" in flat(run("simulate", "MaxInP", "-t", 30, "-r", 3, "-s", 1, "-o", saved, code=2).output)
    assert saved.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["simulate", "Bogus"], "'Bogus'"),
        (["simulate", "VACDB:nope=1"], "no setting 'nope'"),
        (["simulate", "VACDB:explore=sideways"], "'sideways'"),
        (["simulate", "VACDB:1"], "key=value"),
        (["simulate", "VACDB", "-e", "Moon"], "'Moon'"),
        (["simulate", "VACDB", "-e", "Hypercube:size=3"], "no setting 'size'"),
        (["simulate", "VACDB", "-e", "PreferenceMatrix:path=absent.csv"], "absent.csv"),
        (["simulate", "VACDB", "-t", "0"], "horizon is 0"),
        (["simulate", "VACDB", "-r", "0"], "runs is 0"),
        (["simulate", "VACDB", "-t", "5", "-r", "2", "--kind", "fair"], "'fair'"),
    ],
)
def test_errors_name_the_value_in_one_line(words, message):
    text = flat(run(*words, code=2).output)
    assert message in text
    assert "Traceback" not in text


def test_a_damaged_file_is_reported_and_kept(tmp_path):
    saved = tmp_path / "runs.npz"
    saved.write_bytes(b"not an archive")
    assert "cannot be read" in flat(run("simulate", "VACDB", "-t", 5, "-r", 2, "-o", saved, code=2).output)
    assert saved.read_bytes() == b"not an archive"


def test_demo_writes_what_it_says(tmp_path):
    text = run("demo", "--out", tmp_path, "-t", 60, "-r", 4).output
    for name in ("regret.png", "summary.txt", "settings.json"):
        assert (tmp_path / name).exists()
        assert name in flat(text).replace(" ", "")
    settings = json.loads((tmp_path / "settings.json").read_text())
    assert settings["horizon"] == 60
    assert settings["seed"] == 0
    assert list(settings["policies"]) == ["VACDB", "MaxInP", "MaxPairUCB", "CoLSTIM", "LocalPairUCB"]
    assert (tmp_path / "summary.txt").read_text().strip() in text
