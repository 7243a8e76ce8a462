"""A demo server with a live study: real answers of language models if available, and simulated raters.

`make demo-server`, or `duelist demo-server`: a dashboard that changes within a minute.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np

from duelist.cli.server.demo_studies import POSTERS, SYSTEMS, Demo, read_answers, read_explanations, read_posters
from duelist.core.errors import (
    ConnectionLost,
    DuelistError,
    InvalidInput,
    NoPairsLeft,
    NothingToAsk,
    RaterBlocked,
    StorageError,
    VoteConflict,
)
from duelist.research.datasets import load_llmfao
from duelist.server import ServerOptions, serve
from duelist.study import Study, create_study, load_study

ARMS: Final = 14
RATERS: Final = ("ana", "ben", "chidi", "dora", "noor")
SLOPPY: Final = "always-left"
BEFORE: Final = 120
"""Votes before the server starts."""
PAUSE: Final = 1.5
"""Mean seconds that a simulated rater thinks."""
NAME: Final = "Which answer is better?"


def demo_arms() -> Demo:
    """Return the answers to llmfao's prompt with most votes, with utilities from these; else built-in explanations."""
    try:
        votes = list(load_llmfao())
    except (InvalidInput, OSError):
        return read_explanations()
    (context, _), *_ = Counter(vote.context for vote in votes).most_common(1)
    here = [vote for vote in votes if vote.context == context and vote.payload_first and vote.payload_second]
    met: Counter[str] = Counter()
    won: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for vote in votes:
        share = {"first": 1.0, "second": 0.0}.get(vote.outcome or "", 0.5)
        for arm, part in ((vote.first, share), (vote.second, 1.0 - share)):
            met[arm] += 1
            won[arm] += part  # type: ignore[assignment]  # ties are shared
    for vote in here:
        texts.setdefault(vote.first, str(vote.payload_first))
        texts.setdefault(vote.second, str(vote.payload_second))
    chosen = sorted(texts, key=lambda arm: (-met[arm], arm))[:ARMS]
    odds = {arm: (won[arm] + 1.0) / (met[arm] - won[arm] + 1.0) for arm in chosen}
    utility = {arm: float(2.0 * np.log(odds[arm])) for arm in chosen}
    prompt = str(here[0].prompt)
    return Demo({arm: texts[arm] for arm in chosen}, utility, prompt, "answers of language models (llmfao)")


def make_demo(storage: str) -> tuple[Study, Demo]:
    """Return the demo study with some votes, or the existing one."""
    demo = demo_arms()
    study = create_study(
        NAME,
        storage,
        goal="best",
        random_share=0.2,
        question="Which answer is better?",
        guidelines="Read both answers. Choose the one you would rather receive. You can also choose *Both bad*.",
        show_as="markdown",
        ask_reason=True,
        repeat_pairs=0.1,
        open_registration=True,
        load_if_exists=True,
    )
    if study.arms():
        return study, demo
    names = list(demo.texts)
    study.add_arms(
        names, payloads=list(demo.texts.values()), contexts="prompt", context_payloads={"prompt": demo.prompt}
    )
    best, worst = max(names, key=lambda arm: demo.utility[arm]), min(names, key=lambda arm: demo.utility[arm])
    study.add_gold(best, worst, "first")
    _simulate(study, demo, BEFORE // len(RATERS))
    return study, demo


def make_posters(storage: str) -> Study:
    """Return the study of posters with some votes, or the existing one."""
    study = create_study(
        "Posters for the jazz night",
        storage,
        goal="rank",
        question="Which poster would make you stop?",
        open_registration=True,
        load_if_exists=True,
    )
    if not study.arms():
        study.apply(read_posters())
        _simulate(study, Demo({}, POSTERS, "", ""), 20)
    return study


def make_assistants(storage: str) -> Study:
    """Return the study of systems that answer prompts, with some votes, or the existing one."""
    study = create_study(
        "Which assistant explains best?",
        storage,
        goal="rank",
        question="Which answer is more helpful?",
        show_as="markdown",
        open_registration=True,
        load_if_exists=True,
    )
    if not study.arms():
        study.apply(read_answers())
        liked = {arm.id: SYSTEMS[str(arm.system)] for arm in study.arms()}
        _simulate(study, Demo({}, liked, "", ""), 24)
    return study


def _simulate(study: Study, demo: Demo, votes: int) -> None:
    """Add votes of every rater."""
    luck = random.Random(0)  # noqa: S311  (nothing here is secret)
    for k in range(votes * len(RATERS)):
        try:
            _vote(study, RATERS[k % len(RATERS)], demo, luck, luck.uniform(2.0, 12.0))
        except NoPairsLeft:
            continue


def _vote(study: Any, rater: str, demo: Demo, luck: random.Random, seconds: float) -> None:
    duel = study.ask(rater)
    gap = demo.utility[duel.first.id] - demo.utility[duel.second.id]
    chance = 1.0 / (1.0 + np.exp(-gap))
    outcome = "first" if luck.random() < chance else "second"
    if rater.startswith(SLOPPY):
        outcome, seconds = "first", 0.4
    elif abs(gap) < 0.3 and luck.random() < 0.3:
        outcome = "tie"
    study.tell(duel, outcome, rater, response_seconds=round(seconds, 1))


def _rate(address: str, token: str, rater: str, demo: Demo) -> None:
    """Vote over HTTP as one simulated rater after another, each until no pair is left for them.

    While the study is paused, raters wait; when one is blocked, the next one starts.
    """
    luck = random.Random(rater)  # noqa: S311  (nothing here is secret)
    names = (rater if k == 1 else f"{rater} {k}" for k in count(1))
    name = next(names)
    try:
        with closing(load_study(NAME, storage=address, token=token)) as study:
            while True:
                seconds = luck.expovariate(1.0 / PAUSE)
                time.sleep(min(seconds, 4 * PAUSE))
                try:
                    _vote(study, name, demo, luck, 2.0 + seconds)
                except (NoPairsLeft, RaterBlocked):
                    name = next(names)
                except (NothingToAsk, VoteConflict):
                    continue
    except (ConnectionLost, StorageError):
        return  # the server has stopped
    except DuelistError:
        return  # the owner has deleted the study, as one may with a demo


def run_demo(
    port: int, folder: Path | None = None, say: Callable[[str], None] = print, log_level: str = "warning"
) -> None:
    """Serve the study until interrupted; it is kept in `folder`, or deleted afterwards."""
    with ExitStack() as stack:
        where = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="duelist-demo-")))
        where.mkdir(parents=True, exist_ok=True)
        storage = f"sqlite:///{where / 'demo.db'}"
        study, demo = make_demo(storage)
        number = study.id
        study.close()
        others = []
        for made in (make_posters(storage), make_assistants(storage)):
            others.append((made.id, made.name))
            made.close()

        def begin(address: str, secret: str | None) -> None:
            say(
                f"{len(demo.texts)} items ({demo.source}); {len(RATERS) + 1} simulated raters vote, one of them carelessly. Open"
            )
            say(f"  {address}/signin#{secret}   the dashboard, as the owner")
            say(f"  {address}/rate/{number}   to rate yourself, under any name")
            for other, name in others:
                say(f"  {address}/rate/{other}   {name}")
            say("Ctrl-C stops it.")
            for rater in (*RATERS, SLOPPY):
                threading.Thread(target=_rate, args=(address, secret or "", rater, demo), daemon=True).start()

        serve(ServerOptions(storage), port=port, log_level=log_level, on_start=begin)
