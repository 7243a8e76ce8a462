"""Environments: the arms they show, the theta* they hide, the outcomes they draw."""

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import duelist as dl
from duelist.simulation.environments import (
    ENVIRONMENTS,
    DelayedVotes,
    FixedArms,
    FlippedVotes,
    Hypercube,
    LateArms,
    Noiseless,
    PreferenceMatrix,
    RandomArms,
    RawFeatures,
    World,
)
from duelist.simulation.environments.base import Worlds
from duelist.simulation.environments.raw_features import KINDS
from tests.helpers.policies.chances import SIX_SIGMA, assert_mean_near, assert_wins_match, rng

# Written here from the definitions, so that the package's links are not their own judge.
LINKS = {
    "logistic": special.expit,
    "probit": stats.norm.cdf,
    "exponential": stats.laplace.cdf,
}

RANDOM_KINDS = ("sphere", "gaussian", "clustered")


# -- Hypercube ---------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 2, 5, 8])
def test_hypercube_shows_every_corner_once(dim):
    arms = Hypercube(dim).draw_world(rng()).arms
    assert arms.shape == (2**dim, dim)
    assert set(np.unique(arms)) == {-1.0, 1.0}
    assert len(np.unique(arms, axis=0)) == 2**dim


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0, 4.0])
def test_hypercube_theta_has_the_length_of_the_scale(scale):
    environment = Hypercube(5, scale=scale)
    lengths = [np.linalg.norm(environment.draw_world(rng(s)).theta) for s in range(50)]
    np.testing.assert_allclose(lengths, scale, rtol=1e-14)


def test_hypercube_theta_has_no_preferred_direction():
    dim, generator = 4, rng(1)
    environment = Hypercube(dim)
    thetas = np.array([environment.draw_world(generator).theta for _ in range(4000)])
    assert_mean_near(thetas, 0.0, math.sqrt(1.0 / dim))
    # For a uniform direction E t_k^2 = 1/d and Var t_k^2 = 2 (d - 1) / (d^2 (d + 2)).
    assert_mean_near(thetas**2, 1.0 / dim, math.sqrt(2.0 * (dim - 1) / (dim**2 * (dim + 2))))


