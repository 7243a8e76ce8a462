"""`make bench-learn`: does a designed batch teach a reward model more than random pairs do? Written to docs/evidence/goal-learn.md.

`python -m benchmarks.quality.goals.learn many --runs 4` makes one part anew, with fewer runs, and leaves the others as they are.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit

import duelist as dl
from benchmarks import DOCS
from benchmarks.quality.goals.rewards import CANDIDATES, KINDS, AnswerPairs, RewardWorld, excess, missing, real_logs
from duelist.core.arrays import Floats
from duelist.research.origin import made_by, this_part

PAGE = DOCS / "goal-learn.md"
TEST_PAIRS = 4000
LEVEL = 0.95
RESAMPLES = 2000
RANDOM = "random pairs"
DESIGN = "RewardDesign"


class Pick(NamedTuple):
    """A duel of a batch, with the positions of its arms."""

    context: int
    first: int
    second: int
    duel: dl.Duel


Picks = list[Pick]


@dataclass(frozen=True)
class Size:
    """The size of a simulated study."""

    dim: int
    batch: int
    prompts: int
    """New prompts from which each batch is chosen."""
    marks: tuple[int, ...]
    """Numbers of votes at which the model is tested."""
    runs: int


MANY_FEATURES = 100
DEAR = (RANDOM, DESIGN, "coverage 0")
"""Designs for all worlds with many features; the others play on one of them."""
SIZES = (
    Size(32, 64, 768, (128, 256, 512, 1024), 16),
    Size(300, 128, 1024, (512, 1024, 2048, 3072), 6),
)


# -- designs -----------------------------------------------------------------------------


class Asker:
    """A policy that is asked for batches."""

    def __init__(self, policy: dl.policies.NativePolicy) -> None:
        self.policy = policy

    def batch(self, arms: Floats, k: int) -> Picks:
        """The duels of a batch."""
        return [Pick(context, duel.first, duel.second, duel) for context, duel in self.policy.ask_batch(arms, k=k)]


class Scored(Asker):
    """The best pair of each context by a score of (margin, variance), and the k contexts of the best ones."""

    def __init__(self, score: Callable[[Floats, Floats], Floats]) -> None:
        super().__init__(dl.RewardDesign(random_state=0))
        self._score = score

    def batch(self, arms: Floats, k: int) -> Picks:
        """The chosen pairs as contexts of two, so that there is nothing left to choose."""
        self.policy.initialize(arms[0])
        i, j = np.triu_indices(arms.shape[1], 1)
        margins = arms @ self.policy.theta_
        root = np.linalg.cholesky(self.policy.curvature_)
        white = np.linalg.solve(root, arms.reshape(-1, arms.shape[2]).T).T.reshape(arms.shape)
        scores = self._score(margins[:, i] - margins[:, j], np.square(white[:, i] - white[:, j]).sum(axis=2))
        best = scores.argmax(axis=1)
        chosen = np.argsort(-scores.max(axis=1), kind="stable")[:k]
        pairs = np.column_stack([i[best[chosen]], j[best[chosen]]])
        batch = self.policy.ask_batch(arms[chosen[:, None], pairs])
        return [
            Pick(int(chosen[at]), int(pairs[at, duel.first]), int(pairs[at, duel.second]), duel) for at, duel in batch
        ]


def entropy(p: Floats) -> Floats:
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    return np.asarray(-p * np.log(p) - (1.0 - p) * np.log(1.0 - p))


def information_gain(margin: Floats, variance: Floats) -> Floats:
    """Return the expected information gain about theta, by quadrature over its normal posterior (Houlsby et al. 2011)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    p = expit(margin[..., None] + np.sqrt(variance)[..., None] * nodes)
    return np.asarray(entropy(p @ weights) - entropy(p) @ weights)


