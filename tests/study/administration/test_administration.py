"""What owners do with a study and its raters: states, names, limits, raters who are blocked or erased."""

import json
import zlib
from collections import Counter
from pathlib import Path

import pytest

from duelist.core.errors import (
    InvalidInput,
    LimitReached,
    NothingToAsk,
    RaterBlocked,
    StudyExists,
    StudyNotOpen,
    VoteConflict,
)
from duelist.study import Study, counted_votes, create_study, current_votes, list_studies, load_study
from duelist.study.analysis import Leaderboard
from duelist.study.records import StudyState
from duelist.study.storage import StagedRow
from tests.helpers.owners import play, replayed
from tests.study.conftest import Clock, filled, path_of

# -- states ------------------------------------------------------------------------------


def test_a_paused_study_asks_nothing_and_takes_answers(url: str) -> None:
    study = filled(storage=url)
    elsewhere = load_study("study", url)
    duel = elsewhere.ask("ana")
    study.pause()
    study.pause()
    assert elsewhere.state is StudyState.PAUSED
    with pytest.raises(StudyNotOpen, match=r"'study' is paused .*\. Open it again with `open`"):
        elsewhere.ask("ben")
    assert issubclass(StudyNotOpen, NothingToAsk)
    assert elsewhere.tell(duel, "first", "ana").sequence == 1
    study.open()
    assert elsewhere.ask("ben").id == 2


def test_an_ended_study_takes_no_votes_but_knows_those_it_has(url: str) -> None:
    study = filled(storage=url)
    told, untold = study.ask("ana"), study.ask("ben")
    vote = study.tell(told, "first", "ana")
    study.end()
    elsewhere = load_study("study", url)
    assert elsewhere.tell(told, "first", "ana") == vote  # whoever repeats it in doubt hears that it arrived
    for refused in (
        lambda: elsewhere.tell(untold, "first", "ben"),
        lambda: elsewhere.tell(told, "second", "ana", revise=True),
        lambda: elsewhere.undo(told, "ana"),
    ):
        with pytest.raises(VoteConflict, match="ended and takes no votes"):
            refused()
    assert len(study) == 1
    study.add_arms(["new"], [[1.0, 1.0, 1.0]])
    study.open()
    assert study.tell(untold, "first", "ben").sequence == 2


def test_what_is_put_away_stays_as_it_is(url: str) -> None:
    study = filled(storage=url)
    play(study, 3)
    study.archive()
    for change in (
        lambda: study.add_arms(["new"], [[1.0, 1.0, 1.0]]),
        lambda: study.retire(["a0"]),
        lambda: study.block("ana", exclude_votes=True),
        lambda: study.limit(total=9),
        lambda: study.ask("ana"),
    ):
        with pytest.raises(StudyNotOpen, match="archived"):
            change()
    assert [summary.state for summary in list_studies(url)] == []
    assert [summary.state for summary in list_studies(url, include_archived=True)] == ["archived"]
    assert len(study.leaderboard().standings) == 6
    study.open()
    study.ask("ana")


def test_a_study_is_renamed(url: str) -> None:
    study, elsewhere = filled("one", url), load_study("one", url)
    filled("two", url)
    study.rename("Ünö")
    study.rename("Ünö")
    assert study.name == "Ünö"
    assert {summary.name for summary in list_studies(url)} == {"Ünö", "two"}
    elsewhere.ask("ana")
    assert elsewhere.name == "Ünö"
    with pytest.raises(StudyExists, match="'two' already"):
        study.rename("two")
    with pytest.raises(InvalidInput, match="name is ''"):
        study.rename("")
    assert study.name == "Ünö"


def test_settings_are_changed_for_everybody(url: str) -> None:
    study = filled(storage=url)
    elsewhere = load_study("study", url)
    first = elsewhere.ask("ana")
    assert study.change(lease_seconds=5, raters_per_duel=2).lease_seconds == 5
    duel = elsewhere.ask("ben")
    assert (duel.deadline - duel.asked_at).total_seconds() == 5
    assert elsewhere.ask("cleo").id == duel.id  # two raters for a duel from now on
    assert first.id != duel.id
    assert elsewhere.settings.raters_per_duel == 2
    for changes, said in (
        ({"policy": "StaD"}, "policy is fixed"),
        ({"seed": 3}, "seed is fixed"),
        ({"lease_seconds": -1}, "lease_seconds is -1"),
        ({"colour": 1}, "no setting 'colour'"),
        ({"criteria": "clear"}, "criteria is the text 'clear'"),
        ({"goal": "win"}, "goal is 'win'. Choose one of best, rank"),
    ):
        with pytest.raises(InvalidInput, match=said):
            study.change(**changes)


