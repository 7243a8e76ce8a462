"""Asking: the duel a rater has already, one that waits for a rater, or a new one.

A duel that was handed out is owed an answer. A rater who asks again has the same duel; when the time of a lease has run out
(which is noticed by whoever asks next, there is no daemon), the duel goes to the next rater who asks and whom it fits.

A rater is not shown a pair that they have answered, unless the setting `repeat_pairs` says so. Of a new duel, the arm that this
rater has seen on the left less often is shown there; if that does not tell, the one that all have; if that does not, by chance.

A lease holds from one lease's length before it was given until its deadline. The first half of this is for clocks that
are set back: a lease that seems to come from far in the future would otherwise never end.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

import numpy as np

from duelist.core.arrays import Ints
from duelist.core.errors import NoPairsLeft, NothingToAsk
from duelist.policies import Policy
from duelist.study.asking.history import Histories, History, Sides
from duelist.study.asking.pair_choice import Chooser, Chosen, Pending, most_considered, placed
from duelist.study.asking.pairs import Pair, among, code, codes, codes_between, count_free, joined, split
from duelist.study.errors import too_few_arms
from duelist.study.items.catalog import KnownArms, Shown
from duelist.study.records import ChosenBy, DuelKind, StudySettings
from duelist.study.replay import Fold, counts_wins
from duelist.study.storage import DuelRow, LeaseRow, LeaseState, Transaction

Leased = tuple[LeaseRow, DuelRow]

LOOKED_AT: Final = 256
"""How many waiting duels are looked at for one that fits."""


class Known:
    """What a process knows of a study; all of it is in the storage, and may be forgotten."""

    def __init__(self, settings: StudySettings, arms: KnownArms | None = None) -> None:
        self.settings = settings
        self.arms = KnownArms(settings.arm_effects or counts_wins(settings)) if arms is None else arms
        self.fold = Fold(settings)
        self.histories = Histories()
        self.sides = Sides()

    def forget(self) -> None:
        """Drop what was read of the log; it is found again. Arms are kept."""
        self.fold.forget()
        self.histories.forget()
        self.sides.forget()


class Wanted(NamedTuple):
    """What may be asked: any of the study's groups, one of them, or the arms that are named; no pairs that are `closed`.

    The rater has the duels `in_progress` already, and wants another one.
    """

    context: str | None = None
    candidates: Ints | None = None
    closed: frozenset[Pair] = frozenset()
    in_progress: frozenset[int] = frozenset()


class _Asking(NamedTuple):
    """One ask: who, what, and what is out at the moment."""

    tx: Transaction
    known: Known
    rater: str
    history: History
    wanted: Wanted
    out: list[Leased]
    now: int

    @property
    def arms(self) -> KnownArms:
        return self.known.arms

    def pairs_out(self) -> Ints:
        """Pairs of arms that are in somebody's hands, or closed."""
        return joined(codes_between(*self.arms.owners(_rows_of(self.out)).T), codes(self.wanted.closed))

    def not_again(self) -> Ints:
        """Pairs of arms that this rater has answered and is not asked again now."""
        return self.history.not_again(self.known.settings.repeat_pairs)


class Gate(Protocol):
    """What the owner has to say before a rater is given another duel."""

    def __call__(self, out: list[Leased], wanted: Wanted) -> tuple[Wanted, DuelRow | None]:
        """What may be asked, and a duel that is to be asked before all others, if there is one."""


def ask(tx: Transaction, known: Known, rater: str, wanted: Wanted, now: int, gate: Gate | None = None) -> Leased:
    """A duel for the rater, leased."""
    out = take_back(tx, now)
    for lease, duel in out:
        if lease.rater == rater and duel.number not in wanted.in_progress and fits(duel, known.arms, wanted):
            return lease, duel
    wanted, first = (wanted, None) if gate is None else gate(out, wanted)
    asking = _Asking(tx, known, rater, known.histories.of(tx, known.arms, rater), wanted, out, now)
    waiting = None if first is not None else _waiting(asking)
    if waiting is None:
        duel = _new(asking) if first is None else first
        tx.add_duels([duel])
    else:
        duel = waiting._replace(free=waiting.free - 1)
        tx.set_free(duel.number, duel.free)
    lease = new_lease(duel.number, rater, now, known.settings)
    tx.put_lease(lease)
    return lease, duel


def new_lease(duel: int, rater: str, now: int, settings: StudySettings) -> LeaseRow:
    """An open lease from now on."""
    return LeaseRow(duel, rater, LeaseState.OPEN, now, now + round(settings.lease_seconds * 1e6))


def holds(lease: LeaseRow, now: int) -> bool:
    """Whether a lease has time left."""
    length = lease.deadline - lease.asked_at
    return lease.asked_at - length <= now < lease.deadline


