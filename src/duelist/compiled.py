"""One way to compile: the decorator every numerical function of the package carries.

Numba notices when the file of a cached function changes, but not when a function that it
calls changes in another file: the cached machine code then silently keeps the old callee.
`compiled` therefore stamps every cache entry with the state of the whole package.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def _package_stamp() -> tuple[tuple[str, int], ...]:
    """Name and checksum of every source file that holds compiled functions."""
    root = Path(__file__).parent
    files = [root / "compiled.py", root / "links.py", root / "radius.py"]
    files += sorted(root.glob("kernels/*.py")) + sorted(root.glob("policies/*.py"))
    texts = {str(f.relative_to(root)): f.read_bytes() for f in files}
    return tuple((name, zlib.crc32(text)) for name, text in texts.items() if b"@compiled" in text or b"@rule" in text)


_STAMP = _package_stamp()


def compiled(function: F) -> F:
    """Compile `function` on first call, keep the machine code on disk, release the GIL.

    No `fastmath`: the order of every sum is the order written, so that a run gives the same
    bits whether it is played alone, among 128 others, or restored half-way.
    """
    dispatcher: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    # The stamp sits in Numba's private cache file object; tests/test_compiled.py fails
    # loudly if a Numba release moves it.
    cache_file = dispatcher._cache._cache_file
    cache_file._source_stamp = (cache_file._source_stamp, _STAMP)
    return dispatcher


@compiled
def plain_int(n: int) -> int:
    """`n` as an ordinary 64-bit integer.

    Numba gives a literal such as 0 a type of its own and compiles a callee once more for it.
    """
    return np.int64(n)  # type: ignore[return-value]
