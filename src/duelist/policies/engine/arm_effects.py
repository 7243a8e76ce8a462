"""A policy on arms that have arm effects: what `NativePolicy` does where it is asked with `ArmTable`.

The model: utility = x . theta + u, theta_k ~ N(0, v_k), u ~ N(0, v), learned in one pass (`native/model/arm_effects.hpp`).
v is 1 / ridge (1 by default). The linear part has the same variance over the first arms, in equal parts for the features
that these arms differ in, so the prior depends neither on units nor on the number of features.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from duelist import native
from duelist.core.arms import ArmTable
from duelist.core.arrays import MAX_ROUNDS, Floats, Ints, Words, check_pairs, is_integer, is_number
from duelist.core.duel import Duel, check_outcome, check_weight
from duelist.core.errors import InvalidInput, UnknownDuel
from duelist.core.seeds import seed_words
from duelist.policies.base import Choice

if TYPE_CHECKING:
    from duelist.model.stopping import Recommendation
    from duelist.policies.engine.native_policy import NativePolicy

BLOCK: Final = 256
"""So many arms are known together with their covariances, those that were voted on last; the others are independent of them."""
MOST_FEATURES: Final = 2**13
"""Covariances of so many are half a gigabyte."""
_NONE: Final = np.empty(0, np.int64)
_NO_PAIRS: Final = np.empty((0, 2), np.int64)
PendingRows = tuple[Ints, Floats, Floats]
"""Duels that are out: who meets whom (duels, 2), the differences of their features, and what each counts."""
_NOTHING_OUT: Final[PendingRows] = (_NO_PAIRS, np.empty((0, 0)), np.empty(0))


NEEDS_ARM_TABLE: Final = (
    "This policy knows arms by who they are, not by features alone.",
    "Give a table of them, ArmTable(ids, features), or start a new policy.",
)


class PendingDuel(NamedTuple):
    """A duel that is out: positions as asked, who the two are, and features of the first minus those of the second."""

    first: int
    second: int
    arms: tuple[int, int]
    difference: Floats


class UtilityPosterior(NamedTuple):
    """What is known of arms: utilities, their variances, and covariances of the chosen ones with all (chosen, n_arms).

    Variances and covariances are those of utilities relative to an arm with the middle value of every feature on the table: duels tell
    nothing of the level.
    """

    utilities: Floats
    variances: Floats
    covariances: Floats


class ArmEffectsLearner:
    """One live run: what is known, and the duels that are out. Its verbs are those of `NativePolicy`."""

    def __init__(self, policy: NativePolicy, known: Any) -> None:
        self.known = known
        self.next_id = 0
        self.rounds = 0
        self.pending: dict[int, PendingDuel] = {}
        self._policy = policy
        self._rule = policy.make_rule()

    @classmethod
    def begun(cls, policy: NativePolicy, arms: ArmTable, words: Words) -> ArmEffectsLearner:
        """A run that has seen nothing but these arms."""
        check_support(policy)
        if arms.dim > MOST_FEATURES:
            raise InvalidInput(
                f"arms have {arms.dim} features.", f"Beside arm effects they may have at most {MOST_FEATURES}."
            )
        own_variance = 1.0 if policy.ridge is None else 1.0 / policy.ridge
        return cls(policy, native.new_arm_effects(policy.link, arms.features, own_variance, BLOCK, words))

    # -- the contract --------------------------------------------------------------------

    def ask(self, arms: ArmTable, distinct: bool, exclude: Collection[tuple[int, int]]) -> Duel:
        """See `NativePolicy.ask`; duels that are out count as if they were answered, so that the next is about something else."""
        first, second, words = self._decided(arms, distinct, exclude, self._waiting(), None, self.rounds + 1)
        self.known.observe_arms(arms.features)
        self.known.set_words(words)
        self.pending[self.next_id] = PendingDuel(first, second, *_compared(arms, first, second))
        self.next_id += 1
        self.rounds += 1
        return Duel(first, second, self.next_id - 1)

    def tell(self, duel: Any, outcome: float, weight: float) -> None:
        """See `NativePolicy.tell`."""
        value, mass = check_outcome(outcome), check_weight(weight)
        number = self.number(duel)
        out = self.pending[number]
        self.known.learn(*out.arms, out.difference, value, mass)
        del self.pending[number]

    def forget(self, duel: Any) -> None:
        """See `NativePolicy.forget`."""
        del self.pending[self.number(duel)]

    def number(self, duel: Any) -> int:
        """The number of a pending duel, or an error that says what is wrong with it."""
        key = duel.id if isinstance(duel, Duel) else duel
        known = self.pending.get(int(key)) if is_integer(key) else None
        if known is None:
            why = (
                "was told or forgotten already"
                if is_integer(key) and 0 <= key < self.next_id
                else "was never asked of this policy"
            )
            raise UnknownDuel(f"Duel {key!r} {why}.", "Tell each duel that `ask` returned once.")
        if isinstance(duel, Duel) and (duel.first, duel.second) != known[:2]:
            raise UnknownDuel(
                f"Duel {key} was asked as {known[:2]}, not ({duel.first}, {duel.second}).",
                "Tell the outcome in the order asked.",
            )
        return int(key)

    # -- a log in the place of pending duels ---------------------------------------------

    def suggest(
        self,
        arms: ArmTable,
        pending: Sequence[tuple[Any, int, float]],
        seed: int | None,
        rounds: int | None,
        distinct: bool,
        exclude: Collection[tuple[int, int]],
    ) -> Choice:
        """See `NativePolicy.consider`; pending duels are tables of their two arms."""
        words = None if seed is None else seed_words(seed)
        t = (self.rounds if rounds is None else int(rounds)) + 1
        first, second, _ = self._decided(arms, distinct, exclude, self._out(pending), words, t)
        return Choice(first, second)

    def learn(self, seen: Any, outcome: float, weight: float, layer: int | None, share: float) -> None:
        """See `NativePolicy.learn`; `seen` is the table of the two arms."""
        value, times = check_outcome(outcome), check_weight(weight)
        mass = times * _checked_share(layer, share)
        pair = self._fitting(seen)
        if len(pair) != 2:
            raise InvalidInput(f"seen has {len(pair)} arms.", "Give the two that were compared.")
        arms, difference = _compared(pair, 0, 1)
        self.known.learn(*arms, difference, value, mass)
        self.next_id += 1
        self.rounds += 1

    def posterior(self, arms: Any, chosen: Any = _NONE) -> UtilityPosterior:
        """What is known of arms."""
        table, places = self._fitting(arms), np.asarray(chosen, np.int64)
        if places.size and not (places.min() >= 0 and places.max() < len(table)):
            raise InvalidInput(
                f"chosen is {places.tolist()}.",
                f"Give positions on the table, from 0 to {len(table) - 1}.",
                field="chosen",
            )
        return UtilityPosterior(*self.known.posterior(table.ids, table.features, places))

    def recommend(self, arms: Any, delta: float, tolerance: float) -> Recommendation:
        """See `NativePolicy.recommend`."""
        # SciPy takes longer to load than a policy to decide; who only asks and tells does not wait for it.
        from duelist.model.stopping import GapPosterior, recommend_from_gaps

        table = self._fitting(arms)
        u = self.posterior(table).utilities
        best = int(np.argmax(u))
        squares = self.known.squared_widths(table.ids, table.features, best)
        apart = table.features - table.features[best]
        prior = 2.0 * self.known.arrays()["effect_variance"][0] + np.square(apart) @ self.known.prior_variances(
            table.features
        )
        votes = float(self.known.votes)

        def covariance(kept: Ints) -> Floats:
            return self.posterior(table[kept], np.arange(len(kept))).covariances

        return recommend_from_gaps(GapPosterior(u, squares, prior, votes, covariance), delta, tolerance)

    # -- inside --------------------------------------------------------------------------

    def _decided(
        self,
        arms: ArmTable,
        distinct: bool,
        exclude: Collection[tuple[int, int]],
        out: PendingRows,
        words: Words | None,
        t: int,
    ) -> tuple[int, int, Words]:
        table = self._fitting(arms)
        pairs = check_pairs("exclude", exclude, len(table)) if len(exclude) else _NO_PAIRS
        shown = table.ids, table.features, bool(distinct), pairs
        first, second, after = self.known.decide(self._rule, *shown, *out, words, min(t, MAX_ROUNDS))
        if first < 0:
            raise InvalidInput(
                f"No pair is left to ask among the {len(table)} arms.", "Exclude fewer, or wait for an outcome."
            )
        return first, second, after

    def _waiting(self) -> PendingRows:
        """The duels of its own that are out, in the order asked."""
        if not self.pending:
            return _NOTHING_OUT
        waiting = self.pending.values()
        differences = np.array([duel.difference for duel in waiting], np.float64)
        return np.array([duel.arms for duel in waiting], np.int64), differences, np.ones(len(waiting))

    def _out(self, pending: Sequence[tuple[Any, int, float]]) -> PendingRows:
        """Duels that are out with others."""
        if not pending:
            return _NOTHING_OUT
        pairs = [self._fitting(seen) for seen, _, _ in pending]
        stray = next((pair for pair in pairs if len(pair) != 2), None)
        if stray is not None:
            raise InvalidInput(f"A pending duel is of {len(stray)} arms.", "Give the two that meet.")
        masses = [_checked_share(layer, share) for _, layer, share in pending]
        features = np.array([pair.features for pair in pairs], np.float64)
        return (
            np.array([pair.ids for pair in pairs], np.int64),
            np.ascontiguousarray(features[:, 0] - features[:, 1]),
            np.array(masses, np.float64),
        )

    def _fitting(self, arms: Any) -> ArmTable:
        if not isinstance(arms, ArmTable):
            raise InvalidInput(*NEEDS_ARM_TABLE)
        if arms.dim != self.known.dim:
            raise InvalidInput(
                f"arms have {arms.dim} features, but those of this policy have {self.known.dim or 'none'}.",
                "Give the same features every round, or start a new policy.",
            )
        return arms


def _compared(table: ArmTable, first: int, second: int) -> tuple[tuple[int, int], Floats]:
    """Who two arms of a table are, and features of the first minus those of the second."""
    numbers, features = table.ids, table.features
    return (int(numbers[first]), int(numbers[second])), features[first] - features[second]


def check_support(policy: NativePolicy) -> None:
    """InvalidInput where a policy cannot learn of arms by who they are."""
    if not policy.accepts_arm_table:
        name = type(policy).__name__
        if policy.make_rule().supports_arm_effects:
            raise InvalidInput(
                f"estimator is {policy.estimator!r}, and arms with arm effects are learned in one pass.",
                f'Take {name}(estimator="online").',
                field="estimator",
            )
        raise InvalidInput(
            f"{name} is for arms with features alone.",
            "With ArmTable, or arms without features, take BestArmPair, DesignPair, LocalPairUCB (radius "
            '"practical" or a number), RankingPair, RewardDesign or UniformPair.',
            field=name,
        )


def _checked_share(layer: Any, share: Any) -> float:
    """What an outcome counts: policies with arm effects have one layer, -1 is none."""
    if (
        not (layer is None or (is_integer(layer) and layer in (-1, 0)))
        or not is_number(share)
        or not 0.0 <= share < np.inf
    ):
        raise InvalidInput(
            f"layer is {layer!r}, share {share!r}.", "Give those of the `Choice`, or no layer.", field="layer"
        )
    return 0.0 if layer == -1 else float(share)
