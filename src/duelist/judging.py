"""What simulated votes were good for, by the job they were asked for: who was named, which order was found, how well votes are foreseen.

One judge for every policy, who reads the votes and nothing else: he fits a logistic model to them, with the arms' features, or a term for
each arm where features are no more than that.

best    simple regret of the arm that he would name, and whether it is the best
rank    Kendall's tau of his order with the true one, and the share of the first few that he has among his first few
learn   log-loss of what he foretells of votes on other pairs: all pairs of the arms, or, where arms change, pairs of new ones
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from duelist.arrays import Floats, check_choice, check_whole
from duelist.environments import Environment, Rounds, Worlds
from duelist.errors import InvalidInput
from duelist.estimation import fit_mle
from duelist.recording import Log
from duelist.runs import Runs, interval
from duelist.simulation import worlds_of

JUDGED: Final = ("best", "rank", "learn")
"""Goals that are judged here; "serve" is judged by regret."""
TOP: Final = 10
_NEW_ROUNDS: Final = 50
_STRETCH: Final = 1000
_DIMS_A_RIDGE: Final = 5.0
"""Features with as much to explain as there are of them: the ridge grows with their number, as that of policies does."""
_LEAST_CHANCE: Final = 1e-12


@dataclass(frozen=True)
class Measure:
    """One thing that a job is judged by: its mean over runs, and an interval of that."""

    name: str
    mean: float
    interval: tuple[float, float]
    digits: int = 3

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.mean:.{self.digits}f} [{low:.{self.digits}f}, {high:.{self.digits}f}]"


@dataclass(frozen=True)
class Judgement:
    """What each policy's votes were good for."""

    goal: str
    rows: dict[str, tuple[Measure, ...]]
    runs: int
    votes: int
    confidence: float

    def __str__(self) -> str:
        head = f"{self.goal}: after {self.votes} votes, {self.runs} runs, {100 * self.confidence:g}% intervals"
        names = [measure.name for measure in next(iter(self.rows.values()))]
        lines = [["policy", *names], *([label, *map(str, row)] for label, row in self.rows.items())]
        widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        text = [
            "  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True)))
            for line in lines
        ]
        return "\n".join([head, *(line.rstrip() for line in text)])


def judge(
    runs: Runs, environment: Environment, goal: str, top: int | None = None, confidence: float = 0.95
) -> Judgement:
    """Judge simulated runs by a goal.

    Parameters
    ----------
    runs
        What `simulate` returned; with `distinct=True`, so that every round is a vote on two arms.
    environment
        The one they were played in.
    goal
        "best", "rank" or "learn".
    top
        For "rank": how many places are looked at; 10 by default, half of the arms where there are fewer than 20.
    confidence
        Of the intervals: Student's over runs, Wilson's for what is right or wrong.
    """
    check_choice("goal", goal, JUDGED)
    if not 0.0 < confidence < 1.0:
        raise InvalidInput(f"confidence is {confidence!r}; give a share between 0 and 1")
    check_goal(environment, goal)
    runs.check_world(environment.describe(), runs.settings["seed"], runs.runs, runs.horizon)
    found = {label: _found(runs, environment, label, goal, top) for label in runs.labels}
    rows = {
        label: tuple(_measured(name, values, confidence) for name, values in row.items())
        for label, row in found.items()
    }
    return Judgement(goal, rows, runs.runs, runs.horizon, confidence)


def check_goal(environment: Environment, goal: str) -> None:
    """InvalidInput where there is nothing to be found: arms that change in every round have no order."""
    if goal != "learn" and environment.draw_world(np.random.default_rng(0)).arms is None:
        raise InvalidInput(
            f"the goal is {goal!r}, and the arms of {type(environment).__name__} change in every round: there is no "
            f"{'best arm' if goal == 'best' else 'order'} to be found; choose an environment with fixed arms, or the goal 'learn'"
        )


def _found(runs: Runs, environment: Environment, label: str, goal: str, top: int | None) -> dict[str, Floats]:
    log = runs.log(label)
    worlds = worlds_of(environment, runs.settings["seed"], range(runs.first_run, runs.first_run + runs.runs))
    if goal == "learn":
        return _learned(log, worlds, environment, runs)
    shown = worlds.next_rounds(1)
    seen = [_Seen(*_of_run(shown, run)) for run in range(runs.runs)]
    estimates = [each.fitted(log, run, None) for run, each in enumerate(seen)]
    if goal == "best":
        return _named(seen, estimates)
    return _ordered(seen, estimates, top)


