"""The log as analyses see it equals `current_votes(study.votes())` after every kind of change."""

import threading
import time

import numpy as np
import pytest

import duelist as dl
from duelist.core.errors import DisconnectedArms
from duelist.study import create_study, current_votes, load_study
from duelist.study.analysis import as_vote_table, fit_with_misfit_test, leaderboard_from_fit, win_matrix
from duelist.study.analysis.fit import vote_log
from duelist.study.records import DuelKind, Outcome, counted_votes
from duelist.study.storage import RaterRow
from tests.study.conftest import features

OUTCOMES = ["first", "second", "tie", "both_bad", "skip"]


def fresh(url="memory", n_arms=6, **settings):
    study = create_study("s", storage=url, policy="MaxInP", repeat_pairs=0, **settings)
    study.add_arms([f"a{k}" for k in range(n_arms)], features(n_arms))
    return study


def play(study, rng, rounds, raters=("ana", "ben")):
    for _ in range(rounds):
        rater = str(rng.choice(raters))
        duel = study.ask(rater)
        study.tell(duel.id, str(rng.choice(OUTCOMES)), rater, response_seconds=float(rng.integers(1, 9)))


def columns_of(log, arms):
    """A log as a list of plain rows, to be compared."""
    return [
        (
            arms[log.first[k]], arms[log.second[k]], int(log.outcome[k]), "" if log.rater[k] < 0 else log.raters[log.rater[k]],
            int(log.duel[k]), int(log.voted_at[k]), str(log.seconds[k]), int(log.kind[k]), int(log.chosen_by[k]),
        )
        for k in range(len(log))
    ]  # fmt: skip


def seen(study, **scope):
    """Compare the votes that an analysis selects with those of the log."""
    from duelist.study.analysis.fit.selection import SelectionOptions

    return study._select(SelectionOptions(**scope))


def assert_up_to_date(study):
    arms = [arm.id for arm in study.arms()]
    expected = as_vote_table([v for v in current_votes(study.votes()) if not v.excluded], arms)
    assert columns_of(seen(study).log, arms) == columns_of(expected, arms)


@pytest.mark.parametrize("chunk", [3, 8192])
def test_analyses_follow_the_log_through_revisions_and_undone_votes(url, chunk, monkeypatch):
    """A study that reads all the time, one that reads at the end, and the votes themselves say the same."""
    monkeypatch.setattr(vote_log, "CHUNK", chunk)
    rng = np.random.default_rng(0)
    study = fresh(url)
    for _ in range(6):
        play(study, rng, 5)
        mine = [v for v in study.votes() if v.revises is None]
        one, other = (mine[int(k)] for k in rng.choice(len(mine), 2, replace=False))
        study.tell(one.duel_id, "tie", one.rater, revise=True)
        study.tell(one.duel_id, "second", one.rater, revise=True)
        if standing_of(study, other) is not None:
            study.undo(other.duel_id, other.rater)
        assert_up_to_date(study)
    assert_up_to_date(load_study("s", url))


def standing_of(study, vote):
    return next((v for v in current_votes(study.votes()) if (v.duel_id, v.rater) == (vote.duel_id, vote.rater)), None)


def test_a_log_that_was_handed_out_does_not_change():
    study = fresh()
    rng = np.random.default_rng(1)
    play(study, rng, 20)
    before = seen(study).log
    rows = columns_of(before, [f"a{k}" for k in range(6)])
    first = study.votes()[0]
    study.tell(first.duel_id, "tie" if first.outcome != "tie" else "first", first.rater, revise=True)
    play(study, rng, 2000)  # long enough for the columns to be moved
    assert len(seen(study).log) == 2020
    assert columns_of(before, [f"a{k}" for k in range(6)]) == rows


def test_fits_are_kept_until_something_is_new():
    study = fresh()
    play(study, np.random.default_rng(2), 30)
    board = study.leaderboard()
    kept = next(iter(study._cache._fits.values())).fit
    assert study.leaderboard() == board
    study.progress()
    assert [entry.fit is kept for entry in study._cache._fits.values()] == [True]
    play(study, np.random.default_rng(3), 1)
    assert_same(study.leaderboard(), load_study_again(study).leaderboard())
    assert len(study._cache._fits) == 1


