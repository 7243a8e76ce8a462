"""Numbers that computers make: columns that are constant up to rounding, first arms out of all bounds, votes that weigh nothing."""

import json

import numpy as np
import pytest
from scipy.special import expit

import duelist as dl
from duelist.policies import POLICIES
from tests.helpers.policy_state import known


def contexts_with_noise(seed):
    """Two features, and a third that was computed in two ways: 0.3, or 0.30000000000000004."""
    rng = np.random.default_rng(seed)
    x = 0.1 * rng.integers(1, 9, (20, 4, 1))
    return np.concatenate([rng.standard_normal((20, 4, 2)), (x + 0.2 + 0.1) - x], axis=2)


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("name", ["LocalPairUCB", "MaxPairUCB", "BestArmPair", "VACDB", "ThompsonPair"])
def test_a_column_that_is_constant_up_to_rounding_has_no_effect(name, estimator):
    """One by one and in batches: its effect was found to be 1e15."""
    contexts = contexts_with_noise(0)
    policy = POLICIES[name](random_state=0, estimator=estimator)
    policy.ask_batch(contexts)
    assert known(policy).scale[2] == 1.0  # none yet
    rng = np.random.default_rng(1)
    for arms in contexts:
        policy.tell(policy.ask(arms), float(rng.random() < 0.5))
    assert abs(policy.theta_[2]) < 1e-6
    assert np.abs(policy.theta_).max() < 100.0


@pytest.mark.parametrize("factor", [1e8, 1e9, 1e12, 1e-8, 1e-12])
@pytest.mark.parametrize("name", ["LocalPairUCB", "MaxPairUCB", "BestArmPair", "MaxInP", "CoLSTIM", "ThompsonPair"])
def test_first_arms_out_of_all_bounds_leave_a_policy_that_asks_and_answers(name, factor):
    """`ask` said that no pair is left, and `recommend` ended in an error of linear algebra."""
    for seed in range(10):
        rng, policy = np.random.default_rng(seed), POLICIES[name](random_state=seed)
        for t in range(8):
            arms = rng.standard_normal((6, 3)) * (factor if t < 1 else 1.0)
            policy.tell(policy.ask(arms), float(rng.random() < 0.5))
            assert np.isfinite(policy.recommend(arms).probability)
            policy.decided_arm(arms)


def test_an_estimate_is_the_root_and_reading_leaves_it():
    """After first arms far too small and unequal weights the solver stopped 10,000 times too far off."""
    far = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        dim, small = int(rng.integers(2, 8)), 10.0 ** -int(rng.integers(1, 5))
        usual, theta = rng.standard_normal((8, dim)), rng.standard_normal(dim)
        policy = dl.ThompsonPair(random_state=seed)
        for t in range(12):
            arms = usual * small if t < 2 else rng.standard_normal((8, dim))
            duel = policy.ask(arms)
            z = arms[duel.first] - arms[duel.second]
            outcome = 0.5 if rng.random() < 0.2 else float(rng.random() < expit(z @ theta))
            policy.tell(duel, outcome, float(rng.choice([1, 1, 0.1, 5.0])))
        state = known(policy)
        found = policy.theta_.copy()
        np.testing.assert_array_equal(found, policy.theta_)
        ridge = policy.pooled_ridge_
        gradient = ridge * found + state.z.T @ (state.mass * expit(state.z @ found) - state.wins)
        slopes = state.mass * expit(state.z @ found) * expit(-state.z @ found)
        curvature = (state.z.T * slopes) @ state.z + np.diag(ridge)
        far += gradient @ np.linalg.solve(curvature, gradient) > 1e-8 * min(1.0, state.mass.sum())
    assert far == 0


@pytest.mark.parametrize("free", [False, True])
def test_votes_that_weigh_little_are_not_kept_for_ever(free):
    """One pass is O(dim^2) in memory, whatever votes weigh: the first ones are kept for a while, and not as long as they weigh little."""
    rng = np.random.default_rng(0)
    policy, features = dl.LocalPairUCB(random_state=0, estimator="online"), rng.standard_normal((6, 5))
    policy.initialize(dl.ArmTable(6, features) if free else features)
    lengths = []
    for k in range(600):
        pair = rng.permutation(6)[:2]
        policy.learn(dl.ArmTable(pair, features[pair]) if free else rng.standard_normal((2, 5)), 1.0, 1e-4)
        if k in (299, 599) and not free:
            lengths.append(len(known(policy).mass))
        elif k in (299, 599):
            lengths.append(len(json.loads(json.dumps(policy.snapshot()))["arm_effects"][0]["early_outcomes"]["data"]))
    assert lengths[0] == lengths[1]
    again = dl.LocalPairUCB.restore(json.loads(json.dumps(policy.snapshot())))
    assert again.snapshot() == policy.snapshot()
