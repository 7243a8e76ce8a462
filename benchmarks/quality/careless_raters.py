"""Careless raters: what they cost, what the model of raters recovers, and who is flagged.

    python -m benchmarks.quality.careless_raters --page docs/evidence/raters.md

Twelve raters answer in turn what the policy of a goal asks; the item of a pair that is shown first is drawn. The same votes
are then analysed in several ways.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from scipy.special import expit, logit
from scipy.stats import kendalltau

import duelist as dl
from benchmarks import DOCS
from benchmarks.quality.goals.problems import GoalWorld, evaluation_problems
from benchmarks.quality.intervals import made_log
from duelist.core.arrays import Floats, Ints
from duelist.model.clusters import with_clusters
from duelist.model.raters.difference import difference_p_value
from duelist.research.datasets import data_folder, load_llmfao
from duelist.research.origin import with_origin
from duelist.study.analysis import StudyFit, VoteTable, as_vote_table, fit_votes, recommendation_from_fit
from duelist.study.analysis.fit.utilities import fit_utilities
from duelist.study.analysis.fit.votes import vote_counts
from duelist.study.analysis.goal_stopping import ranking_decision
from duelist.study.records import Vote


class Crew(NamedTuple):
    """Twelve raters: the reliability of each, the log-odds that each adds for the first item, and the size of tastes."""

    reliability: tuple[float, ...]
    side: tuple[float, ...] = (0.0,) * 12
    tastes: float = 0.0


ALWAYS: Final = 100.0
_ONE_SIDED: Final = (0.0, 0.0, ALWAYS, *(0.0,) * 9)
CREWS: Final = {
    "2 random, 1 always first, 9 honest": Crew((*(0.0,) * 3, *(1.0,) * 9), _ONE_SIDED),
    "2 random, 1 always first, 2 weak, 7 honest": Crew((*(0.0,) * 3, 0.4, 0.4, *(1.0,) * 7), _ONE_SIDED),
    "4 weak, 8 honest": Crew((*(0.4,) * 4, *(1.0,) * 8)),
    "12 honest": Crew((1.0,) * 12),
    "12 honest with tastes": Crew((1.0,) * 12, tastes=0.5),
}
GOALS: Final = ("best", "rank")
WORLDS: Final = ("simulated", "events", "photos by color")
LOOKS: Final = (1200, 3600)
WAYS: Final = ("alike", "rater model", "flagged excluded", "honest only")
DELTA: Final = 0.05
PLACES: Final = 3
N_ARMS: Final = 30
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
ALIKE: Final = ((8, 3, 60, 0.0), (10, 12, 300, 0.0), (30, 12, 1200, 0.0), (30, 12, 1200, 0.6), (10, 40, 4000, 0.6))
"""Arms, raters, votes, and Davidson's parameter of ties."""
REAL: Final = ("llmfao", "events")


class Run(NamedTuple):
    """What one way to analyse the votes of a run gives."""

    tau: float
    leader_is_best: bool
    decided: bool
    wrong: bool


class Played(NamedTuple):
    """All ways, and the raters who are flagged."""

    ways: dict[str, Run]
    flagged: tuple[int, ...]
    differ: bool


@cache
def world(name: str, run: int) -> GoalWorld:
    """Return the arms of a run; votes on real pairs are those of the log."""
    if name != "simulated":
        return evaluation_problems()[name].world(60, run)
    utilities = np.random.default_rng((60, run)).normal(size=N_ARMS)
    return GoalWorld(utilities, expit(utilities[:, None] - utilities)[None])


def asked(goal: str, crew: Crew, where: str, run: int) -> tuple[VoteTable, GoalWorld]:
    """Return the votes on the pairs that the policy of a goal asks."""
    place, rng = world(where, run), np.random.default_rng((61, run))
    policy = (dl.BestArmPair if goal == "best" else dl.RankingPair)(estimator="online", random_state=run)
    arms, odds = dl.ArmTable(place.n), logit(place.chances)
    own = crew.tastes * rng.normal(size=(12, place.n))
    rows = []
    for t in range(LOOKS[-1]):
        duel, rater = policy.ask(arms), t % 12
        one, other = tuple(duel) if rng.random() < 0.5 else tuple(duel)[::-1]
        gap = crew.reliability[rater] * (odds[one, other] + own[rater, one] - own[rater, other]) + crew.side[rater]
        first = bool(rng.random() < expit(gap))
        policy.tell(duel, float(first == (one == duel.first)))
        rows.append((one, other, 0 if first else 1, rater))
    first_arm, second, outcome, raters = np.array(rows).T
    return made_log(first_arm, second, outcome, place.n, raters), place


