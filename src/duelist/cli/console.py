"""What every command prints on, how it shows progress, and how it says no."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from duelist.cli.hints import shell_words
from duelist.core.errors import DisconnectedArms, DuelistError

Report = Callable[[str, int, int], None]
"""Takes a label, how much of it is done, and how much there is."""

out = Console()
err = Console(stderr=True)


@contextmanager
def kind_errors() -> Iterator[None]:
    """What duelist refuses is one clear line, not a traceback. What a reading warns of stands under its table already."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DisconnectedArms)
            yield
    except (DuelistError, OSError) as error:
        # What the user gave is in the message, and may look like markup.
        text = shell_words(error) if isinstance(error, DuelistError) else str(error)
        err.print(f"[bold red]error:[/] {escape(text)}", highlight=False, markup=True, soft_wrap=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        err.print("interrupted; what was finished is kept, run the same command again to go on")
        raise typer.Exit(130) from None


@contextmanager
def bars() -> Iterator[Report]:
    """A progress bar a label, with the time left; silent where nobody watches."""
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


def say(text: object) -> None:
    """Print plainly: no colours, no wrapping."""
    out.print(str(text), highlight=False, markup=False, soft_wrap=True)


def say_written(paths: Iterable[Path | None]) -> None:
    """Name the files that were written, where any were."""
    for path in paths:
        if path is not None:
            say(f"wrote {path}")
