"""The best pair among very many arms: seconds, share of pairs looked at, memory, growth.

`python -m benchmarks.speed.large_arms` prints the tables; `pair_rows` and `growth_rows` return them as dictionaries.
Arms are standard normal. A state is what a policy holds after some random duels: the precision I + sum zz', the
estimate fitted to their outcomes (or no estimate at all, when only widths count: the hardest case), and the radius
sqrt(dim log duels). The baseline computes every pair in blocks with NumPy, on all cores; it is timed on some rows and
scaled to all of them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import native_testing as parts
import numpy as np
from scipy.linalg import solve_triangular

import duelist as dl
from duelist import native

Row = dict[str, Any]

DIMS, DUELS, ARMS = (16, 64), (200, 5000), 100_000
GROWTH = (32, 1_000, 10_000, 100_000, 1_000_000)
REPEATS = 7
BLOCK = 256


class State(NamedTuple):
    arms: np.ndarray
    theta: np.ndarray
    precision: np.ndarray
    radius: float


def state(n_arms: int, dim: int, duels: int, estimate: bool = True, seed: int = 0) -> State:
    """Normal arms after `duels` random duels, outcomes logistic with a unit parameter."""
    rng = np.random.default_rng(seed)
    arms = rng.standard_normal((n_arms, dim))
    truth = rng.standard_normal(dim)
    truth /= np.linalg.norm(truth)
    i, j = rng.integers(n_arms, size=(2, duels))
    z = arms[i] - arms[j]
    outcomes = (rng.random(duels) < 1.0 / (1.0 + np.exp(-z @ truth))).astype(float)
    theta = np.asarray(dl.fit_mle(z, outcomes).theta) if estimate else np.zeros(dim)
    return State(arms, theta, np.eye(dim) + z.T @ z, float(np.sqrt(dim * np.log(duels))))


def seconds(action: Callable[[], object], repeats: int) -> list[float]:
    """Wall-clock seconds of `repeats` calls, after one that is not counted."""
    action()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return taken


def numpy_seconds(s: State, blocks: int = 4) -> float:
    """Blocked brute force over i < j in NumPy: some blocks of rows against all columns, scaled to half of all pairs."""
    v = solve_triangular(np.linalg.cholesky(s.precision), s.arms.T, lower=True)
    u = s.arms @ s.theta
    square = np.einsum("kn,kn->n", v, v)
    n = u.size
    rows = min(BLOCK, n)
    out = np.empty((rows, n))

    def block(start: int) -> tuple[int, float]:
        own = slice(start, start + rows)
        np.dot(v[:, own].T, v, out=out)
        np.multiply(out, -2.0, out=out)
        np.add(out, square, out=out)
        np.add(out, square[own, None], out=out)
        np.maximum(out, 0.0, out=out)
        np.sqrt(out, out=out)
        np.multiply(out, s.radius, out=out)
        np.add(out, u, out=out)
        np.add(out, u[own, None], out=out)
        best = int(np.argmax(out))
        return best, float(out.flat[best])

    taken = [t for k in range(blocks) for t in seconds(lambda k=k: block(k * rows % max(n - rows, 1)), 1)]
    half = 0.5 if n > rows else 1.0  # a single block holds both (i, j) and (j, i)
    return float(np.median(taken)) * n / rows * half


def share_examined(s: State) -> float:
    """Pairs that went through the filter or were climbed over, of all pairs."""
    if len(s.arms) < native.MANY_ARMS:
        return 1.0
    v = parts.whiten(native.cholesky_factor(s.precision), s.arms)
    n = v.shape[1]
    *_, examined = parts.search_best(native.utilities(s.arms, s.theta), v, s.radius)
    return examined / (n * (n - 1) / 2)


_MEMORY = """
import numpy as np
import duelist as dl
from benchmarks.speed.large_arms import high_water, state
dl.best_pair(np.eye(300, 2), np.ones(2), np.eye(2), 1.0)
s = state({n_arms}, {dim}, {duels}, {estimate})
before = high_water()
dl.best_pair(*s)
print(high_water() - before, high_water())
"""


def high_water() -> float:
    """The most memory this process has held, in MiB.

    Linux keeps it as VmHWM; `ru_maxrss` would start from the size of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024.0
    import resource

    unit = 1024.0**2 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def peak_memory(n_arms: int, dim: int, duels: int, estimate: bool = True) -> tuple[float, float]:
    """MiB by which one `best_pair` raises the high water of a fresh process that made the arms, and that high water.

    What making the state needed for a moment can hide some of the first figure; the second hides nothing.
    """
    script = _MEMORY.format(n_arms=n_arms, dim=dim, duels=duels, estimate=estimate)
    result = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    added, total = result.stdout.split()
    return float(added), float(total)


def measure(n_arms: int, dim: int, duels: int, estimate: bool = True, repeats: int = REPEATS) -> Row:
    """One row: `duelist.best_pair` from arms to pair, whitening and validation included, against the baseline."""
    s = state(n_arms, dim, duels, estimate)
    taken = seconds(lambda: dl.best_pair(*s), repeats)
    brute = numpy_seconds(s)
    added, total = peak_memory(n_arms, dim, duels, estimate)
    return {
        "arms": n_arms,
        "dim": dim,
        "duels": duels,
        "estimate": estimate,
        "seconds": float(np.median(taken)),
        "seconds_min": min(taken),
        "seconds_max": max(taken),
        "numpy_seconds": brute,
        "ratio": brute / float(np.median(taken)),
        "share_examined": share_examined(s),
        "added_mib": added,
        "peak_mib": total,
    }


def pair_rows() -> list[Row]:
    """100,000 arms: each dimension and state, with the estimate and with widths alone."""
    return [measure(ARMS, dim, duels, estimate) for dim in DIMS for duels in DUELS for estimate in (True, False)]


def growth_rows(dim: int = 16, duels: int = 5000) -> list[Row]:
    """From 32 arms to a million, one state."""
    return [measure(n_arms, dim, duels) for n_arms in GROWTH]


def table(rows: list[Row]) -> list[str]:
    """Markdown lines of rows from `measure`."""
    lines = [
        "| arms | dim | duels | estimate | duelist, s | NumPy, s | ratio | pairs examined | memory added, MiB | peak, MiB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        spread = f"{r['seconds']:.3g} ({r['seconds_min']:.3g} to {r['seconds_max']:.3g})"
        cells = (
            f"{r['arms']:,}",
            r["dim"],
            r["duels"],
            "fitted" if r["estimate"] else "none",
            spread,
            f"{r['numpy_seconds']:.3g}",
            f"{r['ratio']:,.3g}" if r["ratio"] < 1000 else f"{r['ratio']:,.0f}",
            f"{r['share_examined']:.1e}",
            f"{r['added_mib']:.0f}",
            f"{r['peak_mib']:.0f}",
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def main() -> None:
    for title, rows in (("100,000 arms", pair_rows), ("Growth", growth_rows)):
        print(f"\n{title}\n")
        print("\n".join(table(rows())), flush=True)


if __name__ == "__main__":
    main()
