"""Benchmarks of speed and of quality. Most of them write a page of docs/."""

import os
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
"""The folder of the repository."""
DOCS: Final = ROOT / "docs" / "evidence"


def made_from() -> str:
    """Return the commit of the sources, for pages; `DUELIST_COMMIT` names it where there is no repository."""
    if named := os.environ.get("DUELIST_COMMIT"):
        return named
    described = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(described, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
