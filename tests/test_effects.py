"""Do the features explain the votes? The score test against its distribution, and terms of their own where they do not."""

import numpy as np
import pytest
from scipy import optimize, special, stats

import duelist as dl
from duelist.effects import MOST_ARMS, misfit, votes_on_pairs, with_effects
from duelist.identification import Known

N_ARMS, DIM, VOTES = 12, 3, 1500


def tallied(rng, effect, arms=None):
    """Votes on random pairs: rows as the exact estimator keeps them, with theta fitted."""
    arms = rng.standard_normal((N_ARMS, DIM)) if arms is None else arms
    theta = rng.standard_normal(DIM)
    utilities = arms @ theta / np.linalg.norm(theta) + effect * rng.standard_normal(len(arms))
    first = rng.integers(len(arms), size=VOTES)
    second = (first + rng.integers(1, len(arms), size=VOTES)) % len(arms)
    won = (rng.random(VOTES) < special.expit(utilities[first] - utilities[second])).astype(float)
    z = arms[first] - arms[second]
    theta = dl.fit_mle(z, won, ridge=0.01).theta
    slope = special.expit(z @ theta) * special.expit(-z @ theta)
    known = Known(theta, 0.01 * np.eye(DIM) + (z * slope[:, None]).T @ z, 0.01, VOTES)
    return arms, z, won, known, utilities


def test_the_p_value_is_uniform_where_features_explain_everything():
    found = []
    for seed in range(200):
        arms, z, won, known, _ = tallied(np.random.default_rng(seed), 0.0)
        found.append(misfit(arms, votes_on_pairs(arms, z, np.ones(VOTES), won), known, "logistic"))
    assert stats.kstest(found, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_effects_are_noticed(seed):
    arms, z, won, known, _ = tallied(np.random.default_rng(seed), 0.5)
    assert misfit(arms, votes_on_pairs(arms, z, np.ones(VOTES), won), known, "logistic") < 1e-3


def test_rows_are_found_whichever_way_they_are_written():
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((4, 2))
    z = np.array([arms[0] - arms[1], arms[1] - arms[0], arms[3] - arms[2]])
    votes = votes_on_pairs(arms, z, np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 0.0]))
    assert votes.first.tolist() == [0, 0, 2]
    assert votes.second.tolist() == [1, 1, 3]
    assert votes.wins.tolist() == [1.0, 0.0, 1.0]
    assert votes_on_pairs(arms, rng.standard_normal((5, 2)), np.ones(5), np.ones(5)) is None
    many = rng.standard_normal((MOST_ARMS + 1, 2))
    assert votes_on_pairs(many, many[:1] - many[1:2], np.ones(1), np.ones(1)) is None


def test_terms_of_their_own_are_the_penalised_estimate():
    arms, z, won, known, utilities = tallied(np.random.default_rng(3), 0.7)
    votes = votes_on_pairs(arms, z, np.ones(VOTES), won)
    own, found = with_effects(arms, votes, known, "logistic")
    assert own.shape == (N_ARMS, DIM + N_ARMS)
    rows = own[votes.first] - own[votes.second]

    def loss(theta):
        v = rows @ theta
        return 0.5 * found.ridge @ theta**2 + np.logaddexp(0.0, v).sum() - votes.wins @ v

    def slope(theta):
        return found.ridge * theta + rows.T @ (special.expit(rows @ theta) - votes.wins)

    other = optimize.minimize(loss, np.zeros(len(found.theta)), jac=slope, tol=1e-12).x
    np.testing.assert_allclose(found.theta, other, atol=2e-4)
    fitted = own @ found.theta
    linear = arms @ known.theta

    def error(u):
        return np.square((u - u.mean()) - (utilities - utilities.mean())).mean()

    assert error(fitted) < 0.5 * error(linear)


def test_a_policy_says_that_features_do_not_explain_the_votes():
    rng = np.random.default_rng(1)
    arms = rng.standard_normal((10, 2))
    utilities = arms @ [1.0, 0.5] + rng.standard_normal(10)
    policy = dl.UniformPair(random_state=0)
    for _ in range(2000):
        duel = policy.ask(arms)
        policy.tell(duel, float(rng.random() < special.expit(utilities[duel.first] - utilities[duel.second])))
    found = policy.recommend(arms)
    assert "the features do not explain the votes" in found.advice
    assert found.best == int(utilities.argmax())
    assert "features" not in policy.recommend(arms, effects=False).advice


def test_effects_take_the_votes_which_one_pass_forgets():
    online = dl.UniformPair(random_state=0, estimator="online")
    online.tell(online.ask(np.eye(3)), 1.0)
    with pytest.raises(dl.InvalidInput, match="estimator='exact'"):
        online.recommend(np.eye(3), effects=True)


@pytest.mark.parametrize(("n_arms", "warned"), [(4, True), (3, False)])
def test_an_announcement_from_one_pass_says_what_nobody_tested(n_arms, warned):
    # Three arms in a plane can have any utilities at all, up to a constant: features always explain those.
    arms = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])[:n_arms]
    online = dl.UniformPair(random_state=0, estimator="online")
    for _ in range(300):
        duel = online.ask(arms)
        online.tell(duel, float(duel.first > duel.second))
    found = online.recommend(arms)
    assert found.decided
    assert ("FreeArms(n, features)" in found.advice) == warned
    assert "FreeArms" not in online.recommend(arms, effects=False).advice
