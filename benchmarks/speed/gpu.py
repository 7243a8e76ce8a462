"""`python3 -m benchmarks.speed.gpu --out DIR`: the pair searches on a GPU, checked there and timed there.

Needs NumPy, SciPy and PyTorch alone: the device part of `duelist.gpu` is loaded by its path, and where the rest
of the package cannot be imported the last few arms are scored by NumPy with the same expression.
Baselines run in the same process, on the same arms: the matrix product of all pairs alone (blocks on and above
the diagonal), and a plain blocked search that takes every root.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.linalg import solve_triangular

DEVICE_PART = Path(__file__).parents[2] / "src" / "duelist" / "gpu" / "device" / "__init__.py"
BLOCK = 8192
REPEATS = 7
CONTEXT_SHAPES = [(1, 64), (3, 32), (5, 96), (5, 100), (5, 128), (8, 256), (17, 64), (32, 160)]
"""Numbers of arms and features on which choices in contexts are checked."""


def load_device_part() -> ModuleType:
    name = "duelist_gpu_device"
    spec = importlib.util.spec_from_file_location(
        name, DEVICE_PART, submodule_search_locations=[str(DEVICE_PART.parent)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


part = load_device_part()
arithmetic = sys.modules["duelist_gpu_device.arithmetic"]
fused = sys.modules["duelist_gpu_device.fused"]
sweep = sys.modules["duelist_gpu_device.sweep"]
search_part = sys.modules["duelist_gpu_device.search"]


class Setting(NamedTuple):
    """Arms on the device in float32, the rest on the host in float64."""

    arms: torch.Tensor
    theta: np.ndarray
    precision: np.ndarray
    factor: np.ndarray
    radius: float


def setting(kind: str, n: int, dim: int, device: str, seed: int = 0) -> Setting:
    """Arms of length about 1, and a precision after 2 dim duels among them with ridge 1.

    gaussian: every direction alike, lengths nearly alike; embeddings: variances fall like 1 / k, as those of
    text and image features do, and lengths differ; sphere: all lengths alike and a radius under which utilities
    hardly count, the worst case for pruning.
    """
    rng = np.random.default_rng(seed)
    spread = 1.0 / np.sqrt(np.arange(1, dim + 1)) if kind == "embeddings" else np.ones(dim)
    x = rng.standard_normal((n, dim), dtype=np.float32) * (spread / np.linalg.norm(spread)).astype(np.float32)
    if kind == "sphere":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    z = (x[rng.integers(n, size=2 * dim)] - x[rng.integers(n, size=2 * dim)]).astype(float)
    theta = rng.standard_normal(dim)
    radius = 30.0 if kind == "sphere" else 1.0
    precision = np.eye(dim) + z.T @ z
    x, theta = torch.from_numpy(x).to(device), theta / np.linalg.norm(theta)
    return Setting(x, theta, precision, np.linalg.cholesky(precision), radius)


def values(x: np.ndarray, theta: np.ndarray, factor: np.ndarray, radius: float) -> np.ndarray:
    """Values of all pairs of a few arms in float64; below the diagonal nothing."""
    v, u = solve_triangular(factor, x.T, lower=True), x @ theta
    apart = np.sqrt(sum((row[:, None] - row) ** 2 for row in v))
    return np.where(np.tri(len(x), k=-1, dtype=bool), -np.inf, u[:, None] + u + radius * apart)


def search(
    given: Setting, mode: str, *, pruned: bool, kernel: bool | None = None
) -> tuple[tuple[int, int, float], Any]:
    """A whole search, from arms on the device and the factor on the host to a pair on the host."""
    device = given.arms.device
    theta, lower = (torch.from_numpy(array).to(device) for array in (given.theta, given.factor))
    problem = part.whiten_arms(given.arms, theta, lower, given.radius)
    chosen, effort = part.candidates(problem, part.MODES[mode], pruned=pruned, kernel=kernel)
    scores = values(given.arms[chosen].double().cpu().numpy(), given.theta, given.factor, given.radius)
    i, j = np.unravel_index(np.argmax(scores), scores.shape)
    return (int(chosen[i]), int(chosen[j]), float(scores[i, j])), effort


def blocks(n: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(0, n, BLOCK) for j in range(i, n, BLOCK))


def product_alone(points: torch.Tensor, mode: str, buffer: torch.Tensor) -> None:
    with arithmetic.matmul_precision(part.MODES[mode]):
        for i, j in blocks(len(points)):
            a, b = points[i : i + BLOCK], points[j : j + BLOCK]
            torch.mm(a, b.T, out=buffer[: len(a) * len(b)].view(len(a), len(b)))


def plain_search(points: torch.Tensor, utilities: torch.Tensor, mode: str, buffer: torch.Tensor) -> float:
    """The search as one writes it first: all values of a block, their maximum."""
    squares = points.square().sum(1)
    best = torch.full((), -torch.inf, device=points.device, dtype=points.dtype)
    with arithmetic.matmul_precision(part.MODES[mode]):
        for i, j in blocks(len(points)):
            a, b = slice(i, i + BLOCK), slice(j, j + BLOCK)
            shape = len(points[a]), len(points[b])
            block = torch.mm(points[a], points[b].T, out=buffer[: shape[0] * shape[1]].view(shape))
            block.mul_(-2.0).add_(squares[a, None]).add_(squares[b]).clamp_(min=0.0).sqrt_()
            block.add_(utilities[a, None]).add_(utilities[b])
            best = torch.maximum(best, block.max())
    return float(best)


def truth(given: Setting) -> float:
    """The largest value by brute force in float64 on the device, from differences where it counts."""
    device = given.arms.device
    factor = torch.from_numpy(given.factor).to(device)
    x = given.arms.double()
    v = torch.linalg.solve_triangular(factor, x.T, upper=False).T.contiguous() * given.radius
    buffer = torch.empty(BLOCK * BLOCK, dtype=torch.float64, device=device)
    return plain_search(v - v.mean(0), x @ torch.from_numpy(given.theta).to(device), "float32", buffer)


def median_ms(action: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Median, smallest and largest time of an action in milliseconds, by events on the device.

    Host work inside the action counts too: the closing event is only recorded once the host comes to it.
    """
    action()
    action()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        action()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return [round(t, 3) for t in (float(np.median(times)), min(times), max(times))]


