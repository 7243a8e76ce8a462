"""Studies by name: creating, loading, listing and deleting, and what is not there."""

import pytest

from duelist.core.errors import StudyExists, UnknownStudy
from duelist.study import create_study, delete_study, list_studies, load_study
from tests.study.conftest import filled, path_of


def test_studies_by_name(url: str) -> None:
    create_study("one", url, policy="StaD", seed=7)
    filled("two", url)
    assert [(s.name, s.settings.policy, s.arms, s.votes) for s in list_studies(url)] == [
        ("one", "StaD", 0, 0),
        ("two", "MaxInP", 6, 0),
    ]
    with pytest.raises(UnknownStudy, match=r"'three'.*'one', 'two'"):
        load_study("three", url)
    with pytest.raises(UnknownStudy, match="'three'"):
        delete_study("three", url)
    with pytest.raises(StudyExists, match="load_if_exists"):
        create_study("one", url)
    delete_study("two", url)
    assert [s.name for s in list_studies(url)] == ["one"]


def test_load_if_exists_takes_the_study_as_it_is(url: str) -> None:
    create_study("one", url, policy="stad", seed=7)
    assert create_study("one", url, load_if_exists=True).settings.seed == 7
    assert create_study("one", url, policy="StaD", load_if_exists=True).settings.policy == "StaD"
    with pytest.raises(StudyExists, match="seed=7, not 8"):
        create_study("one", url, load_if_exists=True, seed=8)
    with pytest.raises(StudyExists, match="policy='StaD', not 'VACDB'"):
        create_study("one", url, load_if_exists=True, policy="VACDB")


def test_what_is_not_there_is_not_made_by_looking(sqlite_url: str) -> None:
    for look in (lambda: load_study("s", sqlite_url), lambda: list_studies(sqlite_url)):
        with pytest.raises(UnknownStudy, match="no file"):
            look()
    assert not path_of(sqlite_url).exists()


def test_an_empty_database_holds_no_studies(postgres_url: str) -> None:
    with pytest.raises(UnknownStudy, match="holds no studies"):
        list_studies(postgres_url)


def test_a_study_that_is_deleted_while_in_use(url: str) -> None:
    study = filled(storage=url)
    delete_study("study", url)
    with pytest.raises(UnknownStudy, match="deleted"):
        study.ask("ana")
