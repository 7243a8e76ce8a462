"""matplotlib figures, made without pyplot and its global state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duelist.core.extras import needs_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_matplotlib() -> None:
    """Raise MissingExtra unless matplotlib is installed; call this before long work that ends in a chart."""
    with needs_extra("plots", "charts"):
        import matplotlib as mpl  # noqa: F401 - only its presence matters


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches."""
    with needs_extra("plots", "charts"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")
