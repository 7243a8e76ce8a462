"""Asking in a study of systems: pairs share a prompt, prompts are spread, and votes teach about systems."""

from collections import Counter

import numpy as np
import pytest

from duelist.core.arms import ArmTable
from duelist.core.errors import NoPairsLeft, NothingToAsk
from duelist.policies.engine import NativePolicy
from duelist.study import load_study
from duelist.study.records import ChosenBy
from tests.helpers.systems import system_study, vote

GOALS = ("best", "rank", "learn", "serve")


@pytest.mark.parametrize("goal", GOALS)
def test_pairs_share_a_prompt_and_prompts_are_spread(goal: str) -> None:
    study = system_study(5, 8, goal=goal, holes=((3, 0), (4, 3), (4, 7)))
    prompts: Counter[str | None] = Counter()
    for k in range(48):
        duel = study.ask("ana" if k % 2 else "ben")
        assert duel.first.context == duel.second.context == duel.context
        assert duel.prompt == f"question {str(duel.context)[1:]}"
        assert duel.first.system != duel.second.system
        prompts[duel.context] += 1
        study.tell(duel, "first" if str(duel.first.system) < str(duel.second.system) else "second", duel.rater or "")
    assert set(prompts) == {f"p{k}" for k in range(8)}
    assert max(prompts.values()) - min(prompts.values()) <= 4


def test_every_pair_is_asked_once_per_rater() -> None:
    study = system_study(3, 3, holes=((0, 0),))
    seen = set()
    for _ in range(3 + 3 + 1):
        duel = study.ask("ana")
        seen.add(frozenset((duel.first.id, duel.second.id)))
        study.tell(duel, "tie", "ana")
    assert len(seen) == 7
    with pytest.raises(NoPairsLeft, match="all 7 pairs"):
        study.ask("ana")


def test_pending_pairs_are_not_asked_again() -> None:
    study = system_study(2, 3)
    pairs = {study.ask(f"rater {k}").context for k in range(3)}
    assert pairs == {"p0", "p1", "p2"}
    with pytest.raises(NothingToAsk, match="pending"):
        study.ask("another")


def test_votes_on_one_prompt_teach_about_systems_on_all() -> None:
    """The policy's utilities are of systems, whatever prompt they are asked for."""
    study = system_study(3, 20)
    vote(study, 90, [2.0, 0.0, -2.0], ties=0.0)
    policy = study.policy()
    assert isinstance(policy, NativePolicy)
    utilities = policy.posterior(ArmTable(3)).utilities
    assert list(np.argsort(-utilities)) == [0, 1, 2]


def test_new_systems_and_prompts_are_asked() -> None:
    study = system_study(2, 2)
    vote(study, 2, [0.0, 0.0])
    study.add_arms(["n / p0", "n / p2", "s0 / p2"], contexts=["p0", "p2", "p2"], systems=["n", "n", "s0"],
                   categories=["c0", "c0", "c0"])  # fmt: skip
    systems, prompts = set(), set()
    for _ in range(5):
        duel = study.ask("cy")
        systems |= {duel.first.system, duel.second.system}
        prompts.add(duel.context)
        study.tell(duel, "first", "cy")
    assert systems == {"s0", "s1", "n"}
    assert prompts == {"p0", "p1", "p2"}


def test_retired_answers_are_not_asked() -> None:
    study = system_study(2, 2)
    study.retire(["s0 / p0"])
    assert {study.ask(rater).context for rater in ("ana",)} == {"p1"}
    study.retire(["s1 / p1"])
    study.release(1, "ana")
    with pytest.raises(NothingToAsk):
        study.ask("ben")


def test_context_and_candidates_narrow_the_choice() -> None:
    study = system_study(4, 4)
    assert study.ask("ana", context="p2").context == "p2"
    duel = study.ask("ben", candidates=["s1 / p3", "s2 / p3", "s0 / p1"])
    assert {duel.first.id, duel.second.id} == {"s1 / p3", "s2 / p3"}
    with pytest.raises(NothingToAsk):
        study.ask("cy", candidates=["s1 / p3", "s0 / p1"])


def test_random_pairs_have_their_exact_propensity() -> None:
    study = system_study(3, 4, random_share=1.0, holes=((2, 0),))
    duel = study.ask("ana")
    assert duel.chosen_by is ChosenBy.RANDOM
    prompts = 4 - ("s2" in (duel.first.system, duel.second.system))
    assert duel.propensity == pytest.approx(1.0 / 3.0 / prompts)


def test_another_process_asks_the_same(url: str) -> None:
    """What is asked depends on the log alone."""
    study = system_study(4, 5, storage=url)
    vote(study, 6, [1.0, 0.5, 0.0, -1.0])
    other = load_study("systems", storage=url)
    one = other.ask("dora")
    other.release(one, "dora")
    assert (one.first.id, one.second.id) == tuple(arm.id for arm in (lambda d: (d.first, d.second))(study.ask("eli")))


@pytest.mark.parametrize("policy", ["UniformPair", "DTS"])
def test_explanations_name_systems(policy: str) -> None:
    study = system_study(4, 5, goal=None, policy=policy)
    vote(study, 8, [1.0, 0.5, 0.0, -1.0])
    found = study.explain(3)
    assert {found.first, found.second} <= set(study.systems())
    assert {each.arm for each in found.candidates} == set(study.systems())
