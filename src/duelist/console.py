"""What every command prints on, and how it says no."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape

from duelist.errors import DuelistError

out = Console()
err = Console(stderr=True)


@contextmanager
def kind_errors() -> Iterator[None]:
    """What duelist refuses is one clear line, not a traceback."""
    try:
        yield
    except (DuelistError, OSError) as error:
        # What the user gave is in the message, and may look like markup.
        err.print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, markup=True, soft_wrap=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        err.print("interrupted; what was finished is kept, run the same command again to go on")
        raise typer.Exit(130) from None


def say(text: object) -> None:
    """Print plainly: no colours, no wrapping."""
    out.print(str(text), highlight=False, markup=False, soft_wrap=True)
