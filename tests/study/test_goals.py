"""Goals: the policy that suits them, when to stop, and policies given as objects."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_ndtr

import duelist as dl
from duelist.core.errors import InvalidInput, StudyExists
from duelist.policies import POLICIES
from duelist.study import GOALS, Outcome, Study, Vote, create_study, load_study
from tests.helpers.policy_state import policy_of
from tests.study.conftest import filled


def test_every_goal_has_a_policy_and_says_when() -> None:
    assert list(GOALS) == ["best", "rank", "learn", "serve"]
    for goal in GOALS.values():
        study = create_study(goal.name, "memory", goal=goal.name)
        assert study.settings.policy == goal.policy
        assert goal.policy in POLICIES
        assert goal.when.endswith(".")
    assert GOALS["serve"].policy == "LocalPairUCB"
    assert GOALS["best"].policy == "BestArmPair"
    assert GOALS["rank"].policy == "RankingPair"
    mine = create_study("mine", "memory", goal="rank", policy="vacdb")
    assert (mine.settings.policy, mine.settings.goal) == ("VACDB", "rank")
    with pytest.raises(InvalidInput, match=r"goal is 'win'\. Choose one of best, rank, learn, serve"):
        create_study("other", "memory", goal="win")


def test_a_policy_is_given_as_itself(url: str) -> None:
    study = create_study("one", url, policy=dl.LocalPairUCB(scale=0.7, random_state=5), seed=9)
    assert (study.settings.policy, study.settings.policy_settings) == ("LocalPairUCB", {"scale": 0.7})
    again = create_study("one", url, policy=dl.LocalPairUCB(scale=0.7), seed=9, load_if_exists=True)
    twin = create_study("two", url, policy="local-pair-ucb", policy_settings={"scale": 0.7}, seed=9)
    for each in (again, twin):
        each.add_arms(["a", "b", "c"], np.eye(3))
    asked = [[duel.first.id for duel in map(each.ask, ("x", "y", "z"))] for each in (load_study("one", url), twin)]
    assert asked[0] == asked[1]
    assert policy_of(study).scale == 0.7
    with pytest.raises(StudyExists, match="has policy_settings="):
        create_study("one", url, policy=dl.LocalPairUCB(scale=0.8), seed=9, load_if_exists=True)
    with pytest.raises(InvalidInput, match="Give only one of the two"):
        create_study("three", url, policy=dl.VACDB(), policy_settings={"horizon": 3})
    with pytest.raises(InvalidInput, match=r"policy is 3\. Give a policy or its name"):
        create_study("three", url, policy=3)


def voted(counts: dict[tuple[int, int], int], n_arms: int, **settings: object) -> Study:
    """A study of arms with a feature each, in which the first of each pair won so many times."""
    study = create_study("counts", "memory", policy="UniformPair", **settings)
    study.add_arms([f"a{k}" for k in range(n_arms)], np.eye(n_arms))
    votes = [
        Vote(0, 0, Outcome.FIRST, "ana", None, f"a{first}", f"a{second}")
        for (first, second), count in counts.items()
        for _ in range(count)
    ]
    study.add_votes([replace(vote, sequence=k) for k, vote in enumerate(votes, start=1)])
    return study


def evidence_is_enough(
    counts: dict[tuple[int, int], int], n_arms: int, pairs: list[tuple[int, int]], delta: float
) -> bool:
    """The rule of `duelist.model.stopping`, from a fit and a curvature of our own."""

    def loss(u: np.ndarray) -> float:
        return 0.5 * u @ u + sum(n * np.logaddexp(0.0, u[j] - u[i]) for (i, j), n in counts.items())

    u = minimize(loss, np.zeros(n_arms), method="BFGS", options={"gtol": 1e-10}).x
    curvature = np.eye(n_arms)
    for (i, j), n in counts.items():
        z = np.zeros(n_arms)
        z[i], z[j] = 1.0, -1.0
        chance = 1.0 / (1.0 + np.exp(-z @ u))
        curvature += n * chance * (1.0 - chance) * np.outer(z, z)
    covariance = np.linalg.inv(curvature)
    enough = []
    for i, j in pairs:
        square = covariance[i, i] + covariance[j, j] - 2.0 * covariance[i, j]
        lead = (u[i] - u[j]) / np.sqrt(square)
        evidence = lead**2 + 2.0 * (np.log(2.0) + log_ndtr(lead))
        enough.append(evidence > np.log(2.0 / square) + 2.0 * np.log(len(pairs) / delta))
    return all(enough)


@pytest.mark.parametrize("scale", [1, 2, 4, 8, 16, 32])
def test_the_order_is_settled_by_the_rule(scale: int) -> None:
    counts = {(0, 1): 3, (1, 0): 1, (1, 2): 3, (2, 1): 1, (2, 3): 2, (3, 2): 1, (0, 3): 1}
    counts = {pair: scale * count for pair, count in counts.items()}
    study = voted(counts, 4, goal="rank")
    adjacent = [(0, 1), (1, 2), (2, 3)]
    assert study.can_stop(top=9).done == evidence_is_enough(counts, 4, adjacent, 0.05)
    one_ahead = [(0, 1), (0, 2), (0, 3)]
    assert study.can_stop(top=1).done == evidence_is_enough(counts, 4, one_ahead, 0.05)
    if scale == 32:
        assert "the order of all arms is settled at error rate 0.05" in str(study.can_stop(top=3))
        assert study.can_stop(top=2).statement == "the order of the top 2 is settled at error rate 0.05"
    if scale == 1:
        said = study.can_stop(top=2)
        assert not said
        assert str(said).startswith(
            "go on: the order of the top 2 may still change: 3 comparisons are open, the first between a0 and a1"
        )


@pytest.mark.parametrize("scale", [1, 3, 10, 30])
def test_one_rule_behind_every_stop(scale: int) -> None:
    counts = {(0, 1): 3, (1, 0): 1, (0, 2): 2, (1, 2): 1}
    study = voted({pair: scale * count for pair, count in counts.items()}, 3)
    for delta in (0.2, 0.05, 0.001):
        done = study.can_stop(delta=delta).done
        assert done == study.recommend(delta=delta).decided == study.progress(delta=delta).done
        for goal in ("best", "serve"):
            assert study.can_stop(goal=goal, delta=delta).done == done
    assert study.can_stop().done == (scale >= 10)


def test_every_context_must_be_done() -> None:
    study = create_study("groups", "memory", goal="best", policy="UniformPair")
    study.add_arms(["p1", "p2"], np.eye(4)[:2], contexts="p")
    study.add_arms(["q1", "q2"], np.eye(4)[2:], contexts="q")
    votes = [Vote(k, k, Outcome.FIRST, "ana", None, "p1", "p2", "p") for k in range(1, 60)]
    study.add_votes(votes)
    assert study.can_stop("p").done
    said = study.can_stop()
    assert not said.done
    assert str(said).startswith("go on: in q: ")
    study.add_votes([Vote(k, k, Outcome.SECOND, "ana", None, "q1", "q2", "q") for k in range(1, 60)])
    assert study.can_stop().done


def test_learning_stops_when_votes_teach_nothing_more() -> None:
    rng = np.random.default_rng(0)
    utilities = np.array([0.0, 3.0, 6.0])
    counts: dict[tuple[int, int], int] = {}
    for _ in range(900):
        i, j = rng.choice(3, 2, replace=False)
        won = rng.random() < 1.0 / (1.0 + np.exp(utilities[j] - utilities[i]))
        pair = (int(i), int(j)) if won else (int(j), int(i))
        counts[pair] = counts.get(pair, 0) + 1
    many = voted(counts, 3, goal="learn").can_stop()
    assert many.done
    # Three arms far apart: half of the votes order them as all do, and the likelier one wins as often as the truth says.
    assert str(many).startswith("you can stop: held-out agreement is 9")
    assert "raised it by 0.0 points" in many.statement
    few = voted({pair: max(1, count // 30) for pair, count in counts.items()}, 3, goal="learn").can_stop()
    assert not few.done
    with pytest.raises(InvalidInput, match="top is 0"):
        filled(n_arms=3).can_stop(top=0)


def test_places_are_said_once(url: str) -> None:
    """`top` of a study is that of the policy, and what the study stops by."""
    study = create_study("places", url, goal="rank", top=2)
    assert (study.settings.top, study.settings.policy_settings) == (2, {"top": 2})
    assert create_study("places", url, goal="rank", top=2, load_if_exists=True).settings.top == 2
    with pytest.raises(StudyExists, match="has policy_settings="):
        create_study("places", url, goal="rank", top=3, load_if_exists=True)
    study.add_arms([f"a{k}" for k in range(6)])
    study.tell(study.ask("ana"), "first", rater="ana")
    assert policy_of(load_study("places", url)).top == 2
    assert "the order of the top 2 may still change" in study.can_stop().statement
    assert "the order of the top 4 may still change" in study.can_stop(top=4).statement
    with pytest.raises(InvalidInput, match="top is fixed when a study is created"):
        study.change(top=3)


def test_a_policy_s_own_places_are_the_study_s() -> None:
    study = create_study("own", "memory", goal="rank", policy=dl.RankingPair(top=3))
    study.add_arms([f"a{k}" for k in range(6)])
    study.tell(study.ask("ana"), "first", rater="ana")
    assert "the order of the top 3 may still change" in study.can_stop().statement
    whole = create_study("whole", "memory", goal="rank")
    whole.add_arms([f"a{k}" for k in range(9)])
    whole.tell(whole.ask("ana"), "first", rater="ana")
    assert policy_of(whole).top is None
    assert "the order of all arms may still change" in whole.can_stop().statement


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"goal": "best", "top": 3}, "top is 3, but BestArmPair does not rank"),
        ({"goal": "rank", "top": 3, "policy": "VACDB"}, "top is 3, but VACDB does not rank"),
        ({"goal": "rank", "top": 0}, "top is 0"),
        ({"goal": "rank", "top": 3, "policy": dl.RankingPair(top=2)}, "top is 3, and the policy has top=2"),
    ],
)
def test_places_that_make_no_sense_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        create_study("places", "memory", **given)


@pytest.mark.parametrize("name", ["RMED2FH", "BeatTheMean", "InterleavedFilter"])
def test_a_horizon_is_asked_for_in_the_words_of_a_study(name: str) -> None:
    with pytest.raises(
        InvalidInput, match=rf'{name} needs to know the number of rounds\. Pass policy_settings=\{{"horizon": 1000\}}'
    ):
        create_study("s", "memory", policy=name)
    given = (
        {"policy": name, "policy_settings": {"horizon": 500}},
        {"policy": f"{name}:horizon=500"},
        {"policy": getattr(dl.counting, name)(horizon=500)},
    )
    for settings in given:
        assert create_study("s", "memory", **settings).settings.policy_settings == {"horizon": 500}
