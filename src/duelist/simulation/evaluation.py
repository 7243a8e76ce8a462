"""Evaluate simulated votes by goal: which arm they recommend, which order they give, how well they predict.

The evaluation is the same for every policy and reads only the votes: it fits a logistic model to them, with the arms'
features, or with an arm effect per arm where features carry no more than identity.

best    simple regret of the recommended arm, and whether it is the best
rank    Kendall's tau with the true order, and the share of the true top arms among the estimated top arms
learn   log-loss on other pairs: all pairs of the arms, or, where arms change, pairs of new ones

Of arms with equal estimates each is recommended with the same probability, and the measure is the expectation; arms
with equal true utility are equally good. The true order of a preference matrix is by mean probability of beating
another arm (Borda).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from duelist.core.arrays import Floats, check_choice, check_integer
from duelist.core.errors import InvalidInput
from duelist.core.tables import TableContent, TabularResult
from duelist.model.fit import fit_mle
from duelist.model.links import get_link
from duelist.model.ridge_selection import default_ridge
from duelist.simulation.environments import Environment, Rounds, Worlds
from duelist.simulation.environments.winners import borda_scores
from duelist.simulation.run_log import DuelLog
from duelist.simulation.runs import Runs, interval
from duelist.simulation.simulate import worlds_of

JUDGED: Final = ("best", "rank", "learn")
"""Goals that are evaluated here; "serve" is evaluated by regret."""
TOP: Final = 10
_NEW_ROUNDS: Final = 50
_STRETCH: Final = 1000
_DIMS_PER_RIDGE: Final = 5.0
"""Features explain the same total variance whatever their number: the ridge grows with it, as that of policies does."""
_LEAST_CHANCE: Final = 1e-12
_LEVEL: Final = 1e-12
"""As a share of the range of utilities: smaller differences are rounding."""
_PREDICTION_LINK: Final = get_link("logistic")


@dataclass(frozen=True)
class Measure:
    """A measure of a goal: its mean over runs, and an interval."""

    name: str
    mean: float
    interval: tuple[float, float]
    digits: int = 3

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.mean:.{self.digits}f} [{low:.{self.digits}f}, {high:.{self.digits}f}]"


@dataclass(frozen=True, repr=False)
class Evaluation(TabularResult):
    """How well each policy's votes served a goal."""

    goal: str
    rows: dict[str, tuple[Measure, ...]]
    runs: int
    rounds: int
    votes: dict[str, float]
    """Votes per run, on average: rounds in which two different arms met."""
    confidence: float

    def _table(self) -> TableContent:
        every = all(votes == self.rounds for votes in self.votes.values())
        title = f"{self.goal}: after {self.rounds} {'votes' if every else 'rounds'}, {self.runs} runs, {100 * self.confidence:g}% intervals"
        names = [*([] if every else ["votes"]), *(measure.name for measure in next(iter(self.rows.values())))]
        rows = [
            [label, *([] if every else [f"{self.votes[label]:.0f}"]), *map(str, row)]
            for label, row in self.rows.items()
        ]
        return TableContent(["policy", *names], rows, title=title)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        every = [(label, measure) for label, row in self.rows.items() for measure in row]
        return {
            "policy": [label for label, _ in every],
            "measure": [measure.name for _, measure in every],
            "mean": [measure.mean for _, measure in every],
            "low": [measure.interval[0] for _, measure in every],
            "high": [measure.interval[1] for _, measure in every],
        }


