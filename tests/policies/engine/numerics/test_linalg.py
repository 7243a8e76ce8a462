"""Rank-one updates, factorisations, solves and whitening against NumPy and SciPy."""

import native_testing as parts
import numpy as np
import pytest
from scipy import linalg as reference

from duelist import native

DIMS = (1, 2, 5, 16)
UPDATES = 100_000


def random_precision(rng, dim):
    """A well-conditioned positive definite matrix: eigenvalues from about 1 to 10."""
    q, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    return (q * rng.uniform(1, 10, size=dim)) @ q.T


def upper(matrix):
    """R with R'R = matrix."""
    return np.linalg.cholesky(matrix, upper=True)


def width_of(factor, z):
    return float(np.linalg.norm(parts.solve_lower(factor, z)))


def whitened(factor, arms):
    """Columns R'^-1 x of all arms."""
    return parts.utilities_and_columns(arms, np.zeros(arms.shape[1]), factor, None)[1]


def with_rubbish_below(factor):
    """The same upper factor, with NaN where nobody should look."""
    return factor + np.tril(np.full_like(factor, np.nan), -1)


def long_cholesky(matrix):
    """Cholesky in extended precision, so that the reference adds no error of its own."""
    a = matrix.astype(np.longdouble)
    factor = np.zeros_like(a)
    for j in range(len(a)):
        factor[j, j] = np.sqrt(a[j, j] - factor[j, :j] @ factor[j, :j])
        for i in range(j + 1, len(a)):
            factor[i, j] = (a[i, j] - factor[i, :j] @ factor[j, :j]) / factor[j, j]
    return factor


def long_width(factor, z):
    v = z.astype(np.longdouble)
    for i in range(len(v)):
        v[i] = (v[i] - factor[i, :i] @ v[:i]) / factor[i, i]
    return float(np.sqrt(v @ v))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 31, 128, 133])
def test_a_dot_product_is_summed_in_eight_lanes(n):
    a, b = np.random.default_rng(n).normal(size=(2, n))
    lanes = np.zeros(8)
    whole = n - n % 8
    for i in range(whole):
        lanes[i % 8] += a[i] * b[i]
    for i in range(whole, n):
        lanes[0] += a[i] * b[i]
    halves = lanes[:4] + lanes[4:]
    assert parts.dot(a, b) == (halves[0] + halves[1]) + (halves[2] + halves[3])


@pytest.mark.parametrize("dim", DIMS)
def test_two_updates_at_once_are_the_two(dim):
    rng = np.random.default_rng(dim)
    alone = [upper(random_precision(rng, dim)) for _ in range(2)]
    together = alone[0].copy(), alone[1].copy()
    for z in rng.normal(size=(20, dim)) * (rng.random((20, dim)) < 0.7):
        for factor, weight in zip(alone, (0.7, 0.2), strict=True):
            factor[:] = parts.cholesky_update(factor, z, weight)
        together = parts.cholesky_update_both(together[0], 0.7, together[1], 0.2, z)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


# Condition numbers are at most 100 here, so 1e-12 leaves a factor of 50 for rounding.
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("weight", [0.0, 1e-12, 0.3, 1.0, 10.0])
def test_an_update_is_the_factor_of_the_sum(dim, weight):
    rng = np.random.default_rng(dim)
    precision, z = random_precision(rng, dim), rng.normal(size=dim)
    factor = parts.cholesky_update(upper(precision), z, weight)
    np.testing.assert_allclose(factor, upper(precision + weight * np.outer(z, z)), rtol=1e-12, atol=1e-12)


def test_an_update_by_a_sparse_vector_touches_only_what_it_must():
    rng = np.random.default_rng(0)
    precision = random_precision(rng, 6)
    for z in (np.eye(6)[0], np.eye(6)[3], np.eye(6)[5], np.array([0, -2.0, 0, 0, 1.0, 0])):
        factor = parts.cholesky_update(upper(precision), z, 2.0)
        expected = upper(precision + 2.0 * np.outer(z, z))
        np.testing.assert_allclose(factor, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("z", "weight"), [(np.zeros(4), 1.0), (np.ones(4), 0.0)])
def test_an_update_by_nothing_changes_no_bit(z, weight):
    factor = upper(random_precision(np.random.default_rng(1), 4))
    np.testing.assert_array_equal(parts.cholesky_update(factor, z, weight), factor)


