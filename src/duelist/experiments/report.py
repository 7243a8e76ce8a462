"""One page that gathers experiments: first the verdicts, then each figure with the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import Any, Final

from duelist.experiments.outcome import BEYOND, DOES_NOT_HOLD, HOLDS, HOLDS_ONLY_IF, Claim, Outcome, Table

_MARK: Final = {HOLDS: "yes", HOLDS_ONLY_IF: "partly", DOES_NOT_HOLD: "no"}

_PAGE: Final = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>duelist: what holds</title>
<style>
  :root { color-scheme: light; }
  body { font: 16px/1.55 system-ui, sans-serif; color: #1c1c1c; margin: 0 auto; max-width: 68rem; padding: 1.5rem; }
  h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1.2rem; }
  p.lead { max-width: 46rem; } figure { margin: 1.2rem 0; } img { max-width: 100%; height: auto; }
  figcaption, .small { color: #555; font-size: .88rem; max-width: 54rem; }
  table { border-collapse: collapse; font-size: .86rem; margin: .6rem 0; } th { text-align: left; background: #f4f4f4; }
  th, td { padding: .3rem .6rem; border-bottom: 1px solid #e4e4e4; vertical-align: top; }
  td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
  .scroll { overflow-x: auto; } summary { cursor: pointer; color: #0b5fa5; margin: .4rem 0; }
  .verdict { font-weight: 600; white-space: nowrap; padding: .1rem .5rem; border-radius: .3rem; }
  .yes { background: #dff3e3; color: #14532d; } .partly { background: #fdf1d3; color: #704c00; }
  .no { background: #fbe3e1; color: #7f1d1d; } nav a { margin-right: 1rem; }
</style>
</head>
<body>
<h1>What holds of the paper's experiments</h1>
<p class="lead">The paper, <em>Variance-Aware Regret Bounds for Stochastic Contextual Dueling Bandits</em> (ICLR 2024), studies
how to learn from comparisons: two options are shown, somebody picks one, and the method (a <em>policy</em>) learns to show
good options. <em>Regret</em> adds up how much worse the options shown were than the best one; less is better. The paper's method is VACDB.
Every number below was made by the command named beside it, and intervals are 95 %.</p>
<nav>$links</nav>
<h2 id="verdicts">Claim by claim</h2>
$claims
$sections
</body>
</html>
""")


def html_report(outcomes: Sequence[Outcome]) -> str:
    """The whole page."""
    links = "".join(f'<a href="#{o.name}">{escape(o.title)}</a>' for o in outcomes)
    claims = _claims(c for o in outcomes for c in o.claims)
    return _PAGE.substitute(links=links, claims=claims, sections="\n".join(_section(o) for o in outcomes))


def _claims(claims: Iterable[Claim]) -> str:
    rows = "".join(
        f"<tr><td>{escape(c.section)}</td><td>{escape(c.claim)}</td><td>{escape(c.setting)}</td><td>{escape(c.figure)}</td>"
        f'<td><span class="verdict {_MARK[c.verdict]}">{escape(c.verdict)}</span></td></tr>'
        for c in claims
    )
    head = "<tr><th>section</th><th>claim</th><th>setting</th><th>what we found</th><th>verdict</th></tr>"
    return f'<div class="scroll"><table>{head}{rows}</table></div>'


def _section(outcome: Outcome) -> str:
    figures = "".join(
        f'<figure><img src="{outcome.name}/{name}.svg" alt="{escape(outcome.captions[name])}">'
        f"<figcaption>{escape(outcome.captions[name])}</figcaption></figure>"
        for name in outcome.figures
    )
    tables = "".join(_table(outcome.name, name, table) for name, table in outcome.tables.items())
    settings = "; ".join(f"{key}: {_plain(value)}" for key, value in outcome.settings.items())
    return (
        f'<h2 id="{outcome.name}">{escape(outcome.title)}</h2><p class="lead">{escape(outcome.summary)}</p>'
        f'{figures}{tables}<p class="small">{escape(settings)}</p>'
    )


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _table(folder: str, name: str, table: Table) -> str:
    head = "".join(f"<th>{escape(c)}</th>" for c in table.columns)
    body = "".join("<tr>" + "".join(_cell(v) for v in row) + "</tr>" for row in table.rows)
    link = f'<a class="small" href="{folder}/{name}.csv">csv</a>'
    return (
        f"<details><summary>{escape(table.title)}</summary>{link}"
        f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div></details>'
    )


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (
            f'<td class="number">{value:g}</td>' if isinstance(value, int) else f'<td class="number">{value:,.4g}</td>'
        )
    return f"<td>{escape(str(value))}</td>"


_BACKGROUND: Final = """## How the paper and its code differ

The public code of the authors (github.com/uclaml/VACDB) is research code, and its figures depend on choices that the paper
does not state. From reading it:

| in the paper | in the code |
|---|---|
| VACDB's radius follows the estimated variance | a constant, sqrt(d log T)/4, divided by the true scale of θ* |
| average regret, half the sum of both gaps | the sum of both gaps, divided by the scale of θ* |
| θ* random in every run | one fixed θ* in the submission; masked to two coordinates later |
| L = ceil(log2(1/α)), α = T^(-3/2) | L = 5 layers, α = 2^-5 |
| penalty λ/2 with λ = 0.001 for the comparators | the loss is divided by t and the penalty is not: a ridge that grows like 2e-4 t |
| CoLSTIM perturbs all arms with chance p_t | the coin has its branches the other way round |
| 128 runs | the newest revision does not start, and VACDB is commented out in its main file |

None of it is copied here; these are facts that explain why figures differ.
"""


def markdown_report(outcomes: Sequence[Outcome]) -> str:
    """The claims and tables as Markdown."""
    beyond = all(c.section == BEYOND for o in outcomes for c in o.claims)
    title, command = ("Beyond the paper", "make frontier") if beyond else ("Reproduction of the paper", "make figures")
    parts = [
        f"# {title}, claim by claim",
        "",
        f"Generated by `{command}`; do not edit. Regret is the paper's average regret. Intervals are 95 %, paired where "
        "policies are compared. Tuning and figures use different seeds.",
        "",
        "| section | claim | setting | our figure | verdict |",
        "|---|---|---|---|---|",
        *(
            f"| {_pipe(c.section)} | {_pipe(c.claim)} | {_pipe(c.setting)} | {_pipe(c.figure)} | **{c.verdict}** |"
            for o in outcomes
            for c in o.claims
        ),
        "",
        "![mean regret of every policy on every problem, divided by the best](frontier.png)" if beyond else _BACKGROUND,
        "",
    ]
    for outcome in outcomes:
        parts += [f"## {outcome.title}", "", outcome.summary, ""]
        for table in outcome.tables.values():
            parts += [f"### {table.title}", "", *_markdown_table(table), ""]
        parts += [f"Made by `{outcome.settings.get('command', '')}`.", ""]
    return "\n".join(parts)


def _markdown_table(table: Table) -> list[str]:
    head = [f"| {' | '.join(table.columns)} |", f"|{'---|' * len(table.columns)}"]
    return head + [f"| {' | '.join(_pipe(str(v)) for v in row)} |" for row in table.rows]


def _pipe(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
