"""`make bench-classic`: the algorithms that count wins on real and made tables, and their papers' claims."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from numpy.typing import NDArray

import duelist as dl
from benchmarks import DOCS
from duelist.policies.counting import COUNTING_POLICIES
from duelist.research.datasets import data_folder
from duelist.research.origin import with_origin
from duelist.simulation.environments import PreferenceMatrix, winners
from duelist.simulation.runs import Runs, interval

FEATURED = ("LocalPairUCB", "ThompsonPair")
PLAYED = (*COUNTING_POLICIES, *FEATURED)
POINTS = 200
Table = NDArray[np.float64]


# -- problems ----------------------------------------------------------------------------


@dataclass(frozen=True)
class TableProblem:
    """A table of preferences, whom regret is measured against, and how much of it is played."""

    title: str
    table: Table
    winner: str
    horizon: int
    runs: int
    about: str


def with_mirror(upper: Table) -> Table:
    """The table whose entries above the diagonal are these."""
    return np.triu(upper, 1) + np.tril(1.0 - upper.T, -1) + 0.5 * np.eye(len(upper))


def arithmetic() -> Table:
    place = np.arange(8)
    return 0.5 + 0.05 * (place[None, :] - place[:, None])


def chased() -> Table:
    table = np.full((4, 4), 0.5)
    table[0, 1:] = 0.6
    table[1, 2] = table[2, 3] = 0.9
    table[1, 3] = 0.1
    return with_mirror(table)


def circle() -> Table:
    table = np.full((7, 7), 0.6)
    table[0, 1] = table[1, 2] = 0.6
    table[0, 2] = 0.4
    return with_mirror(table)


def borda_apart() -> Table:
    table = np.array([[0.5, 0.55, 0.55, 0.55], [0, 0.5, 0.9, 0.9], [0, 0, 0.5, 0.6], [0, 0, 0, 0.5]])
    return with_mirror(table)


def many(n_arms: int = 64) -> Table:
    utility = np.sort(np.random.default_rng(0).normal(0.0, 1.0, n_arms))[::-1]
    return 1.0 / (1.0 + np.exp(utility[None, :] - utility[:, None]))


def problems(horizon: int, runs: int) -> dict[str, TableProblem]:
    real = {
        name: np.loadtxt(data_folder() / "preference_matrices" / f"{file}.csv", delimiter=",", skiprows=1)
        for name, file in (("arxiv", "arxiv_6rankers"), ("mslr", "mslr_informational_5"))
    }
    few = max(4, runs // 4)
    about = {
        "arxiv": "published chances that a ranker of arXiv.org beats another",
        "mslr": "published chances between 5 rankers of the MSLR data",
        "arithmetic": "p_ij = 1/2 + (j - i) / 20",
        "chased": "the winner beats all by 0.6; the others beat one another by 0.9, in a circle",
        "circle": "three of 7 arms beat one another in a circle and all others, by 0.6; Copeland regret",
        "borda": "arm 0 beats all by 0.55, arm 1 beats the rest by 0.9; Borda regret",
        "many": "Bradley-Terry-Luce, utilities drawn from N(0, 1)",
    }
    made = [
        ("arxiv", "arXiv, 6 rankers", real["arxiv"], "condorcet", runs),
        ("mslr", "MSLR, 5 rankers", real["mslr"], "condorcet", runs),
        ("arithmetic", "8 arms in a line", arithmetic(), "condorcet", runs),
        ("chased", "winner and a circle", chased(), "condorcet", runs),
        ("circle", "no Condorcet winner", circle(), "copeland", runs),
        ("borda", "Borda is not Condorcet", borda_apart(), "borda", runs),
        ("many", "64 arms", many(), "condorcet", few),
    ]
    return {key: TableProblem(title, table, winner, horizon, n, about[key]) for key, title, table, winner, n in made}


def policy_named(name: str, horizon: int) -> dl.Policy:
    return dl.make_policy(name, horizon=horizon)


def play(problem: TableProblem, threads: int | None = None) -> tuple[Runs, dict[str, float]]:
    """All policies on a problem, and what a round of each took, in microseconds of one core."""
    environment, parts, cost = PreferenceMatrix(problem.table, problem.winner), [], {}
    for name in PLAYED:
        start = time.process_time()
        runs = dl.simulate(
            {name: policy_named(name, problem.horizon)},
            environment,
            problem.horizon,
            runs=problem.runs,
            seed=0,
            keep="curves",
            points=POINTS,
            threads=threads,
        )
        cost[name] = (time.process_time() - start) / (problem.horizon * problem.runs) * 1e6
        parts.append(runs)
        print(f"{problem.title}: {name} {runs.final(name).mean():.1f} ({cost[name]:.1f} us a round)", flush=True)
    return Runs.join(parts), cost


# -- the page ---------------------------------------------------------------------


def told(values: NDArray[np.float64]) -> str:
    low, high = interval(values)
    return f"{values.mean():.0f} ± {(high - low) / 2:.0f}"


def regret_rows(results: dict[str, Runs], kind: str, keys: tuple[str, ...]) -> Iterator[str]:
    yield "| policy | " + " | ".join(keys) + " |"
    yield "|---" * (1 + len(keys)) + "|"
    least = {key: min(results[key].final(name, kind).mean() for name in PLAYED) for key in keys}
    for name in PLAYED:
        cells = []
        for key in keys:
            final = results[key].final(name, kind)
            cells.append(f"**{told(final)}**" if final.mean() == least[key] else told(final))
        yield f"| `{name}` | " + " | ".join(cells) + " |"


def cost_rows(costs: dict[str, dict[str, float]]) -> Iterator[str]:
    yield "| policy | 6 arms | 64 arms |"
    yield "|---|---|---|"
    for name in PLAYED:
        yield f"| `{name}` | {costs['arxiv'][name]:.2g} | {costs['many'][name]:.2g} |"


@dataclass(frozen=True)
class PaperClaim:
    """A claim of a paper, and its measurement here."""

    says: str
    paper: str
    holds: bool | None
    measured: str

    def row(self) -> str:
        conclusion = {True: "yes", False: "no", None: "not decided"}[self.holds]
        return f"| {self.says} | {self.paper} | {conclusion} | {self.measured} |"


def less(results: dict[str, Runs], key: str, one: str, other: str, kind: str = "average") -> tuple[bool | None, str]:
    """Whether one has less regret than another, by the paired interval of the difference."""
    runs = results[key]
    gap = runs.final(one, kind) - runs.final(other, kind)
    low, high = interval(gap)
    conclusion = True if high < 0.0 else False if low > 0.0 else None
    means = ", ".join(f"{name} {runs.final(name, kind).mean():.0f}" for name in (one, other))
    return conclusion, f"{key}: {means} (difference {low:.0f} to {high:.0f})"


def all_of(parts: list[tuple[bool | None, str]]) -> tuple[bool | None, str]:
    conclusions = [holds for holds, _ in parts]
    whole = False if False in conclusions else None if None in conclusions else True
    return whole, "; ".join(words for _, words in parts)


def slope(runs: Runs, name: str, table: Table) -> tuple[float, float, float]:
    """Regret over c log T at the end; and the growth of regret over the last tenfold of rounds, over c log 10."""
    c, curve, rounds = winners.least_regret(table), runs.regret(name).mean(axis=0), runs.rounds
    tenth = int(np.argmin(np.abs(rounds - runs.horizon / 10)))
    grown = (curve[-1] - curve[tenth]) / (c * np.log(rounds[-1] / rounds[tenth]))
    return curve[-1] / (c * np.log(runs.horizon)), grown, c


def claims(results: dict[str, Runs], tables: dict[str, Table]) -> Iterator[PaperClaim]:
    ordered = ("arxiv", "mslr", "arithmetic")
    yield PaperClaim(
        "Beat the Mean has less regret than Interleaved Filter",
        "Yue, Joachims 2011",
        *all_of([less(results, k, "BeatTheMean", "InterleavedFilter") for k in ("arxiv", "mslr")]),
    )
    for older in ("InterleavedFilter", "BeatTheMean"):
        yield PaperClaim(
            f"RUCB has less regret than {older} on rankers",
            "Zoghi et al. 2014",
            *all_of([less(results, k, "RUCB", older) for k in ("arxiv", "mslr")]),
        )
    yield PaperClaim(
        "RMED1 has less regret than RUCB",
        "Komiyama et al. 2015",
        *all_of([less(results, k, "RMED1", "RUCB") for k in (*ordered, "chased")]),
    )
    yield PaperClaim(
        "RMED2FH has less regret than RMED1 where the winner is not the cheapest opponent",
        "Komiyama et al. 2015",
        *less(results, "chased", "RMED2FH", "RMED1"),
    )
    for name, keys in (("RMED1", ordered), ("RMED2FH", (*ordered, "chased"))):
        told_of = []
        for key in keys:
            level, grown, _ = slope(results[key], name, tables[key])
            told_of.append((grown < 1.5, f"{key}: {level:.1f} times c log T, grows {grown:.1f} times c log T"))
        yield PaperClaim(
            f"in the long run the regret of {name} grows like the lower bound c log T; here: at most 1.5 times as fast from T / 10 to T",
            "Komiyama et al. 2015",
            *all_of(told_of),
        )
    yield PaperClaim(
        "D-TS has less regret than RUCB on MSLR and arXiv",
        "Wu, Liu 2016",
        *all_of([less(results, k, "DTS", "RUCB") for k in ("arxiv", "mslr")]),
    )
    yield PaperClaim("D-TS has less regret than RMED1 on MSLR", "Wu, Liu 2016", *less(results, "mslr", "DTS", "RMED1"))
    yield PaperClaim(
        "D-TS+ has less regret than D-TS without a Condorcet winner",
        "Wu, Liu 2016",
        *less(results, "circle", "DTSPlus", "DTS"),
    )
    yield PaperClaim("D-TS has less Copeland regret than CCB", "Wu, Liu 2016", *less(results, "circle", "DTS", "CCB"))
    yield PaperClaim(
        "CCB has less Copeland regret than RUCB, which is for Condorcet winners",
        "Zoghi et al. 2015",
        *less(results, "circle", "CCB", "RUCB"),
    )
    yield bounded_weak_regret(results)
    for other in ("RUCB", "DTS", "RMED1"):
        yield PaperClaim(
            f"WS-W has less weak regret than {other}",
            "Chen, Frazier 2017",
            *all_of([less(results, k, "WSW", other, "weak") for k in ordered]),
        )
    yield PaperClaim(
        "WS-S has less strong regret than RUCB",
        "Chen, Frazier 2017",
        *all_of([less(results, k, "WSS", "RUCB", "strong") for k in ordered]),
    )
    yield PaperClaim(
        "MergeRUCB has less regret than RUCB with many arms",
        "Zoghi et al. 2015b",
        *less(results, "many", "MergeRUCB", "RUCB"),
    )
    yield PaperClaim(
        "MergeDTS has less regret than MergeRUCB with many arms",
        "Li et al. 2020",
        *less(results, "many", "MergeDTS", "MergeRUCB"),
    )
    yield PaperClaim(
        "MergeDTS has less regret than D-TS with many arms", "Li et al. 2020", *less(results, "many", "MergeDTS", "DTS")
    )
    yield PaperClaim(
        "`LocalPairUCB`, with a feature for each arm, has less regret than any of them",
        "here",
        *against_all(results, "LocalPairUCB"),
    )


def bounded_weak_regret(results: dict[str, Runs]) -> PaperClaim:
    parts = []
    for key in ("arxiv", "mslr", "arithmetic", "many"):
        weak = results[key].regret("WSW", "weak")
        late = weak[:, -1] - weak[:, weak.shape[1] // 2 - 1]
        parts.append(
            (
                bool(late.mean() <= 0.05 * weak[:, -1].mean()),
                f"{key}: {weak[:, -1].mean():.1f}, of it {late.mean():.2f} in the second half",
            )
        )
    return PaperClaim(
        "the weak regret of WS-W is bounded (at most 5 % of it comes in the second half)",
        "Chen, Frazier 2017",
        *all_of(parts),
    )


def against_all(results: dict[str, Runs], name: str) -> tuple[bool | None, str]:
    parts = []
    for key, runs in results.items():
        best = min(COUNTING_POLICIES, key=lambda other: runs.final(other).mean())
        parts.append(less(results, key, name, best))
    return all_of(parts)


def draw(results: dict[str, Runs], told_of: dict[str, TableProblem], path: Path) -> None:
    figure = Figure(figsize=(20, 9))
    axes = figure.subplots(2, 4)
    colours = dict(zip(PLAYED, colormaps["tab20"].colors, strict=False))
    for ax, (key, runs) in zip(axes.flat, results.items(), strict=False):
        for name in PLAYED:
            curve = runs.regret(name)
            line = {"linestyle": "--"} if name in FEATURED else {}
            ax.plot(runs.rounds, curve.mean(axis=0), label=name, color=colours[name], linewidth=1.6, **line)
        if told_of[key].winner == "condorcet":
            bound = winners.least_regret(told_of[key].table) * np.log(runs.rounds)
            ax.plot(runs.rounds, bound, color="black", linestyle=":", label="c log t, the least in the long run")
        ax.set(
            xscale="log",
            yscale="log",
            title=told_of[key].title,
            xlabel="round",
            ylabel=f"average regret ({told_of[key].winner})",
            xlim=(runs.rounds[1], runs.horizon),
            ylim=(4, None),
        )
    handles, labels = axes.flat[0].get_legend_handles_labels()
    axes.flat[-1].axis("off")
    axes.flat[-1].legend(handles, labels, loc="center", ncols=2, fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


PAGE = """# The algorithms the field cites, without features

