"""Why this pair: who chose it, and what the policy thinks of it and of the other candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Ints
from duelist.core.errors import InvalidInput
from duelist.core.tables import format_percent, format_table
from duelist.model.links import get_link
from duelist.study.items.catalog import KnownArms
from duelist.study.records import ChosenBy, DuelKind
from duelist.study.storage import DuelRow

SHOWN: Final = 10
"""So many of the other candidates are told about, the best first."""


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate: its utility relative to the mean candidate, and how far that may be off against the better of the pair."""

    arm: str
    utility: float
    width: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a pair was asked, as the policy sees it now (it may have learned since).

    `width` is |x - y| in the norm of the inverse of the policy's precision: how little the votes say about this pair.
    `chance_first` is the chance that the first wins; `chance` that with which the pair was drawn, where it was drawn.

    A policy that counts (`duelist.policies.counting`) has no utilities and no precision. There `wins` count the first over the second
    and the other way round; `chance_first` and `width` are mean and standard deviation of Beta(wins + 1, losses + 1), 1/2 and 0.289
    of arms that have not met; and the utility of an arm is the mean of its chances against the other candidates, minus 1/2.
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
    """The share of the pairs among `considered` that are wider than this one."""
    chance_first: float
    candidates: int
    considered: tuple[Considered, ...]
    wins: tuple[float, float] | None = None

    def __str__(self) -> str:
        rows = [(each.arm, f"{each.utility:+.3f}", f"{each.width:.3f}") for each in self.considered]
        if self.wins is not None:
            return self._by_counts(rows)
        return (
            f"duel {self.duel}: {self.first} and {self.second}. {self._reason()}\n"
            f"{self.policy} gives them {self.utility_first:+.3f} and {self.utility_second:+.3f}: {self.first} wins with chance "
            f"{format_percent(self.chance_first)}. Their width is {self.width:.3f}; {format_percent(self.wider_pairs)} of the "
            "pairs below are wider.\n"
            f"{self.candidates} arms were candidates; the best, with their widths against the better of the two:\n"
            + format_table(("arm", "utility", "width"), rows)
        )

    def _by_counts(self, rows: list[tuple[str, str, str]]) -> str:
        won, lost = self.wins or (0.0, 0.0)
        met = (
            f"{self.first} has won {won:g} and {self.second} {lost:g} of their duels"
            if won + lost
            else "they have not met"
        )
        return (
            f"duel {self.duel}: {self.first} and {self.second}. {self._reason()}\n"
            f"{self.policy} counts: {met}, so that {self.first} wins with chance {format_percent(self.chance_first)}, give or take "
            f"{self.width:.3f}; of {format_percent(self.wider_pairs)} of the pairs below less is known.\n"
            f"{self.candidates} arms were candidates; those that win most, by how much more often than not, and how well that is "
            "known of each against the better of the two:\n" + format_table(("arm", "ahead by", "give or take"), rows)
        )

    def _reason(self) -> str:
        if self.kind is DuelKind.GOLD:
            return "It is a gold pair: its answer is known, and shows whether the rater looks."
        if self.kind is DuelKind.REPEAT:
            return "The rater has seen it before: it shows whether they say the same again."
        if self.chosen_by is ChosenBy.RANDOM:
            chance = "" if self.propensity is None else f" with chance {self.propensity:.3g}"
            return f"It was drawn by chance{chance}, whatever the policy thinks."
        if self.chosen_by is ChosenBy.IMPORT:
            return "It came with an import; this study did not choose it."
        return f"{self.policy} chose it."


def why(duel: DuelRow, arms: KnownArms, policy: Any) -> Explanation:
    """See `Study.why`."""
    counts = hasattr(policy, "wins_") and hasattr(policy, "arms_")
    wanted = () if counts else ("posterior", "link") if arms.by_who_they_are else ("theta_", "precision_", "link")
    silent = [name for name in wanted if not hasattr(policy, name)]
    if silent:
        raise InvalidInput(
            f"{type(policy).__name__} does not say what it knows (it has no {silent[0]}), so nobody can "
            "tell why it asked.",
            "Choose a policy that has theta_, precision_ and link.",
        )
    pair = [arms.owner(duel.first_row), arms.owner(duel.second_row)]
    group = arms.groups().get(duel.context, np.empty(0, np.int64))
    if not len(group):  # candidates that were named one by one, or retired since
        group = np.array(sorted(set(pair)), np.int64)
    look = _known_by_counts if counts else _known_by_name if arms.by_who_they_are else _known_by_features
    seen = look(duel, arms, policy, group)
    considered = tuple(
        Considered(arms.id_of(int(group[k])), float(seen.utilities[k]), float(seen.widths[k])) for k in seen.order
    )
    return Explanation(
        duel=duel.number,
        first=arms.id_of(pair[0]),
        second=arms.id_of(pair[1]),
        kind=duel.kind,
        chosen_by=duel.chosen_by,
        propensity=duel.propensity,
        policy=type(policy).__name__,
        utility_first=seen.first,
        utility_second=seen.second,
        width=seen.width,
        wider_pairs=seen.wider_pairs,
        chance_first=seen.chance if counts else float(get_link(policy.link).mean(seen.first - seen.second)),
        candidates=len(group),
        considered=considered,
        wins=seen.wins,
    )


