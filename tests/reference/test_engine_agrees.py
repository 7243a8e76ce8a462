"""Fast policies without layers against their references, duel for duel.

Arms are Gaussian, so that ties are rare. Where they occur (on the hypercube, or while an estimate is exactly zero),
the
fast duel must attain the maximum of the reference.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from duelist.reference import REFERENCES, colstim
from tests.helpers.policies.reference_play import (
    ESTIMATORS,
    LAYERED,
    LINKS,
    Game,
    assert_same_estimates,
    engine_duel,
    play,
    play_late,
    same_duel,
    twins,
)
from tests.helpers.policies.worlds import World

FLAT = [name for name in REFERENCES if name not in LAYERED]
WITH_RADIUS = [name for name in FLAT if hasattr(REFERENCES[name], "beta")]
COMPARATORS = ("MaxInP", "MaxPairUCB", "CoLSTIM", "GreedyChallenger", "RCDB", "MaxMinLCB")
WITHOUT_RADIUS = [name for name in FLAT if name not in WITH_RADIUS]
RADII = [
    (name, radius)
    for name in WITH_RADIUS
    for radius in ("practical", "tight", "theory", "experiment", 1.5)
    if radius != "experiment" or name in COMPARATORS
]
WHOSE_ARMS = pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "changing"])


def test_every_policy_is_played_here_or_among_the_layered_ones() -> None:
    assert len(FLAT) == 18
    assert set(WITH_RADIUS) == {*COMPARATORS, "LocalPairUCB"}


@WHOSE_ARMS
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("name", "radius"), RADII)
def test_policies_with_a_radius(name: str, radius: str | float, link: str, fixed: bool) -> None:
    policy, reference = twins(name, 0, radius=radius, link=link, horizon=80)
    game = play(policy, reference, World(0, fixed, strength=1.0, link=link), 80)
    assert len(set(game.duels)) > 3


@WHOSE_ARMS
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", WITHOUT_RADIUS)
def test_policies_without_a_radius(name: str, link: str, fixed: bool) -> None:
    policy, reference = twins(name, 1, link=link)
    game = play(policy, reference, World(1, fixed, strength=1.0, link=link), 80)
    # Among fixed arms, DeltaUCB soon asks only the two farthest ones.
    assert len(set(game.duels)) > (0 if name == "DeltaUCB" and fixed else 3)


@WHOSE_ARMS
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", FLAT)
def test_the_one_pass_estimator(name: str, link: str, fixed: bool) -> None:
    policy, reference = twins(name, 2, link=link, estimator="online", horizon=60)
    play_late(policy, reference, World(2, fixed, strength=2.0, link=link), 60)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", WITH_RADIUS)
def test_the_one_pass_estimator_within_its_bound(name: str, link: str) -> None:
    settings = {"radius": "theory", "theta_bound": 0.4, "ridge": 0.01, "horizon": 300}
    policy, reference = twins(name, 7, link=link, estimator="online", **settings)
    world, game, reached = World(7, False, size=0.5, strength=8.0, link=link), Game(), 0
    for _ in range(60):
        arms = world.arms()
        duel, same = same_duel(policy, reference, arms, game)
        outcome = world.outcome(arms, game.duels[-1])
        policy.tell(duel, outcome)
        reference.tell(same, outcome)
        reached += int(np.linalg.norm(reference.theta_) > 0.4 * (1.0 - 1e-9))
        assert np.linalg.norm(reference.theta_) <= 0.4 * (1.0 + 1e-12)
        np.testing.assert_allclose(policy.theta_, reference.theta_, rtol=1e-7, atol=1e-9)
    assert reached > 3


@pytest.mark.parametrize("estimator", ESTIMATORS)
@WHOSE_ARMS
@pytest.mark.parametrize("name", FLAT)
def test_an_unknown_horizon(name: str, fixed: bool, estimator: str) -> None:
    settings = {"scale": 0.5} if name in WITH_RADIUS or name == "ThompsonPair" else {}
    policy, reference = twins(name, 3, estimator=estimator, **settings)
    play(policy, reference, World(3, fixed, dim=2), 100)


@pytest.mark.parametrize("horizon", [1, 2, 10**9])
@pytest.mark.parametrize("name", FLAT)
def test_extreme_horizons(name: str, horizon: int) -> None:
    policy, reference = twins(name, 3, horizon=horizon)
    play(policy, reference, World(3, False, dim=2), 30)


AWAY = {
    "kappa": {"radius": "theory", "kappa": 0.2, "delta": 0.3, "scale": 0.4},
    "theta_bound": {"radius": "theory", "theta_bound": 0.5, "ridge": 0.001},
    "tight": {"radius": "tight", "theta_bound": 3.0, "delta": 0.3, "scale": 0.2, "ridge": 0.1},
    "number": {"radius": 1.5, "scale": 0.3, "ridge": 2.0},
}


@pytest.mark.parametrize("setting", AWAY)
@pytest.mark.parametrize("name", WITH_RADIUS)
def test_other_hyperparameters(name: str, setting: str) -> None:
    policy, reference = twins(name, 4, horizon=300, **AWAY[setting])
    play(policy, reference, World(4, False, dim=4, n_arms=(2, 9)), 60)


SPECIAL: list[tuple[str, dict[str, Any]]] = [
    ("ThompsonPair", {"scale": 0.3}),
    ("ThompsonPair", {"feel_good": 2.0}),
    ("ThompsonPair", {"feel_good": 200.0, "scale": 2.0}),
    ("ThompsonPair", {"allow_self_duel": False}),
    ("ThompsonPair", {"allow_self_duel": False, "feel_good": 0.5, "ridge": 0.1}),
    ("RCDB", {"trust": 0.4}),
    ("RCDB", {"corruption": 5.0, "horizon": 300}),
    ("RCDB", {"trust": 0.5, "corruption": 1000.0}),
    ("RCDB", {"radius": 0.7}),
    ("BestArmPair", {"ridge": 0.05}),
    ("RankingPair", {"ridge": 0.05}),
    ("RankingPair", {"top": 1}),
    ("RankingPair", {"top": 3, "ridge": 0.3}),
    ("RewardDesign", {"coverage": 0.0}),
    ("RewardDesign", {"coverage": 0.6, "ridge": 0.05}),
    ("LocalPairUCB", {"scale": 0.1, "horizon": 200}),
    ("MaxMinLCB", {"scale": 0.2, "horizon": 200}),
    ("DRTS", {"scale": 3.0}),
    ("DeltaUCB", {"scale": 4.0, "ridge": 0.1}),
    ("InfoMax", {"scale": 0.2}),
    ("DesignPair", {"criterion": "A"}),
    ("DesignPair", {"criterion": "A", "ridge": 0.05}),
    ("CoLSTIM", {"warmup": None, "horizon": 150}),
    ("CoLSTIM", {"warmup": 15}),
    ("CoLSTIM", {"clip": 0.5}),
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@WHOSE_ARMS
@pytest.mark.parametrize(("name", "settings"), SPECIAL)
def test_hyperparameters_of_single_policies(name: str, settings: dict[str, Any], fixed: bool, estimator: str) -> None:
    link = LINKS[len(str(settings)) % 3]
    policy, reference = twins(name, 5, link=link, estimator=estimator, **settings)
    play(policy, reference, World(5, fixed, n_arms=(2, 7), link=link), 60)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", FLAT)
def test_late_and_weighted_votes(name: str, link: str) -> None:
    policy, reference = twins(name, 5, link=link)
    play_late(policy, reference, World(5, False, link=link), 80)


@pytest.mark.parametrize("unit", [1e-4, 1e-8, 1e4])
@pytest.mark.parametrize("link", LINKS)
def test_estimates_do_not_depend_on_the_unit_of_weights_and_ridge(link: str, unit: float) -> None:
    policy, reference = twins("UniformPair", 5, link=link, ridge=0.01 * unit)
    world = World(5, False, n_arms=(2, 7), link=link)
    for _ in range(40):
        arms = world.arms()
        duel, same = engine_duel(policy, arms), reference.ask(arms)
        assert duel == same
        outcome = world.outcome(arms, (duel.first, duel.second))
        policy.tell(duel, outcome, unit)
        reference.tell(same, outcome, unit)
        np.testing.assert_allclose(policy.theta_, reference.theta_, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", FLAT)
def test_many_arms(name: str) -> None:
    policy, reference = twins(name, 6)
    play(policy, reference, World(6, False, dim=5, n_arms=(37, 43)), 20)


@pytest.mark.parametrize("name", FLAT)
def test_one_dimension(name: str) -> None:
    policy, reference = twins(name, 7)
    play(policy, reference, World(7, False, dim=1), 60)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_single_arm_and_equal_arms(name: str) -> None:
    policy, reference = twins(name, 8)
    world, game = World(8, False, n_arms=(2, 5)), Game()
    for t in range(40):
        shown = world.arms()
        arms = (shown, shown[:1], np.repeat(shown[:1], 3, axis=0), np.repeat(shown, 2, axis=0))[t % 4]
        duel, same = same_duel(policy, reference, arms, game)
        outcome = world.outcome(arms, game.duels[-1])
        policy.tell(duel, outcome)
        reference.tell(same, outcome)
        assert t % 4 != 1 or game.duels[-1] == (0, 0)
    assert_same_estimates(policy, reference)


def test_max_in_p_eliminates_arms_one_by_one() -> None:
    policy, reference = twins("MaxInP", 0, radius=1.5)
    game = play(policy, reference, World(0, True, strength=1.0), 80)
    assert max(game.remaining) == 7
    assert len(set(game.remaining)) >= 4


@pytest.mark.parametrize(
    "name", ["MaxPairUCB", "RCDB", "LocalPairUCB", "GreedyChallenger", "ThompsonPair", "MaxMinLCB"]
)
def test_arms_met_themselves_and_others(name: str) -> None:
    settings: dict[str, Any] = {"scale": 0.5} if name == "ThompsonPair" else {"radius": 0.3}
    policy, reference = twins(name, 0, **settings)
    game = play(policy, reference, World(0, True, strength=6.0), 80)
    assert 0 < sum(i == j for i, j in game.duels) < 80


@pytest.mark.parametrize("link", LINKS)
def test_colstim_flips_both_sides_of_its_coin_and_clips(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def remembered(*arguments: Any) -> Any:
        drawn.append(perturbations(*arguments))
        return drawn[-1]

    perturbations = colstim.perturbations
    monkeypatch.setattr(colstim, "perturbations", remembered)
    policy, reference = twins("CoLSTIM", 9, clip=0.5, link=link, horizon=150)
    play(policy, reference, World(9, False, dim=2, n_arms=(2, 6), link=link), 150)
    assert 0 < sum(len(set(eps)) == 1 for eps in drawn) < 150
    assert 0 < sum((np.abs(eps) == 0.5).any() for eps in drawn) < 150


@pytest.mark.parametrize("name", REFERENCES)
def test_reading_the_estimate_in_every_round_changes_no_duel(name: str) -> None:
    policy, reference = twins(name, 11)
    world, game = World(11, False, dim=2, size=0.5), Game()
    for _ in range(60):
        arms = world.arms()
        duel, same = same_duel(policy, reference, arms, game)
        outcome = world.outcome(arms, game.duels[-1])
        policy.tell(duel, outcome)
        reference.tell(same, outcome)
        np.testing.assert_allclose(policy.theta_, reference.theta_, rtol=1e-7, atol=1e-7)


NARROW_ARMS = np.array([[0.0, 0.0], [0.05, 0.0], [0.02, 0.03]])
ASKED_ONLY: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in REFERENCES),
    ("VACDB", {"radius": "theory", "explore": "widest"}),  # exploits until the horizon doubles, then explores
    ("VACDB", {"radius": "theory", "explore": "value"}),
    ("StaD", {"radius": 0.6}),
    ("RCDB", {"radius": 0.6}),
]


@pytest.mark.parametrize(("name", "settings"), ASKED_ONLY)
def test_many_pending_duels_on_the_same_arms(name: str, settings: dict[str, Any]) -> None:
    policy, reference = twins(name, 12, **settings)
    game = Game()
    asked = [same_duel(policy, reference, NARROW_ARMS, game) for _ in range(20)]
    for duel, same in asked:  # each outcome belongs to the layer and share of the round that asked
        policy.tell(duel, 1.0)
        reference.tell(same, 1.0)
    assert_same_estimates(policy, reference)


# -- exact ties --------------------------------------------------------------------------

ON_THE_HYPERCUBE: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in REFERENCES),
    ("MaxInP", {"radius": 0.7}),
    ("MaxPairUCB", {"radius": 0.3}),
    ("CoLSTIM", {"link": "probit"}),
    ("GreedyChallenger", {"radius": 0.3}),
    ("LocalPairUCB", {"scale": 0.3}),
    ("BestArmPair", {"estimator": "online"}),
    ("RankingPair", {"estimator": "online", "top": 2}),
    ("MaxMinLCB", {"radius": 0.3}),
    ("DesignPair", {"criterion": "A"}),
    ("VACDB", {"scale": 3.0}),
    ("VACDB", {"explore": "widest", "alpha": 0.4, "scale": 10.0}),
    ("StaD", {"horizon": 64, "scale": 0.3}),
    ("SupCoLSTIM", {"horizon": 64, "scale": 0.3}),
]


@pytest.mark.parametrize(("name", "settings"), ON_THE_HYPERCUBE)
def test_duels_on_the_hypercube_attain_the_maximum_of_the_reference(name: str, settings: dict[str, Any]) -> None:
    arms = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    world = World(0, False, dim=3, strength=1.0, link=settings.get("link", "logistic"))
    policy, reference = twins(name, 1, **settings)
    game = Game()
    for _ in range(100):
        duel, same = same_duel(policy, reference, arms, game)
        outcome = world.outcome(arms, game.duels[-1])
        policy.tell(duel, outcome)
        reference.tell(same, outcome)
    assert_same_estimates(policy, reference)
