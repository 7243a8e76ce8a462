"""Snapshots: a policy as plain data, never pickle.

Format (version 2), every value plain JSON:

    {"format": "duelist.policy", "version": 2, "policy": "VACDB",
     "params": {...}, "next_id": 3, "state": {name: array}, "words": array,
     "pending": [[id, first, second, layer, share, array]],
     "checksum": crc32 of all the rest}

An array is {"dtype": "<f8", "shape": [..], "data": base64 of its bytes}, so floats and the
random generator come back to the bit. `state` holds the arrays of a `State` by name.
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
from duelist.policies._state import ARRAYS, POOLED, Layout, Memory, Pending, memory_for

if TYPE_CHECKING:
    from duelist.policies._base import CompiledPolicy

FORMAT = "duelist.policy"
VERSION = 2

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
        "words": _encode(policy._words),
        "state": None if state is None else {n: _encode(getattr(state, n)) for n in ARRAYS},
        "pending": [
            [i, p.first, p.second, p.layer, p.share, _encode(p.difference)] for i, p in policy._pending.items()
        ],
    }
    return {**body, "checksum": _checksum(body)}


def unpack(policy_class: type[P], snapshot: dict[str, Any]) -> P:
    """The policy of a snapshot, or InvalidSnapshot with the reason."""
    _check_header(policy_class, snapshot)
    try:
        policy = policy_class(**snapshot["params"])
        pending = {
            int(i): Pending(int(first), int(second), _decode(z), int(layer), float(share))
            for i, first, second, layer, share, z in snapshot["pending"]
        }
        policy._words = _decode(snapshot["words"])
        policy._next_id = int(snapshot["next_id"])
        policy._pending = pending
        if snapshot["state"] is not None:
            memory = _checked_memory({name: _decode(snapshot["state"][name]) for name in ARRAYS}, pending)
            policy._config = policy.make_config()
            policy._adopt(memory)
            policy._make_scratch(1)
    except (KeyError, TypeError, ValueError, AttributeError, DuelistError) as error:
        raise InvalidSnapshot(f"snapshot is incomplete ({error}); take a new one with `snapshot()`") from error
    return policy


def _checked_memory(arrays: dict[str, NDArray[Any]], pending: dict[int, Pending]) -> Memory:
    """The arrays as the memory of one run.

    Shapes, types and indices must fit together: compiled code follows them without a second look.
    """
    layers, dim = arrays["theta"].shape
    (capacity,) = arrays["mass"].shape
    slots = Layout(layers, dim, capacity).table_size
    if slots < 2 or slots & (slots - 1):
        raise ValueError(f"there is room for {capacity} rows, which no policy makes")
    memory = memory_for(1, Layout(layers, dim, capacity))
    room = memory.state()
    for name, got in arrays.items():
        wanted = getattr(room, name)
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            raise ValueError(
                f"{name} has shape {got.shape} and type {got.dtype}, not {wanted.shape} and {wanted.dtype}"
            )
        wanted[...] = got
    rows = int(arrays["n_rows"][0])
    if not 0 <= rows <= capacity:
        raise ValueError(f"there are {rows} rows with room for {capacity}")
    limits = {"head": (-1, rows), "chain": (0, rows + 1), "next_row": (-1, rows), "place": (0, rows)}
    limits |= {"layer": (0, layers), "table": (0, rows + 1)}
    for name, (low, high) in limits.items():
        values = arrays[name]
        values = values[:rows] if name in POOLED else values
        if ((values < low) | (values >= high)).any():
            raise ValueError(f"{name} points outside the rows")
    for key, duel in pending.items():
        if duel.difference.dtype != np.float64 or duel.difference.shape != (dim,) or not -1 <= duel.layer < layers:
            raise ValueError(f"pending duel {key} does not fit the state")
    return memory


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
    try:
        expected = _checksum(body)
    except (TypeError, ValueError) as error:
        raise InvalidSnapshot(f"snapshot holds what JSON cannot ({error}); give what `snapshot()` returned") from None
    if snapshot.get("checksum") != expected:
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
