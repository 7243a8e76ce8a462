"""Files that are imported again, have grown, or were concatenated."""

import tracemalloc
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import duelist as dl
from duelist.study import Outcome, VoteImportReport, load_study
from duelist.study.formats import Comparison, write
from tests.helpers.busy_study import rebuilt
from tests.helpers.study_files import PROMPT, READABLE, START, counts, empty_study, few_examples, study_with_votes


@pytest.mark.parametrize("name", READABLE)
def test_a_file_that_is_imported_twice_is_counted_once(tmp_path, name, url):
    """With and without times, in another process, and with `skip_duplicates=False`."""
    study, _ = study_with_votes(votes=30, context_payloads={"q17": PROMPT})
    study.export(tmp_path / "votes", name)
    again = empty_study(storage=url)
    assert counts(again.import_votes(tmp_path / "votes", name)) == (30, 0)
    before = again.policy().snapshot()
    repeated = load_study("again", url).import_votes(tmp_path / "votes", name)
    assert repeated == VoteImportReport(added=0, duplicates=30)
    assert str(repeated) == "0 votes added; 30 duplicates skipped"
    assert again.policy().snapshot() == before
    assert counts(again.import_votes(tmp_path / "votes", name, skip_duplicates=False)) == (30, 0)
    assert counts(again.import_votes(tmp_path / "votes", name)) == (0, 30)
    assert len(again) == 60


@pytest.mark.parametrize("name", ["jsonl", "csv"])
def test_a_file_that_has_grown_adds_its_new_votes(tmp_path, name):
    study, _ = study_with_votes(votes=20)
    again = empty_study()
    again.add_arms([arm.id for arm in study.arms()], study.features())
    for votes in (0, 5, 5):
        for k in range(votes):
            rater = f"new {len(study)} {k}"
            study.tell(study.ask(rater).id, "first", rater)
        study.export(tmp_path / "votes", name)
        imported = again.import_votes(tmp_path / "votes", name)
        assert counts(imported) == (votes or 20, len(study) - (votes or 20))
    assert counts(study.import_votes(tmp_path / "votes", name)) == (0, 30)  # back where it came from


def test_equal_votes_of_one_file_all_count(tmp_path):
    """The same vote may occur several times in a file, even with the same time."""
    path = tmp_path / "votes.csv"
    timed = "a,b,left,ana,2026-01-01T00:00:00+00:00\n"
    study = empty_study()
    for rows, added in ((2, 2), (3, 1), (1, 0)):
        path.write_text("left,right,winner,rater,voted_at\n" + timed * rows)
        assert study.import_votes(path, "csv").added == added
    path.write_text("left,right,winner\na,b,left\na,b,left\n")
    assert [study.import_votes(path, "csv").added for _ in range(2)] == [2, 0]
    path.write_text("left,right,winner\na,b,left\na,b,left\nb,a,tie\n")
    assert counts(study.import_votes(path, "csv")) == (1, 2)  # it has grown by a row
    path.write_text("left,right,winner\nb,a,left\n")
    assert study.import_votes(path, "csv").added == 1  # without times, another file is another file


timed_or_untimed_votes = st.builds(
    Comparison,
    first=st.sampled_from(["a", "b"]),
    second=st.sampled_from(["c", "d"]),
    outcome=st.sampled_from(Outcome),
    rater=st.sampled_from([None, "ana"]),
    voted_at=st.none() | st.integers(0, 3).map(lambda k: START + timedelta(microseconds=k)),
)
untimed = timed_or_untimed_votes.map(lambda vote: replace(vote, voted_at=None))


def study_of_four():
    study = empty_study()
    study.add_arms(["a", "b", "c", "d"], np.eye(4))
    return study


def identity(vote):
    return vote.first, vote.second, vote.outcome, vote.rater, vote.voted_at


def import_all(study, votes, path):
    write(votes, path, "jsonl")
    imported = study.import_votes(path, "jsonl")
    assert imported.added + imported.duplicates == len(votes)
    return imported