# -- limits ------------------------------------------------------------------------------


def test_a_limit_in_total(url: str) -> None:
    study = filled(storage=url, max_votes=3)
    duels = {rater: study.ask(rater) for rater in ("ana", "ben", "cleo")}
    with pytest.raises(
        LimitReached,
        match=r"This study has 0 votes and 3 pending, and the limit is 3\. Raise the limit with `limit\(total=",
    ):
        study.ask("dora")
    assert study.ask("ana").id == duels["ana"].id  # who has a duel keeps it
    for rater, duel in duels.items():
        study.tell(duel, "first", rater)
    with pytest.raises(LimitReached, match="has 3 votes, and the limit is 3"):
        load_study("study", url).ask("dora")
    study.undo(duels["ana"], "ana")
    with pytest.raises(LimitReached, match="2 votes and 1 pending"):
        study.ask("dora")
    study.limit(total=4)
    study.ask("dora")
    study.limit(total=None)
    study.ask("erik")
    with pytest.raises(InvalidInput, match=r"max_votes is -1\. Give a whole number from 1"):
        study.limit(total=-1)


def test_a_limit_per_rater(url: str) -> None:
    study = filled(storage=url)
    study.limit(per_rater=2)
    for outcome in ("skip", "first", "skip", "tie"):  # skips do not count
        study.tell(study.ask("ana"), outcome, "ana")
    assert study.rater_progress("ana").votes == 2
    with pytest.raises(
        LimitReached, match=r"Rater 'ana' has 2 votes, and the limit is 2\. Raise the limit with `limit\(per_rater="
    ):
        study.ask("ana")
    vote = study.tell(study.ask("ben"), "first", "ben")
    study.undo(vote.duel_id, "ben")
    study.tell(vote.duel_id, "second", "ben")
    study.tell(vote.duel_id, "first", "ben", revise=True)
    study.tell(study.ask("ben"), "first", "ben")  # only the second that stands
    with pytest.raises(LimitReached, match="Rater 'ben' has 2 votes"):
        study.ask("ben")


def test_a_limit_per_pair(url: str) -> None:
    study = filled(storage=url, n_arms=4, max_votes_per_pair=2, policy="UniformPair")
    raters = [f"rater {k}" for k in range(12)]
    for rater in raters:
        study.tell(study.ask(rater), "first", rater)
    pairs = Counter(frozenset((vote.first, vote.second)) for vote in study.votes())
    assert set(pairs.values()) == {2}
    assert len(pairs) == 6
    with pytest.raises(NothingToAsk, match=r"have enough votes.*raise the limit per pair"):
        study.ask("zoe")
    study.undo(study.votes()[0].duel_id, "rater 0")
    study.tell(study.votes()[0].duel_id, "tie", "rater 0")
    study.limit(per_pair=3)
    study.ask("zoe")


def test_votes_that_are_left_out_make_room(url: str) -> None:
    study = filled(storage=url, max_votes=4)
    play(study, 2, ("ana",))
    while (votes := len(counted_votes(current_votes(study.votes())))) < 4:
        study.tell(study.ask(f"ben {votes}"), "first", f"ben {votes}")
    with pytest.raises(LimitReached):
        study.ask("cleo")
    study.block("ben 3", exclude_votes=True)
    study.ask("cleo")


# -- raters ------------------------------------------------------------------------------


