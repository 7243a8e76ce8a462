"""The result of a simulation: regret, summary, plot, and operations to split and join runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats, Ints
from duelist.core.dataframes import to_pandas, to_polars
from duelist.core.errors import InvalidInput
from duelist.core.extras import needs_extra
from duelist.core.files import READ_ERRORS, atomic_write
from duelist.core.tables import TableContent, TabularResult, columns_of
from duelist.simulation.regret import KINDS, check_kind, regret
from duelist.simulation.regret_plot import RegretCurve, draw_regret
from duelist.simulation.run_log import Curves, DuelLog, win_shares

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes


FORMAT: Final = "duelist.simulation.runs"
VERSION: Final = 1
BANDS: Final = ("interval", "sd", "quantile")


@dataclass(frozen=True)
class SummaryRow:
    """A row of a summary, with intervals at the summary's confidence."""

    label: str
    mean: float
    sd: float
    interval: tuple[float, float]
    median: float
    worst: float
    difference: float
    difference_interval: tuple[float, float]


@dataclass(frozen=True, repr=False)
class Summary(TabularResult):
    """Final regret of each policy, and its paired difference from the reference."""

    rows: tuple[SummaryRow, ...]
    kind: str
    reference: str
    confidence: float
    runs: int
    horizon: int

    def _table(self) -> TableContent:
        title = (
            f"{self.kind} regret after {self.horizon} rounds, {self.runs} runs, {100 * self.confidence:g}% intervals"
        )
        headers = ["policy", "mean", "sd", "interval", "median", "worst", f"minus {self.reference}", "paired interval"]
        return TableContent(headers, [_cells(row, row.label == self.reference) for row in self.rows], title=title)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns = columns_of(self.rows, [field.name for field in fields(SummaryRow)])
        for name in ("interval", "difference_interval"):
            bounds = columns.pop(name)
            prefix = name.removesuffix("interval")
            columns |= {f"{prefix}{end}": [pair[k] for pair in bounds] for k, end in enumerate(("low", "high"))}
        return columns


def _cells(row: SummaryRow, is_reference: bool) -> list[str]:
    low, high = row.interval
    paired = ["", ""]
    if not is_reference:
        d_low, d_high = row.difference_interval
        paired = [f"{row.difference:+.1f}", f"[{d_low:+.1f}, {d_high:+.1f}]"]
    return [
        row.label,
        f"{row.mean:.1f}",
        f"{row.sd:.1f}",
        f"[{low:.1f}, {high:.1f}]",
        f"{row.median:.1f}",
        f"{row.worst:.1f}",
        *paired,
    ]


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """Return versions of the libraries that compute; each lookup takes milliseconds, hence the cache."""
    return tuple((name, version(name)) for name in ("duelist", "numpy"))


Kept = DuelLog | Curves
"""The record of a policy's runs."""


