"""BestArmPair against its docstring: leader, rival, the most telling pair; and that it decides with few votes."""

import itertools

import numpy as np
import pytest
from scipy import stats

import duelist as dl
from duelist.reference.fit import Vote, curvature, estimate, squared_widths
from duelist.reference.links import link_mean, link_slope, smoothed_slope
from duelist.research.paper.stopping import race
from tests.helpers.policies.feature_scale import default_ridge
from tests.helpers.policy_state import known

LINKS = ("logistic", "probit", "exponential")
DIM = 3
NEAR = 1e-9


class World:
    """Arms, the same or new ones in every round, and votes that may be ties, with weights."""

    def __init__(self, seed, link="logistic", fixed=False, kind="random", n_arms=(1, 7)):
        self.rng, self.link, self.kind, self.n_arms = np.random.default_rng([seed, 31]), link, kind, n_arms
        self.theta = 1.5 * self.rng.normal(size=DIM)
        self.same = self.new_arms(n_arms[1]) if fixed else None

    def new_arms(self, n):
        arms = self.rng.normal(size=(n, DIM))
        if self.kind == "duplicates":
            arms = np.repeat(arms, 2, axis=0)[self.rng.permutation(2 * n)]
        if self.kind == "equal":
            arms[:] = arms[0]
        if self.kind == "collinear":
            arms = arms[:, :1] * self.rng.normal(size=DIM) + 1.0
        if self.kind == "far away":
            arms += 1000.0
        return arms

    def arms(self):
        return self.same if self.same is not None else self.new_arms(int(self.rng.integers(*self.n_arms) + 1))

    def vote(self, z):
        chance = link_mean(self.link, z @ self.theta)
        outcome = 0.5 if self.rng.random() < 0.2 else float(self.rng.random() < chance)
        return outcome, float(self.rng.choice([0.5, 1.0, 1.0, 3.0]))


def leaders_and_rivals(arms, theta, squares):
    """The leader and its strongest rival; several where they are equally good to rounding."""
    u = arms @ theta
    for x in np.flatnonzero(u >= u.max() - NEAR * (1.0 + np.abs(u).max())):
        others = np.flatnonzero((arms != arms[x]).any(axis=1))
        cost = (u[x] - u[others]) ** 2 / squares[x, others] - 3.0 * np.log(squares[x, others])
        for y in others[cost <= cost.min(initial=np.inf) + NEAR * (1.0 + np.abs(cost).max(initial=0.0))]:
            yield int(x), int(y)


def shrinkage(link, arms, theta, h, x, y, squares):
    """By how much each pair shrinks |x - y|^2: the formula of the docstring, for all pairs at once."""
    u, along = arms @ theta, arms @ np.linalg.solve(h, arms[x] - arms[y])
    doubt = np.sqrt(np.maximum(squares / 64.0, 1.0))  # a gap that is known to within more than 8 says less
    slopes = link_slope(link, (u[:, None] - u[None]) / doubt)
    return slopes * (along[:, None] - along[None]) ** 2 / (1.0 + slopes * squares)


def assert_most_telling(link, arms, theta, h, duel, allowed=None):
    """The duel is worth as much as any allowed pair, for a leader and a rival that the rule may have meant."""
    squares = squared_widths(arms, h)
    if not squares.any():
        assert tuple(duel) == (0, min(1, len(arms) - 1))
    elif not theta.any():
        assert squares[duel.first, duel.second] >= squares.max() * (1.0 - NEAR)
    else:
        shares = []
        for x, y in leaders_and_rivals(arms, theta, squares):
            worth = shrinkage(link, arms, theta, h, x, y, squares)
            best = worth.max() if allowed is None else allowed(arms @ np.linalg.solve(h, arms[x] - arms[y]), worth)
            shares.append(worth[duel.first, duel.second] / best)
        assert max(shares) >= 1.0 - NEAR


def decided_in_its_own_sizes(policy, arms):
    """Whether an early round has arms that are far larger than the first: see `test_other_kinds.py`."""
    state = known(policy)
    return state.scale_window[2] and state.scale_window[1] <= 8.0 and (arms.var(axis=0) > 64.0 * state.scale).any()


