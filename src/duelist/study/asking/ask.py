"""Ask a rater for a vote: their pending duel, a waiting one, or a new one.

A duel that was given to a rater is pending until they vote. A rater who asks again gets the same duel. When a lease has expired, which
the next `ask` notices, the duel waits for the next rater whom it suits.

A rater does not see a pair again that they have voted on, unless the setting `repeat_pairs` allows it. In a new duel the arm that this
rater has seen less often on the left is shown there; if that is equal, the arm that all raters have; if that is equal, a random one.

Raters must not be able to tell gold, repeated, random and normal pairs apart. So a new lease costs the same whatever its pair is: where
a study has such pairs, the policy chooses one even if another is asked.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from duelist.core.arms import ArmTable
from duelist.core.arrays import Ints
from duelist.core.errors import NoPairsLeft, NothingToAsk
from duelist.policies import Policy
from duelist.study.asking.gold import gold_duel
from duelist.study.asking.history import RaterHistory
from duelist.study.asking.leases import AskRequest, LeasedDuel, end_expired_leases, matches, new_lease, pair_of
from duelist.study.asking.limits import apply_limits
from duelist.study.asking.pair_choice import ChosenPair, PairChooser, PendingDuel, layer_and_share, max_candidates
from duelist.study.asking.pairs import among, code, codes, codes_between, count_free, split, union
from duelist.study.asking.system_choice import SystemPairs, choose_systems
from duelist.study.cache import StudyCache
from duelist.study.errors import too_few_arms
from duelist.study.items.catalog import ArmCatalog, PolicyArms
from duelist.study.records import ChosenBy, DuelKind
from duelist.study.storage import DuelRow, Transaction

MAX_WAITING: Final = 256
"""Waiting duels that are considered for a rater."""
_REHEARSAL: Final = 0x72656865
"""Separates the random numbers of pairs that are not asked from all others."""


class _Ask(NamedTuple):
    """One call of `ask`, with the duels that are pending."""

    tx: Transaction
    cache: StudyCache
    rater: str
    history: RaterHistory
    request: AskRequest
    pending: list[LeasedDuel]
    now: int

    @property
    def arms(self) -> ArmCatalog:
        return self.cache.arms

    def unavailable_pairs(self) -> Ints:
        """Return the codes of pairs that are pending or have enough votes."""
        return union(codes_between(*self.arms.numbers_at(_rows(self.pending)).T), codes(self.request.full_pairs))

    def answered_pairs(self) -> Ints:
        """Return the codes of pairs that this rater has voted on and may not see again now."""
        return self.history.not_to_repeat(self.cache.settings.repeat_pairs)


def ask(tx: Transaction, cache: StudyCache, rater: str, request: AskRequest, now: int) -> LeasedDuel:
    """Return a duel for the rater, with its lease."""
    pending = end_expired_leases(tx, now)
    for lease, duel in pending:
        if lease.rater == rater and duel.number not in request.in_progress and matches(duel, cache.arms, request):
            return lease, duel
    request = apply_limits(tx, cache, pending, rater, request)
    history = cache.histories.get(tx, cache.arms, rater)
    call = _Ask(tx, cache, rater, history, request, pending, now)
    gold = gold_duel(tx, cache, pending, rater, request, now, partial(_is_swapped, call))
    waiting = None if gold is not None else _waiting_duel(call)
    if gold is not None or waiting is not None:
        _rehearse(call)
    if waiting is None:
        duel = _new_duel(call) if gold is None else gold
        tx.add_duels([duel])
    else:
        duel = waiting._replace(free=waiting.free - 1)
        tx.set_free(duel.number, duel.free)
    lease = new_lease(duel.number, rater, now, cache.settings)
    tx.put_lease(lease)
    return lease, duel


def _rehearse(call: _Ask) -> None:
    """Choose a pair and discard it, so that the time of a response does not tell gold and repeated pairs from others."""
    if not call.cache.settings.has_hidden_kinds:
        return
    rng = np.random.default_rng((call.cache.settings.seed, call.tx.counters.n_duels, _REHEARSAL, *call.request.entropy))
    call.cache.replay.begin(call.tx, call.arms)
    policy = call.cache.replay.refresh(call.tx, call.arms)
    choose = _choose_systems if call.arms.has_systems else _choose_pair
    with contextlib.suppress(NothingToAsk):
        choose(call, policy, rng)


def _waiting_duel(call: _Ask) -> DuelRow | None:
    """Return a duel that needs another rater: of active arms, not pending as another duel, new to this rater."""
    arms, request = call.arms, call.request
    found = call.tx.waiting_duels(call.rater, request.context, MAX_WAITING)
    if not found:
        return None
    pending = {pair_of(duel, arms): duel.number for _, duel in call.pending}
    own = {duel.number for lease, duel in call.pending if lease.rater == call.rater}
    answered = set(call.answered_pairs().tolist())
    for duel in found:
        pair = pair_of(duel, arms)
        active = not any(arms.is_retired(number) for number in pair)
        free = pending.get(pair, duel.number) == duel.number and pair not in request.full_pairs
        if not active or not free or duel.number in own or not matches(duel, arms, request):
            continue
        if duel.kind is DuelKind.REPEAT:  # it waits for the rater who has seen its pair, as other duels do
            if call.tx.lease(duel.number, call.rater) is not None:
                return duel
        elif code(*pair) not in answered:
            return duel
    return None


def _new_duel(call: _Ask) -> DuelRow:
    """Choose a new duel and balance its sides.

    Its randomness comes from the study's seed, the duel's number, and the entropy of the request.
    """
    tx, cache, arms, request = call.tx, call.cache, call.arms, call.request
    number = tx.counters.n_duels + 1
    rng = np.random.default_rng((cache.settings.seed, number, *request.entropy))
    cache.replay.begin(tx, arms)
    policy = cache.replay.refresh(tx, arms)
    repeated = _repeated_pair(call, policy, rng)
    if repeated is not None:
        _rehearse(call)
        kind, context, (numbers, chosen) = DuelKind.REPEAT, request.context, repeated
    elif arms.has_systems:
        kind, context, (numbers, chosen) = DuelKind.NORMAL, request.context, _choose_systems(call, policy, rng)
    else:
        kind, (context, numbers, chosen) = DuelKind.NORMAL, _choose_pair(call, policy, rng)
    pair = numbers[[chosen.first, chosen.second]]
    swapped = _is_swapped(call, int(pair[0]), int(pair[1]), rng)
    rows = arms.newest_rows(pair).tolist()
    shares_context = request.candidates is not None or repeated is not None or arms.has_systems
    cache.sides.add(number, *((pair[1], pair[0]) if swapped else pair))
    tx.counters.n_duels = number
    return DuelRow(
        number=number,
        first_row=rows[swapped],
        second_row=rows[not swapped],
        context=arms.common_context(rows) if shares_context else context,
        chosen_by=chosen.chosen_by,
        propensity=chosen.propensity,
        swapped=swapped,
        layer=chosen.layer,
        share=chosen.share,
        asked_at=call.now,
        free=0 if repeated is not None else cache.settings.raters_per_duel - 1,
        kind=kind,
    )


def _choose_pair(call: _Ask, policy: Policy, rng: np.random.Generator) -> tuple[str | None, Ints, ChosenPair]:
    """Return the context, the numbers of the candidates, and the chosen pair of them."""
    arms, request = call.arms, call.request
    unavailable, answered = call.unavailable_pairs(), call.answered_pairs()
    context, n_contexts = _choose_context(call, unavailable, answered, rng)
    numbers, candidates = _candidates(arms, request, context)
    taken = among(union(unavailable, answered), numbers, len(arms))
    if not count_free(len(numbers), taken):
        raise _nothing_left(call, len(numbers), len(taken), len(among(answered, numbers, len(arms))))
    chooser = PairChooser(policy, candidates, taken, _pending(call), call.tx.counters.n_duels, rng, n_contexts)
    return context, numbers, chooser.choose(call.cache.settings.random_share)


def _choose_systems(call: _Ask, policy: Policy, rng: np.random.Generator) -> tuple[Ints, ChosenPair]:
    """Return the numbers of two arms, answers of two systems to one prompt, and how they were chosen."""
    arms, request, sides = call.arms, call.request, call.cache.sides
    unavailable, answered = call.unavailable_pairs(), call.answered_pairs()
    if request.context is not None and request.context not in arms.pairs_by_context():
        raise too_few_arms(f"Context {request.context!r} has fewer than two active arms.")
    active = arms.answers.within(request.context, request.candidates)
    pairs = SystemPairs(arms.answers, active, union(unavailable, answered))
    taken = pairs.taken()
    if not count_free(len(pairs.systems), taken):
        chosen = active[active >= 0]
        by_prompt = np.bincount(arms.answers.prompt_of[chosen])
        total = int((by_prompt * (by_prompt - 1) // 2).sum())
        if not total:
            raise too_few_arms("No prompt has two active answers.")
        one, other = split(answered)
        seen = int((np.isin(one, chosen) & np.isin(other, chosen)).sum())
        raise _nothing_left(call, len(chosen), total, seen)
    sides.refresh(call.tx, arms)
    rounds, pending = call.tx.counters.n_duels, _pending(call)
    share, shown = call.cache.settings.random_share, sides.times_shown(len(arms))

    def chooser(systems: ArmTable) -> PairChooser:
        return PairChooser(policy, systems, taken, pending, rounds, rng)

    return choose_systems(pairs, arms.answers, chooser, share, shown, rng)


def _pending(call: _Ask) -> list[PendingDuel]:
    """Return the pending duels that the policy will learn from."""
    learned = [leased for leased in call.pending if leased[1].share > 0.0 and leased[1].kind is DuelKind.NORMAL]
    differences = call.arms.differences(_rows(learned))
    return [(arms, duel.layer, duel.share) for arms, (_, duel) in zip(differences, learned, strict=True)]


def _rows(leased: list[LeasedDuel]) -> Ints:
    """Return the left and right feature rows of duels (duels, 2)."""
    return np.array([(duel.first_row, duel.second_row) for _, duel in leased], np.int64).reshape(-1, 2)


def _repeated_pair(call: _Ask, policy: Policy, rng: np.random.Generator) -> tuple[Ints, ChosenPair] | None:
    """Return a pair that the rater has voted on before, if a share of duels are repeats and this is one."""
    share = call.cache.settings.repeat_pairs
    if not isinstance(share, float) or rng.random() >= share:
        return None
    arms, request = call.arms, call.request
    repeatable = np.setdiff1d(call.history.repeatable(), call.unavailable_pairs(), assume_unique=True)
    one, other = split(repeatable)
    context = arms.context_index()
    matching = (context[one] >= 0) & (context[other] >= 0)
    if request.candidates is not None:
        matching &= np.isin(one, request.candidates) & np.isin(other, request.candidates)
    elif request.context is not None:
        pairs = arms.pairs_by_context()
        matching &= context[one] == list(pairs).index(request.context) if request.context in pairs else False
    if not matching.any():
        return None
    numbers = np.array(split(repeatable[matching][[int(rng.integers(matching.sum()))]]), np.int64).ravel()
    layer, duel_share = layer_and_share(policy, arms.table(numbers), 0, 1)
    return numbers, ChosenPair(0, 1, layer, duel_share, ChosenBy.RANDOM, share / int(matching.sum()))


def _is_swapped(call: _Ask, first: int, second: int, rng: np.random.Generator) -> bool:
    """Whether the second arm of a pair is shown on the left."""
    random = bool(rng.random() < 0.5)
    call.cache.sides.refresh(call.tx, call.arms)
    lean = call.history.lean(first, second) or call.cache.sides.lean(first, second)
    return lean > 0 if lean else random


def _candidates(arms: ArmCatalog, request: AskRequest, context: str | None) -> tuple[Ints, PolicyArms]:
    """Return at least two active candidates: their numbers, and what the policy receives."""
    numbers = arms.active_by_context()[context] if request.candidates is None else request.candidates
    if len(numbers) < 2:
        raise NothingToAsk(f"There is {len(numbers)} active candidate.", "Give at least two.")
    # Of very many arms the policy considers a shortlist; converting all to double precision would take longer than choosing.
    many = len(numbers) > max_candidates(max(arms.dim, 1))
    if request.candidates is None:
        return numbers, arms.context_table(context, stored_precision=many)
    return numbers, arms.table(numbers, stored_precision=many)


def _choose_context(call: _Ask, unavailable: Ints, answered: Ints, rng: np.random.Generator) -> tuple[str | None, int]:
    """Return the context to ask in, and the number of contexts that it was drawn from."""
    request, pairs_by_context = call.request, call.arms.pairs_by_context()
    if request.candidates is not None:
        return request.context, 1
    if request.context is not None:
        if request.context not in pairs_by_context:
            raise too_few_arms(f"Context {request.context!r} has fewer than two active arms.")
        return request.context, 1
    if not pairs_by_context:
        raise too_few_arms("No context has two active arms.")
    pairs = np.array(list(pairs_by_context.values()))
    if len(pairs_by_context) == 1:
        return next(iter(pairs_by_context)), 1
    (available,) = np.nonzero(_count_by_context(union(unavailable, answered), call.arms) < pairs)
    if not len(available):
        n_arms = int((call.arms.context_index() >= 0).sum())
        raise _nothing_left(call, n_arms, int(pairs.sum()), int(_count_by_context(answered, call.arms).sum()))
    place = int(available[rng.integers(len(available))])
    return list(pairs_by_context)[place], len(available)


def _count_by_context(pairs: Ints, arms: ArmCatalog) -> Ints:
    """Count these pairs per context."""
    one, other = (arms.context_index()[half] for half in split(pairs))
    return np.bincount(one[(one >= 0) & (one == other)], minlength=len(arms.pairs_by_context()))


def _nothing_left(call: _Ask, n: int, total: int, answered: int) -> NothingToAsk:
    """Return the error for n candidates whose pairs are all unavailable."""
    rater, settings = call.rater, call.cache.settings
    again = f"let raters see a pair again (the setting repeat_pairs is {settings.repeat_pairs!r})"
    if answered == total:
        return NoPairsLeft(
            f"{rater!r} has voted on all {total} pairs of the {n} candidates.",
            f"Add arms, ask another rater, or {again}.",
        )
    if not answered:
        enough = " or have enough votes" if call.request.full_pairs else ""
        more = ", or raise the limit per pair" if call.request.full_pairs else ""
        return NothingToAsk(
            f"All {total} pairs of the {n} candidates are pending{enough}.",
            f"Wait for a vote, add arms, or let several raters vote on a duel (the setting raters_per_duel){more}.",
        )
    return NothingToAsk(
        f"Of the {total} pairs of the {n} candidates, {rater!r} has voted on {answered}, and the others are pending.",
        f"Wait for a vote, add arms, or {again}.",
    )