class Runs:
    """The result of `simulate`: regret, duels, a summary, a plot.

    Attributes
    ----------
    labels
        The policies' labels, in the order given.
    first_run
        The number of the first run: 0, unless these are part of a larger
        simulation.
    settings
        The settings of the simulation: environment, seed, policies, versions.
    """

    def __init__(
        self,
        kept: Mapping[str, Kept],
        environment: dict[str, Any],
        seed: int,
        policies: dict[str, str],
        versions: dict[str, str] | None = None,
        first_run: int = 0,
    ) -> None:
        self._kept = {str(label): mine for label, mine in kept.items()}
        if not self._kept:
            raise InvalidInput("No policies in these runs.", "Name at least one.")
        self.first_run = first_run
        self.settings: dict[str, Any] = {
            # A JSON round trip, so that saved and new runs compare equal.
            "environment": json.loads(json.dumps(environment)),
            "seed": seed,
            "policies": policies,
            "versions": versions or dict(_versions()),
        }

    @property
    def labels(self) -> list[str]:
        """The policies' labels."""
        return list(self._kept)

    @property
    def keeps(self) -> str:
        """The kind of record: "duels", or "curves" (regret at some rounds)."""
        return "duels" if isinstance(self._first_record(), DuelLog) else "curves"

    @property
    def runs(self) -> int:
        """The number of runs."""
        kept = self._first_record()
        return len(kept.first if isinstance(kept, DuelLog) else kept.average)

    @property
    def rounds(self) -> Ints:
        """The rounds at which regret is known: all, or those of the curves."""
        kept = self._first_record()
        return np.arange(1, kept.first.shape[1] + 1) if isinstance(kept, DuelLog) else kept.rounds

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.rounds[-1])

    def __repr__(self) -> str:
        return f"Runs({', '.join(self.labels)}; {self.runs} runs of {self.horizon} rounds)"

    def kept(self, label: str) -> Kept:
        """Return the record of one policy."""
        if label not in self._kept:
            raise InvalidInput(f"No policy {label!r} in these runs.", f"There are {', '.join(self.labels)}.")
        return self._kept[label]

    def log(self, label: str) -> DuelLog:
        """Return every duel of one policy."""
        kept = self.kept(label)
        if not isinstance(kept, DuelLog):
            raise InvalidInput(
                f"Of {label!r} only regret curves are kept.", "Simulate with keep='duels' to keep every duel."
            )
        return kept

    def regret(self, label: str, kind: str = "average", *, cumulative: bool = True) -> Floats:
        """Return regret (runs, rounds), "average", "weak" or "strong", at `rounds`; cumulative or per round."""
        check_kind(kind)
        kept = self.kept(label)
        if isinstance(kept, Curves) and cumulative:
            return np.asarray(getattr(kept, kind))
        log = self.log(label)
        each = regret(log.first_gap, log.second_gap, kind)
        return np.cumsum(each, axis=1) if cumulative else each

    def final(self, label: str, kind: str = "average") -> Floats:
        """Return the regret of each run at the horizon."""
        return self.regret(label, kind)[:, -1]

    def duels(self, label: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return first and second arms (runs, horizon), as positions among the arms of the round."""
        log = self.log(label)
        return log.first, log.second

    def outcomes(self, label: str) -> Floats:
        """Return 1 where the first arm won, 0 where the second won, and 0.5 for ties (runs, horizon)."""
        return win_shares(self.log(label).outcome)

    def layers(self, label: str) -> NDArray[np.int8]:
        """Return the layer that learned each outcome, from 1; 0 if the vote was not learned (runs, horizon)."""
        return self.log(label).layer

    def check_world(self, environment: dict[str, Any], seed: int, runs: int, horizon: int) -> None:
        """Raise unless these runs have that environment, seed and size."""
        mine = {**self.settings, "runs": self.runs, "horizon": self.horizon}
        asked = {"environment": json.loads(json.dumps(environment)), "seed": seed, "runs": runs, "horizon": horizon}
        for name, value in asked.items():
            if mine[name] != value:
                raise InvalidInput(
                    f"These runs have {name} {mine[name]}, not {value}.",
                    "Keep different simulations in different files.",
                )

    # -- split and join -------------------------------------------------------------------

    def only(self, labels: Sequence[str]) -> Runs:
        """Return the runs of some policies, in the order given."""
        policies = {label: self.settings["policies"][label] for label in labels if label in self._kept}
        return self._with_records({label: self.kept(label) for label in labels}, policies, self.first_run)

    def part(self, runs: range) -> Runs:
        """Return some of the runs by number: range(64, 128) is what `simulate(..., runs=range(64, 128))` plays."""
        if runs.step != 1 or not self.first_run <= runs.start < runs.stop <= self.first_run + self.runs:
            raise InvalidInput(f"runs is {runs!r}.", f"These are runs {self._span()}.", field="runs")
        chosen = slice(runs.start - self.first_run, runs.stop - self.first_run)
        kept = {label: _map_arrays(mine, lambda array: array[chosen]) for label, mine in self._kept.items()}
        return self._with_records(kept, self.settings["policies"], runs.start)

    def merge(self, other: Runs) -> Runs:
        """Return these runs joined with others in the same worlds; where both have the same, `other` wins."""
        return Runs.join([self, other])

    @classmethod
    def join(cls, parts: Iterable[Runs]) -> Runs:
        """Join a simulation from its parts, split by policies, by runs, or both; later parts win where they overlap."""
        listed = list(parts)
        if not listed:
            raise InvalidInput("No parts given.", "Give at least one.")
        for part in listed[1:]:
            listed[0]._check_joins(part)
        pieces: dict[str, dict[range, Kept]] = {}
        policies: dict[str, str] = {}
        for part in listed:
            policies |= part.settings["policies"]
            span = range(part.first_run, part.first_run + part.runs)
            for label in part.labels:
                pieces.setdefault(label, {})[span] = part.kept(label)
        spans = {label: _whole(label, list(mine)) for label, mine in pieces.items()}
        first = next(iter(spans))
        for label, span in spans.items():
            if span != spans[first]:
                raise InvalidInput(
                    f"There are runs {_format_span(spans[first])} of {first!r} and runs {_format_span(span)} of {label!r}.",
                    "Join all parts of both.",
                )
        kept = {
            label: _concatenate([mine[s] for s in sorted(mine, key=lambda s: s.start)])
            for label, mine in pieces.items()
        }
        return listed[-1]._with_records(kept, policies, spans[first].start)

    def _with_records(self, kept: Mapping[str, Kept], policies: dict[str, str], first_run: int) -> Runs:
        settings = self.settings
        return Runs(kept, settings["environment"], settings["seed"], policies, settings["versions"], first_run)

    def _check_joins(self, other: Runs) -> None:
        self.check_world(other.settings["environment"], other.settings["seed"], self.runs, other.horizon)
        if self.keeps != other.keeps or len(self.rounds) != len(other.rounds):
            raise InvalidInput(
                f"One part keeps {self.keeps} at {len(self.rounds)} rounds, another {other.keeps} at "
                f"{len(other.rounds)}.",
                "Simulate all parts with the same keep and points.",
            )
        for label in set(self.labels) & set(other.labels):
            mine, theirs = (part.settings["policies"].get(label) for part in (self, other))
            span = range(self.first_run, self.first_run + self.runs)
            if mine != theirs and span != range(other.first_run, other.first_run + other.runs):
                raise InvalidInput(
                    f"{label!r} is {mine} in one part and {theirs} in another.", "Give them different labels."
                )

    def _span(self) -> str:
        return _format_span(range(self.first_run, self.first_run + self.runs))

    def summary(self, kind: str = "average", reference: str | None = None, confidence: float = 0.95) -> Summary:
        """Summarise the final regret of each policy and its paired difference from `reference` (default: the first).

        Intervals are Student's, over runs; differences are taken run by run,
        since all policies played the same worlds.
        """
        if not 0.0 < confidence < 1.0:
            raise InvalidInput(f"confidence is {confidence!r}.", "Give a share between 0 and 1.", field="confidence")
        reference = reference or self.labels[0]
        base = self.final(reference, kind)
        rows = []
        for label in self.labels:
            final = self.final(label, kind)
            rows.append(
                SummaryRow(
                    label,
                    float(final.mean()),
                    float(final.std(ddof=1)) if len(final) > 1 else 0.0,
                    interval(final, confidence),
                    float(np.median(final)),
                    float(final.max()),
                    float((final - base).mean()),
                    interval(final - base, confidence),
                )
            )
        return Summary(tuple(rows), kind, reference, confidence, self.runs, self.horizon)

    def plot(self, ax: Axes | None = None, kind: str = "average", band: str = "interval") -> Axes:
        """Plot the mean cumulative regret, with each policy's name at the end of its line.

        `band` chooses what surrounds the mean: bars of its 95 % interval
        ("interval"), or a band of one standard deviation ("sd") or of the
        middle 80 % of the runs ("quantile"). Bands show how much runs differ.
        To compare policies, read the paired differences of `summary`.
        """
        with needs_extra("plots", "charts"):
            from matplotlib import pyplot as plt

        if band not in BANDS:
            raise InvalidInput(f"band is {band!r}.", f"Choose one of {', '.join(BANDS)}.", field="band")
        check_kind(kind)

        ax = ax if ax is not None else plt.subplots(figsize=(7, 4.5), layout="constrained")[1]
        drawn = {}
        for label in self.labels:
            regrets = self.regret(label, kind)
            drawn[label] = RegretCurve(self.rounds, regrets.mean(axis=0), *_band(regrets, band))
        draw_regret(ax, drawn, kind, bars=band == "interval")
        return ax

    def to_pandas(self) -> pd.DataFrame:
        """Return a tidy pandas data frame: one row per policy, run and recorded round."""
        return to_pandas(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """Return the data of `to_pandas` as a polars data frame."""
        return to_polars(self._columns())

    def _columns(self) -> dict[str, Any]:
        """Return policy, run, round, and the three cumulative regrets as columns."""
        size, points = self.runs * len(self.rounds), len(self.rounds)
        numbers = np.arange(self.first_run, self.first_run + self.runs)
        return {
            "policy": np.repeat(np.array(self.labels, object), size),
            "run": np.tile(np.repeat(numbers, points), len(self.labels)),
            "round": np.tile(self.rounds, self.runs * len(self.labels)),
            **{kind: np.concatenate([self.regret(lab, kind).ravel() for lab in self.labels]) for kind in KINDS},
        }

    def save(self, path: str | Path) -> Path:
        """Write all runs to one .npz file, atomically."""
        path = Path(path)
        meta = {"format": FORMAT, "version": VERSION, "labels": self.labels, "keeps": self.keeps, **self.settings}
        meta["first_run"] = self.first_run
        arrays = {f"{k}/{n}": a for k, lab in enumerate(self.labels) for n, a in self.kept(lab)._asdict().items()}
        with atomic_write(path) as file:
            np.savez_compressed(file, allow_pickle=False, meta=np.array(json.dumps(meta)), **arrays)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read runs that `save` wrote."""
        try:
            # Opened here: np.load leaves the file open when the archive is damaged.
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as data:
                meta = json.loads(str(data["meta"]))
                if meta.get("format") != FORMAT or meta.get("version") != VERSION:
                    raise InvalidInput(
                        f"{path} holds {meta.get('format')} version {meta.get('version')}.",
                        f"This release reads {FORMAT} version {VERSION}.",
                    )
                kind: type[DuelLog] | type[Curves] = Curves if meta["keeps"] == "curves" else DuelLog
                kept: dict[str, Kept] = {
                    label: kind(*(data[f"{k}/{name}"] for name in kind._fields))
                    for k, label in enumerate(meta["labels"])
                }
                described = (meta["environment"], meta["seed"], meta["policies"], meta["versions"])
                return cls(kept, *described, first_run=meta["first_run"])
        except (FileNotFoundError, InvalidInput):
            raise
        except READ_ERRORS as error:
            raise InvalidInput(f"{path} cannot be read as saved runs ({error}).", "Simulate again.") from error

    def _first_record(self) -> Kept:
        return next(iter(self._kept.values()))


def _map_arrays(kept: Kept, change: Callable[[Any], Any]) -> Kept:
    """Apply a function to every array that has one row per run."""
    if isinstance(kept, DuelLog):
        return DuelLog(*map(change, kept))
    return Curves(kept.rounds, *map(change, kept[1:]))


def _concatenate(pieces: Sequence[Kept]) -> Kept:
    """Concatenate along runs."""
    if len(pieces) == 1:
        return pieces[0]
    columns = iter(zip(*pieces, strict=True))
    if isinstance(pieces[0], Curves):
        next(columns)  # the rounds, which all parts share
    return _map_arrays(pieces[0], lambda _: np.concatenate(next(columns)))


def _whole(label: str, spans: list[range]) -> range:
    """Return the contiguous span that these spans form."""
    spans = sorted(spans, key=lambda span: span.start)
    for before, after in itertools.pairwise(spans):
        if after.start != before.stop:
            problem = "overlap" if after.start < before.stop else "have a gap"
            raise InvalidInput(
                f"The runs of {label!r}, {_format_span(before)} and {_format_span(after)}, {problem}.",
                "Join each once.",
            )
    return range(spans[0].start, spans[-1].stop)


def _format_span(span: range) -> str:
    return f"{span.start} to {span.stop - 1}"


def interval(values: Floats, confidence: float = 0.95) -> tuple[float, float]:
    """Return Student's interval for the mean of independent values; infinite for a single one.

    >>> interval(np.array([1.0, 1.0, 1.0]))
    (1.0, 1.0)
    """
    centre = float(values.mean())
    if len(values) < 2:
        return -np.inf, np.inf
    half = float(_student(len(values) - 1, 0.5 + confidence / 2) * values.std(ddof=1) / np.sqrt(len(values)))
    return centre - half, centre + half


def _student(freedom: int, quantile: float) -> float:
    """Return a quantile of Student's distribution."""
    from scipy.special import stdtrit  # lazy: simulations that need no interval do not wait for SciPy

    return float(stdtrit(freedom, quantile))


def _band(curves: Floats, band: str) -> tuple[Floats, Floats]:
    mean = curves.mean(axis=0)
    sd = curves.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros_like(mean)
    if band == "sd":
        return np.maximum(mean - sd, 0.0), mean + sd
    if band == "interval":
        half = (_student(len(curves) - 1, 0.975) if len(curves) > 1 else 0.0) * sd / np.sqrt(len(curves))
        return mean - half, mean + half
    low, high = np.quantile(curves, [0.1, 0.9], axis=0)
    return low, high