def play(policy, world, rounds, late=False):
    """Every duel against brute force from an estimate and a curvature of our own; the duels."""
    rows, waiting, first, duels = [], [], None, []
    for t in range(rounds):
        arms = world.arms()
        first = arms if first is None else first
        if policy.online_ and t:
            theta, h = policy.theta_, policy.curvature_
        else:
            ridge = default_ridge(policy, first, [(row.z, row.total_weight) for row in rows])
            theta = estimate(policy.link, ridge, rows, DIM)
            h = curvature(policy.link, ridge, rows, theta)
        for _, z in waiting:  # as if they were answered
            h = h + link_slope(policy.link, z @ theta) * np.outer(z, z)
        duel = policy.ask(arms, distinct=False)
        if not decided_in_its_own_sizes(policy, arms):
            assert_most_telling(policy.link, arms, theta, h, duel)
        duels.append((duel.first, duel.second))
        waiting.append((duel, arms[duel.first] - arms[duel.second]))
        while waiting and (not late or world.rng.random() < 0.5):
            told, z = waiting.pop(int(world.rng.integers(len(waiting))))
            outcome, weight = world.vote(z)
            policy.tell(told, outcome, weight)
            rows.append(Vote(z, outcome, weight))
    return duels


# -- the pair ----------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "changing"])
@pytest.mark.parametrize("link", LINKS)
def test_the_pair_tells_most_about_the_leader_and_its_rival(link, fixed, late):
    for seed, ridge in enumerate((None, 0.3, 5.0)):
        duels = play(dl.BestArmPair(link=link, ridge=ridge), World(seed, link, fixed), 50, late)
        assert len(set(duels)) > 2


@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "changing"])
@pytest.mark.parametrize("link", LINKS)
def test_the_pair_tells_most_with_the_one_pass_estimator(link, fixed):
    for seed in range(3):
        play(dl.BestArmPair(link=link, estimator="online"), World(seed, link, fixed), 50)


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "changing"])
@pytest.mark.parametrize("kind", ["duplicates", "equal", "collinear", "far away"])
def test_the_pair_tells_most_among_unfriendly_arms(kind, fixed, estimator):
    play(dl.BestArmPair(estimator=estimator), World(4, fixed=fixed, kind=kind), 40)


def test_the_pair_tells_most_among_two_hundred_arms():
    play(dl.BestArmPair(), World(5, n_arms=(150, 255)), 15)


def test_the_pair_tells_most_on_the_hypercube_where_ties_abound():
    arms = np.array(list(itertools.product((-1.0, 1.0), repeat=DIM)))
    world = World(6)
    world.same = arms
    play(dl.BestArmPair(), world, 60)


def test_the_leader_and_its_rival_need_not_meet():
    # The first two differ by little, the others by ten times as much in the same direction.
    arms = np.array([[0.0, 0.1], [0.0, 0.0], [1.0, -1.0], [1.0, 0.0]])
    policy = dl.BestArmPair(ridge=1.0)
    policy.initialize(arms)
    policy.learn(np.array([-1.0, 0.0]), 1.0, 20.0)
    choice = policy.suggest(arms)
    assert {int(a) for a in np.argsort(arms @ policy.theta_)[-2:]} == {0, 1}
    assert (choice.first, choice.second) == (2, 3)


# -- the lesson --------------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
def test_the_lesson_is_what_one_more_outcome_takes_from_the_squared_width(link):
    rng = np.random.default_rng(0)
    for _ in range(200):
        dim = int(rng.integers(1, 6))
        root = rng.normal(size=(dim, dim))
        h = root @ root.T + 0.1 * np.eye(dim)
        arms, theta = rng.normal(size=(4, dim)), 2.0 * rng.normal(size=dim)
        z, gap = arms[2] - arms[3], arms[0] - arms[1]
        doubt = max(1.0, np.sqrt(z @ np.linalg.solve(h, z)) / 8.0)
        more = h + link_slope(link, z @ theta / doubt) * np.outer(z, z)
        fewer = gap @ np.linalg.solve(h, gap) - gap @ np.linalg.solve(more, gap)
        found = shrinkage(link, arms, theta, h, 0, 1, squared_widths(arms, h))[2, 3]
        assert found == pytest.approx(fewer, rel=1e-8, abs=1e-12)


# -- nobody leads ------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("n_arms", [2, 5, 40, 255])
def test_the_first_pair_is_the_widest(n_arms, estimator):
    arms = np.random.default_rng(n_arms).normal(size=(n_arms, DIM))
    duel = dl.BestArmPair(estimator=estimator).ask(arms, distinct=False)
    squares = ((arms[:, None] - arms[None]) ** 2 / arms.var(axis=0)).sum(axis=2)
    assert squares[duel.first, duel.second] == pytest.approx(squares.max(), rel=1e-12)


