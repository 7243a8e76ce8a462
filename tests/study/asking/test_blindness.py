"""Raters must not learn the kind of a pair from the work that it costs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from duelist.policies import LocalPairUCB
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


def test_studies_without_such_pairs_choose_no_pair_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    study = filled(policy="LocalPairUCB", raters_per_duel=2)
    study.ask("ana")
    monkeypatch.setattr(LocalPairUCB, "suggest", None)
    assert study.ask("ben").id == 1