def take_back(tx: Transaction, now: int) -> list[Leased]:
    """End the leases whose time has run out; those that are still out."""
    out: list[Leased] = []
    free: dict[int, int] = {}
    for leased in tx.open_leases():
        lease, duel = leased
        if holds(lease, now):
            out.append(leased)
            continue
        free[duel.number] = free.get(duel.number, duel.free) + 1
        tx.put_lease(lease._replace(state=LeaseState.RETURNED))
        tx.set_free(duel.number, free[duel.number])
    return out


def pair_of(duel: DuelRow, arms: KnownArms) -> Pair:
    """The numbers of the two arms, the smaller first."""
    first, second = arms.owner(duel.first_row), arms.owner(duel.second_row)
    return min(first, second), max(first, second)


def fits(duel: DuelRow, arms: KnownArms, wanted: Wanted) -> bool:
    """Whether a duel is what the rater asked for."""
    if wanted.context is not None and duel.context != wanted.context:
        return False
    return wanted.candidates is None or bool(np.isin(pair_of(duel, arms), wanted.candidates).all())


def _waiting(asking: _Asking) -> DuelRow | None:
    """A duel that has room for this rater: its arms in the game, its pair not out as another duel, and not answered by them."""
    arms, wanted = asking.arms, asking.wanted
    found = asking.tx.waiting_duels(asking.rater, wanted.context, LOOKED_AT)
    if not found:
        return None
    held = {pair_of(duel, arms): duel.number for _, duel in asking.out}
    own = {duel.number for lease, duel in asking.out if lease.rater == asking.rater}
    answered = set(asking.not_again().tolist())
    for duel in found:
        pair = pair_of(duel, arms)
        in_game = not any(arms.is_retired(number) for number in pair)
        free = held.get(pair, duel.number) == duel.number and pair not in wanted.closed and code(*pair) not in answered
        if in_game and free and duel.number not in own and fits(duel, arms, wanted):
            return duel
    return None


def _new(asking: _Asking) -> DuelRow:
    """A new duel, chosen, with its sides balanced. All its randomness comes from the study's seed and its number."""
    tx, known, arms, wanted = asking.tx, asking.known, asking.arms, asking.wanted
    number = tx.counters.n_duels + 1
    rng = np.random.default_rng((known.settings.seed, number))
    known.fold.begin(tx, arms)
    policy = known.fold.follow(tx, arms)
    repeated = _repeated(asking, policy, rng)
    if repeated is not None:
        kind, context, (numbers, chosen) = DuelKind.REPEAT, wanted.context, repeated
    else:
        kind, (context, numbers, chosen) = DuelKind.NORMAL, _chosen(asking, policy, rng)
    pair = numbers[[chosen.first, chosen.second]]
    swapped = _swapped(asking, int(pair[0]), int(pair[1]), rng)
    rows = arms.newest_rows(pair).tolist()
    known.sides.note(number, *((pair[1], pair[0]) if swapped else pair))
    tx.counters.n_duels = number
    return DuelRow(
        number=number,
        first_row=rows[swapped],
        second_row=rows[not swapped],
        context=context if wanted.candidates is None and repeated is None else arms.common_context(rows),
        chosen_by=chosen.chosen_by,
        propensity=chosen.propensity,
        swapped=swapped,
        layer=chosen.layer,
        share=chosen.share,
        asked_at=asking.now,
        free=0 if repeated is not None else known.settings.raters_per_duel - 1,
        kind=kind,
    )


def _chosen(asking: _Asking, policy: Policy, rng: np.random.Generator) -> tuple[str | None, Ints, Chosen]:
    """The context, the candidates by number, and the pair of them that the policy or chance has chosen."""
    arms, wanted = asking.arms, asking.wanted
    out, answered = asking.pairs_out(), asking.not_again()
    context, groups = _context(asking, out, answered, rng)
    numbers, matrix = _candidates(arms, wanted, context)
    taken = among(joined(out, answered), numbers, len(arms))
    if not count_free(len(numbers), taken):
        raise _nothing_left(asking, len(numbers), len(taken), len(among(answered, numbers, len(arms))))
    chooser = Chooser(policy, matrix, taken, _pending(asking), asking.tx.counters.n_duels, rng, groups)
    return context, numbers, chooser.choose(asking.known.settings.random_share)


def _pending(asking: _Asking) -> Pending:
    """What a policy is told of the duels that it will learn from."""
    learned = [leased for leased in asking.out if leased[1].share > 0.0 and leased[1].kind is DuelKind.NORMAL]
    compared = asking.arms.all_compared(_rows_of(learned))
    return [(seen, duel.layer, duel.share) for seen, (_, duel) in zip(compared, learned, strict=True)]


def _rows_of(leased: list[Leased]) -> Ints:
    """The rows of features that duels show, left and right (duels, 2)."""
    return np.array([(duel.first_row, duel.second_row) for _, duel in leased], np.int64).reshape(-1, 2)


