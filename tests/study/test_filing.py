"""Files into a study and out of it: nothing is lost on the way, nothing counts twice."""

import json
import tracemalloc
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import duelist as dl
from duelist.datasets import load_llmfao
from duelist.study import Imported, Outcome, create_study, load_study
from duelist.study.formats import FORMATS, Comparison, context_id, read, write
from tests.study.busy import rebuilt

READABLE = [each.name for each in FORMATS.values() if each.read is not None]
START = datetime(2026, 1, 1, tzinfo=UTC)
PROMPT = "Which caption?"
calm = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def empty(name="again", storage="memory"):
    return create_study(name, storage=storage, policy="LocalPairUCB")


def filled(votes=120, contexts="q17", context_payloads=None):
    """A study with votes of as many raters, and its best arm."""
    rng = np.random.default_rng(0)
    study = empty("captions")
    arms = rng.standard_normal((6, 3))
    study.add_arms([f"a{k}" for k in range(6)], arms, [f"text {k}" for k in range(6)], contexts, context_payloads)
    utilities = {f"a{k}": float(arms[k] @ [2.0, -1.0, 0.5]) for k in range(6)}
    for k in range(votes):
        answer(study, rng, utilities, f"rater {k}")
    return study, max(utilities, key=utilities.get)


def answer(study, rng, utilities, rater):
    duel = study.ask(rater=rater)
    first = rng.random() < 1.0 / (1.0 + np.exp(utilities[duel.second.id] - utilities[duel.first.id]))
    study.tell(duel.id, "first" if first else "second", rater=rater)


def counts(imported):
    return imported.added, imported.known


def exported(study, path, name="jsonl"):
    study.export(name, path)
    return list(read(name, path))


# -- contexts have a text of their own ---------------------------------------------------

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which?"}]


@pytest.mark.parametrize("payload", [PROMPT, MESSAGES, {"image": "q.png"}])
def test_a_context_is_shown_and_exported_as_what_it_is(tmp_path, payload, url):
    study = empty("s", url)
    study.add_arms(["a", "b"], np.eye(2), ["one", "two"], "q17", {"q17": payload})
    duel = study.ask("ana")
    assert (duel.context, duel.prompt) == ("q17", payload)
    assert study.pending()[0].prompt == load_study("s", url).context_payload("q17") == payload
    study.tell(duel.id, "first", "ana")
    (row,) = exported(study, tmp_path / "v.jsonl")
    assert (row.context, row.prompt) == ("q17", payload)


def test_a_prompt_is_the_context_s_text_and_not_its_id(tmp_path):
    study, _ = filled(votes=3, context_payloads={"q17": PROMPT})
    study.export("trl", tmp_path / "p.jsonl")
    assert {json.loads(line)["prompt"] for line in (tmp_path / "p.jsonl").read_text().splitlines()} == {PROMPT}
    study.export("arena", tmp_path / "b.json")
    battles = json.loads((tmp_path / "b.json").read_text())
    assert {(b["question_id"], b["conversation_a"][0]["content"]) for b in battles} == {("q17", PROMPT)}


def test_a_context_can_be_changed_and_says_so_to_others(url):
    study = empty("s", url)
    study.add_arms(["a", "b"], np.eye(2), contexts="c")
    other = load_study("s", url)
    assert other.ask("ana").prompt is None
    study.set_context("c", "new")
    assert (other.ask("ana").prompt, other.context_payload("c"), other.context_payload("no")) == ("new", "new", None)
    with pytest.raises(dl.InvalidInput, match="context is ''"):
        study.set_context("", "x")
    with pytest.raises(dl.InvalidInput, match="is not JSON"):
        study.set_context("c", {1, 2})


def test_a_context_without_a_text_has_no_prompt(tmp_path):
    study, _ = filled(votes=2)
    assert {row.prompt for row in exported(study, tmp_path / "v.jsonl")} == {None}
    assert study.export("openai", tmp_path / "p.jsonl").left_out == {"without a prompt": 2}


