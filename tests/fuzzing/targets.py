"""What is fuzzed. A target prepares a folder and returns a function that plays a case and says how it ended.

A case returns "accepted", or raises: DuelistError where the input is rejected; anything else is a bug.
"""

from __future__ import annotations

import base64
import copy
import json
import random
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import duelist as dl
from duelist.server.content import ContentRenderer
from duelist.server.schemas.common import FilePlanRequest
from duelist.study import create_study, plan_items, plan_votes, restore_study
from duelist.study.formats import FORMATS, read
from tests.fuzzing.mutation import mutated_bytes, mutated_json, to_text
from tests.helpers.archives import read_tables, write_tables
from tests.helpers.owners import play
from tests.policies.engine.hostile import snapshots

Case = Callable[[random.Random], str]
ACCEPTED: Final = "accepted"
USED: Final = 0.05
"""The share of accepted files that are also written into a study, which takes longer than reading them."""

CELLS: Final = (
    b'"', b'""', b",", b";", b"\t", b"|", b"\r", b"\n", b"\r\n", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"sep=;\n", b"1e999", b"nan",
    b"-", b"1,5", b"1.234,56", b"$", b"%", b"=1+1", b"\xe9", b"\x80", b"9" * 400, b"\xf0\x9f\x98\x80", b"json", b'["a"]', b"```", b"id",
    b"prompt", b"a.png", b"{", b"}", b"[", b"]", b":", b"null", b"1e5", b"\\ud800", b'\n{"id": "z"}\n', b"\x1f\x8b",
)  # fmt: skip
XML: Final = (
    b"<", b">", b"&", b"&amp;", b"&#0;", b'<!DOCTYPE a [<!ENTITY b "cccccccc">]>', b"&b;", b'r="XFD1048576"', b'r="A1"', b'r="ZZZZZ9"',
    b'r="0"', b't="s"', b't="d"', b't="b"', b't="e"', b't="inlineStr"', b"<v>1e999</v>", b"<v>-1</v>", b"<f>A1</f>", b"<row/>", b"<c/>",
    b"<is><t>x</t></is>", b"</sheetData>", b'spans="1:99999999"', b's="99"', b"<mergeCell ref='A1:XFD1048576'/>", b"\x00", b"\xff",
)  # fmt: skip
TABLES: Final[dict[str, tuple[bytes, ...]]] = {
    ".csv": (
        b"id,text,price\na,first text,1.5\nb,second text,2\nc,third,3\n",
        b'name;answer;x\n"a;1";"say ""hi""";1,5\nb;two;2,5\n',
        b"1,2,3\n4,5,6\n7,8,9\n",
        b"prompt,gpt,claude\nWhy?,because,so\nHow?,thus,well\n",
        b"prompt,model,response,category\nWhy?,m1,yes,c\nWhy?,m2,no,c\nHow?,m1,a,d\nHow?,m2,b,d\n",
    ),
    ".tsv": (b"id\ttext\nq\tone\nr\ttwo\n",),
    ".txt": (b"one\ntwo\nthree\n", "über\nñ\n".encode("cp1252")),
    ".json": (b'[{"id": "a", "text": "x", "features": [1, 2]}, {"id": "b", "text": "y", "features": [3, 4]}]', b'["one", "two"]'),
    ".jsonl": (b'{"id": "a", "payload": {"text": "x"}, "context": "p"}\n{"id": "b", "payload": {"code": "y"}, "context": "p"}\n',),
}  # fmt: skip
PLAN: Final[dict[str, Any]] = {
    "name": "study",
    "goal": "best",
    "policy": "VACDB",
    "settings": {"random_share": 0.1, "answers": ["tie"], "criteria": ["one"], "policy_settings": {"horizon": 100}},
    "columns": {"id": "id", "payload": "text", "context": None, "prompt": None},
    "features": {"kind": "columns", "columns": ["price"], "size": 8},
    "systems": [],
    "encoding": "utf-8",
}
PAYLOADS: Final[tuple[Any, ...]] = (
    "a text",
    "cat.png",
    [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"text": "yes"}]}],
    {"image": "cat.png", "text": "A cat", "alt": "cat"},
    {"markdown": "# a", "code": "b", "language": "py", "video": "a.mp4"},
    {"any": {"thing": [1, 2.5, None]}},
)


