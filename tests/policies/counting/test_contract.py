"""What every policy that counts wins promises: the contract of policies, a log, snapshots to the bit, errors that leave it as it was."""

import json
from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.policies.counting import COUNTING_POLICIES
from duelist.policies.engine.snapshots import checksum, decode, encode
from duelist.testing import PolicyContract
from tests.helpers.policies.counting import HORIZON, NAMES, ORDERED, made, voted, wins_of


def contract(name):
    class Contract(PolicyContract):
        def make(self, random_state):
            return made(name, random_state)

    Contract.__name__ = Contract.__qualname__ = f"Test{name}"
    return Contract


for _name in NAMES:
    globals()[f"Test{_name}"] = contract(_name)


@pytest.fixture(params=NAMES)
def policy(request):
    return made(request.param)


def test_asking_learns_nothing(policy):
    wins_of(policy, ORDERED, 40)
    before = policy.snapshot()["counts"]
    for _ in range(20):
        policy.ask(5)
    after = policy.snapshot()["counts"]
    before.pop("words"), after.pop("words")
    assert after == before


def test_wins_are_the_votes_that_were_told(policy):
    rng, wins, duels = np.random.default_rng(0), np.zeros((5, 5)), [policy.ask(5) for _ in range(40)]
    for k in rng.permutation(40):
        first, second = duels[k]
        outcome, weight = rng.choice([0.0, 0.5, 1.0]), float(rng.integers(1, 4))
        policy.tell(duels[k], outcome, weight)
        wins[first, second] += weight * outcome
        wins[second, first] += weight * (1.0 - outcome)
    np.testing.assert_array_equal(policy.wins_, wins)
    assert policy.votes_ == 40
    assert policy.pending_ == []


def test_arms_may_be_given_in_four_ways(policy):
    name = type(policy).__name__
    as_numbers = [made(name), made(name), made(name)]
    rng = np.random.default_rng(0)
    for _ in range(50):
        duels = [
            p.ask(arms)
            for p, arms in zip(
                [policy, *as_numbers], (4, [0, 1, 2, 3], dl.ArmTable(4), rng.normal(size=(4, 2))), strict=True
            )
        ]
        assert len({tuple(duel) for duel in duels}) == 1
        outcome = float(rng.random() < 0.5)
        for p, duel in zip([policy, *as_numbers], duels, strict=True):
            p.tell(duel, outcome)


@pytest.mark.parametrize("at", [0, 1, 17, 300])
def test_a_restored_policy_goes_on_bit_for_bit(policy, at):
    wins_of(policy, ORDERED, at)
    out = [policy.ask(5) for _ in range(3)] if at else []
    again = type(policy).restore(json.loads(json.dumps(policy.snapshot())))
    assert again.snapshot() == policy.snapshot()
    for one in (policy, again):
        for k, duel in enumerate(out):
            one.tell(duel, k % 2)
    assert wins_of(again, ORDERED, 100, seed=1) == wins_of(policy, ORDERED, 100, seed=1)
    assert again.snapshot() == policy.snapshot()
    assert dl.restore_policy(policy.snapshot()).snapshot() == policy.snapshot()


def test_snapshots_of_nonsense_are_refused_or_harmless(policy):
    wins_of(policy, ORDERED, 60)
    policy.ask(5)
    good, rng = policy.snapshot(), np.random.default_rng(0)
    refused = 0
    for name, entry in good["counts"].items():
        for value in (-1, 0, 3, 7, 2**62, np.nan, np.inf):
            array = decode(entry)
            if array.size == 0 or (array.dtype.kind != "f" and not np.isfinite(value)):
                continue
            array[rng.integers(len(array))] = value if array.dtype.kind != "u" else abs(value)
            body = {k: v for k, v in good.items() if k != "checksum"} | {
                "counts": good["counts"] | {name: encode(array)}
            }
            try:
                restored = type(policy).restore({**body, "checksum": checksum(body)})
            except dl.InvalidSnapshot:
                refused += 1
                continue
            for _ in range(30):
                restored.tell(restored.ask(5, distinct=False), 1.0)
    assert refused > 5


@pytest.mark.parametrize("part", ["counts", "pending", "next_id", "params"])
def test_a_snapshot_without_a_part_is_refused(policy, part):
    policy.ask(5)
    body = {k: v for k, v in policy.snapshot().items() if k not in ("checksum", part)}
    with pytest.raises(dl.InvalidSnapshot, match="incomplete"):
        type(policy).restore({**body, "checksum": checksum(body)})


