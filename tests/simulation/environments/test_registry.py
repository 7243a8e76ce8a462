"""Policies and environments written in one word."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.simulation.environments.registry import environment_class, make_environment, plugin_environments


def test_names_ignore_case_and_dashes():
    for spec in ("VACDB", "vacdb", "V-A_CDB"):
        assert isinstance(dl.make_policy(spec, horizon=10), dl.VACDB)


def test_settings_keep_their_types():
    policy = dl.make_policy("VACDB:explore=widest,scale=2,alpha=1e-3,horizon=None", horizon=10)
    assert policy.params["explore"] == "widest"
    assert policy.params["scale"] == 2
    assert policy.params["alpha"] == 1e-3
    assert policy.params["horizon"] is None


def test_brackets_hold_commas():
    environment: Any = make_environment("random-arms:n_arms=(3,8),theta=[1,0,0],dim=3,kind=clustered")
    assert environment.n_arms == (3, 8)
    assert environment.theta.tolist() == [1, 0, 0]


def test_noiseless_holds_another_environment():
    environment: Any = make_environment("noiseless:hypercube:dim=3,scale=4")
    assert environment.truth().noiseless
    assert environment.inside.scale == 4.0


def test_preference_matrix_from_a_file(tmp_path):
    (tmp_path / "m.csv").write_text("a,b\n0.5,0.7\n0.3,0.5\n")
    environment: Any = make_environment(f"preference-matrix:path={tmp_path}/m.csv,winner=borda")
    assert environment.matrix[0, 1] == 0.7


@pytest.mark.parametrize("spec", ["VACDB:scale", "VACDB:scale=", "VACDB:=3", "VACDB:scale=2,,", "VACDB:**{}"])
def test_unreadable_settings_are_named(spec):
    with pytest.raises(dl.InvalidInput, match=r"key=value|setting|scale"):
        dl.make_policy(spec)


OWN_WORLD = """
import numpy as np
from duelist.environments import Environment, World
from duelist import get_link

class Steps(Environment):
    'Arms whose utility is their first feature, rounded down.'
    def __init__(self, dim=2, n_arms=5):
        self.dim, self.n_arms, self.link = dim, n_arms, get_link("logistic")
    def draw_world(self, rng):
        arms = rng.normal(size=(self.n_arms, self.dim))
        return World(np.zeros(self.dim), arms, np.floor(arms[:, 0]))

NUMBER = 3
"""


@pytest.fixture
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module on the path that defines an environment."""
    (tmp_path / "own_world.py").write_text(OWN_WORLD.replace("duelist.environments", "duelist.simulation.environments"))
    (tmp_path / "own-1.0.dist-info").mkdir()
    (tmp_path / "own-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (tmp_path / "own-1.0.dist-info" / "entry_points.txt").write_text(
        "[duelist.environments]\nStairs = own_world:Steps\nGone = own_world:Gone\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield "own_world"
    sys.modules.pop("own_world", None)


def test_an_environment_of_your_own_by_module_and_class(own_world: str) -> None:
    runs = dl.simulate("LocalPairUCB", f"{own_world}:Steps:n_arms=7", horizon=20, runs=2)
    assert runs.settings["environment"]["n_arms"] == 7
    assert np.max(runs.duels("LocalPairUCB")) < 7


def test_an_environment_of_your_own_inside_another(own_world: str) -> None:
    flipped: Any = make_environment(f"FlippedVotes:first=4:{own_world}:Steps:dim=3")
    assert type(flipped.inside).__name__ == "Steps"
    assert flipped.dim == 3


def test_an_environment_of_a_package(own_world: str) -> None:
    assert "Stairs" in plugin_environments()
    assert environment_class("stairs").__name__ == "Steps"
    with pytest.raises(dl.InvalidInput, match=r"Environment 'Gone' is brought by 'own_world:Gone', which cannot"):
        make_environment("Gone")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            "Hipercube",
            r"environment is 'Hipercube'\. Did you mean 'Hypercube'\? Choose one of Hypercube, .*module:Class",
        ),
        ("no_such_module:World", r"there is no module 'no_such_module'\. Install it"),
        ("own_world:Missing", r"has no attribute 'Missing'\. Write module:Class"),
        ("own_world:NUMBER", r"which is 3\. Give a subclass of duelist\.Environment"),
        ("Hypercube(dim=3)", r"environment is 'Hypercube\(dim=3\)'\. Write settings after a colon: Hypercube:dim=3\."),
        ("own_world:Steps:arms=3", r"Steps has no setting 'arms'\. Did you mean 'n_arms'\? It takes dim, n_arms"),
        (7, r"environment is 7\. Give an object of `duelist\.environments`, or the name of one"),
    ],
)
def test_a_mistaken_name_says_what_to_write(own_world: str, spec: Any, said: str) -> None:
    with pytest.raises(dl.InvalidInput, match=said):
        make_environment(spec)


def test_an_object_is_returned_as_it_is() -> None:
    world = dl.environments.Hypercube(dim=2)
    assert make_environment(world) is world
    with pytest.raises(dl.InvalidInput, match="has its settings already"):
        make_environment(world, dim=3)
