"""Policies told from a log: what `suggest` leaves alone, and what `learn` makes of a log, to the bit."""

import json
from typing import Any

import numpy as np
import pytest

from duelist.core.seeds import seed_words
from duelist.policies import POLICIES
from duelist.reference.fit import Vote
from duelist.reference.fit import estimate as reference_estimate
from duelist.reference.links import link_mean
from tests.helpers.policies.feature_scale import default_ridge
from tests.helpers.policy_state import known, pending, throw_dice

DIM = 3
THETA = np.array([1.5, -1.0, 0.5])
LAYERED = {"VACDB", "StaD", "SupCoLSTIM"}
WITH_HORIZON = [name for name, cls in POLICIES.items() if "radius" in cls.setting_names()]
CASES: list[tuple[str, dict[str, Any]]] = [(name, {"estimator": e}) for name in POLICIES for e in ("exact", "online")]
CASES += [(name, {"horizon": 64, "estimator": e}) for name in WITH_HORIZON for e in ("exact", "online")]
every_case = pytest.mark.parametrize(("name", "settings"), CASES, ids=str)


def new(name, settings, seed=5):
    return POLICIES[name](**settings, random_state=seed)


def draw_rounds(rounds, seed=0, least=2, most=6):
    """Arms of several rounds, near and far apart so that all layers are met, and the luck that decides each."""
    rng = np.random.default_rng([seed, 31])
    sizes = np.where(np.arange(rounds) % 3 == 0, 1.0, 10.0 ** rng.uniform(-3.0, 0.0, rounds))
    return [(size * rng.normal(size=(int(rng.integers(least, most + 1)), DIM)), rng.random()) for size in sizes]


def vote(z, luck):
    return float(luck < link_mean("logistic", z @ THETA))


def begun(name, settings, shown, seed=5):
    policy = new(name, settings, seed)
    policy.initialize(shown[0][0])
    return policy


def kept_log(name, settings, shown):
    """A log as a study would keep it: each duel considered with a seed of its own, learned with what was chosen."""
    policy, log = begun(name, settings, shown), []
    for t, (arms, luck) in enumerate(shown):
        choice = policy.suggest(arms, seed=t)
        z = arms[choice.first] - arms[choice.second]
        entry = z, (0.5 if t % 7 == 3 else vote(z, luck)), 1.0 + (t % 3), choice.layer, choice.share
        policy.learn(*entry[:3], layer=entry[3], share=entry[4])
        log.append(entry)
    return policy, log


def replay(policy, log, before=lambda policy, t: policy):
    """Learn a log; `before` may do what it likes to the policy that should leave no trace."""
    for t, (z, outcome, weight, layer, share) in enumerate(log):
        policy = before(policy, t)
        policy.learn(z, outcome, weight, layer=layer, share=share)
    return policy


def restored(policy):
    return type(policy).restore(json.loads(json.dumps(policy.snapshot())))


def read_all(policy, t, arms):
    policy.suggest(arms)
    policy.suggest(arms, seed=t, pending=[(arms[0] - arms[1], 0, 1.0)])
    for layer in range(len(known(policy).theta)):
        policy.estimate(layer)
    assert policy.theta_.shape == policy.precision_[0].shape
    return policy


# -- consider changes nothing ------------------------------------------------------------


@every_case
def test_consider_changes_nothing_to_the_byte(name, settings):
    shown = draw_rounds(70)
    policy, _ = kept_log(name, settings, shown[:1])
    changed = []
    for t, (arms, luck) in enumerate(shown):
        before = policy.snapshot()
        for choice in (
            policy.suggest(arms),
            policy.suggest(arms, seed=t, rounds=3 * t),
            policy.suggest(np.repeat(arms, 3, axis=0), [(arms[0] - arms[1], 0, 1.0), (arms[1], -1, 0.0)]),
        ):
            assert 0 <= choice.first < 3 * len(arms)
        if policy.snapshot() != before:
            changed.append(t)
        z = arms[0] - arms[1]
        policy.learn(z, vote(z, luck))
    assert changed == []


