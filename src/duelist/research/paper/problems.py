"""Problems and settings that several experiments share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import check_integer
from duelist.policies import NativePolicy, builtin_policy
from duelist.simulation.environments import Hypercube, RandomArms

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
_SHORTEST_HORIZON: Final = 16


def submission_theta(dim: int = DIM) -> NDArray[np.float64]:
    """Return theta* of the code submitted with the paper: one fixed random vector of unit length."""
    theta = np.random.default_rng(23333).random(dim)
    return np.asarray(theta / np.linalg.norm(theta))


@dataclass(frozen=True)
class Figure1aSetting:
    """What figure 1a is played with; the defaults are the paper's.

    Parameters
    ----------
    dim
        Number of features; the hypercube has 2^dim arms.
    link
        How votes are drawn, and what every policy assumes.
    horizon
        Rounds on the hypercube. Changing arms are played for 3/8 of them.
    arms
        Arms per round where they change.

    >>> Figure1aSetting(dim=8, link="probit").options()
    '--dim 8 --link probit'
    """

    dim: int = DIM
    link: str = "logistic"
    horizon: int = HORIZON
    arms: int = N_ARMS

    def __post_init__(self) -> None:
        check_integer("horizon", self.horizon, _SHORTEST_HORIZON)

    def options(self) -> str:
        """Return the options of `duelist reproduce` that ask for this setting."""
        given = ((f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default)
        return " ".join(f"--{name} {value}" for name, value in given)


PAPER_SETTING: Final = Figure1aSetting()


@dataclass(frozen=True)
class Family:
    """A family of problems, with the size of the figure's runs and of tuning's first trials."""

    environment: Hypercube | RandomArms
    horizon: int
    tuning_horizon: int
    tuning_runs: int

    @property
    def link(self) -> str:
        """Name of the link, which the policies know."""
        return self.environment.link.name


def families(setting: Figure1aSetting = PAPER_SETTING) -> dict[str, Family]:
    """Return the three families of problems of figure 1a.

    With changing arms every difference is new, and a round costs more the later it is; that family is played for
    fewer rounds, and tuned on fewer still.
    """
    dim, link, horizon = setting.dim, setting.link, setting.horizon
    cube = Hypercube(dim=dim, link=link)
    submitted = Hypercube(dim=dim, link=link, theta=submission_theta(dim))
    changing = RandomArms(dim=dim, n_arms=setting.arms, kind="sphere", link=link)
    shorter = horizon * CHANGING_HORIZON // HORIZON
    return {
        "random θ*": Family(cube, horizon, horizon, 32),
        "the submission's θ*": Family(submitted, horizon, horizon, 32),
        "changing arms": Family(changing, shorter, shorter // 2, 12),
    }


def as_stated(name: str, horizon: int, **settings: Any) -> NativePolicy:
    """Return a policy with the radius of its paper, not scaled, and the ridge that the paper's experiments state."""
    if name != "VACDB":
        settings = {"ridge": PAPER_RIDGE, **settings}
    return builtin_policy(name, horizon=horizon, radius="theory", **settings)


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
