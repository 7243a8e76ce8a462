"""Snapshots: what restore refuses, and that everything it takes comes back to the bit."""

import base64
import copy
import json
import pickle

import numpy as np
import pytest

import duelist as dl
from duelist.policies import POLICIES
from duelist.policies.engine.snapshots import checksum, decode, encode
from duelist.testing.policies import draw_arms, play
from tests.helpers.policy_state import known, pending


def played(name="VACDB", waiting=2, **settings):
    policy = POLICIES[name](random_state=0, **settings)
    play(policy, draw_arms(30))
    for arms in draw_arms(waiting, seed=1):
        policy.ask(arms)
    return policy


HEADER = ["format", "version", "policy", "checksum"]
PARTS = list(played().snapshot())


@pytest.fixture(params=POLICIES)
def policy(request):
    return played(request.param)


@pytest.fixture
def snapshot():
    return played().snapshot()


def refused(snapshot, *says, cls=dl.VACDB):
    """Both ways to restore refuse it, with words to say why, and do not touch it."""
    before = copy.deepcopy(snapshot)
    for restore in (cls.restore, dl.restore_policy):
        with pytest.raises(dl.InvalidSnapshot) as caught:
            restore(snapshot)
        for words in says:
            assert words in str(caught.value)
    assert snapshot == before


def sealed(snapshot, **changes):
    """A snapshot with changes and the checksum that belongs to them, as a careful forger would make it."""
    body = {key: value for key, value in {**snapshot, **changes}.items() if key != "checksum"}
    return {**body, "checksum": checksum(body)}


# -- the wrong thing -----------------------------------------------------------------------------


def test_format_is_as_documented(snapshot):
    assert {*HEADER, "params", "next_id", "state", "pending"} <= set(snapshot)
    assert snapshot["format"] == "duelist.policy"
    assert snapshot["version"] == 1


@pytest.mark.parametrize(
    "thing", [None, 3, "text", "{}", b"bytes", [], [1, 2], {}, {"a": 1}, {"policy": "VACDB"}], ids=repr
)
def test_not_a_snapshot(thing):
    with pytest.raises(dl.InvalidSnapshot, match=r"Not a policy snapshot: .*. Give what `snapshot\(\)` returned"):
        dl.VACDB.restore(thing)
    with pytest.raises(dl.InvalidSnapshot):
        dl.restore_policy(thing)


def test_json_text_is_not_yet_a_snapshot(snapshot):
    with pytest.raises(dl.InvalidSnapshot, match="Not a policy snapshot"):
        dl.VACDB.restore(json.dumps(snapshot))
    with pytest.raises(dl.InvalidSnapshot):
        dl.restore_policy(json.dumps(snapshot))


@pytest.mark.parametrize("name", [n for n in POLICIES if n != "VACDB"])
def test_snapshot_of_another_policy(snapshot, name):
    with pytest.raises(dl.InvalidSnapshot, match=rf"'VACDB', not {name}\. .*restore_policy"):
        POLICIES[name].restore(snapshot)


@pytest.mark.parametrize("name", ["Oracle", "vacdb", "", None, 3, ["VACDB"]], ids=repr)
def test_unknown_policy(snapshot, name):
    changed = sealed(snapshot, policy=name)
    refused(changed, repr(name))
    with pytest.raises(
        dl.InvalidSnapshot, match=r"Known are LocalPairUCB, |is not registered\. Call `restore`|'vacdb', not VACDB"
    ):
        dl.restore_policy(changed)


@pytest.mark.parametrize("version", [0, 2, 99, "1", None])
def test_another_version(snapshot, version):
    says = [f"version {version!r}", "reads version 1", "with the duelist that made it"]
    refused(sealed(snapshot, version=version), *says)


@pytest.mark.parametrize("form", ["duelist.simulation.runs", "", None, 1])
def test_another_format(snapshot, form):
    refused(sealed(snapshot, format=form), "Not a policy snapshot")


