"""Define an experiment: policies x environments x seeds, and every setting of a sweep.

In Python, or as a TOML file:

    name = "scales"
    horizon = 4000
    runs = 128
    seeds = [0]
    policies = ["MaxInP", "VACDB:explore=widest"]      # as on the command line

    [[policies]]                                        # or one by one, with a sweep
    policy = "VACDB"
    sweep.scale = [0.25, 0.5, 1.0]
    sweep.ridge = [0.1, 1.0]

    [[environments]]
    environment = "Hypercube"
    dim = 5
    sweep.scale = [0.5, 1.0, 2.0]

(TOML has one of the two ways for each: a list, or tables.)
"""

from __future__ import annotations

import inspect
import itertools
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from duelist.core.arrays import check_choice, check_integer
from duelist.core.errors import InvalidInput
from duelist.policies import Policy, make_policy
from duelist.research.experiments.cells import Cell
from duelist.simulation.environments import Environment
from duelist.simulation.environments.registry import make_environment
from duelist.simulation.run_log import KEEP, curve_rounds

POINTS: Final = 101
"""Rounds at which an experiment records regret by default."""
_LONGEST_VALUE: Final = 24


@dataclass(frozen=True)
class Sweep:
    """A policy or an environment with every combination of some settings; see `sweep`."""

    name: str
    settings: Mapping[str, Any]
    swept: Mapping[str, Sequence[Any]]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for values in itertools.product(*self.swept.values()):
            yield {**self.settings, **dict(zip(self.swept, values, strict=True))}


def sweep(name: str, /, *, over: Mapping[str, Iterable[Any]], **settings: Any) -> Sweep:
    """Return a policy or an environment by name, with every combination of the settings in `over`.

    >>> list(sweep("VACDB", over={"scale": [0.5, 1.0], "ridge": [0.1]}, explore="widest"))
    [{'explore': 'widest', 'scale': 0.5, 'ridge': 0.1}, {'explore': 'widest', 'scale': 1.0, 'ridge': 0.1}]
    """
    swept = {key: _values(name, key, values) for key, values in over.items()}
    return Sweep(name, settings, swept)


def _values(name: str, key: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} sweeps {key} over {values!r}.", "Give a list of values.")
    listed = list(values)
    if not listed:
        raise InvalidInput(f"{name} sweeps {key} over nothing.", "Give at least one value.")
    return listed


@dataclass(frozen=True)
class Experiment:
    """A grid of policies, environments and seeds, checked before anything is computed.

    Parameters
    ----------
    policies
        Policies, their names (as in "VACDB:scale=2"), and sweeps; or a mapping from labels to policies or names.
    environments
        The same for environments.
    horizon, runs, seeds
        The size of every simulation; `runs` is per seed.
    runs_per_cell
        The number of runs per cell; None puts all runs of a policy in an environment into one cell. Cells are
        distributed over workers, and an interruption loses the cells in progress. If `runs` grows by whole cells, the
        first ones are not played again.
    points, keep
        At how many rounds regret is recorded; keep="duels" also records every duel, 26 bytes each before compression.
    name
        The title of the report.
    """

    policies: Any
    environments: Any
    horizon: int
    runs: int = 128
    seeds: Sequence[int] = (0,)
    runs_per_cell: int | None = None
    points: int = POINTS
    keep: str = "curves"
    name: str = "experiment"
    labelled: Mapping[str, Policy] = field(init=False, repr=False)
    worlds: Mapping[str, Environment] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_integer("horizon", self.horizon)
        check_integer("runs", self.runs)
        if self.runs_per_cell is not None:
            check_integer("runs_per_cell", self.runs_per_cell)
        curve_rounds(self.horizon, self.points)
        check_choice("keep", self.keep, KEEP)
        object.__setattr__(self, "seeds", _seeds(self.seeds))
        object.__setattr__(self, "labelled", _labelled("policy", self._policies(), policy_label, self.horizon))
        object.__setattr__(self, "worlds", _labelled("environment", self._environments(), environment_label))

    @classmethod
    def from_toml(cls, path: str | Path) -> Experiment:
        """Return the experiment that a TOML file declares."""
        path = Path(path)
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path} is not TOML: {error}.", "Correct the file.") from error
        try:
            return _from_tables(given, path.stem)
        except InvalidInput as error:
            raise error.replace(message=f"{path}: {error.message}") from error

    def cells(self) -> list[tuple[str, str, Cell]]:
        """Return all cells with the labels of their policy and environment.

        Every policy's first runs come first, so that a partial report compares all of them.
        """
        size = self.runs_per_cell or self.runs
        return [
            (
                policy,
                world,
                Cell(
                    self.labelled[policy],
                    self.worlds[world],
                    self.horizon,
                    min(size, self.runs - first),
                    seed,
                    first,
                    self.points,
                    self.keep,
                ),
            )
            for seed in self.seeds
            for first in range(0, self.runs, size)
            for world in self.worlds
            for policy in self.labelled
        ]

    def _policies(self) -> Iterator[tuple[str | None, Policy]]:
        for label, given in _with_labels("policies", self.policies, (Policy, str, Sweep)):
            if isinstance(given, Sweep):
                for settings in given:
                    policy = make_policy(given.name, horizon=self.horizon, **settings)
                    yield policy_label(policy, self.horizon, given.swept), policy
            else:
                yield label, make_policy(given, horizon=self.horizon)

    def _environments(self) -> Iterator[tuple[str | None, Environment]]:
        for label, given in _with_labels("environments", self.environments, (Environment, str, Sweep)):
            if isinstance(given, Sweep):
                for settings in given:
                    world = make_environment(given.name, **settings)
                    yield environment_label(world, given.swept), world
            else:
                yield label, make_environment(given)


