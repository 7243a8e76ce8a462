"""The contract of a storage: subclass it in your tests and override the fixture `storage`.

class TestMyStorage(StorageContract):
    @pytest.fixture
    def storage(self):
        return MyStorage()
"""

# ruff: noqa: S101, PT012 - pytest shows the values of a failed assertion, and whole blocks are tested

from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np
import pytest

from duelist.core.errors import DuelistError, StudyExists, UnknownStudy
from duelist.study.records import ChosenBy, DuelKind, Outcome, Source, StudySettings, StudyState
from duelist.study.storage import (
    ContextRow,
    DetailRow,
    FeatureChunk,
    LeaseRow,
    LeaseState,
    RaterVote,
    StagedRow,
    Storage,
    TrainingVote,
)
from duelist.testing.storage_rows import (
    NOW,
    SETTINGS,
    arm_row,
    duel_row,
    rater_row,
    read_everything,
    vote_row,
    write_everything,
)


class StorageContract:
    """What every storage promises."""

    @pytest.fixture
    def storage(self) -> Storage:
        """Return an empty storage: override this fixture."""
        raise NotImplementedError("give your storage as a fixture")

    @pytest.fixture
    def study(self, storage: Storage) -> int:
        """The id of an empty study."""
        created = storage.create_study("one", SETTINGS, NOW)
        assert created is not None
        return created

    def again(self, storage: Storage) -> Storage:
        """Open the same storage a second time; the storage itself if that is not possible."""
        return storage

    # -- studies -------------------------------------------------------------------------

    def test_study_round_trip(self, storage: Storage) -> None:
        """Name, settings and creation time come back unchanged."""
        created = storage.create_study("größer '; --", SETTINGS, NOW)
        row = self.again(storage).find_study("größer '; --")
        assert row is not None
        assert (row.id, row.name, row.settings, row.created_at) == (created, "größer '; --", SETTINGS, NOW)
        assert storage.find_study("other") is None

    def test_names_are_unique(self, storage: Storage, study: int) -> None:
        """A second study with the same name is rejected, and the first is unchanged."""
        assert storage.create_study("one", StudySettings("StaD"), NOW + 1) is None
        assert [(row.id, row.settings) for row in storage.list_studies()] == [(study, SETTINGS)]

    def test_studies_are_listed_oldest_first(self, storage: Storage, study: int) -> None:
        """Studies are listed by creation time."""
        for k, name in enumerate(["a later one", "a much later one"], start=1):
            storage.create_study(name, SETTINGS, NOW + k)
        assert [row.name for row in storage.list_studies()] == ["one", "a later one", "a much later one"]

    def test_deleting_removes_one_study_completely(self, storage: Storage, study: int) -> None:
        """Deleting a study deletes its rows and no others; its name can be used again."""
        other = storage.create_study("two", SETTINGS, NOW)
        assert other is not None
        for each in (study, other):
            with storage.writing(each) as tx:
                write_everything(tx)
        storage.delete_study(study)
        with pytest.raises(UnknownStudy), storage.writing(study):
            pass
        with storage.reading(other) as tx:
            assert all(read_everything(tx))
        fresh = storage.create_study("one", SETTINGS, NOW)
        assert fresh is not None
        with storage.reading(fresh) as tx:
            assert not any(read_everything(tx))

    def test_study_ids_are_not_reused(self, storage: Storage, study: int) -> None:
        """Ids of deleted studies are never reused, so that no caller writes to a later study by mistake."""
        storage.delete_study(study)
        assert storage.create_study("one", SETTINGS, NOW) != study
        with pytest.raises(UnknownStudy), storage.writing(study):
            pass

    def test_deleting_an_unknown_study_raises_an_error(self, storage: Storage, study: int) -> None:
        """Deleting an unknown study raises UnknownStudy."""
        storage.delete_study(study)
        with pytest.raises(UnknownStudy):
            storage.delete_study(study)

    def test_studies_are_independent(self, storage: Storage, study: int) -> None:
        """Two studies may use the same numbers and ids."""
        other = storage.create_study("two", SETTINGS, NOW)
        assert other is not None
        with storage.writing(study) as tx:
            write_everything(tx)
        with storage.writing(other) as tx:
            assert not any(read_everything(tx))
            write_everything(tx)

    def test_study_can_be_changed(self, storage: Storage, study: int) -> None:
        """Name, settings and state can change; a name that is taken is rejected, and nothing changes."""
        storage.create_study("two", SETTINGS, NOW)
        other = StudySettings("StaD", seed=1)
        with storage.writing(study) as tx:
            tx.put_study("new näme", other, StudyState.PAUSED)
            tx.counters.revision += 1
        assert storage.find_study("one") is None
        row = self.again(storage).find_study("new näme")
        assert row is not None
        assert (row.id, row.settings, row.state, row.counters.revision) == (study, other, StudyState.PAUSED, 1)
        with storage.reading(study) as tx:
            assert tx.study() == row
        with pytest.raises(StudyExists), storage.writing(study) as tx:
            tx.put_rater(rater_row("ana"))
            tx.put_study("two", other, StudyState.OPEN)
        with storage.reading(study) as tx:
            assert (tx.study(), tx.raters()) == (row, [])

    def test_restore_is_atomic(self, storage: Storage, study: int) -> None:
        """A study is restored with rows and counters in one transaction, or not at all."""
        with pytest.raises(ZeroDivisionError), storage.restoring("two", SETTINGS, NOW) as tx:
            write_everything(tx)
            raise ZeroDivisionError
        assert [row.name for row in storage.list_studies()] == ["one"]
        with storage.restoring("two", SETTINGS, NOW) as tx:
            write_everything(tx)
            written, counters = read_everything(tx), tx.counters
        row = self.again(storage).find_study("two")
        assert row is not None
        assert (row.created_at, row.counters) == (NOW, counters)
        with storage.reading(row.id) as tx:
            assert read_everything(tx) == written
        with pytest.raises(StudyExists), storage.restoring("one", SETTINGS, NOW):
            pass

    # -- transactions --------------------------------------------------------------------

    def test_writes_are_visible_after_commit(self, storage: Storage, study: int) -> None:
        """Committed rows and counters are visible to everyone."""
        with storage.writing(study) as tx:
            write_everything(tx)
            written, counters = read_everything(tx), tx.counters
        with self.again(storage).reading(study) as tx:
            assert all(written)
            assert read_everything(tx) == written
            assert tx.counters == counters

    def test_errors_roll_back(self, storage: Storage, study: int) -> None:
        """An error rolls back the whole transaction, or its savepoint, and what follows is not affected."""
        with pytest.raises(ZeroDivisionError), storage.writing(study) as tx:
            write_everything(tx)
            raise ZeroDivisionError
        with storage.writing(study) as tx:
            assert not any(read_everything(tx))
            assert tx.counters.n_votes == 0
            for number in (1, 2, 3):
                with contextlib.suppress(ZeroDivisionError), tx.savepoint():
                    tx.add_duels([duel_row(number)])
                    tx.counters.n_duels += 1 // (number != 2)
            assert ([duel.number for duel in tx.duels_since(0)], tx.counters.n_duels) == ([1, 3], 2)

    def test_writers_are_serialized(self, storage: Storage, study: int) -> None:
        """Writers are serialized: four threads count to a hundred without losing a step."""

        def count() -> None:
            mine = self.again(storage)
            for _ in range(25):
                with mine.writing(study) as tx:
                    tx.counters.n_duels += 1

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with storage.reading(study) as tx:
            assert tx.counters.n_duels == 100

    def test_readers_see_a_snapshot(self, storage: Storage, study: int) -> None:
        """A reader sees a consistent snapshot; later writes are visible to the next reader."""

        def write() -> None:
            with self.again(storage).writing(study) as tx:
                write_everything(tx)

        writer = threading.Thread(target=write)
        with storage.reading(study) as tx:
            writer.start()
            writer.join(timeout=0.3)
            assert not any(read_everything(tx))
        writer.join()
        with storage.reading(study) as tx:
            assert all(read_everything(tx))

    def test_readers_cannot_write(self, storage: Storage, study: int) -> None:
        """Changing counters while reading is an error; rows written by a reader are rejected or rolled back."""
        with pytest.raises(DuelistError), storage.reading(study) as tx:
            tx.counters.n_votes = 7
        with contextlib.suppress(DuelistError), storage.reading(study) as tx:
            tx.add_arms([arm_row(0)])
        with storage.reading(study) as tx:
            assert tx.counters.n_votes == 0
            assert tx.arms_since(0) == []

    # -- arms and features ---------------------------------------------------------------

    def test_arm_round_trip(self, storage: Storage, study: int) -> None:
        """Payloads may be any JSON, ids and contexts any text."""
        payloads: list[Any] = [None, "täxt", {"image": "a/b.png", "n": [1, 2.5, None, True]}, 0, [], "", False]
        rows = [arm_row(k, payload=p, context=None if k % 2 else "wört") for k, p in enumerate(payloads)]
        rows.append(arm_row(len(rows), context="p", system="größtes", category="jazz"))
        with storage.writing(study) as tx:
            tx.add_arms(rows)
        with storage.reading(study) as tx:
            assert tx.arms_since(0) == rows

    def test_changed_arms_are_found(self, storage: Storage, study: int) -> None:
        """Arms are found by the revision of their last change."""
        with storage.writing(study) as tx:
            tx.add_arms([arm_row(k) for k in range(4)])
            tx.set_retired([1], True, revision=2)
            tx.touch_arms([3], revision=3)
            assert tx.arms_since(1) == [arm_row(1, 2, retired=True), arm_row(3, 3)]
            assert tx.arms_since(2) == [arm_row(3, 3)]
            tx.set_retired([1], False, revision=4)
            assert tx.arms_since(3) == [arm_row(1, 4)]

    def test_arm_ids_are_unique(self, storage: Storage, study: int) -> None:
        """A second arm with the same id is rejected."""
        with pytest.raises(DuelistError), storage.writing(study) as tx:
            tx.add_arms([arm_row(0), arm_row(1, id="arm 0")])

    def test_feature_round_trip(self, storage: Storage, study: int) -> None:
        """Features come back bit for bit, in chunks and in order, including extremes and negative zero."""
        values = np.array([[1e-45, -0.0, 3.4e38], [np.pi, -1.0, 0.0], [1.0, 2.0, 3.0]], np.float32)
        with storage.writing(study) as tx:
            tx.add_features(FeatureChunk(2, np.array([7]), values[2:]))
            tx.add_features(FeatureChunk(0, np.array([5, 6]), values[:2]))
        with storage.reading(study) as tx:
            chunks = list(tx.features_since(0))
            assert [c.first_row for c in chunks] == [0, 2]
            assert np.concatenate([c.arms for c in chunks]).tolist() == [5, 6, 7]
            assert np.concatenate([c.vectors for c in chunks]).tobytes() == values.tobytes()
            assert [c.first_row for c in tx.features_since(1)] == [2]

    def test_features_keep_their_precision(self, storage: Storage, study: int) -> None:
        """Features come back bit for bit, in single or double precision."""
        double = np.array([[1700000003.1, -0.0], [1e-300, 0.1]])
        given = [double, double.astype(np.float32)]
        with storage.writing(study) as tx:
            for k, values in enumerate(given):
                tx.add_features(FeatureChunk(2 * k, np.array([0, 1]), values))
        with storage.reading(study) as tx:
            found = [(c.vectors.dtype.itemsize, c.vectors.tobytes()) for c in tx.features_since(0)]
        assert found == [(values.itemsize, values.tobytes()) for values in given]

    def test_context_round_trip(self, storage: Storage, study: int) -> None:
        """Payloads may be any JSON; contexts are found by the revision of their last change."""
        rows = [ContextRow(name, payload, 1) for name, payload in (("a", [{"role": "user"}]), ("b", None), ("ü", "q"))]
        with storage.writing(study) as tx:
            tx.put_contexts(rows)
            tx.put_contexts([ContextRow("b", "now", 2)])
            tx.put_contexts([])
        with storage.reading(study) as tx:
            assert tx.contexts_since(0) == [rows[0], ContextRow("b", "now", 2), rows[2]]
            assert tx.contexts_since(1) == [ContextRow("b", "now", 2)]
            assert tx.contexts(["ü", "none", *map(str, range(1000)), "b"]) == {"ü": "q", "b": "now"}

    def test_details_and_staged_rows(self, storage: Storage, study: int) -> None:
        """Details and staged rows come back in order; dropped rows are gone."""
        kept = [DetailRow(1, "a"), DetailRow(4, {"ü": [1]}), DetailRow(9, None)]
        waiting = [StagedRow(1, 0, b""), StagedRow(2, 0, bytes(range(256)))]
        with storage.writing(study) as tx:
            tx.add_details(kept[::-1])
            tx.add_staged(waiting[::-1])
        with storage.writing(study) as tx:
            assert (tx.details_between(1 - 1, 9), tx.details_between(2 - 1, 4)) == (kept, kept[1:2])
            assert tx.staged() == waiting
            tx.drop_staged([1])
            assert tx.staged() == waiting[1:]

    def test_rater_round_trip(self, storage: Storage, study: int) -> None:
        """Raters come back with all fields, by name, and can be updated."""
        first = rater_row("ben", attributes={"größe": [1, None]}, blocked=True, excluded=True, blocked_at=NOW + 1)
        first = first._replace(participation={"parameters": {"PID": "größe"}, "entered_at": NOW})
        with storage.writing(study) as tx:
            tx.put_rater(first)
            tx.put_rater(rater_row("ana", erased=True))
        with storage.writing(study) as tx:
            assert tx.raters() == [rater_row("ana", erased=True), first]
            tx.put_rater(first._replace(blocked=False))
            assert tx.raters()[1] == first._replace(blocked=False)

    def test_rater_erasure(self, storage: Storage, study: int) -> None:
        """Erasing a rater replaces their name everywhere, and deletes reasons and extra details."""
        with storage.writing(study) as tx:
            tx.add_duels([duel_row(1), duel_row(2), duel_row(3)])
            details = {"prompt": "why?", "extra": {"mail": "b@n"}}
            tx.add_details([DetailRow(1, {"extra": {}}), DetailRow(2, details), DetailRow(3, {"extra": {"ip": "::1"}})])
            for rater in ("ana", "ben"):
                tx.put_lease(LeaseRow(1, rater, LeaseState.VOTED, NOW, NOW))
                tx.put_rater(rater_row(rater))
            votes = [
                vote_row(1, reason="because"),
                vote_row(2, duel=2, rater="ben", reason="why not"),
                vote_row(3, duel=3, rater="ben"),
            ]
            tx.add_votes(votes)
            assert (tx.first_vote_of("ben"), tx.first_vote_of("x")) == (2, None)
            tx.erase_rater("ben", "erased-1")
        with storage.reading(study) as tx:
            gone = [vote._replace(rater="erased-1", reason=None) for vote in votes[1:]]
            assert tx.votes_since(0) == [votes[0], *gone]
            assert tx.details_between(0, 3) == [DetailRow(1, {"extra": {}}), DetailRow(2, {"prompt": "why?"})]
            assert [row.name for row in tx.raters()] == ["ana", "erased-1"]
            assert (tx.leases_of("ben"), tx.first_vote_of("ben"), tx.first_vote_of("erased-1")) == ([], None, 2)
            assert [lease.duel for lease in tx.leases_of("erased-1")] == [1]

    # -- duels and leases ----------------------------------------------------------------

    def test_duel_round_trip(self, storage: Storage, study: int) -> None:
        """Duels come back with all fields, floats bit for bit."""
        rows = [
            duel_row(1, context="c", chosen_by=ChosenBy.RANDOM, propensity=0.1 / 3, swapped=True, layer=3, share=1 / 7),
            duel_row(2, first_row=2**40, chosen_by=ChosenBy.IMPORT, layer=-1, share=0.0, free=2),
            duel_row(3, chosen_by=ChosenBy.OWNER, kind=DuelKind.GOLD, expected=Outcome.TIE),
        ]
        with storage.writing(study) as tx:
            tx.add_duels(rows)
        with storage.reading(study) as tx:
            assert tx.duels_since(0) == rows
            assert tx.duels_since(1) == rows[1:]
            assert (tx.duel(1), tx.duel(4)) == (rows[0], None)
            assert [tx.duels_between(0, 2), tx.duels_between(2, 9)] == [rows[:2], rows[2:]]

    def test_open_duels(self, storage: Storage, study: int) -> None:
        """Open duels: fewest free places first, then oldest; by context, and without those the rater has voted on."""
        with storage.writing(study) as tx:
            room = {1: 2, 2: 1, 3: 0, 4: 1, 5: 2}
            tx.add_duels([duel_row(n, free=free, context="odd" if n % 2 else None) for n, free in room.items()])
            tx.put_lease(LeaseRow(2, "ana", LeaseState.VOTED, NOW, NOW))
            tx.put_lease(LeaseRow(4, "ana", LeaseState.RETURNED, NOW, NOW))
            assert [d.number for d in tx.waiting_duels("ben", None, 9)] == [2, 4, 1, 5]
            assert [d.number for d in tx.waiting_duels("ana", None, 9)] == [4, 1, 5]
            assert [d.number for d in tx.waiting_duels("ana", None, 2)] == [4]
            assert [d.number for d in tx.waiting_duels("ana", "odd", 9)] == [1, 5]
            tx.set_free(1, 0)
            assert [d.number for d in tx.waiting_duels("ana", "odd", 9)] == [5]

    def test_lease_update(self, storage: Storage, study: int) -> None:
        """There is one lease per duel and rater; open ones are listed with their duels, oldest duel first."""
        lease = LeaseRow(2, "ana", LeaseState.OPEN, NOW, NOW + 5)
        with storage.writing(study) as tx:
            tx.add_duels([duel_row(1), duel_row(2, share=0.25)])
            tx.put_lease(lease)
            tx.put_lease(lease._replace(duel=1, rater="ben"))
            tx.put_lease(lease._replace(rater="cleo", state=LeaseState.VOTED))
            tx.put_lease(lease._replace(asked_at=NOW + 1, deadline=NOW + 6))
        with storage.reading(study) as tx:
            newer = lease._replace(asked_at=NOW + 1, deadline=NOW + 6)
            assert tx.open_leases() == [
                (lease._replace(duel=1, rater="ben"), duel_row(1)),
                (newer, duel_row(2, share=0.25)),
            ]
            assert tx.lease(2, "ana") == newer
            assert tx.lease(1, "ana") is None

    def test_leases_between_duels(self, storage: Storage, study: int) -> None:
        """Leases are ordered by duel and then by name in code point order, whatever the collation."""
        names = ["Zoe", "ana", "zoe", "Änne", "\U0001f600"]
        rows = [LeaseRow(duel, name, LeaseState.VOTED, NOW, NOW) for duel in (1, 2, 3) for name in names]
        with storage.writing(study) as tx:
            tx.add_duels([duel_row(number) for number in (1, 2, 3)])
            tx.add_leases(rows[::-1])
            assert tx.leases_between(0, 2) == rows[:10]
            assert tx.leases_between(2, 3) == rows[10:]

    # -- the log -------------------------------------------------------------------------

    def test_vote_round_trip(self, storage: Storage, study: int) -> None:
        """Votes come back with all fields; the latest row of a rater on a duel is found."""
        rows = [
            vote_row(1, outcome=Outcome.BOTH_BAD, source=Source.MODEL, response_seconds=0.1, late=True),
            vote_row(2, rater=None, response_seconds=None, source=Source.IMPORT),
            vote_row(3, duel=1, outcome=None, revises=1, root=1),
            vote_row(4, voted_at=None, reason="wärum", batch=2),
            vote_row(5, duel=4, criterion="short"),
        ]
        with storage.writing(study) as tx:
            tx.add_votes(rows)
        with storage.reading(study) as tx:
            assert tx.votes_since(0) == rows
            assert tx.votes_since(2) == rows[2:]
            assert tx.last_vote(1, "ana") == rows[2]
            assert tx.last_vote(1, "ben") is None
            assert (tx.last_vote(4, "ana"), tx.last_vote(4, "ana", "short")) == (rows[3], rows[4])
            assert tx.votes_between(1, 3) == rows[1:3]

    def test_first_votes_are_unique(self, storage: Storage, study: int) -> None:
        """A second first vote of a rater on a duel and criterion is rejected, and rolls back the transaction."""
        for criterion in (None, "short"):
            with pytest.raises(DuelistError), storage.writing(study) as tx:
                tx.add_votes([vote_row(1, criterion=criterion)])
                tx.add_votes([vote_row(2, duel=1, criterion=criterion)])
        with storage.reading(study) as tx:
            assert tx.votes_since(0) == []

    def test_training_votes(self, storage: Storage, study: int) -> None:
        """Rows of the log come with what to learn from their duels, in order."""
        with storage.writing(study) as tx:
            tx.add_duels([duel_row(1, first_row=4, second_row=9, layer=2, share=0.5), duel_row(2)])
            tx.add_votes([vote_row(1, duel=2), vote_row(2, duel=1, outcome=Outcome.SKIP)])
            tx.add_votes([vote_row(3, duel=2, outcome=None, revises=1, root=1)])
            assert tx.training_votes_since(0) == [
                TrainingVote(1, 1, Outcome.FIRST, 0, 1, 0, 1.0, None, "ana"),
                TrainingVote(2, 2, Outcome.SKIP, 4, 9, 2, 0.5, None, "ana"),
                TrainingVote(3, 1, None, 0, 1, 0, 1.0, None, "ana"),
            ]
            assert [lesson.sequence for lesson in tx.training_votes_since(2)] == [3]

    def test_training_votes_exclude_gold_and_excluded_raters(self, storage: Storage, study: int) -> None:
        """Votes on gold and repeated duels, and those of excluded raters, are not learned; anonymous ones are."""
        with storage.writing(study) as tx:
            kinds = (DuelKind.NORMAL, DuelKind.GOLD, DuelKind.REPEAT, DuelKind.NORMAL, DuelKind.NORMAL)
            tx.add_duels([duel_row(number, kind=kind) for number, kind in enumerate(kinds, start=1)])
            tx.add_votes([vote_row(number) for number in (1, 2, 3)])
            tx.add_votes([vote_row(4, rater=None, criterion="short"), vote_row(5, rater="ben")])
            tx.put_rater(rater_row("ben", blocked=True))
            assert [(x.sequence, x.criterion) for x in tx.training_votes_since(0)] == [
                (1, None),
                (4, "short"),
                (5, None),
            ]
            tx.put_rater(rater_row("ana", excluded=True))
            assert [lesson.sequence for lesson in tx.training_votes_since(0)] == [4, 5]
            assert [lesson.sequence for lesson in tx.training_votes_since(0, include_excluded=True)] == [1, 4, 5]

    def test_votes_of_a_rater(self, storage: Storage, study: int) -> None:
        """The votes of a rater after a row come with the items shown; so do the sides of all duels."""
        with storage.writing(study) as tx:
            tx.add_duels([duel_row(1), duel_row(2, first_row=5, second_row=4), duel_row(3, first_row=2, second_row=7)])
            tx.add_votes(
                [
                    vote_row(1),
                    vote_row(2, rater="ben"),
                    vote_row(3, duel=2),
                    vote_row(4, duel=1, outcome=None, revises=1, root=1),
                ]
            )
        with self.again(storage).reading(study) as tx:
            assert tx.votes_of("ana", 0) == [
                RaterVote(1, 1, Outcome.FIRST, None, 0, 1),
                RaterVote(3, 2, Outcome.FIRST, None, 5, 4),
                RaterVote(4, 1, None, 1, 0, 1),
            ]
            assert [row.sequence for row in tx.votes_of("ana", 1)] == [3, 4]
            assert tx.votes_of("erased-1", 0) == []
            assert sorted(tx.sides_since(1).tolist()) == [[2, 7], [5, 4]]
            assert tx.sides_since(3).shape == (0, 2)

    def test_snapshots(self, storage: Storage, study: int) -> None:
        """The latest snapshot before a row is found; dropped ones are gone."""
        body = bytes(range(256)) * 100
        with storage.writing(study) as tx:
            assert tx.snapshot_before(10) is None
            tx.put_snapshot(0, b"first")
            tx.put_snapshot(8, body)
            tx.put_snapshot(4, b"")
        with storage.writing(study) as tx:
            assert tx.snapshot_before(9) == (8, body)
            assert tx.snapshot_before(8) == (4, b"")
            assert tx.snapshot_sequences() == [0, 4, 8]
            tx.drop_snapshots([4, 8])
            tx.drop_snapshots([])
            assert tx.snapshot_before(9) == (0, b"first")
