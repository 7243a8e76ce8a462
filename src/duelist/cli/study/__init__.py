"""`duelist study`: studies from the shell."""

from duelist.cli.study import owner, results
from duelist.cli.study.commands import app

__all__ = ["app"]

owner.add_to(app)
results.add_to(app)
