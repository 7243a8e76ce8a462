"""How large features are to FGTS: the median over all tables so far, so that odd first arms decide nothing for long."""

import json
import time

import numpy as np
import pytest
from scipy import special

import duelist as dl
from duelist.policies.linear.feel_good import ATYPICAL, RoundHistory, _weighted_median
from duelist.policies.linear.fgts import _inverse_root

THETA = np.array([2.0, -1.5, 1.0])
FIRST = {
    "one": lambda x: x[:1],
    "the same": lambda x: np.repeat(x[:1], 3, axis=0),
    "nearly alike": lambda x: 1e-3 * x,
    "two nearly alike": lambda x: np.vstack([x[:1], x[:1] + 1e-4]),
    "huge": lambda x: 100.0 * x,
}
UNITS = {
    "exact": (2.0 ** np.array([14, 2, 20]), np.zeros(3)),
    "price, year, mileage": (np.array([5e3, 5.0, 4e4]), np.array([2e4, 2010.0, 8e4])),
}


def tables(first, rounds, seed=0):
    """Standardised arms of many rounds, after first arms of another kind, if any."""
    rng = np.random.default_rng(seed)
    start = [] if first is None else [FIRST[first](rng.normal(size=(8, 3)))]
    return start + [rng.normal(size=(8, 3)) for _ in range(rounds)]


def lost(policy, shown, seed, raw=lambda x: x):
    """The duels, and the regret of those after the first table where there is one too many."""
    luck, duels, total = np.random.default_rng(seed).random(len(shown)), [], 0.0
    for arms, u in zip(shown, luck, strict=True):
        utility = arms @ THETA
        duels.append(tuple(duel := policy.ask(raw(arms), distinct=False)))
        policy.tell(duel, float(u < special.expit(utility[duel.first] - utility[duel.second])))
        if len(arms) == 8 and arms.std() < 10.0:
            total += utility.max() - 0.5 * (utility[duel.first] + utility[duel.second])
    return duels, total


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("first", FIRST)
def test_units_change_no_duel_whatever_came_first(first, units):
    """Raw features, with a column that is 0.1 for all, up to rounding, play as standardised ones."""
    scale, origin = UNITS[units]

    def raw(arms):
        noise = np.where(np.arange(len(arms)) % 2, np.spacing(0.1), 0.0)
        return np.column_stack([arms * scale + origin, 0.1 + noise])

    shown = tables(first, 40)
    one, other = (dl.FGTS(horizon=40, random_state=3) for _ in range(2))
    assert lost(one, shown, 1, plain)[0] == lost(other, shown, 1, raw)[0]
    np.testing.assert_allclose(other.theta_, [*(one.theta_[:3] / scale), 0.0], rtol=1e-6)


def plain(arms):
    """With a fourth feature that is always zero, as there are four of the raw ones."""
    return np.column_stack([arms, np.zeros(len(arms))])


