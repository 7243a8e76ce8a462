"""The least possible regret: against exact short horizons, its scaling, and rules that stop by hand."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from duelist.research.paper.regret_bound import least_regret, least_sign_cost, optimal_boundary

SPREADS = (0.1, 0.5, 1.0, 3.0)


def wrong(mean, sd):
    """E of |theta| where the likelier sign is the wrong one."""
    z = np.abs(mean) / sd
    return sd * (np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) - z * special.ndtr(-z))


def size(mean, sd):
    """E |theta|"""
    return np.abs(mean) + 2.0 * wrong(mean, sd)


def deviation(spread, n):
    return (spread**-2 + n) ** -0.5


def step(spread, n):
    """Of the posterior mean, from n to n + 1 votes."""
    return math.sqrt(deviation(spread, n) ** 2 - deviation(spread, n + 1) ** 2)


# -- short horizons ----------------------------------------------------------------------


def test_the_formulas_here_are_the_integrals_they_stand_for():
    for mean, sd in ((0.0, 1.0), (0.7, 0.4), (2.0, 1.5)):

        def density(x, mean=mean, sd=sd):
            return math.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * math.sqrt(2.0 * math.pi))

        lost = integrate.quad(lambda x, density=density: -x * density(x), -20.0, 0.0)[0]
        whole = integrate.quad(lambda x, density=density: abs(x) * density(x), -20.0, 20.0, points=[0.0])[0]
        assert wrong(mean, sd) == pytest.approx(lost, rel=1e-6)
        assert size(mean, sd) == pytest.approx(whole, rel=1e-6)


def expected(function):
    """E function(z) for a standard normal z, by Simpson's rule on a dense grid with a node at 0."""
    z = np.linspace(-9.0, 9.0, 4001)
    return integrate.simpson(function(z) * stats.norm.pdf(z), x=z)


@pytest.mark.parametrize("spread", SPREADS)
def test_one_round_costs_the_mean_size(spread):
    """Either is a coin flip over 2 |theta|, or costs |theta| for sure."""
    assert least_sign_cost(spread, 1) == pytest.approx(spread * math.sqrt(2.0 / math.pi), rel=1e-9)


@pytest.mark.parametrize("spread", SPREADS)
def test_two_rounds_are_one_vote_and_the_sign_it_points_to(spread):
    after = expected(lambda z: 2.0 * wrong(step(spread, 0) * z, deviation(spread, 1)))
    assert least_sign_cost(spread, 2) == pytest.approx(size(0.0, spread) + after, rel=5e-4)


@pytest.mark.parametrize("spread", SPREADS)
def test_three_rounds_are_a_vote_and_a_second_one_where_the_first_left_doubt(spread):
    def after_one(mean):
        """Stop with two rounds to go, or vote again and stop with one."""
        again = expected(lambda z: 2.0 * wrong(mean + step(spread, 1) * z, deviation(spread, 2)))
        return min(4.0 * wrong(mean, deviation(spread, 1)), size(mean, deviation(spread, 1)) + again)

    means = np.linspace(0.0, 9.0 * step(spread, 0), 1001)
    density = 2.0 * stats.norm.pdf(means, 0.0, step(spread, 0))
    after = integrate.simpson([after_one(m) for m in means] * density, x=means)
    assert least_sign_cost(spread, 3) == pytest.approx(size(0.0, spread) + after, rel=5e-4)


# -- shape -------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", SPREADS)
def test_more_rounds_cost_more_but_less_each(spread):
    rounds = (1, 2, 4, 8, 16, 32, 64)
    costs = np.array([least_sign_cost(spread, t, 1001) for t in rounds])
    assert (np.diff(costs) > 0.0).all()
    assert (np.diff(costs / rounds) < 0.0).all()


@pytest.mark.parametrize("spread", SPREADS)
def test_it_is_at_most_what_simple_rules_cost(spread):
    for rounds in (5, 50):
        least = least_sign_cost(spread, rounds)
        never_learning = rounds * size(0.0, spread)
        known = [
            n * size(0.0, spread)
            + 2.0 * (rounds - n) * expected(lambda z, n=n: wrong(spread_of_means(spread, n) * z, deviation(spread, n)))
            for n in (1, 3)
        ]
        assert least <= min(never_learning, *known) * (1.0 + 1e-3)


def spread_of_means(spread, n):
    return math.sqrt(spread**2 - deviation(spread, n) ** 2)


def test_time_can_be_traded_for_clarity():
    """Half as clear for four times as long is the same problem, votes of a quarter the size: costs double, in the limit."""
    clear, dim, dimmer = (s * least_sign_cost(s, int(64 / s**2)) for s in (1.0, 0.5, 0.25))
    assert abs(dimmer / dim - 1.0) < abs(dim / clear - 1.0) < 0.1
    assert dimmer == pytest.approx(dim, rel=0.02)


