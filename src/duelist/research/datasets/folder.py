"""The folder that holds the data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from duelist.core.errors import InvalidInput

VARIABLE: Final = "DUELIST_DATA"
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
