"""Output of the commands: messages and errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from duelist.cli.hints import shell_words
from duelist.core.errors import DisconnectedArms, DuelistError

out = Console()
err = Console(stderr=True)
_LONGEST_NAME = 40
"""Characters of a name that a narrow terminal keeps on one line."""


@contextmanager
def report_errors() -> Iterator[None]:
    """Print errors in one line instead of a traceback, and no warnings that the printed tables repeat."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DisconnectedArms)
            yield
    except (DuelistError, OSError) as error:
        # The message contains user input, which may look like markup.
        text = shell_words(error) if isinstance(error, DuelistError) else str(error)
        err.print(f"[bold red]error:[/] {escape(text)}", highlight=False, markup=True, soft_wrap=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        err.print("Interrupted. Finished work is kept; run the same command again to resume.")
        raise typer.Exit(130) from None


def say(text: object) -> None:
    """Print plainly: no colours, no wrapping."""
    out.print(str(text), highlight=False, markup=False, soft_wrap=True)


def log(text: str) -> None:
    """Print a line plainly to standard error."""
    err.print(text, highlight=False, markup=False, soft_wrap=True)


def say_table(headers: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """Print a table as wide as the terminal; cells are printed as they are."""
    texts = [[str(cell) for cell in row] for row in rows]
    # The first column names the row, as other commands want it: it is never cut.
    longest = max((len(row[0]) for row in texts if row), default=0)
    names = Column(headers[0], overflow="fold", min_width=min(longest, _LONGEST_NAME))
    table = Table(names, *(Column(each, overflow="fold") for each in headers[1:]), title=title, title_justify="left")
    for row in texts:
        table.add_row(*(escape(cell) for cell in row))
    out.print(table)


def say_written(paths: Iterable[Path | None]) -> None:
    """Print the paths of written files."""
    for path in paths:
        if path is not None:
            say(f"wrote {path}")
