"""Arms: bulk, versions, retirement, contexts."""

import time

import numpy as np
import pytest

from duelist.core.errors import InvalidInput, NothingToAsk, UnknownArm, UnknownStudy
from duelist.study import Arm, create_study, delete_study, load_study
from duelist.study.asking import pair_choice
from duelist.study.asking.pair_choice import PairChooser
from tests.helpers.policy_state import policy_of
from tests.study.conftest import features, filled


def test_arms_come_back_in_another_process_view(url: str) -> None:
    study = create_study("s", url)
    study.add_arms(["x", "y"], [[1, 2], [3, 4]], payloads=["text", {"image": "a.png"}], contexts=["p", None])
    study.add_arms(["z"], [[5, 6]])
    again = load_study("s", url)
    assert again.arms() == [
        Arm(0, "x", "text", "p"),
        Arm(1, "y", {"image": "a.png"}),
        Arm(2, "z"),
    ]
    assert again.features().tolist() == [[1, 2], [3, 4], [5, 6]]
    assert again.features(["z", "x"]).tolist() == [[5, 6], [1, 2]]
    assert [arm.id for arm in again.arms(context="p")] == ["x"]


def test_versions_of_features_are_kept(url: str) -> None:
    study = filled(storage=url, n_arms=3)
    other = load_study("study", url)
    assert other.features(["a1"]).tolist() == features(3)[1:2].tolist()
    study.update_features(["a2", "a1"], [[1, 1, 1], [2, 2, 2]])
    study.update_features(["a1"], [[3, 3, 3]])
    for each in (study, other, load_study("study", url)):
        assert each.features(["a0", "a1", "a2"])[1:].tolist() == [[3, 3, 3], [1, 1, 1]]
        assert each.features(["a1"], version=1).tolist() == features(3)[1:2].tolist()
        assert each.features(["a1"], version=2).tolist() == [[2, 2, 2]]
        assert [arm.version for arm in each.arms()] == [1, 3, 2]
    with pytest.raises(InvalidInput, match="'a2' has versions 1 to 2"):
        study.features(["a1", "a2"], version=3)


def test_arms_added_after_a_new_version(url: str) -> None:
    """Rows of features and numbers of arms part ways; everything still finds its own."""
    study = filled(storage=url, n_arms=2)
    study.update_features(["a0"], [[9, 9, 9]])
    study.add_arms(["late"], [[7, 7, 7]])
    for each in (study, load_study("study", url)):
        assert each.features(["late", "a0"]).tolist() == [[7, 7, 7], [9, 9, 9]]
        assert [(arm.id, arm.version) for arm in each.arms()] == [("a0", 2), ("a1", 1), ("late", 1)]
    duel = study.ask("ana", candidates=["late", "a0"])
    assert {duel.first.id, duel.second.id} == {"late", "a0"}
    assert {duel.first.version, duel.second.version} == {1, 2}


def test_versions_of_very_many_arms_are_found_at_once() -> None:
    """Also of arms that were added after a new version of another, whose rows and numbers differ."""
    n = 30_000
    study = create_study("s", "memory")
    study.add_arms(["first"], [[1.0]])
    study.update_features(["first"], [[2.0]])
    study.add_arms([f"a{k}" for k in range(n)], np.arange(n)[:, None])
    start = time.process_time()
    assert [arm.version for arm in study.arms()] == [2] + [1] * n
    assert study.features(version=1)[:, 0].tolist() == [1, *range(n)]
    assert (
        time.process_time() - start < 5.0
    )  # 0.2 s on an idle machine; looking for each arm's rows in all rows, a minute
    with pytest.raises(InvalidInput, match="version is 2, but arm 'a0' has versions 1 to 1"):
        study.features(version=2)


def test_a_duel_keeps_the_features_it_was_asked_with() -> None:
    """Told after the features changed, it teaches what was shown."""
    one, other = filled("one"), filled("other")
    told = []
    for study, late in ((one, False), (other, True)):
        duel = study.ask("ana")
        told.append(duel)
        if late:
            study.update_features([duel.first.id, duel.second.id], [[5, 5, 5], [6, 6, 6]])
        study.tell(duel.id, "first", "ana")
    assert told[0].first.id == told[1].first.id
    assert policy_of(one).theta_.tolist() == policy_of(other).theta_.tolist()
    assert np.any(policy_of(one).theta_)