def test_a_log_in_the_place_of_pending_duels(policy):
    """`suggest` names what `ask` names, with the same duels out, and changes nothing; `learn` learns what `tell` does."""
    rng, out = np.random.default_rng(0), []
    for t in range(80):
        aside = type(policy).restore(policy.snapshot())
        for duel, _ in out:
            aside.forget(duel)
        before, distinct = aside.snapshot(), bool(t % 2)
        pending = [([d.first, d.second], layer, 1.0) for d, layer in out if not d.is_self_duel]
        if len(pending) == len(out) and t:
            choice = aside.suggest(5, pending, distinct=distinct)
            assert aside.snapshot() == before
        else:
            choice = None
        duel = policy.ask(5, distinct=distinct)
        assert choice is None or (choice.first, choice.second) == tuple(duel)
        out.append((duel, choice.layer if choice else 0))
        if len(out) > 3 or duel.is_self_duel:
            told, _ = out.pop(-1 if duel.is_self_duel else int(rng.integers(len(out))))
            policy.tell(told, voted(ORDERED, told, rng.random()))


def test_learning_a_log_is_asking_and_telling(policy):
    learner = type(policy).restore(policy.snapshot())
    policy.initialize(5)
    learner.initialize(5)
    rng = np.random.default_rng(0)
    for _ in range(200):
        choice, duel = policy.suggest(5), policy.ask(5)
        outcome = voted(ORDERED, duel, rng.random())
        policy.tell(duel, outcome)
        learner.learn(dl.ArmTable([duel.first, duel.second]), outcome, layer=choice.layer, share=choice.share)
    known, learned = policy.snapshot()["counts"], learner.snapshot()["counts"]
    known.pop("words"), learned.pop("words")
    if type(policy).__name__ != "CCB":  # its hypotheses are cut by chance
        assert learned == known
    np.testing.assert_array_equal(learner.wins_, policy.wins_)


def test_considering_new_arms_does_not_make_them_known(policy):
    policy.initialize(3)
    before = policy.snapshot()
    seen = {k for seed in range(60) for k in policy.suggest(dl.ArmTable([0, 1, 2, 7]), seed=seed)[:2]}
    assert policy.snapshot() == before
    policy.learn([1, 7], 1.0)
    assert policy.arms_.tolist() == [0, 1, 2, 7]
    assert seen


def test_errors_name_the_way_out_and_change_nothing(policy):
    duel = policy.ask(4)
    before = policy.snapshot()
    wrong = [
        (lambda: policy.ask(0), "ids is 0"),
        (lambda: policy.ask([1, 1]), "1 twice"),
        (lambda: policy.ask([]), "arms"),
        (lambda: policy.ask(None), "arms"),
        (lambda: policy.ask([[1.0], [1.0, 2.0]]), "arms"),
        (lambda: policy.ask([0.5, 1.5]), "ids"),
        (lambda: policy.ask("six"), "arms"),
        (lambda: policy.ask([[np.nan, 1.0]]), "arms"),
        (lambda: policy.learn([[1.0], [1.0, 2.0]], 1.0), "ArmTable"),
        (lambda: policy.ask([-1, 2]), "Give ids from 0"),
        (lambda: policy.ask(5000), "at most 4096 arms"),
        (lambda: policy.ask(3, exclude=[(0, 5)]), "exclude holds"),
        (lambda: policy.ask(2, exclude=[(0, 1)]), "No pair is left"),
        (lambda: policy.tell(duel, 2.0), "outcome is 2.0"),
        (lambda: policy.tell(duel, 1.0, weight=0.0), "weight is 0.0"),
        (lambda: policy.tell(duel, 1.0, weight=1e16), "at most 1e"),
        (lambda: policy.learn(np.zeros((2, 3)), 1.0), "ArmTable"),
        (lambda: policy.learn([1, 2, 3], 1.0), "Give the two that were compared"),
        (lambda: policy.learn([1, 2], 1.0, layer=7), "layer is 7"),
        (lambda: policy.learn([1, 2], 1.0, share=-1.0), "share is -1"),
        (lambda: policy.suggest(3, seed=-1), "seed is -1"),
    ]
    for call, message in wrong:
        with pytest.raises(dl.InvalidInput, match=message):
            call()
    with pytest.raises(dl.UnknownDuel, match="never asked"):
        policy.tell(77, 1.0)
    with pytest.raises(dl.UnknownDuel, match="was asked as"):
        policy.tell(dl.Duel(duel.second, duel.first, duel.id), 1.0)
    assert policy.snapshot() == before
    policy.tell(duel, 1.0)
    with pytest.raises(dl.UnknownDuel, match="told or forgotten"):
        policy.tell(duel, 1.0)
    policy.forget(policy.ask(4))
    assert policy.pending_ == []


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("RUCB", {"alpha": 0.0}, "alpha"),
        ("DTS", {"alpha": -1.0}, "alpha"),
        ("CCB", {"alpha": float("nan")}, "alpha"),
        ("RMED1", {"weight": 0.0}, "weight"),
        ("RMED2", {"alpha": 0.0}, "alpha"),
        ("RMED2", {"power": 9.0}, "at most 4"),
        ("WSS", {"beta": 1.0}, "above 1"),
        ("BeatTheMean", {"gamma": 0.9}, "gamma"),
        ("BeatTheMean", {"scale": 0.0}, "scale"),
        ("MergeRUCB", {"alpha": 0.5}, "above 1/2"),
        ("MergeDTS", {"batch_size": 1}, "batch_size"),
        ("MergeDTS", {"delta": 1.0}, "delta"),
        ("BordaElimination", {"delta": 0.0}, "delta"),
        ("RUCB", {"random_state": -1}, "random_state"),
        ("RUCB", {"horizon": 0}, "horizon"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name, settings, message):
    with pytest.raises(dl.InvalidInput, match=message):
        COUNTING_POLICIES[name](**{"horizon": HORIZON, **settings})


