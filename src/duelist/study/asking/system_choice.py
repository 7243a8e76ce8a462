"""Choose the next duel of a study of systems: two systems, and the prompt on which to compare them.

The utility of an answer is a system effect plus its deviation on this prompt. The policy chooses the two systems, by
its estimates of system effects. Of the prompts that both have answered, the duel takes the one where the two answers
were shown least often: if the answers of a system were shown n_1, n_2, ... times, their deviations have the variance
(n_1^2 + n_2^2 + ...) / (n_1 + n_2 + ...)^2 in the estimate of its effect, which this choice keeps smallest. Ties go to
the prompt that was shown least often, so that prompts are spread, then to chance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from duelist.core.arms import ArmTable
from duelist.core.arrays import Floats, Ints
from duelist.study.asking.pair_choice import ChosenPair, PairChooser
from duelist.study.asking.pairs import codes_between, split
from duelist.study.items.systems import NO_ANSWER, SystemAnswers
from duelist.study.records import ChosenBy


class SystemPairs:
    """The pairs of answers that may be shown, counted by pair of systems."""

    def __init__(self, answers: SystemAnswers, active: Ints, unavailable: Ints) -> None:
        """Keep the active answers `active` by system and prompt; `unavailable` are codes of pairs of arms."""
        has_answer = active != NO_ANSWER
        self.systems: Ints = np.flatnonzero(has_answer.any(axis=1))
        """The numbers of the systems with active answers; positions below are positions here."""
        self._active = active[self.systems]
        self._unavailable = unavailable
        one, other = split(unavailable)
        position = np.full(len(active), -1)
        position[self.systems] = np.arange(len(self.systems))
        same_prompt = answers.prompt_of[one] == answers.prompt_of[other]
        shown = np.isin(one, self._active) & np.isin(other, self._active) & same_prompt
        low, high = (position[answers.system_of[arms[shown]]] for arms in (one, other))
        shared: Floats = has_answer[self.systems].astype(np.float32)
        self._available = np.rint(shared @ shared.T).astype(np.int64)
        np.fill_diagonal(self._available, 0)
        np.subtract.at(self._available, (low, high), 1)
        np.subtract.at(self._available, (high, low), 1)

    def taken(self) -> Ints:
        """Return the codes of pairs of positions that share no prompt where they may be shown."""
        low, high = np.triu_indices(len(self.systems), 1)
        none_left = self._available[low, high] <= 0
        return np.sort(codes_between(low[none_left], high[none_left]))

    def answers_of(self, first: int, second: int) -> tuple[Ints, Ints, Ints]:
        """Return the prompts on which two positions may be compared, and their answers to each."""
        one, other = self._active[first], self._active[second]
        prompts = np.flatnonzero((one != NO_ANSWER) & (other != NO_ANSWER))
        free = ~np.isin(codes_between(one[prompts], other[prompts]), self._unavailable)
        prompts = prompts[free]
        return prompts, one[prompts], other[prompts]


def choose_systems(
    pairs: SystemPairs,
    answers: SystemAnswers,
    chooser: Callable[[ArmTable], PairChooser],
    random_share: float,
    times_shown: Ints,
    rng: np.random.Generator,
) -> tuple[Ints, ChosenPair]:
    """Return the numbers of two arms, answers to one prompt, and how they were chosen; at least one pair must be left.

    `times_shown` counts the duels of each arm.
    """
    found = chooser(ArmTable.from_checked(pairs.systems, np.empty((len(pairs.systems), 0)))).choose(random_share)
    prompts, one, other = pairs.answers_of(found.first, found.second)
    if found.chosen_by is ChosenBy.RANDOM:
        chosen = int(rng.integers(len(prompts)))
        propensity = None if found.propensity is None else found.propensity / len(prompts)
    else:
        by_prompt = np.bincount(answers.prompt_of, times_shown, len(answers.prompts))[prompts]
        order = np.lexsort((rng.random(len(prompts)), by_prompt, times_shown[one] + times_shown[other]))
        chosen, propensity = int(order[0]), None
    numbers = np.array([one[chosen], other[chosen]], np.int64)
    return numbers, found._replace(first=0, second=1, propensity=propensity)
