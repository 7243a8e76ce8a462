"""What `can_stop` says where it would be easy to say too much: features that mislead, nothing to look at, arms that are alike."""

import numpy as np
import pytest

from duelist.core.errors import InvalidInput
from duelist.study import Outcome, Vote, create_study
from duelist.study.analysis.fit.study_fit import fit_votes
from tests.study.conftest import filled


def told(study, pairs):
    """Votes of the first of each pair over the second."""
    study.add_votes([Vote(k, k, Outcome.FIRST, f"r{k % 9}", None, a, b) for k, (a, b) in enumerate(pairs, start=1)])


def test_features_that_do_not_explain_the_votes_name_nobody_else():
    """The middle arm beats both, always; utilities that rise with the feature would name the last."""
    study = create_study("middle", "memory", goal="best", arm_effects=False)
    study.add_arms(["a", "b", "c"], np.array([[1.0], [2.0], [3.0]]))
    told(study, [("b", "a"), ("b", "c"), ("c", "a")] * 40)
    assert study.recommend().best == "b"
    assert study.leaderboard().standings[0].arm == "b"
    assert "features do not explain the votes (p = " in str(study.progress())
    assert str(study.can_stop()) == "you can stop: b is best, at error rate 0.05; all others are ruled out"


def test_features_that_do_explain_the_votes_are_believed():
    rng = np.random.default_rng(2)
    arms = rng.normal(size=(6, 2))
    utility = arms @ [1.0, -2.0]
    names = [f"a{k}" for k in range(6)]
    odd = 0
    for seed in range(40):
        study = create_study(f"fine {seed}", "memory")
        study.add_arms(names, arms)
        luck = np.random.default_rng(seed)
        pairs = [luck.choice(6, 2, replace=False) for _ in range(200)]
        won = [luck.random() < 1.0 / (1.0 + np.exp(utility[j] - utility[i])) for i, j in pairs]
        told(study, [(names[i], names[j]) if w else (names[j], names[i]) for (i, j), w in zip(pairs, won, strict=True)])
        odd += "do not explain" in (study.progress().note or "")
    assert odd <= 18  # 0.2 of 40 are expected by chance; more than 18 with a chance of under one in ten thousand


def test_arms_that_nobody_saw_are_ruled_out_by_their_features_alone():
    study = create_study("unseen", "memory", goal="best", arm_effects=False)
    study.add_arms(["a", "b", "c"], np.array([[1.0], [2.0], [3.0]]))
    told(study, [("c", "a")] * 60)
    assert str(study.can_stop()).endswith(
        "all others are ruled out (1 of them by their features alone, without a vote)"
    )
    assert str(study.can_stop(goal="serve")).endswith(
        "; show it alone from now on (1 other is ruled out by features alone, without a vote)"
    )


def test_arms_alike_are_named_together():
    study = create_study("twins", "memory", goal="best", arm_effects=False)
    study.add_arms(["a", "b"], np.array([[1.0, 3.0], [1.0, 3.0]]))
    said = "you can stop: a and b are alike in their features, and there are no others"
    assert str(study.can_stop()) == said
    assert str(study.progress()) == (
        "a and 1 with the same features lead and are best with probability 100%; there are no others (done)"
    )


def test_arms_alike_are_not_counted_as_ruled_out():
    """Of the others one was never shown; so was the leader's twin, but that is not ruled out."""
    study = create_study("twins ahead", "memory", goal="best", arm_effects=False)
    study.add_arms(["a", "b", "c", "d"], np.array([[1.0], [3.0], [3.0], [2.0]]))
    told(study, [("b", "a")] * 60)
    said = "you can stop: b and c are alike in their features and best, at error rate 0.05; all others are ruled out "
    assert str(study.can_stop()) == said + "(1 of them by their features alone, without a vote)"
    assert "; 0 of 2 others not ruled out after 60 votes (done)" in str(study.progress())
    assert study.progress().chance_best > 0.99
    assert str(study.can_stop(goal="rank", top=3)).endswith("arms with the same features share their places")


def test_one_arm_has_no_others():
    study = create_study("alone", "memory", goal="best")
    study.add_arms(["a"])
    assert str(study.can_stop()) == "you can stop: a is the only arm"


# -- arms that are equally good ----------------------------------------------------------


