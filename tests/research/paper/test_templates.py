"""The words of the paper's experiments: every section is used, and every one that is used is there."""

import re
from importlib.resources import files

import pytest

from duelist.research.experiments.reports.findings import BEYOND
from duelist.research.paper import figure_1a, figure_1b, figure_2, frontier, frontier_claims, theory

USED = re.compile(r'(PROSE|PROSE\.claim|_shares)\(\s*f?["\']([^"\']+)["\']')
"""A name with {...} in it stands for several."""


def sections_used(*modules):
    found = (
        match
        for module in modules
        for match in USED.finditer(files("duelist.research.paper").joinpath(module).read_text())
    )
    return {name if how == "PROSE" else f"claim: {name}" for how, name in (match.groups() for match in found)}


@pytest.mark.parametrize(
    ("prose", "modules"),
    [
        (figure_1a.PROSE, ["figure_1a.py"]),
        (figure_1b.PROSE, ["figure_1b.py"]),
        (figure_2.PROSE, ["figure_2.py"]),
        (theory.PROSE, ["theory.py"]),
        (frontier_claims.PROSE, ["frontier.py", "frontier_claims.py"]),
    ],
)
def test_sections_are_those_in_use(prose, modules):
    used = [re.sub(r"\\{\w+\\}", ".+", re.escape(name)) for name in sections_used(*modules)]
    assert [name for name in prose.sections if not any(re.fullmatch(each, name) for each in used)] == []
    assert [each for each in used if not any(re.fullmatch(each, name) for name in prose.sections)] == []


def test_claims_of_the_frontier_are_marked_as_ours():
    text = files("duelist.research.paper").joinpath("templates", "frontier.md").read_text()
    sections = re.findall(r"^section: (.*)$", text, flags=re.MULTILINE)
    assert set(sections) == {BEYOND}
    assert len(sections) == text.count("# claim: ")
    assert vars(frontier)["PROSE"] is frontier_claims.PROSE
