"""Atomic and durable writes, private files, and the exceptions of damaged files."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
"""What json, np.load and zipfile raise on damaged files."""


PRIVATE: Final = 0o600
"""The mode of files that only their owner may read and write."""


@contextmanager
def atomic_write(path: Path, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path`, durably, when the block ends without an error.

    With `private`, only the owner can read the file, whatever the umask.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if private:
            scratch.unlink(missing_ok=True)
            create_private(scratch)
        with scratch.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
        sync_folder(path.parent)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def create_private(path: Path) -> None:
    """Create an empty file that only its owner can read, whatever the umask; leave an existing file as it is."""
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        try:
            path.chmod(PRIVATE)
        finally:
            os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Write the entries of a folder to disk, so that a new or renamed file is still there after a power cut."""
    with suppress(OSError):  # Windows cannot open folders, and some network file systems cannot sync them
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