def test_retired_arms_are_not_asked_but_votes_count() -> None:
    study = filled(n_arms=4)
    duel = study.ask("ana")
    study.retire([duel.first.id])
    assert study.ask("ana").id == duel.id  # it is in her hands already
    assert study.tell(duel.id, "first", "ana").sequence == 1
    for k in range(3):
        asked = study.ask(f"rater {k}")
        assert duel.first.id not in (asked.first.id, asked.second.id)
    study.activate([duel.first.id])
    assert not any(arm.retired for arm in study.arms())


def test_too_few_arms_says_so() -> None:
    study = create_study("s", "memory")
    with pytest.raises(NothingToAsk, match="add_arms"):
        study.ask("ana")
    study.add_arms(["x"], [[1.0]])
    with pytest.raises(NothingToAsk, match="add_arms"):
        study.ask("ana")
    study.add_arms(["y"], [[2.0]])
    study.retire(["y"])
    with pytest.raises(NothingToAsk, match="activate"):
        study.ask("ana")
    study.activate(["y"])
    assert study.ask("ana").id == 1


def test_contexts_are_asked_within() -> None:
    study = create_study("s", "memory", policy="MaxInP")
    for prompt in "pqr":
        study.add_arms([f"{prompt}{k}" for k in range(3)], features(3, seed=ord(prompt)), contexts=prompt)
    study.add_arms(["lone"], features(1), contexts="alone")
    duels = [study.ask(f"rater {k}", context="q" if k < 2 else None) for k in range(9)]  # all nine pairs there are
    assert [duel.context for duel in duels[:2]] == ["q", "q"]
    for duel in duels:
        assert duel.first.context == duel.second.context == duel.context
    assert sorted(duel.context for duel in duels) == list("pppqqqrrr")
    with pytest.raises(NothingToAsk, match="are pending"):
        study.ask("one too many")
    assert study.contexts() == ["p", "q", "r", "alone"]
    with pytest.raises(UnknownArm, match="'nowhere'"):
        study.ask("ana", context="nowhere")
    with pytest.raises(NothingToAsk, match="'alone'"):
        study.ask("ana", context="alone")


def test_candidates_restrict_the_choice() -> None:
    study = filled(n_arms=8)
    for _ in range(6):
        duel = study.ask("ana", candidates=["a1", "a5", "a6"])
        assert {duel.first.id, duel.second.id} < {"a1", "a5", "a6"}
        study.tell(duel.id, "tie", "ana")
    with pytest.raises(UnknownArm, match="'a99'"):
        study.ask("ana", candidates=["a1", "a99"])
    with pytest.raises(NothingToAsk):
        study.ask("ana", candidates=["a1"])


def test_candidates_outside_the_context_are_refused() -> None:
    study = create_study("s", "memory", policy="MaxInP")
    study.add_arms(["x", "y", "z"], features(3), contexts=["p", "p", "q"])
    with pytest.raises(InvalidInput, match="'z' is in context 'q'"):
        study.ask("ana", candidates=["x", "z"], context="p")
    assert study.ask("ana", candidates=["x", "z"]).context is None
    assert study.ask("ben", candidates=["x", "y"]).context == "p"


@pytest.mark.parametrize(
    ("ids", "values", "extra", "match"),
    [
        (["x", "x"], [[1], [2]], {}, "'x' is named twice"),
        (
            ["a0"],
            [[1, 2, 3]],
            {},
            "'a0' is in this study already, with other features. Give this one another id, or change the stored features",
        ),
        (
            ["a0"],
            features(1),
            {"payloads": ["other"]},
            "with another payload. Give this one another id, or the stored payload",
        ),
        (["x", "a0"], features(2)[::-1], {"contexts": [None, "p"]}, "with another context"),
        (["x"], [[1, 2]], {}, "have 2 entries"),
        (["x"], [[1, np.nan, 2]], {}, r"features\[0, 1\] is nan"),
        (["x"], [[1, 2, 1e39]], {}, r"features\[0, 2\] is 1e\+39"),
        (["x", "y"], [[1, 2, 3]], {}, r"shape \(1, 3\)"),
        (["x"], [["a", "b", "c"]], {}, "not numbers"),
        ("xy", [[1, 2, 3]], {}, "the text 'xy'"),
        ([], np.empty((0, 3)), {}, "at least one"),
        ([7], [[1, 2, 3]], {}, "id of an arm is 7"),
        (["\ud800"], [[1, 2, 3]], {}, "unpaired surrogates"),
        (["x"], [[1, 2, 3]], {"payloads": [object()]}, "not JSON"),
        (["x"], [[1, 2, 3]], {"payloads": []}, "0 payloads for 1 arms"),
        (["x"], [[1, 2, 3]], {"contexts": ["p", "q"]}, "2 contexts for 1 arms"),
        (["x"], [[1, 2, 3]], {"contexts": [3]}, "context is 3"),
        (["x"], [[1, 2, 3]], {"contexts": [[]]}, r"context is \[\]"),
    ],
)
def test_bad_arms_change_nothing(ids: list, values: list, extra: dict, match: str) -> None:
    study = filled(n_arms=2)
    with pytest.raises(InvalidInput, match=match), np.errstate(over="ignore"):
        study.add_arms(ids, values, **extra)
    assert [arm.id for arm in study.arms()] == ["a0", "a1"]
    study.add_arms(["x"], [[1, 2, 3]])
    assert len(study.arms()) == 3


