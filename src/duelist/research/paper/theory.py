"""Theory: do the theorems' statements show in numbers?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from duelist.core.arrays import Floats
from duelist.core.figures import PALETTE, new_figure
from duelist.policies import VACDB
from duelist.research.experiments.lab import Cell, Lab, Result
from duelist.research.experiments.reports.figures import log_axis
from duelist.research.experiments.reports.findings import (
    CANNOT_BE_TESTED,
    DOES_NOT_HOLD,
    HOLDS,
    HOLDS_HERE,
    Findings,
)
from duelist.research.experiments.reports.text_templates import TextTemplates
from duelist.research.paper.problems import DIM, FIGURE_SEED, HORIZON
from duelist.simulation.environments import Environment, Hypercube, Noiseless, RandomArms
from duelist.simulation.regret_plot import POLICY_COLORS
from duelist.simulation.simulate import policy_seed

NAME: Final = "theory"
PROSE: Final = TextTemplates.of("duelist.research.paper", "theory.md")
RUNS: Final = 64
COVERAGE_RUNS: Final = 100
COVERAGE_ROUNDS: Final = 512
DELTA: Final = 0.05
HORIZONS: Final = (2000, 8000, 32000, 128000)
RADII: Final = ("practical", "tight", "theory")
CHANGING_HORIZONS: Final = (125, 250, 500, 1000, 2000)
DIMS: Final = (2, 3, 4, 5, 6, 7)
SCALES: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
RESAMPLES: Final = 1000


def run(lab: Lab) -> Findings:
    """Measure coverage, rates in T, d and the variance, the noiseless case, and explorations per layer."""
    outcome = Findings(NAME, PROSE("title"), PROSE("summary"))
    figure = new_figure(13, 7.5)
    axes = figure.subplots(2, 3)
    for ax in axes.flat:
        ax.set_prop_cycle(color=PALETTE)
    _coverage(lab, outcome, axes[0, 0])
    _in_horizon(lab, outcome, axes[0, 1])
    _in_dimension(lab, outcome, axes[0, 2])
    _in_variance(lab, outcome, axes[1, 0])
    _noiseless(lab, outcome, axes[1, 1])
    _explorations(lab, outcome, axes[1, 2])
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    outcome.add_figure("rates", figure, PROSE("caption"))
    outcome.settings = {"seed": FIGURE_SEED, "runs": RUNS, "resamples": RESAMPLES}
    return outcome


def log_slope(x: Sequence[float], samples: Sequence[Floats]) -> tuple[float, float, float]:
    """Return the least-squares slope of log mean(sample) on log x, with a 95 % interval from resampling runs."""
    rng = np.random.default_rng(0)
    logs = np.log(np.asarray(x, dtype=np.float64))

    def fit(means: Floats) -> float:
        return float(np.polyfit(logs, np.log(means), 1)[0])

    slopes = [fit(np.array([s[rng.integers(len(s), size=len(s))].mean() for s in samples])) for _ in range(RESAMPLES)]
    low, high = np.quantile(slopes, [0.025, 0.975])
    return fit(np.array([s.mean() for s in samples])), float(low), float(high)


def _slope_text(slope: tuple[float, float, float]) -> str:
    return f"{slope[0]:.2f} [{slope[1]:.2f}, {slope[2]:.2f}]"


def _coverage(lab: Lab, outcome: Findings, ax: Any) -> None:
    """Compare |theta_l - theta*|_{Sigma_l} with beta_l for the radii with a theorem, in all layers with data."""
    rows = []
    for radius, promised in (("theory", 1.0 - 2 * DELTA), ("tight", 1.0 - DELTA)):
        ratios = np.array([_largest_ratio(run, radius) for run in range(COVERAGE_RUNS)])
        lab.report(f"theory: coverage, {radius}", 1, 1)
        covered = float((ratios <= 1.0).mean())
        ax.hist(np.log10(ratios), bins=20, label=f"radius={radius!r}")
        middle, largest = float(np.median(ratios)), float(ratios.max())
        rows.append((radius, COVERAGE_RUNS, COVERAGE_ROUNDS, covered, promised, middle, largest))
        outcome.claims.append(
            PROSE.claim(
                f"coverage, {radius}",
                HOLDS if covered >= promised else DOES_NOT_HOLD,
                runs=COVERAGE_RUNS,
                rounds=COVERAGE_ROUNDS,
                delta=DELTA,
                covered=covered,
                median=middle,
                largest=largest,
            )
        )
    ax.axvline(0.0, color="black", linestyle="--")
    ax.set_title("error / radius, worst of a run", fontsize=10, loc="left")
    ax.set(xlabel="log10 of the ratio (dashed: the limit)", ylabel="runs")
    ax.legend(frameon=False, fontsize=8)
    columns = ("radius", "runs", "rounds", "share covered", "promised", "median ratio", "largest ratio")
    outcome.add_table("coverage", "confidence sets of all layers of VACDB", columns, rows)


def _largest_ratio(run: int, radius: str) -> float:
    """Return the largest ratio of error to radius in one run, checked when a layer's round count doubles."""
    rng = np.random.default_rng([FIGURE_SEED, run])
    world = Hypercube(dim=DIM).draw_world(rng)
    arms, theta = np.asarray(world.arms), world.theta
    policy = VACDB(
        horizon=COVERAGE_ROUNDS,
        radius=radius,
        delta=DELTA,
        explore="random",
        random_state=policy_seed(FIGURE_SEED, run),
    )
    worst = 0.0
    for t in range(1, COVERAGE_ROUNDS + 1):
        duel = policy.ask(arms)
        i, j = duel
        policy.tell(duel, float(rng.random() < 1.0 / (1.0 + np.exp(-(arms[i] - arms[j]) @ theta))))
        if t & (t - 1) == 0:
            radii = policy.layer_radii_
            for layer, count in enumerate(policy.layer_counts_):
                if count:
                    error = policy.estimate(layer) - theta
                    worst = max(worst, float(np.sqrt(error @ policy.layer_precision(layer) @ error) / radii[layer]))
    return worst


