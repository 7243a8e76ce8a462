"""Names and settings in one string, as on the command line: NAME:key=value,key=value."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from duelist.core.errors import InvalidInput


def normalize_name(name: str) -> str:
    """Return a name without case, dashes and underscores; "+" becomes "plus".

    >>> normalize_name("max-in_P"), normalize_name("D-TS+")
    ('maxinp', 'dtsplus')
    """
    return name.replace("-", "").replace("_", "").replace("+", "plus").lower()


def choose_from(name: str, known: Iterable[str], ask: str = "Choose one of") -> str:
    """Return a hint that lists the known names, after the one that is spelled most like `name`.

    >>> choose_from("Hypercub", ["FixedArms", "Hypercube"])
    "Did you mean 'Hypercube'? Choose one of FixedArms, Hypercube."
    >>> choose_from("x", ["scale", "ridge"], "It takes")
    'It takes scale, ridge.'
    """
    from difflib import get_close_matches  # only errors need it

    names = {normalize_name(each): each for each in known}
    found = get_close_matches(normalize_name(name), names, n=1)
    guess = f"Did you mean {names[found[0]]!r}? " if found else ""
    return f"{guess}{ask} {', '.join(names.values())}."


def parse_settings(spec: str, text: str) -> dict[str, Any]:
    """Return the settings in `text`: key=value pairs separated by commas outside brackets.

    `spec` is the whole string, for errors.

    >>> parse_settings("VACDB:explore=widest,scale=2", "explore=widest,scale=2")
    {'explore': 'widest', 'scale': 2}
    """
    if not text:
        return {}
    try:
        call = ast.parse(f"f({_quote_bare_words(text)})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise SyntaxError("positional values")
        return {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise InvalidInput(
            f"Cannot read {text!r} in {spec!r}.", "Write settings as NAME:key=value,key=value."
        ) from error


def _quote_bare_words(text: str) -> str:
    """Quote bare words such as `explore=widest`; leave numbers, None and brackets alone."""
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
