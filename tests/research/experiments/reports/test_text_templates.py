"""Words from files: sections found, lines joined, places filled."""

import pytest

import duelist as dl
from duelist.research.experiments.reports.findings import HOLDS, Claim
from duelist.research.experiments.reports.text_templates import TextTemplates, read_template

WORDS = """# title
A title

# summary
One line, {share:.0%} of it,
and another: with a colon.

# claim: it works
section: 5
claim: It works,
whatever comes
setting: {runs} runs
found: claim: kept
"""


def test_lines_are_joined_and_places_filled():
    prose = TextTemplates(WORDS)
    assert prose.sections == ["title", "summary", "claim: it works"]
    assert prose("title") == "A title"
    assert prose("summary", share=0.25) == "One line, 25% of it, and another: with a colon."


def test_a_claim_has_four_fields_over_as_many_lines_as_it_likes():
    found = TextTemplates(WORDS).claim("it works", HOLDS, runs=3)
    assert found == Claim("5", "It works, whatever comes", "3 runs", "claim: kept", HOLDS)


def test_what_is_put_in_is_left_as_it_is():
    assert TextTemplates("# a\n{what}\n")("a", what="{b}  # c") == "{b}  # c"


def test_a_section_that_is_not_there_is_named():
    with pytest.raises(dl.InvalidInput, match=r"no section 'nothing'\. There are: title, summary"):
        TextTemplates(WORDS)("nothing")


def test_a_place_without_a_value_is_an_error():
    with pytest.raises(KeyError, match="share"):
        TextTemplates(WORDS)("summary")


def test_templates_are_read_from_the_package():
    assert read_template("duelist.research.experiments.reports", "page.html").startswith("<!doctype html>")
