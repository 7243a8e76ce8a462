"""Snapshots that the last release with Numba made: every policy goes on as it would have.

That release left a duel out of account while it was out; now it counts as if it were answered. Where it is given up, the same
duels follow, and where it stays out, those that `consider` names.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import duelist as dl
from duelist.policies import POLICIES
from looking import pending

KEPT = json.loads((Path(__file__).parent / "before_native.json").read_text())["policies"]
ARMS, DIM, THETA = 12, 4, np.array([1.0, -0.5, 0.3, 0.0])
FEATURES = np.random.default_rng(5).normal(size=(ARMS, DIM))
CHANGED = ("BestArmPair",)
"""Policies that have another rule since (decision 0039): they know what they knew, and ask what they would ask now."""
UNCHANGED = [name for name in KEPT if name.split()[0] not in CHANGED]


def play(policy, rounds, rng):
    """The published rule, with the votes of `make_before_native.py`; the duels as they were written down."""
    duels = []
    for _ in range(rounds):
        duel = policy.ask(FEATURES, distinct=False)
        wins = rng.random() < 1.0 / (1.0 + np.exp(-(FEATURES[duel.first] - FEATURES[duel.second]) @ THETA))
        policy.tell(duel, float(wins))
        duels.append([duel.first, duel.second])
    return duels


LATER = {"APO", "DRTS", "DeltaUCB", "DesignPair", "InfoMax", "MaxMinLCB", "RankingPair", "RewardDesign"}
"""Policies that came after the native engine."""


def test_every_policy_was_kept():
    kept = set(POLICIES) - LATER
    assert set(KEPT) == {f"{name} {estimator}" for name in kept for estimator in ("exact", "online")}
    assert all(kept["snapshot"]["version"] == 2 for kept in KEPT.values())


@pytest.mark.parametrize("name", UNCHANGED)
def test_it_goes_on_as_it_would_have(name):
    kept = KEPT[name]
    policy = dl.restore_policy(kept["snapshot"])
    assert policy.pending_ == [80]
    assert policy._player.asked_as(80) == tuple(kept["pending"][:2])
    policy.forget(80)
    assert play(policy, 40, np.random.default_rng(2)) == [duel[:2] for duel in kept["next"]]
    np.testing.assert_allclose(policy.theta_, kept["theta"], rtol=0, atol=1e-9)
    assert policy.pending_ == []
    assert policy.rounds_ == 121


@pytest.mark.parametrize("name", [name for name in KEPT if name not in UNCHANGED])
def test_with_another_rule_it_knows_what_it_knew(name):
    """The duels that were asked then, with the votes of then, lead to the estimate of then."""
    kept, rng = KEPT[name], np.random.default_rng(2)
    policy = dl.restore_policy(kept["snapshot"])
    policy.forget(80)
    for first, second in (duel[:2] for duel in kept["next"]):
        z = FEATURES[first] - FEATURES[second]
        policy.learn(z, float(rng.random() < 1.0 / (1.0 + np.exp(-z @ THETA))))
    np.testing.assert_allclose(policy.theta_, kept["theta"], rtol=0, atol=1e-9)
    assert policy.rounds_ == 121
    duel = policy.ask(FEATURES)
    assert duel.first != duel.second


@pytest.mark.parametrize("name", KEPT)
def test_what_was_out_counts_as_if_answered(name):
    policy = dl.restore_policy(KEPT[name]["snapshot"])
    out = pending(policy)[80]
    for _ in range(10):
        choice = policy.consider(FEATURES, [(out.difference, out.layer, out.share)], distinct=False)
        duel = policy.ask(FEATURES, distinct=False)
        assert tuple(duel) == (choice.first, choice.second)
        policy.tell(duel, 1.0)
    assert policy.pending_ == [80]
    policy.tell(80, 1.0)
    assert policy.rounds_ == 91


@pytest.mark.parametrize("name", KEPT)
def test_once_restored_it_is_kept_in_the_new_form(name):
    policy = dl.restore_policy(KEPT[name]["snapshot"])
    snapshot = policy.snapshot()
    assert snapshot["version"] == 4
    again = dl.restore_policy(json.loads(json.dumps(snapshot)))
    assert again.snapshot() == snapshot
    assert play(again, 20, np.random.default_rng(3)) == play(policy, 20, np.random.default_rng(3))


@pytest.mark.parametrize(
    ("array", "values"),
    [("n_rows", [10**9]), ("n_rows", [-1]), ("layer", [99]), ("theta", [np.nan]), ("ridge", [0.0]), ("words", [1.5])],
)
def test_a_damaged_one_is_refused(array, values):
    from duelist.engine.snapshots import checksum, decode, encode

    snapshot = json.loads(json.dumps(KEPT["VACDB exact"]["snapshot"]))
    old = decode(snapshot["state"][array])
    kind = np.float64 if array == "words" else old.dtype
    snapshot["state"][array] = encode(np.full(old.shape, values[0], kind))
    body = {key: value for key, value in snapshot.items() if key != "checksum"}
    with pytest.raises(dl.InvalidSnapshot):
        dl.restore_policy({**body, "checksum": checksum(body)})
