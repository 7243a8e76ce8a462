"""The folders that hold the data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from duelist.core.errors import InvalidInput

VARIABLE: Final = "DUELIST_DATA"
PUBLIC_VARIABLE: Final = "DUELIST_PUBLIC"
USUAL_FOLDER: Final = Path("..") / "shared" / "data"


def data_folder(path: str | Path | None = None) -> Path:
    """Return the folder with the data: the argument, $DUELIST_DATA, or ../shared/data if it exists."""
    given = path if path is not None else os.environ.get(VARIABLE)
    folder = Path(given) if given is not None else USUAL_FOLDER
    if folder.is_dir():
        return folder
    looked = (
        f"{folder} is not a folder"
        if given is not None
        else f"{VARIABLE} is not set and {folder.resolve()} is not there"
    )
    raise InvalidInput(
        f"No preference data: {looked}.",
        f"Get the files named in docs/guides/data.md, put them in one folder, and name it in {VARIABLE} or as an argument.",
    )


def public_files(dataset: str, pattern: str, folder: str | Path | None = None) -> list[Path]:
    """Return the files of a public data set, sorted; the set's folder lies in the argument or in $DUELIST_PUBLIC."""
    base = _public_folder(folder) / dataset
    found = sorted(base.glob(pattern))
    if not found:
        raise InvalidInput(f"{base / pattern} is not there.", "docs/guides/data.md says where it comes from.")
    return found


def public_file(path: str, folder: str | Path | None = None) -> Path:
    """Return a file of a public data set."""
    found = _public_folder(folder) / path
    if not found.is_file():
        raise InvalidInput(f"{found} is not there.", "docs/guides/data.md says where it comes from.")
    return found


def _public_folder(path: str | Path | None) -> Path:
    given = path if path is not None else os.environ.get(PUBLIC_VARIABLE)
    if given is None:
        raise InvalidInput(
            f"No public data: {PUBLIC_VARIABLE} is not set.",
            f"Get the files named in docs/guides/data.md, and name the folder in {PUBLIC_VARIABLE} or as an argument.",
        )
    return Path(given)
