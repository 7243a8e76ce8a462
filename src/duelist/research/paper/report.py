"""The pages that gather the paper's experiments, or the frontier: report.html, docs/reproduction.md, docs/frontier.md."""

from __future__ import annotations

from collections.abc import Sequence

from duelist.research.experiments import report
from duelist.research.experiments.outcome import BEYOND, Outcome
from duelist.research.experiments.prose import read_template


def html_report(outcomes: Sequence[Outcome]) -> str:
    """The claims, figures and tables as one page."""
    return report.html_report(outcomes, opening=read_template("duelist.research.paper", "opening.html"))


def markdown_report(outcomes: Sequence[Outcome]) -> str:
    """The claims and tables as Markdown."""
    beyond = all(c.section == BEYOND for o in outcomes for c in o.claims)
    page = read_template("duelist.research.paper", "frontier-page.md" if beyond else "reproduction.md")
    return page.format(claims=report.markdown_claims(outcomes), sections=report.markdown_sections(outcomes))
