"""What a new user waits for: the import, the first duel of each policy, the first commands.

`python -m benchmarks.speed.starting [--wheel FILE]` builds the wheel unless it is given, installs it into an empty environment,
and prints the table. Every figure is the median of fresh processes; the things measured take turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import ROOT

REPEATS = 7

_IMPORT = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""

_FIRST_DUEL = """
import time
from itertools import product
import numpy as np
import duelist as dl
arms = np.array(list(product((-1.0, 1.0), repeat=5)))
start = time.perf_counter()
policy = dl.make_policy("{policy}", horizon=4000, random_state=0)
policy.tell(policy.ask(arms), 1.0)
print(time.perf_counter() - start)
"""

_POLICIES = "import duelist as dl; print(*dl.policies.POLICIES)"


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, with the compiler that the environment was set up with."""
    environment = dict(os.environ)
    compiler = Path(sys.prefix) / ".compiler"
    if compiler.exists():
        environment["CXX"] = compiler.read_text().strip()
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        folder,
    ]
    subprocess.run([*command, ROOT], check=True, env=environment, stdout=sys.stderr)
    return next(folder.glob("duelist-*.whl"))


class Installed:
    """An environment with the wheel and what it needs, and nothing else."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([self.bin / "python", "-m", "pip", "install", "--quiet", wheel], check=True, stdout=sys.stderr)
        self.storage = f"sqlite:///{folder / 'study.db'}"
        self.run("duelist", "study", "create", "first", "--storage", self.storage)

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the environment outside the checkout; what it prints."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        command = [self.bin / program, *arguments]
        result = subprocess.run(command, check=True, cwd=self.folder, env=environment, capture_output=True, text=True)
        return result.stdout

    def told(self, script: str) -> float:
        """Seconds that a script in a fresh interpreter prints."""
        return float(self.run("python", "-c", script))

    def whole(self, *command: str) -> float:
        """Seconds of a whole process."""
        start = time.perf_counter()
        self.run(*command)
        return time.perf_counter() - start


def measured(place: Installed, repeats: int) -> dict[str, list[float]]:
    """Seconds of everything, each `repeats` times."""
    policies = place.run("python", "-c", _POLICIES).split()
    actions: dict[str, Callable[[], float]] = {
        "`import numpy`": lambda: place.told(_IMPORT.format(module="numpy")),
        "`import duelist`": lambda: place.told(_IMPORT.format(module="duelist")),
        "`duelist --help`": lambda: place.whole("duelist", "--help"),
        "`duelist study status`": lambda: place.whole(
            "duelist", "study", "status", "first", "--storage", place.storage
        ),
    }
    for policy in policies:
        script = _FIRST_DUEL.format(policy=policy)
        actions[f"first `ask` and `tell`, {policy}"] = lambda script=script: place.told(script)  # type: ignore[misc]
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeats):
        for name, action in actions.items():
            taken[name].append(action())
    return taken


def rows(wheel: Path | None = None, repeats: int = REPEATS) -> list[str]:
    """The lines of the table."""
    with tempfile.TemporaryDirectory(prefix="duelist-starting-") as name:
        folder = Path(name)
        place = Installed(folder / "environment", wheel or build_wheel(folder))
        taken = measured(place, repeats)
    reference = float(np.median(taken["`import numpy`"]))
    lines = []
    for name, values in taken.items():
        low, middle, high = (1e3 * float(x) for x in (min(values), np.median(values), max(values)))
        ratio = f"{middle / 1e3 / reference:.2f}" if name.startswith("`import") else ""
        lines.append(f"| {name} | {middle:.3g} ({low:.3g} to {high:.3g}) | {ratio} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help="instead of building one")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    print("\n".join(rows(options.wheel and options.wheel.resolve(), options.repeats)))


if __name__ == "__main__":
    main()
