"""Run experiments by name, and write one report over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from duelist.core.errors import InvalidInput
from duelist.research.experiments.engines import Engine
from duelist.research.experiments.lab import Progress
from duelist.research.experiments.programs import run_experiments, write_text
from duelist.research.experiments.reports.findings import Findings
from duelist.research.paper import CATALOG, PAPER, figure_1a
from duelist.research.paper.problems import PAPER_SETTING, Figure1aSetting
from duelist.research.paper.report import html_report


def reproduce(
    names: Sequence[str],
    folder: Path,
    progress: Progress | None = None,
    engine: Engine | None = None,
    setting: Figure1aSetting = PAPER_SETTING,
) -> list[Findings]:
    """Run the named experiments ("all" for those of the paper) and write everything into `folder`.

    `engine` plays their cells and must be started already; the default is this process. `setting` changes figure 1a,
    which then is the only experiment.
    """
    asked = [*PAPER, *(n for n in names if n != "all")] if "all" in names else names
    unknown = [name for name in asked if name not in CATALOG]
    if unknown:
        raise InvalidInput(
            f"experiment is {unknown[0]!r}.",
            f"Choose one of {', '.join(CATALOG)}, or all for the paper's.",
            field="experiment",
        )
    experiments = {name: CATALOG[name] for name in asked}
    if setting != PAPER_SETTING:
        if list(asked) != [figure_1a.NAME]:
            raise InvalidInput(
                f"{setting.options()} is given with {', '.join(asked)}.",
                f"Run {figure_1a.NAME} alone, or leave the options out: only {figure_1a.NAME} can be changed.",
                field="experiment",
            )
        experiments = {figure_1a.NAME: partial(figure_1a.run, setting=setting)}
    all_findings = run_experiments(experiments, folder, progress, engine, setting.options())
    write_text(folder / "report.html", html_report(all_findings))
    return all_findings