@pytest.mark.parametrize("estimator", ["exact", "online"])
@pytest.mark.parametrize("link", LINKS)
def test_ties_leave_an_estimate_of_zero_and_the_widest_pair(link, estimator):
    arms = np.random.default_rng(7).normal(size=(6, DIM))
    policy = dl.BestArmPair(link=link, ridge=0.5, estimator=estimator)
    h, seen = 0.5 * np.eye(DIM), set()
    for _ in range(12):
        duel = policy.ask(arms, distinct=False)
        squares = squared_widths(arms, h)
        assert squares[duel.first, duel.second] >= squares.max() * (1.0 - NEAR)
        policy.tell(duel, 0.5)
        z = arms[duel.first] - arms[duel.second]
        h += link_slope(link, 0.0) * np.outer(z, z)
        assert not policy.theta_.any()
        seen.add((duel.first, duel.second))
    assert len(seen) > 2


# -- few arms ----------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_one_arm_meets_itself_and_equal_arms_meet(estimator):
    policy = dl.BestArmPair(estimator=estimator)
    for _ in range(5):
        for n_arms, expected in ((1, (0, 0)), (2, (0, 1)), (9, (0, 1))):
            duel = policy.ask(np.ones((n_arms, DIM)))
            assert tuple(duel) == expected
            policy.tell(duel, 1.0)
    assert not policy.theta_.any()


def test_two_arms_meet_however_clear_it_is():
    arms = np.array([[0.0, 0.0], [1.0, 1.0]])
    policy = dl.BestArmPair()
    for t in range(200):
        duel = policy.ask(arms, distinct=False)
        assert tuple(duel) == (0, 1)
        policy.tell(duel, float(t % 5 == 0))
    assert policy.recommend(arms).decided


def test_a_copy_of_the_leader_is_not_its_rival():
    arms = np.random.default_rng(8).normal(size=(4, DIM))
    copied = np.vstack([arms, arms, arms])
    one, other = dl.BestArmPair(ridge=0.5), dl.BestArmPair(ridge=0.5)
    for t in range(60):
        plain, repeated = one.ask(arms, distinct=False), other.ask(copied, distinct=False)
        assert {plain.first, plain.second} == {repeated.first % 4, repeated.second % 4}
        z = arms[plain.first] - arms[plain.second]
        won = float(t % 3 > 0)
        turned = np.array_equal(copied[repeated.first] - copied[repeated.second], -z)
        one.tell(plain, won)
        other.tell(repeated, 1.0 - won if turned else won)


# -- many arms ---------------------------------------------------------------------------


def among_the_ends(along, worth):
    """The best worth of a pair from the 64 arms that lie farthest on one side and the 64 on the other."""
    order = np.argsort(along)
    return worth[np.ix_(order[:64], order[-64:])].max()


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("n_arms", "dim"), [(256, 3), (300, 8), (500, 2)])
def test_many_arms_the_pair_is_the_most_telling_of_the_ends(n_arms, dim, link):
    rng = np.random.default_rng([n_arms, dim])
    arms, theta_true = rng.normal(size=(n_arms, dim)), rng.normal(size=dim)
    policy = dl.BestArmPair(link=link)
    shares = []
    for t in range(12):
        duel = policy.ask(arms, distinct=False)
        if t == 0:
            gaps = ((arms[:, None] - arms[None]) ** 2 / arms.var(axis=0)).sum(axis=2)
            assert gaps[duel.first, duel.second] == pytest.approx(gaps.max(), rel=1e-12)
        else:
            theta, h = policy.theta_, policy.curvature_
            assert_most_telling(link, arms, theta, h, duel, among_the_ends)
            squares = squared_widths(arms, h)
            x, y = next(leaders_and_rivals(arms, theta, squares))
            worth = shrinkage(link, arms, theta, h, x, y, squares)
            shares.append(worth[duel.first, duel.second] / worth.max())
        z = arms[duel.first] - arms[duel.second]
        policy.tell(duel, float(rng.random() < link_mean(link, z @ theta_true)))
    assert min(shares) > 0.3
    assert np.mean(shares) > 0.75


def test_many_arms_in_another_order_or_place_are_the_same_arms():
    rng = np.random.default_rng(9)
    arms, theta_true = rng.integers(-(2**16), 2**16, (300, DIM)) / 2.0**16, rng.normal(size=DIM)
    order, shift = rng.permutation(300), np.array([3.0, -2.5, 7.25])
    plain, mixed, moved = (dl.BestArmPair() for _ in range(3))
    for _ in range(25):
        duel, other, third = (
            plain.ask(arms, distinct=False),
            mixed.ask(arms[order], distinct=False),
            moved.ask(arms + shift, distinct=False),
        )
        assert {int(order[other.first]), int(order[other.second])} == {duel.first, duel.second}
        assert tuple(third) == tuple(duel)
        won = float(rng.random() < link_mean("logistic", (arms[duel.first] - arms[duel.second]) @ theta_true))
        plain.tell(duel, won)
        moved.tell(third, won)
        mixed.tell(other, won if int(order[other.first]) == duel.first else 1.0 - won)