class _Seen(NamedTuple):
    """Utilities relative to the mean of a group: of the two arms, and of the group with widths against the better of the two."""

    first: float
    second: float
    width: float
    utilities: NDArray[np.float64]
    widths: NDArray[np.float64]
    wider_pairs: float
    chance: float = 0.5
    wins: tuple[float, float] | None = None

    @property
    def order(self) -> NDArray[np.intp]:
        return _best_of(self.utilities)


def _best_of(utilities: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.argsort(-utilities, kind="stable")[:SHOWN]


def _known_by_features(duel: DuelRow, arms: KnownArms, policy: Any, group: Ints) -> _Seen:
    rows = np.array([duel.first_row, duel.second_row])
    features = np.concatenate([arms.vectors(rows), arms.matrix(group)])
    utilities = features @ policy.theta_
    utilities = utilities - utilities[2:].mean()
    whitened = np.linalg.solve(np.linalg.cholesky(policy.precision_), features.T).T
    widths = np.linalg.norm(whitened[2:] - whitened[int(utilities[1] > utilities[0])], axis=1)
    width = float(np.linalg.norm(whitened[0] - whitened[1]))
    best = whitened[2:][_best_of(utilities[2:])]
    squares = np.square(best[:, None] - best).sum(axis=2)
    return _Seen(float(utilities[0]), float(utilities[1]), width, utilities[2:], widths, _share_wider(squares, width))


def _known_by_name(duel: DuelRow, arms: KnownArms, policy: Any, group: Ints) -> _Seen:
    """What the policy knows of arms with arm effects, with the features they have now."""
    everyone = np.union1d(group, [arms.owner(duel.first_row), arms.owner(duel.second_row)])
    first, second, *_ = np.searchsorted(everyone, [arms.owner(duel.first_row), arms.owner(duel.second_row)])
    place = np.searchsorted(everyone, group)
    table = arms.table(everyone)
    utilities = policy.posterior(table).utilities
    utilities = utilities - utilities[place].mean()
    best = place[_best_of(utilities[place])]
    _, variances, rows = policy.posterior(table, [first, second, *best])
    squares = np.maximum(variances + variances[[first, second, *best], None] - 2.0 * rows, 0.0)
    width = float(np.sqrt(squares[0, second]))
    widths = np.sqrt(squares[int(utilities[second] > utilities[first])][place])
    wider = _share_wider(squares[2:][:, best], width)
    return _Seen(float(utilities[first]), float(utilities[second]), width, utilities[place], widths, wider)


def _known_by_counts(duel: DuelRow, arms: KnownArms, policy: Any, group: Ints) -> _Seen:
    """What wins say of each pair: Beta(wins + 1, losses + 1)."""
    pair = [arms.owner(duel.first_row), arms.owner(duel.second_row)]
    everyone = np.union1d(group, pair)
    counted = {int(number): k for k, number in enumerate(policy.arms_)}
    wins = np.zeros((len(everyone), len(everyone)))
    there = [k for k, number in enumerate(everyone.tolist()) if number in counted]
    if there:
        rows = [counted[int(everyone[k])] for k in there]
        wins[np.ix_(there, there)] = policy.wins_[np.ix_(rows, rows)]
    met = wins + wins.T
    chance = (wins + 1.0) / (met + 2.0)
    deviation = np.sqrt(chance * (1.0 - chance) / (met + 3.0))
    np.fill_diagonal(chance, 0.5)
    np.fill_diagonal(deviation, 0.0)
    first, second = np.searchsorted(everyone, pair)
    place = np.searchsorted(everyone, group)
    others = max(len(place) - 1, 1)
    ahead = (chance[:, place] - 0.5).sum(axis=1) / others
    better = second if ahead[second] > ahead[first] else first
    best = place[_best_of(ahead[place])]
    width = float(deviation[first, second])
    wider = _share_wider(np.square(deviation[np.ix_(best, best)]), width)
    won = (float(wins[first, second]), float(wins[second, first]))
    return _Seen(
        float(ahead[first]), float(ahead[second]), width, ahead[place], deviation[better][place], wider,
        float(chance[first, second]), won,
    )  # fmt: skip


def _share_wider(squares: NDArray[np.float64], width: float) -> float:
    """The share of pairs with a larger squared width."""
    pairs = squares[np.triu_indices(len(squares), 1)]
    return float((np.sqrt(pairs) > width * (1.0 + 1e-9)).mean()) if len(pairs) else 0.0
