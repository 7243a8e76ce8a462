"""Tables print themselves, also in an interactive session, and convert to data frames."""

from dataclasses import fields

import pytest

import duelist as dl
from duelist.core.tables import TabularResult
from duelist.simulation.evaluation import evaluate
from duelist.study import Vote
from tests.study.conftest import filled


def subclasses(cls: type) -> list[type]:
    return [each for sub in cls.__subclasses__() for each in (sub, *subclasses(sub))]


def test_no_table_hides_behind_the_repr_of_a_data_class() -> None:
    found = subclasses(TabularResult)
    assert len(found) >= 10
    assert not [cls.__name__ for cls in found if "__repr__" in vars(cls)]


def voted() -> dl.Study:
    study = filled()
    for rater in ("ana", "ben"):
        study.tell(study.ask(rater), "first", rater=rater)
    return study


def test_the_repr_of_a_leaderboard_is_its_table() -> None:
    board = voted().leaderboard()
    assert repr(board) == str(board)
    assert repr(board).splitlines()[0].split()[:2] == ["arm", "utility"]


def test_votes_arms_and_raters_are_data_frames() -> None:
    study = voted()
    study.describe_rater("ana", age=31)
    votes = study.votes()
    assert isinstance(votes, list)
    assert votes.to_pandas()["outcome"].tolist() == ["first", "first"]
    assert list(votes.to_pandas()) == [field.name for field in fields(Vote)]
    assert votes.to_polars()["rater"].to_list() == ["ana", "ben"]
    assert study.arms().to_pandas()["id"].tolist() == [arm.id for arm in study.arms()]
    assert study.rater_records().to_pandas()["attributes"].tolist() == [{"age": 31}]


def test_a_study_without_votes_has_an_empty_frame_with_all_columns() -> None:
    assert list(filled().votes().to_pandas()) == [field.name for field in fields(Vote)]


@pytest.mark.parametrize("goal", ["best", None])
def test_results_of_simulations_are_data_frames(goal: str | None) -> None:
    world = dl.environments.Hypercube(dim=2)
    runs = dl.simulate(["UniformPair", "MaxInP"], world, horizon=20, runs=3, distinct=True)
    result = runs.summary() if goal is None else evaluate(runs, world, goal)
    frame = result.to_pandas()
    assert set(frame["label" if goal is None else "policy"]) == {"UniformPair", "MaxInP"}
    assert (frame["low"] <= frame["mean"]).all()
    assert (frame["mean"] <= frame["high"]).all()
    assert repr(result) == str(result)
    assert "intervals" in str(result).splitlines()[0]
