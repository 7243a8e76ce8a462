"""Learning about arms with effects: what a `NativePolicy` does once it is given an `ArmTable`.

The model is utility = x . theta + u with theta_k ~ N(0, v_k) and arm effects u ~ N(0, v), learned in one pass
(`native/model/arm_effects.hpp`). The linear part has the prior variance f over the first arms, divided equally among the features in which
these arms differ, so the prior depends neither on units nor on the number of features. Votes choose v and f among a few candidates, by
evidence (`native/model/arm_effects_mixture.hpp`, `duelist.model.ridge_selection.effect_variances`); a given ridge sets both to 1 / ridge.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from duelist import native
from duelist.core.arms import ArmTable
from duelist.core.arrays import MAX_ROUNDS, Floats, Ints, Words, check_pairs, is_integer, is_number
from duelist.core.duel import Duel, check_outcome, check_weight, is_tie
from duelist.core.errors import InvalidInput
from duelist.core.seeds import seed_words
from duelist.model.ridge_selection import effect_variances
from duelist.policies.base import Choice
from duelist.policies.engine.pending import no_pairs_left, pending_id

if TYPE_CHECKING:
    from duelist.model.stopping import Recommendation
    from duelist.policies.engine.native_policy import NativePolicy

BLOCK: Final = 256
"""Number of arms whose covariances are stored: those voted on last. Others are independent of them."""
MAX_FEATURES: Final = 2**13
"""With this many features the covariance takes half a gigabyte."""
DecidingModel = Literal["likeliest", "widest", "drawn"]
_NONE: Final = np.empty(0, np.int64)
_NO_PAIRS: Final = np.empty((0, 2), np.int64)
PendingRows = tuple[Ints, Floats, Floats]
"""Pending duels: ids of the two arms (duels, 2), differences of their features, and weights."""
_NO_PENDING: Final[PendingRows] = (_NO_PAIRS, np.empty((0, 0)), np.empty(0))
NEEDS_ARM_TABLE: Final = (
    "This policy learns arm effects and needs the ids of the arms.",
    "Give ArmTable(ids, features), or start a new policy.",
)


class PendingDuel(NamedTuple):
    """A pending duel: positions as asked, ids of the arms, and features of the first minus those of the second."""

    first: int
    second: int
    arms: tuple[int, int]
    difference: Floats


class UtilityPosterior(NamedTuple):
    """Posterior of utilities: means, variances, and covariances of the chosen arms with all (chosen, n_arms).

    Variances and covariances are relative to an arm with the median of every feature, since duels carry no information about the level.
    """

    utilities: Floats
    variances: Floats
    covariances: Floats


class ArmEffectsLearner:
    """One live run with arm effects: the state of the engine and the pending duels. Its methods are those of `NativePolicy`."""

    def __init__(self, policy: NativePolicy, state: Any) -> None:
        self.state = state
        self.next_id = 0
        self.rounds = 0
        self.pending: dict[int, PendingDuel] = {}
        self._policy = policy
        self._rule = policy.make_rule()

    @classmethod
    def start(cls, policy: NativePolicy, arms: ArmTable, words: Words) -> ArmEffectsLearner:
        """Return a learner that has seen nothing but these arms."""
        check_support(policy)
        if arms.dim > MAX_FEATURES:
            raise InvalidInput(
                f"arms have {arms.dim} features.", f"With arm effects, give at most {MAX_FEATURES}.", field="arms"
            )
        candidates = effect_variances(arms.dim, policy.ridge)
        return cls(policy, native.new_arm_effects(policy.link, arms.features, candidates, BLOCK, words))

    # -- ask and tell --------------------------------------------------------------------

    def ask(self, arms: ArmTable, distinct: bool, exclude: Collection[tuple[int, int]]) -> Duel:
        """See `NativePolicy.ask`. Pending duels count as answered, so that the next one adds other information."""
        first, second, words = self._decide(arms, distinct, exclude, self._own_pending(), None, self.rounds + 1)
        self.state.observe_arms(arms.features)
        self.state.set_words(words)
        self.pending[self.next_id] = PendingDuel(first, second, *_compared(arms, first, second))
        self.next_id += 1
        self.rounds += 1
        return Duel(first, second, self.next_id - 1)

    def tell(self, duel: Any, outcome: float | str, weight: float) -> None:
        """See `NativePolicy.tell`."""
        value, mass = check_outcome(outcome), check_weight(weight)
        number = pending_id(self, duel)
        asked = self.pending[number]
        self.state.learn(*asked.arms, asked.difference, value, mass, is_tie(outcome))
        del self.pending[number]

    def forget(self, duel: Any) -> None:
        """See `NativePolicy.forget`."""
        del self.pending[pending_id(self, duel)]

    def pending_positions(self, number: int, /) -> tuple[int, int] | None:
        """Return the positions of a pending duel; None if no pending duel has this id."""
        duel = self.pending.get(number)
        return None if duel is None else (duel.first, duel.second)

    # -- for studies ---------------------------------------------------------------------

    def suggest(
        self,
        arms: ArmTable,
        pending: Sequence[tuple[Any, int, float]],
        seed: int | None,
        rounds: int | None,
        distinct: bool,
        exclude: Collection[tuple[int, int]],
    ) -> Choice:
        """See `NativePolicy.suggest`; pending duels are tables of their two arms."""
        words = None if seed is None else seed_words(seed)
        t = (self.rounds if rounds is None else int(rounds)) + 1
        first, second, _ = self._decide(arms, distinct, exclude, self._pending_rows(pending), words, t)
        return Choice(first, second)

    def learn(self, arms: Any, outcome: float | str, weight: float, layer: int | None, share: float) -> None:
        """See `NativePolicy.learn`; `arms` is the table of the two arms."""
        value, times = check_outcome(outcome), check_weight(weight)
        mass = times * _checked_share(layer, share)
        pair = self._checked_table(arms)
        if len(pair) != 2:
            raise InvalidInput(f"{len(pair)} arms were given.", "Give the two that were compared.", field="arms")
        ids, difference = _compared(pair, 0, 1)
        self.state.learn(*ids, difference, value, mass, is_tie(outcome))
        self.next_id += 1
        self.rounds += 1

    # -- posterior and decision ----------------------------------------------------------

    def posterior(self, arms: Any, chosen: Any = _NONE) -> UtilityPosterior:
        """Return the posterior of the arms' utilities under all models, with covariances of the chosen positions."""
        from duelist.model.stopping import model_shares  # imports SciPy, which is slow

        table, positions = self._checked_table(arms), np.asarray(chosen, np.int64)
        if positions.size and not (positions.min() >= 0 and positions.max() < len(table)):
            raise InvalidInput(
                f"chosen is {positions.tolist()}.",
                f"Give positions in the table, from 0 to {len(table) - 1}.",
                field="chosen",
            )
        shares = model_shares(self.state.log_weights)
        each = [self.state.posterior(m, table.ids, table.features, positions) for m in range(len(shares))]
        u, variances, covariances, level = (
            sum(share * part for share, part in zip(shares, parts, strict=True)) for parts in zip(*each, strict=True)
        )
        for share, (mean, *_) in zip(shares, each, strict=True):  # models differ in their means, too
            variances = variances + share * np.square(mean - u)
            covariances = covariances + share * (mean - u)[positions, None] * (mean - u)
        return UtilityPosterior(u + level, variances, covariances)

    def recommend(self, arms: Any, delta: float, tolerance: float) -> Recommendation:
        """See `NativePolicy.recommend`."""
        from duelist.model.gap_stopping import GapPosterior, recommend_from_gaps  # imports SciPy, which is slow

        table, state = self._checked_table(arms), self.state
        best = int(np.argmax(self.posterior(table).utilities))
        models = range(len(state.log_weights))
        utilities = np.array([state.posterior(m, table.ids, table.features, _NONE)[0] for m in models])
        squares = np.array([state.squared_widths(m, table.ids, table.features, best) for m in models])
        away = np.square(table.features - table.features[best])
        prior = [2.0 * state.variances[m, 0] + away @ state.prior_variances(m, table.features) for m in models]

        def covariance(positions: Ints) -> Floats:
            return self.posterior(table[positions], np.arange(len(positions))).covariances

        posterior = GapPosterior(
            best,
            state.log_weights,
            utilities[:, best, None] - utilities,
            squares,
            np.array(prior),
            float(state.votes),
            covariance,
        )
        return recommend_from_gaps(posterior, delta, tolerance)

    # -- internals -----------------------------------------------------------------------

    def _decide(
        self,
        arms: ArmTable,
        distinct: bool,
        exclude: Collection[tuple[int, int]],
        pending: PendingRows,
        words: Words | None,
        t: int,
    ) -> tuple[int, int, Words]:
        table = self._checked_table(arms)
        pairs = check_pairs("exclude", exclude, len(table)) if len(exclude) else _NO_PAIRS
        constraints = table.ids, table.features, bool(distinct), pairs
        first, second, words_after = self.state.decide(
            self._rule, *constraints, *pending, words, min(t, MAX_ROUNDS), self._policy.deciding_model
        )
        if first < 0:
            raise no_pairs_left(len(table))
        return first, second, words_after

    def _own_pending(self) -> PendingRows:
        """Return the pending duels of `ask`, in order."""
        if not self.pending:
            return _NO_PENDING
        duels = self.pending.values()
        differences = np.array([duel.difference for duel in duels], np.float64)
        return np.array([duel.arms for duel in duels], np.int64), differences, np.ones(len(duels))

    def _pending_rows(self, pending: Sequence[tuple[Any, int, float]]) -> PendingRows:
        """Return the pending duels given to `suggest`."""
        if not pending:
            return _NO_PENDING
        pairs = [self._checked_table(arms) for arms, _, _ in pending]
        invalid = next((pair for pair in pairs if len(pair) != 2), None)
        if invalid is not None:
            raise InvalidInput(
                f"A pending duel has {len(invalid)} arms.", "Give the two that it compares.", field="pending"
            )
        masses = [_checked_share(layer, share) for _, layer, share in pending]
        features = np.array([pair.features for pair in pairs], np.float64)
        return (
            np.array([pair.ids for pair in pairs], np.int64),
            np.ascontiguousarray(features[:, 0] - features[:, 1]),
            np.array(masses, np.float64),
        )

    def _checked_table(self, arms: Any) -> ArmTable:
        if not isinstance(arms, ArmTable):
            raise InvalidInput(*NEEDS_ARM_TABLE)
        if arms.dim != self.state.dim:
            raise InvalidInput(
                f"arms have {arms.dim} features, but those of this policy have {self.state.dim or 'none'}.",
                "Give the same features every round, or start a new policy.",
                field="arms",
            )
        return arms


