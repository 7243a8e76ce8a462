"""`duelist warm`: compile now what would be compiled at the first duel."""

from __future__ import annotations

from duelist.cli.console import bars, kind_errors, say


def warm() -> None:
    """Compile every policy now, so that the first duel does not wait for it (a few minutes)."""
    from duelist.warmup import warm as compile_everything

    with kind_errors(), bars() as report:
        compile_everything(lambda what, done, total: report("compiling", done, total))
    say("all policies are compiled")
