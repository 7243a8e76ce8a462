"""The cache of machine code: kept while nothing changes, dropped when any source it was made from does.

Numba alone looks only at the file of the function itself. The package below has the layout of
duelist and its real `compiled.py`; its sources are changed between runs of fresh interpreters.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import duelist
from duelist import compiled as compiling
from duelist import links, radius
from duelist.kernels import linalg, many, mle, pairs, random, scratch, tracking
from duelist.policies import _state

SOURCE = Path(duelist.__file__).parent
CALLEE = "from tiny.compiled import compiled\n\n@compiled\ndef answer():\n    return {}\n"
CALLER = (
    "from tiny.compiled import compiled\nfrom {} import answer\n\n@compiled\ndef ask():\n    return 10 + answer()\n"
)
PLAIN = "import numba\ncompiled = numba.njit(cache=True)\n"
RECORD = "from typing import NamedTuple\n\nclass Log(NamedTuple):\n    {}: float\n    {}: float\n"
READER = "from tiny.compiled import compiled\nfrom {} import Log\n\n@compiled\ndef first(log):\n    return log.first\n"


@pytest.fixture
def tiny(tmp_path):
    """An empty package with the folders of duelist and its decorator."""
    root = tmp_path / "tiny"
    for folder in (root, root / "kernels", root / "policies", root / "environments"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    for name in ("links.py", "radius.py", "simulation.py", "runs.py", "environments/_base.py"):
        (root / name).touch()
    shutil.copy(SOURCE / "compiled.py", root)
    return root


def run(tiny, module, function, argument=""):
    """What a fresh interpreter gets from a call, and how often the cache served it."""
    script = (
        f"from {module} import *\nfrom {module} import {function} as f\n"
        f"print(f({argument}), sum(f.stats.cache_hits.values()))"
    )
    # -B: Python's own cache would miss a change of the same length within the same second.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")} | {"PYTHONPATH": str(tiny.parent)}
    result = subprocess.run(
        [sys.executable, "-B", "-c", script], cwd=tiny.parent, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    value, hits = result.stdout.split()
    return float(value), int(hits)


def call_after_callee_changes(tiny, callee):
    module = "tiny." + callee.removesuffix(".py").replace("/", ".")
    (tiny / callee).write_text(CALLEE.format(1))
    (tiny / "policies" / "caller.py").write_text(CALLER.format(module))
    first = run(tiny, "tiny.policies.caller", "ask")
    again = run(tiny, "tiny.policies.caller", "ask")
    (tiny / callee).write_text(CALLEE.format(2))
    return first, again, run(tiny, "tiny.policies.caller", "ask")


@pytest.mark.parametrize("callee", ["kernels/callee.py", "links.py"])
def test_a_change_in_a_called_file_recompiles_the_caller(tiny, callee):
    # Compiled, then served from disk, then compiled anew.
    assert call_after_callee_changes(tiny, callee) == ((11, 0), (11, 1), (12, 0))


def test_numba_alone_would_run_the_old_callee(tiny):
    # What the stamp is for. If this fails, Numba has learned to notice, and the stamp may go.
    (tiny / "compiled.py").write_text(PLAIN)
    assert call_after_callee_changes(tiny, "kernels/callee.py") == ((11, 0), (11, 1), (11, 1))


@pytest.mark.parametrize("record", ["policies/_base.py", "runs.py", "environments/_base.py"])
def test_a_change_in_the_fields_of_a_record_recompiles_its_reader(tiny, record):
    # Machine code reads a field by position: after a swap the old code reads the wrong one.
    module = "tiny." + record.removesuffix(".py").replace("/", ".")
    (tiny / record).write_text(RECORD.format("first", "second"))
    (tiny / "simulation.py").write_text(READER.format(module))
    log = "Log(first=1.0, second=2.0)"
    assert run(tiny, "tiny.simulation", "first", log) == (1, 0)
    (tiny / record).write_text(RECORD.format("second", "first"))
    assert run(tiny, "tiny.simulation", "first", log) == (1, 0)


@pytest.mark.parametrize(
    "function",
    [
        links.mean,
        radius.variance_aware,
        linalg.whiten,
        mle.newton,
        tracking.refine,
        pairs.best_pair,
        random.uniform,
        scratch.scratch_of,
        _state.tell_once,
        _state.solve_once,
        _state.state_of,
    ],
    ids=lambda f: f.__name__,
)
def test_the_stamp_stands_where_numba_compares_it(function):
    own, package = function._cache._cache_file._source_stamp
    assert package == compiling.SOURCE_STAMP
    assert own == function._cache._impl.locator.get_source_stamp()


def test_the_stamp_covers_every_file_that_compiled_functions_call_into():
    stamped = {name for name, _ in compiling.SOURCE_STAMP}
    called = {
        str(Path(f.py_func.__code__.co_filename).relative_to(SOURCE))
        for module in (links, radius, linalg, mle, tracking, pairs, random, scratch, many, _state, compiling)
        for f in vars(module).values()
        if hasattr(f, "py_func")
    }
    assert {"links.py", "radius.py", "kernels/mle.py", "policies/_state.py"} <= called
    assert called <= stamped


def test_the_stamp_covers_every_file_that_speaks_to_numba():
    # Intrinsics and overloads are no compiled functions themselves, but end in the machine code of those that call them.
    stamped = {name for name, _ in compiling.SOURCE_STAMP}
    files = {f.relative_to(SOURCE).as_posix(): f.read_text() for f in SOURCE.rglob("*.py")}
    own = {
        name
        for name, text in files.items()
        if re.search(r"^(import numba|from numba|@compiled|@written_in|\w+ = compiled)", text, re.MULTILINE)
        and Path(name).parts[0] not in compiling._NEVER_COMPILED
    }
    assert {"kernels/linalg.py", "kernels/views.py", "policies/_state.py"} <= own
    assert own <= stamped


def test_what_is_written_in_gives_the_same_and_has_no_cache_of_its_own():
    # It is copied into its callers before they are compiled: their stamp is its own.
    twice = compiling.written_in(lambda x: x + x)
    assert twice(2.5) == 5.0
    assert type(twice._cache).__name__ == "NullCache"


def test_compiled_functions_release_the_gil_and_keep_the_order_of_sums():
    options = mle.newton.targetoptions
    assert options["nogil"]
    assert not options.get("fastmath", False)


def test_division_by_zero_follows_ieee_and_raises_nothing():
    # A zero on the diagonal of a factor: infinity, as in NumPy, not an exception out of compiled code.
    b = np.array([1.0])
    linalg.solve_lower(np.zeros((1, 1)), b)
    assert b[0] == np.inf


def test_plain_int_is_the_integer_itself():
    assert [compiling.plain_int(n) for n in (0, -1, 2**62)] == [0, -1, 2**62]
