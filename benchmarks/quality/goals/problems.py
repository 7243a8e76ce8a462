"""The problems on which the goals *best*, *rank* and *serve* are evaluated.

A problem draws a world for every run: arms, with raw features or with none, what each is worth, and the chance that it wins
against each other one. Families:

- "matrices": published tables of chances, and logs of real votes in the data folder.
- "public": optional logs of real votes (`logs.missing` says where to get them).
- "held out": optional logs that no policy is tuned on (docs/evidence/held-out-protocol.md); not part of the default.
- "raters": votes simulated from a Bradley-Terry model fitted to a real log, and from what such a model misses: raters of
  unlike care, pairs that follow no order, arms of which features tell half.
- "made": random arms, and raw features, where the truth is linear.

In a world of a real log a vote on a pair is one of the votes that the pair had, with `PSEUDO_VOTES` more from the fitted model, so that
no pair is certain and each can be asked. Every run shows another part of the log (another topic, other arms), in which the best arm by
the fit also beats every other arm: the best arm must not depend on the pairs asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Final

import numpy as np
from scipy.special import expit

import duelist as dl
from benchmarks.quality.goals import logs
from benchmarks.quality.goals.logs import RealVotes
from duelist.core.arrays import Floats, Ints
from duelist.model.fit import fit_mle
from duelist.research.datasets import data_folder
from duelist.simulation.environments import Environment, Hypercube, PreferenceMatrix, RawFeatures
from duelist.simulation.environments.raw_features import KINDS
from duelist.simulation.simulate import policy_seed

FAMILIES: Final = ("matrices", "public", "raters", "made")
PSEUDO_VOTES: Final = 2.0
STINT: Final = 20
"""Votes per rater, before the next rater comes."""
MISFIT: Final = 0.5
"""A stress: real votes here spread about the fitted chances of their pairs by little more than luck explains."""
DRAWS_OF_ARMS: Final = 1000
"""So often other arms are drawn until one of them beats all others."""


@dataclass(frozen=True)
class GoalWorld:
    """The problem of one run."""

    utilities: Floats
    """What arms are worth; the best is the first of the largest."""
    raters: Floats
    """(raters, n, n): the chance that the row arm wins, for each rater. Raters come in turn, for `STINT` votes each."""
    features: Floats | None = None
    """(n, dim) in raw units; None: arms without features."""
    held_out: Floats | None = None
    """Real votes on these arms that the world is not made of: entry (i, j), how often i won over j. None: votes are made up."""

    @property
    def n(self) -> int:
        return len(self.utilities)

    @property
    def best(self) -> int:
        return int(np.argmax(self.utilities))

    @cached_property
    def chances(self) -> Floats:
        """(n, n): the mean chance over all raters."""
        return np.asarray(self.raters.mean(axis=0))

    def regret(self, arm: int) -> float:
        """Simple regret: by how much an arm is worth less than the best."""
        return float(self.utilities.max() - self.utilities[arm])

    def table(self) -> Floats | dl.ArmTable:
        """What a policy is shown; a policy that takes `ArmTable` has the one-pass estimator there."""
        return dl.ArmTable(self.n) if self.features is None else self.features

    def one_hot(self) -> Floats:
        """The same for a policy that wants features: those there are, or one for each arm."""
        return np.eye(self.n) if self.features is None else self.features

    def vote(self, first: int, second: int, number: int, rng: np.random.Generator) -> float:
        """Vote `number` (from 0), on a pair: 1 if the first wins, 0 if not. It uses one number of the generator."""
        rater = number // STINT % len(self.raters)
        return float(rng.random() < self.raters[rater, first, second])


@dataclass(frozen=True)
class Problem:
    """A family of worlds."""

    name: str
    family: str
    draw: Callable[[np.random.Generator], GoalWorld]

    def world(self, seed: int, run: int) -> GoalWorld:
        """The world of a run, the same for every policy."""
        return self.draw(np.random.default_rng([seed, run, 1]))


def evaluation_problems(families: tuple[str, ...] = FAMILIES) -> dict[str, Problem]:
    """All problems that can be played here, by name; `logs.missing()` says what is missing."""
    return {problem.name: problem for family in families for problem in _MAKERS[family]()}


def seeds(seed: int, run: int) -> tuple[int, np.random.Generator]:
    """The seed of a policy, and the random numbers of the votes, which all policies share."""
    return policy_seed(seed, run), np.random.default_rng([seed, run, 2])


# -- worlds of logs ----------------------------------------------------------------------


def chances_in(log: RealVotes) -> Floats:
    """The chance of each pair: its votes, and `PSEUDO_VOTES` as the fitted utilities have them."""
    fitted = expit(log.utilities[:, None] - log.utilities)
    return np.asarray((log.wins + PSEUDO_VOTES * fitted) / (log.wins + log.wins.T + PSEUDO_VOTES))


def has_a_best(utilities: Floats, chances: Floats) -> bool:
    """Return whether the arm with the largest utility is unique and beats every other one."""
    best, ordered = int(np.argmax(utilities)), np.sort(utilities)
    return bool((np.delete(chances[best], best) > 0.5).all() and ordered[-1] > ordered[-2])


def part_of(log: RealVotes, count: int, rng: np.random.Generator) -> RealVotes:
    """Some arms of a log, drawn until one of them is the best whatever is asked."""
    for _ in range(DRAWS_OF_ARMS):
        part = log.of(np.sort(rng.choice(len(log.utilities), min(count, len(log.utilities)), replace=False)))
        if has_a_best(part.utilities, chances_in(part)):
            return part
    raise ValueError(f"in {DRAWS_OF_ARMS} draws of {count} of {len(log.utilities)} arms none beat all others")


def replayed(log: RealVotes, count: int, rng: np.random.Generator) -> GoalWorld:
    """Real votes on some arms of a log."""
    part = part_of(log, count, rng)
    return GoalWorld(part.utilities, chances_in(part)[None], part.features, part.held_out)


def replayed_topic(topics: tuple[RealVotes, ...], features: bool, rng: np.random.Generator) -> GoalWorld:
    """Real votes on the arguments of one topic, all but a few, so that runs on one topic differ."""
    log = topics[int(rng.integers(len(topics)))]
    return replayed(log if features else log.without_features(), len(log.utilities) * 4 // 5, rng)


def _matrices() -> Iterator[Problem]:
    for path in sorted((data_folder() / "preference_matrices").glob("*.csv")):
        yield Problem(path.stem.replace("_", " "), "matrices", partial(_published, path))
    yield Problem("events", "matrices", lambda rng: replayed(logs.events(), 40, rng))
    for name, criterion in logs.PHOTO_CRITERIA.items():
        yield Problem(f"photos by {name}", "matrices", partial(_photos, criterion, False))
        yield Problem(f"photos by {name}, with features", "matrices", partial(_photos, criterion, True))
    yield Problem("answers", "matrices", lambda rng: replayed(logs.answers()[0], 40, rng))


def _published(path: Path, rng: np.random.Generator) -> GoalWorld:
    """A table of chances; arms are worth what their chance against the best says, in log-odds."""
    matrix = PreferenceMatrix.from_csv(path).matrix
    best = int(np.argmax((matrix > 0.5).sum(axis=1)))
    return GoalWorld(np.log(matrix[:, best]) - np.log(matrix[best]), matrix[None])


def _photos(criterion: int, features: bool, rng: np.random.Generator) -> GoalWorld:
    log = logs.photos(criterion)
    return replayed(log if features else log.without_features(), 30, rng)


def _public() -> Iterator[Problem]:
    if logs.is_here("arguments"):
        yield Problem("arguments", "public", lambda rng: replayed_topic(_usable_topics(), False, rng))
        yield Problem("arguments, with features", "public", lambda rng: replayed_topic(_usable_topics(), True, rng))
    if logs.is_here("tennis"):
        yield Problem("tennis", "public", lambda rng: replayed(logs.public("tennis"), 64, rng))
        yield Problem("tennis, half of the players", "public", lambda rng: replayed(logs.public("tennis"), 32, rng))
    if logs.is_here("humour"):
        yield Problem("humour", "public", lambda rng: replayed(logs.humour(), 50, rng))


HELD_OUT_ARMS: Final = {"sushi": 50, "movies": 50, "candy": 50, "football": 50, "cuisines": 32}
"""Arms per run of each held-out set."""


def _held_out() -> Iterator[Problem]:
    for name, count in HELD_OUT_ARMS.items():
        if not logs.is_here(name):
            continue
        yield Problem(name, "held out", partial(_held_out_world, name, count, False))
        if logs.public(name).features is not None:
            yield Problem(f"{name}, with features", "held out", partial(_held_out_world, name, count, True))


def _held_out_world(name: str, count: int, features: bool, rng: np.random.Generator) -> GoalWorld:
    log = logs.public(name)
    return replayed(log if features else log.without_features(), count, rng)


@cache
def _usable_topics() -> tuple[RealVotes, ...]:
    """Topics of which four fifths of the arguments, drawn a few times, have one that beats all others."""
    rng, usable = np.random.default_rng(logs.SPLIT_SEED), []
    for log in logs.arguments():
        n = len(log.utilities)
        parts = (log.of(np.sort(rng.choice(n, n * 4 // 5, replace=False))) for _ in range(50))
        if any(has_a_best(part.utilities, chances_in(part)) for part in parts):
            usable.append(log)
    return tuple(usable)


# -- simulated raters --------------------------------------------------------------------


def _raters() -> Iterator[Problem]:
    yield Problem("raters of unlike care", "raters", _unlike_care)
    yield Problem("pairs that follow no order", "raters", _no_order)
    yield Problem("features that tell half", "raters", _features_and_effects)


def _some(utilities: Floats, count: int, rng: np.random.Generator) -> Ints:
    return np.sort(rng.choice(len(utilities), count, replace=False))


def _unlike_care(rng: np.random.Generator) -> GoalWorld:
    """30 language models; every rater turns differences of utility into votes with a separate slope, fitted to their votes."""
    log, slopes = logs.answers()[0], slopes_of_raters()
    arms = _some(log.utilities, 30, rng)
    gaps = log.utilities[arms][:, None] - log.utilities[arms]
    return GoalWorld(log.utilities[arms], expit(rng.permutation(slopes)[:, None, None] * gaps))


@cache
def slopes_of_raters() -> Floats:
    """How steeply the votes of each rater follow the utilities of all: 1 as all do together, 0 by chance."""
    log, votes = logs.answers()
    gaps = log.utilities[votes.pairs[:, 0]] - log.utilities[votes.pairs[:, 1]]
    slopes = []
    for rater in np.unique(votes.raters):
        mine = votes.raters == rater
        slopes.append(float(fit_mle(gaps[mine, None], votes.shares[mine], ridge=1.0).theta[0]))
    return np.maximum(np.array(slopes), 0.0)


def _no_order(rng: np.random.Generator) -> GoalWorld:
    """40 events; the log-odds of every pair deviate at random from the fit: N(0, MISFIT^2)."""
    log = logs.events()
    for _ in range(DRAWS_OF_ARMS):
        utilities = log.utilities[_some(log.utilities, 40, rng)]
        noise = np.triu(rng.standard_normal((40, 40)), 1) * MISFIT
        chances = expit(utilities[:, None] - utilities + noise - noise.T)
        if has_a_best(utilities, chances):
            return GoalWorld(utilities, chances[None])
    raise ValueError(f"in {DRAWS_OF_ARMS} draws no event came before all others")


def _features_and_effects(rng: np.random.Generator) -> GoalWorld:
    """40 photos with raw features, worth what the fit to their votes says, of which features explain a part."""
    log = logs.photos(0)
    part = log.of(_some(log.utilities, 40, rng))
    return GoalWorld(part.utilities, expit(part.utilities[:, None] - part.utilities)[None], part.features)


# -- made --------------------------------------------------------------------------------

N_ARMS: Final = 12
DIM: Final = 4
SIZE: Final = 2.0
"""The random arms of the frontier's stopping claim (`duelist.research.paper.stopping`)."""