@every_case
def test_consider_says_what_ask_would_ask(name, settings):
    # Asked and told: the estimate is not solved when `suggest` comes.
    policy = new(name, settings)
    for t, (arms, luck) in enumerate(draw_rounds(60)):
        choice = policy.suggest(arms, distinct=False) if t else None
        duel = policy.ask(arms, distinct=False)
        given = pending(policy)[duel.id]
        if choice is not None:
            assert (choice.first, choice.second, choice.layer) == (duel.first, duel.second, given.layer), t
            assert choice.share == pytest.approx(given.share, rel=1e-9)
        policy.tell(duel, vote(arms[duel.first] - arms[duel.second], luck))


@every_case
def test_with_a_log_it_plays_the_duels_of_ask_and_tell(name, settings):
    shown = draw_rounds(60)
    asked, told = new(name, settings), begun(name, settings, shown)
    for t, (arms, luck) in enumerate(shown):
        asked.initialize(arms)
        throw_dice(asked, seed_words(t))  # the same dice for both, thrown anew in every round
        duel, choice = asked.ask(arms, distinct=False), told.suggest(arms, seed=t, distinct=False)
        assert (duel.first, duel.second) == (choice.first, choice.second), f"round {t + 1}"
        z = arms[duel.first] - arms[duel.second]
        asked.tell(duel, vote(z, luck))
        told.learn(z, vote(z, luck), layer=choice.layer, share=choice.share)
    np.testing.assert_allclose(told.theta_, asked.theta_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(told.precision_, asked.precision_, rtol=1e-9, atol=1e-12)
    assert told.rounds_ == asked.rounds_ == 60


@pytest.mark.parametrize("name", POLICIES)
def test_pending_duels_count_also_when_the_estimate_is_not_solved_yet(name):
    # Six duels told and none read: a copy that was read first must choose the same.
    rng = np.random.default_rng(12)
    for _ in range(25):
        policy = new(name, {"ridge": 0.05})
        for arms in rng.normal(size=(6, 5, DIM)):
            duel = policy.ask(arms, distinct=False)
            policy.tell(duel, vote(arms[duel.first] - arms[duel.second], rng.random()), 3.0)
        read = restored(policy)
        for layer in range(len(known(read).theta)):
            read.estimate(layer)
        arms = rng.normal(size=(40, DIM))
        pending = [(z, 0, 1.0) for z in 2.0 * rng.normal(size=(3, DIM))]
        one, other = policy.suggest(arms, pending, seed=1), read.suggest(arms, pending, seed=1)
        assert (one.first, one.second, one.layer) == (other.first, other.second, other.layer)


# -- learn is a fold over the log --------------------------------------------------------


@every_case
def test_a_log_learned_without_asking_gives_the_same_state(name, settings):
    shown = draw_rounds(70)
    policy, log = kept_log(name, settings, shown)
    again = replay(begun(name, settings, shown), log)
    assert again.snapshot()["state"] == policy.snapshot()["state"]
    assert again.snapshot() == policy.snapshot()


@every_case
def test_reading_in_between_leaves_no_trace(name, settings):
    shown = draw_rounds(70)
    _, log = kept_log(name, settings, shown)
    plain = begun(name, settings, shown)
    nosy = begun(name, settings, shown)
    for t, (z, outcome, weight, layer, share) in enumerate(log):
        read_all(nosy, t, shown[t][0])
        for policy in (plain, nosy):
            policy.learn(z, outcome, weight, layer=layer, share=share)
        assert nosy.snapshot() == plain.snapshot(), f"after {t + 1} outcomes"


@every_case
def test_reading_the_curvature_leaves_no_trace(name, settings):
    if not POLICIES[name].local_curvature:
        assert not hasattr(new(name, settings), "curvature_")
        return
    shown = draw_rounds(40)
    _, log = kept_log(name, settings, shown)
    plain = replay(begun(name, settings, shown), log)

    def look(policy, t):
        assert policy.curvature_.shape == (DIM, DIM)
        return policy

    nosy = replay(begun(name, settings, shown), log, look)
    np.testing.assert_array_equal(nosy.theta_, plain.theta_)
    assert nosy.snapshot() == plain.snapshot()


@every_case
def test_restored_in_the_middle_it_ends_in_the_same_state(name, settings):
    shown = draw_rounds(40)
    _, log = kept_log(name, settings, shown)
    states: list[Any] = []

    def note(policy, t):
        states.append(policy.snapshot())
        return policy

    replay(begun(name, settings, shown), log, note)
    different = []
    for stop in range(len(log)):
        policy = begun(name, settings, shown)
        policy = restored(replay(policy, log[:stop]))
        assert policy.snapshot() == states[stop]
        for t in range(stop, min(stop + 2, len(log) - 1)):
            replay(policy, log[t : t + 1])
            if policy.snapshot() != states[t + 1]:
                different.append((stop, t + 1))
    assert different == []


@pytest.mark.parametrize("name", sorted(LAYERED))
def test_outcomes_without_a_place_are_a_fold_too(name):
    # Places are found from what was learned, not from what was considered or when it was restored.
    shown = draw_rounds(70, seed=2)
    plain, nosy, copied = (begun(name, {}, shown) for _ in range(3))
    places = {0: [], 1: [], 2: []}
    for t, (arms, luck) in enumerate(shown):
        z = arms[0] - arms[1]
        read_all(nosy, t, arms)
        copied = restored(copied)
        for k, policy in enumerate((plain, nosy, copied)):
            places[k].append(policy.assign_layer(z))
            policy.learn(z, vote(z, luck))
    assert places[1] == places[0]
    assert places[2] == places[0]


@pytest.mark.parametrize("name", sorted(LAYERED))
def test_a_log_with_new_layers_can_be_replayed(name):
    # With an unknown horizon layers are added as rounds go by; what was chosen there must be learned there.
    wide = np.random.default_rng(0).normal(size=(3, DIM))
    deepest = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 6])
        shown = [(wide, 0.5), (wide, 0.5)]
        shown += [(wide[0] + 10.0 ** rng.uniform(-3.0, -0.5) * rng.normal(size=(3, DIM)), 0.5) for _ in range(7)]
        policy, log = kept_log(name, {}, shown)
        again = replay(begun(name, {}, shown), log)
        assert again.snapshot() == policy.snapshot()
        deepest = max([deepest, *(layer for _, _, _, layer, _ in log)])
    assert deepest > 0


