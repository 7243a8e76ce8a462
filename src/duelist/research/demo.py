"""The demo: the paper's main comparison with one more policy, as a figure and a table."""

from __future__ import annotations

import json
import platform
import time
from pathlib import Path
from typing import Final

from duelist.policies import VACDB, CoLSTIM, LocalPairUCB, MaxInP, MaxPairUCB, Policy
from duelist.simulation.environments import Hypercube
from duelist.simulation.runs import Runs
from duelist.simulation.simulate import Progress, simulate

HORIZON: Final = 4000
RUNS: Final = 128
DIM: Final = 5


def demo_policies(horizon: int) -> list[Policy]:
    """Return the four policies of the paper's figure 1a and LocalPairUCB, with the library's default settings."""
    return [
        VACDB(horizon=horizon),
        MaxInP(horizon=horizon),
        MaxPairUCB(horizon=horizon),
        CoLSTIM(horizon=horizon),
        LocalPairUCB(horizon=horizon),
    ]


def run_demo(
    folder: Path,
    horizon: int = HORIZON,
    runs: int = RUNS,
    dim: int = DIM,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Runs, list[Path]]:
    """Simulate, and write regret.png, summary.txt and settings.json into `folder`."""
    started = time.perf_counter()
    result = simulate(demo_policies(horizon), Hypercube(dim=dim), horizon, runs, seed, progress=progress)
    seconds = time.perf_counter() - started
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "regret.png", folder / "summary.txt", folder / "settings.json"]
    title = (
        f"{2**dim} hypercube arms in {dim} dimensions, random unit θ*\n{runs} runs; bars are 95 % intervals of the mean"
    )
    axes = result.plot()
    axes.set_title(title, fontsize=10, loc="left")
    axes.figure.savefig(written[0], dpi=150)  # type: ignore[union-attr]
    written[1].write_text(f"{result.summary()}\n")
    settings = {**result.settings, "horizon": horizon, "runs": runs, "seconds": round(seconds, 2)}
    written[2].write_text(json.dumps({**settings, "python": platform.python_version()}, indent=2) + "\n")
    return result, written
