"""Predictions by rater: against an integral, and against held-out votes of raters who differ."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from duelist.model.answers import PAIR, PAIR_WITH_TIES, draw_outcomes
from duelist.model.raters.fit import fit_raters
from duelist.model.raters.prediction import chances_by_rater
from duelist.model.utility import Utility, arm_effects
from duelist.model.vote_fit import fit
from duelist.model.votes import Votes

N, RATERS = 6, 12


def drawn(answer, n=1500, seed=0):
    """Votes by raters of reliability 0.3 to 2, the last of whom votes for the worse item."""
    rng = np.random.default_rng(seed)
    utilities, reliability = np.linspace(1.5, -1.5, N), np.append(np.linspace(0.3, 2.0, RATERS - 1), -1.5)
    items = np.stack([rng.permutation(N)[:2] for _ in range(n)])
    rater = rng.integers(RATERS, size=n)
    shown = reliability[rater][:, None] * utilities[items]
    return items, rater, draw_outcomes(answer, shown, np.full(len(answer.parameters), -0.5), rng)


def fitted(answer, items, rater, outcomes):
    votes = Votes(N, items, np.eye(len(answer.outcomes))[outcomes], None, {"rater": rater})
    crowd = fit(votes, Utility((arm_effects(N),)), answer)
    return crowd, fit_raters(votes, crowd)


@pytest.mark.parametrize("answer", [PAIR, PAIR_WITH_TIES], ids=["pair", "ties"])
def test_a_prediction_is_an_average_over_the_gap(answer):
    crowd, found = fitted(answer, *drawn(answer))
    first, second = np.array([0, 3, 5, 1]), np.array([1, 2, 0, 4])
    rater = np.array([0, 7, RATERS - 1, RATERS + 5])  # the last has no votes
    win, tie = chances_by_rater(found, first, second, rater)
    raters, share = found.raters, found.raters.outcomes
    for k in range(4):
        mean = found.mean[first[k]] - found.mean[second[k]]
        deviation = float(np.sqrt(found.difference_variance(first[[k]], second[[k]])[0]))
        where = np.flatnonzero(raters.ids == rater[k])
        a, side, ties, lapse, attentive, against = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0
        if len(where):
            a, side, ties, lapse, attentive = (
                float(getattr(raters, name)[where[0]]) for name in ("reliability", "side", "ties", "lapse", "attentive")
            )
            against = float(raters.kinds[where[0], 2])
        nu = 0.0 if found.tie is None else np.exp(found.tie + ties)

        def of_gap(gap, nu=nu):
            odds = np.array([np.exp(gap / 2), np.exp(-gap / 2), nu])
            return odds / odds.sum()

        def chance(gap, outcome, of_gap=of_gap, values=(a, side, lapse, attentive, against)):
            a, side, lapse, attentive, against = values
            random = share[outcome] if outcome < len(share) else 0.0
            careful = (1 - lapse) * of_gap(a * gap + side)[outcome] + lapse * random
            careless = against * of_gap(-gap)[outcome] + (1 - against) * random
            return attentive * careful + (1 - attentive) * careless

        for value, outcome in ((win[k], 0), (tie[k], 2)):
            args = (mean - 10 * deviation, mean + 10 * deviation)
            expected = quad(lambda g, o=outcome: chance(g, o) * norm.pdf(g, mean, deviation), *args, limit=200)[0]  # noqa: B023
            assert value == pytest.approx(expected, abs=1e-6)
    alike = chances_by_rater(crowd, first, second, rater)
    np.testing.assert_array_equal(alike, crowd.chances(first, second))


def test_held_out_votes_are_predicted_better_by_rater():
    """2,000 votes predict 2,000 others: reversed and unreliable raters are known as such."""
    items, rater, outcomes = drawn(PAIR, 4000)
    taught = slice(0, 2000)
    crowd, found = fitted(PAIR, items[taught], rater[taught], outcomes[taught])
    out = slice(2000, 4000)
    first, second = items[out].T
    by_rater = chances_by_rater(found, first, second, rater[out])[0]
    by_crowd = expit(crowd.mean[first] - crowd.mean[second])
    known, alike = (-np.log(np.where(outcomes[out] == 0, win, 1.0 - win)) for win in (by_rater, by_crowd))
    gain = alike - known
    assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))


def test_a_warm_start_gives_the_same_raters():
    items, rater, outcomes = drawn(PAIR_WITH_TIES, 1500)
    crowd, cold = fitted(PAIR_WITH_TIES, items, rater, outcomes)
    before = fitted(PAIR_WITH_TIES, items[:1200], rater[:1200], outcomes[:1200])[1]
    votes = Votes(N, items, np.eye(3)[outcomes], None, {"rater": rater})
    warm = fit_raters(votes, replace(crowd, raters=before.raters))
    # The iteration ends where nothing moves by more than 1 %.
    np.testing.assert_allclose(warm.mean, cold.mean, atol=0.02)
    np.testing.assert_allclose(warm.raters.attentive, cold.raters.attentive, atol=0.03)