@few_examples
@given(
    files=st.lists(
        st.lists(timed_or_untimed_votes.filter(lambda vote: vote.voted_at is not None), max_size=6), max_size=4
    )
)
def test_equal_votes_with_times_are_as_many_as_in_the_file_with_most(files, tmp_path):
    study = study_of_four()
    expected = Counter()
    for votes in files:
        import_all(study, votes, tmp_path / "v.jsonl")
        expected |= Counter(map(identity, votes))
        assert Counter(map(identity, study.votes())) == expected


@few_examples
@given(votes=st.lists(untimed, max_size=12), cuts=st.lists(st.integers(0, 12), max_size=4).map(sorted))
def test_a_growing_file_without_times_is_in_the_log_once(votes, cuts, tmp_path):
    study = study_of_four()
    for cut in [*cuts, len(votes)]:
        import_all(study, votes[:cut], tmp_path / "v.jsonl")
    assert list(map(identity, study.votes())) == list(map(identity, votes))


@few_examples
@given(first=st.lists(untimed, min_size=1, max_size=6), second=st.lists(untimed, min_size=1, max_size=6))
def test_another_file_without_times_is_counted_even_if_it_says_the_same(first, second, tmp_path):
    study = study_of_four()
    import_all(study, first, tmp_path / "v.jsonl")
    imported = import_all(study, second, tmp_path / "w.jsonl")
    begins = list(map(identity, second[: len(first)])) == list(map(identity, first))
    assert counts(imported) == ((len(second) - len(first), len(first)) if begins else (len(second), 0))


@few_examples
@given(
    votes=st.lists(timed_or_untimed_votes, max_size=8),
    numbers=st.lists(st.none() | st.integers(1, 8), min_size=8, max_size=8, unique_by=lambda n: n or object()),
)
def test_sequence_numbers_make_no_difference(votes, numbers, tmp_path):
    """A sequence number only serves to refer to a row."""
    numbered = [replace(vote, sequence=number) for vote, number in zip(votes, numbers, strict=False)]
    study = study_of_four()
    assert import_all(study, numbered, tmp_path / "v.jsonl").added == len(votes)
    assert list(map(identity, study.votes())) == list(map(identity, votes))


def test_concatenated_exports_add_the_votes_of_both(tmp_path):
    one, other = study_with_votes(votes=10)[0], study_with_votes(votes=10)[0]
    for study, name in ((one, "one"), (other, "other")):
        votes = study.votes()
        study.tell(votes[2].duel_id, "tie", rater=votes[2].rater, revise=True)
        study.undo(votes[4].duel_id, rater=votes[4].rater)
        study.export(tmp_path / name, "jsonl")
    lines = [(tmp_path / name).read_text().splitlines(keepends=True) for name in ("one", "other")]
    for joined in ([*lines[0], *lines[1]], [*lines[0], *lines[1][1:]]):
        (tmp_path / "joined").write_text("".join(joined))
        study = empty_study()
        imported = study.import_votes(tmp_path / "joined", "jsonl")
        assert (counts(imported), imported.skipped) == ((18, 0), {"revised": 2, "undone": 2})
        assert Counter(v.outcome for v in study.votes()) == Counter(
            v.outcome for each in (one, other) for v in dl.study.current_votes(each.votes())
        )


def test_the_same_export_twice_in_a_file_is_counted_once(tmp_path):
    study, _ = study_with_votes(votes=4)
    study.export(tmp_path / "early", "jsonl")
    votes = study.votes()
    study.tell(votes[0].duel_id, "tie", rater=votes[0].rater, revise=True)
    study.export(tmp_path / "late", "jsonl")
    (tmp_path / "both").write_text((tmp_path / "early").read_text() + (tmp_path / "late").read_text())
    again = empty_study()
    assert counts(again.import_votes(tmp_path / "both", "jsonl")) == (4, 4)
    assert [v.outcome for v in again.votes()] == [v.outcome for v in dl.study.current_votes(study.votes())]


