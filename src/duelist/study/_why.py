"""Why this pair: who chose it, and what the policy thinks of it and of the other candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.errors import InvalidInput
from duelist.links import get_link
from duelist.study._arms import KnownArms
from duelist.study.records import ChosenBy, DuelKind
from duelist.study.storage import DuelRow
from duelist.study.words import percent, table

SHOWN: Final = 10
"""So many of the other candidates are told about, the best first."""


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate: its utility relative to the mean candidate, and how far that may be off against the better of the pair."""

    arm: str
    utility: float
    width: float


@dataclass(frozen=True, slots=True)
class Why:
    """Why a pair was asked, as the policy sees it now (it may have learned since).

    `width` is |x - y| in the norm of the inverse of the policy's precision: how little the votes say about this pair.
    `chance_first` is the chance that the first wins; `chance` that with which the pair was drawn, where it was drawn.
    """

    duel: int
    first: str
    second: str
    kind: DuelKind
    chosen_by: ChosenBy
    chance: float | None
    policy: str
    utility_first: float
    utility_second: float
    width: float
    wider_pairs: float
    """The share of the pairs among `considered` that are wider than this one."""
    chance_first: float
    candidates: int
    considered: tuple[Considered, ...]

    def __str__(self) -> str:
        rows = [(each.arm, f"{each.utility:+.3f}", f"{each.width:.3f}") for each in self.considered]
        return (
            f"duel {self.duel}: {self.first} and {self.second}. {self._reason()}\n"
            f"{self.policy} gives them {self.utility_first:+.3f} and {self.utility_second:+.3f}: {self.first} wins with chance "
            f"{percent(self.chance_first)}. Their width is {self.width:.3f}; {percent(self.wider_pairs)} of the pairs below are wider.\n"
            f"{self.candidates} arms were candidates; the best, with their widths against the better of the two:\n"
            + table(("arm", "utility", "width"), rows)
        )

    def _reason(self) -> str:
        if self.kind is DuelKind.GOLD:
            return "It is a gold pair: its answer is known, and shows whether the rater looks."
        if self.kind is DuelKind.REPEAT:
            return "The rater has seen it before: it shows whether they say the same again."
        if self.chosen_by is ChosenBy.RANDOM:
            chance = "" if self.chance is None else f" with chance {self.chance:.3g}"
            return f"It was drawn by chance{chance}, whatever the policy thinks."
        if self.chosen_by is ChosenBy.IMPORT:
            return "It came with an import; this study did not choose it."
        return f"{self.policy} chose it."


def why(duel: DuelRow, arms: KnownArms, policy: Any) -> Why:
    """See `Study.why`."""
    silent = [name for name in ("theta_", "precision_", "link") if not hasattr(policy, name)]
    if silent:
        raise InvalidInput(
            f"{type(policy).__name__} does not say what it knows (it has no {silent[0]}), so nobody can tell why it asked; "
            "`why` needs theta_, precision_ and link of a policy"
        )
    pair = [arms.owner(duel.first_row), arms.owner(duel.second_row)]
    group = arms.groups().get(duel.context, np.empty(0, np.int64))
    if not len(group):  # candidates that were named one by one, or retired since
        group = np.array(sorted(set(pair)), np.int64)
    rows = np.array([duel.first_row, duel.second_row])
    features = np.concatenate([arms.vectors(rows).astype(np.float64), arms.matrix(group)])
    utilities = features @ policy.theta_
    utilities = utilities - utilities[2:].mean()
    whitened = np.linalg.solve(np.linalg.cholesky(policy.precision_), features.T).T
    better = int(utilities[1] > utilities[0])
    widths = np.linalg.norm(whitened[2:] - whitened[better], axis=1)
    width = float(np.linalg.norm(whitened[0] - whitened[1]))
    order = np.argsort(-utilities[2:], kind="stable")[:SHOWN]
    considered = tuple(Considered(arms.id_of(int(group[k])), float(utilities[2 + k]), float(widths[k])) for k in order)
    gap = float(utilities[0] - utilities[1])
    return Why(
        duel=duel.number,
        first=arms.id_of(pair[0]),
        second=arms.id_of(pair[1]),
        kind=duel.kind,
        chosen_by=duel.chosen_by,
        chance=duel.chance,
        policy=type(policy).__name__,
        utility_first=float(utilities[0]),
        utility_second=float(utilities[1]),
        width=width,
        wider_pairs=_share_wider(whitened[2:][order], width),
        chance_first=float(get_link(policy.link).mean(gap)),
        candidates=len(group),
        considered=considered,
    )


def _share_wider(whitened: NDArray[np.float64], width: float) -> float:
    first, second = np.triu_indices(len(whitened), 1)
    if not len(first):
        return 0.0
    return float((np.linalg.norm(whitened[first] - whitened[second], axis=1) > width * (1.0 + 1e-9)).mean())