{horizon:,} rounds, {runs} runs per table ({few} of 64 arms). Why they are
built as they are: [decision 38](../contributing/decisions/0038-counting-policies.md). Each is `dl.counting.NAME`, and
`simulate`, the shell and studies find it by name. `dl.reference.counting` has it once more in plain NumPy.
Its docstring has the rule, the source and all deviations.

```python
import duelist as dl

policy = dl.counting.RUCB(random_state=0)
for _ in range(100):
    duel = policy.ask(6)  # six arms, known by their numbers; or ArmTable, or a table whose rows are counted
    policy.tell(duel, float(duel.first < duel.second))
print(policy.leader_, policy.wins_)
```
```console
duelist simulate RUCB D-TS RMED1 --environment PreferenceMatrix:path=examples/data/preferences.csv --horizon 10000
```

All have the untuned settings of their papers. `LocalPairUCB` and `ThompsonPair` are the library's own, with a feature for
each arm and their defaults; they believe in utilities, which the tables with circles do not have.

![regret on seven tables](classic.png)

The bound c log t of the figure is for the long run of policies that are consistent on every table: one whose prior fits, or that
commits early, may stay below it for long.

| table | what |
|---|---|
{about}

## Average regret at the end

Mean over runs and half of its 95 % interval; against the Condorcet winner, on `circle` against the Copeland winners, on `borda` against
the Borda winner. The least of a column is bold.

