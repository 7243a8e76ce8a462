"""How long raters wait for the study server, with and without dashboards open, and how many it holds.

    python -m benchmarks.server --page docs/evidence/benchmarks-server.md

The server (`duelist serve`) and its clients are separate processes. 64 raters, each with a token, share a rate of votes per second:
each asks, then votes, and the response times of both are measured. Dashboards poll everything that they show. Then each rater thinks
for a quarter of a second before every vote: at most 256 votes per second, less whatever they wait; the time that the processors work
for a vote says what ends it.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from tests.helpers import postgres
from tests.helpers.busy_server import make, rater_tokens
from tests.helpers.server import Running, running

from duelist.research.origin import with_origin
from duelist.study import Outcome, Source, Study, Vote, load_study

RATERS = 64
THOUGHT = 0.25
"""Seconds that a rater of the last table thinks."""
SHOWN = (
    "leaderboard?top=100",
    "can-stop",
    "win-matrix?top=60",
    "history",
    "raters",
    "queue",
    "log?limit=50",
    "calibration",
)
OUTCOMES = ("first", "second", "tie")


# -- those who ask -----------------------------------------------------------------------


async def rate(address: str, study: int, tokens: list[str], rate: float, seconds: float) -> dict[str, list[float]]:
    """Let raters vote at a common rate, and return the response times by verb."""
    taken: dict[str, list[float]] = {"ask": [], "tell": []}
    free = asyncio.Queue[str]()
    for token in tokens:
        free.put_nowait(token)
    limits = httpx.Limits(max_connections=len(tokens), max_keepalive_connections=len(tokens))
    async with httpx.AsyncClient(base_url=f"{address}/api/v1/studies/{study}", limits=limits, timeout=60) as client:

        async def vote(number: int) -> None:
            token = await free.get()
            headers = {"Authorization": f"Bearer {token}"}
            begun = time.perf_counter()
            duel = await client.post("/ask", json={}, headers=headers)
            asked = time.perf_counter()
            duel.raise_for_status()
            body = {"duel": duel.json()["id"], "outcome": OUTCOMES[number % 3]}
            told = await client.post("/votes", json=body, headers=headers)
            done = time.perf_counter()
            told.raise_for_status()
            taken["ask"].append(asked - begun)
            taken["tell"].append(done - asked)
            free.put_nowait(token)

        start = time.perf_counter()
        tasks = []
        for number in itertools.count():
            due = start + number / rate
            if due - start > seconds:
                break
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.append(asyncio.create_task(vote(number)))
        await asyncio.gather(*tasks)
    return taken


async def think(
    addresses: list[str], study: int, tokens: list[str], thought: float, seconds: float
) -> dict[str, list[float]]:
    """Let every rater ask, think and vote again and again, and return the response times by verb."""
    taken: dict[str, list[float]] = {"ask": [], "tell": []}
    limits = httpx.Limits(max_connections=len(tokens), max_keepalive_connections=len(tokens))
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:
        until = time.perf_counter() + seconds

        async def one(number: int, token: str) -> None:
            api = f"{addresses[number % len(addresses)]}/api/v1/studies/{study}"
            headers = {"Authorization": f"Bearer {token}"}
            await asyncio.sleep(thought * number / len(tokens))
            while time.perf_counter() < until:
                begun = time.perf_counter()
                duel = await client.post(f"{api}/ask", json={}, headers=headers)
                taken["ask"].append(time.perf_counter() - begun)
                duel.raise_for_status()
                await asyncio.sleep(thought)
                body = {"duel": duel.json()["id"], "outcome": OUTCOMES[number % 3]}
                begun = time.perf_counter()
                told = await client.post(f"{api}/votes", json=body, headers=headers)
                taken["tell"].append(time.perf_counter() - begun)
                told.raise_for_status()

        await asyncio.gather(*(one(number, token) for number, token in enumerate(tokens)))
    return taken


async def watch(address: str, study: int, token: str, seconds: float) -> list[float]:
    """Return the response times of one dashboard."""
    taken: list[float] = []
    tags: dict[str, str] = {}
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=f"{address}/api/v1/studies/{study}", headers=headers, timeout=120) as client:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            for path in SHOWN:
                begun = time.perf_counter()
                answer = await client.get(path, headers={"If-None-Match": tags[path]} if path in tags else {})
                taken.append(time.perf_counter() - begun)
                tags[path] = answer.headers.get("etag", "")
            await asyncio.sleep(2.0)
    return taken


async def crowd(
    address: str, study: int, tokens: list[str], rate_: float, seconds: float, watching: int, admin: str
) -> dict[str, Any]:
    """Raters and dashboards together."""
    found, *seen = await asyncio.gather(
        rate(address, study, tokens, rate_, seconds), *(watch(address, study, admin, seconds) for _ in range(watching))
    )
    return {**found, "analysis": [each for one in seen for each in one]}


def play(given: dict[str, Any]) -> dict[str, Any]:
    """Run the crowd in a separate process, so that it does not share an interpreter with the measurement."""
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.server", "--crowd"],
        input=json.dumps(given), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


# -- what they ask -----------------------------------------------------------------------


def filled(url: str, n_arms: int, dim: int, votes: int) -> Study:
    """Return a study with this many votes."""
    study = make(url, n_arms, dim)
    rng = np.random.default_rng(1)
    utility = rng.normal(size=n_arms)

    def made() -> Iterator[Vote]:
        for k in range(1, votes + 1):
            a, b = rng.choice(n_arms, 2, replace=False)
            won = rng.random() < 1 / (1 + np.exp(utility[b] - utility[a]))
            outcome = Outcome.FIRST if won else Outcome.SECOND
            yield Vote(k, k, outcome, f"past {k % 50}", None, f"a{a}", f"a{b}", source=Source.IMPORT)

    if votes:
        study.add_votes(made())
    return study


@contextmanager
def storages(which: str) -> Iterator[str]:
    if which == "SQLite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/studies.db"
        return
    with postgres.own_server(durable=True) as server, postgres.database(server) as url:
        yield url


def memory(server: Running) -> float:
    """MiB that the server's process holds."""
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS")


