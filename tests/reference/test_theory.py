"""Theorems and invariances of the papers, tested on the references themselves.

Seeds were fixed before any result was known.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special

from duelist.reference import REFERENCES
from duelist.reference.pair_choice import AllowedPairs
from tests.helpers.policies.worlds import World

EXPLORE = pytest.mark.parametrize("explore", ["value", "widest", "random"])

# -- 1 and 2: weights and sizes of layers ----------------------------------------------------


@pytest.mark.parametrize("radius", ["practical", "theory"])
@EXPLORE
def test_every_explored_pair_has_the_weight_of_its_layer(explore: str, radius: str) -> None:
    """w |z|_{Sigma_l^-1} = 2^-l and w <= 1, with Sigma_l before the update; other layers do not change."""
    policy = REFERENCES["VACDB"](horizon=500, radius=radius, explore=explore, random_state=0)
    world, layers = World(0, False, dim=2), set()
    for _ in range(200):
        arms = world.arms()
        choice = policy.decide(arms, distinct=False)
        i, j = choice.pair
        z, sigma = arms[i] - arms[j], policy.layers_[choice.layer].precision
        before = {number: layer.precision for number, layer in policy.layers_.items()}
        sizes = policy.feature_scale_.variance
        w = math.sqrt(choice.share(i, j))
        policy.tell(policy.commit(arms, choice), world.outcome(arms, (i, j)))
        changed = [number for number in before if (policy.layers_[number].precision != before[number]).any()]
        if w == 0.0:
            assert changed == []
            continue
        assert w * math.sqrt(z @ np.linalg.solve(sigma, z)) == pytest.approx(2.0**-choice.layer, rel=1e-9)
        assert w <= 1.0
        if (policy.feature_scale_.variance == sizes).all():  # otherwise the priors of all layers have changed
            assert changed == [choice.layer]
        layers.add(choice.layer)
    assert len(layers) >= 2


@EXPLORE
def test_in_one_dimension_the_size_of_a_layer_is_known(explore: str) -> None:
    """Each duel multiplies Sigma_l by 1 + 4^-l, from 4^-l until 4 / Sigma_l <= 4^-l."""
    policy, arms = REFERENCES["VACDB"](horizon=10**6, radius=1e6, explore=explore), np.array([[-1.0], [1.0]])
    for _ in range(400):
        policy.tell(policy.ask(arms), 1)
    for ell in (1, 2):
        expected = math.ceil(math.log(4.0 * 16.0**ell) / math.log1p(4.0**-ell))
        assert policy.layers_[ell].count == expected


@EXPLORE
def test_a_layer_learns_no_more_than_its_bound(explore: str) -> None:
    """|Psi_l| <= 4^l 2d log(1 + 4^(l+1) A^2 |Psi_l| / d), without eliminations."""
    policy = REFERENCES["VACDB"](horizon=3000, radius="theory", scale=1e6, kappa=0.1, explore=explore, random_state=0)
    arms = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    for t in range(300):
        policy.tell(policy.ask(arms), t % 2)
    full = 0.0
    for ell, layer in policy.layers_.items():
        bound = 4.0**ell * 2 * 2 * math.log(1 + 4.0 ** (ell + 1) * 2.0 * layer.count / 2)
        assert layer.count <= bound
        full = max(full, layer.count / bound if layer.count else 0.0)
    assert full > 0.25  # the bound is not vacuous: a quarter of it is reached


# -- 3: regret of a round, appendix C -----------------------------------------------------

CONSTANTS = {"MaxInP": 4.0, "GreedyChallenger": 3.0, "MaxPairUCB": 2.0, "RCDB": 2.0}


@pytest.mark.parametrize("name", CONSTANTS)
def test_twice_the_regret_of_a_round_is_at_most_a_multiple_of_the_width(name: str) -> None:
    """At the worst theta* with |theta - theta*|_Sigma <= beta: for each arm c that could be the best,

    (2c - x - y) . theta* is at most its value at theta plus beta |2c - x - y|_{Sigma^-1}.
    """
    rng, ratios = np.random.default_rng(0), []
    for _ in range(300):
        dim, n = int(rng.integers(1, 6)), int(rng.integers(2, 20))
        radius, truth = float(np.exp(rng.uniform(-4.0, 2.0))), rng.normal(size=dim)
        policy = REFERENCES[name](radius=radius, ridge=float(np.exp(rng.uniform(-3.0, 1.0))), random_state=0)
        for _ in range(int(rng.integers(0, 40))):
            arms = rng.normal(size=(n, dim))
            i, j = duel = policy.ask(arms, distinct=False)
            policy.tell(duel, float(rng.random() < special.expit((arms[i] - arms[j]) @ truth)))
        arms = rng.normal(size=(n, dim))
        i, j = policy.ask(arms, distinct=False)
        inverse = np.linalg.inv(policy.layers_[1].precision)
        z = 2.0 * arms - arms[i] - arms[j]
        worst = (z @ policy.theta_ + radius * np.sqrt(np.einsum("ij,jk,ik->i", z, inverse, z))).max()
        bound = CONSTANTS[name] * radius * math.sqrt((arms[i] - arms[j]) @ inverse @ (arms[i] - arms[j]))
        assert worst <= bound + 1e-9 * (1.0 + abs(worst))
        if i != j:
            ratios.append(worst / bound)
    assert max(ratios) > 0.5  # the constants matter


# -- 5: invariances ----------------------------------------------------------------------


def played(name: str, arms_of_round: list[Any], **settings: Any) -> tuple[Any, Any]:
    """The duels of all rounds, and the estimate; the arm with the larger sum wins."""
    policy = REFERENCES[name](random_state=0, horizon=60, **settings)
    duels = []
    for arms in arms_of_round:
        i, j = duel = policy.ask(arms, distinct=False)
        policy.tell(duel, float(arms[i].sum() > arms[j].sum()))
        duels.append((i, j))
    return np.array(duels), policy.theta_


def rounds_of_arms(count: int = 40) -> list[Any]:
    return list(np.random.default_rng(0).normal(size=(count, 6, 3)))


DETERMINISTIC = (
    "VACDB", "MaxInP", "MaxPairUCB", "StaD", "GreedyChallenger", "RCDB", "LocalPairUCB", "BestArmPair",
    "MaxMinLCB", "DeltaUCB", "InfoMax", "DesignPair", "APO", "RankingPair",
)  # fmt: skip
LOOKS_AT_SINGLE_ARMS = ("CoLSTIM", "SupCoLSTIM")


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_relabelled_arms_give_the_relabelled_duel(name: str) -> None:
    """With an estimate: at theta = 0 all utilities tie, and the first arm is chosen."""
    arms, order = rounds_of_arms(), np.random.default_rng(1).permutation(6)
    plain, theta = played(name, arms)
    shuffled, same = played(name, arms[:5] + [a[order] for a in arms[5:]])
    np.testing.assert_array_equal(np.sort(order[shuffled[5:]], axis=1), np.sort(plain[5:], axis=1))
    np.testing.assert_allclose(same, theta, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in REFERENCES if name not in LOOKS_AT_SINGLE_ARMS])
def test_a_vector_added_to_all_arms_changes_nothing(name: str) -> None:
    arms = rounds_of_arms()
    plain, theta = played(name, arms)
    moved, same = played(name, [a + np.array([3.0, -1.0, 0.5]) for a in arms])
    np.testing.assert_array_equal(moved, plain)
    np.testing.assert_allclose(same, theta, rtol=1e-6)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_a_weight_of_two_equals_two_votes(name: str) -> None:
    """A deterministic policy chooses again the same pair, whose vote is then told twice."""
    arms, alike = rounds_of_arms(1)[0], 0.01 * rounds_of_arms(2)[1][:4]
    once, twice = (REFERENCES[name](horizon=60, random_state=0) for _ in range(2))
    for policy in (once, twice):
        policy.forget(policy.ask(alike))  # feature scales that will change
    for outcome in (1.0, 0.0, 1.0, 1.0, 0.5):
        choice = once.decide(arms)
        once.tell(once.commit(arms, choice), outcome, weight=2.0)
        other = twice.decide(arms)
        assert other.pair == choice.pair
        pair = [twice.commit(arms, choice)]
        twice.rounds_ += 1
        pair.append(twice.commit(arms, choice))
        twice.rounds_ -= 1
        for duel in pair:
            twice.tell(duel, outcome)
    assert (
        once.feature_scale_.variance > 8.0 * alike.var(axis=0)
    ).any()  # InfoMax asks one pair, whose arms agree in a feature
    np.testing.assert_allclose(once.feature_scale_.variance, twice.feature_scale_.variance, rtol=1e-14)
    np.testing.assert_allclose(once.theta_, twice.theta_, rtol=1e-9)
    for number, layer in once.layers_.items():
        np.testing.assert_allclose(layer.precision, twice.layers_[number].precision, rtol=1e-12)


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("name", REFERENCES)
def test_swapping_the_pair_and_the_outcome_changes_nothing(name: str, estimator: str) -> None:
    plain, swapped = (REFERENCES[name](random_state=0, horizon=60, estimator=estimator) for _ in range(2))
    for arms in rounds_of_arms(15):
        one, other = plain.decide(arms), swapped.decide(arms)
        (i, j), outcome = one.pair, float(arms[one.pair[0]].sum() > arms[one.pair[1]].sum())
        plain.tell(plain.commit(arms, one), outcome)
        swapped.tell(swapped.commit(arms, other, (j, i)), 1.0 - outcome)
        np.testing.assert_allclose(plain.theta_, swapped.theta_, rtol=1e-9, atol=1e-12)


def test_the_pairs_of_three_arms_are_listed_in_order() -> None:
    allowed = AllowedPairs(3, distinct=False, exclude=[(2, 0)])
    assert allowed.pairs(allowed.arms) == [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2)]
    assert allowed.different(allowed.arms) == [(0, 1), (1, 2)]
    assert allowed.partners([1, 2], allowed.arms) == {1: [1, 0, 2], 2: [2, 1]}
    assert AllowedPairs(3, exclude=[(2, 0)]).pairs_near([0, 2]) == [(0, 1), (1, 2)]
    assert AllowedPairs(4, exclude=[(0, 1), (0, 2), (0, 3)]).pairs_near([0]) == [(1, 2), (1, 3), (2, 3)]
