"""Files of other tools, damaged files, large files, and a real one."""

import csv
import gzip
import json
import tracemalloc
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

import pytest

from duelist.core.errors import InvalidInput
from duelist.research.datasets import load_llmfao
from duelist.study.formats import Comparison, arm_id, read, write
from duelist.study.formats.files import json_records, row
from duelist.study.records import Outcome

# -- records as the formats' own documentation shows them -----------------------------------

ARENA = {
    "question_id": "58210e39", "model_a": "chatglm-6b", "model_b": "koala-13b", "winner": "model_b", "judge": "arena_user_973",
    "conversation_a": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    "conversation_b": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hey"}],
    "turn": 1, "anony": True, "language": "English", "tstamp": 1682351591.1322,
}  # fmt: skip


def test_an_arena_battle(tmp_path):
    path = tmp_path / "battles.json"
    path.write_text(json.dumps([ARENA, ARENA | {"winner": "tie (bothbad)"}, ARENA | {"winner": "both_bad"}], indent=2))
    one, older, newer = read(path, "arena")
    assert one == Comparison(
        "chatglm-6b", "koala-13b", Outcome.SECOND, rater="arena_user_973", context="58210e39",
        voted_at=datetime(2023, 4, 24, 15, 53, 11, 132200, UTC), prompt="Hi", payload_first="Hello", payload_second="Hey",
        extra={"turn": 1, "language": "English"},
    )  # fmt: skip
    assert older.outcome is newer.outcome is Outcome.BOTH_BAD


def test_a_conversation_is_split_where_the_answers_differ(tmp_path):
    def turn(*contents):
        return [{"role": ("user", "assistant")[k % 2], "content": c} for k, c in enumerate(contents)]

    path = tmp_path / "battles.jsonl"
    longer = ARENA | {"conversation_a": turn("a", "b", "c", "d"), "conversation_b": turn("a", "x", "c", "y")}
    same = ARENA | {"conversation_a": turn("a", "b"), "conversation_b": turn("a", "b")}
    path.write_text(json.dumps(longer) + "\n\n" + json.dumps(same))
    one, two = read(path, "arena")
    assert (one.prompt, one.payload_second) == (
        "a",
        [{"role": "assistant", "content": "x"}, *turn("a", "x", "c", "y")[2:]],
    )
    assert (two.prompt, two.payload_first, two.payload_second) == ("a", "b", "b")