# -- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_missing_part(snapshot, part):
    del snapshot[part]
    refused(snapshot)


@pytest.mark.parametrize("part", [part for part in PARTS if part not in HEADER])
def test_missing_part_with_its_checksum_in_order(snapshot, part):
    del snapshot[part]
    refused(sealed(snapshot), "incomplete", part, "Take a new one")


@pytest.mark.parametrize("name", played().snapshot()["state"])
def test_missing_array(snapshot, name):
    del snapshot["state"][name]
    refused(snapshot, "damaged", "Use another copy")
    refused(sealed(snapshot), "incomplete", name)


@pytest.mark.parametrize("key", ["dtype", "shape", "data"])
def test_missing_part_of_an_array(snapshot, key):
    del snapshot["state"]["theta"][key]
    refused(sealed(snapshot), "incomplete", key)


def places(tree, path=()):
    """The path to every number and text in a snapshot."""
    if isinstance(tree, dict | list):
        pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return [place for key, value in pairs for place in places(value, (*path, key))]
    return [path] if isinstance(tree, str | int | float) and tree != "" else []


def flipped(value):
    """The value with one character of its text changed."""
    if isinstance(value, str):
        middle = len(value) // 2
        return value[:middle] + ("B" if value[middle] != "B" else "C") + value[middle + 1 :]
    return not value if isinstance(value, bool) else value + 1


@pytest.mark.parametrize("path", places(played().snapshot()), ids=lambda path: "/".join(str(key) for key in path))
def test_one_character_flipped(snapshot, path):
    parent = snapshot
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = flipped(parent[path[-1]])
    refused(snapshot)


def test_every_part_is_flipped():
    assert {path[0] for path in places(played().snapshot())} == set(PARTS)


def test_every_character_of_a_small_array_counts(snapshot):
    data = snapshot["state"]["rounds"]["data"]
    for k in range(len(data)):
        wrong = "A" if data[k] != "A" else "B"
        snapshot["state"]["rounds"]["data"] = data[:k] + wrong + data[k + 1 :]
        refused(snapshot, "damaged", "Use another copy")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("params", None),
        ("params", {"horizon": -5}),
        ("params", {"flavour": "sweet"}),
        ("params", []),
        ("next_id", None),
        ("next_id", "many"),
        ("state", []),
        ("state", {}),
        ("state", {"words": 3}),
        ("pending", None),
        ("pending", [[1, 2]]),
        ("pending", [[0, 0, 1, 0, 1.0, {"dtype": "<f8", "shape": [3], "data": "no base64!"}]]),
        ("pending", [[0, 0, 1, 0, 1.0, {"dtype": "<f8", "shape": [4], "data": ""}]]),
    ],
    ids=str,
)
def test_nonsense_with_its_checksum_in_order(snapshot, part, value):
    refused(sealed(snapshot, **{part: value}), "incomplete", "Take a new one")


@pytest.mark.parametrize("dtype", ["O", "|O", "<M8[s]x", "nonsense", ""])
def test_array_of_a_forbidden_type(snapshot, dtype):
    snapshot["state"]["theta"]["dtype"] = dtype
    refused(sealed(snapshot), "incomplete")


def put(name, change):
    """Changes one array of the state."""
    return lambda s: s["state"].update({name: encode(change(decode(s["state"][name])))})


def with_entry(value, *at):
    def change(array):
        array[at] = value
        return array

    return change


