"""Reports over the paper's experiments or the frontier: report.html, docs/evidence/reproduction.md, docs/evidence/frontier.md."""

from __future__ import annotations

from collections.abc import Sequence

from duelist.research.experiments.reports import html_report as page
from duelist.research.experiments.reports.findings import BEYOND, Findings
from duelist.research.experiments.reports.text_templates import read_template
from duelist.research.origin import with_origin


def html_report(all_findings: Sequence[Findings]) -> str:
    """Return the claims, figures and tables as one page."""
    return page.html_report(all_findings, opening=read_template("duelist.research.paper", "opening.html"))


def markdown_report(all_findings: Sequence[Findings]) -> str:
    """Return the claims and tables as Markdown."""
    beyond = all(c.section == BEYOND for o in all_findings for c in o.claims)
    template = read_template("duelist.research.paper", "frontier-page.md" if beyond else "reproduction.md")
    text = template.format(claims=page.markdown_claims(all_findings), sections=page.markdown_sections(all_findings))
    return with_origin(text, "make frontier" if beyond else "make figures")