def checked(device: str) -> dict[str, Any]:
    """Every mode, both ways to multiply, pruned and not, against float64 brute force on fresh arms."""
    wrong = []
    cases = 0
    for seed, (kind, n, dim) in enumerate(
        (kind, n, dim)
        for kind in ("gaussian", "sphere", "embeddings")
        for n in (1, 129, 5000, 20000)
        for dim in (3, 64, 100, 768)
    ):
        given = setting(kind, n, dim, device, seed)
        given = given._replace(radius=(0.0, 0.3, 1.0, 30.0)[seed % 4])
        expected = truth(given)
        for mode in part.MODES:
            for pruned in (False, True):
                for kernel in (False, True) if mode in fused.KERNEL_CONFIGS and device == "cuda" else (False,):
                    (i, j, value), effort = search(given, mode, pruned=pruned, kernel=kernel)
                    cases += 1
                    if abs(value - expected) > 1e-10 * abs(expected) + 1e-12:
                        wrong.append([kind, n, dim, mode, pruned, kernel, value, expected, list(effort), i, j])
    return {"cases": cases, "wrong": wrong}


def tiles_checked(n: int, dim: int, mode: str, device: str = "cuda", runs: int = 20) -> dict[str, Any]:
    """Every tile of the fused kernel against float64, and against itself: a kernel with a race would show here.

    The threshold is set so low that tiles fall on both sides of the test.
    """
    given = setting("gaussian", n, dim, device, seed=dim)
    theta, lower = (torch.from_numpy(a).to(device) for a in (given.theta, given.factor))
    problem = part.whiten_arms(given.arms, theta, lower, given.radius)
    config, exact = fused.KERNEL_CONFIGS[mode], part.MODES[mode]
    threshold = search_part.initial_value(problem) - 2.0 * problem.noise
    tiles = sweep.candidate_tiles(None, n, threshold, config.tiling, 16)
    sides = sweep.operands(problem, torch.arange(n, device=device), threshold, exact, max(config.tiling), config.depth)
    found = [fused.max_per_tile(sides, tiles, config, exact) for _ in range(runs)]
    x, y, a = sides.points.double(), sides.offsets.double(), sides.lifts.double()
    worst = 0.0
    for place, (row, column) in enumerate((tiles * torch.tensor(config.tiling, device=device)).tolist()):
        i, j = slice(row, row + config.tiling.rows), slice(column, column + config.tiling.columns)
        true = (a[i, None] + a[j] - 2.0 * (x[i] @ x[j].T + y[i, None] * y[j])).max()
        worst = max(worst, float((found[0][place] - true).abs()))
    unlike = sum(int((other != found[0]).sum()) for other in found[1:])
    allowed = 2.0 * sweep.error(dim, exact)  # |w| is at most 1
    result = {"mode": mode, "dim": dim, "tiles": len(tiles), "unlike_itself": unlike}
    return result | {"largest_error": worst, "allowed": allowed, "passed": unlike == 0 and worst <= allowed}


