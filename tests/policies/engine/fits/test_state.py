"""What a policy knows: rows that merge, layers that are kept apart, estimates that are right."""

import itertools

import numpy as np
import pytest

import duelist as dl
from duelist import native
from duelist.core.seeds import seed_words
from tests.helpers.policy_state import change, known

LINKS = ("logistic", "probit", "exponential")


def make(dim, ridge=0.5, link="logistic", estimator="exact"):
    """A policy with one layer and unit shares that has seen arms and no outcome."""
    policy = dl.UniformPair(ridge=ridge, link=link, estimator=estimator, random_state=0)
    policy.initialize(np.eye(dim) if dim > 1 else np.array([[0.0], [1.0]]))
    return policy


def make_layers(dim, horizon=64):
    """A policy with several layers, all of the same ridge."""
    policy = dl.StaD(ridge=0.5, horizon=horizon, random_state=0)
    policy.initialize(np.eye(dim))
    assert len(known(policy).ridge) == 3
    return policy


def feed(policy, duels, layer=0):
    for z, outcome, mass in duels:
        policy.learn(np.array(z, float), outcome, mass, layer=layer)
    return policy


def some_duels(seed, n=60, dim=4, distinct=25):
    """Duels over a few differences, each met in both directions; outcomes include ties."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(distinct, dim))[rng.integers(distinct, size=n)] * rng.choice([-1.0, 1.0], size=(n, 1))
    return [(row, rng.choice([0.0, 0.5, 1.0]), rng.uniform(0.1, 2.0)) for row in z]


def rows_of(policy, layer=0):
    """Rows of a layer as a dictionary: difference -> (mass, wins)."""
    state = known(policy)
    start = int(state.n_rows[:layer].sum())
    mine = slice(start, start + int(state.n_rows[layer]))
    return {
        tuple(z): (m, w) for z, m, w in zip(state.z[mine].tolist(), state.mass[mine], state.wins[mine], strict=True)
    }


def ledger_of(duels):
    """The same by plain bookkeeping: every difference turned so that its first nonzero entry is positive."""
    ledger = {}
    for z, outcome, mass in duels:
        sign = np.sign(z[np.flatnonzero(z)[0]])
        key = tuple((sign * np.asarray(z) + 0.0).tolist())
        old_mass, old_wins = ledger.get(key, (0.0, 0.0))
        ledger[key] = old_mass + mass, old_wins + mass * (outcome if sign > 0 else 1 - outcome)
    return ledger


def assert_same_ledger(found, expected):
    assert list(found) == list(expected)  # oldest first
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-12, atol=1e-15)


def fitted(duels, ridge, link="logistic"):
    z, outcomes, mass = (np.array(column) for column in zip(*duels, strict=True))
    return dl.fit_mle(z, outcomes, weights=mass, ridge=ridge, link=link).theta


def test_an_empty_state_has_its_prior_and_nothing_else():
    policy = dl.VACDB(ridge=0.7, horizon=8, radius="theory", random_state=3)
    policy.initialize(np.eye(3))
    state = known(policy)
    small = 4.0 ** -np.arange(1, 6)[:, None, None]
    np.testing.assert_allclose(state.factor, np.sqrt(small) * np.eye(3), rtol=1e-15)
    np.testing.assert_allclose(state.curvature, np.sqrt(0.7 * small) * np.eye(3), rtol=1e-15)
    np.testing.assert_array_equal(state.words, seed_words(3))
    for empty in (state.theta, state.fit_status, state.stale, state.learned, state.n_rows, state.rounds):
        assert not empty.any()
    assert (state.z.shape, state.mass.size, state.wins.size) == ((0, 3), 0, 0)


def test_what_is_looked_at_is_a_copy():
    policy = feed(make(3), some_duels(0, dim=3))
    before = policy.snapshot()
    for array in policy._player.state.arrays().values():
        array[...] = 7
    assert policy.snapshot() == before


def test_a_repeated_difference_merges_into_one_row():
    policy = feed(make(2), [([1.0, -2.0], 1, 0.5), ([1.0, -2.0], 0, 0.25), ([1.0, -2.0], 0.5, 2.0)])
    assert rows_of(policy) == {(1.0, -2.0): (2.75, 1.5)}


def test_a_difference_and_its_opposite_share_a_row():
    policy = feed(make(3), [([0.0, 1.0, -2.0], 1, 1.0), ([0.0, -1.0, 2.0], 1, 1.0), ([-0.0, -1.0, 2.0], 0.2, 1.0)])
    assert rows_of(policy) == {(0.0, 1.0, -2.0): (3.0, 1.8)}


def test_zeros_of_either_sign_are_the_same_difference():
    rows = itertools.product([0.0, -0.0], [3.0], [0.0, -0.0])
    assert rows_of(feed(make(3), [(row, 1, 1.0) for row in rows])) == {(0.0, 3.0, 0.0): (4.0, 4.0)}


def test_a_share_and_a_weight_multiply_and_the_weight_counts_the_duels():
    policy = make(1, ridge=2.0)
    policy.learn([2.0], 1.0, 3.0, layer=0, share=0.25)
    assert rows_of(policy) == {(2.0,): (0.75, 0.75)}
    assert known(policy).learned[0] == 3.0
    assert known(policy).factor[0, 0, 0] == pytest.approx(np.sqrt(2.0 + 0.75 * 4.0), rel=1e-15)


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_a_self_duel_counts_a_round_and_changes_nothing_else(estimator):
    policy = feed(make(3, estimator=estimator), some_duels(0, dim=3))
    before = vars(known(policy))
    policy.learn([0.0, -0.0, 0.0], 1.0)
    after = vars(known(policy))
    assert after.pop("rounds") == before.pop("rounds") + 1
    for name, array in before.items():
        assert np.asarray(array).tobytes() == np.asarray(after[name]).tobytes(), name


def test_telling_leaves_the_difference_alone_and_marks_its_layer():
    policy = make_layers(2)
    arms = np.array([[0.0, 0.0], [10.0, -20.0]])
    for _ in range(9):
        duel = policy.ask(arms)
    policy.tell(duel, 1.0)
    np.testing.assert_array_equal(arms, [[0.0, 0.0], [10.0, -20.0]])
    state = known(policy)
    np.testing.assert_array_equal(state.fit_status, [1, 0, 0])
    np.testing.assert_array_equal(state.stale, [1, 0, 0])
    np.testing.assert_array_equal(state.last_update, [9, 0, 0])


@pytest.mark.parametrize("arms", [np.random.default_rng(0).normal(size=(9, 4)), np.eye(9)], ids=["random", "one-hot"])
def test_fixed_arms_need_one_row_a_pair_however_long_they_are_played(arms):
    policy, k = make(arms.shape[1]), len(arms)
    for _ in range(3):
        feed(policy, [(arms[i] - arms[j], 1, 1.0) for i in range(k) for j in range(k)])
    rows = rows_of(policy)
    assert len(rows) == k * (k - 1) // 2
    assert set(rows.values()) == {(6.0, 3.0)}


def test_layers_keep_their_rows_apart():
    policy, duels = make_layers(4), some_duels(1)
    dealt = {layer: [d for k, d in enumerate(duels) if k % 3 in (layer, (layer + 1) % 3)] for layer in range(3)}
    for step in range(max(map(len, dealt.values()))):
        for layer, own in dealt.items():
            feed(policy, own[step : step + 1], layer)
    for layer, own in dealt.items():
        assert_same_ledger(rows_of(policy, layer), ledger_of(own))
        np.testing.assert_allclose(policy.estimate(layer), fitted(own, 0.5), rtol=0, atol=1e-8)


def test_the_precision_is_the_prior_plus_the_weighted_squares():
    duels = some_duels(2, n=300)
    policy = feed(make(4, ridge=2.0), duels)
    expected = 2.0 * np.eye(4) + sum(mass * np.outer(z, z) for z, _, mass in duels)
    np.testing.assert_allclose(policy.precision_, expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("kind", ["normal", "integers", "one-hot", "tiny"])
def test_every_row_is_found_again_among_thousands(kind):
    rng = np.random.default_rng(5)
    n, dim = 6000, 3
    if kind == "normal":
        z = rng.normal(size=(n, dim))[rng.integers(n, size=n)]
    elif kind == "integers":
        z = rng.integers(-8, 9, size=(n, dim)).astype(float)
    elif kind == "one-hot":
        dim = 40
        z = np.eye(dim)[rng.integers(dim, size=n)] - np.eye(dim)[rng.integers(dim, size=n)]
    else:
        z = rng.integers(1, 400, size=(n, dim)).astype(float) * 5e-324  # neighbours among the smallest floats
    z = z[(z != 0).any(axis=1)]
    policy = make(dim)
    for row in z:  # asked and told: the estimate is not solved in between
        duel = policy.ask(np.stack([row, np.zeros(dim)]))
        policy.tell(duel, float(duel.first == 0))
    assert_same_ledger(rows_of(policy), ledger_of([(row, 1.0, 1.0) for row in z]))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(3))
def test_the_estimate_is_that_of_the_raw_rows(link, seed):
    duels = some_duels(seed, n=200)
    np.testing.assert_allclose(feed(make(4, link=link), duels).theta_, fitted(duels, 0.5, link), rtol=0, atol=1e-8)


# Layer l of VACDB has ridge and weights of order 4^-l: the same problem, divided by 4^l.
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("layer", [1, 6, 10, 14, 18])
def test_the_estimate_of_a_deep_layer_is_that_of_the_undivided_problem(link, layer):
    duels, c = some_duels(6, n=40), 4.0**-layer
    policy = feed(make(4, ridge=0.05 * c, link=link), [(z, o, c * mass) for z, o, mass in duels])
    np.testing.assert_allclose(policy.theta_, fitted(duels, 0.05, link), rtol=0, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
def test_the_first_outcomes_leave_a_finite_estimate(link):
    # Separable and hardly regularised, as the first rounds are.
    duels = [([1.0, 2.0, 0.0], 1, 1.0), ([0.0, 0.1, 9.0], 1, 1.0)]
    policy = feed(make(3, ridge=1e-9, link=link), duels)
    assert np.isfinite(policy.theta_).all()
    assert (known(policy).z @ policy.theta_ > 1.0).all()


@pytest.mark.parametrize("link", LINKS)
def test_solving_now_and_then_ends_where_solving_once_does(link):
    rng = np.random.default_rng(7)
    lazy, eager = make(4, link=link), make(4, link=link)
    for _ in range(150):
        arms = rng.normal(size=(3, 4))
        duel, same = lazy.ask(arms), eager.ask(arms)
        outcome = float(rng.random() < 0.6)
        lazy.tell(duel, outcome)
        eager.tell(same, outcome)
        assert np.isfinite(eager.theta_).all()
    np.testing.assert_allclose(eager.theta_, lazy.theta_, rtol=0, atol=1e-8)


def test_a_solved_layer_is_not_solved_again():
    policy = feed(make(4), some_duels(8))
    assert known(policy).fit_status[0] == 0
    change(policy, theta=np.full((1, 4), 99.0))
    assert (policy.theta_ == 99.0).all()
    change(policy, fit_status=np.ones(1, np.int64))
    np.testing.assert_allclose(policy.theta_, fitted(some_duels(8), 0.5), rtol=0, atol=1e-8)


def test_more_layers_leave_the_known_ones_as_they_were():
    policy = dl.VACDB(ridge=0.7, radius=9.0, random_state=0)
    policy.initialize(np.eye(4))
    feed(policy, some_duels(9), layer=1)
    before = known(policy)
    arms = np.eye(4)
    while len(known(policy).ridge) < len(before.ridge) + 3:
        policy.forget(policy.ask(arms))  # a duel that is out would have all layers brought up to date
    after, layers = known(policy), len(before.ridge)
    for name in (
        "ridge",
        "radius",
        "learned",
        "residual",
        "fit_status",
        "stale",
        "last_update",
        "theta",
        "factor",
        "curvature",
    ):
        np.testing.assert_array_equal(getattr(after, name)[:layers], getattr(before, name), err_msg=name)
    np.testing.assert_array_equal(after.n_rows[:layers], before.n_rows)
    for name in ("z", "mass", "wins"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name), err_msg=name)
    deeper = 4.0 ** -np.arange(layers + 1, len(after.ridge) + 1)
    np.testing.assert_allclose(after.ridge[layers:], 0.7 * deeper, rtol=1e-12)
    np.testing.assert_array_equal(after.radius[layers:], 9.0)
    assert not after.learned[layers:].any()


def test_a_layer_that_is_learned_before_its_round_is_added():
    # Asked with many duels out, learned as the first of them: what was chosen there is learned there.
    policy = dl.StaD(ridge=0.5, random_state=0)
    policy.initialize(np.eye(3))
    shallow = len(known(policy).ridge)
    deepest = shallow + 2
    policy.learn(np.array([1.0, 0.0, 0.0]), 1.0, layer=deepest)
    state = known(policy)
    assert len(state.ridge) == deepest + 1
    np.testing.assert_array_equal(state.learned, [0.0] * deepest + [1.0])
    assert policy.suggest(np.eye(3), [(np.ones(3), deepest + 1, 1.0)]).first >= 0  # out in one that is not there yet
    assert len(known(policy).ridge) == deepest + 1
    with pytest.raises(dl.InvalidInput, match="layer is 1000"):
        policy.learn(np.ones(3), 1.0, layer=1000)


@pytest.mark.parametrize("settings", [{"dim": 0}, {"ridge": 0.0}, {"prior": np.inf}, {"kappa": -1.0}, {"bound": 0.0}])
def test_the_engine_makes_no_state_of_nonsense(settings):
    sound = {"dim": 2, "link": "logistic", "online": False, "words": seed_words(0), "kappa": 1.0, "units": 1.0}
    sound |= {"bound": np.inf, "ridge": 1.0, "prior": 1.0}
    assert native.new_policy_state(**sound).dim == 2
    with pytest.raises(ValueError, match=r"between 1 and 2\^20|must be positive"):
        native.new_policy_state(**{**sound, **settings})
