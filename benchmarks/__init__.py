"""Benchmarks of speed and of quality. Most of them write a page of docs/."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
"""The folder of the repository."""
DOCS: Final = ROOT / "docs" / "evidence"
