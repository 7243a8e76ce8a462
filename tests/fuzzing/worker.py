"""Play cases of one target in a separate process, with limits of time and memory, and print a summary as JSON."""

from __future__ import annotations

import argparse
import collections
import faulthandler
import json
import os
import random
import resource
import signal
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Final

from duelist.core.errors import DuelistError
from tests.fuzzing.targets import TARGETS

MAX_SECONDS: Final = 5.0
"""Processor time per case, so that a busy machine makes no difference."""
MAX_BYTES: Final = 500 * 10**6
MAX_FAILURES: Final = 10
WARM_UP: Final = 20
"""Cases before memory is measured: they load modules."""


def memory() -> int:
    """Return the bytes that the process has allocated for itself."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmData:")))


def peak() -> int:
    """Return the largest number of bytes that were in memory so far."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def ran_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or one that caused it, is a MemoryError."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


class Player:
    """Plays the cases of one target and counts how they end."""

    def __init__(self, target: str, folder: Path) -> None:
        self.target = target
        self.endings: collections.Counter[str] = collections.Counter()
        self.failures: list[str] = []
        self.slowest = 0.0
        self._case = TARGETS[target](folder)

    def play(self, number: int) -> None:
        """Play one case. The default action of SIGPROF ends the process."""
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
        since = time.process_time()
        try:
            ending = self._case(random.Random(f"{self.target} {number}"))
        except DuelistError as error:
            ending = "rejected"
            if ran_out_of_memory(error):
                self._fail(number, error)
        except Exception as error:  # noqa: BLE001  (all failures are shown together)
            ending = "failed"
            self._fail(number, error)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        self.slowest = max(self.slowest, time.process_time() - since)
        self.endings[ending] += 1

    def _fail(self, number: int, error: BaseException) -> None:
        self.failures.append(f"case {number}: {''.join(traceback.format_exception(error, chain=True)[-12:])}")

    def limit_memory(self) -> None:
        """Let the process allocate `MAX_BYTES` more than now."""
        limit = memory() + MAX_BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target", choices=list(TARGETS))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--progress", help="a file that always holds the number of the present case")
    given = parser.parse_args()
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    warnings.simplefilter("ignore")
    progress = os.open(given.progress or os.devnull, os.O_WRONLY | os.O_CREAT)
    with tempfile.TemporaryDirectory() as folder:
        player = Player(given.target, Path(folder))
        before = peak()
        for number in range(given.first, given.first + given.cases):
            os.pwrite(progress, b"%-20d" % number, 0)
            player.play(number)
            if number == given.first + WARM_UP:
                before = peak()
                player.limit_memory()
            if len(player.failures) == MAX_FAILURES:
                break
    summary = {
        "endings": player.endings,
        "failures": player.failures,
        "slowest": player.slowest,
        "memory": peak() - before,
    }
    print(f"\n{json.dumps(summary)}")  # noqa: T201


if __name__ == "__main__":
    main()