def timed(kind: str, n: int, dim: int) -> Iterator[dict[str, Any]]:
    """One row for every mode: product alone, plain search, ours unpruned and pruned."""
    given = setting(kind, n, dim, "cuda")
    x = given.arms
    lower = torch.from_numpy(given.factor).to("cuda")
    points = part.whiten_arms(x, torch.from_numpy(given.theta).to("cuda"), lower, given.radius).points.float()
    utilities = x @ torch.from_numpy(given.theta).float().to("cuda")
    buffer = torch.empty(BLOCK * BLOCK, device="cuda")
    products = {mode: median_ms(lambda mode=mode: product_alone(points, mode, buffer)) for mode in ("float32", "tf32")}
    plain = {mode: median_ms(lambda mode=mode: plain_search(points, utilities, mode, buffer), 3) for mode in products}
    total = n * (n - 1) / 2
    for mode in part.MODES:
        row: dict[str, Any] = {"kind": kind, "arms": n, "dim": dim, "mode": mode}
        row |= {"product": products.get(mode), "plain": plain.get(mode)}
        for pruned in (False, True):
            found, effort = search(given, mode, pruned=pruned)
            name = "pruned" if pruned else "unpruned"
            row[name] = median_ms(lambda mode=mode, pruned=pruned: search(given, mode, pruned=pruned))
            row[f"{name}_share"] = round(min(1.0, effort.pairs / total), 5)
            row[f"{name}_effort"] = list(effort)
            row[f"{name}_pair"] = list(found)
        yield row


def contexts_timed(contexts: int, n_arms: int, dim: int, runs: int = 1) -> dict[str, Any]:
    """The best pair of every context: checked against float64 `runs` times, then timed."""
    given = setting("gaussian", contexts * n_arms, dim, "cuda")
    arms = given.arms.view(contexts, n_arms, dim)
    theta = torch.from_numpy(given.theta).to("cuda")
    lower = torch.from_numpy(given.factor).to("cuda")

    def choose() -> Any:
        chosen = part.best_pairs_in_contexts(arms, theta, lower, given.radius)
        return chosen, chosen.width.sort(descending=True, stable=True).indices[:100], bool(chosen.tied.any())

    v = torch.linalg.solve_triangular(lower, given.arms.double().T, upper=False).T.reshape(contexts, n_arms, dim)
    u = (given.arms.double() @ theta).view(contexts, n_arms)
    values = torch.stack(
        [
            u[:, i] + u[:, j] + given.radius * (v[:, i] - v[:, j]).square().sum(1).sqrt()
            for i, j in product(range(n_arms), repeat=2)
        ],
        1,
    )
    best = values.argmax(1)
    chosen = [choose()[0] for _ in range(runs)]
    return {
        "contexts": contexts,
        "n_arms": n_arms,
        "dim": dim,
        "wrong": sum(int(((c.first * n_arms + c.second != best) & ~c.tied).sum()) for c in chosen),
        "tied": int(chosen[0].tied.sum()),
        "largest_error": max(float((c.value / values.amax(1) - 1.0).abs().max()) for c in chosen),
        "ms": median_ms(choose, 21),
    }