def _of_run(shown: Rounds, run: int) -> tuple[Floats, Floats]:
    arms, utilities = shown.arms, shown.utilities
    return arms[min(run, len(arms) - 1), 0], utilities[min(run, len(utilities) - 1), 0]


class _Seen(NamedTuple):
    """The fixed arms of a run and their true utilities."""

    arms: Floats
    utilities: Floats

    def fitted(self, log: Log, run: int, ridge: str | None) -> Floats:
        """Utilities as the votes of a run say."""
        plain = np.array_equal(self.arms, np.eye(len(self.arms)))
        arms = self.arms if plain else self.arms - self.arms.mean(axis=0)
        wins = _wins(log, run, len(arms))
        i, j = np.nonzero(np.triu(wins + wins.T, 1))
        if not len(i):
            return np.zeros(len(arms))
        mass = wins[i, j] + wins[j, i]
        chosen = ridge or (np.ones(arms.shape[1]) if plain else usual_ridge(arms))
        return np.asarray(arms @ fit_mle(arms[i] - arms[j], wins[i, j] / mass, mass, chosen).theta)


def usual_ridge(arms: Floats) -> Floats:
    """A ridge in the units of the features: variance 1 of what each explains, and less where there are many."""
    variance = arms.var(axis=0)
    return max(1.0, arms.shape[1] / _DIMS_A_RIDGE) * np.where(variance > 0.0, variance, 1.0)


def _wins(log: Log, run: int, n: int) -> Floats:
    first, second, won = log.first[run], log.second[run], log.outcome[run].astype(np.float64)
    wins = np.zeros((n, n))
    apart = first != second
    np.add.at(wins, (first[apart], second[apart]), won[apart])
    np.add.at(wins, (second[apart], first[apart]), 1.0 - won[apart])
    return wins


# -- best and rank -----------------------------------------------------------------------


def _named(seen: list[_Seen], estimates: list[Floats]) -> dict[str, Floats]:
    regret = np.array(
        [each.utilities.max() - each.utilities[np.argmax(u)] for each, u in zip(seen, estimates, strict=True)]
    )
    return {"simple regret": regret, "P(right)": (regret <= 1e-12).astype(np.float64)}


