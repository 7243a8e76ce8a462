"""The schema: migrations, the kept databases of every version, and the plans of the queries."""

import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from duelist.study import load_study, open_storage, standing, upgrade_storage
from duelist.study.storage import _statements
from duelist.study.storage._migrate import migration_config
from duelist.study.storage._tables import HEAD, VERSION_TABLE, metadata

KEPT = sorted((Path(__file__).parent / "databases").glob("schema_*.db"))


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


def test_a_database_of_every_schema_is_kept() -> None:
    scripts = ScriptDirectory.from_config(migration_config())
    wanted = {f"schema_{script.revision}.db" for script in scripts.walk_revisions()}
    assert {path.name for path in KEPT} == wanted


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)
def test_kept_databases_can_be_upgraded_and_go_on(kept: Path, tmp_path: Path) -> None:
    shutil.copy(kept, tmp_path / "studies.db")
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    assert upgrade_storage(url) == HEAD
    study = load_study("captions", url)
    votes = study.votes()
    assert len(votes) == 291
    assert len(standing(votes)) == 275
    assert [len(study.arms()), len(study.arms("p"))] == [11, 2]
    assert (study.arms()[4].version, study.arms()[8].retired) == (2, True)
    assert study.arms()[3].payload == {"text": "täxt 3"}
    assert study.settings.raters_per_duel == 2
    before = study.policy().theta_
    assert before.any()
    duel = study.ask("erik")
    study.tell(duel.id, "first", "erik")
    assert len(study) == 292


ASKED_OFTEN = [
    "COUNT", "DUEL", "LEASE", "OPEN_LEASES", "WAITING_DUELS", "WAITING_IN_CONTEXT", "VOTES_ON_DUEL", "LESSONS_SINCE",
    "VOTES_SINCE", "SNAPSHOT_BEFORE", "SNAPSHOT_SEQUENCES", "ARMS_SINCE", "FEATURES_SINCE", "DUELS_SINCE",
    "SET_FREE", "SAVE_COUNTERS", "DROP_SNAPSHOT", "RETIRE_ARM", "TOUCH_ARM",
]  # fmt: skip


@pytest.mark.parametrize("name", ASKED_OFTEN)
def test_every_query_finds_its_rows_by_an_index(name: str) -> None:
    storage = open_storage("memory")
    statement = getattr(_statements, name)
    compiled = statement.compile(dialect=storage._engine.dialect)  # type: ignore[attr-defined]
    with storage._engine.connect() as connection:  # type: ignore[attr-defined]
        values = tuple(1 for _ in compiled.positiontup or ())
        plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", values)]
    assert any("SEARCH" in step for step in plan), plan
    assert not any("SCAN" in step and "few" not in step for step in plan), plan
    # Of snapshots there are few; of everything else, to look by the study alone is to read all of it.
    assert name == "SNAPSHOT_SEQUENCES" or not any(
        step.endswith("(study_id=?)") and "duelist_staged" not in step for step in plan
    ), plan
    # What waits is sorted after its limit, so what is sorted is few.
    assert "CO-ROUTINE few" in plan or not any("USE TEMP B-TREE" in step for step in plan), plan