def library_timed(n: int, dim: int) -> dict[str, Any]:
    """The public function, everything included, from arms on the device; against the processor on fewer arms."""
    import duelist as dl
    from duelist import gpu

    given = setting("gaussian", n, dim, "cuda")
    few = given.arms[:2000]
    same = [
        gpu.best_pair(few, given.theta, given.precision, radius, device="cuda", matmul=mode)
        == dl.best_pair(few.cpu().numpy(), given.theta, given.precision, radius)
        for mode, radius in product(part.MODES, (0.0, 0.3, 30.0))
    ]
    action = partial(gpu.best_pair, given.arms, given.theta, given.precision, given.radius, device="cuda")
    factor = partial(dl.selection.factored, given.precision, dim)
    return {"dim": dim, "same": all(same), "best_pair": median_ms(action), "of_that_factor": median_ms(factor)}


def shapes_timed(n: int, dim: int) -> Iterator[dict[str, Any]]:
    """The fused kernel alone over all pairs, for every way to cut the work."""
    given = setting("gaussian", n, dim, "cuda")
    theta, lower = (torch.from_numpy(a).to("cuda") for a in (given.theta, given.factor))
    problem = part.whiten_arms(given.arms, theta, lower, given.radius)
    threshold = search_part.initial_value(problem) - 2.0 * problem.noise
    order = torch.arange(n, device="cuda")
    cuts = [(128, 128, 4), (128, 128, 8), (128, 256, 8), (64, 256, 4), (64, 128, 4)]
    kinds = [("float32", "tf32x3", (16, 32)), ("tf32", "tf32", (32,)), ("bfloat16", "tf32", (64,))]
    for (mode, precision, depths), (rows, columns, warps) in product(kinds, cuts):
        for depth in depths:
            config = fused.KernelConfig(sweep.Tiling(rows, columns), depth, warps, precision)
            row = {"dim": dim, "mode": mode, "config": [rows, columns, depth, warps]}
            try:
                tiles = sweep.candidate_tiles(None, n, threshold, config.tiling, 16)
                sides = sweep.operands(problem, order, threshold, part.MODES[mode], max(config.tiling), depth)
                action = partial(fused.max_per_tile, sides, tiles, config, part.MODES[mode])
                yield row | {"ms": median_ms(action, 2)}
            except Exception as error:  # noqa: BLE001  a config that does not fit is a result
                yield row | {"error": f"{type(error).__name__}: {str(error)[:100]}"}


