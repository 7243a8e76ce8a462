"""The analysis methods of a study; the numbers are tested in `test_analyses`, files in `tests/study/formats`."""

import inspect
import re

import numpy as np
import pytest

import duelist as dl
from duelist.core.errors import InvalidInput
from duelist.study import RemoteStudy, Study, StudyProtocol, analysis, create_study, current_votes
from duelist.study.analysis import estimated_regret
from duelist.study.options import OPTIONS
from tests.study.conftest import filled as with_arms

PLOTS = ("leaderboard", "win_matrix", "history", "calibration", "raters")
READINGS = (*PLOTS, "recommend", "progress", "win_chances", "scorer", "regret")


def filled(name="captions", votes=120, random_share=0.3, contexts=None):
    rng = np.random.default_rng(0)
    study = create_study(name, storage="memory", policy="LocalPairUCB", random_share=random_share, repeat_pairs=0)
    arms = rng.standard_normal((6, 3))
    study.add_arms([f"a{k}" for k in range(6)], arms, [f"text {k}" for k in range(6)], contexts)
    utilities = {f"a{k}": float(arms[k] @ [2.0, -1.0, 0.5]) for k in range(6)}
    for _ in range(votes):
        duel = study.ask(rater="ana")
        first = rng.random() < 1.0 / (1.0 + np.exp(utilities[duel.second.id] - utilities[duel.first.id]))
        study.tell(duel.id, "first" if first else "second", rater="ana")
    return study, max(utilities, key=utilities.get)


def test_the_best_arm_leads_and_is_recommended():
    study, best = filled()
    board = study.leaderboard()
    assert board.standings[0].arm == best
    assert sum(s.votes for s in board.standings) == 2 * 120
    found = study.recommend()
    assert found.best == best
    assert best in str(found)
    assert study.progress().leader == best
    assert study.win_matrix().votes.sum() == 2 * 120
    assert [row.rater for row in study.raters().rows] == ["ana"]
    assert study.calibration().votes == 120
    assert study.regret() is not None


def test_contexts_are_read_one_at_a_time():
    study, _ = filled(contexts=["one"] * 3 + ["two"] * 3)
    assert {s.arm for s in study.leaderboard("two").standings} == {"a3", "a4", "a5"}
    with pytest.raises(dl.InvalidInput, match=r"context is 'three', which has no arms\. There are: 'one', 'two'"):
        study.leaderboard("three")
    with pytest.raises(dl.InvalidInput, match="context is 'three'"):
        study.recommend("three")


def test_regret_is_against_the_best_of_the_context():
    """Arms of another context, however good, are no alternative."""
    study, _ = filled(contexts=["one"] * 3 + ["two"] * 3, random_share=0.5, votes=200)
    votes, ids = current_votes(study.votes()), [arm.id for arm in study.arms()]
    own, together = study.regret().random.value, estimated_regret(votes, ids, study.features()).random.value
    grouped = estimated_regret(votes, ids, study.features(), groups=["one"] * 3 + ["two"] * 3)
    assert own == pytest.approx(grouped.random.value, rel=1e-9)
    assert own < together


def test_a_study_without_votes_is_a_study():
    study = create_study("s", storage="memory")
    assert len(study) == 0
    assert study


def voted():
    study = with_arms(policy="UniformPair", random_share=0.5)
    for k in range(12):
        study.tell(study.ask(f"rater {k}"), "first" if k % 3 else "second", rater=f"rater {k}")
    return study


@pytest.mark.parametrize("name", READINGS)
def test_a_stray_option_is_named_with_those_there_are(name):
    study = voted()
    with pytest.raises(InvalidInput, match=f"{name} has no option 'lvel'.* It has .*criterion, .*everyone, .*retired"):
        getattr(study, name)(lvel=0.9)
    ours = {"raters": "cross_fits", "scorer": "source", "history": "remembered"}.get(name, "among")
    with pytest.raises(InvalidInput, match=f"has no option '{ours}'"):
        getattr(study, name)(**{ours: None})


@pytest.mark.parametrize("cls", [Study, RemoteStudy, StudyProtocol])
@pytest.mark.parametrize("name", [*READINGS, "can_stop", *(f"plot_{name}" for name in PLOTS)])
def test_help_lists_every_option_of_a_reading(cls, name):
    """With the defaults of the analysis itself, and a text for each in the docstring."""
    member = getattr(cls, name)
    parameters = inspect.signature(member).parameters
    assert {"context", "criterion", "without", "everyone", "retired", "category", "by"} <= parameters.keys()
    assert not [each for each in parameters.values() if each.kind is each.VAR_KEYWORD]
    if cls is Study:
        described = set(re.findall(r"\w+", member.__doc__))
        assert (parameters.keys() & OPTIONS.keys()) <= described


@pytest.mark.parametrize("name", READINGS)
def test_defaults_of_options_are_those_of_the_analyses(name):
    inner = {"recommend": "recommendation_from_fit", "raters": "rater_statistics", "regret": "estimated_regret"}
    inner |= {"scorer": "scorer_from_votes"}
    own = inspect.signature(getattr(analysis, inner.get(name, name))).parameters
    same = [each for each in inspect.signature(getattr(Study, name)).parameters.values() if each.name in own]
    assert [(each.name, each.default) for each in same] == [(each.name, own[each.name].default) for each in same]


def test_a_misspelled_option_is_recognised():
    with pytest.raises(InvalidInput, match=r"Did you mean 'tolerance'\?"):
        voted().recommend(tolerence=0.1)


def test_a_generator_seeds_the_draws():
    study = voted()
    same = [study.leaderboard(random_state=np.random.default_rng(5)) for _ in range(2)]
    assert same[0] == same[1]


def test_options_that_there_are_still_work():
    study = voted()
    assert study.leaderboard(level=0.8, random_state=3, ridge=2.0, top=2, everyone=True).level == 0.8
    assert study.recommend(delta=0.1, tolerance=0.01, unit="chance", random_state=1).delta == 0.1
    assert study.progress(tolerance=0.1, ridge=2.0, retired=True).arms
    assert study.calibration(bins=3, folds=3).votes
    assert study.raters(level=0.9)
    assert len(study.history(points=3).votes) < len(study.history().votes)
    assert study.win_chances(ridge=2.0)
