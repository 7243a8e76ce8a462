"""Gold duels: pairs whose outcome the owner knows, mixed in to see which raters pay attention."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

import numpy as np

from duelist.study.asking.leases import AskRequest, LeasedDuel, matches, pair_of
from duelist.study.asking.pairs import Pair
from duelist.study.cache import StudyCache
from duelist.study.records import ChosenBy, DuelKind, GoldPair
from duelist.study.storage import DuelRow, Transaction

_GOLD: Final = 0x676F6C64
"""Separates the random numbers of gold duels from all others."""


def gold_duel(
    tx: Transaction,
    cache: StudyCache,
    pending: list[LeasedDuel],
    rater: str,
    request: AskRequest,
    now: int,
    is_swapped: Callable[[int, int, np.random.Generator], bool],
) -> DuelRow | None:
    """Return, with probability `gold_share`, a matching gold duel that this rater has not seen.

    Its randomness comes from the seed, the numbers of duels and votes, the rater, and the request's entropy. Sides follow the rule
    `is_swapped` of other new duels: raters who keep count of sides must not notice gold pairs.
    """
    settings, counters = cache.settings, tx.counters
    if not settings.gold or not settings.gold_share:
        return None
    taken = {pair_of(duel, cache.arms) for _, duel in pending} | {
        pair_of(duel, cache.arms) for duel in tx.duels_of(rater)
    }  # read whether or not it is needed: the time that it takes must not tell gold pairs
    entropy = settings.seed, _GOLD, counters.n_duels, counters.n_votes, zlib.crc32(rater.encode()), *request.entropy
    rng = np.random.default_rng(entropy)
    left = _untaken(cache, taken)
    if rng.random() >= settings.gold_share:
        return None
    for k in rng.permutation(len(left)).tolist():
        first, second = cache.arms.numbers(left[k][:2]).tolist()
        duel = _duel(tx, cache, left[k], now, swapped=is_swapped(first, second, rng))
        if matches(duel, cache.arms, request):
            cache.replay.begin(tx, cache.arms)
            counters.n_duels += 1
            return duel
    return None


def _untaken(cache: StudyCache, taken: set[Pair]) -> list[GoldPair]:
    """Return the gold pairs of active arms that are not among these pairs."""
    arms, gold = cache.arms, cache.settings.gold
    numbers = arms.numbers([arm for pair in gold for arm in pair[:2]]).reshape(-1, 2).tolist()
    return [
        pair
        for pair, (first, second) in zip(gold, numbers, strict=True)
        if (min(first, second), max(first, second)) not in taken
        and not arms.is_retired(first)
        and not arms.is_retired(second)
    ]


def _duel(tx: Transaction, cache: StudyCache, pair: GoldPair, now: int, swapped: bool) -> DuelRow:
    """Return the duel of a gold pair; its share is 0, since the policy does not learn from it."""
    rows = cache.arms.newest_rows(cache.arms.numbers([pair.first, pair.second])).tolist()
    return DuelRow(
        number=tx.counters.n_duels + 1,
        first_row=rows[swapped],
        second_row=rows[not swapped],
        context=cache.arms.common_context(rows),
        chosen_by=ChosenBy.OWNER,
        propensity=None,
        swapped=swapped,
        layer=0,
        share=0.0,
        asked_at=now,
        free=0,
        kind=DuelKind.GOLD,
        expected=pair.outcome.mirrored if swapped else pair.outcome,
    )
