"""`make bench-bonus`: which bonus a max-pair rule in the local curvature should have; docs/evidence/bonus.md and docs/evidence/bonus.png.

    python -m benchmarks.quality.bonus [--runs 512]

A separate program, much smaller than the library and sharing only the goals with it, so that a bonus is one line to
change. Every variant plays the same runs of 4,000 rounds: the hypercube of the paper (dim 5, 32 arms) and 32 random arms in 5
dimensions, theta* of random direction at four scales. Its seeds are used by no figure of `docs/evidence/frontier.md`.
"""

from __future__ import annotations

import argparse
import math
from typing import Any, Final, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from rich.progress import track

from benchmarks import DOCS
from duelist.research.origin import with_origin
from duelist.research.paper import frontier_claims
from duelist.research.paper.frontier_claims import TAIL

Floats = NDArray[np.float64]

DIM, N_ARMS, HORIZON, BLOCK = 5, 32, 4000, 128
SCALES: Final = tuple(frontier_claims.WANTED)
WORLDS: Final = ("hypercube", "random arms")
WANTED: Final = np.array(list(frontier_claims.WANTED.values()))
"""Shares of the regret of the first variant that a good one stays under, by scale."""
SEED: Final = 9_000_011

FLAT, LESS, LATE = range(3)


class Variant(NamedTuple):
    """How the square of a bonus follows from L = log(1 + T mu' W^2), W and mu' at the gap of the pair."""

    label: str
    shape: int
    c: float
    less: float = 0.0
    power: float = 0.0
    ridge: float = 1.0


PLAIN: Final = Variant("MaxPairUCB: W sqrt(d log T), W in the precision", FLAT, 1.0)
FORMER: Final = Variant("2 · 0.6 L", LESS, 0.6)
CHOSEN: Final = Variant("2 · 1.4 f^0.2 (L - log(1 + L))", LATE, 1.4, power=0.2)
VARIANTS: Final = (
    PLAIN,
    FORMER,
    *(Variant(f"2 · {c:g} L", LESS, c) for c in (0.4, 0.8, 1.2)),
    Variant("2 (L - 1.1)", LESS, 1.0, 1.1),
    Variant("2 f^0.2 (L - 1.1)", LESS, 1.0, 1.1, 0.2),
    Variant("2 f^0.2 (1.3 L - 1.5)", LESS, 1.3, 1.5, 0.2),
    Variant("2 f^0.2 (2 L - 2.5)", LESS, 2.0, 2.5, 0.2),
    *(Variant(f"2 · {c:g} f^0.2 (L - log(1 + L))", LATE, c, power=0.2) for c in (0.8, 1.0, 1.4, 2.0)),
    Variant("2 · 1.4 (L - log(1 + L))", LATE, 1.4),
    Variant("2 · 1.4 f^0.4 (L - log(1 + L))", LATE, 1.4, power=0.4),
    Variant("2 · 1.4 f^0.2 (L - log(1 + L)), ridge 0.5", LATE, 1.4, power=0.2, ridge=0.5),
    Variant("2 · 1.4 f^0.2 (L - log(1 + L)), ridge 2", LATE, 1.4, power=0.2, ridge=2.0),
)


# -- one run -----------------------------------------------------------------------------


@njit(cache=True)
def slope(v: float) -> float:
    e = math.exp(-abs(v))
    return e / ((1.0 + e) * (1.0 + e))


@njit(cache=True)
def bonus(square: float, gap: float, shape: int, c: float, less: float, power: float) -> float:
    """Return the bonus added to the utilities of a pair."""
    if shape == FLAT:
        return c * math.sqrt(DIM * math.log(HORIZON) * square)
    here = slope(gap)
    known = math.log1p(HORIZON * here * square)
    boundary = c * known - less if shape == LESS else c * (known - math.log1p(known))
    return math.sqrt(max(2.0 * square * boundary * (4.0 * here) ** power, 0.0))


@njit(cache=True)
def dot(x: Floats, y: Floats) -> float:
    total = 0.0
    for k in range(DIM):
        total += x[k] * y[k]
    return total


@njit(cache=True)
def factorize(a: Floats) -> None:
    """The lower Cholesky factor, in place."""
    for i in range(DIM):
        for j in range(i + 1):
            left = a[i, j]
            for k in range(j):
                left -= a[i, k] * a[j, k]
            a[i, j] = math.sqrt(left) if i == j else left / a[j, j]


@njit(cache=True)
def solve_lower(factor: Floats, x: Floats) -> None:
    for i in range(DIM):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]


@njit(cache=True)
def solve_upper(factor: Floats, x: Floats) -> None:
    for i in range(DIM - 1, -1, -1):
        for k in range(i + 1, DIM):
            x[i] -= factor[k, i] * x[k]
        x[i] /= factor[i, i]


