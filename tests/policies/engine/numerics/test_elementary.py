"""The engine's own elementary functions, against extended precision and against series in hundreds of digits.

Errors are counted in units in the last place of the result (ulp).
"""

from decimal import Decimal, localcontext

import native_testing as parts
import numpy as np
import pytest
from scipy import special

from duelist import native

LONG_PI = np.longdouble("3.14159265358979323846264338327950288")


def ulps(got, exact):
    """How far results are from values of higher precision."""
    return np.abs((got.astype(np.longdouble) - exact) / np.spacing(np.abs(exact).astype(float)))


def spread_out(rng, low, high, n=20_000):
    """Numbers of every size between low and high."""
    return np.exp(rng.uniform(np.log(low), np.log(high), n))


def test_extended_precision_is_what_it_says():
    assert np.finfo(np.longdouble).nmant >= 63  # else the comparisons below show nothing


def test_the_exponential_is_right_to_three_last_places():
    rng = np.random.default_rng(0)
    v = np.concatenate(
        [np.linspace(-40, 40, 20_001), spread_out(rng, 1e-300, 700), -spread_out(rng, 1e-3, 700), [0.0, -0.0, 699.99]]
    )
    got = parts.exp_neg_abs(v)
    # Half a place each for r, for 1 + r and for the last sum and product; the terms between them add less than one.
    assert ulps(got, np.exp(-np.abs(v.astype(np.longdouble)))).max() <= 3.0
    assert parts.exp_neg_abs(np.array([0.0]))[0] == 1.0


def test_the_exponential_stays_tiny_and_finite_beyond_its_range():
    out = parts.exp_neg_abs(np.array([700.0, 701.0, -1e4, 1e300, np.inf]))
    assert (out == out[0]).all()
    assert 0.0 < out[0] < 1e-303


def test_the_exponential_of_eight_at_a_time_is_that_of_one():
    # The chance that the vector kernel writes down, beside the one of a single number.
    v = np.concatenate([np.linspace(-750, 750, 4001), np.random.default_rng(1).normal(size=999), [0.0, -0.0]])
    ones = np.ones_like(v)
    residual, slopes, by_eight, slopes_by_eight, _ = parts.residuals_and_slopes(v, ones, 0.0 * ones, "logistic")
    # There, quotients are products with a reciprocal: half a place more for each of at most three.
    np.testing.assert_allclose(by_eight, residual, rtol=2 * np.finfo(float).eps)
    np.testing.assert_allclose(slopes_by_eight, slopes, rtol=4 * np.finfo(float).eps)


def test_the_logarithm_is_right_to_a_last_place():
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [spread_out(rng, 1e-300, 1e300), rng.uniform(0.5, 2.0, 20_000), 1.0 + spread_out(rng, 1e-15, 0.5), [2.0**0.5]]
    )
    assert ulps(parts.log(x), np.log(x.astype(np.longdouble))).max() <= 1.5


def test_the_logarithm_of_numbers_below_the_normal_ones():
    x = np.array([5e-324, 1e-320, 2.2e-308, np.finfo(float).tiny])
    assert ulps(parts.log(x), np.log(x.astype(np.longdouble))).max() <= 1.5


def test_the_logarithm_at_its_edges():
    got = parts.log(np.array([1.0, 0.0, -0.0, np.inf, -1.0, -np.inf, np.nan]))
    np.testing.assert_array_equal(got, [0.0, -np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan])


def test_the_logarithm_of_one_and_something():
    rng = np.random.default_rng(3)
    x = np.concatenate(
        [spread_out(rng, 1e-300, 1e300), -spread_out(rng, 1e-300, 0.999_999), rng.uniform(-0.9, 3, 9_999)]
    )
    # log(u) and its correction are rounded, and added: two places.
    assert ulps(parts.log1p(x), np.log1p(x.astype(np.longdouble))).max() <= 2.5
    np.testing.assert_array_equal(parts.log1p(np.array([0.0, np.inf])), [0.0, np.inf])


