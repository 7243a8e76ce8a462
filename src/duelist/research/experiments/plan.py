"""The plan of an experiment: its cells, their labels, and their keys in the store.

It is saved in the results folder as `plan.json`, so that a report can be made at any time from the folder alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

from duelist.core.errors import InvalidResults
from duelist.research.experiments.cells import Cell, policy_settings, stamp
from duelist.research.experiments.definition import Experiment
from duelist.research.experiments.store import check_format, write_json

FILE: Final = "plan.json"


class Planned(NamedTuple):
    """A cell of the plan: its key in the store, and its labels."""

    key: str
    policy: str
    environment: str
    seed: int
    first_run: int
    runs: int


class Entry(NamedTuple):
    """A cell that can be played, with its entry in the plan."""

    planned: Planned
    cell: Cell


@dataclass(frozen=True)
class ExperimentPlan:
    """The cells of an experiment."""

    name: str
    horizon: int
    runs: int
    seeds: tuple[int, ...]
    keep: str
    code: str
    duelist: str
    policies: Mapping[str, Mapping[str, Any]]
    """Name and settings of each policy, by label."""
    environments: Mapping[str, Mapping[str, Any]]
    cells: tuple[Planned, ...]
    _playable: tuple[Cell, ...] = ()

    @classmethod
    def of(cls, experiment: Experiment) -> ExperimentPlan:
        """Return the plan of a declared experiment."""
        listed = experiment.cells()
        return cls(
            name=experiment.name,
            horizon=experiment.horizon,
            runs=experiment.runs,
            seeds=tuple(experiment.seeds),
            keep=experiment.keep,
            code=stamp(),
            duelist=version("duelist"),
            policies={
                label: {"policy": type(policy).__name__, "settings": policy_settings(policy)}
                for label, policy in experiment.labelled.items()
            },
            environments={label: world.describe() for label, world in experiment.worlds.items()},
            cells=tuple(Planned(cell.key, p, e, cell.seed, cell.first_run, cell.runs) for p, e, cell in listed),
            _playable=tuple(cell for _, _, cell in listed),
        )

    def entries(self) -> Iterator[Entry]:
        """Return the cells to play."""
        return map(Entry, self.cells, self._playable)

    @classmethod
    def read(cls, folder: Path) -> ExperimentPlan:
        """Read the plan of a results folder."""
        check_format(folder)
        path = folder / FILE
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            policies, environments = (list(data[part]) for part in ("policies", "environments"))
            cells = [Planned(key, policies[p], environments[e], *rest) for key, p, e, *rest in data.pop("cells")]
            return cls(**{**data, "seeds": tuple(data["seeds"]), "cells": tuple(cells)})
        except FileNotFoundError:
            raise InvalidResults(
                f"{folder} holds no results of an experiment: it has no {FILE}.", "Make some with `duelist run`."
            ) from None
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise InvalidResults(
                f"{path} is damaged ({error}).", "Run the experiment again, finished cells are kept."
            ) from error

    def write(self, folder: Path) -> None:
        """Write the plan into a results folder, replacing an earlier one."""
        policies, environments = (
            {label: k for k, label in enumerate(part)} for part in (self.policies, self.environments)
        )
        data = {name: value for name, value in vars(self).items() if name not in ("cells", "_playable")}
        cells = [[c.key, policies[c.policy], environments[c.environment], *c[3:]] for c in self.cells]
        write_json(folder / FILE, {**data, "cells": cells})

    def check_code(self, folder: Path, recompute: bool) -> None:
        """Raise if the folder's results were made by other code, unless they are to be recomputed."""
        if recompute or not (folder / FILE).exists():
            return
        before = ExperimentPlan.read(folder)
        if before.code != self.code:
            raise InvalidResults(
                f"The results in {folder} were made by other code: duelist {before.duelist} ({before.code}), "
                f"this is {self.duelist} ({self.code}), and numbers of both must not be mixed.",
                "Give another folder, or compute everything again with recompute=True.",
                code="invalid_results.other_code",
            )
