"""Progress: a bar on a terminal, lines in a log file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from duelist.cli.console import err, log

Report = Callable[[str, int, int], None]
"""Called with a label, the amount done, and the total."""

SECONDS_BETWEEN_LINES: Final = 30.0


@contextmanager
def progress_bars() -> Iterator[Report]:
    """Show a progress bar per label, with the time left; silent if the output is not a terminal."""
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err) as progress:
        tasks: dict[str, TaskID] = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = progress.add_task(label, total=total)
            progress.update(tasks[label], completed=done)

        yield report


@contextmanager
def progress_bars_or_lines() -> Iterator[Report]:
    """Show bars on a terminal and lines elsewhere, both with the time left."""
    if err.is_terminal:
        with progress_bars() as report:
            yield report
    else:
        yield ProgressLines()


class ProgressLines:
    """Prints a line at the start, at regular intervals, and at the end."""

    def __init__(self, interval: float = SECONDS_BETWEEN_LINES) -> None:
        self._interval = interval
        self._last_line = -interval
        self._start: tuple[float, int] | None = None

    def __call__(self, label: str, done: int, total: int) -> None:
        """Print a line if one is due."""
        now = time.monotonic()
        started, done_before = self._start = self._start or (now, done)
        if done < total and now - self._last_line < self._interval:
            return
        self._last_line = now
        left = ""
        if done_before < done < total:
            left = f", {format_duration((now - started) / (done - done_before) * (total - done))} left"
        log(f"{label}: {done} of {total}{left}")


def format_duration(seconds: float) -> str:
    """Format hours, minutes and seconds.

    >>> format_duration(7384.2)
    '2:03:04'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