def test_an_update_leaves_its_vector_alone():
    z = np.array([1.0, -2.0, 3.0])
    parts.cholesky_update(np.eye(3), z, 0.5)
    np.testing.assert_array_equal(z, [1.0, -2.0, 3.0])


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_an_update_survives_scales_whose_squares_overflow_or_vanish(scale):
    factor = parts.cholesky_update(scale * np.eye(2), scale * np.array([3.0, 4.0]), 1.0)
    expected = scale * upper(np.eye(2) + np.outer([3.0, 4.0], [3.0, 4.0]))
    np.testing.assert_allclose(factor, expected, rtol=1e-14)


def stream(kind, rng, dim):
    """Differences and weights as policies meet them; each keeps the condition number below 1e6."""
    if kind == "gaussian":
        return rng.normal(size=(UPDATES, dim)), np.ones(UPDATES)
    if kind == "hypercube":
        return rng.choice([-2.0, 0.0, 2.0], size=(UPDATES, dim)), np.ones(UPDATES)
    if kind == "few differences":
        return rng.normal(size=(2 * dim, dim))[rng.integers(2 * dim, size=UPDATES)], np.ones(UPDATES)
    if kind == "shrinking weights":
        return rng.normal(size=(UPDATES, dim)), 1.0 / (1.0 + np.arange(UPDATES))
    if kind == "nearly collinear":
        return rng.normal(size=dim) + 1e-2 * rng.normal(size=(UPDATES, dim)), np.ones(UPDATES)
    return rng.normal(size=(UPDATES, dim)) * np.geomspace(1, 1e-2, dim), rng.uniform(0, 1, UPDATES)  # stretched


@pytest.mark.parametrize(
    "kind", ["gaussian", "hypercube", "few differences", "shrinking weights", "nearly collinear", "stretched"]
)
@pytest.mark.parametrize("prior", [1.0, 4.0**-18])
def test_a_hundred_thousand_updates_drift_by_less_than_one_part_in_a_billion(kind, prior):
    rng, dim = np.random.default_rng(2), 5
    z, weights = stream(kind, rng, dim)
    factor = parts.cholesky_updates(np.sqrt(prior) * np.eye(dim), z, weights)

    rows = z.astype(np.longdouble)
    exact = long_cholesky(prior * np.eye(dim) + (rows * weights[:, None]).T @ rows)
    assert np.linalg.norm(factor.T - exact.astype(float)) <= 1e-9 * np.linalg.norm(exact.astype(float))
    for probe in np.vstack([rng.normal(size=(20, dim)), np.eye(dim)]):
        assert width_of(factor, probe) == pytest.approx(long_width(exact, probe), rel=1e-9)


@pytest.mark.parametrize("dim", [*DIMS, 70])
def test_cholesky_is_numpys_and_leaves_the_lower_triangle_alone(dim):
    precision = random_precision(np.random.default_rng(dim), dim)
    factor = native.cholesky_factor(precision)
    np.testing.assert_allclose(np.triu(factor), upper(precision), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.tril(factor, -1), np.tril(precision, -1))


@pytest.mark.parametrize("dim", DIMS)
def test_cholesky_reads_the_upper_triangle_only(dim):
    precision = random_precision(np.random.default_rng(dim), dim)
    factor = native.cholesky_factor(with_rubbish_below(np.triu(precision)))
    np.testing.assert_allclose(np.triu(factor), upper(precision), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "matrix",
    [[[0.0]], [[-1.0]], [[np.nan]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]], [[1.0, np.nan], [np.nan, 1.0]]],
)
def test_cholesky_says_no_to_what_is_not_positive_definite(matrix):
    assert native.cholesky_factor(np.array(matrix)) is None