# -- duels that are out ------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
def test_pending_duels_count_as_if_answered(link):
    rng = np.random.default_rng(10)
    policy, learned = dl.BestArmPair(link=link, ridge=0.5), []
    policy.initialize(rng.normal(size=(5, DIM)))
    for _ in range(12):
        z = rng.normal(size=DIM)
        policy.learn(z, float(rng.random() < link_mean(link, z.sum())))
        learned.append(z)
    moved = 0
    for _ in range(40):
        arms = rng.normal(size=(6, DIM))
        pending = [(2.0 * rng.normal(size=DIM), 0, 1.0) for _ in range(2)]
        theta = policy.theta_
        rows = [Vote(z, 1.0, 1.0) for z in [*learned, *(z for z, _, _ in pending)]]
        choice = policy.suggest(arms, pending)
        duel = dl.Duel(choice.first, choice.second, 0)
        assert_most_telling(link, arms, theta, curvature(link, np.full(DIM, 0.5), rows, theta), duel)
        alone = policy.suggest(arms)
        moved += (alone.first, alone.second) != (choice.first, choice.second)
    assert moved > 0


@pytest.mark.parametrize("estimator", ["exact", "online"])
def test_many_raters_are_sent_to_different_pairs_where_that_tells_more(estimator):
    several = []
    for seed in range(10):
        rng = np.random.default_rng([seed, 11])
        arms, theta_true = rng.normal(size=(8, DIM)), rng.normal(size=DIM)
        policy = dl.BestArmPair(estimator=estimator)
        policy.initialize(arms)
        for _ in range(20):
            choice = policy.suggest(arms)
            z = arms[choice.first] - arms[choice.second]
            policy.learn(z, float(rng.random() < link_mean("logistic", z @ theta_true)))
        theta, h, pending, pairs = policy.theta_, policy.curvature_, [], set()
        for _ in range(15):
            choice = policy.suggest(arms, pending)
            assert_most_telling("logistic", arms, theta, h, dl.Duel(choice.first, choice.second, 0))
            z = arms[choice.first] - arms[choice.second]
            pending.append((z, choice.layer, choice.share))
            h = h + link_slope("logistic", z @ theta) * np.outer(z, z)
            pairs.add((choice.first, choice.second))
        several.append(len(pairs))
    assert np.mean(np.array(several) >= 2) >= 0.5  # elsewhere the two that matter are best told apart by one pair
    assert max(several) >= 3


# -- what it is for ----------------------------------------------------------------------


def test_it_decides_with_fewer_votes_than_uniform_pairs():
    """If either were as good as the other, so few losses had a chance under 1 %, whatever the worlds."""
    runs = 12
    found = race({"telling": dl.BestArmPair(), "uniform": dl.UniformPair()}, runs, 0.1, 17, lambda _done, _total: None)
    telling, uniform = found["telling"], found["uniform"]
    assert telling.wrong <= stats.binom.isf(1e-3, runs, 0.1)
    assert telling.undecided <= uniform.undecided
    assert (telling.votes > uniform.votes).sum() <= stats.binom.ppf(0.01, runs, 0.5)
    assert np.exp(np.log(telling.votes / uniform.votes).mean()) < 0.7


def least_lead(policy, arms):
    """The leader, and the rival with the least lead in standard deviations: a rejected rule (decision 39)."""
    u, squares = arms @ policy.theta_, squared_widths(arms, policy.curvature_)
    leader = int(np.argmax(u))
    others = [j for j in range(len(arms)) if j != leader]
    return leader, min(others, key=lambda j: (u[leader] - u[j]) / np.sqrt(squares[leader, j]))


