"""Loading a study never imports a module that its data names: only registered policies, and those that the caller gives."""

import base64
import json
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.core.errors import InvalidArchive, InvalidInput, InvalidSnapshot
from duelist.policies import is_registered, registered_policy
from duelist.study import Study, copy_study, create_study, load_study, restore_study
from tests.cli.study.test_study import shell  # noqa: F401  (fixture)
from tests.helpers.archives import Tables, rewrite
from tests.helpers.owners import play
from tests.study.conftest import filled

EXAMPLES = Path(__file__).parents[2] / "examples"
MINE = "plain_policy:EpsilonGreedy"
EVIL = "evilpol:Evil"


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module on the path that leaves a file where it is imported."""
    folder = tmp_path / "modules"
    folder.mkdir()
    flag = tmp_path / "imported"
    (folder / "evilpol.py").write_text(
        f"open({str(flag)!r}, 'w').close()\n"
        "import duelist as dl\n"
        "class Evil(dl.Policy):\n"
        "    def ask(self, arms): return dl.Duel(0, 1)\n"
        "    def tell(self, duel, outcome, weight=1.0): pass\n"
        "x = Evil\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    yield flag
    sys.modules.pop("evilpol", None)


@pytest.fixture
def unregistered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy of the example can be imported, and nobody has named it."""
    monkeypatch.setattr("duelist.policies.registry._REGISTRY._registered", {})
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    study = filled("one", policy="VACDB")
    play(study, 20)
    return study.save(tmp_path / "one.duelist")


def in_snapshot(change: dict[str, Any]) -> Any:
    """Return a change of an archive that puts values into each of its snapshots."""

    def apply(manifest: dict[str, Any], tables: Tables) -> None:
        for line in tables["snapshots"]:
            snapshot = json.loads(zlib.decompress(base64.b64decode(line[1])))
            line[1] = base64.b64encode(zlib.compress(json.dumps({**snapshot, **change}).encode())).decode()

    return apply


def use(study: Study) -> None:
    study.ask("eve")
    study.policy()


@pytest.mark.parametrize("named", ["evilpol:x", EVIL, "evilpol", "evilpol:Evil:a=1", "MaxInP", 3, None, ["evilpol:x"]])
def test_a_snapshot_of_another_policy_is_rejected(evil: Path, archive: Path, tmp_path: Path, named: Any) -> None:
    bad = rewrite(archive, tmp_path / "bad.duelist", in_snapshot({"policy": named}))
    with pytest.raises(InvalidArchive, match="snapshot after row 0"):
        restore_study(bad, "memory")
    assert not evil.exists()
    with pytest.raises(InvalidSnapshot):
        dl.restore_policy({**dl.VACDB().snapshot(), "policy": named})
    assert not evil.exists()


def test_a_snapshot_with_other_settings_is_rejected(archive: Path, tmp_path: Path) -> None:
    snapshot = dl.VACDB(horizon=17, estimator="online").snapshot()
    bad = rewrite(archive, tmp_path / "bad.duelist", in_snapshot(snapshot))
    with pytest.raises(InvalidArchive, match="horizon=17"):
        restore_study(bad, "memory")


def test_a_study_whose_settings_name_a_module(evil: Path, archive: Path, tmp_path: Path, shell: Any) -> None:  # noqa: F811
    def change(manifest: dict[str, Any], tables: Tables) -> None:
        manifest["settings"]["policy"] = EVIL

    bad = rewrite(archive, tmp_path / "bad.duelist", change)
    url = f"sqlite:///{tmp_path / 'here.db'}"
    study = restore_study(bad, url)
    assert len(study.votes()) >= 20  # its votes can be read
    assert study.export(tmp_path / "votes.csv").rows > 0
    for call in (lambda: use(study), lambda: use(load_study("one", url))):
        with pytest.raises(InvalidInput, match="'evilpol:Evil' is not registered") as caught:
            call()
        assert caught.value.code == "invalid_input.class_not_registered"
    said = shell("study", "ask", "one", "-r", "eve", "-s", url, code=2)
    assert "set the environment variable DUELIST_POLICIES=evilpol:Evil" in " ".join(said.split())
    shell("study", "restore", str(bad), "-s", url, "--name", "two")
    copy_study("one", url, to_name="three")
    assert not evil.exists()


