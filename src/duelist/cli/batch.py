"""Progress where nobody watches a bar: a line now and then, as batch systems keep them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from duelist.cli.console import Report, bars, err

EVERY_SECONDS: Final = 30.0


@contextmanager
def bars_or_lines() -> Iterator[Report]:
    """A bar on a terminal, lines elsewhere; both with the time left."""
    if err.is_terminal:
        with bars() as report:
            yield report
    else:
        yield Lines()


class Lines:
    """Says how far it is, at the beginning, every so many seconds, and at the end."""

    def __init__(self, every: float = EVERY_SECONDS) -> None:
        self._every = every
        self._said = -every
        self._began: tuple[float, int] | None = None

    def __call__(self, label: str, done: int, total: int) -> None:
        """Takes a label, how much of it is done, and how much there is."""
        now = time.monotonic()
        began, before = self._began = self._began or (now, done)
        if done < total and now - self._said < self._every:
            return
        self._said = now
        left = ""
        if before < done < total:
            left = f", {spoken((now - began) / (done - before) * (total - done))} left"
        err.print(f"{label}: {done} of {total}{left}", highlight=False, markup=False, soft_wrap=True)


def spoken(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> spoken(7384.2)
    '2:03:04'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
