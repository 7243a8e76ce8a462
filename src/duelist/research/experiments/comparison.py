"""Compare policies run by run: mean regret, and paired differences with intervals.

A run is identified by its seed and number, and every policy's run of that name met the same world, arms and luck.
Differences are taken over the runs that both policies have, so that a comparison can be made while an experiment is
still running.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from duelist.core.arrays import Floats, Ints
from duelist.core.tables import format_table
from duelist.simulation.runs import interval

CONFIDENCE: Final = 0.95


class Finals(NamedTuple):
    """Regret at the horizon, with the rows (seed, run) that identify each run."""

    ids: Ints
    values: Floats


@dataclass(frozen=True)
class PolicySummary:
    """One policy in one environment, with 95 % intervals; differences are to the reference, over `paired` runs."""

    policy: str
    runs: int
    mean: float
    sd: float
    low: float
    high: float
    median: float
    worst: float
    difference: float
    difference_low: float
    difference_high: float
    paired: int


@dataclass(frozen=True)
class Best:
    """The setting of a policy with the lowest mean regret among those that were tried.

    It was selected by these same numbers, which therefore flatter it slightly; `level_with` lists the settings that
    cannot be distinguished from it.
    """

    environment: str
    policy: str
    label: str
    settings: Mapping[str, Any]
    runs: int
    mean: float
    low: float
    high: float
    tried: int
    level_with: tuple[str, ...]


def format_summaries(rows: Sequence[PolicySummary], reference: str) -> str:
    """Format summaries as a plain table."""
    head = ["policy", "runs", "mean", "interval", "median", "worst", f"minus {reference}", "paired interval"]
    return format_table(head, [_cells(row) for row in rows])


def _cells(row: PolicySummary) -> list[str]:
    paired = ["", ""]
    if row.paired:
        paired = [f"{row.difference:+.1f}", f"[{row.difference_low:+.1f}, {row.difference_high:+.1f}]"]
    numbers = [f"{row.mean:.1f}", f"[{row.low:.1f}, {row.high:.1f}]", f"{row.median:.1f}", f"{row.worst:.1f}"]
    return [row.policy, str(row.runs), *numbers, *paired]


def summarize(finals: Mapping[str, Finals], reference: str) -> list[PolicySummary]:
    """Return a summary per policy, the lowest mean regret first."""
    base = finals.get(reference)
    rows = [_standing(policy, mine, base, policy == reference) for policy, mine in finals.items()]
    return sorted(rows, key=lambda row: row.mean)


def _standing(policy: str, mine: Finals, base: Finals | None, is_reference: bool) -> PolicySummary:
    values = mine.values
    difference = np.empty(0) if base is None or is_reference else paired_difference(mine, base)
    d_low, d_high = interval(difference, CONFIDENCE) if difference.size else (np.nan, np.nan)
    low, high = interval(values, CONFIDENCE)
    return PolicySummary(
        policy,
        len(values),
        float(values.mean()),
        float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        low,
        high,
        float(np.median(values)),
        float(values.max()),
        float(difference.mean()) if difference.size else np.nan,
        d_low,
        d_high,
        len(difference),
    )


def paired_difference(mine: Finals, theirs: Finals) -> Floats:
    """Return the first policy's regret minus the second's, over the runs that both have."""
    where = {tuple(name): k for k, name in enumerate(theirs.ids.tolist())}
    pairs = [(k, where[tuple(name)]) for k, name in enumerate(mine.ids.tolist()) if tuple(name) in where]
    if not pairs:
        return np.empty(0)
    left, right = np.array(pairs).T
    return np.asarray(mine.values[left] - theirs.values[right])


def best_setting(finals: Mapping[str, Finals]) -> tuple[str, tuple[str, ...]]:
    """Return the label with the lowest mean, and those whose paired difference from it includes zero at 95 %."""
    best = min(finals, key=lambda label: finals[label].values.mean())
    level = []
    for label, theirs in finals.items():
        difference = paired_difference(theirs, finals[best])
        if label != best and (not difference.size or interval(difference, CONFIDENCE)[0] <= 0.0):
            level.append(label)
    return best, tuple(level)