@pytest.mark.parametrize("name", sorted(LAYERED))
def test_the_assigned_layer_does_not_depend_on_suggestions(name):
    shown = draw_rounds(20)
    z = shown[0][0][0] - shown[0][0][1]
    plain, nosy = begun(name, {}, shown), begun(name, {}, shown)
    for t in range(20):
        nosy.suggest(shown[0][0], seed=t)
        for size in (1.0, 0.1, 0.03, 0.01, 0.003, 0.001):
            assert nosy.assign_layer(size * z) == plain.assign_layer(size * z), f"after {t} outcomes"
        for policy in (plain, nosy):
            policy.learn(z, float(t % 2))


@pytest.mark.parametrize("ridge", [0.7, None])
@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
@pytest.mark.parametrize("name", [n for n in POLICIES if n not in LAYERED and n != "RCDB"])
def test_what_is_learned_is_the_root_over_the_log(name, link, ridge):
    shown = draw_rounds(30, seed=1)
    policy = begun(name, {"link": link, "ridge": ridge}, shown)
    rows = []
    for t, (arms, luck) in enumerate(shown):
        z, outcome, weight = arms[0] - arms[1], (0.5 if t % 5 == 2 else vote(arms[0] - arms[1], luck)), 0.5 + t % 3
        policy.learn(z, outcome, weight)
        rows.append(Vote(z, outcome, weight))
    ridges = default_ridge(policy, shown[0][0], [(row.z, row.total_weight) for row in rows])
    np.testing.assert_allclose(policy.theta_, reference_estimate(link, ridges, rows, DIM), rtol=1e-7, atol=1e-8)
    expected = np.diag(ridges) + sum(r.total_weight * np.outer(r.z, r.z) for r in rows)
    np.testing.assert_allclose(policy.precision_, expected, rtol=1e-9, atol=1e-9)
