"""What a server asks of a study: pages of the log, the queue, tokens, files, forecasts, and values as plain JSON and back."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_ndtr

from duelist.core.errors import InvalidInput, UnknownArm, UnknownToken, VoteConflict
from duelist.core.serialization import from_plain, to_plain
from duelist.model.stopping import forecast_votes
from duelist.study import Outcome, Vote, create_study, open_storage, restore_study
from duelist.study.administration.tokens import Scope, create_token, find_token, list_tokens, revoke_token
from duelist.study.analysis import Calibration, Leaderboard, Raters, WinMatrix
from tests.study.conftest import Clock, filled


def test_a_duel_that_is_given_back_waits_for_the_next(url: str) -> None:
    study = filled(storage=url)
    duel = study.ask("ana")
    study.release(duel, "ana")
    study.release(duel, "ana")
    assert study.pending() == []
    assert study.ask("ben").id == duel.id
    with pytest.raises(VoteConflict, match="not asked"):
        study.release(duel, "cleo")
    study.tell(duel, "first", "ben")
    with pytest.raises(VoteConflict, match="Undo"):
        study.release(duel, "ben")
    assert study.tell(duel, "tie", "ana").outcome == "tie", "a vote that comes after all counts"


def test_besides_gives_another_even_where_duels_have_room(url: str) -> None:
    study = filled(storage=url, raters_per_duel=3)
    first = study.ask("ana")
    held = [first]
    for _ in range(3):
        held.append(study.ask("ana", in_progress=held))
        assert len({duel.id for duel in held}) == len(held)
    assert study.ask("ben").id in {duel.id for duel in held}
    assert study.ask("ana").id == first.id
    with study._storage.reading(study.id) as tx:
        assert all(0 <= duel.free <= 2 for duel in tx.duels_since(0))


def test_the_queue_tells_what_ran_out(clock: Clock) -> None:
    study = filled(lease_seconds=10.0)
    study._clock = clock
    one, other = study.ask("ana"), study.ask("ben")
    clock.seconds += 11
    queue = study.queue()
    assert (queue.pending, {duel.id for duel in queue.expired}, queue.returned) == ([], {one.id, other.id}, 2)
    study.tell(one, "first", "ana")
    assert study.queue().late == 1


def test_what_a_rater_did_is_what_stands() -> None:
    study = filled(n_arms=6)
    duels = [study.ask("ana") for outcome in ("first", "tie", "skip") if study.tell(study.ask("ana"), outcome, "ana")]
    assert duels
    study.tell(1, "second", "ana", revise=True)
    study.undo(2, "ana")
    found = study.rater_progress("ana")
    assert found.votes == 1  # a skip is no vote
    assert found.recent == [(3, Outcome.SKIP), (1, Outcome.SECOND)]
    assert study.has_rater("ana")
    assert not study.has_rater("nobody")


def test_files_come_back_also_from_an_archive(url: str, tmp_path: Path) -> None:
    study = filled(storage=url)
    one, again, other = study.add_media([("a.png", "", b"one"), ("b.png", "", b"one"), ("c.mp3", "", b"other")])
    assert (one == again, one[-4:], other[-4:]) == (True, ".png", ".mp3")
    assert study.media(one).body == b"one"
    with pytest.raises(UnknownArm):
        study.media("nothing.png")
    back = restore_study(study.save(tmp_path / "a.duelist"), "memory")
    assert back.media(other).body == b"other"


def test_tokens_open_what_they_say(url: str) -> None:
    storage = open_storage(url)
    study = filled(storage=url)
    admin = create_token(storage, "admin", label="mine")
    rater = create_token(storage, Scope.RATER, study.id, "ana", days=1)
    assert admin.secret not in repr(admin)
    assert find_token(storage, admin.secret) == admin.token
    assert find_token(storage, rater.secret) == rater.token
    assert find_token(storage, rater.secret + "x") is None
    assert [token.id for token in list_tokens(storage)] == [admin.token.id, rater.token.id]
    assert list_tokens(storage, study.id) == [rater.token]
    assert not rater.token.is_valid(rater.token.created_at.timestamp() + 86_401)
    revoke_token(storage, admin.token.id)
    revoke_token(storage, admin.token.id)
    assert find_token(storage, admin.secret) is None
    with pytest.raises(UnknownToken):
        revoke_token(storage, "none")
    for given in (
        {"scope": "king"},
        {"scope": "rater"},
        {"scope": "rater", "study": 1},
        {"scope": "admin", "rater": "ana"},
    ):
        with pytest.raises(InvalidInput):
            create_token(storage, **given)
    storage.delete_study(study.id)
    assert [token.id for token in list_tokens(storage)] == [admin.token.id]


def test_votes_expected_are_those_that_decide() -> None:
    """Against the rule written out once more, vote by vote."""
    gap, variance, prior = np.array([1.0, 2.0]), np.array([0.6, 0.5]), np.array([2.0, 2.0])
    votes, delta = 50, 0.05

    def undecided(count: int) -> bool:
        now = 1.0 / (1.0 / prior + (1.0 / variance - 1.0 / prior) * count / votes)
        lead = gap / np.sqrt(now)
        evidence = lead**2 + 2 * (np.log(2) + log_ndtr(lead))
        return bool((evidence <= np.log(prior / now) + 2 * np.log(2 / delta)).any())

    wanted = next(more for more in range(10_000) if not undecided(votes + more))
    with_leader = [np.append(each, 0.0) for each in (gap, variance, prior)]
    assert forecast_votes(*with_leader, votes, delta) == wanted > 0
    assert forecast_votes(np.array([1e-6, 2.0, 0.0]), *with_leader[1:], votes, delta) is None
    assert forecast_votes(*with_leader, 19, delta) is None, "too few to say"


def test_a_study_says_how_many_votes_are_expected_and_is_about_right() -> None:
    study = create_study("forecast", "memory", goal="best", repeat_pairs=0)
    study.add_arms(list("abcd"))
    rng = np.random.default_rng(0)
    utility = dict(zip("abcd", (1.5, 0.5, 0.0, -1.0), strict=True))
    foreseen = None
    for count in range(1, 4000):
        duel = study.ask("ana")
        chance = 1 / (1 + np.exp(utility[duel.second.id] - utility[duel.first.id]))
        study.tell(duel, "first" if rng.random() < chance else "second", "ana")
        if count == 40:
            foreseen = study.can_stop().votes_expected
            assert study.can_stop().done or f"about {foreseen:,} more votes" in str(study.can_stop())
        if count > 40 and count % 10 == 0 and study.can_stop().done:
            break
    assert study.can_stop().done
    assert foreseen is not None
    assert foreseen / 8 < count - 40 < foreseen * 8, "of the right order: gaps are not known when one asks"


def test_plain_values_come_back() -> None:
    study = filled(n_arms=5)
    for k in range(30):
        study.tell(study.ask("ana"), ("first", "second", "tie")[k % 3], "ana")
    for kind, value in (
        (Leaderboard, study.leaderboard()),
        (Calibration, study.calibration()),
        (Raters, study.raters()),
    ):
        assert from_plain(kind, json.loads(json.dumps(to_plain(value)))) == value
    matrix = study.win_matrix()
    back = from_plain(WinMatrix, json.loads(json.dumps(to_plain(matrix))))
    for field in dataclasses.fields(matrix):
        assert np.array_equal(getattr(back, field.name), getattr(matrix, field.name))
    assert [from_plain(Vote, json.loads(json.dumps(to_plain(vote)))) for vote in study.votes()] == study.votes()
    assert to_plain({"x": float("nan"), "y": np.float32(1.5)}) == {"x": None, "y": 1.5}
    with pytest.raises(InvalidInput):
        to_plain(object())


def test_the_page_settings_are_checked() -> None:
    study = create_study("pages", "memory", answers=["tie"], question="Which?", show_as="markdown")
    assert study.settings.answers == (Outcome.TIE,)
    offered = ({"answers": ["first"]}, {"answers": "tie"}, {"answers": ["tie", "tie"]})
    for wrong in (*offered, {"show_as": "html"}, {"question": ""}, {"ask_reason": 1}):
        with pytest.raises(InvalidInput):
            study.change(**wrong)
