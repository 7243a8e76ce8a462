"""Every compared program behind two functions: fit a log of votes, and find the best of some designs.

    python -m benchmarks.comparison.programs    (reads tasks as JSON lines, writes results as JSON lines)

Each program runs in a process of its own, the others in their own environment, so that no two need the same versions. Only
the call of the program is timed; its input is prepared before.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HALF, DAVIDSON = "ties count half", "Davidson's model of ties"
Log = dict[str, Any]
"""`names`; `first` and `second`, positions in `names`; `share`, what the first won of each vote: 1, 0 or 0.5."""
World = dict[str, Any]
"""`place`, coordinates of the designs; `utility`; `luck`, a random number per vote; `looks`, votes after which to recommend."""

# -- fits of a log: from lists in memory to centred utilities -----------------------------------


def fit_choix(log: Log) -> Any:
    import choix

    first, second, share = (np.array(log[key]) for key in ("first", "second", "share"))

    def call() -> Any:
        wins = np.zeros((len(log["names"]),) * 2)
        np.add.at(wins, (first, second), share)
        np.add.at(wins, (second, first), 1.0 - share)
        return choix.ilsr_pairwise_dense(wins, alpha=0.0, max_iter=1000, tol=1e-10)

    return call, np.asarray


def fit_evalica(log: Log, method: str = "bradley_terry") -> Any:
    import evalica

    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    names = log["names"]
    sides = [[names[k] for k in log[side]] for side in ("first", "second")]
    winners = [winner[share] for share in log["share"]]

    def call() -> Any:
        return getattr(evalica, method)(*sides, winners, tolerance=1e-12, limit=100_000)

    return call, lambda found: np.log(found.scores.loc[names].to_numpy())


def fit_newman(log: Log) -> Any:
    return fit_evalica(log, "newman")


def fit_arena_rank(log: Log) -> Any:
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    names = log["names"]
    words = {1.0: "model_a", 0.0: "model_b", 0.5: "tie"}
    sides = {f"model_{side}": [names[k] for k in log[key]] for side, key in (("a", "first"), ("b", "second"))}
    frame = pd.DataFrame({**sides, "winner": [words[share] for share in log["share"]]})

    def call() -> Any:
        data = PairDataset.from_pandas(frame)
        model = BradleyTerry(len(data.competitors), ftol=1e-15, gtol=1e-10)
        return model, model.compute_ratings_and_cis(data)

    def utilities(found: Any) -> Any:
        model, board = found
        order = {name: k for k, name in enumerate(board["competitors"])}
        return np.asarray(board["ratings"])[[order[name] for name in names]] / model.alpha

    return call, utilities


def fit_leaderbot(log: Log) -> Any:
    import leaderbot

    counts: dict[tuple[int, int], list[int]] = {}
    for first, second, share in zip(log["first"], log["second"], log["share"], strict=True):
        pair = (min(first, second), max(first, second))
        won = share if first == pair[0] else 1.0 - share
        counts.setdefault(pair, [0, 0, 0])[{1.0: 0, 0.0: 1, 0.5: 2}[won]] += 1
    data = {"X": np.array(list(counts)), "Y": np.array(list(counts.values())), "models": log["names"]}

    def call() -> Any:
        model = leaderbot.models.Davidson(data, k_cov=None, k_tie=0)
        model.train()
        return model

    return call, lambda model: np.array(model.param[: len(log["names"])])


def fit_leaderboard(log: Log) -> Any:
    import csv

    from duelist.study import create_study, load_study

    folder = tempfile.mkdtemp()
    path, url = Path(folder) / "votes.csv", f"sqlite:///{folder}/log.db"
    names, words = log["names"], {1.0: "left", 0.0: "right", 0.5: "tie"}
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["left", "right", "winner"])
        rows = zip(log["first"], log["second"], log["share"], strict=True)
        table.writerows((names[first], names[second], words[share]) for first, second, share in rows)
    create_study("log", url).import_votes(path, skip_duplicates=False)

    def call() -> Any:
        with load_study("log", url) as study:
            return study.leaderboard(ridge=1e-9)

    def utilities(board: Any) -> Any:
        found = {row.arm: row.utility for row in board.standings}
        return np.array([found[name] for name in names])

    return call, utilities


def fit_half(log: Log) -> Any:
    import duelist as dl

    identity = np.eye(len(log["names"]))
    first, second, share = (np.array(log[key]) for key in ("first", "second", "share"))

    def call() -> Any:
        return dl.fit_mle(identity[first] - identity[second], share, ridge=1e-9)

    return call, lambda found: np.asarray(found.theta)


FITS: dict[str, dict[str, Callable[[Log], Any]]] = {
    HALF: {
        "duelist `fit_mle`": fit_half,
        "choix `ilsr_pairwise_dense`": fit_choix,
        "evalica `bradley_terry`": fit_evalica,
        "arena-rank `BradleyTerry`": fit_arena_rank,
    },
    DAVIDSON: {
        "duelist `leaderboard`": fit_leaderboard,
        "evalica `newman`": fit_newman,
        "leaderbot `Davidson`": fit_leaderbot,
    },
}

# -- the best of some designs: each yields a pair, is sent the outcome, and recommends on `None` ---------

Player = Iterator[Any]


def play_duelist(world: World, features: bool) -> Any:
    import duelist as dl

    place = np.array(world["place"])
    x, y = (place - place.mean(axis=0)).T
    table = dl.ArmTable(len(place), np.column_stack([x, y, x * x, y * y, x * y]) if features else None)
    policy = dl.BestArmPair(estimator="online", random_state=world["seed"])  # the estimator of arms with effects
    duel = None
    while True:
        duel = policy.ask(table)
        outcome = yield duel.first, duel.second
        policy.tell(duel, outcome)
        if (yield None):
            yield policy.recommend(table).best


def play_without_features(world: World) -> Any:
    return play_duelist(world, False)


def play_with_features(world: World) -> Any:
    return play_duelist(world, True)


def play_botorch(world: World) -> Any:
    import torch
    from botorch.acquisition.preference import AnalyticExpectedUtilityOfBestOption
    from botorch.fit import fit_gpytorch_mll
    from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood

    torch.manual_seed(world["seed"])
    torch.set_num_threads(1)
    place = torch.tensor(world["place"], dtype=torch.float64)
    place = place / place.max()
    n = len(place)
    pairs = torch.combinations(torch.arange(n))
    chosen = tuple(torch.randperm(n)[:2].tolist())
    wins: list[list[int]] = []
    while True:
        outcome = yield chosen
        wins.append(list(chosen if outcome else chosen[::-1]))
        model = PairwiseGP(place, torch.tensor(wins))
        fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
        if (yield None):
            yield int(model.posterior(place).mean.argmax())
        with torch.no_grad():
            value = AnalyticExpectedUtilityOfBestOption(pref_model=model)(place[pairs])
        chosen = tuple(pairs[int(value.argmax())].tolist())


def play_optuna(world: World) -> Any:
    """Ask the sampler for a new design, and compare it with the best so far, as its page does with two at a time."""
    import optuna
    import optuna_dashboard.preferential as preferential
    from optuna_dashboard.preferential.samplers.gp import PreferentialGPSampler

    optuna.logging.set_verbosity(logging.ERROR)
    side = round(len(world["place"]) ** 0.5)
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/study.db"
        sampler = PreferentialGPSampler(seed=world["seed"])
        study = preferential.create_study(n_generate=2, storage=storage, study_name="designs", sampler=sampler)

        def new() -> tuple[Any, int]:
            trial = study.ask()
            return trial, side * trial.suggest_int("x", 0, side - 1) + trial.suggest_int("y", 0, side - 1)

        best = new()
        while True:
            other = new()
            outcome = yield other[1], best[1]
            winner, loser = (other, best) if outcome else (best, other)
            study.report_preference(winner[0], loser[0])
            best = winner
            if (yield None):
                yield best[1]


def play_duelpy(world: World) -> Any:
    """Double Thompson sampling. Its loop calls for outcomes, so it runs in a thread that waits for ours."""
    import queue
    import threading

    vars(np)["float"] = float  # without this alias, which NumPy 1.24 removed, the import fails
    from duelpy.algorithms.double_thompson_sampling import DoubleThompsonSampling
    from duelpy.feedback import FeedbackMechanism

    asked: queue.Queue[tuple[int, int]] = queue.Queue()
    told: queue.Queue[bool] = queue.Queue()
    n = len(world["place"])

    class Votes(FeedbackMechanism):
        def duel(self, first: int, second: int) -> bool:
            asked.put((int(first), int(second)))
            return told.get()

    policy = DoubleThompsonSampling(Votes(list(range(n))), 10_000, np.random.RandomState(world["seed"]))

    def loop() -> None:
        while True:
            policy.step()

    threading.Thread(target=loop, daemon=True).start()
    while True:
        pair = asked.get()
        told.put(bool((yield pair)))
        if (yield None):
            means = policy.preference_estimate.get_mean_estimate_matrix().preferences
            yield int((np.asarray(means) > 0.5).sum(axis=1).argmax())


def play_random(world: World, scores: Callable[[int, list[tuple[int, int, float]]], Any]) -> Any:
    rng = np.random.default_rng(world["seed"])
    n, votes = len(world["place"]), []
    while True:
        first, second = (int(k) for k in rng.choice(n, 2, replace=False))
        votes.append((first, second, (yield first, second)))
        if (yield None):
            yield int(np.argmax(scores(n, votes)))


def play_evalica(world: World) -> Any:
    import evalica

    def scores(n: int, votes: list[tuple[int, int, float]]) -> Any:
        winner = [evalica.Winner.X if won else evalica.Winner.Y for _, _, won in votes]
        found = evalica.pagerank([a for a, _, _ in votes], [b for _, b, _ in votes], winner).scores
        return [found.get(k, -np.inf) for k in range(n)]

    return play_random(world, scores)


def play_choix(world: World) -> Any:
    import choix

    def scores(n: int, votes: list[tuple[int, int, float]]) -> Any:
        return choix.opt_pairwise(n, [(a, b) if won else (b, a) for a, b, won in votes], alpha=1.0)

    return play_random(world, scores)


PLAYERS: dict[str, Callable[[World], Any]] = {
    "duelist `BestArmPair`, x, y, x², y², xy as features": play_with_features,
    "duelist `BestArmPair`, no features": play_without_features,
    "BoTorch `PairwiseGP`, expected utility of the best option": play_botorch,
    "Optuna `PreferentialGPSampler`": play_optuna,
    "duelpy `DoubleThompsonSampling`": play_duelpy,
    "random pairs, choix `opt_pairwise` (alpha 1)": play_choix,
    "random pairs, evalica `pagerank`": play_evalica,
}

# -- the worker --------------------------------------------------------------------------------


def run_fit(task: dict[str, Any], prepared: dict[str, Any]) -> dict[str, Any]:
    """Fit a log, which is prepared once; the utilities are centred."""
    key = task["log"]
    if key not in prepared:
        log = json.loads(Path(key).read_text(encoding="utf-8"))
        prepared[key] = FITS[task["model"]][task["program"]](log)
    call, utilities = prepared[key]
    started = time.process_time()
    found = call()
    processor = time.process_time() - started
    values = np.asarray(utilities(found), dtype=float)
    return {"processor": processor, "utilities": (values - values.mean()).tolist()}


def run_search(task: dict[str, Any]) -> dict[str, Any]:
    """Play one world; the recommended designs, and processor seconds per vote."""
    world = task["world"]
    utility, luck, looks = np.array(world["utility"]), world["luck"], world["looks"]
    recommended, started = [], time.process_time()
    player = PLAYERS[task["program"]](world)
    pair = next(player)
    for votes, number in enumerate(luck, start=1):
        first, second = pair
        player.send(float(number < 1.0 / (1.0 + np.exp(utility[second] - utility[first]))))
        recommended += [player.send(True)] if votes in looks else []
        pair = next(player) if votes in looks else player.send(False)
    return {"recommended": recommended, "processor": (time.process_time() - started) / len(luck)}


def versions(names: list[str]) -> dict[str, str | None]:
    """Return the installed version of each package."""
    found: dict[str, str | None] = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the programs print is not an answer
    prepared: dict[str, Any] = {}
    for line in sys.stdin:
        task = json.loads(line)
        kind = task["kind"]
        result = (
            versions(task["names"])
            if kind == "versions"
            else run_fit(task, prepared)
            if kind == "fit"
            else run_search(task)
        )
        print(json.dumps(result), file=output, flush=True)


if __name__ == "__main__":
    main()
