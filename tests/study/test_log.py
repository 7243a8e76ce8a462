"""The policy is a fold over the log, to the bit, whatever shortcut was taken to it."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from duelist.errors import InvalidInput, NothingToAsk, UnknownArm
from duelist.study import ChosenBy, Outcome, Source, Study, Vote, _fold, create_study, standing
from duelist.study._fold import SNAPSHOTS_KEPT, standing_lessons
from duelist.study.storage._base import Lesson
from tests.study.busy import rebuilt
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
    assert np.any(study.policy().theta_)


def test_asking_leaves_no_trace() -> None:
    study, quiet = filled("one"), filled("two")
    play(study, 5)
    play(quiet, 5)
    for k in range(8):
        study.ask(f"rater {k}")
    assert study.policy().snapshot() == quiet.policy().snapshot()


def test_snapshots_are_stored_pruned_and_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fold, "SNAPSHOT_EVERY", 8)
    study = filled(policy="VACDB", n_arms=9)
    play(study, 100)
    assert snapshots(study) == [0, 72, 80, 88, 96]
    assert len(snapshots(study)) == SNAPSHOTS_KEPT + 1
    study._known.fold.forget()
    assert study.policy().snapshot() == rebuilt(study).snapshot()


def test_a_revision_drops_the_snapshots_that_knew_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fold, "SNAPSHOT_EVERY", 8)
    study = filled(policy="VACDB", n_arms=9)
    play(study, 30)
    old = study.policy().snapshot()
    number = next(vote.duel_id for vote in study.votes() if vote.sequence == 18)
    study.tell(number, "first", "ana", revise=True)
    study.tell(number, "second", "ana", revise=True)
    assert [s for s in snapshots(study) if s < 30] == [0, 8, 16]
    assert study.policy().snapshot() == rebuilt(study).snapshot() != old
    study._known.fold.forget()
    assert study.policy().snapshot() == rebuilt(study).snapshot()
    study.undo(number, "ana")
    study._known.fold.forget()
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
        lessons = [Lesson(v.sequence, root, v.outcome, 0, 1, 0, 1.0) for v, root in zip(votes, roots, strict=True)]
        expected = [vote.sequence for vote in standing(votes)]
        assert [lesson.sequence for lesson in standing_lessons(lessons)] == expected


def test_an_error_in_the_middle_leaves_the_log_and_the_policy_alone(url: str) -> None:
    """A transaction that fails after the vote was learned takes it back everywhere."""
    study = filled(storage=url)
    play(study, 3)
    before, log = study.policy().snapshot(), study.votes()
    duel = study.ask("ana")
    with pytest.raises(ZeroDivisionError), study._writing() as tx:  # noqa: PT012
        from duelist.study._telling import Told, tell

        tell(tx, study._known, Told(duel.id, "ana", Outcome.FIRST, Source.HUMAN, None, False), 10**15)
        study._known.fold.follow(tx, study._known.arms)
        raise ZeroDivisionError
    assert study.votes() == log
    assert study.policy().snapshot() == before
    assert study.tell(duel.id, "first", "ana").sequence == 4


def test_a_study_that_never_asked_has_no_policy() -> None:
    with pytest.raises(NothingToAsk, match="never asked"):
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
    assert [(v.first, v.second, v.outcome, v.told_at) for v in votes] == [
        (v.first, v.second, v.outcome, v.told_at) for v in history(300)
    ]
    assert {vote.chosen_by for vote in votes} == {ChosenBy.IMPORT}
    assert snapshots(study) == [0, 300]
    assert np.any(study.policy().theta_)
    play(study, 10)
    assert study.policy().snapshot() == rebuilt(study).snapshot()
    assert study.votes()[300].told_at > votes[-1].told_at


def test_only_standing_votes_are_imported() -> None:
    study = filled()
    votes = history(3)
    undone = Vote(4, 1, None, None, votes[0].told_at, votes[0].first, votes[0].second, revises=1)
    assert study.add_votes([*votes, undone]) == 2
    assert study.add_votes([]) == 0
    assert len(study) == 2


def test_an_import_is_all_or_nothing() -> None:
    study = filled()
    good = history(3)
    for bad, error, match in (
        (Vote(4, 4, Outcome.TIE, None, good[0].told_at, "a0", "nobody"), UnknownArm, "'nobody'"),
        (Vote(4, 4, Outcome.TIE, None, good[0].told_at, "a0", "a0"), InvalidInput, "with itself"),
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
