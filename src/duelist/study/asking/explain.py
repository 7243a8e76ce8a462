"""Explain a duel: who chose the pair, and what the policy estimates of it and of the other candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Ints
from duelist.core.errors import InvalidInput
from duelist.core.tables import format_percent, format_table
from duelist.model.links import get_link
from duelist.study.items.catalog import ArmCatalog
from duelist.study.records import ChosenBy, DuelKind
from duelist.study.storage import DuelRow

SHOWN: Final = 10
"""Candidates in an explanation, best first."""


@dataclass(frozen=True, slots=True)
class CandidateEstimate:
    """A candidate's utility relative to the mean candidate, and the width of its difference to the better arm of the pair."""

    arm: str
    utility: float
    width: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a pair was asked, by what the policy estimates now (it may have learned since).

    `width` is |x - y| in the norm of the inverse of the policy's precision: the
    uncertainty about this pair. `win_probability` is that of the first arm over
    the second. `propensity` is the probability with which a random pair was
    drawn.

    A policy that counts wins (`duelist.policies.counting`) has neither
    utilities nor a precision. Its explanation has `wins` of the first over the
    second and of the second over the first; `win_probability` and `width` are
    mean and standard deviation of Beta(wins + 1, losses + 1), 1/2 and 0.289 for
    arms that have not met; and the utility of an arm is the mean of its win
    probabilities against the other candidates, minus 1/2.
    """

    duel: int
    first: str
    second: str
    kind: DuelKind
    chosen_by: ChosenBy
    propensity: float | None
    policy: str
    utility_first: float
    utility_second: float
    width: float
    wider_pairs: float
    """The share of the pairs of `candidates` that are wider than this one."""
    win_probability: float
    n_candidates: int
    candidates: tuple[CandidateEstimate, ...]
    wins: tuple[float, float] | None = None

    def __str__(self) -> str:
        rows = [(each.arm, f"{each.utility:+.3f}", f"{each.width:.3f}") for each in self.candidates]
        if self.wins is not None:
            return self._text_of_counts(rows)
        return (
            f"Duel {self.duel}: {self.first} and {self.second}. {self._reason()}\n"
            f"{self.policy} estimates their utilities at {self.utility_first:+.3f} and {self.utility_second:+.3f}: {self.first} wins "
            f"with probability {format_percent(self.win_probability)}. The width of the pair is {self.width:.3f}; "
            f"{format_percent(self.wider_pairs)} of the pairs below are wider.\n"
            f"Best of {self.n_candidates} candidates, with widths against the better arm of the pair:\n"
            + format_table(("arm", "utility", "width"), rows)
        )

    def _text_of_counts(self, rows: list[tuple[str, str, str]]) -> str:
        won, lost = self.wins or (0.0, 0.0)
        record = (
            f"{self.first} has won {won:g} and {self.second} {lost:g} of their duels"
            if won + lost
            else "the two have not met"
        )
        return (
            f"Duel {self.duel}: {self.first} and {self.second}. {self._reason()}\n"
            f"{self.policy} counts wins: {record}, so {self.first} wins with probability {format_percent(self.win_probability)} "
            f"(standard deviation {self.width:.3f}); {format_percent(self.wider_pairs)} of the pairs below are less certain.\n"
            f"Best of {self.n_candidates} candidates by mean win probability above 1/2, with standard deviations against the better "
            "arm of the pair:\n" + format_table(("arm", "mean", "deviation"), rows)
        )

    def _reason(self) -> str:
        if self.kind is DuelKind.GOLD:
            return "It is a gold pair: its outcome is known, which shows whether the rater pays attention."
        if self.kind is DuelKind.REPEAT:
            return "It repeats a pair of this rater, which shows whether they vote the same again."
        if self.chosen_by is ChosenBy.RANDOM:
            probability = "" if self.propensity is None else f" with probability {self.propensity:.3g}"
            return f"It was drawn at random{probability}, independently of the policy."
        if self.chosen_by is ChosenBy.IMPORT:
            return "It was imported; this study did not choose it."
        return f"{self.policy} chose it."


def explain(duel: DuelRow, arms: ArmCatalog, policy: Any, labels: bool = False) -> Explanation:
    """Return the explanation of a duel; see `Study.explain`."""
    counts = hasattr(policy, "wins_") and hasattr(policy, "arms_")
    needed = () if counts else ("posterior", "link") if arms.uses_arm_table else ("theta_", "precision_", "link")
    missing = [name for name in needed if not hasattr(policy, name)]
    if missing:
        raise InvalidInput(
            f"{type(policy).__name__} cannot explain its choices: it has no {missing[0]}.",
            "Choose a policy that has theta_, precision_ and link.",
        )
    pair = [arms.number_at(duel.first_row), arms.number_at(duel.second_row)]
    group = arms.active_by_context().get(duel.context, np.empty(0, np.int64))
    if not len(group):  # the candidates were given by id, or are retired now
        group = np.array(sorted(set(pair)), np.int64)
    estimate = _from_counts if counts else _from_arm_table if arms.uses_arm_table else _from_features
    found = estimate(duel, arms, policy, group)
    name = arms.name_for_people if labels else arms.label
    candidates = tuple(
        CandidateEstimate(name(int(group[k])), float(found.utilities[k]), float(found.widths[k]))
        for k in _best(found.utilities)
    )
    win_probability = found.win_probability
    if win_probability is None:
        win_probability = float(get_link(policy.link).mean(found.first - found.second))
    return Explanation(
        duel=duel.number,
        first=name(pair[0]),
        second=name(pair[1]),
        kind=duel.kind,
        chosen_by=duel.chosen_by,
        propensity=duel.propensity,
        policy=type(policy).__name__,
        utility_first=found.first,
        utility_second=found.second,
        width=found.width,
        wider_pairs=found.wider_pairs,
        win_probability=win_probability,
        n_candidates=len(group),
        candidates=candidates,
        wins=found.wins,
    )


class _Estimates(NamedTuple):
    """Utilities relative to the mean of the candidates; the candidates' widths are against the better arm of the pair."""

    first: float
    second: float
    width: float
    utilities: NDArray[np.float64]
    widths: NDArray[np.float64]
    wider_pairs: float
    win_probability: float | None = None
    wins: tuple[float, float] | None = None