def test_a_later_file_revises_imported_votes(tmp_path, url):
    study, _ = study_with_votes(votes=6)
    again = empty_study(storage=url)
    again.add_arms([arm.id for arm in study.arms()], study.features())
    study.export(tmp_path / "v.jsonl", "jsonl")
    again.import_votes(tmp_path / "v.jsonl", "jsonl")
    votes = study.votes()
    study.tell(votes[1].duel_id, "tie", rater=votes[1].rater, revise=True)
    study.undo(votes[3].duel_id, rater=votes[3].rater)
    study.export(tmp_path / "later.jsonl", "jsonl")
    imported = again.import_votes(tmp_path / "later.jsonl", "jsonl")
    assert imported == VoteImportReport(added=0, duplicates=4, revised=2)
    assert "2 votes of the log revised" in str(imported)
    for file in ("later.jsonl", "v.jsonl"):  # it has no new votes, and older revisions change nothing
        assert again.import_votes(tmp_path / file, "jsonl").added == 0
    assert [identity(v) for v in dl.study.current_votes(again.votes())] == [
        identity(v) for v in dl.study.current_votes(study.votes())
    ]
    assert again.policy().snapshot() == rebuilt(again).snapshot()


def test_a_file_that_changes_while_it_is_read_is_rejected(tmp_path, monkeypatch):
    from duelist.study.imports import apply

    path = tmp_path / "v.csv"
    path.write_text("left,right,winner,prompt\na,b,left,Which?\n")  # rows with texts are not kept in memory
    study = empty_study()
    real = vars(apply)["add_new"]

    def meanwhile(*given):
        path.write_text("left,right,winner,prompt\na,b,right,Which?\nb,c,left,Which?\n")
        return real(*given)

    monkeypatch.setattr(apply, "add_new", meanwhile)
    with pytest.raises(dl.InvalidInput, match="changed while it was read"):
        study.import_votes(path, "csv")
    assert len(study) == 0


def test_memory_does_not_grow_with_the_texts(tmp_path):
    """Eight times as many votes with texts of 8 kB, which compress well: 28 MB more of text, less than 10 MB more of memory."""

    def votes(n):
        for k in range(n):
            yield Comparison("a", "b", Outcome.FIRST, context=f"c{k % 7}", payload_first=f"{k} " + "x" * 8000)

    def peak(n):
        write(votes(n), tmp_path / f"{n}.jsonl", "jsonl")
        study = empty_study(f"s{n}", f"sqlite:///{tmp_path / 'studies.db'}")
        study.add_arms(["a", "b"], np.eye(2), ["A", "B"])
        tracemalloc.start()
        try:
            study.import_votes(tmp_path / f"{n}.jsonl", "jsonl")
            into = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            study.export(tmp_path / "b.jsonl", "arena")
            return max(into, tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()

    small, large = peak(600), peak(4800)
    assert (tmp_path / "4800.jsonl").stat().st_size > 38_000_000
    assert large - small < 10_000_000


moves = st.one_of(
    st.tuples(st.just("vote"), st.just(0), st.sampled_from(Outcome)),
    st.tuples(st.just("revise"), st.integers(0, 9), st.sampled_from(Outcome)),
    st.tuples(st.just("undo"), st.integers(0, 9), st.none()),
    st.tuples(st.just("export"), st.just(0), st.none()),
)


@settings(few_examples, max_examples=20)
@given(done=st.lists(moves, max_size=14))
def test_a_copy_that_imports_every_export_has_the_same_current_votes(done, tmp_path):
    """Votes, revisions and undos in any order between two exports."""
    study, copy = study_of_four(), study_of_four()
    told = []
    for what, which, outcome in [*done, ("export", 0, None)]:
        if what == "vote":
            duel = study.ask(f"rater {len(told)}")
            told.append(study.tell(duel.id, outcome, duel.rater))
        elif what == "revise" and told:
            vote = told[which % len(told)]
            study.tell(vote.duel_id, outcome, vote.rater, revise=True)
        elif what == "undo" and told:
            vote = told[which % len(told)]
            study.undo(vote.duel_id, vote.rater)
        elif what == "export":
            study.export(tmp_path / "v.jsonl", "jsonl")
            copy.import_votes(tmp_path / "v.jsonl", "jsonl")
            assert Counter(map(identity, dl.study.current_votes(copy.votes()))) == Counter(
                map(identity, dl.study.current_votes(study.votes()))
            )
            again = copy.import_votes(tmp_path / "v.jsonl", "jsonl")
            assert (again.added, again.revised) == (0, 0)
    if len(copy):
        assert copy.policy().snapshot() == rebuilt(copy).snapshot()
