"""Snapshots of counting policies: those of the engine with "counts" instead of "state".

    {"format": "duelist.policy", "version": 1, "policy": "RUCB", "params": {...}, "next_id": 3, "counts": {name: array},
     "pending": [[id, first, second, index of the first arm, that of the second, layer]], "checksum": crc32 of the rest}

`counts` has the pairs compared with the wins of either arm, the notes of the rule, and the random generator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from duelist.core.arrays import check_integer
from duelist.core.errors import DuelistError, InvalidSnapshot
from duelist.policies.engine.snapshots import (
    FORMAT,
    VERSION,
    check_header,
    checked_params,
    checksum,
    decode,
    encode,
    plain,
)

if TYPE_CHECKING:
    from duelist.policies.counting.counting_policy import CountingPolicy

P = TypeVar("P", bound="CountingPolicy")


def pack(policy: CountingPolicy) -> dict[str, Any]:
    """Return the snapshot of a policy."""
    player = policy._player
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "policy": type(policy).__name__,
        "params": {name: plain(value) for name, value in policy.params.items()},
        "next_id": player.next_id,
        "counts": {name: encode(array) for name, array in player.arrays().items()},
        "pending": [list(duel) for duel in player.pending()],
    }
    return {**body, "checksum": checksum(body)}


def unpack(policy_class: type[P], snapshot: dict[str, Any]) -> P:
    """Return the policy of a snapshot, or raise InvalidSnapshot."""
    check_header(policy_class, snapshot)
    try:
        policy = policy_class(**checked_params(policy_class, snapshot))
        player = policy._player
        player.set_arrays({name: decode(entry) for name, entry in snapshot["counts"].items()})
        player.next_id = check_integer("next_id", snapshot["next_id"], 0)
        for duel in snapshot["pending"]:
            player.add_pending(*(check_integer("a pending duel", number, 0) for number in duel))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, MemoryError, DuelistError) as error:
        raise InvalidSnapshot(
            f"snapshot is incomplete ({error}).", "Take a new one with `snapshot()`.", field="snapshot"
        ) from error
    return policy
