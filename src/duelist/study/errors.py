"""Errors that several modules of a study raise."""

from __future__ import annotations

from duelist.core.errors import InvalidInput, NothingToAsk, StorageCorrupted, UnknownArm


def unknown_arm(arm: object) -> UnknownArm:
    """Return the error for an arm that is not in the study."""
    return UnknownArm(f"Arm {arm!r} is not in this study.", "Add it with `add_arms`.", code="unknown_arm.arm")


def too_few_arms(message: str) -> NothingToAsk:
    """Return the error for a study, or a context, with fewer active arms than a duel needs."""
    hint = "Add arms with `add_arms`, or activate retired ones with `activate`."
    return NothingToAsk(message, hint, code="nothing_to_ask.too_few_arms")


def damaged(what: str) -> StorageCorrupted:
    """Return the error for rows that contradict each other."""
    return StorageCorrupted(f"The storage is damaged: {what}.", "Continue with a copy from a backup.")


def horizon_missing(policy: str) -> InvalidInput:
    """Return the error for a policy that must know the number of rounds, and does not."""
    return InvalidInput(
        f"{policy} needs to know the number of rounds.",
        'Pass policy_settings={"horizon": 1000}, or choose RUCB or DTS.',
        code="invalid_input.horizon_missing",
        field="policy_settings",
        policy=policy,
    )
