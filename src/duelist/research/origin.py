"""The origin of a generated page: the command, the commit, the date and the processor time.

Every generator of a page below docs/ writes its origin with `with_origin` or `made_by`, and `benchmarks.evidence` reads it again.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

COMMIT: Final = "DUELIST_COMMIT"
"""The environment variable that names the commit of sources outside a repository."""
_LINE: Final = re.compile(
    r"^Made by `(?P<command>[^`]+)` from commit (?P<commit>\S+) on (?P<date>\d{4}-\d\d-\d\d)"
    r"(?:, in (?P<seconds>[\d,]+) s of processor time)?; do not edit\.$",
    re.MULTILINE,
)


class Origin(NamedTuple):
    """What a page, or a section of it, was made from."""

    commit: str
    """Ends in "-dirty" if code was changed since."""
    date: str
    seconds: int | None = None
    """Processor time of the process and its children; None if it was not measured."""
    command: str = ""


def origin(stored: Mapping[str, Any] | None = None) -> Origin:
    """Return the origin of what this process makes now, or the one that results were stored with."""
    if stored is not None:
        return Origin(stored["commit"], stored["date"], stored.get("seconds"))
    return Origin(source_commit(), datetime.now(UTC).date().isoformat(), round(sum(os.times()[:4])))


def this_part() -> Origin:
    """Return the origin of a section, made by a process that makes several: without the processor time."""
    return origin()._replace(seconds=None)


def stored_origin() -> dict[str, Any]:
    """Return the origin of this moment as values to store with results."""
    now = origin()
    return {"commit": now.commit, "date": now.date, "seconds": now.seconds}


def made_by(command: str, of: Origin | None = None) -> str:
    """Return the line that says how a page or section was made.

    >>> made_by("make bench-ties", Origin("6fd4d49", "2026-03-01", 75))
    'Made by `make bench-ties` from commit 6fd4d49 on 2026-03-01, in 75 s of processor time; do not edit.'
    """
    of = of or origin()
    spent = "" if of.seconds is None else f", in {of.seconds:,} s of processor time"
    return f"Made by `{command}` from commit {of.commit} on {of.date}{spent}; do not edit."


def with_origin(page: str, command: str, of: Origin | None = None) -> str:
    r"""Return a page with its origin below the title.

    >>> print(with_origin("# Ties\n\nHow many.\n", "make bench-ties", Origin("6fd4d49", "2026-03-01")))
    # Ties
    <BLANKLINE>
    Made by `make bench-ties` from commit 6fd4d49 on 2026-03-01; do not edit.
    <BLANKLINE>
    How many.
    <BLANKLINE>
    """
    title, _, rest = page.partition("\n\n")
    return f"{title}\n\n{made_by(command, of)}\n\n{rest}"


def origins(page: str) -> list[Origin]:
    """Return the origins that a page names, in their order."""
    return [
        Origin(
            found["commit"],
            found["date"],
            None if found["seconds"] is None else int(found["seconds"].replace(",", "")),
            found["command"],
        )
        for found in _LINE.finditer(page)
    ]


def source_commit() -> str:
    """Return the commit of the sources that run, "-dirty" if code was changed since; "unknown" without a repository."""
    if named := os.environ.get(COMMIT):
        return named
    try:
        commit = _git("describe", "--always", "--abbrev=10", "--exclude=*")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)docs")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit}-dirty" if changed else commit


def _git(*arguments: str) -> str:
    done = subprocess.run(  # noqa: S603  (fixed arguments)
        ["git", *arguments],  # noqa: S607
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