def test_the_cosine_of_a_turn():
    u = np.concatenate(
        [np.arange(4096) / 4096, np.random.default_rng(4).random(50_000), 0.75 + np.geomspace(1e-16, 0.1)]
    )
    long = u.astype(np.longdouble)
    exact = np.cos(2 * LONG_PI * long)
    for zero, sign in ((0.25, -1), (0.75, 1)):  # differences to a zero are exact, so that the sine there is too
        near = np.abs(u - zero) < 0.125
        exact[near] = sign * np.sin(2 * LONG_PI * (long[near] - zero))
    got, nonzero = parts.cos_2pi(u), exact != 0
    # Folding is exact. Pi, 2 pi x, the series and its product are rounded: half a place each, of which one of the result
    # may be twice as small.
    assert ulps(got[nonzero], exact[nonzero]).max() <= 4.0
    np.testing.assert_array_equal(parts.cos_2pi(np.array([0.0, 0.25, 0.5, 0.75])), [1.0, 0.0, -1.0, 0.0])


def erfc_in_many_digits(x):
    """1 - erf(x) by the series of erf, with digits enough for its terms of e^(x^2) and a result of e^(-x^2)."""
    with localcontext() as context:
        context.prec = 60 + int(0.9 * float(x) ** 2)
        z = Decimal(float(x))
        square, term, total, n = z * z, z, z, 0
        while abs(term) > Decimal(10) ** -(context.prec):
            n += 1
            term *= -square / n
            total += term / (2 * n + 1)
        return 1 - 2 * total / pi_in_many_digits(context.prec).sqrt()


def pi_in_many_digits(digits):
    """Machin: pi = 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan_of_reciprocal(n):
        total, k, power = Decimal(0), 0, Decimal(1) / n
        while power > Decimal(10) ** -(digits + 5):
            total += (-1) ** k * power / (2 * k + 1)
            power /= n * n
            k += 1
        return total

    return 16 * arctan_of_reciprocal(5) - 4 * arctan_of_reciprocal(239)


@pytest.mark.parametrize(
    "x", [-6.0, -2.5, -0.5, -0.46875, -1e-9, 0.0, 0.1, 0.46875, 0.47, 1.0, 2.0, 3.99, 4.0, 4.01, 7.3]
)
def test_the_error_function_s_complement_in_many_digits(x):
    exact, got = erfc_in_many_digits(x), parts.erfc(np.array([x]))[0]
    # Cody's approximation is good to about 6e-19 of it; two exponentials and a few products are rounded.
    assert abs(Decimal(float(got)) - exact) <= 5 * Decimal(float(np.spacing(got)))


@pytest.mark.parametrize("x", [12.0, 20.2, 26.0])
def test_the_error_function_s_complement_where_it_is_tiny(x):
    exact, got = erfc_in_many_digits(x), parts.erfc(np.array([x]))[0]
    # The exponential of a number near 700 that is known to a last place is known to a few hundred of them at worst.
    assert abs(Decimal(float(got)) - exact) <= 10 * Decimal(float(np.spacing(got)))


def test_the_error_function_s_complement_everywhere():
    x = np.linspace(-30, 26, 100_001)
    # SciPy rounds x^2 before it takes the exponential, which costs it x^2 half places.
    allowed = (5 + np.maximum(x, 0) ** 2) * np.finfo(float).eps
    assert (np.abs(parts.erfc(x) / special.erfc(x) - 1) <= allowed).all()
    edges = parts.erfc(np.array([26.6, 100.0, np.inf, -26.6, -np.inf]))
    np.testing.assert_array_equal(edges, [0.0, 0.0, 0.0, 2.0, 2.0])


@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
def test_what_is_not_a_number_stays_none(link):
    for what in ("mean", "slope", "potential"):
        assert np.isnan(native.link_values(link, what, np.array([np.nan]))).all()