def equals(n_votes, features):
    """Two that win half of their duels and always against the third."""
    study = create_study("equals", "memory", goal="best")
    study.add_arms(["a", "b", "c"], features)
    told(study, [("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")] * (n_votes // 4))
    return study


def test_arms_with_the_same_features_and_terms_of_their_own_want_a_tolerance():
    study = equals(400, [[1.0], [1.0], [2.0]])
    stopping_hint = (
        "b has the same features as a, so that votes alone tell them apart: if they are equally good, only a tolerance "
    )
    for said in (study.can_stop(), study.recommend(), study.progress()):
        assert f'{stopping_hint}ends it, such as tolerance=0.05, unit="chance"' in str(said)
    assert not study.can_stop()
    assert f"1 comparison is open, between a and b; {stopping_hint}" in str(study.can_stop(goal="rank"))


def test_arms_that_are_nearly_equal_want_a_tolerance():
    study = equals(400, None)
    for said in (study.can_stop(), study.recommend(), study.progress(), study.can_stop(goal="rank")):
        assert 'where arms are nearly equal, only a tolerance ends it, such as tolerance=0.05, unit="chance"' in str(
            said
        )


@pytest.mark.parametrize("features", [None, [[1.0], [1.0], [2.0]]])
def test_a_tolerance_ends_it(features):
    """0.1 in chance is 0.41 in utility: with 2,000 votes between the two, whose gap has a standard deviation of 0.045, far enough."""
    study = equals(4000, features)
    within = {"tolerance": 0.1, "unit": "chance"}
    assert study.recommend(**within).decided
    assert study.progress(**within).done
    said = "to within 0.1 in the chance to win, at error rate 0.05; all others are ruled out as better by more"
    assert said in str(study.can_stop(**within))
    assert "is settled to within 0.1 in the chance to win at" in str(study.can_stop(goal="rank", **within))
    assert study.can_stop(goal="serve", tolerance=0.41)
    assert not study.can_stop(tolerance=1e-4)
    assert str(study.can_stop(tolerance=1e-4)).endswith("a larger tolerance ends it sooner")


@pytest.mark.parametrize("within", [{}, {"tolerance": 0.4, "unit": "chance"}, {"tolerance": 50.0}])
@pytest.mark.filterwarnings("ignore::duelist.core.errors.DisconnectedArms")
def test_no_tolerance_compares_arms_that_no_votes_connect(within):
    study = create_study("islands", "memory", goal="best")
    study.add_arms(["a", "b", "c", "d"])
    told(study, [("a", "b"), ("c", "d")] * 30)
    said = "no chain of votes connects a with c and d: collect votes between their groups"
    readings = (study.can_stop(**within), study.recommend(**within), study.progress(**within))
    assert [str(each).endswith(said) for each in readings] == [True] * 3
    order = study.can_stop(goal="rank", **within)
    assert str(order).endswith("no chain of votes connects a with c: collect votes between their groups")
    told(study, [("a", "c"), ("b", "d")] * 30)
    assert "chain of votes" not in str(study.can_stop(**within)), "now one does"


def test_first_votes_need_not_connect_all_arms():
    study = create_study("young", "memory", goal="best")
    study.add_arms(["a", "b", "c"])
    told(study, [("a", "b")] * 3)
    assert str(study.can_stop()) == "go on: a leads, and 2 of 2 others are not ruled out"


@pytest.mark.parametrize(
    ("features", "pairs", "noted"),
    [
        (
            [1, 2, 3],
            [("b", "a"), ("b", "c"), ("c", "a")] * 12 + [("b", "a"), ("b", "c"), ("a", "c")] * 8,
            "do not explain",
        ),
        ([1, 2, 3, 4], [("a", "b"), ("c", "d")] * 12 + [("b", "a"), ("d", "c")] * 8, "only their features compare"),
    ],
)
def test_an_order_is_foreseen_whatever_there_is_to_beware_of(features, pairs, noted):
    study = create_study("odd", "memory", arm_effects=False)
    study.add_arms(list("abcd"[: len(features)]), [[x] for x in features])
    told(study, pairs)
    assert noted in study.progress().note
    order = study.can_stop(goal="rank")
    assert order.votes_expected > 0
    assert "tolerance" not in str(order)


def test_arms_that_are_level_to_within_a_tolerance():
    """Nothing is said of others where there are none, and nobody who is level is counted as ruled out."""
    study = create_study("level", "memory", goal="best")
    study.add_arms(["a", "b"])
    told(study, [("a", "b"), ("b", "a")] * 30)
    within = {"tolerance": 0.3, "unit": "chance"}
    assert str(study.recommend(**within)) == (
        "arms a and b are tied: the votes so far favour none of them; no arm is better than arm a by more than 0.3 in the "
        "chance to win, at error rate 0.05"
    )
    assert str(study.progress(**within)) == (
        "all arms are level; no arm is better than a by more than the tolerance after 60 votes (done)"
    )


@pytest.mark.parametrize("goal", ["best", "rank", "serve", "learn"])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"unit": "nonsense"}, "unit is 'nonsense'. Choose one of utility, chance"),
        ({"tolerance": -1}, "tolerance is -1. Give a finite number of at least 0"),
        ({"delta": 2}, "delta is 2. Give an error rate between 0 and 1"),
    ],
)
def test_what_cannot_be_meant_is_refused_for_every_goal(goal, wrong, said):
    with pytest.raises(InvalidInput, match=said):
        filled().can_stop(goal=goal, **wrong)


def test_what_is_learned_has_no_tolerance():
    with pytest.raises(InvalidInput, match=r"tolerance is 0\.1, but the goal 'learn' compares no arms"):
        filled(goal="learn").can_stop(tolerance=0.1)


