"""Links against SciPy: values, derivatives, integrals, symmetry, extremes, draws."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import duelist as dl
from duelist.model import links
from duelist.testing import LinkContract

NAMES = ("logistic", "probit", "exponential")
MEAN = {"logistic": special.expit, "probit": special.ndtr, "exponential": stats.laplace.cdf}
SLOPE = {
    "logistic": lambda v: special.expit(v) * special.expit(-np.asarray(v)),
    "probit": stats.norm.pdf,
    "exponential": stats.laplace.pdf,
}
LARGEST_SLOPE = {"logistic": 1 / 4, "probit": 1 / np.sqrt(2 * np.pi), "exponential": 1 / 2}
EPS = np.finfo(float).eps
GRID = np.unique(np.concatenate([np.linspace(-30, 30, 4001), np.geomspace(1e-12, 30, 100), [0.0]]))

margins = st.floats(-1e4, 1e4)
fact = settings(deadline=None, derandomize=True, max_examples=300)


class TestEveryLink(LinkContract):
    @pytest.fixture(autouse=True, params=links.LINKS.values(), ids=lambda link: link.name)
    def _every_link(self, request):
        self.link = request.param


class Wrong:
    """A logistic link with one function spoilt."""

    def __init__(self, **spoilt):
        self.name, self.max_slope = "logistic", spoilt.pop("max_slope", 0.25)
        for method in ("mean", "slope", "potential", "draw"):
            setattr(self, method, spoilt.get(method) or getattr(dl.get_link("logistic"), method))


@pytest.mark.parametrize(
    ("spoilt", "rule"),
    [
        ({"mean": lambda v: special.expit(np.asarray(v) + 1e-9)}, "test_win_probabilities_sum_to_one"),
        ({"mean": lambda v: special.expit(-np.asarray(v))}, "test_mean_increases"),
        ({"slope": lambda v: special.expit(v)}, "test_the_slope_is_even"),
        ({"slope": lambda v: 0.2 + 0.0 * np.asarray(v)}, "test_the_slope_is_the_derivative_of_the_mean"),
        ({"slope": lambda v: 1.0 - np.exp(-np.abs(v))}, "test_slope_decreases_away_from_zero"),
        ({"potential": lambda v: np.logaddexp(0.0, v) * 1.001}, "test_the_mean_is_the_derivative_of_the_potential"),
        ({"potential": lambda v: np.logaddexp(0.0, v) + 1.0}, "test_the_potential_vanishes_at_minus_infinity"),
        ({"max_slope": 0.26}, "test_largest_slope_is_at_zero"),
        ({"mean": lambda v: np.exp(v) / (1.0 + np.exp(v))}, "test_nothing_overflows"),
        (
            {"draw": lambda v, rng: (rng.random(len(v)) < 0.45).astype(float)},
            "test_draws_have_the_probability_of_the_mean",
        ),
        ({}, "test_link_is_found_by_name"),
    ],
)
def test_the_contract_catches(spoilt, rule):
    check: Any = LinkContract()
    check.link = Wrong(**spoilt)
    with pytest.raises((AssertionError, FloatingPointError)):
        getattr(check, rule)()


def test_the_ready_links_are_these_three():
    assert tuple(links.LINKS) == NAMES
    assert [links.LINKS[name].name for name in NAMES] == list(NAMES)


# exp(-v^2/2) at |v| = 30 amplifies the rounding of its argument 450-fold: 1e-13; an order is left.
@pytest.mark.parametrize("name", NAMES)
def test_mean_is_the_reference_distribution_function(name):
    np.testing.assert_allclose(dl.get_link(name).mean(GRID), MEAN[name](GRID), rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", NAMES)
def test_slope_is_the_reference_density(name):
    np.testing.assert_allclose(dl.get_link(name).slope(GRID), SLOPE[name](GRID), rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("v", [-12.0, -3.0, -0.7, 0.0, 0.4, 2.5, 9.0])
def test_potential_is_the_integral_of_mean_from_minus_infinity(name, v):
    # Below -60 the means integrate to less than 1e-26; splitting at 0 spares quad the kink there.
    stops = [-60.0, -20.0, min(v, 0.0), v]
    pieces = [integrate.quad(MEAN[name], a, b, epsabs=1e-14, epsrel=1e-13)[0] for a, b in itertools.pairwise(stops)]
    assert dl.get_link(name).potential(v) == pytest.approx(sum(pieces), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("name", NAMES)
@fact
@given(v=margins)
def test_the_two_chances_of_a_duel_sum_to_one(name, v):
    link = dl.get_link(name)
    assert abs(link.mean(v) + link.mean(-v) - 1.0) <= 2 * EPS


@pytest.mark.parametrize("name", NAMES)
@fact
@given(v=margins)
def test_slope_is_even_and_potential_minus_its_mirror_is_the_margin(name, v):
    link = dl.get_link(name)
    assert link.slope(v) == link.slope(-v)
    # Integrating mu(v) + mu(-v) = 1; a rounding for each of the three terms of size at most |v| + 1.
    assert abs(link.potential(v) - link.potential(-v) - v) <= 4 * EPS * (abs(v) + 1.0)


@pytest.mark.parametrize("name", NAMES)
@fact
@given(a=margins, b=margins)
def test_potential_lies_above_its_tangents(name, a, b):
    link = dl.get_link(name)
    gap = link.potential(b) - link.potential(a) - link.mean(a) * (b - a)
    assert gap >= -8 * EPS * (abs(a) + abs(b) + 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_the_limits_are_reached(name):
    link = dl.get_link(name)
    # Exponentials end at e^-700, so that slopes never vanish altogether.
    np.testing.assert_allclose(link.mean([-1e4, 1e4]), [0.0, 1.0], rtol=0, atol=1e-303)
    np.testing.assert_allclose(link.slope([-1e4, 1e4]), [0.0, 0.0], rtol=0, atol=1e-303)
    assert (link.slope([-1e4, 1e4]) > 0.0).all()
    np.testing.assert_allclose(link.potential([-1e4, 1e4]), [0.0, 1e4], rtol=0, atol=1e-303)


@pytest.mark.parametrize("name", NAMES)
def test_max_slope_is_the_largest_slope_and_stands_at_zero(name):
    link = dl.get_link(name)
    assert link.max_slope == pytest.approx(LARGEST_SLOPE[name], rel=1e-15)
    assert link.slope(0.0) == link.max_slope
    assert link.slope(GRID).max() <= link.max_slope * (1 + 4 * EPS)  # a few roundings near 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("largest", [0.0, 0.3, 2.0, 12.0])
def test_min_slope_is_the_smallest_slope_of_the_range(name, largest):
    smallest = SLOPE[name](np.linspace(-largest, largest, 2001)).min()
    assert dl.get_link(name).min_slope(largest) == pytest.approx(smallest, rel=1e-12)


@pytest.mark.parametrize("largest", [-1.0, float("nan")])
def test_min_slope_refuses_a_range_that_is_none(largest):
    with pytest.raises(dl.InvalidInput, match=str(largest)):
        dl.get_link("logistic").min_slope(largest)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("v", [-3.0, -0.5, 0.0, 1.2, 4.0])
def test_draws_win_as_often_as_the_mean_says(name, v):
    n = 100_000
    outcomes = dl.get_link(name).draw(np.full(n, v), np.random.default_rng(11))
    p = float(MEAN[name](v))
    assert set(np.unique(outcomes)) <= {0.0, 1.0}
    assert abs(outcomes.mean() - p) <= 6 * np.sqrt(p * (1 - p) / n)  # six sigma of a binomial mean


@pytest.mark.parametrize("name", NAMES)
def test_draws_at_the_extremes_are_certain(name):
    outcomes = dl.get_link(name).draw(np.repeat([-1e4, 1e4], 1000), np.random.default_rng(0))
    np.testing.assert_array_equal(outcomes, np.repeat([0.0, 1.0], 1000))


def test_draws_follow_the_generator_and_nothing_else():
    v = np.linspace(-2, 2, 50)
    first, again, other = (dl.get_link("probit").draw(v, np.random.default_rng(s)) for s in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("method", ["mean", "slope", "potential"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
def test_results_have_the_shape_of_the_argument(method, shape):
    assert np.shape(getattr(dl.get_link("logistic"), method)(np.zeros(shape))) == shape


def test_arguments_may_be_lists_integers_and_strided_arrays():
    link, v = dl.get_link("logistic"), np.arange(24.0).reshape(4, 6) - 12
    np.testing.assert_array_equal(link.mean(v.T[::2]), link.mean(v)[:, ::2].T)
    np.testing.assert_array_equal(link.mean([0, 1]), link.mean(np.array([0.0, 1.0])))


@pytest.mark.parametrize("name", NAMES)
def test_get_link_takes_a_name_or_a_link(name):
    assert dl.get_link(name).name == name
    assert dl.get_link(dl.get_link(name)) is dl.get_link(name)


@pytest.mark.parametrize("link", ["logit", "", None, 0, ["probit"]])
def test_an_unknown_link_is_named_and_the_known_ones_listed(link):
    with pytest.raises(dl.InvalidInput) as error:
        dl.get_link(link)
    assert repr(link) in str(error.value)
    assert all(name in str(error.value) for name in NAMES)
