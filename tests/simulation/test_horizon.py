"""Every way to play a policy fills in a missing horizon alike."""

from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.policies import BUILTIN_POLICIES, fill_horizon
from duelist.research.experiments import Experiment

WORLD = dl.environments.Hypercube(dim=2)


@pytest.mark.parametrize("name", BUILTIN_POLICIES)
def test_a_name_and_an_object_play_the_same_duels(name: str) -> None:
    told = dl.make_policy(name, horizon=40)
    by_name = dl.simulate(name, WORLD, horizon=40, runs=2)
    by_object = dl.simulate(told, WORLD, horizon=40, runs=2)
    assert by_name.settings["policies"] == by_object.settings["policies"] == {name: repr(told)}
    np.testing.assert_array_equal(by_name.duels(name), by_object.duels(name))


def test_an_experiment_gives_objects_its_horizon() -> None:
    experiment = Experiment([dl.LocalPairUCB(), "VACDB", dl.MaxInP(horizon=7)], [WORLD], horizon=40, runs=2)
    horizons = {label: policy.params["horizon"] for label, policy in experiment.labelled.items()}
    assert horizons == {"LocalPairUCB": 40, "VACDB": 40, "MaxInP(horizon=7)": 7}


def test_a_horizon_of_its_own_is_kept() -> None:
    policy = dl.VACDB(horizon=7)
    assert fill_horizon(policy, 40) is policy


def test_policies_play_without_a_horizon_on_request() -> None:
    runs = dl.simulate([dl.VACDB(), "MaxInP"], WORLD, horizon=40, runs=2, tell_horizon=False)
    assert runs.settings["policies"] == {"VACDB": "VACDB(radius='practical')", "MaxInP": "MaxInP()"}


def test_labels_leave_out_the_horizon_of_the_simulation() -> None:
    runs = dl.simulate(["VACDB", dl.VACDB(scale=2.0), dl.VACDB(horizon=9)], WORLD, horizon=40, runs=2)
    assert runs.labels == [
        "VACDB(radius='practical')",
        "VACDB(radius='practical', scale=2.0)",
        "VACDB(horizon=9, radius='practical')",
    ]


def test_a_policy_that_needs_a_horizon_gets_it_by_name() -> None:
    assert dl.simulate("RMED2FH", WORLD, horizon=40, runs=2).settings["policies"] == {"RMED2FH": "RMED2FH(horizon=40)"}


def test_a_filled_policy_accepts_the_same_arms() -> None:
    """A policy made for arms without features stays one."""
    policy = dl.policy_for("best", arms=8)
    assert policy.requires_arm_table
    filled: Any = fill_horizon(policy, 40)
    assert filled.requires_arm_table
    assert policy.clone(3).requires_arm_table
