"""What raters have answered is remembered within bounds; what was forgotten is read again, and nobody notices."""

from __future__ import annotations

import numpy as np
import pytest

from duelist.core.errors import NothingToAsk
from duelist.study import Study, create_study
from duelist.study.asking import history as histories
from duelist.study.records import current_votes


def played(name: str, url: str, rounds: int = 120) -> tuple[Study, list[tuple[object, ...]]]:
    """Five raters by chance, who vote, revise, undo, skip, and are asked a pair again now and then."""
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


@pytest.mark.parametrize("kept", [0, 60])
def test_who_was_forgotten_is_asked_the_same(sqlite_url: str, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    _, whole = played("whole", sqlite_url)
    monkeypatch.setattr(histories, "_KEPT", kept)
    study, bounded = played("bounded", sqlite_url)
    assert bounded == whole
    known = study._writer.known.histories
    assert known._room == sum(history.room for history in known._known.values())
    assert known._room <= kept or len(known._known) == 1


def test_pairs_are_remembered_as_long_as_an_answer_to_them_stands(sqlite_url: str) -> None:
    """A pair may have been answered several times, and some of these undone."""
    study, _ = played("s", sqlite_url, rounds=300)
    votes = current_votes(study.votes())
    several = 0
    with study._storage.reading(study.id) as tx:
        for rater in {vote.rater for vote in votes}:
            history = study._writer.known.histories.of(tx, study._writer.known.arms, str(rater))
            mine = [frozenset((vote.first, vote.second)) for vote in votes if vote.rater == rater]
            remembered = [divmod(code, 2**32) for code in history.not_again("never").tolist()]
            assert {frozenset((f"a{one}", f"a{other}")) for one, other in remembered} == set(mine)
            several += len(mine) - len(set(mine))
    assert several > 20