def test_hypercube_theta_of_unit_length_is_drawn_as_before_there_was_a_choice():
    # A norm whose order of sums is fixed differs from BLAS's in the last bits.
    for seed in range(5):
        drawn = rng(seed).standard_normal(6)
        expected = 2.5 * (drawn / np.linalg.norm(drawn))
        for environment in (Hypercube(6, scale=2.5), Hypercube(6, scale=2.5, prior="direction")):
            np.testing.assert_allclose(environment.draw_world(rng(seed)).theta, expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("scale", [0.5, 3.0])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_hypercube_theta_with_normal_coordinates(dim, scale):
    generator, environment = rng(dim), Hypercube(dim, scale=scale, prior="normal")
    thetas = np.array([environment.draw_world(generator).theta for _ in range(4000)])
    sd = scale / math.sqrt(dim)
    for k in range(dim):
        assert stats.kstest(thetas[:, k], "norm", (0.0, sd)).pvalue > 1e-6
    squares = (thetas / sd) ** 2
    assert_mean_near(squares.sum(axis=1), dim, math.sqrt(2.0 * dim))  # the length varies
    np.testing.assert_allclose(np.corrcoef(squares, rowvar=False) - np.eye(dim), 0.0, atol=SIX_SIGMA / math.sqrt(4000))


def test_hypercube_priors_share_the_direction_of_theta():
    for seed in range(5):
        one, other = (Hypercube(4, prior=p).draw_world(rng(seed)).theta for p in ("direction", "normal"))
        np.testing.assert_allclose(other / np.linalg.norm(other), one, rtol=1e-14)


def test_hypercube_says_how_theta_is_drawn():
    assert Hypercube(2, prior="normal").describe()["prior"] == "normal"
    assert "prior='normal'" in repr(Hypercube(2, prior="normal"))
    assert Hypercube(2).describe()["prior"] == "direction"


def test_given_theta_is_kept_and_scaled():
    theta = [3.0, -4.0]
    for environment in (Hypercube(2, theta=theta, scale=0.5), FixedArms(np.eye(2), theta=theta, scale=0.5)):
        for seed in (0, 1):
            np.testing.assert_array_equal(environment.draw_world(rng(seed)).theta, [1.5, -2.0])


# -- FixedArms ---------------------------------------------------------------------------


def test_fixed_arms_are_those_given_and_safe_from_later_changes():
    given = np.arange(6.0).reshape(3, 2)
    environment = FixedArms(given)
    given[:] = 7.0
    np.testing.assert_array_equal(environment.draw_world(rng()).arms, np.arange(6.0).reshape(3, 2))
    assert environment.dim == 2


def test_fixed_arms_draw_a_new_theta_in_every_run():
    environment = FixedArms(np.eye(3))
    assert not np.array_equal(environment.draw_world(rng(0)).theta, environment.draw_world(rng(1)).theta)


# -- RandomArms --------------------------------------------------------------------------


def arms_of(environment, rounds, seed=0):
    world = environment.draw_world(rng(seed))
    return world, *environment.draw_arms(world, rng(seed + 1000), rounds)


@pytest.mark.parametrize("dim", [1, 3, 7])
def test_sphere_arms_lie_where_the_hypercube_corners_lie(dim):
    _, arms, _ = arms_of(RandomArms(dim, n_arms=9), 50)
    np.testing.assert_allclose(np.linalg.norm(arms, axis=2), math.sqrt(dim), rtol=1e-14)


@pytest.mark.parametrize("kind", ["sphere", "gaussian"])
def test_unclustered_features_are_centred_with_unit_variance(kind):
    _, arms, _ = arms_of(RandomArms(4, n_arms=5, kind=kind), 4000)
    features = arms.reshape(-1, 4)
    assert_mean_near(features, 0.0, 1.0)
    # Var x^2 is 2 for a normal; on the sphere d^2 * 2 (d - 1) / (d^2 (d + 2)) = 1 for d = 4.
    assert_mean_near(features**2, 1.0, math.sqrt(2.0))
    assert_mean_near(features[:, 0] * features[:, 1], 0.0, 1.0)


def test_clustered_arms_sit_around_four_centres_of_the_run():
    dim = 30  # distant centres, so that the nearest one is the arm's own
    world, arms, _ = arms_of(RandomArms(dim, n_arms=6, kind="clustered"), 1000)
    assert world.centres.shape == (4, dim)
    features = arms.reshape(-1, dim)
    distance = np.linalg.norm(features[:, None] - world.centres[None], axis=2)
    nearest = distance.argmin(axis=1)
    for centre in range(4):
        assert_mean_near((nearest == centre).astype(float), 0.25, math.sqrt(3.0 / 16.0))
    spread = (features - world.centres[nearest]) / 0.3
    assert_mean_near(spread, 0.0, 1.0)
    assert_mean_near(spread**2, 1.0, math.sqrt(2.0))


def test_cluster_centres_differ_between_runs():
    environment: Any = RandomArms(3, kind="clustered")
    assert not np.array_equal(environment.draw_world(rng(0)).centres, environment.draw_world(rng(1)).centres)


@pytest.mark.parametrize(("least", "most"), [(1, 1), (1, 2), (2, 6), (5, 5)])
def test_number_of_arms_is_uniform_in_its_range(least, most):
    rounds = 6000
    _, arms, count = arms_of(RandomArms(2, n_arms=(least, most)), rounds)
    assert arms.shape == (rounds, most, 2)
    values = np.arange(least, most + 1)
    assert set(count) == set(values)
    share = 1.0 / len(values)
    for value in values:
        assert_mean_near((count == value).astype(float), share, math.sqrt(share * (1.0 - share)))


def test_a_plain_number_of_arms_never_changes():
    _, arms, count = arms_of(RandomArms(2, n_arms=7), 20)
    assert arms.shape == (20, 7, 2)
    assert (count == 7).all()


@pytest.mark.parametrize("kind", RANDOM_KINDS)
def test_rounds_are_independent(kind):
    """Successive rounds, and the arms of one round, are uncorrelated given the centres."""
    world, arms, count = arms_of(RandomArms(2, n_arms=(2, 5), kind=kind), 6000)
    feature = arms[:, :, 0]
    feature = (feature - feature.mean(axis=0)) / feature.std(axis=0)
    assert_mean_near(feature[:-1] * feature[1:], 0.0, 1.0)
    assert_mean_near(feature[:, 0] * feature[:, 1], 0.0, 1.0)
    number = (count - count.mean()) / count.std()
    assert_mean_near(number[:-1] * number[1:], 0.0, 1.0)
    assert_mean_near(number[:, None] * feature, 0.0, 1.0)
    assert len(np.unique(arms[:, 0], axis=0)) == len(arms)
    assert world.arms is None


@pytest.mark.parametrize("kind", RANDOM_KINDS)
@pytest.mark.parametrize("cuts", [[60], [1] * 60, [1, 59], [7, 13, 40], [59, 1]])
def test_stretches_may_be_cut_anywhere(kind, cuts):
    environment = RandomArms(3, n_arms=(2, 9), kind=kind)
    world, whole, count = arms_of(environment, 60)
    generator = rng(1000)
    pieces = [environment.draw_arms(world, generator, length) for length in cuts]
    np.testing.assert_array_equal(np.concatenate([a for a, _ in pieces]), whole)
    np.testing.assert_array_equal(np.concatenate([c for _, c in pieces]), count)


# -- Noiseless ---------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [Hypercube(3), RandomArms(3, n_arms=(2, 4)), FixedArms(np.eye(3), scale=2.0)])
def test_noiseless_has_the_world_and_the_arms_of_the_environment_inside(inside):
    outside = Noiseless(inside)
    ours, theirs = outside.draw_world(rng(5)), inside.draw_world(rng(5))
    np.testing.assert_array_equal(ours.theta, theirs.theta)
    if theirs.arms is None:
        for a, b in zip(outside.draw_arms(ours, rng(6), 9), inside.draw_arms(theirs, rng(6), 9), strict=True):
            np.testing.assert_array_equal(a, b)
    else:
        np.testing.assert_array_equal(ours.arms, theirs.arms)


@pytest.mark.parametrize(
    "inside", [Hypercube(3, scale=0.01), RandomArms(3, n_arms=(1, 4)), PreferenceMatrix([[0.5, 0.51], [0.49, 0.5]])]
)
def test_noiseless_lets_the_better_arm_win_always(inside):
    runs = dl.simulate(dl.UniformPair(), Noiseless(inside), horizon=300, runs=10)
    log = runs.log("UniformPair")
    decided = log.first_gap != log.second_gap
    assert decided.any()
    np.testing.assert_array_equal(log.outcome[decided], (log.first_gap < log.second_gap)[decided])


def test_noiseless_flips_a_coin_between_equal_arms():
    world = FixedArms([[1.0, 0.0], [1.0, 3.0], [0.0, 1.0]], theta=[1.0, 0.0])
    runs = dl.simulate(dl.UniformPair(), Noiseless(world), horizon=400, runs=20)
    chance = [[0.5, 0.5, 1.0], [0.5, 0.5, 1.0], [0.0, 0.0, 0.5]]
    assert_wins_match(*runs.duels("UniformPair"), runs.outcomes("UniformPair"), chance)


# -- outcomes ----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("link", LINKS)
def test_outcome_frequencies_follow_the_link(link, scale):
    arms = np.array([[0.0, 0.0], [1.0, 0.0], [-0.5, 2.0], [1.0, 1.0]])
    theta = np.array([0.6, 0.8])
    runs = dl.simulate(dl.UniformPair(), FixedArms(arms, theta, scale, link), horizon=1000, runs=12)
    utility = scale * arms @ theta
    chance = LINKS[link](utility[:, None] - utility[None])
    assert_wins_match(*runs.duels("UniformPair"), runs.outcomes("UniformPair"), chance)


@pytest.mark.parametrize("link", LINKS)
def test_outcomes_of_changing_arms_follow_the_link(link):
    """The sum of o - p over all duels is a martingale with variance sum p (1 - p)."""
    runs = dl.simulate(dl.UniformPair(), RandomArms(4, n_arms=(2, 6), link=link), horizon=600, runs=20)
    log = runs.log("UniformPair")
    p = LINKS[link](log.second_gap - log.first_gap)
    residual = (log.outcome - p) * np.sign(p - 0.5)
    assert abs(residual.sum()) <= SIX_SIGMA * math.sqrt((p * (1.0 - p)).sum())


# -- worlds of many runs -----------------------------------------------------------------


def test_worlds_do_not_depend_on_how_many_there_are():
    for environment in (Hypercube(3), RandomArms(3, n_arms=(2, 5)), Noiseless(RandomArms(2))):
        few, many = (Worlds(environment, range(n), range(100, 100 + n)) for n in (2, 5))
        np.testing.assert_array_equal(few.thetas, many.thetas[:2])
        for a, b in zip(few.next_rounds(20), many.next_rounds(20), strict=True):
            np.testing.assert_array_equal(
                np.broadcast_to(b, (5, *b.shape[1:]))[:2], np.broadcast_to(a, (2, *a.shape[1:]))
            )


def test_worlds_may_have_fixed_arms_of_their_own():
    class OwnArms(dl.environments.Environment):
        dim, link = 2, dl.get_link("logistic")

        def draw_world(self, generator):
            return World(np.array([1.0, 0.0]), generator.standard_normal((3, 2)))

    rounds = Worlds(OwnArms(), [0, 1], [0, 1]).next_rounds(10)
    assert rounds.arms.shape == (2, 1, 3, 2)
    assert not np.array_equal(rounds.arms[0], rounds.arms[1])
    np.testing.assert_array_equal(rounds.utilities, rounds.arms[..., 0])
    runs = dl.simulate(dl.MaxPairUCB(horizon=60), OwnArms(), horizon=60, runs=3)
    assert (runs.final("MaxPairUCB") >= 0.0).all()


# -- bad input ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Hypercube(0), "dim is 0"),
        (lambda: Hypercube(-1), "dim is -1"),
        (lambda: Hypercube(2.0), r"dim is 2\.0"),
        (lambda: Hypercube(True), "dim is True"),
        (lambda: Hypercube(17), "dim is 17"),
        (lambda: Hypercube(2, theta=[1.0]), r"theta.*\(1,\)"),
        (lambda: Hypercube(2, theta=[1.0, np.nan]), "nan"),
        (lambda: Hypercube(2, theta=["x", "y"]), "theta"),
        (lambda: Hypercube(2, scale=-1.0), r"scale is -1\.0"),
        (lambda: Hypercube(2, scale=np.inf), "scale is inf"),
        (lambda: Hypercube(2, scale=np.nan), "scale is nan"),
        (lambda: Hypercube(2, scale="big"), "scale is 'big'"),
        (lambda: Hypercube(2, link="cauchit"), "cauchit"),
        (lambda: FixedArms([1.0, 2.0]), r"\(2,\)"),
        (lambda: FixedArms(np.empty((0, 3))), r"\(0, 3\)"),
        (lambda: FixedArms([[1.0, np.inf]]), "inf"),
        (lambda: FixedArms([[1.0, 2.0], [3.0]]), "arms"),
        (lambda: FixedArms([["x", "y"]]), "arms"),
        (lambda: FixedArms(np.eye(2), theta=[1.0, 2.0, 3.0]), r"\(3,\)"),
        (lambda: Hypercube(2, prior="uniform"), "prior is 'uniform'. Choose one of direction, normal"),
        (lambda: Hypercube(2, prior=None), "prior is None. Choose one of direction, normal"),
        (lambda: Hypercube(2, prior=["normal"]), r"prior is \['normal'\]. Choose one of direction, normal"),
        (lambda: RandomArms(0), "dim is 0"),
        (lambda: RandomArms(2, n_arms=0), "n_arms is 0"),
        (lambda: RandomArms(2, n_arms=(0, 4)), "n_arms is 0"),
        (lambda: RandomArms(2, n_arms=(6, 4)), "n_arms is .*4.*6"),
        (lambda: RandomArms(2, n_arms=(2, 4, 6)), r"n_arms is \(2, 4, 6\)"),
        (lambda: RandomArms(2, n_arms=2.5), r"n_arms is 2\.5"),
        (lambda: RandomArms(2, kind="cube"), "kind is 'cube'"),
        (lambda: PreferenceMatrix([[0.5]], winner="kemeny"), "winner is 'kemeny'"),
    ],
)
def test_bad_settings_are_refused_by_value(make, named):
    with pytest.raises(dl.InvalidInput, match=named):
        make()


