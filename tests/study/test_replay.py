"""The policy is a fold over the log, to the bit, whatever shortcut was taken to it."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from duelist.core.errors import InvalidInput, NothingToAsk, StorageCorrupted, StorageWarning, UnknownArm
from duelist.policies import Policy
from duelist.study import (
    ChosenBy,
    Outcome,
    Source,
    Study,
    Vote,
    create_study,
    current_votes,
    load_study,
    replay,
)
from duelist.study.imports.votes import staging
from duelist.study.items.catalog import ArmCatalog
from duelist.study.replay import NEWEST_SNAPSHOTS, current_training_votes
from duelist.study.replay import learn as _learn
from duelist.study.storage import FeatureChunk, TrainingVote
from tests.helpers.busy_study import rebuilt
from tests.helpers.policy_state import policy_of
from tests.study.conftest import features, filled

OUTCOMES = ("first", "second", "tie", "both_bad", "skip")


def play(study: Study, rounds: int) -> None:
    for k in range(rounds):
        duel = study.ask("ana")
        study.tell(duel.id, OUTCOMES[k * k % 5], "ana")


def snapshots(study: Study) -> list[int]:
    with study._storage.reading(study._id) as tx:
        return tx.snapshot_sequences()


@pytest.mark.parametrize("policy", ["VACDB", "MaxInP", "StaD", "CoLSTIM"])
@pytest.mark.parametrize("estimator", ["online", "exact"])
def test_the_policy_is_the_fold_of_the_log(policy: str, estimator: str) -> None:
    study = filled(policy=policy, policy_settings={"estimator": estimator}, n_arms=9)
    for _ in range(7):
        play(study, 10)
        assert study.policy().snapshot() == rebuilt(study).snapshot()
    assert np.any(policy_of(study).theta_)


def test_asking_leaves_no_trace() -> None:
    study, quiet = filled("one"), filled("two")
    play(study, 5)
    play(quiet, 5)
    for k in range(8):
        study.ask(f"rater {k}")
    assert study.policy().snapshot() == quiet.policy().snapshot()


def test_snapshots_are_stored_pruned_and_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SNAPSHOT_EVERY", 8)
    study = filled(policy="VACDB", n_arms=9)
    play(study, 100)
    kept = snapshots(study)
    assert (kept[0], kept[-NEWEST_SNAPSHOTS:]) == (0, [72, 80, 88, 96])
    assert len(kept) < 10
    study._write_cache.replay.clear()
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def test_a_fold_from_any_row_costs_at_most_twice_the_votes_since_then() -> None:
    """So a revision costs what is newer than the vote, not the whole log; and the snapshots stay few."""
    kept = [0]
    for newest in range(8, 20_000, 8):
        kept.append(newest)
        unwanted = set(replay.redundant_snapshots(kept))
        kept = [s for s in kept if s not in unwanted]
        assert all(newest - a <= 2 * (newest - b) or b - a == 8 for a, b in itertools.pairwise(kept))
    assert len(kept) < 25


def test_a_revision_does_not_read_the_log_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SNAPSHOT_EVERY", 8)
    study = filled(policy="VACDB", n_arms=9)
    play(study, 400)
    learned: list[int] = []

    def noted(policy: Any, vote: Any, arms: Any) -> None:
        learned.append(vote.root)
        _learn(policy, vote, arms)

    monkeypatch.setattr(replay, "learn", noted)
    study.tell(study.votes()[300].duel_id, "both_bad", "ana", revise=True)
    assert 99 <= len(learned) <= 2 * 100 + 8
    monkeypatch.undo()
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def test_an_interrupted_reading_leaves_nothing_half_learned(monkeypatch: pytest.MonkeyPatch, sqlite_url: str) -> None:
    """Ctrl-C in the middle of a fold: what was learned is not learned twice."""
    study = filled(storage=sqlite_url, policy="VACDB", n_arms=9)
    play(study, 20)
    other = load_study("study", sqlite_url)
    other.policy()
    play(study, 20)

    def interrupted(policy: Policy, lesson: TrainingVote, arms: ArmCatalog) -> None:
        if lesson.sequence == 33:
            raise KeyboardInterrupt
        _learn(policy, lesson, arms)

    monkeypatch.setattr(replay, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        other.policy()
    monkeypatch.undo()
    assert other.policy().snapshot() == rebuilt(study).snapshot()


def test_interrupted_while_arms_are_read(monkeypatch: pytest.MonkeyPatch, sqlite_url: str) -> None:
    study, other = filled(storage=sqlite_url, n_arms=5), load_study("study", sqlite_url)
    other.arms()
    study.update_features(["a1"], [[1, 2, 3]])
    study.add_arms(["late"], [[4, 5, 6]])
    taken: list[FeatureChunk] = []

    def interrupted(arms: ArmCatalog, chunk: FeatureChunk) -> None:
        if taken:
            raise KeyboardInterrupt
        taken.append(chunk)
        _add_features(arms, chunk)

    _add_features = ArmCatalog._add_features
    monkeypatch.setattr(ArmCatalog, "_add_features", interrupted)
    with pytest.raises(KeyboardInterrupt):
        other.arms()
    monkeypatch.undo()
    assert other.arms() == study.arms()
    assert other.features().tolist() == study.features().tolist()


def test_a_damaged_snapshot_is_made_again_from_the_log(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setattr(replay, "SNAPSHOT_EVERY", 8)
    study = filled(storage=url, policy="VACDB", n_arms=9)
    play(study, 20)
    with study._storage.writing(study._id) as tx:
        tx.drop_snapshots([16])
        tx.put_snapshot(16, b"not what was written")
    other = load_study("study", url)
    with pytest.warns(StorageWarning, match="snapshot after row 16 of the log cannot be read"):
        assert other.policy().snapshot() == rebuilt(study).snapshot()
    with study._storage.writing(study._id) as tx:
        tx.drop_snapshots([0, 8, 16])
        tx.put_snapshot(0, b"")
    with pytest.raises(StorageCorrupted, match="Its votes can: export them"):
        load_study("study", url).policy()
    assert len(load_study("study", url).votes()) == 20


def test_a_revision_drops_the_snapshots_that_knew_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SNAPSHOT_EVERY", 8)
    study = filled(policy="VACDB", n_arms=9)
    play(study, 30)
    old = study.policy().snapshot()
    number = next(vote.duel_id for vote in study.votes() if vote.sequence == 18)
    study.tell(number, "first", "ana", revise=True)
    study.tell(number, "second", "ana", revise=True)
    assert [s for s in snapshots(study) if s < 30] == [0, 8, 16]
    assert study.policy().snapshot() == rebuilt(study).snapshot() != old
    study._write_cache.replay.clear()
    assert study.policy().snapshot() == rebuilt(study).snapshot()
    study.undo(number, "ana")
    study._write_cache.replay.clear()
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def test_standing_lessons_are_the_standing_votes() -> None:
    """The two ways to read the log agree, on random logs with chains of revisions."""
    rng = np.random.default_rng(0)
    when = datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(50):
        votes: list[Vote] = []
        roots: list[int] = []
        for sequence in range(1, 30):
            revises = int(rng.integers(1, sequence)) if sequence > 1 and rng.random() < 0.4 else None
            roots.append(sequence if revises is None else roots[revises - 1])
            outcome = None if revises is not None and rng.random() < 0.3 else Outcome(rng.choice(OUTCOMES))
            votes.append(Vote(sequence, sequence, outcome, "ana", when, "a", "b", revises=revises))
        lessons = [
            TrainingVote(v.sequence, root, v.outcome, 0, 1, 0, 1.0) for v, root in zip(votes, roots, strict=True)
        ]
        expected = [vote.sequence for vote in current_votes(votes)]
        assert [lesson.sequence for lesson in current_training_votes(lessons)] == expected


def test_an_error_in_the_middle_leaves_the_log_and_the_policy_alone(url: str) -> None:
    """A transaction that fails after the vote was learned takes it back everywhere."""
    study = filled(storage=url)
    play(study, 3)
    before, log = study.policy().snapshot(), study.votes()
    duel = study.ask("ana")
    with pytest.raises(ZeroDivisionError), study._writing() as tx:  # noqa: PT012
        from duelist.study.voting.tell import new_vote, tell

        tell(tx, study._write_cache, new_vote(duel.id, "ana", Outcome.FIRST), 10**15)
        study._write_cache.replay.refresh(tx, study._write_cache.arms)
        raise ZeroDivisionError
    assert study.votes() == log
    assert study.policy().snapshot() == before
    assert study.tell(duel.id, "first", "ana").sequence == 4


def test_a_study_that_never_asked_has_no_policy() -> None:
    with pytest.raises(NothingToAsk, match="no policy yet"):
        filled().policy()


# -- votes from elsewhere ----------------------------------------------------------------


def history(n: int, n_arms: int = 6) -> list[Vote]:
    rng = np.random.default_rng(1)
    when = datetime(2020, 1, 1, tzinfo=UTC)
    votes = []
    for k in range(1, n + 1):
        first, second = rng.choice(n_arms, 2, replace=False)
        outcome = Outcome(rng.choice(OUTCOMES[:4]))
        told = when + timedelta(seconds=k)
        votes.append(Vote(k, k, outcome, None, told, f"a{first}", f"a{second}", source=Source.IMPORT))
    return votes


@pytest.mark.parametrize("policy", ["VACDB", "MaxInP"])
def test_imported_votes_teach_and_are_in_the_log(policy: str, url: str) -> None:
    study = filled(storage=url, policy=policy)
    assert study.add_votes(history(300)) == 300
    votes = study.votes()
    assert [(v.first, v.second, v.outcome, v.voted_at) for v in votes] == [
        (v.first, v.second, v.outcome, v.voted_at) for v in history(300)
    ]
    assert {vote.chosen_by for vote in votes} == {ChosenBy.IMPORT}
    assert snapshots(study) == [0, 300]
    assert np.any(policy_of(study).theta_)
    play(study, 10)
    assert study.policy().snapshot() == rebuilt(study).snapshot()
    assert study.votes()[300].voted_at > votes[-1].voted_at


def test_a_long_import_is_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Still all or none, and the same policy; with snapshots on the way, from which a revision can start."""
    whole, parted = filled("whole"), filled("parted")
    whole.add_votes(history(1000))
    monkeypatch.setattr(staging, "PART", 300)
    parted.add_votes(history(1000))
    assert snapshots(parted) == [0, 300, 600, 900]
    assert parted.policy().snapshot() == whole.policy().snapshot() == rebuilt(parted).snapshot()
    bad = Vote(1001, 1001, Outcome.TIE, None, history(1)[0].voted_at, "a0", "a0")
    with pytest.raises(InvalidInput):
        parted.add_votes([*history(1000), bad])
    assert parted.votes() == whole.votes()