def test_a_blocked_rater_does_not_count_and_comes_back_to_the_bit(url: str) -> None:
    study, elsewhere = filled(storage=url, policy="VACDB"), load_study("study", url)
    play(study, 330)
    before, board = study.policy().snapshot(), study.leaderboard()
    assert before == replayed(study)
    elsewhere.policy()
    assert study.block("ben", exclude_votes=True).excluded
    study.block("ben", exclude_votes=True)
    assert study.policy().snapshot() == elsewhere.policy().snapshot() == replayed(study, ("ben",)) != before
    assert load_study("study", url).policy().snapshot() == study.policy().snapshot()
    teach = ("first", "second", "tie")
    mine = [vote for vote in current_votes(study.votes()) if vote.rater != "ben" and vote.outcome in teach]
    assert study.leaderboard().votes == len(mine) < board.votes
    assert {vote.rater for vote in study.votes() if vote.excluded} == {"ben"}
    play(elsewhere, 40, ("ana", "cleo"), seed=1)
    assert study.policy().snapshot() == replayed(study, ("ben",))
    study.reinstate("ben")
    study.reinstate("ben")
    assert study.policy().snapshot() == elsewhere.policy().snapshot() == replayed(study)
    play(elsewhere, 10)
    assert study.policy().snapshot() == replayed(study)


