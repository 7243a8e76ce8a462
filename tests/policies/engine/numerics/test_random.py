"""The generator of the engine is NumPy's SFC64, and its transforms have the laws they claim."""

import native_testing as parts
import numpy as np
import pytest
from scipy import stats

from duelist.core.seeds import seed_words

SEEDS = (0, 1, 2**63 + 5, np.random.SeedSequence(7, spawn_key=(3, 2)))
N = 100_000
# P(sup |F_n - F| > x) <= 2 exp(-2 n x^2) (Massart); this x is exceeded with chance 1e-9.
KS_LIMIT = np.sqrt(np.log(2e9) / (2 * N))
ALL_ONES = 2**64 - 1


def sample(kind, seed, n=N, most=1):
    return parts.draw(seed_words(seed), kind, n, most)[0]


def first_words(*words):
    return np.array(words, dtype=np.uint64)


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_uniforms_are_numpys_bit_for_bit_and_so_is_the_generator_after_them(seed):
    numpys = np.random.SFC64(seed)
    ours, words = parts.draw(seed_words(seed), "uniform", 1000)
    np.testing.assert_array_equal(ours, np.random.Generator(numpys).random(1000))
    np.testing.assert_array_equal(words, numpys.state["state"]["state"])


def test_words_wrap_around_sixty_four_bits():
    numpys = np.random.SFC64(0)
    state = numpys.state
    state["state"]["state"] = np.full(4, ALL_ONES, dtype=np.uint64)
    numpys.state = state
    ours, words = parts.draw(first_words(*[ALL_ONES] * 4), "uniform", 100)
    np.testing.assert_array_equal(ours, np.random.Generator(numpys).random(100))
    np.testing.assert_array_equal(words, numpys.state["state"]["state"])


def test_drawing_leaves_the_given_words_alone():
    words = seed_words(1)
    parts.draw(words, "normal", 10)
    np.testing.assert_array_equal(words, seed_words(1))


def test_seed_none_gives_a_fresh_generator_each_time():
    assert (seed_words(None) != seed_words(None)).any()


@pytest.mark.parametrize("n", [1, 2, 7, 1000, 2**40])
def test_below_is_the_scaled_uniform(n):
    ours = sample("below", 5, 2000, n)
    uniforms = np.random.Generator(np.random.SFC64(5)).random(2000)
    np.testing.assert_array_equal(ours, np.floor(uniforms * n))
    assert ours.min() >= 0
    assert ours.max() < n


def test_below_never_reaches_n_even_where_rounding_would():
    # The largest uniform, 1 - 2^-53, times 2^53 + 2 rounds to 2^53 + 2 itself or just under it.
    for n in (2, 3, 2**53, 2**53 + 2, 2**60):
        assert parts.draw(first_words(ALL_ONES, 0, 0, 0), "below", 1, n)[0][0] < n


def test_below_is_uniform():
    n, p = 7, 1 / 7
    counts = np.bincount(sample("below", 6, most=n).astype(int), minlength=n)
    assert np.abs(counts - N * p).max() <= 6 * np.sqrt(N * p * (1 - p))  # six sigma of a binomial


def test_gumbel_has_its_law():
    assert stats.kstest(sample("gumbel", 1), stats.gumbel_r.cdf).statistic <= KS_LIMIT


def test_normal_has_its_law():
    assert stats.kstest(sample("normal", 2), stats.norm.cdf).statistic <= KS_LIMIT


def test_consecutive_normals_are_uncorrelated():
    x = sample("normal", 3)
    assert abs(np.mean(x[1:] * x[:-1])) <= 6 / np.sqrt(N - 1)  # products of independent normals have variance 1


def test_gumbel_inverts_the_distribution_function():
    uniforms = np.random.Generator(np.random.SFC64(4)).random(1000)
    np.testing.assert_allclose(sample("gumbel", 4, 1000), stats.gumbel_r.ppf(uniforms), rtol=1e-12, atol=1e-14)


def test_a_normal_is_the_cosine_half_of_box_and_muller():
    first, second = np.random.Generator(np.random.SFC64(4)).random((1000, 2)).T
    expected = np.sqrt(-2.0 * np.log1p(-first)) * np.cos(2.0 * np.pi * second)
    np.testing.assert_allclose(sample("normal", 4, 1000), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", ["gumbel", "normal"])
@pytest.mark.parametrize("first", [0, ALL_ONES], ids=["smallest uniform", "largest uniform"])
def test_the_most_extreme_uniforms_give_finite_draws(kind, first):
    words = first_words(first, 0, 12345, 0)  # the first word out is a + b + counter
    assert parts.draw(words, "uniform", 1)[0][0] == (0.0 if first == 0 else 1 - 2.0**-53)
    assert np.isfinite(parts.draw(words, kind, 1)[0][0])


def test_a_kind_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="kind"):
        parts.draw(seed_words(0), "cauchy", 1)
