"""`policy_for`: every goal has a policy that exists and runs; what it cannot honour it refuses by name."""

import copy
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import duelist as dl
from duelist.cli import app
from duelist.policies import BUILTIN_POLICIES, POLICIES
from duelist.policies.goals import GOALS, Goal

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "choose-a-policy.md").read_text()


@pytest.mark.parametrize("goal", GOALS)
def test_every_goal_has_a_policy_that_runs(goal: str) -> None:
    policy, arms = dl.policy_for(goal, random_state=3), np.random.default_rng(0).normal(size=(5, 2))
    assert type(policy) is POLICIES[GOALS[goal].policy]
    assert policy.random_state == 3
    for _ in range(12):
        duel = policy.ask(arms)
        assert duel.first != duel.second
        policy.tell(duel, float(arms[duel.first, 0] > arms[duel.second, 0]))
    assert policy.theta_[0] > 0.0  # it has learned what decides


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("how", [{"features": False}, {"arms": dl.ArmTable(4)}], ids=["no features", "free arms"])
def test_every_goal_has_a_policy_for_arms_without_features(goal: str, how: dict) -> None:
    policy = dl.policy_for(goal, **how)
    assert policy.accepts_arm_table
    for _ in range(20):
        duel = policy.ask(dl.ArmTable(4))
        policy.tell(duel, float(duel.first < duel.second))
    assert policy.posterior(dl.ArmTable(4)).utilities.argmax() == 0


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("how", [{"features": False}, {"arms": dl.ArmTable(4)}, {"arms": 4}])
def test_a_policy_for_arms_without_features_refuses_features(goal: str, how: dict) -> None:
    policy = dl.policy_for(goal, random_state=0, **how)
    table = np.random.default_rng(0).normal(size=(4, 2))
    for ask in (policy.ask, policy.recommend, lambda arms: policy.ask_batch(arms[None])):
        with pytest.raises(dl.InvalidInput, match=r"ArmTable|A batch cannot have arm effects"):
            ask(table)
    assert not policy.pending_
    by_hand = type(policy)(estimator="online", random_state=0)  # it plays as one that nobody told beforehand
    assert tuple(policy.ask(dl.ArmTable(4))) == tuple(by_hand.ask(dl.ArmTable(4)))
    with pytest.raises(dl.InvalidInput, match="arms have 2 features, but those of this policy have none"):
        policy.ask(dl.ArmTable(4, table))
    assert dl.policy_for(goal, **how).ask(dl.ArmTable(4, table)).first in range(4), "who they are, and features, too"


def test_a_copy_of_a_policy_for_arms_without_features_refuses_features_too() -> None:
    policy = dl.policy_for("best", features=False, random_state=0)
    snapshot = json.loads(json.dumps(policy.snapshot()))
    for again in (copy.deepcopy(policy), type(policy).restore(snapshot)):
        with pytest.raises(dl.InvalidInput, match="ArmTable"):
            again.ask(np.eye(4))
        assert again.snapshot() == snapshot
        assert tuple(again.ask(dl.ArmTable(4))) == tuple(copy.deepcopy(policy).ask(dl.ArmTable(4)))
    plain = type(policy)(estimator="online", random_state=0)
    assert "arms" not in plain.snapshot()
    assert copy.deepcopy(plain).ask(np.eye(4))


def test_a_policy_for_arms_without_features_is_not_simulated_with_features() -> None:
    with pytest.raises(dl.InvalidInput, match="was made for arms without features"):
        dl.simulate(dl.policy_for("best", arms=8), dl.environments.Hypercube(dim=3), horizon=5, runs=2)


@pytest.mark.parametrize("arms", [np.eye(3), dl.ArmTable(3, np.eye(3))], ids=["a table", "both"])
def test_one_feature_is_not_mistaken_for_yes(arms: object) -> None:
    for wrong in (1, 2):
        with pytest.raises(dl.InvalidInput, match=r"features"):
            dl.policy_for("best", features=wrong, arms=arms)
    assert dl.policy_for("best", features=3, arms=arms)
    assert dl.policy_for("best", features=True, arms=arms)


def test_to_look_before_the_first_duel_changes_nothing() -> None:
    """What the policy is asked with first, and not what somebody has looked at, are its arms."""
    table = np.random.default_rng(0).normal(size=(5, 3))
    looked: Any
    looked, other = (dl.policy_for("best", features=False, random_state=0) for _ in range(2))
    before = looked.snapshot()
    assert not looked.recommend(dl.ArmTable(5, 1000 * table)).decided
    assert looked.posterior(dl.ArmTable(5)).utilities.tolist() == [0.0] * 5
    assert looked.snapshot() == before
    for _ in range(20):
        duel, same = (policy.ask(dl.ArmTable(5, table)) for policy in (looked, other))
        assert tuple(duel) == tuple(same)
        for policy in (looked, other):
            policy.tell(duel, float(duel.first < duel.second))