@pytest.mark.parametrize("name", ["RMED2FH", "BeatTheMean", "InterleavedFilter"])
def test_rules_that_need_a_horizon_say_so(name):
    with pytest.raises(dl.InvalidInput, match=f"{name} needs a horizon"):
        COUNTING_POLICIES[name]()


def test_settings_are_honoured():
    """Every setting changes what is played."""
    changed: dict[str, dict[str, Any]] = {
        "RUCB": {"alpha": 2.0}, "DTS": {"alpha": 0.1}, "DTSPlus": {"alpha": 0.1}, "CCB": {"alpha": 2.0}, "RMED1": {"weight": 0.01},
        "RMED2": {"alpha": 0.5}, "RMED2FH": {"alpha": 6.0}, "WSS": {"beta": 3.0}, "BeatTheMean": {"scale": 0.3},
        "InterleavedFilter": {"horizon": 2}, "MergeRUCB": {"batch_size": 2}, "MergeDTS": {"alpha": 3.0},
        "BordaElimination": {"delta": 0.9},
    }  # fmt: skip
    for name, settings in changed.items():
        usual = wins_of(made(name), ORDERED, 2000)
        other = wins_of(COUNTING_POLICIES[name](**{"horizon": HORIZON, "random_state": 0, **settings}), ORDERED, 2000)
        assert usual != other, name


@pytest.mark.parametrize("name", ["WSW", "WSS"])
@pytest.mark.parametrize("told", [0, 60])
@pytest.mark.parametrize("distinct", [True, False])
def test_duels_of_winner_stays_that_are_out_count_as_won_by_the_arm_ahead(name, told, distinct):
    """They were one and the same pair for all raters. Now who waits asks what somebody does who was told so."""
    policy, rng, level = made(name), np.random.default_rng(0), np.full((8, 8), 0.5)
    lead = np.zeros(8)

    def note(first, second, outcome, layer):
        if layer == 0:  # not of a winner that exploits
            lead[first] += 2.0 * outcome - 1.0
            lead[second] -= 2.0 * outcome - 1.0

    for _ in range(told):
        layer = policy.suggest(8).layer
        policy.tell(duel := policy.ask(8), outcome := voted(level, duel, rng.random()))
        note(*duel, outcome, layer)
    knows = type(policy).restore(policy.snapshot())
    duels = []
    for _ in range(20):
        duels.append(policy.ask(8, distinct=distinct))
        layer = knows.suggest(8, distinct=distinct).layer
        same = knows.ask(8, distinct=distinct)
        assert tuple(same) == tuple(duels[-1])
        foretold = float(lead[same.first] >= lead[same.second])
        knows.tell(same, foretold)
        note(*same, foretold, layer)
    pairs = {frozenset(duel) for duel in duels if not duel.is_self_duel}
    assert len(pairs) == 7 if told == 0 else len(pairs) > 3  # of equals, all others before anybody again
