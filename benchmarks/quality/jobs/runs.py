"""All runs of a job on tuning or held-out sets; finished ones are kept in out/jobs, by the code that made them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks import ROOT
from benchmarks.quality.goals.problems import Problem, evaluation_problems, seeds
from benchmarks.quality.jobs import peers, play
from benchmarks.quality.jobs.play import BOTH, EFFECTS, FEATURES, Maker
from duelist.policies.engine import code_stamp

SEED: Final = 26
KEPT: Final = ROOT / "out" / "jobs"
PHOTOS: Final = tuple(f"photos by {criterion}" for criterion in ("color", "sharpness", "landscape"))
TUNING: Final = (
    "events",
    "answers",
    "tennis",
    "humour",
    "arguments",
    *PHOTOS,
    "arguments, with features",
    *(f"{name}, with features" for name in PHOTOS),
)
WITH_FEATURES: Final = ", with features"
SHORT: Final = 300

OURS: Final = "ours"
OUR_FORMS: Final = {EFFECTS: "ours, arm effects alone", FEATURES: "ours, features alone"}


@dataclass(frozen=True)
class Contender:
    """A contestant, and whether it needs features, which others than ours may do without."""

    make: Maker
    forms_only: bool = False


SERVE: Final = {
    OURS: Contender(play.serving(BOTH)),
    **{name: Contender(play.serving(form), True) for form, name in OUR_FORMS.items()},
    "leader against a Thompson draw": Contender(play.peer(peers.LeaderThompson)),
    "the same, prior variance 0.4": Contender(play.peer(peers.LeaderThompsonFixed)),
    "MaxMinLCB": Contender(play.peer(peers.MaxMinLCB)),
}
SERVE_SHORT: Final = {
    OURS: Contender(play.serving(BOTH, SHORT)),
    **{name: Contender(play.serving(form, SHORT), True) for form, name in OUR_FORMS.items()},
    **{name: contender for name, contender in SERVE.items() if not name.startswith(OURS)},
}
BEST: Final = {
    OURS: Contender(play.finding(BOTH)),
    **{name: Contender(play.finding(form), True) for form, name in OUR_FORMS.items()},
    "top-two Thompson": Contender(play.peer(peers.TopTwoThompson)),
    "LinGapE": Contender(play.peer(peers.LinGapE)),
    "EUBO": Contender(play.peer(peers.ExpectedBest)),
}
JOBS: Final = {"serve": SERVE, "serve-short": SERVE_SHORT, **{f"best-{votes}": BEST for votes in play.ASKED}}
"""By name; that of "best" says after how many votes a run ends."""

Run = dict[str, Any]
Results = dict[str, dict[str, list[Run]]]
"""By problem and contestant: its runs."""


@cache
def problems(split: str) -> dict[str, Problem]:
    """The problems of "tuning" or "held out" that can be played here, by name."""
    if split == "held out":
        return evaluation_problems(("held out",))
    found = evaluation_problems(("matrices", "public"))
    return {name: found[name] for name in TUNING if name in found}


def play_one(task: tuple[str, str, str, str, int]) -> Run:
    """Play one run: of a job, a split, a problem, and a contestant."""
    job, split, problem, name, run = task
    world = problems(split)[problem].world(SEED, run)
    seed, luck = seeds(SEED, run)
    contestant = JOBS[job][name].make(world, seed)
    if job.startswith("best"):
        found = play.find_best(contestant, world, luck, int(job.split("-")[1]))
    else:
        found = play.serve(contestant, world, luck, SHORT if job == "serve-short" else play.SERVED[-1])  # type: ignore[assignment]
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in vars(found).items()}


def results(job: str, split: str, runs: int, workers: int) -> Results:
    """Return all runs, and play those that are missing."""
    path = KEPT / stamp() / f"{job} {split}.json"
    kept: Results = json.loads(path.read_text()) if path.is_file() else {}
    tasks = list(_missing(job, split, runs, kept))
    if tasks:
        path.parent.mkdir(parents=True, exist_ok=True)
        with get_context("fork").Pool(workers) as pool:
            for number, (task, played) in enumerate(zip(tasks, pool.imap(play_one, tasks, chunksize=4), strict=True)):
                kept.setdefault(task[2], {}).setdefault(task[3], []).append(played)
                if number % 20 == 0 or number == len(tasks) - 1:
                    _write(path, kept)
                    print(f"{job}, {split}: {number + 1} of {len(tasks)} runs", flush=True)
    names = problems(split)
    for problem in names:
        if problem.endswith(WITH_FEATURES):  # arm effects alone: the same arms and random numbers as without features
            kept[problem][OUR_FORMS[EFFECTS]] = kept[problem.removesuffix(WITH_FEATURES)][OURS]
    return {
        problem: {name: kept[problem][name][:runs] for name in contenders(job, split, problem)} for problem in names
    }


@cache
def contenders(job: str, split: str, problem: str) -> tuple[str, ...]:
    """The contestants of a problem: forms of ours only where arms have features."""
    features = problems(split)[problem].world(SEED, 0).features is not None
    return tuple(name for name, contender in JOBS[job].items() if features or not contender.forms_only)


def _missing(job: str, split: str, runs: int, kept: Results) -> Iterator[tuple[str, str, str, str, int]]:
    """Yield missing runs, the first of each contestant before the second of any, so that a page can be made of fewer."""
    for run in range(runs):
        for problem in problems(split):
            for name in contenders(job, split, problem):
                if name != OUR_FORMS[EFFECTS] and run >= len(kept.get(problem, {}).get(name, ())):
                    yield job, split, problem, name, run


def _write(path: Path, kept: Results) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(kept))
    part.replace(path)


def stamp() -> str:
    """Return a hash of the code that a run depends on."""
    here = Path(__file__).parent
    files = [here / "peers.py", here / "play.py", here / "runs.py", here.parent / "goals" / "problems.py"]
    return f"{zlib.crc32(repr((code_stamp(), [zlib.crc32(path.read_bytes()) for path in files])).encode()):08x}"
