"""Policies can be copied, pickled and sent to other processes, and the copies are independent."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

from duelist.policies import BUILTIN_POLICIES
from duelist.policies.counting.counting_policy import CountingPolicy

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda policy: pickle.loads(pickle.dumps(policy)),
}


def make(name):
    cls = BUILTIN_POLICIES[name]
    settings = {"horizon": 200} if getattr(cls, "needs_horizon", False) else {}
    return cls(random_state=3, **settings)


def arms_for(policy, rng):
    return 5 if isinstance(policy, CountingPolicy) else rng.normal(size=(5, 3))


def play(policy, rounds, seed):
    rng = np.random.default_rng(seed)
    fixed = arms_for(policy, rng)
    duels = []
    for _ in range(rounds):
        duel = policy.ask(fixed)
        policy.tell(duel, float(rng.random() < 0.6))
        duels.append(tuple(duel))
    return duels


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BUILTIN_POLICIES)
def test_a_copy_continues_with_the_same_duels_and_leaves_the_original_alone(name, way):
    policy = make(name)
    play(policy, 12, seed=0)
    copied = WAYS[way](policy)
    assert type(copied) is type(policy)
    before = policy.snapshot()
    duels = play(copied, 8, seed=1)
    assert policy.snapshot() == before
    assert play(policy, 8, seed=1) == duels


def _play_elsewhere(policy):
    return play(policy, 8, seed=1)


def test_a_spawned_process_plays_on_with_a_policy_that_was_sent_to_it():
    policies = [make(name) for name in ("VACDB", "RUCB", "FGTS")]
    for policy in policies:
        play(policy, 12, seed=0)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        duels = pool.map(_play_elsewhere, policies)
    assert duels == [_play_elsewhere(policy) for policy in policies]