def _made() -> Iterator[Problem]:
    yield Problem("random arms", "made", partial(_random_arms, N_ARMS, DIM))
    yield Problem("random arms, dim 16", "made", partial(_random_arms, 40, 16))
    yield Problem("no features", "made", _no_features)
    yield Problem("hypercube", "made", partial(_of_environment, Hypercube(dim=5)))
    for kind in KINDS:
        yield Problem(kind, "made", partial(_of_environment, RawFeatures(kind)))


def _linear(features: Floats | None, utilities: Floats) -> GoalWorld:
    return GoalWorld(utilities, expit(utilities[:, None] - utilities)[None], features)


def _random_arms(n: int, dim: int, rng: np.random.Generator) -> GoalWorld:
    arms, theta = rng.standard_normal((n, dim)), rng.standard_normal(dim)
    return _linear(arms, arms @ (SIZE * theta / np.linalg.norm(theta)))


def _no_features(rng: np.random.Generator) -> GoalWorld:
    return _linear(None, rng.standard_normal(30))


def _of_environment(environment: Environment, rng: np.random.Generator) -> GoalWorld:
    world = environment.draw_world(rng)
    arms = np.asarray(world.arms)
    return _linear(arms, arms @ world.theta if world.utilities is None else world.utilities)


_MAKERS: Final[dict[str, Callable[[], Iterator[Problem]]]] = {
    "matrices": _matrices,
    "public": _public,
    "held out": _held_out,
    "raters": _raters,
    "made": _made,
}
