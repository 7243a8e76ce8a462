"""What owners do with duels: several criteria, gold pairs, why a pair was asked, and answers in all their spellings."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import beta

from duelist.core.errors import InvalidInput, UnknownArm, UnknownDuel
from duelist.study import create_study, current_votes, load_study
from duelist.study.records import DuelKind
from tests.helpers.owners import OUTCOMES, play, replayed
from tests.helpers.policy_state import policy_of
from tests.study.conftest import features, filled

# -- criteria ----------------------------------------------------------------------------


def test_several_criteria_about_one_pair(url: str) -> None:
    study = filled(storage=url, policy="VACDB", criteria=["clear", "short"])
    duel = study.ask("ana")
    with pytest.raises(InvalidInput, match=r"asks about clear, short\. .* criterion=.*`tell_all`"):
        study.tell(duel, "first", "ana")
    with pytest.raises(InvalidInput, match="criterion is 'long', which this study does not ask about"):
        study.tell(duel, "first", "ana", criterion="long")
    study.tell(duel, "first", "ana", criterion="short")
    assert study.ask("ana").id == duel.id  # there is another question about it
    study.tell(duel, "second", "ana", criterion="clear")
    assert study.ask("ana").id != duel.id
    for k in range(40):
        rater = f"rater {k % 3}"
        outcomes = {"clear": OUTCOMES[k % 5], "short": OUTCOMES[(k + 1) % 5]}
        votes = study.tell_all(study.ask(rater), outcomes, rater)
        assert [(vote.criterion, vote.outcome) for vote in votes] == list(outcomes.items())
    assert study.policy().snapshot() == replayed(study, criterion="clear")
    teach = ("first", "second", "tie")
    clear = [vote for vote in current_votes(study.votes()) if vote.criterion == "clear" and vote.outcome in teach]
    assert study.leaderboard().votes == len(clear)
    last = votes[0].duel_id
    study.undo(last, rater, criterion="short")
    assert study.ask(rater).id == last
    study.undo(last, rater, criterion="clear")
    study.tell_all(last, {"clear": "tie", "short": "tie"}, rater)
    assert study.policy().snapshot() == replayed(study, criterion="clear")


def test_answers_by_criteria_come_all_or_none(url: str) -> None:
    study = filled(storage=url, criteria=["clear", "short"])
    duel = study.ask("ana")
    with pytest.raises(InvalidInput, match="criterion is 'long'"):
        study.tell_all(duel, {"clear": "first", "long": "tie"}, "ana")
    with pytest.raises(InvalidInput, match="outcomes are"):
        study.tell_all(duel, {}, "ana")
    assert len(study) == 0
    study.tell_all(duel, {"clear": "first", "short": "tie"}, "ana")
    with pytest.raises(InvalidInput, match="Keep it first"):
        study.change(criteria=["short", "clear"])
    study.change(criteria=["clear", "short", "kind"])
    with pytest.raises(InvalidInput, match="Name each once"):
        create_study("other", url, criteria=["a", "a"])


def test_a_study_without_criteria_asks_one_question() -> None:
    study = filled()
    with pytest.raises(InvalidInput, match=r"does not ask about.* it has none, leave it out"):
        study.tell(study.ask("ana"), "first", "ana", criterion="clear")


# -- gold --------------------------------------------------------------------------------


def test_gold_pairs_are_asked_once_and_teach_nothing(url: str) -> None:
    study = filled(storage=url, policy="VACDB", gold_share=0.3)
    study.add_gold("a0", "a1", "first")
    study.add_gold("a2", "a3", "tie")
    study.add_gold("a1", "a0", "first")  # the other way round: in the place of the first
    assert [tuple(pair) for pair in study.gold()] == [("a2", "a3", "tie"), ("a1", "a0", "first")]
    for _ in range(30):
        for rater in ("ana", "ben"):
            study.tell(study.ask(rater), "first", rater)
    gold = [vote for vote in study.votes() if vote.kind is DuelKind.GOLD]
    asked = Counter((vote.rater, frozenset((vote.first, vote.second))) for vote in gold)
    assert max(asked.values()) == 1
    right = {frozenset(("a0", "a1")): "a1", frozenset(("a2", "a3")): None}
    assert gold
    for vote in gold:
        winner = {"first": vote.first, "second": vote.second, "tie": None}[vote.expected]
        assert winner == right[frozenset((vote.first, vote.second))]
        assert vote.chosen_by == "owner"
    assert study.policy().snapshot() == replayed(study)
    assert study.leaderboard().votes == 60 - len(gold)
    study.remove_gold("a0", "a1")
    assert [pair.first for pair in load_study("study", url).gold()] == ["a2"]


def test_the_share_of_gold_duels() -> None:
    study = filled(n_arms=40, gold_share=0.25, policy="UniformPair")
    for k in range(0, 40, 2):
        study.add_gold(f"a{k}", f"a{k + 1}", "first")
    n = 400
    for k in range(n):
        rater = f"rater {k % 40}"
        study.tell(study.ask(rater), "first", rater)
    gold = sum(vote.kind is DuelKind.GOLD for vote in study.votes())
    # A rater has ten duels, and twenty gold pairs to see: it is a coin each time, but for gold pairs that are out (none here)
    # and those met by chance. Six standard deviations.
    assert abs(gold - 0.25 * n) < 6 * np.sqrt(n * 0.25 * 0.75)


def test_gold_pairs_of_arms_that_are_there() -> None:
    study = filled()
    with pytest.raises(UnknownArm, match="'z' is not in this study"):
        study.add_gold("a0", "z", "first")
    with pytest.raises(InvalidInput, match=r"outcome is 'skip', which says nothing about a gold pair"):
        study.add_gold("a0", "a1", "skip")
    with pytest.raises(InvalidInput, match="with itself"):
        study.add_gold("a0", "a0", "tie")
    study.change(gold_share=1.0)
    study.add_gold("a0", "a1", "first")
    study.retire(["a0"])
    assert study.ask("ana").kind is DuelKind.NORMAL
    assert study.ask("ben", candidates=["a2", "a3"]).kind is DuelKind.NORMAL


# -- why ---------------------------------------------------------------------------------


def test_why_this_pair() -> None:
    study = filled(policy="LocalPairUCB", random_share=0.5, n_arms=6)
    play(study, 40)
    duel = study.ask("dora")
    said = study.explain(duel)
    x, policy = features(6).astype(np.float64), policy_of(study)
    first, second = (x[arm.number] for arm in (duel.first, duel.second))
    width = np.sqrt((first - second) @ np.linalg.inv(policy.precision_) @ (first - second))
    utilities = x @ policy.theta_ - (x @ policy.theta_).mean()
    assert said.width == pytest.approx(width)
    assert said.utility_first == pytest.approx(utilities[duel.first.number])
    assert said.win_probability == pytest.approx(1 / (1 + np.exp(-(first - second) @ policy.theta_)))
    assert [each.arm for each in said.candidates] == [f"a{k}" for k in np.argsort(-utilities)]
    assert (said.chosen_by, said.propensity, said.n_candidates) == (duel.chosen_by, duel.propensity, 6)
    assert study.explain(duel.id) == said
    kinds = {study.explain(vote.duel_id).chosen_by for vote in study.votes()}
    assert kinds == {"policy", "random"}
    assert "LocalPairUCB estimates their utilities" in str(said)
    with pytest.raises(UnknownDuel):
        study.explain(999)


def test_why_a_gold_pair() -> None:
    study = filled(gold_share=1.0)
    study.add_gold("a0", "a1", "first")
    said = study.explain(study.ask("ana"))
    assert said.kind is DuelKind.GOLD
    assert "gold pair" in str(said)


def test_duels_are_told_by_themselves_or_by_id() -> None:
    study = filled()
    duel = study.ask("ana")
    assert study.tell(duel, "first", "ana", reason="blue") == study.tell(duel.id, "first", "ana")
    assert study.votes()[0].reason == "blue"
    assert study.undo(duel, "ana").reason is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Both bad", "both_bad"),
        ("BOTH-BAD", "both_bad"),
        (" first ", "first"),
        (1, "first"),
        (0.0, "second"),
        (0.5, "tie"),
    ],
)
def test_outcomes_are_named_as_people_do(said: str | float, meant: str) -> None:
    study = filled()
    assert study.tell(study.ask("ana"), said, "ana").outcome == meant


@pytest.mark.parametrize("said", ["left", 2, 0.7, True, None, float("nan"), [1]])
def test_what_is_no_outcome(said: object) -> None:
    study = filled()
    with pytest.raises(InvalidInput, match=r"outcome is .*. Choose one of first, second, tie, both_bad, skip"):
        study.tell(study.ask("ana"), said, "ana")


@pytest.mark.parametrize("policy", ["RUCB", "DTS", "CCB", "WSW", "BeatTheMean", "MergeRUCB"])
@pytest.mark.parametrize("featured", [False, True])
def test_why_of_policies_that_count(policy: str, featured: bool) -> None:
    horizon = {"horizon": 200} if policy == "BeatTheMean" else {}
    study = create_study("counted", "memory", policy=policy, policy_settings=horizon, repeat_pairs=0)
    study.add_arms(["a", "b", "c", "d"], np.random.default_rng(0).normal(size=(4, 2)) if featured else None)
    fresh = study.explain(study.ask("nobody yet"))
    assert (fresh.wins, fresh.win_probability) == ((0.0, 0.0), 0.5)
    assert fresh.width == pytest.approx(beta(1, 1).std())
    assert "the two have not met" in str(fresh)
    won: dict[tuple[str, str], int] = {}
    for k in range(25):
        duel = study.ask(f"rater {k}")
        one, other = duel.first.id, duel.second.id
        study.tell(duel, "first" if one < other else "second", rater=f"rater {k}")
        pair = (min(one, other), max(one, other))
        won[pair] = won.get(pair, 0) + 1
    duel = study.ask("last")
    said = study.explain(duel)
    pair = (min(said.first, said.second), max(said.first, said.second))
    wins = won.get(pair, 0)
    assert said.wins == ((wins, 0) if said.first == pair[0] else (0, wins))
    known = beta(said.wins[0] + 1, said.wins[1] + 1)
    assert (said.win_probability, said.width) == pytest.approx((known.mean(), known.std()))
    ahead = {
        arm: np.mean(
            [
                (won.get((arm, o), 0) + 1) / (won.get((arm, o), 0) + won.get((o, arm), 0) + 2) - 0.5
                for o in "abcd"
                if o != arm
            ]
        )
        for arm in "abcd"
    }
    assert {each.arm: each.utility for each in said.candidates} == pytest.approx(ahead)
    assert said.candidates[0].arm == max(ahead, key=lambda arm: ahead[arm])
    assert f"{policy} counts wins: " in str(said)
