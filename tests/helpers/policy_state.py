"""What a policy knows and has handed out, for tests to look at and to change."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from duelist import native
from duelist.core.arrays import Floats, Words
from duelist.policies.engine import NativePolicy
from duelist.study import Study

SCALARS = ("kappa", "units", "bound", "base_ridge", "base_prior")


class Pending(NamedTuple):
    """A pending duel, as the engine stores it, with the features of its two arms."""

    first: int
    second: int
    layer: int
    share: float
    arms: Floats

    @property
    def difference(self) -> Floats:
        """The features of the first arm minus those of the second."""
        return np.asarray(self.arms[0] - self.arms[1])


def policy_of(study: Study) -> Any:
    """Return the policy of a study. Its fitted attributes depend on its class."""
    return study.policy()


def known(policy: NativePolicy) -> SimpleNamespace:
    """Copies of all arrays of the state by name, and the scalars by theirs."""
    arrays = policy._fitted().state.arrays()
    return SimpleNamespace(**arrays, **dict(zip(SCALARS, arrays["scalars"], strict=True)))


def pending(policy: NativePolicy) -> dict[int, Pending]:
    """The pending duels."""
    return {number: Pending(*duel) for number, *duel in policy._player.pending()}


def hand_out(policy: NativePolicy, number: int, duel: Pending) -> None:
    """Add a pending duel, instead of the one with that number."""
    policy._player.add_pending(number, *duel)


def throw_dice(policy: NativePolicy, words: Words) -> None:
    """Give the policy's generator another state, and leave the rest as it is."""
    change(policy, words=words)


def change(policy: NativePolicy, **arrays: Any) -> None:
    """Put other arrays into the state."""
    player = policy._fitted()
    state = player.state
    changed = {**state.arrays(), **arrays}
    player.begin(native.restore_policy_state(state.dim, state.n_layers, policy.link, policy.online_, changed))
