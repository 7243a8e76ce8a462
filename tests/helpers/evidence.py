"""Measurements of long tests, kept as lines of JSON for docs/evidence/security.md.

A test calls `record` after all its checks have passed. Nothing is written unless $DUELIST_EVIDENCE names a folder.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from duelist.research.origin import source_commit

FOLDER: Final = "DUELIST_EVIDENCE"


def record(command: str, **measured: Any) -> None:
    """Append one measurement of `make COMMAND`, with its commit and time."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    line = {"commit": source_commit(), "at": datetime.now(UTC).isoformat(timespec="seconds"), **measured}
    with (Path(folder) / f"{command}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def recorded(command: str) -> list[dict[str, Any]]:
    """Return the measurements that this run adds to."""
    folder = os.environ.get(FOLDER)
    return read(Path(folder), command) if folder else []


def read(folder: Path, command: str) -> list[dict[str, Any]]:
    """Return the measurements of a command in the order in which they were made."""
    path = folder / f"{command}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
