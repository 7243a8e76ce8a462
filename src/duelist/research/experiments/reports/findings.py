"""The findings of an experiment: figures, tables, and claims with a conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOLDS: Final = "holds"
HOLDS_HERE: Final = "holds under these settings"
DOES_NOT_HOLD: Final = "does not hold"
CANNOT_BE_TESTED: Final = "cannot be tested this way"
BEYOND: Final = "beyond the paper"
"""The section of a claim that is ours, not the paper's."""


@dataclass(frozen=True)
class FindingsTable:
    """Rows of plain values under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Claim:
    """An empirical claim, and what we found."""

    section: str
    claim: str
    setting: str
    figure: str
    """Our numbers, as printed by the experiment."""
    conclusion: str
    """`HOLDS`, `HOLDS_HERE` (the setting decides), `DOES_NOT_HOLD`, or `CANNOT_BE_TESTED` (other explanations remain)."""


@dataclass
class Findings:
    """Everything one experiment found."""

    name: str
    title: str
    summary: str
    """A paragraph for readers of the abstract."""
    figures: dict[str, Figure] = field(default_factory=dict)
    captions: dict[str, str] = field(default_factory=dict)
    tables: dict[str, FindingsTable] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    def add_figure(self, name: str, figure: Figure, caption: str) -> None:
        """Add a figure with its caption."""
        self.figures[name] = figure
        self.captions[name] = caption

    def add_table(self, name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Add the table behind a figure."""
        self.tables[name] = FindingsTable(title, tuple(columns), tuple(tuple(row) for row in rows))
