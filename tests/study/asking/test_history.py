"""Histories of raters are cached within bounds; dropped ones are read again without any difference."""

from __future__ import annotations

import numpy as np
import pytest

from duelist.core.errors import NothingToAsk
from duelist.study import Study, create_study
from duelist.study.asking import history
from duelist.study.records import current_votes


def played(name: str, url: str, rounds: int = 120) -> tuple[Study, list[tuple[object, ...]]]:
    """Return a study in which five raters vote, revise, undo, skip and repeat pairs, and the duels that were asked."""
    study = create_study(name, url, seed=3, repeat_pairs=0.3)
    study.add_arms([f"a{k}" for k in range(7)])
    luck = np.random.default_rng(0)
    seen: list[tuple[object, ...]] = []
    for _ in range(rounds):
        rater = f"rater {luck.integers(5)}"
        try:
            duel = study.ask(rater)
        except NothingToAsk:
            seen.append((rater,))
            continue
        seen.append((rater, duel.id, duel.first.id, duel.second.id, duel.kind))
        study.tell(duel.id, ("first", "second", "tie", "skip")[luck.integers(4)], rater)
        if luck.random() < 0.2:
            study.tell(duel.id, "second", rater, revise=True)
        if luck.random() < 0.2:
            study.undo(duel.id, rater)
    return study, seen


@pytest.mark.parametrize("max_votes", [0, 60])
def test_dropped_raters_are_asked_the_same(sqlite_url: str, monkeypatch: pytest.MonkeyPatch, max_votes: int) -> None:
    _, whole = played("whole", sqlite_url)
    monkeypatch.setattr(history, "_MAX_VOTES", max_votes)
    study, bounded = played("bounded", sqlite_url)
    assert bounded == whole
    cached = study._write_cache.histories
    assert cached._size == sum(each.size for each in cached._histories.values())
    assert cached._size <= max_votes or len(cached._histories) == 1


def test_pairs_are_answered_while_a_vote_on_them_is_current(sqlite_url: str) -> None:
    """A rater may have voted on a pair several times and undone some of the votes."""
    study, _ = played("s", sqlite_url, rounds=300)
    votes = current_votes(study.votes())
    several = 0
    with study._storage.reading(study.id) as tx:
        for rater in {vote.rater for vote in votes}:
            cached = study._write_cache.histories.get(tx, study._write_cache.arms, str(rater))
            mine = [frozenset((vote.first, vote.second)) for vote in votes if vote.rater == rater]
            answered = [divmod(code, 2**32) for code in cached.not_to_repeat("never").tolist()]
            assert {frozenset((f"a{one}", f"a{other}")) for one, other in answered} == set(mine)
            several += len(mine) - len(set(mine))
    assert several > 20