# The engine takes what it is given for true afterwards: what is out of step must not get that far.
OUT_OF_STEP = {
    "theta for another dim": put("theta", lambda a: a[..., :2]),
    "factor without its layers": put("factor", lambda a: a.reshape(-1, 3)),
    "no layers": put("theta", lambda a: a[:0]),
    "whole numbers for floats": lambda s: s["state"]["theta"].update(dtype="<i8"),
    "floats for whole numbers": put("n_rows", lambda a: a.astype(float)),
    "words of another size": put("words", lambda a: a[:3]),
    "other words at the top": lambda s: s.update(words=encode(np.zeros(4))),
    "more rows than there are": put("n_rows", lambda a: np.full_like(a, 10**9)),
    "so many rows that they overflow": put("n_rows", lambda a: np.full_like(a, 2**62)),
    "fewer rows than none": put("n_rows", lambda a: np.full_like(a, -1)),
    "no number of rows": put("n_rows", lambda a: a[:0]),
    "mass for fewer rows": put("mass", lambda a: a[:-1]),
    "mass below zero": put("mass", with_entry(-1.0, 0)),
    "a difference twice": put("z", lambda a: np.repeat(a[:1], len(a), axis=0)),
    "a difference that is not finite": put("z", with_entry(np.inf, 0, 0)),
    "wins that are not finite": put("wins", with_entry(np.nan, 0)),
    "an estimate that is not finite": put("theta", with_entry(np.nan, 0, 0)),
    "a factor with a zero on its diagonal": put("factor", with_entry(0.0, 0, 1, 1)),
    "a curvature below zero": put("curvature", with_entry(-1.0, 0, 0, 0)),
    "a ridge of zero": put("ridge", with_entry(0.0, 0)),
    "scalars of zero": put("scalars", np.zeros_like),
    "rounds before the first": put("rounds", lambda a: a - 10**6),
    "an unknown status of the fit": put("fit_status", with_entry(3, 0)),
    "an update before the first round": put("last_update", with_entry(-1, 0)),
    "a pending duel in no layer": lambda s: s["pending"][0].__setitem__(3, 10**9),
    "a pending duel for another dim": lambda s: s["pending"][0].__setitem__(5, encode(np.zeros((2, 2)))),
    "a pending duel that is not finite": lambda s: s["pending"][0].__setitem__(5, encode(np.full((2, 3), np.nan))),
    "a pending duel with a share below zero": lambda s: s["pending"][0].__setitem__(4, -1.0),
    "a pending duel with a share that is not finite": lambda s: s["pending"][0].__setitem__(4, float("inf")),
}


@pytest.mark.parametrize("kind", OUT_OF_STEP)
def test_parts_out_of_step_with_each_other(snapshot, kind):
    OUT_OF_STEP[kind](snapshot)
    refused(sealed(snapshot))


@pytest.mark.parametrize("value", [{1, 2}, np.arange(3), b"bytes", object()], ids=lambda v: type(v).__name__)
def test_what_json_cannot_hold(snapshot, value):
    snapshot["params"] = {**snapshot["params"], "scale": value}
    for restore in (dl.VACDB.restore, dl.restore_policy):
        with pytest.raises(dl.InvalidSnapshot):
            restore(snapshot)


def test_errors_are_ours():
    assert issubclass(dl.InvalidSnapshot, dl.DuelistError)
    assert issubclass(dl.InvalidSnapshot, ValueError)


# -- what comes back -----------------------------------------------------------------------------


def test_restore_policy_finds_the_class(policy):
    again = dl.restore_policy(policy.snapshot())
    assert type(again) is type(policy)
    assert again.snapshot() == policy.snapshot()


def test_every_array_survives(policy):
    again = type(policy).restore(json.loads(json.dumps(policy.snapshot())))
    before, after = (p._player.state.arrays() for p in (policy, again))
    assert list(after) == list(before)
    for name, array in before.items():
        assert (after[name].dtype, after[name].shape) == (array.dtype, array.shape), name
        assert after[name].tobytes() == array.tobytes(), name


def test_pending_duels_survive(policy):
    again = type(policy).restore(policy.snapshot())
    assert again.pending_ == policy.pending_
    assert len(again.pending_) == 2
    copies = pending(again)
    for number, duel in pending(policy).items():
        assert copies[number][:4] == duel[:4]
        assert copies[number].difference.tobytes() == duel.difference.tobytes()


