"""Searches among the pairs that may be asked, against brute force, for few arms and for very many."""

import native_testing as parts
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duelist.core.seeds import seed_words
from duelist.native import MANY_ARMS
from duelist.reference.links import link_slope
from tests.helpers.policies import brute_force
from tests.helpers.policies.brute_force import allowed_pairs, squares, thresholds

LINKS = ("logistic", "probit", "exponential")


class Case:
    """Arms, utilities, and pairs that are out with somebody."""

    def __init__(self, seed, n, dim, shape, crowd):
        rng = np.random.default_rng([seed, n, dim])
        v = rng.normal(size=(dim, n))
        if shape == "whole numbers":
            v = np.round(v)
        if shape == "twins":
            v = np.repeat(v[:, : (n + 1) // 2], 2, axis=1)[:, :n].copy()
        if shape == "all equal":
            v = np.repeat(v[:, :1], n, axis=1)
        self.v = v
        self.u = {"linear": rng.normal(size=dim) @ v, "flat": np.zeros(n)}.get(
            crowd, rng.integers(0, 3, n).astype(float)
        )
        self.square = squares(v)
        self.rng = rng
        self.radius = float(rng.choice([0.0, 0.3, 2.0, 1e6]))

    def without(self, how):
        """Excluded pairs: a few, those that searches like best, most of them, or all."""
        n = len(self.u)
        pairs = np.argwhere(allowed_pairs(n))
        if how == "few":
            out = pairs[self.rng.random(len(pairs)) < min(1.0, 5 / max(len(pairs), 1))]
        elif how == "the best":
            worth = (self.u[:, None] + self.u[None]) + self.radius * np.sqrt(self.square)
            keys = [worth[tuple(pairs.T)], self.square[tuple(pairs.T)]]
            out = np.vstack([pairs[np.argsort(-key, kind="stable")[: len(pairs) // 4 + 1]] for key in keys])
        elif how == "nearly all":
            out = pairs[self.rng.permutation(len(pairs))[: max(len(pairs) - 3, 0)]]
        else:
            out = pairs if how == "all" else pairs[:0]
        turned = self.rng.random(len(out)) < 0.5  # pairs have no order
        return np.ascontiguousarray(np.where(turned[:, None], out[:, ::-1], out), np.int64)


cases = {
    "seed": st.integers(0, 2**32 - 1),
    "n": st.one_of(st.integers(2, 40), st.integers(2, 600), st.sampled_from([MANY_ARMS - 1, MANY_ARMS, MANY_ARMS + 1])),
    "dim": st.integers(1, 6),
    "shape": st.sampled_from(["random", "whole numbers", "twins", "all equal"]),
    "crowd": st.sampled_from(["linear", "flat", "whole numbers"]),
    "how": st.sampled_from(["none", "few", "the best", "nearly all", "all"]),
    "distinct": st.booleans(),
}


@settings(deadline=None, derandomize=True, max_examples=250)
@given(**cases)
def test_every_search_is_the_brute_force_one_over_the_allowed_pairs(seed, n, dim, shape, crowd, how, distinct):
    case = Case(seed, n, dim, shape, crowd)
    u, v, square, out = case.u, case.v, case.square, case.without(how)
    allowed = allowed_pairs(n, out)
    found = parts.best_pair(u, v, case.radius, distinct, out)
    expected = brute_force.best(u, square, case.radius, distinct, allowed)
    assert found == expected if expected[0] >= 0 else found[:2] == (-1, -1)
    assert parts.widest_pair(v, distinct, out) == brute_force.widest(square, distinct, allowed)
    for threshold in thresholds(square):
        wide = brute_force.are_wide(square, threshold, allowed)
        assert parts.any_wider(v, threshold, out) == wide.any()
        best = brute_force.best_wide(u, square, threshold, allowed)
        assert parts.best_wide_pair(u, v, threshold, distinct, out)[:2] == best
        drawn = parts.random_wide_pair(v, threshold, seed_words(seed), out)[:2]
        assert wide[drawn] if wide.any() else drawn == (-1, -1)
    for champion in case.rng.integers(n, size=3):
        expected = brute_force.challenger(u, square, champion, case.radius, distinct, allowed)
        assert parts.challenger(u, v, int(champion), case.radius, distinct, out) == expected


@settings(deadline=None, derandomize=True, max_examples=150)
@given(**(cases | {"n": st.integers(2, 80)}))
def test_the_searches_for_very_many_arms_are_right_for_few_too(seed, n, dim, shape, crowd, how, distinct):
    case = Case(seed, n, dim, shape, crowd)
    u, v, square, out = case.u, case.v, case.square, case.without(how)
    allowed = allowed_pairs(n, out)
    found = parts.search_best(u, v, case.radius, 1.0, distinct, out)[:3]
    expected = brute_force.best(u, square, case.radius, distinct, allowed)
    assert found == expected if expected[0] >= 0 else found[:2] == (-1, -1)
    for threshold in thresholds(square):
        wide = brute_force.are_wide(square, threshold, allowed)
        first, second, value, _ = parts.search_wider(v, threshold, 1.0, distinct, out)
        assert (wide[first, second] and value == square[first, second]) if wide.any() else first == -1
        best = brute_force.best_wide(u, square, threshold, allowed)
        assert parts.search_best_wide(u, v, threshold, 1.0, distinct, out)[:2] == best
        drawn = parts.search_random_wide(v, threshold, seed_words(seed), 1.0, out)[:2]
        assert wide[drawn] if wide.any() else drawn == (-1, -1)


@pytest.mark.parametrize("n", [6, 300])
def test_a_random_wide_pair_is_uniform_among_the_allowed_ones(n):
    rng = np.random.default_rng(n)
    v = rng.normal(size=(3, n))
    square = squares(v)
    threshold = float(np.sqrt(np.sort(square[np.triu_indices(n, 1)])[-9]))
    out = np.array(brute_force.wide(square, threshold)[:3])
    wide = brute_force.wide(square, threshold, allowed_pairs(n, out))
    assert len(wide) == 5
    seen = dict.fromkeys(wide, 0)
    for k in range(2000):
        seen[parts.random_wide_pair(v, threshold, seed_words([n, k]), out)[:2]] += 1
    # Six sigma of a binomial with chance 1/5.
    assert max(abs(count - 400) for count in seen.values()) <= 6 * np.sqrt(2000 * 0.16)


def local_worths(u, square, link, stretch, horizon):
    slopes = link_slope(link, u[:, None] - u[None])
    rounds = np.log1p(horizon * slopes * square)
    share = stretch * (slopes / link_slope(link, 0.0)) ** 0.2 * np.maximum(rounds - np.log1p(rounds), 0.0)
    return u[:, None] + u[None] + np.sqrt(square) * np.sqrt(share)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(**(cases | {"n": st.one_of(st.integers(2, 60), st.integers(2, 400)), "link": st.sampled_from(LINKS)}))
def test_a_local_pair_is_allowed_and_no_allowed_pair_is_worth_more(seed, n, dim, shape, crowd, how, distinct, link):
    case = Case(seed, n, dim, shape, crowd)
    u, out = case.u, case.without(how)
    allowed = allowed_pairs(n, out)
    first, second, _ = parts.best_local_pair(u, case.v, link, 1.2, 1000.0, distinct, out)
    worths = local_worths(u, case.square, link, 1.2, 1000.0)
    best = np.where(allowed, worths, -np.inf).max()
    if first < 0:
        assert distinct
        assert not allowed.any()
        return
    assert allowed[first, second] or (first == second and not distinct)
    if not distinct:
        best = max(best, 2.0 * u.max())
    if n < MANY_ARMS:  # from there on, the best of some good pairs
        assert worths[first, second] >= best - 1e-9 * (1.0 + abs(best))
