"""Compiled policies against the slow references of `tests/reference`, duel for duel.

Arms are Gaussian, so that ties hardly occur; where they do (on the hypercube, or while an estimate is exactly
zero), the compiled duel must attain the maximum of the reference instead.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import duelist
from duelist.domain import Duel
from duelist.policies import POLICIES, CompiledPolicy
from duelist.reference.baselines import GreedyChallenger, GreedyUniform, UniformPair
from duelist.reference.colstim import CoLSTIM
from duelist.reference.estimation import Floats, Pair, Reference, Row, link_slope
from duelist.reference.layers import Events
from duelist.reference.max_in_p import MaxInP
from duelist.reference.max_pair_ucb import MaxPairUCB
from duelist.reference.stad import StaD
from duelist.reference.sup_colstim import SupCoLSTIM
from duelist.reference.vacdb import VACDB
from tests.reference.worlds import World

REFERENCES: dict[str, type[Reference]] = {
    cls.__name__: cls
    for cls in (
        VACDB,
        MaxInP,
        MaxPairUCB,
        CoLSTIM,
        StaD,
        SupCoLSTIM,
        UniformPair,
        GreedyUniform,
        GreedyChallenger,
    )
}
LINKS = ("logistic", "probit", "exponential")
FLAT = ("MaxInP", "MaxPairUCB", "CoLSTIM", "GreedyChallenger")
STAGEWISE = ("StaD", "SupCoLSTIM")
TUNED = {"VACDB": ("practical_multiplier", "practical_ridge")} | dict.fromkeys(STAGEWISE, ("practical_multiplier",))
WHOSE_ARMS = pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "changing"])


def twins(name: str, seed: int = 0, **settings: Any) -> tuple[CompiledPolicy, Any]:
    """A compiled policy and its reference. Tuned constants of layered policies are settings, not part of the rule."""
    compiled = POLICIES[name]
    tuned = {key: getattr(compiled, key) for key in TUNED.get(name, ())}
    return compiled(random_state=seed, **settings), REFERENCES[name](random_state=seed, **settings, **tuned)


NEAR_TIE = 1e-9
"""Below the accuracy of the estimates; it happens where one win and one loss leave an estimate of exactly zero."""


def same_duel(policy: CompiledPolicy, reference: Reference, arms: Floats, t: int) -> tuple[Duel, Pair]:
    """The duel of round t, which both must have chosen."""
    duel = policy.ask(arms)
    played = (duel.first, duel.second)
    choice = reference.ask(arms, played)
    assert played == choice.pair or choice.shortfall(*played) <= NEAR_TIE, f"round {t + 1}"
    return duel, played


def play(policy: CompiledPolicy, reference: Reference, world: World, rounds: int, start: int = 0) -> list[Pair]:
    """Every duel told at once; the duels played. `start`: so many were asked before."""
    duels = []
    for t in range(start, start + rounds):
        arms = world.arms()
        duel, played = same_duel(policy, reference, arms, t)
        outcome = world.outcome(arms, played)
        policy.tell(duel, outcome)
        reference.tell(t, outcome)
        duels.append(played)
    assert_same_estimates(policy, reference)
    return duels


def play_late(policy: CompiledPolicy, reference: Reference, world: World, rounds: int) -> None:
    """Some duels are told late, out of order, as ties, with weights; the last ones never."""
    waiting: list[tuple[int, Duel, float, float]] = []
    most_pending = 0
    for t in range(rounds):
        arms = world.arms()
        duel, played = same_duel(policy, reference, arms, t)
        waiting.append((t, duel, *world.any_vote(arms, played)))
        most_pending = max(most_pending, len(waiting))
        for vote in world.some(waiting):
            number, told, outcome, weight = vote
            policy.tell(told, outcome, weight)
            reference.tell(number, outcome, weight)
            waiting.remove(vote)
    assert most_pending >= 3
    assert_same_estimates(policy, reference)


def assert_same_estimates(policy: CompiledPolicy, reference: Any) -> None:
    """To 1e-7 standard errors, in each layer; the solver stops where a tenth of that is expected."""
    if not hasattr(reference, "layers"):
        assert errors(reference.link, reference.lam, reference.rows, policy.theta_, reference.theta) <= 1e-7
        return
    for number, layer in reference.layers.items():
        position = number - getattr(reference, "first_layer", 1)
        assert errors(layer.link, layer.ridge, layer.rows, policy.estimate(position), layer.theta) <= 1e-7
        if isinstance(policy, duelist.VACDB):
            np.testing.assert_allclose(policy.layer_radii_[position], layer.radius, rtol=1e-7)


def errors(link: str, ridge: float, rows: list[Row], theta: Floats, exact: Floats) -> float:
    """|theta - exact|_H, in units of the standard error of data whose mass is one or more."""
    gap = theta - exact
    square = ridge * gap @ gap + sum(r.mass * float(link_slope(link, r.z @ exact)) * (r.z @ gap) ** 2 for r in rows)
    return float(np.sqrt(square / min(1.0, sum(r.mass for r in rows)))) if rows else float(np.abs(gap).max())


# -- policies without layers -------------------------------------------------------------


@WHOSE_ARMS
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("radius", ["theory", "experiment", "practical", 1.5])
@pytest.mark.parametrize("name", FLAT)
def test_flat_policies_play_the_duels_of_their_reference(
    name: str, radius: str | float, link: str, fixed: bool
) -> None:
    for seed in (0, 1):
        policy, reference = twins(name, seed, radius=radius, link=link, horizon=80)
        play(policy, reference, World(seed, fixed, strength=1.0, link=link), 80)


@WHOSE_ARMS
@pytest.mark.parametrize("name", FLAT)
def test_flat_policies_with_an_unknown_horizon(name: str, fixed: bool) -> None:
    policy, reference = twins(name, 3, horizon=None, scale=0.5)
    play(policy, reference, World(3, fixed, dim=2), 140)


@pytest.mark.parametrize(
    "settings",
    [
        {"radius": "theory", "kappa": 0.2, "delta": 0.3, "scale": 0.4},
        {"radius": "theory", "theta_bound": 0.5, "ridge": 0.001},
        {"radius": 1.5, "scale": 0.3, "ridge": 2.0},
    ],
    ids=["kappa", "theta_bound", "number"],
)
@pytest.mark.parametrize("name", FLAT)
def test_flat_policies_away_from_the_defaults(name: str, settings: dict[str, Any]) -> None:
    policy, reference = twins(name, 4, horizon=300, **settings)
    play(policy, reference, World(4, False, dim=4, n_arms=(2, 9)), 80)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", [*FLAT, "UniformPair", "GreedyUniform"])
def test_flat_policies_with_late_and_weighted_votes(name: str, link: str) -> None:
    policy, reference = twins(name, 5, link=link)
    play_late(policy, reference, World(5, False, link=link), 100)


@WHOSE_ARMS
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", ["UniformPair", "GreedyUniform"])
def test_random_baselines_draw_the_duels_of_their_reference(name: str, link: str, fixed: bool) -> None:
    for seed in (0, 1):
        policy, reference = twins(name, seed, link=link)
        play(policy, reference, World(seed, fixed, link=link), 80)


@pytest.mark.parametrize("unit", [1e-4, 1e-8, 1e4])
@pytest.mark.parametrize("link", LINKS)
def test_estimates_do_not_depend_on_the_unit_of_weights_and_ridge(link: str, unit: float) -> None:
    policy, reference = twins("MaxPairUCB", 5, link=link, ridge=0.01 * unit)
    world = World(5, False, n_arms=(2, 7), link=link)
    for t in range(40):
        arms = world.arms()
        duel = policy.ask(arms)
        played = (duel.first, duel.second)
        reference.ask(arms, played)
        outcome = world.outcome(arms, played)
        policy.tell(duel, outcome, unit)
        reference.tell(t, outcome, unit)
        np.testing.assert_allclose(policy.theta_, reference.theta, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", [*FLAT, "GreedyUniform"])
def test_flat_policies_with_many_arms(name: str) -> None:
    policy, reference = twins(name, 6)
    play(policy, reference, World(6, False, dim=5, n_arms=(37, 43)), 25)


@pytest.mark.parametrize("name", [*FLAT, "GreedyUniform", "UniformPair"])
def test_flat_policies_in_one_dimension(name: str) -> None:
    policy, reference = twins(name, 7)
    play(policy, reference, World(7, False, dim=1), 60)


def test_max_in_p_rules_arms_out_one_by_one() -> None:
    policy, reference = twins("MaxInP", 0, radius=1.5)
    play(policy, reference, World(0, True, strength=1.0), 80)
    assert max(reference.sizes) == 7
    assert len(set(reference.sizes)) >= 4


@pytest.mark.parametrize("name", ["MaxPairUCB", "GreedyChallenger"])
def test_arms_met_themselves_and_others(name: str) -> None:
    policy, reference = twins(name, 0, radius=0.3)
    duels = play(policy, reference, World(0, True, strength=6.0), 80)
    assert 0 < sum(i == j for i, j in duels) < 80


@WHOSE_ARMS
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("warmup", [0, None, 15])
def test_colstim_with_each_warmup(warmup: int | None, link: str, fixed: bool) -> None:
    policy, reference = twins("CoLSTIM", 8, warmup=warmup, link=link, horizon=150)
    play(policy, reference, World(8, fixed, n_arms=(2, 7), link=link), 90)


@pytest.mark.parametrize("link", LINKS)
def test_colstim_flips_both_sides_of_its_coin_and_clips(link: str) -> None:
    policy, reference = twins("CoLSTIM", 9, clip=0.5, link=link, horizon=200)
    play(policy, reference, World(9, False, dim=2, n_arms=(2, 6), link=link), 200)
    assert 0 < reference.shared < 200
    assert 0 < reference.clipped < 200


# -- policies with layers ----------------------------------------------------------------


def assert_everything_happened(events: Events, fixed: bool) -> None:
    """Otherwise a test of a layered policy proves little."""
    assert len(events.explored) >= 2
    assert events.dropped.total() > 0
    assert max(events.exploited) >= 2
    assert max(events.exploited_with_a_choice) >= (2 if fixed else 1)


# Scales that make everything happen, whatever the practical radius is tuned to.
VACDB_UNIT = 1.0 / duelist.VACDB.practical_multiplier
STAGEWISE_UNIT = 1.0 / duelist.StaD.practical_multiplier
VACDB_RADII: dict[str, dict[str, Any]] = {
    "practical": {"scale": 1.5e-3 * VACDB_UNIT},
    "practical-high": {"variance": "high", "scale": 1e-3 * VACDB_UNIT},
    "theory": {"radius": "theory", "scale": 6e-4},
    "theory-all": {"radius": "theory", "variance": "all", "scale": 1e-3},
    "number": {"radius": 3.0, "scale": 0.5},
}


@WHOSE_ARMS
@pytest.mark.parametrize("explore", ["value", "widest", "random"])
@pytest.mark.parametrize("radius", VACDB_RADII)
def test_vacdb_plays_the_duels_of_its_reference(radius: str, explore: str, fixed: bool) -> None:
    events = Events()
    for seed, link in enumerate(LINKS):
        policy, reference = twins("VACDB", seed, explore=explore, link=link, alpha=0.4, **VACDB_RADII[radius])
        play(policy, reference, World(seed, fixed, dim=2, size=0.25, strength=1.5, link=link), 200)
        events += reference.events
    assert_everything_happened(events, fixed)


@WHOSE_ARMS
@pytest.mark.parametrize("explore", ["value", "widest", "random"])
@pytest.mark.parametrize("horizon", [200, None])
def test_vacdb_with_the_alpha_of_its_horizon(horizon: int | None, explore: str, fixed: bool) -> None:
    events = Events()
    for seed, link in enumerate(LINKS):
        policy, reference = twins("VACDB", seed, explore=explore, horizon=horizon, link=link, scale=1e-3 * VACDB_UNIT)
        play(policy, reference, World(seed, fixed, dim=2, size=0.25, strength=1.5, link=link), 150)
        events += reference.events
    assert len(events.explored) >= 2
    assert events.dropped.total() > 0
    assert max(events.exploited) >= 2


def test_vacdb_switches_to_the_variance_estimate_in_high_layers() -> None:
    policy, reference = twins("VACDB", 1, radius="theory", kappa=20.0, ridge=0.05, scale=0.03, alpha=0.1)
    play(policy, reference, World(1, False, dim=2, size=0.25, strength=1.5), 200)
    assert reference.residual_sums > 20
    assert reference.counts_for_variance > 20
    assert len(reference.events.explored) >= 2


@pytest.mark.parametrize("alpha", [0.9, 0.5, 0.04])
def test_vacdb_with_a_given_alpha(alpha: float) -> None:
    policy, reference = twins("VACDB", 2, alpha=alpha, scale=1e-3 * VACDB_UNIT, horizon=50)
    play(policy, reference, World(2, False, size=0.4), 120)


@pytest.mark.parametrize("explore", ["value", "widest", "random"])
@pytest.mark.parametrize("radius", VACDB_RADII)
@pytest.mark.parametrize("first_layer", [0, -2])
def test_vacdb_from_coarser_layers(first_layer: int, radius: str, explore: str) -> None:
    # Layer -2 looks at nothing that is under 4^2 units: arms are large, or the first ones, which make the unit, small.
    theory = radius.startswith("theory")
    size, smaller = (10.0, 1.0) if theory else (0.25, 30.0)
    events = Events()
    for seed, link in enumerate(LINKS):
        settings = {**VACDB_RADII[radius], **({"kappa": 0.1} if theory else {}), "explore": explore, "link": link}
        policy, reference = twins("VACDB", seed, ridge=0.1, alpha=0.4, first_layer=first_layer, **settings)
        world = World(seed, seed != 1, dim=2, n_arms=(2, 7), size=size, strength=1.5, link=link)
        for side in (policy, reference):
            side.ask(np.array([[1.0, -1.0], [-1.0, 1.0]]) * 0.5 * size / smaller)
        play(policy, reference, world, 60, 1)
        events += reference.events
        assert isinstance(policy, duelist.VACDB)
        assert len(policy.layer_counts_) == 2 + 1 - first_layer
    assert min(events.explored) == first_layer
    assert len(events.explored) >= 2


@pytest.mark.parametrize("first_layer", [0, -2])
def test_vacdb_from_coarser_layers_with_an_unknown_horizon(first_layer: int) -> None:
    for seed, link in enumerate(LINKS):
        policy, reference = twins("VACDB", seed, link=link, scale=1e-3 * VACDB_UNIT, first_layer=first_layer)
        play_late(policy, reference, World(seed, False, dim=2, size=0.25, strength=1.5, link=link), 150)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("radius", VACDB_RADII)
def test_vacdb_with_late_and_weighted_votes(radius: str, link: str) -> None:
    policy, reference = twins("VACDB", 3, link=link, **VACDB_RADII[radius])
    play_late(policy, reference, World(3, False, dim=2, size=0.25, strength=1.5, link=link), 150)
    assert len(reference.events.explored) >= 2
    assert reference.events.dropped.total() > 0
    assert reference.events.exploited.total() > 0


def test_the_estimates_of_vacdb_are_exact_however_small_kappa_is() -> None:
    policy, reference = twins("VACDB", 4, radius="theory", theta_bound=5.0)
    world = World(4, True, dim=2, n_arms=(5, 5))
    for t in range(30):
        arms = world.arms()
        duel, expected = policy.ask(arms), reference.ask(arms).pair
        assert tuple(duel) == expected
        outcome = world.outcome(arms, expected)
        policy.tell(duel, outcome)
        reference.tell(t, outcome)
        assert_same_estimates(policy, reference)


STAGEWISE_RADII: dict[str, dict[str, Any]] = {
    "practical": {"scale": 0.3 * STAGEWISE_UNIT},
    "theory": {"radius": "theory", "theta_bound": 0.3, "scale": 0.02},
    "number": {"radius": 0.6, "scale": 0.8},
}


@WHOSE_ARMS
@pytest.mark.parametrize("radius", STAGEWISE_RADII)
@pytest.mark.parametrize("horizon", [16, 20, 64, None])
@pytest.mark.parametrize("name", STAGEWISE)
def test_stagewise_policies_play_the_duels_of_their_reference(
    name: str, horizon: int | None, radius: str, fixed: bool
) -> None:
    events = Events()
    for seed, link in enumerate(LINKS):
        policy, reference = twins(name, seed, horizon=horizon, link=link, **STAGEWISE_RADII[radius])
        play(policy, reference, World(seed, fixed, dim=2, strength=0.35, link=link), 120)
        events += reference.events
    assert_everything_happened(events, fixed)


@pytest.mark.parametrize("name", STAGEWISE)
def test_stagewise_policies_stop_exploring_once_all_p_are_at_most_one_over_root_t(name: str) -> None:
    # p = 1/2 before and 0.354 after one duel: below 1/sqrt(5) = 0.447, above 2^-2 of the last layer, s = 2.
    policy, reference = twins(name, horizon=5, radius=0.5, ridge=1.0)
    arms = np.array([[0.0], [1.0]])
    for t in range(12):
        duel = policy.ask(arms)
        reference.ask(arms)
        policy.tell(duel, 0.5)
        reference.tell(t, 0.5)
    assert [reference.layers[s].count for s in (1, 2)] == [0, 1]
    assert policy.layer_counts_ == [0, 1]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("radius", STAGEWISE_RADII)
@pytest.mark.parametrize("name", STAGEWISE)
def test_stagewise_policies_with_late_and_weighted_votes(name: str, radius: str, link: str) -> None:
    policy, reference = twins(name, 3, link=link, horizon=64, **STAGEWISE_RADII[radius])
    play_late(policy, reference, World(3, False, dim=2, strength=0.35, link=link), 120)
    assert len(reference.events.explored) >= 2
    assert reference.events.dropped.total() > 0
    assert reference.events.exploited.total() > 0


# -- exact ties --------------------------------------------------------------------------

ON_THE_HYPERCUBE: list[tuple[str, dict[str, Any]]] = [
    ("MaxInP", {"radius": 0.7}),
    ("MaxInP", {}),
    ("MaxPairUCB", {"radius": 0.3}),
    ("MaxPairUCB", {}),
    ("CoLSTIM", {}),
    ("CoLSTIM", {"link": "probit"}),
    ("GreedyChallenger", {"radius": 0.3}),
    ("GreedyChallenger", {}),
    ("VACDB", {"scale": 1.5e-3 * VACDB_UNIT}),
    ("VACDB", {"explore": "widest", "alpha": 0.4, "scale": 5e-3 * VACDB_UNIT}),
    ("StaD", {"horizon": 64, "scale": 0.3 * STAGEWISE_UNIT}),
    ("SupCoLSTIM", {"horizon": 64, "scale": 0.3 * STAGEWISE_UNIT}),
]


@pytest.mark.parametrize(("name", "settings"), ON_THE_HYPERCUBE)
def test_duels_on_the_hypercube_attain_the_maximum_of_the_reference(name: str, settings: dict[str, Any]) -> None:
    arms = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    world = World(0, False, dim=3, strength=1.0, link=settings.get("link", "logistic"))
    policy, reference = twins(name, 1, **settings)
    for t in range(120):
        duel = policy.ask(arms)
        played = (duel.first, duel.second)
        assert reference.ask(arms, played).shortfall(*played) <= 1e-9, f"round {t + 1}"
        outcome = world.outcome(arms, played)
        policy.tell(duel, outcome)
        reference.tell(t, outcome)
    assert_same_estimates(policy, reference)


# -- reading -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFERENCES)
def test_reading_the_estimate_in_every_round_changes_no_duel(name: str) -> None:
    policy, reference = twins(name, 11)
    world = World(11, False, dim=2, size=0.5)
    for t in range(60):
        arms = world.arms()
        duel, expected = policy.ask(arms), reference.ask(arms).pair
        assert tuple(duel) == expected, f"round {t + 1}"
        outcome = world.outcome(arms, expected)
        policy.tell(duel, outcome)
        reference.tell(t, outcome)
        np.testing.assert_allclose(policy.theta_, reference.theta, rtol=1e-7, atol=1e-7)


NARROW_ARMS = np.array([[0.0, 0.0], [0.05, 0.0], [0.02, 0.03]])
ASKED_ONLY: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in REFERENCES),
    ("VACDB", {"radius": "theory", "explore": "widest"}),  # exploits until the horizon doubles, then explores
    ("VACDB", {"radius": "theory", "explore": "value"}),
    ("StaD", {"radius": 0.6}),
]


@pytest.mark.parametrize(("name", "settings"), ASKED_ONLY)
def test_asking_the_same_arms_again_and_again_without_telling(name: str, settings: dict[str, Any]) -> None:
    policy, reference = twins(name, 12, **settings)
    for t in range(20):
        duel = policy.ask(NARROW_ARMS)
        played = (duel.first, duel.second)
        choice = reference.ask(NARROW_ARMS, played)
        assert choice.shortfall(*played) <= NEAR_TIE, f"round {t + 1}"
        pending = policy._pending[duel.id]
        assert (pending.layer + 1 if pending.share > 0.0 else 0) == choice.layer, f"round {t + 1}"
