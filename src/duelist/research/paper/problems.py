"""Problems and settings that several experiments share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.policies import NativePolicy, builtin_policy
from duelist.simulation.environments import Environment, Hypercube, RandomArms

DIM: Final = 5
N_ARMS: Final = 32
HORIZON: Final = 4000
CHANGING_HORIZON: Final = 1500
RUNS: Final = 128
FIGURE_SEED: Final = 0

PAPER_POLICIES: Final = ("VACDB", "MaxInP", "MaxPairUCB", "CoLSTIM")
ALL_POLICIES: Final = (*PAPER_POLICIES, "StaD", "SupCoLSTIM")
LAYERED: Final = ("VACDB", "StaD", "SupCoLSTIM")
PAPER_RIDGE: Final = 0.001


def submission_theta() -> NDArray[np.float64]:
    """Return theta* of the code submitted with the paper: one fixed random vector of unit length."""
    theta = np.random.default_rng(23333).random(DIM)
    return np.asarray(theta / np.linalg.norm(theta))


@dataclass(frozen=True)
class Family:
    """A family of problems, with the size of the figure's runs and of tuning's first trials."""

    environment: Environment
    horizon: int
    tuning_horizon: int
    tuning_runs: int


def families() -> dict[str, Family]:
    """Return the three families of problems of figure 1a.

    With changing arms every difference is new, and a round costs more the later it is; that family is played for
    fewer rounds, and tuned on fewer still.
    """
    changing = RandomArms(dim=DIM, n_arms=N_ARMS, kind="sphere")
    return {
        "random θ*": Family(Hypercube(dim=DIM), HORIZON, HORIZON, 32),
        "the submission's θ*": Family(Hypercube(dim=DIM, theta=submission_theta()), HORIZON, HORIZON, 32),
        "changing arms": Family(changing, CHANGING_HORIZON, CHANGING_HORIZON // 2, 12),
    }


def as_published(name: str, horizon: int, **settings: Any) -> NativePolicy:
    """Return a policy with the settings of the paper's experiments; layered ones take the scale found for them.

    The comparators have the radius 2 sqrt(d log T) and the ridge 0.001. VACDB has its published radius and ridge,
    with the radius scaled ("We tune the confidence radius of each algorithm"). The paper does not play Sta'D and
    SupCoLSTIM; they get the paper's ridge and a scaled radius.
    """
    if name == "VACDB":
        return builtin_policy(name, horizon=horizon, radius="theory", **settings)
    if name in LAYERED:
        return builtin_policy(name, horizon=horizon, ridge=PAPER_RIDGE, **settings)
    return builtin_policy(name, horizon=horizon, radius="experiment", ridge=PAPER_RIDGE, **settings)
