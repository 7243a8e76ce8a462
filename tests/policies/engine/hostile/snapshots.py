"""Snapshots that somebody damaged, with a checksum that fits: refused, or a policy that can be played."""

import base64
import contextlib
import functools
import json
import zlib

import numpy as np

import duelist as dl
from duelist.policies import POLICIES
from duelist.policies.counting import COUNTING_POLICIES, CountingPolicy
from duelist.policies.engine.snapshots import decode, encode
from tests.policies.engine.hostile import values

REFUSALS = (dl.DuelistError,)
PATIENCE = 3


@functools.cache
def honest():
    """Snapshots of all policies as JSON, some of them with duels out."""
    found = []
    for kind in POLICIES.values():
        for seed, (estimator, link, dim) in enumerate(
            [("exact", "logistic", 3), ("online", "logistic", 2), ("exact", "probit", 1), ("exact", "exponential", 4)]
        ):
            rng = np.random.default_rng(seed)
            policy = kind(horizon=None if seed else 100, link=link, estimator=estimator, random_state=seed)
            found.append((kind, json.dumps(policy.snapshot())))
            arms = rng.normal(size=(6, dim))
            for round_number in range(25):
                duel = policy.ask(arms if seed else rng.normal(size=(4, dim)), distinct=bool(seed % 2))
                if round_number % 7:
                    policy.tell(duel, float(rng.integers(2)))
            found.append((kind, json.dumps(policy.snapshot())))
    others = [*_with_arm_effects(), *_counting(), *_with_whole_past()]
    return found + [(type(policy), json.dumps(policy.snapshot())) for policy in others]


def _with_arm_effects():
    """Policies that know arms by who they are, with and without features, some of their duels out."""
    for kind, dim in [(dl.LocalPairUCB, 0), (dl.BestArmPair, 2), (dl.UniformPair, 1), (dl.RankingPair, 1)]:
        rng = np.random.default_rng(dim)
        policy, features = kind(estimator="online", random_state=dim), rng.normal(size=(9, dim))
        for round_number in range(25):
            duel = policy.ask(dl.ArmTable(9, features if dim else None))
            if round_number % 7:
                policy.tell(duel, float(rng.integers(2)))
        yield policy


def _counting():
    """Policies that count wins, before their first round and later, some of their duels out."""
    for kind in COUNTING_POLICIES.values():
        for rounds in (0, 40):
            rng, policy = np.random.default_rng(rounds), kind(horizon=100, random_state=0)
            for round_number in range(rounds):
                duel = policy.ask(6, distinct=bool(round_number % 3))
                if round_number % 7:
                    policy.tell(duel, float(rng.integers(2)))
            yield policy


def _with_whole_past():
    """FGTS, which remembers the arms of every round."""
    for rounds in (0, 25):
        rng, policy = np.random.default_rng(rounds), dl.FGTS(horizon=100, steps=2, random_state=0)
        for round_number in range(rounds):
            duel = policy.ask(rng.normal(size=(4, 3)))
            if round_number % 7:
                policy.tell(duel, float(rng.integers(2)))
        yield policy


def resealed(snapshot):
    """With the checksum that belongs to it."""
    body = {key: value for key, value in snapshot.items() if key != "checksum"}
    return {**body, "checksum": zlib.crc32(json.dumps(body, sort_keys=True).encode())}


def _packed(value):
    """An array as snapshots hold it, or whatever it is; of one that is too large, only the header."""
    if not isinstance(value, np.ndarray):
        return value
    if value.nbytes > 1 << 20:
        return {"dtype": "<f8", "shape": list(value.shape), "data": ""}
    try:
        return encode(value)
    except (TypeError, ValueError, AttributeError):
        return None


def _damage_array(rng, entry):
    """An array with other numbers, or another header than its bytes have."""
    how = rng.integers(12)
    if not isinstance(entry, dict) or not {"dtype", "shape", "data"} <= set(entry):
        return entry  # damaged already
    if how == 0:
        return {**entry, "shape": [int(values.whole(rng)) for _ in range(rng.integers(0, 4))]}
    if how == 1:
        return {**entry, "dtype": str(values.KINDS[rng.integers(len(values.KINDS))])}
    if how == 2:
        data = base64.b64decode(str(entry["data"]))
        return {**entry, "data": base64.b64encode(data[: rng.integers(len(data) + 1)]).decode()}
    try:
        array = decode(entry)
    except (ValueError, TypeError, OverflowError):
        return entry  # damaged already
    return _packed(values.damaged(rng, array) if how < 6 else values.strained(rng, array))


def damaged(rng, snapshot):
    """A snapshot, given as JSON, with one to three things wrong."""
    snapshot = json.loads(snapshot)
    for _ in range(rng.choice([1, 1, 2, 3])):
        where = rng.random()
        state = next(
            (snapshot[part] for part in ("arm_effects", "counts", "history", "state") if part in snapshot), None
        )
        if where < 0.6 and isinstance(state, dict) and state:
            name = sorted(state)[rng.integers(len(state))]
            if rng.random() < 0.05:
                del state[name]
            elif isinstance(state[name], dict):
                state[name] = _damage_array(rng, state[name])
        elif where < 0.8 and isinstance(snapshot.get("pending"), list) and snapshot["pending"]:
            duel = snapshot["pending"][rng.integers(len(snapshot["pending"]))]
            if isinstance(duel, list) and duel:
                at = int(rng.integers(len(duel)))
                is_array = isinstance(duel[at], dict) and "data" in duel[at]
                duel[at] = _damage_array(rng, duel[at]) if is_array else values.damaged(rng, duel[at])
        elif where < 0.9 and isinstance(snapshot.get("params"), dict) and snapshot["params"]:
            name = sorted(snapshot["params"])[rng.integers(len(snapshot["params"]))]
            snapshot["params"][name] = values.damaged(rng, snapshot["params"][name])
        else:
            name = sorted(snapshot)[rng.integers(len(snapshot))]
            snapshot[name] = values.damaged(rng, snapshot[name])
    return snapshot


