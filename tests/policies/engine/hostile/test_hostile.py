"""Damaged snapshots and wrong arguments never take the interpreter down.

20,000 cases; DUELIST_HOSTILE_CASES sets another number. They are played in a process of their own, whose end is the test.
"""

import os
import subprocess
import sys
from pathlib import Path

import native_testing as parts
import numpy as np
import pytest

from duelist import native
from tests.policies.engine.hostile.calls import FUNCTIONS, METHODS, PARTS, PROPERTIES, Given

CASES = int(os.environ.get("DUELIST_HOSTILE_CASES", "20000"))
SHARES = 4
ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("share", range(SHARES))
def test_the_interpreter_survives(share, tmp_path):
    count, progress = CASES // SHARES, tmp_path / "case"
    played = subprocess.run(
        [sys.executable, "-m", "tests.policies.engine.hostile", "--first", str(share * count), "--cases", str(count),
         "--progress", progress],
        cwd=ROOT, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    case = progress.read_text().strip() if progress.exists() else "none"
    assert played.returncode == 0, f"case {case} ended with {played.returncode}:\n{played.stderr[-3000:]}"
    sys.stdout.write(played.stdout)  # the count, for `pytest -rP`
    endings = dict(reversed(entry.split(" ", 1)) for entry in played.stdout.partition(": ")[2].strip().split(", "))
    # Cases of all sorts, so that neither side is only ever refused at the door.
    for ending in ("snapshots refused", "snapshots played", "calls refused", "calls answered"):
        assert int(endings[ending]) > count // 20


def names_in(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_every_function_of_the_engine_is_played():
    functions = {name for name in names_in(native) if callable(getattr(native, name)) and name[0].islower()}
    assert set(FUNCTIONS) == functions
    assert set(PARTS) == {name for name in names_in(parts) if callable(getattr(parts, name))}
    for kind in names_in(native) - functions - {"MANY_ARMS", "MAX_COUNTING_ARMS", "MAX_COUNTED_PAIRS"}:
        played = {name for owner, name in METHODS if owner == kind} | set(PROPERTIES.get(kind, ()))
        assert names_in(getattr(native, kind)) <= played


def test_a_first_round_near_the_largest_integer_does_not_wrap_around():
    play, arguments = METHODS["SimulatedRuns", "play"](Given(np.random.default_rng(0)))
    arguments[8] = np.iinfo(np.int64).max
    with pytest.raises(ValueError, match="The rounds do not fit into the log"):
        play(*arguments)
