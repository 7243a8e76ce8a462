"""The compiled generator is NumPy's SFC64, and its transforms have the laws they claim."""

import numpy as np
import pytest
from duelist.kernels import random
from scipy import stats

SEEDS = (0, 1, 2**63 + 5, np.random.SeedSequence(7, spawn_key=(3, 2)))
N = 100_000
# P(sup |F_n - F| > x) <= 2 exp(-2 n x^2) (Massart); this x is exceeded with chance 1e-9.
KS_LIMIT = np.sqrt(np.log(2e9) / (2 * N))
ALL_ONES = 2**64 - 1


def sample(draw, seed, n=N):
    words = random.seed_words(seed)
    return np.array([draw(words) for _ in range(n)])


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_words_are_numpys_bit_for_bit(seed):
    words = random.seed_words(seed)
    numpys = np.random.SFC64(seed)
    ours = np.array([random.next_word(words) for _ in range(1000)], dtype=np.uint64)
    np.testing.assert_array_equal(ours, numpys.random_raw(1000))
    np.testing.assert_array_equal(words, numpys.state["state"]["state"])


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_uniforms_are_numpys_bit_for_bit(seed):
    numpys = np.random.Generator(np.random.SFC64(seed)).random(1000)
    np.testing.assert_array_equal(sample(random.uniform, seed, 1000), numpys)


def test_words_wrap_around_sixty_four_bits():
    numpys = np.random.SFC64(0)
    state = numpys.state
    state["state"]["state"] = np.full(4, ALL_ONES, dtype=np.uint64)
    numpys.state = state
    words = np.full(4, ALL_ONES, dtype=np.uint64)
    ours = np.array([random.next_word(words) for _ in range(100)], dtype=np.uint64)
    np.testing.assert_array_equal(ours, numpys.random_raw(100))


def test_seed_none_gives_a_fresh_generator_each_time():
    assert (random.seed_words(None) != random.seed_words(None)).any()


@pytest.mark.parametrize("n", [1, 2, 7, 1000, 2**40])
def test_below_is_the_scaled_uniform(n):
    ours = sample(lambda words: random.below(words, n), 5, 2000)
    uniforms = np.random.Generator(np.random.SFC64(5)).random(2000)
    np.testing.assert_array_equal(ours, np.floor(uniforms * n).astype(np.int64))
    assert ours.min() >= 0
    assert ours.max() < n


def test_below_never_reaches_n_even_where_rounding_would():
    # The largest uniform, 1 - 2^-53, times 2^53 + 2 rounds to 2^53 + 2 itself or just under it.
    for n in (2, 3, 2**53, 2**53 + 2, 2**60):
        assert random.below(np.array([ALL_ONES, 0, 0, 0], dtype=np.uint64), n) < n


def test_below_is_uniform():
    n, p = 7, 1 / 7
    counts = np.bincount(sample(lambda words: random.below(words, n), 6), minlength=n)
    assert np.abs(counts - N * p).max() <= 6 * np.sqrt(N * p * (1 - p))  # six sigma of a binomial


def test_gumbel_has_its_law():
    assert stats.kstest(sample(random.gumbel, 1), stats.gumbel_r.cdf).statistic <= KS_LIMIT


def test_normal_has_its_law():
    assert stats.kstest(sample(random.normal, 2), stats.norm.cdf).statistic <= KS_LIMIT


def test_consecutive_normals_are_uncorrelated():
    x = sample(random.normal, 3)
    assert abs(np.mean(x[1:] * x[:-1])) <= 6 / np.sqrt(N - 1)  # products of independent normals have variance 1


def test_gumbel_inverts_the_distribution_function():
    uniforms = np.random.Generator(np.random.SFC64(4)).random(1000)
    np.testing.assert_allclose(sample(random.gumbel, 4, 1000), stats.gumbel_r.ppf(uniforms), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("draw", [random.gumbel, random.normal])
@pytest.mark.parametrize("first", [0, ALL_ONES], ids=["smallest uniform", "largest uniform"])
def test_the_most_extreme_uniforms_give_finite_draws(draw, first):
    words = np.array([first, 0, 12345, 0], dtype=np.uint64)  # the first word out is a + b + counter
    expected = 0.0 if first == 0 else 1 - 2.0**-53
    assert random.uniform(words.copy()) == expected
    assert np.isfinite(draw(words))