def _ordered(seen: list[_Seen], estimates: list[Floats], top: int | None) -> dict[str, Floats]:
    n = len(estimates[0])
    places = min(TOP, max(1, n // 2)) if top is None else min(check_whole("top", top, 1), n)
    pairs = [
        (kendall_tau(u, each.utilities), top_share(u, each.utilities, places))
        for each, u in zip(seen, estimates, strict=True)
    ]
    tau, share = np.array(pairs).T
    return {"Kendall's tau": tau, f"right top {places}": share}


def kendall_tau(found: Floats, truth: Floats) -> float:
    """Agreement of two orders over the pairs that differ in truth: 1 the same, -1 turned round; pairs that are found level count 0.

    >>> kendall_tau(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0]))
    0.3333333333333333
    """
    i, j = np.triu_indices(len(truth), 1)
    apart = truth[i] != truth[j]
    if not apart.any():
        return 1.0
    same = np.sign(found[i] - found[j]) * np.sign(truth[i] - truth[j])
    return float(same[apart].mean())


def top_share(found: Floats, truth: Floats, places: int) -> float:
    """The share of the true first so many that are among the found first so many."""
    first, truly = (set(np.argsort(-u, kind="stable")[:places].tolist()) for u in (found, truth))
    return len(first & truly) / places


# -- learn -------------------------------------------------------------------------------


def _learned(log: Log, worlds: Worlds, environment: Environment, runs: Runs) -> dict[str, Floats]:
    """Log-loss on pairs that are not the policy's choice, and how far it is above that of who knows the truth."""
    chance = _chances(environment)
    losses = np.array([_loss(p, q) for p, q in _foretold(log, worlds, environment, runs, chance)])
    return {"held-out log-loss": losses[:, 0], "above the least": losses[:, 0] - losses[:, 1]}


def _foretold(
    log: Log,
    worlds: Worlds,
    environment: Environment,
    runs: Runs,
    chance: Callable[[Floats, NDArray[np.int64]], Floats],
) -> Iterator[tuple[Floats, Floats]]:
    """True and foretold chances of the test pairs of each run."""
    if worlds.fixed:
        shown = worlds.next_rounds(1)
        for run in range(runs.runs):
            seen = _Seen(*_of_run(shown, run))
            u = seen.fitted(log, run, "auto")
            i, j = np.triu_indices(len(u), 1)
            yield chance(seen.utilities, np.stack([i, j])), environment.link.mean(u[i] - u[j])
        return
    differences = _differences(log, worlds, runs)
    numbers = range(runs.first_run, runs.first_run + runs.runs)
    fresh = worlds_of(environment, runs.settings["seed"], numbers, new_arms=True).next_rounds(_NEW_ROUNDS)
    for run in range(runs.runs):
        z = differences[run]
        kept = (z != 0.0).any(axis=1)
        theta = fit_mle(z[kept], log.outcome[run][kept].astype(np.float64), ridge="auto").theta
        told, truly = [], []
        for arms, count, utilities in zip(fresh.arms[run], fresh.n_arms[run], fresh.utilities[run], strict=True):
            i, j = np.triu_indices(int(count), 1)
            told.append(environment.link.mean((arms[i] - arms[j]) @ theta))
            truly.append(chance(utilities, np.stack([i, j])))
        yield np.concatenate(truly), np.concatenate(told)


def _chances(environment: Environment) -> Callable[[Floats, NDArray[np.int64]], Floats]:
    """The true chance that the first arm of a pair wins."""
    truth = environment.truth()

    def chance(utilities: Floats, pairs: NDArray[np.int64]) -> Floats:
        gap = utilities[pairs[0]] - utilities[pairs[1]]
        if truth.noiseless:
            return np.asarray((np.sign(gap) + 1.0) / 2.0)
        return truth.table[pairs[0], pairs[1]] if truth.table.size else np.asarray(environment.link.mean(gap))

    return chance


def _differences(log: Log, worlds: Worlds, runs: Runs) -> Floats:
    """Features of the first arm minus those of the second, of every round of every run."""
    found, done = [], 0
    while done < runs.horizon:
        length = min(_STRETCH, runs.horizon - done)
        arms = worlds.next_rounds(length).arms
        run, at = np.arange(runs.runs)[:, None], np.arange(length)[None]
        part = slice(done, done + length)
        found.append(arms[run, at, log.first[:, part]] - arms[run, at, log.second[:, part]])
        done += length
    return np.concatenate(found, axis=1)


def _loss(truly: Floats, told: Floats) -> tuple[float, float]:
    """Expected log-loss of what was foretold, and of the truth."""
    losses = []
    for q in (told, truly):
        q = np.clip(q, _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
        losses.append(float(-(truly * np.log(q) + (1.0 - truly) * np.log1p(-q)).mean()))
    return losses[0], losses[1]


# -- intervals ---------------------------------------------------------------------------


_RANGES: Final = {"Kendall's tau": (-1.0, 1.0), "P(right)": (0.0, 1.0), "right top": (0.0, 1.0)}
"""What cannot be exceeded; everything else is at least 0."""


def _measured(name: str, values: Floats, confidence: float) -> Measure:
    mean = float(values.mean())
    if name == "P(right)":
        return Measure(name, mean, wilson(float(values.sum()), len(values), confidence), 2)
    least, most = next((bounds for start, bounds in _RANGES.items() if name.startswith(start)), (0.0, np.inf))
    low, high = interval(values, confidence)
    digits = 4 if name in ("held-out log-loss", "above the least") else 3
    return Measure(name, mean, (max(low, least), min(high, most)), digits)


def wilson(right: float, runs: int, confidence: float) -> tuple[float, float]:
    """Wilson's interval of a share; that of 10 of 10 is not empty."""
    z = float(ndtri(0.5 + confidence / 2.0))
    share = right / runs
    middle = (share + z * z / (2 * runs)) / (1.0 + z * z / runs)
    reach = z / (1.0 + z * z / runs) * float(np.sqrt(share * (1.0 - share) / runs + (z / (2 * runs)) ** 2))
    return max(0.0, middle - reach), min(1.0, middle + reach)
