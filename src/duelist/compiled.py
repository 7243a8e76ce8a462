"""One way to compile: the decorator every numerical function of the package carries.

Numba notices when the file of a cached function changes, but not when a function that it
calls changes in another file: the cached machine code then silently keeps the old callee.
`compiled` therefore stamps every cache entry with the state of the whole package.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def _package_stamp() -> tuple[tuple[str, int, int], ...]:
    """Name, modification time and size of every source file of the package."""
    root = Path(__file__).parent
    files = sorted(root.glob("*.py")) + sorted(root.glob("kernels/*.py")) + sorted(root.glob("policies/*.py"))
    return tuple((str(f.relative_to(root)), f.stat().st_mtime_ns, f.stat().st_size) for f in files)


_STAMP = _package_stamp()


def compiled(function: F) -> F:
    """Compile `function` on first call, keep the machine code on disk, release the GIL.

    No `fastmath`: the order of every sum is the order written, so that a run gives the same
    bits whether it is played alone, among 128 others, or restored half-way.
    """
    dispatcher = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    # The stamp sits in Numba's private cache file object; tests/test_compiled.py fails
    # loudly if a Numba release moves it.
    dispatcher._cache._cache_file._source_stamp = _STAMP
    return dispatcher  # type: ignore[no-any-return]
