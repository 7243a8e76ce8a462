"""Written fields are read again, or are counted as lost."""

import gzip
import json
import string
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duelist.study.formats import FORMATS, Comparison, arm_id, read, write
from duelist.study.records import ChosenBy, Outcome, Source, Vote

texts = st.text(min_size=1, max_size=20)
awkward = st.sampled_from(
    ['a "quoted" text', "two\nlines", "windows\r\nlines", "comma, semicolon; tab\t", "é漢🙂", " x "]
)
words = texts | awkward
times = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
numbers = st.floats(0, 1e6, allow_nan=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
extra_names = st.text(string.ascii_lowercase, min_size=1, max_size=8).map("x_{}".format)
calm = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def comparisons(draw, outcomes=tuple(Outcome), payloads=words, extra_values=words, log=False, **fixed):
    first, second = draw(st.lists(words, min_size=2, max_size=2, unique=True))
    fields = {
        "first": first,
        "second": second,
        "outcome": draw(st.sampled_from(outcomes)),
        "rater": draw(st.none() | words),
        "context": draw(st.none() | words),
        "voted_at": draw(st.none() | times),
        "prompt": draw(st.none() | words),
        "payload_first": draw(payloads),
        "payload_second": draw(payloads),
        "extra": draw(st.dictionaries(extra_names, extra_values, max_size=2)),
    }
    if log:
        fields |= {
            "source": draw(st.sampled_from(Source)),
            "chosen_by": draw(st.sampled_from(ChosenBy)),
            "propensity": draw(st.none() | st.floats(0, 1)),
            "response_seconds": draw(st.none() | numbers),
        }
    return Comparison(**(fields | fixed))


def round_trip(name, rows, path):
    report = write(rows, path, name)
    return report, list(read(path, name))


@calm
@given(data=st.data())
def test_jsonl_loses_nothing(data, tmp_path):
    whole = st.none() | st.integers(0, 2**60)
    one = comparisons((*Outcome, None), json_values, json_values, log=True)
    rows = data.draw(st.lists(one, max_size=4))
    rows = [
        replace(
            row,
            sequence=data.draw(whole),
            duel_id=data.draw(whole),
            revises=data.draw(whole),
            late=data.draw(st.booleans()),
            prompt=data.draw(json_values),
            rater=data.draw(st.none() | st.text()),
            context=data.draw(st.none() | st.text()),
        )
        for row in rows
    ]
    report, back = round_trip("jsonl", rows, tmp_path / "votes.jsonl")
    assert back == rows
    assert (report.rows, report.skipped, report.lost) == (len(rows), {}, {})


@calm
@given(
    rows=st.lists(comparisons(log=True, extra={}), max_size=4), extra=st.dictionaries(extra_names, words, max_size=3)
)
def test_csv_keeps_every_outcome_text_time_and_column(rows, extra, tmp_path):
    rows = [replace(row, extra=extra) for row in rows]
    report, back = round_trip("csv", rows, tmp_path / "votes.csv")
    assert back == rows
    assert (report.rows, report.skipped, report.lost) == (len(rows), {}, {})


battles = comparisons((Outcome.FIRST, Outcome.SECOND, Outcome.TIE, Outcome.BOTH_BAD), extra_values=json_values)


@calm
@given(rows=st.lists(battles, max_size=4), name=st.sampled_from(["b.json", "b.jsonl", "b.json.gz", "b"]),
       word=st.sampled_from(["tie (bothbad)", "both_bad"]))  # fmt: skip
def test_arena_keeps_battles_with_their_conversations_and_columns(rows, name, word, tmp_path):
    report = write(rows, tmp_path / name, "arena", both_bad=word)
    assert list(read(tmp_path / name, "arena")) == rows
    assert (report.rows, report.skipped, report.lost) == (len(rows), {}, {})


@calm
@given(rows=st.lists(comparisons((Outcome.FIRST, Outcome.TIE), extra={"turn": "1"}), max_size=4))
def test_arena_as_csv_keeps_the_same(rows, tmp_path):
    report, back = round_trip("arena", rows, tmp_path / "battles.csv")
    assert back == rows
    assert not report.skipped
    assert not report.lost


messages = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": words}),
    min_size=1,
    max_size=3,
)


