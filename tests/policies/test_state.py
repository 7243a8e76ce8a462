"""What a policy knows: rows that merge, room that grows, layers that are added, estimates that are right."""

import itertools

import numpy as np
import pytest
from duelist.kernels.random import seed_words
from duelist.kernels.scratch import Room, cut, scratch_block
from duelist.policies._state import (
    ARRAYS,
    PER_LAYER,
    POOLED,
    SOLVED,
    empty_memory,
    joined,
    layer_rows,
    learn,
    solve,
    solve_once,
    tell_once,
    with_layers,
    with_room,
)

import duelist as dl
from duelist.policies import _state

LINKS = ("logistic", "probit", "exponential")
LOGISTIC = dl.get_link("logistic").code


def make(dim, runs=1, layers=1, ridge=0.5, prior=2.0):
    words = np.array([seed_words(run) for run in range(runs)])
    shape = (runs, layers)
    return empty_memory(
        words, np.ones(runs), np.ones(runs), np.full(shape, ridge), np.full(shape, prior), np.zeros(shape), dim
    )


def room_for(memory):
    """Room to work in that remembers nothing: a block, and its sizes."""
    room = Room(1, memory.layout.dim, memory.layout.capacity)
    return scratch_block(room), room


def scratch_for(memory):
    """The same, cut into arrays."""
    return cut(*room_for(memory))


def blocks(memory, run):
    return memory.core[run], memory.rows[run], memory.layout


def tell(memory, run, layer, z, outcome, share, weight, link="logistic", online=False):
    """One outcome, in fresh room; whether it taught anything."""
    place = *blocks(memory, run), *room_for(memory)
    return tell_once(*place, dl.get_link(link).code, online, layer, z, float(outcome), float(share), float(weight))


def feed(memory, duels, run=0, layer=0, link="logistic"):
    for z, outcome, mass in duels:
        memory = with_room(memory, 1)
        tell(memory, run, layer, np.array(z, dtype=float), outcome, mass, 1.0, link)
    return memory


def bring_up(memory, run=0, layer=0, link="logistic"):
    """Solve one layer if its data have moved on, in fresh room."""
    solve(memory.state(run), scratch_for(memory), layer, dl.get_link(link).code, False)