@pytest.mark.parametrize("first", FIRST)
def test_sizes_are_the_median_over_tables(first):
    """From the third table on, ordinary ones are in the majority; without a vote the first arms are all there is."""
    shown, policy = tables(first, 6), dl.FGTS(random_state=0)
    for t, arms in enumerate(shown):
        spreads = np.array(
            [np.std(each, axis=0) for each in shown[: t + 1] if len(each) > 2 and np.ptp(each, axis=0).all()]
        )
        if t >= 2 and len(spreads) % 2:
            np.testing.assert_allclose(policy._scale(arms), np.median(spreads, axis=0), rtol=1e-12)
        elif t >= 1:
            middle = np.sort(spreads, axis=0)[(len(spreads) - 1) // 2 : len(spreads) // 2 + 1]
            np.testing.assert_allclose(policy._scale(arms), np.exp(np.log(middle).mean(axis=0)), rtol=1e-12)
        policy.tell(policy.ask(arms, distinct=False), 1.0)


def test_with_the_same_arms_in_every_round_sizes_are_their_spread_to_the_bit():
    arms = tables(None, 1)[0]
    policy = dl.FGTS(random_state=0)
    for _ in range(9):
        policy.tell(policy.ask(arms), 1.0, 0.7)
        np.testing.assert_array_equal(policy._scale(), np.sqrt((arms - arms[0]).var(axis=0)))
        np.testing.assert_array_equal(policy._scale(arms), policy._scale())


def test_pairs_of_a_log_say_how_large_features_are_only_where_no_table_does():
    """Those that are asked in the end are alike, in a study too, where votes come without their tables."""
    arms = tables(None, 1)[0]
    policy = dl.FGTS(random_state=0)
    policy.initialize(arms[:1])
    np.testing.assert_array_equal(policy._scale(), np.zeros(3))
    for k in range(6):
        policy.learn(arms[[k, k + 1]], 1.0)
    halves = np.sort(np.abs(np.diff(arms[:7], axis=0)) / 2.0, axis=0)
    np.testing.assert_allclose(policy._scale(), np.sqrt(halves[2] * halves[3]), rtol=1e-12)
    np.testing.assert_allclose(policy._scale(arms), arms.std(axis=0), rtol=1e-12)
    policy.tell(policy.ask(arms), 1.0)
    np.testing.assert_allclose(policy._scale(), arms.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("ridge", [None, 2.0])
def test_a_table_of_another_kind_promises_as_much_as_a_usual_one(ridge):
    """The second term of either player, written once more in plain loops."""
    shown, policy = tables("huge", 4), dl.FGTS(feel_good=0.3, ridge=ridge, random_state=1)
    duels, _ = lost(policy, shown, 0)
    told = policy.snapshot()
    quiet = dl.FGTS.restore({**told, "params": {**told["params"], "feel_good": 0.0}})
    size = np.median([arms.std(axis=0) for arms in shown], axis=0)
    theta = np.array([0.3, -0.2, 0.5])
    for player in (1, 2):
        expected = 0.0
        for arms, duel in zip(shown, duels, strict=True):
            far = np.median(arms.std(axis=0) / size)
            part = 1.0 / far if ridge is None and far > 8.0 else 1.0
            expected -= 0.3 * part * ((arms - arms[duel[2 - player]]) @ theta).max()
        assert policy.potential(theta, player) - quiet.potential(theta, player) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dim", [1, 2, 3, 6, 7])
def test_what_tables_count_is_by_the_median_of_each_to_the_bit(dim):
    """Features in which a table does not vary have no say in its median; a table where none varies counts as any other."""
    rng = np.random.default_rng(dim)
    past, size = RoundHistory(np.ones(dim)), rng.lognormal(size=dim)
    past.spreads = rng.lognormal(0.0, 3.0, (400, dim)) * (rng.random((400, dim)) < 0.7)
    past.spreads[0] = 0.0
    middles = [np.median(each[each > 0.0]) if each.any() else 1.0 for each in past.spreads / size]
    expected = [1.0 / middle if middle > ATYPICAL else 1.0 for middle in middles]
    assert past.table_weights(size).tolist() == expected
    assert 10 < sum(part < 1.0 for part in expected) < 390


def test_many_tables_are_counted_at_once():
    """One by one they took 15 of the 20 ms of an ask after 1,500 tables, and half a second here."""
    past = RoundHistory(np.ones(5))
    past.spreads = np.random.default_rng(0).lognormal(size=(50_000, 5))
    start = time.process_time()
    past.table_weights(np.ones(5))
    assert time.process_time() - start < 0.15


RUNS, ROUNDS = 16, 150


def regrets(first):
    runs = (dl.FGTS(horizon=ROUNDS, random_state=seed) for seed in range(RUNS))
    return np.array([lost(policy, tables(first, ROUNDS, seed), seed)[1] for seed, policy in enumerate(runs)])


@pytest.fixture(scope="module")
def ordinary():
    return regrets(None)


@pytest.mark.parametrize("first", FIRST)
def test_regret_after_odd_first_arms_is_as_without_them(first, ordinary):
    """Runs are independent: six standard errors of the difference are luck, and are less than the ordinary regret itself."""
    odd = regrets(first)
    error = np.sqrt((odd.var(ddof=1) + ordinary.var(ddof=1)) / RUNS)
    assert 6.0 * error < ordinary.mean()
    assert odd.mean() - ordinary.mean() < 6.0 * error


@pytest.mark.parametrize("ridge", [None, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_any_size_are_asked_about(seed, ridge):
    rng, policy = np.random.default_rng(seed), dl.FGTS(ridge=ridge, random_state=seed, steps=3)
    for _ in range(25):
        arms = rng.normal(size=(int(rng.integers(1, 6)), 3)) * 10.0 ** rng.choice([-150, -50, -4, 0, 0, 4, 50, 149])
        odd = rng.random()
        if odd < 0.2:
            arms = np.vstack([arms[:1], arms[:1] * (1.0 + 1e-4)])
        elif odd < 0.4:
            arms = arms * 10.0 ** rng.choice([-150, -20, 0], size=3)
        policy.tell(policy.ask(arms, distinct=odd < 0.5), rng.choice([0.0, 0.5, 1.0]), rng.choice([1.0, 1e6]))
        assert np.isfinite(policy.theta_).all() or ridge is None


def test_a_curvature_that_rounding_made_singular_has_a_root():
    z = np.array([1e50, 3e49, -2e30])
    root = _inverse_root(np.eye(3) + np.outer(z, z))
    assert np.isfinite(root).all()
    usual = np.diag([1.0, 4.0, 1e6]) + np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    root = _inverse_root(usual)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(usual), rtol=1e-9)  # of a condition of 1e6


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("at", [1, 2, 9])
def test_restored_in_the_middle_it_goes_on_bit_for_bit(first, at):
    shown, policy = tables(first, 20), dl.FGTS(horizon=30, random_state=2)
    lost(policy, shown[:at], 0)
    out = policy.ask(shown[at], distinct=False)
    copy = dl.restore_policy(json.loads(json.dumps(policy.snapshot())))
    for each in (policy, copy):
        each.tell(out, 1.0)
    assert lost(copy, shown[at:], 1) == lost(policy, shown[at:], 1)
    assert copy.snapshot() == policy.snapshot()


def test_a_snapshot_with_a_damaged_past_is_refused():
    policy = dl.FGTS(random_state=2)
    lost(policy, tables(None, 8), 0)
    now = policy.snapshot()
    for name in now["history"]:
        with pytest.raises(dl.InvalidSnapshot):
            dl.FGTS.restore({**now, "history": {**now["history"], name: now["words"]}})


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1e308, 1e308]])
def test_a_median_by_weights_without_a_half_is_one_of_the_values(weights):
    """A damaged snapshot may have them."""
    with np.errstate(over="ignore"):
        assert 1.0 <= _weighted_median(np.array([1.0, 4.0]), np.array(weights)) <= 4.0
