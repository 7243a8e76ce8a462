"""Snapshots: a policy as plain data, never pickle.

Format (version 1), every value plain JSON:

    {"format": "duelist.policy", "version": 1, "policy": "VACDB",
     "params": {...}, "next_id": 3, "state": {name: array}, "words": array,
     "pending": [[id, first, second, layer, share, array]],
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
from duelist.policies._state import Pending, State, empty_state

if TYPE_CHECKING:
    from duelist.policies._base import CompiledPolicy

FORMAT = "duelist.policy"
VERSION = 1

_POOLED = ("z", "mass", "wins", "layer", "next_row", "table")

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
        "state": None if state is None else {n: _encode(a) for n, a in state._asdict().items()},
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
        if snapshot["state"] is not None:
            policy._state = State(**{name: _decode(a) for name, a in snapshot["state"].items()})
            policy._config = policy.make_config()
            _check_state(policy._state, pending)
        policy._words = _decode(snapshot["words"])
        policy._next_id = int(snapshot["next_id"])
        policy._pending = pending
    except (KeyError, TypeError, ValueError, AttributeError, DuelistError) as error:
        raise InvalidSnapshot(f"snapshot is incomplete ({error}); take a new one with `snapshot()`") from error
    return policy


def _check_state(state: State, pending: dict[int, Pending]) -> None:
    """Shapes, types and indices fit together: compiled code follows them without a second look."""
    runs, layers, dim = state.theta.shape
    capacity = state.mass.shape[1]
    model = empty_state(
        state.words, np.ones(1), np.ones(1), np.ones((1, layers)), np.ones((1, layers)), np.ones((1, layers)), dim
    )
    for name in State._fields:
        got, wanted = getattr(state, name), getattr(model, name)
        sizes = {model.mass.shape[1]: capacity, model.table.shape[1]: 2 * capacity}
        shape = tuple(
            sizes.get(n, n) if k == len(wanted.shape) - 1 and name in _POOLED else n for k, n in enumerate(wanted.shape)
        )
        if got.dtype != wanted.dtype or got.shape != shape:
            raise ValueError(f"{name} has shape {got.shape} and type {got.dtype}, not {shape} and {wanted.dtype}")
    rows = int(state.n_rows[0])
    if runs != 1 or not 0 <= rows <= capacity or capacity & (capacity - 1):
        raise ValueError(f"there are {rows} rows with room for {capacity}")
    for name, low, high in (("head", -1, rows), ("next_row", -1, rows), ("layer", 0, layers), ("table", 0, rows + 1)):
        values = getattr(state, name)
        values = values[:, :rows] if name in ("next_row", "layer") else values
        if ((values < low) | (values >= high)).any():
            raise ValueError(f"{name} points outside the rows")
    for key, duel in pending.items():
        if duel.difference.shape != (dim,) or not -1 <= duel.layer < layers:
            raise ValueError(f"pending duel {key} does not fit the state")


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
