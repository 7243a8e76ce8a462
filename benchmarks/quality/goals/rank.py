"""`make bench-rank`: which policy orders the arms, after how many votes? Written to docs/evidence/goal-rank.md.

Finished runs are stored in out/goal-rank, by the code that made them; `--runs`, `--problems` and `--policies` select a part.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import duelist as dl
from benchmarks import DOCS, ROOT
from benchmarks.quality.goals import logs, rank_peers
from benchmarks.quality.goals.ordering import FIRST_LOOK, MOST_VOTES, TOP, VOTES_AN_ARM, Ordering, looks, play, votes_to
from benchmarks.quality.goals.problems import GoalWorld, Problem, evaluation_problems, seeds
from duelist.core.arrays import Floats, Ints
from duelist.policies.base import Policy
from duelist.policies.engine import code_stamp
from duelist.research.origin import with_origin

PAGE = DOCS / "goal-rank.md"
PICTURE = "goal-rank.png"
KEPT = ROOT / "out" / "goal-rank"
RUNS = 32
LARGE, RUNS_OF_LARGE = 40, 12
"""Problems with at least this many arms take minutes per run."""
ASAP_RUNS = 6
SEED = 40
RESAMPLES = 1000
LEVELS = (0.7, 0.8, 0.9)
FOUND = (0.8, 0.9)
OURS, FIRST, PLAIN = "RankingPair", f"RankingPair(top={TOP})", "UniformPair"
ASAP, APPROX = "ASAP", "ASAP-approx"
PROBLEMS = (
    "arguments",
    "tennis",
    "humour",
    "events",
    "photos by color",
    "answers",
    "raters of unlike care",
    "pairs that follow no order",
    "no features",
    "random arms, dim 16",
    "correlated",
    "heavy-tailed",
)
ASAP_PROBLEMS = {ASAP: ("arguments",), APPROX: ("arguments", "events", "photos by color", "no features")}
ASAP_VOTES = 600
"""It takes a minute a run, and its faster variant some seconds; neither knows features."""
Contestant = Callable[[GoalWorld, int], tuple[Policy, Floats | dl.ArmTable]]


def ranking_pair(top: int | None, world: GoalWorld, seed: int) -> tuple[Policy, Floats | dl.ArmTable]:
    """Return the library's policy: the exact estimate with features, an arm table without."""
    estimator = "exact" if world.features is not None else "online"
    return dl.RankingPair(top=top, estimator=estimator, random_state=seed), world.table()


CONTESTANTS: dict[str, Contestant] = {
    OURS: partial(ranking_pair, None),
    FIRST: partial(ranking_pair, TOP),
    "information gain": lambda world, seed: (rank_peers.InformationGain(seed), world.table()),
    "D-optimal": lambda world, seed: (rank_peers.DOptimal(seed), world.table()),
    "Swiss": lambda world, seed: (rank_peers.Swiss(seed), world.table()),
    ASAP: lambda world, seed: (rank_peers.Asap(seed), world.table()),
    APPROX: lambda world, seed: (rank_peers.Asap(seed, approx=True), world.table()),
    PLAIN: lambda world, seed: (dl.UniformPair(random_state=seed), world.one_hot()),
}
PEERS = ("information gain", "D-optimal", "Swiss", APPROX, ASAP)


# -- playing -----------------------------------------------------------------------------


@cache
def problems() -> dict[str, Problem]:
    return evaluation_problems()


@cache
def arms_in(problem: str) -> int:
    """How many there are in the first run; some problems have now more, now fewer."""
    return problems()[problem].world(SEED, 0).n


@cache
def votes_of(problem: str) -> Ints:
    """After how many votes the order is looked at."""
    return looks(arms_in(problem))


def one(problem: str, contestant: str, run: int) -> Ordering:
    world = problems()[problem].world(SEED, run)
    seed, luck = seeds(SEED, run)
    votes = votes_of(problem)
    due = votes[votes <= ASAP_VOTES] if contestant == ASAP else votes
    return play(*CONTESTANTS[contestant](world, seed), world, luck, due)


Map = Callable[..., Iterable[Ordering]]


