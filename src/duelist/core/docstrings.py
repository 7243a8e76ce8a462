"""Complete docstrings by those of other classes, so that `help` shows every parameter and every method."""

from __future__ import annotations

import inspect

_HEADER = ["Parameters", "----------"]


def inherit_parameters(cls: type) -> None:
    """Add the parameters that only base classes describe to the docstring of a class."""
    if not vars(cls).get("__doc__"):  # also under -OO, which drops docstrings
        return
    lines = inspect.cleandoc(cls.__doc__ or "").splitlines()
    start, entries, end = _parameters(lines)
    described = {name for names in entries for name in names.split(", ")}
    for base in cls.__mro__[1:]:
        for names, text in _parameters(inspect.cleandoc(vars(base).get("__doc__") or "").splitlines())[1].items():
            missing = [name for name in names.split(", ") if name not in described]
            described.update(missing)
            if missing:
                entries[", ".join(missing)] = text
    if entries:
        section = [*_HEADER, *(line for names, text in entries.items() for line in (names, *text))]
        cls.__doc__ = "\n".join([*_until_text(lines[:start]), "", *section, *_from_text(lines[end:])])


def describe_like(cls: type, documented: type) -> None:
    """Give methods and properties without a docstring the one of the same name in another class."""
    for owner in cls.__mro__:
        for name, value in vars(owner).items():
            said = getattr(getattr(documented, name, None), "__doc__", None)
            if said and not name.startswith("_") and not getattr(value, "__doc__", None):
                value.__doc__ = said


def _parameters(lines: list[str]) -> tuple[int, dict[str, list[str]], int]:
    """Return where the section of parameters starts, its entries by name, and where it ends.

    Without such a section it would start before the first other section, or the first example.
    """
    starts = [k for k in range(len(lines) - 1) if lines[k : k + 2] == _HEADER]
    if not starts:
        ends = [k for k, line in enumerate(lines) if line.startswith(">>>") or (line and not line.strip("-"))]
        at = len(lines) if not ends else ends[0] - (not lines[ends[0]].startswith(">>>"))
        return at, {}, at
    entries: dict[str, list[str]] = {}
    names = ""
    for k in range(starts[0] + 2, len(lines)):
        if lines[k].startswith(" "):
            entries[names].append(lines[k])
        elif lines[k] and "".join(lines[k + 1 : k + 2]).startswith(" "):
            names = lines[k]
            entries[names] = []
        elif lines[k]:
            return starts[0], entries, k
    return starts[0], entries, len(lines)


def _until_text(lines: list[str]) -> list[str]:
    """Return the lines without blank ones at the end."""
    return lines[: max((k + 1 for k, line in enumerate(lines) if line), default=0)]


def _from_text(lines: list[str]) -> list[str]:
    """Return a blank line and the lines from the first that is not blank; nothing if all are."""
    start = next((k for k, line in enumerate(lines) if line), None)
    return [] if start is None else ["", *lines[start:]]
