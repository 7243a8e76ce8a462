"""Turn docstrings into Markdown; an extension of griffe, which mkdocstrings loads."""

from __future__ import annotations

import re
from typing import Any, Final

import griffe

_UNDERLINED: Final = re.compile(r"^(?P<name>[A-Z][a-z ]+)\n-{3,}\n", re.MULTILINE)
_STAR: Final = re.compile(r"(?<=\w)\*(?=\W)(?![^`\n]*`)(?<!    \*)")
_NUMPY_SECTIONS: Final = {"Parameters", "Returns", "Raises", "Yields", "Attributes"}


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


def to_markdown(text: str) -> str:
    """Return a docstring as Markdown: doctests in fences, and headings of other sections than NumPy's in bold."""

    def heading(found: re.Match[str]) -> str:
        return found[0] if found["name"] in _NUMPY_SECTIONS else f"**{found['name']}**\n\n"

    return fence_doctests(_STAR.sub(r"\\*", _UNDERLINED.sub(heading, text)))


class MarkdownDocstrings(griffe.Extension):
    """Rewrites each docstring before mkdocstrings parses it."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)
