"""Pages of the command line, one per command or group, made from the parsers."""

from __future__ import annotations

import re
from typing import Any, Final

import click
import typer

from duelist.cli import app

FOLDER: Final = "reference/commands"


def _plain(text: str | None) -> str:
    words = re.sub(r"\s+", " ", text or "").strip()
    return words.replace("|", "\\|").replace("<", "&lt;")


def _parameter(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if isinstance(parameter, click.Argument):
        names = f"`{(parameter.metavar or parameter.name or '').upper()}`"
    default = parameter.default
    shown = "" if default in (None, False, (), []) or callable(default) else f"`{default}`"
    return f"| {names} | {_plain(getattr(parameter, 'help', ''))} | {'required' if parameter.required else shown} |"


def _describe(path: str, command: Any, level: int) -> list[str]:
    context = click.Context(command, info_name=path)
    lines = ["" if level == 1 else f"{'#' * level} {path}", ""]
    lines += [paragraph.replace("<", "&lt;") for paragraph in (command.help or "").split("\n\n")]
    usage = " ".join(command.collect_usage_pieces(context))
    lines += ["", "```text", f"{path} {usage}", "```", ""]
    parameters = [each for each in command.params if not getattr(each, "hidden", False)]
    if parameters:
        lines += ["| option | meaning | default |", "|---|---|---|", *map(_parameter, parameters), ""]
    return lines


def pages() -> dict[str, str]:
    """Return a page per command at the top level; a group has its commands on its page."""
    root = typer.main.get_command(app)
    found = {}
    for name, command in sorted(root.commands.items()):  # type: ignore[attr-defined]
        path = f"duelist {name}"
        lines = [f"# {path}", *_describe(path, command, 1)]
        for child, each in sorted(getattr(command, "commands", {}).items()):
            lines += _describe(f"{path} {child}", each, 2)
        found[f"{FOLDER}/{name}.md"] = "\n".join([*lines, ""])
    return found


def undocumented() -> list[str]:
    """Return the commands and options without a help text."""
    missing = []

    def visit(path: str, command: Any) -> None:
        if not command.help:
            missing.append(path)
        missing.extend(
            f"{path} {each.opts[0]}"
            for each in command.params
            if each.name != "help" and not getattr(each, "help", None) and not isinstance(each, click.Argument)
        )
        for name, child in getattr(command, "commands", {}).items():
            visit(f"{path} {name}", child)

    visit("duelist", typer.main.get_command(app))
    return missing