@pytest.mark.parametrize("meanwhile", ["votes", "a revision", "another block", "nothing"])
def test_what_happens_while_a_rater_is_blocked_counts(
    meanwhile: str, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fold without the rater is made before anybody waits for it; then the study may have moved on."""
    study, elsewhere = filled(storage=sqlite_url, policy="VACDB"), load_study("study", sqlite_url)
    play(study, 300)
    out = ["ben"]
    folded = study._prepare

    def interrupted(*given: object, **more: object) -> object:
        found = folded(*given, **more)
        if meanwhile == "votes":
            play(elsewhere, 5, ("ana", "ben"), seed=2)
        elif meanwhile == "a revision":
            early = next(v for v in current_votes(study.votes()) if v.rater == "cleo")
            elsewhere.tell(early.duel_id, "tie" if early.outcome != "tie" else "first", "cleo", revise=True)
        elif meanwhile == "another block":
            elsewhere.block("cleo", exclude_votes=True)
            out.append("cleo")
        return found

    monkeypatch.setattr(study, "_prepare", interrupted)
    study.block("ben", exclude_votes=True)
    assert study.policy().snapshot() == elsewhere.policy().snapshot() == replayed(study, tuple(out))
    with study._storage.reading(study._id) as tx:
        newest = tx.snapshot_before(tx.counters.n_votes + 1)
        assert newest is not None
        assert newest[0] == tx.counters.n_votes  # nobody after us has to fold it again
        assert json.loads(zlib.decompress(newest[1])) == study.policy().snapshot()


def board_of(study: Study) -> Leaderboard:
    """The board as somebody sees it who has never looked: a second look begins with the fit of the first, to the last bits."""
    return load_study(study.name, study._storage).leaderboard()


def test_unblocking_at_once_changes_nothing() -> None:
    study = filled(policy="VACDB")
    play(study, 300)
    before, board = study.policy().snapshot(), board_of(study)
    study.block("ben", exclude_votes=True)
    study.reinstate("ben")
    assert (study.policy().snapshot(), board_of(study)) == (before, board)
    twin = filled("twin", policy="VACDB")
    play(twin, 300)
    upcoming = [[each.ask(f"rater {k}").first.id for k in range(5)] for each in (study, twin)]
    assert upcoming[0] == upcoming[1]


def test_who_is_blocked_is_not_asked_and_gives_duels_back(url: str) -> None:
    study = filled(storage=url, n_arms=2)
    duel = study.ask("ben")
    with pytest.raises(NothingToAsk):
        study.ask("ana")
    study.block("ben")
    assert study.rater("ben").excluded is False
    with pytest.raises(RaterBlocked, match=r"'ben' is blocked .*\. Reinstate them with `reinstate`"):
        study.ask("ben")
    with pytest.raises(VoteConflict, match="'ben' is blocked"):
        study.tell(duel, "first", "ben")
    assert study.ask("ana").id == duel.id
    study.reinstate("ben")
    assert study.tell(duel, "first", "ben").late is False


def test_votes_brought_in_for_a_blocked_rater_do_not_count() -> None:
    study, source = filled(policy="VACDB"), filled("source")
    play(source, 30)
    study.ask("ana")
    study.block("ben", exclude_votes=True)
    study.add_votes(source.votes())
    assert study.policy().snapshot() == replayed(study, ("ben",))
    study.reinstate("ben")
    assert study.policy().snapshot() == replayed(study)


def test_a_block_that_failed_leaves_nothing_behind(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study, elsewhere = filled(storage=sqlite_url, policy="VACDB"), load_study("study", sqlite_url)
    source = filled("source")
    play(source, 30)
    play(study, 20)
    with monkeypatch.context() as broken:
        broken.setattr("duelist.study.administration.raters.release_all", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            study.block("ben", exclude_votes=True)
    elsewhere.block("cleo", exclude_votes=True)  # counted as the first change now
    study.add_votes(source.votes())
    assert study.policy().snapshot() == elsewhere.policy().snapshot() == replayed(study, ("cleo",))


def test_nobody_is_erased_while_an_import_may_name_them() -> None:
    study = filled()
    play(study, 3)
    with study._storage.writing(study._id) as tx:
        tx.add_staged([StagedRow(1, 3, b"ana")])
    with pytest.raises(InvalidInput, match="An import that may name 'ana' is still moving"):
        study.erase_rater("ana")
    assert "ana" in {vote.rater for vote in study.votes()}


def test_attributes_of_raters(url: str) -> None:
    study = filled(storage=url)
    assert study.rater("ana").attributes == {}
    study.describe_rater("ana", age=31, languages=["de", "en"])
    study.describe_rater("ana", age=None, expert=True)
    assert load_study("study", url).rater("ana").attributes == {"languages": ["de", "en"], "expert": True}
    study.block("ben", exclude_votes=True)
    assert [rater.name for rater in study.rater_records()] == ["ana", "ben"]
    with pytest.raises(InvalidInput, match="Attribute age is nan"):
        study.describe_rater("ana", age=float("nan"))


def test_what_a_file_said_of_an_erased_rater_goes_too(url: str, tmp_path: Path) -> None:
    """Columns that are not ours are kept on import; they may name the rater in their own way."""
    votes = tmp_path / "votes.csv"
    votes.write_text("left,right,winner,rater,mail\na,b,left,ben,ben@home\nb,c,right,ana,ana@home\n")
    study = create_study("study", url)
    study.import_votes(votes, "csv")
    study.erase_rater("ben")
    study.export(out := tmp_path / "out.jsonl", "jsonl")
    assert "ana@home" in out.read_text()
    assert "ben" not in out.read_text()


def test_an_erased_rater_is_nowhere_and_their_votes_count(url: str, clock: Clock) -> None:
    name = "ben.näme@example.org"
    study = filled(storage=url, policy="VACDB")
    study._clock = clock
    play(study, 60, ("ana", name))
    study.tell(study.ask(name), "first", name, reason="ben.näme thinks so")
    study.describe_rater(name, mail="ben.näme@home")
    study.ask(name)
    before, board, log = study.policy().snapshot(), board_of(study), study.votes()
    erased = study.erase_rater(name)
    mine = {vote.duel_id for vote in log if vote.rater == name}
    assert (erased.pseudonym, erased.votes) == ("erased 1", len(mine))
    assert study.erase_rater(name).pseudonym is None
    assert study.erase_rater("erased 1") == erased
    assert {vote.duel_id for vote in study.votes() if vote.rater == "erased 1"} == mine
    assert {vote.rater for vote in study.votes()} == {"ana", "erased 1"}
    assert not any(vote.reason for vote in study.votes())
    assert (study.policy().snapshot(), board_of(study)) == (before, board)
    assert study.rater("erased 1").attributes == {}
    assert [duel.rater for duel in study.pending()] == []
    with pytest.raises(RaterBlocked, match="is the pseudonym of"):
        study.ask("erased 1")
    with pytest.raises(VoteConflict, match="is the pseudonym of"):
        study.undo(next(iter(mine - {vote.duel_id for vote in log if vote.outcome is None})), "erased 1")
    study.ask(name)  # somebody new, as far as the study knows
    assert study.erase_rater(name).pseudonym == "erased 2"
    if url.startswith("sqlite"):
        study.close()
        files = [path for path in path_of(url).parent.iterdir() if path.name.startswith(path_of(url).name)]
        assert not any("ben.näme".encode() in path.read_bytes() for path in files)
