"""The schema: migrations, upgrades, and the plans of the queries."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from duelist.core.errors import StorageTooOld
from duelist.study import load_study, open_storage, upgrade_storage
from duelist.study.storage.sql import statements
from duelist.study.storage.sql.migrate import migration_config
from duelist.study.storage.sql.tables import HEAD, VERSION_TABLE, metadata
from tests.helpers import schemas
from tests.helpers.local_study import load_local_study
from tests.study.conftest import filled


def test_the_newest_migration_is_the_head() -> None:
    scripts = ScriptDirectory.from_config(migration_config())
    assert scripts.get_current_head() == HEAD
    versions = [script.revision for script in scripts.walk_revisions()]
    assert versions == sorted(versions, reverse=True)  # versions are compared as texts


def test_the_migrations_make_the_tables_we_use(url: str) -> None:
    storage = open_storage(url)
    with storage._writer.begin() as connection:  # type: ignore[attr-defined]
        context = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []


def test_an_upgrade_keeps_the_study(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = filled(storage=url)
    vote = study.tell(study.ask("ana").id, "first", "ana")
    study.describe_rater("ana", age=31)
    study.close()
    schemas.expect_next(tmp_path, monkeypatch)
    with pytest.raises(StorageTooOld, match=f"has schema {HEAD}, .* needs {schemas.NEXT}"):
        load_study("study", url)
    assert upgrade_storage(url) == upgrade_storage(url) == schemas.NEXT
    study = load_local_study("study", url)
    assert study.votes() == [vote]
    assert study.rater("ana").attributes == {"age": 31}
    assert study.tell(study.ask("ben").id, "second", "ben").sequence == 2


FREQUENT = [
    "BEGIN", "DUEL", "LEASE", "OPEN_LEASES", "WAITING_DUELS", "WAITING_DUELS_IN_CONTEXT", "VOTES_ON_DUEL", "VOTES_OF",
    "TRAINING_VOTES_SINCE", "TRAINING_VOTES_SINCE with excluded ones",
    "VOTES_SINCE", "SNAPSHOT_BEFORE", "SNAPSHOT_SEQUENCES", "ARMS_SINCE", "FEATURES_SINCE", "DUELS_SINCE",
    "SET_FREE", "SAVE_COUNTERS", "DROP_SNAPSHOT", "SET_RETIRED", "TOUCH_ARM",
]  # fmt: skip


RARE = [
    "STUDY", "PUT_STUDY", "RATERS", "DROP_RATER", "FIRST_VOTE", "LEASES_OF", "DUELS_OF", "CONTEXTS_SINCE",
    "DROP_CONTEXT", "DUELS_BETWEEN", "LEASES_BETWEEN", "VOTES_BETWEEN", "DETAILS_BETWEEN", "DETAILS_OF", "DROP_DETAILS",
    "STAGED", "DROP_STAGED",
]  # fmt: skip


@pytest.mark.parametrize("name", [*FREQUENT, *RARE])
def test_every_query_finds_its_rows_by_an_index(name: str) -> None:
    storage = open_storage("memory")
    attribute, _, excluded = name.partition(" with ")
    statement = getattr(statements, attribute)
    if attribute == "TRAINING_VOTES_SINCE":
        statement = statement["sqlite", bool(excluded), False]
    compiled = statement.compile(dialect=storage._engine.dialect)  # type: ignore[attr-defined]
    with storage._engine.connect() as connection:  # type: ignore[attr-defined]
        values = tuple(1 for _ in compiled.positiontup or ())
        plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", values)]
    assert any("SEARCH" in step for step in plan), plan
    assert not any("SCAN" in step and "few" not in step for step in plan), plan
    # A study has few snapshots, recorded raters and parts of imports; of all other tables a search by study alone reads everything.
    assert name in ("SNAPSHOT_SEQUENCES", "RATERS") or not any(
        step.endswith("(study_id=?)") and "duelist_staged" not in step for step in plan
    ), plan
    # Waiting duels are sorted after the limit, so few are.
    assert "CO-ROUTINE few" in plan or not any("USE TEMP B-TREE" in step for step in plan), plan