@njit(cache=True)
def newton(theta: Floats, rows: Floats, seen: int, ridge: float, factor: Floats, step: Floats) -> None:
    """Moves theta to the estimate; `factor`: that of the curvature there. Rows: difference, votes, wins."""
    while True:
        for i in range(DIM):
            step[i] = -ridge * theta[i]
            for j in range(i + 1):
                factor[i, j] = ridge if i == j else 0.0
        for k in range(seen):
            row = rows[k]
            v = dot(row, theta)
            residual, mass = row[DIM + 1] - row[DIM] / (1.0 + math.exp(-v)), row[DIM] * slope(v)
            for i in range(DIM):
                step[i] += residual * row[i]
                for j in range(i + 1):
                    factor[i, j] += mass * row[i] * row[j]
        factorize(factor)
        solve_lower(factor, step)
        decrement = dot(step, step)
        if decrement < 1e-10:
            return
        solve_upper(factor, step)
        for i in range(DIM):
            theta[i] += step[i] / max(1.0, math.sqrt(decrement))


@njit(cache=True)
def squared_distance(x: Floats, y: Floats) -> float:
    total = 0.0
    for k in range(DIM):
        total += (x[k] - y[k]) ** 2
    return total


@njit(cache=True)
def best_pair(u: Floats, white: Floats, shape: int, c: float, less: float, power: float) -> tuple[int, int]:
    """argmax over i <= j of u_i + u_j + bonus; pairs that cannot win by the largest bonus for their width are passed over."""
    top = int(np.argmax(u))
    widest = 0.0
    for i in range(len(u)):
        widest = max(widest, squared_distance(white[i], white[top]))
    most = bonus(4.0 * widest, 0.0, shape, c, less, power) / math.sqrt(4.0 * widest)
    first, second, best = top, top, 2.0 * u[top]
    for k in range(-1, len(u)):
        i = top if k < 0 else k  # the leader's pairs first: they are often the best
        for j in range(len(u)):
            square = squared_distance(white[i], white[j])
            if i == j or u[i] + u[j] + most * math.sqrt(square) <= best:
                continue
            extra = bonus(square, u[i] - u[j], shape, c, less, power)
            if extra > 0.0 and u[i] + u[j] + extra > best:
                first, second, best = i, j, u[i] + u[j] + extra
    return min(first, second), max(first, second)