def load_study_again(study):
    """The same study, with nothing in memory."""
    from duelist.study.study import Study

    return Study(study._storage, study._storage.find_study(study.name))


def assert_same(one, other):
    """Two leaderboards, but for rounding."""
    for name in ("arm", "best_rank", "worst_rank", "votes", "wins", "ties", "both_bad", "group"):
        assert [getattr(s, name) for s in one.standings] == [getattr(s, name) for s in other.standings]
    for name in ("utility", "low", "high", "chance_best"):
        mine, theirs = ([getattr(s, name) for s in board.standings] for board in (one, other))
        assert np.allclose(mine, theirs, rtol=0, atol=1e-11)


def test_a_warm_reading_says_what_a_cold_one_says():
    """Begun from the fit before, ended at the same minimum."""
    study = fresh(n_arms=8)
    rng = np.random.default_rng(4)
    for _ in range(5):
        play(study, rng, 20)
        assert_same(study.leaderboard(), load_study_again(study).leaderboard())
        assert study.progress().done == study.recommend().decided


def board_with(votes, arms, x):
    """What a study with these features says of votes; where they do not explain the votes, arms have arm effects."""
    return leaderboard_from_fit(fit_with_misfit_test(as_vote_table(votes, arms), arms, x))


def test_who_is_left_out_is_left_out_of_every_reading_and_can_come_back(url):
    study = fresh(url)
    play(study, np.random.default_rng(5), 40)
    whole = study.leaderboard()
    set_rater(study, "ben", excluded=True)
    ana = [v for v in current_votes(study.votes()) if v.rater == "ana"]
    arms = [arm.id for arm in study.arms()]
    x = np.asarray(study.features(), np.float64)
    assert_same(study.leaderboard(), board_with(ana, arms, x))
    assert np.array_equal(study.win_matrix().wins, win_matrix(ana, arms).wins)
    assert_same(study.leaderboard(everyone=True), whole)
    assert_same(study.leaderboard(everyone=True, without="ben"), study.leaderboard())
    rows = {row.rater: row for row in study.raters().rows}
    assert (rows["ana"].excluded, rows["ben"].excluded) == (False, True)
    set_rater(study, "ben", excluded=False)
    assert_same(study.leaderboard(), whole)
    with pytest.raises(dl.InvalidInput, match="without has 'zoe', a rater without votes here"):
        study.leaderboard(without=["zoe"])


def set_rater(study, name, excluded=False):
    with study._storage.writing(study._id) as tx:
        tx.put_rater(RaterRow(name, {}, False, excluded, False, None, 0))
        tx.counters.revision += 1
        tx.counters.counting_revision += 1


def test_an_erased_rater_is_nowhere(url):
    study = fresh(url)
    play(study, np.random.default_rng(6), 20)
    study.raters()
    with study._storage.writing(study._id) as tx:
        tx.erase_rater("ben", "rater 1")
        tx.put_rater(RaterRow("rater 1", {}, False, False, True, None, 0))
        tx.counters.revision += 1
        tx.counters.counting_revision += 1
    assert {row.rater for row in study.raters().rows} == {"ana", "rater 1"}
    assert_up_to_date(study)


def test_gold_and_repeated_duels_and_other_criteria_do_not_judge_arms(url):
    study = fresh(url)
    play(study, np.random.default_rng(7), 12)
    with study._storage.writing(study._id) as tx:
        duels, votes = tx.duels_since(0), tx.votes_since(0)
        more = [
            (duels[0]._replace(kind=DuelKind.GOLD, expected=Outcome.FIRST), votes[0]._replace(outcome=Outcome.FIRST)),
            (duels[1]._replace(kind=DuelKind.REPEAT), votes[1]),
            (duels[2], votes[2]._replace(criterion="style")),
        ]
        for duel, vote in more:
            tx.counters.n_duels += 1
            tx.counters.n_votes += 1
            at = tx.counters.n_votes
            tx.add_duels([duel._replace(number=tx.counters.n_duels, free=0)])
            tx.add_votes([vote._replace(sequence=at, root=at, revises=None, duel=tx.counters.n_duels)])
    arms, x = [arm.id for arm in study.arms()], np.asarray(study.features(), np.float64)
    votes = current_votes(study.votes())
    assert len(votes) == 15
    assert_same(study.leaderboard(), board_with(counted_votes(votes), arms, x))
    assert_same(study.leaderboard(criterion="style"), board_with(counted_votes(votes, "style"), arms, x))
    assert sum(row.gold for row in study.raters().rows) == 1
    assert {row.gold_right for row in study.raters().rows if row.gold} == {1.0}
    with pytest.raises(
        dl.InvalidInput, match=r"criterion is 'tone', and no vote has it\. Criteria with votes: 'style'"
    ):
        study.leaderboard(criterion="tone")


