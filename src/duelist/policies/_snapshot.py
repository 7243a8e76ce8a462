"""Snapshots: a policy as plain data, never pickle.

Format (version 1), every value plain JSON:

    {"format": "duelist.policy", "version": 1, "policy": "VACDB",
     "params": {...}, "next_id": 3, "state": {name: array}, "pending": [[id, layer, share, array]],
     "checksum": crc32 of all the rest}

An array is {"dtype": "<f8", "shape": [..], "data": base64 of its bytes}, so floats and the
random generator come back to the bit.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from duelist.errors import DuelistError, InvalidSnapshot
from duelist.policies._state import Pending, State

if TYPE_CHECKING:
    from duelist.policies._base import CompiledPolicy

FORMAT = "duelist.policy"
VERSION = 1

P = TypeVar("P", bound="CompiledPolicy")


def pack(policy: CompiledPolicy) -> dict[str, Any]:
    """The snapshot of a policy."""
    state = policy._state
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "policy": type(policy).__name__,
        "params": {name: _plain(value) for name, value in policy.params.items()},
        "next_id": policy._next_id,
        "state": None if state is None else {n: _encode(a) for n, a in state._asdict().items()},
        "pending": [[i, p.layer, p.share, _encode(p.difference)] for i, p in policy._pending.items()],
    }
    return {**body, "checksum": _checksum(body)}


def unpack(policy_class: type[P], snapshot: dict[str, Any]) -> P:
    """The policy of a snapshot, or InvalidSnapshot with the reason."""
    _check_header(policy_class, snapshot)
    try:
        policy = policy_class(**snapshot["params"])
        pending = {int(i): Pending(_decode(z), int(layer), float(share)) for i, layer, share, z in snapshot["pending"]}
        if snapshot["state"] is not None:
            policy._state = State(**{name: _decode(a) for name, a in snapshot["state"].items()})
            policy._config = policy.make_config()
        policy._next_id = int(snapshot["next_id"])
        policy._pending = pending
    except (KeyError, TypeError, ValueError, DuelistError) as error:
        raise InvalidSnapshot(f"snapshot is incomplete ({error}); take a new one with `snapshot()`") from error
    return policy


def _check_header(policy_class: type, snapshot: Any) -> None:
    if not isinstance(snapshot, dict) or snapshot.get("format") != FORMAT:
        raise InvalidSnapshot(f"not a policy snapshot: {str(snapshot)[:60]!r}; give what `snapshot()` returned")
    if snapshot.get("version") != VERSION:
        raise InvalidSnapshot(
            f"snapshot has version {snapshot.get('version')!r}, this release reads version {VERSION}; "
            "restore it with the release of duelist that made it"
        )
    if snapshot.get("policy") != policy_class.__name__:
        raise InvalidSnapshot(
            f"snapshot is of {snapshot.get('policy')!r}, not {policy_class.__name__}; "
            "restore it with its own class, or with `duelist.restore_policy`"
        )
    body = {key: value for key, value in snapshot.items() if key != "checksum"}
    if snapshot.get("checksum") != _checksum(body):
        raise InvalidSnapshot(
            f"snapshot is damaged (checksum {snapshot.get('checksum')!r} does not match); use an older copy"
        )


def _checksum(body: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _encode(array: NDArray[Any]) -> dict[str, Any]:
    ordered = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(ordered.tobytes()).decode("ascii")
    return {"dtype": ordered.dtype.str, "shape": list(array.shape), "data": data}


def _decode(entry: dict[str, Any]) -> NDArray[Any]:
    try:
        data = base64.b64decode(entry["data"], validate=True)
    except binascii.Error as error:
        raise ValueError(f"an array is not base64: {error}") from None
    array = np.frombuffer(data, dtype=np.dtype(entry["dtype"])).reshape(entry["shape"])
    return array.astype(array.dtype.newbyteorder("=")).copy()
