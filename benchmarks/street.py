"""`make street`: do the answers hold on features as people have them? Written to docs/street.md.

Raw features, never standardised here. `python -m benchmarks.street announcements --runs 1000` makes one part.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import expit

import duelist as dl
from benchmarks.foreknowing import limits
from duelist.datasets import CRITERIA, load_eventtime, load_llmfao, load_photos
from duelist.environments import Environment, FixedArms, Hypercube, RawFeatures, World
from duelist.environments.raw_features import KINDS
from duelist.study import Outcome

PAGE = Path(__file__).parents[1] / "docs" / "street.md"
DELTA = 0.1
OWN_TERMS = "own terms"
MOST_VOTES = 3000
HELD_OUT = 4000
HORIZON = 2000
DELAY = 50
JOINING = 100
BLOCK, HEAVY = 128, 5.0
SERVERS = ("LocalPairUCB", "MaxPairUCB", "ThompsonPair", "VACDB", "MaxInP", "CoLSTIM", "StaD", "SupCoLSTIM", "RCDB")


# -- problems ----------------------------------------------------------------------------


class ThreeArms(Environment):
    """Arms (.5, 0), (-.5, 0), (-3, -.3) with theta = (-.5, 20): one ridge for both features is always wrong here."""

    dim = 2
    link = dl.get_link("logistic")

    def draw_world(self, rng: np.random.Generator) -> World:
        arms, theta = np.array([[0.5, 0.0], [-0.5, 0.0], [-3.0, -0.3]]), np.array([-0.5, 20.0])
        return World(theta, arms, arms @ theta)


class Ratios(Environment):
    """12 arms, 4 features with equal standardised effects, in units up to `ratio` apart; arms may have effects of their own."""

    dim = 4
    link = dl.get_link("logistic")

    def __init__(self, ratio: float = 1.0, effect: float = 0.0) -> None:
        self.ratio, self.effect = ratio, effect

    def draw_world(self, rng: np.random.Generator) -> World:
        arms, theta = rng.standard_normal((12, 4)), rng.standard_normal(4)
        theta *= 2.0 / np.linalg.norm(theta)
        utilities = arms @ theta + self.effect * rng.standard_normal(12)
        size = self.ratio ** np.linspace(0.0, 1.0, 4)
        return World(theta / size, arms * size, utilities)


def announcing_problems() -> dict[str, Environment]:
    named: dict[str, Environment] = {kind: RawFeatures(kind) for kind in KINDS}
    ratios: dict[str, Environment] = {f"units {r:g} apart": Ratios(r) for r in (1.0, 10.0, 100.0, 1000.0)}
    effects: dict[str, Environment] = {f"arm effects {e:g}": Ratios(effect=e) for e in (0.3, 1.0)}
    return ratios | {"three arms": ThreeArms()} | named | effects


def world_of(environment: Environment, seed: int) -> tuple[np.ndarray, np.ndarray]:
    world = environment.draw_world(np.random.default_rng([seed, 1]))
    arms = np.asarray(world.arms)
    return arms, arms @ world.theta if world.utilities is None else world.utilities


def wins(rng: np.random.Generator, utilities: np.ndarray, duel: dl.Duel) -> float:
    return float(rng.random() < expit(utilities[duel.first] - utilities[duel.second]))


# -- announcements -----------------------------------------------------------------------


def announce(environment: Environment, name: str, estimator: str, seed: int) -> tuple[int, bool | None]:
    """Votes until an arm was announced, and whether it was the best; None: it never was."""
    arms, utilities = world_of(environment, seed)
    own_terms = estimator == OWN_TERMS
    policy = getattr(dl, name)(random_state=seed, estimator="online" if own_terms else estimator)
    shown = dl.FreeArms(len(arms), arms) if own_terms else arms
    rng, look = np.random.default_rng([seed, 2]), 16
    for vote in range(1, MOST_VOTES + 1):
        duel = policy.ask(shown)
        policy.tell(duel, wins(rng, utilities, duel))
        if vote == look:
            look += max(16, vote // 20)
            found = policy.recommend(shown, DELTA)
            if found.decided:
                return vote, bool(utilities[found.best] >= utilities.max() - 1e-12)
    return MOST_VOTES, None


def estimators_for(name: str, problem: str) -> tuple[str, ...]:
    """Where features do not tell all, also the model that allows for it."""
    fits = problem.startswith("arm effects") and getattr(dl, name)(estimator="online").takes_free_arms
    return ("exact", "online", OWN_TERMS) if fits else ("exact", "online")


def announcements(
    names: tuple[str, ...], runs: int, pool: ProcessPoolExecutor, problems: Sequence[str] | None = None
) -> Iterator[str]:
    yield f"## Announcements of {' and '.join(names)} at error rate {DELTA:g}, at most {MOST_VOTES:,} votes"
    yield ""
    yield "Looked at after 16 votes, then every 16 votes or 5 %. An undecided run is not wrong. The exact estimator has its votes, and"
    yield "tests whether features explain them; the online one has none left to test. Own terms: `FreeArms(n, features)`."
    yield ""
    yield "| problem | policy | estimator | runs | wrong | of announced | undecided | median votes |"
    yield "|---|---|---|---|---|---|---|---|"
    for title, environment in announcing_problems().items():
        if problems is not None and title not in problems:
            continue
        for name in names:
            for estimator in estimators_for(name, title):
                found = list(pool.map(partial(announce, environment, name, estimator), range(runs), chunksize=8))
                wrong, silent = sum(good is False for _, good in found), sum(good is None for _, good in found)
                votes = np.median([v for v, _ in found])
                share = f"{wrong / max(runs - silent, 1):.1%}"
                yield f"| {title} | {name} | {estimator} | {runs:,} | {wrong} | {share} | {silent} | {votes:,.0f} |"


def with_older_rows(lines: Sequence[str], older: Sequence[str]) -> list[str]:
    """A table of announcements with the rows that it had and that were not played again, all in their order."""
    place = {title: k for k, title in enumerate(announcing_problems())}

    def rows_of(table: Sequence[str]) -> dict[tuple[str, ...], str]:
        cells = {line: tuple(line.strip("| ").split(" | ")) for line in table if line.startswith("| ")}
        return {each[:3]: line for line, each in cells.items() if each[0] in place}

    new = rows_of(lines)
    rows = rows_of(older) | new
    order = sorted(rows, key=lambda key: place[key[0]])  # and as they came, within a problem
    return [*(line for line in lines if line not in new.values()), *(rows[key] for key in order)]


# -- regret ------------------------------------------------------------------------------


def regret(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield f"## Regret over {HORIZON:,} rounds, {runs} runs each: raw features, and the same standardised"
    yield ""
    yield "| problem | policy | raw | standardised | ratio | raw, worst / median |"
    yield "|---|---|---|---|---|---|"
    for kind in KINDS:
        for name in SERVERS:
            policy = getattr(dl, name)(horizon=HORIZON)
            raw, standard = (
                dl.simulate([policy], RawFeatures(kind, standardised=flag), horizon=HORIZON, runs=runs, seed=0).regret(
                    name, kind="average"
                )[:, -1]
                for flag in (False, True)
            )
            tail = raw.max() / max(float(np.median(raw)), 1e-12)
            ratio = raw.mean() / standard.mean()
            yield f"| {kind} | {name} | {raw.mean():.0f} | {standard.mean():.0f} | {ratio:.2f} | {tail:.1f} |"


# -- tails -------------------------------------------------------------------------------


def tails(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    blocks = max(runs // BLOCK, 1)
    yield f"## Worst runs of LocalPairUCB over {HORIZON:,} rounds, in {blocks} blocks of {BLOCK} runs, and what lighter tails cost"
    yield ""
    yield f"Good: blocks whose worst run has under {HEAVY:g} times the regret of their median run; worst: that ratio in the middle block."
    yield ""
    scales = (1.0, 1.5, 2.0)
    yield "| problem | " + " | ".join(f"scale {s:g}: mean | good | worst" for s in scales) + " |"
    yield "|---|" + "---|" * 3 * len(scales)
    hypercubes: dict[str, Environment] = {f"hypercube, scale {s:g}": Hypercube(dim=5, scale=s) for s in (0.5, 1, 2, 4)}
    for title, environment in (hypercubes | {kind: RawFeatures(kind) for kind in KINDS}).items():
        cells = []
        for scale in scales:
            policy = dl.LocalPairUCB(scale=scale)
            found = dl.simulate([policy], environment, horizon=HORIZON, runs=blocks * BLOCK, seed=1)
            last = found.regret("LocalPairUCB", kind="average")[:, -1].reshape(blocks, BLOCK)
            worst = last.max(axis=1) / np.median(last, axis=1)
            cells += [f"{last.mean():.0f}", f"{np.sum(worst < HEAVY)} of {blocks}", f"{np.median(worst):.1f}"]
        yield f"| {title} | " + " | ".join(cells) + " |"


# -- first arms and delays ---------------------------------------------------------------

FIRST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "typical": lambda arms: arms,
    "alike": lambda arms: arms.mean(axis=0) + 0.03 * (arms - arms.mean(axis=0)),
    "alone": lambda arms: arms[:1],
    "huge": lambda arms: arms.mean(axis=0) + 100.0 * (arms - arms.mean(axis=0)),
}


def play(environment: Environment, name: str, delay: int, first: str, seed: int, every: int = 0) -> float:
    """Regret of one run with the published rule, against the best arm on the table.

    Votes are told `delay` rounds late, `first` arms are shown in the first round, half of the arms join later, one `every` so many rounds.
    """
    arms, utilities = world_of(environment, seed)
    policy = getattr(dl, name)(horizon=HORIZON, random_state=seed)
    rng, total, waiting = np.random.default_rng([seed, 2]), 0.0, []
    if first != "typical":
        shown = FIRST[first](np.column_stack([arms, utilities]))  # utilities are linear in what is done to arms
        duel = policy.ask(np.ascontiguousarray(shown[:, :-1]), distinct=False)
        policy.tell(duel, wins(rng, shown[:, -1], duel))
    for t in range(HORIZON):
        n = min(len(arms), len(arms) // 2 + t // every) if every else len(arms)
        duel = policy.ask(arms[:n], distinct=False)
        total += utilities[:n].max() - 0.5 * (utilities[duel.first] + utilities[duel.second])
        waiting.append((duel, wins(rng, utilities, duel)))
        if len(waiting) > delay:
            policy.tell(*waiting.pop(0))
    return total


def first_arms(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield f"## First arms that are not typical: mean regret over {HORIZON:,} rounds, {runs} runs"
    yield ""
    yield "| policy | " + " | ".join(FIRST) + " | worst ratio |"
    yield "|---|" + "---|" * (len(FIRST) + 1)
    environment = FixedArms(np.random.default_rng(0).standard_normal((20, 5)))
    for name in SERVERS:
        mean = [np.mean(list(pool.map(partial(play, environment, name, 0, first), range(runs)))) for first in FIRST]
        yield f"| {name} | " + " | ".join(f"{m:.0f}" for m in mean) + f" | {max(mean) / mean[0]:.2f} |"


def delays(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield f"## Votes that come {DELAY} rounds late: mean regret over {HORIZON:,} rounds, {runs} runs"
    yield ""
    yield f"Blind: {DELAY} times the best utility less the mean one, which the first {DELAY} rounds cost whoever chooses without a vote."
    yield "On the hypercube no arm is better than another before a vote, since theta has no favoured direction: nobody can have"
    yield "less regret than that."
    yield ""
    yield "| problem | policy | at once | late | ratio | blind | (late - blind) / at once |"
    yield "|---|---|---|---|---|---|---|"
    problems: dict[str, Environment] = {f"hypercube, scale {s:g}": Hypercube(dim=5, scale=s) for s in (1.0, 2.0)}
    for title, environment in (problems | {"mixed units": RawFeatures("mixed units")}).items():
        gaps = [u.max() - u.mean() for _, u in (world_of(environment, seed) for seed in range(runs))]
        blind = DELAY * float(np.mean(gaps))
        for name in SERVERS:
            now, late = (
                np.mean(list(pool.map(partial(play, environment, name, delay, "typical"), range(runs))))
                for delay in (0, DELAY)
            )
            rest = (late - blind) / now
            yield f"| {title} | {name} | {now:.0f} | {late:.0f} | {late / now:.2f} | {blind:.0f} | {rest:.2f} |"


def late_arms(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield f"## Arms that come late: regret over {HORIZON:,} rounds, {runs} runs"
    yield ""
    yield f"Half of the arms are there from the beginning, the others join one by one, every {JOINING} rounds, the best as likely as"
    yield "any other. Regret is against the best arm on the table."
    yield ""
    yield "| problem | policy | all at once | late | late, worst / median |"
    yield "|---|---|---|---|---|"
    for kind in ("mixed units", "heavy-tailed", "more features than arms"):
        for name in SERVERS:
            now, late = (
                np.array(list(pool.map(partial(play, RawFeatures(kind), name, 0, "typical", every=e), range(runs))))
                for e in (0, JOINING)
            )
            yield f"| {kind} | {name} | {now.mean():.0f} | {late.mean():.0f} | {late.max() / np.median(late):.1f} |"


# -- the prior's scale -------------------------------------------------------------------


def held_out(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield "## Held-out log-loss of `fit_mle(ridge='auto')`, over that of the best constant ridge in hindsight"
    yield ""
    yield "The best of 13 multiples of the features' sizes, chosen by the held-out votes themselves, run by run."
    yield ""
    yield "| features | votes | scale of utilities | mean excess | worst excess | runs |"
    yield "|---|---|---|---|---|---|"
    cases = [(d, n, s) for d in (5, 30, 200) for n in (50, 500, 5000) for s in (0.5, 1.0, 4.0)]
    cases += [(1024, 500, 1.0), (1024, 2000, 2.0), (0, 50, 1.0), (0, 500, 1.0), (0, 5000, 2.0)]
    for dim, votes, scale in cases:
        many = min(runs, 10 if dim < 1024 else 2)
        found = np.array(list(pool.map(partial(excess, dim, votes, scale), range(many))))
        title = f"{dim:,}" if dim else "50 arms, one-hot"
        yield f"| {title} | {votes:,} | {scale:g} | {found.mean():.2%} | {found.max():.2%} | {many} |"


def excess(dim: int, votes: int, scale: float, seed: int) -> float:
    """Of a simulated log."""
    rng = np.random.default_rng([seed, dim, votes, int(10 * scale)])
    arms = rng.standard_normal((2000, dim)) / 10.0 ** rng.uniform(-2, 2, dim) if dim else np.eye(50)
    theta = rng.standard_normal(arms.shape[1])
    theta *= scale / (arms @ theta).std()
    i, j = rng.integers(len(arms), size=(2, votes + HELD_OUT))
    z = (arms[i] - arms[j])[i != j]
    outcome = (rng.random(len(z)) < 1.0 / (1.0 + np.exp(-z @ theta))).astype(float)
    return excess_loss(z, outcome, votes)


def excess_loss(z: np.ndarray, outcome: np.ndarray, votes: int) -> float:
    """Held-out loss after so many votes, over that of the best constant ridge, less 1."""
    train, test = slice(0, votes), slice(votes, votes + HELD_OUT)

    def loss(at: np.ndarray) -> float:
        v = z[test] @ at
        return float(np.mean(np.logaddexp(0.0, v) - outcome[test] * v))

    found = dl.fit_mle(z[train], outcome[train], ridge="auto")
    sizes = np.square(z[train]).mean(axis=0) / 2.0
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    grid = [
        loss(dl.fit_mle(z[train], outcome[train], ridge=r * sizes).theta) for r in 10.0 ** np.arange(-2.5, 3.6, 0.5)
    ]
    return loss(found.theta) / min(grid) - 1.0


def real_votes() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Logs of the data folder: what it is, the arms, and pairs (n, 2) of a winner and a loser."""
    photos = load_photos()
    for criterion, wins_ in zip(CRITERIA, photos.decided, strict=True):
        pairs = np.repeat(np.argwhere(wins_), wins_[wins_ > 0], axis=0)
        yield f"photos by {criterion}, {photos.features.shape[1]} raw features", photos.features, pairs
        yield f"photos by {criterion}, one-hot", np.eye(len(photos.features)), pairs
    events = load_eventtime()
    yield "events, one-hot", np.eye(len(events.events)), events.votes
    decided = [vote for vote in load_llmfao() if vote.outcome in (Outcome.FIRST, Outcome.SECOND)]
    models = sorted({arm for vote in decided for arm in (vote.first, vote.second)})
    place = {model: k for k, model in enumerate(models)}
    ordered = [(v.first, v.second) if v.outcome is Outcome.FIRST else (v.second, v.first) for v in decided]
    yield "language models, one-hot", np.eye(len(models)), np.array([[place[a], place[b]] for a, b in ordered])