@njit(cache=True)
def regret_of_a_run(
    arms: Floats, theta_star: Floats, luck: Floats, shape: int, c: float, less: float, power: float, ridge: float
) -> float:
    utility = arms @ theta_star
    theta, step, factor = np.zeros(DIM), np.zeros(DIM), np.zeros((DIM, DIM))
    u, white, rows = np.zeros(len(arms)), np.zeros((len(arms), DIM)), np.zeros((len(arms) ** 2 // 2, DIM + 2))
    row_of = np.full((len(arms), len(arms)), -1)
    total, seen = 0.0, 0
    for t in range(HORIZON):
        newton(theta, rows, seen, ridge, factor, step)
        if shape == FLAT:
            factorize_precision(rows, seen, ridge, factor)
        for a in range(len(arms)):
            u[a] = dot(arms[a], theta)
            white[a] = arms[a]
            solve_lower(factor, white[a])
        i, j = best_pair(u, white, shape, c, less, power)
        cost = utility.max() - 0.5 * (utility[i] + utility[j])
        if i == j:  # a self-duel teaches nothing, so all later rounds are the same
            return total + cost * (HORIZON - t)
        total += cost
        if row_of[i, j] < 0:
            row_of[i, j] = seen
            rows[seen, :DIM] = arms[i] - arms[j]
            seen += 1
        rows[row_of[i, j], DIM] += 1.0
        rows[row_of[i, j], DIM + 1] += luck[t] < 1.0 / (1.0 + math.exp(utility[j] - utility[i]))
    return total


@njit(cache=True)
def factorize_precision(rows: Floats, seen: int, ridge: float, factor: Floats) -> None:
    """The factor of ridge I + sum zz', without slopes."""
    for i in range(DIM):
        for j in range(i + 1):
            factor[i, j] = ridge if i == j else 0.0
            for k in range(seen):
                factor[i, j] += rows[k, DIM] * rows[k, i] * rows[k, j]
    factorize(factor)


@njit(cache=True, parallel=True)
def play(
    arms: Floats, thetas: Floats, luck: Floats, shape: int, c: float, less: float, power: float, ridge: float
) -> Floats:
    regrets = np.zeros(len(thetas))
    for run in prange(len(thetas)):
        regrets[run] = regret_of_a_run(arms[run], thetas[run], luck[run], shape, c, less, power, ridge)
    return regrets


# -- all of them -------------------------------------------------------------------------


def regrets(variant: Variant, runs: int) -> Floats:
    """(worlds, scales, runs); every variant gets the same arms, theta* and luck."""
    cube = np.array([[1.0 if a >> k & 1 else -1.0 for k in range(DIM)] for a in range(N_ARMS)])
    found = np.zeros((len(WORLDS), len(SCALES), runs))
    for w in range(len(WORLDS)):
        for s, scale in enumerate(SCALES):
            rng = np.random.default_rng([SEED, w, s])
            arms = rng.standard_normal((runs, N_ARMS, DIM)) if w else np.repeat(cube[None], runs, axis=0)
            thetas = rng.standard_normal((runs, DIM))
            thetas *= scale / np.linalg.norm(thetas, axis=1, keepdims=True)
            found[w, s] = play(arms, thetas, rng.random((runs, HORIZON)), *variant[1:])
    return found


class RegretSummary(NamedTuple):
    """Relative to the former bonus where it says so; the rest by world."""

    means: Floats
    mean: Floats
    rms: Floats
    heavy: Floats
    shares: float
    both: float


def summary(mine: Floats, former: Floats, plain: Floats) -> RegretSummary:
    blocks = mine.reshape(len(WORLDS), len(SCALES), -1, BLOCK)
    heavy = blocks.max(axis=3) >= TAIL * np.median(blocks, axis=3)
    wanted = blocks[0].mean(axis=2) <= WANTED[:, None] * plain[0].reshape(len(SCALES), -1, BLOCK).mean(axis=2)
    return RegretSummary(
        mine.mean(axis=2),
        _relative(mine.mean(axis=2), former.mean(axis=2)),
        _relative(np.sqrt((mine**2).mean(axis=2)), np.sqrt((former**2).mean(axis=2))),
        heavy.mean(axis=(1, 2)),
        float(wanted.all(axis=0).mean()),
        float((wanted & ~heavy[0]).all(axis=0).mean()),
    )


def _relative(mine: Floats, theirs: Floats) -> Floats:
    return np.asarray(np.exp(np.log(mine / theirs).mean(axis=1)))


def page(found: dict[str, RegretSummary], runs: int) -> str:
    columns = (
        "squared bonus / W²",
        "hypercube: mean regret at scale 0.5, 1, 2, 4",
        "random arms",
        "mean",
        "rms",
        "heavy tails, %",
        "all shares, %",
        "and no heavy tail, %",
    )
    lines = [
        "# Which bonus a pair should have",
        "",
        f"{runs} runs of {HORIZON} rounds per problem.",
        "",
        "- L = log(1 + T μ' W²), f = μ'/μ'(0) at the gap of the pair; ridges in units of the arms' variance, 1 where none is named.",
        "- mean, rms: mean and root mean square of regret, divided by those of 2 · 0.6 L, the bonus the library had first;",
        "  geometric mean over scales, hypercube / random arms.",
        f"- heavy tails: blocks of {BLOCK} runs whose worst run is at least {TAIL:g} times the median one.",
        f"- all shares: blocks in which mean regret is at most {', '.join(f'{w:g}' for w in WANTED)} of the first row's at the four scales",
        "  (hypercube); the last column asks for no heavy tail at any of them as well.",
        "",
        "![mean regret against heavy tails](bonus.png)",
        "",
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
    ]
    for name, s in found.items():
        cells = (
            *(" / ".join(f"{x:.0f}" for x in row) for row in s.means),
            *(" / ".join(f"{x:.2f}" for x in pair) for pair in (s.mean, s.rms)),
            " / ".join(f"{100 * x:.0f}" for x in s.heavy),
            *(f"{100 * x:.0f}" for x in (s.shares, s.both)),
        )
        lines.append("| " + " | ".join((f"**{name}**" if name == CHOSEN.label else name, *cells)) + " |")
    return "\n".join(lines) + "\n"


def draw(found: dict[str, RegretSummary]) -> Any:
    figure, axes = plt.subplots(1, 2, figsize=(13, 5.5), sharey=True, layout="constrained")
    for w, ax in enumerate(axes):
        for k, (name, s) in enumerate(found.items()):
            x, y = s.mean[w], 100.0 * s.heavy[w]
            ax.plot(x, y, "o", color="tab:red" if name == CHOSEN.label else "tab:blue")
            ax.annotate(str(k + 1), (x, y), xytext=(4, 4), textcoords="offset points", fontsize=9)
        ax.set_title(WORLDS[w])
        ax.set_xlabel("mean regret, relative to 2 · 0.6 L")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel(f"blocks of {BLOCK} runs with a worst run of {TAIL:g} medians or more, %")
    text = "\n".join(f"{k + 1}  {name}" for k, name in enumerate(found))
    axes[1].text(1.03, 1.0, text, transform=axes[1].transAxes, va="top", fontsize=8)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=512, help=f"runs per problem, a multiple of {BLOCK}")
    runs = parser.parse_args().runs
    if runs <= 0 or runs % BLOCK:
        parser.error(f"--runs is {runs}; give a multiple of {BLOCK}")
    played = {variant.label: regrets(variant, runs) for variant in track(VARIANTS, description="bonuses")}
    found = {name: summary(mine, played[FORMER.label], played[PLAIN.label]) for name, mine in played.items()}
    (DOCS / "bonus.md").write_text(with_origin(page(found, runs), "make bench-bonus"), encoding="utf-8")
    draw(found).savefig(DOCS / "bonus.png", dpi=150)


if __name__ == "__main__":
    main()
