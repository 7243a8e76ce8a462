"""Snapshots: a policy as plain data, never pickle.

Format (version 1), plain JSON:

    {"format": "duelist.policy", "version": 1, "policy": "VACDB",
     "params": {...}, "next_id": 3, "words": array, "state": {name: array} or None,
     "pending": [[id, first, second, layer, share, array]], "pair_counts": {name: array} or None,
     "checksum": crc32 of the rest}

The array of a pending duel has the features of its two arms. `pair_counts` has the votes by pair of arms, and the features
of these arms; None if some are unknown or pairs are too many. With arm effects, "arm_effects": [{name: array}], one per
model, "words_now": array and "rounds": 3 replace "state", and "pending" has [id, first, second, id of the first arm, id of
the second, array]; before the first arms, "arms": "table" says that the policy accepts an `ArmTable` only.

An array is {"dtype": "<f8", "shape": [..], "data": its bytes in base64}, so floats and the random generator are
restored bit for bit. `state` holds the arrays of the engine's state by name, and the engine validates each of them.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from duelist import native
from duelist.core.arms import MAX_ARMS
from duelist.core.arrays import Floats, check_integer
from duelist.core.errors import DuelistError, InvalidSnapshot
from duelist.policies.engine.arm_effects import ArmEffectsLearner, PendingDuel, check_support

if TYPE_CHECKING:
    from duelist.policies.engine.native_policy import NativePolicy

FORMAT: Final = "duelist.policy"
VERSION: Final = 1

P = TypeVar("P", bound="NativePolicy")


def pack(policy: NativePolicy) -> dict[str, Any]:
    """Return the snapshot of a policy."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "policy": type(policy).__name__,
        "params": {name: plain(value) for name, value in policy.params.items()},
        "words": encode(policy._words),
        **(_pack_player(policy._player) if policy._effects is None else _pack_learner(policy._effects)),
        **({"arms": "table"} if policy._requires_arm_table and policy._effects is None else {}),
    }
    return {**body, "checksum": checksum(body)}


def _pack_player(player: Any) -> dict[str, Any]:
    arrays = None if player.dim == 0 else player.state.arrays()
    counts = None if player.dim == 0 else player.pair_counts()
    return {
        "next_id": player.next_id,
        "state": None if arrays is None else _encode_all(arrays),
        "pair_counts": None if counts is None else _encode_all(counts),
        "pending": [[*duel, encode(arms)] for *duel, arms in player.pending()],
    }


def _pack_learner(learner: ArmEffectsLearner) -> dict[str, Any]:
    return {
        "next_id": learner.next_id,
        "rounds": learner.rounds,
        "arm_effects": [_encode_all(model) for model in learner.state.arrays()],
        "words_now": encode(learner.state.words),
        "pending": [
            [number, duel.first, duel.second, *duel.arms, encode(duel.difference)]
            for number, duel in learner.pending.items()
        ],
    }


def _encode_all(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    return {name: encode(array) for name, array in arrays.items()}


def unpack(policy_class: type[P], snapshot: dict[str, Any]) -> P:
    """Return the policy of a snapshot, or raise InvalidSnapshot."""
    check_header(policy_class, snapshot)
    try:
        policy = policy_class(**checked_params(policy_class, snapshot))
        policy._words = _checked_words(decode(snapshot["words"]))
        if "arm_effects" in snapshot:
            policy._effects = _unpack_learner(policy, snapshot)
            return policy
        if snapshot.get("arms") == "table":
            return policy.require_arm_table()
        player = policy._player
        if snapshot["state"] is not None:
            arrays = {name: decode(entry) for name, entry in snapshot["state"].items()}
            layers, dim = arrays["theta"].shape
            player.begin(native.restore_policy_state(dim, layers, policy.link, policy.online_, arrays))
        if snapshot["pair_counts"] is not None:
            player.set_pair_counts({name: decode(entry) for name, entry in snapshot["pair_counts"].items()})
        player.next_id = int(snapshot["next_id"])
        for number, first, second, layer, share, arms in snapshot["pending"]:
            player.add_pending(
                int(number),
                int(first),
                int(second),
                int(layer),
                _checked_share(share),
                _checked_floats(decode(arms)),
            )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, MemoryError, DuelistError) as error:
        raise InvalidSnapshot(
            f"snapshot is incomplete ({error}).", "Take a new one with `snapshot()`.", field="snapshot"
        ) from error
    return policy


