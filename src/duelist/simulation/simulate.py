"""Simulate many runs of several policies in the same worlds.

A simulation has one seed; run r has separate random streams for the world, the arms, the outcomes and the policy,
made from (seed, r) alone. So a run does not depend on the number of runs, on the threads that play them, or on which
other policies take part; and in round t of run r every policy meets the same arms and the same uniform number that
decides the outcome. A simulation can therefore be split by policies and by runs, played anywhere, and joined again
(`Runs.join`): the result is bit for bit the same.

Native policies are advanced together, a block of rounds at a time, in independent threads; a policy in plain Python
plays run by run through `ask` and `tell`.
"""

from __future__ import annotations

import inspect
import operator
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from duelist import native
from duelist.core.arrays import Floats, check_integer, check_threads
from duelist.core.errors import InvalidInput
from duelist.core.seeds import seed_words
from duelist.policies import Policy, make_policy
from duelist.policies.counting import CountingPolicy
from duelist.policies.engine import NativePolicy
from duelist.simulation.environments import Environment, Rounds, Truth, Worlds
from duelist.simulation.environments.registry import make_environment
from duelist.simulation.run_log import CURVE_POINTS, TIE_CODE, CurveRecorder, Curves, DuelLog, blank_log, choose_record
from duelist.simulation.runs import Runs

Progress = Callable[[str, int, int], None]
Policies = Policy | str | Iterable[Policy | str] | Mapping[str, Policy | str]
"""One policy, several, or a mapping from labels to policies; each may be given by name, as in "VACDB:scale=0.5"."""

_WORLD, _ARMS, _OUTCOMES, _POLICY, _NEW_ARMS = range(5)
_MAX_BLOCK_ROUNDS = 1000
_MAX_BLOCK_BYTES = 1 << 26
_RUNS_PER_TASK = 8


def stream(seed: int, run: int, purpose: int) -> np.random.SeedSequence:
    """Return the random stream of one run for one purpose."""
    return np.random.SeedSequence(seed, spawn_key=(run, purpose))


def policy_seed(seed: int, run: int) -> int:
    """Return the `random_state` of the policy in one run of a simulation."""
    return int(stream(seed, run, _POLICY).generate_state(1, np.uint64)[0])


def worlds_of(environment: Environment, seed: int, runs: range, *, new_arms: bool = False) -> Worlds:
    """Return the worlds of a simulation's runs; with `new_arms`, changing arms are ones that no policy has seen."""
    arms = _NEW_ARMS if new_arms else _ARMS
    return Worlds(environment, [stream(seed, r, _WORLD) for r in runs], [stream(seed, r, arms) for r in runs])