@calm
@given(data=st.data(), chatty=st.booleans())
def test_trl_keeps_prompt_winner_and_loser(data, chatty, tmp_path):
    content = messages if chatty else words
    one = comparisons((Outcome.FIRST, Outcome.SECOND), content, json_values, voted_at=None, rater=None, context=None)
    rows = [
        replace(row, prompt=data.draw(content))
        for row in data.draw(st.lists(one, max_size=4))
        if arm_id(row.payload_first) != arm_id(row.payload_second)
    ]
    report, back = round_trip("trl", rows, tmp_path / "p.jsonl")
    assert [(c.prompt, c.payload_first, c.payload_second, c.extra) for c in back] == [
        (c.prompt, *in_order_of_merit(c), c.extra) for c in rows
    ]
    assert all(c.outcome is Outcome.FIRST and c.first == arm_id(c.payload_first) for c in back)
    assert (report.rows, report.skipped, report.lost) == (len(rows), {}, {})


def in_order_of_merit(comparison):
    pair = (comparison.payload_first, comparison.payload_second)
    return pair if comparison.outcome is Outcome.FIRST else pair[::-1]


@calm
@given(data=st.data())
def test_openai_keeps_prompt_winner_loser_and_tools(data, tmp_path):
    one = comparisons(
        (Outcome.FIRST, Outcome.SECOND), extra={"tools": [{"type": "function"}], "parallel_tool_calls": True, "x": 1}
    )
    rows = [
        replace(row, prompt=data.draw(words))
        for row in data.draw(st.lists(one, max_size=4))
        if row.payload_first != row.payload_second
    ]
    report, back = round_trip("openai", rows, tmp_path / "p.jsonl")
    assert [(c.prompt, c.payload_first, c.payload_second, c.extra) for c in back] == [
        (c.prompt, *in_order_of_merit(c), c.extra) for c in rows
    ]
    assert report.rows == len(rows)
    assert not report.skipped
    assert report.lost == counted(rows, ("rater", "context", "voted_at"))


def counted(rows, names):
    counts = {name: sum(getattr(row, name) is not None for row in rows) for name in names}
    return {name: count for name, count in counts.items() if count}


@calm
@given(rows=st.lists(comparisons((Outcome.FIRST, Outcome.SECOND, Outcome.SKIP), extra_values=json_values), max_size=4),
       rater=st.none() | st.integers(0, 10**9).map(str) | st.just("ana@example.org"), seconds=st.none() | numbers)  # fmt: skip
def test_label_studio_keeps_ids_texts_raters_and_times(rows, rater, seconds, tmp_path):
    rows = [replace(row, rater=rater, response_seconds=seconds) for row in rows]
    report, back = round_trip("label-studio", rows, tmp_path / "tasks.json")
    assert back == rows
    assert (report.rows, report.skipped, report.lost) == (len(rows), {}, {})


# -- what a format cannot hold -----------------------------------------------------------

HELD = {
    "arena": {Outcome.FIRST, Outcome.SECOND, Outcome.TIE, Outcome.BOTH_BAD},
    "trl": {Outcome.FIRST, Outcome.SECOND},
    "trl-unpaired": {Outcome.FIRST, Outcome.SECOND, Outcome.BOTH_BAD},
    "openai": {Outcome.FIRST, Outcome.SECOND},
    "csv": set(Outcome),
    "evalica": {Outcome.FIRST, Outcome.SECOND, Outcome.TIE, Outcome.BOTH_BAD},
    "label-studio": {Outcome.FIRST, Outcome.SECOND, Outcome.SKIP},
    "jsonl": {*Outcome, None},
}
NEEDS_TEXT = {"trl", "trl-unpaired", "openai", "label-studio"}


def test_the_table_covers_every_format():
    assert set(HELD) == set(FORMATS)


