"""Policies and environments written in one word."""

from typing import Any

import pytest

import duelist as dl
from duelist.simulation.environments.registry import make_environment


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
