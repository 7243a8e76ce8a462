"""The acceptable level: against SciPy, against what votes were drawn from, and where it is shown."""

import numpy as np
import pytest
from scipy.optimize import minimize

from duelist.model.answers import PAIR_WITH_LEVEL, draw_outcomes
from duelist.study import create_study
from duelist.study.analysis import VoteTable, fit_votes, goodness_of_fit, leaderboard
from duelist.study.analysis.fit.acceptable import acceptable_level, level_posterior
from duelist.study.analysis.fit.votes import BOTH_BAD, FIRST, SECOND, TIE
from tests.helpers.model_votes import vote_table

ANSWER = PAIR_WITH_LEVEL.only(("first", "second", "tie", "both bad"))


def drawn(
    utilities: np.ndarray, level: float, n: int, seed: int, strictness: float = 0.0, raters: int = 15
) -> VoteTable:
    """Votes with ties and "both bad" by raters whose own levels differ with this standard deviation."""
    rng = np.random.default_rng(seed)
    first = rng.integers(len(utilities), size=n)
    second = (first + rng.integers(1, len(utilities), size=n)) % len(utilities)
    rater, own = rng.integers(raters, size=n), strictness * rng.normal(size=raters)
    shown = np.stack([utilities[first], utilities[second], level + own[rater]], axis=1)
    return vote_table(len(utilities), first, second, draw_outcomes(ANSWER, shown, np.array([-0.5]), rng), rater)


def names(n: int) -> list[str]:
    return [f"a{k}" for k in range(n)]


def test_the_fit_is_that_of_an_independent_optimiser() -> None:
    """The mode of arms, level and log nu by BFGS on probabilities that are written out here."""
    log = drawn(np.array([0.9, 0.2, -0.3, -0.8]), 0.1, 200, 0)
    found = level_posterior(fit_votes(log, names(4), clusters=False))
    assert found is not None

    def loss(z: np.ndarray) -> float:
        p, bad, nu = np.exp(z[:4]), np.exp(z[4]), np.exp(z[5])
        one, other = p[log.first], p[log.second]
        tie = nu * np.sqrt(one * other)
        said = np.select([log.outcome == FIRST, log.outcome == SECOND, log.outcome == TIE], [one, other, tie], bad)
        prior = 0.5 * np.log(nu / (3.0 + nu)) - 0.5 * np.log(3.0 + nu)  # half a tie, half a win, between equals
        return float(-np.log(said / (one + other + tie + bad)).sum() + 0.5 * z[:5] @ z[:5] - prior)

    mode = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-7}).x

    def gradient(z: np.ndarray) -> np.ndarray:
        steps = 1e-4 * np.eye(6)
        by = [(8 * (loss(z + e) - loss(z - e)) - loss(z + 2 * e) + loss(z - 2 * e)) / 12e-4 for e in steps]
        return np.array(by)

    curvature = np.array([(gradient(mode + e) - gradient(mode - e)) / 2e-3 for e in 1e-3 * np.eye(6)])
    for _ in range(5):  # BFGS ends at the precision of its own differences
        mode = mode - np.linalg.solve(curvature, gradient(mode))
    np.testing.assert_allclose(found.mean, mode[:5] - mode[:5].mean(), atol=1e-8)
    assert found.tie == pytest.approx(mode[5], abs=1e-8)


def test_probabilities_are_those_that_come_true() -> None:
    """Arms and level from the prior, and 15 raters, some stricter: of arms with some probability as many are above the level.

    Standard errors count 100 logs of 8 arms as 100 independent ones.
    """
    chance, truth = [], []
    for seed in range(100):
        rng = np.random.default_rng(1000 + seed)
        utilities, level = rng.normal(size=8), rng.normal()
        found = acceptable_level(fit_votes(drawn(utilities, level, 300, seed, strictness=0.5), names(8)))
        assert found is not None
        chance.append(found.probability)
        truth.append(utilities > level)
    p, above = np.concatenate(chance), np.concatenate(truth)
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.0)):
        chosen = (p >= low) & (p <= high)
        assert chosen.sum() > 40
        error = np.sqrt(np.mean(p[chosen] * (1 - p[chosen])) / min(chosen.sum(), 100))
        assert abs(p[chosen].mean() - above[chosen].mean()) < 4 * error