# -- labels ------------------------------------------------------------------------------


def policy_label(policy: Policy, horizon: int | None = None, swept: Collection[str] = ()) -> str:
    """Return the name and the settings that are swept or not the default, without the common horizon.

    >>> import duelist as dl
    >>> policy_label(dl.VACDB(horizon=100, scale=0.5), 100)
    'VACDB(scale=0.5)'
    """
    given = {k: v for k, v in policy.params.items() if k != "random_state" and not (k == "horizon" and v == horizon)}
    return _label(type(policy), given, swept)


def environment_label(environment: Environment, swept: Collection[str] = ()) -> str:
    """Return the name and the settings that are swept or not the default.

    >>> import duelist as dl
    >>> environment_label(dl.environments.Hypercube(dim=5, scale=2))
    'Hypercube(scale=2.0)'
    """
    kept = {k: v for k, v in vars(environment).items() if not k.startswith("_")}
    inside = next((v for v in kept.values() if isinstance(v, Environment)), None)
    taken = inspect.signature(type(environment)).parameters
    given = {k: v for k, v in kept.items() if k in taken and not isinstance(v, Environment)}
    label = _label(type(environment), given, swept)
    return label if inside is None else f"{label} of {environment_label(inside)}"


def _label(cls: type, given: Mapping[str, Any], swept: Collection[str]) -> str:
    defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items()}
    shown = [f"{k}={_short(v)}" for k, v in given.items() if k in swept or not _is_default(v, defaults.get(k))]
    return f"{cls.__name__}({', '.join(shown)})" if shown else cls.__name__


def _is_default(value: Any, default: Any) -> bool:
    same = getattr(value, "name", value)
    return value is default or (np.shape(same) == np.shape(default) and bool(np.all(same == default)))


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 8:
        return "x".join(map(str, value.shape))
    text = repr(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else getattr(value, "name", value))
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _labelled(what: str, given: Iterable[tuple[str | None, Any]], label: Any, *more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for own, one in given:
        name = own or label(one, *more)
        if name in found:
            raise InvalidInput(f"The {what} {name} is given twice.", "Remove one, or give each its own label.")
        found[name] = one
    if not found:
        raise InvalidInput(f"No {what} is given.", "Give at least one.")
    return found


def _with_labels(what: str, given: Any, kinds: tuple[type, ...]) -> Iterator[tuple[str | None, Any]]:
    if isinstance(given, kinds):
        given = [given]
    if isinstance(given, Mapping):
        yield from given.items()
    elif isinstance(given, Iterable):
        yield from ((None, one) for one in given)
    else:
        raise InvalidInput(f"{what} is {given!r}.", "Give a list of them, or of their names.")


def _seeds(seeds: Any) -> tuple[int, ...]:
    listed = (seeds,) if isinstance(seeds, (int, np.integer)) else tuple(seeds)
    if not listed or len(set(listed)) < len(listed):
        raise InvalidInput(f"seeds is {seeds!r}.", "Give at least one, and each once.", field="seeds")
    return tuple(check_integer("seed", seed, 0) for seed in listed)


# -- files -------------------------------------------------------------------------------

_KEYS: Final = ("name", "horizon", "runs", "seeds", "runs_per_cell", "points", "keep", "policies", "environments")


def _from_tables(given: Mapping[str, Any], name: str) -> Experiment:
    unknown = [key for key in given if key not in _KEYS]
    if unknown:
        raise InvalidInput(f"There is no setting {unknown[0]!r}.", f"An experiment has {', '.join(_KEYS)}.")
    missing = [key for key in ("horizon", "policies", "environments") if key not in given]
    if missing:
        raise InvalidInput(
            f"{missing[0]} is missing.", "An experiment has horizon, policies and environments at least."
        )
    parts = {
        "policies": _listed("policy", given["policies"]),
        "environments": _listed("environment", given["environments"]),
    }
    return Experiment(**{"name": name, **given, **parts})


def _listed(what: str, given: Any) -> Any:
    """Keep names as they are, and turn tables into sweeps."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list):
        raise InvalidInput(f"{what} is {given!r}.", "Give a list of names, or tables.")
    return [one if isinstance(one, str) else _table_sweep(what, one) for one in given]


def _table_sweep(what: str, table: Any) -> Sweep:
    if not isinstance(table, dict) or not isinstance(table.get(what), str):
        raise InvalidInput(f"{table!r} does not say which {what}.", f"Write {what} = NAME.")
    settings = {key: value for key, value in table.items() if key not in (what, "sweep")}
    over = table.get("sweep", {})
    if not isinstance(over, dict):
        raise InvalidInput(f"sweep is {over!r}.", "Write sweep.SETTING = [values].", field="sweep")
    return sweep(table[what], over=over, **settings)