@pytest.mark.parametrize("ridge", [0.2, 1.0])
@pytest.mark.parametrize("online", [False, True])
def test_an_arm_that_was_unlucky_once_is_not_given_up_while_two_others_are_close(online, ridge):
    """The best arm of three loses its first two votes; the other two are equals, so that the lead over either is small for ever."""
    arms = np.eye(3)
    policy = dl.BestArmPair(ridge=ridge, estimator="online" if online else "exact")
    policy.initialize(arms)
    for other in (0, 1):
        policy.learn(arms[[2, other]], 0.0)
    close = asked = 0
    while policy.recommend(arms).best != 2:
        choice = policy.suggest(arms)
        if (choice.first, choice.second) == (0, 1):
            close += 1
            policy.learn(arms[[0, 1]], float(close % 2))
        else:  # arm 2, the second of the pair, wins from now on
            assert asked or 2 not in least_lead(policy, arms)  # the replaced rule would not have come to it
            asked += 1
            policy.learn(arms[[choice.first, choice.second]], 0.0)
        assert close < 400
    assert close


@pytest.mark.parametrize("seed", range(3))
def test_arms_without_features_are_all_asked_about(seed):
    """Each of 30 arms is shown, whatever luck the first ones had, and the best more often than an average arm."""
    rng, utilities = np.random.default_rng(seed), np.random.default_rng([seed, 1]).normal(size=30)
    policy, seen = dl.BestArmPair(estimator="online", random_state=seed), np.zeros(30, int)
    for _ in range(600):
        duel = policy.ask(dl.ArmTable(30))
        seen[list(duel)] += 1
        policy.tell(duel, float(rng.random() < 1.0 / (1.0 + np.exp(utilities[duel.second] - utilities[duel.first]))))
    assert seen.min() >= 1
    assert seen[np.argmax(utilities)] > seen.mean()


def test_leader_and_rival_are_the_best_arms_of_draws_under_drawn_prior_variances():
    """How often each pair is asked, against draws of a prior by its weight, and of utilities under it, with another generator."""
    n, asks, draws = 5, 2000, 100_000
    policy, table = dl.BestArmPair(estimator="online", random_state=0), dl.ArmTable(n)
    policy.initialize(table)
    for first, second, outcome in ((0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0), (3, 0, 1.0), (4, 3, 0.0)) * 2:
        policy.learn(table[[first, second]], outcome)
    state, rng = policy._effects.state, np.random.default_rng(1)
    weights = np.exp(state.log_weights - state.log_weights.max())
    expected = np.zeros((n, n))
    for model, weight in enumerate(weights / weights.sum()):
        u, _, covariance, _ = state.posterior(model, table.ids, table.features, np.arange(n))
        best = np.bincount(rng.multivariate_normal(u, covariance, draws).argmax(axis=1), minlength=n) / draws
        width = np.sqrt(np.maximum(np.add.outer(np.diag(covariance), np.diag(covariance)) - 2.0 * covariance, 0.0))
        slope = smoothed_slope("logistic", u[:, None] - u, width)
        for leader, rival in itertools.permutations(range(n), 2):
            along = covariance[leader] - covariance[rival]
            gain = np.triu(slope * (along[:, None] - along) ** 2 / (1.0 + slope * width**2), 1)
            asked = np.unravel_index(int(np.argmax(gain)), gain.shape)
            expected[asked] += weight * best[leader] * best[rival] / (1.0 - best[leader])
    found = np.zeros((n, n))
    for seed in range(asks):
        choice = policy.suggest(table, seed=seed)
        found[choice.first, choice.second] += 1.0 / asks
    assert len(weights) == 4
    assert np.abs(found - expected).max() < 5.0 * np.sqrt(0.25 / asks)


def test_among_many_arms_a_pair_that_is_out_changes_nothing_but_itself():
    """The search among the ends knows what is out: one pair less, not another search."""
    rng = np.random.default_rng(3)
    arms = rng.normal(size=(400, 6))
    policy = dl.BestArmPair(ridge=1.0, random_state=0)
    for _ in range(60):
        i, j = rng.choice(400, 2, replace=False)
        policy.initialize(arms)
        policy.learn(arms[i] - arms[j], float(arms[i, 0] > arms[j, 0]))
    free = policy.suggest(arms)
    unrelated = next((0, k) for k in range(1, 400) if {0, k}.isdisjoint({free.first, free.second}))
    assert policy.suggest(arms, exclude=[unrelated])[:2] == free[:2]
    second = policy.suggest(arms, exclude=[(free.first, free.second)])
    assert {second.first, second.second} != {free.first, free.second}
    assert policy.suggest(arms, exclude=[(free.first, free.second), (second.first, second.second)])[:2] != second[:2]
    everything = [(i, j) for i in range(400) for j in range(i) if (i, j) != (7, 3)]
    last = policy.suggest(arms, exclude=everything)
    assert {last.first, last.second} == {7, 3}