def recommended(policy, arms):
    """A reading, for which SciPy refuses a curvature that has overflowed."""
    with contextlib.suppress(ValueError, np.linalg.LinAlgError):
        policy.recommend(arms)


def use(policy, rng):
    """What a study does with a policy; each step may be refused, and the next one is taken all the same."""
    dim = policy.dim_ or 3
    arms = rng.normal(size=(int(rng.choice([1, 2, 5, 5, 12, 300])), dim))
    for step in (
        lambda: [policy.tell(duel, 1.0) for duel in policy.pending_[:PATIENCE]],
        lambda: policy.suggest(arms, [(np.ones(dim), 0, 1.0)], seed=1),
        lambda: [policy.tell(policy.ask(arms, distinct=bool(k)), 0.5) for k in range(2)],
        lambda: policy.learn(arms[0], 1.0),
        lambda: policy.ask_batch(rng.normal(size=(3, 4, dim)), k=2, threads=int(rng.choice([1, 1, 1, 3]))),
        lambda: rng.random() < 0.2 and recommended(policy, arms[:5]),
        lambda: (policy.theta_, policy.precision_, policy.main_layer_),
        lambda: type(policy).restore(policy.snapshot()).ask(arms),
    ):
        try:
            step()
        except REFUSALS:
            continue


def use_free(policy, rng):
    """The same with a policy that knows arms by who they are."""
    n, dim = int(rng.choice([1, 2, 5, 12, 300])), policy.dim_
    arms = dl.ArmTable(rng.permutation(2 * n)[:n], rng.normal(size=(n, dim)) if dim else None)
    pair = arms[[0, n - 1]]
    for step in (
        lambda: [policy.tell(duel, 1.0) for duel in policy.pending_[:PATIENCE]],
        lambda: policy.suggest(arms, [(pair, 0, 1.0)], seed=1),
        lambda: [policy.tell(policy.ask(arms, distinct=bool(k)), 0.5) for k in range(2)],
        lambda: policy.learn(pair, 1.0),
        lambda: (policy.theta_, policy.posterior(arms, [0])),
        lambda: rng.random() < 0.2 and recommended(policy, arms[np.arange(min(n, 5))]),
        lambda: type(policy).restore(policy.snapshot()).ask(arms),
    ):
        try:
            step()
        except REFUSALS:
            continue


def use_counting(policy, rng):
    """The same with a policy that counts wins."""
    n = int(rng.choice([1, 2, 5, 12, 60]))
    arms = dl.ArmTable(rng.permutation(2 * n)[:n])
    for step in (
        lambda: [policy.tell(duel, 1.0) for duel in policy.pending_[:PATIENCE]],
        lambda: policy.suggest(arms, [([0, 3], 0, 1.0), ([1, 2], 1, 1.0)], seed=1),
        lambda: [policy.tell(policy.ask(arms, distinct=bool(k % 2)), 0.5) for k in range(8)],
        lambda: policy.learn([0, 5], 1.0),
        lambda: (policy.leader_, policy.wins_),
        lambda: type(policy).restore(policy.snapshot()).ask(arms),
    ):
        try:
            step()
        except REFUSALS:
            continue


def use_whole_past(policy, rng):
    """The same with FGTS."""
    dim = policy._history.dim if policy._history is not None else 3
    arms = rng.normal(size=(int(rng.choice([1, 2, 5, 12])), dim))
    for step in (
        lambda: [policy.tell(number, 1.0) for number in list(policy._pending)[:PATIENCE]],
        lambda: policy.suggest(arms, seed=1),
        lambda: [policy.tell(policy.ask(arms, distinct=bool(k)), 0.5) for k in range(2)],
        lambda: policy.learn(arms[:2], 1.0),
        lambda: policy.theta_,
        lambda: type(policy).restore(policy.snapshot()).ask(arms),
    ):
        try:
            step()
        except REFUSALS:
            continue


def _use_of(policy, snapshot):
    """Return the function that uses such a policy."""
    if isinstance(policy, (CountingPolicy, dl.FGTS)):
        return use_counting if isinstance(policy, CountingPolicy) else use_whole_past
    return use_free if "arm_effects" in snapshot else use


def play(rng):
    kind, snapshot = honest()[rng.integers(len(honest()))]
    bad = json.loads(json.dumps(damaged(rng, snapshot), default=str))  # as it comes out of a file
    if rng.random() < 0.97:
        bad = resealed(bad)
    try:
        policy = kind.restore(bad)
    except REFUSALS:
        return "snapshots refused"
    _use_of(policy, bad)(policy, rng)
    return "snapshots played"