# -- retired arms, and arms that never met -------------------------------------------------------


def test_retired_arms_are_in_no_reading_and_their_votes_teach():
    study = fresh()
    play(study, np.random.default_rng(8), 60)
    leader = study.leaderboard().standings[0].arm
    study.retire([leader])
    board = study.leaderboard()
    assert leader not in {s.arm for s in board.standings}
    assert board.votes == study.leaderboard(retired=True).votes
    assert leader not in study.win_matrix().arms
    assert leader not in study.win_chances().arms
    assert leader not in study.history(points=2).arms
    assert leader != study.progress().leader == study.recommend().best == board.standings[0].arm
    assert study.progress().arms == 5
    assert leader in {s.arm for s in study.leaderboard(retired=True).standings}
    kept = {s.arm: s.utility for s in study.leaderboard(retired=True).standings}
    shift = {s.arm: s.utility - kept[s.arm] for s in board.standings}
    assert np.ptp(list(shift.values())) < 1e-12  # the same fit, relative to the mean of active arms
    study.retire([s.arm for s in board.standings])
    with pytest.raises(dl.InvalidInput, match=r"which has no active arms\. Add or activate some"):
        study.leaderboard()


def plain(contexts=None):
    """Arms without features: a feature each."""
    study = create_study("plain", storage="memory", policy="MaxInP", repeat_pairs=0)
    study.add_arms([f"a{k}" for k in range(4)], np.eye(4), contexts=contexts)
    return study


def test_contexts_that_never_meet_are_said_to_be_so():
    study = plain(["one", "one", "two", "two"])
    for _ in range(200):
        duel = study.ask("ana")
        study.tell(duel.id, "first" if duel.first.id < duel.second.id else "second", "ana")
    with pytest.warns(DisconnectedArms, match="fall into 2 groups that no vote connects"):
        board = study.leaderboard()
    assert board.standings[0].group == 1
    groups = {s.arm: s.group for s in board.standings}
    assert groups["a0"] == groups["a1"] != groups["a2"] == groups["a3"]
    assert str(board).splitlines()[0].split()[-1] == "group"
    with pytest.warns(DisconnectedArms):
        found = study.recommend()
    with pytest.warns(DisconnectedArms):
        assert not study.progress().done
    assert not found.decided  # nothing compares the best of the one with the best of the other
    assert study.recommend("one").decided
    assert study.recommend("one").best == "a0"
    assert study.leaderboard("one").note is None


def test_features_compare_what_never_met():
    study = create_study("linear", storage="memory", policy="MaxInP", repeat_pairs=0)
    study.add_arms([f"a{k}" for k in range(4)], features(4), contexts=["one", "one", "two", "two"])
    play(study, np.random.default_rng(9), 40)
    board = study.leaderboard()  # no warning
    assert "only their features compare arms of different groups" in board.note


# -- raters do not wait for an analysis ----------------------------------------------------


def test_a_reading_that_takes_long_keeps_nobody_waiting(sqlite_url, monkeypatch):
    """While one thread is in an analysis, between two chunks or in the fit, another asks and tells."""
    study = fresh(sqlite_url)
    play(study, np.random.default_rng(10), 10)
    inside, go_on = threading.Event(), threading.Event()
    take = vote_log.VoteLog._take_votes

    def slow(self, new):
        inside.set()
        assert go_on.wait(20)
        take(self, new)

    monkeypatch.setattr(vote_log.VoteLog, "_take_votes", slow)
    reader = threading.Thread(target=study.leaderboard)
    reader.start()
    assert inside.wait(20)
    start = time.monotonic()
    play(study, np.random.default_rng(11), 3)
    waited = time.monotonic() - start
    go_on.set()
    reader.join(20)
    assert not reader.is_alive()
    assert waited < 15  # it would have been 20, and an error
    assert study.leaderboard().votes <= 13
