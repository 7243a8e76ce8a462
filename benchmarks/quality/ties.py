"""Ties in policies: half a win each, left out, or Davidson's model.

    python -m benchmarks.quality.ties --page docs/evidence/ties.md

The same arms, luck and prior for all three; only the fit differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks import DOCS
from duelist.model.answers import PAIR, PAIR_WITH_TIES
from duelist.model.posterior import Posterior, outcome_chances
from duelist.model.stopping import not_ruled_out
from duelist.model.utility import Utility, arm_effects
from duelist.model.vote_fit import fit
from duelist.model.votes import Votes
from duelist.reference.arm_effects import UtilityPosterior
from duelist.reference.arm_table_policies import ArmTableLocalPairUCB
from duelist.reference.pair_choice import AllowedPairs
from duelist.research.origin import with_origin

ARMS: Final = 8
SHARES: Final = (0.0, 0.1, 0.25, 0.5)
"""Share of ties between equal arms."""
FITS: Final = ("half a win", "left out", "Davidson")
DELTA: Final = 0.1
PAIRS: Final = np.column_stack(np.triu_indices(ARMS, 1))
EVERYBODY: Final = np.arange(ARMS)


def posterior(counts: np.ndarray, how: str, start: Posterior | None = None) -> Posterior:
    """Return the posterior, given first wins, second wins and ties by pair."""
    utility = Utility((arm_effects(ARMS),))
    if how == "Davidson":
        return fit(Votes(ARMS, PAIRS, counts), utility, PAIR_WITH_TIES, start=start)
    half = 0.5 * counts[:, 2:] if how == "half a win" else 0.0
    return fit(Votes(ARMS, PAIRS, counts[:, :2] + half), utility, PAIR, start=start)


def drawn(utilities: np.ndarray, first: int, second: int, share: float, rng: np.random.Generator) -> int:
    """Return 0 if the first wins, 1 if the second wins, 2 for a tie."""
    nu = 2.0 * share / (1.0 - share)
    win, tie, _ = outcome_chances(np.array([utilities[first] - utilities[second]]), nu)
    luck = rng.random()
    return 0 if luck < win[0] else 2 if luck < win[0] + tie[0] else 1


def add(counts: np.ndarray, first: int, second: int, outcome: int) -> None:
    """Count a vote on a pair."""
    low, high = min(first, second), max(first, second)
    row = int(np.flatnonzero(((low, high) == PAIRS).all(axis=1))[0])
    counts[row, outcome if outcome == 2 or first == low else 1 - outcome] += 1.0


def covered(found: Posterior, utilities: np.ndarray) -> float:
    """Return the share of 95 % intervals of utilities, relative to their mean, that hold."""
    off = found.mean - (utilities - utilities.mean())
    return float((np.abs(off) <= 1.959964 * np.sqrt(found.variance)).mean())


def decision(found: Posterior) -> int | None:
    """Return the arm that the stopping rule decides for, or None."""
    best = int(np.argmax(found.mean))
    others = np.full(ARMS, best), EVERYBODY
    gaps, squares = found.mean[best] - found.mean, found.difference_variance(*others)
    still_open = not_ruled_out(gaps, squares, found.prior_variance(*others), DELTA)
    still_open[best] = False
    return None if still_open.any() else best


def random_log(share: float, seed: int, votes: int) -> dict[str, tuple[float, int, bool, float]]:
    """Return coverage, votes to a decision, whether it was wrong, and the scale of the estimates, on random pairs."""
    rng = np.random.default_rng([seed, 31])
    utilities = rng.standard_normal(ARMS)
    counts = np.zeros((len(PAIRS), 3))
    decided: dict[str, tuple[int, bool]] = {}
    look = 20
    for count in range(1, votes + 1):
        first, second = (int(k) for k in rng.permutation(ARMS)[:2])
        add(counts, first, second, drawn(utilities, first, second, share, rng))
        if count in (look, votes):
            look = int(1.15 * look) + 1
            for how in set(FITS) - set(decided):
                best = decision(posterior(counts, how))
                if best is not None:
                    decided[how] = count, utilities[best] < utilities.max()
    result = {}
    truth = utilities - utilities.mean()
    for how in FITS:
        found = posterior(counts, how)
        scale = float(found.mean @ truth / (truth @ truth))
        result[how] = covered(found, utilities), *decided.get(how, (votes, False)), scale
    return result


def regret(share: float, how: str, seed: int, rounds: int) -> float:
    """Return the average regret of LocalPairUCB's rule with this fit, summed over rounds."""
    rng = np.random.default_rng([seed, 37])
    utilities = rng.standard_normal(ARMS)
    rule, counts, known, total = ArmTableLocalPairUCB(random_state=0), np.zeros((len(PAIRS), 3)), None, 0.0
    for t in range(rounds):
        known = posterior(counts, how, known)
        covariance = known.rows(EVERYBODY)
        square = np.diagonal(covariance)[:, None] + np.diagonal(covariance) - 2.0 * covariance
        width = np.sqrt(np.maximum(square, 0.0))
        rule.rounds_ = t
        seen = UtilityPosterior(known.mean, np.diagonal(covariance), covariance, width, EVERYBODY, 0.0)
        first, second = rule.choose(seen, AllowedPairs(ARMS, distinct=False)).pair
        total += utilities.max() - 0.5 * (utilities[first] + utilities[second])
        luck = np.random.default_rng([seed, 41, t])
        if first != second:
            add(counts, first, second, drawn(utilities, first, second, share, luck))
    return total


