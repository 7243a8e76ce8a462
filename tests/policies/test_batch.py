"""`ask_batch`: the duels of many contexts, and the choice of the most informative ones."""

import json

import numpy as np
import pytest

import duelist as dl
from duelist.core.errors import InvalidInput, UnknownDuel
from duelist.policies import POLICIES
from tests.helpers.policy_state import known, pending

DIM = 3
DETERMINISTIC = [name for name, cls in POLICIES.items() if not cls().make_rule().is_randomized]
RANDOM = [name for name in POLICIES if name not in DETERMINISTIC]
CONTEXT_BY_CONTEXT = [name for name, cls in POLICIES.items() if not cls().make_rule().designs_batches]
"""Each context is decided on its own, and then the contexts are chosen; the others choose both together (test_reward_design.py)."""


def trained(name, rounds=40, seed=0, **settings):
    """A policy that has learned something, and has a duel pending."""
    rng = np.random.default_rng(seed)
    policy = POLICIES[name](random_state=seed, **settings)
    theta = rng.normal(size=DIM)
    for _ in range(rounds):
        arms = rng.normal(size=(5, DIM))
        duel = policy.ask(arms)
        policy.tell(duel, float((arms[duel.first] - arms[duel.second]) @ theta + rng.logistic() > 0))
    policy.ask(rng.normal(size=(5, DIM)))
    return policy


def contexts(n=12, candidates=5, seed=1, dim=DIM):
    return np.random.default_rng([seed, n]).normal(size=(n, candidates, dim))


def copy_of(policy):
    return type(policy).restore(json.loads(json.dumps(policy.snapshot())))


def pairs(batch):
    return [(duel.first, duel.second) for duel in batch.duels]


# -- the duels ---------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_every_context_gets_the_duel_it_would_get_alone(name, estimator):
    policy = trained(name, estimator=estimator)
    arms = contexts()
    alone = []
    for context in arms:
        duel = copy_of(policy).ask(context)
        alone.append((duel.first, duel.second))
    for threads in (1, 2, 3, None):
        assert pairs(copy_of(policy).ask_batch(arms, threads=threads)) == alone
    assert pairs(policy.ask_batch(arms)) == alone


@pytest.mark.parametrize("name", RANDOM)
def test_a_random_policy_plays_the_contexts_in_order_from_its_own_seed(name):
    policy, arms = trained(name), contexts()
    batches = [copy_of(policy).ask_batch(arms, threads=threads) for threads in (1, 2, 3)]
    assert pairs(batches[0]) == pairs(batches[1]) == pairs(batches[2])
    first = copy_of(policy).ask(arms[0])
    assert pairs(batches[0])[0] == (first.first, first.second)
    used = copy_of(policy)
    used.ask_batch(arms)
    assert used.snapshot()["state"]["words"] != policy.snapshot()["state"]["words"] or name == "SupCoLSTIM"


@pytest.mark.parametrize("name", ["UniformPair", "CoLSTIM"])
def test_another_seed_gives_other_duels(name):
    arms = contexts(40)
    one, same, other = (POLICIES[name](random_state=s).ask_batch(arms) for s in (0, 0, 1))
    assert pairs(one) == pairs(same)
    assert pairs(one) != pairs(other)


@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("name", POLICIES)
def test_threads_change_nothing(name, k):
    policy, arms = trained(name), contexts(17)
    batches = [copy_of(policy).ask_batch(arms, k=k, threads=threads) for threads in (1, 2, 3, 40)]
    for batch in batches[1:]:
        assert batch.duels == batches[0].duels
        np.testing.assert_array_equal(batch.contexts, batches[0].contexts)
        np.testing.assert_array_equal(batch.information, batches[0].information)


@pytest.mark.parametrize("name", POLICIES)
def test_all_contexts_in_order(name):
    policy, arms = trained(name), contexts()
    batch = policy.ask_batch(arms)
    assert batch.contexts.tolist() == list(range(12))
    assert len(batch) == 12
    assert list(batch) == list(zip(range(12), batch.duels, strict=True))
    assert all(0 <= duel.first < 5 and 0 <= duel.second < 5 for duel in batch.duels)
    assert [duel.id for duel in batch.duels] == list(range(41, 53))
    assert (batch.information >= 0.0).all()