def steps_timed(n: int, dim: int) -> dict[str, Any]:
    """Where a search spends its time: each step on its own, bfloat16, gaussian."""
    given = setting("gaussian", n, dim, "cuda")
    theta, lower = (torch.from_numpy(a).to("cuda") for a in (given.theta, given.factor))
    problem = part.whiten_arms(given.arms, theta, lower, given.radius)
    mode, config = part.MODES["bfloat16"], fused.KERNEL_CONFIGS["bfloat16"]
    threshold = search_part.initial_value(problem) - 2.0 * problem.noise
    order, tops = search_part._order(problem, threshold, True)
    tiles = sweep.candidate_tiles(tops, len(order), threshold, config.tiling, 16)
    sides = sweep.operands(problem, order, threshold, mode, max(config.tiling), config.depth)
    passed = tiles[fused.max_per_tile(sides, tiles, config, mode) >= 0.0]
    return {
        "dim": dim,
        "moving": median_ms(lambda: torch.from_numpy(given.factor).to("cuda")),
        "prepared": median_ms(lambda: part.whiten_arms(given.arms, theta, lower, given.radius)),
        "good_value": median_ms(lambda: search_part.initial_value(problem)),
        "order": median_ms(lambda: search_part._order(problem, threshold, True)),
        "tiles": median_ms(lambda: sweep.candidate_tiles(tops, len(order), threshold, config.tiling, 16)),
        "operands": median_ms(
            lambda: sweep.operands(problem, order, threshold, mode, max(config.tiling), config.depth)
        ),
        "filter": median_ms(lambda: fused.max_per_tile(sides, tiles, config, mode)),
        "second_look": median_ms(lambda: search_part._refine(problem, order, passed, config.tiling, threshold)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--arms", type=int, default=100_000)
    parser.add_argument("--shapes", action="store_true", help="time every way to cut the fused kernel's work instead")
    parser.add_argument("--steps", action="store_true", help="time every step of a search on its own instead")
    parser.add_argument("--library", action="store_true", help="time the public function too; needs all of duelist")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("error: no CUDA GPU here; this benchmark needs one")
    options.out.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": getattr(fused.triton, "__version__", None),
        "python": platform.python_version(),
        "unit": "ms: median, smallest, largest",
    }
    start = time.perf_counter()

    def keep(name: str, found: Any) -> None:
        report.setdefault(name, []).append(found)
        (options.out / "gpu.json").write_text(json.dumps(report, indent=1) + "\n")
        print(f"{time.perf_counter() - start:6.1f} s", name, json.dumps(found), flush=True)

    if options.shapes:
        for dim in (64, 768):
            for row in shapes_timed(options.arms, dim):
                keep("shapes", row)
    elif options.steps:
        for dim in (64, 768):
            keep("steps", steps_timed(options.arms, dim))
    else:
        for mode, dim in product(fused.KERNEL_CONFIGS, (3, 64, 100, 256, 768)):
            keep("tiles", tiles_checked(10_000, dim, mode))
        keep("checks", checked("cuda"))
        for n_arms, dim in CONTEXT_SHAPES:
            keep("context_checks", contexts_timed(50_000, n_arms, dim, runs=5))
        for kind in ("gaussian", "embeddings", "sphere"):
            for dim in (64, 768):
                for row in timed(kind, options.arms, dim):
                    keep("searches", row)
        keep("contexts", contexts_timed(100_000, 8, 256))
        report["library"] = []
        if options.library:
            sys.path.insert(0, str(DEVICE_PART.parents[3]))
            for dim in (64, 768):
                keep("library", library_timed(options.arms, dim))
            from duelist.research.origin import with_origin

            text = with_origin(page(report), "python3 -m benchmarks.speed.gpu --library")
            (options.out / "gpu.md").write_text(text)
        print(table(report))
        if failures := failed(report):
            sys.exit(f"error: wrong on this device: {failures}")


def page(report: dict[str, Any]) -> str:
    """The report as docs/evidence/gpu.md."""
    [contexts] = report["contexts"]
    lines = [
        "# Benchmarks on a GPU",
        "",
        f"Measured on one {report['device']} with PyTorch {report['torch']}, Triton "
        f"{report['triton']}, Python {report['python']}. Medians in milliseconds.",
        "",
        "## The best pair of 100,000 arms",
        "",
        "Product: the matrix product of all pairs alone, blocks on and above the diagonal. Plain: a blocked search that takes",
        "every root. Unpruned and pruned: from arms on the device and the factor of the precision on the host to a pair. Sphere",
        "is the case in which no pair can be left out at 768 features. In float32 the searches put a product together from",
        "three in TF32; the product alone is the device's own.",
        "",
        table(report),
        "",
        f"Every one of {report['checks'][0]['cases']} further searches (1 to 20,000 arms, 3 to 768 features) had the value that "
        f"float64 brute force on the device finds, up to rounding; wrong: {len(report['checks'][0]['wrong'])}.",
        "",
        "## `duelist.gpu.best_pair`, everything included",
        "",
        "| dim | best_pair | of that, factoring the precision on the host |",
        "|---|---|---|",
        *(
            f"| {row['dim']} | {row['best_pair'][0]:.1f} | {row['of_that_factor'][0]:.1f} |"
            for row in report["library"]
        ),
        "",
        "## Contexts",
        "",
        f"The best pair of each of {contexts['contexts']:,} contexts of {contexts['n_arms']} arms with {contexts['dim']} "
        f"features and the 100 most informative contexts: {contexts['ms'][0]:.1f}.",
    ]
    return "\n".join(lines) + "\n"


def failed(report: dict[str, Any]) -> list[Any]:
    """Whatever was not right."""
    found = [row for row in report["tiles"] if not row["passed"]]
    found += [row for row in report["context_checks"] + report["contexts"] if row["wrong"]]
    return found + report["checks"][0]["wrong"] + [row for row in report["library"] if not row["same"]]


def table(report: dict[str, Any]) -> str:
    lines = ["| arms | dim | mode | product | plain | unpruned | pruned | pairs examined |", "|---" * 8 + "|"]
    for row in report["searches"]:
        cells = [f"{row[name][0]:.1f}" if row[name] else "" for name in ("product", "plain", "unpruned", "pruned")]
        lines.append(
            f"| {row['kind']} | {row['dim']} | {row['mode']} | {' | '.join(cells)} | {row['pruned_share']:.2%} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
