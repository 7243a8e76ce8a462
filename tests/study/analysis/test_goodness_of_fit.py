"""Goodness of fit: each check finds what it is about, is silent otherwise, and gives one sentence of advice."""

import numpy as np
import pytest

from duelist.core.errors import InvalidInput
from duelist.model.answers import PAIR_WITH_TIES, draw_outcomes
from duelist.study import create_study
from duelist.study.analysis import GoodnessOfFit, VoteTable, fit_votes, goodness_of_fit
from tests.helpers.model_votes import vote_table
from tests.helpers.systems import system_study, vote

SYSTEMS, PROMPTS, RATERS = 8, 40, 20


def simulated(seed: int, n: int = 600, **more: float) -> tuple[VoteTable, np.ndarray]:
    """Votes with deviations of `more` standard deviation by pairs, raters, prompts or categories, or a side bias."""
    rng = np.random.default_rng(seed)
    utility = rng.normal(size=SYSTEMS)
    first = rng.integers(SYSTEMS, size=n)
    second = (first + rng.integers(1, SYSTEMS, size=n)) % SYSTEMS
    rater, prompt = rng.integers(RATERS, size=n), rng.integers(PROMPTS, size=n)
    category = prompt % 4
    own = np.zeros((2, n))
    for name, cluster in (("raters", rater), ("prompts", prompt), ("categories", category)):
        taste = more.get(name, 0.0) * rng.normal(size=(int(cluster.max()) + 1, SYSTEMS))
        own += [taste[cluster, first], taste[cluster, second]]
    cycle = rng.normal(size=(SYSTEMS, SYSTEMS))
    gap = more.get("pairs", 0.0) * (cycle - cycle.T)[first, second]
    utilities = np.stack([utility[first] + own[0] + gap, utility[second] + own[1]], axis=1)
    shift = np.full(n, more.get("side", 0.0))
    outcome = draw_outcomes(PAIR_WITH_TIES, utilities, np.array([-0.5]), rng, shift)
    return vote_table(SYSTEMS, first, second, outcome, rater, prompt), category


def checked(log: VoteTable, category: np.ndarray) -> GoodnessOfFit:
    names = [f"s{k}" for k in range(SYSTEMS)]
    fit = fit_votes(log, names, clusters=False, of="system")
    return goodness_of_fit(fit, categories=category, calibration_error=0.0)


def test_checks_are_silent_if_the_model_is_right() -> None:
    """Each check alarms in at most 5 % of 40 logs at the level 5 %, plus four standard errors."""
    found = [checked(*simulated(seed, 400)) for seed in range(40)]
    p = {name: [check.p_value for fit in found for check in fit.checks if check.name == name] for name in (
        "side", "categories", "pairs", "raters", "prompts", "ties"
    )}  # fmt: skip
    assert all(len(values) == 40 for values in p.values())
    for name, values in p.items():
        assert np.mean(np.array(values) < 0.05) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 40), name
        assert abs(np.mean(values) - 0.5) < 4 * np.sqrt(1 / 12 / 40), name


@pytest.mark.parametrize(
    ("name", "size", "words"),
    [
        ("side", 0.8, "The system shown first has an advantage of +0"),
        ("categories", 0.8, "read leaderboard_by_category()"),
        ("pairs", 0.6, "as cycles do"),
        ("raters", 0.8, "more raters help more"),
        ("prompts", 0.8, "more prompts help more"),
    ],
)
def test_each_check_finds_what_it_is_about(name: str, size: float, words: str) -> None:
    found = checked(*simulated(1, 1500, **{name: size}))
    failed = [check.name for check in found.checks if check.failed]
    assert failed[0] == name
    assert set(failed) <= {name, "prompts"}  # a category is a group of prompts
    assert words in found.advice
    assert found.advice in str(found)
    (check,) = (check for check in found.checks if check.name == name)
    # The moment estimate is linear in the deviations: large ones are underestimated.
    truth = size if name == "side" else size * np.sqrt(2.0)
    assert 0.5 * truth < check.size < 1.5 * truth


def test_a_study_says_what_it_finds() -> None:
    study = system_study(4, 12)
    assert study.goodness_of_fit().advice == "There are 0 votes, too few to find a misfit."
    vote(study, 120, [1.5, 0.5, -0.5, -1.5])
    found = study.goodness_of_fit()
    assert [check.name for check in found.checks] == ["side", "categories", "pairs", "raters", "prompts", "ties"]
    assert "side" not in [check.name for check in study.goodness_of_fit(covariates="side").checks]
    assert found.votes == 120
    assert 0.0 < found.calibration_error < 0.3
    with pytest.raises(InvalidInput, match="no option 'clusters'"):
        study.goodness_of_fit(clusters=True)


def test_features_are_tested_too() -> None:
    study = create_study("plain", "memory", policy="LocalPairUCB")
    study.add_arms([f"a{k}" for k in range(6)], np.arange(6.0)[:, None])
    rng = np.random.default_rng(0)
    for k in range(150):
        duel = study.ask(f"r{k % 12}")
        odd = [int(arm.id[1:]) % 2 for arm in (duel.first, duel.second)]
        wins = rng.random() < (0.5 if odd[0] == odd[1] else 0.95 if odd[0] else 0.05)
        study.tell(duel, "first" if wins else "second", f"r{k % 12}")
    found = study.goodness_of_fit()
    assert found.checks[0].name == "side"
    (check,) = (each for each in found.checks if each.name == "features")
    assert check.failed