def real(runs: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    yield "## The same on the real votes of the data folder"
    yield ""
    yield "Votes in a random order, another in each run; which arm stands first is a coin's."
    yield ""
    yield "| log | votes | mean excess | worst excess | runs |"
    yield "|---|---|---|---|---|"
    for title, arms, pairs in real_votes():
        for votes in (50, 500, 5000):
            if votes + 500 > len(pairs):
                continue
            found = np.array(list(pool.map(partial(real_excess, arms, pairs, votes), range(runs))))
            yield f"| {title} | {votes:,} | {found.mean():.2%} | {found.max():.2%} | {runs} |"


def real_excess(arms: np.ndarray, pairs: np.ndarray, votes: int, seed: int) -> float:
    rng = np.random.default_rng([seed, votes])
    chosen = rng.permutation(len(pairs))[: votes + HELD_OUT]
    outcome = rng.integers(2, size=len(chosen)).astype(float)
    winner, loser = pairs[chosen].T
    return excess_loss((2.0 * outcome - 1.0)[:, None] * (arms[winner] - arms[loser]), outcome, votes)


# -- the page ----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Part:
    write: Callable[[int, ProcessPoolExecutor], Iterator[str]]
    runs: int


PARTS = {
    "best": Part(partial(announcements, ("BestArmPair",)), 1000),
    "announcements": Part(partial(announcements, ("ThompsonPair", "UniformPair")), 1000),
    "regret": Part(regret, 128),
    "tails": Part(tails, 10 * BLOCK),
    "first": Part(first_arms, 64),
    "delays": Part(delays, 64),
    "late": Part(late_arms, 64),
    "held-out": Part(held_out, 10),
    "limits": Part(limits, 100),
    "real": Part(real, 10),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--runs", type=int)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument(
        "--problems", nargs="*", choices=list(announcing_problems()), help="of announcements; the rows of others stay"
    )
    given = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        for name in given.parts or PARTS:
            began, part = time.perf_counter(), PARTS[name]
            write = part.write if given.problems is None else partial(part.write, problems=given.problems)
            lines = []
            for line in write(given.runs or part.runs, pool):
                print(line, flush=True)
                lines.append(line)
            if given.problems is not None:
                lines = with_older_rows(lines, sections_of(given.page).get(name, "").splitlines())
            else:
                lines += ["", f"({time.perf_counter() - began:,.0f} s)"]
            put(given.page, name, "\n".join(lines))


MARK = "<!-- {} -->"


def sections_of(page: Path) -> dict[str, str]:
    """The parts that a page has."""
    text = page.read_text() if page.exists() else ""
    found = {}
    for each in PARTS:
        _, mark, rest = text.partition(MARK.format(each) + "\n")
        if mark:
            found[each] = rest.partition("\n<!-- ")[0].strip()
    return found


def put(page: Path, name: str, section: str) -> None:
    """A section into the page, in the place of the older one; the others stay."""
    sections = sections_of(page) | {name: section}
    lines = ["# On features as people have them", "", "Made by `make street`, each part by itself; do not edit.", ""]
    for each in PARTS:
        if each in sections:
            lines += [MARK.format(each), sections[each], ""]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
