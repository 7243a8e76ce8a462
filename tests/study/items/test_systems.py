"""Arms that are systems' answers to prompts."""

from pathlib import Path

import pytest

from duelist.core.errors import InvalidInput
from duelist.study import create_study, load_study, restore_study
from tests.helpers.systems import system_study


def test_arms_carry_system_and_category(url: str) -> None:
    study = system_study(storage=url)
    again = load_study("systems", storage=url)
    arm = again.arms()[5]
    assert (arm.system, arm.context, arm.category) == ("s1", "p1", "c1")
    assert study.systems() == again.systems() == ["s0", "s1", "s2", "s3"]
    assert study.arms() == again.arms()


def test_a_study_without_systems_has_none() -> None:
    study = create_study("plain", "memory", goal="best")
    study.add_arms(["a", "b"])
    assert study.systems() == []
    assert study.arms()[0].system is None


def test_systems_survive_an_archive(tmp_path: Path) -> None:
    study = system_study(2, 2)
    file = study.save(tmp_path / "study.duelist")
    assert restore_study(file, storage="memory").arms() == study.arms()


@pytest.mark.parametrize(
    ("arms", "field"),
    [
        ({"ids": ["x"], "contexts": ["p9"]}, "systems"),
        ({"ids": ["x"], "systems": ["s9"]}, "contexts"),
        ({"ids": ["x"], "systems": ["s0"], "contexts": ["p0"], "categories": ["c0"]}, "systems"),
        ({"ids": ["x"], "systems": ["s9"], "contexts": ["p0"], "categories": ["other"]}, "categories"),
        ({"ids": ["x"], "systems": ["s9"], "contexts": ["p9"], "features": [[1.0]]}, "features"),
        ({"ids": ["x", "y"], "systems": ["s9"], "contexts": ["p9", "p9"]}, "systems"),
    ],
)
def test_contradictions_are_rejected(arms: dict, field: str) -> None:
    study = system_study(2, 2)
    with pytest.raises(InvalidInput) as caught:
        study.add_arms(**arms)
    assert caught.value.field == field
    assert len(study.arms()) == 4


def test_a_study_of_items_rejects_systems() -> None:
    study = create_study("plain", "memory", goal="best")
    study.add_arms(["a", "b"])
    with pytest.raises(InvalidInput, match="system"):
        study.add_arms(["c"], contexts=["p"], systems=["s"])
    with pytest.raises(InvalidInput, match="no system"):
        study.add_arms(["c"], contexts=["p"], categories=["c"])


def test_a_policy_that_needs_features_is_rejected() -> None:
    study = create_study("linear", "memory", policy="VACDB")
    with pytest.raises(InvalidInput, match="VACDB"):
        study.add_arms(["a", "b"], contexts=["p", "p"], systems=["s", "t"])


def test_adding_the_same_answers_again_changes_nothing() -> None:
    study = system_study(2, 2)
    arms = study.arms()
    assert (
        study.add_arms(
            [arm.id for arm in arms],
            payloads=[arm.payload for arm in arms],
            contexts=[arm.context for arm in arms],
            systems=[arm.system for arm in arms],
            categories=[arm.category for arm in arms],
        )
        == 0
    )
    with pytest.raises(InvalidInput, match="another system"):
        study.add_arms(["s0 / p0"], payloads=["answer of 0 to 0"], contexts=["p0"], systems=["s1"], categories=["c0"])