def designs(seed: int) -> dict[str, Asker]:
    """The designs compared; the first is the baseline."""
    shares = {f"coverage {share:g}": dl.RewardDesign(coverage=share, random_state=seed) for share in (0.0, 0.5, 0.75)}
    return {
        RANDOM: Asker(dl.RewardDesign(coverage=1.0, random_state=seed)),
        DESIGN: Asker(dl.RewardDesign(random_state=seed)),
        **{name: Asker(policy) for name, policy in shares.items()},
        "widest pairs": Scored(lambda margin, variance: variance),
        "uncertainty": Scored(lambda margin, variance: -np.abs(margin)),
        "information gain": Scored(information_gain),
    }


# -- simulated worlds --------------------------------------------------------------------


def learning_curve(kind: str, size: Size, name: str, seed: int) -> Floats:
    """(marks, 2): excess log-loss on random pairs and on pairs of good answers, at each number of votes."""
    world, asker = RewardWorld(kind, size.dim, seed), designs(seed)[name]
    tests = world.random_pairs(TEST_PAIRS), world.good_pairs(TEST_PAIRS)
    luck = np.random.default_rng([seed, 2])
    rows, won, curve = [], [], []
    while len(rows) < size.marks[-1]:
        arms, utilities = world.prompts(size.prompts)
        for context, i, j, duel in asker.batch(arms, size.batch):
            rows.append(arms[context, i] - arms[context, j])
            won.append(float(luck.random() < expit(utilities[context, i] - utilities[context, j])))
            asker.policy.tell(duel, won[-1])
        if len(rows) in size.marks:
            theta = dl.fit_mle(np.array(rows), won, ridge="auto").theta
            curve.append([excess(z @ theta, utility) for z, utility in tests])
    return np.array(curve)


def worlds(size: Size, kinds: tuple[str, ...], runs: int | None) -> Iterator[str]:
    many = runs or size.runs
    yield f"## Simulated worlds, {size.dim} features: {', '.join(kinds)}"
    yield ""
    yield (
        f"Prompts with {CANDIDATES} answers, features in different units; batches of {size.batch} out of {size.prompts:,} new "
        f'prompts; `fit_mle(ridge="auto")` on the votes. Excess log-loss on {TEST_PAIRS:,} test pairs drawn at random, as a multiple of '
        f"that of {RANDOM} in the same run: the geometric mean over {many} runs and its {LEVEL:.0%} interval, in bold where all of it is "
        "below 1, which is better, and called worse where all of it is above. Then the same on pairs of the two best answers to a "
        "prompt, after the last vote. Then how many times the votes random pairs take to come to the loss that a design has after "
        f"{size.marks[-2]:,}, with a bootstrap interval."
    )
    for kind in kinds:
        names = [name for name in designs(0) if size.dim < MANY_FEATURES or kind == "linear" or name in DEAR]
        found = {name: np.array([learning_curve(kind, size, name, seed) for seed in range(many)]) for name in names}
        yield from world_table(kind, size, found)


def world_table(kind: str, size: Size, found: dict[str, Floats]) -> Iterator[str]:
    """The results of one kind of world at one size; `found` has (runs, marks, 2) for each design."""
    yield ""
    yield f"### {kind}"
    yield ""
    yield (
        "| design | "
        + " | ".join(f"{mark:,} votes" for mark in size.marks)
        + " | good answers, last | votes of random pairs for the same loss |"
    )
    yield "|---|" + "---|" * (len(size.marks) + 2)
    base = found[RANDOM]
    loss = " | ".join(f"{value:.4f}" for value in base[:, :, 0].mean(axis=0))
    yield f"| {RANDOM} (loss) | {loss} | {base[:, -1, 1].mean():.4f} | 1 |"
    for name, curves in found.items():
        if name == RANDOM:
            continue
        cells = [ratio(curves[:, m, 0] / base[:, m, 0]) for m in range(len(size.marks))]
        cells.append(ratio(curves[:, -1, 1] / base[:, -1, 1]))
        yield f"| {name} | " + " | ".join(cells) + f" | {saved(size.marks, base[:, :, 0], curves[:, :, 0])} |"


