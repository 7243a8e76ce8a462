"""The plotting methods of a study. matplotlib is imported when something is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duelist.core.errors import InvalidInput
from duelist.study import analysis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class StudyPlots(ABC):
    """The plots of a study, local or on a server.

    Each method takes the options of the analysis that it draws, and returns a matplotlib Figure; with a `path` it
    also saves it, in the format of the file's extension. Arms are named by their labels; `labels=False` names them by
    their ids.
    """

    @abstractmethod
    def leaderboard(
        self, context: str | None = None, *, top: int | None = None, **options: Any
    ) -> analysis.Leaderboard:
        """Return the leaderboard."""

    @abstractmethod
    def win_matrix(self, context: str | None = None, **options: Any) -> analysis.WinMatrix:
        """Return wins by pair."""

    @abstractmethod
    def history(self, context: str | None = None, **options: Any) -> analysis.History:
        """Return the probabilities of being the best over time."""

    @abstractmethod
    def calibration(self, context: str | None = None, **options: Any) -> analysis.Calibration:
        """Return predicted against observed outcomes."""

    @abstractmethod
    def raters(self, context: str | None = None, **options: Any) -> analysis.Raters:
        """Return statistics of raters."""

    def plot_leaderboard(
        self, context: str | None = None, *, top: int | None = 40, path: str | Path | None = None, **options: Any
    ) -> Figure:
        """Plot utilities with their intervals and ranges of ranks: the best `top`, None for all."""
        return saved(analysis.draw_leaderboard(self.leaderboard(context, **{"labels": True, **options}), top), path)

    def plot_win_matrix(self, context: str | None = None, *, path: str | Path | None = None, **options: Any) -> Figure:
        """Plot the win matrix."""
        return saved(analysis.draw_win_matrix(self.win_matrix(context, **{"labels": True, **options})), path)

    def plot_history(
        self, context: str | None = None, *, most: int = 8, path: str | Path | None = None, **options: Any
    ) -> Figure:
        """Plot the probability of being best over the votes: `most` arms by name, the others in grey."""
        return saved(analysis.draw_history(self.history(context, **{"labels": True, **options}), most), path)

    def plot_calibration(self, context: str | None = None, *, path: str | Path | None = None, **options: Any) -> Figure:
        """Plot predicted against observed shares."""
        return saved(analysis.draw_calibration(self.calibration(context, **options)), path)

    def plot_raters(
        self, context: str | None = None, *, most: int = 40, path: str | Path | None = None, **options: Any
    ) -> Figure:
        """Plot agreement, side and speed of raters, with outliers in red."""
        return saved(analysis.draw_raters(self.raters(context, **options), most), path)


def saved(figure: Figure, path: str | Path | None) -> Figure:
    """Return the figure, saved to `path` if given."""
    if path is None:
        return figure
    path = Path(path)
    kinds = figure.canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in kinds:
        raise InvalidInput(
            f"path is {str(path)!r}.", f"Give a name that ends in one of .{', .'.join(kinds)}.", field="path"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return figure