def result(fit: StudyFit, goal: str, utilities: Floats) -> Run:
    """Return how right a fit is, and what it decides."""
    mean, order = fit.posterior.mean, np.argsort(-utilities)
    leads = int(np.argmax(mean)) == int(order[0])
    if goal == "best":
        decided = recommendation_from_fit(fit, delta=DELTA).decided
        right = leads
    else:
        decided = ranking_decision(fit, PLACES, DELTA).done
        right = bool((np.argsort(-mean)[:PLACES] == order[:PLACES]).all())
    return Run(float(kendalltau(mean, utilities)[0]), leads, decided, decided and not right)


def analysed(goal: str, crew: str, where: str, run: int) -> dict[int, Played]:
    """Return each way to analyse the votes, after several numbers of them."""
    log, place = asked(goal, CREWS[crew], where, run)
    ids = [str(k) for k in range(place.n)]
    honest = np.array(CREWS[crew].reliability) > 0.0
    found = {}
    for look in LOOKS:
        votes = log.of(slice(0, look))
        alike, modelled = (fit_votes(votes, ids, rater_model=choice) for choice in (False, "auto"))
        flagged = tuple(log.raters.index(each.rater) for each in modelled.flagged)
        fits = {
            "alike": alike,
            "rater model": modelled,
            "flagged excluded": fit_votes(votes.of(~np.isin(votes.rater, flagged)), ids, rater_model=False)
            if flagged
            else alike,
            "honest only": alike if honest.all() else fit_votes(votes.of(honest[votes.rater]), ids, rater_model=False),
        }
        ways = {name: result(fit, goal, place.utilities) for name, fit in fits.items()}
        found[look] = Played(ways, flagged, modelled.whole.raters is not None)
    return found


def alike_p_value(n_arms: int, n_raters: int, votes: int, nu: float, seed: int) -> float:
    """Return the p-value of the test on random pairs, answered by raters who are alike."""
    rng = np.random.default_rng((62, n_arms, n_raters, votes, seed))
    utilities = rng.normal(size=n_arms)
    first = rng.integers(n_arms, size=votes)
    second = (first + rng.integers(1, n_arms, size=votes)) % n_arms
    gap = utilities[first] - utilities[second]
    luck = rng.random(votes) * (np.exp(gap / 2) + np.exp(-gap / 2) + nu)
    outcome = np.where(luck < np.exp(gap / 2), 0, np.where(luck < np.exp(gap / 2) + np.exp(-gap / 2), 1, 2))
    log = made_log(first, second, outcome, n_arms, rng.integers(n_raters, size=votes))
    single = vote_counts(log)
    return difference_p_value(with_clusters(fit_utilities(single.pooled()), single), single)


# -- real raters --------------------------------------------------------------------------


class RealRaters(NamedTuple):
    """A log of real raters."""

    votes: int
    raters: int
    p_value: float
    flagged: int
    own: int
    """Raters with parameters of their own."""
    losses: tuple[float, float, float]
    """Log loss of held-out decided votes: raters alike, by the rater model, and the difference's standard error."""


