"""Confidence radii of the engine: each formula recomputed from its published form, and the policies that use them."""

import math

import native_testing as parts
import numpy as np
import pytest
from scipy import special, stats

import duelist as dl
from tests.helpers.policy_state import pending

MEANS = {"logistic": special.expit, "probit": stats.norm.cdf, "exponential": stats.laplace.cdf}
SLOPES = {
    "logistic": lambda v: special.expit(v) * special.expit(-v),
    "probit": stats.norm.pdf,
    "exponential": stats.laplace.pdf,
}


@pytest.mark.parametrize("horizon", [1, 2, 17, 4000])
def test_a_known_horizon_is_used_as_it_is(horizon):
    for t in (0, 1, 5, 10**6):
        assert parts.effective_horizon(horizon, t) == horizon


def test_an_unknown_horizon_doubles():
    guesses = [parts.effective_horizon(0, t) for t in range(2100)]
    for t, guess in enumerate(guesses):
        assert guess == next(2.0**k for k in range(1, 20) if 2**k > t)
    assert parts.effective_horizon(0, 2**40) == 2.0**41


@pytest.mark.parametrize("dim", [1, 5, 64])
@pytest.mark.parametrize("horizon", [2.0, 100.0, 1e6])
def test_practical_is_the_shape_of_the_theorems(dim, horizon):
    assert parts.practical_radius(dim, horizon) == pytest.approx((dim * math.log(horizon)) ** 0.5, rel=1e-14)


def test_practical_is_positive_at_the_shortest_horizon():
    assert parts.practical_radius(3, 1.0) == parts.practical_radius(3, 2.0) > 0.0


@pytest.mark.parametrize("dim", [1, 5])
@pytest.mark.parametrize("kappa", [0.02, 0.25])
@pytest.mark.parametrize("delta", [0.01, 0.5])
def test_warmed_glm_is_li_lu_zhou(dim, kappa, delta):
    """(sigma / kappa) sqrt((d/2) log(1 + 2n/d) + log(1/delta)), sigma = 1/2 for outcomes in [0, 1]."""
    sigma, n = 0.5, 4000.0
    expected = sigma / kappa * (dim / 2 * math.log(1 + 2 * n / dim) + math.log(1 / delta)) ** 0.5
    assert parts.warmed_glm_radius(dim, n, kappa, delta) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("n_arms", [2, 32])
@pytest.mark.parametrize("kappa", [0.02, 0.25])
@pytest.mark.parametrize("delta", [0.01, 0.5])
def test_stagewise_is_saha(n_arms, kappa, delta):
    """(3 / (2 kappa)) sqrt(2 log(3 T K / delta)) (Saha 2021, Sta'D)."""
    expected = 3 / (2 * kappa) * (2 * math.log(3 * 4000 * n_arms / delta)) ** 0.5
    assert parts.stagewise_radius(n_arms, 4000.0, kappa, delta) == pytest.approx(expected, rel=1e-14)


def published_beta(layer, variance, kappa, t, layers, delta):
    """The paper's equation (bonus), term by term."""
    now, after = math.log(4 * t**2 * layers / delta), math.log(4 * (t + 1) ** 2 * layers / delta)
    bonus = 16 * 2**-layer / kappa * ((8 * variance + 18 * after) * now) ** 0.5
    return bonus + 6 * 2**-layer / kappa * now + 2 ** (-layer + 1)


@pytest.mark.parametrize("layer", [1, 2, 7, 18])
@pytest.mark.parametrize("variance", [0.0, 3.5, 1000.0])
@pytest.mark.parametrize("t", [1, 2, 999])
def test_variance_aware_is_the_paper_s_equation(layer, variance, t):
    expected = published_beta(layer, variance, 0.1, t, 18, 0.05)
    assert parts.variance_aware_radius(layer, variance, 0.1, t, 18, 0.05) == pytest.approx(expected, rel=1e-13)


def test_variance_aware_grows_with_variance_and_time_and_falls_with_layers():
    beta = parts.variance_aware_radius
    assert beta(3, 2.0, 0.1, 50, 18, 0.05) > beta(3, 1.0, 0.1, 50, 18, 0.05)
    assert beta(3, 1.0, 0.1, 51, 18, 0.05) > beta(3, 1.0, 0.1, 50, 18, 0.05)
    assert beta(3, 1.0, 0.1, 50, 18, 0.01) > beta(3, 1.0, 0.1, 50, 18, 0.05)
    assert beta(4, 1.0, 0.1, 50, 18, 0.05) == pytest.approx(beta(3, 1.0, 0.1, 50, 18, 0.05) / 2, rel=1e-13)


# -- the policies that use them ----------------------------------------------------------