def simulate(
    policies: Policies,
    environment: Environment | str,
    horizon: int,
    runs: int | range = 128,
    seed: int = 0,
    *,
    distinct: bool = False,
    tell_horizon: bool = True,
    keep: str | None = None,
    points: int = CURVE_POINTS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Runs:
    """Play every policy for `horizon` rounds in `runs` independent runs.

    Parameters
    ----------
    policies
        One policy, several, or a mapping from labels to policies; a string
        names a policy, as in "MaxInP:scale=0.5". Each is a template: fresh
        copies play the runs, and the object itself stays unchanged.
    environment
        The source of the worlds, which all policies share; a string names one,
        as in "Hypercube:dim=3".
    horizon, runs, seed
        The size of the simulation and its seed. A range of runs, such as
        range(64, 128), is part of a larger simulation, to be joined with the
        others by `Runs.join`.
    distinct
        False (default): the published rules, under which an arm may meet itself
        and then costs only its own regret. True: two different arms in every
        round, as when asking people. It does not affect a policy whose `ask`
        takes no `distinct`.
    tell_horizon
        True (default): policies that take a `horizon` and have none get that of
        the simulation. False: they play without one.
    keep
        "duels": every round of every run, 26 bytes each. "curves": regret at
        `points` rounds of every run, for any horizon. None (default): duels,
        unless those of a policy would take more than 1 GiB.
    points
        The number of rounds at which curves are recorded, evenly spaced,
        including the last.
    threads
        The number of threads; None: all cores. The results do not depend on it.
    progress
        Called as progress(label, rounds done, rounds in total) after every
        block.

    >>> import duelist as dl
    >>> runs = simulate("UniformPair", dl.environments.Hypercube(dim=2), horizon=10, runs=3)
    >>> runs.regret("UniformPair").shape
    (3, 10)
    """
    horizon = check_integer("horizon", horizon)
    numbers = _run_numbers(runs)
    check_integer("seed", seed, 0, "a whole number of at least 0, so that the result can be repeated")
    check_threads(threads)
    world = make_environment(environment)
    templates = label_policies(policies, horizon if tell_horizon else None)
    game = _Setup(world, horizon, numbers, seed, choose_record(keep, len(numbers), horizon), points)
    kept = {}
    for label, template in templates.items():
        shown = partial(progress or _silent, label)
        player = _player(template, [policy_seed(seed, r) for r in numbers], threads, distinct, world.truth())
        kept[label] = _play_policy(player, game, shown)
    described = {label: describe_player(policy, distinct) for label, policy in templates.items()}
    return Runs(kept, world.describe(), int(seed), described, first_run=numbers.start)


def describe_player(policy: Policy, distinct: bool) -> str:
    """Return a policy and its rules of play, for records: runs under other rules are different runs."""
    return f"{policy!r}, two different arms" if distinct else repr(policy)


def label_policies(policies: Policies, horizon: int | None = None) -> dict[str, Policy]:
    """Return policies by label, each with the horizon if it lacks one.

    The label of a policy without one is the name of its class, with settings
    where names repeat.
    """
    if isinstance(policies, Mapping):
        return _check_any({label: make_policy(policy, horizon=horizon) for label, policy in policies.items()})
    given = [policies] if isinstance(policies, Policy | str) else policies
    listed = [make_policy(policy, horizon=horizon) for policy in given]
    names = [type(p).__name__ for p in listed]
    labels = [n if names.count(n) == 1 else p.describe(horizon) for n, p in zip(names, listed, strict=True)]
    repeated = {label for label in labels if labels.count(label) > 1}
    if repeated:
        raise InvalidInput(f"{sorted(repeated)[0]} is given twice.", "Give a mapping with a label for each.")
    return _check_any(dict(zip(labels, listed, strict=True)))


def _check_any(policies: dict[str, Policy]) -> dict[str, Policy]:
    if not policies:
        raise InvalidInput("No policies given.", "Give at least one.")
    return policies


def _silent(_label: str, _done: int, _total: int) -> None:
    pass


def _player(
    template: Policy, seeds: Sequence[int], threads: int | None, distinct: bool, truth: Truth
) -> _NativeRuns | _PythonRuns:
    if truth.chances is not None:
        return _PythonRuns(template, seeds, distinct)
    if isinstance(template, CountingPolicy):
        return _CountingRuns(template, seeds, threads, distinct)
    if isinstance(template, NativePolicy):
        if template.requires_arm_table:
            raise InvalidInput(
                f"{template!r} was made for arms without features, and environments show features.",
                "Make it with `policy_for(goal)` alone, or play it yourself with `ArmTable`.",
            )
        return _FeatureRuns(template, seeds, threads, distinct)
    return _PythonRuns(template, seeds, distinct)


class _Setup(NamedTuple):
    """The setup shared by all policies, and the kind of record."""

    environment: Environment
    horizon: int
    runs: range
    seed: int
    keep: str
    points: int


def _run_numbers(runs: int | range) -> range:
    if not isinstance(runs, range):
        return range(check_integer("runs", runs))
    if not len(runs) or runs.step != 1 or runs.start < 0:
        raise InvalidInput(f"runs is {runs!r}.", "Give how many, or which, as in range(64, 128).", field="runs")
    return runs


def _play_policy(
    player: _NativeRuns | _PythonRuns, game: _Setup, shown: Callable[[int, int], None]
) -> DuelLog | Curves:
    environment, horizon, runs, seed, _, _ = game
    worlds = worlds_of(environment, seed, runs)
    luck = [np.random.default_rng(stream(seed, r, _OUTCOMES)) for r in runs]
    keeper = _DuelRecorder(worlds.truth, game) if game.keep == "duels" else _CurveRecorder(worlds.truth, game)
    done, a_round = 0, 0
    try:
        while done < horizon:
            length = min(horizon - done, _block_size(a_round))
            rounds = worlds.next_rounds(length)
            uniforms = np.stack([g.random(length) for g in luck])
            keeper.play(player, rounds, uniforms, done)
            done += length
            a_round = rounds.arms.nbytes // rounds.arms.shape[1]
            shown(done, horizon)
    finally:
        player.close()
    return keeper.kept()


class _DuelRecorder:
    """Records every duel, in one log for the whole horizon."""

    def __init__(self, truth: Truth, game: _Setup) -> None:
        self._truth = truth
        self._log = blank_log(len(game.runs), game.horizon)

    def play(self, player: _NativeRuns | _PythonRuns, rounds: Rounds, luck: Floats, done: int) -> None:
        player.play(self._truth, rounds, luck, self._log, done, done)

    def kept(self) -> DuelLog:
        return self._log


class _CurveRecorder:
    """Records curves: sums up the log of each block and discards it."""

    def __init__(self, truth: Truth, game: _Setup) -> None:
        self._truth = truth
        self._runs = len(game.runs)
        self._recorder = CurveRecorder(game.environment, self._runs, game.horizon, game.points)

    def play(self, player: _NativeRuns | _PythonRuns, rounds: Rounds, luck: Floats, done: int) -> None:
        log = blank_log(self._runs, luck.shape[1])
        player.play(self._truth, rounds, luck, log, 0, done)
        self._recorder.take(log)

    def kept(self) -> Curves:
        return self._recorder.curves()


def _block_size(bytes_per_round: int) -> int:
    """Return how many rounds to play at once, so that their arms fit in memory; 1 until the sizes are known."""
    if bytes_per_round == 0:
        return 1
    return max(1, min(_MAX_BLOCK_ROUNDS, _MAX_BLOCK_BYTES // bytes_per_round))


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _NativeRuns(ABC):
    """All runs of a native policy: one state each, advanced by several threads."""

    def __init__(self, seeds: Sequence[int], threads: int | None, distinct: bool) -> None:
        self._words = [seed_words(s) for s in seeds]
        self._threads = threads or usable_cores()
        self._pool = ThreadPoolExecutor(self._threads)
        self._distinct = distinct
        self._runs: Any = None

    def close(self) -> None:
        """Shut the threads down."""
        self._pool.shutdown(cancel_futures=True)

    def play(self, truth: Truth, rounds: Rounds, luck: Floats, log: DuelLog, start: int, done: int) -> None:
        """Advance every run through the next rounds and record them from column `start` on.

        States have played `done` rounds.
        """
        if self._runs is None:
            self._runs = self._start_runs(rounds)
        chances = truth.vote_model()
        runs = len(self._words)
        size = min(_RUNS_PER_TASK, -(-runs // self._threads))

        def task(first: int) -> None:
            stop = min(first + size, runs)
            self._runs.play(first, stop, chances, *rounds, luck, self._distinct, start, *log)

        for piece in [self._pool.submit(task, first) for first in range(0, runs, size)]:
            piece.result()

    @abstractmethod
    def _start_runs(self, rounds: Rounds) -> Any:
        """Return the runs in the engine, before their first round."""


class _CountingRuns(_NativeRuns):
    """Runs of a policy that counts wins, which sees only the number of arms."""

    def __init__(self, template: CountingPolicy, seeds: Sequence[int], threads: int | None, distinct: bool) -> None:
        super().__init__(seeds, threads, distinct)
        self._template = template

    def _start_runs(self, rounds: Rounds) -> Any:
        return native.SimulatedCountingRuns(self._template.make_rule(), self._words)


class _FeatureRuns(_NativeRuns):
    """Runs of a policy that sees the arms' features."""

    def __init__(self, template: NativePolicy, seeds: Sequence[int], threads: int | None, distinct: bool) -> None:
        super().__init__(seeds, threads, distinct)
        self._template = template

    def _start_runs(self, rounds: Rounds) -> Any:
        return native.SimulatedRuns(self._template.make_rule(), self._first_states(rounds))

    def _first_states(self, rounds: Rounds) -> list[Any]:
        """Start each run from the arms of its first round."""
        counts, arms = rounds.n_arms[:, 0], rounds.arms[:, 0]
        shared = len(counts) == 1
        tables = [np.ascontiguousarray(table[:n]) for table, n in zip(arms, counts, strict=True)]
        return [self._template.initial_state(w, tables[0 if shared else r]) for r, w in enumerate(self._words)]


class _PythonRuns:
    """Runs of a policy in plain Python, each with its own copy."""

    def __init__(self, template: Policy, seeds: Sequence[int], distinct: bool) -> None:
        self._copies = [template.clone(s) for s in seeds]
        self._out: list[deque[tuple[Any, float]]] = [deque() for _ in seeds]
        takes_it = "distinct" in inspect.signature(template.ask).parameters
        self._how = {"distinct": distinct} if takes_it else {}

    def close(self) -> None:
        """Do nothing: there are no threads to shut down."""

    def play(self, truth: Truth, rounds: Rounds, luck: Floats, log: DuelLog, start: int, done: int) -> None:
        """Advance every run through the rounds after `done`, and record them from column `start` on."""
        votes = _VoteDraw(truth)
        for run, policy in enumerate(self._copies):
            world = run if len(rounds.arms) > 1 else 0
            truths = run if len(rounds.utilities) > 1 else 0
            for t in range(luck.shape[1]):
                at = t if rounds.arms.shape[1] > 1 else 0
                arms = rounds.arms[world, at, : rounds.n_arms[world, at]]
                utilities = rounds.utilities[truths, at, : len(arms)]
                arms.flags.writeable = False  # the world is shared by all runs
                duel = policy.ask(arms, **self._how)
                first, second = _check_duel(policy, duel, len(arms))
                outcome = votes.outcome(utilities, first, second, done + t + 1, luck[run, t])
                self._out[run].append((duel, 0.5 if outcome == TIE_CODE else float(outcome)))
                if len(self._out[run]) > truth.delay:
                    policy.tell(*self._out[run].popleft())
                best = utilities.max()
                gaps = best - utilities[first], best - utilities[second]
                for name, value in zip(DuelLog._fields, (first, second, 0, outcome, *gaps), strict=True):
                    getattr(log, name)[run, start + t] = value


class _VoteDraw:
    """Draws outcomes as the engine does, or from an outcome model in Python."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._engine = truth.vote_model()

    def outcome(self, utilities: Floats, first: int, second: int, t: int, luck: float) -> int:
        """Return 1 if the first arm wins, 0 if the second wins, `TIE_CODE` for a tie, given a uniform number."""
        truth = self._truth
        if truth.chances is None:
            return int(luck < self._engine.vote_probability(utilities, first, second, t))
        gap = np.array([utilities[first] - utilities[second]])
        win, tie = (float(each[0]) for each in truth.chances(gap, np.array([t])))
        flip = 1.0 if t <= truth.flipped_first else truth.flip_chance
        win += flip * (1.0 - tie - 2.0 * win)
        return 1 if luck < win else TIE_CODE if luck < win + tie else 0


def _check_duel(policy: Policy, duel: Any, n_arms: int) -> tuple[int, int]:
    try:
        first, second = (operator.index(k) for k in duel)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{type(policy).__name__}.ask returned {duel!r}.", "Return a Duel or a pair of positions."
        ) from None
    if not (0 <= first < n_arms and 0 <= second < n_arms):
        raise InvalidInput(
            f"{type(policy).__name__}.ask returned {(first, second)} with {n_arms} arms on the table.",
            f"Return positions from 0 to {n_arms - 1}.",
        )
    return first, second