def _repeated(asking: _Asking, policy: Policy, rng: np.random.Generator) -> tuple[Ints, Chosen] | None:
    """A pair that the rater has answered before, where a share of duels are such and this is one of them."""
    share = asking.known.settings.repeat_pairs
    if not isinstance(share, float) or rng.random() >= share:
        return None
    arms, wanted = asking.arms, asking.wanted
    known = np.setdiff1d(asking.history.to_check(), asking.pairs_out(), assume_unique=True)
    one, other = split(known)
    group = arms.group_of()
    fits = (group[one] >= 0) & (group[other] >= 0)
    if wanted.candidates is not None:
        fits &= np.isin(one, wanted.candidates) & np.isin(other, wanted.candidates)
    elif wanted.context is not None:
        fits &= group[one] == list(arms.askable()).index(wanted.context) if wanted.context in arms.askable() else False
    if not fits.any():
        return None
    numbers = np.array(split(known[fits][[int(rng.integers(fits.sum()))]]), np.int64).ravel()
    layer, part = placed(policy, arms.table(numbers), 0, 1)
    return numbers, Chosen(0, 1, layer, part, ChosenBy.RANDOM, share / int(fits.sum()))


def _swapped(asking: _Asking, first: int, second: int, rng: np.random.Generator) -> bool:
    """Whether the second arm of a pair is shown on the left."""
    by_chance = bool(rng.random() < 0.5)
    asking.known.sides.follow(asking.tx, asking.arms)
    lean = asking.history.lean(first, second) or asking.known.sides.lean(first, second)
    return lean > 0 if lean else by_chance


def _candidates(arms: KnownArms, wanted: Wanted, context: str | None) -> tuple[Ints, Shown]:
    """The numbers of the candidates, and what a policy is shown of them: at least two, all in the game."""
    numbers = arms.groups()[context] if wanted.candidates is None else wanted.candidates
    if len(numbers) < 2:
        raise NothingToAsk(f"There is {len(numbers)} candidate in the game.", "Give at least two.")
    # Of very many only some are looked at: to convert all of them would take longer than to choose.
    many = len(numbers) > most_considered(max(arms.dim, 1))
    return numbers, arms.group_table(context, many) if wanted.candidates is None else arms.table(numbers, many)


def _context(asking: _Asking, out: Ints, answered: Ints, rng: np.random.Generator) -> tuple[str | None, int]:
    """The context to ask in, and among how many it was drawn."""
    wanted, askable = asking.wanted, asking.arms.askable()
    if wanted.candidates is not None:
        return wanted.context, 1
    if wanted.context is not None:
        if wanted.context not in askable:
            raise too_few_arms(f"Context {wanted.context!r} does not have two arms in the game.")
        return wanted.context, 1
    if not askable:
        raise too_few_arms("No group of arms has two arms in the game.")
    pairs = np.array(list(askable.values()))
    if len(askable) == 1:
        return next(iter(askable)), 1
    (open_ones,) = np.nonzero(_by_group(joined(out, answered), asking.arms) < pairs)
    if not len(open_ones):
        n_arms = int((asking.arms.group_of() >= 0).sum())
        raise _nothing_left(asking, n_arms, int(pairs.sum()), int(_by_group(answered, asking.arms).sum()))
    place = int(open_ones[rng.integers(len(open_ones))])
    return list(askable)[place], len(open_ones)


def _by_group(pairs: Ints, arms: KnownArms) -> Ints:
    """How many of these pairs each of the askable contexts has."""
    one, other = (arms.group_of()[half] for half in split(pairs))
    return np.bincount(one[(one >= 0) & (one == other)], minlength=len(arms.askable()))


def _nothing_left(asking: _Asking, n: int, total: int, answered: int) -> NothingToAsk:
    """What to say when every pair of the n candidates is out, or answered by this rater, or both."""
    rater, settings = asking.rater, asking.known.settings
    again = f"let raters see a pair again (the setting repeat_pairs is {settings.repeat_pairs!r})"
    if answered == total:
        return NoPairsLeft(
            f"{rater!r} has answered all {total} pairs of the {n} candidates.",
            f"Add arms, ask somebody else, or {again}.",
        )
    if not answered:
        enough = " or have votes enough" if asking.wanted.closed else ""
        more = ", or raise the limit per pair" if asking.wanted.closed else ""
        return NothingToAsk(
            f"All {total} pairs of the {n} candidates are out{enough}.",
            f"Wait for a vote, add arms, or let several raters vote on a duel (the setting raters_per_duel){more}.",
        )
    return NothingToAsk(
        f"Of the {total} pairs of the {n} candidates, {rater!r} has answered {answered}, and the others are out.",
        f"Wait for a vote, add arms, or {again}.",
    )
