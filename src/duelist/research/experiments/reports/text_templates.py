"""Text templates for reports: named sections with placeholders.

A template has named sections, each under a heading; a claim is a section of four fields:

    # summary
    Every policy plays {runs} runs.

    # claim: coverage
    section: appendix D
    claim: All confidence sets hold
    setting: {runs} runs of {rounds} rounds
    found: covered in {covered:.0%} of runs

Lines are joined with a space, so that a file may be wrapped anywhere; `str.format` fills the placeholders.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

from duelist.core.errors import InvalidInput
from duelist.research.experiments.reports.findings import Claim

_HEADING: Final = "# "
_FIELDS: Final = ("section", "claim", "setting", "found")


def read_template(package: str, name: str) -> str:
    """Return the text of a file in a package's folder `templates`."""
    return files(package).joinpath("templates", name).read_text(encoding="utf-8")


class TextTemplates:
    r"""The sections of a template, by name.

    >>> words = TextTemplates("# greeting\nGood\nmorning, {name}.\n")
    >>> words("greeting", name="Ana")
    'Good morning, Ana.'
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[str, list[str]] = {}
        for section in f"\n{text}".split(f"\n{_HEADING}")[1:]:
            name, *lines = section.splitlines()
            self._lines[name.strip()] = [line.strip() for line in lines if line.strip()]

    @classmethod
    def of(cls, package: str, name: str) -> TextTemplates:
        """Read a template from a package's folder `templates`."""
        return cls(read_template(package, name))

    @property
    def sections(self) -> list[str]:
        """Return the names of all sections."""
        return list(self._lines)

    def __call__(self, section: str, **values: Any) -> str:
        """Return a section as one line, with its placeholders filled."""
        return " ".join(self._section_lines(section)).format(**values)

    def claim(self, name: str, conclusion: str, **values: Any) -> Claim:
        """Return the claim of the section `claim: name`, with its placeholders filled."""
        fields: dict[str, list[str]] = {}
        current = ""
        for line in self._section_lines(f"claim: {name}"):
            key, colon, rest = line.partition(": ")
            if colon and key in _FIELDS:
                current, fields[key] = key, [rest]
            else:
                fields[current].append(line)
        section, claim, setting, found = (" ".join(fields[key]).format(**values) for key in _FIELDS)
        return Claim(section, claim, setting, found, conclusion)

    def _section_lines(self, section: str) -> list[str]:
        if section not in self._lines:
            raise InvalidInput(f"There is no section {section!r}.", f"There are: {', '.join(self._lines)}.")
        return self._lines[section]