def test_the_same_arms_again_are_a_no_op(url: str) -> None:
    """As after a lost connection: repeated in another process, whole or in part, nothing happens twice."""
    study = create_study("s", url)
    values, payloads = features(4), ["text", {"a": (1, 2)}, None, "\ud800"]
    ids = ["w", "x", "y", "z"]
    study.add_arms(ids[:3], values[:3], payloads[:3], "p")
    again = load_study("s", url)
    again.add_arms(ids[:2], values[:2], payloads[:2], "p")
    again.add_arms(ids, values, payloads, "p")
    assert [(arm.id, arm.payload, arm.version) for arm in study.arms()] == [
        ("w", "text", 1), ("x", {"a": [1, 2]}, 1), ("y", None, 1), ("z", "\ud800", 1)]  # fmt: skip
    assert study.features().tolist() == values.tolist()


def test_a_hundred_thousand_arms(sqlite_url: str) -> None:
    """100,000 arms of 64 features: added and read by another process's view, bit for bit."""
    n, dim = 100_000, 64
    values = np.random.default_rng(0).random((n, dim), np.float32)
    study = create_study("s", sqlite_url, policy="UniformPair")
    study.add_arms([f"arm {k}" for k in range(n)], values)
    again = load_study("s", sqlite_url)
    assert again.features().astype(np.float32).tobytes() == values.tobytes()


def test_of_very_many_arms_a_policy_sees_the_best_and_others_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_choice, "_MAX_WORK", 3 * 40**2)
    study = filled(n_arms=1000, policy="MaxInP")
    duel = study.ask("ana")
    values = study.features().astype(np.float64)
    untaught = PairChooser(study.policy(), values, frozenset(), [], 0, np.random.default_rng(0))
    drawn = [untaught._shortlist() for _ in range(500)]
    assert {len(set(kept.tolist())) for kept in drawn} == {40}
    # Nothing is known, so every arm is as likely as any other: 20 of 500 times, give or take six standard deviations.
    assert np.abs(np.bincount(np.concatenate(drawn), minlength=1000) - 20).max() <= 6 * np.sqrt(500 * 0.04 * 0.96)
    study.tell(duel.id, "first", "ana")
    taught = untaught._replace(policy=study.policy())
    best = set(np.argsort(-(values @ policy_of(study).theta_))[:20].tolist())
    shortlists = [set(taught._shortlist().tolist()) for _ in range(50)]
    assert all(best < kept and len(kept) == 40 for kept in shortlists)
    assert len(set.union(*shortlists)) > 500
    for _ in range(30):
        study.tell(study.ask("ana").id, "second", "ana")


def test_the_first_ask_of_very_many_long_features_does_not_keep_anybody_waiting() -> None:
    """Before the first vote nothing can be ruled out: to compare all pairs took 3 minutes for 100,000 arms of 256 features."""
    study = create_study("s", "memory")
    study.add_arms([f"a{k}" for k in range(30_000)], features(30_000, dim=256))
    study.tell(study.ask("ana", candidates=["a1", "a2", "a3"]).id, "skip", "ana")  # what is compiled is loaded now
    start = time.process_time()
    study.ask("ben")
    assert time.process_time() - start < 8.0  # 0.8 s on an idle machine; all pairs, 15 s


def test_a_study_that_was_deleted_and_made_anew_is_another_one(url: str) -> None:
    """Who still holds the old one is told; nothing of it goes into the new one."""
    old = filled(storage=url)
    duel = old.ask("ana")
    delete_study("study", url)
    new = filled(storage=url)
    new.ask("ana")
    with pytest.raises(UnknownStudy, match="deleted"):
        old.tell(duel.id, "first", "ana")
    assert new.votes() == []
