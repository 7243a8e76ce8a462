"""Whether stopping decisions are right as often as they claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

import duelist as dl
from benchmarks.quality.raw_features.problems import decision_problems, wins, world_of
from duelist.simulation.environments import Environment

DELTA = 0.1
ARM_EFFECTS = "arm effects"
MOST_VOTES = 3000


def decide(environment: Environment, name: str, estimator: str, seed: int) -> tuple[int, bool | None]:
    """Return the votes until a decision, and whether it was for the best arm; None: undecided."""
    arms, utilities = world_of(environment, seed)
    arm_effects = estimator == ARM_EFFECTS
    policy = getattr(dl, name)(random_state=seed, estimator="online" if arm_effects else estimator)
    shown = table_of(arms, arm_effects)
    rng, look = np.random.default_rng([seed, 2]), 16
    for vote in range(1, MOST_VOTES + 1):
        duel = policy.ask(shown)
        policy.tell(duel, wins(rng, utilities, duel))
        if vote == look:
            look += max(16, vote // 20)
            best = policy.decided_arm(shown, DELTA)
            if best is not None:
                return vote, bool(utilities[best] >= utilities.max() - 1e-12)
    return MOST_VOTES, None


def table_of(arms: np.ndarray, arm_effects: bool) -> np.ndarray | dl.ArmTable:
    """Arms as a policy is shown them."""
    return dl.ArmTable(len(arms), arms) if arm_effects else arms


def estimators_of(name: str) -> tuple[str, ...]:
    """Those that a policy has, and arm effects if it takes them."""
    fits = getattr(dl, name)(estimator="online").accepts_arm_table
    return ("exact", "online", ARM_EFFECTS) if fits else ("exact", "online")


def estimators_for(name: str, problem: str) -> tuple[str, ...]:
    """Where features do not tell all, also the model that allows for it."""
    return estimators_of(name) if problem.startswith("arm effects") else ("exact", "online")


def decisions(
    names: tuple[str, ...], runs: int, pool: ProcessPoolExecutor, problems: Sequence[str] | None = None
) -> Iterator[str]:
    yield f"## Stopping decisions of {' and '.join(names)} at error rate {DELTA:g}, at most {MOST_VOTES:,} votes"
    yield ""
    yield "Looked at after 16 votes, then every 16 votes or 5 %. An undecided run is not wrong. Decisions are tested against"
    yield "the votes, which policies count by pair of arms. Arm effects: `ArmTable(n, features)`."
    yield ""
    yield "| problem | policy | estimator | runs | wrong | of decided | undecided | median votes |"
    yield "|---|---|---|---|---|---|---|---|"
    for title, environment in decision_problems().items():
        if problems is not None and title not in problems:
            continue
        for name in names:
            for estimator in estimators_for(name, title):
                found = list(pool.map(partial(decide, environment, name, estimator), range(runs), chunksize=8))
                wrong, silent = sum(good is False for _, good in found), sum(good is None for _, good in found)
                votes = np.median([v for v, _ in found])
                share = f"{wrong / max(runs - silent, 1):.1%}"
                yield f"| {title} | {name} | {estimator} | {runs:,} | {wrong} | {share} | {silent} | {votes:,.0f} |"


def with_kept_rows(lines: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Return a table of decisions, with its older rows for problems that were not run again."""
    place = {title: k for k, title in enumerate(decision_problems())}

    def rows_of(table: Sequence[str]) -> dict[tuple[str, ...], str]:
        cells = {line: tuple(line.strip("| ").split(" | ")) for line in table if line.startswith("| ")}
        return {each[:3]: line for line, each in cells.items() if each[0] in place}

    new = rows_of(lines)
    rows = rows_of(kept) | new
    order = sorted(rows, key=lambda key: place[key[0]])  # and as they came, within a problem
    return [*(line for line in lines if line not in new.values()), *(rows[key] for key in order)]