def test_what_is_hopeless_costs_in_proportion():
    """Where no vote can tell, every round costs the mean size, however it is spent."""
    for spread in (1e-4, 2e-4):
        flat = 20 * spread * math.sqrt(2.0 / math.pi)
        assert least_sign_cost(spread, 20) == pytest.approx(flat, rel=1e-2)


@pytest.mark.parametrize("spread", [0.2, 1.8])
def test_finer_grids_agree(spread):
    coarse, usual, fine = (least_sign_cost(spread, 120, grid) for grid in (501, 2001, 8001))
    assert abs(usual - fine) <= abs(coarse - fine) + 1e-9
    assert usual == pytest.approx(fine, rel=2e-3)
    assert usual <= fine * (1.0 + 1e-4)  # a coarse grid errs towards a weaker bound


def test_the_regret_is_that_of_all_coordinates():
    assert least_regret(4, 3.0, 20) == 4 * least_sign_cost(1.5, 20)
    assert isinstance(least_regret(5, 1.0, 3), float)


# -- rules that stop by hand ---------------------------------------------------------------


def costs_of_stopping(spread, rounds, boundary, runs=8_000):
    """Cost of each run that votes until |posterior mean| / deviation >= boundary(rounds left), then commits."""
    rng = np.random.default_rng(3)
    theta = spread * rng.standard_normal(runs)
    total, cost, voting = np.zeros(runs), np.zeros(runs), np.ones(runs, bool)
    for n in range(rounds):
        sd = deviation(spread, n)
        mean = sd**2 * total
        stop = voting & (np.abs(mean) >= boundary(rounds - n, sd) * sd)
        cost[stop] += 2.0 * (rounds - n) * np.abs(theta[stop]) * ((mean[stop] >= 0.0) != (theta[stop] > 0.0))
        voting &= ~stop
        cost[voting] += np.abs(theta[voting])
        total[voting] += theta[voting] + rng.standard_normal(voting.sum())
    return cost


@pytest.mark.parametrize(("spread", "rounds"), [(0.3, 200), (1.0, 60), (1.5, 200)])
def test_no_boundary_beats_it_and_the_best_comes_close(spread, rounds):
    least = least_sign_cost(spread, rounds)
    rules = [lambda _left, _sd, c=c: c for c in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)]
    rules += [lambda left, sd, c=c: math.sqrt(2.0 * math.log1p(c * left * sd**2)) for c in (0.1, 0.2, 0.4, 0.8)]
    found = [costs_of_stopping(spread, rounds, rule) for rule in rules]
    means = np.array([cost.mean() for cost in found])
    errors = np.array([cost.std() / math.sqrt(len(cost)) for cost in found])
    assert (means >= least - 4.0 * errors).all()
    assert means.min() <= 1.1 * least


# -- the boundary ------------------------------------------------------------------------

ROUNDS = 240


@pytest.fixture(scope="module", params=[0.2, 0.5])
def boundary(request):
    """The spread, and the boundary for it."""
    return request.param, optimal_boundary(request.param, ROUNDS)


def cost_of_stopping_at(boundary, spread, runs=8_000):
    """Mean cost over simulated runs, and its standard error."""
    rng = np.random.default_rng(11)
    theta = spread * rng.standard_normal(runs)
    total, cost, going = np.zeros(runs), np.zeros(runs), np.ones(runs, bool)
    for n in range(ROUNDS):
        mean = total * deviation(spread, n) ** 2
        stop = going & (np.abs(mean) >= boundary[n] * deviation(spread, n))
        cost[stop] += 2.0 * (ROUNDS - n) * np.abs(theta[stop]) * (theta[stop] * mean[stop] < 0.0)
        going &= ~stop
        cost[going] += np.abs(theta[going])
        total[going] += theta[going] + rng.standard_normal(going.sum())
    return cost.mean(), cost.std() / math.sqrt(runs)


def test_who_stops_at_the_boundary_pays_the_least(boundary):
    spread, best = boundary
    mean, error = cost_of_stopping_at(best, spread)
    assert mean == pytest.approx(least_sign_cost(spread, ROUNDS), abs=4.0 * error)
    for other in (0.5 * best, 2.0 * best):
        worse, error = cost_of_stopping_at(other, spread)
        assert worse > mean + 4.0 * error


def test_the_bonus_of_local_pair_ucb_has_the_shape_of_the_boundary(boundary):
    # z^2 / 2 is c (L - log(1 + L)) with nearly one c, from a fiftieth of the rounds to a third of them.
    spread, best = boundary
    n = np.arange(ROUNDS // 50, ROUNDS // 3)
    logs = np.log1p(ROUNDS * deviation(spread, n) ** 2)
    shape = 0.5 * best[n] ** 2 / (logs - np.log1p(logs))
    assert shape.max() / shape.min() < 1.25
    assert 0.6 < shape.min() < shape.max() < 0.9
    plain = 0.5 * best[n] ** 2 / logs
    assert plain.max() / plain.min() > 1.4  # not that of a plain logarithm
