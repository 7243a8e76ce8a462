"""Output of the commands: messages and errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from duelist.cli.hints import shell_words
from duelist.core.errors import DisconnectedArms, DuelistError

out = Console()
err = Console(stderr=True)


@contextmanager
def report_errors() -> Iterator[None]:
    """Print errors as one line instead of a traceback. Warnings about disconnected arms are part of the printed
    tables.
    """
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


def say_written(paths: Iterable[Path | None]) -> None:
    """Print the paths of written files."""
    for path in paths:
        if path is not None:
            say(f"wrote {path}")