# -- what comes in is kept ---------------------------------------------------------------


def battle(k, **more):
    def turns(answer):
        return [{"role": "user", "content": f"What is {k}?"}, {"role": "assistant", "content": answer}]

    return {
        "question_id": f"id{k}",
        "model_a": ("x", "y")[k % 2],
        "model_b": ("y", "x")[k % 2],
        "winner": ("model_a", "model_b")[k // 2 % 2],
        "conversation_a": turns(f"A{k}"),
        "conversation_b": turns(f"B{k}"),
        "language": "English",
    } | more


def test_battles_keep_their_questions_and_answers(tmp_path, url):
    """Each model answers each question in its own way: arena to TRL, as it was in the file."""
    (tmp_path / "b.json").write_text(json.dumps([battle(k) for k in range(10)]))
    study = empty(storage=url)
    assert study.import_votes("arena", tmp_path / "b.json") == Imported(added=10, known=0)
    assert study.export("trl", tmp_path / "p.jsonl").rows == 10
    won = [f"{'A' if k // 2 % 2 == 0 else 'B'}{k}" for k in range(10)]
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [(row["prompt"], row["chosen"]) for row in rows] == [(f"What is {k}?", won[k]) for k in range(10)]
    assert study.context_payload("id3") == "What is 3?"
    study.export("arena", tmp_path / "again.json")
    for before, after in zip(read("arena", tmp_path / "b.json"), read("arena", tmp_path / "again.json"), strict=True):
        assert after == before


@pytest.mark.parametrize("name", ["trl", "openai"])
def test_preferences_keep_their_prompts(tmp_path, name):
    votes = [
        Comparison("a", "b", Outcome.FIRST, prompt=f"prompt {k}", payload_first=f"good {k}", payload_second=f"bad {k}")
        for k in range(5)
    ]
    write(name, votes, tmp_path / "p.jsonl")
    study = empty()
    assert study.import_votes(name, tmp_path / "p.jsonl").added == 5
    assert study.export(name, tmp_path / "again.jsonl").rows == 5
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "p.jsonl").read_bytes()
    assert {study.context_payload(context) for context in study.contexts()} == {f"prompt {k}" for k in range(5)}
    duel = study.ask("ana")  # two answers to one prompt, never to two
    assert duel.first.payload.split()[1] == duel.second.payload.split()[1] == duel.prompt.split()[1]


def test_a_time_that_nobody_knows_stays_unknown(tmp_path, url):
    (tmp_path / "v.csv").write_text(
        "left,right,winner,told_at\na,b,left,\na,b,right,2026-01-01T00:00:00+00:00\n", newline=""
    )
    study = empty(storage=url)
    study.import_votes("csv", tmp_path / "v.csv")
    assert [vote.told_at for vote in study.votes()] == [None, START]
    assert [row.told_at for row in exported(study, tmp_path / "out.csv", "csv")] == [None, START]
    study.tell(study.ask("ana").id, "first", "ana")
    assert study.votes()[-1].told_at > START


def test_everything_a_file_says_comes_out_again(tmp_path):
    """Prompts of one context that differ, answers that differ from the arm's own, columns of the file's own, reasons."""
    votes = [
        Comparison("a", "b", Outcome.FIRST, "ana", "c", START, prompt="one", payload_first="A", payload_second="B",
                   extra={"turn": 1, "tags": ["x"]}),
        Comparison("b", "a", Outcome.TIE, "ben", "c", START, prompt="two", payload_first="B", payload_second="A!"),
        Comparison("a", "c", Outcome.SKIP, None, None, None, prompt=MESSAGES, payload_first={"image": 1}, payload_second="",
                   reason="no\nidea 🙂", response_seconds=2.5, chance=0.25),
        Comparison("a", "b", Outcome.BOTH_BAD, None, None, START, late=True, criterion="style"),
    ]  # fmt: skip
    write("jsonl", votes, tmp_path / "v.jsonl")
    study = empty()
    assert study.import_votes("jsonl", tmp_path / "v.jsonl") == Imported(4, 0, set_aside={"criterion 'style'": 1})
    back = exported(study, tmp_path / "out.jsonl")
    made = [replace(vote, sequence=k, duel_id=k) for k, vote in enumerate(votes, start=1)]
    made[2] = replace(made[2], context=context_id(MESSAGES))
    shown = [replace(row, payload_first=row.payload_first) for row in back]
    # An arm that was always the same thing is that thing, also where the file did not say so.
    assert shown[3].payload_second == "B"
    assert [*shown[:3], replace(shown[3], payload_second=None)] == made