def _play(lab: Lab, label: str, cells: Sequence[tuple[Environment, int]], radius: str = "practical") -> list[Result]:
    wanted = [Cell(VACDB(horizon=t, link=e.link.name, radius=radius), e, t, RUNS, FIGURE_SEED) for e, t in cells]
    return lab.run(f"theory: {label}", wanted)


def _in_horizon(lab: Lab, outcome: Findings, ax: Any) -> None:
    """Measure the rate in T of each radius on fixed arms, and of the practical one on changing arms.

    The theorem is an upper bound for the published radius. It can be refuted by a rate above 1/2 only if regret has left the
    range in which the bound exceeds the regret of uniform play, T times the mean gap.
    """
    families: dict[str, tuple[str, Environment, tuple[int, ...]]] = {
        **{f"fixed arms, {radius}": (radius, Hypercube(dim=DIM), HORIZONS) for radius in RADII},
        "changing arms, practical": ("practical", RandomArms(dim=DIM), CHANGING_HORIZONS),
    }
    rows = []
    for marker, (name, (radius, environment, horizons)) in zip("osD^", families.items(), strict=True):
        results = _play(lab, f"horizon, {name}", [(environment, t) for t in horizons], radius)
        finals = [r.final for r in results]
        slope = log_slope(horizons, finals)
        means, medians = ([float(f(x)) for x in finals] for f in (np.mean, np.median))
        late = [float((r.late > 0.0).mean()) for r in results]
        ax.plot(horizons, means, marker=marker, label=f"{name}: slope {slope[0]:.2f}")
        rows += [(name, *line) for line in _horizon_rows(horizons, finals, late)]
        outcome.claims.append(
            PROSE.claim(
                "horizon",
                rate_verdict(slope, radius),
                case=name,
                least=horizons[0],
                most=horizons[-1],
                runs=RUNS,
                slope=_slope_text(slope),
                mean=means[-1],
                median=medians[-1],
                late=late[-1],
            )
        )
    ax.plot(HORIZONS, 200.0 * np.sqrt(np.divide(HORIZONS, HORIZONS[0])), color="grey", linestyle="--")
    ax.set(xscale="log", yscale="log", xlabel="horizon T", ylabel="average regret (lower is better)")
    log_axis(ax.xaxis)
    log_axis(ax.yaxis)
    ax.set_title("in the horizon (dashed: square root)", fontsize=10, loc="left")
    ax.legend(frameon=False, fontsize=8)
    columns = ("arms and radius", "T", "mean regret", "median", "worst", "runs that pay in the last tenth")
    outcome.add_table("horizon", "regret at the horizon the policy was given", columns, rows)