def played(problem: str, contestant: str, runs: int, each: Map) -> list[Ordering]:
    """All runs of a policy on a problem; those that were played before are read."""
    path = KEPT / stamp() / f"{problem} - {contestant}.json"
    kept = (
        [Ordering(np.array(tau), np.array(first)) for tau, first in json.loads(path.read_text())]
        if path.is_file()
        else []
    )
    kept += each(partial(one, problem, contestant), range(len(kept), runs))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([(run.tau.tolist(), run.first.tolist()) for run in kept]))
    return kept[:runs]


def stamp() -> str:
    """Changes with the engine, the policies and the files of this folder that a run depends on."""
    names = ("logs", "ordering", "problems", "rank_peers")
    mine = [zlib.crc32((Path(__file__).parent / f"{name}.py").read_bytes()) for name in names]
    return f"{zlib.crc32(repr((code_stamp(), mine)).encode()):08x}"


Results = dict[str, dict[str, list[Ordering]]]


def wanted(problem: str, name: str) -> bool:
    if name == FIRST:
        return arms_in(problem) >= 3 * TOP
    return name not in ASAP_PROBLEMS or (rank_peers.has_asap() and problem in ASAP_PROBLEMS[name])


def runs_of(problem: str, name: str, runs: int) -> int:
    most = ASAP_RUNS if name in ASAP_PROBLEMS else RUNS_OF_LARGE if arms_in(problem) >= LARGE else runs
    return min(runs, most)


# -- shares of votes ---------------------------------------------------------------------


def curves(runs: Sequence[Ordering], which: str) -> Floats:
    return np.array([getattr(run, which) for run in runs])


class Share:
    """Votes of one policy to a level as a share of another's, on the runs that both have played, with resamples of these runs."""

    def __init__(self, results: Results, problem: str, names: tuple[str, str], which: str, level: float) -> None:
        count = min(len(results[problem][name]) for name in names)
        mine, theirs = (curves(results[problem][name][:count], which) for name in names)
        looks_of_both = min(mine.shape[1], theirs.shape[1])
        mine, theirs, votes = mine[:, :looks_of_both], theirs[:, :looks_of_both], votes_of(problem)[:looks_of_both]

        def share(runs: Ints) -> float:
            return votes_to(level, votes, mine[runs]) / votes_to(level, votes, theirs[runs])

        rng = np.random.default_rng(0)
        self.value = share(np.arange(count))
        self.drawn = np.array([share(rng.integers(count, size=count)) for _ in range(RESAMPLES)])

    @property
    def known(self) -> bool:
        """Whether both get there, in (nearly) every resample."""
        return bool(np.isfinite(self.value) and np.isfinite(self.drawn).mean() > 0.9)

    @property
    def interval(self) -> tuple[float, float]:
        low, high = np.nanquantile(self.drawn, (0.025, 0.975))
        return float(low), float(high)

    def __str__(self) -> str:
        if not self.known:
            return "–"
        low, high = self.interval
        return f"{self.value:.2f} ({low:.2f} to {high:.2f})"


def table(title: str, note: str, results: Results, which: str, level: float, names: Sequence[str]) -> Iterator[str]:
    """Votes of uniform sampling to a level, and the shares of the others; at the end their means over problems that all reach."""
    names = [name for name in names if any(name in row for row in results.values())]
    yield from (f"## {title}", "", note, "", f"| problem | {PLAIN}, votes | " + " | ".join(names) + " |")
    yield "|---|---:|" + "---|" * len(names)
    shares = {
        problem: {name: Share(results, problem, (name, PLAIN), which, level) for name in names if name in row}
        for problem, row in results.items()
    }
    for problem, row in shares.items():
        plain = votes_to(level, votes_of(problem), curves(results[problem][PLAIN], which))
        said = f"{plain:,.0f}" if np.isfinite(plain) else f"more than {votes_of(problem)[-1]:,}"
        yield f"| {problem} | {said} | " + " | ".join(str(row[name]) if name in row else "" for name in names) + " |"
    yield f"| **mean of those reached** | | {' | '.join(_mean(shares, name) for name in names)} |"
    yield ""


def _mean(shares: dict[str, dict[str, Share]], name: str) -> str:
    reached = [row[name] for row in shares.values() if name in row and row[name].known]
    if not reached or name in ASAP_PROBLEMS:
        return ""
    low, high = np.nanquantile(np.mean([share.drawn for share in reached], axis=0), (0.025, 0.975))
    return f"{np.mean([share.value for share in reached]):.2f} ({low:.2f} to {high:.2f}), {len(reached)} problems"


