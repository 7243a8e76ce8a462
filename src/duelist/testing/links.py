"""The contract of a link: subclass it in your tests and set `link`.

    from duelist.testing import LinkContract

    class TestCauchit(LinkContract):
        link = CAUCHIT

A link is symmetric and S-shaped; `slope` is the derivative of `mean`, and `mean` that of `potential`. The tests compare
these functions with one another, so they need nothing but the link.
"""

# ruff: noqa: S101 - these are tests; pytest shows the values of a failed assert

from __future__ import annotations

from typing import Final

import numpy as np
import pytest

from duelist import native
from duelist.core.errors import InvalidInput
from duelist.model.links import Link, get_link

EPS: Final = float(np.finfo(float).eps)
LARGEST: Final = 1e4
NEAR: Final = np.unique(np.concatenate([np.linspace(-30.0, 30.0, 4001), np.geomspace(1e-12, 30.0, 100), [0.0]]))
FAR: Final = np.unique(np.concatenate([np.linspace(-LARGEST, LARGEST, 20_001), np.linspace(-40.0, 40.0, 20_001)]))
STEP: Final = 1e-5
"""The error of a central difference: STEP^2 / 6 times the third derivative plus EPS |value| / STEP, 2e-11 + 7e-10."""
DERIVATIVE: Final = 1e-9
SMOOTH: Final = NEAR[np.abs(NEAR) > 2.0 * STEP]
"""Without 0, where the slope of a link may have a kink."""
VANISHING: Final = 1e-300
UNKNOWN: Final = ("an unknown link", "", "Logistic ")


class LinkContract:
    """What every link promises. Subclass it as `Test...` and set `link`."""

    link: Link

    def test_win_probabilities_sum_to_one(self) -> None:
        """mu(v) + mu(-v) = 1, and mu(0) is exactly one half."""
        np.testing.assert_allclose(self.link.mean(FAR) + self.link.mean(-FAR), 1.0, rtol=0, atol=2.0 * EPS)
        assert self.link.mean(0.0) == 0.5

    def test_the_slope_is_even(self) -> None:
        """mu'(v) = mu'(-v), bit for bit: the order of the arms does not matter."""
        np.testing.assert_array_equal(self.link.slope(FAR), self.link.slope(-FAR))

    def test_mean_increases(self) -> None:
        """The better arm wins more often; neighbouring values may round towards each other."""
        mean = self.link.mean(FAR)
        assert (np.diff(mean) >= -2.0 * EPS * mean[1:]).all()
        assert (np.diff(self.link.mean(np.linspace(-5.0, 5.0, 201))) > 0.0).all()

    def test_slope_decreases_away_from_zero(self) -> None:
        """No slope between 0 and v is smaller than that at v, on which `min_slope` relies."""
        slope = self.link.slope(FAR[FAR >= 0.0])
        assert (np.diff(slope) <= 8.0 * EPS * slope[1:]).all()
        assert (slope > 0.0).all()

    def test_the_slope_is_the_derivative_of_the_mean(self) -> None:
        """Central differences of the mean are the slope."""
        moved = (self.link.mean(SMOOTH + STEP) - self.link.mean(SMOOTH - STEP)) / (2.0 * STEP)
        np.testing.assert_allclose(moved, self.link.slope(SMOOTH), rtol=0, atol=DERIVATIVE)

    def test_the_mean_is_the_derivative_of_the_potential(self) -> None:
        """Central differences of the potential are the mean."""
        moved = (self.link.potential(SMOOTH + STEP) - self.link.potential(SMOOTH - STEP)) / (2.0 * STEP)
        np.testing.assert_allclose(moved, self.link.mean(SMOOTH), rtol=0, atol=DERIVATIVE)

    def test_the_potential_vanishes_at_minus_infinity(self) -> None:
        """M(v) tends to 0 for v to minus infinity, and M(v) - M(-v) = v."""
        assert 0.0 <= self.link.potential(-LARGEST) <= VANISHING
        gap = self.link.potential(FAR) - self.link.potential(-FAR) - FAR
        assert (np.abs(gap) <= 4.0 * EPS * (np.abs(FAR) + 1.0)).all()

    def test_largest_slope_is_at_zero(self) -> None:
        """`max_slope` is the slope at 0, and no other exceeds it by more than rounding."""
        assert self.link.slope(0.0) == self.link.max_slope
        assert self.link.slope(NEAR).max() <= self.link.max_slope * (1.0 + 4.0 * EPS)

    def test_nothing_overflows(self) -> None:
        """Up to |v| = 10,000 all values are finite and probabilities lie in [0, 1], without warnings."""
        with np.errstate(all="raise"):
            mean, slope, potential = self.link.mean(FAR), self.link.slope(FAR), self.link.potential(FAR)
        for values in (mean, slope, potential):
            assert np.isfinite(values).all()
            assert (values >= 0.0).all()
        assert (mean <= 1.0).all()
        assert self.link.mean(-LARGEST) <= VANISHING
        assert self.link.mean(LARGEST) == 1.0
        assert self.link.potential(LARGEST) == LARGEST

    def test_draws_have_the_probability_of_the_mean(self) -> None:
        """The share of wins in 100,000 draws is within six standard deviations of the mean."""
        for v in (-2.0, 0.0, 0.7):
            drawn, chance = self.link.draw(np.full(100_000, v), np.random.default_rng(0)), float(self.link.mean(v))
            assert abs(drawn.mean() - chance) <= 6.0 * np.sqrt(chance * (1.0 - chance) / drawn.size)
            assert set(drawn.tolist()) == {0.0, 1.0}

    def test_link_is_found_by_name(self) -> None:
        """`get_link` and the engine find the link by its name."""
        assert get_link(self.link.name) is self.link
        assert native.max_slope(self.link.name) == self.link.max_slope

    @pytest.mark.parametrize("stranger", UNKNOWN)
    def test_unknown_names_raise_errors(self, stranger: str) -> None:
        """An unknown name raises an error everywhere."""
        with pytest.raises(InvalidInput, match=self.link.name):
            get_link(stranger)
        for call in (
            lambda: native.max_slope(stranger),
            lambda: native.link_values(stranger, "mean", np.zeros(1)),
            lambda: native.VoteModel(stranger, False, np.empty((0, 0)), 0, 0.0),
            lambda: native.new_policy_state(2, stranger, False, np.zeros(4, np.uint64), 1.0, 1.0, 1.0, 1.0, 1.0),
        ):
            with pytest.raises(ValueError, match=self.link.name):
                call()
