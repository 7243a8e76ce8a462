"""Ties in policies: learned by Davidson's model, as policies do, or as half a win each.

    python -m benchmarks.quality.ties --page docs/evidence/ties.md

The same arms, votes for the same pairs, and policies; only what the policies are told of a tie differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import duelist as dl
from benchmarks import DOCS
from duelist.model.posterior import centred, outcome_chances
from duelist.research.origin import with_origin

SHARES: Final = (0.0, 0.1, 0.25, 0.5)
"""Share of ties between equal arms."""
TOLD: Final[dict[str, float | str]] = {"Davidson": "tie", "half a win": 0.5}
"""What a policy is told of a tie."""
DELTA: Final = 0.1
ARMS: Final = {"8 arms without features": (8, 0), "8 arms, 3 features": (8, 3)}


class World:
    """Arms with utilities N(0, 1), which features explain if there are any."""

    def __init__(self, arms: str, share: float, seed: int) -> None:
        n, dim = ARMS[arms]
        rng = np.random.default_rng([seed, n, dim])
        self.features = rng.standard_normal((n, dim))
        theta = rng.standard_normal(dim)
        self.utilities = self.features @ theta / np.linalg.norm(theta) if dim else rng.standard_normal(n)
        self.shown: Any = self.features if dim else dl.ArmTable(n)
        self.nu = 2.0 * share / (1.0 - share)
        self.seed, self.t = seed, 0

    def policy(self, name: str) -> Any:
        estimator = "exact" if self.features.shape[1] else "online"
        return getattr(dl, name)(random_state=self.seed, estimator=estimator)

    def vote(self, first: int, second: int) -> str:
        """Return the outcome of the next vote."""
        self.t += 1
        win, tie, _ = outcome_chances(np.array([self.utilities[first] - self.utilities[second]]), self.nu)
        luck = np.random.default_rng([self.seed, 41, self.t]).random()
        return "first" if luck < win[0] else "tie" if luck < win[0] + tie[0] else "second"


def tell(policy: Any, duel: dl.Duel, outcome: str, how: str) -> None:
    """Tell a policy an outcome; a tie as `how` says."""
    policy.tell(duel, TOLD[how] if outcome == "tie" else float(outcome == "first"))


def coverage(share: float, how: str, votes: int, seed: int) -> tuple[float, float]:
    """Return the share of 95 % intervals that hold after votes on random pairs, and the scale of the estimates."""
    world = World("8 arms without features", share, seed)
    policy, n = world.policy("UniformPair"), len(world.utilities)
    for _ in range(votes):
        duel = policy.ask(world.shown)
        tell(policy, duel, world.vote(duel.first, duel.second), how)
    found, truth = policy.posterior(world.shown, range(n)), world.utilities - world.utilities.mean()
    mean, variance = found.utilities - found.utilities.mean(), np.diagonal(centred(found.covariances))
    hold = np.abs(mean - truth) <= 1.959964 * np.sqrt(variance)
    return float(hold.mean()), float(mean @ truth / (truth @ truth))


def decision(arms: str, share: float, how: str, votes: int, seed: int) -> tuple[int, bool]:
    """Return the votes until BestArmPair decides, and whether it is wrong; all votes if it does not."""
    world = World(arms, share, seed)
    policy, look = world.policy("BestArmPair"), 10
    for count in range(1, votes + 1):
        duel = policy.ask(world.shown)
        tell(policy, duel, world.vote(duel.first, duel.second), how)
        if count == look:
            look += max(5, look // 20)
            best = policy.decided_arm(world.shown, DELTA)
            if best is not None:
                return count, bool(world.utilities[best] < world.utilities.max())
    return votes, False


def regret(arms: str, share: float, how: str, rounds: int, seed: int) -> float:
    """Return the average regret of LocalPairUCB, which may show an arm alone, summed over rounds."""
    world = World(arms, share, seed)
    policy, total = world.policy("LocalPairUCB"), 0.0
    for _ in range(rounds):
        duel = policy.ask(world.shown, distinct=False)
        total += world.utilities.max() - 0.5 * float(world.utilities[list(duel)].sum())
        tell(policy, duel, world.vote(duel.first, duel.second), how)
    return total


def mean_of(values: list[float], digits: int = 0) -> str:
    """Return a mean with its 95 % interval."""
    error = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


def page(runs: int, votes: int, rounds: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    """Yield the lines of the page."""

    def play(run: Any, *settings: Any) -> dict[str, list[Any]]:
        return {how: list(pool.map(partial(run, *settings[:-1], how, settings[-1]), range(runs))) for how in TOLD}

    yield "# Ties"
    yield ""
    yield f"{runs} runs per row, the same arms and luck in both columns. Utilities have"
    yield "the standard deviation 1, votes follow Davidson's model. Ties: their share between equal arms. Davidson: policies are"
    yield "told ties, and learn them by his model with its parameter estimated. Half a win: the same policies are told that each"
    yield "arm won half. ± is a 95 % interval of the mean."
    yield "[Decision 50](../contributing/decisions/0050-ties-in-policies.md) draws the conclusions."
    yield ""
    yield f"UniformPair, 8 arms without features, {votes:,} votes. Hold: 95 % intervals of utilities, relative to their mean, that"
    yield "hold. Scale: slope of estimated on true utilities."
    yield ""
    yield "| ties | Davidson: hold | scale | half a win: hold | scale |"
    yield "|---|---:|---:|---:|---:|"
    for share in SHARES:
        found = play(coverage, share, votes)
        cells = [
            f"{mean_of([100.0 * held for held, _ in found[how]], 1)} % | {mean_of([scale for _, scale in found[how]], 2)}"
            for how in TOLD
        ]
        yield f"| {share:.0%} | {' | '.join(cells)} |"
    yield ""
    yield f"Votes until BestArmPair decides at error rate {DELTA:g}; an undecided run counts with all its {votes:,} votes."
    yield ""
    yield "| arms | ties | Davidson | half a win | half a win minus Davidson, run by run | wrong, of both |"
    yield "|---|---|---:|---:|---:|---:|"
    for arms in ARMS:
        for share in SHARES:
            decided = play(decision, arms, share, votes)
            taken = {how: [float(count) for count, _ in each] for how, each in decided.items()}
            more = [half - own for half, own in zip(taken["half a win"], taken["Davidson"], strict=True)]
            wrong = [str(sum(each for _, each in decided[how])) for how in TOLD]
            yield f"| {arms} | {share:.0%} | {' | '.join(mean_of(taken[how]) for how in TOLD)} | {mean_of(more)} | {', '.join(wrong)} |"
    yield ""
    yield f"Average regret of LocalPairUCB, summed over {rounds:,} rounds; an arm may be shown alone."
    yield ""
    yield "| arms | ties | Davidson | half a win | half a win minus Davidson, run by run |"
    yield "|---|---|---:|---:|---:|"
    for arms in ARMS:
        for share in SHARES:
            paid = play(regret, arms, share, rounds)
            more = [half - own for half, own in zip(paid["half a win"], paid["Davidson"], strict=True)]
            yield f"| {arms} | {share:.0%} | {' | '.join(mean_of(paid[how], 1) for how in TOLD)} | {mean_of(more, 1)} |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--votes", type=int, default=1200)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--page", type=Path, default=DOCS / "ties.md")
    given = parser.parse_args()
    lines = []
    with ProcessPoolExecutor() as pool:
        for line in page(given.runs, given.votes, given.rounds, pool):
            print(line, flush=True)
            lines.append(line)
    given.page.write_text(with_origin("\n".join(lines) + "\n", "make bench-ties"))


if __name__ == "__main__":
    main()
