"""matplotlib figures, made without pyplot and its global state, with colors and labels that everybody can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.extras import needs_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The colors of Okabe and Ito without yellow: people with any color vision can tell them apart."""

_LABEL: Final = "label of a line"
_SPACING: Final = 1.3
"""Height of a line of text, in font sizes."""
_SMALLEST: Final = 6.0
"""Smallest font size, in points, for labels that do not fit."""


def check_matplotlib() -> None:
    """Raise MissingExtra unless matplotlib is installed; call this before long work that ends in a chart."""
    with needs_extra("plots", "charts"):
        import matplotlib as mpl  # noqa: F401 - only its presence matters


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches."""
    with needs_extra("plots", "charts"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def line_styles(colors: Iterable[str]) -> Iterator[str]:
    """Yield a style per line: solid for the first of a color, then dashed, dotted and dash-dotted.

    >>> list(line_styles(["blue", "red", "blue"]))
    ['-', '-', '--']
    """
    used: dict[str, int] = {}
    for color in colors:
        used[color] = used.get(color, -1) + 1
        yield ("-", "--", ":", "-.")[used[color] % 4]


def label_lines(ax: Axes, size: float = 9.0, style: Mapping[str, Any] | None = None) -> None:
    """Write the label of each line beside its right end, instead of a legend.

    Where lines end close together, the labels move apart, and thin lines lead to them. Labels that begin with an
    underscore are skipped, as in legends. Call this when the limits of the axes are final; a second call replaces the
    labels of the first.
    """
    for old in [text for text in ax.texts if text.get_gid() == _LABEL]:
        old.remove()
    lines = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_") and np.size(line.get_xdata())]
    if not lines:
        return
    right, (low, high) = max(ax.get_xlim()), sorted(ax.get_ylim())
    ends = [_end(line, right) for line in lines]
    points = 72.0 / ax.figure.dpi
    shown = np.array([[x, min(max(y, low), high)] for x, y in ends])
    wanted = points * ax.transData.transform(shown)[:, 1]
    bottom, top = points * ax.transAxes.transform([(0.0, 0.0), (1.0, 1.0)])[:, 1]
    size = max(min(size, (top - bottom) / (_SPACING * len(lines))), _SMALLEST)
    placed = spread(wanted, _SPACING * size, bottom, top)
    moved = bool((np.abs(placed - wanted) > 0.3 * size).any())
    for line, (_, end), place, want, goal in zip(lines, ends, shown, wanted, placed, strict=True):
        color = darker(line.get_color())
        lead = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "relpos": (0.0, 0.5), "shrinkA": 0, "shrinkB": 1}
        text = ax.annotate(
            f"{line.get_label()} ↑" if end > high else str(line.get_label()),
            tuple(place),
            xytext=(14.0 if moved else 5.0, goal - want),
            textcoords="offset points",
            va="center",
            fontsize=size,
            color=color,
            annotation_clip=False,
            arrowprops=lead if moved else None,
            **(style or {}),
        )
        text.set_gid(_LABEL)


def line_labels(ax: Axes) -> list[str]:
    """Return what `label_lines` wrote, in the order of the lines."""
    return [text.get_text() for text in ax.texts if text.get_gid() == _LABEL]


def spread(wanted: Sequence[float] | Floats, gap: float, low: float, high: float) -> Floats:
    """Return positions at least `gap` apart and as near as possible to the wanted ones, between `low` and `high`.

    Where they do not fit, they start at `low` and pass `high`.

    >>> spread([5.0, 1.0, 5.0], gap=2.0, low=0.0, high=10.0)
    array([4., 1., 6.])
    """
    from scipy.optimize import isotonic_regression

    places = np.asarray(wanted, dtype=float)
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    moved = isotonic_regression(places[order] - steps).x
    found = np.empty_like(places)
    found[order] = np.clip(moved, low, max(high - steps[-1], low)) + steps
    return found


def darker(color: Any) -> tuple[float, ...]:
    """Return a darker tone of a color, for text on white."""
    from matplotlib.colors import to_rgb

    return tuple(0.72 * part for part in to_rgb(color))


def _end(line: Any, right: float) -> tuple[float, float]:
    """Return the last point of a line that is inside the axes."""
    x, y = (np.asarray(each, dtype=float) for each in (line.get_xdata(), line.get_ydata()))
    inside = np.flatnonzero(np.isfinite(y) & (x <= right))
    last = inside[-1] if len(inside) else -1
    return float(x[last]), float(y[last])