def vacdb_trace(policy, rounds, link="logistic", seed=0):
    """Play a live policy on the square's corners; everything each layer has learned, and when."""
    arms = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    theta = np.array([0.6, 0.8])
    generator = np.random.default_rng(seed)
    layers = {}
    for t in range(1, rounds + 1):
        duel = policy.ask(arms, distinct=False)
        out = pending(policy)[duel.id]
        outcome = float(generator.random() < MEANS[link](out.difference @ theta))
        policy.tell(duel, outcome)
        if out.share > 0.0:
            layers.setdefault(out.layer, []).append((t, out.difference, out.share, outcome))
    return layers


def residuals(policy, layer, rows, mean):
    theta = policy.estimate(layer)
    return sum(share * (o - mean(z @ theta)) ** 2 for _, z, share, o in rows)


@pytest.mark.parametrize("link", SLOPES)
@pytest.mark.parametrize("variance", [None, "all"])
def test_vacdb_theory_radius_is_the_paper_s(link, variance):
    """kappa = 82 L_mu, no real slope, puts the border of the high layers between the first two."""
    slope, mean = float(SLOPES[link](0.0)), MEANS[link]
    kappa = 82 * slope
    policy = dl.VACDB(horizon=500, radius="theory", kappa=kappa, link=link, variance=variance, random_state=0)
    layers = vacdb_trace(policy, 300, link)
    n_layers = math.ceil(1.5 * math.log2(500))
    seen = set()
    for layer in range(n_layers):
        rows = layers.get(layer, [])
        if not rows:
            expected = 2.0 ** -(layer + 1) * (1 + 1 / kappa)  # line 2 of Algorithm 1
        else:
            t = rows[-1][0] + 1
            high = 2 ** (layer + 1) >= 64 * slope / kappa * math.log(4 * (t + 1) ** 2 * n_layers / 0.05) ** 0.5
            seen.add(high)
            estimated = high or variance == "all"
            v = residuals(policy, layer, rows, mean) if estimated else len(rows)
            expected = published_beta(layer + 1, v, kappa, t, n_layers, 0.05)
        assert policy.layer_radii_[layer] == pytest.approx(expected, rel=1e-9)
    assert seen == {False, True}


def test_vacdb_practical_radius_has_the_largest_slope_in_the_place_of_kappa():
    policy = dl.VACDB(horizon=500, scale=3.0, random_state=0)
    layers = vacdb_trace(policy, 300)
    n_layers = math.ceil(1.5 * math.log2(500))
    for layer, rows in layers.items():
        v = residuals(policy, layer, rows, special.expit)
        expected = 3.0 * 5e-4 * published_beta(layer + 1, v, 0.25, rows[-1][0] + 1, n_layers, 0.05)
        assert policy.layer_radii_[layer] == pytest.approx(expected, rel=1e-9)


def test_vacdb_number_is_the_radius_of_every_layer():
    policy = dl.VACDB(horizon=500, radius=0.7, scale=2.0, random_state=0)
    vacdb_trace(policy, 100)
    np.testing.assert_array_equal(policy.layer_radii_, 1.4)


@pytest.mark.parametrize("link", SLOPES)
def test_vacdb_theory_kappa_is_the_smallest_slope_over_all_duels(link):
    """kappa = min of mu' over |v| <= 2 A S with A the reach of the arms, A = sqrt(2) on the square."""
    policy = dl.VACDB(horizon=500, radius="theory", theta_bound=0.3, link=link, random_state=0)
    policy.ask([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]], distinct=False)
    kappa = SLOPES[link](2 * math.sqrt(2) * 0.3)
    expected = [2.0**-layer * (1 + 1 / kappa) for layer in range(1, 15)]
    np.testing.assert_allclose(policy.layer_radii_, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("practical", math.sqrt(2 * math.log(1000))),
        ("experiment", 2 * math.sqrt(2 * math.log(1000))),
        ("theory", math.sqrt(math.log(1 + 1000) + math.log(1 / 0.05)) / (2 * 0.1)),
        (0.3, 0.3),
    ],
)
@pytest.mark.parametrize("scale", [0.05, 1.0])
def test_max_pair_ucb_plays_the_best_pair_for_its_radius(setting, expected, scale):
    policy = dl.MaxPairUCB(horizon=1000, radius=setting, scale=scale, kappa=0.1, random_state=0)
    generator = np.random.default_rng(2)
    theta = np.array([0.6, -0.8])
    for _ in range(60):
        arms = generator.standard_normal((12, 2))
        duel = policy.ask(arms, distinct=False)
        chosen = dl.best_pair(arms, policy.theta_, policy.precision_, scale * expected)
        assert tuple(duel) == (chosen.first, chosen.second)
        policy.tell(duel, float(generator.random() < special.expit((arms[duel.first] - arms[duel.second]) @ theta)))