def test_an_environment_without_arms_says_what_it_lacks():
    class Armless(dl.environments.Environment):
        dim, link = 1, dl.get_link("logistic")

        def draw_world(self, generator):
            return World(np.ones(1))

    with pytest.raises(dl.InvalidInput, match="Armless"):
        dl.simulate(dl.UniformPair(), Armless(), horizon=3, runs=1)


# -- records -----------------------------------------------------------------------------

EXAMPLES = {
    "Hypercube": Hypercube(2, theta=[1.0, 0.0]),
    "FixedArms": FixedArms(np.eye(2), link="probit"),
    "RandomArms": RandomArms(2, n_arms=(2, 3), scale=0.5),
    "RawFeatures": RawFeatures("correlated", scale=2.0),
    "Noiseless": Noiseless(Hypercube(2)),
    "FlippedVotes": FlippedVotes(Hypercube(2), first=3, share=0.1),
    "DelayedVotes": DelayedVotes(Hypercube(2), delay=7),
    "LateArms": LateArms(Hypercube(2), every=9),
    "PreferenceMatrix": PreferenceMatrix([[0.5, 0.6], [0.4, 0.5]]),
}


def test_every_environment_has_an_example_here():
    assert set(EXAMPLES) == set(ENVIRONMENTS)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_descriptions_are_plain_data_with_the_settings(name):
    described = EXAMPLES[name].describe()
    assert described["environment"] == name
    json.dumps(described)
    assert repr(EXAMPLES[name]).startswith(f"{name}(")