def conclusions(results: Results) -> Iterator[str]:
    """Where a peer gets to a level with fewer votes, beyond the interval; and where ours does."""
    yield from (f"## {OURS} against every peer, run by run", "")
    yield "Votes of RankingPair as a share of the peer's; 95 % bootstrap intervals. An interval above 1: the peer is better."
    yield ""
    yield "| level | peer | problems | peer better | RankingPair better | mean share |"
    yield "|---|---|---:|---|---|---|"
    for level in LEVELS:
        for peer in (*PEERS, PLAIN):
            pairs = {
                p: Share(results, p, (OURS, peer), "tau", level)
                for p in results
                if peer in results[p] and OURS in results[p]
            }
            known = {problem: share for problem, share in pairs.items() if share.known}
            if not known:
                continue
            worse = [f"{p} {share}" for p, share in known.items() if share.interval[0] > 1.0]
            better = sum(share.interval[1] < 1.0 for share in known.values())
            mean = float(np.mean([share.value for share in known.values()]))
            yield f"| tau {level} | {peer} | {len(known)} | {'; '.join(worse) or 'nowhere'} | on {better} | {mean:.2f} |"
    yield ""


def ends(results: Results, names: Sequence[str]) -> Iterator[str]:
    """Kendall's tau at the last look."""
    names = [name for name in names if any(name in row for row in results.values())]
    yield from ("## Kendall's tau after the last vote", "", "Mean over runs, plus or minus two standard errors.", "")
    yield "| problem | votes | " + " | ".join(names) + " |"
    yield "|---|---:|" + "---|" * len(names)
    for problem, row in results.items():
        cells = []
        for name in names:
            last = curves(row[name], "tau")[:, -1] if name in row else np.zeros(0)
            cells.append(
                f"{last.mean():.3f} ± {2 * last.std(ddof=1) / np.sqrt(len(last)):.3f}" if len(last) > 1 else ""
            )
        yield f"| {problem} | {votes_of(problem)[-1]:,} | " + " | ".join(cells) + " |"
    yield ""


# -- speed, and the picture --------------------------------------------------------------

SIZES = (
    ("30 arms, dim 5", 30, 5),
    ("255 arms, dim 16", 255, 16),
    ("1,000 arms, dim 64", 1000, 64),
    ("10,000 arms, dim 16", 10_000, 16),
    ("10,000 arms, dim 64", 10_000, 64),
)


def speeds() -> Iterator[str]:
    """Time of an ask and a tell after 200 votes on arms that stay."""
    names = (OURS, "BestArmPair", "LocalPairUCB", PLAIN)
    yield from ("## Speed: milliseconds an ask and a tell, one-pass estimator, median of 20", "")
    yield "| arms | " + " | ".join(names) + " |"
    yield "|---|" + "---:|" * len(names)
    for title, n, dim in SIZES:
        arms = np.random.default_rng(0).normal(size=(n, dim))
        yield f"| {title} | " + " | ".join(f"{_milliseconds(name, arms):.3f}" for name in names) + " |"
    for n in (30, 128, 1000, 10_000):
        cells = [f"{_milliseconds(name, dl.ArmTable(n)):.3f}" for name in names]
        yield f"| {n:,} arms without features | " + " | ".join(cells) + " |"
    yield ""


def _milliseconds(name: str, arms: Floats | dl.ArmTable) -> float:
    policy, rng, times = getattr(dl, name)(estimator="online", random_state=0), np.random.default_rng(1), []
    policy.initialize(arms)
    for _ in range(200):
        first, second = rng.choice(len(arms), 2, replace=False)
        policy.learn(arms[[first, second]], float(rng.random() < 0.5), layer=0)
    for _ in range(20):
        began = time.process_time()
        duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < 0.5))
        times.append(time.process_time() - began)
    return 1000.0 * float(np.median(times))


