"""The engine plays what the references play, duel for duel: as published, and with everything that may happen to a live policy."""

import numpy as np
import pytest

import duelist as dl
from tests.helpers.policies.counting import CIRCLE, NAMES, ORDERED, made, twins, voted

LARGER = np.random.default_rng(5).uniform(0.05, 0.95, (13, 13))
LARGER = np.triu(LARGER, 1) + np.tril(1.0 - LARGER.T, -1) + 0.5 * np.eye(13)
SETTINGS = {
    "RUCB": [{}, {"alpha": 1.0}],
    "DTS": [{}, {"alpha": 0.8}],
    "CCB": [{}, {"alpha": 0.2}],
    "RMED1": [{}, {"weight": 0.05, "power": 1.0}],
    "RMED2": [{}, {"alpha": 1.0, "weight": 0.1}],
    "RMED2FH": [{}, {"alpha": 1.0, "weight": 0.1}],
    "WSS": [{}, {"beta": 1.5}],
    "BeatTheMean": [{}, {"scale": 0.3}, {"scale": 0.3, "gamma": 1.3}],
    "MergeRUCB": [{}, {"alpha": 0.6, "batch_size": 3}, {"alpha": 0.51, "delta": 0.5, "batch_size": 2}],
    "MergeDTS": [{}, {"alpha": 0.6, "batch_size": 6}],
    "BordaElimination": [{}, {"delta": 0.5}],
}
CASES = [(name, settings) for name in NAMES for settings in SETTINGS.get(name, [{}])]


@pytest.mark.parametrize(("name", "settings"), CASES)
@pytest.mark.parametrize("table", [ORDERED, CIRCLE, LARGER], ids=["ordered", "circle", "larger"])
def test_published_rule(name, settings, table):
    policy, reference = twins(name, random_state=3, **settings)
    rng = np.random.default_rng(1)
    for t in range(400 if len(table) < 10 else 150):
        duel, twin = policy.ask(len(table), distinct=False), reference.ask(len(table), distinct=False)
        assert tuple(duel) == tuple(twin), f"round {t}"
        outcome = voted(table, duel, rng.random())
        policy.tell(duel, outcome)
        reference.tell(twin, outcome)
    np.testing.assert_array_equal(policy.wins_, reference.wins)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(2))
def test_late_votes_ties_weights_excluded_pairs_and_arms_that_come_and_go(name, seed):
    policy, reference = twins(name, random_state=seed)
    rng = np.random.default_rng(seed)
    waiting, refused, self_duels = [], 0, 0
    for t in range(180):
        numbers = sorted(rng.choice(9 if t < 130 else 12, size=int(rng.integers(1, 8)), replace=False).tolist())
        rng.shuffle(numbers)
        n = len(numbers)
        pairs = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.3]
        how = {"distinct": bool(rng.random() < 0.5), "exclude": pairs}
        try:
            duel = policy.ask(dl.ArmTable(numbers), **how)
        except dl.InvalidInput:
            with pytest.raises(dl.InvalidInput, match="No pair is left"):
                reference.ask(dl.ArmTable(numbers), **how)
            refused += 1
            continue
        twin = reference.ask(dl.ArmTable(numbers), **how)
        assert tuple(duel) == tuple(twin), f"round {t} of {numbers}, {how}"
        assert tuple(sorted(duel, reverse=True)) not in pairs
        self_duels += duel.is_self_duel
        waiting.append((duel, twin))
        while waiting and rng.random() < 0.5:
            told, told_twin = waiting.pop(int(rng.integers(len(waiting))))
            outcome, weight = rng.choice([0.0, 0.5, 1.0]), rng.choice([1.0, 1.0, 2.0])
            policy.tell(told, outcome, weight)
            reference.tell(told_twin, outcome, weight)
    assert refused > 0
    assert self_duels > 0
    assert len(waiting) < 60


@pytest.mark.parametrize("name", NAMES)
def test_seeds_matter(name):
    def played(seed):
        policy, rng = made(name, seed), np.random.default_rng(0)
        duels = []
        for _ in range(60):
            duels.append(duel := policy.ask(5, distinct=False))
            policy.tell(duel, voted(ORDERED, duel, rng.random()))
        return [tuple(duel) for duel in duels]

    draws_nothing = name.startswith("RMED")
    assert (played(0) == played(1)) is draws_nothing
    assert played(0) == played(0)