def test_a_number_of_arms_with_features_is_about_features() -> None:
    assert dl.policy_for("best", arms=6, features=2).ask(np.eye(6)[:, :2])
    assert dl.policy_for("best", arms=6, features=True).ask(np.eye(6)[:, :2])
    with_both = dl.ArmTable(4, np.eye(4))
    assert dl.policy_for("best", arms=with_both).ask(with_both)


def test_settings_reach_the_policy() -> None:
    policy = dl.policy_for("serve", horizon=70, scale=0.7, link="probit")
    assert policy.params == dl.LocalPairUCB(horizon=70, scale=0.7, link="probit").params
    assert dl.policy_for("serve", arms=np.eye(3)).params == dl.policy_for("serve", features=3, arms=5).params
    with pytest.raises(dl.InvalidInput, match="LocalPairUCB has no setting 'colour'"):
        dl.policy_for("serve", colour="red")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"goal": "win"}, "goal is 'win'. Choose one of best, rank, learn, serve"),
        ({"goal": "best", "top": 3}, "Only the goal 'rank' has places"),
        ({"goal": "best", "features": 0}, "features is 0. Give true, false, or the number of features"),
        ({"goal": "best", "arms": 0}, "arms is 0"),
        ({"goal": "best", "arms": np.eye(3), "features": 2}, "arms have 3 features"),
        ({"goal": "best", "arms": np.eye(3), "features": False}, "Give an ArmTable or a number"),
        ({"goal": "best", "arms": dl.ArmTable(4), "features": True}, "features is True, and arms are ArmTable"),
        ({"goal": "best", "arms": dl.ArmTable(3, np.eye(3)), "features": 2}, "features is 2, and arms are ArmTable"),
        ({"goal": "best", "features": False, "estimator": "exact"}, "cannot learn about arms without features"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict, said: str) -> None:
    with pytest.raises(dl.InvalidInput, match=re.escape(said)):
        dl.policy_for(**given)


@dataclass(kw_only=True, eq=False, repr=False)
class ForPlaces(dl.UniformPair):
    """A policy that knows about places."""

    top: int | None = None


def test_places_are_for_policies_that_know_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (POLICIES, BUILTIN_POLICIES):
        monkeypatch.setitem(table, "UniformPair", ForPlaces)
    monkeypatch.setitem(GOALS, "rank", Goal("rank", "When.", "UniformPair"))
    policy: Any = dl.policy_for("rank", top=3, arms=4)
    assert policy.top == 3
    with pytest.raises(dl.InvalidInput, match="there are 4 arms"):
        dl.policy_for("rank", top=5, arms=4)
    with pytest.raises(dl.InvalidInput, match="top is 0"):
        dl.policy_for("rank", top=0)
    monkeypatch.setitem(POLICIES, "UniformPair", dl.UniformPair)
    with pytest.raises(dl.InvalidInput, match=r"ranks all arms\. Leave top out"):
        dl.policy_for("rank", top=3)


def test_the_shell_plays_the_policy_of_a_goal() -> None:
    words = ["simulate", "--goal", "serve", "-t", "20", "-r", "2", "-e", "Hypercube:dim=2"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    assert "LocalPairUCB" in told.output
    assert CliRunner().invoke(app, ["simulate", "-t", "20"]).exit_code == 2  # nothing to play
    wrong = CliRunner().invoke(app, ["simulate", "--goal", "win"])
    assert wrong.exit_code == 2
    assert "goal is 'win'" in wrong.output


def test_the_page_has_the_table_of_goals() -> None:
    for goal in GOALS.values():
        assert f"| `{goal.name}` | {goal.when} | `{goal.policy}` |" in PAGE


def test_algorithms_by_name_are_there() -> None:
    (table,) = re.findall(r"\| paper .*?\n\n", PAGE + "\n", flags=re.DOTALL)
    named = [
        name for row in table.strip().splitlines()[2:] for name in re.findall(r"`([A-Z]\w+)[`(]", row.split("|")[2])
    ]
    assert set(named) <= set(BUILTIN_POLICIES)
    assert {"MaxMinLCB", "FGTS", "DRTS", "DeltaUCB", "InfoMax", "DesignPair", "APO"} <= set(named)