{average}

## Weak and strong regret

Weak regret counts the better arm of a duel, strong regret the worse.

{weak}

{strong}

## What the papers claim

"Yes" and "no" where the 95 % interval of the paired difference excludes zero on every table named; "not decided" where it does not on
one of them. The tables, horizons and settings are not always those of the papers.

| claim | paper | holds here | measured |
|---|---|---|---|
{claims}

## What a round takes

Microseconds of one core, in simulations.

{costs}
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--horizon", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--page", type=Path, default=DOCS / "classic.md")
    given = parser.parse_args()
    told_of = problems(given.horizon, given.runs)
    results, costs = {}, {}
    for key, problem in told_of.items():
        results[key], costs[key] = play(problem, given.threads)
    draw(results, told_of, given.page.with_suffix(".png"))
    lines: Callable[[Iterator[str]], str] = "\n".join
    text = PAGE.format(
        horizon=given.horizon,
        runs=given.runs,
        few=told_of["many"].runs,
        about=lines(f"| {key} | {problem.title}: {problem.about} |" for key, problem in told_of.items()),
        average=lines(regret_rows(results, "average", tuple(results))),
        weak="**Weak**\n\n" + lines(regret_rows(results, "weak", ("arxiv", "mslr", "arithmetic", "many"))),
        strong="**Strong**\n\n" + lines(regret_rows(results, "strong", ("arxiv", "mslr", "arithmetic", "many"))),
        claims=lines(claim.row() for claim in claims(results, {key: p.table for key, p in told_of.items()})),
        costs=lines(cost_rows(costs)),
    )
    given.page.write_text(with_origin(text, "make bench-classic"))


if __name__ == "__main__":
    main()
