"""The result of a simulation: what every policy did in every run, summed up and drawn."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from duelist.arrays import Floats
from duelist.errors import InvalidInput
from duelist.files import replacing
from duelist.regret import check_kind, regret

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FORMAT: Final = "duelist.runs"
VERSION: Final = 1

# What np.load and zipfile raise for files that are damaged in one way or another.
_UNREADABLE: Final = (
    OSError,
    BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
    NotImplementedError,
)


BANDS: Final = ("sd", "interval", "quantile")


class Log(NamedTuple):
    """What is written down of rounds: (runs, rounds) arrays."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    layer: NDArray[np.int8]
    """Layer that learned the outcome, from 1; 0 where nothing was learned (exploitation, a self-duel)."""
    outcome: NDArray[np.uint8]
    first_gap: Floats
    second_gap: Floats


_DTYPES: Final[tuple[Any, ...]] = (np.int32, np.int32, np.int8, np.uint8, np.float64, np.float64)


def blank_log(runs: int, rounds: int) -> Log:
    """A log with nothing written yet."""
    return Log(*(np.zeros((runs, rounds), dtype) for dtype in _DTYPES))


@dataclass(frozen=True)
class Row:
    """One line of a summary; intervals hold with the summary's confidence."""

    label: str
    mean: float
    sd: float
    interval: tuple[float, float]
    median: float
    worst: float
    difference: float
    difference_interval: tuple[float, float]


@dataclass(frozen=True)
class Summary:
    """Final regret of each policy, and its paired difference from the reference."""

    rows: tuple[Row, ...]
    kind: str
    reference: str
    confidence: float
    runs: int
    horizon: int

    def __str__(self) -> str:
        head = f"{self.kind} regret after {self.horizon} rounds, {self.runs} runs, {100 * self.confidence:g}% intervals"
        columns = ["policy", "mean", "sd", "interval", "median", "worst", f"minus {self.reference}", "paired interval"]
        lines = [columns] + [_cells(row, row.label == self.reference) for row in self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(columns))]
        text = [
            "  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True)))
            for line in lines
        ]
        return "\n".join([head, *(line.rstrip() for line in text)])


def _cells(row: Row, is_reference: bool) -> list[str]:
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
    """Releases of what computes; looking them up takes milliseconds each."""
    return tuple((name, version(name)) for name in ("duelist", "numpy"))