@pytest.mark.parametrize(("name", "outcome"), [*product(FORMATS, [*Outcome, None])])
def test_an_outcome_is_written_or_counted_under_its_name(name, outcome, tmp_path):
    row = Comparison("a", "b", outcome, prompt="p", payload_first="one", payload_second="two")
    path = tmp_path / "file"
    report = write([row, row], path, name)
    if outcome in HELD[name]:
        assert report.rows == (4 if name == "trl-unpaired" else 2)
        assert not report.skipped
    else:
        assert report.rows == 0
        assert report.skipped == {"undone" if outcome is None else str(outcome): 2}
    if FORMATS[name].read is not None:
        assert len(list(read(path, name))) == report.rows


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("payload", [None, {"image": "a.png"}, 3])
def test_a_vote_without_text_is_skipped_by_formats_of_texts(name, payload, tmp_path):
    row = Comparison("a", "b", Outcome.FIRST, prompt="p", payload_first=payload, payload_second="two")
    report = write([row], tmp_path / "file", name)
    assert report.skipped == ({"without text": 1} if name in NEEDS_TEXT else {})
    assert report.rows == (name not in NEEDS_TEXT)


FULL = Comparison(
    "a", "b", Outcome.FIRST, rater="ana", context="c", voted_at=datetime(2026, 1, 1, tzinfo=UTC), source=Source.HUMAN,
    response_seconds=2.0, chosen_by=ChosenBy.RANDOM, propensity=0.5, prompt="p", payload_first="1", payload_second="2",
    reason="because", criterion="style", extra={"chosen": 1, "x": 2},
)  # fmt: skip
LOST = {
    "arena": {"response_seconds", "source", "chosen_by", "propensity", "reason", "criterion"},
    "trl": {
        "rater",
        "context",
        "voted_at",
        "response_seconds",
        "source",
        "chosen_by",
        "propensity",
        "reason",
        "criterion",
    },
    "csv": set(),
    "evalica": {field.name for field in fields(Comparison)}
    - {"first", "second", "outcome", "extra"}
    - {"sequence", "duel_id", "revises", "late"}
    | {"extra chosen", "extra x"},
    "label-studio": {"rater", "source", "chosen_by", "propensity", "reason", "criterion"},
    "jsonl": set(),
}


@pytest.mark.parametrize("name", LOST)
def test_unsupported_fields_are_counted_and_all_others_come_back(name, tmp_path):
    report, (back,) = round_trip(name, [FULL], tmp_path / "file")
    assert report.lost == dict.fromkeys(LOST[name], 1)
    kept = [field.name for field in fields(Comparison) if field.name not in LOST[name]]
    kept = [field for field in kept if field != "extra" or "extra x" not in LOST[name]]
    kept = [field for field in kept if name != "trl" or field not in ("first", "second")]
    assert {field: getattr(back, field) for field in kept} == {field: getattr(FULL, field) for field in kept}


def test_a_report_is_one_sentence(tmp_path):
    assert str(write([FULL, replace(FULL, outcome=Outcome.TIE)], tmp_path / "p.jsonl", "openai")) == (
        "1 row written; 1 skipped (tie); without rater (1), context (1), voted_at (1), response_seconds (1), source (1), "
        "chosen_by (1), propensity (1), reason (1), criterion (1)"
    )
    both_bad = Comparison("a", "b", Outcome.BOTH_BAD)
    assert (
        str(write([both_bad, both_bad], tmp_path / "v.csv", "evalica")) == "2 rows written; 2 changed (both_bad as tie)"
    )
    picture = Comparison("a", "b", Outcome.TIE, prompt="p", payload_first={"image": 1}, payload_second="x")
    assert write([picture], tmp_path / "b.json", "arena").lost == {
        "prompt": 1,
        "payload_first": 1,
        "payload_second": 1,
    }
    with_more = Comparison("a", "b", Outcome.FIRST, payload_first={"text": "1", "by": "ana"}, payload_second="2")
    assert write([with_more], tmp_path / "p.jsonl", "trl").changed == {"payload_first as its text alone": 1}


def test_extra_fields_of_some_rows_come_back(tmp_path):
    """Fields of one type in every row get a column each; the others are packed into one text."""
    rows = [
        replace(FULL, extra={"turn": 1, "late": {"x": 1}, "mixed": 3}),
        replace(FULL, extra={"turn": 2, "mixed": "3"}),
    ]
    for name in ("arena", "trl", "openai", "label-studio"):
        _, back = round_trip(name, rows, tmp_path / f"f{FORMATS[name].suffixes[0]}")
        assert [one.extra for one in back] == [one.extra for one in rows]
    write(rows, tmp_path / "f.jsonl", "arena")
    first, second = (json.loads(line) for line in (tmp_path / "f.jsonl").read_text().splitlines())
    assert list(first) == list(second)
    assert (first["turn"], json.loads(first["extra"]), json.loads(second["extra"])) == (
        1,
        {"late": {"x": 1}, "mixed": 3},
        {"mixed": "3"},
    )