def processor_seconds(server: Running) -> float:
    """Seconds of the processor that the server's process has used."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def thoughtful(which: str, processes: int, seconds: float, say: Any) -> str:
    """Raters who think for `THOUGHT` seconds, with one study and this many processes of the server."""
    with storages(which) as url, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        study = filled(url, 1000, 64, 0)
        tokens = list(rater_tokens(study, [f"rater {k}" for k in range(RATERS)]).values())
        common = {"study": study.id, "tokens": tokens, "thought": THOUGHT}
        study.close()
        options = "--log-level", "warning", "--rate-limit", "100000"
        places = [Path(folder) / str(k) for k in range(processes)]
        for place in places:
            place.mkdir()
        servers = [stack.enter_context(running(url, place, *options)) for place in places]
        common["addresses"] = [server.address for server in servers]
        play({**common, "seconds": 3})  # everything is loaded once
        before = sum(map(processor_seconds, servers))
        found = play({**common, "seconds": seconds})
        used = sum(map(processor_seconds, servers)) - before
    votes = len(found["tell"])
    cells = [f"{1000 * np.quantile(found[verb], 0.99):.0f}" for verb in ("ask", "tell")]
    line = f"| {which} | {processes} | {votes / seconds:.0f} | {' | '.join(cells)} | {1000 * used / votes:.1f} |"
    say(line)
    return line


def told(name: str, found: dict[str, Any]) -> str:
    cells = []
    for verb in ("ask", "tell"):
        ms = 1000 * np.array(found[verb])
        cells.append(f"{np.median(ms):.0f} / {np.quantile(ms, 0.99):.0f} / {ms.max():.0f}")
    return f"| {name} | {' | '.join(cells)} |"


def measure(which: str, seconds: float, n_arms: int, dim: int, votes: int, say: Any) -> list[str]:
    """One storage: at 20 votes per second with no dashboard and with five; then faster and faster."""
    lines = []
    with storages(which) as url, tempfile.TemporaryDirectory() as folder:
        study = filled(url, n_arms, dim, votes)
        tokens = list(rater_tokens(study, [f"rater {k}" for k in range(RATERS)]).values())
        common = {"study": study.id, "tokens": tokens}
        study.close()
        with running(url, Path(folder), "--log-level", "warning", "--rate-limit", "10000") as server:
            common |= {"address": server.address, "admin": server.token}
            play({**common, "rate": 20, "seconds": 3, "watching": 1})  # everything is loaded once
            for watching in (0, 5):
                before = memory(server)
                found = play({**common, "rate": 20, "seconds": seconds, "watching": watching})
                lines.append(told(f"{which}, {votes:,} votes, {watching} dashboards, 20 votes per second", found))
                if found["analysis"]:
                    slow = np.quantile(found["analysis"], [0.5, 0.99])
                    say(
                        f"analyses: median {slow[0]:.2f} s, p99 {slow[1]:.2f} s; memory {before:.0f} to {memory(server):.0f} MiB"
                    )
                say(lines[-1])
            best = 0.0
            for rate_ in (40, 60, 80, 100, 130, 160, 200):
                found = play({**common, "rate": rate_, "seconds": max(8.0, seconds / 4), "watching": 0})
                slowest = max(np.quantile(found[verb], 0.99) for verb in ("ask", "tell"))
                say(f"{which}: {rate_} votes per second: p99 {1000 * slowest:.0f} ms")
                if slowest > 0.05:
                    break
                best = rate_
            lines.append(
                f"| {which}, {votes:,} votes: highest rate with p99 under 50 ms | {best or 20:.0f} votes per second | |"
            )
            say(lines[-1])
    return lines


def restarts(votes: int, times: int, say: Any) -> str:
    """Time from the start of the program to its first duel, with this many votes in the log."""
    with storages("SQLite") as url, tempfile.TemporaryDirectory() as folder:
        study = filled(url, 1000, 64, votes)
        (token,) = rater_tokens(study, ["ana"]).values()
        number = study.id
        study.close()
        taken = []
        for _ in range(times):
            begun = time.perf_counter()
            with running(url, Path(folder), "--log-level", "warning") as server:
                headers = {"Authorization": f"Bearer {token}"}
                answer = httpx.post(
                    f"{server.address}/api/v1/studies/{number}/ask", json={}, headers=headers, timeout=60
                )
                answer.raise_for_status()
                taken.append(time.perf_counter() - begun)
    middle, most = np.median(taken), max(taken)
    said = f"With {votes:,} votes in the log the first duel is given out {middle:.1f} s after a start (at most {most:.1f} of {times})."
    say(said)
    return said


def hour(requests: int, say: Any) -> str:
    """Memory over an hour's worth of requests, as fast as they go."""
    with storages("SQLite") as url, tempfile.TemporaryDirectory() as folder:
        study = filled(url, 1000, 64, 0)
        tokens = list(rater_tokens(study, [f"rater {k}" for k in range(RATERS)]).values())
        number = study.id
        study.close()
        with running(url, Path(folder), "--log-level", "warning", "--rate-limit", "10000") as server:
            common = {"address": server.address, "admin": server.token, "study": number, "tokens": tokens}
            sizes = []
            while len(load_study("busy", url)) < requests // 2:
                play({**common, "rate": 60, "seconds": 30, "watching": 1})
                sizes.append(memory(server))
                say(f"{len(load_study('busy', url))} votes: {sizes[-1]:.0f} MiB")
    first, last = sizes[0], sizes[-1]
    return f"Memory of the server: {first:.0f} MiB after the first half minute, {last:.0f} MiB after {requests:,} requests."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crowd", action="store_true")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--storage", nargs="+", default=["SQLite", "PostgreSQL"])
    parser.add_argument("--only-thought", action="store_true", help="measure only raters who think")
    parser.add_argument(
        "--requests", type=int, default=0, help="number of requests for the memory test; 144,000 are one hour"
    )
    given = parser.parse_args()
    if given.crowd:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        wanted = json.loads(sys.stdin.read())
        if "thought" in wanted:
            print(json.dumps(asyncio.run(think(**wanted))))
            return
        wanted["rate_"] = wanted.pop("rate")
        print(json.dumps(asyncio.run(crowd(**wanted))))
        return
    lines: list[str] = []
    notes: list[str] = []
    crowds: list[str] = []
    load = os.getloadavg()[0]

    def keep() -> None:  # after each part, so that an interrupted run keeps its measurements
        if given.page:
            given.page.write_text(with_origin(page(lines, notes, crowds, load, given.seconds), "make bench-server"))

    for which in () if given.only_thought else given.storage:
        for n_arms, votes in ((1000, 0), (800, 100_000)):
            lines += measure(which, given.seconds, n_arms, 64, votes, print)
            keep()
    for which in given.storage:
        for processes in (1, 2):
            crowds.append(thoughtful(which, processes, given.seconds, print))
            keep()
    if not given.only_thought:
        notes.append(restarts(100_000, 5, print))
        keep()
    if given.requests:
        notes.append(hour(given.requests, print))
        keep()


def page(lines: list[str], notes: list[str], crowds: list[str], load: float, seconds: float) -> str:
    return "\n".join([
        "# Benchmarks of the study server", "",
        f"{os.cpu_count()} cores (load before: {load:.1f}; above 1, others had the cores as well, and raters wait longer than need be).",
        "64 raters with 1,000 arms of 64 features (800 arms where there are 100,000 votes) share a number of votes per second;",
            "the server, those who rate, and the database are processes on one",
        "machine. Milliseconds that a rater waits: median / p99 / longest.", "",
        "| | ask | tell |", "|---|---|---|", *lines, "",
        f"Raters who think for {THOUGHT} s: {RATERS} of them give at most {RATERS / THOUGHT:.0f} votes per second, less what they wait. "
        f"One study of 1,000 arms with 64 features; {seconds:.0f} s per row. The last column is the processor time that the server's "
        "processes use for an ask and its vote; the database and the raters use more.", "",
        "| storage | processes | votes per second | ask: p99, ms | tell: p99, ms | processor time per vote, ms |",
        "|---|---:|---:|---:|---:|---:|", *crowds, "", *notes, "",
    ])  # fmt: skip


if __name__ == "__main__":
    main()
