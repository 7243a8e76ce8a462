"""FGTS against its paper: the sum over the past, written once more in plain loops, and integrals of it on a grid."""

import json
import math

import numpy as np
import pytest

import duelist as dl
from duelist.testing import PolicyContract
from duelist.testing.policies import draw_arms, play

TABLES = [
    np.array([[1.0, 0.0], [0.0, 1.0], [-0.5, -0.5], [0.3, 0.9]]),
    np.array([[0.2, -1.0], [0.8, 0.1]]),
]


class TestFGTS(PolicyContract):
    @pytest.fixture(
        autouse=True, params=[{}, {"feel_good": 0.0, "ridge": 0.5}, {"eta": 0.25, "steps": 2, "horizon": 50}]
    )
    def _every_setting(self, request):
        self.settings = request.param

    def make(self, random_state):
        return dl.FGTS(**self.settings, random_state=random_state)


def played(policy, rounds, seed=0, tables=TABLES, weight=1.0):
    """The rounds of a game: (arms, first, second, y, weight), with y = 1 or -1."""
    rng, log = np.random.default_rng(seed), []
    for t in range(rounds):
        arms = tables[t % len(tables)]
        duel = policy.ask(arms, distinct=False)
        outcome = float(rng.random() < 0.7)
        policy.tell(duel, outcome, weight)
        log.append((arms, duel.first, duel.second, 2.0 * outcome - 1.0, weight))
    return log


def minus_log_posterior(thetas, player, log, *, eta, mu, ridge):
    """The paper's sum, round by round, for many parameters at once."""
    total = 0.5 * ridge * (thetas**2).sum(axis=-1)
    for arms, first, second, y, weight in log:
        opponent = arms[second] if player == 1 else arms[first]
        loss = eta * np.log1p(np.exp(-y * (thetas @ (arms[first] - arms[second]))))
        feel_good = mu * np.max([thetas @ (arm - opponent) for arm in arms], axis=0)
        total = total + weight * (loss - feel_good)
    return total


