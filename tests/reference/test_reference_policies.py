"""The references as policies: hyperparameters, ask and tell, simulations, documentation, numerics."""

from __future__ import annotations

import inspect
import re
from itertools import product
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import duelist as dl
from duelist.policies import POLICIES
from duelist.reference import REFERENCES, fit
from duelist.reference.feature_scale import FeatureScale
from duelist.reference.fit import Exact, Online, Vote
from duelist.reference.links import link_mean, link_potential, link_slope
from duelist.simulation.environments import FixedArms, RandomArms
from tests.helpers.policies.reference_play import LINKS
from tests.helpers.policies.worlds import World

NAMES = pytest.mark.parametrize("name", REFERENCES)

# -- settings ----------------------------------------------------------------------------


def defaults(cls: type) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}


def test_every_policy_has_a_reference() -> None:
    assert list(REFERENCES) == list(POLICIES)
    assert all(cls.__name__ == name for name, cls in REFERENCES.items())
    assert all(cls.__module__.startswith("duelist.reference.") for cls in REFERENCES.values())


@NAMES
def test_settings_and_defaults_are_those_of_the_fast_policy(name: str) -> None:
    assert defaults(REFERENCES[name]) == {"horizon": None, **defaults(POLICIES[name])}


@NAMES
def test_tuned_constants_are_those_of_the_fast_policy(name: str) -> None:
    for constant in ("practical_ridge", "practical_multiplier"):
        if hasattr(POLICIES[name], constant):
            assert getattr(REFERENCES[name], constant) == getattr(POLICIES[name], constant)


@NAMES
def test_unknown_hyperparameters_raise_errors(name: str) -> None:
    with pytest.raises(TypeError, match="colour"):
        REFERENCES[name](colour="red")


@NAMES
def test_clone_keeps_hyperparameters_and_starts_anew(name: str) -> None:
    policy = REFERENCES[name](horizon=77, ridge=0.3, link="probit", random_state=4)
    policy.tell(policy.ask(np.eye(3)), 1)
    copy = policy.clone(5)
    assert {**copy.params, "random_state": 4} == policy.params
    assert copy.random_state == 5
    assert copy.rounds_ == 0
    with pytest.raises(dl.InvalidInput, match="has seen no arms yet"):
        _ = copy.theta_


# -- ask and tell ------------------------------------------------------------------------


@NAMES
def test_asking_learns_nothing_and_a_duel_is_told_once(name: str) -> None:
    policy = REFERENCES[name](random_state=0)
    first, second = policy.ask(np.eye(3)), policy.ask(np.eye(3))
    assert (first.id, second.id, policy.rounds_) == (0, 1, 2)
    assert not policy.theta_.any()
    policy.tell(second, 1)
    known = policy.theta_
    for wrong in (second, second.id, 7, dl.Duel(first.second, first.first, first.id)):
        with pytest.raises(dl.UnknownDuel, match="is not waiting"):
            policy.tell(wrong, 0)
    np.testing.assert_array_equal(policy.theta_, known)
    policy.tell(first.id, 0.5, weight=2.0)
    assert (policy.theta_ != known).any()
    policy.forget(policy.ask(np.eye(3)))
    with pytest.raises(dl.UnknownDuel):
        policy.tell(2, 1)


@NAMES
def test_invalid_input_raises_errors_and_changes_nothing(name: str) -> None:
    policy = REFERENCES[name](random_state=0)
    duel = policy.ask(np.eye(3))
    for outcome, weight in ((1.5, 1.0), (1.0, 0.0), (float("nan"), 1.0)):
        with pytest.raises(dl.InvalidInput):
            policy.tell(duel, outcome, weight)
    for arms in (np.ones(3), np.ones((2, 4)), np.ones((0, 3))):
        with pytest.raises(dl.InvalidInput, match="arms have shape"):
            policy.ask(arms)
    assert policy.rounds_ == 1
    policy.tell(duel, 1)


@NAMES
def test_the_same_seed_gives_the_same_duels(name: str) -> None:
    duels = []
    for _ in range(2):
        policy, world = REFERENCES[name](random_state=3), World(3, False)
        duels.append([])
        for _ in range(20):
            arms = world.arms()
            duel = policy.ask(arms)
            policy.tell(duel, world.outcome(arms, tuple(duel)))
            duels[-1].append(duel)
    assert duels[0] == duels[1]


# -- simulations -------------------------------------------------------------------------

WORLDS = {
    "fixed": FixedArms(np.random.default_rng(7).standard_normal((5, 2)), scale=2.0),
    "changing": RandomArms(dim=2, n_arms=(1, 5), kind="gaussian", scale=2.0),
}


@pytest.mark.parametrize("world", WORLDS)
@NAMES
def test_a_simulation_plays_the_reference_beside_the_fast_policy(name: str, world: str) -> None:
    pair = {"fast": POLICIES[name](), "plain": REFERENCES[name]()}
    runs = dl.simulate(pair, WORLDS[world], horizon=30, runs=2, seed=1)
    for fast, plain in zip(runs.duels("fast"), runs.duels("plain"), strict=True):
        np.testing.assert_array_equal(fast, plain)


# -- documentation -----------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "algorithms" / "reference-implementations.md").read_text()


