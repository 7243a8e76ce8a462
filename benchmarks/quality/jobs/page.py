"""The pages: losses first, then tables of held-out and of tuning sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.quality.jobs.play import ASKED, DELTA, SERVED
from benchmarks.quality.jobs.runs import OUR_FORMS, OURS, SHORT, Results, Run
from duelist.core.arrays import Floats

RESAMPLES = 4000


@dataclass(frozen=True)
class Measure:
    """A number for each run."""

    title: str
    value: Callable[[Run], float]
    digits: int
    higher_is_better: bool = False

    def of(self, runs: list[Run]) -> Floats:
        return np.array([self.value(run) for run in runs], np.float64)


def regret_after(k: int, duels: int) -> Measure:
    return Measure(f"summed regret, {duels:,} duels", lambda run: run["regret"][k], 0)


def right_after(k: int) -> Measure:
    return Measure(f"share right, {ASKED[k]:,} votes", lambda run: float(run["regret"][k] <= 1e-12), 2, True)


SERVE_MEASURES = (regret_after(-1, SERVED[-1]),)
SHORT_MEASURES = (regret_after(-1, SHORT),)


def best_measures(most: int) -> tuple[Measure, ...]:
    """The share of right arms at each number of votes up to the last."""
    return tuple(right_after(k) for k, votes in enumerate(ASKED) if votes <= most)


VOTES = Measure("votes until a decision", lambda run: float(run["votes"]), 0)


def interval(values: Floats) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean."""
    drawn = np.random.default_rng(0).choice(values, (RESAMPLES, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def compared(measure: Measure, ours: Floats, other: Floats) -> tuple[str, int]:
    """Return ours minus another, with its interval; and 1 if ours is better, -1 if worse, 0 within the interval."""
    difference = ours - other
    low, high = interval(difference)
    sign = 1 if measure.higher_is_better else -1
    better = sign if low > 0.0 else -sign if high < 0.0 else 0
    digits = measure.digits
    return f"{difference.mean():+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]", better


def losses(results: Results, measures: tuple[Measure, ...]) -> Iterator[str]:
    """List where another one, a peer or another form of ours, is better by more than the interval: on a data set, or on a mean."""
    groups = {problem: {problem: row} for problem, row in results.items()}
    groups |= {f"**mean, {title}**": chosen for title, chosen in parts(results).items() if len(chosen) > 1}
    for measure in measures:
        found = []
        for group, rows in groups.items():
            ours = over_all(measure, rows, OURS)
            for name in dict.fromkeys(name for row in rows.values() for name in row if name != OURS):
                theirs = over_all(measure, rows, name)
                if ours is None or theirs is None:
                    continue
                words, better = compared(measure, ours, theirs)
                if better < 0:
                    values = f"{ours.mean():.{measure.digits}f} against {theirs.mean():.{measure.digits}f}"
                    found.append(f"- {group}, {measure.title}: {name}, {values}; difference {words}.")
        yield from found or [f"- None beyond its interval, {measure.title}."]
    yield ""


def tables(results: Results, measures: tuple[Measure, ...]) -> Iterator[str]:
    """For each measure a table: means of all contestants; and ours minus each peer over all problems."""
    names = list(dict.fromkeys(name for row in results.values() for name in row))
    for measure in measures:
        yield from (f"### {measure.title[0].upper()}{measure.title[1:]}", "")
        yield "| data set | " + " | ".join(names) + " |"
        yield "|---|" + "---:|" * len(names)
        for problem, row in results.items():
            yield f"| {problem} | " + " | ".join(mean_of(measure, row, name) for name in names) + " |"
        for title, chosen in parts(results).items():
            means = [over_all(measure, chosen, name) for name in names]
            yield (
                f"| **mean, {title}** | "
                + " | ".join("" if m is None else f"**{m.mean():.{measure.digits}f}**" for m in means)
                + " |"
            )
            cells = []
            for name, mean in zip(names, means, strict=True):
                ours = over_all(measure, chosen, OURS)
                cells.append("" if name == OURS or mean is None or ours is None else compared(measure, ours, mean)[0])
            yield f"| ours minus it, {title} | " + " | ".join(cells) + " |"
        yield ""


def mean_of(measure: Measure, row: dict[str, list[Run]], name: str) -> str:
    return f"{measure.of(row[name]).mean():.{measure.digits}f}" if name in row else ""


def parts(results: Results) -> dict[str, Results]:
    """Problems with and without features."""
    with_features = {problem: row for problem, row in results.items() if problem.endswith("with features")}
    without = {problem: row for problem, row in results.items() if problem not in with_features}
    return {title: rows for title, rows in (("no features", without), ("with features", with_features)) if rows}


def over_all(measure: Measure, results: Results, name: str) -> Floats | None:
    """Return the mean over problems, run by run; None if one of them lacks the contestant."""
    if not all(name in row for row in results.values()):
        return None
    return np.asarray(np.mean([measure.of(row[name]) for row in results.values()], axis=0))


def one_form(results: Results, measure: Measure) -> Iterator[str]:
    """Compare the form that `policy_for` returns for an ArmTable with the better of the other two, set by set."""
    yield "| data set | both | features alone | arm effects alone | both, relative to the better |"
    yield "|---|---:|---:|---:|---:|"
    for problem, row in results.items():
        if not set(OUR_FORMS.values()) <= set(row):
            continue
        both = measure.of(row[OURS]).mean()
        features, effects = (measure.of(row[name]).mean() for name in reversed(OUR_FORMS.values()))
        yield f"| {problem} | {both:.0f} | {features:.0f} | {effects:.0f} | {100.0 * (both / min(features, effects) - 1.0):+.0f} % |"
    yield ""


def decisions(results: Results, most: int) -> Iterator[str]:
    """Votes until the stopping rule decides, and wrong decisions."""
    names = list(dict.fromkeys(name for row in results.values() for name in row))
    yield from ("### Votes until a decision", "")
    yield f"At error rate {DELTA:g}; a run without a decision counts {most:,} votes. In brackets: decided runs, and wrong ones."
    yield ""
    yield "| data set | " + " | ".join(names) + " |"
    yield "|---|" + "---:|" * len(names)
    for problem, row in results.items():
        cells = []
        for name in names:
            runs = row.get(name, [])
            decided = [run["decided"] for run in runs if run["decided"] is not None]
            cells.append(f"{VOTES.of(runs).mean():.0f} ({len(decided)}, {decided.count(False)})" if runs else "")
        yield f"| {problem} | " + " | ".join(cells) + " |"
    yield ""