@pytest.mark.parametrize("name", POLICIES)
def test_the_very_first_call_may_be_a_batch(name):
    policy, arms = POLICIES[name](random_state=0), contexts()
    batch = policy.ask_batch(arms)
    assert policy.dim_ == DIM
    assert policy.rounds_ == 12
    if name in DETERMINISTIC:  # the arms of the first context set the units
        alone = POLICIES[name](random_state=0).ask(arms[0])
        assert pairs(batch)[0] == (alone.first, alone.second)
    for _, duel in batch:
        policy.tell(duel, 1)
    assert np.isfinite(policy.theta_).all()


@pytest.mark.parametrize("k", [None, 9])
@pytest.mark.parametrize("candidates", [2, 5])
@pytest.mark.parametrize("name", POLICIES)
def test_no_arm_meets_itself_unless_asked_for(name, candidates, k):
    """Also where a policy has learned enough to be content with the arm it knows: with fixed arms most published rules soon are."""
    policy, shown = POLICIES[name](random_state=0), np.array([[1.0, 0, 0], [0, 0, 0]])
    for _ in range(300):
        policy.tell(policy.ask(shown), 1.0)
    batch = policy.ask_batch(
        np.concatenate([np.tile(shown[:2], (10, 1, 1)), contexts(10, 2)])[:, [0, 1, 0, 1, 1][:candidates]], k=k
    )
    assert all(duel.first != duel.second for duel in batch.duels)


def test_nothing_is_learned_by_asking():
    policy = trained("MaxPairUCB")
    theta, precision = policy.theta_, policy.precision_
    policy.ask_batch(contexts(), k=3)
    np.testing.assert_array_equal(policy.theta_, theta)
    np.testing.assert_array_equal(policy.precision_, precision)


# -- the most informative ----------------------------------------------------------------


def worth(policy, duel):
    """(layer, w^2 zz') of a duel handed out."""
    out = pending(policy)[duel.id]
    return out.layer, out.share * np.outer(out.difference, out.difference)


def awaited(policy):
    """Precisions of all layers as if what is out were answered."""
    precisions = {layer: policy.layer_precision(layer) for layer in range(len(known(policy).theta))}
    for out in pending(policy).values():
        if out.share > 0.0:
            precisions[out.layer] = precisions[out.layer] + out.share * np.outer(out.difference, out.difference)
    return precisions


def log_det(matrix):
    return np.linalg.slogdet(matrix)[1]


def gains_along(precisions, worths, chosen):
    """What each choice adds to log det, and the most that any context left could have added then."""
    precisions = {layer: p.copy() for layer, p in precisions.items()}
    left, gains, best = list(range(len(worths))), [], []
    for pick in chosen:
        added = {}
        for c in left:
            layer, square = worths[c]
            added[c] = 0.0 if layer < 0 else log_det(precisions[layer] + square) - log_det(precisions[layer])
        gains.append(added[pick])
        best.append(max(added.values()))
        left.remove(pick)
        layer, square = worths[pick]
        if layer >= 0:
            precisions[layer] += square
    return gains, best


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("name", CONTEXT_BY_CONTEXT)
@pytest.mark.parametrize("k", [1, 5, 25])
def test_the_chosen_contexts_are_the_greedy_ones(name, k, estimator):
    policy, arms = trained(name, estimator=estimator), contexts(25)
    everything = copy_of(policy)
    batch_of_all = everything.ask_batch(arms)
    worths = [worth(everything, duel) for duel in batch_of_all.duels]
    precisions = awaited(policy)
    alone = [0.0 if layer < 0 else log_det(precisions[layer] + w) - log_det(precisions[layer]) for layer, w in worths]
    np.testing.assert_allclose(batch_of_all.information, alone, rtol=0, atol=1e-9)
    batch = policy.ask_batch(arms, k=k)
    # Ties are common: whatever VACDB explores in layer l has w |z| = 2^-l, so only what was chosen before tells apart.
    gains, best = gains_along(precisions, worths, batch.contexts.tolist())
    np.testing.assert_allclose(batch.information, gains, rtol=0, atol=1e-9)
    np.testing.assert_allclose(gains, best, rtol=0, atol=1e-9)
    assert pairs(batch) == [pairs(batch_of_all)[c] for c in batch.contexts]
    assert len(set(batch.contexts.tolist())) == k
    if name not in ("StaD", "SupCoLSTIM", "VACDB"):  # one layer: what is left is worth less and less
        assert (np.diff(batch.information) <= 1e-12).all()


