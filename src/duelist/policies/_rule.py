"""How a policy's rule reaches compiled code.

A policy file writes its rule once, as a plain function for one run,

    decide(config, state, run, arms) -> (first, second, layer, share)

where `config` is a NamedTuple of numbers, `layer` the estimator that will learn the outcome
and `share` the weight w^2 it enters with (0: learn nothing). The decorator `rule(Config)` makes
it the meaning of `decide` for that type of config, so that the loops of the package (one live
run, or 128 simulated ones) are written once and compiled for each policy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from duelist.compiled import compiled
from duelist.policies._state import Floats, State

Decision = tuple[int, int, int, float]
Rule = Callable[[Any, State, int, Floats], Decision]

_RULES: dict[type, Rule] = {}


def decide(config: NamedTuple, state: State, run: int, arms: Floats) -> Decision:
    """The decision of one round; compiled code finds the rule by the type of `config`."""
    return _RULES[type(config)](config, state, run, arms)  # plain Python: with NUMBA_DISABLE_JIT=1, for a debugger


def rule(config_class: type) -> Callable[[Rule], Rule]:
    """Make the decorated function the rule for `config_class`."""

    def register(function: Rule) -> Rule:
        _RULES[config_class] = function

        @overload(decide, strict=False)
        def dispatch(config: Any, state: Any, run: Any, arms: Any) -> Rule | None:
            return function if getattr(config, "instance_class", None) is config_class else None

        return function

    return register


@compiled
def ask_run(config: Any, state: State, run: int, arms: Floats) -> Decision:
    """One round of one run: counts the round, then decides."""
    state.rounds[run] += 1
    return decide(config, state, run, arms)


@compiled
def all_arms(n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Positions 0 .. n-1: the arms before any was ruled out."""
    return np.arange(n)
