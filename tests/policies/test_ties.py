"""Ties in policies: the parameter, the estimates, and what other links make of a tie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import duelist as dl
from duelist.model.answers import PAIR_WITH_TIES
from duelist.model.links import LARGEST_NU, davidson, get_link
from duelist.model.utility import Block, Utility, arm_effects
from duelist.model.vote_fit import fit
from duelist.model.votes import Votes, vote_rows
from duelist.policies.engine.snapshots import checksum, decode, encode

TOLD: dict[str, float | str] = {"first": 1.0, "tie": "tie", "second": 0.0}
NAMES = tuple(TOLD)
THETA = np.array([1.0, -0.5])


def shown_and_utilities(features: bool) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(5)
    arms = rng.normal(size=(7, 2))
    return (arms, arms @ THETA) if features else (dl.ArmTable(7), rng.normal(size=7))


def play(policy: Any, shown: Any, utilities: np.ndarray, nu: float, votes: int) -> list[tuple[int, int, str]]:
    rng, log = np.random.default_rng(8), []
    for _ in range(votes):
        duel = policy.ask(shown)
        half = 0.5 * (utilities[duel.first] - utilities[duel.second])
        weight = np.array([np.exp(half), nu, np.exp(-half)])
        said = NAMES[rng.choice(3, p=weight / weight.sum())]
        policy.tell(duel, TOLD[said])
        log.append((duel.first, duel.second, said))
    return log


def votes_of(log: list[tuple[int, int, str]]) -> Votes:
    items = np.array([vote[:2] for vote in log])
    outcomes = np.array([PAIR_WITH_TIES.outcomes.index(said) for *_, said in log])
    return Votes(7, *vote_rows(items, outcomes, PAIR_WITH_TIES))


def parameter(policy: Any) -> float:
    return float(policy.link_.removeprefix("davidson(").removesuffix(")"))


@pytest.mark.parametrize("nu", [0.3, 1.0, 4.0])
def test_link_agrees_with_the_model_of_answers(nu: float) -> None:
    gaps = np.linspace(-30.0, 30.0, 121)
    utilities = np.stack([gaps, np.zeros_like(gaps)], axis=1)
    win, _, tie = PAIR_WITH_TIES.probabilities(utilities, np.zeros_like(gaps), np.array([np.log(nu)])).T
    link, step = davidson(nu), 1e-5
    np.testing.assert_allclose(link.mean(gaps), win + 0.5 * tie, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(
        link.slope(gaps), (link.mean(gaps + step) - link.mean(gaps - step)) / (2 * step), atol=1e-9
    )
    np.testing.assert_allclose(link.potential(gaps[1:]) - link.potential(gaps[:-1]), _integral(link, gaps), atol=1e-10)
    assert link.slope(gaps).max() == link.slope(0.0) == link.max_slope
    assert get_link(link.name) is link


def _integral(link: Any, gaps: np.ndarray) -> np.ndarray:
    nodes, weights = np.polynomial.legendre.leggauss(12)
    width = np.diff(gaps)
    at = gaps[:-1, None] + 0.5 * width[:, None] * (1.0 + nodes)
    return np.asarray(0.5 * width * (link.mean(at) @ weights))


@pytest.mark.parametrize("name", ["davidson(5)", "davidson(-1)", "davidson(x)", "davidson()", "davidson(1) "])
def test_impossible_parameters(name: str) -> None:
    with pytest.raises(dl.InvalidInput):
        get_link(name)


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_estimates_are_those_of_the_model_of_votes(estimator: str) -> None:
    """The exact estimator agrees with an independent fit of utilities and parameter, the one-pass one nearly."""
    shown, utilities = shown_and_utilities(True)
    policy = dl.UniformPair(ridge=1.0, estimator=estimator, random_state=1)
    log = play(policy, shown, utilities, 0.8, 1500)
    found = fit(votes_of(log), Utility((Block("features", shown),)), PAIR_WITH_TIES)
    assert found.fitted is not None
    # The parameter is at most a tenth of the votes old: their share of the information moves it by a third of its error.
    within = {"exact": 0.35, "online": 1.0}[estimator] * np.sqrt(found.fitted.extra_covariance[0, 0])
    assert abs(np.log(parameter(policy)) - found.fitted.parameters[0]) < within
    np.testing.assert_allclose(policy.theta_, found.fitted.beta, rtol={"exact": 0.02, "online": 0.1}[estimator])


def test_arm_effects_learn_the_scale_of_utilities() -> None:
    """Half a win per tie would shrink utilities to half; one pass comes within 15 % of the fit to all votes."""
    shown, utilities = shown_and_utilities(False)
    policy = dl.UniformPair(estimator="online", random_state=1)
    log = play(policy, shown, utilities, 2.0, 2000)
    found = fit(votes_of(log), Utility((arm_effects(7),)), PAIR_WITH_TIES)
    assert found.fitted is not None
    mine = policy.posterior(shown).utilities
    mine -= mine.mean()
    assert 0.85 < found.mean @ mine / (found.mean @ found.mean) < 1.15
    assert 0.85 < parameter(policy) / np.exp(found.fitted.parameters[0]) < 1.15


def test_without_ties_the_link_stays() -> None:
    shown, utilities = shown_and_utilities(True)
    policy = dl.LocalPairUCB(random_state=0)
    play(policy, shown, utilities, 0.0, 50)
    assert policy.link_ == "logistic"
    policy.tell(policy.ask(shown), 0.5)  # the share of a win, not a tie
    assert policy.link_ == "logistic"
    policy.tell(policy.ask(shown), "tie")
    assert 0.0 < parameter(policy) < 0.2


def test_only_ties() -> None:
    policy = dl.BestArmPair(random_state=0)
    for _ in range(60):
        policy.tell(policy.ask(np.eye(3)), "tie")
    assert parameter(policy) == LARGEST_NU
    assert policy.decided_arm(np.eye(3)) is None


@pytest.mark.parametrize("link", ["probit", "exponential"])
def test_other_links_take_half_a_win(link: str) -> None:
    policy = dl.UniformPair(link=link, random_state=0)
    policy.tell(policy.ask(np.eye(3)), "tie")
    assert policy.link_ == link


@pytest.mark.parametrize("features", [False, True])
def test_snapshots(features: bool) -> None:
    shown, utilities = shown_and_utilities(features)
    policy = dl.LocalPairUCB(estimator="online", random_state=0)
    play(policy, shown, utilities, 1.0, 40)
    snapshot = policy.snapshot()
    again = dl.LocalPairUCB.restore(snapshot)
    assert play(again, shown, utilities, 1.0, 40) == play(policy, shown, utilities, 1.0, 40)
    assert again.snapshot() == policy.snapshot()
    for number, wrong in ((0, 5.0), (1, 1e9), (3, np.nan)):
        state = snapshot["state"] if features else snapshot["arm_effects"][0]
        ties = decode(state["ties"])
        ties[number] = wrong
        spoilt = {**state, "ties": encode(ties)}
        body = {
            **snapshot,
            **({"state": spoilt} if features else {"arm_effects": [spoilt, *snapshot["arm_effects"][1:]]}),
        }
        del body["checksum"]
        with pytest.raises(dl.InvalidSnapshot):
            dl.LocalPairUCB.restore({**body, "checksum": checksum(body)})


def test_arm_effects_later_keep_the_parameter() -> None:
    shown, utilities = shown_and_utilities(True)
    policy = dl.BestArmPair(random_state=0)
    play(policy, shown, utilities, 1.0, 60)
    later = policy.with_arm_effects(shown)
    assert later.link_ == policy.link_
    table = dl.ArmTable(len(shown), shown)
    later.tell(later.ask(table), "tie")
    assert 0.8 < parameter(later) / parameter(policy) < 1.25
