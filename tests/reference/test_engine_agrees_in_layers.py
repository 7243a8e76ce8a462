"""Fast policies with layers (VACDB, StaD, SupCoLSTIM) against their references, duel for duel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import duelist
from duelist.reference.links import link_slope
from tests.helpers.policies.reference_play import (
    ESTIMATORS,
    LINKS,
    Game,
    assert_same_estimates,
    play,
    play_late,
    same_duel,
    twins,
)
from tests.helpers.policies.worlds import World

STAGEWISE = ("StaD", "SupCoLSTIM")
WHOSE_ARMS = pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "changing"])


def assert_everything_happened(game: Game, fixed: bool) -> None:
    """Check that all branches were taken, so that the comparison means something."""
    assert len(game.explored) >= 2
    assert game.dropped > 0
    assert max(game.exploited) >= 2
    assert max(game.exploited_with_a_choice) >= (2 if fixed else 1)


# -- VACDB -------------------------------------------------------------------------------

# Scales for which all branches are taken, whatever the practical radius.
VACDB_UNIT = 1.0 / duelist.VACDB.practical_multiplier
VACDB_RADII: dict[str, dict[str, Any]] = {
    "practical": {"scale": 1.5e-3 * VACDB_UNIT},
    "practical-high": {"variance": "high", "scale": 1e-3 * VACDB_UNIT},
    "theory": {"radius": "theory", "scale": 6e-4},
    "theory-all": {"radius": "theory", "variance": "all", "scale": 1e-3},
    "number": {"radius": 3.0, "scale": 0.5},
}
EXPLORE = pytest.mark.parametrize("explore", ["value", "widest", "random"])


@WHOSE_ARMS
@EXPLORE
@pytest.mark.parametrize("radius", VACDB_RADII)
def test_vacdb(radius: str, explore: str, fixed: bool) -> None:
    total = Game()
    for seed, link in enumerate(LINKS):
        policy, reference = twins("VACDB", seed, explore=explore, link=link, alpha=0.4, **VACDB_RADII[radius])
        total += play(policy, reference, World(seed, fixed, dim=2, size=0.25, strength=1.5, link=link), 200)
    assert_everything_happened(total, fixed)


@EXPLORE
@pytest.mark.parametrize("radius", VACDB_RADII)
def test_vacdb_with_the_one_pass_estimator(radius: str, explore: str) -> None:
    # The published radius bounds the estimate, so it has to be small for arms to be eliminated.
    smaller = {"scale": 0.05 * VACDB_RADII[radius]["scale"]} if radius.startswith("theory") else {}
    total = Game()
    for seed, link in enumerate(LINKS):
        settings = {"explore": explore, "link": link, "alpha": 0.4, "estimator": "online", "theta_bound": 0.5}
        policy, reference = twins("VACDB", seed, **settings, **{**VACDB_RADII[radius], **smaller})
        total += play_late(policy, reference, World(seed, seed == 1, dim=2, size=0.25, strength=1.5, link=link), 100)
    assert len(total.explored) >= 2
    assert total.dropped > 0


@WHOSE_ARMS
@EXPLORE
def test_vacdb_with_the_tight_radius(explore: str, fixed: bool) -> None:
    total = Game()
    for seed, link in enumerate(LINKS):
        settings = {"explore": explore, "link": link, "alpha": 0.4, "radius": "tight", "scale": 0.1, "theta_bound": 2.0}
        policy, reference = twins("VACDB", seed, **settings)
        total += play(policy, reference, World(seed, fixed, dim=2, size=0.25, strength=1.5, link=link), 200)
    assert_everything_happened(total, fixed)


@pytest.mark.parametrize("name", ["VACDB", *STAGEWISE])
def test_the_tight_radius_with_late_and_weighted_votes(name: str) -> None:
    for seed, link in enumerate(LINKS):
        settings = {"link": link, "radius": "tight", "scale": 0.02, "horizon": 64}
        policy, reference = twins(name, seed, **settings)
        play_late(policy, reference, World(seed, False, dim=2, size=0.25, strength=1.5, link=link), 120)


@WHOSE_ARMS
@EXPLORE
@pytest.mark.parametrize("horizon", [200, None])
def test_vacdb_with_the_alpha_of_its_horizon(horizon: int | None, explore: str, fixed: bool) -> None:
    total = Game()
    for seed, link in enumerate(LINKS):
        policy, reference = twins("VACDB", seed, explore=explore, horizon=horizon, link=link, scale=1.4e-3 * VACDB_UNIT)
        total += play(policy, reference, World(seed, fixed, dim=2, size=0.25, strength=1.5, link=link), 200)
    assert len(total.explored) >= 2
    assert total.dropped > 0
    assert max(total.exploited) >= 2


def test_vacdb_switches_to_the_variance_estimate_in_high_layers() -> None:
    kappa, delta = 20.0, 0.05
    policy, reference = twins("VACDB", 1, radius="theory", kappa=kappa, ridge=0.05, scale=0.03, alpha=0.1)
    game = play(policy, reference, World(1, False, dim=2, size=0.25, strength=1.5), 200)

    def switches_at(t: int) -> float:
        """2^l from which layer l estimates its variance, by the paper; alpha = 0.1 has 4 layers."""
        log_next = math.log(4.0 * (t + 1) ** 2 * 4 / delta)
        return float(64.0 * link_slope("logistic", 0.0) / kappa * math.sqrt(log_next))

    low = sum(count for layer, count in game.explored.items() if 2.0**layer < switches_at(1))
    high = sum(count for layer, count in game.explored.items() if 2.0**layer >= switches_at(200))
    assert min(low, high) > 20


@pytest.mark.parametrize("alpha", [0.9, 0.5, 0.04])
def test_vacdb_with_a_given_alpha(alpha: float) -> None:
    policy, reference = twins("VACDB", 2, alpha=alpha, scale=1e-3 * VACDB_UNIT, horizon=50)
    play(policy, reference, World(2, False, size=0.4), 120)


@EXPLORE
@pytest.mark.parametrize("radius", VACDB_RADII)
@pytest.mark.parametrize("first_layer", [0, -2])
def test_vacdb_from_coarser_layers(first_layer: int, radius: str, explore: str) -> None:
    # Layer -2 ignores widths below 4^2 units, so arms are large, or the first ones, which set the unit, are small.
    theory = radius.startswith("theory")
    size, smaller = (10.0, 1.0) if theory else (0.25, 30.0)
    total = Game()
    for seed, link in enumerate(LINKS):
        settings = {**VACDB_RADII[radius], **({"kappa": 0.1} if theory else {}), "explore": explore, "link": link}
        policy, reference = twins("VACDB", seed, ridge=0.1, alpha=0.4, first_layer=first_layer, **settings)
        world = World(seed, seed != 1, dim=2, n_arms=(2, 7), size=size, strength=1.5, link=link)
        first = np.array([[1.0, -1.0], [-1.0, 1.0]]) * 0.5 * size / smaller
        same_duel(policy, reference, first, Game())
        total += play(policy, reference, world, 50)
        assert len(policy.layer_counts_) == 2 + 1 - first_layer
    assert min(total.explored) == first_layer
    assert len(total.explored) >= 2


@pytest.mark.parametrize("first_layer", [0, -2])
def test_vacdb_from_coarser_layers_with_an_unknown_horizon(first_layer: int) -> None:
    for seed, link in enumerate(LINKS):
        policy, reference = twins("VACDB", seed, link=link, scale=1e-3 * VACDB_UNIT, first_layer=first_layer)
        play_late(policy, reference, World(seed, False, dim=2, size=0.25, strength=1.5, link=link), 120)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("radius", VACDB_RADII)
def test_vacdb_with_late_and_weighted_votes(radius: str, link: str) -> None:
    policy, reference = twins("VACDB", 3, link=link, **VACDB_RADII[radius])
    game = play_late(policy, reference, World(3, False, dim=2, size=0.25, strength=1.5, link=link), 150)
    assert len(game.explored) >= 2
    assert game.dropped > 0
    assert game.exploited.total() > 0


def test_the_estimates_of_vacdb_are_exact_however_small_kappa_is() -> None:
    policy, reference = twins("VACDB", 4, radius="theory", theta_bound=5.0)
    world, game = World(4, True, dim=2, n_arms=(5, 5)), Game()
    for _ in range(30):
        arms = world.arms()
        duel, same = same_duel(policy, reference, arms, game)
        outcome = world.outcome(arms, game.duels[-1])
        policy.tell(duel, outcome)
        reference.tell(same, outcome)
        assert_same_estimates(policy, reference)


# -- StaD and SupCoLSTIM -----------------------------------------------------------------

STAGEWISE_UNIT = 1.0 / duelist.StaD.practical_multiplier
STAGEWISE_RADII: dict[str, dict[str, Any]] = {
    "practical": {"scale": 0.3 * STAGEWISE_UNIT},
    "theory": {"radius": "theory", "theta_bound": 0.3, "scale": 0.02},
    "number": {"radius": 0.7, "scale": 0.8},
}


@WHOSE_ARMS
@pytest.mark.parametrize("name", STAGEWISE)
def test_stagewise_policies_with_the_tight_radius(name: str, fixed: bool) -> None:
    total = Game()
    for seed, link in enumerate(LINKS):
        policy, reference = twins(name, seed, horizon=64, link=link, radius="tight", scale=0.1, theta_bound=2.0)
        total += play(policy, reference, World(seed, fixed, dim=2, strength=0.35, link=link), 120)
    assert len(total.explored) >= 2
    assert total.dropped > 0


@WHOSE_ARMS
@pytest.mark.parametrize("radius", STAGEWISE_RADII)
@pytest.mark.parametrize("horizon", [16, 20, 64, None])
@pytest.mark.parametrize("name", STAGEWISE)
def test_stagewise_policies(name: str, horizon: int | None, radius: str, fixed: bool) -> None:
    total = Game()
    for seed, link in enumerate(LINKS):
        policy, reference = twins(name, seed, horizon=horizon, link=link, **STAGEWISE_RADII[radius])
        total += play(policy, reference, World(seed, fixed, dim=2, strength=0.35, link=link), 120)
    assert_everything_happened(total, fixed)


@pytest.mark.parametrize("name", STAGEWISE)
def test_stagewise_policies_stop_exploring_once_all_p_are_at_most_one_over_root_t(name: str) -> None:
    # p = 1/2 before and 0.354 after one duel: below 1/sqrt(5) = 0.447, above 2^-2 of the last layer, s = 2.
    policy, reference = twins(name, horizon=5, radius=0.5, ridge=1.0)
    arms, game = np.array([[0.0], [1.0]]), Game()
    for _ in range(12):
        duel, same = same_duel(policy, reference, arms, game)
        policy.tell(duel, 0.5)
        reference.tell(same, 0.5)
    assert [reference.layers_[s].count for s in (1, 2)] == [0, 1]
    assert policy.layer_counts_ == [0, 1]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("radius", STAGEWISE_RADII)
@pytest.mark.parametrize("name", STAGEWISE)
def test_stagewise_policies_with_late_and_weighted_votes(name: str, radius: str, link: str, estimator: str) -> None:
    policy, reference = twins(name, 3, link=link, horizon=64, estimator=estimator, **STAGEWISE_RADII[radius])
    game = play_late(policy, reference, World(3, False, dim=2, strength=0.35, link=link), 120)
    assert len(game.explored) >= 2
    assert game.dropped > 0
    assert game.exploited.total() > 0