def test_descriptions_say_what_was_set():
    assert EXAMPLES["Hypercube"].describe() == {
        "environment": "Hypercube", "dim": 2, "theta": [1.0, 0.0], "scale": 1.0, "link": "logistic",
        "prior": "direction",
    }  # fmt: skip
    assert EXAMPLES["Noiseless"].describe()["environment"] == "Noiseless"
    assert "Hypercube" in json.dumps(EXAMPLES["Noiseless"].describe())


def test_numbers_of_numpy_can_be_described():
    """What an environment accepts it can also write down."""
    environment = RandomArms(np.int64(2), n_arms=np.int64(4), scale=np.float64(0.5))
    json.dumps(environment.describe())
    json.dumps(RandomArms(2, n_arms=(np.int64(2), np.int64(4))).describe())


# -- RawFeatures -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_raw_features_are_the_same_problem_standardised(kind):
    raw, standard = (RawFeatures(kind, standardised=flag).draw_world(rng()) for flag in (False, True))
    np.testing.assert_allclose(raw.utilities, standard.utilities)
    spread = standard.arms.std(axis=0)
    np.testing.assert_allclose(spread[spread > 0.0], 1.0)
    if kind != "arm effects":
        np.testing.assert_allclose(raw.arms @ raw.theta, raw.utilities)
        np.testing.assert_allclose(standard.arms @ standard.theta, raw.utilities)


def test_mixed_units_are_a_price_a_rating_and_a_flag():
    world = RawFeatures("mixed units").draw_world(rng())
    price, rating, flag = world.arms.T
    assert ((price >= 50) & (price <= 900)).all()
    assert ((rating >= 1) & (rating <= 5)).all()
    assert set(flag) <= {0.0, 1.0}
    np.testing.assert_allclose(world.utilities, -0.002 * price + rating + flag)


def test_a_kind_of_features_that_does_not_exist_is_refused():
    with pytest.raises(dl.InvalidInput, match="kind is 'tidy'"):
        RawFeatures("tidy")
