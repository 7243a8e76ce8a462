"""`make street-before BEFORE=../older`: votes until an announcement, here on raw features and in an older checkout on standardised ones.

The older one may not know raw features, nor this package: each side is a process of its own that plays the same worlds with the same
luck, by functions of this file, which need nothing of it. Written to docs/street.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

POLICIES = ("BestArmPair", "ThompsonPair", "UniformPair")
DELTA = 0.1
MOST_VOTES = 3000
RESAMPLES = 2000


def votes_needed(arms: np.ndarray, utilities: np.ndarray, name: str, seed: int) -> tuple[int, bool | None]:
    """Votes until an arm was announced, and whether it was the best; None: it never was."""
    policy = getattr(importlib.import_module("duelist"), name)(random_state=seed)
    rng, look = np.random.default_rng([seed, 2]), 16
    for vote in range(1, MOST_VOTES + 1):
        duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < expit(utilities[duel.first] - utilities[duel.second])))
        if vote == look:
            look += max(16, vote // 20)
            found = policy.recommend(arms, DELTA)
            if found.decided:
                return vote, bool(utilities[found.best] >= utilities.max() - 1e-12)
    return MOST_VOTES, None


def play_side(worlds: Path, key: str) -> None:
    """Every world of a file, each policy; a line of JSON a run."""
    with np.load(worlds) as kept:
        for name in POLICIES:
            for seed in range(int(kept["runs"])):
                found = votes_needed(kept[f"{key}{seed}"], kept[f"utilities{seed}"], name, seed)
                print(json.dumps([name, *found]), flush=True)


def write_worlds(path: Path, title: str, runs: int) -> None:
    """Arms as they are, and the same with every column divided by its standard deviation."""
    from benchmarks.street.problems import announcing_problems, world_of

    environment, kept = announcing_problems()[title], {"runs": np.array(runs)}
    for seed in range(runs):
        arms, kept[f"utilities{seed}"] = world_of(environment, seed)
        spread = arms.std(axis=0)
        kept[f"raw{seed}"], kept[f"standardised{seed}"] = arms, arms / np.where(spread > 0.0, spread, 1.0)
    np.savez(path, **kept)


class Side:
    """A process that plays a file of worlds with the duelist of one checkout."""

    def __init__(self, python: Path, source: Path, worlds: Path, key: str) -> None:
        command = [str(python), "-P", __file__, "--side", str(worlds), key]
        environment = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    def results(self) -> dict[str, Played]:
        """What each policy needed."""
        printed = [json.loads(line) for line in self.process.communicate()[0].splitlines()]
        if self.process.returncode:
            raise SystemExit(f"a side ended with status {self.process.returncode}")
        return {name: Played([run for who, *run in printed if who == name]) for name in POLICIES}


class Played:
    """The runs of one policy: votes, announcements that were wrong, and runs without any."""

    def __init__(self, runs: list[list[Any]]) -> None:
        self.votes = np.array([votes for votes, _ in runs])
        self.wrong = sum(good is False for _, good in runs)
        self.undecided = sum(good is None for _, good in runs)


def ratio(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Mean votes over mean votes, with a 95 % interval by resampling worlds."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(ours), (RESAMPLES, len(ours)))
    low, high = np.quantile(ours[drawn].mean(axis=1) / theirs[drawn].mean(axis=1), [0.025, 0.975])
    return f"{ours.mean() / theirs.mean():.2f} ({low:.2f} to {high:.2f})"


def row(title: str, name: str, now: Played, then: Played) -> str:
    cells = [title, name, f"{now.votes.mean():,.0f}", f"{then.votes.mean():,.0f}", ratio(now.votes, then.votes)]
    cells.append(f"{np.median(now.votes):,.0f} / {np.median(then.votes):,.0f}")
    cells += [f"{now.undecided} / {then.undecided}", f"{now.wrong} / {then.wrong}"]
    return f"| {' | '.join(cells)} |"


def compared(checkout: Path, runs: int, problems: Sequence[str]) -> Iterator[str]:
    named = subprocess.run(
        ["git", "-C", checkout, "log", "-1", "--format=%h, %cs"], capture_output=True, text=True, check=True
    )
    yield f"## Votes until an announcement: raw features now, over standardised ones in an older release, {runs} runs each"
    yield ""
    yield f"The older one is {named.stdout.strip()}, given every column divided by its standard deviation. At error rate {DELTA:g} with"
    yield f"the exact estimator; a run that has announced nothing after {MOST_VOTES:,} votes counts as so many. The same worlds"
    yield "and the same luck on both sides, 95 % intervals."
    yield ""
    yield "| problem | policy | votes now | votes then | ratio | medians now / then | undecided now / then | wrong now / then |"
    yield "|---|---|---|---|---|---|---|---|"
    here = Path(__file__).parents[2]
    for title in problems:
        with tempfile.TemporaryDirectory() as folder:
            worlds = Path(folder) / "worlds.npz"
            write_worlds(worlds, title, runs)
            now = Side(Path(sys.executable), here / "src", worlds, "raw")
            then = Side(checkout / ".venv" / "bin" / "python", checkout / "src", worlds, "standardised")
            ours, theirs = now.results(), then.results()
        for name in POLICIES:
            yield row(title, name, ours[name], theirs[name])


def main() -> None:
    if sys.argv[1:2] == ["--side"]:
        play_side(Path(sys.argv[2]), sys.argv[3])
        return
    from benchmarks.street.page import PAGE, put
    from benchmarks.street.problems import announcing_problems

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkout", type=Path, required=True, help="an older checkout with its environment in .venv")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument(
        "--problems", nargs="*", choices=list(announcing_problems()), default=list(announcing_problems())
    )
    given = parser.parse_args()
    lines = []
    for line in compared(given.checkout.resolve(), given.runs, given.problems):
        print(line, flush=True)
        lines.append(line)
    put(given.page, "votes-before", "\n".join(lines))


if __name__ == "__main__":
    main()
