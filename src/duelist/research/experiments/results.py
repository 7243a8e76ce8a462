"""The results of an experiment: numbers, comparisons, best settings, data frames.

They can be read from the results folder at any time, also while the experiment is running.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from duelist.core.arrays import Floats, Ints, check_choice
from duelist.core.dataframes import to_pandas, to_polars
from duelist.core.errors import InvalidInput
from duelist.research.experiments.comparison import Best, Finals, PolicySummary, best_setting, summarize
from duelist.research.experiments.plan import ExperimentPlan, Planned
from duelist.research.experiments.store import Store
from duelist.simulation.regret import check_kind
from duelist.simulation.run_log import SUMS, Curves
from duelist.simulation.runs import interval

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

WHAT: Final = ("final", "curves")
"""What data frames hold: one row per run at the horizon, or one per run and recorded round."""


class Group(NamedTuple):
    """All finished runs of one policy in one environment."""

    ids: Ints
    """(runs, 2): seed and number of each run."""
    curves: Curves


class Results:
    """The contents of a results folder.

    >>> Results("absent")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    duelist.core.errors.InvalidResults: absent holds no results of an experiment: it has no plan.json; make some with `duelist run`
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.plan = ExperimentPlan.read(self.folder)
        self._store = Store(self.folder)

    def __repr__(self) -> str:
        return f"Results({self.plan.name}; {self.finished} of {self.planned} cells)"

    @property
    def policies(self) -> list[str]:
        """Labels of the policies, in the order declared."""
        return list(self.plan.policies)

    @property
    def environments(self) -> list[str]:
        """Labels of the environments, in the order declared."""
        return list(self.plan.environments)

    @property
    def planned(self) -> int:
        """The number of cells of the experiment."""
        return len({cell.key for cell in self.plan.cells})

    @cached_property
    def _read(self) -> dict[str, Curves]:
        found = ((key, self._store.read(key)) for key in dict.fromkeys(cell.key for cell in self.plan.cells))
        return {key: curves for key, curves in found if curves is not None}

    @property
    def finished(self) -> int:
        """The number of cells that were finished when this was first read."""
        return len(self._read)

    @property
    def complete(self) -> bool:
        """Whether all cells are finished."""
        return self.finished == self.planned

    @cached_property
    def failures(self) -> list[dict[str, Any]]:
        """The cells that failed when they were last tried: settings, error, traceback."""
        mine = {cell.key for cell in self.plan.cells}
        return [failed for failed in self._store.failures() if failed["key"] in mine]

    def seconds(self) -> dict[str, float]:
        """Seconds that each finished cell took, by key."""
        return {key: float(self._store.record(key)["made"]["seconds"]) for key in self._read}

    @cached_property
    def groups(self) -> Mapping[tuple[str, str], Group]:
        """All finished runs, by policy and environment."""
        gathered: dict[tuple[str, str], list[Planned]] = {}
        for cell in self.plan.cells:
            if cell.key in self._read:
                gathered.setdefault((cell.policy, cell.environment), []).append(cell)
        order = [(p, e) for e in self.environments for p in self.policies]
        return {pair: self._group(gathered[pair]) for pair in order if pair in gathered}

    def _group(self, cells: list[Planned]) -> Group:
        cells = sorted(cells, key=lambda cell: (cell.seed, cell.first_run))
        ids = np.array([(c.seed, r) for c in cells for r in range(c.first_run, c.first_run + c.runs)], np.int64)
        parts = [self._read[cell.key] for cell in cells]
        joined = (np.concatenate([part[k] for part in parts]) for k in range(1, len(Curves._fields)))
        return Group(ids, Curves(parts[0].rounds, *joined))

    # -- comparisons ------------------------------------------------------------------------

    def final(self, environment: str, kind: str = "average") -> dict[str, Finals]:
        """Return the regret of every finished run at the horizon, by policy."""
        check_kind(kind)
        self._check_environment(environment)
        return {
            policy: Finals(group.ids, getattr(group.curves, kind)[:, -1])
            for (policy, world), group in self.groups.items()
            if world == environment
        }

    def compare(self, environment: str, reference: str | None = None, kind: str = "average") -> list[PolicySummary]:
        """Return every policy in an environment, best first.

        Each has its paired difference from `reference` (default: the first).
        """
        if reference is not None and reference not in self.plan.policies:
            raise InvalidInput(
                f"reference is {reference!r}.", f"Choose one of {', '.join(self.policies)}.", field="reference"
            )
        return summarize(self.final(environment, kind), reference or self.policies[0])

    def best(self, kind: str = "average", *, across: bool = False) -> list[Best]:
        """Return the best setting of each policy in each environment, or, with `across`, one over all environments.

        Across environments, a run's score is its regret divided by the mean regret of all policies there, averaged
        over environments, so that each environment has the same weight.
        """
        if across:
            scores = self._scores(kind)
            return [
                self._best("all environments", policy, scores, labels)
                for policy, labels in self._settings()
                if any(label in scores for label in labels)
            ]
        found = []
        for environment in self.environments:
            finals = self.final(environment, kind)
            for policy, labels in self._settings():
                if any(label in finals for label in labels):
                    found.append(self._best(environment, policy, finals, labels))
        return found

    def _settings(self) -> Iterator[tuple[str, list[str]]]:
        """Return the labels of the settings of each policy."""
        names: dict[str, list[str]] = {}
        for label, data in self.plan.policies.items():
            names.setdefault(data["policy"], []).append(label)
        yield from names.items()

    def _best(self, environment: str, policy: str, finals: Mapping[str, Finals], labels: list[str]) -> Best:
        mine = {label: finals[label] for label in labels if label in finals}
        best, level = best_setting(mine)
        values = mine[best].values
        settings = self.plan.policies[best]["settings"]
        return Best(
            environment, policy, best, settings, len(values), float(values.mean()), *interval(values), len(mine), level
        )

    def _scores(self, kind: str) -> dict[str, Finals]:
        """Return the regret of every run relative to its environment's mean, averaged over environments."""
        finals = [self.final(environment, kind) for environment in self.environments]
        scales = [np.mean([f.values.mean() for f in world.values()]) if world else 1.0 for world in finals]
        scores: dict[str, Finals] = {}
        for policy in self.policies:
            mine = [(world[policy], scale) for world, scale in zip(finals, scales, strict=True) if policy in world]
            if len(mine) < len(finals):
                continue
            common = set.intersection(*({tuple(name) for name in f.ids.tolist()} for f, _ in mine))
            ids = np.array(sorted(common), np.int64).reshape(-1, 2)
            if len(ids):
                scores[policy] = Finals(ids, np.mean([_at(f, ids) / scale for f, scale in mine], axis=0))
        return scores

    def _check_environment(self, environment: str) -> None:
        if environment not in self.plan.environments:
            raise InvalidInput(
                f"environment is {environment!r}.",
                f"Choose one of {', '.join(self.environments)}.",
                field="environment",
            )

    # -- data frames ---------------------------------------------------------------------

    def to_pandas(self, what: str = "final") -> pd.DataFrame:
        """Return a tidy pandas data frame: one row per run ("final"), or per run and recorded round ("curves")."""
        return to_pandas(self.columns(what))

    def to_polars(self, what: str = "final") -> pl.DataFrame:
        """Return the same as a polars data frame."""
        return to_polars(self.columns(what))

    def columns(self, what: str = "final") -> dict[str, Any]:
        """Return the same as plain columns, by name."""
        check_choice("what", what, WHAT)
        tables = [self._rows(pair, group, what) for pair, group in self.groups.items()]
        if not tables:
            raise InvalidInput(f"No cell in {self.folder} is finished yet.", "Wait, or run the experiment.")
        return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}

    def _rows(self, pair: tuple[str, str], group: Group, what: str) -> dict[str, Any]:
        policy, environment = pair
        data = self.plan.policies[policy]
        at = slice(-1, None) if what == "final" else slice(None)
        rounds = group.curves.rounds[at]
        size, each = len(group.ids) * len(rounds), len(rounds)
        same = {
            "environment": environment,
            "policy": data["policy"],
            "setting": policy,
        }
        world = self.plan.environments[environment]
        return {
            **{name: np.full(size, value, object) for name, value in same.items()},
            **{f"policy_{n}": _repeated(data["settings"].get(n), size, k) for n, k in self._varying_settings.items()},
            **{f"environment_{n}": _repeated(world.get(n), size, k) for n, k in self._varying_worlds.items()},
            "seed": np.repeat(group.ids[:, 0], each),
            "run": np.repeat(group.ids[:, 1], each),
            "round": np.tile(rounds, len(group.ids)),
            **{name: getattr(group.curves, name)[:, at].ravel() for name in SUMS},
        }

    @cached_property
    def _varying_settings(self) -> dict[str, type]:
        return _varying([data["settings"] for data in self.plan.policies.values()])

    @cached_property
    def _varying_worlds(self) -> dict[str, type]:
        varying = _varying(list(self.plan.environments.values()))
        varying.pop("environment", None)
        return varying


def _varying(data: list[Mapping[str, Any]]) -> dict[str, type]:
    """Return the settings that vary and are plain values.

    They are numbers where all of them are, with NaN where one is missing.
    """
    names = dict.fromkeys(name for settings in data for name in settings)
    columns = {name: [settings.get(name) for settings in data] for name in names}
    return {
        name: np.float64 if all(_is_number(v) for v in values) else object
        for name, values in columns.items()
        if all(isinstance(v, (bool, int, float, str, type(None))) for v in values)
        and any(v != values[0] for v in values)
    }


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _repeated(value: Any, size: int, kind: type) -> Any:
    if kind is object:
        return np.full(size, None if value is None else str(value), object)
    return np.full(size, np.nan if value is None else value, np.float64)


def _at(finals: Finals, ids: Ints) -> Floats:
    where = {tuple(name): k for k, name in enumerate(finals.ids.tolist())}
    return finals.values[[where[tuple(name)] for name in ids.tolist()]]