def test_the_information_of_all_chosen_is_the_growth_of_log_det():
    policy, arms = trained("MaxPairUCB"), contexts(10)
    before = awaited(policy)[0]
    batch = policy.ask_batch(arms, k=10)
    for number in policy.pending_:
        policy.tell(number, 1)
    assert batch.information.sum() == pytest.approx(log_det(policy.precision_) - log_det(before), abs=1e-9)


def test_a_copy_of_a_chosen_context_waits_for_a_more_informative_one():
    wide, other = np.array([[4.0, 0, 0], [-4.0, 0, 0]]), np.array([[0, 2.0, 0], [0, -2.0, 0]])
    policy = dl.MaxPairUCB(ridge=1.0, radius=5.0)
    batch = policy.ask_batch(np.stack([wide, wide, other, wide]), k=4)
    # log(1 + 64), then log(1 + 16) against log(1 + 64/65).
    assert batch.contexts.tolist() == [0, 2, 1, 3]
    np.testing.assert_allclose(
        batch.information, np.log([1 + 64, 1 + 16, (1 + 128) / (1 + 64), (1 + 192) / (1 + 128)]), rtol=1e-12
    )


def test_without_k_a_context_is_valued_on_its_own():
    wide = np.array([[4.0, 0, 0], [-4.0, 0, 0]])
    batch = dl.MaxPairUCB(ridge=1.0, radius=5.0).ask_batch(np.stack([wide, wide]))
    np.testing.assert_allclose(batch.information, np.log([65, 65]), rtol=1e-12)


def test_a_single_candidate_is_worth_nothing():
    batch = trained("MaxPairUCB").ask_batch(contexts(4, 1), k=2)
    assert batch.information.tolist() == [0.0, 0.0]
    assert batch.contexts.tolist() == [0, 1]


# -- afterwards --------------------------------------------------------------------------


@pytest.mark.parametrize("k", [None, 1, 6, 12])
@pytest.mark.parametrize("name", POLICIES)
def test_every_duel_is_told_like_any_other(name, k):
    policy, handed_out = trained(name), k or 12
    batch = policy.ask_batch(contexts(), k=k)
    assert len(batch) == handed_out
    assert policy.rounds_ == 41 + handed_out
    assert policy._player.rounds == 41 + handed_out
    assert policy.pending_ == [40, *(duel.id for duel in batch.duels)]
    restored = copy_of(policy)
    assert restored.pending_ == policy.pending_
    for duel in reversed(batch.duels):
        for p in (policy, restored):
            p.tell(duel, 1)
    assert policy.pending_ == [40]
    with pytest.raises(UnknownDuel):
        policy.tell(batch.duels[0], 1)
    np.testing.assert_array_equal(policy.theta_, restored.theta_)
    arms = contexts(1, 9, seed=5)[0]
    for n in (2, 9, 1, 5):
        one, two = policy.ask(arms[:n]), restored.ask(arms[:n])
        assert one == two
        assert max(one.first, one.second) < n
    again, same = policy.ask_batch(contexts(3, 7)), restored.ask_batch(contexts(3, 7))
    assert again.duels == same.duels


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_asking_between_batches_is_asking_a_fresh_copy(name):
    policy = trained(name)
    for n, candidates in ((3, 2), (2, 9), (4, 4)):
        policy.ask_batch(contexts(n, candidates), k=1)
        arms = contexts(1, candidates + 2, seed=n)[0]
        expected = copy_of(policy).ask(arms)
        assert policy.ask(arms) == expected


