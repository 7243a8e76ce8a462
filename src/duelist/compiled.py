"""One way to compile: the decorator every numerical function of the package carries.

Numba notices when the file of a cached function changes, but not when a function that it
calls changes in another file: the cached machine code then silently keeps the old callee.
`compiled` therefore stamps every cache entry with the state of the whole package.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

JIT_OPTIONS: Final[Any] = {"nogil": True, "error_model": "numpy"}

_NEVER_COMPILED = ("experiments", "study", "server", "testing", "cli.py")


def _package_stamp() -> tuple[tuple[str, int], ...]:
    """Name and checksum of every source file that holds compiled functions, or tuples they read by position."""
    root = Path(__file__).parent
    files = [f for f in sorted(root.rglob("*.py")) if f.relative_to(root).parts[0] not in _NEVER_COMPILED]
    texts = {f.relative_to(root).as_posix(): f.read_bytes() for f in files}
    marks = (b"@compiled", b"= compiled", b"@intrinsic", b"@overload", b"@rule", b"(NamedTuple)", b"Config)")
    return tuple((name, zlib.crc32(text)) for name, text in texts.items() if any(mark in text for mark in marks))


SOURCE_STAMP = _package_stamp()
"""Changes whenever compiled code would; results computed by it can be kept under it."""


def compiled(function: F) -> F:
    """Compile `function` on first call, keep the machine code on disk, release the GIL.

    No `fastmath`: the order of every sum is the order written, so that a run gives the same
    bits whether it is played alone, among 128 others, or restored half-way.

    The function is inlined wherever compiled code calls it: handing a tuple of fifty arrays from one
    compiled function to the next costs more than most of them do (a round of MaxInP: 4.7 µs, inlined 1.2).
    """
    return _stamped(numba.njit(cache=True, forceinline=True, **JIT_OPTIONS)(function))


def compiled_apart(function: F) -> F:
    """`compiled`, but a function of its own: for long ones that take few arrays and are called from many."""
    return _stamped(numba.njit(cache=True, **JIT_OPTIONS)(function))


def written_in(function: F) -> F:
    """`compiled`, but copied into its callers before they are compiled: for thin wrappers around long functions.

    A function that is only inlined is still compiled on its own first, with all that it calls.
    """
    return numba.njit(inline="always", **JIT_OPTIONS)(function)


def direct(function: Any, *arguments: Any) -> Callable[..., Any]:
    """The machine code of `function` for arguments of these types, called without looking at types again.

    Numba finds out the types of all arguments at every call; with tuples among them that takes several times as
    long as a round. Whoever calls the result must hand over the same types ever after.
    """
    if not hasattr(function, "overloads"):  # a plain function under NUMBA_DISABLE_JIT=1
        return function
    types = tuple(numba.typeof(argument) for argument in arguments)  # type: ignore[no-untyped-call]
    function.compile(types)
    return function.overloads[types].entry_point


def _stamped(dispatcher: Any) -> Any:
    if hasattr(dispatcher, "_cache"):  # a plain function under NUMBA_DISABLE_JIT=1, for debuggers
        stamp(dispatcher)
    return dispatcher


def stamp(function: Any) -> None:
    """Make what Numba keeps of `function` on disk valid for the present state of the package only."""
    # The stamp sits in Numba's private cache file object; tests/test_compiled.py fails
    # loudly if a Numba release moves it.
    cache_file = function._cache._cache_file
    cache_file._source_stamp = (cache_file._source_stamp, SOURCE_STAMP)


@compiled
def plain_int(n: int) -> int:
    """`n` as an ordinary 64-bit integer.

    Numba gives a literal such as 0 a type of its own and compiles a callee once more for it.
    """
    return np.int64(n)  # type: ignore[return-value]