def test_a_tolerance_is_said_in_the_unit_it_was_given_in():
    study = equals(40, None)
    assert "ruled out as better by more than 0.01 in the chance to win, at" in str(
        study.recommend(tolerance=0.01, unit="chance")
    )
    assert "ruled out as better by more than 0.01 in utility, at" in str(study.recommend(tolerance=0.01))


@pytest.mark.parametrize("goal", ["best", "rank", "serve"])
def test_without_arms_there_is_nothing_to_stop(goal):
    with pytest.raises(InvalidInput, match=r"There are no arms\. Add some first"):
        create_study("empty", "memory", goal=goal).can_stop()


def test_too_few_votes_say_so():
    study = filled(goal="learn")
    assert str(study.can_stop()) == "go on: there are 0 decided votes, too few to hold some out; ask for more"


def test_an_option_that_there_is_not_is_named():
    with pytest.raises(
        InvalidInput, match=r"can_stop has no option 'dleta'\. It has criterion, without, everyone, retired"
    ):
        filled().can_stop(dleta=0.2)


# -- nobody leads ------------------------------------------------------------------------


def all_ties(n_arms, features=None, **settings):
    study = create_study("ties", "memory", repeat_pairs=0, **settings)
    study.add_arms([f"a{k}" for k in range(n_arms)], features)
    for k in range(40):
        duel = study.ask(f"rater {k}")
        study.tell(duel, "tie", rater=f"rater {k}")
    return study


@pytest.mark.parametrize("goal", ["best", "serve", "rank"])
@pytest.mark.parametrize("featured", [False, True])
def test_arms_that_always_tie_are_level(goal, featured):
    study = all_ties(6, np.random.default_rng(0).normal(size=(6, 2)) if featured else None, goal=goal)
    found = study.recommend()
    assert {found.best, *found.tied} == {f"a{k}" for k in range(6)}
    assert str(found).startswith(
        "arms a0, a1, a2 and 3 others are tied: the votes so far favour none of them; none of them is ruled"
    )
    assert "probability" not in str(found)
    assert str(study.progress()).startswith("all arms are level; 6 of 6 arms not ruled out")
    assert study.progress().tied == 5
    assert "level" in study.progress()._table().rows[0][0]
    said = str(study.can_stop())
    assert "level: the votes so far favour none of them" in said if goal != "rank" else "all arms are level" in said
    assert "leads" not in said


def test_one_vote_makes_a_leader():
    study = all_ties(3)
    told(study, [("a2", "a0")])
    assert study.recommend().tied == ()
    assert str(study.recommend()).startswith("arm a2 is best with probability ")
    assert str(study.can_stop()).startswith("go on: a2 leads, and 2 of 2 others are not ruled out")


def test_some_may_be_level_and_others_behind():
    study = create_study("two ahead", "memory")
    study.add_arms(["a", "b", "c", "d"])
    told(study, [("a", "c"), ("b", "c"), ("a", "d"), ("b", "d")])
    assert (study.recommend().best, study.recommend().tied) == ("a", ("b",))
    assert str(study.progress()).startswith("a and 1 other are level; 4 of 4")
    said = "go on: a and b are level: the votes so far favour none of them, and 2 others are not ruled out"
    assert str(study.can_stop()) == said


def test_one_other_is_one():
    study = create_study("pair", "memory")
    study.add_arms(["a", "b"])
    told(study, [("a", "b")])
    assert "; 1 other is not ruled out at error rate 0.05" in str(study.recommend())
    assert str(study.can_stop()) == "go on: a leads, and 1 of 1 other is not ruled out"
    assert "1 comparison is open, between a and b" in str(study.can_stop(goal="rank"))


@pytest.mark.parametrize("goal", ["best", "rank"])
def test_before_the_first_vote_nobody_leads(goal):
    study = create_study(f"new {goal}", "memory", goal=goal)
    study.add_arms(["a", "b", "c"])
    assert str(study.can_stop()).startswith("go on: there are no votes yet; each rater answers a pair once")


def test_an_undecided_sentence_labels_its_two_inferences():
    study = filled(n_arms=4)
    for k in range(12):
        study.tell(study.ask(f"r{k}"), "first" if k % 4 else "second", rater=f"r{k}")
    recommended = study.recommend()
    assert not recommended.decided
    assert not recommended.tied
    for said in (str(recommended), str(study.progress())):
        one, other = (
            said.index("(posterior, for a single look"),
            said.index("stopping rule, valid at any time"),
        )
        assert "probability" in said[:one]
        assert "ruled out" in said[one:other]


def test_the_ids_of_a_fit_are_listed_once() -> None:
    """They were listed once per arm, which took most of the time of a study with 3,000."""
    names = [f"a{k}" for k in range(5)]
    fit = fit_votes([], names)
    assert fit.ids == names
    assert fit.ids is fit.ids
