"""`make bench-published-fits`: our estimates against those of choix, evalica, arena-rank and leaderbot on one log.

    python -m benchmarks.quality.published_fits --python build/peer-fits/bin/python [--page FILE]

The other programs run in an environment of their own, since arena-rank fixes the version of NumPy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks import DOCS
from duelist.model.answers import PAIR, PAIR_WITH_TIES
from duelist.model.posterior import Posterior
from duelist.model.utility import Utility, arm_effects
from duelist.model.vote_fit import fit
from duelist.model.votes import Votes
from duelist.research.datasets import load_llmfao
from duelist.research.origin import with_origin
from duelist.study.analysis.fit.covariates import ShownPair, measured

OUTCOMES: Final = ("first", "second", "tie")
STYLE: Final = ("side", "length")
FLAT: Final = 1e-10
"""Prior precision that stands for maximum likelihood."""


class Log:
    """Votes on systems, and their covariates."""

    def __init__(self) -> None:
        votes = [vote for vote in load_llmfao() if vote.outcome in OUTCOMES]
        names = sorted({name for vote in votes for name in (vote.first, vote.second)})
        place = {name: k for k, name in enumerate(names)}
        self.n = len(names)
        self.items = np.array([[place[vote.first], place[vote.second]] for vote in votes])
        self.outcomes = np.array([OUTCOMES.index(vote.outcome) for vote in votes])
        pairs = [ShownPair(vote.payload_first, vote.payload_second) for vote in votes]
        self.covariates = measured(STYLE, len(votes), pairs, np.arange(len(votes))).values

    def as_data(self) -> dict[str, Any]:
        """Return what `peer_fits` reads."""
        votes = np.column_stack([self.items, self.outcomes]).tolist()
        return {"systems": self.n, "votes": votes, "covariates": self.covariates.tolist()}

    def fitted(self, answer: str, precision: float, *, style: bool = False) -> Posterior:
        """Return our fit: "decided", "half" (a tie as half a win) or "ties" (Davidson)."""
        counts = np.eye(3)[self.outcomes]
        utility = Utility((arm_effects(self.n, precision),))
        x = self.covariates if style else None
        if answer == "ties":
            return fit(Votes(self.n, self.items, counts, x), utility, PAIR_WITH_TIES)
        kept = counts[:, 2] == 0.0 if answer == "decided" else np.ones(len(counts), np.bool_)
        wins = counts[:, :2] + 0.5 * counts[:, 2:]
        return fit(Votes(self.n, self.items[kept], wins[kept], None if x is None else x[kept]), utility, PAIR)


ROWS: Final = (
    ("choix", "Bradley-Terry, decided votes, prior N(0, 1)", ("decided", 1.0, False)),
    ("evalica", "Bradley-Terry, a tie as half a win", ("half", FLAT, False)),
    ("arena-rank", "Bradley-Terry, a tie as half a win", ("half", FLAT, False)),
    ("arena-rank, style", "the same with covariates side and length, each with prior N(0, 1)", ("half", FLAT, True)),
    ("leaderbot", "Davidson, with one parameter of ties", ("ties", FLAT, False)),
)


def differences(theirs: list[float], ours: Posterior, n: int) -> tuple[float, float]:
    """Return the largest difference of a utility, both relative to their mean, and of the other parameters."""
    other = np.array(theirs)
    if ours.fitted is None:
        raise TypeError("a posterior needs its fitted parameters")
    more = np.append(ours.fitted.covariates, ours.fitted.parameters)
    utilities = float(np.abs(other[:n] - other[:n].mean() - ours.mean).max())
    return utilities, float(np.abs(other[n:] - more).max(initial=0.0)) if len(other) > n else 0.0


def page(log: Log, found: dict[str, Any]) -> str:
    """Return the page."""
    lines = [
        "# Fits of other programs",
        "",
        f"llmfao: {len(log.items):,} votes on {log.n} systems, {np.mean(log.outcomes == 2):.0%} of them ties. Each program fits its model,",
        "and `duelist.model.vote_fit.fit` the same model with the same prior (a prior precision of 1e-10 where there is none). The",
        "largest difference of an estimate is in log-odds. The programs stop at their own tolerance.",
        "",
        "| program | model | largest difference of a utility | of other parameters |",
        "|---|---|---:|---:|",
    ]
    for name, model, (answer, precision, style) in ROWS:
        utilities, others = differences(found["fits"][name], log.fitted(answer, precision, style=style), log.n)
        program = name.partition(",")[0]
        shown = f"{others:.1g}" if name in ("arena-rank, style", "leaderbot") else ""
        lines.append(f"| {program} {found['versions'][program]} | {model} | {utilities:.1g} | {shown} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="of an environment with the other programs")
    parser.add_argument("--page", type=Path, default=DOCS / "published-fits.md")
    given = parser.parse_args()
    log = Log()
    with tempfile.TemporaryDirectory() as folder:
        votes, estimates = Path(folder) / "votes.json", Path(folder) / "estimates.json"
        votes.write_text(json.dumps(log.as_data()))
        script = Path(__file__).with_name("peer_fits.py")
        subprocess.run([given.python, str(script), str(votes), str(estimates)], check=True)
        found = json.loads(estimates.read_text())
    text = page(log, found)
    print(text)
    given.page.write_text(with_origin(text, "make bench-published-fits"))


if __name__ == "__main__":
    main()