def test_the_excerpt_on_the_page_is_the_code() -> None:
    (excerpt,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert "# line 11" in excerpt
    assert indent(excerpt, 8 * " ") in inspect.getsource(REFERENCES["VACDB"].choose)


# -- numerics, against independent computations -------------------------------------------


@pytest.mark.parametrize("link", LINKS)
def test_links_are_derivatives_of_each_other(link: str) -> None:
    v, h = np.linspace(-6.0, 6.0, 41) + 0.01, 1e-5
    for function, derivative in ((link_potential, link_mean), (link_mean, link_slope)):
        numeric = (function(link, v + h) - function(link, v - h)) / (2.0 * h)
        np.testing.assert_allclose(numeric, derivative(link, v), atol=1e-9)
    np.testing.assert_allclose(link_mean(link, v) + link_mean(link, -v), 1.0, rtol=1e-15)


def random_votes(seed: int, n: int, dim: int = 3, size: float = 1.0) -> list[Vote]:
    rng = np.random.default_rng(seed)
    z, outcomes = size * rng.normal(size=(n, dim)), rng.choice([0.0, 0.5, 1.0], n)
    return [Vote(*columns) for columns in zip(z, outcomes, rng.uniform(0.1, 3.0, n), strict=True)]


@pytest.mark.parametrize("ridge", [[1e-6] * 3, [0.1] * 3, [10.0] * 3, [1e-6, 0.1, 10.0]])
@pytest.mark.parametrize("link", LINKS)
def test_the_estimate_is_the_root_that_scipy_finds(link: str, ridge: list[float]) -> None:
    for n, size in product((1, 4, 60), (0.1, 5.0)):
        votes = random_votes(n, n, size=size)

        def equation(theta: Any, votes: list[Vote] = votes) -> Any:
            return np.array(ridge) * theta + sum(
                v.total_weight * (link_mean(link, v.z @ theta) - v.outcome) * v.z for v in votes
            )

        ours = fit.estimate(link, np.array(ridge), votes, 3)
        scale = sum(v.total_weight * np.abs(v.z).max() for v in votes)
        np.testing.assert_allclose(equation(ours), 0.0, atol=1e-12 * scale)
        theirs = optimize.root(equation, ours + 0.01 / size, tol=1e-12)
        if theirs.success:
            np.testing.assert_allclose(ours, theirs.x, rtol=1e-6, atol=1e-7)


def fixed_scale(variance: Any) -> FeatureScale:
    """A feature scale that never changes."""
    scale = FeatureScale(np.vstack([variance, variance]), adaptive=False)
    scale.variance = variance
    return scale


@pytest.mark.parametrize("link", LINKS)
def test_the_one_pass_estimate_minimizes_its_objective(link: str) -> None:
    estimator = Online(link, fixed_scale(np.array([0.5, 1.0, 8.0])), 0.4, 0.4)
    for vote in random_votes(5, 30):
        theta, h = estimator.theta, estimator.curvature

        def objective(x: Any, vote: Vote = vote, theta: Any = theta, h: Any = h) -> float:
            v = vote.z @ x
            return float(
                vote.total_weight * (link_potential(link, v) - vote.outcome * v) + 0.5 * (x - theta) @ h @ (x - theta)
            )

        estimator.update(vote, 1.0)
        for direction in np.vstack([np.eye(3), vote.z]):
            for step in (-1e-3, 1e-3):
                assert objective(estimator.theta) < objective(estimator.theta + step * direction)
        slope = vote.total_weight * link_slope(link, vote.z @ estimator.theta)
        np.testing.assert_allclose(estimator.curvature, h + slope * np.outer(vote.z, vote.z), rtol=1e-12)


def test_the_projection_is_the_nearest_point_in_the_norm_of_the_curvature() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        root, theta = rng.normal(size=(3, 5)), 3.0 * rng.normal(size=3)
        h, bound = root @ root.T, 0.3 * np.linalg.norm(theta)
        nearest = fit.project_to_ball(theta, h, bound)
        assert np.linalg.norm(nearest) == pytest.approx(bound, rel=1e-12)
        others = rng.normal(size=(500, 3))
        others *= bound / np.linalg.norm(others, axis=1, keepdims=True)
        gaps = np.vstack([others, nearest + 0.01 * (others - nearest)]) - theta
        gaps[500:] = [x * min(1.0, bound / np.linalg.norm(x)) - theta for x in gaps[500:] + theta]
        distances = np.einsum("ij,jk,ik->i", gaps, h, gaps)
        assert (nearest - theta) @ h @ (nearest - theta) <= distances.min() + 1e-12


@pytest.mark.parametrize("link", LINKS)
def test_precision_and_curvature_are_sums_over_the_votes(link: str) -> None:
    variance = np.array([0.3, 1.0, 40.0])
    votes, estimator = random_votes(8, 25), Exact(link, fixed_scale(variance), 0.2, 0.7)
    for vote in votes:
        estimator.update(vote, 2.0)
    sigma = 0.7 * np.diag(variance) + sum(v.total_weight * np.outer(v.z, v.z) for v in votes)
    slopes = [v.total_weight * float(link_slope(link, v.z @ estimator.theta)) for v in votes]
    h = 0.2 * np.diag(variance) + sum(s * np.outer(v.z, v.z) for s, v in zip(slopes, votes, strict=True))
    np.testing.assert_allclose(estimator.precision, sigma, rtol=1e-12)
    np.testing.assert_allclose(estimator.curvature, h, rtol=1e-12)
    assert estimator.count == 50.0


@pytest.mark.parametrize("t", range(1, 70))
def test_an_unknown_horizon_is_the_smallest_power_of_two_above_the_round(t: int) -> None:
    powers = [2.0**k for k in range(10)]
    assert fit.effective_horizon(None, t) == min(power for power in powers if power > t)
    assert fit.effective_horizon(50, t) == 50.0
