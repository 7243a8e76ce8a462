"""The library's words in the shell's: errors name functions and arguments, and somebody in a shell has commands and options."""

from __future__ import annotations

import re
from typing import Final

_COMMANDS: Final = (
    "open", "pause", "end", "rename", "change", "block", "unblock", "gold", "why", "archive", "copy", "backup",
    "ask", "tell", "undo", "export",
)  # fmt: skip

_SPOKEN: Final = (
    (r"or `recompute` everything", lambda _: "or compute everything again with --recompute"),
    (r"`limit\((\w+)=\.\.\.\)`", lambda m: f"`duelist study limit NAME --{m[1].replace('_', '-')} ...`"),
    (r"raise `limit\((\w+)=\.\.\.\)`", lambda m: f"raise `duelist study limit NAME --{m[1].replace('_', '-')}`"),
    (r"own_terms is True", lambda _: "--own-terms is given"),
    (r"None lifts it", lambda _: "none lifts it"),
    (r"`load_study\(\.\.\.\)\.change\(\.\.\.\)`", lambda _: "`duelist study change NAME KEY=VALUE`"),
    (r"revise=True \(`--revise`\)", lambda _: "--revise"),
    (r"`load_study`, load_if_exists=True, or another name", lambda _: "use it, give --if-missing, or another name"),
    (r"`create_study` or `duelist study create`", lambda _: "`duelist study create`"),
    (r"`add_arms\(\.\.\., contexts=\.\.\.\)`", lambda _: "`duelist study add-arms`"),
    (r"`add_arms` or `duelist study add-arms`", lambda _: "`duelist study add-arms`"),
    (r"`add_arms`", lambda _: "`duelist study add-arms`"),
    (
        r"change those there with `update_features`",
        lambda _: "change those there in Python: `study.update_features(...)`",
    ),
    (r"`(raters_per_duel|lease_seconds|random_share)`", lambda m: f"`duelist study change NAME {m[1]}=...`"),
    (r"`to_storage` or `to_name`", lambda _: "--to-storage or --to-name"),
    (r"with `criterion`, or answer about all of them with `tell_all`", lambda _: "with --criterion"),
    (r"`ask\(rater\)`", lambda _: "`duelist study ask NAME --rater`"),
    (r"give a duel that `ask` returned, or its `id`", lambda _: "give the number of a duel"),
    (r"or `restore` (retired ones|some)", lambda m: f"or take {m[1]} back with `duelist study retire --back`"),
    (r"`Study\.archive`", lambda _: "`duelist study archive`"),
    (rf"`({'|'.join(_COMMANDS)})`", lambda m: f"`duelist study {m[1]}`"),
)


def in_shell_words(message: str) -> str:
    """A message of the library for somebody in a shell.

    >>> in_shell_words("study 'a' is paused and asks nothing; `open` opens it again")
    "study 'a' is paused and asks nothing; `duelist study open` opens it again"
    >>> in_shell_words("the limit is 3; `limit(per_rater=...)` sets another, None lifts it")
    'the limit is 3; `duelist study limit NAME --per-rater ...` sets another, none lifts it'
    """
    for pattern, said in _SPOKEN:
        message = re.sub(pattern, said, message)
    return message