@pytest.mark.parametrize("name", POLICIES)
def test_large_batches_into_an_exact_estimate(name):
    policy = POLICIES[name](random_state=0)
    for seed in range(2):
        for _, duel in policy.ask_batch(contexts(150, 3, seed), threads=2):
            policy.tell(duel, duel.id % 2)
    assert policy.rounds_ == 300
    assert np.isfinite(policy.theta_).all()


# -- bad input ---------------------------------------------------------------------------

WITH_NAN = contexts(4, 3)
WITH_NAN[2, 1, 0] = np.nan
BAD = {
    "a round": (np.ones((4, 3)), {}, r"shape \(4, 3\). Give finite features \(contexts, candidates, dim\)"),
    "no contexts": (np.ones((0, 4, 3)), {}, r"shape \(0, 4, 3\)"),
    "no candidates": (np.ones((2, 0, 3)), {}, r"shape \(2, 0, 3\)"),
    "no features": (np.ones((2, 4, 0)), {}, r"shape \(2, 4, 0\)"),
    "nan": (WITH_NAN, {}, r"arms\[2, 1, 0\] is nan|nan"),
    "infinite": (np.full((2, 2, 3), np.inf), {}, "inf"),
    "overflow": (np.full((2, 2, 3), 1e200), {}, "Rescale the features"),
    "words": ([[["a", "b", "c"]]], {}, "arms"),
    "k zero": (contexts(4), {"k": 0}, "k is 0. Give a number of contexts from 1 to 4"),
    "k negative": (contexts(4), {"k": -1}, "k is -1"),
    "k too large": (contexts(4), {"k": 5}, "k is 5. Give a number of contexts from 1 to 4, or leave it out"),
    "k a fraction": (contexts(4), {"k": 2.0}, "k is 2.0"),
    "k true": (contexts(4), {"k": True}, "k is True"),
    "no threads": (contexts(4), {"threads": 0}, "threads is 0. Give a whole number of at least 1"),
    "half a thread": (contexts(4), {"threads": 0.5}, "threads is 0.5"),
    "other features": (contexts(4, dim=5), {}, "5 features, but this policy has learned with 3"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_and_changes_nothing(case):
    arms, settings, message = BAD[case]
    policy = trained("MaxPairUCB")
    before = policy.snapshot()
    with pytest.raises(InvalidInput, match=message):
        policy.ask_batch(arms, **settings)
    assert policy.snapshot() == before


def test_bad_input_as_the_very_first_call_leaves_it_fresh():
    policy = dl.MaxPairUCB()
    for arms, settings in ((WITH_NAN, {}), (contexts(4), {"k": 9}), (contexts(4), {"threads": 0})):
        with pytest.raises(InvalidInput):
            policy.ask_batch(arms, **settings)
        assert policy.dim_ is None
        assert policy.rounds_ == 0


def test_the_arms_are_left_alone():
    arms = contexts()
    arms.flags.writeable = False
    before = arms.copy()
    trained("MaxInP").ask_batch(arms, k=3)
    trained("MaxInP").ask_batch(arms[:, ::-1, ::-1], k=3)
    trained("MaxInP").ask_batch(arms.tolist())
    np.testing.assert_array_equal(arms, before)


# -- contexts of unlike sizes, and more duels than contexts --------------------------------


def unlike(sizes, dim=3, seed=5):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, dim)) for n in sizes]


@pytest.mark.parametrize("name", ["MaxPairUCB", "LocalPairUCB", "MaxInP", "VACDB", "BestArmPair", "APO"])
def test_contexts_of_unlike_sizes_are_decided_as_one_by_one(name):
    arms = unlike([4, 2, 7, 1, 4, 3])
    policy, alone = trained(name), trained(name)
    batch = policy.ask_batch(arms)
    assert batch.contexts.tolist() == list(range(6))
    for (context, duel), table in zip(batch, arms, strict=True):
        assert tuple(duel) == tuple(alone.suggest(table))[:2], context
        policy.tell(duel, 1.0)  # it knows the difference that the duel was about


class Frame:
    """What data frames and tensors are to NumPy."""

    def __init__(self, values):
        self._values, self.ndim = values, 2

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype)

    def __len__(self):
        return len(self._values)


