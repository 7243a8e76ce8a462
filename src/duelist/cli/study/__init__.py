"""`duelist study`: studies from the shell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import typer

from duelist.cli.study import files, items, plans, raters, results, studies, votes

__all__ = ["app"]

COMMANDS: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    "Studies": {
        "plan": plans.plan,
        "create": studies.create,
        "list": studies.list_,
        "open": studies.open_,
        "pause": studies.pause,
        "end": studies.end,
        "archive": studies.archive,
        "rename": studies.rename,
        "change": studies.change,
        "limit": studies.limit,
        "delete": studies.delete,
    },
    "Items": {
        "add-items": items.add_items,
        "retire": items.retire,
        "activate": items.activate,
    },
    "Votes": {
        "ask": votes.ask,
        "tell": votes.tell,
        "undo": votes.undo,
        "explain": votes.explain,
    },
    "Results": {
        "status": results.status,
        "leaderboard": results.leaderboard,
        "can-stop": results.can_stop,
        "raters": results.raters,
        "win-matrix": results.win_matrix,
        "calibration": results.calibration,
        "goodness-of-fit": results.goodness_of_fit,
        "history": results.history,
        "plot": results.plot,
        "scorer": results.scorer,
    },
    "Raters": {
        "block": raters.block,
        "reinstate": raters.reinstate,
        "describe": raters.describe,
        "erase": raters.erase,
        "gold": raters.gold,
    },
    "Files": {
        "import": files.import_,
        "export": files.export,
        "formats": files.formats,
        "save": files.save,
        "restore": files.restore,
        "copy": files.copy,
        "backup": files.backup,
    },
}
"""The commands by topic, as `duelist study --help` shows them."""

app = typer.Typer(help="Create and run studies.", no_args_is_help=True)
for topic, commands in COMMANDS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=topic)(command)
