"""The schema: migrations, the kept databases of every version, and the plans of the queries."""

import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from duelist.study import load_study, open_storage, restore_study, standing, upgrade_storage
from duelist.study.storage import _owning, _statements
from duelist.study.storage._migrate import migration_config
from duelist.study.storage.tables import HEAD, VERSION_TABLE, metadata

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
    assert len(votes) == (291 if kept.name == "schema_0001.db" else 293)
    assert len(standing(votes)) == (275 if kept.name == "schema_0001.db" else 277)
    assert [len(study.arms()), len(study.arms("p"))] == [11, 2]
    assert (study.arms()[4].version, study.arms()[8].retired) == (2, True)
    assert study.arms()[3].payload == {"text": "täxt 3"}
    assert study.settings.raters_per_duel == 2
    before = study.policy().theta_
    assert before.any()
    study.open()
    duel = study.ask("erik")
    study.tell(duel.id, "first", "erik")
    assert len(study) == len(votes) + 1
    path = study.archive(tmp_path / "study.duelist")
    assert restore_study(path, "memory").votes() == study.votes()


def test_the_kept_database_of_0001_has_what_is_new_as_it_must_be(tmp_path: Path) -> None:
    shutil.copy(KEPT[0], tmp_path / "studies.db")
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    upgrade_storage(url)
    study = load_study("captions", url)
    assert study.state == "open"
    assert study.described_raters() == study.gold() == []
    assert {(v.criterion, v.reason, v.kind, v.expected, v.left_out) for v in study.votes()} == {
        (None, None, "normal", None, False)
    }
    assert all(vote.told_at is not None for vote in study.votes())


def test_the_kept_database_of_0002_has_everything(tmp_path: Path) -> None:
    shutil.copy(KEPT[1], tmp_path / "studies.db")
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    upgrade_storage(url)
    study = load_study("captions", url)
    assert study.state == "paused"
    assert {(r.name, r.left_out, r.erased) for r in study.described_raters()} == {
        ("ana", False, False),
        ("ben", True, False),
        ("erased 1", False, True),
    }
    assert study.rater("ana").attributes == {"age": 31}
    votes = study.votes()
    assert {vote.rater for vote in votes} == {"ana", "ben", "erased 1", "fay", None}
    assert {vote.rater for vote in votes if vote.left_out} == {"ben"}
    gold = next(vote for vote in votes if vote.kind == "gold")
    assert (gold.rater, gold.reason) == ("fay", "weil")
    assert {gold.first, gold.second} == {"arm 0", "arm 1"}
    assert gold.expected == ("second" if gold.first == "arm 0" else "first")
    assert (votes[-1].told_at, votes[-1].rater, votes[-1].outcome) == (None, None, "tie")
    assert (study.settings.most_votes, study.settings.most_votes_per_rater) == (10_000, 500)
    both = load_study("both", url)
    assert (both.settings.criteria, both.settings.goal) == (("clear", "short"), "best")
    assert [(v.criterion, v.outcome) for v in both.votes()] == [
        ("clear", "first"),
        ("short", "tie"),
        ("short", "second"),
    ]


def test_the_kept_database_of_0003_has_tokens_and_files(tmp_path: Path) -> None:
    shutil.copy(KEPT[2], tmp_path / "studies.db")
    study = load_study("captions", f"sqlite:///{tmp_path / 'studies.db'}")
    (token,) = study._storage.tokens()
    assert token == (
        "00ff", "abc", "rater", study.id, "ana", "link", 1_790_000_000_000_000, 1_790_000_000_000_001, None,
    )  # fmt: skip
    with study._storage.viewing(study.id) as tx:
        (key,) = tx.media_keys()
    assert (key[-4:], study.media(key).body) == (".svg", b"<svg/>")


ASKED_OFTEN = [
    "COUNT", "DUEL", "LEASE", "OPEN_LEASES", "WAITING_DUELS", "WAITING_IN_CONTEXT", "VOTES_ON_DUEL",
    "LESSONS_SINCE of some", "LESSONS_SINCE of everyone",
    "VOTES_SINCE", "SNAPSHOT_BEFORE", "SNAPSHOT_SEQUENCES", "ARMS_SINCE", "FEATURES_SINCE", "DUELS_SINCE",
    "SET_FREE", "SAVE_COUNTERS", "DROP_SNAPSHOT", "RETIRE_ARM", "TOUCH_ARM",
]  # fmt: skip


OWNERS_ASK = [
    "STUDY", "PUT_STUDY", "RATERS", "DROP_RATER", "FIRST_VOTE", "LEASES_OF", "DUELS_ASKED_OF", "CONTEXTS_SINCE",
    "DROP_CONTEXT", "DUELS_BETWEEN", "LEASES_BETWEEN", "VOTES_BETWEEN", "DETAILS_BETWEEN", "DETAILS_OF", "DROP_DETAILS",
    "STAGED", "DROP_STAGED",
]  # fmt: skip


@pytest.mark.parametrize("name", [*ASKED_OFTEN, *OWNERS_ASK])
def test_every_query_finds_its_rows_by_an_index(name: str) -> None:
    storage = open_storage("memory")
    kept, _, whose = name.partition(" of ")
    statement = getattr(_statements, kept, None)
    if statement is None:
        statement = getattr(_owning, kept)
    if whose:
        statement = statement["sqlite", whose == "everyone"]
    compiled = statement.compile(dialect=storage._engine.dialect)  # type: ignore[attr-defined]
    with storage._engine.connect() as connection:  # type: ignore[attr-defined]
        values = tuple(1 for _ in compiled.positiontup or ())
        plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", values)]
    assert any("SEARCH" in step for step in plan), plan
    assert not any("SCAN" in step and "few" not in step for step in plan), plan
    # Of snapshots, of raters of whom something is said, and of parts of imports there are few; of everything else, to look by the
    # study alone is to read all of it.
    assert name in ("SNAPSHOT_SEQUENCES", "RATERS") or not any(
        step.endswith("(study_id=?)") and "duelist_staged" not in step for step in plan
    ), plan
    # What waits is sorted after its limit, so what is sorted is few.
    assert "CO-ROUTINE few" in plan or not any("USE TEMP B-TREE" in step for step in plan), plan