def test_what_a_log_has_no_place_for_is_counted(tmp_path):
    study, _ = filled(votes=5)
    study.export("jsonl", tmp_path / "v.jsonl")
    imported = empty().import_votes("jsonl", tmp_path / "v.jsonl")
    assert imported == Imported(5, 0, dropped={"chosen_by": 5})
    assert str(imported) == "5 votes added; without chosen_by (5)"


@pytest.mark.parametrize("name", READABLE)
def test_what_is_exported_can_be_imported_into_an_empty_study(tmp_path, name):
    study, best = filled(context_payloads={"q17": PROMPT})
    path = tmp_path / "votes"
    assert study.export(name, path).rows == 120
    again = empty()
    assert counts(again.import_votes(name, path)) == (120, 0)
    board = again.leaderboard()
    assert board.votes == 120
    leader = board.standings[0].arm
    assert leader == best or name in ("trl", "openai")  # those know arms by their text only
    assert again.policy().rounds_ == 120


def test_the_whole_log_goes_through_our_own_format(tmp_path):
    study, _ = filled(votes=5)
    votes = study.votes()
    study.tell(votes[0].duel_id, "tie", rater=votes[0].rater, revise=True)
    study.undo(votes[1].duel_id, rater=votes[1].rater)
    assert study.export("jsonl", tmp_path / "log").rows == 7
    again = empty()
    imported = again.import_votes("jsonl", tmp_path / "log")
    assert (counts(imported), imported.left_out) == ((4, 0), {"revised": 1, "undone": 1})
    assert [v.outcome for v in again.votes()] == [v.outcome for v in dl.study.standing(study.votes())]
    written = study.export("csv", tmp_path / "votes.csv")
    assert (written.rows, written.left_out) == (4, {"revised": 2, "undone": 1})


def test_history_warms_the_policy(tmp_path):
    """llmfao: models as arms, a feature each; the study's policy and its leaderboard agree on the best; texts are kept."""
    votes = list(load_llmfao())
    write("arena", votes, tmp_path / "battles.json")
    study = empty()
    assert study.import_votes("arena", tmp_path / "battles.json").added == len(votes) == 8931
    assert len(study.arms()) == 59
    policy = study.policy()
    assert policy.rounds_ == 8931
    assert study.recommend().best in [s.arm for s in study.leaderboard().standings[:3]]
    study.export("arena", tmp_path / "again.json")
    assert list(read("arena", tmp_path / "again.json")) == votes