def test_unlike_contexts_may_be_whatever_numpy_takes_for_an_array():
    arms = unlike([4, 2, 3])
    framed, plain = (dl.LocalPairUCB(random_state=0).ask_batch(each) for each in ([Frame(a) for a in arms], arms))
    assert [tuple(duel) for duel in framed] == [tuple(duel) for duel in plain]


def test_a_batch_with_a_very_large_context_says_why_others_are_asked_once():
    with pytest.raises(dl.InvalidInput, match="contexts with 256 candidates or more in a separate batch"):
        dl.RewardDesign().ask_batch(unlike([256, 3, 4]), k=5)


def test_unlike_contexts_are_chosen_as_their_information_says():
    arms = unlike([2, 6, 3, 5, 2, 4, 8])
    one_by_one = trained("MaxPairUCB").ask_batch(arms)
    assert trained("MaxPairUCB").ask_batch(arms, k=1).contexts[0] == np.argmax(one_by_one.information)
    some = trained("MaxPairUCB").ask_batch(arms, k=4)
    assert len(set(some.contexts.tolist())) == 4
    again = trained("MaxPairUCB").ask_batch([each.tolist() for each in arms], k=4, threads=1)
    assert (some.contexts == again.contexts).all()


def test_a_list_of_like_contexts_is_the_array():
    arms = contexts(5)
    listed, array = trained("MaxPairUCB").ask_batch(list(arms), k=3), trained("MaxPairUCB").ask_batch(arms, k=3)
    assert [tuple(duel) for duel in listed.duels] == [tuple(duel) for duel in array.duels]


@pytest.mark.parametrize("coverage", [0.0, 0.5, 1.0])
def test_a_design_takes_more_duels_than_contexts(coverage):
    """No pair twice, every pair at last, and nothing that is not there."""
    arms = unlike([3, 1, 4, 2])
    policy = dl.RewardDesign(coverage=coverage, random_state=1)
    batch = policy.ask_batch(arms, k=10)  # all 3 + 0 + 6 + 1 pairs
    asked = {(context, *sorted(duel)) for context, duel in batch}
    assert asked == {(c, i, j) for c, table in enumerate(arms) for j in range(len(table)) for i in range(j)}
    for _, duel in batch:
        policy.tell(duel, 1.0)
    some = dl.RewardDesign(coverage=coverage, random_state=1).ask_batch(arms, k=6)
    assert len({(context, *sorted(duel)) for context, duel in some}) == 6
    with pytest.raises(InvalidInput, match=r"k is 11\. Give a number of duels from 1 to 10, the number of pairs"):
        policy.ask_batch(arms, k=11)


def test_the_first_pair_of_a_design_adds_most():
    """log(1 + z' z / (4 ridge)) in all contexts at once, by hand."""
    arms = unlike([3, 5, 2, 6])
    policy = dl.RewardDesign(coverage=0.0, ridge=1.0, random_state=0)
    (first, *_) = policy.ask_batch(arms, k=3)
    context, duel = first
    sizes = {
        (c, i, j): float(np.square(table[i] - table[j]).sum())
        for c, table in enumerate(arms)
        for j in range(len(table))
        for i in range(j)
    }
    assert (context, *sorted(duel)) == max(sizes, key=lambda key: sizes[key])


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ([np.ones((3, 2)), np.ones((2, 3))], "Context 1: arms have 3 features, and those of context 0 have 2"),
        ([np.ones((3, 2)), np.full((2, 2), np.nan)], "Context 1: "),
        ([np.ones((3, 2)), np.ones((0, 2))], "Context 1: "),
        ([np.ones((3, 2)), ["a", "b"]], "Context 1: "),
    ],
)
def test_bad_contexts_are_named(arms, message):
    policy = dl.MaxPairUCB()
    with pytest.raises(InvalidInput, match=message):
        policy.ask_batch(arms)
    assert policy.dim_ is None


def test_who_asks_for_more_than_one_a_context_is_told_of_who_can():
    with pytest.raises(InvalidInput, match="RewardDesign asks about several pairs per context"):
        trained("MaxPairUCB").ask_batch(contexts(4), k=9)