@pytest.mark.parametrize("player", [1, 2])
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_the_potential_is_the_sum_over_all_rounds(player, weight):
    policy = dl.FGTS(eta=0.3, feel_good=0.2, ridge=0.7, random_state=4)
    log = played(policy, 25, weight=weight)
    assert any(first == second for _, first, second, _, _ in log)  # an arm that met itself counts too
    rng = np.random.default_rng(1)
    origin = np.zeros(2)
    for theta in rng.normal(size=(30, 2)) * 3.0:
        ours = policy.potential(theta, player) - policy.potential(origin, player)
        rule = {"eta": 0.3, "mu": 0.2, "ridge": 0.7}
        theirs = minus_log_posterior(theta, player, log, **rule) - minus_log_posterior(origin, player, log, **rule)
        assert ours == pytest.approx(theirs, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("player", [0, 1])
def test_the_gradient_is_that_of_the_potential(player):
    policy = dl.FGTS(feel_good=0.4, random_state=2)
    played(policy, 15)
    past, weights = policy._history.potential(policy._scale()), (1.0, 0.6, 0.4)
    for theta in np.random.default_rng(2).normal(size=(20, 2)):
        _, gradient = past.value_and_gradient(theta, weights, player)
        for k in range(2):
            step = np.zeros(2)
            step[k] = 1e-6
            slope = past.value(theta + step, weights, player) - past.value(theta - step, weights, player)
            assert gradient[k] == pytest.approx(slope / 2e-6, rel=1e-5, abs=1e-6)


def test_draws_have_the_moments_of_the_posterior():
    """Means and second moments on a fine grid; chains are independent, so six standard errors bound what is left to luck."""
    rule = {"eta": 0.5, "mu": 0.4, "ridge": 1.0}
    policy = dl.FGTS(eta=0.5, feel_good=0.4, ridge=1.0, steps=25, random_state=5)
    log = played(policy, 12)
    ticks = np.linspace(-8.0, 10.0, 361)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    draws = np.array([policy._draws() for _ in range(600)])
    moments = [
        lambda x: x[:, 0],
        lambda x: x[:, 1],
        lambda x: x[:, 0] ** 2,
        lambda x: x[:, 1] ** 2,
        lambda x: x.prod(axis=1),
    ]
    for player in (1, 2):
        heights = np.exp(-minus_log_posterior(grid, player, log, **rule))
        chance = heights / heights.sum()
        border = (np.abs(grid - 1.0) > 8.9).any(axis=1)
        assert heights[border].max() < 1e-6 * heights.max()  # nothing lies outside of the grid
        mine = draws[:, player - 1]
        for moment in moments:
            seen = moment(mine)
            assert abs(seen.mean() - chance @ moment(grid)) <= 6.0 * seen.std() / math.sqrt(len(seen))
        # and the feel-good term matters: without it the mean is far from where the draws are
        plain = np.exp(-minus_log_posterior(grid, player, log, **{**rule, "mu": 0.0}))
        shift = (plain / plain.sum()) @ grid - chance @ grid
        assert np.abs(shift).max() > 12.0 * mine.std(axis=0).max() / math.sqrt(len(mine))


def test_a_constant_added_to_all_arms_changes_no_duel():
    shown = draw_arms(30)
    one, other = (dl.FGTS(random_state=1, horizon=30) for _ in range(2))
    assert play(one, shown) == play(other, [arms + np.array([4.0, -2.0, 8.0]) for arms in shown])


def test_features_of_any_size_make_no_difference():
    shown = draw_arms(30)
    one, other = (dl.FGTS(random_state=1, horizon=30) for _ in range(2))
    units = np.array([1024.0, 1.0, 2.0**-10])
    for t, arms in enumerate(shown):
        duel, same = one.ask(arms), other.ask(arms * units)
        assert tuple(duel) == tuple(same)
        one.tell(duel, float(t % 2))
        other.tell(same, float(t % 2))
    np.testing.assert_allclose(other.theta_ * units, one.theta_, rtol=1e-9)


def test_it_finds_the_best_arm():
    arms = np.array([[1.0, 0.2], [0.2, 0.9], [-0.4, 0.1], [0.5, 0.5]])
    policy, rng, theta = dl.FGTS(horizon=300, random_state=0), np.random.default_rng(3), np.array([3.0, -1.0])
    late = 0
    for t in range(300):
        duel = policy.ask(arms, distinct=False)
        policy.tell(duel, float(rng.random() < 1.0 / (1.0 + math.exp(-(arms[duel.first] - arms[duel.second]) @ theta))))
        late += (t >= 200) * ((duel.first == 0) + (duel.second == 0))
    assert late > 160  # of the last two hundred arms shown


def test_restored_goes_on_bit_for_bit():
    policy = dl.FGTS(horizon=80, random_state=7)
    play(policy, draw_arms(15))
    out = [policy.ask(arms) for arms in draw_arms(3, seed=2)]
    copy = dl.restore_policy(json.loads(json.dumps(policy.snapshot())))
    assert copy.snapshot() == policy.snapshot()
    for duel in out:
        for each in (policy, copy):
            each.tell(duel, 1.0)
    assert play(copy, draw_arms(10, seed=3)) == play(policy, draw_arms(10, seed=3))
    assert copy.snapshot() == policy.snapshot()
    assert dl.FGTS.restore(dl.FGTS(eta=0.5).snapshot()).eta == 0.5


def test_damaged_snapshots_are_refused():
    policy = dl.FGTS(random_state=7)
    play(policy, draw_arms(5))
    policy.ask(draw_arms(1)[0])
    whole = policy.snapshot()
    for name, value in [
        ("format", "x"),
        ("words", whole["history"]["mass"]),
        ("history", {}),
        ("asked", -1),
        ("params", {"a": 1}),
    ]:
        with pytest.raises(dl.InvalidSnapshot):
            dl.FGTS.restore({**whole, name: value})
    for name in whole["history"]:
        with pytest.raises(dl.InvalidSnapshot):
            dl.FGTS.restore({**whole, "history": {**whole["history"], name: whole["words"]}})
    (number, arms, first, _), *_ = whole["pending"]
    with pytest.raises(dl.InvalidSnapshot):
        dl.FGTS.restore({**whole, "pending": [[number, arms, first, 99]]})


def test_what_may_be_asked_is_respected_and_considering_changes_nothing():
    policy, arms = dl.FGTS(random_state=1), TABLES[0]
    played(policy, 10)
    before = policy.snapshot()
    for seed in range(40):
        choice = policy.suggest(arms, seed=seed, exclude=[(0, 1), (2, 3)])
        assert choice.first != choice.second
        assert {choice.first, choice.second} not in ({0, 1}, {2, 3})
    assert policy.suggest(arms, distinct=False)[:2] == tuple(dl.FGTS.restore(before).ask(arms, distinct=False))
    assert policy.snapshot() == before
    with pytest.raises(dl.InvalidInput, match="No pair is left to ask"):
        policy.suggest(arms[:2], exclude=[(1, 0)])


def test_a_log_has_tables_of_two():
    """`learn`, as in studies: the feel-good term knows the two arms that met."""
    policy, log = dl.FGTS(feel_good=0.3, ridge=1.0), []
    policy.initialize(TABLES[0])
    for t in range(8):
        pair = TABLES[0][[t % 3, 3]]
        policy.learn(pair if t % 2 else pair[0] - pair[1], float(t % 2))
        log.append((pair, 0, 1, 2.0 * (t % 2) - 1.0, 1.0))
    theta = np.array([0.7, -0.4])
    ours = policy.potential(theta, 1) - policy.potential(np.zeros(2), 1)
    rule = {"eta": 1.0, "mu": 0.3, "ridge": 1.0}
    assert ours == pytest.approx(
        minus_log_posterior(theta, 1, log, **rule) - minus_log_posterior(np.zeros(2), 1, log, **rule), rel=1e-10
    )


def test_in_a_study_and_in_the_shell():
    study = dl.create_study("feels", "memory", policy="FGTS")
    study.add_arms(["a", "b", "c"], np.eye(3))
    for rater in ("ana", "ben", "cat"):
        study.tell(study.ask(rater=rater), "first", rater=rater)
    assert isinstance(study.policy(), dl.FGTS)
    assert isinstance(dl.make_policy("fgts:eta=0.5", horizon=9), dl.FGTS)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"eta": 0.0}, "eta is 0.0"),
        ({"feel_good": -0.1}, "feel_good is -0.1. Give a number of at least 0, or leave it out"),
        ({"ridge": -1.0}, "ridge is -1.0"),
        ({"steps": 0}, "steps is 0"),
        ({"horizon": 0}, "horizon is 0"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_settings_that_make_no_sense(settings, said):
    with pytest.raises(dl.InvalidInput, match=said):
        dl.FGTS(**settings)


def test_duels_that_are_not_out():
    policy = dl.FGTS(random_state=0)
    with pytest.raises(dl.InvalidInput, match="has seen no arms yet"):
        _ = policy.theta_
    duel = policy.ask(TABLES[0])
    with pytest.raises(dl.UnknownDuel, match="was asked as"):
        policy.tell(dl.Duel(3 - duel.first, duel.second, duel.id), 1)
    policy.forget(duel)
    for action in (lambda: policy.tell(duel, 1), lambda: policy.forget(duel)):
        with pytest.raises(dl.UnknownDuel, match="was told or forgotten before"):
            action()
