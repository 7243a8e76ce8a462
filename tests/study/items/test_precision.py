"""Features are kept as they were given: arms that differ in the tenth digit differ."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from duelist.core.errors import InvalidInput, StorageCorrupted
from duelist.study import Study, copy_study, create_study, load_study, restore_study
from duelist.study.asking import pair_choice as _choosing
from duelist.study.imports import plan_items

STAMPS = [[1700000003.0], [1700000011.0], [1700000023.0]]


def with_arms(vectors: object, storage: str = "memory", **settings: object) -> Study:
    study = create_study("s", storage, **{"goal": "best", "seed": 1, **settings})
    study.add_arms([f"a{k}" for k in range(len(np.asarray(vectors)))], vectors)
    return study


@contextmanager
def database(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url)
    with engine.begin() as line:
        yield line
    engine.dispose()


def test_what_was_given_comes_back(url: str, tmp_path: Path) -> None:
    study = with_arms(STAMPS, url)
    study.update_features(["a0"], [[0.1]])
    given = [[0.1], *STAMPS[1:]]
    copies = [
        load_study("s", url),
        restore_study(study.save(tmp_path / "s"), "memory"),
        copy_study("s", url, "memory", "t"),
    ]
    for each in (study, *copies):
        assert each.features().tolist() == given
        assert each.features(version=1).tolist() == STAMPS


def test_time_stamps_are_told_apart() -> None:
    """Seconds since 1970 have ten digits; of seven, all of these were the same, and the study was done before it began."""
    assert not with_arms(STAMPS, arm_effects=False).can_stop()


@pytest.mark.parametrize("there", [1700000003.0, 1700000000.0])
def test_other_features_are_noticed(url: str, there: float) -> None:
    """Also where those that are there need no more than single precision."""
    study = with_arms([[there], [5.0]], url)
    for each in (study, load_study("s", url)):
        assert each.add_arms(["a0"], [[there]]) == 0
        with pytest.raises(InvalidInput, match="'a0' is in this study already, with other features"):
            each.add_arms(["a0"], [[there + 40.0]])


def test_short_features_take_half_the_room(sqlite_url: str) -> None:
    values = np.random.default_rng(0).random((50, 8), np.float32)
    with_arms(values, sqlite_url)
    with database(sqlite_url) as line:
        assert [len(body) for (body,) in line.execute(sa.text("SELECT vectors FROM duelist_features"))] == [
            1 + 50 * 8 * 4
        ]


def test_features_of_no_precision_are_damaged(sqlite_url: str) -> None:
    with_arms([[0.1], [0.2]], sqlite_url)
    with database(sqlite_url) as line:
        line.execute(sa.text("UPDATE duelist_features SET vectors = :body"), {"body": b"x" + bytes(16)})
    with pytest.raises(StorageCorrupted, match="no precision"):
        load_study("s", sqlite_url).features()


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_offset_changes_no_duel(few: bool, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers, and the same a million further on, where products in single precision are wrong by several units; with so many
    candidates that the policy looks at some of them, too."""
    if not few:
        monkeypatch.setattr(_choosing, "_MAX_WORK", 3 * 20**2)
    assert played(0, dtype, arm_effects=False) == played(1_000_000, dtype, arm_effects=False)


@pytest.mark.parametrize("arm_effects", [True, False])
def test_a_large_offset_changes_neither_duels_nor_readings(arm_effects: bool) -> None:
    """With arm effects, squares of features a billion from zero had no digit left for what arms differ in."""
    assert played(0, np.float64, arm_effects) == played(1_000_000_000, np.float64, arm_effects)


def played(offset: int, dtype: type, arm_effects: bool) -> tuple[list[tuple[str, str]], list[str], str]:
    """The duels of a study with whole numbers for features, their order, and what it says of stopping."""
    values, theta = np.random.default_rng(0).integers(-9, 10, (60, 3)), np.array([0.3, -0.2, 0.1])
    study = with_arms((values + offset).astype(dtype), arm_effects=arm_effects, repeat_pairs=0)
    rng, duels = np.random.default_rng(1), []
    for k in range(40):
        waits = study.ask("ben") if k % 10 == 0 else None  # a duel that is out while another is chosen
        duel = study.ask("ana")
        gap = (values[duel.first.number] - values[duel.second.number]) @ theta
        study.tell(duel, float(rng.random() < 1.0 / (1.0 + np.exp(-gap))), rater="ana")
        duels.append((duel.first.id, duel.second.id))
        if waits is not None:
            study.tell(waits, "tie", rater="ben")
    return duels, [row.arm for row in study.leaderboard().standings], str(study.can_stop())


def test_columns_of_a_file_are_kept_whole(tmp_path: Path) -> None:
    """A number that is far from all others leaves these apart."""
    path = tmp_path / "arms.csv"
    path.write_text("id,size\na,1\nb,2\nc,1e12\n")
    study = create_study("s", "memory", items=plan_items(path))
    assert len(np.unique(study.features())) == 3
    assert study.apply(plan_items(path)).added == 0


def test_features_too_large_to_be_squared_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"features\[1, 0\] is 1e\+39"):
        with_arms([[1.0], [1e39]])


def test_a_column_of_one_number_has_no_spread(tmp_path: Path) -> None:
    """The deviation of ten times 0.1 is 1e-17, and arms that join with another number would be 1e16 deviations off."""
    path, more = tmp_path / "arms.csv", tmp_path / "more.csv"
    path.write_text("id,price,tax\n" + "".join(f"a{k},{k},0.1\n" for k in range(10)))
    more.write_text("id,price,tax\nb,3,0.2\n")
    study = create_study("s", "memory", items=plan_items(path))
    assert study.apply(plan_items(more)).added == 1
    assert np.abs(study.features()).max() < 10.0
