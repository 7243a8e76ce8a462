"""`make bench-before`: the lines of docs/benchmarks.md, here and in an older checkout, in one run.

    python -m benchmarks.before --checkout ../older [--python ../older/.venv/bin/python] [--only pair --only batch]

Each side is a process of its own, with its own interpreter, that times one block of a line when asked to; blocks alternate, so
that a slow second of the machine hits both alike. Ratios are new / old of the medians: below 1 is faster. Processor time, of
all threads together, moves less than the clock where the machine has other work.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

import numpy as np

HERE = Path(__file__).parents[1]
BLOCKS = {"simulation": 9, "live": 20, "horizon": 20, "pair": 15, "decision": 21, "dimension": 11, "batch": 5}


class Side:
    """A process that times lines with the duelist of one checkout."""

    def __init__(self, checkout: Path, python: Path) -> None:
        source = checkout / "src"
        if not (source / "duelist").is_dir():
            raise SystemExit(f"{checkout} is no checkout of duelist: it has no src/duelist")
        script = Path(__file__).with_name("one_side.py")
        self.name = str(checkout)
        self.process = subprocess.Popen(
            [str(python), "-P", str(script)],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.requests, self.answers = cast("IO[str]", self.process.stdin), cast("IO[str]", self.process.stdout)
        self.cases: list[str] = []
        while name := self._answer():
            self.cases.append(name)

    def time(self, case: str) -> tuple[float, float]:
        self.requests.write(case + "\n")
        self.requests.flush()
        wall, processor = self._answer().split()
        return float(wall), float(processor)

    def _answer(self) -> str:
        line = self.answers.readline()
        if not line:
            raise SystemExit(f"the side of {self.name} ended with status {self.process.wait()}")
        return line.rstrip("\n")

    def close(self) -> None:
        self.requests.close()
        self.process.wait()


def compare(case: str, new: Side, old: Side, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of all blocks of both sides, (blocks, 2) each: wall-clock and processor."""
    taken: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
    for block in range(blocks):
        order = ((0, new), (1, old)) if block % 2 == 0 else ((1, old), (0, new))
        for which, side in order:
            taken[which].append(side.time(case))
    return np.array(taken[0]), np.array(taken[1])


def rows(new: Side, old: Side, cases: Iterable[str], scale: float) -> list[str]:
    lines = ["| line | new, s | old, s | new / old | by processor time |", "|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for case in cases:
        blocks = max(3, round(scale * BLOCKS[case.partition(":")[0]]))
        ours, theirs = compare(case, new, old, blocks)
        (wall, processor), (their_wall, their_processor) = np.median(ours, axis=0), np.median(theirs, axis=0)
        ratios = f"{wall / their_wall:.2f} | {processor / max(their_processor, 1e-9):.2f}"
        lines.append(f"| {case} | {wall:.3g} | {their_wall:.3g} | {ratios} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True, help="the older one, installed or built in place")
    parser.add_argument("--python", type=Path, help="its interpreter; .venv/bin/python in it unless given")
    parser.add_argument("--only", action="append", help="lines that start so; again for more; 'pair', 'live: VACDB'")
    parser.add_argument("--scale", type=float, default=1.0, help="so many times the usual number of blocks")
    parser.add_argument("--page", type=Path, help="where to write the table, beside printing it")
    options = parser.parse_args()
    new = Side(HERE, Path(sys.executable))
    old = Side(options.checkout, options.python or options.checkout / ".venv" / "bin" / "python")
    cases = [case for case in new.cases if case in old.cases]
    if options.only:
        cases = [case for case in cases if case.startswith(tuple(options.only))]
    if not cases:
        raise SystemExit(f"no line starts with {options.only}; lines start with {', '.join(BLOCKS)}")
    lines = rows(new, old, cases, options.scale)
    if options.page is not None:
        options.page.parent.mkdir(parents=True, exist_ok=True)
        options.page.write_text("\n".join(lines) + "\n")
    new.close()
    old.close()


if __name__ == "__main__":
    main()
