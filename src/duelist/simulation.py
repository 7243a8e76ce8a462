"""The loop: many runs of each policy against the same worlds.

Random numbers. A simulation has one seed; run r has streams of its own for the world, the
arms, the outcomes and the policy, made from (seed, r) alone. So a run does not depend on how
many others there are, in how many threads they are played, or which other policies take part; and
in round t of run r every policy meets the same arms and the same uniform number that
decides the outcome.

Compiled policies are advanced together, all runs a stretch of rounds at a time; a policy in plain
Python is asked and told run by run.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled, plain_int
from duelist.environments import Environment, Rounds, Truth, Worlds
from duelist.errors import InvalidInput
from duelist.kernels.random import seed_words
from duelist.kernels.scratch import Room, forget, scratch_block, scratch_of
from duelist.links import mean
from duelist.policies import CompiledPolicy, Policy
from duelist.policies._rule import decided
from duelist.policies._state import Layout, Memory, joined, learn, state_of
from duelist.runs import Log, Runs, blank_log, copy_stretch

Floats = NDArray[np.float64]
Progress = Callable[[str, int, int], None]

_WORLD, _ARMS, _OUTCOMES, _POLICY = range(4)
_LONGEST_STRETCH = 1000
_STRETCH_BYTES = 1 << 26
_RUNS_A_TASK = 8


def stream(seed: int, run: int, purpose: int) -> np.random.SeedSequence:
    """The random stream of one run for one purpose."""
    return np.random.SeedSequence(seed, spawn_key=(run, purpose))


def policy_seed(seed: int, run: int) -> int:
    """The `random_state` of the policy in one run of a simulation."""
    return int(stream(seed, run, _POLICY).generate_state(1, np.uint64)[0])


@compiled
def vote_chance(truth: Truth, utilities: Floats, first: int, second: int, t: int) -> float:
    """The chance that the vote of round t (from 1) goes to the first arm."""
    honest = win_chance(truth, utilities, first, second)
    if t <= truth.flipped_first:
        return 1.0 - honest
    return honest + truth.flip_chance * (1.0 - 2.0 * honest)


@compiled
def win_chance(truth: Truth, utilities: Floats, first: int, second: int) -> float:
    """The chance that the first arm wins, if the vote is honest."""
    gap = utilities[first] - utilities[second]
    if truth.noiseless:
        return 0.5 if gap == 0.0 else (1.0 if gap > 0.0 else 0.0)
    if truth.table.shape[0] > 0:
        return truth.table[first, second]
    return mean(truth.link, gap)


@compiled
def play(
    config: Any,
    core: Floats,
    rows: Floats,
    layout: Layout,
    block: Floats,
    room: Room,
    truth: Truth,
    rounds: Rounds,
    luck: Floats,
    log: Log,
    start: int,
    stop: int,
) -> None:
    """Runs start .. stop - 1 through a stretch of rounds: ask, draw the outcome, tell."""
    scratch = scratch_of(block, room)
    difference = np.empty(layout.dim)
    for run in range(start, stop):
        state = state_of(core[run], rows[run], layout)
        forget(scratch)
        world = run if rounds.arms.shape[0] > 1 else 0
        truths = run if rounds.utilities.shape[0] > 1 else 0
        best = 0.0
        for t in range(luck.shape[1]):
            at = t if rounds.arms.shape[1] > 1 else 0
            arms = rounds.arms[world, at, : rounds.n_arms[world, at]]
            utilities = rounds.utilities[truths, at, : arms.shape[0]]
            if t == 0 or at > 0:
                best = utilities.max()
            state.rounds[0] += 1
            first, second, layer, share = decided(config, state, scratch, arms)
            outcome = 1.0 if luck[run, t] < vote_chance(truth, utilities, first, second, state.rounds[0]) else 0.0
            learned = False
            if share > 0.0:
                for k in range(difference.size):
                    difference[k] = arms[first, k] - arms[second, k]
                learned = learn(
                    state, scratch, config.link, config.online, plain_int(layer), difference, outcome, share, 1.0
                )
            log.first[run, t] = first
            log.second[run, t] = second
            log.layer[run, t] = layer + 1 if learned else 0
            log.outcome[run, t] = int(outcome)
            log.first_gap[run, t] = best - utilities[first]
            log.second_gap[run, t] = best - utilities[second]


def simulate(
    policies: Policy | Iterable[Policy] | Mapping[str, Policy],
    environment: Environment,
    horizon: int,
    runs: int = 128,
    seed: int = 0,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Runs:
    """Play every policy for `horizon` rounds in `runs` independent runs.

    Parameters
    ----------
    policies
        One policy, several, or a mapping from labels to policies. Each is a template: the runs are
        played by fresh copies, and the object itself is left as it was.
    environment
        Where the worlds come from; the same ones for every policy.
    horizon, runs, seed
        The size of the simulation and its seed. The horizon a policy believes in is its own.
    threads
        How many to use; None: all cores. The results do not depend on it.
    progress
        Called as progress(label, rounds done, rounds in all) after every stretch.

    >>> import duelist as dl
    >>> runs = simulate(dl.UniformPair(), dl.environments.Hypercube(dim=2), horizon=10, runs=3)
    >>> runs.regret("UniformPair").shape
    (3, 10)
    """
    for name, value in (("horizon", horizon), ("runs", runs)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
            raise InvalidInput(f"{name} is {value!r}; give a whole number of at least 1")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidInput(f"seed is {seed!r}; give a whole number of at least 0, so that the result can be repeated")
    if threads is not None and (not isinstance(threads, (int, np.integer)) or threads < 1):
        raise InvalidInput(f"threads is {threads!r}; give a whole number of at least 1, or None for all cores")
    if not isinstance(environment, Environment):
        raise InvalidInput(f"{environment!r} is not an environment; give an object of `duelist.environments`")
    templates = label_policies(policies)
    logs = {}
    for label, template in templates.items():
        shown = partial(progress or _silent, label)
        logs[label] = _play_policy(template, environment, horizon, runs, seed, threads, shown)
    described = {label: repr(policy) for label, policy in templates.items()}
    return Runs(logs, environment.describe(), int(seed), described)


def label_policies(policies: Policy | Iterable[Policy] | Mapping[str, Policy]) -> dict[str, Policy]:
    """Policies by label: their class name, with their settings where names repeat."""
    listed = list(policies.values() if isinstance(policies, Mapping) else _listed(policies))
    if not listed:
        raise InvalidInput("no policies given; give at least one")
    for policy in listed:
        if not isinstance(policy, Policy):
            raise InvalidInput(
                f"{policy!r} is not a policy; give an object of a subclass of Policy, or `make_policy` one"
            )
    if isinstance(policies, Mapping):
        return dict(policies)
    names = [type(p).__name__ for p in listed]
    labels = [n if names.count(n) == 1 else repr(p) for n, p in zip(names, listed, strict=True)]
    repeated = {label for label in labels if labels.count(label) > 1}
    if repeated:
        raise InvalidInput(f"{sorted(repeated)[0]} is given twice; give a mapping with a label for each")
    return dict(zip(labels, listed, strict=True))


def _listed(policies: Policy | Iterable[Policy]) -> Iterable[Policy]:
    return [policies] if isinstance(policies, Policy) else policies


def _silent(_label: str, _done: int, _total: int) -> None:
    pass


def _play_policy(
    template: Policy,
    environment: Environment,
    horizon: int,
    runs: int,
    seed: int,
    threads: int | None,
    shown: Callable[[int, int], None],
) -> Log:
    worlds = Worlds(
        environment,
        [stream(seed, r, _WORLD) for r in range(runs)],
        [stream(seed, r, _ARMS) for r in range(runs)],
    )
    luck = [np.random.default_rng(stream(seed, r, _OUTCOMES)) for r in range(runs)]
    seeds = [policy_seed(seed, r) for r in range(runs)]
    log = blank_log(runs, horizon)
    player = _Compiled(template, seeds, threads) if isinstance(template, CompiledPolicy) else _Plain(template, seeds)
    try:
        _play_stretches(player, worlds, luck, log, shown)
    finally:
        player.close()
    return log


def _play_stretches(
    player: _Compiled | _Plain,
    worlds: Worlds,
    luck: Sequence[np.random.Generator],
    log: Log,
    shown: Callable[[int, int], None],
) -> None:
    runs, horizon = log.first.shape
    done, a_round = 0, 0
    while done < horizon:
        length = min(horizon - done, _stretch(a_round))
        rounds = worlds.next_rounds(length)
        uniforms = np.stack([g.random(length) for g in luck])
        stretch = blank_log(runs, length)
        player.play(worlds.truth, rounds, uniforms, stretch)
        copy_stretch(log, done, stretch)
        done += length
        a_round = rounds.arms.nbytes // rounds.arms.shape[1]
        shown(done, horizon)


def _stretch(bytes_a_round: int) -> int:
    """How many rounds to play at once, so that their arms fit in memory; 1 until that is known."""
    if bytes_a_round == 0:
        return 1
    return max(1, min(_LONGEST_STRETCH, _STRETCH_BYTES // bytes_a_round))


def _cores() -> int:
    """Cores this process may use, where the system says."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Compiled:
    """All runs of a compiled policy: one state, advanced by several threads."""

    def __init__(self, template: CompiledPolicy, seeds: Sequence[int], threads: int | None) -> None:
        self._template = template
        self._words = np.stack([seed_words(s) for s in seeds])
        self._threads = threads or _cores()
        self._pool = ThreadPoolExecutor(self._threads)
        self._memory: Memory | None = None
        self._config: Any = None

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown()

    def play(self, truth: Truth, rounds: Rounds, luck: Floats, log: Log) -> None:
        """Advance every run through the stretch."""
        runs = len(self._words)
        if self._memory is None:
            self._config = self._template.make_config()
            self._memory = self._first_memory(rounds)
        memory = self._memory = self._template.make_room(
            self._memory, luck.shape[1], self._new_rows(rounds, luck.shape[1])
        )
        room = Room(rounds.arms.shape[2], memory.layout.dim, memory.layout.capacity)
        size = min(_RUNS_A_TASK, -(-runs // self._threads))

        def task(start: int) -> None:
            blocks = memory.core, memory.rows, memory.layout, scratch_block(room), room
            play(self._config, *blocks, truth, rounds, luck, log, start, min(start + size, runs))

        for done in [self._pool.submit(task, start) for start in range(0, runs, size)]:
            done.result()

    def _new_rows(self, rounds: Rounds, length: int) -> int:
        """Distinct differences that so many rounds can bring at most; fixed arms have no more than their pairs."""
        assert self._memory is not None  # noqa: S101  (for the type checker)
        if rounds.arms.shape[1] > 1:
            return length
        n = rounds.arms.shape[2]
        return min(length, n * (n - 1) // 2 * self._memory.layout.layers)

    def _first_memory(self, rounds: Rounds) -> Memory:
        """Each run starts from the arms of its own first round."""
        counts = rounds.n_arms[:, 0]
        if len(counts) == 1:
            shown = rounds.arms[:, 0, : counts[0]].repeat(len(self._words), axis=0)
            return self._template.make_memory(self._words, shown)
        return joined(
            [
                self._template.make_memory(self._words[r : r + 1], rounds.arms[r : r + 1, 0, : counts[r]])
                for r in range(len(self._words))
            ]
        )


class _Plain:
    """Runs of a policy in plain Python, each with a copy of its own."""

    def __init__(self, template: Policy, seeds: Sequence[int]) -> None:
        self._copies = [template.fresh(s) for s in seeds]
        self._done = 0

    def close(self) -> None:
        """Nothing to let go."""

    def play(self, truth: Truth, rounds: Rounds, luck: Floats, log: Log) -> None:
        """Advance every run through the stretch."""
        for run, policy in enumerate(self._copies):
            world = run if len(rounds.arms) > 1 else 0
            truths = run if len(rounds.utilities) > 1 else 0
            for t in range(luck.shape[1]):
                at = t if rounds.arms.shape[1] > 1 else 0
                arms = rounds.arms[world, at, : rounds.n_arms[world, at]]
                utilities = rounds.utilities[truths, at, : len(arms)]
                arms.flags.writeable = False  # the world is shared by all runs
                duel = policy.ask(arms)
                first, second = _check_duel(policy, duel, len(arms))
                outcome = float(luck[run, t] < vote_chance(truth, utilities, first, second, self._done + t + 1))
                policy.tell(duel, outcome)
                best = utilities.max()
                gaps = best - utilities[first], best - utilities[second]
                for name, value in zip(Log._fields, (first, second, 0, outcome, *gaps), strict=True):
                    getattr(log, name)[run, t] = value
        self._done += luck.shape[1]


def _check_duel(policy: Policy, duel: Any, n_arms: int) -> tuple[int, int]:
    try:
        first, second = (operator.index(k) for k in duel)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{type(policy).__name__}.ask returned {duel!r}; return a Duel or a pair of positions"
        ) from None
    if not (0 <= first < n_arms and 0 <= second < n_arms):
        raise InvalidInput(
            f"{type(policy).__name__}.ask returned {(first, second)} with {n_arms} arms on the table; "
            f"return positions from 0 to {n_arms - 1}"
        )
    return first, second
