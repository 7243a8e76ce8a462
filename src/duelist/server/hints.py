"""Hints in the words of HTTP, for errors whose own hint names functions and arguments of Python."""

from __future__ import annotations

from typing import Final

HINTS: Final = {
    "invalid_input.arms_shape": "Give one feature vector per item.",
    "invalid_input.column_missing": "Its columns are {columns}. Rename the one that is meant to {column}.",
    "invalid_input.copy_target": "Send another name.",
    "invalid_input.criterion_missing": 'Name the one that the vote is on in "criterion", or send "outcomes" to vote on all of them.',
    "invalid_input.encoding": "Save it as UTF-8.",
    "invalid_input.horizon_missing": 'Send "policy_settings": {{"horizon": 1000}}, or choose RUCB or DTS.',
    "invalid_input.other_features": "Give this one another id, or the stored features.",
    "invalid_input.same_content": "Name the items in a column named id if this is another one, or give it the stored features.",
    "limit_reached.per_rater": "An owner of the study can raise the limit.",
    "limit_reached.total": "An owner of the study can raise the limit.",
    "missing_extra.encoding": "Save it as UTF-8, or name its encoding.",
    "nothing_to_ask.too_few_arms": "An owner of the study can add items, or bring retired ones back.",
    "rater_blocked.blocked": "An owner of the study can unblock them.",
    "study_exists.name": 'Use it, send "load_if_exists": true, or choose another name.',
    "study_exists.settings": "Leave it out, change it with `PATCH` of the study where it can be changed, or choose another name.",
    "study_not_open": "An owner can open it again.",
    "unknown_arm.arm": "An owner of the study can add it.",
    "unknown_arm.context": "An owner of the study can add its items.",
    "unknown_arm.file": "An owner of the study can upload it.",
    "unknown_study.id": "`GET /api/v1/studies` lists the studies.",
    "unknown_study.storage": "Create a study with `POST /api/v1/studies`.",
    "unknown_token.id": "`GET /api/v1/tokens` lists the tokens.",
    "vote_conflict.contradiction": 'Send "revise": true to change the vote.',
    "vote_conflict.rater_blocked": "An owner of the study can unblock them.",
    "vote_conflict.study_not_open": "An owner can open it again.",
}
