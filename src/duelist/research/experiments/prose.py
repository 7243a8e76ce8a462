"""The words of experiments: text files with places for numbers.

A file of words has named sections, each under a heading, and a claim is a section of four fields:

    # summary
    Every policy plays {runs} runs.

    # claim: coverage
    section: appendix D
    claim: All confidence sets hold
    setting: {runs} runs of {rounds} rounds
    found: covered in {covered:.0%} of runs

Lines are joined with a space, so that a file may be wrapped anywhere, and places are filled by `str.format`.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.research.experiments.outcome import Claim

_HEADING: Final = "# "
_FIELDS: Final = ("section", "claim", "setting", "found")


def read_template(package: str, name: str) -> str:
    """The text of a file in a package's folder `templates`."""
    return files(package).joinpath("templates", name).read_text(encoding="utf-8")


class Prose:
    r"""The sections of a file of words, by name.

    >>> words = Prose("# greeting\nGood\nmorning, {name}.\n")
    >>> words("greeting", name="Ana")
    'Good morning, Ana.'
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[str, list[str]] = {}
        for section in f"\n{text}".split(f"\n{_HEADING}")[1:]:
            name, *lines = section.splitlines()
            self._lines[name.strip()] = [line.strip() for line in lines if line.strip()]

    @classmethod
    def of(cls, package: str, name: str) -> Prose:
        """The words in a file of a package's folder `templates`."""
        return cls(read_template(package, name))

    @property
    def sections(self) -> list[str]:
        """The names of all sections."""
        return list(self._lines)

    def __call__(self, section: str, **values: Any) -> str:
        """A section in one line, its places filled."""
        return " ".join(self._found(section)).format(**values)

    def claim(self, name: str, verdict: str, **values: Any) -> Claim:
        """The claim of the section `claim: name`, its places filled."""
        fields: dict[str, list[str]] = {}
        current = ""
        for line in self._found(f"claim: {name}"):
            key, colon, rest = line.partition(": ")
            if colon and key in _FIELDS:
                current, fields[key] = key, [rest]
            else:
                fields[current].append(line)
        section, claim, setting, found = (" ".join(fields[key]).format(**values) for key in _FIELDS)
        return Claim(section, claim, setting, found, verdict)

    def _found(self, section: str) -> list[str]:
        if section not in self._lines:
            raise InvalidInput(f"There is no section {section!r}.", f"There are: {', '.join(self._lines)}.")
        return self._lines[section]
