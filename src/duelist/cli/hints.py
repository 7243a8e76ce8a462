"""Hints for the shell, for errors whose own hint is about Python."""

from __future__ import annotations

import shlex
from typing import Final

from duelist.core.errors import DuelistError

HINTS: Final = {
    "invalid_input.arms_shape": "Give one feature vector per item.",
    "invalid_input.column_missing": "Its columns are {columns}. If one of them is meant, add --column {column}=COLUMN.",
    "invalid_input.copy_target": "Add --to-storage or --to-name.",
    "invalid_input.criterion_missing": "Name the one that the vote is on with --criterion.",
    "invalid_input.encoding": "Save it as UTF-8, or name its encoding with --option encoding=cp1252 where the format takes one.",
    "invalid_input.horizon_missing": "Name it, as in --policy {policy}:horizon=1000, or choose RUCB or DTS.",
    "invalid_input.class_not_registered": "If you trust this class, set the environment variable {variable}={name}.",
    "invalid_input.other_features": "Give this one another id, or change the stored features in Python: `study.update_features(...)`.",
    "invalid_input.same_content": "Name the items in a column named id if this is another one, or change its features in Python: "
    "`study.update_features(...)`.",
    "invalid_input.rater_model": "Give auto, true or false.",
    "invalid_results.other_code": "Give another folder, or compute everything again with --recompute.",
    "limit_reached.per_rater": "Raise the limit with `duelist study limit {study} --per-rater N`; --per-rater none removes it.",
    "limit_reached.total": "Raise the limit with `duelist study limit {study} --total N`; --total none removes it.",
    "missing_extra.encoding": "Save it as UTF-8, name its encoding (--encoding cp1252), or install what detects it: "
    "`pip install 'duelist[server]'`.",
    "nothing_to_ask.too_few_arms": "Add items with `duelist study add-items`, or bring retired ones back with "
    "`duelist study activate`.",
    "rater_blocked.blocked": "Reinstate them with `duelist study reinstate {study} {rater}`.",
    "study_exists.name": "Use it, add --if-missing, or choose another name.",
    "study_exists.settings": "Leave it out, change it with `duelist study change {study} KEY=VALUE` where it can be changed, or choose "
    "another name.",
    "step_missing": "Let the rater open the rater page, which shows what comes first.",
    "study_full": "Raise the number of places in the Settings tab of the dashboard, which `duelist serve` opens, or wait until a "
    "participant drops out.",
    "study_not_open": "Open it again with `duelist study open {study}`.",
    "unknown_arm.arm": "Add it with `duelist study add-items`.",
    "unknown_arm.context": "Add its items with `duelist study add-items`.",
    "unknown_arm.file": "Add the folder that holds it with `duelist study add-items`.",
    "unknown_study.id": "`duelist study list` lists the studies.",
    "unknown_study.storage": "Create a study with `duelist study create`.",
    "unknown_token.id": "`duelist token list` lists the tokens.",
    "vote_conflict.contradiction": "Add --revise to change the vote.",
    "vote_conflict.rater_blocked": "Reinstate them with `duelist study reinstate {study} {rater}`.",
    "vote_conflict.study_not_open": "Open it again with `duelist study open {study}`.",
}


def shell_words(error: DuelistError) -> str:
    """Return the message of an error with its hint for the shell.

    >>> from duelist.core.errors import StudyNotOpen
    >>> shell_words(StudyNotOpen("Study 'a b' is paused.", "Open it again with `open`.", study="a b"))
    "Study 'a b' is paused. Open it again with `duelist study open 'a b'`."
    """
    return f"{error.message} {error.hint_from(HINTS, shlex.quote)}".rstrip()
