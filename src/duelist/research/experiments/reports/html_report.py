"""One HTML page over several experiments: conclusions first, then each figure with its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

from duelist.research.experiments.reports.findings import (
    CANNOT_BE_TESTED,
    DOES_NOT_HOLD,
    HOLDS,
    HOLDS_HERE,
    Claim,
    Findings,
    FindingsTable,
)
from duelist.research.experiments.reports.text_templates import read_template

_MARK: Final = {HOLDS: "yes", HOLDS_HERE: "partly", DOES_NOT_HOLD: "no", CANNOT_BE_TESTED: "open"}


def html_report(all_findings: Sequence[Findings], opening: str) -> str:
    """Return the page; `opening` is the HTML that comes first."""
    links = "".join(f'<a href="#{o.name}">{escape(o.title)}</a>' for o in all_findings)
    return read_template("duelist.research.experiments.reports", "page.html").format(
        style=read_template("duelist.research.experiments.reports", "page.css"),
        opening=opening,
        links=links,
        claims=_claims(c for o in all_findings for c in o.claims),
        sections="\n".join(section_html(o) for o in all_findings),
    )


def _claims(claims: Iterable[Claim]) -> str:
    rows = "".join(
        f"<tr><td>{escape(c.section)}</td><td>{escape(c.claim)}</td><td>{escape(c.setting)}</td><td>{escape(c.figure)}</td>"
        f'<td><span class="conclusion {_MARK[c.conclusion]}">{escape(c.conclusion)}</span></td></tr>'
        for c in claims
    )
    head = "<tr><th>section</th><th>claim</th><th>setting</th><th>what we found</th><th>conclusion</th></tr>"
    return f'<div class="scroll"><table>{head}{rows}</table></div>'


def section_html(outcome: Findings, *, unfolded: bool = False) -> str:
    """Return one experiment: its figures, and the tables behind them, collapsed unless `unfolded`."""
    figures = "".join(
        f'<figure><img src="{outcome.name}/{name}.svg" alt="{escape(outcome.captions[name])}">'
        f"<figcaption>{escape(outcome.captions[name])}</figcaption></figure>"
        for name in outcome.figures
    )
    tables = "".join(_table(outcome.name, name, table, unfolded) for name, table in outcome.tables.items())
    settings = "; ".join(f"{key}: {_plain(value)}" for key, value in outcome.settings.items())
    return (
        f'<h2 id="{outcome.name}">{escape(outcome.title)}</h2><p class="lead">{escape(outcome.summary)}</p>'
        f'{figures}{tables}<p class="small">{escape(settings)}</p>'
    )


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _table(folder: str, name: str, table: FindingsTable, unfolded: bool) -> str:
    link = f'<a class="small" href="{folder}/{name}.csv">csv</a>'
    opened = " open" if unfolded else ""
    return f"<details{opened}><summary>{escape(table.title)}</summary>{link}{table_html(table)}</details>"


def table_html(table: FindingsTable) -> str:
    """Return a table as HTML."""
    head = "".join(f"<th>{escape(c)}</th>" for c in table.columns)
    body = "".join("<tr>" + "".join(_cell(v) for v in row) + "</tr>" for row in table.rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (
            f'<td class="number">{value:g}</td>' if isinstance(value, int) else f'<td class="number">{value:,.4g}</td>'
        )
    return f"<td>{escape(str(value))}</td>"


def markdown_claims(all_findings: Sequence[Findings]) -> str:
    """Return the conclusions as a Markdown table."""
    rows = [
        f"| {_pipe(c.section)} | {_pipe(c.claim)} | {_pipe(c.setting)} | {_pipe(c.figure)} | **{c.conclusion}** |"
        for o in all_findings
        for c in o.claims
    ]
    return "\n".join(["| section | claim | setting | our figure | conclusion |", "|---|---|---|---|---|", *rows])


def markdown_sections(all_findings: Sequence[Findings]) -> str:
    """Return each experiment's text and tables as Markdown."""
    parts = []
    for outcome in all_findings:
        parts += [f"## {outcome.title}", "", outcome.summary, ""]
        for table in outcome.tables.values():
            parts += [f"### {table.title}", "", *_markdown_table(table), ""]
        parts += [f"Made by `{outcome.settings.get('command', '')}`.", ""]
    return "\n".join(parts[:-1])


def _markdown_table(table: FindingsTable) -> list[str]:
    head = [f"| {' | '.join(table.columns)} |", f"|{'---|' * len(table.columns)}"]
    return head + [f"| {' | '.join(_pipe(str(v)) for v in row)} |" for row in table.rows]


def _pipe(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