def test_an_iterator_is_written_like_a_list(tmp_path):
    rows = [FULL, replace(FULL, extra={"late": 1}, payload_first=[{"role": "assistant", "content": "1"}] * 2)]
    for name in FORMATS:
        write(rows, tmp_path / "list", name)
        write(iter(rows), tmp_path / "iterator", name)
        assert (tmp_path / "list").read_bytes() == (tmp_path / "iterator").read_bytes()


json_or_nothing = st.none() | json_values


@calm
@given(
    rows=st.lists(comparisons(payloads=json_or_nothing, extra_values=json_values, log=True), max_size=4), data=st.data()
)
def test_csv_keeps_messages_empty_texts_and_any_json(rows, data, tmp_path):
    rows = [replace(row, prompt=data.draw(json_or_nothing), extra=row.extra | {"left": 1}) for row in rows]
    report, back = round_trip("csv", rows, tmp_path / "votes.csv")
    assert back == rows
    assert (report.rows, report.skipped, report.lost) == (len(rows), {}, {})


def test_unpaired_labels_say_which_answer_was_good(tmp_path):
    path = tmp_path / "k.jsonl"
    pair = {"prompt": "p", "payload_first": "one", "payload_second": "two"}
    write([Comparison("a", "b", o, **pair) for o in (Outcome.SECOND, Outcome.BOTH_BAD)], path, "trl-unpaired")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(r["completion"], r["label"]) for r in rows] == [
        ("one", False),
        ("two", True),
        ("one", False),
        ("two", False),
    ]
    assert all(set(r) == {"prompt", "completion", "label"} for r in rows)


def test_a_trl_file_has_texts_or_messages(tmp_path):
    plain = Comparison("a", "b", Outcome.FIRST, prompt="p", payload_first="1", payload_second="2")
    chat = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    chatty = Comparison("a", "b", Outcome.FIRST, prompt="p", payload_first=chat, payload_second="2")
    report = write([plain, chatty], tmp_path / "p.jsonl", "trl", conversational=False)
    assert (report.rows, report.skipped) == (1, {"a conversation among texts": 1})
    assert write([plain, chatty], tmp_path / "p.jsonl", "trl").rows == 2
    first, second = read(tmp_path / "p.jsonl", "trl")
    assert first.prompt == [{"role": "user", "content": "p"}]
    assert first.payload_first == [{"role": "assistant", "content": "1"}]
    assert second.payload_first == chat


# -- votes of a study --------------------------------------------------------------------


def test_a_vote_survives_a_round_trip(tmp_path):
    voted_at = datetime(2026, 5, 4, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    vote = Vote(7, 3, Outcome.SECOND, "ana", voted_at, "a", "b", "c", Source.MODEL, 1.5, True, 5, ChosenBy.RANDOM, 0.25,
                "so", "style")  # fmt: skip
    comparison = Comparison.from_vote(vote, prompt="p", payload_first="one", payload_second={"image": "b.png"})
    write([comparison], tmp_path / "v.jsonl", "jsonl")
    (back,) = read(tmp_path / "v.jsonl", "jsonl")
    assert back == comparison
    assert back.to_vote(back.sequence, back.duel_id) == vote
    assert replace(back, voted_at=None).to_vote(7, 3).voted_at is None


def test_gzip_is_written_by_name_and_read_by_content(tmp_path):
    row = Comparison("a", "b", Outcome.TIE)
    write([row], tmp_path / "v.csv.gz", "csv")
    assert gzip.decompress((tmp_path / "v.csv.gz").read_bytes()).startswith(b"left,right,winner")
    (tmp_path / "v.csv").write_bytes((tmp_path / "v.csv.gz").read_bytes())
    assert list(read(tmp_path / "v.csv", "csv")) == [row]
