"""Equal-budget tuning: the same trials of the same two hyperparameters for every policy.

The two are those that the paper's authors tuned: the scale of the radius and the ridge. Each policy gets the same
grid around its own defaults: scales 2^-4 .. 2^2, ridges 10^-1 .. 100, all on tuning seeds with few runs. The best
four are then played with four times as many runs, and the best of these wins. Figures use other seeds. A grid suits
two hyperparameters, noisy and heavy-tailed trials, and the need to give every policy exactly the same; see
docs/decisions/0009-tuning.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from duelist.core.errors import InvalidInput
from duelist.core.files import atomic_write
from duelist.policies import NativePolicy, builtin_policy
from duelist.research.experiments.lab import Cell, Lab
from duelist.simulation.environments import Environment

SCALES: Final = tuple(2.0**k for k in range(-4, 3))
RIDGES: Final = (0.1, 1.0, 10.0, 100.0)
TUNING_SEED: Final = 1_000_003
FIRST_RUNS: Final = 16
FINALISTS: Final = 4


@dataclass(frozen=True)
class Trial:
    """One setting and its score: the mean average regret over a number of runs."""

    scale: float
    ridge: float
    runs: int
    mean: float
    sd: float


@dataclass(frozen=True)
class Tuned:
    """The result of tuning one policy for one problem."""

    policy: str
    environment: dict[str, Any]
    horizon: int
    seed: int
    scale: float
    ridge: float
    trials: tuple[Trial, ...]

    def make(self, horizon: int | None = None, **settings: Any) -> NativePolicy:
        """Return the policy with the tuned settings."""
        tuned = {"scale": self.scale, "ridge": self.ridge, **settings}
        return builtin_policy(self.policy, horizon=horizon or self.horizon, **tuned)

    def save(self, path: Path) -> Path:
        """Write the result as JSON."""
        with atomic_write(path) as file:
            file.write(json.dumps(asdict(self), indent=2).encode())
        return path

    @classmethod
    def load(cls, path: Path) -> Tuned:
        """Read a result that `save` wrote."""
        try:
            data = json.loads(path.read_text())
            trials = tuple(Trial(**t) for t in data.pop("trials"))
            return cls(trials=trials, **data)
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InvalidInput(f"{path} is not a tuning result ({error}).", "Tune again.") from error


def tune(
    lab: Lab,
    name: str,
    environments: list[Environment],
    horizon: int,
    *,
    feature_variance: float = 1.0,
    seed: int = TUNING_SEED,
    first_runs: int | None = None,
    label: str | None = None,
    **settings: Any,
) -> Tuned:
    """Return the best scale and ridge of a policy over one or several problems (mean regret, divided by the scale of
    theta*).
    """
    make: Callable[..., NativePolicy] = builtin_policy
    runs_each = first_runs or FIRST_RUNS
    base = default_ridge(name) * feature_variance

    def play(pairs: list[tuple[float, float]], runs: int, stage: str) -> list[Trial]:
        cells = [  # only the final regret is used
            Cell(make(name, horizon=horizon, scale=s, ridge=r, **settings), e, horizon, runs, seed, points=2)
            for s, r in pairs
            for e in environments
        ]
        results = lab.run(f"{label or name}: {stage}", cells)
        trials = []
        for k, (s, r) in enumerate(pairs):
            mine = results[k * len(environments) : (k + 1) * len(environments)]
            scores = np.mean([res.final / size_of(e) for res, e in zip(mine, environments, strict=True)], axis=0)
            sd = float(scores.std(ddof=1)) if runs > 1 else 0.0
            trials.append(Trial(s, r, runs, float(scores.mean()), sd))
        return trials

    grid = play([(s, base * r) for s in SCALES for r in RIDGES], runs_each, "tuning")
    best = sorted(grid, key=lambda t: t.mean)[:FINALISTS]
    finals = play([(t.scale, t.ridge) for t in best], 4 * runs_each, "finals")
    winner = min(finals, key=lambda t: t.mean)
    described = (
        environments[0].describe() if len(environments) == 1 else {"several": [e.describe() for e in environments]}
    )
    return Tuned(make(name).__class__.__name__, described, horizon, seed, winner.scale, winner.ridge, (*grid, *finals))


def size_of(environment: Environment) -> float:
    """Return the scale of theta*, by which regret is divided before problems are averaged."""
    return float(getattr(environment, "scale", 1.0)) or 1.0


def default_ridge(name: str) -> float:
    """Return the policy's default ridge for features of unit variance."""
    return builtin_policy(name).practical_ridge