def _best(utilities: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.argsort(-utilities, kind="stable")[:SHOWN]


def _from_features(duel: DuelRow, arms: ArmCatalog, policy: Any, group: Ints) -> _Estimates:
    """Estimate from the features that the duel showed, by the policy's theta and precision."""
    rows = np.array([duel.first_row, duel.second_row])
    features = np.concatenate([arms.vectors(rows), arms.matrix(group)])
    utilities = features @ policy.theta_
    utilities = utilities - utilities[2:].mean()
    whitened = np.linalg.solve(np.linalg.cholesky(policy.precision_), features.T).T
    widths = np.linalg.norm(whitened[2:] - whitened[int(utilities[1] > utilities[0])], axis=1)
    width = float(np.linalg.norm(whitened[0] - whitened[1]))
    best = whitened[2:][_best(utilities[2:])]
    squares = np.square(best[:, None] - best).sum(axis=2)
    wider = _share_wider(squares, width)
    return _Estimates(float(utilities[0]), float(utilities[1]), width, utilities[2:], widths, wider)


def _from_arm_table(duel: DuelRow, arms: ArmCatalog, policy: Any, group: Ints) -> _Estimates:
    """Estimate from arm effects and the features that arms have now."""
    pair = [arms.number_at(duel.first_row), arms.number_at(duel.second_row)]
    everyone = np.union1d(group, pair)
    first, second, *_ = np.searchsorted(everyone, pair)
    place = np.searchsorted(everyone, group)
    arm_table = arms.table(everyone)
    utilities = policy.posterior(arm_table).utilities
    utilities = utilities - utilities[place].mean()
    best = place[_best(utilities[place])]
    _, variances, rows = policy.posterior(arm_table, [first, second, *best])
    squares = np.maximum(variances + variances[[first, second, *best], None] - 2.0 * rows, 0.0)
    width = float(np.sqrt(squares[0, second]))
    widths = np.sqrt(squares[int(utilities[second] > utilities[first])][place])
    wider = _share_wider(squares[2:][:, best], width)
    return _Estimates(float(utilities[first]), float(utilities[second]), width, utilities[place], widths, wider)


def _from_counts(duel: DuelRow, arms: ArmCatalog, policy: Any, group: Ints) -> _Estimates:
    """Estimate each pair by Beta(wins + 1, losses + 1)."""
    pair = [arms.number_at(duel.first_row), arms.number_at(duel.second_row)]
    everyone = np.union1d(group, pair)
    index = {int(number): k for k, number in enumerate(policy.arms_)}
    wins = np.zeros((len(everyone), len(everyone)))
    known_as = arms.policy_ids(everyone).tolist()
    counted = [k for k, number in enumerate(known_as) if number in index]
    if counted:
        rows = [index[known_as[k]] for k in counted]
        wins[np.ix_(counted, counted)] = policy.wins_[np.ix_(rows, rows)]
    met = wins + wins.T
    probability = (wins + 1.0) / (met + 2.0)
    deviation = np.sqrt(probability * (1.0 - probability) / (met + 3.0))
    np.fill_diagonal(probability, 0.5)
    np.fill_diagonal(deviation, 0.0)
    first, second = np.searchsorted(everyone, pair)
    place = np.searchsorted(everyone, group)
    others = max(len(place) - 1, 1)
    utilities = (probability[:, place] - 0.5).sum(axis=1) / others
    better = second if utilities[second] > utilities[first] else first
    best = place[_best(utilities[place])]
    width = float(deviation[first, second])
    return _Estimates(
        first=float(utilities[first]),
        second=float(utilities[second]),
        width=width,
        utilities=utilities[place],
        widths=deviation[better][place],
        wider_pairs=_share_wider(np.square(deviation[np.ix_(best, best)]), width),
        win_probability=float(probability[first, second]),
        wins=(float(wins[first, second]), float(wins[second, first])),
    )


def _share_wider(squares: NDArray[np.float64], width: float) -> float:
    """Return the share of pairs with a larger squared width."""
    pairs = squares[np.triu_indices(len(squares), 1)]
    return float((np.sqrt(pairs) > width * (1.0 + 1e-9)).mean()) if len(pairs) else 0.0
