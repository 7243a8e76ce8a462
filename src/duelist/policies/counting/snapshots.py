"""Snapshots of policies that count wins: as those of the engine, with "counts" in the place of "state".

    {"format": "duelist.policy", "version": 1, "policy": "RUCB", "params": {...}, "next_id": 3, "counts": {name: array},
     "pending": [[id, first, second, the arm's number inside, that of the other, layer]], "checksum": crc32 of all the rest}

`counts` has the pairs that have met, with the wins of either, what the rule has noted, and the random generator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from duelist.core.arrays import check_integer
from duelist.core.errors import DuelistError, InvalidSnapshot
from duelist.policies.engine.snapshots import (
    FORMAT,
    VERSION,
    check_header,
    checksum,
    decode,
    encode,
    known_params,
    plain,
)

if TYPE_CHECKING:
    from duelist.policies.counting.counting_policy import CountingPolicy

P = TypeVar("P", bound="CountingPolicy")


def pack(policy: CountingPolicy) -> dict[str, Any]:
    """The snapshot of a policy."""
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
    """The policy of a snapshot, or InvalidSnapshot with the reason."""
    check_header(policy_class, snapshot)
    try:
        policy = policy_class(**known_params(policy_class, snapshot))
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