def test_only_standing_votes_are_imported() -> None:
    study = filled()
    votes = history(3)
    undone = Vote(4, 1, None, None, votes[0].voted_at, votes[0].first, votes[0].second, revises=1)
    assert study.add_votes([*votes, undone]) == 2
    assert study.add_votes([]) == 0
    assert len(study) == 2


def test_an_import_is_all_or_nothing() -> None:
    study = filled()
    good = history(3)
    for bad, error, match in (
        (Vote(4, 4, Outcome.TIE, None, good[0].voted_at, "a0", "nobody"), UnknownArm, "'nobody'"),
        (Vote(4, 4, Outcome.TIE, None, good[0].voted_at, "a0", "a0"), InvalidInput, "with itself"),
        (Vote(4, 4, Outcome.TIE, None, datetime(2020, 1, 1), "a0", "a1"), InvalidInput, "time zone"),
    ):
        with pytest.raises(error, match=match):
            study.add_votes([*good, bad])
        assert len(study) == 0
    assert study.add_votes(good) == 3


def test_the_first_snapshot_knows_the_arms_of_the_first_ask() -> None:
    """Arms that come later do not change what the policy took its units from."""
    study = create_study("s", "memory", policy="MaxInP")
    study.add_arms(["x", "y", "z"], features(3))
    play(study, 3)
    study.add_arms(["huge"], 1e6 * features(1))
    play(study, 3)
    assert study.policy().snapshot() == rebuilt(study).snapshot()