@pytest.mark.parametrize(
    "change",
    [{"seed": "x"}, {"policy": 3}, {"policy": ""}, {"gold_share": 7}, {"nonsense": 1}, {"policy_settings": {"no": 1}}],
)
def test_archived_settings_are_checked(archive: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    def apply(manifest: dict[str, Any], tables: Tables) -> None:
        manifest["settings"].update(change)

    with pytest.raises(dl.DuelistError):
        restore_study(rewrite(archive, tmp_path / "bad.duelist", apply), "memory")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("arms", 0, 10**30),
        ("arms", 3, 7),
        ("features", 0, 3),
        ("duels", 1, 999),
        ("duels", 9, "yesterday"),
        ("duels", 9, 2**62),
        ("leases", 4, "later"),
        ("leases", 0, 0),
        ("votes", 0, 1),
        ("votes", 1, 999),
        ("votes", 4, 1e300),
        ("votes", 9, -1),
    ],
)
def test_archived_rows_are_checked(archive: Path, tmp_path: Path, table: str, column: int, value: Any) -> None:
    def change(manifest: dict[str, Any], tables: Tables) -> None:
        tables[table][-1][column] = value

    with pytest.raises(InvalidArchive):
        restore_study(rewrite(archive, tmp_path / "bad.duelist", change), "memory")


@pytest.mark.parametrize(
    "change", [{"name": 2**70}, {"created_at": 2**70}, {"created_at": "now"}, {"settings": 3}, {"settings": "x"}]
)
def test_an_archived_manifest_is_checked(archive: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    bad = rewrite(archive, tmp_path / "bad.duelist", lambda manifest, tables: manifest.update(change))
    with pytest.raises(InvalidArchive):
        restore_study(bad, "memory")


@pytest.mark.parametrize("member", ["manifest.json", "votes.jsonl"])
def test_an_archive_that_unpacks_to_very_much_is_rejected(archive: Path, tmp_path: Path, member: str) -> None:
    bad = tmp_path / "bad.duelist"
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name) + (b" " * 20_000_000 if name == member else b""))
    with pytest.raises(InvalidArchive, match="19 MiB when it is unpacked"):
        restore_study(bad, "memory")


def test_a_snapshot_of_endless_work_is_rejected() -> None:
    """FGTS takes its setting `steps` from the snapshot, and did not return for days with this one."""
    snapshot = dl.FGTS(horizon=10).snapshot()
    with pytest.raises(InvalidSnapshot, match="steps"):
        dl.restore_policy({**snapshot, "params": {**snapshot["params"], "steps": 2**53}})


# -- a policy of one's own -------------------------------------------------------------------


def own_study(url: str) -> Study:
    study = create_study("own", url, policy=MINE)
    study.add_arms([f"arm {k}" for k in range(6)], np.random.default_rng(0).normal(size=(6, 3)))
    play(study, 30)
    return study


@pytest.mark.usefixtures("unregistered")
def test_the_caller_gives_the_class(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known: Any = own_study(sqlite_url).policy()
    path = load_study("own", sqlite_url).save(tmp_path / "own.duelist")
    for k, given in enumerate((MINE, type(known))):
        monkeypatch.setattr("duelist.policies.registry._REGISTRY._registered", {})
        with pytest.raises(InvalidInput, match="is not registered"):
            load_study("own", sqlite_url).policy()
        mine: Any = load_study("own", sqlite_url, policy=given).policy()
        np.testing.assert_array_equal(mine._theta, known._theta)
        assert np.any(mine._theta)  # it has learned the log again
        monkeypatch.setattr("duelist.policies.registry._REGISTRY._registered", {})
        restored: Any = restore_study(path, sqlite_url, f"again {k}", policy=given).policy()
        np.testing.assert_array_equal(restored._theta, known._theta)


@pytest.mark.usefixtures("unregistered")
def test_the_environment_registers_classes(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own_study(sqlite_url)
    monkeypatch.setattr("duelist.policies.registry._REGISTRY._registered", {})
    assert not is_registered(MINE)
    monkeypatch.setenv("DUELIST_POLICIES", f"other:Thing, {MINE}")
    assert registered_policy(MINE).__name__ == "EpsilonGreedy"
    load_study("own", sqlite_url).ask("ana")


def test_a_given_policy_must_be_that_of_the_study(sqlite_url: str) -> None:
    filled("one", sqlite_url, policy="VACDB")
    load_study("one", sqlite_url, policy=dl.VACDB)
    with pytest.raises(InvalidInput, match="'MaxInP', but study 'one' has 'VACDB'"):
        load_study("one", sqlite_url, policy="MaxInP")
    with pytest.raises(InvalidInput, match="subclass of duelist"):
        load_study("one", sqlite_url, policy=3)
    with pytest.raises(InvalidInput, match="has its policy there"):
        load_study("one", "http://127.0.0.1:9", policy="VACDB")


@pytest.mark.usefixtures("unregistered")
def test_a_policy_without_snapshots_says_so() -> None:
    policy: Any = dl.make_policy(MINE)
    assert not policy.is_restorable
    for call in (policy.snapshot, lambda: type(policy).restore({})):
        with pytest.raises(InvalidInput, match="does not define snapshot and restore") as caught:
            call()
        assert caught.value.code == "invalid_input.no_snapshot"