def _horizon_rows(horizons: Sequence[int], finals: Sequence[Floats], late: Sequence[float]) -> list[tuple[Any, ...]]:
    return [
        (t, round(float(f.mean()), 1), round(float(np.median(f)), 1), round(float(f.max()), 1), f"{100 * p:.0f} %")
        for t, f, p in zip(horizons, finals, late, strict=True)
    ]


def rate_verdict(slope: tuple[float, float, float], radius: str) -> str:
    """Compare a rate (slope, low, high) with 1/2.

    A valid radius whose layers still explore is no test of the theorem.
    """
    _, low, high = slope
    if high <= 0.5:
        return HOLDS_HERE
    return DOES_NOT_HOLD if low > 0.5 and radius == "practical" else CANNOT_BE_TESTED


def _in_dimension(lab: Lab, outcome: Findings, ax: Any) -> None:
    results = _play(lab, "dimension", [(Hypercube(dim=d), HORIZON) for d in DIMS])
    slope = log_slope(DIMS, [r.final for r in results])
    means = [float(r.final.mean()) for r in results]
    ax.plot(DIMS, means, marker="o", color=POLICY_COLORS["VACDB"], label=f"slope {_slope_text(slope)}")
    ax.plot(DIMS, means[0] * np.divide(DIMS, DIMS[0]), color="grey", linestyle="--", label="proportional to d")
    ax.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="average regret (lower is better)")
    log_axis(ax.yaxis)
    ax.minorticks_off()
    ax.set_xticks(DIMS, [str(d) for d in DIMS])
    ax.set_title(f"in the dimension, T = {HORIZON}", fontsize=10, loc="left")
    ax.legend(frameon=False, fontsize=8)
    rows = [(d, 2**d, round(m, 1)) for d, m in zip(DIMS, means, strict=True)]
    outcome.add_table("dimension", f"regret after {HORIZON} rounds", ("d", "arms", "mean regret"), rows)
    outcome.claims.append(
        PROSE.claim(
            "dimension",
            HOLDS_HERE if slope[2] <= 1.0 else DOES_NOT_HOLD if slope[1] > 1.0 else CANNOT_BE_TESTED,
            runs=RUNS,
            slope=_slope_text(slope),
        )
    )


def _in_variance(lab: Lab, outcome: Findings, ax: Any) -> None:
    results = _play(lab, "variance", [(Hypercube(dim=DIM, scale=s), HORIZON) for s in SCALES])
    variance = [float(r.learned_variance.mean()) for r in results]
    regret = [r.final / s for r, s in zip(results, SCALES, strict=True)]
    slope = log_slope(variance, regret)
    means = [float(r.mean()) for r in regret]
    ax.plot(variance, means, marker="o", color=POLICY_COLORS["VACDB"], label=f"slope {_slope_text(slope)}")
    ax.plot(variance, means[0] * np.sqrt(np.divide(variance, variance[0])), color="grey", linestyle="--")
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="sum of σ² over exploration",
        ylabel="average regret / scale (lower is better)",
    )
    log_axis(ax.xaxis)
    log_axis(ax.yaxis)
    ax.set_title("in the variance (dashed: square root)", fontsize=10, loc="left")
    ax.legend(frameon=False, fontsize=8)
    rows = [
        (s, round(v, 1), round(float(r.variance.mean()), 1), round(m, 1))
        for s, v, r, m in zip(SCALES, variance, results, means, strict=True)
    ]
    columns = ("scale of θ*", "Σσ² over exploration", "Σσ² over all rounds", "regret / scale")
    outcome.add_table("variance", "regret and the variance met", columns, rows)
    falls = all(a > b for a, b in itertools.pairwise(means))
    outcome.claims.append(
        PROSE.claim(
            "variance",
            CANNOT_BE_TESTED if falls else DOES_NOT_HOLD,
            least=SCALES[0],
            most=SCALES[-1],
            runs=RUNS,
            falls="yes" if falls else "no",
            slope=_slope_text(slope),
        )
    )


