"""What a policy knows: rows that merge, room that grows, layers that are added, estimates that are right."""

import itertools

import numpy as np
import pytest

import duelist as dl
from duelist.kernels.random import seed_words
from duelist.policies import _state
from duelist.policies._state import empty_state, layer_rows, learn, solve, solve_only, with_layers, with_room

LINKS = ("logistic", "probit", "exponential")


def make(dim, runs=1, layers=1, ridge=0.5, prior=2.0):
    words = np.array([seed_words(run) for run in range(runs)])
    shape = (runs, layers)
    return empty_state(
        words, np.ones(runs), np.ones(runs), np.full(shape, ridge), np.full(shape, prior), np.zeros(shape), dim
    )


def feed(state, duels, run=0, layer=0):
    for z, outcome, mass in duels:
        state = with_room(state, 1)
        learn(state, run, layer, np.array(z, dtype=float), float(outcome), float(mass), 1.0)
    return state


def some_duels(seed, n=60, dim=4, distinct=25):
    """Duels over a few differences, each met in both directions; outcomes include ties."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(distinct, dim))[rng.integers(distinct, size=n)] * rng.choice([-1.0, 1.0], size=(n, 1))
    return [(row, rng.choice([0.0, 0.5, 1.0]), rng.uniform(0.1, 2.0)) for row in z]


def table_of(state, run, layer):
    """Rows of a layer as a dictionary: difference -> (mass, wins)."""
    z, mass, wins = layer_rows(state, run, layer)
    return {tuple(row): (m, w) for row, m, w in zip(z.T, mass, wins, strict=True)}


def ledger_of(duels):
    """The same by plain bookkeeping: every difference turned so that its first nonzero entry is positive."""
    ledger = {}
    for z, outcome, mass in duels:
        sign = np.sign(z[np.flatnonzero(z)[0]])
        key = tuple(sign * np.asarray(z) + 0.0)
        old_mass, old_wins = ledger.get(key, (0.0, 0.0))
        ledger[key] = old_mass + mass, old_wins + mass * (outcome if sign > 0 else 1 - outcome)
    return ledger


def assert_same_ledger(found, expected):
    assert list(found) == list(expected)  # oldest first
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-12, atol=1e-15)


def test_an_empty_state_has_its_prior_and_nothing_else():
    state = make(3, runs=2, layers=2, prior=4.0)
    np.testing.assert_array_equal(state.factor, np.broadcast_to(2.0 * np.eye(3), (2, 2, 3, 3)))
    for empty in (state.theta, state.dirty, state.learned, state.n_rows, state.table, state.rounds):
        assert not empty.any()
    assert layer_rows(state, 1, 1)[0].shape == (3, 0)


def test_an_empty_state_shares_no_memory_with_its_arguments():
    words, ridge = np.array([seed_words(0)]), np.ones((1, 1))
    state = empty_state(words, ridge[0], ridge[0], ridge, ridge, ridge, 2)
    for array in state:
        assert not any(np.shares_memory(array, given) for given in (words, ridge))


def test_a_repeated_difference_merges_into_one_row():
    state = feed(make(2), [([1.0, -2.0], 1, 0.5), ([1.0, -2.0], 0, 0.25), ([1.0, -2.0], 0.5, 2.0)])
    assert table_of(state, 0, 0) == {(1.0, -2.0): (2.75, 1.5)}


def test_a_difference_and_its_opposite_share_a_row():
    state = feed(make(3), [([0.0, 1.0, -2.0], 1, 1.0), ([0.0, -1.0, 2.0], 1, 1.0), ([-0.0, -1.0, 2.0], 0.2, 1.0)])
    assert table_of(state, 0, 0) == {(0.0, 1.0, -2.0): (3.0, 1.8)}


def test_zeros_of_either_sign_are_the_same_difference():
    rows = itertools.product([0.0, -0.0], [3.0], [0.0, -0.0])
    state = feed(make(3), [(row, 1, 1.0) for row in rows])
    assert table_of(state, 0, 0) == {(0.0, 3.0, 0.0): (4.0, 4.0)}


def test_a_share_and_a_weight_multiply_and_the_weight_counts_the_duels():
    state = make(1)
    learn(state, 0, 0, np.array([2.0]), 1.0, 0.25, 3.0)
    assert table_of(state, 0, 0) == {(2.0,): (0.75, 0.75)}
    assert state.learned[0, 0] == 3.0
    assert state.factor[0, 0, 0, 0] == pytest.approx(np.sqrt(2.0 + 0.75 * 4.0), rel=1e-15)


def test_a_self_duel_changes_nothing():
    state = feed(make(3), some_duels(0, dim=3))
    state.rounds[0] = 7
    solve(state, 0, 0, 0)
    before = [array.copy() for array in state]
    learn(state, 0, 0, np.array([0.0, -0.0, 0.0]), 1.0, 1.0, 1.0)
    for array, copy in zip(state, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_learning_leaves_the_difference_alone_and_marks_the_layer():
    state = make(2, layers=2)
    state.rounds[0] = 9
    z = np.array([-1.0, 2.0])
    learn(state, 0, 1, z, 1.0, 1.0, 1.0)
    np.testing.assert_array_equal(z, [-1.0, 2.0])
    np.testing.assert_array_equal(state.dirty, [[False, True]])
    np.testing.assert_array_equal(state.stamp, [[0, 9]])


@pytest.mark.parametrize("arms", [np.random.default_rng(0).normal(size=(9, 4)), np.eye(9)], ids=["random", "one-hot"])
def test_fixed_arms_need_one_row_a_pair_however_long_they_are_played(arms):
    state, k = make(arms.shape[1]), len(arms)
    for _ in range(3):
        state = feed(state, [(arms[i] - arms[j], 1, 1.0) for i in range(k) for j in range(k)])
    assert state.n_rows[0] == k * (k - 1) // 2
    assert set(state.mass[0, : state.n_rows[0]]) == {6.0}
    assert set(state.wins[0, : state.n_rows[0]]) == {3.0}


def test_layers_and_runs_keep_their_rows_apart():
    state, duels = make(4, runs=2, layers=3), some_duels(1)
    places = [(run, layer) for run in range(2) for layer in range(3)]
    dealt = {place: [d for k, d in enumerate(duels) if k % 6 in (n, (n + 1) % 6)] for n, place in enumerate(places)}
    for step in range(max(map(len, dealt.values()))):
        for (run, layer), own in dealt.items():
            state = feed(state, own[step : step + 1], run, layer)
    for (run, layer), own in dealt.items():
        assert_same_ledger(table_of(state, run, layer), ledger_of(own))


def test_the_precision_is_the_prior_plus_the_weighted_squares():
    duels = some_duels(2, n=300)
    factor = feed(make(4, prior=2.0), duels).factor[0, 0]
    expected = 2.0 * np.eye(4) + sum(mass * np.outer(z, z) for z, _, mass in duels)
    np.testing.assert_allclose(factor @ factor.T, expected, rtol=1e-12, atol=1e-11)
    np.testing.assert_array_equal(np.triu(factor, 1), 0.0)


@pytest.mark.parametrize("layers", [1, 3])
def test_growing_keeps_everything(layers):
    state = make(4, runs=2, layers=layers)
    for run, layer in itertools.product(range(2), range(layers)):
        state = feed(state, some_duels(10 * run + layer, n=20), run, layer)
        solve(state, run, layer, 0)
    grown = with_room(state, 10_000)
    assert grown.mass.shape[1] >= state.n_rows.max() + 10_000
    pooled = ("z", "mass", "wins", "layer", "next_row")
    for name in set(state._fields) - {*pooled, "table"}:
        np.testing.assert_array_equal(getattr(grown, name), getattr(state, name))
    for name in pooled:
        for run, n in enumerate(state.n_rows):
            np.testing.assert_array_equal(getattr(grown, name)[run, ..., :n], getattr(state, name)[run, ..., :n])
    for run, layer in itertools.product(range(2), range(layers)):
        assert table_of(grown, run, layer) == table_of(state, run, layer)


def test_old_rows_are_still_found_after_growing():
    duels = some_duels(3, n=40)
    state = with_room(feed(make(4), duels), 10_000)
    rows = state.n_rows[0]
    assert feed(state, duels).n_rows[0] == rows


def test_a_state_with_room_is_returned_as_it_is():
    state = feed(make(4), some_duels(4))
    room = state.mass.shape[1] - int(state.n_rows[0])
    assert with_room(state, room) is state
    assert with_room(state, room + 1).mass.shape[1] > state.mass.shape[1]


def test_the_fullest_run_decides_how_much_room_there_is():
    state = make(1, runs=2)
    room = state.mass.shape[1]
    state = feed(state, [([float(k + 1)], 1, 1.0) for k in range(room)], run=1)
    assert with_room(state, 1).mass.shape[1] > room


@pytest.mark.parametrize("kind", ["normal", "integers", "one-hot", "tiny"])
def test_the_table_finds_every_row_among_thousands(kind):
    rng = np.random.default_rng(5)
    n, dim, layers = 6000, 3, 2
    if kind == "normal":
        z = rng.normal(size=(n, dim))[rng.integers(n, size=n)]
    elif kind == "integers":
        z = rng.integers(-8, 9, size=(n, dim)).astype(float)
    elif kind == "one-hot":
        dim = 40
        z = np.eye(dim)[rng.integers(dim, size=n)] - np.eye(dim)[rng.integers(dim, size=n)]
    else:
        z = rng.integers(1, 400, size=(n, dim)) * 5e-324  # neighbours among the smallest floats
    z = z[(z != 0).any(axis=1)]
    layer = rng.integers(layers, size=len(z))
    state = make(dim, layers=layers)
    for row, place in zip(z, layer, strict=True):
        state = with_room(state, 1)
        learn(state, 0, place, row, 1.0, 1.0, 1.0)
    for place in range(layers):
        expected = ledger_of([(row, 1.0, 1.0) for row in z[layer == place]])
        assert_same_ledger(table_of(state, 0, place), expected)


@pytest.mark.parametrize(
    "rows",
    [
        [[k] for k in range(1, 1001)],
        [[1, k] for k in range(1, 1001)],
        list(itertools.product(range(1, 33), range(-16, 16))),
        [a for a in itertools.product([-2, 0, 2], repeat=7) if a > (0,) * 7],
    ],
    ids=["whole numbers", "last feature whole", "grid", "hypercube"],
)
def test_round_differences_do_not_crowd_into_few_slots(rows):
    size = 4096
    slots = {_state._slot(np.array(row, dtype=float), 0, size) for row in rows}
    # Random hashing of n rows leaves size (1 - e^(-n/size)) distinct slots; half of that is generous.
    assert len(slots) >= 0.5 * size * (1 - np.exp(-len(rows) / size))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_estimate_is_that_of_the_raw_rows(link, layers, seed):
    duels = some_duels(seed, n=200)
    state = feed(make(4, layers=layers, ridge=0.5), duels, layer=layers - 1)
    solve(state, 0, layers - 1, dl.get_link(link).code)
    z, outcomes, mass = (np.array(column) for column in zip(*duels, strict=True))
    fit = dl.fit_mle(z, outcomes, weights=mass, ridge=0.5, link=link)
    np.testing.assert_allclose(state.theta[0, layers - 1], fit.theta, rtol=0, atol=1e-8)


# Layer l of VACDB has ridge and weights of order 4^-l: the same problem, divided by 4^l.
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("layer", [1, 6, 10, 14, 18])
def test_the_estimate_of_a_deep_layer_is_that_of_the_undivided_problem(link, layer):
    duels, c = some_duels(6, n=40), 4.0**-layer
    state = feed(make(4, ridge=0.05 * c, prior=c), [(z, o, c * mass) for z, o, mass in duels])
    solve_only(state, 0, dl.get_link(link).code)
    z, outcomes, mass = (np.array(column) for column in zip(*duels, strict=True))
    fit = dl.fit_mle(z, outcomes, weights=mass, ridge=0.05, link=link)
    np.testing.assert_allclose(state.theta[0, 0], fit.theta, rtol=0, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
def test_the_first_outcomes_leave_a_finite_estimate(link):
    # Separable and hardly regularised, as the first rounds are.
    state = feed(make(3, ridge=1e-9, prior=1e-9), [([1.0, 2.0, 0.0], 1, 1.0), ([0.0, 0.1, 9.0], 1, 1.0)])
    solve_only(state, 0, dl.get_link(link).code)
    assert np.isfinite(state.theta).all()
    assert (state.theta[0, 0] @ state.z[0, :, :2] > 1.0).all()


def test_solving_now_and_then_ends_where_solving_once_does():
    duels = some_duels(7, n=150)
    lazy = feed(make(4), duels)
    solve_only(lazy, 0, 0)
    eager = make(4)
    for duel in duels:
        eager = feed(eager, [duel])
        solve_only(eager, 0, 0)
    np.testing.assert_allclose(eager.theta, lazy.theta, rtol=0, atol=1e-8)


def test_solving_clears_the_mark_and_an_unmarked_layer_is_not_solved_again():
    state = feed(make(4, runs=2, layers=2), some_duels(8), run=1, layer=1)
    solve(state, 1, 1, 0)
    assert not state.dirty.any()
    assert (state.theta[1, 1] != 0).all()
    assert not state.theta[0].any()
    assert not state.theta[1, 0].any()
    state.theta[1, 1] = 99.0
    solve(state, 1, 1, 0)
    assert (state.theta[1, 1] == 99.0).all()


def test_more_layers_leave_the_known_ones_as_they_were():
    duels = some_duels(9)
    state = feed(make(4, runs=2, layers=2), duels, run=1, layer=1)
    solve(state, 1, 1, 0)
    ridge, prior, radius = (np.arange(1.0, 11.0).reshape(2, 5) + offset for offset in (0, 100, 200))
    deeper = with_layers(state, ridge, prior, radius)
    for name in ("ridge", "factor", "theta", "radius", "dirty", "learned", "stamp", "head"):
        np.testing.assert_array_equal(getattr(deeper, name)[:, :2], getattr(state, name))
    for name in ("words", "rounds", "kappa", "n_rows", "z", "mass", "wins", "layer", "next_row", "table"):
        np.testing.assert_array_equal(getattr(deeper, name), getattr(state, name))
    np.testing.assert_array_equal(deeper.ridge[:, 2:], ridge[:, 2:])
    np.testing.assert_array_equal(deeper.radius[:, 2:], radius[:, 2:])
    factors = deeper.factor[:, 2:]
    np.testing.assert_allclose(factors @ factors.swapaxes(2, 3), prior[:, 2:, None, None] * np.eye(4), rtol=1e-14)
    assert table_of(deeper, 1, 1) == table_of(state, 1, 1)
    assert table_of(deeper, 1, 4) == {}


def test_a_new_layer_learns_and_the_old_ones_go_on():
    duels = some_duels(10)
    state = feed(make(4), duels[:30])
    state = with_layers(state, np.full((1, 2), 0.5), np.full((1, 2), 2.0), np.zeros((1, 2)))
    state = feed(feed(state, duels[30:], layer=1), duels[30:], layer=0)
    for layer, own in ((0, duels), (1, duels[30:])):
        assert_same_ledger(table_of(state, 0, layer), ledger_of(own))
        solve(state, 0, layer, 0)
        z, outcomes, mass = (np.array(column) for column in zip(*own, strict=True))
        expected = dl.fit_mle(z, outcomes, weights=mass, ridge=0.5).theta
        np.testing.assert_allclose(state.theta[0, layer], expected, rtol=0, atol=1e-8)


def test_no_more_layers_than_known_changes_nothing():
    state = feed(make(4, layers=2), some_duels(11))
    same = with_layers(state, state.ridge, state.ridge, state.radius)
    for array, other in zip(state, same, strict=True):
        np.testing.assert_array_equal(array, other)