@pytest.mark.parametrize("dim", [*DIMS, 8, 9, 33])
def test_triangular_solves_are_scipys(dim):
    rng = np.random.default_rng(dim)
    factor, b = upper(random_precision(rng, dim)), rng.normal(size=dim)
    down, up = parts.solve_lower(factor, b), parts.solve_upper(factor, b)
    np.testing.assert_allclose(down, reference.solve_triangular(factor.T, b, lower=True), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(up, reference.solve_triangular(factor, b, lower=False), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dim", [1, 2, 7, 8, 9, 40])
def test_the_product_with_a_factor_is_that_with_its_precision(dim):
    rng = np.random.default_rng(dim)
    precision, x = random_precision(rng, dim), rng.normal(size=dim)
    product = parts.multiply(with_rubbish_below(upper(precision)), x)
    np.testing.assert_allclose(product, precision @ x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dim", [*DIMS, 9])
def test_nothing_reads_the_lower_triangle(dim):
    rng = np.random.default_rng(dim)
    factor, z, arms = upper(random_precision(rng, dim)), rng.normal(size=dim), rng.normal(size=(6, dim))
    dirty = with_rubbish_below(factor)
    for solve in (parts.solve_lower, parts.solve_upper):
        np.testing.assert_array_equal(solve(dirty, z), solve(factor, z))
    np.testing.assert_array_equal(whitened(dirty, arms), whitened(factor, arms))
    np.testing.assert_array_equal(np.triu(parts.cholesky_update(dirty, z, 0.5)), parts.cholesky_update(factor, z, 0.5))


@pytest.mark.parametrize("dim", DIMS)
def test_whitened_distances_are_norms_in_the_inverse_precision(dim):
    rng = np.random.default_rng(dim)
    precision, arms = random_precision(rng, dim), rng.normal(size=(12, dim))
    factor = upper(precision)
    v = whitened(factor, arms)
    assert v.shape == (dim, 12)
    gaps = arms[:, None] - arms[None]
    expected = np.sqrt(np.einsum("ijk,kl,ijl->ij", gaps, np.linalg.inv(precision), gaps))
    np.testing.assert_allclose(np.linalg.norm(v[:, :, None] - v[:, None, :], axis=0), expected, rtol=1e-12, atol=1e-13)
    for i, j in ((0, 1), (3, 11), (4, 4)):
        assert width_of(factor, arms[i] - arms[j]) == pytest.approx(expected[i, j], rel=1e-12)


def test_whitening_and_utilities_take_the_chosen_arms_in_their_order():
    rng = np.random.default_rng(3)
    factor, arms, theta = upper(random_precision(rng, 4)), rng.normal(size=(9, 4)), rng.normal(size=4)
    chosen = [7, 2, 2, 0, 5]
    u, v = parts.utilities_and_columns(arms, theta, factor, np.array(chosen))
    np.testing.assert_allclose(u, arms[chosen] @ theta, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        v, reference.solve_triangular(factor.T, arms[chosen].T, lower=True), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (9, 4), (40, 1), (17, 70)])
def test_whitening_by_one_turns_arms_into_columns(shape):
    arms = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_array_equal(whitened(np.eye(shape[1]), arms), arms.T)


def whitened_one_by_one(factor, arms):
    """Entries subtracted one after the other in their order, times the reciprocal of the diagonal."""
    v = arms.T.copy()
    for k in range(len(factor)):
        v[k] *= 1.0 / factor[k, k]
        for i in range(k + 1, len(factor)):
            v[i] -= factor[k, i] * v[k]
    return v


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 255, 256, 600])
@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 8, 17, 65])
@pytest.mark.parametrize("sparse", [False, True])
def test_an_arm_is_whitened_to_the_same_bits_however_many_there_are(n, dim, sparse):
    rng = np.random.default_rng(dim)
    factor, arms, theta = upper(random_precision(rng, dim)), rng.normal(size=(n, dim)), rng.normal(size=dim)
    if sparse:
        factor[np.triu(rng.random((dim, dim)) < 0.7, 1)] = 0.0
        arms *= rng.random((n, dim)) < 0.5
    u, v = parts.utilities_and_columns(arms, theta, factor, None)
    np.testing.assert_array_equal(v, whitened_one_by_one(factor, arms))
    total = np.zeros(n)
    for k in range(dim):
        total += theta[k] * arms[:, k]
    np.testing.assert_array_equal(u, total)


def test_equal_arms_are_at_distance_zero_exactly():
    factor = upper(random_precision(np.random.default_rng(4), 5))
    arms = np.full((3, 5), 0.1) * np.array([1, 2, 3, 4, 5])
    v = whitened(factor, arms)
    np.testing.assert_array_equal(v[:, 0], v[:, 2])


def test_kernels_do_not_change_what_they_only_read():
    rng = np.random.default_rng(5)
    factor, arms, z = upper(random_precision(rng, 3)), rng.normal(size=(4, 3)), rng.normal(size=3)
    kept = factor.copy(), arms.copy(), z.copy()
    parts.utilities_and_columns(arms, z, factor, np.arange(4))
    parts.cholesky_update(factor, z, 1.0)
    parts.cholesky_update_both(factor, 1.0, factor, 2.0, z)
    parts.solve_lower(factor, z)
    parts.solve_upper(factor, z)
    parts.multiply(factor, z)
    native.cholesky_factor(factor)
    for array, copy in zip((factor, arms, z), kept, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 31, 64, 1000])
def test_lanes_add_up_to_the_dot_product(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, n))
    # n products of size about 1: the error of any order of summing is below n^2 eps.
    assert parts.dot(a, b) == pytest.approx(a @ b, abs=max(n, 1) ** 2 * np.finfo(float).eps)


def test_a_dot_product_is_as_long_as_its_first_side():
    assert parts.dot(np.ones(11), np.append(np.ones(11), [np.nan] * 5)) == 11.0