ARRAYS = {
    "floats": np.array([0.1, -0.0, 1e-308, 5e-324, 1.7976931348623157e308]),
    "not finite": np.array([np.nan, np.inf, -np.inf]),
    "whole": np.array([[-(2**63), 2**63 - 1]]),
    "words": np.array([0, 2**64 - 1], np.uint64),
    "empty": np.zeros((2, 0, 3)),
    "one number": np.array(2.5),
    "big-endian": np.arange(5.0).astype(">f8"),
    "every other": np.arange(12.0).reshape(3, 4)[:, ::2],
    "by columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_array_through_json(kind):
    array = ARRAYS[kind]
    again = decode(json.loads(json.dumps(encode(array))))
    native = array.astype(array.dtype.newbyteorder("="))
    assert (again.dtype, again.shape) == (native.dtype, native.shape)
    assert again.tobytes() == native.tobytes()


def test_array_text_is_what_the_format_says():
    entry = {"dtype": "<f8", "shape": [2], "data": base64.b64encode(np.array([1.0, -2.0], "<f8").tobytes()).decode()}
    assert encode(np.array([1.0, -2.0])) == entry
    np.testing.assert_array_equal(decode(entry), [1.0, -2.0])


@pytest.mark.parametrize("style", [{}, {"indent": 2}, {"sort_keys": True}, {"separators": (",", ":")}], ids=str)
def test_through_a_text_file(policy, tmp_path, style):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(policy.snapshot(), **style), encoding="ascii")
    again = dl.restore_policy(json.loads(path.read_text(encoding="ascii")))
    shown = draw_arms(50, seed=2)
    assert play(again, shown) == play(policy, shown)
    assert again.snapshot() == policy.snapshot()


@pytest.mark.parametrize(
    "settings",
    [
        {"horizon": np.int64(100), "scale": np.float64(0.5), "radius": np.float32(0.25)},
        {"ridge": np.int32(2), "alpha": np.float64(0.125)},
        {"explore": "random", "variance": "high", "link": "probit"},
        {"radius": "theory", "delta": 0.1, "theta_bound": 2},
    ],
    ids=str,
)
def test_settings_survive(settings):
    policy = dl.VACDB(random_state=np.uint32(7), **settings)
    play(policy, draw_arms(10))
    again = dl.restore_policy(json.loads(json.dumps(policy.snapshot())))
    assert again.params == policy.params
    shown = draw_arms(30, seed=2)
    assert play(again, shown) == play(policy, shown)


@pytest.mark.parametrize("asks", [0, 1, 5])
def test_unseeded_policy_goes_on_with_the_same_duels(asks):
    policy = dl.UniformPair(random_state=None)
    shown = draw_arms(40, least=5)
    play(policy, shown[:asks])
    again = dl.UniformPair.restore(policy.snapshot())
    assert play(again, shown) == play(policy, shown)


def test_growth_survives():
    policy = dl.UniformPair(random_state=0)
    play(policy, draw_arms(200))
    assert known(policy).mass.size > 80  # it had to make room for more differences, again and again
    again = dl.UniformPair.restore(policy.snapshot())
    shown = draw_arms(200, seed=3)
    assert play(again, shown) == play(policy, shown)
    assert again.snapshot() == policy.snapshot()


def test_reading_the_estimate_does_not_change_the_duels(policy):
    control = type(policy).restore(policy.snapshot())
    shown = draw_arms(40, seed=4)
    read = []
    for k, arms in enumerate(shown):
        read += play(policy, [arms], seed=k)
        assert np.isfinite(policy.theta_).all()
    assert read == [play(control, [arms], seed=k)[0] for k, arms in enumerate(shown)]


def test_never_pickle(policy, monkeypatch):
    def forbidden(*args, **kwargs):
        raise AssertionError("a snapshot went through pickle")

    for verb in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, verb, forbidden)
    again = type(policy).restore(json.loads(json.dumps(policy.snapshot())))
    assert again.snapshot() == policy.snapshot()
