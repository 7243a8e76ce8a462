"""Input that no honest caller gives, by the thousand: whatever happens, the interpreter must survive it.

A case is a number: it seeds everything about itself, so that one that crashed can be played again alone.

    python -m tests.policies.engine.hostile --cases 20000            play cases 0 to 19,999 and say how they ended
    python -m tests.policies.engine.hostile --first 1234 --cases 1   play one again

The number of the present case is written to `--progress`, if that is given: it tells which case a crash happened in.
"""

import argparse
import collections
import contextlib
import faulthandler
import os
import sys
import warnings
from pathlib import Path

import numpy as np

from tests.policies.engine.hostile import calls, snapshots

KINDS = (snapshots.play, calls.play)


def play(number):
    """How one case ended, in a few words."""
    rng = np.random.default_rng([number, 20240])
    with np.errstate(all="ignore"):
        return KINDS[number % len(KINDS)](rng)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--progress")
    given = parser.parse_args()
    faulthandler.enable()
    warnings.filterwarnings("ignore", "nanobind: attempted to access an uninitialized instance")
    endings = collections.Counter()
    with contextlib.ExitStack() as stack:
        progress = (
            stack.enter_context(Path(given.progress).open("wb", buffering=0)).fileno() if given.progress else None
        )
        for number in range(given.first, given.first + given.cases):
            if progress is not None:
                os.pwrite(progress, b"%-20d" % number, 0)
            endings[play(number)] += 1
    told = ", ".join(f"{count} {how}" for how, count in sorted(endings.items()))
    sys.stdout.write(f"{sum(endings.values())} cases: {told}\n")


if __name__ == "__main__":
    main()
