"""Agreement on repeated pairs: between raters, and of a rater with earlier votes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from duelist.core.arrays import Floats, Ints
from duelist.model.votes import numbered
from duelist.study.analysis.fit.votes import BOTH_BAD, FIRST, SECOND, TIE, VoteTable, compact_keys
from duelist.study.analysis.raters.agreement import krippendorff_alpha

_LOW, _HIGH, _TIE, _BAD = range(4)
ANSWERS: Final = 4
_TURNED: Final = np.array([_HIGH, _LOW, _TIE, _BAD])
_ANSWER: Final = np.empty((BOTH_BAD + 1, 2), np.int64)
"""The answer of an outcome if the first arm has the higher number, and if it has the lower."""
_ANSWER[[FIRST, SECOND, TIE, BOTH_BAD]] = [[_HIGH, _LOW], [_LOW, _HIGH], [_TIE, _TIE], [_BAD, _BAD]]


class Units:
    """Answers by unit (a pair in a context) and by rater: the arm that won, a tie, or both bad; skips are excluded."""

    def __init__(self, log: VoteTable, excluded: NDArray[np.bool_]) -> None:
        answered = np.flatnonzero((log.outcome >= 0) & (log.outcome <= BOTH_BAD) & (log.first != log.second))
        first, second = log.first[answered].astype(np.int64), log.second[answered].astype(np.int64)
        outcome = log.outcome[answered]
        self.answer = _ANSWER[outcome, (first < second).astype(np.intp)]
        self.rater = log.rater[answered].astype(np.int64)
        self.n_raters = len(log.raters)
        pair = np.minimum(first, second) * log.n_arms + np.maximum(first, second)
        n_contexts = int(log.context.max(initial=0)) + 1
        keys, self.unit = numbered(pair * n_contexts + log.context[answered], log.n_arms**2 * n_contexts)
        self.n_units = len(keys)
        self.counts = ~np.append(excluded, False)[self.rater]
        self.decided = outcome <= SECOND
        self._find_repeats()
        self._count_others()

    def _find_repeats(self) -> None:
        """Find which votes are the last of their rater on their unit, and which raters have several on one."""
        width = self.n_raters + 1
        key, size = compact_keys(self.unit * width + self.rater + 1, self.n_units * width)
        newest, places = np.empty(size, np.int64), np.arange(len(key))
        newest[key] = places  # of several the last one stays
        self.last = newest[key] == places
        more = np.zeros(size, np.bool_)
        more[key[~self.last & (self.rater >= 0)]] = True
        several = np.flatnonzero(more[key])
        self.several = several[np.argsort(key[several], kind="stable")]
        self.several_of = np.cumsum(np.diff(key[self.several], prepend=-1) != 0) - 1

    def _count_others(self) -> None:
        """Return, for each answer and each vote, how often other counted raters gave it to the same unit (answers,
        votes).
        """
        counted = np.flatnonzero(self.counts)
        cell = self.unit[counted] * ANSWERS + self.answer[counted]
        everyone = np.bincount(cell, minlength=self.n_units * ANSWERS).reshape(-1, ANSWERS).T.astype(np.int32)
        self.others = np.take(everyone, self.unit, axis=1)
        own = self.counts & (self.rater >= 0)  # two votes of unknown raters may come from two people
        for k in range(ANSWERS):
            self.others[k] -= own & (self.answer == k)
        # A rater with several votes on a unit is not among the others for any of them.
        more, of = self.several, self.several_of * ANSWERS + self.answer[self.several]
        mine = np.bincount(of, self.counts[more], (int(self.several_of.max(initial=-1)) + 1) * ANSWERS)
        mine = mine.reshape(-1, ANSWERS).T.astype(np.int32)
        self.others[:, more] = everyone[:, self.unit[more]] - mine[:, self.several_of]

    def by_rater(self) -> dict[str, list[Any]]:
        """Return agreement with the others, plain and chance-corrected, and with oneself."""
        agreement = self._mean(*self._agreement_decided())
        repeats, repeat_agreement = self._repeats()
        return {
            "agreement_others": agreement,
            "kappa": self._kappas(),
            "repeats": repeats,
            "repeat_agreement": repeat_agreement,
        }

    def _agreement_decided(self) -> tuple[Ints, Floats]:
        """Return, for each decided vote that others decided too, the share of them that is for the same arm."""
        low, high = self.others[_LOW], self.others[_HIGH]
        total = low + high
        chosen = np.flatnonzero(self.decided & (total > 0) & (self.rater >= 0))
        return chosen, np.where(self.answer == _LOW, low, high)[chosen] / total[chosen]

    def _mean(self, chosen: Ints, values: Floats) -> list[float | None]:
        """Return means of values of some votes, by rater."""
        count = np.bincount(self.rater[chosen], minlength=self.n_raters)
        total = np.bincount(self.rater[chosen], values, self.n_raters)
        return [t / n if n else None for t, n in zip(total.tolist(), count.tolist(), strict=True)]

    def _kappas(self) -> list[float | None]:
        """Return Cohen's kappa of each rater against the others on the same units, the others with equal weight.

        Which arm of a pair has the lower number is arbitrary: every vote is counted both ways, so that the
        expectation does not depend on it.
        """
        total = self.others.sum(axis=0)
        chosen = np.flatnonzero((total > 0) & (self.rater >= 0))
        rater, answer, part = self.rater[chosen], self.answer[chosen], 1.0 / total[chosen]
        theirs = (self.others if len(chosen) == len(total) else self.others[:, chosen]) * part
        n = self.n_raters
        same = np.bincount(rater, theirs[answer, np.arange(len(answer))], n)
        votes = np.bincount(rater, minlength=n)
        mine = np.bincount(rater * ANSWERS + answer, minlength=n * ANSWERS).reshape(n, ANSWERS)
        others = np.stack([np.bincount(rater, each, n) for each in theirs], axis=1)
        expected = ((mine + mine[:, _TURNED]) * (others + others[:, _TURNED])).sum(axis=1) / 4.0
        found: list[float | None] = []
        for agreed, by_chance, count in zip(same.tolist(), expected.tolist(), votes.tolist(), strict=True):
            chance = by_chance / count**2 if count else 1.0
            found.append((agreed / count - chance) / (1.0 - chance) if chance < 1.0 else None)
        return found

    def _repeats(self) -> tuple[list[int], list[float | None]]:
        """Return how often a rater voted on a unit again, and with the same answer as the time before."""
        order, of = self.several, self.several_of
        again = np.flatnonzero(of[1:] == of[:-1])
        now, before = order[again + 1], order[again]
        same = self._mean(now, (self.answer[now] == self.answer[before]).astype(np.float64))
        return np.bincount(self.rater[now], minlength=self.n_raters).tolist(), same

    def alpha(self) -> float | None:
        """Return Krippendorff's alpha of counted raters.

        It uses the last answer of each rater to a unit, counted both ways as above.
        """
        last = np.flatnonzero(self.last & self.counts & (self.rater >= 0))
        n_units = self.n_units
        cell = self.unit[last] * ANSWERS + self.answer[last]
        table = np.bincount(cell, minlength=n_units * ANSWERS).reshape(n_units, ANSWERS)
        table = table[table.sum(axis=1) > 1]
        found = krippendorff_alpha(np.concatenate([table, table[:, _TURNED]]))
        return None if np.isnan(found) else found