def _noiseless(lab: Lab, outcome: Findings, ax: Any) -> None:
    results = _play(lab, "no noise", [(Noiseless(Hypercube(dim=d)), HORIZON) for d in DIMS])
    ends = [float(r.mean[-1]) for r in results]
    middles = [float(r.mean[len(r.mean) // 2]) for r in results]
    slope = log_slope(DIMS, [r.final for r in results])
    growth = max(e / m - 1.0 for e, m in zip(ends, middles, strict=True))
    ax.plot(DIMS, ends, marker="o", color=POLICY_COLORS["VACDB"], label=f"after {HORIZON}: slope {slope[0]:.2f}")
    ax.plot(DIMS, middles, marker="x", linestyle=":", color="black", label=f"after {HORIZON // 2}")
    ax.plot(DIMS, ends[0] * np.divide(DIMS, DIMS[0]), color="grey", linestyle="--", label="proportional to d")
    ax.set(xlabel="dimension d", ylabel="average regret (lower is better)")
    ax.set_title("no noise: the plateau", fontsize=10, loc="left")
    ax.legend(frameon=False, fontsize=8)
    rows = [(d, round(m, 1), round(e, 1)) for d, m, e in zip(DIMS, middles, ends, strict=True)]
    outcome.add_table(
        "noiseless", "deterministic comparisons", ("d", f"after {HORIZON // 2}", f"after {HORIZON}"), rows
    )
    outcome.claims.append(
        PROSE.claim(
            "no noise",
            HOLDS_HERE if growth < 0.01 and slope[2] <= 1.0 else DOES_NOT_HOLD,
            horizon=HORIZON,
            runs=RUNS,
            growth=growth,
            slope=_slope_text(slope),
        )
    )


def _explorations(lab: Lab, outcome: Findings, ax: Any) -> None:
    (result,) = _play(lab, "layers", [(Hypercube(dim=DIM), HORIZON)])
    counts = result.layer_counts[:, 1:].max(axis=0)
    layers = [k + 1 for k in range(len(counts)) if counts[k] > 0]
    most = [int(counts[k - 1]) for k in layers]
    bounds = [exploration_bound(k, n) for k, n in zip(layers, most, strict=True)]
    ax.plot(layers, most, marker="o", color=POLICY_COLORS["VACDB"], label="most in a run")
    ax.plot(layers, bounds, linestyle="--", color="grey", label="bound")
    ax.set(yscale="log", xlabel="layer", ylabel="explorations")
    log_axis(ax.yaxis)
    ax.set_xticks(layers)
    ax.set_title("explorations in each layer", fontsize=10, loc="left")
    ax.legend(frameon=False, fontsize=8)
    rows = [(k, n, round(b, 1)) for k, n, b in zip(layers, most, bounds, strict=True)]
    outcome.add_table(
        "explorations", "explorations in each layer, the most of any run", ("layer", "most", "bound"), rows
    )
    held = all(n <= b for n, b in zip(most, bounds, strict=True))
    outcome.claims.append(
        PROSE.claim(
            "explorations",
            HOLDS if held else DOES_NOT_HOLD,
            horizon=HORIZON,
            runs=RUNS,
            layers="; ".join(
                f"layer {k}: {n} of at most {b:.0f}" for k, n, b in zip(layers, most, bounds, strict=True)
            ),
        )
    )


def exploration_bound(layer: int, count: int) -> float:
    """Return 4^l 2d log(1 + 4^(l+1) A^2 |Psi| / d) with A^2 = d, the squared length of a corner."""
    return float(4.0**layer * 2 * DIM * np.log1p(4.0 ** (layer + 1) * DIM * count / DIM))