def test_too_many_arms_for_a_feature_each(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("left,right,winner\n" + "".join(f"a{k},b{k},left\n" for k in range(1001)))
    study = dl.create_study("layered", "memory", policy="VACDB")
    with pytest.raises(dl.InvalidInput, match="2002 arms"):
        study.import_votes("csv", path)
    assert study.arms() == []


def test_an_import_that_fails_leaves_nothing_behind(tmp_path, url):
    path = tmp_path / "votes.jsonl"
    votes = [
        Comparison("a", "b", Outcome.FIRST, context="c", prompt="p", extra={"x": 1}),
        Comparison("a", "c", Outcome.FIRST, rater="\ud800"),
    ]
    write("jsonl", votes, path)
    study = empty("s", url)
    with pytest.raises(dl.InvalidInput, match="rater is"):
        study.import_votes("jsonl", path)
    assert study.arms() == load_study("s", url).arms() == []
    assert (len(study), study.context_payload("c")) == (0, None)
    write("jsonl", votes[:1], path)
    assert study.import_votes("jsonl", path).added == 1
    assert [arm.id for arm in study.arms()] == ["a", "b"]


def test_votes_of_a_rater_who_is_left_out_are_not_learned_and_not_exported(tmp_path, url):
    from duelist.study.storage import RaterRow

    votes = [Comparison("a", "b", Outcome.FIRST, rater=("ana", "ben")[k % 2]) for k in range(10)]
    write("jsonl", votes, tmp_path / "v.jsonl")
    study = empty("s", url)
    study.add_arms(["a", "b"], np.eye(2))
    with study._writing() as tx:
        tx.put_rater(RaterRow("ben", {}, True, True, False, None, 0))
    imported = study.import_votes("jsonl", tmp_path / "v.jsonl")
    assert imported == Imported(10, 0, set_aside={"rater left out": 5})
    assert str(imported) == "10 votes added; 5 set aside: rater left out"
    assert study.policy().rounds_ == 5
    assert study.policy().snapshot() == load_study("s", url).policy().snapshot()  # as folded from the log
    written = study.export("csv", tmp_path / "v.csv")
    assert (written.rows, written.left_out) == (5, {"rater left out": 5})


# -- twice is once -----------------------------------------------------------------------


@pytest.mark.parametrize("name", READABLE)
def test_a_file_that_is_imported_twice_counts_once(tmp_path, name, url):
    """Whether its votes have times or not; by another process too; and again only if that is asked for."""
    study, _ = filled(votes=30, context_payloads={"q17": PROMPT})
    study.export(name, tmp_path / "votes")
    again = empty(storage=url)
    assert counts(again.import_votes(name, tmp_path / "votes")) == (30, 0)
    before = again.policy().snapshot()
    repeated = load_study("again", url).import_votes(name, tmp_path / "votes")
    assert repeated == Imported(added=0, known=30)
    assert str(repeated) == "0 votes added; 30 were in the log already, and are not counted again"
    assert again.policy().snapshot() == before
    assert counts(again.import_votes(name, tmp_path / "votes", again=True)) == (30, 0)
    assert counts(again.import_votes(name, tmp_path / "votes")) == (0, 30)
    assert len(again) == 60


@pytest.mark.parametrize("name", ["jsonl", "csv"])
def test_a_file_that_has_grown_brings_what_is_new(tmp_path, name):
    study, _ = filled(votes=20)
    again = empty()
    again.add_arms([arm.id for arm in study.arms()], study.features())
    for votes in (0, 5, 5):
        for k in range(votes):
            rater = f"new {len(study)} {k}"
            study.tell(study.ask(rater).id, "first", rater)
        study.export(name, tmp_path / "votes")
        imported = again.import_votes(name, tmp_path / "votes")
        assert counts(imported) == (votes or 20, len(study) - (votes or 20))
    assert counts(study.import_votes(name, tmp_path / "votes")) == (0, 30)  # back where it came from


def test_equal_votes_of_one_file_all_count(tmp_path):
    """The same rater may say the same of the same pair in the same second: what repeats within a file is meant."""
    path = tmp_path / "votes.csv"
    timed = "a,b,left,ana,2026-01-01T00:00:00+00:00\n"
    study = empty()
    for rows, added in ((2, 2), (3, 1), (1, 0)):
        path.write_text("left,right,winner,rater,told_at\n" + timed * rows)
        assert study.import_votes("csv", path).added == added
    path.write_text("left,right,winner\na,b,left\na,b,left\n")
    assert [study.import_votes("csv", path).added for _ in range(2)] == [2, 0]
    path.write_text("left,right,winner\na,b,left\na,b,left\nb,a,tie\n")
    assert counts(study.import_votes("csv", path)) == (1, 2)  # it has grown by a row
    path.write_text("left,right,winner\nb,a,left\n")
    assert study.import_votes("csv", path).added == 1  # without times, another file is another file


said = st.builds(
    Comparison,
    first=st.sampled_from(["a", "b"]),
    second=st.sampled_from(["c", "d"]),
    outcome=st.sampled_from(Outcome),
    rater=st.sampled_from([None, "ana"]),
    told_at=st.none() | st.integers(0, 3).map(lambda k: START + timedelta(microseconds=k)),
)
untimed = said.map(lambda vote: replace(vote, told_at=None))


def ready():
    study = empty()
    study.add_arms(["a", "b", "c", "d"], np.eye(4))
    return study


def key(vote):
    return vote.first, vote.second, vote.outcome, vote.rater, vote.told_at


def taken(study, votes, path):
    write("jsonl", votes, path)
    imported = study.import_votes("jsonl", path)
    assert imported.added + imported.known == len(votes)
    return imported


@calm
@given(files=st.lists(st.lists(said.filter(lambda vote: vote.told_at is not None), max_size=6), max_size=4))
def test_of_votes_with_times_the_log_has_as_many_as_the_file_that_has_most(files, tmp_path):
    study = ready()
    expected = Counter()
    for votes in files:
        taken(study, votes, tmp_path / "v.jsonl")
        expected |= Counter(map(key, votes))
        assert Counter(map(key, study.votes())) == expected


@calm
@given(votes=st.lists(untimed, max_size=12), cuts=st.lists(st.integers(0, 12), max_size=4).map(sorted))
def test_a_file_without_times_that_grows_ends_up_in_the_log_once(votes, cuts, tmp_path):
    study = ready()
    for cut in [*cuts, len(votes)]:
        taken(study, votes[:cut], tmp_path / "v.jsonl")
    assert list(map(key, study.votes())) == list(map(key, votes))


@calm
@given(first=st.lists(untimed, min_size=1, max_size=6), second=st.lists(untimed, min_size=1, max_size=6))
def test_another_file_without_times_counts_whatever_it_says(first, second, tmp_path):
    study = ready()
    taken(study, first, tmp_path / "v.jsonl")
    imported = taken(study, second, tmp_path / "w.jsonl")
    begins = list(map(key, second[: len(first)])) == list(map(key, first))
    assert counts(imported) == ((len(second) - len(first), len(first)) if begins else (len(second), 0))


@calm
@given(
    votes=st.lists(said, max_size=8),
    numbers=st.lists(st.none() | st.integers(1, 8), min_size=8, max_size=8, unique_by=lambda n: n or object()),
)
def test_numbers_of_rows_make_no_difference(votes, numbers, tmp_path):
    """Rows with and without numbers, in any order: a number is a name for revisions, and nothing else."""
    numbered = [replace(vote, sequence=number) for vote, number in zip(votes, numbers, strict=False)]
    study = ready()
    assert taken(study, numbered, tmp_path / "v.jsonl").added == len(votes)
    assert list(map(key, study.votes())) == list(map(key, votes))


def test_exports_that_were_joined_bring_the_votes_of_both(tmp_path):
    one, other = filled(votes=10)[0], filled(votes=10)[0]
    for study, name in ((one, "one"), (other, "other")):
        votes = study.votes()
        study.tell(votes[2].duel_id, "tie", rater=votes[2].rater, revise=True)
        study.undo(votes[4].duel_id, rater=votes[4].rater)
        study.export("jsonl", tmp_path / name)
    lines = [(tmp_path / name).read_text().splitlines(keepends=True) for name in ("one", "other")]
    for joined in ([*lines[0], *lines[1]], [*lines[0], *lines[1][1:]]):
        (tmp_path / "joined").write_text("".join(joined))
        study = empty()
        imported = study.import_votes("jsonl", tmp_path / "joined")
        assert (counts(imported), imported.left_out) == ((18, 0), {"revised": 2, "undone": 2})
        assert Counter(v.outcome for v in study.votes()) == Counter(
            v.outcome for each in (one, other) for v in dl.study.standing(each.votes())
        )


def test_the_same_export_twice_in_a_file_is_one(tmp_path):
    study, _ = filled(votes=4)
    study.export("jsonl", tmp_path / "early")
    votes = study.votes()
    study.tell(votes[0].duel_id, "tie", rater=votes[0].rater, revise=True)
    study.export("jsonl", tmp_path / "late")
    (tmp_path / "both").write_text((tmp_path / "early").read_text() + (tmp_path / "late").read_text())
    again = empty()
    assert counts(again.import_votes("jsonl", tmp_path / "both")) == (4, 4)
    assert [v.outcome for v in again.votes()] == [v.outcome for v in dl.study.standing(study.votes())]


def test_a_revision_that_comes_later_revises_what_was_imported(tmp_path, url):
    study, _ = filled(votes=6)
    again = empty(storage=url)
    again.add_arms([arm.id for arm in study.arms()], study.features())
    study.export("jsonl", tmp_path / "v.jsonl")
    again.import_votes("jsonl", tmp_path / "v.jsonl")
    votes = study.votes()
    study.tell(votes[1].duel_id, "tie", rater=votes[1].rater, revise=True)
    study.undo(votes[3].duel_id, rater=votes[3].rater)
    study.export("jsonl", tmp_path / "later.jsonl")
    imported = again.import_votes("jsonl", tmp_path / "later.jsonl")
    assert imported == Imported(added=0, known=4, revised=2)
    assert "2 of the log revised" in str(imported)
    for file in ("later.jsonl", "v.jsonl"):  # nothing of it is new, and what is older changes nothing
        assert again.import_votes("jsonl", tmp_path / file).added == 0
    assert [key(v) for v in dl.study.standing(again.votes())] == [key(v) for v in dl.study.standing(study.votes())]
    assert again.policy().snapshot() == rebuilt(again).snapshot()


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    from duelist.study import _filing

    path = tmp_path / "v.csv"
    path.write_text("left,right,winner\na,b,left\n")
    study = empty()
    real = _filing.unseen

    def meanwhile(*given):
        path.write_text("left,right,winner\na,b,right\nb,c,left\n")
        return real(*given)

    monkeypatch.setattr(_filing, "unseen", meanwhile)
    with pytest.raises(dl.InvalidInput, match="was changed while it was read"):
        study.import_votes("csv", path)
    assert len(study) == 0


def test_memory_does_not_grow_with_the_texts(tmp_path):
    """Eight times as many votes, each with a text of 8 kB that compresses to nothing: 28 MB of text, a few of memory more."""

    def votes(n):
        for k in range(n):
            yield Comparison("a", "b", Outcome.FIRST, context=f"c{k % 7}", payload_first=f"{k} " + "x" * 8000)

    def peak(n):
        write("jsonl", votes(n), tmp_path / f"{n}.jsonl")
        study = empty(f"s{n}", f"sqlite:///{tmp_path / 'studies.db'}")
        study.add_arms(["a", "b"], np.eye(2), ["A", "B"])
        tracemalloc.start()
        try:
            study.import_votes("jsonl", tmp_path / f"{n}.jsonl")
            into = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            study.export("arena", tmp_path / "b.jsonl")
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


@settings(calm, max_examples=20)
@given(done=st.lists(moves, max_size=14))
def test_a_copy_that_is_fed_with_exports_has_the_votes_that_stand(done, tmp_path):
    """Whatever was voted, revised and undone between two exports, in whatever order."""
    study, copy = ready(), ready()
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
            study.export("jsonl", tmp_path / "v.jsonl")
            copy.import_votes("jsonl", tmp_path / "v.jsonl")
            assert Counter(map(key, dl.study.standing(copy.votes()))) == Counter(
                map(key, dl.study.standing(study.votes()))
            )
            again = copy.import_votes("jsonl", tmp_path / "v.jsonl")
            assert (again.added, again.revised) == (0, 0)
    if len(copy):
        assert copy.policy().snapshot() == rebuilt(copy).snapshot()
