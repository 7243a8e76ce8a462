"""Names and settings written in one word, as on the command line: NAME:key=value,key=value."""

from __future__ import annotations

import ast
from typing import Any

from duelist.core.errors import InvalidInput


def normalize_name(name: str) -> str:
    """A name without what does not matter in it: case, dashes and underscores; a plus is a word.

    >>> normalize_name("max-in_P"), normalize_name("D-TS+")
    ('maxinp', 'dtsplus')
    """
    return name.replace("-", "").replace("_", "").replace("+", "plus").lower()


def parse_settings(spec: str, text: str) -> dict[str, Any]:
    """key=value pairs, apart by commas that are not inside brackets; `spec` is the whole word, for errors.

    >>> parse_settings("VACDB:explore=widest,scale=2", "explore=widest,scale=2")
    {'explore': 'widest', 'scale': 2}
    """
    if not text:
        return {}
    try:
        call = ast.parse(f"f({_quoted(text)})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise SyntaxError("positional values")
        return {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise InvalidInput(
            f"Cannot read {text!r} in {spec!r}.", "Write settings as NAME:key=value,key=value."
        ) from error


def _quoted(text: str) -> str:
    """Put bare words (explore=widest, path=a/b.csv) in quotes; leave numbers, None and brackets alone."""
    parts: list[str] = []
    depth = 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1:] = [(parts[-1] if parts else "") + character]
    return ",".join(_quote_value(part) for part in parts)


def _quote_value(part: str) -> str:
    key, equals, value = part.partition("=")
    try:
        ast.literal_eval(value.strip())
    except (SyntaxError, ValueError):
        value = repr(value.strip())
    return f"{key.strip()}{equals}{value}"
