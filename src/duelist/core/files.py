"""Files that are written all or nothing, so that a full disk or an interruption leaves the old one; and what damaged ones raise."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final
from zipfile import BadZipFile

READ_ERRORS: Final = (
    OSError,
    BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
)
"""What json, np.load and zipfile raise for files that are damaged in one way or another."""


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """A scratch file that takes the place of `path` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with scratch.open("wb") as file:
            yield file
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
