"""Fuzz each target within a fixed budget; `make fuzz` plays a million cases.

With `KEEP=1` a run goes on after the cases that are recorded already.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fuzzing.targets import TARGETS
from tests.fuzzing.worker import MAX_BYTES, MAX_SECONDS
from tests.helpers.evidence import record, recorded

ROOT: Final = Path(__file__).parents[2]
CASES: Final = int(os.environ.get("DUELIST_FUZZ_CASES", "1000"))
SHARES: Final = {
    "snapshots": 0.30,
    "archives": 0.01,
    "tables": 0.20,
    "workbooks": 0.04,
    "plans": 0.10,
    "votes": 0.20,
    "payloads": 0.15,
}
"""The share of the cases that each target gets; slower ones get fewer."""
CASES_PER_PROCESS: Final = 5000
STALLED_SECONDS: Final = 300.0
"""A case that takes no processor time, and never ends, is noticed after this time."""


@dataclass
class Summary:
    """How the cases of one target ended."""

    cases: int = 0
    accepted: int = 0
    rejected: int = 0
    slowest: float = 0.0
    """Seconds of processor time."""
    memory: int = 0
    """Largest growth of a process, in bytes."""
    failures: list[str] = field(default_factory=list)

    def add(self, part: dict[str, Any]) -> None:
        self.accepted += part["endings"].get("accepted", 0)
        self.rejected += part["endings"].get("rejected", 0)
        self.slowest = max(self.slowest, part["slowest"])
        self.memory = max(self.memory, part["memory"])
        self.failures += part["failures"]


def play(target: str, first: int, cases: int, folder: Path) -> dict[str, Any]:
    """Play cases in a separate process; its death is a failure of the case that it was playing."""
    progress = folder / "progress"
    command = [sys.executable, "-m", "tests.fuzzing.worker", target]
    options = ["--first", str(first), "--cases", str(cases), "--progress", str(progress)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        process = subprocess.Popen([*command, *options], cwd=ROOT, env=environment, stdout=out, stderr=err)
        last, since = "", time.monotonic()
        while process.poll() is None:
            time.sleep(0.05)
            now = progress.read_text() if progress.exists() else ""
            if now != last:
                last, since = now, time.monotonic()
            if time.monotonic() - since > STALLED_SECONDS:
                process.kill()
        out.seek(0)
        err.seek(0)
        if process.returncode == 0:
            (summary,) = (line for line in out if line.startswith("{"))  # others are LAPACK's complaints about NaN
            return json.loads(summary)
        why = f"more than {MAX_SECONDS} s" if process.returncode == -signal.SIGPROF else f"exit {process.returncode}"
        failure = f"case {last.strip()}: {why}: {err.read()[-3000:]}"
        return {"endings": {}, "failures": [failure], "slowest": 0.0, "memory": 0}


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_crashes_hangs_or_fills_memory(target: str, tmp_path: Path) -> None:
    found = Summary(cases=int(CASES * SHARES[target]))
    start = sum(line["cases"] for line in recorded("fuzz") if line["target"] == target)
    for first in range(0, found.cases, CASES_PER_PROCESS):
        piece = Summary(cases=min(CASES_PER_PROCESS, found.cases - first))
        piece.add(play(target, start + first, piece.cases, tmp_path))
        assert not piece.failures, "\n\n".join(piece.failures)
        assert piece.memory < MAX_BYTES
        measured = {name: value for name, value in vars(piece).items() if name != "failures"}
        record("fuzz", target=target, first=start + first, **measured)
        found.accepted, found.rejected = found.accepted + piece.accepted, found.rejected + piece.rejected
    assert found.accepted + found.rejected == found.cases
    assert found.accepted > found.cases // 50, "nearly everything was rejected: the test had no effect"
    print(found)  # noqa: T201