def real_log(name: str) -> tuple[VoteTable, list[str]]:
    """Return the decided votes of a log of real raters."""
    if name == "llmfao":
        found = [c.to_vote(k + 1, k + 1, START) for k, c in enumerate(load_llmfao())]
        votes: list[Vote] = [vote for vote in found if vote.outcome in ("first", "second")]
        arms = list(dict.fromkeys(arm for vote in votes for arm in (vote.first, vote.second)))
        return as_vote_table(votes, arms), arms
    with (data_folder() / "eventtime" / "comparisons.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["worker"], row["winner"], row["loser"]) for row in csv.DictReader(file)]
    workers, winners, losers = map(list, zip(*rows, strict=True))
    events, place = np.unique([winners, losers], return_inverse=True)
    first, second = place.reshape(2, -1)
    swap = np.random.default_rng(63).random(len(first)) < 0.5
    _, rater = np.unique(workers, return_inverse=True)
    shown = np.where(swap, second, first), np.where(swap, first, second)
    return made_log(*shown, swap.astype(np.int64), len(events), rater), events.tolist()


def real_raters(name: str) -> RealRaters:
    """Fit four fifths of a log, and predict the rest for the raters who gave it."""
    log, arms = real_log(name)
    fold = np.random.default_rng(64).integers(5, size=len(log))
    single = vote_counts(log)
    p_value = difference_p_value(with_clusters(fit_utilities(single.pooled()), single), single)
    whole = fit_votes(log, arms, rater_model=True)
    gains: list[Floats] = []
    alike: list[Floats] = []
    for k in range(5):
        taught, out = log.of(fold != k), log.of(fold == k)
        losses = [predicted_loss(fit_votes(taught, arms, rater_model=choice), out) for choice in (False, True)]
        alike.append(losses[0])
        gains.append(losses[1] - losses[0])
    gain = np.concatenate(gains)
    loss, error = float(np.concatenate(alike).mean()), float(gain.std() / np.sqrt(len(gain)))
    own = 0 if whole.whole.raters is None else len(whole.whole.raters.ids)
    n_raters = len(np.unique(log.rater))
    return RealRaters(len(log), n_raters, p_value, len(whole.flagged), own, (loss, loss + float(gain.mean()), error))


def predicted_loss(fit: StudyFit, out: VoteTable) -> Floats:
    """Return the log loss of each vote."""
    effects, gap = fit.whole.raters, fit.whole.mean[out.first] - fit.whole.mean[out.second]
    chance = expit(gap)
    if effects is not None:
        k: Ints = effects.positions(out.rater.astype(np.int64))
        own = [np.append(each, usual) for each, usual in zip(
            (effects.reliability, effects.side, effects.lapse, effects.attentive), (1.0, 0.0, 0.0, 1.0), strict=True)]  # fmt: skip
        reliability, side, lapse, attentive = (each[k] for each in own)
        chance = attentive * ((1.0 - lapse) * expit(reliability * gap + side) + lapse / 2.0) + (1.0 - attentive) / 2.0
    return np.asarray(-np.log(np.where(out.outcome == 0, chance, 1.0 - chance)))


# -- time ---------------------------------------------------------------------------------


def times() -> Iterator[str]:
    """Time the fit of 1,000 arms with 16 features and arm effects, 64 raters and 100,000 votes."""
    rng = np.random.default_rng(65)
    n, votes = 1000, 100_000
    x, utilities = rng.normal(size=(n, 16)), rng.normal(size=n)
    first = rng.integers(n, size=votes)
    second = (first + rng.integers(1, n, size=votes)) % n
    rater = np.arange(votes) % 64
    for who, reliability in (("64 alike", np.ones(64)), ("6 of 64 random", np.where(np.arange(64) < 6, 0.0, 1.0))):
        gap = reliability[rater] * (utilities[first] - utilities[second])
        log = made_log(first, second, (rng.random(votes) > expit(gap)).astype(np.int64), n, rater)
        for choice in (False, "auto"):
            spent = []
            for _ in range(3):
                clock = time.process_time()
                fit = fit_votes(log, [str(k) for k in range(n)], x, rater_model=choice)
                spent.append(time.process_time() - clock)
            yield f"| {who} | {'alike' if choice is False else 'by the test'} | {min(spent):.2f} | {len(fit.flagged)} |"


# -- page ---------------------------------------------------------------------------------


def share(values: list[bool]) -> str:
    """Return a share with its number, such as 3 / 24."""
    return f"{sum(values)} / {len(values)}"


def page(
    runs: int, logs: int, worlds: Sequence[str], real_logs: Sequence[str], pool: ProcessPoolExecutor
) -> Iterator[str]:
    """Yield the lines of the page."""
    jobs = [(goal, crew, where) for where in worlds for goal in GOALS for crew in CREWS]
    found = {job: list(pool.map(partial(analysed, *job), range(runs))) for job in jobs}
    yield "# Careless raters"
    yield ""
    yield f"Twelve raters answer in turn the pairs that `BestArmPair` or `RankingPair` ask without features; {runs} runs per row."
    yield f"Simulated: {N_ARMS} arms with utilities N(0, 1). Events and photos: real arms, whose pairs have the chances of real votes."
    yield "A weak rater has a reliability of 0.4 (the factor of the log-odds); tastes have the standard deviation 0.5. Alike: raters"
    yield "are taken for alike. Rater model: the default, which estimates how raters differ if a test says that they do. Flagged"
    yield "excluded: without the votes of flagged raters, and all others alike. Honest only: without random and one-sided raters,"
    yield "which are unknown in a real study. `duelist.model.raters` is the model."
    yield ""
    yield "## The order, and decisions"
    yield ""
    yield f"Kendall's tau with the true order, and runs decided / decided wrongly at error rate {DELTA:g}: the best arm, or the order"
    yield f"of the first {PLACES}."
    for look in LOOKS:
        yield ""
        yield f"After {look:,} votes:"
        yield ""
        heads = [*(f"tau: {way}" for way in WAYS), *(f"decided / wrong: {way}" for way in WAYS)]
        yield f"| arms | goal | raters | {' | '.join(heads)} |"
        yield f"|---|---|---|{'---:|' * 2 * len(WAYS)}"
        for goal, crew, where in jobs:
            each = [run[look].ways for run in found[goal, crew, where]]
            taus = [f"{np.mean([run[way].tau for run in each]):.3f}" for way in WAYS]
            decided = [
                f"{sum(run[way].decided for run in each)} / {sum(run[way].wrong for run in each)}" for way in WAYS
            ]
            yield f"| {where} | {goal} | {crew} | {' | '.join(taus + decided)} |"
    yield ""
    yield "## Flagged raters"
    yield ""
    yield "Flagged of all, over the runs; in how many runs the test said that raters differ (p < 0.01)."
    yield ""
    yield "| arms | goal | raters | votes per rater | random | always first | weak | honest | raters differ |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
    totals = {"right": 0, "wrong": 0}
    for goal, crew, where in jobs:
        kinds = [
            "first" if s else "random" if r == 0.0 else "weak" if r < 1.0 else "honest"
            for r, s in zip(*CREWS[crew][:2], strict=True)
        ]
        for look in LOOKS:
            flags = {kind: [k in run[look].flagged for run in found[goal, crew, where] for k in range(12) if kinds[k] == kind]
                     for kind in ("random", "first", "weak", "honest")}  # fmt: skip
            totals["right"] += sum(flags["random"]) + sum(flags["first"])
            totals["wrong"] += sum(flags["weak"]) + sum(flags["honest"])
            cells = [share(each) if each else "-" for each in flags.values()]
            differ = share([run[look].differ for run in found[goal, crew, where]])
            yield f"| {where} | {goal} | {crew} | {look // 12} | {' | '.join(cells)} | {differ} |"
    every = totals["right"] + totals["wrong"]
    yield ""
    yield f"Of {every:,} flags {totals['wrong']} were on weak or honest raters: {totals['wrong'] / max(every, 1):.1%}."
    yield ""
    yield "## The test whether raters differ"
    yield ""
    yield f"{logs} logs per row of random pairs, answered by raters alike: the share below each level."
    yield ""
    yield "| arms | raters | votes | ties | p < 0.01 | p < 0.05 | p < 0.2 |"
    yield "|---:|---:|---:|---|---:|---:|---:|"
    for n_arms, n_raters, votes, nu in (
        (8, 3, 60, 0.0),
        (10, 12, 300, 0.0),
        (30, 12, 1200, 0.0),
        (30, 12, 1200, 0.6),
        (10, 40, 4000, 0.6),
    ):
        p = np.array(list(pool.map(partial(alike_p_value, n_arms, n_raters, votes, nu), range(logs), chunksize=20)))
        below = [f"{(p < level).mean():.3f}" for level in (0.01, 0.05, 0.2)]
        yield f"| {n_arms} | {n_raters} | {votes:,} | {'yes' if nu else 'no'} | {' | '.join(below)} |"
    yield ""
    yield "## Real raters"
    yield ""
    yield "Decided votes of real raters, of whom at most 256 have separate parameters. Log loss of held-out votes in five folds,"
    yield "each predicted for its rater; ± is a 95 % interval of the mean difference."
    yield ""
    yield "| log | votes | raters | with own parameters | p | flagged | log loss: alike | rater model | difference |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name in real_logs:
        real = real_raters(name)
        alike, modelled, error = real.losses
        yield (
            f"| {name} | {real.votes:,} | {real.raters:,} | {real.own} | {real.p_value:.2g} | {real.flagged} | {alike:.4f} | "
            f"{modelled:.4f} | {modelled - alike:+.4f} ± {1.96 * error:.4f} |"
        )
    yield ""
    yield "## Time"
    yield ""
    yield "One fit of 1,000 arms with 16 features, 64 raters and 100,000 votes in memory, in seconds of processor time: the least of three."
    yield ""
    yield "| raters | fitted as | s | flagged |"
    yield "|---|---|---:|---:|"
    yield from times()


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--page", type=Path, default=DOCS / "raters.md")
    parser.add_argument("--logs", type=int, default=400, help="logs of alike raters per row")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=WORLDS)
    parser.add_argument("--real", nargs="+", choices=REAL, default=REAL)
    given = parser.parse_args()
    lines = []
    with ProcessPoolExecutor() as pool:
        for line in page(given.runs, given.logs, given.worlds, given.real, pool):
            print(line, flush=True)
            lines.append(line)
    options = " ".join(sys.argv[1:])
    command = f"make bench-careless-raters CARELESS='{options}'" if options else "make bench-careless-raters"
    given.page.write_text(with_origin("\n".join(lines) + "\n", command))


if __name__ == "__main__":
    main()