def draw(results: Results, path: Path) -> None:
    """Kendall's tau by votes, a panel a problem."""
    mpl.use("Agg")
    columns = 3
    figure, panels = plt.subplots(
        -(-len(results) // columns),
        columns,
        figsize=(11, 2.9 * -(-len(results) // columns)),
        squeeze=False,
        layout="constrained",
    )
    for panel, (problem, row) in zip(panels.flat, results.items(), strict=False):
        for name in (name for name in CONTESTANTS if name in row and name != FIRST):
            style = {"color": "black", "linestyle": "--"} if name == PLAIN else {}
            tau = curves(row[name], "tau").mean(axis=0)
            panel.plot(
                votes_of(problem)[: len(tau)],
                tau,
                label=name,
                linewidth=2.5 if name == OURS else 1.2,
                **style,
            )
        panel.set(title=problem, xscale="log", ylim=(0.2, 1.0), xlabel="votes", ylabel="Kendall's tau")
        panel.grid(alpha=0.3)
    for panel in list(panels.flat)[len(results) :]:
        panel.set_axis_off()
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.savefig(path, dpi=90)
    plt.close(figure)


# -- the page ----------------------------------------------------------------------------


def page(results: Results, runs: int) -> Iterator[str]:
    yield from ("# Ranking", "")
    yield f"{runs} runs per problem, {RUNS_OF_LARGE} with {LARGE} arms and more,"
    yield f"{ASAP_RUNS} of ASAP; all policies meet the same worlds and the same random numbers. `benchmarks/quality/goals/` describes"
    yield "the problems (`problems.py`), the peers (`rank_peers.py`), and the ordering (`ordering.py`), which ranks the arms from the votes"
    yield "alone, by the same rule for every policy. Votes to a level: the votes after which the mean over runs first reaches it, checked"
    yield f"from vote {FIRST_LOOK} to {VOTES_AN_ARM} votes per arm, at most {MOST_VOTES:,}. In brackets: 95 % intervals over runs;"
    yield "a dash if uniform sampling or the policy does not reach it in nearly every resample."
    yield ""
    left_out = [*logs.missing(), *([] if rank_peers.has_asap() else [f"{ASAP}: get {rank_peers.ASAP_SOURCE}"])]
    left_out += [
        f"{name}, which was not played this time"
        for name in CONTESTANTS
        if not any(name in row for row in results.values())
    ]
    yield from (f"- Not included: {line}" for line in left_out)
    yield from ([""] if left_out else [])
    yield from (f"![Kendall's tau by votes]({PICTURE})", "")
    whole = [name for name in CONTESTANTS if name not in (PLAIN, FIRST)]
    note = "In the world of a log arms are ordered by a fit to all of its votes, in which pairs follow the fit by and large only."
    for level in LEVELS:
        yield from table(
            f"Votes to Kendall's tau {level}, as a share of uniform sampling's", note, results, "tau", level, whole
        )
    yield from conclusions(results)
    yield from ends(results, [*(name for name in whole if name != ASAP), PLAIN])
    large = {problem: row for problem, row in results.items() if arms_in(problem) >= 3 * TOP}
    for level in FOUND:
        title = f"Votes until {level:.0%} of the first {TOP} arms are found, as a share of uniform sampling's"
        yield from table(title, "Problems of 30 arms and more.", large, "first", level, [OURS, FIRST, *PEERS])
    yield from speeds()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--problems", nargs="*", default=None)
    parser.add_argument("--policies", nargs="*", default=list(CONTESTANTS), choices=list(CONTESTANTS))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    results: Results = {}
    with ProcessPoolExecutor(given.workers) as pool:  # which starts no process before it is given work
        each: Map = map if given.workers == 1 else pool.map
        for problem in given.problems or [name for name in PROBLEMS if name in problems()]:
            results[problem] = {}
            for name in (name for name in given.policies if wanted(problem, name)):
                began = time.perf_counter()
                results[problem][name] = played(problem, name, runs_of(problem, name, given.runs), each)
                tau = curves(results[problem][name], "tau")
                reached = " ".join(f"{votes_to(level, votes_of(problem), tau):6.0f}" for level in LEVELS)
                print(
                    f"{problem:28} {name:20} {reached}  end {tau[:, -1].mean():.3f} ({time.perf_counter() - began:.0f} s)",
                    flush=True,
                )
    given.page.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(page(results, given.runs)).rstrip() + "\n"
    given.page.write_text(with_origin(text, "make bench-rank"))
    draw(results, given.page.parent / PICTURE)


if __name__ == "__main__":
    main()