def _snapshots(folder: Path) -> Case:
    def case(luck: random.Random) -> str:
        with np.errstate(all="ignore"):
            ending = snapshots.play(np.random.default_rng(luck.getrandbits(64)))
        return ACCEPTED if ending == "snapshots played" else "rejected"

    return case


# -- archives ----------------------------------------------------------------------------


def _archives(folder: Path) -> Case:
    seeds = []
    for policy, goal, dim in (("VACDB", "rank", 2), (None, "best", 0), ("RUCB", None, 0), ("FGTS", None, 2)):
        study = create_study("seed", "memory", policy=policy, goal=goal, gold_share=0.3, random_share=0.3)
        rows = np.random.default_rng(0).normal(size=(6, dim)) if dim else None
        study.add_arms([f"arm {k}" for k in range(6)], rows, payloads=[{"text": f"text {k}"} for k in range(6)])
        study.add_gold("arm 0", "arm 1", "second")
        play(study, 12)
        study.block("ben", exclude_votes=True)
        study.ask("dora")
        path = study.save(folder / "seed.duelist")
        seeds.append((path.read_bytes(), read_tables(path)))

    def case(luck: random.Random) -> str:
        path = folder / "case.duelist"
        body, parts = luck.choice(seeds)
        if luck.random() < 0.1:
            path.write_bytes(
                mutated_bytes(luck, body, (b"PK\x01\x02", b"PK\x05\x06", b"\xff\xff\xff\xff", b"\x00" * 8))
            )
        else:
            manifest, tables = copy.deepcopy(parts)
            for _ in range(luck.choice((1, 1, 2))):
                _damage_archive(luck, manifest, tables)
            write_tables(path, manifest, tables, to_text)
        study = restore_study(path, "memory")
        try:
            _use_study(luck, study, folder)
        finally:
            study.close()
        return ACCEPTED

    return case


def _damage_archive(luck: random.Random, manifest: dict[str, Any], tables: dict[str, list[Any]]) -> None:
    if luck.random() < 0.35:
        mutated_json(luck, manifest)
        return
    name = luck.choice([name for name, lines in tables.items() if lines])
    if name == "snapshots" and luck.random() < 0.8:
        line = luck.choice(tables[name])
        snapshot = json.loads(zlib.decompress(base64.b64decode(line[1])))
        changed = snapshots.damaged(np.random.default_rng(luck.getrandbits(64)), json.dumps(snapshot))
        text = json.dumps(snapshots.resealed(json.loads(json.dumps(changed, default=str))))
        line[1] = base64.b64encode(zlib.compress(text.encode())).decode()
    else:
        mutated_json(luck, tables[name])


def _use_study(luck: random.Random, study: Any, folder: Path) -> None:
    """Do what owners and raters do; each step may be rejected."""
    for step in (
        lambda: study.tell(study.ask("eve"), "first", "eve"),
        lambda: study.leaderboard(),
        lambda: study.can_stop(),
        lambda: study.raters(),
        lambda: study.export(folder / "votes.jsonl"),
        lambda: study.arms(),
        lambda: study.reinstate("ben"),
        lambda: study.add_arms(["another"]),
        lambda: study.ask("fay"),
    ):
        try:
            step()
        except dl.DuelistError as error:
            if isinstance(error.__cause__, MemoryError):
                raise


# -- files of items ----------------------------------------------------------------------


def _use_items(luck: random.Random, path: Path, **options: Any) -> str:
    plan = plan_items(path, **options)
    json.dumps(plan.preview())
    if luck.random() < USED:
        plan.make_features(plan.fit_features())
        create_study("items", "memory", items=plan).close()
    return ACCEPTED


def _tables(folder: Path) -> Case:
    def case(luck: random.Random) -> str:
        suffix = luck.choice(list(TABLES))
        path = folder / f"items{suffix}"
        path.write_bytes(mutated_bytes(luck, luck.choice(TABLES[suffix]), CELLS))
        return _use_items(luck, path)

    return case