def _compared(table: ArmTable, first: int, second: int) -> tuple[tuple[int, int], Floats]:
    """Return the ids of two arms, and features of the first minus those of the second."""
    ids, features = table.ids, table.features
    return (int(ids[first]), int(ids[second])), features[first] - features[second]


def check_support(policy: NativePolicy) -> None:
    """Raise InvalidInput if a policy cannot learn arm effects."""
    if policy.accepts_arm_table:
        return
    name = type(policy).__name__
    if policy.supports_arm_effects:
        raise InvalidInput(
            f"estimator is {policy.estimator!r}, but arm effects need the one-pass estimator.",
            f'Use {name}(estimator="online").',
            field="estimator",
        )
    from duelist.policies import POLICIES

    others = sorted(each for each, cls in POLICIES.items() if cls(estimator="online").accepts_arm_table)
    raise InvalidInput(
        f"{name}, with these settings, cannot learn arm effects: its rule needs more than the utilities and widths of arms.",
        f"With an ArmTable, or arms without features, use {', '.join(others[:-1])} or {others[-1]}.",
    )


def _checked_share(layer: Any, share: Any) -> float:
    """Return the weight of an outcome; with arm effects there is one layer, and -1 is none."""
    if (
        not (layer is None or (is_integer(layer) and layer in (-1, 0)))
        or not is_number(share)
        or not 0.0 <= share < np.inf
    ):
        raise InvalidInput(
            f"layer is {layer!r}, share {share!r}.", "Give those of the `Choice`, or no layer.", field="layer"
        )
    return 0.0 if layer == -1 else float(share)