def _unpack_learner(policy: NativePolicy, snapshot: dict[str, Any]) -> ArmEffectsLearner:
    """Return the learner of arm effects with its pending duels."""
    check_support(policy)
    models = [{name: decode(entry) for name, entry in model.items()} for model in snapshot["arm_effects"]]
    words = _checked_words(decode(snapshot["words_now"]))
    learner = ArmEffectsLearner(policy, native.restore_arm_effects(policy.link, models, words))
    learner.next_id, learner.rounds = (check_integer(name, snapshot[name], 0) for name in ("next_id", "rounds"))
    for number, first, second, one, other, difference in snapshot["pending"]:
        z = _checked_floats(decode(difference))
        ids = tuple(check_integer("an arm", arm, 0) for arm in (one, other))
        if (
            z.shape != (learner.state.dim,)
            or not np.isfinite(z).all()
            or max(ids) >= MAX_ARMS
            or not 0 <= number < learner.next_id
        ):
            raise ValueError(f"pending duel {number} does not fit the state")
        learner.pending[int(number)] = PendingDuel(int(first), int(second), (ids[0], ids[1]), z)
    return learner


def checked_params(policy_class: Any, snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return the settings in a snapshot, checked against those of the policy."""
    params = snapshot["params"]
    if not isinstance(params, dict):
        raise TypeError(f"params are {params!r}")
    unknown = sorted(set(params) - set(policy_class.setting_names()))
    if unknown:
        raise ValueError(f"{policy_class.__name__} has no setting {unknown[0]!r}")
    return params


def _checked_words(words: NDArray[Any]) -> NDArray[np.uint64]:
    if words.dtype != np.uint64 or words.shape != (4,):
        raise ValueError(f"words have shape {words.shape} and type {words.dtype}")
    return words


def _checked_share(share: Any) -> float:
    if not 0.0 <= float(share) < np.inf:
        raise ValueError(f"a duel has a share of {share}")
    return float(share)


def _checked_floats(numbers: NDArray[Any]) -> Floats:
    if numbers.dtype != np.float64:
        raise ValueError(f"features have type {numbers.dtype}")
    return numbers


def check_header(policy_class: type, snapshot: Any) -> None:
    """Raise InvalidSnapshot unless this is an intact snapshot of that policy."""
    if not isinstance(snapshot, dict) or snapshot.get("format") != FORMAT:
        raise InvalidSnapshot(f"Not a policy snapshot: {str(snapshot)[:60]!r}.", "Give what `snapshot()` returned.")
    if snapshot.get("version") != VERSION:
        raise InvalidSnapshot(
            f"snapshot has version {snapshot.get('version')!r}, but this duelist reads version {VERSION}.",
            "Restore it with the duelist that made it.",
        )
    if snapshot.get("policy") != policy_class.__name__:
        raise InvalidSnapshot(
            f"snapshot is of {snapshot.get('policy')!r}, not {policy_class.__name__}.",
            "Restore it with its own class, or with `duelist.restore_policy`.",
            field="snapshot",
        )
    body = {key: value for key, value in snapshot.items() if key != "checksum"}
    try:
        expected = checksum(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidSnapshot(
            f"snapshot holds what JSON cannot ({error}).", "Give what `snapshot()` returned."
        ) from None
    if snapshot.get("checksum") != expected:
        raise InvalidSnapshot(
            f"snapshot is damaged (checksum {snapshot.get('checksum')!r} does not match).",
            "Use another copy.",
            field="snapshot",
        )


def checksum(body: dict[str, Any]) -> int:
    """Return the checksum of a snapshot without its checksum."""
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def plain(value: Any) -> Any:
    """Return a setting as a JSON value."""
    return value.item() if isinstance(value, np.generic) else value


def encode(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as plain data."""
    ordered = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(ordered.tobytes()).decode("ascii")
    return {"dtype": ordered.dtype.str, "shape": list(array.shape), "data": data}


def decode(entry: dict[str, Any]) -> NDArray[Any]:
    """Return the array of plain data."""
    try:
        data = base64.b64decode(entry["data"], validate=True)
    except binascii.Error as error:
        raise ValueError(f"an array is not base64: {error}") from None
    kind = np.dtype(entry["dtype"])
    if kind.kind not in "fiu":
        raise ValueError(f"an array is of type {kind}")
    array = np.frombuffer(data, dtype=kind).reshape(entry["shape"])
    return array.astype(array.dtype.newbyteorder("=")).copy()