def _workbooks(folder: Path) -> Case:
    from openpyxl import Workbook

    seeds = []
    for rows in ([["id", "text", "price"], ["a", "first", 1.5], ["b", "=A1", 2], ["c", None, True]], [[1, 2], [3, 4]]):
        book, path = Workbook(), folder / "seed.xlsx"
        for row in rows:
            book.worksheets[0].append(row)
        book.create_sheet("other").append(["x"])
        book.save(path)
        with zipfile.ZipFile(path) as archive:
            seeds.append({name: archive.read(name) for name in archive.namelist()})

    def case(luck: random.Random) -> str:
        path, members = folder / "items.xlsx", dict(luck.choice(seeds))
        for _ in range(luck.choice((1, 1, 2))):
            name = luck.choice([*members, "xl/worksheets/sheet1.xml", "xl/worksheets/sheet1.xml"])
            if luck.random() < 0.05:
                members.pop(name, None)
            else:
                members[name] = mutated_bytes(luck, members.get(name, b""), XML)
        with zipfile.ZipFile(path, "w", luck.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
            for name, body in members.items():
                archive.writestr(name, body)
        if luck.random() < 0.1:
            path.write_bytes(mutated_bytes(luck, path.read_bytes(), (b"PK\x01\x02", b"PK\x05\x06", b"\xff" * 4)))
        return _use_items(luck, path)

    return case


def _plans(folder: Path) -> Case:
    path = folder / "items.csv"
    path.write_bytes(TABLES[".csv"][0])

    def case(luck: random.Random) -> str:
        plan = copy.deepcopy(PLAN)
        for name in luck.sample(list(plan), luck.randrange(len(plan))):
            del plan[name]
        for _ in range(luck.choice((1, 1, 2))):
            mutated_json(luck, plan)
        request = _validated(to_text(plan))
        options = {name: getattr(request, name) for name in ("columns", "features", "systems", "encoding")}
        return _use_items(luck, path, **options)

    return case


def _validated(text: str) -> FilePlanRequest:
    """Return a plan as the server reads it; what its schema rejects is a DuelistError, as over HTTP."""
    try:
        return FilePlanRequest.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise dl.InvalidInput(str(error), "Send a plan.") from error


# -- votes and payloads ------------------------------------------------------------------


def _votes(folder: Path) -> Case:
    study = create_study("seed", "memory", policy="LocalPairUCB")
    study.add_arms([f"a{k}" for k in range(4)], payloads=[f"text {k}" for k in range(4)])
    play(study, 10)
    seeds = []
    for name, form in FORMATS.items():
        if form.read is not None:
            for suffix in (".csv", ".json", ".jsonl"):
                path = folder / f"seed{suffix}"
                try:
                    study.export(path, name)
                except dl.DuelistError:
                    continue  # the format has other files
                seeds.append((name, suffix, path.read_bytes()))

    def case(luck: random.Random) -> str:
        name, suffix, body = luck.choice(seeds)
        path = folder / f"votes{suffix}"
        path.write_bytes(mutated_bytes(luck, body, CELLS))
        form = luck.choice((name, name, None))
        for _ in read(path, form):
            pass
        if luck.random() < USED:
            other = create_study("votes", "memory", policy="LocalPairUCB")
            try:
                other.apply(plan_votes(path, form))
            finally:
                other.close()
        return ACCEPTED

    return case


def _payloads(folder: Path) -> Case:
    def case(luck: random.Random) -> str:
        payload = mutated_json(luck, copy.deepcopy(luck.choice(PAYLOADS)))
        for show_as in ("text", "markdown", "code"):
            json.dumps(ContentRenderer(1, show_as, folder).render_arm(payload, "a"))
        return ACCEPTED

    return case


TARGETS: Final[dict[str, Callable[[Path], Case]]] = {
    "snapshots": _snapshots,
    "archives": _archives,
    "tables": _tables,
    "workbooks": _workbooks,
    "plans": _plans,
    "votes": _votes,
    "payloads": _payloads,
}