class Runs:
    """What a simulation returns; ask it for regret, duels, a summary or a plot.

    Attributes
    ----------
    labels
        The policies' labels, in the order given.
    settings
        What was run: environment, seed, policies, versions.
    """

    def __init__(
        self,
        logs: Mapping[str, Log],
        environment: dict[str, Any],
        seed: int,
        policies: dict[str, str],
        versions: dict[str, str] | None = None,
    ) -> None:
        self._logs = {str(label): log for label, log in logs.items()}
        if not self._logs:
            raise InvalidInput("no policies in these runs; name at least one")
        self.settings: dict[str, Any] = {
            # As JSON would give it back, so that saved and new runs compare equal.
            "environment": json.loads(json.dumps(environment)),
            "seed": seed,
            "policies": policies,
            "versions": versions or dict(_versions()),
        }

    @property
    def labels(self) -> list[str]:
        """The policies, by label."""
        return list(self._logs)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self._any().first)

    @property
    def horizon(self) -> int:
        """Number of rounds."""
        return int(self._any().first.shape[1])

    def __repr__(self) -> str:
        return f"Runs({', '.join(self.labels)}; {self.runs} runs of {self.horizon} rounds)"

    def log(self, label: str) -> Log:
        """Everything written down of one policy."""
        if label not in self._logs:
            raise InvalidInput(f"no policy {label!r} in these runs; there are {', '.join(self.labels)}")
        return self._logs[label]

    def regret(self, label: str, kind: str = "average", *, cumulative: bool = True) -> Floats:
        """Regret (runs, horizon): "average", "weak" or "strong"; cumulative, or of each round."""
        log = self.log(label)
        each = regret(log.first_gap, log.second_gap, kind)
        return np.cumsum(each, axis=1) if cumulative else each

    def final(self, label: str, kind: str = "average") -> Floats:
        """Regret of each run at the horizon."""
        return np.asarray(self.regret(label, kind, cumulative=False).sum(axis=1))

    def duels(self, label: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """First and second arms (runs, horizon), as positions among the arms of the round."""
        log = self.log(label)
        return log.first, log.second

    def outcomes(self, label: str) -> NDArray[np.uint8]:
        """1 where the first arm won (runs, horizon)."""
        return self.log(label).outcome

    def layers(self, label: str) -> NDArray[np.int8]:
        """Layer that learned each outcome, from 1; 0 where nothing was learned (runs, horizon)."""
        return self.log(label).layer

    def check_world(self, environment: dict[str, Any], seed: int, runs: int, horizon: int) -> None:
        """Refuse unless these runs are of that environment, seed and size."""
        mine = {**self.settings, "runs": self.runs, "horizon": self.horizon}
        asked = {"environment": json.loads(json.dumps(environment)), "seed": seed, "runs": runs, "horizon": horizon}
        for name, value in asked.items():
            if mine[name] != value:
                raise InvalidInput(
                    f"these runs have {name} {mine[name]}, not {value}; keep different simulations in different files"
                )

    def only(self, labels: Sequence[str]) -> Runs:
        """The runs of some policies, in the order given."""
        policies = {label: self.settings["policies"][label] for label in labels if label in self._logs}
        logs = {label: self.log(label) for label in labels}
        return Runs(logs, self.settings["environment"], self.settings["seed"], policies, self.settings["versions"])

    def joined(self, other: Runs) -> Runs:
        """These runs and those of other policies in the same worlds; `other` wins where labels meet."""
        self.check_world(other.settings["environment"], other.settings["seed"], other.runs, other.horizon)
        policies = {**self.settings["policies"], **other.settings["policies"]}
        logs = {**self._logs, **other._logs}
        return Runs(logs, self.settings["environment"], self.settings["seed"], policies, other.settings["versions"])

    def summary(self, kind: str = "average", reference: str | None = None, confidence: float = 0.95) -> Summary:
        """Final regret of each policy and its paired difference from `reference` (default: the first).

        Intervals are Student's, over runs; differences are taken run by run, since all policies
        played the same worlds.
        """
        if not 0.0 < confidence < 1.0:
            raise InvalidInput(f"confidence is {confidence!r}; give a share between 0 and 1")
        reference = reference or self.labels[0]
        base = self.final(reference, kind)
        rows = []
        for label in self.labels:
            final = self.final(label, kind)
            rows.append(
                Row(
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

    def plot(self, ax: Axes | None = None, kind: str = "average", band: str = "sd") -> Axes:
        """Mean cumulative regret with a band: "sd", "interval" (95 % of the mean) or "quantile" (10-90 %)."""
        from matplotlib import pyplot as plt  # heavy, and not needed to simulate

        if band not in BANDS:
            raise InvalidInput(f"band is {band!r}; choose one of {', '.join(BANDS)}")
        check_kind(kind)

        ax = ax if ax is not None else plt.subplots(figsize=(7, 4.5), layout="constrained")[1]
        t = np.arange(1, self.horizon + 1)
        for label in self.labels:
            curves = self.regret(label, kind)
            low, high = _band(curves, band)
            (line,) = ax.plot(t, curves.mean(axis=0), label=label, linewidth=1.6)
            ax.fill_between(t, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        ax.set_xlabel("round")
        ax.set_ylabel(f"cumulative {kind} regret")
        ax.set_xlim(0, self.horizon)
        ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
        return ax

    def save(self, path: str | Path) -> Path:
        """Write everything to one .npz file, all or nothing."""
        path = Path(path)
        meta = {"format": FORMAT, "version": VERSION, "labels": self.labels, **self.settings}
        arrays = {f"{k}/{n}": a for k, lab in enumerate(self.labels) for n, a in self.log(lab)._asdict().items()}
        with replacing(path) as file:
            np.savez_compressed(file, allow_pickle=False, meta=np.array(json.dumps(meta)), **arrays)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Runs that `save` wrote."""
        try:
            # Opened here: np.load leaves the file open when the archive is damaged.
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as data:
                meta = json.loads(str(data["meta"]))
                if meta.get("format") != FORMAT or meta.get("version") != VERSION:
                    raise InvalidInput(
                        f"{path} holds {meta.get('format')} version {meta.get('version')}; "
                        f"this release reads {FORMAT} version {VERSION}"
                    )
                logs = {
                    label: Log(*(data[f"{k}/{name}"] for name in Log._fields)) for k, label in enumerate(meta["labels"])
                }
                return cls(logs, meta["environment"], meta["seed"], meta["policies"], meta["versions"])
        except (FileNotFoundError, InvalidInput):
            raise
        except _UNREADABLE as error:
            raise InvalidInput(f"{path} cannot be read as saved runs ({error}); simulate again") from error

    def _any(self) -> Log:
        return next(iter(self._logs.values()))


def interval(values: Floats, confidence: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean of independent values; infinite for a single one.

    >>> interval(np.array([1.0, 1.0, 1.0]))
    (1.0, 1.0)
    """
    centre = float(values.mean())
    if len(values) < 2:
        return -np.inf, np.inf
    half = float(_student(len(values) - 1, 0.5 + confidence / 2) * values.std(ddof=1) / np.sqrt(len(values)))
    return centre - half, centre + half


def _student(freedom: int, quantile: float) -> float:
    """A quantile of Student's distribution."""
    from scipy.special import stdtrit  # who simulates and looks at no interval does not wait for SciPy

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
