"""The driver's connection returns the rows that SQLAlchemy returns."""

import json

import numpy as np
import pytest
import sqlalchemy as sa

from duelist.core.errors import InvalidInput
from duelist.policies import LocalPairUCB
from duelist.study.storage import DuelRow, VoteRow, open_storage
from duelist.study.storage.sql import statements as sql
from duelist.study.storage.sql import tables
from duelist.study.storage.sql.columns import read_column
from duelist.study.storage.sql.connection import DriverConnection
from duelist.study.storage.sql.storage import SqlStorage
from tests.study.conftest import filled


def checked_rows(storage: SqlStorage, statement: sa.Executable, values: dict[str, object]) -> list[tuple[object, ...]]:
    """Return the rows of a statement after checking that values and types are those of SQLAlchemy."""
    with storage._connected(storage._reader) as connection:
        driver = DriverConnection(connection, storage._statements)
        rows = [tuple(row) for row in driver.all(statement, values)]
        expected = [tuple(row) for row in connection.execute(statement, values)]
        assert rows == expected
        assert [[type(value) for value in row] for row in rows] == [[type(value) for value in row] for row in expected]
        assert driver.first(statement, values) == (expected[0] if expected else None)
    return rows


def test_rows_are_those_of_sqlalchemy(url: str) -> None:
    study = filled(storage=url, n_arms=8, raters_per_duel=2)
    for k in range(12):
        study.tell(study.ask("ana"), ("first", "second", "tie")[k % 3], "ana")
    study.ask("ben")
    storage = study._storage
    assert isinstance(storage, SqlStorage)
    this = {"study": study.id}
    assert len(checked_rows(storage, sql.DUELS_SINCE, {**this, "since": 0})) > 11
    assert len(checked_rows(storage, sql.VOTES_SINCE, {**this, "since": 0, "until": 100})) == 12
    assert len(checked_rows(storage, sql.ARMS_SINCE, {**this, "since": 0})) == 8
    assert len(checked_rows(storage, sql.OPEN_LEASES, this)) == 1
    assert len(checked_rows(storage, sql.WAITING_DUELS, {**this, "rater": "cleo", "most": 5})) > 0
    assert checked_rows(storage, sql.DUEL, {**this, "duel": 99}) == []
    assert len(checked_rows(storage, sql.STUDY_BY_NAME, {"name": "study"})) == 1


def test_booleans_are_booleans(url: str) -> None:
    """SQLite returns 0 and 1."""
    study = filled(storage=url, n_arms=8)
    for _ in range(6):
        study.tell(study.ask("ana"), "first", "ana")
    with study._storage.reading(study.id) as tx:
        assert {type(duel.swapped) for duel in tx.duels_since(0)} == {bool}
        assert {type(vote.late) for vote in tx.votes_since(0)} == {bool}


def test_a_statement_is_compiled_once(sqlite_url: str) -> None:
    study = filled(storage=sqlite_url)
    storage = study._storage
    assert isinstance(storage, SqlStorage)
    study.tell(study.ask("ana"), "first", "ana")
    compiled = storage._statements.get(sql.DUEL, {})
    study.tell(study.ask("ana"), "second", "ana")
    assert storage._statements.get(sql.DUEL, {}) is compiled
    assert open_storage(sqlite_url)._statements.get(sql.DUEL, {"study": 1, "duel": 1}) == compiled  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("difference", "layer", "share", "complaint"),
    [
        ([1.0, np.nan, 0.0], 0, 1.0, "difference"),
        ([1.0, 2.0], 0, 1.0, "Give 3 numbers"),
        (None, 0, 1.0, "difference is None"),
        ([1.0, 2.0, 3.0], True, 1.0, "layer is True"),
        ([1.0, 2.0, 3.0], 99, 1.0, "layer is 99"),
        ([1.0, 2.0, 3.0], 0, -1.0, "share -1.0"),
    ],
)
def test_one_of_many_duels_that_wait_is_wrong(difference: object, layer: object, share: float, complaint: str) -> None:
    """Many are looked at together; the error is that of the one."""
    policy, arms = LocalPairUCB(estimator="online", random_state=0), np.eye(3)
    policy.initialize(arms)
    good = (arms[0] - arms[1], 0, 1.0)
    assert policy.suggest(arms, [good, ([1, 0, -1], np.int64(0), 1)], seed=1)  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match=complaint):
        policy.suggest(arms, [good, (difference, layer, share), good], seed=1)  # type: ignore[list-item]


COLUMNS = ("[]", "[null]", "[1]", "[1,1,1]", "[1, 1, 1]", "[1,11]", "[11,1]", '["a","a"]', '["a, b","a, b"]', '["a","a","b"]',
           '["a", "a", "a"]', "[null,null]", '["","",""]', '["a,a","a"]', "[[1,2],[1,2]]", '["b","a","a"]')  # fmt: skip


@pytest.mark.parametrize("text", COLUMNS)
def test_a_column_is_read_as_json(text: str) -> None:
    assert read_column(text) == json.loads(text)


def test_columns_of_inserted_rows_are_the_fields_in_order() -> None:
    for table, row in ((tables.duels, DuelRow), (tables.votes, VoteRow)):
        assert tuple(column.name for column in table.c) == ("study_id", *row._fields)
