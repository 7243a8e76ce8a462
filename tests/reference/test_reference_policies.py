"""The references as policies: settings, ask and tell, simulations, and that they read as they should."""

from __future__ import annotations

import doctest
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
from duelist.reference import REFERENCES
from duelist.reference import fit as estimation
from duelist.reference.fit import Exact, Online, Row, link_mean, link_potential, link_slope
from duelist.simulation.environments import FixedArms, RandomArms
from tests.helpers.reference_play import LINKS
from tests.helpers.worlds import World

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
def test_unknown_settings_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="colour"):
        REFERENCES[name](colour="red")


@NAMES
def test_a_fresh_copy_has_the_settings_and_has_seen_nothing(name: str) -> None:
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
def test_what_makes_no_sense_is_refused_and_changes_nothing(name: str) -> None:
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


# -- the page ----------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text()


def test_the_excerpt_on_the_page_is_the_code() -> None:
    (excerpt,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert "# line 11" in excerpt
    assert indent(excerpt, 8 * " ") in inspect.getsource(REFERENCES["VACDB"].choose)


def test_the_example_on_the_page_runs() -> None:
    (example,) = re.findall(r"```pycon\n(.*?)```", PAGE, flags=re.DOTALL)
    test = doctest.DocTestParser().get_doctest(example, {}, "docs/reference.md", None, 0)
    assert len(test.examples) >= 6
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0


# -- the machinery, against computations of another kind ---------------------------------


@pytest.mark.parametrize("link", LINKS)
def test_links_are_derivatives_of_each_other(link: str) -> None:
    v, h = np.linspace(-6.0, 6.0, 41) + 0.01, 1e-5
    for function, derivative in ((link_potential, link_mean), (link_mean, link_slope)):
        numeric = (function(link, v + h) - function(link, v - h)) / (2.0 * h)
        np.testing.assert_allclose(numeric, derivative(link, v), atol=1e-9)
    np.testing.assert_allclose(link_mean(link, v) + link_mean(link, -v), 1.0, rtol=1e-15)


def some_rows(seed: int, n: int, dim: int = 3, size: float = 1.0) -> list[Row]:
    rng = np.random.default_rng(seed)
    z, outcomes = size * rng.normal(size=(n, dim)), rng.choice([0.0, 0.5, 1.0], n)
    return [Row(*row) for row in zip(z, outcomes, rng.uniform(0.1, 3.0, n), strict=True)]


@pytest.mark.parametrize("ridge", [[1e-6] * 3, [0.1] * 3, [10.0] * 3, [1e-6, 0.1, 10.0]])
@pytest.mark.parametrize("link", LINKS)
def test_the_estimate_is_the_root_that_scipy_finds(link: str, ridge: list[float]) -> None:
    for n, size in product((1, 4, 60), (0.1, 5.0)):
        rows = some_rows(n, n, size=size)

        def equation(theta: Any, rows: list[Row] = rows) -> Any:
            return np.array(ridge) * theta + sum(
                r.mass * (link_mean(link, r.z @ theta) - r.outcome) * r.z for r in rows
            )

        ours = estimation.estimate(link, np.array(ridge), rows, 3)
        scale = sum(r.mass * np.abs(r.z).max() for r in rows)
        np.testing.assert_allclose(equation(ours), 0.0, atol=1e-12 * scale)
        theirs = optimize.root(equation, ours + 0.01 / size, tol=1e-12)
        if theirs.success:
            np.testing.assert_allclose(ours, theirs.x, rtol=1e-6, atol=1e-7)


def sizes_of(squared: Any) -> estimation.Sizes:
    """Sizes that are these for good."""
    sizes = estimation.Sizes(np.vstack([squared, squared]), follow=False)
    sizes.squared = squared
    return sizes


@pytest.mark.parametrize("link", LINKS)
def test_one_pass_minimises_what_it_says(link: str) -> None:
    known = Online(link, sizes_of(np.array([0.5, 1.0, 8.0])), 0.4, 0.4)
    for row in some_rows(5, 30):
        theta, h = known.theta, known.curvature

        def objective(x: Any, row: Row = row, theta: Any = theta, h: Any = h) -> float:
            v = row.z @ x
            return float(row.mass * (link_potential(link, v) - row.outcome * v) + 0.5 * (x - theta) @ h @ (x - theta))

        known.learn(row, 1.0)
        for direction in np.vstack([np.eye(3), row.z]):
            for step in (-1e-3, 1e-3):
                assert objective(known.theta) < objective(known.theta + step * direction)
        slope = row.mass * link_slope(link, row.z @ known.theta)
        np.testing.assert_allclose(known.curvature, h + slope * np.outer(row.z, row.z), rtol=1e-12)


def test_the_projection_is_the_nearest_point_in_the_norm_of_the_curvature() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        root, theta = rng.normal(size=(3, 5)), 3.0 * rng.normal(size=3)
        h, bound = root @ root.T, 0.3 * np.linalg.norm(theta)
        nearest = estimation.projected(theta, h, bound)
        assert np.linalg.norm(nearest) == pytest.approx(bound, rel=1e-12)
        others = rng.normal(size=(500, 3))
        others *= bound / np.linalg.norm(others, axis=1, keepdims=True)
        gaps = np.vstack([others, nearest + 0.01 * (others - nearest)]) - theta
        gaps[500:] = [x * min(1.0, bound / np.linalg.norm(x)) - theta for x in gaps[500:] + theta]
        distances = np.einsum("ij,jk,ik->i", gaps, h, gaps)
        assert (nearest - theta) @ h @ (nearest - theta) <= distances.min() + 1e-12


@pytest.mark.parametrize("link", LINKS)
def test_precision_and_curvature_are_sums_over_the_votes(link: str) -> None:
    sizes = np.array([0.3, 1.0, 40.0])
    rows, known = some_rows(8, 25), Exact(link, sizes_of(sizes), 0.2, 0.7)
    for row in rows:
        known.learn(row, 2.0)
    sigma = 0.7 * np.diag(sizes) + sum(r.mass * np.outer(r.z, r.z) for r in rows)
    slopes = [r.mass * float(link_slope(link, r.z @ known.theta)) for r in rows]
    h = 0.2 * np.diag(sizes) + sum(s * np.outer(r.z, r.z) for s, r in zip(slopes, rows, strict=True))
    np.testing.assert_allclose(known.precision, sigma, rtol=1e-12)
    np.testing.assert_allclose(known.curvature, h, rtol=1e-12)
    assert known.count == 50.0


@pytest.mark.parametrize("t", range(1, 70))
def test_an_unknown_horizon_is_the_smallest_power_of_two_above_the_round(t: int) -> None:
    powers = [2.0**k for k in range(10)]
    assert estimation.horizon_in(None, t) == min(power for power in powers if power > t)
    assert estimation.horizon_in(50, t) == 50.0
