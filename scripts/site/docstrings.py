"""Turn docstrings into Markdown; an extension of griffe, which mkdocstrings loads."""

from __future__ import annotations

import re
from typing import Any, Final

import griffe

_UNDERLINED: Final = re.compile(r"^(?P<name>[A-Z][a-z ]+)\n-{3,}\n", re.MULTILINE)
_STAR: Final = re.compile(r"(?<=\w)\*(?=\W|$)(?![^`\n]*`)")
_NAMES: Final = re.compile(r"\*{0,2}\w+(, \*{0,2}\w+)*( : .*)?")


def fence_doctests(text: str) -> str:
    """Put doctests into fences, since Markdown takes `>>>` for quotes."""
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.startswith(">>> "):
            lines += [] if not lines or not lines[-1] else [""]
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join(lines[:-1] if not lines[-1] else lines)


def escape(line: str) -> str:
    """Escape the stars of symbols such as theta*, since Markdown takes them for emphasis."""
    return _STAR.sub(r"\\*", line)


def list_parameters(text: str) -> str:
    """Write the entries below headings, a name and its indented description, as a list."""
    found: list[str] = []
    lines = text.splitlines()
    inside = False
    for k, line in enumerate(lines):
        following = lines[k + 1] if k + 1 < len(lines) else ""
        if line.startswith("**") and line.endswith("**"):
            inside = True
            found.append(line)
        elif inside and _NAMES.fullmatch(line) and following.startswith("    "):
            found.append(f"- `{line}`:")
        elif inside and line and not line.startswith("    "):
            inside = False
            found += [""] if found and found[-1] else []
            found.append(line)
        else:
            found.append(escape(line) if inside else line)
    return "\n".join(found)


def to_markdown(text: str) -> str:
    """Return a docstring as Markdown: headings in bold, parameters as a list, doctests in fences."""
    code = ("    ", ">>>", "...")
    escaped = "\n".join(line if line.startswith(code) else escape(line) for line in text.splitlines())
    bold = _UNDERLINED.sub(lambda found: f"**{found['name']}**\n\n", escaped)
    return fence_doctests(list_parameters(bold))


class MarkdownDocstrings(griffe.Extension):
    """Rewrites each docstring before mkdocstrings parses it."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)
