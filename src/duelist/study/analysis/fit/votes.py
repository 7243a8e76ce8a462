"""Current votes as columns, some forty bytes per vote.

"Both bad" is kept separate from a tie throughout. A tie says that the two arms are about equal, which Davidson's
model describes. "Both bad" says that neither is good enough, which is about their level, not about which is better:
if it is one more option among which a rater chooses (Luce 1959), then the other outcomes keep their ratios whatever
makes it likely. So a fit that excludes these votes is right, and one that took them for ties would call two arms
equal because both are bad. What these votes say of the level is `duelist.study.analysis.fit.acceptable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats, Ints
from duelist.core.errors import InvalidInput
from duelist.model.answers import PAIR_WITH_LEVEL, PAIR_WITH_TIES
from duelist.model.votes import Votes, vote_rows
from duelist.study.analysis.fit.covariates import Covariates
from duelist.study.records import ChosenBy, DuelKind, Outcome, Vote

Bools = NDArray[np.bool_]
Column = NDArray[Any]

OUTCOMES: Final = tuple(Outcome)
CODES: Final[dict[str | None, int]] = {**{outcome.value: code for code, outcome in enumerate(OUTCOMES)}, None: -1}
"""Outcomes as small integers; -1 for a vote that was undone."""
FIRST, SECOND, TIE, BOTH_BAD, SKIP = (CODES[name] for name in ("first", "second", "tie", "both_bad", "skip"))
CHOSEN_BY: Final = tuple(ChosenBy)
CHOSEN_CODES: Final = {chooser.value: code for code, chooser in enumerate(CHOSEN_BY)}
KINDS: Final = tuple(DuelKind)
KIND_CODES: Final = {kind.value: code for code, kind in enumerate(KINDS)}
NORMAL: Final = KIND_CODES["normal"]
NO_TIME: Final = np.iinfo(np.int64).min
"""The time of votes without one."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_TABLE: Final = 1 << 22
"""Up to this many different keys, a lookup table of all of them is used."""


@dataclass(frozen=True)
class VoteTable:
    """Current votes in the order in which they were first given; arms, raters and contexts by number."""

    n_arms: int
    raters: tuple[str, ...]
    first: Column
    second: Column
    outcome: Column
    """Position in `OUTCOMES`."""
    rater: Column
    """Position in `raters`, -1 if unknown."""
    context: Column
    duel: Column
    voted_at: Column
    """Microseconds since 1970, or `NO_TIME`."""
    seconds: Column
    """Response time of the rater, NaN if unknown."""
    chosen_by: Column
    """Position in `CHOSEN_BY`."""
    propensity: Column
    """The probability with which the pair was chosen, NaN if unknown."""
    kind: Column
    """Position in `KINDS`."""
    expected: Column
    """The known outcome of a gold duel, as a position in `OUTCOMES`; -1 if there is none."""
    covariates: Covariates | None = None
    """Influences on raters other than merit (`duelist.study.analysis.fit.covariates`)."""

    def __len__(self) -> int:
        return len(self.first)

    def of(self, chosen: Column | slice) -> VoteTable:
        """Return some of the votes, by a mask, positions, or a slice."""
        columns = {name: getattr(self, name)[chosen] for name in COLUMNS}
        return replace(self, **columns, covariates=self.covariates and self.covariates.of(chosen))

    @property
    def decided(self) -> Bools:
        """Whether each vote is for one of the two arms."""
        return np.asarray((self.outcome <= SECOND) & (self.outcome >= 0) & (self.first != self.second))

    @property
    def teaching(self) -> Bools:
        """Whether each vote informs the fit: no "both bad", no skip, no arm against itself."""
        return np.asarray((self.outcome <= TIE) & (self.outcome >= 0) & (self.first != self.second))

    @property
    def both_bad(self) -> Bools:
        """Whether each vote says that both of two arms are bad."""
        return np.asarray((self.outcome == BOTH_BAD) & (self.first != self.second))

    @property
    def on_arms(self) -> VoteTable:
        """Return the votes without gold and repeated duels, which are asked to learn about raters."""
        normal = self.kind == NORMAL
        return self if normal.all() else self.of(normal)


