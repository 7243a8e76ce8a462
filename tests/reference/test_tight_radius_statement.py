"""The tight radius against the statement of docs/algorithms/tight-radius.md, computed here from that page alone."""

import math

import numpy as np
import pytest
from scipy import optimize, special

import duelist as dl

S, DELTA, RIDGE, DIM, HORIZON = 1.7, 0.1, 0.7, 3, 64
ROUNDS = 60


def mean_and_slope(link, v):
    if link == "logistic":
        p = special.expit(v)
        return p, p * (1.0 - p)
    if link == "probit":
        return special.ndtr(v), np.exp(-v * v / 2.0) / math.sqrt(2.0 * math.pi)
    tail = np.exp(-np.abs(v)) / 2.0
    return np.where(v < 0.0, tail, 1.0 - tail), tail


def mean_minus_half_over_v(link, v):
    """(mu(v) - 1/2) / v without cancellation, and mu'(0) below 1e-4"""
    size = np.maximum(np.abs(v), 1e-4)
    if link == "logistic":
        k, at_zero = np.tanh(size / 2.0) / (2.0 * size), 1.0 / 4.0
    elif link == "probit":
        k, at_zero = special.erf(size / math.sqrt(2.0)) / (2.0 * size), 1.0 / math.sqrt(2.0 * math.pi)
    else:
        k, at_zero = -np.expm1(-size) / (2.0 * size), 1.0 / 2.0
    return np.where(np.abs(v) < 1e-4, at_zero, k)


def root_of_the_score(link, ridge, z, weight, outcome):
    def score(theta):
        return ridge * theta + (weight * (mean_and_slope(link, z @ theta)[0] - outcome)) @ z

    def hessian(theta):
        return ridge * np.eye(DIM) + (z.T * (weight * mean_and_slope(link, z @ theta)[1])) @ z

    theta = optimize.root(score, np.zeros(DIM), jac=hessian, tol=1e-14).x
    for _ in range(3):
        theta = theta - np.linalg.solve(hessian(theta), score(theta))
    return theta, hessian(theta)


def stated_radius(link, ridge, delta, z, weight, outcome):
    """Return r, H and the estimate."""
    theta, h = root_of_the_score(link, ridge, z, weight, outcome)
    v, length = z @ theta, np.linalg.norm(z, axis=1)
    c = {"logistic": 1.0, "probit": 4.0 / math.sqrt(2.0 * math.pi), "exponential": 1.0}[link]
    bend = float(np.maximum(np.abs(v), S * length).max()) if link == "probit" else 1.0
    chords = (z.T * (weight * mean_minus_half_over_v(link, v))) @ z
    square = float(theta @ theta)
    prices = [
        0.5 * np.linalg.slogdet(np.eye(DIM) + c * chords / rho)[1] + 0.5 * rho * square
        for rho in (c * ridge, DIM / S**2)
    ]
    gamma = (math.log(2.0 / delta) + min(prices)) / c + 0.5 * ridge * (S**2 - square)
    q = math.sqrt(max(np.einsum("si,ij,sj->s", z, np.linalg.inv(h), z)))
    m = float((np.abs(v) + S * length).max())
    first = 0.5 * (bend * q * gamma + math.sqrt((bend * q * gamma) ** 2 + 8.0 * gamma))
    return min(first, math.sqrt((2.0 + bend * m) * gamma)), h, theta


def stretch(h, sigma):
    """sqrt(largest eigenvalue of H^-1 Sigma)"""
    return math.sqrt(max(np.linalg.eigvals(np.linalg.solve(h, sigma)).real))


def rounds_of(policy, seed, weights=(1.0, 0.4)):
    """Play; yield the policy, the difference, the weight of the vote, and the outcome, once the policy has learned it."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=DIM)
    for t in range(ROUNDS):
        arms = rng.normal(size=(7, DIM)) * 0.8
        duel = policy.ask(arms)
        z, weight = arms[duel.first] - arms[duel.second], weights[t % len(weights)]
        outcome = (float(rng.random() < special.expit(z @ theta)), 0.5)[t % 5 == 4]
        policy.tell(duel, outcome, weight)
        yield z, weight, outcome


@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
@pytest.mark.parametrize("ridge", [RIDGE, 20.0])
@pytest.mark.parametrize("make", [dl.LocalPairUCB, dl.MaxPairUCB])
def test_the_radius_is_the_stated_one(make, ridge, link):
    policy = make(radius="tight", link=link, ridge=ridge, theta_bound=S, delta=DELTA, horizon=HORIZON, random_state=0)
    votes = []
    for vote in rounds_of(policy, 5):
        votes.append(vote)
        z, weight, outcome = (np.array(column) for column in zip(*votes, strict=True))
        radius, h, theta = stated_radius(link, ridge, DELTA, z, weight, outcome)
        if make is dl.MaxPairUCB:
            radius *= stretch(h, ridge * np.eye(DIM) + (z.T * weight) @ z)
        np.testing.assert_allclose(policy.theta_, theta, rtol=1e-9, atol=1e-10)
        assert policy.layer_radii_[0] == pytest.approx(radius, rel=1e-10)


@pytest.mark.parametrize("link", ["logistic", "probit", "exponential"])
def test_every_layer_of_vacdb_has_the_stated_radius(link):
    policy = dl.VACDB(radius="tight", link=link, theta_bound=S, delta=DELTA, horizon=HORIZON, random_state=0)
    votes, counts = {}, None
    for z, _, outcome in rounds_of(policy, 6, weights=(1.0,)):
        before, counts = counts or [0] * len(policy.layer_counts_), policy.layer_counts_
        for layer in (k + 1 for k in range(len(counts)) if counts[k] != before[k]):
            told = votes.setdefault(layer, [])
            ridge = 4.0**-layer
            sigma = ridge * np.eye(DIM) + sum(w * np.outer(x, x) for x, w, _ in told)
            told.append((z, ridge / (z @ np.linalg.solve(sigma, z)), outcome))
            rows, weight, won = (np.array(column) for column in zip(*told, strict=True))
            sigma = sigma + weight[-1] * np.outer(z, z)
            radius, h, _ = stated_radius(link, ridge, DELTA / (layer * (layer + 1)), rows, weight, won)
            assert policy.layer_radii_[layer - 1] == pytest.approx(radius * stretch(h, sigma), rel=1e-10)
    assert len(votes) >= 1
    assert sum(map(len, votes.values())) > ROUNDS / 2