TRL_ROWS = {
    "explicit": ({"prompt": "The sky is", "chosen": " blue.", "rejected": " green."}, "The sky is", " blue.", " green."),
    "implicit": ({"chosen": "The sky is blue.", "rejected": "The sky is green."}, "The sky is", " blue.", " green."),
    "conversational": (
        {"prompt": [{"role": "user", "content": "What color is the sky?"}],
         "chosen": [{"role": "assistant", "content": "It is blue."}],
         "rejected": [{"role": "assistant", "content": "It is green."}]},
        [{"role": "user", "content": "What color is the sky?"}],
        [{"role": "assistant", "content": "It is blue."}],
        [{"role": "assistant", "content": "It is green."}],
    ),
    "conversational, implicit": (
        {"chosen": [{"role": "user", "content": "Sky?"}, {"role": "assistant", "content": "Blue."}],
         "rejected": [{"role": "user", "content": "Sky?"}, {"role": "assistant", "content": "Green."}]},
        [{"role": "user", "content": "Sky?"}],
        [{"role": "assistant", "content": "Blue."}],
        [{"role": "assistant", "content": "Green."}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRL_ROWS)
def test_a_trl_preference(name, tmp_path):
    row, prompt, chosen, rejected = TRL_ROWS[name]
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(row))
    (one,) = read(path, "trl")
    assert (one.prompt, one.payload_first, one.payload_second, one.outcome) == (prompt, chosen, rejected, Outcome.FIRST)
    assert (one.first, one.second) == (arm_id(chosen), arm_id(rejected))


def test_trl_as_csv(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('prompt,chosen,rejected,lang\nWhy?,"So, because",No,en\n')
    (one,) = read(path, "trl")
    assert (one.prompt, one.payload_first, one.payload_second, one.extra) == (
        "Why?",
        "So, because",
        "No",
        {"lang": "en"},
    )


def test_an_openai_preference(tmp_path):
    path = tmp_path / "p.jsonl"
    row = {
        "input": {
            "messages": [{"role": "user", "content": "How cold is it?"}],
            "tools": [],
            "parallel_tool_calls": True,
        },
        "preferred_output": [{"role": "assistant", "content": "20 degrees."}],
        "non_preferred_output": [{"role": "assistant", "content": "Not cold."}],
    }
    path.write_text(json.dumps(row))
    (one,) = read(path, "openai")
    assert (one.prompt, one.payload_first, one.payload_second) == ("How cold is it?", "20 degrees.", "Not cold.")
    write([one], tmp_path / "q.jsonl", "openai")
    assert json.loads((tmp_path / "q.jsonl").read_text()) == row


def test_a_label_studio_export(tmp_path):
    path = tmp_path / "tasks.json"

    def annotation(result, **more):
        return {"id": 1, "result": result, "was_cancelled": False, "created_at": "2021-03-09T22:16:08.728353Z",
                "lead_time": 4.288, "completed_by": 10} | more  # fmt: skip

    def selected(side):
        return [
            {"id": "x", "type": "choices", "value": {"choices": ["long"]}},
            {"from_name": "pw", "to_name": "pw", "type": "pairwise", "value": {"selected": side}},
        ]

    person = {"id": 4, "email": "ana@example.org"}
    annotations = [
        annotation(selected("left")),
        annotation(selected("right"), completed_by=person),
        annotation([]),
        annotation(selected("left"), was_cancelled=True),
    ]
    path.write_text(
        json.dumps([{"id": 1, "data": {"answer1": "A", "answer2": "B", "q": "?", "n": 3}, "annotations": annotations}])
    )
    rows = list(read(path, "label-studio", left="answer1", right="answer2", prompt="q"))
    assert [r.outcome for r in rows] == [Outcome.FIRST, Outcome.SECOND, Outcome.SKIP, Outcome.SKIP]
    assert [r.rater for r in rows] == ["10", "ana@example.org", "10", "10"]
    assert rows[0].voted_at == datetime(2021, 3, 9, 22, 16, 8, 728353, UTC)
    assert (rows[0].response_seconds, rows[0].prompt, rows[0].extra) == (4.288, "?", {"n": 3})
    with pytest.raises(InvalidInput, match=r"line 1, data has no field 'text1'.*out of answer1, answer2, q, n"):
        next(read(path, "label-studio"))


def test_csv_with_line_ends_in_cells_as_a_spreadsheet_writes_it(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(b'\xef\xbb\xbfwinner,left,right,note\r\nleft,a,"b\r\nb","say ""hi"""\r\n\r\nskip,c,d,\r\n')
    one, two = read(path, "csv")
    assert (one.first, one.second, one.outcome, one.extra) == ("a", "b\r\nb", Outcome.FIRST, {"note": 'say "hi"'})
    assert (two.outcome, two.extra) == (Outcome.SKIP, {})


def test_a_cell_may_be_long(tmp_path):
    row = Comparison("a", "b", Outcome.TIE, payload_first="long\n" * 50_000, payload_second="x")
    write([row], tmp_path / "v.csv", "csv")
    assert list(read(tmp_path / "v.csv", "csv")) == [row]


# -- damage ------------------------------------------------------------------------------

HEADER = '{"format": "duelist.votes", "version": 1}\n'
DAMAGED = [
    ("csv", "left,right\na,b\n", "has no column 'winner'. Its columns are left, right"),
    ("csv", "left,right,winner\na,b,left\na,b,up\n", "line 3: winner is 'up'. Give one of left, right, tie, both_bad, skip"),
    ("csv", 'left,right,winner\n"a\na",b,left\na,b\n', "line 4 has 2 cells, but the header has 3"),
    ("csv", "left,right,winner\na,a,left\n", "line 2 compares 'a' with itself"),
    ("csv", "left,right,winner\n,a,left\n", "line 2: left is ''. Give a text that is not empty"),
    ("csv", "left,right,winner,winner\n", "has the column 'winner' twice"),
    ("csv", 'left,right,winner\na,"b"x,left\n', "cannot be read as CSV"),
    ("csv", "", "is empty. Give a header"),
    ("csv", "left,right,winner,voted_at\na,b,left,yesterday\n", "line 2: voted_at is 'yesterday'. Give a time like"),
    ("csv", "left,right,winner,voted_at\na,b,left,yesterday\n", "with its offset"),
    ("csv", "left,right,winner,propensity\na,b,left,nan\n", "propensity is 'nan'. Give a finite number"),
    ("csv", "left,right,winner,propensity\na,b,left,1.5\n", "propensity is '1.5'. Give a probability from 0 to 1"),
    ("csv", "left,right,winner,source\na,b,left,me\n", "source is 'me'. Give one of human, model, import"),
    ("arena", '[{"model_a": "a",\n"model_b": "b"},\n{"model_a" "b"}]', "line 1 has no field 'winner'. Give one of model_a"),
    ("arena", json.dumps(ARENA) + "\n{", "line 2 is not JSON"),
    ("arena", json.dumps(ARENA) + "\n[1]", r"line 2 holds \[1\]. Each record must be an object"),
    ("arena", "[" + json.dumps(ARENA) + ",\n" + json.dumps(ARENA)[:-9], "line 2: the record that begins there is not JSON"),
    ("arena", "[" + json.dumps(ARENA) + ",\n", "ends inside its JSON array, at line 2"),
    ("arena", "[" + json.dumps(ARENA) + ",\n]", "line 2 has a comma before the end"),
    ("arena", "[" + json.dumps(ARENA) + "\n" + json.dumps(ARENA) + "]", "line 2: there is no comma between two records"),
    ("arena", "[" + json.dumps(ARENA) + "]\n{}", "line 2 goes on after the array"),
    ("arena", json.dumps(ARENA | {"conversation_b": [3]}), r"conversation_b is \[3\]. Give a list of messages"),
    ("arena", json.dumps(ARENA | {"tstamp": 1e300}), r"tstamp is 1e\+300. Give seconds since 1970"),
    ("arena", json.dumps(ARENA | {"model_a": None}), "model_a is None. Give a text"),
    ("trl", '{"prompt": "p", "chosen": "c"}', "line 1 has no field 'rejected'"),
    ("trl", '{"prompt": "p", "chosen": "c", "rejected": [{"role": "user", "content": "x"}]}', "the same kind as chosen"),
    ("openai", '{"input": {"messages": []}}', r"line 1, input: messages is \[\]. Give a list of messages"),
    ("jsonl", '{"first": "a"}', "does not begin with .*Name its format"),
    ("jsonl", "", "does not begin with"),
    ("jsonl", '{"format": "duelist.votes", "version": 2}', "has version 2, and this release reads version 1"),
    ("jsonl", HEADER + '{"first": "a", "second": "b", "outcome": "left"}', "line 2: outcome is 'left'. Give one of first"),
    ("jsonl", HEADER + '{"first": "a", "second": "b"}', "line 2 has no field 'outcome'"),
    ("jsonl", HEADER + '{"first": "a", "second": "b", "outcome": "tie", "who": 1}', "unknown field 'who'. Put fields of your own"),
    ("jsonl", HEADER + '{"first": "a", "second": "b", "outcome": "tie", "late": 1}', "late is 1. Give true or false"),
    ("jsonl", HEADER + '{"first": ' + "[" * 100_000, "line 2 is not JSON"),
    ("jsonl", HEADER + '{"first": ' + "1" * 5000 + "}", "line 2 is not JSON"),
    ("arena", '[{"model_a": ' + "[" * 100_000, "line 1: the record that begins there is not JSON"),
    ("label-studio", '[{"data": {"text1": null, "text2": 2}, "annotations": []}]', "text1 is None. Give it, or name the keys"),
    ("label-studio", '[{"data": {"text1": 1, "text2": 2}}]', "line 1 has no field 'annotations'"),
    ("label-studio", '[{"data": {"text1": 1, "text2": 2}, "annotations": [{"result": [{"type": "pairwise", "value": '
     '{"selected": "up"}}]}]}]', "annotation 1, value: selected is 'up'. Give one of left, right"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), DAMAGED)
def test_a_damaged_file_is_named_with_line_field_and_value(name, content, message, tmp_path):
    path = tmp_path / ("f.csv" if name == "csv" else "f.json")
    path.write_text(content, newline="")
    with pytest.raises(InvalidInput, match=message) as caught:
        list(read(path, name))
    assert path.name in str(caught.value)


def test_files_that_are_not_text(tmp_path):
    path = tmp_path / "f.jsonl"
    with pytest.raises(InvalidInput, match="is not a file"):
        list(read(path, "jsonl"))
    path.write_bytes(HEADER.encode() + b"\xff\xfe")
    with pytest.raises(InvalidInput, match="is not UTF-8"):
        list(read(path, "jsonl"))
    path.write_bytes(gzip.compress(HEADER.encode() * 100)[:-12])
    with pytest.raises(InvalidInput, match="damaged gzip"):
        list(read(path, "jsonl"))


@pytest.mark.parametrize("name", ["v.jsonl.gz", "v.json.gz", "v.csv.gz"])
def test_files_that_unpack_to_very_much_more_are_errors(tmp_path, name):
    """390 kB unpacked to one line of 400 MB, and nothing kept them from being 256 MB."""
    path = tmp_path / name
    start = b"[" if name == "v.json.gz" else b""
    path.write_bytes(gzip.compress(start + b'{"a": "' + b"x" * (row.MAX_LINE + 10_000_000), compresslevel=9))
    with pytest.raises(InvalidInput, match=r"unpacks to more than|line or record of more than|field limit"):
        list(read(path, "csv" if name == "v.csv.gz" else "jsonl"))


@pytest.mark.parametrize("name", ["v.jsonl", "v.json", "v.csv"])
def test_lines_and_records_that_do_not_fit_into_memory_are_errors(tmp_path, name, monkeypatch):
    for module in (row, json_records):
        monkeypatch.setattr(module, "MAX_LINE", 100_000)
    path = tmp_path / name
    path.write_text(("[" if name == "v.json" else "") + '{"a": "' + "x" * 500_000)
    with pytest.raises(InvalidInput, match="line or record of more than 100,000"):
        list(read(path, "csv" if name == "v.csv" else "jsonl"))


@pytest.mark.parametrize("encoding", ["idna", "punycode", "IDNA", "rot13", "no such"])
def test_encodings_that_no_file_has(tmp_path, encoding):
    """Reading 120 kB as idna took 10 seconds, and four times that for twice as much."""
    path = tmp_path / "v.csv"
    path.write_text("left,right,winner\na,b,left\n")
    with pytest.raises(InvalidInput, match="which is not a known encoding"):
        list(read(path, "csv", encoding=encoding))


def test_unknown_formats_and_options(tmp_path):
    with pytest.raises(InvalidInput, match=r"format is 'xml'\. Choose one of arena, trl"):
        read(tmp_path, "xml")
    with pytest.raises(InvalidInput, match=r"cannot be read\. Choose one of arena"):
        read(tmp_path, "trl-unpaired")
    with pytest.raises(InvalidInput, match=r"both_bad is 'bad'\. Choose one of"):
        write([], tmp_path / "b.json", "arena", both_bad="bad")
    with pytest.raises(InvalidInput, match=r"arena has no option 'bothbad' here\. It takes both_bad"):
        write([], tmp_path / "b.json", "arena", bothbad="bad")
    with pytest.raises(InvalidInput, match=r"jsonl has no option 'left' here\. It takes none"):
        read(tmp_path / "b.json", "jsonl", left="a")


def test_a_failed_export_leaves_the_old_file(tmp_path):
    path = tmp_path / "v.jsonl"
    row = Comparison("a", "b", Outcome.TIE)
    write([row], path, "jsonl")
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match=r"cannot be written as JSON.*Use only texts"):
        write([row, row, replace(row, payload_first={1, 2})], path, "jsonl")
    with pytest.raises(InvalidInput, match="cannot be written as JSON"):
        write([replace(row, propensity=float("nan"))], path, "jsonl")
    with pytest.raises(InvalidInput, match="without an offset"):
        write([replace(row, voted_at=datetime(2026, 1, 1))], path, "jsonl")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["v.jsonl"]


def test_an_unpaired_surrogate_survives_json_and_is_rejected_by_csv(tmp_path):
    row = Comparison("a", "b", Outcome.TIE, payload_first="\ud83d")
    write([row], tmp_path / "v.jsonl", "jsonl")
    assert list(read(tmp_path / "v.jsonl", "jsonl")) == [row]
    with pytest.raises(InvalidInput, match="unpaired surrogate"):
        write([row], tmp_path / "v.csv", "csv")


# -- size --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "file"), [("arena", "b.json"), ("csv", "v.csv"), ("jsonl", "v.jsonl.gz")])
def test_memory_does_not_grow_with_the_file(name, file, tmp_path):
    """Eight times as many rows, 4 MB more of text, need less than half a megabyte more memory."""

    def rows(n):
        return (Comparison(f"a{k}", "b", Outcome.TIE, payload_first="x" * 1000, payload_second="y") for k in range(n))

    def peak(n):
        path = tmp_path / f"{n}-{file}"
        tracemalloc.start()
        try:
            write(rows(n), path, name)
            assert sum(1 for _ in read(path, name)) == n
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(4000) - peak(500) < 500_000


def test_an_array_is_read_across_chunks(tmp_path):
    """Records have every length from 1 to 300 characters, and one has a megabyte, so that chunks end everywhere."""
    lengths = [*range(1, 300), 1_000_000, *range(1, 300)]
    rows = [
        Comparison("é" * k, "b", Outcome.FIRST, extra={"n": [-1.5e-7, True, None, "\\u00e9", "]}"]}) for k in lengths
    ]
    path = tmp_path / "b.json"
    write(rows, path, "arena")
    assert list(read(path, "arena")) == rows
    path.write_text(json.dumps(json.loads(path.read_text()), ensure_ascii=True, indent=1))
    assert list(read(path, "arena")) == rows


def test_an_error_early_in_a_large_array_is_found_early(tmp_path):
    path = tmp_path / "b.json"
    with path.open("w") as file:
        file.write('[{"model_a" 3},\n')
        file.writelines("x" * 1000 + "\n" for _ in range(5000))
    tracemalloc.start()
    with pytest.raises(InvalidInput, match="line 1"):
        next(read(path, "arena"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


# -- the real one ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def llmfao(data_folder):
    return list(load_llmfao(data_folder))


def test_llmfao_has_every_vote_of_the_file(llmfao, data_folder):
    with (data_folder / "llmfao" / "comparisons.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    word = {"left": "first", "right": "second", "tie": "tie"}
    assert Counter((r["left"], r["right"], word[r["winner"]], r["worker"], r["prompt"]) for r in rows) == Counter(
        (c.first, c.second, c.outcome, c.rater, c.context) for c in llmfao
    )
    assert (len(llmfao), len({c.first for c in llmfao} | {c.second for c in llmfao})) == (8931, 59)
    assert all(isinstance(c.payload_first, str) and isinstance(c.prompt, str) for c in llmfao)


@pytest.mark.parametrize(
    ("name", "file"), [("arena", "l.json"), ("arena", "l.csv"), ("csv", "l.csv"), ("jsonl", "l.jsonl.gz")]
)
def test_llmfao_survives_a_round_trip(llmfao, name, file, tmp_path):
    report = write(llmfao, tmp_path / file, name)
    assert list(read(tmp_path / file, name)) == llmfao
    assert (report.rows, report.skipped, report.lost) == (8931, {}, {})


def test_llmfao_is_exported_to_trl_without_ties(llmfao, tmp_path):
    report = write(llmfao, tmp_path / "l.jsonl", "trl")
    assert report.skipped == {"tie": 3471}
    assert report.rows == 8931 - 3471
    winner = next(c for c in llmfao if c.outcome is Outcome.SECOND)
    position = sum(c.outcome is not Outcome.TIE for c in islice(llmfao, llmfao.index(winner)))
    line = json.loads((tmp_path / "l.jsonl").read_text().splitlines()[position])
    assert (line["chosen"], line["rejected"]) == (winner.payload_second, winner.payload_first)


def test_llmfao_with_a_missing_row_is_rejected(tmp_path):
    base = tmp_path / "llmfao"
    base.mkdir()
    (base / "prompts.csv").write_text("id,text\n8,Why?\n")
    (base / "responses.csv").write_text("name,prompt,result\na,8,x\n")
    (base / "comparisons.csv").write_text("id,prompt,model_x,model_y,worker,winner,left,right\n0,8,1,2,3,tie,a,b\n")
    with pytest.raises(InvalidInput, match="line 2 needs the answer of 'b' to prompt 8"):
        list(load_llmfao(tmp_path))


DEEP = "[" * 100_000


def battle_with(cells, folder):
    path = folder / "battles.csv"
    path.write_text(f"model_a,model_b,winner,conversation_a,json\n{cells}\n")
    return list(read(path, "arena"))


def test_a_conversation_of_deeply_nested_json_is_an_error(tmp_path):
    with pytest.raises(InvalidInput, match="conversation_a"):
        battle_with(f"a,b,model_a,{DEEP},", tmp_path)


def test_other_deeply_nested_json_is_kept_as_text(tmp_path):
    (found,) = battle_with(f"a,b,tie,,{DEEP}", tmp_path)
    assert found.extra == {"json": DEEP}


def test_a_small_file_of_texts_takes_little_memory(tmp_path):
    (tmp_path / "texts.json").write_text('["one", "two"]')
    tracemalloc.start()
    try:
        assert json_records.read_json_texts(tmp_path / "texts.json") == ["one", "two"]
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