def evaluate(
    runs: Runs, environment: Environment, goal: str, top: int | None = None, confidence: float = 0.95
) -> Evaluation:
    """Evaluate simulated runs by a goal.

    Parameters
    ----------
    runs
        The result of `simulate`, with `distinct=True`, so that every round is a vote on two arms. If there were
        self-duels, the evaluation reports the number of votes.
    environment
        The environment of the runs.
    goal
        "best", "rank" or "learn".
    top
        For "rank": how many top places to compare; 10 by default, or half of the arms if there are fewer than 20.
    confidence
        Of the intervals: Student's over runs, Wilson's for proportions.
    """
    check_choice("goal", goal, JUDGED)
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0.0 < confidence < 1.0:
        raise InvalidInput(f"confidence is {confidence!r}.", "Give a share between 0 and 1.", field="confidence")
    check_goal(environment, goal)
    runs.check_world(environment.describe(), runs.settings["seed"], runs.runs, runs.horizon)
    found = {label: _evaluate_runs(runs, environment, label, goal, top) for label in runs.labels}
    rows = {
        label: tuple(_measured(name, values, confidence) for name, values in row.items())
        for label, row in found.items()
    }
    votes = {label: float((log.first != log.second).sum() / runs.runs) for label, log in _logs(runs)}
    return Evaluation(goal, rows, runs.runs, runs.horizon, votes, confidence)


def _logs(runs: Runs) -> Iterator[tuple[str, DuelLog]]:
    return ((label, runs.log(label)) for label in runs.labels)


def check_goal(environment: Environment, goal: str) -> None:
    """Raise if the goal has no answer here: arms that change in every round have no order, and one arm has no pair."""
    rng = np.random.default_rng(0)
    if environment.truth().delay or environment.available_arms(2, 0, 1) is not None:
        raise InvalidInput(
            f"The goal is {goal!r}, and in {environment!r} votes or arms come late, so the best arm "
            "at a given time is not defined.",
            "Choose the goal 'serve', or the environment inside.",
        )
    if environment.truth().chances is not None or environment.has_own_utilities:
        raise InvalidInput(
            f"The goal is {goal!r}, and {environment!r} has an outcome model or utilities in Python, which are not "
            "evaluated.",
            "Choose the goal 'serve', or read the regret of the runs.",
        )
    world = environment.draw_world(rng)
    most = len(world.arms) if world.arms is not None else int(environment.draw_arms(world, rng, _NEW_ROUNDS)[1].max())
    if most < 2:
        raise InvalidInput(f"{type(environment).__name__} has one arm: there is nothing to compare.", "Give it more.")
    if goal != "learn" and world.arms is None:
        raise InvalidInput(
            f"The goal is {goal!r}, and the arms of {type(environment).__name__} change in every round: "
            f"there is no {'best arm' if goal == 'best' else 'order'} to be found.",
            "Choose an environment with fixed arms, or the goal 'learn'.",
        )


def _evaluate_runs(runs: Runs, environment: Environment, label: str, goal: str, top: int | None) -> dict[str, Floats]:
    log = runs.log(label)
    worlds = worlds_of(environment, runs.settings["seed"], range(runs.first_run, runs.first_run + runs.runs))
    if goal == "learn":
        return _evaluate_predictions(log, worlds, environment, runs)
    shown = worlds.next_rounds(1)
    seen = [_FixedRun(*_of_run(shown, run)) for run in range(runs.runs)]
    estimates = [each.fitted(log, run, None) for run, each in enumerate(seen)]
    if goal == "best":
        return _evaluate_best_arm(seen, estimates)
    table = environment.truth().table
    truths = [each.utilities if not table.size else borda_scores(table) for each in seen]
    return _evaluate_order(truths, estimates, top)


def _of_run(shown: Rounds, run: int) -> tuple[Floats, Floats]:
    arms, utilities = shown.arms, shown.utilities
    return arms[min(run, len(arms) - 1), 0], utilities[min(run, len(utilities) - 1), 0]


class _FixedRun(NamedTuple):
    """The fixed arms of a run and their true utilities."""

    arms: Floats
    utilities: Floats

    def fitted(self, log: DuelLog, run: int, ridge: str | None) -> Floats:
        """Return utilities estimated from the votes of a run."""
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
    """Return a ridge in the units of the features: each explains variance 1, and less if there are many."""
    variance = arms.var(axis=0)
    return default_ridge(arms.shape[1], _DIMS_PER_RIDGE) * np.where(variance > 0.0, variance, 1.0)


