"""Run experiments that are programs, and write what they found.

Each experiment gets a folder with its figures (PNG and SVG), its tables (CSV), and a JSON file of settings, seeds,
versions and wall time.
"""

from __future__ import annotations

import csv
import io
import json
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from duelist.core.files import atomic_write
from duelist.research.experiments.engines import Engine
from duelist.research.experiments.lab import Lab, Progress
from duelist.research.experiments.reports.findings import Findings, FindingsTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Experiment = Callable[[Lab], Findings]

PACKAGES: Final = ("duelist", "numpy", "scipy", "matplotlib")


def run_experiments(
    experiments: Mapping[str, Experiment],
    folder: Path,
    progress: Progress | None = None,
    engine: Engine | None = None,
    options: str = "",
) -> list[Findings]:
    """Run experiments by name and write each into its own folder inside `folder`, which also caches their cells.

    `engine` plays the cells and must be started already; the default is this process. `options` are those of the
    command that repeats the run.
    """
    all_findings = []
    for name, run in experiments.items():
        lab = Lab(folder / "cache", progress, engine)
        started = time.perf_counter()
        outcome = run(lab)
        outcome.settings |= _circumstances(f"{name} {options}".strip(), time.perf_counter() - started, lab)
        write_outcome(folder / name, outcome)
        all_findings.append(outcome)
    return all_findings


def _circumstances(arguments: str, seconds: float, lab: Lab) -> dict[str, Any]:
    return {
        "command": f"duelist reproduce {arguments}",
        "wall time in seconds": round(seconds, 1),
        "cells played": lab.played,
        "cells read from the cache": lab.reused,
        "versions": {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
    }


def write_outcome(folder: Path, outcome: Findings) -> None:
    """Write the figures, tables and settings of one experiment."""
    for name, figure in outcome.figures.items():
        _save_figure(folder / f"{name}.png", figure)
        from matplotlib import rc_context

        # No date and no random ids: equal numbers give an identical SVG file.
        with rc_context({"svg.hashsalt": outcome.name}):
            _save_figure(folder / f"{name}.svg", figure, metadata={"Date": None})
    for name, table in outcome.tables.items():
        write_text(folder / f"{name}.csv", csv_text(table))
    found = {"settings": outcome.settings, "claims": [asdict(c) for c in outcome.claims]}
    write_text(folder / "settings.json", json.dumps({"title": outcome.title, **found}, indent=2, default=str) + "\n")


def _save_figure(path: Path, figure: Figure, **options: Any) -> None:
    with atomic_write(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=150, **options)


def csv_text(table: FindingsTable) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_write(path) as file:
        file.write(text.encode())
