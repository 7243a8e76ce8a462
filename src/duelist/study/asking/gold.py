"""Gold duels: pairs whose answer the owner knows, slipped in among the others to see which raters look."""

from __future__ import annotations

import zlib
from typing import Final

import numpy as np

from duelist.study.asking.ask import Known, Leased, Wanted, fits, pair_of
from duelist.study.records import ChosenBy, DuelKind, GoldPair
from duelist.study.storage import DuelRow, Transaction

_GOLD: Final = 0x676F6C64
"""Sets the random numbers of gold duels apart from those of others."""


def gold_duel(tx: Transaction, known: Known, out: list[Leased], rater: str, wanted: Wanted, now: int) -> DuelRow | None:
    """Now and then a gold duel that this rater has not seen and that fits what is wanted; mostly none.

    Its randomness comes from the seed, how far the study has come, and the rater.
    """
    settings, counters = known.settings, tx.counters
    if not settings.gold or not settings.gold_share:
        return None
    moment = settings.seed, _GOLD, counters.n_duels, counters.n_votes, zlib.crc32(rater.encode())
    rng = np.random.default_rng(moment)
    if rng.random() >= settings.gold_share:
        return None
    taken = {pair_of(duel, known.arms) for _, duel in out} | {
        pair_of(duel, known.arms) for duel in tx.duels_asked_of(rater)
    }
    duels = (_duel(tx, known, pair, now, swapped=bool(rng.random() < 0.5)) for pair in settings.gold)
    left = [duel for duel in duels if pair_of(duel, known.arms) not in taken and _in_game(duel, known, wanted)]
    if not left:
        return None
    known.fold.begin(tx, known.arms)
    counters.n_duels += 1
    return left[int(rng.integers(len(left)))]


def _in_game(duel: DuelRow, known: Known, wanted: Wanted) -> bool:
    retired = any(known.arms.is_retired(number) for number in pair_of(duel, known.arms))
    return not retired and fits(duel, known.arms, wanted)


def _duel(tx: Transaction, known: Known, pair: GoldPair, now: int, swapped: bool) -> DuelRow:
    """The duel of a gold pair. The policy does not learn it, so it has no share."""
    rows = known.arms.newest_rows(known.arms.numbers([pair.first, pair.second])).tolist()
    return DuelRow(
        number=tx.counters.n_duels + 1,
        first_row=rows[swapped],
        second_row=rows[not swapped],
        context=known.arms.common_context(rows),
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