def some_duels(seed, n=60, dim=4, distinct=25):
    """Duels over a few differences, each met in both directions; outcomes include ties."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(distinct, dim))[rng.integers(distinct, size=n)] * rng.choice([-1.0, 1.0], size=(n, 1))
    return [(row, rng.choice([0.0, 0.5, 1.0]), rng.uniform(0.1, 2.0)) for row in z]


def table_of(memory, run=0, layer=0, scratch=None):
    """Rows of a layer as a dictionary: difference -> (mass, wins)."""
    state = memory.state(run)
    z, mass, wins = layer_rows(state, scratch or scratch_for(memory), layer)
    n = int(state.chain[layer])
    assert mass.size == wins.size == -(-n // 16) * 16  # padded with rows that carry nothing
    assert not mass[n:].any()
    assert not wins[n:].any()
    assert np.isfinite(z[:, : mass.size]).all()
    return {tuple(row): (m, w) for row, m, w in zip(z[:, :n].T, mass[:n], wins[:n], strict=True)}


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
    memory = make(3, runs=2, layers=2, ridge=9.0, prior=4.0)
    for run in range(2):
        state = memory.state(run)
        np.testing.assert_array_equal(state.factor, np.broadcast_to(2.0 * np.eye(3), (2, 3, 3)))
        np.testing.assert_array_equal(state.curvature, np.broadcast_to(3.0 * np.eye(3), (2, 3, 3)))
        np.testing.assert_array_equal(state.words, seed_words(run))
        for empty in (state.theta, state.dirty, state.learned, state.n_rows, state.chain, state.table, state.rounds):
            assert not empty.any()
    z, mass, wins = layer_rows(memory.state(1), scratch_for(memory), 1)
    assert (z.shape[0], mass.size, wins.size) == (3, 0, 0)


def test_an_empty_state_shares_no_memory_with_its_arguments():
    words, ridge = np.array([seed_words(0)]), np.ones((1, 1))
    memory = empty_memory(words, ridge[0], ridge[0], ridge, ridge, ridge, 2)
    for array in (memory.core, memory.rows):
        assert not any(np.shares_memory(array, given) for given in (words, ridge))


@pytest.mark.parametrize(("dim", "layers"), [(1, 1), (3, 1), (2, 4), (5, 3)])
def test_the_arrays_of_a_state_share_the_blocks_of_their_run_and_do_not_overlap(dim, layers):
    memory = with_room(make(dim, runs=3, layers=layers), 100)
    before = memory.core.copy(), memory.rows.copy()
    state = memory.state(1)
    arrays = {name: getattr(state, name) for name in ARRAYS}
    for name, array in arrays.items():
        assert array.flags.c_contiguous, name
        assert np.shares_memory(array, memory.core[1]) != np.shares_memory(array, memory.rows[1]), name
    for one, other in itertools.combinations(arrays, 2):
        assert not np.shares_memory(arrays[one], arrays[other]), (one, other)
    assert sum(array.size for array in arrays.values()) == memory.core[1].size + memory.rows[1].size
    for array in arrays.values():
        array[...] = 7
    for block, old in zip((memory.core, memory.rows), before, strict=True):
        np.testing.assert_array_equal(block[[0, 2]], old[[0, 2]])


def test_a_repeated_difference_merges_into_one_row():
    state = feed(make(2), [([1.0, -2.0], 1, 0.5), ([1.0, -2.0], 0, 0.25), ([1.0, -2.0], 0.5, 2.0)])
    assert table_of(state) == {(1.0, -2.0): (2.75, 1.5)}


def test_a_difference_and_its_opposite_share_a_row():
    state = feed(make(3), [([0.0, 1.0, -2.0], 1, 1.0), ([0.0, -1.0, 2.0], 1, 1.0), ([-0.0, -1.0, 2.0], 0.2, 1.0)])
    assert table_of(state) == {(0.0, 1.0, -2.0): (3.0, 1.8)}


def test_zeros_of_either_sign_are_the_same_difference():
    rows = itertools.product([0.0, -0.0], [3.0], [0.0, -0.0])
    state = feed(make(3), [(row, 1, 1.0) for row in rows])
    assert table_of(state) == {(0.0, 3.0, 0.0): (4.0, 4.0)}


def test_a_share_and_a_weight_multiply_and_the_weight_counts_the_duels():
    memory = make(1)
    assert tell(memory, 0, 0, np.array([2.0]), 1.0, 0.25, 3.0)
    assert table_of(memory) == {(2.0,): (0.75, 0.75)}
    assert memory.state().learned[0] == 3.0
    assert memory.state().factor[0, 0, 0] == pytest.approx(np.sqrt(2.0 + 0.75 * 4.0), rel=1e-15)


@pytest.mark.parametrize("online", [False, True])
def test_a_self_duel_changes_nothing(online):
    memory = feed(make(3), some_duels(0, dim=3))
    memory.state().rounds[0] = 7
    bring_up(memory)
    before = memory.core.copy(), memory.rows.copy()
    assert not tell(memory, 0, 0, np.array([0.0, -0.0, 0.0]), 1.0, 1.0, 1.0, online=online)
    for block, copy in zip((memory.core, memory.rows), before, strict=True):
        assert block.tobytes() == copy.tobytes()


def test_learning_leaves_the_difference_alone_and_marks_the_layer():
    memory = make(2, layers=2)
    memory.state().rounds[0] = 9
    z = np.array([-1.0, 2.0])
    tell(memory, 0, 1, z, 1.0, 1.0, 1.0)
    np.testing.assert_array_equal(z, [-1.0, 2.0])
    np.testing.assert_array_equal(memory.state().dirty, [False, True])
    np.testing.assert_array_equal(memory.state().stale, [False, True])
    np.testing.assert_array_equal(memory.state().stamp, [0, 9])


def test_learn_is_tell_once_of_a_state_and_a_scratch():
    one, other = make(4, layers=2), make(4, layers=2)
    scratch = scratch_for(one)
    for z, outcome, mass in some_duels(12, n=30):
        assert learn(one.state(), scratch, LOGISTIC, False, 1, z, float(outcome), float(mass), 2.0)
        assert tell(other, 0, 1, z, outcome, mass, 2.0)
    for block, copy in zip((one.core, one.rows), (other.core, other.rows), strict=True):
        assert block.tobytes() == copy.tobytes()


@pytest.mark.parametrize("arms", [np.random.default_rng(0).normal(size=(9, 4)), np.eye(9)], ids=["random", "one-hot"])
def test_fixed_arms_need_one_row_a_pair_however_long_they_are_played(arms):
    state, k = make(arms.shape[1]), len(arms)
    for _ in range(3):
        state = feed(state, [(arms[i] - arms[j], 1, 1.0) for i in range(k) for j in range(k)])
    state = state.state()
    assert state.n_rows[0] == state.chain[0] == k * (k - 1) // 2
    assert set(state.mass[: state.n_rows[0]]) == {6.0}
    assert set(state.wins[: state.n_rows[0]]) == {3.0}


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
    factor = feed(make(4, prior=2.0), duels).state().factor[0]
    expected = 2.0 * np.eye(4) + sum(mass * np.outer(z, z) for z, _, mass in duels)
    np.testing.assert_allclose(factor.T @ factor, expected, rtol=1e-12, atol=1e-11)
    np.testing.assert_array_equal(np.tril(factor, -1), 0.0)


def assert_same_arrays(one, other, names):
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("layers", [1, 3])
def test_growing_keeps_everything(layers):
    memory = make(4, runs=2, layers=layers)
    for run, layer in itertools.product(range(2), range(layers)):
        memory = feed(memory, some_duels(10 * run + layer, n=20), run, layer)
        bring_up(memory, run, layer)
    grown = with_room(memory, 10_000)
    states = [(memory.state(run), grown.state(run)) for run in range(2)]
    assert grown.layout.capacity >= max(old.n_rows[0] for old, _ in states) + 10_000
    for old, new in states:
        n = old.n_rows[0]
        assert_same_arrays(old, new, set(ARRAYS) - {*POOLED, "table"})
        for name in POOLED:
            np.testing.assert_array_equal(getattr(new, name)[..., :n], getattr(old, name)[..., :n], err_msg=name)
    for run, layer in itertools.product(range(2), range(layers)):
        assert table_of(grown, run, layer) == table_of(memory, run, layer)


def test_old_rows_are_still_found_after_growing():
    duels = some_duels(3, n=40)
    memory = with_room(feed(make(4), duels), 10_000)
    rows = memory.state().n_rows[0]
    assert feed(memory, duels).state().n_rows[0] == rows


def test_a_state_with_room_is_returned_as_it_is():
    memory = feed(make(4), some_duels(4))
    room = memory.layout.capacity - int(memory.state().n_rows[0])
    assert with_room(memory, room) is memory
    assert with_room(memory, room + 1).layout.capacity > memory.layout.capacity


def test_the_fullest_run_decides_how_much_room_there_is():
    memory = make(1, runs=2)
    room = memory.layout.capacity
    memory = feed(memory, [([float(k + 1)], 1, 1.0) for k in range(room)], run=1)
    assert memory.layout.capacity == room
    assert with_room(memory, 1).layout.capacity > room


@pytest.mark.parametrize("layers", [1, 2])
def test_every_place_of_the_room_can_be_filled(layers):
    # The last row, the last of the padding and the last of the gathered rows all lie at the end of their blocks.
    memory = make(2, layers=layers)
    duels = [([1.0, float(k)], k % 2, 1.0) for k in range(memory.layout.capacity)]
    full = feed(memory, duels, layer=layers - 1)
    assert full.layout.capacity == memory.layout.capacity
    assert_same_ledger(table_of(full, layer=layers - 1), ledger_of(duels))
    bring_up(full, layer=layers - 1)
    z, outcomes, mass = (np.array(column) for column in zip(*duels, strict=True))
    fit = dl.fit_mle(z, outcomes, weights=mass, ridge=0.5)
    np.testing.assert_allclose(full.state().theta[layers - 1], fit.theta, rtol=0, atol=1e-8)


@pytest.mark.parametrize("layers", [2, 4])
def test_rows_gathered_once_stay_those_of_their_layer(layers):
    # A scratch keeps the rows of one layer and adds to them: always what a fresh scratch would gather.
    rng = np.random.default_rng(13)
    memory = with_room(make(4, layers=layers), 400)
    scratch = scratch_for(memory)
    for step, (z, outcome, mass) in enumerate(some_duels(13, n=300, distinct=90)):
        layer = int(rng.integers(layers)) if step % 50 < 10 else step // 50 % layers
        learn(memory.state(), scratch, LOGISTIC, False, layer, z, float(outcome), float(mass), 1.0)
        look = layer if step % 3 else int(rng.integers(layers))
        assert table_of(memory, 0, look, scratch) == table_of(memory, 0, look)


def test_joined_runs_are_the_runs_side_by_side():
    parts = [feed(make(4, layers=2), some_duels(run), layer=run % 2) for run in range(3)]
    memory = joined(parts)
    assert memory.layout == parts[0].layout
    for run, part in enumerate(parts):
        assert_same_arrays(memory.state(run), part.state(), ARRAYS)
        assert not np.shares_memory(memory.core, part.core)
        assert not np.shares_memory(memory.rows, part.rows)


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
        tell(state, 0, place, row, 1.0, 1.0, 1.0)
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
    memory = feed(make(4, layers=layers, ridge=0.5), duels, layer=layers - 1, link=link)
    bring_up(memory, 0, layers - 1, link)
    z, outcomes, mass = (np.array(column) for column in zip(*duels, strict=True))
    fit = dl.fit_mle(z, outcomes, weights=mass, ridge=0.5, link=link)
    np.testing.assert_allclose(memory.state().theta[layers - 1], fit.theta, rtol=0, atol=1e-8)


# Layer l of VACDB has ridge and weights of order 4^-l: the same problem, divided by 4^l.
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("layer", [1, 6, 10, 14, 18])
def test_the_estimate_of_a_deep_layer_is_that_of_the_undivided_problem(link, layer):
    duels, c = some_duels(6, n=40), 4.0**-layer
    memory = feed(make(4, ridge=0.05 * c, prior=c), [(z, o, c * mass) for z, o, mass in duels], link=link)
    solve_once(*blocks(memory, 0), *room_for(memory), dl.get_link(link).code, 0)
    z, outcomes, mass = (np.array(column) for column in zip(*duels, strict=True))
    fit = dl.fit_mle(z, outcomes, weights=mass, ridge=0.05, link=link)
    np.testing.assert_allclose(memory.state().theta[0], fit.theta, rtol=0, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
def test_the_first_outcomes_leave_a_finite_estimate(link):
    # Separable and hardly regularised, as the first rounds are.
    duels = [([1.0, 2.0, 0.0], 1, 1.0), ([0.0, 0.1, 9.0], 1, 1.0)]
    memory = feed(make(3, ridge=1e-9, prior=1e-9), duels, link=link)
    solve_once(*blocks(memory, 0), *room_for(memory), dl.get_link(link).code, 0)
    state = memory.state()
    assert np.isfinite(state.theta).all()
    assert (state.theta[0] @ state.z[:, :2] > 1.0).all()


@pytest.mark.parametrize("link", LINKS)
def test_solving_now_and_then_ends_where_solving_once_does(link):
    duels = some_duels(7, n=150)
    lazy = feed(make(4), duels, link=link)
    bring_up(lazy, link=link)
    eager = make(4)
    for duel in duels:
        eager = feed(eager, [duel], link=link)
        bring_up(eager, link=link)
    np.testing.assert_allclose(eager.state().theta, lazy.state().theta, rtol=0, atol=1e-8)


def test_solving_clears_the_mark_and_an_unmarked_layer_is_not_solved_again():
    memory = feed(make(4, runs=2, layers=2), some_duels(8), run=1, layer=1)
    bring_up(memory, 1, 1)
    quiet, busy = memory.state(0), memory.state(1)
    for state in (quiet, busy):
        assert (state.dirty == SOLVED).all()
    assert (busy.theta[1] != 0).all()
    assert not quiet.theta.any()
    assert not busy.theta[0].any()
    busy.theta[1] = 99.0
    bring_up(memory, 1, 1)
    assert (busy.theta[1] == 99.0).all()


def test_more_layers_leave_the_known_ones_as_they_were():
    duels = some_duels(9)
    memory = feed(make(4, runs=2, layers=2), duels, run=1, layer=1)
    memory.state(1).rounds[0], memory.state(0).bound[0] = 60, 3.0
    bring_up(memory, 1, 1)
    ridge, prior, radius = (np.arange(1.0, 11.0).reshape(2, 5) + offset for offset in (0, 100, 200))
    deeper = with_layers(memory, ridge, prior, radius)
    for run in range(2):
        old, new = memory.state(run), deeper.state(run)
        for name in PER_LAYER:
            np.testing.assert_array_equal(getattr(new, name)[:2], getattr(old, name), err_msg=name)
        assert_same_arrays(new, old, set(ARRAYS) - set(PER_LAYER))
        np.testing.assert_array_equal(new.ridge[2:], ridge[run, 2:])
        np.testing.assert_array_equal(new.radius[2:], radius[run, 2:])
        for factor, scale in ((new.factor[2:], prior), (new.curvature[2:], ridge)):
            square = factor.swapaxes(1, 2) @ factor
            np.testing.assert_allclose(square, scale[run, 2:, None, None] * np.eye(4), rtol=1e-14)
    assert table_of(deeper, 1, 1) == table_of(memory, 1, 1)
    assert table_of(deeper, 1, 4) == {}


def test_a_new_layer_learns_and_the_old_ones_go_on():
    duels = some_duels(10)
    memory = feed(make(4), duels[:30])
    memory = with_layers(memory, np.full((1, 2), 0.5), np.full((1, 2), 2.0), np.zeros((1, 2)))
    memory = feed(feed(memory, duels[30:], layer=1), duels[30:], layer=0)
    for layer, own in ((0, duels), (1, duels[30:])):
        assert_same_ledger(table_of(memory, 0, layer), ledger_of(own))
        bring_up(memory, 0, layer)
        z, outcomes, mass = (np.array(column) for column in zip(*own, strict=True))
        expected = dl.fit_mle(z, outcomes, weights=mass, ridge=0.5).theta
        np.testing.assert_allclose(memory.state().theta[layer], expected, rtol=0, atol=1e-8)


def test_no_more_layers_than_known_changes_nothing():
    memory = feed(make(4, layers=2), some_duels(11))
    state = memory.state()
    same = with_layers(memory, state.ridge[None], state.ridge[None], state.radius[None])
    assert_same_arrays(state, same.state(), ARRAYS)