def mean_of(values: list[float], digits: int = 1) -> str:
    """Return a mean with its 95 % interval."""
    error = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


def page(runs: int, regret_runs: int, votes: int, rounds: int) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Ties"
    yield ""
    yield f"{ARMS} arms without features, utilities N(0, 1), votes by Davidson's model."
    yield "Share of ties: between equal arms. Half a win: a tie counts as half a win for either arm, which is what policies do."
    yield "Left out: only decided votes count. Davidson: his model, with its parameter estimated, which is what analyses of"
    yield "studies do. ± is a 95 % interval of the mean."
    yield "[Decision 50](../contributing/decisions/0050-ties-in-policies.md) draws the conclusions."
    yield ""
    yield f"Random pairs, {runs} runs of {votes:,} votes, the same votes for each fit. Scale: slope of estimated on true"
    yield f"utilities. Decision: the stopping rule at error rate {DELTA:g}; an undecided run counts with all its votes."
    yield ""
    yield "| ties | fit | 95 % intervals that hold | scale | votes to a decision | difference to Davidson, run by run | wrong decisions |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for share in SHARES:
        found = [random_log(share, seed, votes) for seed in range(runs)]
        for how in FITS:
            each = [result[how] for result in found]
            more = [result[how][1] - result["Davidson"][1] for result in found]
            cells = mean_of([100.0 * one for one, *_ in each]) + " %", mean_of([one[3] for one in each], 2)
            yield (
                f"| {share:.0%} | {how} | {cells[0]} | {cells[1]} | {mean_of([float(one[1]) for one in each], 0)} | "
                f"{mean_of([float(k) for k in more], 0)} | {sum(one[2] for one in each)} of {runs} |"
            )
    yield ""
    yield f"LocalPairUCB's rule, {regret_runs} runs of {rounds} rounds, an arm may be shown alone; average regret, summed over"
    yield "rounds."
    yield "rounds."
    yield ""
    yield "| ties | half a win | left out | Davidson | half a win minus Davidson |"
    yield "|---|---:|---:|---:|---:|"
    for share in SHARES:
        by_fit = {how: [regret(share, how, seed, rounds) for seed in range(regret_runs)] for how in FITS}
        change = [half - own for half, own in zip(by_fit["half a win"], by_fit["Davidson"], strict=True)]
        yield f"| {share:.0%} | {' | '.join(mean_of(by_fit[how]) for how in FITS)} | {mean_of(change)} |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--regret-runs", type=int, default=40)
    parser.add_argument("--votes", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--page", type=Path, default=DOCS / "ties.md")
    given = parser.parse_args()
    lines = []
    for line in page(given.runs, given.regret_runs, given.votes, given.rounds):
        print(line, flush=True)
        lines.append(line)
    given.page.write_text(with_origin("\n".join(lines) + "\n", "make bench-ties"))


if __name__ == "__main__":
    main()
