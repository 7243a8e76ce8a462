"""`python -m duelist.cli`."""

from duelist.cli import app

app(prog_name="duelist")
