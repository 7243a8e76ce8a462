"""Facts 6 and 7 of the paper: without noise regret stops, with less of it there is less regret.

Seeds are 0 and were fixed before any result was seen; tolerances are derived beside each test.
"""

import math
from itertools import pairwise

import numpy as np
import pytest

import duelist as dl
from duelist.simulation.environments import FixedArms, Hypercube, Noiseless

# -- 6. no noise -------------------------------------------------------------------------


def unit_corners(dim):
    """The hypercube's corners on the unit sphere, so that gaps do not grow with the dimension."""
    return FixedArms(Hypercube(dim).draw_world(np.random.default_rng(0)).arms / math.sqrt(dim))


def noiseless(name, environment, horizon):
    runs = dl.simulate(getattr(dl, name)(horizon=horizon), Noiseless(environment), horizon=horizon, runs=32)
    return runs.regret(name)


def mean_and_error(values):
    return values.mean(), values.std(ddof=1) / math.sqrt(len(values))


@pytest.mark.parametrize("environment", [Hypercube(3), Hypercube(5), unit_corners(4)])
@pytest.mark.parametrize("name", ["VACDB", "MaxPairUCB"])
def test_6_without_noise_regret_stops_growing(name, environment):
    """In every run the second half of the rounds adds less than logarithmic growth would.

    Of regret log t, the rounds after T/2 hold a share log 2 / log T; of regret sqrt(t), 29 %.
    """
    regret = noiseless(name, environment, 2000)
    assert (regret[:, -1] > 0.0).all()
    assert (1.0 - regret[:, 999] / regret[:, -1] < math.log(2.0) / math.log(2000.0)).all()


@pytest.mark.parametrize("name", ["VACDB", "MaxPairUCB"])
def test_6_without_noise_the_plateau_does_not_grow_like_the_root_of_the_horizon(name):
    """Radii grow by log T at most: T to 16 T may multiply regret by (log 16T / log T)^2, sqrt by 4."""
    short, long = (noiseless(name, Hypercube(4), horizon)[:, -1] for horizon in (500, 8000))
    mean, error = mean_and_error(long - (math.log(8000.0) / math.log(500.0)) ** 2 * short)
    assert mean <= 3.0 * error
    mean, error = mean_and_error(long - 4.0 * short)
    assert mean < -10.0 * error


@pytest.mark.parametrize("name", ["VACDB", "MaxPairUCB"])
def test_6_without_noise_the_plateau_grows_with_the_dimension_at_most_like_it(name):
    """Doubling d (with gaps kept) raises regret, but by no more than 2; means within 3 standard errors."""
    plateaus = [mean_and_error(noiseless(name, unit_corners(dim), 800)[:, -1]) for dim in (2, 4, 8)]
    for (small, small_error), (large, large_error) in pairwise(plateaus):
        assert large - small > 3.0 * math.hypot(small_error, large_error)
        assert large - 2.0 * small < 3.0 * math.hypot(2.0 * small_error, large_error)


# -- 7. less variance --------------------------------------------------------------------


def scaled_regrets(policy, runs):
    """Final regret over the scale, (scales, runs); run r has the same direction of theta* in every scale."""
    return np.array(
        [
            dl.simulate(policy, Hypercube(5, scale=scale), horizon=4000, runs=runs).final("VACDB") / scale
            for scale in (0.5, 1.0, 2.0, 4.0)
        ]
    )


def test_7_less_variance_means_less_regret_at_every_step():
    """Paired over 256 runs, each doubling of theta* lowers regret / scale by more than 3 standard errors."""
    for less, more in pairwise(scaled_regrets(dl.VACDB(horizon=4000), 256)[::-1]):
        mean, error = mean_and_error(more - less)
        assert mean > 3.0 * error


@pytest.mark.parametrize("explore", ["widest", "random"])
def test_7_less_variance_means_less_regret_for_every_way_to_explore(explore):
    """The slope of log(regret / scale) on log(scale), one for each of 32 runs, is negative."""
    regrets = scaled_regrets(dl.VACDB(horizon=4000, explore=explore), 32)
    slopes = np.polyfit(np.log2([0.5, 1.0, 2.0, 4.0]), np.log(regrets), 1)[0]
    mean, error = mean_and_error(slopes)
    assert mean < -3.0 * error
