"""Raters must not learn the kind of a pair from the work that it costs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from duelist.policies import LocalPairUCB
from duelist.study import Study
from duelist.study.records import DuelKind
from tests.study.conftest import filled


@pytest.mark.parametrize("raters_per_duel", [1, 2])
def test_every_new_pair_costs_one_choice_of_the_policy(monkeypatch: pytest.MonkeyPatch, raters_per_duel: int) -> None:
    """Gold, repeated, random and waiting pairs took less time than those that the policy chose."""
    study = filled(
        policy="LocalPairUCB",
        n_arms=20,
        gold_share=0.3,
        random_share=0.3,
        repeat_pairs=0.3,
        raters_per_duel=raters_per_duel,
    )
    for k in range(0, 20, 2):
        study.add_gold(f"a{k}", f"a{k + 1}", "first")
    choices = 0
    suggest = LocalPairUCB.suggest

    def counted(self: LocalPairUCB, *args: Any, **given: Any) -> Any:
        nonlocal choices
        choices += 1
        return suggest(self, *args, **given)

    monkeypatch.setattr(LocalPairUCB, "suggest", counted)
    kinds: Counter[tuple[str, str]] = Counter()
    for k in range(60):
        rater = f"rater {k % 3}"
        before = choices
        duel = study.ask(rater)
        assert choices == before + 1, (duel.kind, duel.chosen_by)
        assert study.ask(rater) == duel
        assert choices == before + 1, "a pending duel is only read"
        study.tell(duel, "first", rater)
        kinds[duel.kind, duel.chosen_by] += 1
    assert len(kinds) == 4, kinds


def gold_study() -> Study:
    study = filled(n_arms=40, gold_share=0.4, random_share=0.3, repeat_pairs=0.2)
    for k in range(0, 40, 2):
        study.add_gold(f"a{k}", f"a{k + 1}", "first")
    return study


def kinds_asked(secret: bytes) -> list[tuple[str, str]]:
    study = gold_study()
    asked = []
    for _ in range(30):
        duel = study.ask("eve", secret=secret)
        study.tell(duel, "first", "eve")
        asked.append((str(duel.kind), str(duel.chosen_by)))
    return asked


def test_a_secret_makes_kinds_of_pairs_unpredictable_and_repeatable() -> None:
    """The seed is 0 by default: raters who counted duels and votes could compute all gold pairs."""
    assert kinds_asked(b"") == kinds_asked(b"")
    assert kinds_asked(b"one secret") == kinds_asked(b"one secret")
    assert len({tuple(kinds_asked(secret)) for secret in (b"", b"one secret", b"another secret")}) == 3


def test_gold_pairs_follow_the_balance_of_sides() -> None:
    """They had random sides, so a rater who counted sides noticed pairs that no policy would have shown that way."""
    study = gold_study()
    lean: Counter[str] = Counter()
    unbalanced: Counter[str] = Counter()
    for _ in range(80):
        duel = study.ask("eve")
        left, right = duel.first.id, duel.second.id
        assert lean[left] <= lean[right], duel.kind
        unbalanced[duel.kind] += lean[left] < lean[right]
        lean.update({left: 1, right: -1})
        study.tell(duel, "first", "eve")
    assert unbalanced[DuelKind.GOLD]
    assert unbalanced[DuelKind.NORMAL]


def test_studies_without_such_pairs_choose_no_pair_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    study = filled(policy="LocalPairUCB", raters_per_duel=2)
    study.ask("ana")
    monkeypatch.setattr(LocalPairUCB, "suggest", None)
    assert study.ask("ben").id == 1