def interval(values: Floats) -> tuple[float, float, float]:
    """Geometric mean and interval of ratios."""
    logs = np.log(values)
    half = stats.t.ppf(0.5 + LEVEL / 2.0, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
    return float(np.exp(logs.mean())), float(np.exp(logs.mean() - half)), float(np.exp(logs.mean() + half))


def ratio(values: Floats) -> str:
    middle, low, high = interval(values)
    text = f"{middle:.2f} [{low:.2f}, {high:.2f}]"
    return f"**{text}**" if high < 1.0 else f"{text}, worse" if low > 1.0 else text


def saved(marks: tuple[int, ...], base: Floats, curves: Floats) -> str:
    """Votes that random pairs take for the design's loss at the last mark but one, over its votes there; bootstrap over runs."""
    votes = np.log(np.array(marks, float))
    rng = np.random.default_rng(0)

    def factor(rows: np.ndarray) -> float:
        reached, wanted = np.log(base[rows].mean(axis=0)), np.log(curves[rows, -2].mean())
        if wanted < reached[-1]:
            return np.inf  # random pairs do not get there
        at = np.interp(-wanted, -reached, votes)
        return float(np.exp(at - votes[-2]))

    runs = len(base)
    drawn = [factor(rng.integers(runs, size=runs)) for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, [0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0], method="nearest")
    most = marks[-1] / marks[-2]
    said = [
        f"more than {most:g}" if np.isinf(value) else f"{value:.2f}" for value in (factor(np.arange(runs)), low, high)
    ]
    return f"{said[0]} times [{said[1]}, {said[2]}]"


# -- real votes --------------------------------------------------------------------------

REAL_DIMS = (30, 300)
REAL_BATCH = 100
REAL_MARKS = (200, 400, 800, 1600)
REAL_POOL = 1500
"""Number of remaining pairs offered for each batch, chosen at random."""
REAL_RUNS = 8


def real_curve(pairs: AnswerPairs, name: str, seed: int) -> Floats:
    """(marks,): log-loss on a fifth of the pairs, learned from pairs that were chosen among the others."""
    order = np.random.default_rng(seed).permutation(len(pairs))
    test, pool = pairs.of(order[: len(pairs) // 5]), pairs.of(order[len(pairs) // 5 :])
    asker, left, luck = designs(seed)[name], np.arange(len(pool)), np.random.default_rng([seed, 1])
    rows, won, curve = [], [], []
    while len(rows) < REAL_MARKS[-1]:
        offered = np.sort(luck.choice(left, min(REAL_POOL, len(left)), replace=False))
        picked = asker.batch(pool.features[offered], REAL_BATCH)
        for context, i, j, duel in picked:
            row = offered[context]
            rows.append(pool.features[row, i] - pool.features[row, j])
            won.append(pool.first[row] if i == 0 else 1.0 - pool.first[row])
            asker.policy.tell(duel, won[-1])
        left = np.setdiff1d(left, offered[[pick.context for pick in picked]])
        if len(rows) in REAL_MARKS:
            theta = dl.fit_mle(np.array(rows), won, ridge="auto").theta
            margin = (test.features[:, 0] - test.features[:, 1]) @ theta
            curve.append(np.mean(np.logaddexp(0.0, margin) - test.first * margin))
    return np.array(curve)


def real(runs: int | None) -> Iterator[str]:
    many = runs or REAL_RUNS
    yield "## Real votes"
    yield ""
    yield (
        "Pairs that people have compared, each a context with two candidates; a fifth of them, drawn at random, is for "
        "testing. Features: words weighted by rarity, reduced, and the length of a text. Held-out log-loss minus that of "
        f"{RANDOM}, in thousandths, the mean over {many} splits and its {LEVEL:.0%} interval. Below 0 is better."
    )
    for line in missing():
        yield f"\nNot at hand: {line}."
    for dim in REAL_DIMS:
        for title, pairs in real_logs(dim):
            yield ""
            yield f"### {title}: {len(pairs):,} pairs, {pairs.features.shape[2]} features"
            yield ""
            yield "| design | " + " | ".join(f"{mark:,} votes" for mark in REAL_MARKS) + " |"
            yield "|---|" + "---|" * len(REAL_MARKS)
            names = [RANDOM, DESIGN, "coverage 0", "coverage 0.5", "uncertainty"]
            found = {name: np.array([real_curve(pairs, name, seed) for seed in range(many)]) for name in names}
            yield f"| {RANDOM} (loss) | " + " | ".join(f"{value:.4f}" for value in found[RANDOM].mean(axis=0)) + " |"
            for name in names[1:]:
                yield (
                    f"| {name} | "
                    + " | ".join(difference(found[name][:, m] - found[RANDOM][:, m]) for m in range(len(REAL_MARKS)))
                    + " |"
                )


def difference(values: Floats) -> str:
    half = stats.t.ppf(0.5 + LEVEL / 2.0, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    text = f"{1000 * values.mean():+.1f} ± {1000 * half:.1f}"
    return f"**{text}**" if values.mean() + half < 0.0 else f"{text}, worse" if values.mean() - half > 0.0 else text


# -- speed -------------------------------------------------------------------------------


def speed(_runs: int | None) -> Iterator[str]:
    yield "## Time of one batch"
    yield ""
    yield "The best of three, on this machine, all cores; the policy has learned 500 votes."
    yield ""
    yield "| contexts | candidates | features | chosen | contexts and pairs together | pair by pair first (`MaxInP`) |"
    yield "|---|---|---|---|---|---|"
    for n, candidates, dim, k in (
        (1_000, 4, 32, 64),
        (10_000, 8, 64, 256),
        (10_000, 8, 256, 256),
        (2_000, 8, 1024, 256),
    ):
        rng = np.random.default_rng(0)
        arms = rng.standard_normal((n, candidates, dim))
        times = [seconds(policy, arms, k) for policy in (dl.RewardDesign(random_state=0), dl.MaxInP(random_state=0))]
        yield f"| {n:,} | {candidates} | {dim:,} | {k} | {times[0]:.2f} s | {times[1]:.2f} s |"


def seconds(policy: dl.policies.NativePolicy, arms: Floats, k: int) -> float:
    for context, duel in policy.ask_batch(arms[:500]):
        policy.tell(duel, float(context % 2))
    best = np.inf
    for _ in range(3):
        began = time.perf_counter()
        batch = policy.ask_batch(arms, k=k)
        best = min(best, time.perf_counter() - began)
        for duel in batch.duels:
            policy.forget(duel)
    return best


# -- the page ----------------------------------------------------------------------------

PARTS: dict[str, Callable[[int | None], Iterator[str]]] = {
    "few": partial(worlds, SIZES[0], KINDS),
    "many": partial(worlds, SIZES[1], KINDS[:1]),
    "many-wrong": partial(worlds, SIZES[1], KINDS[1:]),
    "real": real,
    "speed": speed,
}
MARK = "<!-- {} -->"


def sections_of(page: Path) -> dict[str, str]:
    """The parts of a page that is there already."""
    text = page.read_text() if page.exists() else ""
    found = {}
    for name in PARTS:
        _, began, rest = text.partition(MARK.format(name))
        if began:
            found[name] = began + rest.partition("<!-- ")[0]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--runs", type=int)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    sections = sections_of(given.page)
    for name in given.parts or PARTS:
        began, lines = time.perf_counter(), [MARK.format(name)]
        for line in PARTS[name](given.runs):
            print(line, flush=True)
            lines.append(line)
        sections[name] = "\n".join(
            [*lines, "", f"({time.perf_counter() - began:,.0f} s)", "", made_by("make bench-learn", this_part()), ""]
        )
        head = "# Learning a reward: designed batches and random pairs\n\n"
        given.page.write_text(head + "\n".join(sections[part].strip() + "\n" for part in PARTS if part in sections))


if __name__ == "__main__":
    main()
