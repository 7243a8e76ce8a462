"""The plotting methods of a study. matplotlib is imported when something is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from duelist.core.errors import InvalidInput
from duelist.study import analysis
from duelist.study.options import (
    CalibrationOptions,
    HistoryOptions,
    LeaderboardOptions,
    RaterOptions,
    VoteOptions,
    lists,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class StudyPlots(ABC):
    """The plots of a study, local or on a server.

    Each method takes the options of the analysis that it draws, and returns a matplotlib Figure; with a `path` it
    also saves it, in the format of the file's extension. Arms are named by their labels; `labels=False` names them by
    their ids.
    """

    @abstractmethod
    @lists(LeaderboardOptions)
    def leaderboard(
        self, context: str | None = None, *, top: int | None = None, **options: Unpack[LeaderboardOptions]
    ) -> analysis.Leaderboard:
        """Return the leaderboard."""

    @abstractmethod
    @lists(VoteOptions)
    def win_matrix(self, context: str | None = None, **options: Unpack[VoteOptions]) -> analysis.WinMatrix:
        """Return wins by pair."""

    @abstractmethod
    @lists(HistoryOptions)
    def history(self, context: str | None = None, **options: Unpack[HistoryOptions]) -> analysis.History:
        """Return the probabilities of being the best over time."""

    @abstractmethod
    @lists(CalibrationOptions)
    def calibration(self, context: str | None = None, **options: Unpack[CalibrationOptions]) -> analysis.Calibration:
        """Return predicted against observed outcomes."""

    @abstractmethod
    @lists(RaterOptions)
    def raters(self, context: str | None = None, **options: Unpack[RaterOptions]) -> analysis.Raters:
        """Return statistics of raters."""

    @lists(LeaderboardOptions)
    def plot_leaderboard(
        self,
        context: str | None = None,
        *,
        top: int | None = 40,
        path: str | Path | None = None,
        **options: Unpack[LeaderboardOptions],
    ) -> Figure:
        """Plot utilities with their intervals and ranges of ranks: the best `top`, None for all."""
        options.setdefault("labels", True)
        return saved(analysis.draw_leaderboard(self.leaderboard(context, **options), top), path)

    @lists(VoteOptions)
    def plot_win_matrix(
        self, context: str | None = None, *, path: str | Path | None = None, **options: Unpack[VoteOptions]
    ) -> Figure:
        """Plot the win matrix."""
        options.setdefault("labels", True)
        return saved(analysis.draw_win_matrix(self.win_matrix(context, **options)), path)

    @lists(HistoryOptions)
    def plot_history(
        self,
        context: str | None = None,
        *,
        most: int = 8,
        path: str | Path | None = None,
        **options: Unpack[HistoryOptions],
    ) -> Figure:
        """Plot the probability of being best over the votes: `most` arms by name, the others in grey."""
        options.setdefault("labels", True)
        return saved(analysis.draw_history(self.history(context, **options), most), path)

    @lists(CalibrationOptions)
    def plot_calibration(
        self, context: str | None = None, *, path: str | Path | None = None, **options: Unpack[CalibrationOptions]
    ) -> Figure:
        """Plot predicted against observed shares."""
        return saved(analysis.draw_calibration(self.calibration(context, **options)), path)

    @lists(RaterOptions)
    def plot_raters(
        self,
        context: str | None = None,
        *,
        most: int = 40,
        path: str | Path | None = None,
        **options: Unpack[RaterOptions],
    ) -> Figure:
        """Plot agreement, side and speed of raters, with flagged ones in red."""
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