def test_strict_raters_widen_the_level() -> None:
    log = drawn(np.linspace(1.0, -1.0, 6), 0.0, 600, 3, strictness=1.5, raters=6)
    alike, apart = (level_posterior(fit_votes(log, names(6), clusters=clusters)) for clusters in (False, True))
    assert alike is not None
    assert apart is not None
    arms, level = np.arange(6), np.full(6, 6)
    assert (apart.difference_variance(arms, level) > 1.5 * alike.difference_variance(arms, level)).all()


def test_features_and_retired_arms() -> None:
    """With a feature the level is found as well, relative to the mean of the arms that are ranked."""
    x = np.linspace(-1.0, 1.0, 8)[:, None]
    log = drawn(1.5 * x[:, 0], 0.4, 6000, 4)
    for features in (None, x):
        fit = fit_votes(log, names(8), features, among=names(8)[4:])
        found = acceptable_level(fit)
        assert found is not None
        assert found.utility == pytest.approx(0.4 - 1.5 * x[4:, 0].mean(), abs=0.25)
        assert found.votes == (log.outcome == BOTH_BAD).sum()
        assert len(found.probability) == 4


def test_a_leaderboard_says_who_is_acceptable() -> None:
    log = drawn(np.array([2.0, 1.0, -1.0, -2.0]), 0.0, 800, 5)
    board = leaderboard(log, names(4))
    assert board.acceptable_level == pytest.approx(0.0, abs=0.3)
    chances = [row.acceptable for row in board.standings]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.99
    assert chances[-1] < 0.01
    assert "acceptable" in str(board)
    assert "“" not in str(board)
    frame = board.to_pandas()
    assert frame["acceptable"].tolist() == chances
    without = leaderboard(log.of(log.teaching), names(4))
    assert without.acceptable_level is None
    assert [row.acceptable for row in without.standings] == [None] * 4
    assert [row.utility for row in without.standings] == [row.utility for row in board.standings]
    assert "acceptable" not in str(without)


def test_goodness_of_fit_compares_both_bad_with_the_model() -> None:
    """Silent if the model is right; a misfit if "both bad" is said of the best items."""
    p = []
    for seed in range(40):
        fit = fit_votes(drawn(np.linspace(1.5, -1.5, 6), 0.0, 500, seed), names(6), clusters=False)
        (check,) = (each for each in goodness_of_fit(fit, calibration_error=0.0).checks if each.name == "both bad")
        p.append(check.p_value)
    assert np.mean(np.array(p) < 0.05) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 40)
    log = drawn(np.linspace(1.5, -1.5, 6), -9.0, 500, 0)
    rng = np.random.default_rng(0)
    best = np.minimum(log.first, log.second) < 2
    outcome = np.where(best & (rng.random(500) < 0.5), BOTH_BAD, log.outcome)
    found = goodness_of_fit(
        fit_votes(vote_table(6, log.first, log.second, outcome, log.rater), names(6), clusters=False),
        calibration_error=0.0,
    )
    assert [each.name for each in found.checks if each.failed] == ["both bad"]
    assert "acceptable is approximate" in found.advice


def test_a_study_learns_the_level() -> None:
    study = create_study("captions", "memory", goal="rank")
    study.add_arms(["good", "fair", "poor"])
    worth = {"good": 2, "fair": 1, "poor": 0}
    for k in range(40):
        duel = study.ask(f"r{k}")
        one, other = worth[duel.first.id], worth[duel.second.id]
        outcome = "both_bad" if one + other == 1 and k % 4 else "first" if one > other else "second"
        study.tell(duel, outcome, rater=f"r{k}")
    board = study.leaderboard()
    assert board.acceptable_level is not None
    chance = {row.arm: row.acceptable for row in board.standings}
    assert chance["good"] > chance["fair"] > chance["poor"]
    assert chance["good"] > 0.5 > chance["poor"]