def _wins(log: DuelLog, run: int, n: int) -> Floats:
    first, second, won = log.first[run], log.second[run], log.outcome[run].astype(np.float64)
    wins = np.zeros((n, n))
    apart = first != second
    np.add.at(wins, (first[apart], second[apart]), won[apart])
    np.add.at(wins, (second[apart], first[apart]), 1.0 - won[apart])
    return wins


# -- best and rank -----------------------------------------------------------------------


def _evaluate_best_arm(seen: list[_FixedRun], estimates: list[Floats]) -> dict[str, Floats]:
    found = np.array([recommended(u, each.utilities) for each, u in zip(seen, estimates, strict=True)])
    return {"simple regret": found[:, 0], "P(right)": found[:, 1]}


def recommended(found: Floats, truth: Floats) -> tuple[float, float]:
    """Return the regret of the top estimated arm, and the probability that it is the best, averaged over ties.

    >>> recommended(np.array([1.0, 1.0, 0.0]), np.array([2.0, 1.0, 0.0]))
    (0.5, 0.5)
    """
    first = found >= found.max() - _rounding(found)
    return float(truth.max() - truth[first].mean()), float((truth[first] >= truth.max() - _rounding(truth)).mean())


def _evaluate_order(truths: list[Floats], estimates: list[Floats], top: int | None) -> dict[str, Floats]:
    n = len(estimates[0])
    places = min(TOP, max(1, n // 2)) if top is None else min(check_integer("top", top, 1), n)
    pairs = [(kendall_tau(u, t), top_share(u, t, places)) for t, u in zip(truths, estimates, strict=True)]
    tau, share = np.array(pairs).T
    return {"Kendall's tau": tau, f"right top {places}": share}


def kendall_tau(found: Floats, truth: Floats) -> float:
    """Return the agreement of two orders over pairs that truly differ.

    1 is the same order, -1 the reverse; estimated ties count 0.

    >>> kendall_tau(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0]))
    0.3333333333333333
    """
    i, j = np.triu_indices(len(truth), 1)
    lead, truly = (_sign_beyond(u[i] - u[j], _rounding(u)) for u in (found, truth))
    apart = truly != 0.0
    return float((lead * truly)[apart].mean()) if apart.any() else 1.0


def top_share(found: Floats, truth: Floats, places: int) -> float:
    """Return the share of the estimated top arms that are true top arms, averaged over ties.

    >>> top_share(np.array([0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0]), 1)
    1.0
    """
    right = truth >= np.sort(truth)[-places] - _rounding(truth)
    gap = _sign_beyond(found - np.sort(found)[-places], _rounding(found))
    above, level = gap > 0.0, gap == 0.0
    share = (places - above.sum()) / level.sum()
    return float((right[above].sum() + share * right[level].sum()) / places)


def _rounding(utilities: Floats) -> float:
    return _LEVEL * float(np.ptp(utilities))


def _sign_beyond(gap: Floats, rounding: float) -> Floats:
    """Return 1, -1, or 0 where two values differ only by rounding."""
    return np.asarray(np.where(np.abs(gap) > rounding, np.sign(gap), 0.0))


# -- learn -------------------------------------------------------------------------------


def _evaluate_predictions(log: DuelLog, worlds: Worlds, environment: Environment, runs: Runs) -> dict[str, Floats]:
    """Return the log-loss on pairs that the policy did not choose, and its excess over the loss of the true model."""
    chance = _chances(environment)
    losses = np.array([_loss(p, q) for p, q in _predictions(log, worlds, environment, runs, chance)])
    return {"held-out log-loss": losses[:, 0], "above the least": losses[:, 0] - losses[:, 1]}


def _predictions(
    log: DuelLog,
    worlds: Worlds,
    environment: Environment,
    runs: Runs,
    chance: Callable[[Floats, NDArray[np.int64]], Floats],
) -> Iterator[tuple[Floats, Floats]]:
    """Return true and predicted probabilities of the test pairs of each run."""
    if worlds.fixed:
        shown = worlds.next_rounds(1)
        for run in range(runs.runs):
            seen = _FixedRun(*_of_run(shown, run))
            u = seen.fitted(log, run, "auto")
            i, j = np.triu_indices(len(u), 1)
            yield chance(seen.utilities, np.stack([i, j])), _PREDICTION_LINK.mean(u[i] - u[j])
        return
    differences = _differences(log, worlds, runs)
    numbers = range(runs.first_run, runs.first_run + runs.runs)
    fresh = worlds_of(environment, runs.settings["seed"], numbers, new_arms=True).next_rounds(_NEW_ROUNDS)
    for run in range(runs.runs):
        z = differences[run]
        kept = (z != 0.0).any(axis=1)
        theta = fit_mle(z[kept], log.outcome[run][kept].astype(np.float64), ridge="auto").theta
        predicted, true = [], []
        for arms, count, utilities in zip(fresh.arms[run], fresh.n_arms[run], fresh.utilities[run], strict=True):
            i, j = np.triu_indices(int(count), 1)
            predicted.append(_PREDICTION_LINK.mean((arms[i] - arms[j]) @ theta))
            true.append(chance(utilities, np.stack([i, j])))
        yield np.concatenate(true), np.concatenate(predicted)


def _chances(environment: Environment) -> Callable[[Floats, NDArray[np.int64]], Floats]:
    """Return the true probability that the first arm of each pair wins."""
    truth = environment.truth()

    def chance(utilities: Floats, pairs: NDArray[np.int64]) -> Floats:
        gap = utilities[pairs[0]] - utilities[pairs[1]]
        if truth.noiseless:
            return np.asarray((np.sign(gap) + 1.0) / 2.0)
        return truth.table[pairs[0], pairs[1]] if truth.table.size else np.asarray(environment.link.mean(gap))

    return chance


def _differences(log: DuelLog, worlds: Worlds, runs: Runs) -> Floats:
    """Return the features of the first arm minus those of the second, for every round of every run."""
    found, done = [], 0
    while done < runs.horizon:
        length = min(_STRETCH, runs.horizon - done)
        arms = worlds.next_rounds(length).arms
        run, at = np.arange(runs.runs)[:, None], np.arange(length)[None]
        part = slice(done, done + length)
        found.append(arms[run, at, log.first[:, part]] - arms[run, at, log.second[:, part]])
        done += length
    return np.concatenate(found, axis=1)


def _loss(true: Floats, predicted: Floats) -> tuple[float, float]:
    """Return the expected log-loss of the predictions, and of the truth."""
    losses = []
    for q in (predicted, true):
        q = np.clip(q, _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
        losses.append(float(-(true * np.log(q) + (1.0 - true) * np.log1p(-q)).mean()))
    return losses[0], losses[1]


# -- intervals ---------------------------------------------------------------------------


_RANGES: Final = {"Kendall's tau": (-1.0, 1.0), "P(right)": (0.0, 1.0), "right top": (0.0, 1.0)}
"""Upper limits of bounded measures; every measure is at least 0."""


def _measured(name: str, values: Floats, confidence: float) -> Measure:
    mean = float(values.mean())
    if name == "P(right)":
        return Measure(name, mean, wilson(float(values.sum()), len(values), confidence), 2)
    least, most = next((bounds for start, bounds in _RANGES.items() if name.startswith(start)), (0.0, np.inf))
    low, high = interval(values, confidence)
    digits = 4 if name in ("held-out log-loss", "above the least") else 3
    return Measure(name, mean, (max(low, least), min(high, most)), digits)


def wilson(right: float, runs: int, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval of a proportion; that of 10 out of 10 is not empty."""
    z = float(ndtri(0.5 + confidence / 2.0))
    share = right / runs
    middle = (share + z * z / (2 * runs)) / (1.0 + z * z / runs)
    reach = z / (1.0 + z * z / runs) * float(np.sqrt(share * (1.0 - share) / runs + (z / (2 * runs)) ** 2))
    return max(0.0, middle - reach), min(1.0, middle + reach)