COLUMNS: Final = tuple(
    field.name for field in fields(VoteTable) if field.name not in ("n_arms", "raters", "covariates")
)


def as_vote_table(votes: Sequence[Vote] | VoteTable, arms: Sequence[str]) -> VoteTable:
    """Return current votes as a table, with arms by position."""
    if isinstance(votes, VoteTable):
        return votes
    index = {arm: k for k, arm in enumerate(arms)}
    if len(index) != len(arms):
        raise InvalidInput(
            f"arms has {next((arm for k, arm in enumerate(arms) if index[arm] != k))!r} twice.", "Give each once."
        )
    votes = [vote for vote in votes if vote.outcome is not None]
    raters: dict[str, int] = {}
    contexts: dict[str | None, int] = {}
    try:
        first, second = ([index[getattr(vote, side)] for vote in votes] for side in ("first", "second"))
    except KeyError as error:
        raise InvalidInput(
            f"A vote names the arm {error.args[0]!r}, which is not among the {len(arms)} arms given.", "Give all arms."
        ) from None
    rater = [-1 if vote.rater is None else raters.setdefault(vote.rater, len(raters)) for vote in votes]
    return VoteTable(
        n_arms=len(arms),
        raters=tuple(raters),
        first=np.array(first, np.int64),
        second=np.array(second, np.int64),
        outcome=np.array([CODES[vote.outcome] for vote in votes], np.int8),
        rater=np.array(rater, np.int32),
        context=np.array([contexts.setdefault(vote.context, len(contexts)) for vote in votes], np.int32),
        duel=np.array([vote.duel_id for vote in votes], np.int64),
        voted_at=np.array([_microseconds(vote.voted_at) for vote in votes], np.int64),
        seconds=np.array([vote.response_seconds for vote in votes], np.float64),
        chosen_by=np.array([CHOSEN_CODES[vote.chosen_by] for vote in votes], np.int8),
        propensity=np.array([vote.propensity for vote in votes], np.float64),
        kind=np.array([KIND_CODES[vote.kind] for vote in votes], np.int8),
        expected=np.array([CODES[vote.expected] for vote in votes], np.int8),
    )


def counted(log: VoteTable, weights: Floats | None = None) -> Votes:
    """Count the votes that inform the fit, by pair and outcome; each counts 1, or its weight."""
    return vote_counts(log, (), weights).pooled()


def vote_counts(
    log: VoteTable, clusters: Sequence[str] = ("rater",), weights: Floats | None = None, *, level: bool = False
) -> Votes:
    """Return the votes that inform the fit one by one, with the kinds of clusters they belong to.

    With `level` these include "both bad", and the acceptable level is one more item, the last one shown in each vote.
    """
    chosen = np.flatnonzero((log.teaching | log.both_bad) if level else log.teaching)
    items = np.stack([log.first[chosen], log.second[chosen]], axis=1).astype(np.int64)
    if level:
        items = np.column_stack([items, np.full(len(items), log.n_arms)])
    outcome = log.outcome[chosen].astype(np.int64)
    mass = None if weights is None else weights[chosen]
    columns = {"rater": log.rater, "prompt": log.context}
    found = {kind: columns[kind][chosen].astype(np.int64) for kind in clusters}
    sides = np.where(items[:, 0] > items[:, 1], -1.0, 1.0)  # rows have the lower of two items first
    covariates = None if log.covariates is None else sides[:, None] * log.covariates.values[chosen]
    answer = PAIR_WITH_LEVEL if level else PAIR_WITH_TIES
    return Votes(log.n_arms + level, *vote_rows(items, outcome, answer, mass), covariates, found, sides)


def wins(votes: Votes) -> Floats:
    """Return what the first arm of each row has won, a tie counting half."""
    return np.asarray(votes.counts[:, FIRST] + 0.5 * votes.counts[:, TIE])


def compact_keys(keys: Ints, size: int) -> tuple[Ints, int]:
    """Return the keys, or smaller substitutes if a lookup table would be too large, and the size of the table."""
    if size <= _TABLE:
        return keys, size
    different, number = np.unique(keys, return_inverse=True)
    return number, len(different)


def _microseconds(when: datetime | None) -> int:
    return NO_TIME if when is None else (when - _EPOCH) // _MICROSECOND
